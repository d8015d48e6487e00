"""What an Autoscaler learned, as the controller saves it."""

import base64
import json
from math import inf, isfinite, pi, sin

import pytest

from builders import NOW
from hypot.core.bank.decide import advise
from hypot.core.bank.observed import observed_of
from hypot.core.bank.rule import STOP, AutoscalerRule
from hypot.core.bank.season import DAY, demand_at
from hypot.policy.continuity import Remembered
from hypot.policy.model.autoscaler_checkpoint import LARGEST, checkpoint, restored
from hypot.policy.model.autoscaler_state import AutoscalerState
from hypot.policy.model.state import State

STEP, DAY_LENGTH = 15.0, 86400.0
RULE = AutoscalerRule(
    step=STEP,
    counts=True,
    sizes=True,
    least_pods=2,
    most_pods=100,
    least_cpu=500,
    most_cpu=2000,
    grain=50,
    late_price=10.0,
    late_after=0.25,
    stop=STOP,
    day=DAY_LENGTH,
)


def seen(at, use, replicas, cpu=500):
    """Ready pods that use so many millicores each."""
    return observed_of(
        replicas,
        replicas * use,
        replicas * cpu,
        replicas * cpu,
        -1,
        -1,
        at,
        15.0,
        replicas,
        replicas,
        cpu,
        500,
        500,
        1 << 30,
        0,
        0,
        -inf,
    )


def needed(at):
    """The cores that a workload with a daily cycle needs."""
    return 3.0 + 2.0 * sin(2.0 * pi * at / DAY_LENGTH)


def step(past, at, replicas, cpu):
    """One decision; the count and the size after it."""
    use = round(1000.0 * needed(at) / replicas)
    advise(RULE, past, seen(at, min(use, cpu), replicas, cpu), at)
    return past.proposal.replicas[0], past.proposal.cpu[0]


@pytest.fixture(scope="module")
def taught():
    """What is learned in a few hours, and the count and the size at the end."""
    past, replicas, cpu = AutoscalerState.new().past, 8, 500
    for number in range(1200):
        replicas, cpu = step(past, NOW + number * STEP, replicas, cpu)
    return past, replicas, cpu


def again(past):
    """What another controller reads."""
    return AutoscalerState.from_dict(json.loads(json.dumps(AutoscalerState(past).to_checkpoint()))).past


def test_it_has_at_most_four_kibibytes(taught):
    """However much was learned, and also if nothing was."""
    assert len(json.dumps(AutoscalerState(taught[0]).to_checkpoint())) < LARGEST
    assert len(checkpoint(taught[0])) == len(checkpoint(AutoscalerState.new().past)) < LARGEST


def test_an_entry_of_the_controller_has_the_checkpoint(taught):
    """A state file has everything instead."""
    known = Remembered(State(autoscaler=AutoscalerState(taught[0])), 8, NOW, "uid Deployment/web")
    assert set(known.to_entry()["autoscaler"]) == {"checkpoint"}
    assert set(known.to_dict()["autoscaler"]) == {"columns"}
    assert {**known.to_entry(), "autoscaler": None} == {**known.to_dict(), "autoscaler": None}
    assert Remembered(State()).to_entry() == Remembered(State()).to_dict()


def test_prices_and_rules_stay(taught):
    """Prices as far as rules can be told apart; the rule that decides, since when, and how much was priced."""
    past, kept = taught[0], again(taught[0])
    for bank, found in ((past.counts, kept.counts), (past.sizes, kept.sizes)):
        least = min(bank.prices)
        near = [(a, b) for a, b in zip(bank.prices, found.prices, strict=True) if a < 600 * least]
        assert len(near) > 300
        assert all(b == pytest.approx(a, rel=6e-5) for a, b in near)
        assert (found.rule, found.since, found.priced) == (bank.rule, bank.since, bank.priced)


def test_what_was_measured_stays(taught):
    """Kappa, the work of a request, how long pods take to serve, jumps and since when it learns."""
    past, kept = taught[0].learned, again(taught[0]).learned
    for name in ("kappa", "work", "base", "means", "start", "jumps", "peak", "first"):
        assert getattr(kept, name) == getattr(past, name)


def test_the_season_of_a_week_stays(taught):
    """Within 0.1 %, and the slot in progress goes on."""
    past, kept = taught[0].learned.week, again(taught[0]).learned.week
    known = [(a, b) for a, b in zip(past.means, kept.means, strict=True) if a >= 0.0]
    assert len(known) > 25
    assert all(b == pytest.approx(a, rel=1.1e-3) for a, b in known)
    assert [b for a, b in zip(past.means, kept.means, strict=True) if a < 0.0] == [-1.0] * (1010 - len(known))
    assert (kept.slot, kept.total, kept.count) == (past.slot, past.total, past.count)


