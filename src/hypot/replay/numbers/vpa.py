"""The decision of a VerticalPodAutoscaler in plain numbers: the rules of `policy.vertical.act` for groups of pods.

It decides which pods of each group get another size now, and how: `action` and `taken` of the group. The Decision that
explains why is made only where one is recorded. A test checks that both agree.
"""

from math import inf
from typing import Any, NamedTuple

from hypot.core.sizes.disruption import WANTED, may_disrupt, why_change
from hypot.core.sizes.fit import NO_LIMIT, limit_to_follow, whole_cores, within
from hypot.replay.numbers.plan import changes_class
from hypot.replay.numbers.usage import CPU, MEMORY, UNKNOWN, NumericUsage
from hypot.replay.world.cohorts import CREATING, NONE, STOPPING, WAITING, Cohorts, has_place, have_same_size, split
from hypot.replay.world.lifecycle import evict, resize
from hypot.replay.world.params import Params
from hypot.replay.world.site import Site

IDLE, ONLY_NEW, EVICTS, RESIZES, RESIZES_ONLY = range(5)
# The action for pods of a group. IN_LINE: the number of pods is decided when it is the group's turn.
NOTHING, RESIZED, EVICTED = range(3)
IN_LINE = -1


class VpaRule(NamedTuple):
    """A VerticalPodAutoscaler as plain numbers, for the one container that is replayed; zero means no bound."""

    mode: int
    # With fewer live pods than this, none is changed; otherwise this share may be disrupted at once.
    minimum: int
    tolerance: float
    lifetime: float
    threshold: float
    # An out-of-memory kill this soon after the start is a reason to act at once.
    oom_threshold: float
    spares_budget: bool
    restarts: bool
    can_resize: bool
    lowers_memory: bool
    whole_cores: bool
    # Whether a recommendation has any bounds.
    bounds: bool
    requests_only: bool
    # The bounds of a recommendation, and those of the size of a pod; cpu, then memory.
    lowest: Any
    highest: Any
    least: Any
    most: Any
    # The eviction requirements: how many, whether each asks for an increase, and of which resources.
    requirements: int
    upwards: Any
    of_cpu: Any
    of_memory: Any
    deferred_patience: float
    progress_patience: float


class Advice(NamedTuple):
    """The recommendation within the bounds of the object; cpu, then memory."""

    lower: Any
    target: Any
    upper: Any


def no_advice() -> Advice:
    return Advice([UNKNOWN] * 2, [UNKNOWN] * 2, [UNKNOWN] * 2)


class Rank(NamedTuple):
    """How far a size is off: whether old pods should change, whether it should rise, and by which share of it."""

    lasting: bool
    outside: bool
    scale_up: bool
    difference: float


NO_RANK = Rank(lasting=False, outside=False, scale_up=False, difference=0.0)


class NumericRoom(NamedTuple):
    """The disruption budget: how many pods exist, run, should exist, and may be missing."""

    live: int
    running: int
    configured: int
    tolerance: int


def vpa_step(rule: VpaRule, a: Advice, u: NumericUsage, c: Cohorts, s: Site, now: float) -> int:
    """How many pods get another size now; records the action for each group."""
    allow(rule, a, u, CPU)
    allow(rule, a, u, MEMORY)
    found, before, rank = 0, NONE, NO_RANK
    for k in range(c.used[0]):
        watch_resize(c, k, now)
        if rule.mode < EVICTS or c.life[k] == STOPPING or c.life[k] == WAITING:
            continue
        if before == NONE or not have_same_size(c, before, k):
            before, rank = k, rank_of(rule, a, c, k)
        if (rank.lasting or killed_young(rule, c, k)) and is_wanted(rule, a, rank, c, k, now):
            c.taken[k] = IN_LINE
            found += 1
    return take_turns(rule, a, c, room_of(rule, c, s), now) if found > 0 else 0


def allow(rule: VpaRule, a: Advice, u: NumericUsage, resource: int) -> None:
    """Bring a recommendation within the bounds of the object."""
    a.lower[resource], a.target[resource], a.upper[resource] = u.lower[resource], u.target[resource], u.upper[resource]
    if u.target[resource] == UNKNOWN or not rule.bounds:
        return
    a.lower[resource] = allowed(rule, u.lower[resource], resource)
    a.target[resource] = allowed(rule, u.target[resource], resource)
    a.upper[resource] = allowed(rule, u.upper[resource], resource)


def allowed(rule: VpaRule, amount: int, resource: int) -> int:
    if rule.whole_cores and resource == CPU:
        amount = whole_cores(amount)
    kept = within(amount, rule.lowest[resource], rule.highest[resource]).amount
    return within(kept, rule.least[resource], rule.most[resource]).amount


def watch_resize(c: Cohorts, k: int, now: float) -> None:
    """Since when a resize waits: as the node says, or since it was first observed."""
    if c.deferred[k] < inf:
        c.stuck[k] = c.deferred[k]
    elif c.resize_due[k] == inf:
        c.stuck[k] = inf
    elif c.stuck[k] == inf:
        c.stuck[k] = now


