"""Admits scale-downs a few at a time, so that one wrong signal cannot scale down a whole cluster. Scale-ups never wait.

In any 5 minutes the budget for scale-downs is:

- number: 10 % of all workloads, rounded down, and at least 5; each of them may scale down more than once;
- cores: 10 % of all requested cores, and at least those of 5 average workloads.

Only what runs counts: a workload with a running pod, once for all of its autoscalers, and the requests of running pods,
up to the capacity of the nodes.

The budget is shared by namespace. The own part of a namespace is 10 % of its own workloads and cores, rounded down; no
other namespace can use it. The rest of the budget is common. A scale-down uses the own part first, and must fit both
limits. In a namespace the workload that has waited longest is first, and no other overtakes it. In the common part
namespaces take turns, one scale-down each: while the first does not fit, the others wait, or use their own parts. A
scale-down that is larger than both parts is admitted once its namespace and the common part admitted nothing for 5
minutes, so none waits forever.

A workload that was admitted and asks for more queues again. A workload that no longer asks loses its place. An admitted
scale-down counts, unless its write was refused.
"""

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Any, NamedTuple, Self

from hypot.core.amount import CPU, of_milli
from hypot.core.dataclass import dataclass
from hypot.policy.hold import blocked
from hypot.policy.model.current_size import live
from hypot.policy.model.decision import Hold, Move, Name
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


class Running(NamedTuple):
    """What runs in one namespace: the workloads that hypot acts on, and the millicores that their pods request."""

    workloads: int
    millicores: int


class Fleet(NamedTuple):
    """What runs, by namespace, and the millicores of all nodes; None if nodes are not known."""

    namespaces: Mapping[str, Running]
    capacity: int | None = None

    def cores(self, *namespaces: str) -> int:
        """The millicores that run in these namespaces, at most those of all nodes."""
        found = sum(self.namespaces[name].millicores for name in namespaces if name in self.namespaces)
        return found if self.capacity is None else min(found, self.capacity)


class ScaleDownBudget(NamedTuple):
    """What may be admitted in one window."""

    number: int
    millicores: int


class Drawn(NamedTuple):
    """What a scale-down takes of the common part: whether its workload counts there, and the millicores."""

    counts: bool
    millicores: int


class Admitted(NamedTuple):
    """A scale-down that was admitted, and when; `drawn` is None until the next admission, if it was only noticed."""

    at: float
    millicores: int
    key: Key
    drawn: Drawn | None = None


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
            "admitted": [[*one.key, one.at, one.millicores, *(one.drawn or ())] for one in self.admitted],
            "waiting": [[*key, since] for key, since in self.waiting],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        return cls(
            tuple(
                [
                    Admitted(float(at), int(cores), (kind, namespace, name), _read_drawn(*drawn))
                    for kind, namespace, name, at, cores, *drawn in data.get("admitted", ())
                ]
            ),
            tuple([((kind, namespace, name), float(at)) for kind, namespace, name, at in data.get("waiting", ())]),
        )


def _read_drawn(counts: Any = None, millicores: Any = 0) -> Drawn | None:
    return None if counts is None else Drawn(bool(counts), int(millicores))


def fleet_of(observed: Iterable[tuple[Name, Seen]], capacity: int | None = None) -> Fleet:
    """What runs for these targets. Two autoscalers of one target count once, and a target without a running pod not."""
    workloads: dict[str, set[tuple[str, str]]] = {}
    cores: dict[str, dict[str, int]] = {}
    for target, seen in observed:
        if running := _running(seen.pods):
            workloads.setdefault(target.namespace, set()).add((target.kind, target.name))
            of_pods = {pod.name: _cores(pod.containers) for pod in running}
            cores.setdefault(target.namespace, {}).update(of_pods)
    return Fleet({name: Running(len(found), sum(cores[name].values())) for name, found in workloads.items()}, capacity)


