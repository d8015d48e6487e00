"""How much cpu a pod may use before its memory is full."""

from math import inf

import pytest

from bank_world import USUAL, Workload
from hypot.core.bank.memory import learn_memory, use_that_fits
from hypot.core.bank.rule import nothing_learned


def seen(filled, use=0.8):
    return Workload().observed(1.0)._replace(filled=filled, use=use)


def learned_from(*points):
    """From pods of this use and memory, many times each in turn."""
    learned = nothing_learned().learned
    for _ in range(300):
        for use, filled in points:
            learn_memory(learned, seen(filled, use))
    return learned


@pytest.mark.parametrize(
    ("points", "cores"),
    [
        # Use that does not differ says nothing.
        (((0.8, 0.4),), inf),
        (((0.79, 0.4), (0.81, 0.41)), inf),
        # 0.2, and 0.25 for each core; 0 and 0.5 for each core.
        (((0.4, 0.3), (1.2, 0.5)), 2.4),
        (((0.4, 0.2), (1.2, 0.6)), 1.6),
        # Always the same; less with more use.
        (((0.4, 0.9), (1.2, 0.9)), inf),
        (((0.4, 0.5), (1.2, 0.3)), inf),
        # Full at less than what they use.
        (((0.4, 0.7), (1.2, 1.0)), 0.667),
        # Pods whose memory is nearly full without any use: half of the room that is left, and no cliff.
        (((0.4, 0.81), (1.2, 0.85)), 2.1),
        (((0.4, 0.83), (1.2, 0.87)), 1.9),
        # Memory that is not known, or has no limit.
        (((0.4, 0.0), (1.2, 0.0)), inf),
    ],
)
def test_use_that_fits(points, cores):
    """What a pod can use until its memory is full, by the line through what was seen."""
    assert use_that_fits(learned_from(*points)) == pytest.approx(cores, rel=0.02)


class Heavy(Workload):
    """Pods with a third of their memory taken by themselves, and a sixth more with each core."""

    def filled(self, use):
        return 0.3 + 0.17 * use


@pytest.mark.parametrize("level", [3.0, 9.0, 20.0])
def test_few_large_pods_fit_their_memory(level):
    """They are as large as their memory allows: 0.8 is full at 2.94 cores, which is 2.5 cores requested."""
    one = Heavy(USUAL, replicas=int(level / 0.6), cpu=1000)
    for step in range(900):
        one.step(level * (1.0 + 0.3 * (step % 40 > 20) + 0.04 * (step % 3)))
        assert one.cpu <= 3000
    assert one.replicas < level / 1.2


def test_full_memory_that_does_not_come_with_use_stops_nothing():
    """Like a heap that takes what it may have."""

    class Heap(Workload):
        def filled(self, _use):
            return 0.9

    one = Heap(USUAL, replicas=15, cpu=1000)
    for step in range(900):
        one.step(6.0 * (1.0 + 0.5 * (step % 80 > 40)))
    assert one.replicas <= 4
