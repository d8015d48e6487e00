"""What holds for the bank of histograms with any samples."""

from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hypot.core.usage.histogram import Bank
from hypot.core.usage.layout import CPU_LAYOUT, Layout
from hypot.kinds.vpa.knobs import Knobs
from hypot.policy.usage.usage import Usage

numeric = settings(max_examples=80, deadline=None)

START, HOUR, DAY = 1_700_000_000.0, 3600.0, 86400.0
PODS, CONTAINERS = ("a", "b", "c"), ("app", "proxy")

cores = st.floats(0, 2000, allow_nan=False)
times = st.integers(0, 400).map(lambda quarter: START + quarter * HOUR / 4)
# Value, weight, time.
additions = st.lists(st.tuples(cores, st.floats(0, 50), times), max_size=30)
half_lives = st.sampled_from([HOUR, 6 * HOUR, DAY, 7 * DAY, inf])
shares = st.lists(st.floats(-0.5, 1.5), min_size=1, max_size=6)
amounts = st.one_of(st.none(), st.integers(-1, 10**6), st.integers(0, 10**12))
# Pod, container, cpu, memory, time.
samples = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 1), amounts, amounts, times),
    max_size=25,
)
scalars = st.one_of(st.none(), st.booleans(), st.integers(-9, 10**6), st.floats(), st.text(max_size=9))
anything = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)),
    max_leaves=8,
)
histograms = st.one_of(
    anything,
    st.fixed_dictionaries(
        {},
        optional={
            "totalWeight": scalars,
            "bucketWeights": st.one_of(
                anything, st.dictionaries(st.integers(-1, 177).map(str), st.integers(-1, 10000))
            ),
            "referenceTimestamp": st.one_of(anything, st.datetimes().map(lambda at: at.isoformat() + "Z")),
        },
    ),
)
statuses = st.one_of(
    anything,
    st.fixed_dictionaries(
        {"version": st.just("v3")},
        optional={"cpuHistogram": histograms, "memoryHistogram": histograms, "totalSamplesCount": scalars},
    ),
)


def filled(given_, half_life=DAY, layout=CPU_LAYOUT):
    bank = Bank(layout)
    bank.new(half_life)
    for sample in given_:
        bank.add(0, *sample)
    return bank


def usage_of(many, knobs=None):
    """All samples in one observation of three pods with two containers each."""
    usage = Usage()
    rows = [usage.declare("web", name, knobs or Knobs(), START) for name in CONTAINERS]
    numbers = [[usage.instance(row, pod) for row in rows] for pod in PODS]
    usage.observe([(numbers[pod][container], *rest) for pod, container, *rest in many])
    return usage


def assert_near(bank, other, row=0):
    """Equal up to rounding and epsilon: smaller weights may be left behind."""
    assert np.allclose(bank.weights[row], other.weights[row], rtol=1e-9, atol=2 * CPU_LAYOUT.epsilon)
    assert np.isclose(bank.total[row], other.total[row], rtol=1e-9, atol=len(CPU_LAYOUT) * CPU_LAYOUT.epsilon)


def check_the_order_within_one_observation_means_nothing(many, random):
    """Accepted samples, peaks, windows and histograms are the same."""
    shuffled = random.sample(many, len(many))
    one, other = usage_of(many), usage_of(shuffled)
    for name in ("last_cpu", "last_memory", "window_end", "memory_peak", "oom_peak"):
        assert (one.instances[name][:6] == other.instances[name][:6]).all(), name
    for name in ("first", "last", "samples"):
        assert (one.aggregates[name][:2] == other.aggregates[name][:2]).all(), name
    for row in range(2):
        assert_near(one.cpu, other.cpu, row)
        assert_near(one.memory, other.memory, row)


def check_each_window_counts_once(many):
    """One peak for each window of each instance, whatever happens within it: totals are whole."""
    usage = usage_of(many, Knobs(memory_half_life=inf, memory_interval=6 * HOUR))
    for row in range(2):
        total = usage.memory.total[row]
        assert total == pytest.approx(round(total), abs=1e-9)
        opened = {
            pod for pod, container, _, memory, _ in many if container == row and memory is not None and memory >= 0
        }
        assert round(total) >= len(opened)


def check_percentiles_grow_with_the_share(given_, half_life, asked):
    """They are never below the end of the smallest sample's bucket."""
    bank = filled(given_, half_life)
    found = bank.percentiles(0, sorted(asked))
    assert found == sorted(found)
    assert found == bank.percentile(0, np.array(sorted(asked))[:, None])[:, 0].tolist()
    if not bank.is_empty(0).item():
        smallest = min(value for value, weight, _ in given_ if weight > 0)
        assert found[0] >= CPU_LAYOUT.ends[CPU_LAYOUT.buckets(smallest)]


