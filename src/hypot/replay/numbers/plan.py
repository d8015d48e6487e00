"""Carries out a decision on both axes: what scales up goes first, and only then the other axis scales down.

The rules are `core.fate`, in the order of `policy.plan`, for groups of pods, in columns of plain numbers like all
compiled code. A test checks that both lead to the same state.
"""

from math import floor, inf
from typing import Any, NamedTuple

from hypot.core.sizes.disruption import replaces
from hypot.core.sizes.fate import (
    DEFERRED_PATIENCE,
    EVICT,
    GOES_ON,
    INFEASIBLE,
    KEEP,
    RESIZE,
    WAIT,
    PodFacts,
    disrupts,
    ending,
    fate_for,
    is_at_once,
    may_lower,
    spares,
    waits_for,
)
from hypot.policy.plan.pods import OOM_WINDOW
from hypot.replay.world.cohorts import NONE, SERVING, STOPPING, WAITING, Cohorts, has_place, split
from hypot.replay.world.lifecycle import alive, evict, resize, scale_to
from hypot.replay.world.params import Params
from hypot.replay.world.site import Site

# Groups of pods that one step may add: by a change of replicas, or by splitting a group of which some pods go.
ADDED = 2
# Values of `taken`: groups that are still to be examined, and groups with an action.
UNSEEN, CHOSEN = -1, 1


class NumericPlan(NamedTuple):
    """The planned replicas and size with both limits, since when, the previous state, and whether scale-down waits.

    `restarted` is when a pod was last evicted, or restarted in place, to change its size.
    """

    active: Any
    replicas: Any
    size: Any
    since: Any
    waits: Any
    before: Any
    had: Any
    restarted: Any


class PlanStep(NamedTuple):
    """Whether there is something to do, something to wait for, and something that can never succeed."""

    acts: bool
    waits: bool
    fails: bool


def no_plan() -> NumericPlan:
    return NumericPlan([0], [0], [0, 0, -1, -1], [0.0], [0], [0], [0, 0], [-inf])


def begin_plan(
    plan: NumericPlan,
    c: Cohorts,
    s: Site,
    p: Params,
    in_place: bool,
    replicas: int,
    cpu: int,
    memory: int,
    cpu_limit: int,
    memory_limit: int,
    had_cpu: int,
    had_memory: int,
    resizes: bool,
    now: float,
) -> None:
    """The first step of a decision, compared with the largest pod; the plan stays active if more steps follow.

    `resizes`: whether the size of pods changes, and not only their number.
    """
    before = s.asked[0]
    plan.size[0], plan.size[1], plan.size[2], plan.size[3] = cpu, memory, cpu_limit, memory_limit
    plan.replicas[0], plan.since[0], plan.before[0] = replicas, now, before
    plan.had[0], plan.had[1] = had_cpu, had_memory
    grows, shrinks = cpu > had_cpu or memory > had_memory, cpu < had_cpu or memory < had_memory
    waits = waits_for(before, replicas, grows, shrinks, not all_have_enough(plan, c))
    plan.waits[0] = 1 if waits else 0
    at_once = is_at_once(resizes, waits, replicas > before, template_has(plan, s))
    plan.active[0] = 0 if at_once else 1
    if not has_place(c, p.slots, ADDED):
        return
    if at_once:
        scale_to(c, s, p, replicas, now)
    elif not pursue_plan(plan, c, s, p, in_place, now):
        # Nothing can be done to existing pods; new pods still get the size.
        record_size(plan, s)


def is_bound(plan: NumericPlan, replicas: int, cpu: int, memory: int) -> bool:
    """Whether a plan in progress gives almost what is asked for now: then it continues, and the proposal waits."""
    if plan.active[0] == 0:
        return False
    planned = plan.replicas[0]
    return not replaces(cpu, replicas, plan.size[0], planned) and not replaces(memory, replicas, plan.size[1], planned)


