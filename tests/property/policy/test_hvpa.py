"""What holds for every decision of an Hvpa."""

import copy
import json
from dataclasses import replace
from itertools import pairwise

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from builders import hvpa_decided
from hypot.core.axes.interval import replicas_for
from hypot.kinds.hvpa import Hvpa
from hypot.kinds.hvpa.intervals import counts_of, intervals_of, largest_total
from hypot.policy.hvpa.hvpa import SOURCES
from hypot.policy.hvpa.resolve import most_of
from hypot.policy.model.decision import condition_of
from hypot.policy.model.seen import Bounds, Recommendation
from hypot.policy.model.settings import Settings
from hypot.policy.model.state import State
from property.hvpa_worlds import (
    RESOURCES,
    UNIT,
    after,
    any_hvpa_world,
    asking,
    bounded,
    decided,
    gapped,
    grown,
    hvpas,
    junk,
    lived,
    names,
    overlapping,
    paths,
    remembered,
    rest,
    seen_of,
    shares,
    shuffled,
    sound,
    states,
    step,
    totals,
    wanted_amounts,
    wide,
    worlds,
    written,
)
from property.worlds import NOW

most = settings(max_examples=80, deadline=None)
often = settings(max_examples=40, deadline=None)
seldom = settings(max_examples=25, deadline=None)
SETUP = Settings()
pauses = st.sampled_from([60.0, 300.0])
ALL_DIVISIONS = ("linear", "linearPerPod", "horizontalOnly", None)


def limited(decision):
    reported = condition_of(decision.conditions, "ScalingLimited")
    return reported is not None and reported.status == "True"


def rising(steps):
    """Totals that never fall: each is the previous total plus some more."""
    path = steps[:1]
    for more in steps[1:]:
        path.append({name: {r: path[-1][name][r] + more[name][r] for r in RESOURCES} for name in more})
    return path


def each(wanted):
    return [(name, r, amount) for name, own in wanted.items() for r, amount in own.items()]


def backwards(many):
    return list(reversed(many))


def upside_down(mapping):
    return dict(reversed(mapping.items()))


@often
@given(hvpas(**overlapping, **gapped), worlds)
def test_it_comes_to_rest(data, world):
    """The same totals do not cause moves forever."""
    hvpa = sound(data)
    rest(hvpa, *world)


@often
@given(hvpas(**overlapping, **gapped), paths)
def test_a_rising_path_rests_where_the_jump_rests(data, steps):
    """Intermediate totals do not matter once the last total is repeated."""
    hvpa, climb = sound(data), rising(steps)
    state = begin = grown(hvpa, climb[0])
    for wanted in climb[1:]:
        state = step(hvpa, state, wanted)
    assert rest(hvpa, state, climb[-1]) == rest(hvpa, begin, climb[-1])


@often
@given(hvpas(**overlapping), paths)
def test_a_falling_path_never_rests_below_its_last_total(data, steps):
    """It may hold more replicas than the total needs, and never fewer; pods have at most the largest size."""
    hvpa, fall = sound(data), backwards(rising(steps))
    last, state = fall[-1], grown(hvpa, fall[0])
    for wanted in fall[1:]:
        state = step(hvpa, state, wanted)
    state = rest(hvpa, state, last)
    for name, resource, amount in each(last):
        assert state.total(name, resource) >= min(
            amount, state.replicas * most_of(intervals_of(hvpa, name, resource), state.replicas)
        )
        assert state.replicas >= replicas_for(intervals_of(hvpa, name, resource), amount, 0)


@often
@given(hvpas(**overlapping), worlds)
def test_what_is_asked_for_is_given(data, world):
    """This holds for any division; what the intervals or bounds do not allow is reported."""
    hvpa = sound(data)
    state, wanted = world
    decision = decided(hvpa, state, wanted)
    if not limited(decision):
        assert all(after(decision).total(name, r) >= amount for name, r, amount in each(wanted))


@often
@given(hvpas(ALL_DIVISIONS, **overlapping, vpa=bounded), worlds)
def test_bounds_hold(data, world):
    """Sizes are within the allowed amounts, counts within the intervals; a cut is reported."""
    hvpa = sound(data)
    state, wanted = world
    decision = decided(hvpa, state, wanted)
    then, (low, high) = after(decision), counts_of(hvpa)
    assert low <= then.replicas <= high or then.replicas == state.replicas
    for name, resource, amount in each(wanted):
        now, had = then.sizes[name][resource], state.sizes[name][resource]
        least, most = (lived(hvpa, name, word, resource) for word in ("min_allowed", "max_allowed"))
        if now != had:
            assert (least or 0) <= now <= (most or now)
        assert limited(decision) or then.total(name, resource) >= amount


