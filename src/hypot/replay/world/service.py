"""How a replica serves: plain numbers in, plain numbers out, no state.

Work is in core-seconds at usual efficiency. A replica is a queue with a fractional number of servers. Work that it
cannot do at once is a fluid backlog that every later request waits behind.
"""

from math import exp, inf, log, sqrt

# A replica has at least this capacity, so that nothing divides by zero.
LEAST_CAPACITY = 1e-6
# Utilisation at which the queueing formula ends; beyond it only the backlog adds latency.
BUSIEST = 0.995


def base_use(absolute: float, share: float, request: float) -> float:
    """What a replica uses before its first request."""
    return max(absolute, share * request)


def usable_cores(cap: float, base: float, parallel: float) -> float:
    """The cores that are left for requests, out of the most cores that a replica can get."""
    cores = max(LEAST_CAPACITY, cap - base)
    return min(cores, parallel) if parallel > 0.0 else cores


def service_time(work: float, cores: float, efficiency: float) -> float:
    """How long one request takes without queueing: less than one core slows it down, more than one does not help."""
    return work / (efficiency * min(1.0, cores))


def utilisation(offered: float, capacity: float) -> float:
    return min(BUSIEST, max(0.0, offered / capacity))


def crowding(servers: float) -> float:
    """The exponent of utilisation in the probability of waiting (Sakasegawa; exact for one server)."""
    return sqrt(2.0 * (servers + 1.0)) - 1.0


def wait_odds(rho: float, exponent: float) -> float:
    """The logarithm of the probability that a request must wait."""
    return exponent * log(rho) if rho > 0.0 else -inf


def queueing_time(service: float, servers: float, rho: float) -> float:
    """How long a request waits on average, if it must wait at all."""
    return service / (servers * (1.0 - rho))


def mean_latency(alone: float, odds: float, queueing: float) -> float:
    """`alone` is the time of a request that meets no other request: service, and the backlog before it."""
    return alone + exp(odds) * queueing


def late_share(deadline: float, alone: float, odds: float, queueing: float) -> float:
    """The share of requests that take longer than the deadline."""
    left = deadline - alone
    return exp(odds - left / queueing) if left > 0.0 else 1.0


def percentile(beyond: float, alone: float, odds: float, queueing: float) -> float:
    """The latency that all but a share of the requests stay below; `beyond` is the logarithm of that share."""
    return alone + max(0.0, odds - beyond) * queueing


def approached(now: float, target: float, rise: float, fall: float) -> float:
    """The value after one tick on the way to the target; `rise` and `fall` are the shares of the way per tick."""
    return now + (target - now) * (rise if target > now else fall)


def crash_wait(crashes: int, first: float, longest: float) -> float:
    """How long a container waits before it restarts, after this many crashes in a row."""
    if crashes > 30:
        return longest
    return min(longest, first * 2.0 ** (crashes - 1))
