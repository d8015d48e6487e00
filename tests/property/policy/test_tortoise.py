"""What holds for every Tortoise, whatever the history and the input."""

import copy
import json
from dataclasses import replace

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hypot.policy.model.learned import REASONS, SlotLayout
from hypot.policy.model.state import State
from unit.policy.sizes_world import DAY, HOUR, MI, limit_range, sized
from unit.policy.tortoise.tortoise_world import (
    BY_CPU,
    WEEK,
    World,
    bounds,
    container_metric,
    cpu,
    external_metric,
    hpa,
    known,
    phase,
    policy,
    settings_by,
    tortoise,
)

often = settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
seldom = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])

# A slot a day: seven columns are enough to show what weeks do.
DAILY = SlotLayout(hours=24)
needs = st.one_of(st.integers(0, 200_000), st.sampled_from(REASONS))
histories = st.lists(needs, min_size=1, max_size=6)
limits_of_administrators = st.fixed_dictionaries(
    {},
    optional={
        "minimum_min_replicas": st.integers(1, 20),
        "maximum_min_replicas": st.integers(2, 40),
        "preferred_max_replicas": st.integers(2, 60),
        "maximum_max_replicas": st.integers(3, 120),
        "max_replicas_multiplier": st.sampled_from(["1", "1.5", "3"]),
        "min_replicas_multiplier": st.sampled_from(["0.1", "0.5", "1"]),
        "maximum_cpu_request": st.sampled_from(["500m", "2", "10"]),
        "shrinks_per_day": st.sampled_from([0, 1, 24]),
        "max_scaling_down_ratio": st.sampled_from(["0", "0.8"]),
        "target_rule": st.sampled_from(["plain", "fixed-point"]),
    },
)


def historic(history, annotations=None, **more):
    spec = more.pop("spec", {"autoscalingPolicy": BY_CPU})
    one = tortoise(annotations=settings_by({**(annotations or {}), "slot_hours": 24}), **spec)
    return World(tortoise=one, **{"state": known(history, layout=DAILY), **more})


@often
@given(
    histories,
    limits_of_administrators,
    st.integers(1, 40),
    st.integers(0, 60_000),
    st.sampled_from([None, 1, 2, 7, 1000]),
    st.sampled_from(["Auto", "Emergency", "Off"]),
    st.sampled_from([250, 1000, 4000]),
)
def test_bounds_are_bounds(history, annotations, replicas, demand, most, mode, size):
    """The minimum never exceeds the maximum, and both are what people allow."""
    spec = {"autoscalingPolicy": BY_CPU, "mode": mode, **({} if most is None else {"maxReplicas": most})}
    world = historic(
        history, annotations, spec=spec, replicas=replicas, demand={"app": demand}, sizes={"app": {"cpu": size}}
    )
    chosen, seen = world.seen()
    own, _ = world.settings.tortoise.overridden(seen.namespace_annotations, chosen.annotations)
    highest = min(most or own.maximum_max_replicas, own.maximum_max_replicas)
    for _ in range(3):
        decision = world.step(60)
        if decision.hpa.writes:
            low, high = bounds(decision)
            assert 1 <= low <= high <= highest
            assert low >= min(own.minimum_min_replicas, highest)
            assert high == low or low <= max(own.maximum_min_replicas, own.minimum_min_replicas)


@often
@given(histories, st.integers(1, 30), st.integers(0, 30_000), limits_of_administrators)
def test_the_same_history_gives_the_same_result(history, replicas, demand, annotations):
    """Whatever was decided, the same world a pass later changes nothing more, except for sizes that shrink daily."""
    world = historic(
        history,
        {**annotations, "shrinks_per_day": 1},
        replicas=replicas,
        demand={"app": demand},
        peak={"app": {"cpu": 500}},
    )
    one, again = world.decided(), world.decided()
    assert one == again
    world.step(15)
    # A growth may raise the maximum once more; then it rests.
    world.step(15)
    later = world.step(15)
    assert not later.hpa.writes
    assert not later.moves


