"""What a converted autoscaler does, next to what the original does: it rests, and removes pods no sooner."""

from itertools import pairwise
from typing import NamedTuple

from hypothesis import example, given, settings
from hypothesis import strategies as st

from hypot import (
    HPA,
    WPA,
    ScalingRules,
    WatermarkRules,
    band,
    check,
    cpu,
    external,
    from_yaml,
    limit,
    resource_band,
    to_yaml,
)
from hypot.authoring.convert.convert import KINDS, convert
from hypot.authoring.convert.result import CannotConvertError, workload_of
from hypot.core.quantity import milli
from hypot.core.replicas.bounds import factor_step
from hypot.kinds.wpa import with_defaults
from hypot.policy.decide import decide
from hypot.policy.model.seen import PodSample, Scale, Seen, metric_key
from hypot.policy.model.settings import Settings
from hypot.policy.model.state import State
from property.authoring.objects import manifests
from property.picks import among, maybe, within
from property.worlds import NOW, steady_pod

SYNC = 15
REQUEST = 1000
SETTINGS = Settings()
LABELS = {"app": "web"}
REQUESTS = {"requests": {"cpu": "1", "memory": "1"}}


def deployment(*containers):
    spec = {"containers": [{"name": name, "image": "web", "resources": REQUESTS} for name in containers]}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {"selector": {"matchLabels": LABELS}, "template": {"metadata": {"labels": LABELS}, "spec": spec}},
    }


WEB = deployment("app")


def converted(one, to, manifest=WEB):
    """The result, or None if there is no equivalent."""
    try:
        return convert(one, to, workload_of(one.target, one.namespace, [manifest]))
    except CannotConvertError:
        return None


def errors_in(*objects):
    return {(finding.rule, finding.message) for finding in check(*objects).errors}


@settings(max_examples=300)
@given(manifests, st.sampled_from(list(KINDS)))
def test_a_conversion_brings_no_error(data, to):
    """Lint finds no error beside the workload that it does not find in the original.

    But where the original leaves every container alone, so does an Autoscaler, and then it can decide nothing.
    """
    web = deployment("app", "yes")
    (one,) = from_yaml(to_yaml(data))
    made = converted(one, to, web)
    if made is None:
        return
    kept = [one] if to == "autoscaler" or (isinstance(one, HPA) and to == "tortoise") else []
    before = {rule for rule, _ in errors_in(one, web)} | {"needs-cpu-request"}
    assert {(rule, text) for rule, text in errors_in(*kept, *made.objects, web) if rule not in before} == set()


def world(count, load, now):
    """Pods that share a load of cpu, which is also in a queue."""
    share, rest = divmod(load, count)
    pods = tuple([steady_pod(f"web-{i}") for i in range(count)])
    used = {pod.name: PodSample(now - 10, 30.0, (("app", {"cpu": share + (i < rest)}),)) for i, pod in enumerate(pods)}
    labelled = {name: sample._replace(labels=LABELS) for name, sample in used.items()}
    return Seen(
        now,
        Scale(count, count, "app=web"),
        pods,
        labelled,
        external_metrics={metric_key("queue", s): (load,) for s in (None, {})},
    )


def counts(one, count, load, ticks):
    """The count after each decision of an autoscaler that scaled lately."""
    state, found = State(last_scale=NOW), []
    for tick in range(ticks):
        decision, state = decide(one, world(count, load, NOW + tick * SYNC), state, SETTINGS)
        count = decision.desired if decision.desired is not None else count
        found.append(count)
    return found


