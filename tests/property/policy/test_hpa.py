"""What holds for every decision of a HorizontalPodAutoscaler."""

import json
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from hypot.kinds.hpa import HPA
from hypot.kinds.hpa.fields import ScalingRules, cpu, external, limit
from hypot.kinds.node import replaced
from hypot.policy.decide import decide
from hypot.policy.horizontal.tolerances import tolerances
from hypot.policy.model.seen import Failure, Scale
from hypot.policy.model.settings import Settings
from hypot.policy.model.state import EMPTY, State
from property.picks import maybe
from property.worlds import (
    NOW,
    any_state,
    any_world,
    hpas,
    inside,
    paces,
    percents,
    settings_of,
    steady_world,
)

most = settings(max_examples=80, deadline=None)
often = settings(max_examples=40, deadline=None)
seldom = settings(max_examples=25, deadline=None)

usages = st.lists(st.integers(1, 3000), min_size=1, max_size=8)
# Both kinds of target for a metric that every pod has.
targets = st.one_of(
    percents.map(lambda percent: cpu(utilization=percent)), st.integers(1, 3000).map(lambda m: cpu(average=f"{m}m"))
)


def check_every_world_has_a_decision(spec, seen, state, setup):
    """For any observation: no exception, and every step is a sentence."""
    decision, _ = decide(spec, seen, state, setup)
    assert decision.steps
    assert all(step.sentence.endswith(".") for step in decision.steps)
    assert decision.decided or decision.error


def check_every_decision_is_json(spec, seen, state, setup):
    """The JSON is strict: it has no NaN or infinity."""
    decision, _ = decide(spec, seen, state, setup)
    written = decision.to_dict()
    assert json.loads(json.dumps(written, allow_nan=False))["desired"] == written["desired"]


def check_the_size_stays_within_its_bounds(spec, seen, state, setup):
    """It does if it was within them before; from outside it goes to the nearest bound, stays, or wakes from zero."""
    decision, _ = decide(spec, inside(spec, seen), state, setup)
    assert spec.min_replicas <= decision.desired <= spec.max_replicas
    decision, _ = decide(spec, seen, state, setup)
    if isinstance(seen.scale, Scale) and not spec.min_replicas <= seen.scale.replicas <= spec.max_replicas:
        woken = range(spec.min_replicas, spec.max_replicas + 1) if seen.scale.replicas == 0 else ()
        assert decision.desired in {seen.scale.replicas, spec.min_replicas, spec.max_replicas, *woken}


def check_nothing_shrinks_while_a_metric_fails(spec, seen, state, setup):
    """This also holds where no decision was possible."""
    decision, _ = decide(spec, inside(spec, seen), state, setup)
    if not decision.decided or any(reading.proposal is None for reading in decision.readings):
        assert decision.desired >= decision.current


def check_deciding_twice_changes_nothing(spec, seen, state, setup):
    """This holds from the same state and from the state that it left."""
    first, after = decide(spec, seen, state, setup)
    again, after_again = decide(spec, seen, state, setup)
    assert json.dumps(again.to_dict()) == json.dumps(first.to_dict())
    assert after_again == after
    then, after_then = decide(spec, seen, after, setup)
    assert (then.desired, then.decided) == (first.desired, first.decided)
    assert after_then == after


def check_only_acting_changes_the_past(spec, seen, state, setup):
    """Deciding leaves moves and their times alone; acting records one move, in one direction."""
    decision, after = decide(spec, seen, state, setup)
    state = state.until(seen.now)
    assert (after.ups, after.downs) == (state.ups, state.downs)
    assert (after.last_scale, after.scalings) == (state.last_scale, state.scalings)
    done = after.acted(decision, NOW)
    if not decision.rescales:
        assert done == after
        return
    assert (done.last_scale, done.desired, done.scalings) == (NOW, decision.desired, state.scalings + 1)
    if decision.desired > decision.current:
        assert done.downs == state.downs
    else:
        assert done.ups == state.ups


def check_the_order_of_metrics_never_changes_the_count(spec, seen, state, setup, random):
    """Only the reason may name another metric."""
    shuffled = list(spec.metrics)
    random.shuffle(shuffled)
    one, _ = decide(spec, seen, state, setup)
    other, _ = decide(replaced(spec, metrics=tuple(shuffled)), seen, state, setup)
    assert (other.desired, other.decided) == (one.desired, one.decided)


