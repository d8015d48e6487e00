"""How a replica serves: plain numbers in, plain numbers out, no state.

Work is in core-seconds at usual efficiency. A replica is a queue with a fractional number of servers; what it cannot
do at once is a fluid backlog that every later request waits behind.
"""

from math import exp, log, sqrt

# Below this a replica is taken to do next to nothing, rather than nothing at all.
LEAST_CAPACITY = 1e-6
# Utilisation at which the queueing formula ends; beyond it only the backlog tells.
BUSIEST = 0.995


def base_use(absolute: float, share: float, request: float) -> float:
    """What a replica uses before its first request."""
    return max(absolute, share * request)


def capacity(cap: float, base: float, parallel: float, efficiency: float) -> float:
    """Work a replica can do in a second."""
    cores = max(LEAST_CAPACITY, cap - base)
    if parallel > 0.0:
        cores = min(cores, parallel)
    return cores * efficiency


def service_time(work: float, cores: float, efficiency: float) -> float:
    """How long one request takes by itself: less than one core slows it down, more than one does not help."""
    return work / (efficiency * min(1.0, cores))


def utilisation(offered: float, capacity: float) -> float:
    return min(BUSIEST, max(0.0, offered / capacity))


def wait_chance(rho: float, servers: float) -> float:
    """How probable it is that a request must wait (Sakasegawa's approximation; exact for one server)."""
    if rho <= 0.0:
        return 0.0
    chance: float = rho ** (sqrt(2.0 * (servers + 1.0)) - 1.0)
    return chance


def mean_latency(service: float, chance: float, rho: float, servers: float, delay: float) -> float:
    return service + delay + service * chance / (servers * (1.0 - rho))


def late_share(deadline: float, service: float, chance: float, rho: float, servers: float, delay: float) -> float:
    """Which share of the requests takes longer than the deadline."""
    left = deadline - service - delay
    if left <= 0.0:
        return 1.0
    return chance * exp(-left * servers * (1.0 - rho) / service)


def percentile(share: float, service: float, chance: float, rho: float, servers: float, delay: float) -> float:
    """The latency that this share of the requests keeps below."""
    beyond = chance / (1.0 - share)
    waiting = log(beyond) * service / (servers * (1.0 - rho)) if beyond > 1.0 else 0.0
    return service + delay + waiting


def approached(now: float, target: float, rise: float, fall: float) -> float:
    """One tick nearer to the target; `rise` and `fall` are the shares of the way that one tick goes."""
    return now + (target - now) * (rise if target > now else fall)


def crash_wait(crashes: int, first: float, longest: float) -> float:
    """How long a container waits before it starts again, after so many crashes in a row."""
    if crashes > 30:
        return longest
    return min(longest, first * 2.0 ** (crashes - 1))
