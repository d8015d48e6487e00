"""Lets workloads shrink a few at a time, so that one wrong signal cannot take a whole cluster down. Growth never waits.

In any 5 minutes so many shrinks are admitted, and no more:

- in number: of 10 % of all workloads, rounded down, and at least of 5, each of them as often as it likes;
- in cores: 10 % of all requested ones, and at least those of 5 average workloads.

Both must leave room. Who has wanted to shrink longest goes first, and nobody overtakes the first in the queue: where
that one does not fit, everybody waits. One that alone is larger than all of the cores goes once nothing else was
admitted for 5 minutes, so nobody waits for ever. Who was admitted and wants more queues again; who no longer wants
loses its place. What is admitted counts, unless its write is known to have been refused.
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
# Of workloads and of cores: one in ten, and never less than so many workloads.
ONE_IN = 10
LEAST = 5
WAITS = Hold("Governor", "as much shrinks in 5 minutes as may, and this one waits for its turn", "down")

# Kind, namespace and name.
Key = tuple[str, str, str]


class Want(NamedTuple):
    """One shrink that is wanted now, and how many millicores it would free."""

    key: Key
    millicores: int


class Admitted(NamedTuple):
    """One shrink that was admitted, and when."""

    at: float
    millicores: int
    key: Key


class ScaleDownBudget(NamedTuple):
    """What may be admitted in one window."""

    number: int
    millicores: int


@dataclass(frozen=True, slots=True)
class Governor:
    """What was admitted in the last window, and who waits since when, in the order of the queue."""

    admitted: tuple[Admitted, ...] = ()
    waiting: tuple[tuple[Key, float], ...] = ()

    def refused(self, at: float, key: Key) -> Self:
        """Without one that was admitted then, and of which nothing was done."""
        return replace(self, admitted=tuple([one for one in self.admitted if (one.at, one.key) != (at, key)]))

    def noticed(self, at: float, key: Key, fewer: int, seen: Seen) -> Self:
        """With a shrink that nobody remembers: it may be our own, so it counts as if it were admitted only now."""
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
    """For so many workloads that request so much together."""
    average = -(-LEAST * millicores // max(workloads, 1))
    return ScaleDownBudget(max(LEAST, workloads // ONE_IN), max(average, millicores // ONE_IN))


def govern(
    state: Governor, wants: Sequence[Want], workloads: int, millicores: int, now: float
) -> tuple[frozenset[Key], Governor]:
    """Who may shrink now, and what to remember.

    After the clock went back, what was admitted counts as admitted now: that never gives more budget, nor takes any
    for longer than a window.
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
    """Who still wants, in the old order, and then the new ones by name."""
    still = [(key, min(since, now)) for key, since in state.waiting if key in asked]
    known = {key for key, _ in still}
    return (*still, *[(key, now) for key in sorted(asked) if key not in known])


def shrinks(move: Move, seen: Seen) -> bool:
    """Whether anything that runs would get less, once this is written."""
    if not move.rescales:
        return False
    kept = blocked(move, WAITS, seen)
    if move.by_pod:
        return kept.actions != move.actions
    return kept is not move


def freed(move: Move, seen: Seen) -> int:
    """How many requested millicores this gives back in all; 0 where it takes more."""
    if not move.rescales:
        return 0
    if move.by_pod:
        return _freed_by_pods(move, seen)
    pods, boxes = _boxes(seen)
    had = {size.container: size for size in move.sizes}
    resized = [size for size in move.desired_sizes if size != had.get(size.container)]
    names = {size.container for size in resized}
    # Of all pods together, so that nothing is rounded before the end.
    before = _cores(boxes) * (move.current or 0)
    kept = _cores([box for box in boxes if box.name not in names])
    after = (kept + _requested(resized) * pods) * (move.desired or 0)
    return max(-(-(before - after) // pods), 0)


def _boxes(seen: Seen) -> tuple[int, list[Container]]:
    """How many pods there are, and the containers of all of them; of the pod template where no pod is there."""
    pods = live(seen.pods) or [Pod("", containers=seen.template)]
    return len(pods), [container for pod in pods for container in pod.containers]


def _freed_by_pods(move: Move, seen: Seen) -> int:
    """Of the pods that get less; what others get more of frees nothing."""
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
