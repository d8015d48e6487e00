"""Groups of pods that are alike in everything: columns of plain numbers, one element per group.

The columns are lists here and arrays where they are compiled, so nothing below may depend on the type. Groups fill the
first `used[0]` elements. The pods of a group keep its serial and their numbers, counted from `offset`, for life.
"""

from math import inf
from typing import Any, NamedTuple

# The life phases of a pod.
WAITING, CREATING, STARTING, SERVING, STOPPING, CRASHED = range(6)
PENDING, COMING_UP, NOT_READY = (WAITING, CREATING), (CREATING, STARTING), (STARTING, CRASHED)
RUNNING, MORTAL, READY_STATES = (STARTING, SERVING, STOPPING), (STARTING, SERVING), (SERVING, STOPPING)
NONE = -1


class Cohorts(NamedTuple):
    """Sizes are millicores and bytes, -1 if a limit is unset; times are seconds, infinite if nothing is due."""

    used: Any
    serials: Any
    serial: Any
    offset: Any
    count: Any
    life: Any
    # When the next change of phase is due, when the pods were created, when they started, when readiness last changed.
    due: Any
    born: Any
    started: Any
    changed: Any
    cpu: Any
    memory: Any
    cpu_limit: Any
    memory_limit: Any
    # The largest cpu request that their nodes have room for.
    most_cpu: Any
    # A resize in progress: its target, and when it is done.
    next_cpu: Any
    next_memory: Any
    next_cpu_limit: Any
    next_memory_limit: Any
    resize_due: Any
    # Since when a resize waits for room on the node; infinite if none waits.
    deferred: Any
    # Per pod: waiting work, and the part of it that counted as late when it came; memory, crashes in a row, when the
    # last crash came and after how long a run, and its share of the load.
    backlog: Any
    late: Any
    heap: Any
    crashes: Any
    killed_at: Any
    killed_after: Any
    share: Any
    # For VPA recommenders: when the window of the memory peak ends, that peak, the peak that a kill asks for, and the
    # last known kill; and since when a resize is observed to wait.
    window_end: Any
    peak: Any
    oom_peak: Any
    known_kill: Any
    stuck: Any
    # The action that a vertical autoscaler has decided, and for how many of the group's pods, counted from the first.
    action: Any
    taken: Any
    # The first group that behaves the same, or the group itself; and for such a leader, the pods of all its followers.
    leader: Any
    mass: Any
    # The usage, load and memory of each pod in the last ticks: a ring with one slot per tick.
    cpu_seen: Any
    heap_seen: Any
    load_seen: Any
    # Derived from the size: the most cores a pod can get, its usage without requests, the cores that are left for
    # requests, and the exponent of its utilisation.
    cap: Any
    base: Any
    cores: Any
    exponent: Any


_NUMBERS = {"serial", "offset", "count", "life", "crashes", "most_cpu", "action", "taken", "leader", "mass"} | {
    f"{when}{name}" for when in ("", "next_") for name in ("cpu", "memory", "cpu_limit", "memory_limit")
}
_SEEN = {"cpu_seen", "heap_seen", "load_seen"}
_SINGLE = {"used", "serials"}


def empty(places: int, slots: int) -> Cohorts:
    """No pods yet, with room for `places` groups, each with a history of `slots` ticks."""
    c = Cohorts(*([0] if name in _SINGLE else [] for name in Cohorts._fields))
    make_room(c, slots, places)
    return c


def make_room(c: Cohorts, slots: int, places: int) -> None:
    """Make room for at least `places` groups; only lists can grow."""
    missing = places - len(c.count)
    if missing <= 0:
        return
    for name, column in zip(Cohorts._fields, c, strict=True):
        if name in _SEEN:
            column.extend([0.0] * slots for _ in range(missing))
        elif name not in _SINGLE:
            column.extend([0 if name in _NUMBERS else 0.0] * missing)


def has_place(c: Cohorts, slots: int, more: int) -> bool:
    """Whether `more` groups fit; lists grow to make room."""
    make_room(c, slots, c.used[0] + more)
    return True


def add_place(c: Cohorts) -> int:
    """The index for one more group."""
    k: int = c.used[0]
    c.used[0] = k + 1
    return k


