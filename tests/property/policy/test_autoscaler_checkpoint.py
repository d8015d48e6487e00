"""What an Autoscaler learned, whatever that is."""

from hypothesis import given
from hypothesis import strategies as st

from hypot.core.bank.bank import PRICED, RULES
from hypot.core.bank.rule import nothing_learned
from hypot.core.bank.season import WEEK
from hypot.policy.model.autoscaler_checkpoint import LARGEST, SLOTS, checkpoint, restored

AMOUNTS = st.floats(0.0, 1e12)
NUMBERS = st.floats(-1e15, 1e15)
MEANS = st.lists(AMOUNTS | st.just(-1.0), min_size=1, max_size=40)


@st.composite
def pasts(draw):
    """Any prices, seasons and scalars; the rest of long columns repeats what was drawn."""
    past = nothing_learned()
    learned = past.learned
    for bank in (past.counts, past.sizes):
        prices = draw(st.lists(AMOUNTS, min_size=1, max_size=40))
        bank.prices[:] = [prices[place % len(prices)] for place in range(PRICED)]
        bank.rule[0], bank.since[0] = draw(st.integers(0, RULES - 1)), draw(NUMBERS)
        bank.priced[0] = draw(st.integers(0, 1 << 40))
    means = draw(MEANS)
    learned.week.means[:] = [means[place % len(means)] for place in range(SLOTS)]
    slot = draw(st.integers(-1, 1 << 23))
    learned.week.slot[0], learned.day.slot[0] = slot, slot * 10 + draw(st.integers(0, 9))
    learned.week.total[0], learned.week.count[0] = draw(AMOUNTS), draw(st.integers(0, 1 << 40))
    for column in (learned.kappa, learned.work, learned.base, learned.start, learned.peak, learned.first):
        column[0] = draw(NUMBERS)
    learned.means[:] = draw(st.lists(NUMBERS, min_size=4, max_size=4))
    learned.jumps[:] = draw(st.lists(NUMBERS, min_size=2, max_size=2))
    return past


@given(pasts())
def test_a_checkpoint_has_less_than_four_kibibytes_and_can_be_read(past):
    """Always; and read again and written again it is the same."""
    text = checkpoint(past)
    assert len(text) < LARGEST
    found = restored(text)
    assert found.learned.kappa == past.learned.kappa
    assert restored(checkpoint(found)).learned.means == past.learned.means
    assert len(found.learned.week.means) == len(past.learned.week.means) == WEEK + 2


@given(pasts())
def test_the_cheapest_rule_stays_the_cheapest(past):
    """No rule becomes cheaper than the one that was cheapest."""
    found = restored(checkpoint(past))
    for bank, kept in ((past.counts, found.counts), (past.sizes, found.sizes)):
        best = min(range(PRICED), key=lambda rule: bank.prices[rule])
        assert kept.prices[best] == min(kept.prices)
