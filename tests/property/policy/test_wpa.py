"""What holds for every decision of a WatermarkPodAutoscaler."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from hypot.core.quantity import milli
from hypot.core.replicas.bounds import factor_step
from hypot.kinds.node import replaced
from hypot.kinds.wpa import WPA, with_defaults
from hypot.kinds.wpa.fields import WatermarkRules, band, resource_band
from hypot.policy.decide import decide
from hypot.policy.model.seen import Scale
from hypot.policy.model.settings import Settings
from hypot.policy.model.state import State
from property.picks import maybe
from property.worlds import NOW, any_state, any_world, bands, inside, steady_world, steps, wpas

most = settings(max_examples=80, deadline=None)
often = settings(max_examples=40, deadline=None)
seldom = settings(max_examples=25, deadline=None)

SETUP = Settings()
groups = st.sampled_from([1, 2, 5])
algorithms = st.sampled_from(["absolute", "average"])
marks = st.tuples(st.integers(1, 5000), st.integers(0, 5000)).map(lambda pair: (pair[0], sum(pair)))


def check_every_world_has_a_decision(spec, seen, state):
    """For any observation: no exception, every step is a sentence, and the result is JSON."""
    decision, _ = decide(spec, seen, state, SETUP)
    assert decision.steps
    assert all(step.sentence.endswith(".") for step in decision.steps)
    assert decision.decided or decision.error
    json.dumps(decision.to_dict(), allow_nan=False)


def check_the_size_stays_within_its_bounds(spec, seen, state):
    """It does if it was within them before; zero stays, and from outside it goes to the nearest bound or stays."""
    decision, _ = decide(spec, inside(spec, seen), state, SETUP)
    assert spec.min_replicas <= decision.desired <= spec.max_replicas
    decision, _ = decide(spec, seen, state, SETUP)
    if isinstance(seen.scale, Scale) and not spec.min_replicas <= seen.scale.replicas <= spec.max_replicas:
        assert decision.desired in {seen.scale.replicas, spec.min_replicas, spec.max_replicas}


def check_nothing_moves_while_a_metric_fails(spec, seen, state):
    """This also holds where no decision was possible."""
    decision, _ = decide(spec, inside(spec, seen), state, SETUP)
    if not decision.decided or any(reading.proposal is None for reading in decision.readings):
        assert (decision.desired, decision.moves) == (decision.current, False)


def check_deciding_twice_changes_nothing(spec, seen, state):
    """This holds from the same state and from the state that it left."""
    first, after = decide(spec, seen, state, SETUP)
    assert decide(spec, seen, state, SETUP) == (first, after)
    then, after_then = decide(spec, seen, after, SETUP)
    assert (then.desired, then.decided) == (first.desired, first.decided)
    assert after_then == after


def check_only_acting_changes_the_past(spec, seen, state):
    """This also holds in a dry run, although nothing is written."""
    decision, after = decide(spec, seen, state, SETUP)
    state = state.until(seen.now)
    assert (after.last_scale, after.scalings) == (state.last_scale, state.scalings)
    assert (after.ups, after.downs, after.recommendations) == (state.ups, state.downs, state.recommendations)
    done = after.acted(decision, NOW)
    if not decision.moves:
        assert done == after
    else:
        assert (done.last_scale, done.desired, done.scalings) == (NOW, decision.desired, state.scalings + 1)
        assert decision.rescales is not decision.dry_run


def check_no_move_is_larger_than_its_factor(spec, seen, state):
    """It starts from within the bounds."""
    decision, _ = decide(spec, inside(spec, seen), state, SETUP)
    full = with_defaults(spec)
    up = factor_step(decision.current, milli(full.up_factor))
    down = factor_step(decision.current, milli(full.down_factor))
    assert decision.current - down <= decision.desired <= decision.current + up


def check_no_move_within_the_forbidden_window(spec, seen, state, ago):
    """The window counts after any move, in any direction."""
    decision, _ = decide(spec, inside(spec, seen), state._replace(last_scale=NOW - ago), SETUP)
    full = with_defaults(spec)
    if decision.moves:
        assert ago >= (full.up_forbidden_window if decision.desired > decision.current else full.down_forbidden_window)


@seldom
@given(wpas(metrics=bands(resources=()), advised=False), any_world, any_state, st.randoms(use_true_random=False))
def test_the_order_of_metrics_never_changes_the_count(spec, seen, state, random):
    """Metrics count the same ready pods; only the reason may name another metric."""
    shuffled = list(spec.metrics)
    random.shuffle(shuffled)
    one, _ = decide(spec, seen, state, SETUP)
    other, _ = decide(replaced(spec, metrics=tuple(shuffled)), seen, state, SETUP)
    assert (other.desired, other.decided) == (one.desired, one.decided)


@often
@given(
    marks, algorithms, st.integers(1, 8), st.data(), maybe(steps), maybe(steps), st.sampled_from([1, 2, 5]), any_state
)
def test_more_waiting_never_means_fewer_replicas(pair, algorithm, count, data, up, down, modulo, state):
    """Every pod counts and the value is above zero, with any factors, windows, delays and groups."""
    less = data.draw(st.integers(1, 20_000))
    more = less + data.draw(st.integers(0, 20_000))
    spec = WPA(
        "deployment/web",
        metrics=[band("queue", low=f"{pair[0]}m", high=f"{pair[1]}m")],
        max_replicas=40,
        algorithm=algorithm,
        scale_up=up,
        scale_down=down,
        modulo=modulo,
    )
    counts = [decide(spec, steady_world([1] * count, amount), state, SETUP)[0].desired for amount in (less, more)]
    assert counts[0] <= counts[1]


@often
@given(marks, algorithms, st.lists(st.integers(1, 3000), min_size=1, max_size=8), st.data(), maybe(steps), any_state)
def test_more_usage_never_means_fewer_replicas(pair, algorithm, used, data, down, state):
    """The same for the usage of the pods."""
    more = [amount + data.draw(st.integers(0, 2000)) for amount in used]
    spec = WPA(
        "deployment/web",
        metrics=[resource_band("cpu", low=f"{pair[0]}m", high=f"{pair[1]}m")],
        max_replicas=40,
        algorithm=algorithm,
        scale_down=down,
    )
    counts = [decide(spec, steady_world(world), state, SETUP)[0].desired for world in (used, more)]
    assert counts[0] <= counts[1]


@often
@given(marks, algorithms, st.sampled_from(["10m", "0.1", "0.5"]), st.integers(1, 8), st.integers(1, 60_000))
def test_within_the_band_nothing_moves(pair, algorithm, tolerance, count, value):
    """Outside it the proposal goes towards the deviation, or holds."""
    low, high = pair
    spec = WPA(
        "deployment/web",
        metrics=[band("queue", low=f"{low}m", high=f"{high}m")],
        max_replicas=10_000,
        algorithm=algorithm,
        tolerance=tolerance,
        scale_up=WatermarkRules(percent=10**6),
        scale_down=WatermarkRules(percent="99.9"),
    )
    decision, _ = decide(spec, steady_world([1] * count, value), State(), SETUP)
    share = milli(tolerance)
    upper, lower = high + high * share // 1000, low - low * share // 1000
    each = value if algorithm == "absolute" else value / count
    if lower <= each <= upper:
        assert (decision.desired, decision.moves) == (count, False)
    elif each > upper:
        assert decision.readings[0].proposal > count
    else:
        assert decision.readings[0].proposal <= count


def check_a_dry_run_decides_the_same(spec, seen, state):
    """Only the write is left out."""
    wet, _ = decide(replaced(spec, dry_run=False), seen, state, SETUP)
    dry, _ = decide(replaced(spec, dry_run=True), seen, state, SETUP)
    assert (dry.desired, dry.decided, dry.moves) == (wet.desired, wet.decided, wet.moves)
    assert not dry.rescales


@most
@given(wpas(), any_world, any_state, st.integers(0, 1200))
def test_whatever_is_seen(spec, seen, state, ago):
    """One world serves all checks: drawing it takes much longer than deciding."""
    check_every_world_has_a_decision(spec, seen, state)
    check_the_size_stays_within_its_bounds(spec, seen, state)
    check_nothing_moves_while_a_metric_fails(spec, seen, state)
    check_deciding_twice_changes_nothing(spec, seen, state)
    check_only_acting_changes_the_past(spec, seen, state)
    check_no_move_is_larger_than_its_factor(spec, seen, state)
    check_no_move_within_the_forbidden_window(spec, seen, state, ago)
    check_a_dry_run_decides_the_same(spec, seen, state)