def born(
    c: Cohorts,
    slots: int,
    count: int,
    now: float,
    cpu: int,
    memory: int,
    cpu_limit: int,
    memory_limit: int,
    most_cpu: int,
) -> int:
    """Create pods that wait for a node."""
    k = add_place(c)
    c.most_cpu[k] = most_cpu
    c.serial[k] = c.serials[0]
    c.serials[0] += 1
    c.offset[k] = 0
    c.count[k] = count
    c.life[k] = WAITING
    c.due[k] = now
    c.born[k] = c.changed[k] = now
    c.started[k] = inf
    c.cpu[k], c.memory[k], c.cpu_limit[k], c.memory_limit[k] = cpu, memory, cpu_limit, memory_limit
    no_resize(c, k)
    c.backlog[k] = c.late[k] = 0.0
    c.heap[k] = 0.0
    c.crashes[k] = 0
    c.killed_at[k] = -inf
    c.killed_after[k] = 0.0
    c.share[k] = 1.0
    c.window_end[k] = c.known_kill[k] = -inf
    c.peak[k] = c.oom_peak[k] = 0.0
    c.stuck[k] = inf
    c.action[k] = c.taken[k] = 0
    c.leader[k], c.mass[k] = k, count
    for s in range(slots):
        c.cpu_seen[k][s] = c.heap_seen[k][s] = c.load_seen[k][s] = 0.0
    return k


def no_resize(c: Cohorts, k: int) -> None:
    c.next_cpu[k], c.next_memory[k] = c.cpu[k], c.memory[k]
    c.next_cpu_limit[k], c.next_memory_limit[k] = c.cpu_limit[k], c.memory_limit[k]
    c.resize_due[k] = inf
    c.deferred[k] = inf


def split(c: Cohorts, slots: int, k: int, count: int) -> int:
    """Move the last `count` pods of a group into a group of their own, at a new index; they keep their names."""
    other = add_place(c)
    _copy(c, slots, k, other)
    c.count[k] -= count
    c.count[other] = count
    c.offset[other] = c.offset[k] + c.count[k]
    return other


def remove(c: Cohorts, slots: int, k: int) -> None:
    """Free the index of a group. The last group moves there, so all leaders are reset."""
    last = c.used[0] - 1
    if k != last:
        _copy(c, slots, last, k)
    c.used[0] = last
    for each in range(last):
        c.leader[each], c.mass[each] = each, c.count[each]


def _copy(c: Cohorts, slots: int, source: int, target: int) -> None:
    c.serial[target] = c.serial[source]
    c.offset[target] = c.offset[source]
    c.count[target] = c.count[source]
    c.life[target] = c.life[source]
    c.due[target] = c.due[source]
    c.born[target] = c.born[source]
    c.started[target] = c.started[source]
    c.changed[target] = c.changed[source]
    c.cpu[target] = c.cpu[source]
    c.memory[target] = c.memory[source]
    c.cpu_limit[target] = c.cpu_limit[source]
    c.memory_limit[target] = c.memory_limit[source]
    c.most_cpu[target] = c.most_cpu[source]
    c.next_cpu[target] = c.next_cpu[source]
    c.next_memory[target] = c.next_memory[source]
    c.next_cpu_limit[target] = c.next_cpu_limit[source]
    c.next_memory_limit[target] = c.next_memory_limit[source]
    c.resize_due[target] = c.resize_due[source]
    c.deferred[target] = c.deferred[source]
    c.backlog[target] = c.backlog[source]
    c.late[target] = c.late[source]
    c.heap[target] = c.heap[source]
    c.crashes[target] = c.crashes[source]
    c.killed_at[target] = c.killed_at[source]
    c.killed_after[target] = c.killed_after[source]
    c.share[target] = c.share[source]
    c.cap[target] = c.cap[source]
    c.base[target] = c.base[source]
    c.cores[target] = c.cores[source]
    c.exponent[target] = c.exponent[source]
    c.window_end[target] = c.window_end[source]
    c.peak[target] = c.peak[source]
    c.oom_peak[target] = c.oom_peak[source]
    c.known_kill[target] = c.known_kill[source]
    c.stuck[target] = c.stuck[source]
    c.action[target] = c.action[source]
    c.taken[target] = c.taken[source]
    c.leader[target] = c.leader[source]
    c.mass[target] = c.mass[source]
    for s in range(slots):
        c.cpu_seen[target][s] = c.cpu_seen[source][s]
        c.heap_seen[target][s] = c.heap_seen[source][s]
        c.load_seen[target][s] = c.load_seen[source][s]


