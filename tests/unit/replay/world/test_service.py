"""How a replica serves, compared with queueing theory and the specification."""

from itertools import pairwise, product
from math import exp, factorial, inf, isclose, isfinite, log, sqrt

import pytest

from hypot.replay.world.service import (
    BUSIEST,
    LEAST_CAPACITY,
    approached,
    base_use,
    crash_wait,
    crowding,
    late_share,
    mean_latency,
    percentile,
    queueing_time,
    service_time,
    usable_cores,
    utilisation,
    wait_odds,
)

WORK = 0.02
LOADS = (0.0, 1e-12, 0.01, 0.3, 0.5, 0.8, 0.9, 0.99, BUSIEST)


def erlang_c(servers, rho):
    """The probability to wait for one of so many whole servers, by Erlang's formula."""
    offered = servers * rho
    tail = offered**servers / factorial(servers) / (1.0 - rho)
    return tail / (sum(offered**k / factorial(k) for k in range(servers)) + tail)


def odds(servers, rho):
    return wait_odds(rho, crowding(servers))


def wait_chance(rho, servers):
    return exp(odds(servers, rho))


def waiting(servers, rho):
    """The mean time in the queue, without backlog."""
    return mean_latency(WORK, odds(servers, rho), queueing_time(WORK, servers, rho)) - WORK


class TestOneServer:
    """M/M/1, for which the exact results are known."""

    @pytest.mark.parametrize("rho", LOADS)
    def test_the_chance_to_wait_is_the_utilisation(self, rho):
        """They are equal, because the exponent is one."""
        assert wait_chance(rho, 1.0) == pytest.approx(rho, rel=1e-12)

    @pytest.mark.parametrize("rho", [0.1, 0.5, 0.9, 0.99])
    def test_the_mean_is_the_textbook_one(self, rho):
        """1 / (mu - lambda)."""
        assert waiting(1.0, rho) + WORK == pytest.approx(1.0 / (1.0 / WORK - rho / WORK), rel=1e-12)

    @pytest.mark.parametrize(("rho", "deadline"), [(0.5, 0.05), (0.8, 0.25), (0.95, 0.25), (0.2, 0.021)])
    def test_late_requests_are_the_tail_of_the_waiting_time(self, rho, deadline):
        """Rho times an exponential of the slack after the service itself."""
        expected = rho * exp(-(1.0 - rho) * (deadline - WORK) / WORK)
        assert late_share(deadline, WORK, odds(1.0, rho), queueing_time(WORK, 1.0, rho)) == pytest.approx(
            expected, rel=1e-12
        )


class TestSeveralServers:
    """Sakasegawa's approximation compared with Erlang C."""

    @pytest.mark.parametrize(("servers", "rho"), list(product(range(2, 9), (0.8, 0.85, 0.9, 0.95, 0.99))))
    def test_it_is_within_eight_percent_where_it_matters(self, servers, rho):
        """From a utilisation of 0.8 on, for two to eight servers."""
        assert wait_chance(rho, servers) == pytest.approx(erlang_c(servers, rho), rel=0.08)

    @pytest.mark.parametrize(("servers", "rho"), list(product(range(2, 9), (0.1, 0.3, 0.5, 0.7))))
    def test_it_is_on_the_safe_side_below(self, servers, rho):
        """The probability to wait is a little too high, never too low."""
        assert wait_chance(rho, servers) >= erlang_c(servers, rho)

    def test_the_exponent(self):
        """The square root of 2 (c + 1), less one, for any fraction of a server."""
        assert wait_chance(0.7, 1.15) == pytest.approx(0.7 ** (sqrt(4.3) - 1.0), rel=1e-12)

    @pytest.mark.parametrize("rho", [0.3, 0.8, 0.95])
    def test_more_servers_at_equal_utilisation_wait_less(self, rho):
        """This is why many small pods are late where few large pods are not."""
        assert all(waiting(few, rho) > waiting(many, rho) for few, many in pairwise((1.0, 1.15, 2.0, 3.5, 8.0)))

    @pytest.mark.parametrize("servers", [1.0, 1.2, 4.0])
    def test_more_load_waits_longer(self, servers):
        """This holds at every step."""
        assert all(waiting(servers, less) < waiting(servers, more) for less, more in pairwise(LOADS[2:]))


class TestPercentiles:
    @pytest.mark.parametrize(
        ("share", "rho", "servers", "delay"),
        [
            (share, rho, servers, delay)
            for share, rho, servers, delay in product((0.5, 0.95, 0.99), (0.6, 0.9, 0.99), (1.0, 1.15, 4.0), (0.0, 2.0))
            if wait_chance(rho, servers) > 1.0 - share
        ],
    )
    def test_a_deadline_at_a_percentile_leaves_the_rest_late(self, share, rho, servers, delay):
        """Both formulas describe the same distribution."""
        given = WORK + delay, odds(servers, rho), queueing_time(WORK, servers, rho)
        deadline = percentile(log(1.0 - share), *given)
        assert late_share(deadline, *given) == pytest.approx(1.0 - share, rel=1e-9)

    def test_where_few_wait_the_percentile_is_the_service_itself(self):
        """At 5 % utilisation not one in a hundred waits for four servers."""
        assert percentile(log(0.01), WORK, odds(4.0, 0.05), queueing_time(WORK, 4.0, 0.05)) == WORK

    @pytest.mark.parametrize(("delay", "late"), [(0.2299, False), (0.23, True), (5.0, True)])
    def test_behind_a_backlog_all_are_late(self, delay, late):
        """From the point where service and backlog alone reach the deadline."""
        share = late_share(0.25, WORK + delay, log(0.5), queueing_time(WORK, 1.0, 0.5))
        assert (share == 1.0) is late

    def test_just_before_that_only_waiting_requests_are_late(self):
        """These are not all requests: the formula jumps to one, as specified."""
        assert late_share(0.25, 0.25 - 1e-9, log(0.5), queueing_time(WORK, 1.0, 0.5)) == pytest.approx(0.5, rel=1e-6)


