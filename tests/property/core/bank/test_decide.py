"""Decisions of the bank, whatever happened before: more demand never gets less, and nothing shrinks blindly."""

from math import inf, isfinite

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from bank_world import EPOCH, USUAL, Workload, copied
from hypot.core.bank.bank import HOLDS, PRICED, RULES
from hypot.core.bank.decide import advise
from hypot.core.bank.learn import AT_CAP
from hypot.core.bank.rule import ObservedLoad
from property.picks import among, either

# Without shrinking: the repetition of long courses takes minutes.
PHASES = (Phase.explicit, Phase.reuse, Phase.generate)
often = settings(max_examples=60, deadline=None, phases=PHASES, suppress_health_check=(HealthCheck.too_slow,))
seldom = settings(often, max_examples=20)
LONGEST_HOLD = HOLDS[-1]
# Steps after which constant demand changes nothing any more.
SETTLED = 20
levels = st.sampled_from([0.0, 0.02, 0.3, 1.0, 1.9, 2.6, 4.1, 7.7, 15.0, 40.0, 400.0])
stretches = st.lists(st.tuples(levels, st.integers(1, 12)), min_size=1, max_size=4)
cheapest = st.integers(0, RULES - 1)
factors = st.sampled_from([1.0, 1.001, 1.02, 1.1, 1.25, 1.5, 2.0, 5.0, 50.0])


