"""The sizes of pods: by usage if a resource is Vertical, with the count of replicas if it is Horizontal."""

from copy import deepcopy
from dataclasses import dataclass
from itertools import pairwise

import pytest

from hypot.policy.model.learned import SlotLayout
from hypot.policy.model.settings import Settings
from unit.policy.sizes_world import DAY, HOUR, MI, MINUTE, NOW, limit_range, limits, sentences, sized
from unit.policy.tortoise.tortoise_world import (
    AT_ONCE,
    EXAMPLE,
    World,
    bounds,
    conditions_of,
    cpu,
    hpa,
    known,
    least,
    memory,
    policy,
    settings_by,
    tortoise,
)

CORE = 1000
# A core that is needed at a target of 70 % is 700 millicores that are used.
USED = 700


def example(replicas, cores, total, *, needs=(1000,), annotations=None, peak=300, **more):
    """At least 3 replicas, 10 preferred; one to five cores per pod; a total of needed cores."""
    one = tortoise(
        annotations={**EXAMPLE, **(annotations or {})},
        autoscalingPolicy=[policy()],
        resourcePolicy=[least(cpu="1")],
    )
    usual = {"hpa": hpa(3, 30), "peak": {"app": {"cpu": peak}}, "state": known(needs, low=3)}
    return World(
        replicas=replicas,
        sizes={"app": {"cpu": int(cores * CORE)}},
        demand={"app": round(total * USED)},
        tortoise=one,
        **{**usual, **more},
    )


def shape(world, total=None):
    """The count and the cores of a pod that they come to; the HPA follows each pass."""
    if total is not None:
        world.demand = {"app": round(total * USED)}
    for _ in range(4):
        world.step(MINUTE)
        world.follow()
    return world.replicas, world.sizes["app"]["cpu"] / CORE


def test_example_1():
    """At the preferred count pods grow; when demand falls, they keep their size and their number falls."""
    world = example(10, 2, 40)
    assert shape(world) == (10, 4)
    assert shape(world, 30) == (8, 4)


def test_example_2():
    """The preferred count is soft, and the largest size is hard."""
    world = example(10, 2, 74.3)
    first = world.decided()
    assert cpu(first) == 5000
    assert shape(world) == (15, 5)


def test_example_3():
    """At the least count pods shrink; when demand rises, they keep their size and their number rises."""
    world = example(3, 2, 4.5)
    assert shape(world) == (3, 1.5)
    assert shape(world, 6) == (4, 1.5)


def test_example_4():
    """They stop at the smallest size, and then nothing happens."""
    world = example(3, 2, 3)
    assert shape(world) == (3, 1)
    world.now += 2 * DAY
    assert shape(world, 1.5) == (3, 1)


def test_one_change_shrinks_by_a_fifth():
    """The default; a day later it goes on, until what remains is within the tolerance."""
    world = example(3, 2, 3, annotations=settings_by({"max_scaling_down_ratio": "0.8"}))
    assert [cpu(world.step(DAY)) for _ in range(5)] == [1600, 1280, 1024, 1024, 1024]


@pytest.mark.parametrize(
    ("size", "total", "expected"),
    [
        # As for growth: a tenth asks for nothing.
        (2, 5.99, 2000),
        (2, 5.4, 2000),
        (2, 5.39, 1797),
        # The smallest size is no exception.
        (1.05, 1, 1050),
        # The largest is: it holds in any case.
        (5.1, 15.2, 5000),
    ],
)
def test_a_shrink_needs_a_smallest_change(size, total, expected):
    """Each shrink may restart all pods, so a fall of a thousandth must not."""
    assert cpu(example(3, size, total).decided()) == expected


