"""What holds for every fitted recommendation, and for every pass over running pods."""

import json
from collections import Counter
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from hypot.kinds.vpa.fields import UPDATE_MODES, ResourcePolicy, UpdatePolicy, amounts_of, policy_of
from hypot.kinds.vpa.knobs import Knobs
from hypot.policy.model.seen import Bounds, Container, Controller, Ended, LimitRange, Owner, PendingResize, Pod
from hypot.policy.vertical.act import plan
from hypot.policy.vertical.fit import amounts, capped, fit
from property.worlds import NOW

often = settings(max_examples=80, deadline=None)

NAMES = ("app", "side")
SETS = (Owner("ReplicaSet", "web-5d9c"), Owner("StatefulSet", "db"), Owner("Job", "once"), Owner("Rollout", "new"))
COUNTED = SETS[:2]
FIELDS = ("target", "lower", "upper")

small = st.integers(0, 3000)
some = st.integers(1, 3000)
# Includes milli-bytes that are not whole bytes.
milli = st.one_of(small, st.integers(0, 3_000_000))


def resources(values):
    return st.fixed_dictionaries({}, optional={"cpu": values, "memory": values})


small_amounts, milli_amounts = resources(small), resources(milli)
quantities = st.fixed_dictionaries({}, optional={"cpu": small.map(lambda a: f"{a}m"), "memory": small})
ends = st.builds(Ended, st.sampled_from(["OOMKilled", "Error"]), st.just(NOW - 100), st.just(NOW))


# Strategies are created once: hypothesis takes longer to create and check a strategy than to draw from it.
containers = {
    name: st.builds(
        Container,
        st.just(name),
        milli_amounts,
        milli_amounts,
        st.one_of(st.none(), milli_amounts),
        st.one_of(st.none(), milli_amounts),
        st.one_of(st.none(), ends),
        restarts_on_resize=st.sampled_from([frozenset(), frozenset({"memory"})]),
    )
    for name in NAMES
}
bounds = {name: st.builds(Bounds, st.just(name), small_amounts, small_amounts, small_amounts) for name in NAMES}
some_names = st.lists(st.sampled_from(NAMES), unique=True)


@st.composite
def named(draw, strategies):
    """A value for each of some names."""
    return tuple(draw(strategies[name]) for name in draw(some_names))


policies = st.one_of(
    st.none(),
    st.lists(
        st.fixed_dictionaries(
            {"containerName": st.sampled_from([*NAMES, "*"])},
            optional={
                "mode": st.sampled_from(["Auto", "Off"]),
                "minAllowed": quantities,
                "maxAllowed": quantities,
                "controlledValues": st.sampled_from(["RequestsAndLimits", "RequestsOnly"]),
            },
        ),
        max_size=3,
    ).map(lambda written: ResourcePolicy.read({"containerPolicies": written})),
)
ranges = st.lists(
    st.builds(LimitRange, st.sampled_from(["Container", "Pod"]), milli_amounts, milli_amounts, milli_amounts),
    max_size=3,
)
resizes = st.one_of(
    st.none(),
    st.builds(
        PendingResize,
        st.sampled_from(["deferred", "infeasible", "in-progress", "error", "unknown"]),
        st.one_of(st.none(), st.floats(NOW - 5000, NOW)),
    ),
)


def pods(name="web-0"):
    return st.builds(
        Pod,
        st.just(name),
        phase=st.sampled_from(["Running", "Running", "Running", "Pending", "Failed"]),
        deleted=st.sampled_from([False, False, False, True]),
        started=st.one_of(st.none(), st.floats(NOW - 10**5, NOW)),
        containers=named(containers),
        owners=st.sampled_from([*((owner,) for owner in SETS), ()]),
        node=st.sampled_from(["n1", ""]),
        resize=resizes,
        annotations=st.sampled_from([{}, {}, {"vpaObservedContainers": "app"}]),
    )


ODD = [pods(f"web-{i}") for i in range(6)]
odd_counts = st.integers(0, len(ODD))


@st.composite
def fleets(draw):
    """A few odd pods."""
    return tuple(draw(one) for one in ODD[: draw(odd_counts)])


