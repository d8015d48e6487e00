"""Whether evicted pods come back with another size: what pods that came up since the last eviction show."""

from typing import Literal

from hypot.policy.decision import Event
from hypot.policy.plan_pods import came_after
from hypot.policy.seen import Pod, Scale, Seen
from hypot.policy.standing import live
from hypot.run.admission import SIZED_BY
from hypot.run.events import rival, webhook_unavailable

# For how long a new pod is waited for. What comes later says nothing of that eviction, for anything may have made it.
COMES_BACK = 600.0
NOT_SIZED = (
    "no pod is evicted: those that came up after the last eviction were not sized. Can the API server reach the webhook"
    " and does a LimitRange allow the size? Once that is so, restart a pod: one that comes up sized ends this"
)
NOT_BACK = (
    "no pod is evicted: no new pod came up since the last eviction, and fewer are there than are wanted. The events of"
    " the ReplicaSet, or of what else makes the pods, say why: a quota, or no node with room?"
)

# Nothing is known and one pod may go; new pods come sized; none came yet; none came at all; they come as written.
Proof = Literal["none", "sized", "awaited", "missing", "unsized"]


def proof(seen: Seen, sizer: str, evicted: float | None) -> Proof:
    """What pods show of the webhook, by the marks that `sizer` leaves on those that it sizes."""
    if evicted is None:
        return "none"
    new = _new(seen, evicted)
    if any(pod.annotations.get(SIZED_BY) == sizer for pod in new):
        return "sized"
    if any((pod.started or 0.0) <= evicted + COMES_BACK for pod in new):
        return "unsized"
    # A time to come is none: the clock was set back, and nobody knows for how long to wait.
    if 0.0 <= seen.now - evicted < COMES_BACK:
        return "awaited"
    return "none" if _are_all_there(seen) else "missing"


def objection(known: Proof, seen: Seen, evicted: float | None) -> Event | None:
    """Why nothing more is evicted, to be told; nothing is wrong while the one that went has not come back yet."""
    if known == "missing":
        return Event("Warning", "FailedResize", NOT_BACK)
    if known != "unsized":
        return None
    marks = {pod.annotations.get(SIZED_BY, "") for pod in _new(seen, evicted or 0.0)} - {""}
    if not marks:
        return webhook_unavailable(NOT_SIZED)
    names = ", ".join(sorted(marks))
    return rival(f"no pod is evicted: those that came up after the last eviction were sized by {names}: remove one")


def _new(seen: Seen, evicted: float) -> list[Pod]:
    return [pod for pod in seen.pods if came_after(pod, evicted)]


def _are_all_there(seen: Seen) -> bool:
    """Whether nothing is waited for: as many pods have started as are wanted, perhaps fewer than there were."""
    wanted = seen.scale.replicas if isinstance(seen.scale, Scale) else 0
    return sum(pod.started is not None for pod in live(seen.pods)) >= wanted