@often
@given(hvpas(**overlapping, **gapped), worlds)
def test_going_up_no_pod_shrinks(data, world):
    """This holds if no total of a container falls, or if a total and the replicas rise; a maximum is a maximum."""
    hvpa = sound(data)
    state, wanted = world
    then = step(hvpa, state, wanted)
    for name, own in wanted.items():
        rises = [min(amount, largest_total(hvpa, name, r)) > state.total(name, r) for r, amount in own.items()]
        falls = [amount < state.total(name, r) for r, amount in own.items()]
        if not any(falls) or (any(rises) and then.replicas > state.replicas):
            most = {r: most_of(intervals_of(hvpa, name, r), then.replicas) for r in own}
            assert all(then.sizes[name][r] >= min(state.sizes[name][r], most[r]) for r in own)


@often
@given(hvpas(ALL_DIVISIONS, **overlapping, **gapped, vpa=bounded), worlds)
def test_no_written_size_exceeds_its_maximum(data, world):
    """Of the interval for the new count; only a size that is kept while replicas are added may be larger."""
    hvpa = sound(data)
    state, wanted = world
    then = step(hvpa, state, wanted)
    for name, resource, _ in each(wanted):
        now, had = then.sizes[name][resource], state.sizes[name][resource]
        most = most_of(intervals_of(hvpa, name, resource), then.replicas)
        assert not most or now <= most or (now == had and (then.replicas > state.replicas or then == state))


