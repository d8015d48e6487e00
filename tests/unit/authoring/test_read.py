"""Reading and writing YAML, and defaults on request."""

import pytest

from hypot import (
    HPA,
    VPA,
    WPA,
    Hvpa,
    InvalidAutoscaler,
    LoadError,
    ScalingRules,
    Tortoise,
    band,
    check,
    cpu,
    from_yaml,
    interval,
    limit,
    to_yaml,
)

D = "deployment/web"
WEB = HPA("deployment/web", max_replicas=10, metrics=[cpu(utilization=70)])
SIZES = VPA("deployment/web", mode="Off")


def test_several_objects_are_written_in_their_order():
    """Off is quoted: a reader of YAML 1.1 would take it for false."""
    text = to_yaml(SIZES, WEB)
    assert "updateMode: 'Off'" in text
    assert text.index("VerticalPodAutoscaler") < text.index("---") < text.index("HorizontalPodAutoscaler")
    assert list(from_yaml(text)) == [SIZES, WEB]
    assert WEB.to_yaml() == to_yaml(WEB)


def test_other_documents_and_problems_are_reported_with_lines():
    """Reading goes on, so that everything is reported at once."""
    text = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\n---\n" + WEB.to_yaml().replace("10", "0")
    found = from_yaml(text)
    assert len(found) == 1
    assert found.others == ("line 1: Deployment is not a kind of autoscaler that hypot knows",)
    assert [str(one) for one in found.problems] == [
        "line 14: spec.maxReplicas: Required value: must be set and greater than 0",
        "line 14: spec.maxReplicas: Invalid value: 0: must be greater than or equal to `minReplicas`",
    ]


def test_text_that_is_not_yaml_is_refused_with_its_line():
    """The error says line and column."""
    with pytest.raises(LoadError, match="text:2"):
        from_yaml("a: b\nc: [\n")
    with pytest.raises(LoadError, match="NUL"):
        from_yaml("a: \0")


def test_a_kind_reads_exactly_one_object():
    """Anything else is refused, with what was found."""
    assert HPA.from_yaml(WEB.to_yaml()) == WEB
    for text, found in (
        (to_yaml(WEB, WEB), "HorizontalPodAutoscaler on line 1, HorizontalPodAutoscaler on line"),
        (SIZES.to_yaml(), "VerticalPodAutoscaler on line 1"),
        ("", "found nothing"),
    ):
        with pytest.raises(ValueError, match=f"expected one HorizontalPodAutoscaler.*{found}"):
            HPA.from_yaml(text)


def test_effective_shows_the_defaults_of_a_version():
    """A tolerance is dropped by servers that do not know it; text may say the version."""
    assert WEB.effective("1.34").min_replicas == 1
    assert WPA("deployment/a", max_replicas=3, metrics=[band("x", high=2)]).effective().down_factor == 20
    assert SIZES.effective("1.30").update_policy.mode == "Off"
    hvpa = Hvpa("deployment/a", intervals=[interval(1, cpu="1", memory="1Gi")]).effective("1.34")
    assert (hvpa.hpa_spec.min_replicas, hvpa.hpa_spec.max_replicas, hvpa.scale_up.mode) == (1, 1, "Auto")
    assert hvpa.scale_down.min_change.memory.value == "200M"
    with pytest.raises(ValueError, match="write it as"):
        WEB.effective("new")


def test_a_tortoise_knows_containers_that_its_caller_or_its_spec_names():
    """What is not written is Off for every known container."""
    one = Tortoise("deployment/web", containers={"app": {"cpu": "Horizontal"}})
    names = [each.container_name for each in one.effective(containers=["app", "proxy"]).autoscaling_policy]
    assert names == ["app", "proxy"]
    assert len(one.effective().autoscaling_policy) == 1


def test_a_template_is_recognised():
    """Its braces are no YAML."""
    with pytest.raises(LoadError, match="this is a template; render it first"):
        from_yaml("apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata:\n  name: {{ .Values.name }}\n")


@pytest.mark.parametrize("kind", [HPA, WPA, VPA, Hvpa, Tortoise])
def test_a_version_is_a_version_of_kubernetes(kind):
    """As text, also where the defaults are the same in each."""
    found = kind.from_dict({})
    assert found.problems("1.34") == found.problems((1, 34))
    for call in (found.effective, found.problems):
        with pytest.raises(ValueError, match="is not a Kubernetes version"):
            call("bogus")


@pytest.mark.parametrize("given", ["apiVersion: v1", 3, None])
def test_only_objects_are_checked(given):
    """Text is read first."""
    with pytest.raises(TypeError, match="from_yaml reads text"):
        check(given)


@pytest.mark.parametrize(
    ("write", "hints"),
    [
        (lambda: HPA(D, max_replicas="3"), ["write 3 without quotes, as a number"]),
        (lambda: HPA(D, max_replicas=3, metrics=cpu(utilization="70%")), ["write 70, without the percent sign"]),
        (lambda: HPA(D, max_replicas=3, scale_up=ScalingRules(tolerance="5%")), ["write 0.05 for 5 percent"]),
        (
            lambda: HPA(D, max_replicas=3, metrics=[{"type": "Pods"}]),
            ["in Python a Metric is no mapping"],
        ),
        (lambda: HPA(D, max_replicas=3, scale_up=ScalingRules([limit(pods=0)])), ["in Python that is FROZEN"]),
        (lambda: HPA(D, max_replicas=3, scale_up=ScalingRules([])), ["in Python that is FROZEN"]),
        (lambda: VPA(D, min_replicas=2), ['in Python mode="Recreate"']),
        (lambda: Hvpa(D, intervals=interval(3, cpu="1", memory="1Gi"), overlap={"cpu": "\u0663\u0660%"}), [""]),
    ],
)
def test_a_hint_says_what_to_write(write, hints):
    """For what is meant."""
    with pytest.raises(InvalidAutoscaler) as raised:
        write()
    assert all(hint in problem.hint for hint, problem in zip(hints, raised.value.problems, strict=True))
