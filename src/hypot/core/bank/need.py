"""What a planned demand needs: the cheapest count of pods, or the cheapest size, with late requests in the price."""

from math import ceil, floor, log

from hypot.core.bank.lateness import late_share

# The first guess of how much of its cap a pod should use, and the bounds. Pods that use more look as if they were at
# their cap, so more would be asked for at once.
FIRST_USE, LEAST_USE, MOST_USE = 0.6, 0.2, 0.95
REFINED = 6
# The least argument of a logarithm: demand so small that nothing needs to be idle for it.
LEAST = 1.001


def busiest(cap: float, kappa: float, late_price: float, pod_price: float) -> float:
    """The use of a pod at which one more pod would cost as much as it saves.

    It solves late_price * kappa * use * use * exp(-kappa * (cap - use)) = pod_price by Newton's method for the
    logarithm of both sides, which is concave: it converges for every law.
    """
    use = FIRST_USE * cap
    for _ in range(REFINED):
        beyond = log(late_price * kappa * use * use / pod_price) - kappa * (cap - use)
        use = max(LEAST_USE * cap, min(MOST_USE * cap, use - beyond / (kappa + 2.0 / use)))
    return use


def pods_for(demand: float, use: float, cap: float, kappa: float, late_price: float, pod_price: float) -> int:
    """The cheaper of the two counts at which pods use about this much; the lower one if both cost the same."""
    fewer = max(1, floor(demand / use))
    if demand > fewer * MOST_USE * cap:
        return fewer + 1
    few = fewer * pod_price + late_price * demand * late_share(kappa, cap, demand / fewer)
    many = (fewer + 1) * pod_price + late_price * demand * late_share(kappa, cap, demand / (fewer + 1))
    return fewer if few <= many else fewer + 1


def size_for(demand: float, pods: int, ratio: float, kappa: float, late_price: float) -> float:
    """The cores to request for each of these pods, which may use `ratio` times as much."""
    each = demand / pods
    idle = log(max(LEAST, ratio * kappa * late_price * each)) / kappa
    return max(each + idle, each / MOST_USE) / ratio


def in_grains(size: float, grain: int) -> int:
    """The size in millicores, rounded up to whole grains."""
    return ceil(size * 1000.0 / grain - 1e-9) * grain
