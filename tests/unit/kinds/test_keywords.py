"""What constructors say about keywords of another constructor, and about arguments that are missing."""

import pytest

from hypot.kinds.base import InvalidAutoscaler
from hypot.kinds.hpa import HPA
from hypot.kinds.hpa.fields import cpu, external, limit, memory, on, pods
from hypot.kinds.hvpa import Hvpa
from hypot.kinds.tortoise import Tortoise
from hypot.kinds.vpa import VPA
from hypot.kinds.wpa import WPA


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
