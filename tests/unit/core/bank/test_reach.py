"""How much a pod can use, and how that is found."""

import pytest

from bank_world import USUAL, Workload
from hypot.core.bank.reach import FLAT_STEPS, cap_of, fewest_pods, learn_reach
from hypot.core.bank.rule import nothing_learned


@pytest.mark.parametrize(("reach", "cap", "found"), [(0.0, 1.2, 1.2), (1.0, 1.2, 1.0), (1.0, 0.6, 0.6)])
def test_what_a_pod_can_use(reach, cap, found):
    """At most its cap, and what it was seen to use at most."""
    learned = nothing_learned().learned
    learned.reach[0] = reach
    assert cap_of(learned, cap) == found


@pytest.mark.parametrize(
    ("most", "demand", "planned", "pods"),
    [
        (0.0, 50.0, 60.0, 1),
        # A quarter above what was used so far.
        (0.8, 5.0, 4.0, 5),
        (0.8, 5.0, 5.1, 6),
        (2.0, 0.01, 0.01, 1),
        # Where that is less than a pod: one pod less.
        (0.8, 2.4, 2.6, 2),
        (0.8, 2.5, 2.6, 3),
        (0.8, 1.6, 1.8, 1),
    ],
)
def test_more_use_is_explored_in_steps(most, demand, planned, pods):
    """At first everything is allowed, because nothing shrinks then."""
    learned = nothing_learned().learned
    learned.most_used[0] = most
    assert fewest_pods(learned, demand, planned) == pods


class Threaded(Workload):
    """Pods that use one core at most."""

    def observed(self, demand, *, known=True):
        o = super().observed(demand, known=known)
        return o._replace(use=min(o.use, 1.0))


def wavy(level, step, share=0.04):
    return level * (1.0 + share * (step % 3 - 1))


class TestOneThread:
    @pytest.mark.parametrize("share", [0.0, 0.001, 0.04])
    @pytest.mark.parametrize("level", [3.0, 7.0, 20.0])
    def test_it_is_found_before_much_is_missing(self, level, share):
        """Count and size fit pods of one core, however large they might be, and however even the demand is."""
        one = Threaded(USUAL, replicas=int(level / 0.6), cpu=1000)
        for step in range(400):
            one.step(wavy(level, step, share))
            # One pod too few, or a fifth.
            assert one.replicas >= min(level - 1.0, 0.75 * level)
        assert one.past.learned.reach[0] == pytest.approx(1.0, rel=0.01)
        assert one.replicas > 1.05 * level
        assert one.cpu <= 1000

    def test_pods_that_use_more_later_are_known_to(self):
        """For example after a release with more threads."""
        one = Threaded(USUAL, replicas=12, cpu=1000)
        for step in range(400):
            one.step(wavy(7.0, step))
        o = one.observed(7.0)._replace(use=1.1, cap=1.2)
        one.past.learned.most_used[0] = 1.0
        learn_reach(one.past.learned, o, 0.0, 1.0, settled=False)
        assert one.past.learned.reach[0] == 1.1


class TestOthers:
    @pytest.mark.parametrize("level", [0.4, 3.0, 7.0, 20.0])
    def test_use_that_varies_has_no_reach(self, level):
        """As long as it rises with what is asked for."""
        one = Workload(USUAL, replicas=int(level / 0.6) + 2, cpu=1000)
        for step in range(400):
            one.step(wavy(level * (2.0 if step % 200 > 150 else 1.0), step))
        assert one.past.learned.reach[0] == 0.0

    def test_even_use_has_no_reach(self):
        """Nobody can tell whether more is asked for; and pods of which few are used are not at their limit."""
        one = Workload(USUAL, replicas=12, cpu=1000)
        one.steps(7.0, 300)
        assert one.past.learned.reach[0] == 0.0
        assert one.past.learned.flat[0] > FLAT_STEPS

    @pytest.mark.parametrize("level", [2.0, 3.0, 7.0])
    def test_a_single_step_makes_demand_not_restless(self, level):
        """After it use is flat because demand is."""
        one = Workload(USUAL, replicas=2, cpu=1000)
        one.steps(1.0, 400)
        one.steps(level, 60)
        assert one.past.learned.reach[0] == 0.0

    def test_quiet_nights_have_no_reach(self):
        """Use is flat then, but far from the largest."""
        one = Workload(USUAL, replicas=12, cpu=1000)
        for step in range(200):
            one.step(wavy(7.0, step))
        one.steps(0.3, 200)
        assert one.past.learned.reach[0] == 0.0