def pursue_plan(plan: NumericPlan, c: Cohorts, s: Site, p: Params, in_place: bool, now: float) -> bool:
    """Take one more step; returns whether it did anything. The plan ends when it is done, impossible, or too slow.

    It is abandoned if another controller has changed the replicas.
    """
    replicas, planned = s.asked[0], plan.replicas[0]
    if replicas not in (plan.before[0], planned):
        plan.active[0] = 0
        return False
    goes = replicas > planned and (plan.waits[0] == 0 or has_grown(plan, c))
    # Changing the other pods now would be useless: those that stay get their size after the rest is gone.
    step = PlanStep(acts=True, waits=False, fails=False) if goes else look_at_pods(plan, c, s, p, in_place, now)
    since, moved = plan.since[0], last_move(plan, c, now)
    if ending(step.acts, step.waits, step.fails, goes, since, moved, now) != GOES_ON:
        plan.active[0] = 0
        forget_actions(c)
        return False
    if not step.acts or not has_place(c, p.slots, ADDED):
        return False
    if not goes:
        record_size(plan, s)
    if goes or replicas < planned:
        scale_to(c, s, p, planned, now)
    act_on_groups(plan, c, s, p, now)
    return True


def record_size(plan: NumericPlan, s: Site) -> None:
    """Set the size of new pods."""
    s.template[0], s.template[1], s.template[2], s.template[3] = plan.size[0], plan.size[1], plan.size[2], plan.size[3]


def template_has(plan: NumericPlan, s: Site) -> bool:
    return bool(
        s.template[0] == plan.size[0]
        and s.template[1] == plan.size[1]
        and s.template[2] == plan.size[2]
        and s.template[3] == plan.size[3]
    )


def has_size(plan: NumericPlan, c: Cohorts, k: int) -> bool:
    return bool(
        c.cpu[k] == plan.size[0]
        and c.memory[k] == plan.size[1]
        and c.cpu_limit[k] == plan.size[2]
        and c.memory_limit[k] == plan.size[3]
    )


def asks_for_size(plan: NumericPlan, c: Cohorts, k: int) -> bool:
    return bool(
        c.next_cpu[k] == plan.size[0]
        and c.next_memory[k] == plan.size[1]
        and c.next_cpu_limit[k] == plan.size[2]
        and c.next_memory_limit[k] == plan.size[3]
    )


def all_have_enough(plan: NumericPlan, c: Cohorts) -> bool:
    for k in range(c.used[0]):
        if c.life[k] != STOPPING and (c.cpu[k] < plan.size[0] or c.memory[k] < plan.size[1]):
            return False
    return True


def has_grown(plan: NumericPlan, c: Cohorts) -> bool:
    """Whether pods may be removed: whichever are, the rest have the size, and enough of them serve."""
    count = 0
    for k in range(c.used[0]):
        if c.life[k] == SERVING:
            count += c.count[k]
    return bool(all_have_enough(plan, c) and count >= plan.replicas[0])


def serving(plan: NumericPlan, c: Cohorts) -> int:
    """How many pods serve and have at least the planned amount of each resource that is lowered."""
    cpu = plan.size[0] if plan.size[0] < plan.had[0] else 0
    memory = plan.size[1] if plan.size[1] < plan.had[1] else 0
    count = 0
    for k in range(c.used[0]):
        if c.life[k] == SERVING and c.cpu[k] >= cpu and c.memory[k] >= memory:
            count += c.count[k]
    return count


def last_move(plan: NumericPlan, c: Cohorts, now: float) -> float:
    """The time of the last progress. A resize that the node defers counts as progress until it leads to an eviction."""
    last = plan.since[0]
    for k in range(c.used[0]):
        if c.deferred[k] < inf:
            last = max(last, min(c.deferred[k] + DEFERRED_PATIENCE, now))
        if has_size(plan, c, k) and asks_for_size(plan, c, k):
            last = max(last, min(c.changed[k], now))
    return float(last)


def restarts(plan: NumericPlan, c: Cohorts, p: Params, k: int) -> bool:
    """Whether the pods restart for the size when they get it in place."""
    cpu = c.cpu[k] != plan.size[0] or c.cpu_limit[k] != plan.size[2]
    memory = c.memory[k] != plan.size[1] or c.memory_limit[k] != plan.size[3]
    return bool((p.cpu_restarts and cpu) or (p.memory_restarts and memory))


def changes_class(c: Cohorts, k: int, cpu: int, memory: int, cpu_limit: int, memory_limit: int) -> bool:
    """Whether the QoS class of the pods would change, which a resize cannot do."""
    was_equal = c.cpu[k] == c.cpu_limit[k] and c.memory[k] == c.memory_limit[k]
    return bool(was_equal != (cpu == cpu_limit and memory == memory_limit))


