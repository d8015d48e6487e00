"""How a recommended size is fitted into what a pod may have. Whole amounts: millicores or bytes."""

from typing import NamedTuple

from hypot.core.amount import round_up

# The largest quantity that Kubernetes stores as an integer.
LARGEST = 2**63 - 1
NO_LIMIT = -1


class ScaledAmount(NamedTuple):
    """A scaled amount; `cut` says that it was limited to the largest quantity."""

    amount: int
    cut: bool = False


class Bounded(NamedTuple):
    """An amount within bounds, and which bound changed it."""

    amount: int
    raised: bool
    cut: bool


class Split(NamedTuple):
    """Every part is multiplied by `result / base`, and rounded up if the parts must reach a minimum."""

    base: int
    result: int
    up: bool


def times_over(amount: int, times: int, over: int) -> int:
    """An amount times one number, divided by another, rounded down; larger than a machine integer in between."""
    return amount * times // over


def in_proportion(amount: int, base: int, result: int, up: bool = False) -> ScaledAmount:  # noqa: FBT002 - how to round
    """The amount times `result / base`; the amount itself if the base is 0."""
    if base == 0:
        return ScaledAmount(amount, False)  # noqa: FBT003  compiled code needs positional arguments
    scaled = -times_over(-amount, result, base) if up else times_over(amount, result, base)
    return ScaledAmount(LARGEST, True) if scaled > LARGEST else ScaledAmount(scaled, False)  # noqa: FBT003  compiled code needs positional arguments


def proportional_limit(limit: int, request: int, recommended: int, default: int) -> tuple[int | None, bool]:
    """The limit that keeps its ratio to the request, and whether it was cut. None means no limit; 0 means unset."""
    made = limit_to_follow(limit, request, recommended, default)
    return None if made.amount == NO_LIMIT else made.amount, made.cut


def limit_to_follow(limit: int, request: int, recommended: int, default: int) -> ScaledAmount:
    """The same with NO_LIMIT instead of None.

    A limit without a request also sets the request, so such a container keeps both equal.
    """
    original = limit or default
    if not original or not recommended:
        return ScaledAmount(NO_LIMIT, False)  # noqa: FBT003  compiled code needs positional arguments
    if not request or original == request:
        return ScaledAmount(recommended, False)  # noqa: FBT003  compiled code needs positional arguments
    return in_proportion(original, request, recommended)


def within(amount: int, low: int, high: int) -> Bounded:
    """The amount raised to the minimum, then cut to the maximum, so that the maximum wins. 0 means no bound."""
    raised = max(amount, low) if low else amount
    kept = min(raised, high) if high else raised
    return Bounded(kept, raised != amount, kept != raised)


def request_for_limit(edge: int, limit: int, request: int, default: int) -> int:
    """The request whose proportional limit is at the edge; 0 if there would be no limit."""
    original = limit or default
    if not original or not edge:
        return 0
    return in_proportion(request, original, edge).amount if request else edge


def range_for_request(low: int, high: int, limit: int, request: int, default: int) -> tuple[int, int]:
    """The range that a container LimitRange allows for a request: the limit must be in range too. 0 means no bound."""
    least = max(low, request_for_limit(low, limit, request, default))
    return least, request_for_limit(high, limit, request, default)


def pod_split(requests: int, limits: int, low: int, high: int) -> Split | None:
    """How the containers of a pod share a pod LimitRange; None if their sums fit, or if none has a limit."""
    if limits == 0 or (low <= limits and low <= requests and (high == 0 or limits <= high)):
        return None
    if low > requests:
        return Split(requests, low, up=True)
    return Split(limits, high if 0 < high < limits else low, up=False)


def whole_cores(millicores: int) -> int:
    return round_up(millicores, 1000)