def test_the_minutes_of_the_last_day_follow_from_the_week(taught):
    """Each is near what it was; those that nobody observed stay unknown."""
    past, kept = taught[0].learned.day, again(taught[0]).learned.day
    assert kept.slot == past.slot
    last = NOW + 1199 * STEP
    minutes = [last - 60.0 * back for back in range(5, 290)]
    pairs = [(demand_at(past, 60.0, at), demand_at(kept, 60.0, at)) for at in minutes]
    assert all(b == pytest.approx(a, rel=0.1) for a, b in pairs)
    assert demand_at(kept, 60.0, NOW - 3600.0) < 0.0
    assert sum(mean >= 0.0 for mean in kept.means) == pytest.approx(sum(mean >= 0.0 for mean in past.means), abs=15)
    assert len(kept.means) == DAY + 2


def test_after_a_restart_nothing_is_released_until_the_longest_hold_has_passed(taught):
    """However little is used, for 80 steps; then it is."""
    past, replicas, cpu = again(taught[0]), 60, 2000
    begun = NOW + 1201 * STEP
    for number in range(81):
        at = begun + number * STEP
        advise(RULE, past, seen(at, 40, replicas, cpu), at)
        kept = (past.proposal.replicas[0], past.proposal.cpu[0])
        assert (kept == (replicas, cpu)) == (number < 80)


def test_after_a_restart_growth_is_at_once(taught):
    """The first observation is enough."""
    past, at = again(taught[0]), NOW + 1201 * STEP
    advise(RULE, past, seen(at, 499, 8, 500), at)
    assert (past.proposal.replicas[0], past.proposal.cpu[0]) > (8, 500)


def test_the_start_of_pods_is_not_measured_across_a_restart(taught):
    """Pods that do not serve yet when the controller comes back were ordered now, as far as anyone knows."""
    past, at = again(taught[0]), NOW + 90_000.0
    o = seen(at, 300, 8, 500)._replace(replicas=10)
    advise(RULE, past, o, at)
    assert past.learned.missing_since[0] == at


def test_nothing_learned_stays_nothing():
    """An Autoscaler that observed nothing yet."""
    assert again(AutoscalerState.new().past) == AutoscalerState.new().past


def test_a_clock_that_was_set_back_leaves_no_time_in_the_future(taught):
    """Without the last steps, too, the state knows how new it is."""
    kept = AutoscalerState(again(taught[0]))
    assert kept.newest >= NOW
    early = State(autoscaler=kept).until(NOW - 50.0).autoscaler
    assert early.past.learned.first[0] == NOW - 50.0


def test_in_memory_it_is_packed(taught):
    """Thousands of them fit into a controller; also what was read."""
    columns = AutoscalerState(taught[0]).to_dict()
    for state in (AutoscalerState.new(), AutoscalerState.from_dict(columns), AutoscalerState(again(taught[0])).copy()):
        plans = state.past.counts.plans
        assert len(memoryview(plans).tobytes()) == 8 * len(plans)
    assert AutoscalerState.from_dict(columns) == AutoscalerState(taught[0])


def damaged():
    """Texts that are no checkpoint."""
    text = checkpoint(AutoscalerState.new().past)
    raw = base64.b64decode(text)
    yield "", text[:-4], text + text, text.replace("A", "é", 1), "[]"
    yield base64.b64encode(bytes([9]) + raw[1:]).decode()
    # A rule beyond the last; a price and kappa that are no numbers.
    yield base64.b64encode(raw[:17] + b"\xff\xff" + raw[19:]).decode()
    yield base64.b64encode(raw[:1] + b"\xff" * 8 + raw[9:]).decode()
    yield base64.b64encode(raw[:-96] + b"\xff" * 8 + raw[-88:]).decode()


def test_what_cannot_be_read_is_refused():
    """Then it learns anew."""
    texts = [text for each in damaged() for text in ([each] if isinstance(each, str) else each)]
    for text in texts:
        with pytest.raises(ValueError, match="learned"):
            restored(text)
        assert State.from_dict({"autoscaler": {"checkpoint": text}}).autoscaler is None


def test_numbers_are_finite(taught):
    """What is read can be decided with."""
    kept = again(taught[0])
    assert all(isfinite(price) for price in (*kept.counts.prices, *kept.sizes.prices, *kept.learned.week.means))
    assert kept.learned.last[0] == -inf
