"""Whether evicted pods come back with their new size, judged by the pods created since the last eviction."""

from math import inf
from typing import Literal, NamedTuple, Self

from hypot.core.instant import show_time
from hypot.kinds.catalogue import info_of
from hypot.kinds.vpa.allowed import allowed
from hypot.policy.model.current_size import live
from hypot.policy.model.decision import Event, Hold
from hypot.policy.model.seen import Pod, Scale, Seen
from hypot.policy.model.state import Vertical
from hypot.policy.plan.pods import came_after
from hypot.policy.vertical.pod_size import Sizes, has_enough, has_size
from hypot.run.outcome import NOT_EVICTING, WEBHOOK_UNAVAILABLE, Judged
from hypot.run.report.events import conflict, webhook_unavailable
from hypot.run.webhook.admission import LARGER, SMALLER, sizer_of
from hypot.run.webhook.new_pod import SIZED_BY

# How long to wait for a new pod. A later pod says nothing about that eviction, because anything may have created it.
COMES_BACK = 600.0
# How long a pod with another size counts as evidence for all new pods: the cause may be gone after that.
IN_VAIN = 3600.0
# How long unsized pods count as evidence: this long after the first eviction, and twice as long after each further try.
RETRY_AFTER, LONGEST_RETRY = 600.0, 3600.0
NOT_SIZED = (
    "no pod is evicted: the pods created after the last eviction were not sized. Check that the API server can reach"
    " the webhook and that no LimitRange forbids the size. Then restart a pod: a pod that starts sized ends this"
)
OTHERWISE = (
    "no pod is evicted: a pod created after the last eviction got a size other than the decided one, and others would"
    " too. Check whether a LimitRange forbids the size, or whether the replica that sized it held it back. Then restart"
    " a pod: a pod that starts with its size ends this. In an hour one more pod is tried"
)
NOT_BACK = (
    "no pod is evicted: no new pod was created since the last eviction, and there are fewer pods than desired. The"
    " events of the ReplicaSet, or of the workload that creates the pods, say why: a quota, or no node with room"
)

# none: nothing is known, and one pod may be evicted. sized: new pods get their size. awaited: no new pod yet.
# missing: no new pod at all. unsized: new pods get no size. retry: so they did, and it is time to try one more pod.
# otherwise: they get too little. larger: they get too much.
Proof = Literal["none", "sized", "awaited", "missing", "unsized", "retry", "otherwise", "larger"]


def proof_of(judged: Judged) -> Proof:
    """What the pods of this autoscaler show."""
    past = judged.state.vertical
    return proof(judged.seen, sizer_of(judged.autoscaler), past.evicted, _wanted(judged), past.tries)


def lacking(judged: Judged) -> set[str]:
    """The pods whose requests are to be raised: a pod that came back too large is no objection to that."""
    wanted = _wanted(judged)
    return {pod.name for pod in live(judged.seen.pods) if not has_enough(pod, wanted)}


def _wanted(judged: Judged) -> Sizes:
    """The sizes that pods should have: from the current decision, else from the plan that is under way."""
    move, plan, autoscaler = judged.move, judged.before.plan, judged.autoscaler
    sizes = move.desired_sizes if plan is None or move.rescales else plan.sizes
    if move.by_pod:
        sizes = tuple([size for each in move.actions if each.action != "none" for size in each.sizes])
    by_container = {size.container: size for size in sizes}
    if info_of(autoscaler).decides_both:
        return {name: size for name, size in by_container.items() if not allowed(autoscaler, name).switched_off}
    return by_container


def proof(seen: Seen, sizer: str, evicted: float | None, wanted: Sizes, tries: int = 0) -> Proof:
    """What pods show about the webhook, by the annotation that `sizer` leaves on the pods that it sizes.

    `wanted` is the size that pods should have now; `tries` is how often pods came back unsized before.
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
        return "unsized" if seen.now < next_try(evicted, tries) else "retry"
    # A pod that missed its former size says nothing about the size that is wanted now.
    came_back = any(pod.started is not None for pod in ours)
    # An eviction in the future does not count: the clock was set back, and the time to wait is unknown.
    if not came_back and 0.0 <= seen.now - evicted < COMES_BACK:
        return "awaited"
    return "none" if came_back or _are_all_there(seen) else "missing"


def next_try(evicted: float, tries: int) -> float:
    """When one more pod is evicted although the pod created after the last eviction was not sized."""
    return evicted + min(RETRY_AFTER * 2.0 ** min(tries, 10), LONGEST_RETRY)


class Objection(NamedTuple):
    """Why no more pods are evicted: as an event, and as a hold if it is to be listed among the holds."""

    event: Event
    hold: Hold | None = None

    @classmethod
    def of_webhook(cls, message: str) -> Self:
        return cls(webhook_unavailable(message), Hold(WEBHOOK_UNAVAILABLE, message))

    @classmethod
    def of_pods(cls, message: str) -> Self:
        return cls(Event("Warning", "FailedResize", message), Hold(NOT_EVICTING, message))


def objection(known: Proof, seen: Seen, past: Vertical) -> Objection | None:
    """The objection to evictions; None if nothing is wrong, even while the last evicted pod has not come back."""
    if known == "missing":
        return Objection.of_pods(NOT_BACK)
    if known in {"otherwise", "larger"}:
        return Objection.of_pods(OTHERWISE)
    if known != "unsized":
        return None
    evicted = past.evicted or 0.0
    tried = f"One more pod is tried at {show_time(next_try(evicted, past.tries))}"
    marks = {_mark(pod) for pod in seen.pods if came_after(pod, evicted)} - {""}
    if not marks:
        return Objection.of_webhook(f"{NOT_SIZED}. {tried}")
    names = ", ".join(sorted(marks))
    message = f"no pod is evicted: the pods created after the last eviction were sized by {names}: remove one. {tried}"
    return Objection(conflict(message))


def _mark(pod: Pod) -> str:
    return pod.annotations.get(SIZED_BY, "")


def _marks(sizer: str) -> tuple[str, ...]:
    return sizer, f"{sizer}/{SMALLER}", f"{sizer}/{LARGER}"


def _made(pod: Pod) -> float:
    return pod.made or 0.0


def _are_all_there(seen: Seen) -> bool:
    """Whether at least as many pods have started as the target wants now."""
    wanted = seen.scale.replicas if isinstance(seen.scale, Scale) else 0
    return sum(pod.started is not None for pod in live(seen.pods)) >= wanted