def advised(rule: VpaRule, amount: int, limit: int) -> int:
    """An allowed amount that fits a pod: if only requests are controlled, they stay below the limits."""
    return within(amount, 0, max(0, limit)).amount if rule.requests_only else amount


def new_size(
    rule: VpaRule, a: Advice, cpu: int, memory: int, cpu_limit: int, memory_limit: int
) -> tuple[int, int, int, int]:
    """The new size of a pod with this size."""
    new_cpu, new_cpu_limit = new_amount(rule, a, CPU, cpu, cpu_limit)
    new_memory, new_memory_limit = new_amount(rule, a, MEMORY, memory, memory_limit)
    return new_cpu, new_memory, new_cpu_limit, new_memory_limit


def new_amount(rule: VpaRule, a: Advice, resource: int, request: int, limit: int) -> tuple[int, int]:
    """Request and limit of one resource; the limit changes in proportion, unless only requests are controlled."""
    if a.target[resource] == UNKNOWN:
        return request, limit
    target = advised(rule, a.target[resource], limit)
    if rule.requests_only or target == request:
        return target, limit
    followed = limit_to_follow(max(0, limit), request, target, 0).amount
    return target, limit if followed == NO_LIMIT else followed


def size_new_pods(rule: VpaRule, a: Advice, s: Site) -> None:
    """Create new pods as recommended, whatever happens to running pods."""
    if rule.mode == IDLE:
        return
    made, of = s.template, s.written
    made[0], made[2] = new_amount(rule, a, CPU, of[0], of[2])
    made[1], made[3] = new_amount(rule, a, MEMORY, of[1], of[3])


def rank_of(rule: VpaRule, a: Advice, c: Cohorts, k: int) -> Rank:
    """The rank of a size, the same for all groups of that size."""
    cpu_outside, cpu_up, cpu_far = distance(rule, a, CPU, c.cpu[k], c.cpu_limit[k])
    memory_outside, memory_up, memory_far = distance(rule, a, MEMORY, c.memory[k], c.memory_limit[k])
    outside, far = cpu_outside or memory_outside, cpu_far + memory_far
    why = why_change(False, outside, far, inf, rule.lifetime, rule.threshold)  # noqa: FBT003  compiled by place
    return Rank(why in WANTED, outside, cpu_up or memory_up, far)


def is_wanted(rule: VpaRule, a: Advice, rank: Rank, c: Cohorts, k: int, now: float) -> bool:
    """Killed soon after the start or out of bounds: at once. Otherwise only long after the start, and if it matters."""
    young, age = killed_young(rule, c, k), now - c.born[k]
    why = why_change(young, rank.outside, rank.difference, age, rule.lifetime, rule.threshold)
    return why in WANTED and admits(rule, a, c, k)


def killed_young(rule: VpaRule, c: Cohorts, k: int) -> bool:
    return bool(c.killed_at[k] > -inf and c.killed_after[k] < rule.oom_threshold)


def distance(rule: VpaRule, a: Advice, resource: int, request: int, limit: int) -> tuple[bool, bool, float]:
    """Whether a request is out of its bounds, whether it should rise, and by which share of it."""
    if a.target[resource] == UNKNOWN:
        return False, False, 0.0
    target = advised(rule, a.target[resource], limit)
    outside = request < advised(rule, a.lower[resource], limit)
    outside = outside or request > advised(rule, a.upper[resource], limit)
    milli = 1 if resource == CPU else 1000
    return outside, target > request, abs(request - target) * milli / max(request * milli, 1)


def admits(rule: VpaRule, a: Advice, c: Cohorts, k: int) -> bool:
    """Whether all eviction requirements of the autoscaler allow the change."""
    if c.cpu[k] == 0 or c.memory[k] == 0:
        return True
    for n in range(rule.requirements):
        by_cpu = rule.of_cpu[n] and moves_so(rule, a, CPU, c.cpu[k], c.cpu_limit[k], rule.upwards[n])
        by_memory = rule.of_memory[n] and moves_so(rule, a, MEMORY, c.memory[k], c.memory_limit[k], rule.upwards[n])
        if not by_cpu and not by_memory:
            return False
    return True


def moves_so(rule: VpaRule, a: Advice, resource: int, request: int, limit: int, upwards: bool) -> bool:
    if a.target[resource] == UNKNOWN:
        return False
    target = advised(rule, a.target[resource], limit)
    return target > request if upwards else target < request


def room_of(rule: VpaRule, c: Cohorts, s: Site) -> NumericRoom:
    live = running = 0
    for k in range(c.used[0]):
        if c.life[k] != STOPPING and c.life[k] != WAITING:
            live += c.count[k]
            running += c.count[k] if c.life[k] != CREATING else 0
    return NumericRoom(live, running, s.asked[0], int(s.asked[0] * rule.tolerance))


