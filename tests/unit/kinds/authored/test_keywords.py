"""What constructors say about keywords of another constructor, and about arguments that are missing."""

import copy
import pickle
from concurrent.futures import ProcessPoolExecutor

import pytest

from hypot.kinds.base import InvalidAutoscaler
from hypot.kinds.hpa import HPA
from hypot.kinds.hpa.fields import FROZEN, ScalingRules, cpu, external, limit, memory, on, pods
from hypot.kinds.hvpa import Hvpa
from hypot.kinds.hvpa.fields import ResourceChanges, ScaleType, interval
from hypot.kinds.tortoise import Tortoise
from hypot.kinds.vpa import VPA
from hypot.kinds.wpa import WPA
from hypot.kinds.wpa.fields import WatermarkRules, band


@pytest.mark.parametrize(
    ("write", "paths", "fix"),
    [
        (lambda: pods("rate", utilization=50), ["utilization", "average"], "write average=100"),
        (lambda: pods("rate", average=1, value=5), ["value"], "`on` or `external`"),
        (lambda: pods("rate", average=1, container="app"), ["container"], "cpu and memory"),
        (lambda: pods(average=5), ["name"], ""),
        (lambda: pods("rate"), ["average"], ""),
        (lambda: cpu(value=5), ["value"], "utilization=70"),
        (cpu, ["utilization or average"], "utilization or average"),
        (lambda: cpu(utilization=70, average="1"), ["average"], "keep utilization or average"),
        (lambda: memory(container="app"), ["utilization or average"], ""),
        (lambda: on("ingress/shop", "hits", utilization=5), ["utilization"], "value=1000"),
        (lambda: on("ingress/shop", value=5), ["name"], ""),
        (lambda: on("ingress/shop", "hits", value=1, average=2), ["average"], "keep value or average"),
        (lambda: external("depth", utilization=5), ["utilization"], "average=100"),
        (lambda: external("depth"), ["value or average"], ""),
        (lambda: external(value=1), ["name"], ""),
        (lambda: limit(max_pods=4), ["max_pods"], "write pods=4"),
        (lambda: limit(max_unavailable=4), ["max_unavailable"], "write pods=4"),
        (lambda: limit(disabled=True), ["disabled"], "FROZEN"),
        (lambda: limit(pods=4, period=60), ["period"], 'per="60s"'),
        (limit, ["pods or percent"], ""),
        (lambda: limit(pods=4, percent=10), ["percent"], "keep pods or percent"),
        (lambda: cpu(utilization=70, labels={}), ["labels"], "it is a keyword of pods(), on(), external()"),
        (lambda: pods("rate", average=1, of="ingress/shop"), ["of"], "it is a keyword of on()"),
        (lambda: cpu(utilization=70, low=1, high=2), ["low", "high"], "it is a keyword of band() and resource_band()"),
        (lambda: band("rate", low=1, average=5), ["average"], "low=40, high=50"),
        (lambda: band("rate", low=1, container="app"), ["container"], "it is a keyword of cpu() and memory()"),
        (lambda: limit(pods=4, window="1m"), ["window"], "it is a keyword of ScalingRules()"),
        (lambda: ScalingRules(percent=10), ["percent"], "it is a keyword of limit() and WatermarkRules()"),
        (lambda: ScalingRules(policies=[]), ["policies"], "write limits="),
        (lambda: ScalingRules(forbidden_window="1m"), ["forbidden_window"], "it is a keyword of WatermarkRules()"),
        (lambda: WatermarkRules(window="1m"), ["window"], "write forbidden_window"),
        (lambda: ScaleType(window="1m"), ["window"], "write stabilization"),
        (lambda: ScaleType(update_policy="Auto"), ["update_policy"], 'write mode="Auto"'),
        (
            lambda: HPA("deployment/web", max_replicas=3, mode="Off"),
            ["mode"],
            "it is a keyword of VPA()",
        ),
        (lambda: VPA("deployment/web", max_replicas=3), ["max_replicas"], "it is a keyword of HPA(), WPA()"),
        (
            lambda: HPA("deployment/web", max_replicas=3, utilization=70),
            ["utilization"],
            "it is a keyword of cpu() and",
        ),
    ],
)
def test_what_does_not_belong_here_is_reported_with_the_fix(write, paths, fix):
    """All at once, with the name of the argument."""
    with pytest.raises(InvalidAutoscaler) as raised:
        write()
    assert [problem.path for problem in raised.value.problems] == paths
    assert fix in raised.value.problems[0].hint


@pytest.mark.parametrize(
    "write",
    [
        lambda: pods("rate", avrage=5),
        lambda: limit(podz=4),
        lambda: cpu(utilisation=70),
        lambda: HPA("deployment/web", max_replica=3),
        lambda: HPA("deployment/web", max_replica=3, status={}),
    ],
)
def test_a_misspelt_keyword_is_a_type_error(write):
    """Python's own message names it."""
    with pytest.raises(TypeError, match="unexpected keyword"):
        write()


