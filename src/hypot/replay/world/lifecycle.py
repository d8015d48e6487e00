"""What happens to pods between decisions, and how decisions change them."""

from math import ceil, floor, inf

from hypot.replay.world.cohorts import (
    CRASHED,
    CREATING,
    MORTAL,
    NONE,
    SERVING,
    STARTING,
    STOPPING,
    WAITING,
    Cohorts,
    alike,
    behave_alike,
    born,
    merge,
    no_resize,
    remove,
    serve_alike,
    split,
)
from hypot.replay.world.params import Params
from hypot.replay.world.service import crash_wait
from hypot.replay.world.site import BATCHES, MOST_NODES, Site


def pass_time(c: Cohorts, s: Site, p: Params, now: float) -> None:
    """Process everything that is due up to now."""
    if now >= s.due[0]:
        if s.nodes[0] >= 0:
            provision(c, s, p, now)
        k = 0
        while k < c.used[0]:
            if grow_up(c, s, p, k, now):
                k += 1
        if p.skew > 0.0:
            choose_hot(c, p)
        s.due[0] = next_due(c, s)
        s.stale[0] = 1
    if p.merging and c.used[0] > 1:
        merge_alike(c, p, now - p.window - p.lag)


def grow_up(c: Cohorts, s: Site, p: Params, k: int, now: float) -> bool:
    """Advance a group to now. False if the group is gone; another group may then be at its index."""
    if c.deferred[k] < inf and asks_for_another_size(c, k):
        # The node checks again whether it has room.
        resize(c, s, p, k, c.next_cpu[k], c.next_memory[k], c.next_cpu_limit[k], c.next_memory_limit[k], now)
    if c.resize_due[k] <= now:
        finish_resize(c, s, p, k)
    while c.due[k] <= now:
        life, due = c.life[k], c.due[k]
        if life == WAITING:
            if s.nodes[0] >= 0:
                # It waits until there is a node for it; `provision` continues from there.
                break
            placed(c, p, k, due, 0.0)
        elif life == CREATING:
            c.life[k], c.started[k], c.due[k] = STARTING, due, due + p.start - p.create
            c.heap[k] = 0.0
        elif life == STARTING:
            c.life[k], c.changed[k], c.due[k] = SERVING, due, inf
        elif life == CRASHED:
            c.life[k], c.started[k], c.due[k] = STARTING, due, due + p.start - p.create
        else:
            lose_waiting(c, s, p, k)
            remove(c, p.slots, k)
            return False
    return True


def lose_waiting(c: Cohorts, s: Site, p: Params, k: int) -> None:
    """The requests that wait for these pods are lost."""
    s.died[0] += c.count[k] * c.backlog[k] / p.work
    s.late_died[0] += c.count[k] * c.late[k] / p.work
    c.backlog[k] = c.late[k] = 0.0


def finish_resize(c: Cohorts, s: Site, p: Params, k: int) -> None:
    """Apply the new size; a container that cannot take it while running restarts."""
    restarts = (p.cpu_restarts and c.cpu[k] != c.next_cpu[k]) or (p.memory_restarts and c.memory[k] != c.next_memory[k])
    at = c.resize_due[k]
    c.cpu[k], c.memory[k] = c.next_cpu[k], c.next_memory[k]
    c.cpu_limit[k], c.memory_limit[k] = c.next_cpu_limit[k], c.next_memory_limit[k]
    no_resize(c, k)
    if restarts and c.life[k] in MORTAL:
        lose_waiting(c, s, p, k)
        c.heap[k] = 0.0
        c.life[k], c.started[k], c.changed[k], c.due[k] = STARTING, at, at, at + p.start - p.create
        s.evicted[0] += c.count[k]


def asks_for_another_size(c: Cohorts, k: int) -> bool:
    return bool(
        c.next_cpu[k] != c.cpu[k]
        or c.next_memory[k] != c.memory[k]
        or c.next_cpu_limit[k] != c.cpu_limit[k]
        or c.next_memory_limit[k] != c.memory_limit[k]
    )


def placed(c: Cohorts, p: Params, k: int, at: float, pull: float) -> None:
    c.life[k], c.born[k], c.changed[k], c.due[k] = CREATING, at, at, at + pull + p.create


def next_due(c: Cohorts, s: Site) -> float:
    """When the next event is due."""
    soonest = inf
    for batch in range(BATCHES):
        soonest = min(soonest, s.coming_due[batch])
    if s.nodes[0] > 0 and s.idle_since[min(s.nodes[0], MOST_NODES) - 1] < inf:
        soonest = -inf
    for k in range(c.used[0]):
        soonest = min(soonest, c.due[k], c.resize_due[k])
        if s.nodes[0] >= 0 and c.deferred[k] < inf:
            soonest = -inf
    return soonest


def merge_alike(c: Cohorts, p: Params, settled_before: float) -> None:
    k = c.used[0] - 1
    while k > 0:
        for into in range(k):
            if alike(c, p.slots, into, k, settled_before, p.same_heap) and are_next(c, into, k):
                merge(c, p.slots, into, k)
                break
        k -= 1