# From this share of the memory limit, two groups are equal only if their memory is.
NEAR_LIMIT = 0.9
SAME = 1e-9


def alike(c: Cohorts, slots: int, a: int, b: int, settled_before: float, same_heap: float) -> bool:
    """Whether nothing distinguishes two groups, now or later."""
    return bool(
        serve_alike(c, a, b)
        and have_same_past(c, a, b)
        and c.killed_at[a] == c.killed_at[b]
        and c.most_cpu[a] == c.most_cpu[b]
        and c.resize_due[a] == inf
        and c.resize_due[b] == inf
        and c.deferred[a] == inf
        and c.deferred[b] == inf
        and behave_alike(c, slots, a, b, settled_before, same_heap)
    )


def serve_alike(c: Cohorts, a: int, b: int) -> bool:
    """Whether two groups serve the same load with the same size."""
    return bool(c.life[a] == SERVING and c.life[b] == SERVING and c.share[a] == c.share[b] and have_same_size(c, a, b))


def have_same_size(c: Cohorts, a: int, b: int) -> bool:
    return bool(
        c.cpu[a] == c.cpu[b]
        and c.memory[a] == c.memory[b]
        and c.cpu_limit[a] == c.cpu_limit[b]
        and c.memory_limit[a] == c.memory_limit[b]
    )


def behave_alike(c: Cohorts, slots: int, a: int, b: int, settled_before: float, same_heap: float) -> bool:
    """Whether two such groups have been ready for long enough, with the same backlog, memory and history."""
    return bool(
        c.changed[a] <= settled_before
        and c.changed[b] <= settled_before
        and is_near(c.backlog[a], c.backlog[b])
        and have_same_heap(c, a, b, same_heap)
        and look_alike(c, slots, a, b)
    )


def have_same_past(c: Cohorts, a: int, b: int) -> bool:
    """Whether the next crash would lead to the same wait, and both took equally long to become ready."""
    if c.crashes[a] != c.crashes[b] or (c.crashes[a] > 0 and c.changed[a] != c.changed[b]):
        return False
    return is_near(c.changed[a] - c.born[a], c.changed[b] - c.born[b])


def is_near(a: float, b: float) -> bool:
    return abs(a - b) <= SAME * (1.0 + abs(a))


def have_same_heap(c: Cohorts, a: int, b: int, same: float) -> bool:
    """Near the limit, memory must be equal, because one group may be OOM-killed and the other not."""
    most = max(c.heap[a], c.heap[b])
    near = c.memory_limit[a] >= 0 and most >= NEAR_LIMIT * c.memory_limit[a]
    if near or same == 0.0:
        return is_near(c.heap[a], c.heap[b])
    return bool(abs(c.heap[a] - c.heap[b]) < same)


def look_alike(c: Cohorts, slots: int, a: int, b: int) -> bool:
    """Whether the observed usage and load of both groups are the same."""
    for s in range(slots):
        if not is_near(c.cpu_seen[a][s], c.cpu_seen[b][s]) or not is_near(c.load_seen[a][s], c.load_seen[b][s]):
            return False
    return True


def merge(c: Cohorts, slots: int, into: int, k: int) -> None:
    """Merge two groups, with the mean of their values; only if nothing asks for single pods."""
    here, there = c.count[into], c.count[k]
    both = here + there
    c.backlog[into] = (c.backlog[into] * here + c.backlog[k] * there) / both
    c.late[into] = (c.late[into] * here + c.late[k] * there) / both
    c.heap[into] = (c.heap[into] * here + c.heap[k] * there) / both
    c.born[into] = max(c.born[into], c.born[k])
    c.started[into] = max(c.started[into], c.started[k])
    c.changed[into] = max(c.changed[into], c.changed[k])
    for s in range(slots):
        c.cpu_seen[into][s] = (c.cpu_seen[into][s] * here + c.cpu_seen[k][s] * there) / both
        c.heap_seen[into][s] = (c.heap_seen[into][s] * here + c.heap_seen[k][s] * there) / both
        c.load_seen[into][s] = (c.load_seen[into][s] * here + c.load_seen[k][s] * there) / both
    c.count[into] = both
    # Pods that were split off may have their names.
    c.serial[into] = c.serials[0]
    c.serials[0] += 1
    c.offset[into] = 0
    remove(c, slots, k)
