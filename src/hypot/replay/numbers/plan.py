"""Both axes of one decision at work: what grows grows first, and only then the other one shrinks.

Columns of plain numbers, as everything that is compiled.
"""

from math import inf
from typing import Any, NamedTuple

from hypot.core.disruption import AT_ONCE, PATIENCE, is_more
from hypot.replay.world.cohorts import SERVING, STOPPING, Cohorts, has_place
from hypot.replay.world.lifecycle import evict, resize, scale_to
from hypot.replay.world.params import Params
from hypot.replay.world.site import Site

# Groups of pods that one change of the count, or one eviction, may add.
ADDED = 2


class Plan(NamedTuple):
    """What there is to be, with both limits, since when, and whether pods shrink only once the new ones serve."""

    active: Any
    replicas: Any
    size: Any
    since: Any
    waits: Any


def no_plan() -> Plan:
    return Plan([0], [0], [0, 0, -1, -1], [0.0], [0])


def begin_plan(
    plan: Plan,
    c: Cohorts,
    s: Site,
    p: Params,
    in_place: bool,
    replicas: int,
    cpu: int,
    memory: int,
    cpu_limit: int,
    memory_limit: int,
    now: float,
) -> None:
    """The first step; the plan stays active where more are to follow."""
    more = replicas > s.asked[0]
    if more and not has_place(c, p.slots, ADDED):
        return
    shrinks = cpu < s.template[0] or memory < s.template[1]
    s.template[0], s.template[1], s.template[2], s.template[3] = cpu, memory, cpu_limit, memory_limit
    plan.size[0], plan.size[1], plan.size[2], plan.size[3] = cpu, memory, cpu_limit, memory_limit
    plan.active[0], plan.replicas[0], plan.since[0] = 1, replicas, now
    plan.waits[0] = more and shrinks
    if more:
        scale_to(c, s, p, replicas, now)
    pursue_plan(plan, c, s, p, in_place, now)


def is_bound(plan: Plan, replicas: int, cpu: int, memory: int) -> bool:
    """Whether a plan is under way and gives as much as is wanted now: then it goes on, and the wish waits."""
    if plan.active[0] == 0:
        return False
    planned = plan.replicas[0]
    return not is_more(cpu, replicas, plan.size[0], planned) and not is_more(memory, replicas, plan.size[1], planned)


def pursue_plan(plan: Plan, c: Cohorts, s: Site, p: Params, in_place: bool, now: float) -> None:
    """One step further; the plan is over once it is done, or takes too long."""
    late = now - plan.since[0] > PATIENCE
    if plan.waits[0] and not late and serving(c) < plan.replicas[0]:
        return
    if late or is_settled(plan, c):
        if not has_place(c, p.slots, ADDED):
            return
        if plan.replicas[0] != s.asked[0]:
            scale_to(c, s, p, plan.replicas[0], now)
        plan.active[0] = 0
        return
    if in_place:
        resize_all(plan, c, s, p, now)
    if not in_place or is_refused(c):
        # What its node has no room for comes back on another.
        restart_some(plan, c, s, p, now)


def serving(c: Cohorts) -> int:
    count = 0
    for k in range(c.used[0]):
        if c.life[k] == SERVING:
            count += c.count[k]
    return count


def has_size(plan: Plan, c: Cohorts, k: int) -> bool:
    return bool(
        c.cpu[k] == plan.size[0]
        and c.memory[k] == plan.size[1]
        and c.cpu_limit[k] == plan.size[2]
        and c.memory_limit[k] == plan.size[3]
    )


def asks_for_size(plan: Plan, c: Cohorts, k: int) -> bool:
    return bool(
        c.next_cpu[k] == plan.size[0]
        and c.next_memory[k] == plan.size[1]
        and c.next_cpu_limit[k] == plan.size[2]
        and c.next_memory_limit[k] == plan.size[3]
    )


def is_settled(plan: Plan, c: Cohorts) -> bool:
    """Whether all pods that stay have this size and serve."""
    for k in range(c.used[0]):
        if c.life[k] != STOPPING and (c.life[k] != SERVING or not has_size(plan, c, k)):
            return False
    return True


def is_refused(c: Cohorts) -> bool:
    """Whether a resize waits for room."""
    for k in range(c.used[0]):  # noqa: SIM110  a generator cannot be compiled
        if c.deferred[k] < inf:
            return True
    return False


def resize_all(plan: Plan, c: Cohorts, s: Site, p: Params, now: float) -> None:
    """Ask for another size of every pod, in place."""
    cpu, memory, cpu_limit, memory_limit = plan.size[0], plan.size[1], plan.size[2], plan.size[3]
    for k in range(c.used[0]):
        if c.life[k] != STOPPING and (not asks_for_size(plan, c, k) or c.deferred[k] < inf):
            resize(c, s, p, k, cpu, memory, cpu_limit, memory_limit, now)


def restart_some(plan: Plan, c: Cohorts, s: Site, p: Params, now: float) -> None:
    """Restart pods of another size than is asked for, as many as a rollout does at once."""
    away = s.asked[0] - serving(c)
    budget = max(1, int(AT_ONCE * s.asked[0])) - away
    k = 0
    while budget > 0 and k < c.used[0]:
        if c.life[k] == SERVING and not has_size(plan, c, k):
            if not has_place(c, p.slots, ADDED):
                return
            going = min(budget, c.count[k])
            evict(c, s, p, k, going, now)
            budget -= going
        k += 1