def are_next(c: Cohorts, a: int, b: int) -> bool:
    """Whether no other group's age is between theirs; such a group would be removed before some of the merged pods."""
    first, last = min(c.changed[a], c.changed[b]), max(c.changed[a], c.changed[b])
    for k in range(c.used[0]):  # noqa: SIM110  a generator cannot be compiled
        if first < c.changed[k] < last and c.life[k] != STOPPING:
            return False
    return True


def follow(c: Cohorts, s: Site, p: Params, settled_before: float) -> None:
    """Let groups that behave the same follow the first of them, even if their pods differ in other ways."""
    by_age = p.heap_leak != 0.0 or p.heap_cache > 0.0
    s.apart[0] = 0
    for k in range(1, c.used[0]):
        for first in range(k):
            if c.leader[k] != k or c.leader[first] != first or not serve_alike(c, first, k):
                continue
            if by_age and c.started[first] != c.started[k]:
                continue
            if behave_alike(c, p.slots, first, k, settled_before, 0.0):
                join(c, first, k)
            else:
                s.apart[0] = 1


def join(c: Cohorts, first: int, k: int) -> None:
    """Let a group follow another, together with all groups that follow it."""
    c.mass[first] += c.mass[k]
    for each in range(k, c.used[0]):
        if c.leader[each] == k:
            c.leader[each] = first


def choose_hot(c: Cohorts, p: Params) -> None:
    """One serving replica gets more load than the mean; the oldest one, as long as it serves."""
    hot, oldest, serving = NONE, NONE, 0
    for k in range(c.used[0]):
        if c.life[k] != SERVING:
            c.share[k] = 1.0
            continue
        serving += c.count[k]
        if c.share[k] != 1.0:
            hot = k
        if oldest == NONE or c.changed[k] < c.changed[oldest]:
            oldest = k
    if oldest == NONE:
        return
    if hot == NONE:
        hot = split(c, p.slots, oldest, 1) if c.count[oldest] > 1 else oldest
    # It gets 1 + skew times the mean and the others get equal shares, as far as their load allows.
    others = serving - 1
    c.share[hot] = (1.0 + p.skew) * others / (others - p.skew) if others > p.skew else 1.0 + p.skew


def per_node(p: Params, cpu: int, memory: int) -> int:
    """How many pods of a size fit on a node; a pod that is too large for any node gets one of its own."""
    by_cpu = floor(p.node_cpu / cpu) if cpu > 0 else 1_000_000
    by_memory = floor(p.node_memory / memory) if memory > 0 else 1_000_000
    return max(1, min(by_cpu, by_memory))


def nodes_filled(c: Cohorts, p: Params, waiting: bool) -> float:
    """How many nodes the pods fill, with or without the pods that wait for a node."""
    filled = 0.0
    for k in range(c.used[0]):
        if waiting or c.life[k] != WAITING:
            filled += c.count[k] / per_node(p, c.cpu[k], c.memory[k])
    return filled


def provision(c: Cohorts, s: Site, p: Params, now: float) -> None:
    """Order nodes for waiting pods, place pods on existing nodes, and remove empty nodes."""
    pull, coming, free = 0.0, 0, NONE
    for batch in range(BATCHES):
        if s.coming_due[batch] <= now:
            s.nodes[0] += s.coming[batch]
            s.coming[batch], s.coming_due[batch] = 0, inf
            pull = p.pull
        coming += s.coming[batch]
        if s.coming[batch] == 0:
            free = batch
    place_waiting(c, s, p, now, pull)
    needed = ceil(nodes_filled(c, p, waiting=True) - 1e-9)
    missing = needed - s.nodes[0] - coming
    if missing > 0 and free != NONE:
        s.coming[free], s.coming_due[free] = missing, now + p.provisioning
    let_idle_go(s, p, max(needed, 1), now)


def let_idle_go(s: Site, p: Params, needed: int, now: float) -> None:
    """Remove nodes that have been empty for long enough; the first nodes are filled first."""
    for n in range(min(s.nodes[0], MOST_NODES)):
        if n < needed:
            s.idle_since[n] = inf
        elif s.idle_since[n] == inf:
            s.idle_since[n] = now
    while needed < s.nodes[0] <= MOST_NODES and now - s.idle_since[s.nodes[0] - 1] >= p.removal:
        s.nodes[0] -= 1
        s.idle_since[s.nodes[0]] = inf


def place_waiting(c: Cohorts, s: Site, p: Params, now: float, pull: float) -> None:
    """Place the groups that wait longest first."""
    k = next_waiting(c, NONE)
    while k != NONE:
        serial = c.serial[k]
        place_some(c, s, p, k, now, pull)
        k = next_waiting(c, serial)


def next_waiting(c: Cohorts, serial: int) -> int:
    """The oldest group that waits for a node and has a later serial than this."""
    found = NONE
    for k in range(c.used[0]):
        if c.life[k] == WAITING and c.serial[k] > serial and (found == NONE or c.serial[k] < c.serial[found]):
            found = k
    return found