@pytest.mark.parametrize("keyword", ["status", "conditions", "desired_replicas", "current_metrics"])
@pytest.mark.parametrize(
    "write",
    [
        lambda **more: HPA("deployment/web", max_replicas=3, **more),
        lambda **more: WPA("deployment/web", max_replicas=3, **more),
        lambda **more: VPA("deployment/web", **more),
        lambda **more: Hvpa("deployment/web", intervals=[], **more),
        lambda **more: Tortoise("deployment/web", **more),
    ],
)
def test_the_status_is_read_and_not_written(write, keyword):
    """The message says where it is read."""
    with pytest.raises(InvalidAutoscaler, match=r"from_dict\(live\)\.reported"):
        write(**{keyword: 5})


def test_required_arguments_of_an_autoscaler_are_reported():
    """Like every other problem."""
    with pytest.raises(InvalidAutoscaler, match="max_replicas: is required"):
        HPA("deployment/web", min_replicas=2)


INTERVALS = [interval(3, cpu="1", memory="1Gi")]


@pytest.mark.parametrize(
    ("write", "paths", "fix"),
    [
        (lambda: HPA("deployment/web", max_replicas=3, metrics=3), ["metrics"], "write a list of Metric instead of 3"),
        (
            lambda: WPA("deployment/web", max_replicas=3, metrics=band("rate", low=1), scale_down=FROZEN),
            ["scale_down"],
            "WatermarkRules(percent=0)",
        ),
        (
            lambda: Hvpa("deployment/web", intervals=INTERVALS, overlap="30%"),
            ["overlap"],
            "in Python a ResourceChanges",
        ),
        (
            lambda: Hvpa("deployment/web", intervals=INTERVALS, window=("a", "b", "c")),
            ["window"],
            "a MaintenanceWindow",
        ),
        (
            lambda: Hvpa("deployment/web", intervals=INTERVALS, use_hpa="no"),
            ["use_hpa"],
            'write true or false instead of "no"',
        ),
        (
            lambda: Hvpa("deployment/web", intervals=INTERVALS, hpa_scale_up=ScalingRules(window=-1)),
            ["hpa_scale_up.window"],
            "",
        ),
        (
            lambda: Hvpa("deployment/web", intervals=INTERVALS, hpa_scale_up=ScalingRules([limit(pods=0, per="1h")])),
            ["hpa_scale_up.limits[0].pods", "hpa_scale_up.limits[0].per"],
            "",
        ),
        (lambda: Hvpa("deployment/web", intervals=INTERVALS, knobs={"a": 3}), ["knobs.a"], "in quotes"),
        (lambda: Hvpa("deployment/web", intervals=INTERVALS, scale_up=ScaleType("On")), ["scale_up.mode"], ""),
        (
            lambda: Tortoise(
                "deployment/web",
                containers={"a": {"max_allocated": {"cpu": "1"}}, "b": {"cpu": "horizontal"}},
            ),
            ['containers["b"].cpu'],
            "",
        ),
        (lambda: Tortoise("deployment/web", containers=["app"]), ["containers[0]"], ""),
        (lambda: VPA("deployment/web", recommender=""), ["recommender"], ""),
        (
            lambda: VPA("deployment/web", containers={"app": {"max_alowed": {}}}),
            ["containers[0].max_alowed"],
            "maxAllowed",
        ),
        (
            lambda: HPA("deployment/web", max_replicas=3, scale_up=ScalingRules(window="9" * 5000 + "s")),
            ["scale_up.window"],
            "",
        ),
        (
            lambda: HPA("deployment/web", max_replicas=3, metrics=pods("x", average=3, labels="a=b")),
            ["metrics[0].selector.matchLabels"],
            "",
        ),
    ],
)
def test_a_value_of_another_type_is_a_problem_with_its_place(write, paths, fix):
    """The place is the keyword that the author wrote."""
    with pytest.raises(InvalidAutoscaler) as raised:
        write()
    assert [problem.path for problem in raised.value.problems] == paths
    assert fix in raised.value.problems[0].hint


def refused(_):
    """A worker that fails."""
    HPA(object(), max_replicas=object())


def test_a_refusal_reaches_another_process():
    """As it was; a value that is no JSON as text."""
    with ProcessPoolExecutor(1) as pool, pytest.raises(InvalidAutoscaler, match="HorizontalPodAutoscaler") as raised:
        list(pool.map(refused, [1]))
    before = raised.value
    for after in (pickle.loads(pickle.dumps(before)), copy.copy(before), copy.deepcopy(before)):  # noqa: S301
        assert (str(after), after.problems) == (str(before), before.problems)


def test_a_change_of_an_hvpa_may_be_a_resource_changes():
    """In each place that takes a mapping."""
    changes = ResourceChanges.of({"cpu": "10%", "memory": "200M"})
    assert ScaleType("Auto", changes) == ScaleType("Auto", {"cpu": "10%", "memory": "200M"})