def test_a_slow_fall_at_the_least_count():
    """In steps of 1 % pods shrink when a tenth is too much, and end within a tenth of what is needed."""
    world = example(3, 4, 12, annotations=settings_by({"slot_period": "daily", "slot_hours": 24}))
    world.state = known([0], layout=SlotLayout(hours=24, daily=True))
    total, written = 12.0, []
    while total > 4.5:
        total *= 0.99
        world.demand = {"app": round(total * USED)}
        world.step(DAY)
        world.follow()
        if world.sizes["app"]["cpu"] not in written[-1:]:
            written.append(world.sizes["app"]["cpu"])
    assert world.replicas == 3
    assert all(after < before * 0.9 for before, after in pairwise(written))
    assert written[-1] * 3 * 0.88 < total * CORE <= written[-1] * 3


def test_without_usage_pods_do_not_shrink():
    """Nothing says what they use at their peak; with usage they never get less than that."""
    assert cpu(example(3, 2, 3, state=known([1000]), peak=0).decided()) == 2000
    assert cpu(example(3, 2, 3, peak=1700).decided()) == 1700


def day(world, low, high, steps=48):
    """A day of demand, from low to high and back; the sizes that are written."""
    written = []
    for each in range(steps):
        share = 1 - abs(2 * each / steps - 1)
        world.demand = {"app": round((low + (high - low) * share) * USED)}
        before = dict(world.sizes["app"])
        world.step(DAY / steps)
        world.follow()
        written += [world.sizes["app"]["cpu"]] if world.sizes["app"] != before else []
    return written


@pytest.mark.parametrize(("low", "high"), [(20, 40), (7, 40), (20, 74.3), (3, 18), (2, 5)])
def test_the_next_day_writes_no_size(low, high):
    """With the same traffic, whether or not pods grew or shrank on the first day."""
    world = example(4, 2, low)
    first = day(world, low, high)
    second = day(world, low, high)
    assert second == [] or (len(second) == 1 and second[0] < min(first, default=2000)), (first, second)
    assert day(world, low, high) == []


def test_a_slow_fall_writes_no_size():
    """In steps of 1 % from the preferred count down; without the rule there would be 69 sizes."""
    world = example(10, 4, 40)
    total, written = 40.0, set()
    while total > 12.5:
        total *= 0.99
        world.demand = {"app": round(total * USED)}
        world.step(MINUTE)
        world.follow()
        written.add(world.sizes["app"]["cpu"])
    assert written == {4000}
    assert world.replicas == 4


@pytest.mark.parametrize(
    ("replicas", "total", "expected"),
    [
        # A need within the tolerance of an HPA asks for nothing.
        (10, 44, 4000),
        (10, 44.5, 4450),
        (10, 55, 5000),
        # Below the preferred count replicas are added, above it too if pods are large enough.
        (9, 60, 5000),
        (9, 39, 4000),
        (15, 44, 4000),
        (5, 12, 4000),
    ],
)
def test_pods_grow_at_the_preferred_count(replicas, total, expected):
    assert cpu(example(replicas, 4, total).decided()) == expected


def test_pods_grow_by_what_is_needed_now():
    """A peak of last week keeps them from shrinking, but does not make them grow."""
    assert cpu(example(10, 2, 30, needs=[40_000]).decided()) == 3000
    assert cpu(example(3, 5, 6, needs=[40_000]).decided()) == 4000


def test_a_peak_of_weeks_ago_does_not_keep_pods_large():
    """One burst must not leave large idle pods for four weeks. The bounds still know it."""
    decision = example(3, 5, 6, needs=[40_000, 6_000], now=NOW - NOW % DAY).decided()
    assert cpu(decision) == 2000
    assert bounds(decision)[0] == 4


def test_above_the_preferred_count_pods_grow_first():
    """So that the preferred count is enough; then the HPA removes replicas. It did not while demand stayed."""
    world = example(15, 2, 30, hpa=hpa(3, 15), needs=[30_000])
    first = world.step(MINUTE)
    assert (cpu(first), bounds(first)) == (3000, (8, 15))
    world.follow()
    assert shape(world) == (10, 3)
    assert not world.decided().resizes


@pytest.mark.parametrize(("total", "expected"), [(44, 4000), (48, 4800), (52, 5000), (60, 5000)])
def test_above_the_preferred_count(total, expected):
    assert cpu(example(15, 4, total).decided()) == expected