def place_some(c: Cohorts, s: Site, p: Params, k: int, now: float, pull: float) -> None:
    """Place as many pods of a group as the nodes have room for."""
    free = s.nodes[0] - nodes_filled(c, p, waiting=False)
    fit = min(c.count[k], floor(free * per_node(p, c.cpu[k], c.memory[k]) + 1e-9))
    if fit <= 0:
        return
    if fit < c.count[k]:
        split(c, p.slots, k, c.count[k] - fit)
    placed(c, p, k, now, pull)


def alive(c: Cohorts) -> int:
    """Pods that are not terminating."""
    count = 0
    for k in range(c.used[0]):
        if c.life[k] != STOPPING:
            count += c.count[k]
    return count


def scale_to(c: Cohorts, s: Site, p: Params, replicas: int, now: float) -> None:
    """Create or remove pods, as a controller does: it removes pods that do not serve first, then the youngest."""
    s.asked[0] = replicas
    there = alive(c)
    if replicas > there:
        make(c, s, p, replicas - there, now)
    while there > replicas:
        k = least_wanted(c)
        going = min(there - replicas, c.count[k])
        let_go(c, s, p, k, going, now)
        there -= going


def make(c: Cohorts, s: Site, p: Params, count: int, now: float) -> None:
    cpu, memory, cpu_limit, memory_limit = s.template[0], s.template[1], s.template[2], s.template[3]
    most = -1 if p.resize_room == inf else int(cpu + p.resize_room)
    born(c, p.slots, count, now, cpu, memory, cpu_limit, memory_limit, most)
    s.due[0] = -inf


def least_wanted(c: Cohorts) -> int:
    worst = NONE
    for k in range(c.used[0]):
        if c.life[k] != STOPPING and (worst == NONE or _goes_before(c, k, worst)):
            worst = k
    return worst


def _goes_before(c: Cohorts, a: int, b: int) -> bool:
    serves_a, serves_b = c.life[a] == SERVING, c.life[b] == SERVING
    if serves_a != serves_b:
        return bool(serves_b)
    if c.share[a] != c.share[b]:
        return bool(c.share[a] < c.share[b])
    return bool(c.changed[a] > c.changed[b])


def let_go(c: Cohorts, s: Site, p: Params, k: int, count: int, now: float) -> None:
    """Remove the last pods of a group: serving pods finish their requests first, the others vanish at once."""
    going = split(c, p.slots, k, count) if count < c.count[k] else k
    if c.life[going] == SERVING and p.stop > 0.0:
        c.life[going], c.due[going] = STOPPING, now + p.stop
        no_resize(c, going)
    else:
        lose_waiting(c, s, p, going)
        remove(c, p.slots, going)
    s.due[0] = -inf


def evict(c: Cohorts, s: Site, p: Params, k: int, count: int, now: float) -> None:
    """Remove pods; new pods with the size of the template replace them."""
    s.evicted[0] += count
    let_go(c, s, p, k, count, now)
    make(c, s, p, count, now)


def crash(c: Cohorts, s: Site, p: Params, k: int, now: float) -> None:
    """All pods of a group run out of memory, because they are alike."""
    healthy = c.life[k] == SERVING and now - c.changed[k] >= p.healthy
    c.crashes[k] = 1 if healthy else c.crashes[k] + 1
    wait = crash_wait(c.crashes[k], p.backoff, p.longest_backoff)
    lose_waiting(c, s, p, k)
    s.killed[0] += c.count[k]
    c.life[k], c.due[k], c.changed[k] = CRASHED, now + wait, now
    c.heap[k] = 0.0
    c.killed_at[k], c.killed_after[k] = now, now - c.started[k]
    s.due[0] = -inf


def has_room(c: Cohorts, s: Site, p: Params, k: int, cpu: int, memory: int) -> bool:
    """Whether the existing nodes can hold all pods, with these at the new size."""
    if s.nodes[0] < 0 or (cpu <= c.cpu[k] and memory <= c.memory[k]):
        return True
    filled = nodes_filled(c, p, waiting=False)
    filled += c.count[k] * (1.0 / per_node(p, cpu, memory) - 1.0 / per_node(p, c.cpu[k], c.memory[k]))
    return bool(filled <= s.nodes[0] + 1e-9)


def resize(
    c: Cohorts, s: Site, p: Params, k: int, cpu: int, memory: int, cpu_limit: int, memory_limit: int, now: float
) -> None:
    """Request another size in place; it waits if the node has no room. An earlier request that is due is done first."""
    if c.resize_due[k] <= now:
        finish_resize(c, s, p, k)
    c.next_cpu[k], c.next_memory[k] = cpu, memory
    c.next_cpu_limit[k], c.next_memory_limit[k] = cpu_limit, memory_limit
    if 0 <= c.most_cpu[k] < cpu or not has_room(c, s, p, k, cpu, memory):
        c.resize_due[k] = inf
        c.deferred[k] = min(c.deferred[k], now)
        s.due[0] = -inf
        return
    c.deferred[k] = inf
    c.resize_due[k] = now + p.resize_takes
    s.due[0] = min(s.due[0], c.resize_due[k])
