"""Whether evicted pods come back with another size: what pods that came since the last eviction show."""

from math import inf
from typing import Literal, NamedTuple, Self

from hypot.kinds.hvpa import Hvpa
from hypot.kinds.hvpa.intervals import allowed
from hypot.policy.model.current_size import live
from hypot.policy.model.decision import Event, Hold
from hypot.policy.model.seen import Pod, Scale, Seen
from hypot.policy.plan.pods import came_after
from hypot.policy.vertical.pod_size import Sizes, has_enough, has_size
from hypot.run.outcome import NOT_EVICTING, WEBHOOK_UNAVAILABLE, Judged
from hypot.run.report.events import conflict, webhook_unavailable
from hypot.run.webhook.admission import LARGER, SIZED_BY, SMALLER, sizer_of

# For how long a new pod is waited for. What comes later says nothing of that eviction, for anything may have made it.
COMES_BACK = 600.0
# For how long a pod that came up otherwise stands for all that would come: what was in the way may be over.
IN_VAIN = 3600.0
NOT_SIZED = (
    "no pod is evicted: those that came up after the last eviction were not sized. Can the API server reach the webhook"
    " and does a LimitRange allow the size? Once that is so, restart a pod: one that comes up sized ends this"
)
OTHERWISE = (
    "no pod is evicted: one that came up after the last eviction was given another size than it was to have, and others"
    " would be too. Does a LimitRange forbid the size, or did the replica that was asked hold it back? Once that is"
    " over, restart a pod: one that comes up with its size ends this. In an hour one more pod is tried"
)
NOT_BACK = (
    "no pod is evicted: no new pod came up since the last eviction, and fewer are there than are wanted. The events of"
    " the ReplicaSet, or of what else makes the pods, say why: a quota, or no node with room?"
)

# Nothing is known and one pod may go; new pods come sized; none came yet; none came at all; they come as written; they
# are given another size than is wanted; they are given more than is wanted.
Proof = Literal["none", "sized", "awaited", "missing", "unsized", "otherwise", "larger"]


def proof_of(judged: Judged) -> Proof:
    """What pods show to this autoscaler."""
    return proof(judged.seen, sizer_of(judged.autoscaler), judged.state.vertical.evicted, _wanted(judged))


def lacking(judged: Judged) -> set[str]:
    """The pods that are to grow: one that could not shrink says nothing against that."""
    wanted = _wanted(judged)
    return {pod.name for pod in live(judged.seen.pods) if not has_enough(pod, wanted)}


def _wanted(judged: Judged) -> Sizes:
    """What pods are to have: as it was decided now, else as the plan says that is under way."""
    move, plan, autoscaler = judged.move, judged.before.plan, judged.autoscaler
    sizes = move.desired_sizes if plan is None or move.rescales else plan.sizes
    if move.by_pod:
        sizes = tuple([size for each in move.actions if each.action != "none" for size in each.sizes])
    by_container = {size.container: size for size in sizes}
    if isinstance(autoscaler, Hvpa):
        return {name: size for name, size in by_container.items() if not allowed(autoscaler, name).switched_off}
    return by_container


def proof(seen: Seen, sizer: str, evicted: float | None, wanted: Sizes) -> Proof:
    """What pods show of the webhook, by the marks that `sizer` leaves on those that it sizes.

    `wanted` is what pods are to have now.
    """
    if evicted is None:
        return "none"
    new = [pod for pod in seen.pods if came_after(pod, evicted)]
    soon = [pod for pod in new if _made(pod) <= evicted + COMES_BACK]
    sized = [pod for pod in new if _mark(pod) == sizer]
    last = max((_made(pod) for pod in sized), default=-inf)
    latest = [pod for pod in live(soon) if _made(pod) >= last and seen.now - _made(pod) < IN_VAIN]
    if any(_mark(pod) == _marks(sizer)[1] and not has_enough(pod, wanted) for pod in latest):
        return "otherwise"
    if any(_mark(pod) == _marks(sizer)[2] and has_enough(pod, wanted) and not has_size(pod, wanted) for pod in latest):
        return "larger"
    if any(pod.started is not None for pod in sized):
        return "sized"
    ours = [pod for pod in new if _mark(pod) in _marks(sizer)]
    if not ours and soon:
        return "unsized"
    # One that came up otherwise than was wanted then says nothing of what is wanted now.
    came_back = any(pod.started is not None for pod in ours)
    # A time to come is none: the clock was set back, and nobody knows for how long to wait.
    if not came_back and 0.0 <= seen.now - evicted < COMES_BACK:
        return "awaited"
    return "none" if came_back or _are_all_there(seen) else "missing"


class Objection(NamedTuple):
    """Why nothing more is evicted: as an event, and as a hold where people are to find it among the others."""

    event: Event
    hold: Hold | None = None

    @classmethod
    def of_webhook(cls, message: str) -> Self:
        return cls(webhook_unavailable(message), Hold(WEBHOOK_UNAVAILABLE, message))

    @classmethod
    def of_pods(cls, message: str) -> Self:
        return cls(Event("Warning", "FailedResize", message), Hold(NOT_EVICTING, message))


def objection(known: Proof, seen: Seen, evicted: float | None) -> Objection | None:
    """None where nothing is wrong, also while the one that went has not come back yet."""
    if known == "missing":
        return Objection.of_pods(NOT_BACK)
    if known in {"otherwise", "larger"}:
        return Objection.of_pods(OTHERWISE)
    if known != "unsized":
        return None
    marks = {_mark(pod) for pod in seen.pods if came_after(pod, evicted or 0.0)} - {""}
    if not marks:
        return Objection.of_webhook(NOT_SIZED)
    names = ", ".join(sorted(marks))
    message = f"no pod is evicted: those that came up after the last eviction were sized by {names}: remove one"
    return Objection(conflict(message))


def _mark(pod: Pod) -> str:
    return pod.annotations.get(SIZED_BY, "")


def _marks(sizer: str) -> tuple[str, ...]:
    return sizer, f"{sizer}/{SMALLER}", f"{sizer}/{LARGER}"


def _made(pod: Pod) -> float:
    return pod.made or 0.0


def _are_all_there(seen: Seen) -> bool:
    """Whether nothing is waited for: as many pods have started as are wanted, perhaps fewer than there were."""
    wanted = seen.scale.replicas if isinstance(seen.scale, Scale) else 0
    return sum(pod.started is not None for pod in live(seen.pods)) >= wanted
