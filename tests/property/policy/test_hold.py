"""What holds for every held decision of any kind."""

from dataclasses import replace

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hypot.core.replicas.ratio import MAX_INT32
from hypot.kinds.hvpa import Hvpa
from hypot.kinds.vpa import VPA
from hypot.policy.decide import decide
from hypot.policy.hold import PAUSED, PINNED, held, holds_of
from hypot.policy.model.decision import Hold, condition_of
from hypot.policy.model.seen import Bounds, Container, Controller, Owner, Pod, Recommendation, Scale, Seen
from hypot.policy.model.settings import Settings
from hypot.policy.vertical.fit import amounts
from property.hvpa_worlds import any_hvpa_world, hvpas, odd, overlapping, remembered
from property.worlds import NOW, any_state, any_world, hpas, wpas

often = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
SETUP = Settings()
WEB = Owner("ReplicaSet", "web-5d9c")

some = st.integers(1, 3000)
requests = st.fixed_dictionaries({"cpu": some}, optional={"memory": some.map(lambda mega: mega * 1_000_000_000)})
limits = st.sampled_from([{}, {"cpu": 4000}, {"cpu": 3500, "memory": 4_000_000_000_000}])
targets = st.fixed_dictionaries({}, optional={"cpu": some, "memory": some.map(lambda mega: mega * 1_000_000)})


all_boxes = st.lists(st.builds(Container, st.just("app"), requests, limits), min_size=1, max_size=4)


@st.composite
def sized_worlds(draw):
    """Pods of different sizes, and a recommendation for them."""
    boxes = draw(all_boxes)
    pods = tuple(Pod(f"web-{i}", containers=(b,), node="n1", owners=(WEB,), started=0.0) for i, b in enumerate(boxes))
    target = draw(targets)
    advice = Recommendation((Bounds("app", target, target, target),), "test")
    scale, kept = Scale(len(pods), len(pods), "app=web"), {WEB: Controller(*WEB, len(pods))}
    return Seen(NOW, scale, pods, size_advice=advice, controllers=kept)


def eager(mode):
    """A VPA that may change as many pods as it asks for."""
    return VPA("deployment/web", mode=mode, min_replicas=1, annotations={"hypot.dev/eviction-tolerance": "1"})


cases = st.one_of(
    st.tuples(hpas(), any_world, any_state),
    st.tuples(wpas(), any_world, any_state),
    st.tuples(hvpas(**overlapping).map(Hvpa.from_dict), any_hvpa_world, remembered),
    st.tuples(st.sampled_from(["InPlaceOrRecreate", "Recreate", "Off"]).map(eager), sized_worlds(), any_state),
)


def under(case, *holds):
    """The decision without and with these holds, and the state after it."""
    spec, seen, state = case
    return decide(spec, seen, state, SETUP)[0], *decide(spec, seen, state, SETUP, holds)


def parts(decision, seen):
    """Every amount of a decision, before and after; a missing limit is infinite."""
    if decision.by_pod:
        pods = {pod.name: pod for pod in seen.pods}
        pairs = []
        for action in decision.actions:
            if action.action == "none":
                continue
            boxes = {box.name: box for box in pods[action.pod].containers}
            for size in action.sizes:
                box = boxes[size.container]
                pairs.append((amounts(box.current_requests), size.requests, 0))
                pairs.append((amounts(box.current_limits), size.limits, float("inf")))
    else:
        pairs = [
            pair
            for old, new in zip(decision.sizes, decision.desired_sizes, strict=True)
            for pair in ((old.requests, new.requests, 0), (old.limits, new.limits, float("inf")))
        ]
        if decision.decided:
            yield decision.current, decision.desired
    for old, new, unset in pairs:
        for resource in {*old, *new}:
            yield old.get(resource, unset), new.get(resource, unset)


def check_nothing_shrinks_where_that_is_held(case):
    """Neither the count nor any amount of any pod does."""
    _, decision, _ = under(case, Hold("ColdStart", "nothing is remembered", "down"))
    assert all(after >= before for before, after in parts(decision, case[1]))


def check_nothing_grows_where_that_is_held(case):
    """The same for scaling up."""
    _, decision, _ = under(case, Hold("Full", "there is no room", "up"))
    assert all(after <= before for before, after in parts(decision, case[1]))


