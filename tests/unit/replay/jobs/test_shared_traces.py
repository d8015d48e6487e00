"""Traces in shared memory."""

import numpy as np
import pytest

from hypot.replay.jobs.shared_traces import Slip, shared_for
from hypot.replay.traces.trace import Trace

ROWS = 100


def trace(seed, kind=np.float64, *, memory=False):
    times, values, held = np.random.default_rng(seed).random((3, ROWS)).astype(kind)
    return Trace(f"w{seed}", np.sort(times), values, held if memory else None, "cores", "here", ("a note",))


@pytest.fixture
def shared():
    """Room for three traces of two columns."""
    with shared_for(3 * 256) as made:
        yield made


def same(one, other):
    arrays = ("times", "values", "memory")
    message = ("workload", "unit", "source", "notes")
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in arrays) and all(
        getattr(one, name) == getattr(other, name) for name in message
    )


@pytest.mark.parametrize("memory", [False, True])
def test_a_trace_is_found_as_it_was(shared, memory):
    """It is equal bit for bit, and unknown memory stays unknown."""
    given = trace(1, memory=memory)
    found = shared.take(shared.put(given))
    assert same(found, given)
    assert (found.memory is None) == (not memory)


def test_jobs_on_one_trace_share_its_place(shared):
    """It is written once, and stays until the last of these jobs is done."""
    first, second = trace(1), trace(2)
    slip = shared.put(first)
    assert shared.put(first) == slip
    shared.give_back(slip)
    others = [shared.put(second), shared.put(trace(3))]
    assert len({slip.start, *(other.start for other in others)}) == 3
    assert same(shared.take(slip), first)
    shared.give_back(slip)
    assert shared.put(trace(4)).start == slip.start
    assert same(shared.take(others[0]), second)


def test_a_place_that_was_given_back_is_written_again(shared):
    """Even for the same trace: another trace may have been written there since."""
    first = trace(1)
    slip = shared.put(first)
    shared.give_back(slip)
    assert same(shared.take(shared.put(first)), first)


def test_a_trace_without_a_place_is_passed_as_it_is(shared):
    """This happens when the shared memory is full, or the numbers have another type."""
    assert all(isinstance(shared.put(trace(seed)), Slip) for seed in range(3))
    late, short = trace(4), trace(5, np.float32)
    assert shared.put(late) is late
    assert shared.put(short) is short


def test_without_memfd_there_is_no_shared_memory(monkeypatch):
    """Then traces are passed as they are."""
    monkeypatch.delattr("os.memfd_create")
    with shared_for(10) as made:
        assert made is None