@often
@given(
    st.lists(st.integers(1000, 60_000), min_size=4, max_size=4),
    st.integers(0, 3),
    st.sampled_from([*REASONS]),
    st.integers(1, 100),
)
def test_an_outage_never_lowers_the_floor(history, week, reason, share):
    """A week that is left out counts for nothing: the other weeks stand, and the last healthy value stays."""
    healthy = [each for i, each in enumerate(history) if i != week]
    out = [reason if i == week else each for i, each in enumerate(history)]
    demand = {"app": 7 * share}
    with_outage = bounds(historic(out, demand=demand).decided())
    assert with_outage == bounds(historic(healthy, demand=demand).decided())
    # Without it the week might have raised the bounds, but a week of little use never raises the floor.
    assert with_outage >= bounds(historic([*healthy[:week], 0, *healthy[week:]], demand=demand).decided())


@often
@given(
    histories,
    limits_of_administrators,
    st.integers(1, 40),
    st.sampled_from([0, 0.2, 0.45]),
    st.integers(0, 60_000),
    st.sampled_from(["decides", "own HPA", "no HPA"]),
    st.sampled_from(["Working", "BackToNormal"]),
    st.integers(1, 40),
)
def test_missing_metrics_remove_nothing(history, annotations, replicas, share, demand, who, phase_before, low):
    """Neither is the minimum lowered, nor the count or the maximum below the pods that run, except by people."""
    world = historic(
        history,
        annotations,
        replicas=replicas,
        measured=int(replicas * share),
        demand={"app": demand},
        state=known(history, layout=DAILY, phase=phase_before, low=low),
        hpa=hpa(low, low + 10) if who == "own HPA" else None,
    )
    if who == "decides":
        world.tortoise["metadata"]["annotations"]["hypot.dev/decide"] = "true"
    chosen, seen = world.seen()
    own, _ = world.settings.tortoise.overridden(seen.namespace_annotations, chosen.annotations)
    kept, least_kept = min(replicas, own.maximum_max_replicas), min(low, own.maximum_max_replicas)
    for _ in range(4):
        decision = world.step(400)
        if who == "decides":
            world.hpa = None
            assert decision.desired >= kept
        else:
            world.replicas = min(max(replicas, world.hpa["spec"]["minReplicas"]), world.hpa["spec"]["maxReplicas"])
        assert decision.status["maxReplicas"] >= kept
        if world.state.tortoise.low:
            assert decision.status["minReplicas"] >= least_kept


names = st.lists(st.sampled_from(["app", "side", "log", "a", "z"]), min_size=1, max_size=3, unique=True)


@often
@given(st.data(), names, st.integers(1, 14))
def test_the_order_of_containers_and_pods_is_nothing(data, containers, replicas):
    """Neither in pods, nor in samples, recommendations or policies."""
    amounts = st.integers(50, 5000)
    sizes = {name: {"cpu": data.draw(amounts), "memory": data.draw(amounts) * MI} for name in containers}
    one = historic(
        [data.draw(st.integers(1000, 50_000))],
        {"preferred_max_replicas": 10},
        spec={"autoscalingPolicy": [policy(name, memory="Vertical") for name in containers]},
        replicas=replicas,
        sizes=sizes,
        demand={name: data.draw(amounts) for name in containers},
        peak={name: {"cpu": data.draw(amounts), "memory": data.draw(amounts) * MI} for name in containers},
    )
    places = tuple(f"{name}/cpu" for name in containers)
    main = f"{min(containers)}/cpu"
    one.state = known([data.draw(st.integers(1000, 50_000))], layout=DAILY, places=places, place=main)
    other = replace(one, backwards=True)
    assert one.decided() == other.decided()


amounts = st.sampled_from([0, 1, 10, 1000, 10**6, 2**53, 10**15])
odd_containers = st.dictionaries(
    st.sampled_from(["app", "side", "ghost"]),
    st.dictionaries(st.sampled_from(["cpu", "memory"]), amounts, max_size=2),
    max_size=3,
)
odd_metrics = st.lists(
    st.sampled_from(
        [
            container_metric(),
            container_metric("ghost", 0),
            container_metric("app", 10**6, "memory"),
            container_metric("app", -3),
            external_metric("x-app", "0"),
            external_metric("x-app", "1e30"),
            external_metric("x-", "70"),
            {"type": "ContainerResource"},
            {"type": "External", "external": {"metric": None, "target": None}},
            {},
        ]
    ),
    max_size=4,
)
odd_policies = st.lists(
    st.builds(
        policy,
        st.sampled_from(["app", "side", "gone"]),
        st.sampled_from(["Horizontal", "Vertical", "Off"]),
        st.sampled_from(["Horizontal", "Vertical", "Off"]),
    ),
    max_size=3,
)


