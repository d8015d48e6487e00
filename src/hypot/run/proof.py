"""Whether evicted pods come back with another size: what pods that came up since the last eviction show."""

from collections.abc import Iterable
from typing import Literal

from hypot.policy.plan_pods import came_after
from hypot.policy.seen import Pod
from hypot.run.admission import SIZED_BY

# For how long a new pod is waited for. What comes later says nothing of that eviction, for anything may have made it.
COMES_BACK = 600.0

# Nothing is known and one pod may go; new pods come sized; none came yet; they come as they were written.
Proof = Literal["none", "sized", "awaited", "unsized"]


def proof(pods: Iterable[Pod], sizer: str, evicted: float | None, now: float) -> Proof:
    """What pods show of the webhook, by the marks that `sizer` leaves on those that it sizes."""
    if evicted is None:
        return "none"
    new = [pod for pod in pods if came_after(pod, evicted)]
    if any(pod.annotations.get(SIZED_BY) == sizer for pod in new):
        return "sized"
    if any((pod.started or 0.0) <= evicted + COMES_BACK for pod in new):
        return "unsized"
    # A time to come is none: the clock was set back, and nobody knows for how long to wait.
    return "awaited" if 0.0 <= now - evicted < COMES_BACK else "none"