@often
@given(targets, usages, st.data(), maybe(paces), maybe(paces), any_state)
def test_more_usage_never_means_fewer_replicas(metric, used, data, up, down, state):
    """Every pod counts, with any behavior and any state."""
    more = [amount + data.draw(st.integers(0, 2000)) for amount in used]
    spec = HPA("deployment/web", metrics=[metric], max_replicas=40, scale_up=up, scale_down=down)
    counts = [decide(spec, steady_world(world), state, Settings())[0].desired for world in (used, more)]
    assert counts[0] <= counts[1]


@seldom
@given(st.integers(1, 100), st.integers(1, 8), st.data(), maybe(paces), maybe(paces))
def test_more_waiting_never_means_fewer_replicas(target, count, data, up, down):
    """The same for an external metric, in total and per pod."""
    less = data.draw(st.integers(0, 2000))
    more = less + data.draw(st.integers(0, 2000))
    for metric in (external("queue", value=f"{target}m"), external("queue", average=f"{target}m")):
        spec = HPA("deployment/web", metrics=[metric], max_replicas=500, scale_up=up, scale_down=down)
        worlds = [steady_world([1] * count, amount) for amount in (less, more)]
        counts = [decide(spec, world, State(EMPTY), Settings())[0].desired for world in worlds]
        assert counts[0] <= counts[1]


@often
@given(targets, usages, st.sampled_from([0.0, 0.05, 0.1, 0.5]), maybe(paces), maybe(paces))
def test_within_the_tolerance_nothing_moves(metric, used, tolerance, up, down):
    """Outside it, a change towards the deviation is proposed."""
    spec = HPA("deployment/web", metrics=[metric], max_replicas=40, scale_up=up, scale_down=down)
    setup = Settings(tolerance=tolerance)
    below, above = tolerances(spec, setup)
    target = metric.resource.target
    average = sum(used) // len(used)
    measured = sum(used) * 100 // (1000 * len(used)) if target.utilization else average
    ratio = measured / (target.utilization or int(target.average[:-1]))
    decision, _ = decide(spec, steady_world(used), State(EMPTY), setup)
    proposal = decision.readings[0].proposal
    if 1.0 - below <= ratio <= 1.0 + above:
        assert (decision.desired, decision.moves) == (len(used), False)
    elif ratio > 1:
        assert proposal > len(used)
    else:
        assert proposal <= len(used)


@seldom
@given(st.integers(1, 6), st.integers(1, 8), st.lists(st.integers(0, 60), min_size=1, max_size=12))
def test_no_period_sees_more_growth_than_its_policy_allows(pods, ticks, wanted):
    """It decides repeatedly, and each move is written and remembered."""
    spec = HPA(
        "deployment/web",
        metrics=[external("queue", average=1)],
        max_replicas=500,
        scale_up=ScalingRules([limit(pods=pods, per=15 * ticks)]),
        scale_down=ScalingRules(select="Disabled"),
    )
    state, sizes = State(EMPTY), [5]
    for i, count in enumerate(wanted):
        now = NOW + 15 * i
        seen = replace(steady_world([1] * sizes[-1], count * 1000), now=now)
        decision, state = decide(spec, seen, state, Settings())
        state = state.acted(decision, now)
        sizes.append(decision.desired)
    for end in range(len(sizes)):
        assert sizes[end] - sizes[max(0, end - ticks)] <= pods


def check_a_scale_that_cannot_be_read_is_never_written(spec, seen, state, setup):
    """This holds for any other observation."""
    decision, after = decide(spec, replace(seen, scale=Failure("gone")), state, setup)
    assert (decision.rescales, decision.current, decision.desired) == (False, None, None)
    assert after.recommendations == state.until(seen.now).recommendations


@most
@given(hpas(), any_world, any_state, settings_of, st.randoms(use_true_random=False))
def test_whatever_is_seen(spec, seen, state, setup, random):
    """One world serves all checks: drawing it takes much longer than deciding."""
    check_every_world_has_a_decision(spec, seen, state, setup)
    check_every_decision_is_json(spec, seen, state, setup)
    check_the_size_stays_within_its_bounds(spec, seen, state, setup)
    check_nothing_shrinks_while_a_metric_fails(spec, seen, state, setup)
    check_deciding_twice_changes_nothing(spec, seen, state, setup)
    check_only_acting_changes_the_past(spec, seen, state, setup)
    check_the_order_of_metrics_never_changes_the_count(spec, seen, state, setup, random)
    check_a_scale_that_cannot_be_read_is_never_written(spec, seen, state, setup)