class TestCapacity:
    @pytest.mark.parametrize(
        ("cap", "base", "parallel", "expected"),
        [
            (1.2, 0.05, 0.0, 1.15),
            (4.0, 0.2, 2.0, 2.0),
            (1.0, 0.2, 2.0, 0.8),
            (0.1, 0.2, 0.0, LEAST_CAPACITY),
            (0.1, 0.1, 0.0, LEAST_CAPACITY),
        ],
    )
    def test_it_is_the_cap_less_the_base(self, cap, base, parallel, expected):
        """It is limited by what the application can use at once, and is never zero."""
        assert usable_cores(cap, base, parallel) == pytest.approx(expected, rel=1e-12)

    @pytest.mark.parametrize(
        ("absolute", "share", "asked", "expected"),
        [(0.05, 0.0, 1.0, 0.05), (0.05, 0.1, 1.0, 0.1), (0.2, 0.1, 1.0, 0.2)],
    )
    def test_base_use_is_the_larger(self, absolute, share, asked, expected):
        """The larger of an amount and a share of the request."""
        assert base_use(absolute, share, asked) == expected

    @pytest.mark.parametrize(
        ("cores", "efficiency", "expected"), [(1.0, 1.0, 0.02), (4.0, 1.0, 0.02), (0.5, 1.0, 0.04), (2.0, 0.5, 0.04)]
    )
    def test_a_request_alone(self, cores, efficiency, expected):
        """Less than a core slows it down, more does not help, and a core of half the efficiency takes twice as long."""
        assert service_time(WORK, cores, efficiency) == pytest.approx(expected, rel=1e-12)

    @pytest.mark.parametrize(
        ("offered", "expected"), [(-1e-18, 0.0), (0.0, 0.0), (0.5, 0.5), (2.0, BUSIEST), (inf, BUSIEST)]
    )
    def test_utilisation_is_clamped_on_both_sides(self, offered, expected):
        """A tiny negative backlog once gave NaN."""
        assert utilisation(offered, 1.0) == expected


def test_no_corner_gives_an_invalid_number():
    """Nothing negative, no NaN, no infinity, for all extremes of load, size, delay and efficiency."""
    for offered, cap, base, e, delay in product(
        (-1e-15, 0.0, 1e-300, 0.7, 1e9), (1e-9, 0.05, 1.0, 64.0), (0.0, 0.05, 2.0), (0.01, 1.0), (0.0, 1e-12, 1e6)
    ):
        cores = usable_cores(cap, base, 0.0)
        servers, service, rho = max(1.0, cores), service_time(WORK, cores, e), utilisation(offered, cores * e)
        alone, chance = service + delay, wait_odds(rho, crowding(servers))
        queueing = queueing_time(service, servers, rho)
        late = late_share(0.25, alone, chance, queueing)
        times = [f(alone, chance, queueing) for f in (mean_latency, lambda *a: percentile(log(0.01), *a))]
        assert 0.0 <= exp(chance) <= 1.0
        assert 0.0 <= late <= 1.0
        assert all(isfinite(time) and time >= alone for time in times)


class TestMemory:
    @pytest.mark.parametrize(("target", "time"), [(900.0, 30.0), (100.0, 1800.0)])
    def test_many_short_ticks_are_one_long_one(self, target, time):
        """It is an exponential approach, fast upwards and slow downwards."""
        short, long = (1.0 - exp(-seconds / time) for seconds in (5.0, 60.0))
        now = 400.0
        for _ in range(12):
            now = approached(now, target, short, short)
        assert isclose(now, approached(400.0, target, long, long), rel_tol=1e-12)

    def test_the_direction_chooses_the_speed(self):
        """Up by the first, down by the second, and no change at the target."""
        assert approached(100.0, 200.0, 0.5, 0.1) == 150.0
        assert approached(200.0, 100.0, 0.5, 0.1) == 190.0
        assert approached(200.0, 200.0, 0.5, 0.1) == 200.0


class TestBackOff:
    def test_it_doubles_up_to_five_minutes(self):
        """10, 20, 40 seconds, and so on."""
        waits = [crash_wait(n, 10.0, 300.0) for n in range(1, 9)]
        assert waits == [10.0, 20.0, 40.0, 80.0, 160.0, 300.0, 300.0, 300.0]

    def test_a_thousand_crashes_are_no_overflow(self):
        """The wait stays at its maximum."""
        assert [crash_wait(n, 10.0, 300.0) for n in (31, 1000, 10**9)] == [300.0] * 3