def test_another_container_keeps_the_count():
    """One container needs 12 replicas of its largest size: the other is sized for these, not for the preferred 10."""
    decision = two(15, 60, 12, sizes=(5, 0.8)).decided()
    assert (cpu(decision), cpu(decision, "side")) == (5000, 1000)
    decision = two(15, 40, 12, sizes=(2, 0.8)).decided()
    assert (cpu(decision), cpu(decision, "side")) == (4000, 1200)


def test_pods_near_their_largest_size_reach_it():
    """Otherwise neither size nor count could grow: the maximum is held at the preferred count until then."""
    world = example(10, 4.8, 74.3)
    assert cpu(world.decided()) == 5000
    assert shape(world) == (15, 5)


@pytest.mark.parametrize("most", [1, 2, 3])
def test_a_single_count(most):
    """With a maximum that is not above the minimum only sizes are left: they grow, and shrink again."""
    world = example(most, 2, 4 * most, annotations=settings_by({"slot_period": "daily"}), hpa=hpa(most, most))
    world.tortoise["spec"]["maxReplicas"] = most
    world.state = known([100 * most], layout=SlotLayout(daily=True))
    assert cpu(world.step(HOUR)) == 4000
    world.demand = {"app": round(1.5 * most * USED)}
    found = [cpu(world.step(HOUR)) for _ in range(50)]
    assert (found[0], found[-1]) == (4000, 1500)


def test_growth_is_reported():
    decision = example(10, 4, 48).decided()
    assert conditions_of(decision)["ScaledUpBasedOnPreferredMaxReplicas"] == "True"
    assert sentences(decision, "size") == ["Cpu of app has 4 per pod, and all pods need 48: it gets 4800m."]
    assert decision.reason == "each pod gets app cpu 4800m; the HPA gets 6 to 10 replicas"


def test_growth_is_over_below_the_preferred_count():
    world = example(10, 4, 48)
    world.step(60)
    world.replicas, world.demand = 9, {"app": 30 * USED}
    assert conditions_of(world.step(60))["ScaledUpBasedOnPreferredMaxReplicas"] == "False"
    decision = world.step()
    assert cpu(decision) == 4800
    assert conditions_of(decision)["VerticalRecommendationUpdated"] == "False"


def test_one_shrink_a_day():
    """By default; growing is not counted."""
    world = example(3, 2, 5.1)
    assert cpu(world.step(HOUR)) == 1700
    world.demand = {"app": 3 * USED}
    held = world.step(DAY - HOUR)
    assert cpu(held) == 1700
    assert sentences(held, "shrinks-per-day") == ["Pods shrink at most once a day: they keep their size."]
    assert cpu(world.step()) == 1000


def test_only_a_smaller_size_counts_as_a_shrink():
    """A count that hypot decides may fall all day long."""
    world = example(6, 2, 5.1, annotations={"hypot.dev/decide": "true"}, hpa=None)
    for _ in range(20):
        world.step(5 * MINUTE)
    assert (world.replicas, world.sizes["app"]["cpu"]) == (3, 1700)


@pytest.mark.parametrize(
    ("per_day", "expected"), [(0, [2000, 2000, 2000]), (2, [1700, 1700, 1000]), (24, [1700, 1000, 1000])]
)
def test_other_shrinks_a_day(per_day, expected):
    world = example(3, 2, 5.1, annotations=settings_by({"shrinks_per_day": per_day}))
    found = [cpu(world.step(6 * HOUR))]
    world.demand = {"app": 3 * USED}
    assert found + [cpu(world.step(6 * HOUR)) for _ in range(2)] == expected


def vertical(size, used, *, annotations=None, limit=None, **more):
    """One container whose memory follows its usage, in mebibytes."""
    one = tortoise(
        annotations=annotations or AT_ONCE,
        autoscalingPolicy=[policy(cpu="Off", memory="Vertical")],
        **more.pop("spec", {}),
    )
    return World(
        tortoise=one,
        hpa=None,
        sizes={"app": {"cpu": 1000, "memory": size * MI}},
        limits={} if limit is None else {"app": {"memory": limit * MI}},
        peak=None if used is None else {"app": {"memory": used * MI}},
        **more,
    )