@st.composite
def rules(draw):
    """Rules of any axes and bounds."""
    counts, sizes = draw(among((True, True), (True, False), (False, True)))
    least = draw(among(100, 250, 500, 1000))
    fewest = draw(among(1, 2, 5))
    return USUAL._replace(
        step=draw(among(15.0, 30.0)),
        counts=counts,
        sizes=sizes,
        least_pods=fewest,
        most_pods=draw(among(fewest, 10, 200)),
        least_cpu=least,
        most_cpu=least * draw(among(1, 4, 10)),
        grain=max(1, least // 10),
        late_price=draw(among(0.1, 3.0, 10.0, 1000.0)),
    )


@st.composite
def workloads(draw):
    """A workload after some time, also with gaps, in which any rule may have become the cheapest."""
    rule = draw(rules())
    one = Workload(
        rule,
        replicas=draw(among(1, 2, 7)),
        cpu=draw(among(100, 500, 1000, 3000)),
        ratio=draw(among(1.0, 1.2, 3.0)),
        work=draw(among(0.0, 0.02)),
    )
    for level, count in draw(stretches):
        for i in range(count):
            one.step(level * (1.0 + 0.1 * (i % 3)), known=level > 0.0 or draw(either))
    if draw(either):
        one.past.learned.first[0] -= 1e5
        for bank in (one.past.counts, one.past.sizes):
            bank.prices[draw(cheapest)] = -1e9
    return one


def decided(one: Workload, o: ObservedLoad):
    """The count, the size and whether pods were at their cap, from a copy of what is known."""
    past = copied(one.past)
    advise(one.rule, past, o, one.now)
    return past.proposal.replicas[0], past.proposal.cpu[0]


def assert_within(rule, one, count, cpu):
    """Bounds of an axis that is not set do not matter."""
    if rule.counts:
        assert rule.least_pods <= count <= rule.most_pods
    else:
        assert count == one.replicas
    if rule.sizes:
        assert rule.least_cpu <= cpu <= rule.most_cpu
    else:
        assert cpu == one.cpu


class TestDecisions:
    @often
    @given(workloads(), levels, factors)
    def test_more_demand_never_gets_less(self, one, demand, factor):
        """Neither fewer pods nor, to a grain for each pod, less cpu of all pods together."""
        few, small = decided(one, one.observed(demand))
        many, large = decided(one, one.observed(demand * factor))
        assert many >= few
        assert many * large + few * one.rule.grain >= few * small

    @often
    @given(workloads())
    def test_nothing_shrinks_without_metrics(self, one):
        """Within the bounds."""
        rule, o = one.rule, one.observed(0.0, known=False)
        count, cpu = decided(one, o)
        assert count >= (min(one.replicas, rule.most_pods) if rule.counts else one.replicas)
        assert cpu >= (min(one.cpu, rule.most_cpu) if rule.sizes else one.cpu)

    @often
    @given(workloads())
    def test_nothing_shrinks_at_the_cap(self, one):
        """What is asked for beyond it cannot be seen."""
        rule, o = one.rule, one.observed(0.0)
        count, cpu = decided(one, o._replace(use=o.cap * AT_CAP))
        assert count * cpu >= min(one.replicas, rule.most_pods if rule.counts else inf) * min(
            one.cpu, rule.most_cpu if rule.sizes else inf
        )

    @often
    @given(workloads(), levels, st.floats(60.0, 1e6))
    def test_nothing_shrinks_after_a_gap(self, one, demand, gap):
        """Until the longest hold has passed."""
        rule = one.rule
        one.now += 4 * rule.step + gap
        before = one.replicas, one.cpu
        for _ in range(3):
            one.step(demand)
            assert_within(rule, one, one.replicas, one.cpu)
            if rule.least_pods <= before[0] <= rule.most_pods and rule.least_cpu <= before[1] <= rule.most_cpu:
                assert one.capacity >= before[0] * before[1]
            before = one.replicas, one.cpu

    @often
    @given(workloads(), st.floats(1.0, 1e7), levels)
    def test_a_clock_that_is_set_back(self, one, back, demand):
        """It begins anew, and shrinks again after the longest hold."""
        one.now -= back
        for _ in range(LONGEST_HOLD + 3):
            one.step(demand)
            assert_within(one.rule, one, one.replicas, one.cpu)
        assert one.past.learned.keeps_until[0] <= one.now

    @often
    @given(
        rules(),
        st.lists(
            st.tuples(
                st.floats(0.0, 1e9) | st.just(0.0),
                st.floats(0.0005, 1e6),
                st.floats(-1.0, 1e12),
                st.floats(-1.0, 1e12),
                st.integers(1, 2**31 - 1),
                st.integers(0, 2**31 - 1),
            ),
            min_size=1,
            max_size=80,
        ),
    )
    def test_hostile_numbers_stay_within_bounds(self, rule, given_):
        """Whatever usage, caps, rates and counts of pods are."""
        one = Workload(rule)
        for use, cap, rate, late, replicas, ready in given_:
            one.replicas = replicas
            o = one.observed(1.0)._replace(use=use, cap=cap, rate=rate, late=late, replicas=replicas, ready=ready)
            advise(rule, one.past, o, one.now)
            assert_within(rule, one, one.past.proposal.replicas[0], one.past.proposal.cpu[0])
            one.now += rule.step
        for bank in (one.past.counts, one.past.sizes):
            assert all(isfinite(bank.prices[each]) for each in range(PRICED))


class TestCourses:
    @seldom
    @given(rules(), st.sampled_from([0.05, 0.4, 1.3, 2.2, 6.0, 17.0]), st.sampled_from([1.0, 1.2, 2.0]))
    def test_constant_demand_comes_to_rest(self, rule, demand, ratio):
        """No change after the longest hold, in which nothing is released."""
        one = Workload(rule, ratio=ratio)
        one.steps(demand, 3 * LONGEST_HOLD)
        assert [step for step in one.changes if step > LONGEST_HOLD + SETTLED] == []

    @seldom
    @given(rules(), st.sampled_from([0.6, 1.3, 2.2, 6.0]), st.sampled_from([1.5, 3.0, 8.0]))
    def test_what_grew_shrinks_again(self, rule, demand, factor):
        """Soon after the longest hold, what is held is near what it was before, unless late requests cost a fortune."""
        one = Workload(rule._replace(late_price=min(rule.late_price, 10.0)))
        one.steps(demand, 2 * LONGEST_HOLD)
        before = one.capacity
        one.steps(demand * factor, LONGEST_HOLD)
        assert one.capacity >= before
        one.steps(demand, 2 * LONGEST_HOLD)
        assert one.capacity <= 1.6 * before + rule.grain

    @often
    @given(rules(), stretches)
    def test_equal_input_gives_equal_decisions(self, rule, given_):
        courses = []
        for _ in range(2):
            one = Workload(rule)
            for level, count in given_:
                one.steps(level, count)
            courses.append(one.course)
        assert courses[0] == courses[1]
        assert one.now > EPOCH