def take_turns(rule: VpaRule, a: Advice, c: Cohorts, room: NumericRoom, now: float) -> int:
    """Increases first, then the largest difference, then by name; every disrupted pod counts against the budget."""
    for k in range(c.used[0]):
        if c.taken[k] == IN_LINE:
            c.action[k] = action_for(rule, a, c, room, k, now)
            c.taken[k] = IN_LINE if c.action[k] != NOTHING else 0
    disrupted = taken = 0
    k = next_one(rule, a, c)
    while k != NONE:
        action = c.action[k]
        free = (action == EVICTED and c.life[k] == CREATING) or (
            action == RESIZED and rule.spares_budget and not rule.restarts
        )
        count = c.count[k] if free else spared(room, disrupted, c.count[k])
        disrupted += count if c.life[k] != CREATING else 0
        taken += count
        c.action[k], c.taken[k] = action if count > 0 else NOTHING, count
        k = next_one(rule, a, c)
    return taken


def next_one(rule: VpaRule, a: Advice, c: Cohorts) -> int:
    """The next group in line."""
    best, first = NONE, NO_RANK
    for k in range(c.used[0]):
        if c.taken[k] != IN_LINE:
            continue
        rank = first if best != NONE and have_same_size(c, best, k) else rank_of(rule, a, c, k)
        if best == NONE or goes_first(rank, first, c, k, best):
            best, first = k, rank
    return best


def goes_first(a: Rank, b: Rank, c: Cohorts, k: int, other: int) -> bool:
    if a.scale_up != b.scale_up:
        return a.scale_up
    if a.difference != b.difference:
        return a.difference > b.difference
    if c.serial[k] != c.serial[other]:
        return bool(c.serial[k] < c.serial[other])
    return bool(c.offset[k] < c.offset[other])


def spared(room: NumericRoom, disrupted: int, wanting: int) -> int:
    """How many of these pods may be disrupted."""
    count = 0
    while count < wanting and may_disrupt(room.running, room.configured, room.tolerance, disrupted + count):
        count += 1
    return count if room.configured > 0 else 0


def action_for(rule: VpaRule, a: Advice, c: Cohorts, room: NumericRoom, k: int, now: float) -> int:
    """The action for a pod of this group, before the budget applies."""
    waits, patient = c.stuck[k] < inf, is_patient(rule, c, k, now)
    few = room.live < rule.minimum
    may_evict = not few and not (waits and patient and c.life[k] != CREATING)
    if rule.mode == EVICTS:
        return EVICTED if may_evict else NOTHING
    dying = killed_young(rule, c, k) and now - c.killed_at[k] < rule.oom_threshold
    if rule.mode == RESIZES and dying and may_evict:
        return EVICTED
    if (few and not rule.spares_budget) or c.life[k] == CREATING:
        return NOTHING
    if waits:
        return EVICTED if rule.mode == RESIZES and not patient and may_evict else NOTHING
    size = new_size(rule, a, c.cpu[k], c.memory[k], c.cpu_limit[k], c.memory_limit[k])
    if size == (c.next_cpu[k], c.next_memory[k], c.next_cpu_limit[k], c.next_memory_limit[k]):
        return NOTHING
    if not is_refused(rule, c, k, size):
        return RESIZED
    return EVICTED if rule.mode == RESIZES and may_evict else NOTHING


def is_patient(rule: VpaRule, c: Cohorts, k: int, now: float) -> bool:
    """Whether a resize may still happen without an eviction."""
    patience = rule.deferred_patience if c.deferred[k] < inf else rule.progress_patience
    return bool(now - c.stuck[k] <= patience)


def is_refused(rule: VpaRule, c: Cohorts, k: int, size: tuple[int, int, int, int]) -> bool:
    """Whether the API server would refuse this resize."""
    lowers = 0 <= size[3] < c.next_memory_limit[k]
    changes = changes_class(c, k, size[0], size[1], size[2], size[3])
    return not rule.can_resize or changes or (lowers and not rule.lowers_memory)


def vpa_act(rule: VpaRule, a: Advice, c: Cohorts, s: Site, p: Params, in_place: bool, now: float) -> bool:
    """Carry out what was decided. False if there was no room for new groups."""
    k = 0
    while k < c.used[0]:
        action, taken = c.action[k], c.taken[k]
        c.action[k], c.taken[k] = NOTHING, 0
        if action == NOTHING:
            k += 1
            continue
        if not has_place(c, p.slots, 4):
            return False
        if taken < c.count[k]:
            split(c, p.slots, k, c.count[k] - taken)
        if action == EVICTED:
            # Another group may move to this index.
            evict(c, s, p, k, taken, now)
        elif in_place:
            cpu, memory, cpu_limit, memory_limit = new_size(
                rule, a, c.cpu[k], c.memory[k], c.cpu_limit[k], c.memory_limit[k]
            )
            resize(c, s, p, k, cpu, memory, cpu_limit, memory_limit, now)
        else:
            c.deferred[k] = min(c.deferred[k], now)
    return True