def check_nothing_moves_where_all_is_held(case):
    """Report and state are those of a decision that stays."""
    free, decision, after = under(case, Hold("Conflict", "somebody else scales it"))
    assert not decision.moves
    assert after.acted(decision, NOW) == after
    assert set(decision.conditions) == set(decision.unwritten)
    assert free.decided == decision.decided
    if free.moves:
        assert [event.reason for event in decision.events if event.type == "Normal"] == ["ScalingHeld"]


def check_growth_goes_on_while_shrinking_is_held(case, blocks):
    """A hold of the other direction does not change a decision that goes one way only."""
    free, decision, _ = under(case, Hold("Half", "one way is closed", blocks))
    ways = [(after > before) - (after < before) for before, after in parts(free, case[1])]
    against = -1 if blocks == "down" else 1
    if against not in ways:
        assert (decision.desired, decision.actions) == (free.desired, free.actions)
        same_for_new_pods = decision.desired_sizes == free.desired_sizes
        assert free.by_pod or same_for_new_pods
        assert decision.events == free.events or not same_for_new_pods


def check_there_is_never_less_than_both_before_and_wanted(case, blocks):
    """This holds for the total of any resource of any container."""
    free, decision, _ = under(case, Hold("Half", "one way is closed", blocks))
    if free.by_pod or not free.decided:
        return
    for old, wanted, new in zip(free.sizes, free.desired_sizes, decision.desired_sizes, strict=True):
        for resource in old.requests.keys() & wanted.requests.keys():
            before = free.current * old.requests[resource]
            asked = free.desired * wanted.requests[resource]
            assert decision.desired * new.requests[resource] >= min(before, asked)


def check_a_pin_is_the_count(case, count):
    """It does so unless no decision was possible; sizes stay."""
    free, decision, _ = under(case, Hold("Held", "somebody wants it so", pinned=count))
    if free.decided and not free.by_pod:
        assert decision.desired == count
        assert decision.moves == (count != decision.current)
    assert free.by_pod or decision.desired_sizes == decision.sizes


def check_to_hold_twice_is_to_hold_once(case, message):
    """Repeated holds change nothing more, and the time of the condition stays."""
    spec, seen, state = case
    holds = [
        Hold("Held", "so many", pinned=word) if isinstance(word, int) else Hold("Half", f"{word} is closed", word)
        for word in message
    ]
    once, after = decide(spec, seen, state, SETUP, holds)
    assert held(once, once.holds, seen) == once
    later = replace(seen, now=NOW + 15)
    again, _ = decide(spec, later, after, SETUP, holds)
    kind = "AbleToScale" if spec.KIND == "HorizontalPodAutoscaler" else "ScalingBlocked"
    first, then = condition_of(once.unwritten, kind), condition_of(again.unwritten, kind)
    assert first == then


def check_without_holds_only_old_ones_are_taken_back(case):
    """The decision is the same as without the feature."""
    free, decision, after = under(case)
    assert decision == free
    assert not any(event.reason == "ScalingHeld" for event in decision.events)
    assert set(after.conditions) == set(decision.unwritten)


@often
@given(cases, st.integers(0, 50), st.lists(st.sampled_from(["up", "down", "both", 0, 3, 9]), min_size=1, max_size=3))
def test_whatever_is_held(case, count, message):
    """One case serves all checks: drawing it takes much longer than deciding."""
    check_nothing_shrinks_where_that_is_held(case)
    check_nothing_grows_where_that_is_held(case)
    check_nothing_moves_where_all_is_held(case)
    for blocks in ("up", "down"):
        check_growth_goes_on_while_shrinking_is_held(case, blocks)
    for blocks in ("up", "down", "both"):
        check_there_is_never_less_than_both_before_and_wanted(case, blocks)
    check_a_pin_is_the_count(case, count)
    check_to_hold_twice_is_to_hold_once(case, message)
    check_without_holds_only_old_ones_are_taken_back(case)


@given(st.dictionaries(st.sampled_from([PAUSED, PINNED, "other"]), st.one_of(odd, st.text(max_size=9), st.integers())))
def test_any_annotation_can_be_read(annotations):
    """Any content is a hold or nothing, and a count is valid for a scale."""
    for hold in holds_of(annotations):
        assert hold.message
        assert hold.blocks in {"both", "up", "down"}
        assert hold.pinned is None or 0 <= hold.pinned <= MAX_INT32