@pytest.mark.parametrize(
    ("size", "used", "expected"),
    [
        # With a buffer of 10 %, and another if it grows.
        (1000, 1000, 1210),
        (1000, 910, 1102),
        # Large enough, and not clearly too large.
        (1000, 900, 1000),
        (1000, 744, 1000),
        # Clearly too large.
        (1000, 743, 818),
        (1000, 500, 550),
        # The administrator's bounds.
        (1000, 10, 50),
        (1000, 100_000, 10 * 1024),
        (1000, None, 1000),
    ],
)
def test_vertical_sizes(size, used, expected):
    assert memory(vertical(size, used).decided()) == expected


@pytest.mark.parametrize(
    ("bounds", "used", "expected"),
    [
        (least(memory="600Mi"), 100, 600),
        (least(most={"memory": "1200Mi"}), 5000, 1200),
        # The spec's maximum does not exceed the administrator's.
        (least(most={"memory": "1Ti"}), 50_000, 10 * 1024),
        # A pod that is outside of its bounds is put inside.
        (least(memory="2Gi"), 900, 2048),
        (least(most={"memory": "500Mi"}), 900, 500),
    ],
)
def test_bounds_of_a_container(bounds, used, expected):
    assert memory(vertical(1000, used, spec={"resourcePolicy": [bounds]}).decided()) == expected


def test_a_fall_of_vertical_sizes_is_limited_too():
    """Four fifths remain, once a day."""
    world = vertical(1000, 100, annotations={"x": "y"})
    assert [memory(world.step(DAY)) for _ in range(3)] == [800, 640, 512]


def test_a_limit_keeps_its_ratio():
    """Without a limit there is none, and cpu is not sized here."""
    decision = vertical(1000, 1000, limit=2000).decided()
    assert limits(decision) == {"memory": 2420 * MI}
    assert limits(vertical(1000, 1000).decided()) == {}


def test_least_limits():
    """The administrator may want a limit to be more than its request."""
    setup = Settings.from_dict({"tortoise": {"resourceLimitMultiplier": {"memory": 2}}})
    assert limits(vertical(1000, 1000, limit=1000, settings=setup).decided()) == {"memory": 2420 * MI}
    world = example(3, 2, 3, limits={"app": {"cpu": 2000}}, annotations=settings_by({"minimum_cpu_limit": "1500m"}))
    assert limits(world.decided()) == {"cpu": 1500}


def test_only_what_changes_is_named():
    assert vertical(1000, 1000).decided().reason == "each pod gets app memory 1210Mi"


def test_limit_ranges():
    """The size is cut, and the decision says so."""
    world = vertical(1000, 2000, limit=1000, more=(limit_range(max=sized(memory="1500Mi")),))
    decision = world.decided()
    assert memory(decision) == 1500
    assert sentences(decision, "limit-range") == [
        "A LimitRange of the namespace does not allow the size of app: it gets what is allowed."
    ]
    world.step(MINUTE)
    assert not world.step().resizes


def two(replicas, app, side, *, sizes=(2, 1), annotations=None, peaks=(300, 100), **more):
    """Two containers that replicas follow, with the cores that each needs in total."""
    one = tortoise(annotations={**EXAMPLE, **(annotations or {})}, autoscalingPolicy=[policy(), policy("side")])
    usual = {
        "hpa": hpa(3, 30),
        "state": known([1000], places=("app/cpu", "side/cpu")),
        "peak": dict(zip(("app", "side"), ({"cpu": each} for each in peaks), strict=True)),
    }
    return World(
        replicas=replicas,
        sizes={name: {"cpu": int(each * CORE)} for name, each in zip(("app", "side"), sizes, strict=True)},
        demand={"app": round(app * USED), "side": round(side * USED)},
        tortoise=one,
        **{**usual, **more},
    )