def check_a_checkpoint_keeps_percentiles(given_, half_life, share):
    """It does so within the resolution of whole weights."""
    bank = filled(given_, half_life)
    other = filled((), half_life)
    other.load(0, bank.save(0))
    low, high = bank.percentiles(0, [share - 0.01, share + 0.01])
    (found,) = other.percentiles(0, [share])
    assert low <= found <= high
    assert other.total[0] == (bank.total[0] if bank.save(0).weights else 0)


@numeric
@given(additions, half_lives, shares, st.floats(0, 1))
def test_whatever_was_added(given_, half_life, asked, share):
    """Each check uses the same histogram."""
    check_percentiles_grow_with_the_share(given_, half_life, asked)
    check_a_checkpoint_keeps_percentiles(given_, half_life, share)


def check_what_is_taken_out_again_was_never_there(kept, taken):
    """This holds up to rounding and epsilon, below which nothing remains."""
    bank = filled(kept + taken)
    rounding = 1e-9 * bank.weights[0].max()
    for sample in taken:
        bank.subtract(0, *sample)
    wanted = filled(kept)
    if bank.reference[0] != wanted.reference[0]:
        wanted.shift(0, bank.reference[0])
    assert np.allclose(bank.weights[0], wanted.weights[0], rtol=0, atol=CPU_LAYOUT.epsilon + rounding)


def check_merging_is_adding_all(one, other, half_life):
    """The other histogram stays as it was, to the bit."""
    bank, second = filled(one, half_life), filled(other, half_life)
    before = second.copied(0)
    bank.merge(0, 0, second)
    assert (second.weights[0] == before.weights[0]).all()
    assert second.reference[0] == before.reference[0]
    wanted = filled(one + other, half_life)
    if wanted.reference[0] != bank.reference[0]:
        wanted.shift(0, bank.reference[0])
    assert_near(bank, wanted)


@numeric
@given(additions, additions, half_lives)
def test_two_histograms(one, other, half_life):
    """Each check uses the same two histograms."""
    check_what_is_taken_out_again_was_never_there(one, other)
    check_merging_is_adding_all(one, other, half_life)


@numeric
@given(st.lists(additions, min_size=1, max_size=5), shares)
def test_many_rows_are_read_like_one(rows, asked):
    """The epsilon is coarse, so that buckets at the edges do not count."""
    layout = Layout.exponential(1000.0, 0.01, 1.05, 1.0)
    bank = Bank(layout)
    for given_ in rows:
        row = bank.new(HOUR)
        for sample in given_:
            bank.add(row, *sample)
    found = bank.percentile(np.arange(len(rows)), np.array(asked)[:, None])
    assert found.T.tolist() == [bank.percentiles(row, asked) for row in range(len(rows))]


def check_estimating_only_reads(many):
    """Every array is the same before and after, to the bit."""
    usage = usage_of(many)
    tables = (usage.cpu._rows, usage.memory._rows, usage.aggregates, usage.instances)
    before = [{name: table[name][: len(table)].copy() for name in table._arrays} for table in tables]
    found = usage.view("web").estimate(Knobs(), CONTAINERS, {})
    usage.estimates(np.arange(2))
    usage.save("web", "app", START + DAY)
    for table, arrays in zip(tables, before, strict=True):
        for name, array in arrays.items():
            assert np.array_equal(table[name][: len(table)], array), name
    for bounds in found:
        for resource, amount in bounds.target.items():
            assert bounds.lower[resource] <= amount <= bounds.upper[resource]


@numeric
@given(samples, st.randoms(use_true_random=False))
def test_whatever_is_observed(many, random):
    """Each check observes the same samples."""
    check_the_order_within_one_observation_means_nothing(many, random)
    check_each_window_counts_once(many)
    check_estimating_only_reads(many)


@numeric
@given(statuses)
def test_any_checkpoint_is_loaded_or_refused(status):
    """A checkpoint is foreign input: it raises only a ValueError, and a loaded checkpoint can be estimated."""
    usage = usage_of(())
    try:
        usage.load("web", "app", status)
    except ValueError:
        assert usage.cpu.is_empty(0).all()
        return
    usage.view("web").estimate(Knobs(), CONTAINERS, {})
    usage.save("web", "app", START)
