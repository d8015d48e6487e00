"""Admits scale-downs a few at a time, so that one wrong signal cannot scale down a whole cluster. Scale-ups never wait.

In any 5 minutes the budget for scale-downs is:

- number: 10 % of all workloads, rounded down, and at least 5; each of them may scale down more than once;
- cores: 10 % of all requested cores, and at least those of 5 average workloads.

A scale-down must fit both. The workload that has waited longest is first in the queue, and no other overtakes it: while
it does not fit, all others wait. A scale-down that is larger than the whole budget of cores is admitted once nothing
else was admitted for 5 minutes, so none waits for ever. A workload that was admitted and asks for more queues again. A
workload that no longer asks loses its place. An admitted scale-down counts, unless its write was refused.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

from hypot.core.amount import CPU, of_milli
from hypot.policy.hold import blocked
from hypot.policy.model.current_size import live
from hypot.policy.model.decision import Hold, Move
from hypot.policy.model.seen import Container, Pod, Seen
from hypot.policy.model.size import Size

WINDOW = 300.0
# One in ten of the workloads and of the cores, and never fewer than LEAST workloads.
ONE_IN = 10
LEAST = 5
WAITS = Hold("Governor", "the scale-down budget for 5 minutes is used up, and this workload waits for its turn", "down")

# Kind, namespace and name.
Key = tuple[str, str, str]


class Want(NamedTuple):
    """A scale-down that is requested now, and how many millicores it would free."""

    key: Key
    millicores: int


class Admitted(NamedTuple):
    """A scale-down that was admitted, and when."""

    at: float
    millicores: int
    key: Key


class ScaleDownBudget(NamedTuple):
    """What may be admitted in one window."""

    number: int
    millicores: int


@dataclass(frozen=True, slots=True)
class Governor:
    """What was admitted in the last window, and which workloads wait since when, in the order of the queue."""

    admitted: tuple[Admitted, ...] = ()
    waiting: tuple[tuple[Key, float], ...] = ()

    def refused(self, at: float, key: Key) -> Self:
        """Without the scale-down of this workload that was admitted at this time: its write was refused."""
        return replace(self, admitted=tuple([one for one in self.admitted if (one.at, one.key) != (at, key)]))

    def noticed(self, at: float, key: Key, fewer: int, seen: Seen) -> Self:
        """With a scale-down that the state does not contain: it may be our own, so it counts as admitted now."""
        pods, boxes = _boxes(seen)
        return replace(self, admitted=(*self.admitted, Admitted(at, -(-_cores(boxes) * fewer // pods), key)))

    def to_dict(self) -> dict[str, Any]:
        return {
            "admitted": [[*one.key, one.at, one.millicores] for one in self.admitted],
            "waiting": [[*key, since] for key, since in self.waiting],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        return cls(
            tuple([Admitted(float(at), int(cores), (k, ns, n)) for k, ns, n, at, cores in data.get("admitted", ())]),
            tuple([((kind, namespace, name), float(at)) for kind, namespace, name, at in data.get("waiting", ())]),
        )


def budget_of(workloads: int, millicores: int) -> ScaleDownBudget:
    """The budget for this number of workloads and the total of their requests."""
    average = -(-LEAST * millicores // max(workloads, 1))
    return ScaleDownBudget(max(LEAST, workloads // ONE_IN), max(average, millicores // ONE_IN))


def govern(
    state: Governor, wants: Sequence[Want], workloads: int, millicores: int, now: float
) -> tuple[frozenset[Key], Governor]:
    """Which workloads may scale down now, and the new state.

    After the clock was set back, what was admitted in the future counts as admitted now: that never gives more budget,
    and uses none for longer than a window.
    """
    log = [one._replace(at=min(one.at, now)) for one in state.admitted if one.at > now - WINDOW]
    used, shrank = sum(one.millicores for one in log), {one.key for one in log}
    budget, asked = budget_of(workloads, millicores), {want.key: max(want.millicores, 0) for want in wants}
    queue = _queue(state, asked, now)
    taken = 0
    for key, _ in queue:
        used += asked[key]
        if log and (used > budget.millicores or len({*shrank, key}) > budget.number):
            break
        log.append(Admitted(now, asked[key], key))
        shrank.add(key)
        taken += 1
    return frozenset([key for key, _ in queue[:taken]]), Governor(tuple(log), queue[taken:])


def _queue(state: Governor, asked: Mapping[Key, int], now: float) -> tuple[tuple[Key, float], ...]:
    """The workloads that still ask, in the old order, then the new ones by name."""
    still = [(key, min(since, now)) for key, since in state.waiting if key in asked]
    known = {key for key, _ in still}
    return (*still, *[(key, now) for key in sorted(asked) if key not in known])


def shrinks(move: Move, seen: Seen) -> bool:
    """Whether this move lowers the replica count or the size of a running pod."""
    if not move.rescales:
        return False
    kept = blocked(move, WAITS, seen)
    if move.by_pod:
        return kept.actions != move.actions
    return kept is not move


def freed(move: Move, seen: Seen) -> int:
    """How many requested millicores this move frees in total; 0 if it needs more."""
    if not move.rescales:
        return 0
    if move.by_pod:
        return _freed_by_pods(move, seen)
    pods, boxes = _boxes(seen)
    had = {size.container: size for size in move.sizes}
    resized = [size for size in move.desired_sizes if size != had.get(size.container)]
    names = {size.container for size in resized}
    # The sum over all pods, so that rounding happens only at the end.
    before = _cores(boxes) * (move.current or 0)
    kept = _cores([box for box in boxes if box.name not in names])
    after = (kept + _requested(resized) * pods) * (move.desired or 0)
    return max(-(-(before - after) // pods), 0)


def _boxes(seen: Seen) -> tuple[int, list[Container]]:
    """How many pods there are, and all of their containers; one pod of the pod template if there are none."""
    pods = live(seen.pods) or [Pod("", containers=seen.template)]
    return len(pods), [container for pod in pods for container in pod.containers]


def _freed_by_pods(move: Move, seen: Seen) -> int:
    """The sum over the pods that get less; pods that get more do not reduce it."""
    boxes = {(pod.name, container.name): container for pod in seen.pods for container in pod.containers}
    total = 0
    for action in move.actions:
        if action.action != "none":
            had = [boxes[action.pod, s.container] for s in action.sizes if (action.pod, s.container) in boxes]
            total += max(_cores(had) - _requested(action.sizes), 0)
    return total


def _cores(containers: Iterable[Container]) -> int:
    return sum(of_milli(CPU, container.current_requests.get(CPU, 0)) for container in containers)


def _requested(sizes: Iterable[Size]) -> int:
    return sum(size.requests.get(CPU, 0) for size in sizes)