def case_of(plan: NumericPlan, c: Cohorts, p: Params, in_place: bool, k: int, spared: bool, now: float) -> PodFacts:
    cpu, memory, cpu_limit, memory_limit = plan.size[0], plan.size[1], plan.size[2], plan.size[3]
    asked, started = asks_for_size(plan, c, k), c.life[k] != WAITING
    killed_young = c.killed_at[k] > -inf and c.killed_after[k] < OOM_WINDOW
    return PodFacts(
        asked,
        has_size(plan, c, k),
        bool(c.cpu[k] > cpu or c.memory[k] > memory),
        restarts(plan, c, p, k),
        not in_place or changes_class(c, k, cpu, memory, cpu_limit, memory_limit),
        bool(asked and c.deferred[k] < inf and now - c.deferred[k] > DEFERRED_PATIENCE),
        bool(killed_young and now - c.killed_at[k] < OOM_WINDOW),
        bool(started and c.born[k] >= floor(plan.since[0])),
        bool(started),
        bool(c.life[k] == SERVING),
        spared,
        never=False,
    )


def look_at_pods(plan: NumericPlan, c: Cohorts, s: Site, p: Params, in_place: bool, now: float) -> PlanStep:
    """Decide the action for each group in turn: each pod that stops serving leaves less budget for the next."""
    replicas, planned = s.asked[0], plan.replicas[0]
    lowers = may_lower(plan.waits[0] != 0, plan.before[0], planned, replicas, serving(plan, c))
    configured, running, taken = max(replicas, planned), 0, 0
    for k in range(c.used[0]):
        c.taken[k] = UNSEEN if c.life[k] != STOPPING else 0
        away = asks_for_size(plan, c, k) and not has_size(plan, c, k) and restarts(plan, c, p, k)
        if c.life[k] == SERVING and not away:
            running += c.count[k]
    acts, waits, fails = replicas < planned, alive(c) < planned, False
    k = next_group(c, UNSEEN)
    while k != NONE:
        ready = c.life[k] == SERVING
        case = case_of(plan, c, p, in_place, k, spares(ready, running, configured, taken), now)
        action = fate_for(case, evicts=True, lowers=lowers).action
        count = c.count[k]
        if ready and disrupts(action, case.restarts):
            count = 0
            while count < c.count[k] and spares(ready, running, configured, taken):
                count, taken = count + 1, taken + 1
        acts = acts or action in (RESIZE, EVICT)
        waits = waits or action == WAIT or count < c.count[k]
        fails = fails or action == INFEASIBLE
        c.action[k], c.taken[k] = (action, count) if action in (RESIZE, EVICT) else (KEEP, 0)
        k = next_group(c, UNSEEN)
    # Pods that will be removed stay until enough of the others serve.
    return PlanStep(acts, waits or (not acts and not fails and replicas > planned), fails)


def next_group(c: Cohorts, which: int) -> int:
    """Groups that do not serve first, then by name."""
    best = NONE
    for k in range(c.used[0]):
        if c.taken[k] * which > 0 and (best == NONE or goes_first(c, k, best)):
            best = k
    return best


def goes_first(c: Cohorts, a: int, b: int) -> bool:
    if (c.life[a] == SERVING) != (c.life[b] == SERVING):
        return bool(c.life[b] == SERVING)
    if c.serial[a] != c.serial[b]:
        return bool(c.serial[a] < c.serial[b])
    return bool(c.offset[a] < c.offset[b])


def act_on_groups(plan: NumericPlan, c: Cohorts, s: Site, p: Params, now: float) -> None:
    """Carry out the action of each group, on as many of its first pods as the budget allows."""
    cpu, memory, cpu_limit, memory_limit = plan.size[0], plan.size[1], plan.size[2], plan.size[3]
    k = next_group(c, CHOSEN)
    while k != NONE and has_place(c, p.slots, ADDED):
        action, taken = c.action[k], c.taken[k]
        c.action[k], c.taken[k] = KEEP, 0
        if taken < c.count[k]:
            split(c, p.slots, k, c.count[k] - taken)
        if action == EVICT or restarts(plan, c, p, k):
            plan.restarted[0] = now
        if action == EVICT:
            evict(c, s, p, k, taken, now)
        else:
            resize(c, s, p, k, cpu, memory, cpu_limit, memory_limit, now)
        k = next_group(c, CHOSEN)


def forget_actions(c: Cohorts) -> None:
    for k in range(c.used[0]):
        c.action[k], c.taken[k] = KEEP, 0