updates = st.fixed_dictionaries(
    {"updateMode": st.sampled_from(UPDATE_MODES)},
    optional={"minReplicas": st.integers(1, 4), "evictAfterOOMSeconds": st.integers(1, 200)},
).map(UpdatePolicy.read)
setups = st.builds(
    Knobs,
    eviction_tolerance=st.sampled_from([0.0, 0.1, 0.5, 1.0]),
    update_threshold=st.sampled_from([0.0, 0.1]),
    min_replicas=st.integers(1, 3),
)
replicas = st.fixed_dictionaries({owner: st.one_of(st.none(), st.integers(0, 6)) for owner in COUNTED})
versions = st.sampled_from([(1, 36), (1, 36), (1, 33), (1, 32)])


# Anything is possible; pods are mostly left alone.
odd_worlds = st.tuples(fleets(), named(bounds), policies, ranges, updates, replicas, setups, versions)


def serving(name):
    """A pod that runs, has requests and belongs to a set."""
    return st.builds(
        Pod,
        st.just(name),
        phase=st.sampled_from(["Running", "Running", "Running", "Pending"]),
        started=st.just(NOW - 50_000),
        containers=st.tuples(st.builds(Container, st.just("app"), st.fixed_dictionaries({"cpu": some}))),
        owners=st.sampled_from([(owner,) for owner in (SETS[0], SETS[0], SETS[2])]),
        node=st.just("n1"),
        resize=st.one_of(st.none(), st.none(), st.none(), resizes),
    )


SERVING = [serving(f"web-{i}") for i in range(7)]
busy_counts = st.integers(1, len(SERVING))
missing = st.sampled_from([0, 0, -1, 2])
advised = st.builds(Bounds, st.just("app"), st.fixed_dictionaries({"cpu": some}), small_amounts)
active = st.sampled_from(["InPlace", "InPlace", "InPlaceOrRecreate", "Recreate", "Auto"])


@st.composite
def busy_worlds(draw):
    """Pods that mostly need a change, in a set that is mostly complete."""
    count = draw(busy_counts)
    return (
        tuple(draw(one) for one in SERVING[:count]),
        (draw(advised),),
        None,
        [],
        UpdatePolicy.read({"updateMode": draw(active)}),
        {owner: max(1, count - draw(missing)) for owner in COUNTED},
        draw(setups),
        draw(versions),
    )


worlds = st.one_of(busy_worlds(), busy_worlds(), odd_worlds)


def passed(world, order=lambda many: many):
    """A pass over a world, with its lists in this order."""
    fleet, advice, policy, limit_ranges, update, counts, knobs, version = world
    controllers = {owner: Controller(*owner, count) for owner, count in counts.items()}
    shuffled = [replace(one, containers=tuple(order(one.containers))) for one in order(fleet)]
    fitted = {one.name: fit(order(advice), policy, one, order(limit_ranges)) for one in shuffled}
    return plan(shuffled, fitted, update, policy, controllers, {}, knobs, version, NOW, {}, {})


def backwards(many):
    return list(reversed(many))


def check_what_is_fitted_is_allowed(advice, policy, pod, limit_ranges):
    """It is within minAllowed and maxAllowed, and the maximum wins; only a fixed limit may be lower."""
    for each in fit(advice, policy, pod, limit_ranges).bounds:
        own = policy_of(policy, each.container)
        if own is None or own.controlled_values == "RequestsOnly":
            continue
        assert_allowed(each, own)


def check_what_is_capped_is_allowed(advice, policy):
    """The same for the caps; without a policy the recommendation stays."""
    for before, after in zip(advice, capped(advice, policy, Knobs()), strict=True):
        own = policy_of(policy, before.container)
        if own is None:
            assert after == before
        else:
            assert_allowed(after, own)


def assert_allowed(each, own):
    low, high = amounts_of(own.min_allowed), amounts_of(own.max_allowed)
    for field in FIELDS:
        for resource, amount in getattr(each, field).items():
            most = high.get(resource)
            assert not most or amount <= most
            assert amount >= min(low.get(resource, 0), most or low.get(resource, 0))


def check_requests_only_leaves_limits_alone(advice, policy, pod, limit_ranges):
    """Requests do not exceed them."""
    present = {container.name: container for container in pod.containers}
    for each in fit(advice, policy, pod, limit_ranges).containers:
        own = policy_of(policy, each.size.container)
        if own is None or own.controlled_values != "RequestsOnly":
            continue
        limits = amounts(present[each.size.container].current_limits)
        assert each.size.limits == limits
        assert not each.patch.limits
        assert all(each.patch.requests[r] <= limits[r] for r in each.patch.requests if limits.get(r))