@often
@given(st.data())
def test_odd_input_never_raises(data):
    """No pods, no requests, no samples, absurd amounts, and other containers than the HPA has."""
    sizes = data.draw(odd_containers)
    replicas = data.draw(st.sampled_from([0, 1, 3, 25]))
    policies = data.draw(odd_policies)
    one = tortoise(
        data.draw(st.sampled_from(["Auto", "Emergency", "Off", "What"])),
        settings_by(data.draw(limits_of_administrators))
        | data.draw(
            st.sampled_from([{}, {"hypot.dev/decide": "true"}, {"hypot.dev/paused": "up"}, {"hypot.dev/hold": "0"}])
        ),
        refs=data.draw(st.sampled_from([{}, {"horizontalPodAutoscalerName": "legacy"}])),
        **({"autoscalingPolicy": policies} if policies else {}),
        **data.draw(st.sampled_from([{}, {"maxReplicas": 1}, {"maxReplicas": 2**31 - 1}, {"maxReplicas": 0}])),
    )
    name = data.draw(st.sampled_from(["legacy", "tortoise-hpa-web"]))
    annotations = {"tortoises.autoscaling.mercari.com/container-based-cpu-metric-prefix": "x-"}
    there = hpa(
        data.draw(st.sampled_from([None, 0, 1, 500])),
        data.draw(st.sampled_from([None, 0, 1, 20])),
        name=name,
        annotations=annotations,
    )
    there["spec"]["metrics"] = copy.deepcopy(data.draw(odd_metrics))
    world = World(
        tortoise=one,
        replicas=replicas,
        sizes=sizes,
        demand={each: data.draw(amounts) for each in data.draw(st.sets(st.sampled_from(["app", "side", "other"])))}
        if replicas
        else {},
        measured=data.draw(st.sampled_from([None, 0])),
        memory=data.draw(amounts),
        peak=data.draw(st.one_of(st.none(), odd_containers)),
        hpa=data.draw(st.sampled_from([None, there])),
        state=data.draw(st.sampled_from([State(), known([8000]), known([5], places=("side/memory",))])),
        more=data.draw(st.sampled_from([(), (limit_range(max=sized("700m", "1Gi"), min=sized("1m", "1")),)])),
    )
    for _ in range(3):
        decision = world.step(data.draw(st.sampled_from([0.0, 15.0, HOUR, WEEK, -DAY])))
        assert decision.steps or decision.error
        json.dumps(decision.to_dict(), allow_nan=False)
        assert State.from_dict(json.loads(json.dumps(world.state.to_dict()))).tortoise is not None or (
            world.state.tortoise is None
        )


# No pod of this share of the average reaches a target within the tolerance of an HPA.
LOW = 0.9


@seldom
@given(
    st.integers(100, 60_000),
    st.integers(3, 20),
    st.sampled_from([250, 1000, 3000]),
    st.floats(0.5, 3),
    st.booleans(),
)
def test_constant_demand_comes_to_rest(demand, replicas, size, ratio, decides):
    """After the first days neither sizes nor the HPA's minimum change.

    Nor do targets and counts, if no peak reaches the target. Else a target may pass between two counts for ever: a
    whole number of pods is not at the target exactly, so the factor of its peak is not either.
    """
    annotations = settings_by({"preferred_max_replicas": 10, "slot_period": "daily", "slot_hours": 24})
    if decides:
        annotations["hypot.dev/decide"] = "true"
    one = tortoise(annotations=annotations, autoscalingPolicy=BY_CPU)
    world = World(
        tortoise=one, replicas=replicas, sizes={"app": {"cpu": size}}, demand={"app": demand}, hpa=None, state=State()
    )
    shapes = []
    for _ in range(60):
        # The peak of usage moves along with the usage of each pod.
        world.peak = {"app": {"cpu": max(round(demand / world.replicas * ratio), 1)}}
        decision = world.step(DAY / 2)
        if world.hpa is not None:
            world.follow()
        exact = (world.replicas, *world.state.tortoise.targets.values())
        shapes.append((cpu(decision), decision.status["minReplicas"], *exact))
    assert phase(decision) == "Working"
    assert len(set(shapes[-10:])) == 1, shapes[-20:]