limits = st.one_of(
    st.builds(lambda n, per: limit(pods=n, per=per), st.integers(1, 5), among(15, 60, 120)),
    st.builds(lambda n, per: limit(percent=n, per=per), st.integers(5, 200), among(15, 60, 120)),
)
rules = st.builds(
    ScalingRules,
    maybe(st.lists(limits, min_size=1, max_size=3)),
    maybe(among(0, 30, 300)),
    among(None, "Max", "Min", "Disabled"),
    among(None, None, "50m", "0.2"),
)
MAKES = (
    lambda mark: cpu(utilization=max(1, mark * 100 // REQUEST)),
    lambda mark: cpu(average=f"{mark}m"),
    lambda mark: external("queue", average=f"{mark}m"),
)


class Case(NamedTuple):
    """An autoscaler, and the count and the load that it begins with."""

    one: HPA | WPA
    start: int
    load: int


@st.composite
def of_hpa(draw):
    """Near its target, where rounding decides, or far from it; of a few percent an HPA would truncate too much."""
    mark, low = draw(within(200, 1000)), draw(within(1, 4))
    most = low + draw(within(0, 25))
    metric = draw(st.sampled_from(MAKES))(mark)
    one = HPA(
        "deployment/web",
        min_replicas=low,
        max_replicas=most,
        metrics=[metric],
        scale_up=draw(maybe(rules)),
        scale_down=draw(maybe(rules)),
    )
    start = draw(within(low, most))
    return Case(one, start, max(1, start * mark * draw(among(10, 50, 75, 85, 87, 89, 95, 105, 115, 150, 400)) // 100))


steps = st.builds(WatermarkRules, among(None, 0, 10, 50, 90), among(None, 15, 60), among(None, 0, 60))


@st.composite
def of_wpa(draw):
    low, mark = draw(within(1, 4)), draw(within(50, 1000))
    most = low + draw(within(0, 25))
    marks = {"high": f"{mark + draw(among(0, 100, 1000))}m", "low": f"{mark}m"}
    if draw(st.booleans()):
        del marks["low"]
    one = WPA(
        "deployment/web",
        min_replicas=low,
        max_replicas=most,
        metrics=[draw(among(resource_band("cpu", labels=LABELS, **marks), band("queue", **marks)))],
        algorithm="average",
        tolerance=draw(among(None, "10m", "0.2")),
        scale_up=draw(maybe(steps)),
        scale_down=draw(maybe(steps)),
        tolerate_zero=True,
    )
    start = draw(within(low, most))
    return Case(one, start, max(1, start * mark * draw(among(10, 50, 75, 85, 95, 150, 400)) // 100))


def excused(notes):
    """Whether a note says that more pods may be removed; what waits differs only while the load changes."""
    other = ("stabilization window of", "first scaling", "right after pods were removed", "a step may remove")
    return any("removed" in note.text and not any(text in note.text for text in other) for note in notes)


UNEVEN = HPA("deployment/web", max_replicas=10, metrics=[cpu(average="400m")])
SMALLER = ScalingRules([limit(percent=10, per=60), limit(percent=50, per=120)], window=0, select="Min")
SLOW = HPA("deployment/web", max_replicas=25, metrics=[cpu(average="400m")], scale_down=SMALLER)


@settings(max_examples=50)
@example(Case(UNEVEN, 4, 1400))
@given(of_hpa())
def test_a_converted_hpa_comes_to_rest(case):
    """Where the HPA rests, give or take a pod, or where the HPA would rest as well; it never turns round."""
    (wpa,) = converted(case.one, "wpa").objects
    path = counts(wpa, case.start, case.load, 300)
    assert path == sorted(path) or path == sorted(path, reverse=True)
    assert len(set(path[-40:])) == 1
    there = counts(case.one, case.start, case.load, 300)[-1]
    assert abs(path[-1] - there) <= 1 or abs(counts(case.one, path[-1], case.load, 300)[-1] - path[-1]) <= 1


@settings(max_examples=200)
@example(Case(SLOW, 20, 400), "wpa")
@given(st.one_of(of_hpa(), of_wpa()), among("hpa", "wpa", "hvpa"))
def test_pods_are_removed_no_sooner(case, to):
    """Under a constant load, unless a note says so; both decide at any time of the same interval."""
    one, start, load = case
    made = converted(one, to)
    if made is None or isinstance(one, KINDS[to]):
        return
    before, after = counts(one, start, load, 120), counts(made.objects[0], start, load, 120)
    ends = [*before[1:], before[-1]]
    fewer = any(now < min(then, start) for then, now in zip(ends, after, strict=True))
    assert not fewer or excused(made.notes) or rounded_up(one, [start, *after])


def rounded_up(one, path):
    """Whether each step removes at most one more pod than this WatermarkPodAutoscaler's, as a note always says."""
    if not isinstance(one, WPA):
        return False
    factor = milli(with_defaults(one).down_factor)
    return all(count - after <= factor_step(count, factor) + 1 for count, after in pairwise(path))