@often
@given(hvpas(**overlapping), shares)
def test_going_down_no_pod_grows(data, world):
    """All totals fall: no size grows while the count stays, and not every size grows where the count falls."""
    hvpa = sound(data)
    state = world[0]._replace(replicas=min(world[0].replicas, counts_of(hvpa)[1]))
    wanted = {
        name: {r: state.total(name, r) * percent // 100 for r, percent in zip(RESOURCES, percents, strict=True)}
        for name, percents in world[1].items()
    }
    then = step(hvpa, state, wanted)
    for name, own in wanted.items():
        grown = [r for r in own if then.sizes[name][r] > state.sizes[name][r]]
        assert not grown or (then.replicas < state.replicas and len(grown) < len(own))


@often
@given(hvpas(required={"scalingIntervalsOverlap": wide}), st.sampled_from(RESOURCES), wanted_amounts, st.data())
def test_a_swing_smaller_than_the_overlap(data, resource, base, chooser):
    """At rest, no added replica is removed again; several are added where intervals are narrower than it."""
    hvpa = sound(data)
    made = intervals_of(hvpa, "app", resource)
    narrow = min((later.below - later.low for later in made[1:]), default=10**6) // UNIT[resource]
    assume(narrow > 1)
    swing = chooser.draw(st.lists(st.integers(0, narrow - 1), min_size=1, max_size=8))
    states = [grown(hvpa, {"app": {resource: base * UNIT[resource]}})]
    for more in swing:
        states.append(step(hvpa, states[-1], {"app": {resource: (base + more) * UNIT[resource]}}))
    moves = [other.replicas - one.replicas for one, other in pairwise(states) if other.replicas != one.replicas]
    assert all(more > 0 for more in moves)
    widths = [later.below - one.below for one, later in pairwise(made)]
    assert len(moves) <= 1 or min(widths) < narrow * UNIT[resource]


def advised(state, wanted, counts):
    """The advice of a recommender that knows an older number of pods."""
    targets = {name: {r: -(-amount // counts) for r, amount in own.items()} for name, own in wanted.items()}
    found = tuple(Bounds(name, target) for name, target in targets.items())
    return replace(seen_of(state), size_advice=Recommendation(found, "test"))


@often
@given(hvpas(**overlapping), names.flatmap(lambda of: st.tuples(totals(of), totals(of))), st.integers(0, 3), pauses)
def test_a_recommender_that_lags_does_not_run_away(data, change, lag, pause):
    """The count never exceeds what the total needs, although each pod is said to need what fewer pods did."""
    hvpa, wanted = sound(data), change[1]
    state = grown(hvpa, change[0])
    rounded = {(name, r): amount + 12 * UNIT[r] for name, r, amount in each(wanted)}
    enough = max(replicas_for(intervals_of(hvpa, *place), amount, 0) for place, amount in rounded.items())
    counts, memory, now = [state.replicas] * (lag + 1), State(), NOW
    for _ in range(8):
        now += pause
        seen = replace(advised(state, wanted, counts[-1 - lag]), now=now)
        decision, memory = hvpa_decided(hvpa, seen, memory, SETUP)
        memory, state = memory.acted(decision, now), after(decision)
        counts.append(state.replicas)
    assert max(counts) <= max(counts[0], enough)


@often
@given(
    hvpas(**overlapping, **gapped, vpa=bounded),
    states(("app", "side")),
    totals(("app", "side")),
    totals(("app", "side")),
)
def test_the_order_of_things_changes_nothing(data, state, wanted, also):
    """The order of sources, resources, containers and pods within one observation does not matter."""
    hvpa = sound(data)
    here = hvpa_decided(hvpa, seen_of(state), State(), SETUP, [asking(wanted, "one"), asking(also, "two", exact=False)])
    turned = {name: upside_down(own) for name, own in upside_down(wanted).items()}
    sources = [asking(upside_down(also), "two", exact=False), asking(turned, "one")]
    there = hvpa_decided(hvpa, shuffled(seen_of(state), backwards), State(), SETUP, sources)
    assert here[0].desired == there[0].desired
    assert here[0].desired_sizes == there[0].desired_sizes
    assert (here[0].reason, here[0].conditions, here[0].reported) == (
        there[0].reason,
        there[0].conditions,
        there[0].reported,
    )
    assert here[1] == there[1]


def check_every_world_has_a_decision(data, seen, state):
    """For any spec and observation: no exception, steps are sentences, moves have a reason, the result is JSON."""
    decision, then = hvpa_decided(Hvpa.from_dict(data), seen, state, SETUP)
    assert decision.steps
    assert all(step.sentence.endswith(".") for step in decision.steps)
    assert decision.decided or decision.error
    assert decision.reason or not decision.moves
    json.dumps(decision.to_dict(), allow_nan=False)
    assert State.from_dict(json.loads(json.dumps(then.to_dict()))) == then


def check_junk_never_raises(data, chooser, seen, state):
    """A manifest with anything in any place is decided on, or refused without a move."""
    broken = copy.deepcopy(data)
    for _ in range(chooser.draw(st.integers(1, 3))):
        chooser.draw(junk(broken))
    decision, _ = hvpa_decided(Hvpa.from_dict(broken), seen, state, SETUP)
    json.dumps(decision.to_dict(), allow_nan=False)
    assert decision.decided or not decision.moves


def check_deciding_twice_changes_nothing(data, seen, state):
    """This holds from the same state and from the state that it left."""
    hvpa = Hvpa.from_dict(data)
    first, then = hvpa_decided(hvpa, seen, state, SETUP)
    assert hvpa_decided(hvpa, seen, state, SETUP) == (first, then)
    again, after_that = hvpa_decided(hvpa, seen, then, SETUP)
    assert (again.desired, again.desired_sizes, again.decided) == (first.desired, first.desired_sizes, first.decided)
    assert after_that == then


def check_only_acting_changes_the_past(data, seen, state):
    """Without a write nothing was done."""
    decision, then = hvpa_decided(Hvpa.from_dict(data), seen, state, SETUP)
    assert (then.last_scale, then.scalings, then.vertical.last_up) == (
        state.last_scale,
        state.scalings,
        state.vertical.last_up,
    )
    done = then.acted(decision, NOW)
    assert (done.last_scale, done.scalings) == (
        (NOW, state.scalings + 1) if decision.moves else (then.last_scale, then.scalings)
    )


def check_nothing_shrinks_while_an_answer_is_missing(data, seen, state):
    """Neither the count nor any size does, unless it exceeds the maximum."""
    silent = asking({}, "silent")(None)._replace(missing="nobody is there")
    hvpa = Hvpa.from_dict(data)
    decision, _ = hvpa_decided(hvpa, seen, state, SETUP, [*SOURCES, lambda _: silent])
    if decision.desired is None or decision.current is None:
        return
    assert decision.desired >= decision.current
    for had, has in zip(decision.sizes, decision.desired_sizes, strict=True):
        for resource, amount in had.requests.items():
            most = lived(hvpa, had.container, "max_allowed", resource) or amount
            limit = has.limits.get(resource, amount)
            assert has.requests[resource] >= min(amount, most, limit)


def check_what_is_switched_off_stays_off(data, seen, state):
    """Where neither direction may move, nothing does."""
    spec = {**data["spec"], **{key: {"updatePolicy": {"updateMode": "Off"}} for key in ("scaleUp", "scaleDown")}}
    assert not hvpa_decided(Hvpa.from_dict({**data, "spec": spec}), seen, state, SETUP)[0].moves


def check_zero_replicas_stay(data, seen, state):
    """A user switched it off."""
    asleep = replace(seen, scale=replace(seen.scale, replicas=0)) if not hasattr(seen.scale, "message") else seen
    assert not hvpa_decided(Hvpa.from_dict(data), asleep, state, SETUP)[0].moves


@most
@given(written, any_hvpa_world, remembered, st.data())
def test_whatever_is_written_and_seen(data, seen, state, chooser):
    """One world serves all checks: drawing it takes much longer than deciding."""
    check_every_world_has_a_decision(data, seen, state)
    check_junk_never_raises(data, chooser, seen, state)
    check_deciding_twice_changes_nothing(data, seen, state)
    check_only_acting_changes_the_past(data, seen, state)
    check_nothing_shrinks_while_an_answer_is_missing(data, seen, state)
    check_what_is_switched_off_stays_off(data, seen, state)
    check_zero_replicas_stay(data, seen, state)