@pytest.mark.parametrize(
    ("replicas", "app", "side", "expected"),
    [
        # At the preferred count each grows by its own need.
        (10, 40, 5, (4000, 1000)),
        (10, 40, 30, (4000, 3000)),
        (10, 20, 30, (2000, 3000)),
        # At the least count each shrinks by its own need.
        (3, 4.5, 1.5, (1500, 500)),
        # One grows, so the other does not shrink now.
        (3, 4.5, 60, (2000, 5000)),
    ],
)
def test_several_containers(replicas, app, side, expected):
    decision = two(replicas, app, side).decided()
    assert (cpu(decision), cpu(decision, "side")) == expected


def test_a_container_that_never_moves_the_count_shrinks():
    """Between the bounds too: what it uses is far below its target because another container needs the replicas."""
    world = two(6, 12, 0.6, peaks=(1900, 90))
    decision = world.decided()
    assert cpu(decision) == 2000
    assert cpu(decision, "side") == 128


def test_off_and_unsized_containers_stay():
    world = two(10, 40, 5)
    world.tortoise = tortoise(annotations=EXAMPLE, autoscalingPolicy=[policy()])
    world.state = known([1000])
    decision = world.decided()
    assert (cpu(decision), cpu(decision, "side")) == (4000, 1000)
    assert decision.status["autoscalingPolicy"][1] == {
        "containerName": "side",
        "policy": {"cpu": "Off", "memory": "Off"},
    }


def test_pods_in_an_emergency_grow_and_do_not_shrink():
    world = example(3, 2, 3, state=known([1000], phase="Emergency"))
    world.tortoise = {**world.tortoise, "spec": {**world.tortoise["spec"], "updateMode": "Emergency"}}
    assert cpu(world.decided()) == 2000
    world.replicas, world.demand = 10, {"app": 40 * USED}
    assert cpu(world.decided()) == 4000


def test_while_gathering_no_size_is_written():
    """Nothing is known about peaks of the week yet."""
    state = known([1000])
    past = state.tortoise
    world = example(
        10, 2, 40, state=state._replace(tortoise=type(past)(past.learned, "", {"app/cpu": 1_799_999_000.0}))
    )
    assert not world.decided().resizes


@pytest.mark.parametrize(("mode", "expected"), [("Auto", 1000), ("Emergency", 1800)])
def test_an_emergency_grows_sizes_too(mode, expected):
    """To twice the usage, once, also without anything that replicas follow."""
    world = vertical(1000, 900)
    world.tortoise["spec"]["updateMode"] = mode
    assert [memory(world.step(HOUR)) for _ in range(3)] == [expected] * 3


@dataclass
class OneSmaller(World):
    """The first pod has only half of the memory of the others."""

    def objects(self):
        found = super().objects()
        # Pods share their containers.
        found = [deepcopy(each) for each in found]
        [first] = [each for each in found if each["kind"] == "Pod" and each["metadata"]["name"] == "web-0"]
        requests = first["spec"]["containers"][0]["resources"]["requests"]
        requests["memory"] = str(int(requests["memory"]) // 2)
        return found


def test_pods_that_an_interrupted_change_left_behind():
    """They get the size of the largest, which is the desired one; a resource that is Off differs as it likes."""
    decision = OneSmaller(
        tortoise=tortoise(
            autoscalingPolicy=[policy(cpu="Off", memory="Vertical")],
            resourcePolicy=[least(memory="1Gi", most={"memory": "1Gi"})],
        ),
        peak={"app": {"memory": 100 * MI}},
    ).decided()
    assert decision.catches_up
    assert decision.desired_sizes == decision.sizes
    assert decision.grows
    assert decision.reason.startswith("the largest pod has the desired size of app, and the others get it too")
    assert "catch-up" in [step.rule for step in decision.steps]
    off = OneSmaller(tortoise=tortoise(autoscalingPolicy=[policy()])).decided()
    assert not off.catches_up
    assert not World().decided().catches_up
