"""Traces that lie in shared memory."""

import numpy as np
import pytest

from hypot.replay.jobs.shared_traces import Slip, shelf_for
from hypot.replay.traces.trace import Trace

ROWS = 100


def trace(seed, kind=np.float64, *, memory=False):
    times, values, held = np.random.default_rng(seed).random((3, ROWS)).astype(kind)
    return Trace(f"w{seed}", np.sort(times), values, held if memory else None, "cores", "here", ("a note",))


@pytest.fixture
def shelf():
    """Room for three traces of two columns."""
    with shelf_for(3 * 256) as made:
        yield made


def same(one, other):
    arrays = ("times", "values", "memory")
    words = ("workload", "unit", "source", "notes")
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in arrays) and all(
        getattr(one, name) == getattr(other, name) for name in words
    )


@pytest.mark.parametrize("memory", [False, True])
def test_a_trace_is_found_as_it_was(shelf, memory):
    """Bit for bit, and where its memory is not known it is not."""
    given = trace(1, memory=memory)
    found = shelf.take(shelf.put(given))
    assert same(found, given)
    assert (found.memory is None) == (not memory)


def test_jobs_on_one_trace_share_its_place(shelf):
    """It is written once, and lies there until the last of them is done."""
    first, second = trace(1), trace(2)
    slip = shelf.put(first)
    assert shelf.put(first) == slip
    shelf.give_back(slip)
    others = [shelf.put(second), shelf.put(trace(3))]
    assert len({slip.start, *(other.start for other in others)}) == 3
    assert same(shelf.take(slip), first)
    shelf.give_back(slip)
    assert shelf.put(trace(4)).start == slip.start
    assert same(shelf.take(others[0]), second)


def test_a_place_that_was_given_back_is_written_again(shelf):
    """Even for the trace that lay there last: others may have come since."""
    first = trace(1)
    slip = shelf.put(first)
    shelf.give_back(slip)
    assert same(shelf.take(shelf.put(first)), first)


def test_what_has_no_place_travels_as_it_is(shelf):
    """Where the shelf is full, or the numbers are of another kind."""
    assert all(isinstance(shelf.put(trace(seed)), Slip) for seed in range(3))
    late, short = trace(4), trace(5, np.float32)
    assert shelf.put(late) is late
    assert shelf.put(short) is short


def test_a_system_without_such_files_has_no_shelf(monkeypatch):
    """Then traces travel as they are."""
    monkeypatch.delattr("os.memfd_create")
    with shelf_for(10) as made:
        assert made is None
