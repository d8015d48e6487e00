"""hypot adopt: manifests as Python."""

from functools import partial

from hypot import (
    FROZEN,
    HPA,
    VPA,
    WPA,
    CPUBoost,
    EvictionRequirement,
    Hvpa,
    Recommender,
    Ref,
    ScaleType,
    ScalingRules,
    StartupBoost,
    TLSConfig,
    cpu,
    external,
    interval,
    limit,
    to_yaml,
)
from unit.cli.command import hypot as run_hypot

CHANGE = "TargetHigherThanRequests"
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
    spec = manifest["spec"] | {"minReplicas": "2", "paused": True}
    unknown = hypot("-", text=to_yaml(manifest | {"extra": 1, "spec": spec}))
    named = ["extra", "spec.minReplicas: a wrong type", "spec.paused: an unknown field", "status", "metadata.uid"]
    assert "".join(f"#   {each}\n" for each in named) + "web = HPA.from_dict(" in unknown.out


def test_a_reason_is_brief():
    """What a name must look like has its place in the documentation."""
    manifest = WEB.to_dict() | {"metadata": {"name": "We_b"}}
    (reason,) = [line for line in hypot("-", text=to_yaml(manifest)).out.splitlines() if line.startswith("#   ")]
    assert reason.startswith("#   metadata.name: a lowercase RFC 1123 subdomain must consist of")
    assert len(reason) < 110


def test_the_name_of_a_file_is_no_code(tmp_path):
    """It may have line breaks."""
    folder = tmp_path / 'x\nprint("INJECTED")  #'
    folder.mkdir()
    (folder / "a.yaml").write_text(to_yaml(WEB), encoding="utf-8")
    assert "\nprint" not in hypot(folder).out


def test_all_parts_are_imported_from_the_package():
    """Whatever a constructor takes is public."""
    recommender = Recommender(url="https://r", high=2, low=1, tls=TLSConfig(ca_file="/ca"))
    boost = StartupBoost(CPUBoost("Factor", 2))
    some = [
        WPA("deployment/web", max_replicas=3, recommender=recommender),
        VPA(
            "deployment/web",
            mode="Auto",
            startup_boost=boost,
            eviction_requirements=EvictionRequirement(["cpu"], CHANGE),
        ),
        Hvpa(
            "deployment/web",
            intervals=[interval(3, cpu="1", memory="1Gi")],
            window=("220000+0000", "230000+0000"),
            scale_down=ScaleType("Auto", {"cpu": "10%", "memory": "200M"}),
            base={"cpu": "100m"},
        ),
    ]
    imports = [line for line in hypot("-", text=to_yaml(*some)).out.splitlines() if line.startswith("from ")]
    assert imports == ["from hypot import ("]


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
