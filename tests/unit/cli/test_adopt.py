"""hypot adopt: manifests as Python."""

from functools import partial

from hypot import FROZEN, HPA, Ref, ScalingRules, cpu, external, limit, to_yaml
from unit.cli.command import hypot as run_hypot

hypot = partial(run_hypot, "adopt")
WEB = HPA(
    "deployment/web",
    min_replicas=2,
    max_replicas=20,
    metrics=[cpu(utilization=70), external("jobs", average=30, labels={"queue": "mail"})],
    scale_up=ScalingRules([limit(pods=4, per="1m")], window="90s"),
    scale_down=FROZEN,
    namespace="shop",
)
SOURCE = '''"""Autoscalers, written by hypot adopt."""

from hypot import FROZEN, HPA, ScalingRules, cpu, external, limit, to_yaml

# <stdin>:1
web = HPA(
    "deployment/web",
    min_replicas=2,
    max_replicas=20,
    metrics=[
        cpu(utilization=70),
        external("jobs", average=30, labels={"queue": "mail"}),
    ],
    scale_up=ScalingRules([limit(pods=4, per="1m")], window="90s"),
    scale_down=FROZEN,
    namespace="shop",
)


if __name__ == "__main__":
    print(to_yaml(web), end="")
'''


def test_the_source_uses_the_short_functions():
    """Only the imports that are needed, durations with units, and a target as text."""
    result = hypot("-", text=to_yaml(WEB))
    assert (result.status, result.err) == (0, "")
    assert result.out == SOURCE


def test_names_do_not_collide():
    """With each other, with imports, or with keywords of Python."""
    some = [HPA(Ref("apps/v1", "Deployment", name), max_replicas=3) for name in ("cpu", "cpu", "class", "3d", "a-b")]
    result = hypot("-", text=to_yaml(*some))
    made = [line.partition(" = ")[0] for line in result.out.splitlines() if " = HPA(" in line]
    assert made == ["cpu_hpa", "cpu_hpa_2", "hpa_class", "hpa_3d", "a_b"]


def test_what_a_constructor_cannot_write_is_named():
    """A status and an unknown field are kept, unless the status is left out."""
    manifest = WEB.to_dict() | {"status": {"currentReplicas": 1}}
    manifest["metadata"]["uid"] = "1"
    result = hypot("-", text=to_yaml(manifest))
    assert "#   status\n#   metadata.uid\nweb = HPA.from_dict(" in result.out
    assert hypot("-", "--without-status", text=to_yaml(manifest)).out == SOURCE
    unknown = hypot("-", text=to_yaml(manifest | {"extra": 1}))
    assert "#   what it does not know" in unknown.out


def test_other_objects_are_reported(tmp_path):
    """On standard error, so that the source can be piped; without any autoscaler the status is 2."""
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}
    (tmp_path / "a.yaml").write_text(to_yaml(pod, WEB), encoding="utf-8")
    result = hypot(tmp_path / "a.yaml")
    assert (result.status, result.err) == (0, "ignored, because they are no autoscalers: Pod (1)\n")
    assert f"# {tmp_path}/a.yaml:6" in result.out
    nothing = hypot("-", text=to_yaml(pod))
    assert nothing.status == 2
    assert "there is no autoscaler in the input" in nothing.err
    assert hypot("no-such-file").status == 2