def budget_of(workloads: int, millicores: int) -> ScaleDownBudget:
    """The budget for this number of workloads and the total of their requests."""
    average = -(-LEAST * millicores // max(workloads, 1))
    return ScaleDownBudget(max(LEAST, workloads // ONE_IN), max(average, millicores // ONE_IN))


def parts_of(fleet: Fleet) -> tuple[dict[str, ScaleDownBudget], ScaleDownBudget]:
    """The own part of each namespace, and the common part."""
    running = fleet.namespaces
    own = {
        name: ScaleDownBudget(each.workloads // ONE_IN, fleet.cores(name) // ONE_IN) for name, each in running.items()
    }
    total = budget_of(sum(each.workloads for each in running.values()), fleet.cores(*running))
    number = total.number - sum(part.number for part in own.values())
    millicores = total.millicores - sum(part.millicores for part in own.values())
    return own, ScaleDownBudget(max(number, 0), max(millicores, 0))


NOTHING = Drawn(counts=False, millicores=0)


@dataclass(slots=True)
class _Ledger:
    """What is used of each part of the budget, while scale-downs are admitted."""

    own: Mapping[str, ScaleDownBudget]
    common: ScaleDownBudget
    log: list[Admitted] = field(default_factory=list)
    # The workloads that count in the own part of their namespace, and those that count in the common part.
    in_own: dict[str, set[Key]] = field(default_factory=dict)
    in_common: set[Key] = field(default_factory=set)
    # The millicores used of each own part, and of the common part.
    own_used: Counter[str] = field(default_factory=Counter)
    common_used: int = 0

    def draw(self, want: Want) -> Drawn:
        """What this scale-down needs of the common part, after the rest of its namespace's own part."""
        namespace = want.key[1]
        own, here = self.own.get(namespace, ScaleDownBudget(0, 0)), self.in_own.get(namespace, set())
        counts = want.key in self.in_common or (want.key not in here and len(here) >= own.number)
        return Drawn(counts, max(want.millicores - max(own.millicores - self.own_used[namespace], 0), 0))

    def add(self, one: Admitted) -> None:
        """Record a scale-down; what it draws is fixed then, whatever the parts will be later."""
        drawn, namespace = one.drawn or self.draw(Want(one.key, one.millicores)), one.key[1]
        here = self.in_common if drawn.counts else self.in_own.setdefault(namespace, set())
        here.add(one.key)
        self.own_used[namespace] += one.millicores - drawn.millicores
        self.common_used += drawn.millicores
        self.log.append(one._replace(drawn=drawn))

    def fits_own(self, want: Want) -> bool:
        """Whether it needs nothing of the common part."""
        return self.draw(want) == NOTHING

    def may_wait(self, want: Want) -> bool:
        """Whether it waits for the common part only: it fits there, or it is too large and its namespace is at rest."""
        drawn = self.draw(want)
        fits = drawn.counts <= self.common.number and drawn.millicores <= self.common.millicores
        return fits or all(one.key[1] != want.key[1] for one in self.log)

    def fits(self, want: Want) -> bool:
        """Whether what is left of the common part is enough, or all of it is left."""
        drawn = self.draw(want)
        number = len(self.in_common) + (drawn.counts and want.key not in self.in_common)
        if number <= self.common.number and self.common_used + drawn.millicores <= self.common.millicores:
            return True
        return not self.in_common and not self.common_used


def govern(state: Governor, wants: Sequence[Want], fleet: Fleet, now: float) -> tuple[frozenset[Key], Governor]:
    """Which workloads may scale down now, and the new state.

    After the clock was set back, what was admitted in the future counts as admitted now: that never gives more budget,
    and uses none for longer than a window.
    """
    ledger = _Ledger(*parts_of(fleet))
    for one in state.admitted:
        if one.at > now - WINDOW:
            millicores = one.millicores if one.drawn else _charge(fleet, one.key, one.millicores)
            ledger.add(one._replace(at=min(one.at, now), millicores=millicores))
    asked = {want.key: _charge(fleet, *want) for want in wants}
    queue = dict(_queue(state, asked, now))
    lines: dict[str, deque[Want]] = {}
    for key in queue:
        lines.setdefault(key[1], deque()).append(Want(key, asked[key]))
    admitted = frozenset(_admit(ledger, lines, now))
    waiting = [(want.key, queue[want.key]) for line in lines.values() for want in line]
    return admitted, Governor(tuple(ledger.log), tuple(waiting))


def _charge(fleet: Fleet, key: Key, millicores: int) -> int:
    """No scale-down frees more than what runs in its namespace: pods that do not run use up nothing."""
    return max(min(millicores, fleet.cores(key[1])), 0)


def _admit(ledger: _Ledger, lines: dict[str, deque[Want]], now: float) -> Iterator[Key]:
    """Admit from the lines of all namespaces, and move each that had a turn in the common part to the end.

    The own parts come first. They are for one namespace each, so it does not matter in which order.
    """
    for line in lines.values():
        yield from _admit_own(ledger, line, now)
    while turn := next((name for name, line in lines.items() if line and ledger.may_wait(line[0])), ""):
        line = lines[turn]
        if not ledger.fits(line[0]):
            return
        lines[turn] = lines.pop(turn)
        yield _admit_first(ledger, line, now)
        yield from _admit_own(ledger, line, now)


def _admit_own(ledger: _Ledger, line: deque[Want], now: float) -> Iterator[Key]:
    while line and ledger.fits_own(line[0]):
        yield _admit_first(ledger, line, now)


def _admit_first(ledger: _Ledger, line: deque[Want], now: float) -> Key:
    want = line.popleft()
    ledger.add(Admitted(now, want.millicores, want.key))
    return want.key


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
    """How many requested millicores this move frees in total; 0 if it needs more, and no more than what runs."""
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
    running = _cores([container for pod in _running(seen.pods) for container in pod.containers])
    return max(min(-(-(before - after) // pods), running), 0)


def _boxes(seen: Seen) -> tuple[int, list[Container]]:
    """How many pods run, and all of their containers; one pod of the pod template if none runs."""
    pods = _running(seen.pods) or [Pod("", containers=seen.template)]
    return len(pods), [container for pod in pods for container in pod.containers]


def _running(pods: Iterable[Pod]) -> list[Pod]:
    """The pods that their kubelet runs. A pod that no node has room for stays pending, or fails."""
    return [pod for pod in live(pods) if pod.phase == "Running"]


def _freed_by_pods(move: Move, seen: Seen) -> int:
    """The sum over the pods that get less; pods that get more do not reduce it."""
    boxes = {(pod.name, container.name): container for pod in _running(seen.pods) for container in pod.containers}
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