def check_fitting_twice_changes_nothing_within_the_policy(advice, pod, limit_ranges):
    """This holds where no LimitRange of type Pod rounds again."""
    only = [each for each in limit_ranges if each.type == "Container"]
    once = fit(advice, None, pod, only)
    assert fit(once.bounds, None, pod, only).bounds == once.bounds


@often
@given(named(bounds), policies, pods(), ranges)
def test_whatever_is_recommended(advice, policy, pod, limit_ranges):
    """One recommendation serves all checks."""
    check_what_is_fitted_is_allowed(advice, policy, pod, limit_ranges)
    check_what_is_capped_is_allowed(advice, policy)
    check_requests_only_leaves_limits_alone(advice, policy, pod, limit_ranges)
    check_fitting_twice_changes_nothing_within_the_policy(advice, pod, limit_ranges)


def check_never_more_pods_than_the_budget(world):
    """The budget is per controller, and ignores pods that do not run."""
    fleet, *_, update, counts, knobs, _ = world
    acted = {action.pod for action in passed(world).actions if action.action != "none"}
    taken = Counter(pod.owners[0] for pod in fleet if pod.name in acted and pod.phase != "Pending")
    alive = [
        pod
        for pod in fleet
        if not pod.deleted and pod.phase != "Failed" and (pod.phase != "Pending" or pod.node) and pod.owners
    ]
    running = Counter(pod.owners[0] for pod in alive if pod.phase != "Pending")
    live = Counter(pod.owners[0] for pod in alive)
    for owner in taken:
        configured = counts[owner] if owner in COUNTED else live[owner] if owner.kind == "Job" else 0
        spare = int(configured * knobs.eviction_tolerance)
        alone = configured == running[owner] and spare == 0
        assert taken[owner] <= max(running[owner] - configured + spare, 1 if alone else 0)
        assert live[owner] >= (update.min_replicas or knobs.min_replicas)


def check_each_mode_does_only_what_it_may(world):
    """Off and Initial do nothing, InPlace never evicts, Recreate never resizes; pods that are gone are left alone."""
    fleet, *_, update, _, _, _ = world
    actions = passed(world).actions
    done = {action.action for action in actions}
    allowed = {
        "Off": {"none"},
        "Initial": {"none"},
        "InPlace": {"none", "resize"},
        "Recreate": {"none", "evict"},
        "Auto": {"none", "evict"},
    }
    assert done <= allowed.get(update.mode, {"none", "evict", "resize"})
    gone = {pod.name for pod in fleet if pod.deleted or pod.phase == "Failed"}
    assert all(action.action == "none" for action in actions if action.pod in gone)


def check_the_order_in_which_things_are_given_changes_nothing(world):
    """Pods, containers, recommendations and ranges: only priority and name decide which pods are taken."""
    fleet, advice, policy, limit_ranges, *rest = world
    alike = (fleet, advice, policy, [each._replace(default={}) for each in limit_ranges], *rest)
    here, there = passed(alike), passed(alike, backwards)
    assert [action[:4] for action in here.actions] == [action[:4] for action in there.actions]
    assert (here.stuck, here.infeasible) == (there.stuck, there.infeasible)
    sizes = [[{size.container: size for size in action.sizes} for action in of.actions] for of in (here, there)]
    assert sizes[0] == sizes[1]


def check_every_pod_is_told_about(world):
    """Each pod has one sentence, the result is JSON, and the state names only existing pods."""
    fleet = world[0]
    result = passed(world)
    assert sorted(action.pod for action in result.actions) == sorted(pod.name for pod in fleet)
    assert all(action.sentence[0].isupper() and action.sentence.endswith(".") for action in result.actions)
    json.dumps([[action.to_dict() for action in result.actions], result.stuck, result.infeasible], allow_nan=False)
    names = {pod.name for pod in fleet}
    assert set(result.stuck) | set(result.infeasible) <= names


def check_passing_again_decides_the_same(world):
    """A pass changes only its state, and that does not change its decision."""
    assert passed(world) == passed(world)


@often
@given(worlds)
def test_any_running_pods(world):
    """One world serves all checks: drawing it takes much longer than a pass."""
    check_never_more_pods_than_the_budget(world)
    check_each_mode_does_only_what_it_may(world)
    check_the_order_in_which_things_are_given_changes_nothing(world)
    check_every_pod_is_told_about(world)
    check_passing_again_decides_the_same(world)
