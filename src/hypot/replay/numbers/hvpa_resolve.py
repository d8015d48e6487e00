"""An Hvpa as plain numbers: its rule, its state, and how the proposals of its sources become replicas and a size."""

from math import inf
from typing import Any, NamedTuple

from hypot.core.axes.gate import (
    DOWN,
    FREE,
    HOLDS,
    IN_WINDOW,
    OPEN,
    STAYS,
    UNSET,
    UP,
    closed,
    count_gate,
    held_to,
    is_enough,
    keeps_added,
    movement_gate,
    needed_change,
    patience,
    remains,
    way_of,
)
from hypot.core.axes.interval import (
    count_for,
    keeps_size,
    may_get_less,
    most_at,
    outgrows,
    part_of,
    permitted,
    reachable,
    whole_limit,
)
from hypot.core.replicas.window import forced_into
from hypot.core.timeofday import contains
from hypot.replay.numbers.hpa import FAILED, HpaRule

CPU, MEMORY = range(2)


class ResourceRule(NamedTuple):
    """The settings of one resource. Amounts are millicores or bytes; negative means unset, as does a `most` of 0."""

    controlled: bool
    half_life: float
    # The least that usage recommends for a pod.
    floor: int
    grain: int
    least: int
    most: int
    base_value: int
    base_percent: int
    gap_value: int
    gap_percent: int
    # By how much a total must change, up and down.
    default_change: int
    up_value: int
    up_percent: int
    down_value: int
    down_percent: int
    # How many counts have an interval, from the first on, and the bounds of each.
    counts: int
    lows: Any
    highs: Any
    belows: Any
    pins: Any
    mosts: Any
    # The largest total; 0 if unlimited.
    ceiling: int


class HvpaRule(NamedTuple):
    """An Hvpa as plain numbers."""

    # Whether metrics are a source, which of them give a total, and whether pod usage is a source.
    by_metrics: bool
    hpa: HpaRule
    totals: Any
    by_usage: bool
    settle: float
    cpu: ResourceRule
    memory: ResourceRule
    # The fewest and the most replicas, and where pods have a fixed size: below the first, and at each count.
    first: int
    last: int
    pinned_before: bool
    pinned_at: Any
    requests_only: bool
    mode_up: int
    mode_down: int
    wait_up: float
    wait_down: float
    # Seconds of the day; negative without a window.
    begin: int
    end: int


class HvpaPast(NamedTuple):
    """Its state, and the result of its last decision; columns have one element, or one per resource."""

    # When it last moved, and last scaled up on any axis; -inf: never.
    last_scale: Any
    last_up: Any
    last_down: Any
    # Scale-downs in a row that restarted pods and were soon reversed.
    swings: Any
    # At the last look: the replicas, and the recommended sizes.
    replicas: Any
    advice: Any
    # The last change of replicas, and the sizes that were recommended before it.
    recount_at: Any
    recount_before: Any
    recount_after: Any
    recount_advice: Any
    # The first of the samples that are all at the cap; infinite if none is.
    hot: Any
    # The average of the total that utilization asked for, and the recent peak of usage; negative: none.
    mean: Any
    mean_at: Any
    peak: Any
    peak_at: Any
    # The proposal: replicas, their size with both limits, whether the size changes, and whether anything scales up.
    desired: Any
    size: Any
    resizes: Any
    grows: Any
    # Scratch: whether more is needed; what the largest pod, the smallest pod and all pods have; the total that each
    # source asks for, with its direction; and the resulting total.
    rises: Any
    request: Any
    limit: Any
    # The request and limit whose ratio is kept.
    ratio_request: Any
    ratio_limit: Any
    least: Any
    current_total: Any
    by_usage: Any
    bound: Any
    by_metrics: Any
    used: Any
    by_saturation: Any
    # The least totals, and the fewest replicas, that what is used now leaves.
    kept: Any
    fewest: Any
    # Whether usage is near what pods can get.
    near: Any
    total: Any


def no_hvpa_past() -> HvpaPast:
    past = HvpaPast(*([-1, -1] for _ in HvpaPast._fields))
    return past._replace(
        last_scale=[-inf],
        last_up=[-inf],
        last_down=[-inf],
        swings=[0],
        replicas=[-1],
        recount_at=[-inf],
        recount_before=[0],
        recount_after=[0],
        hot=[inf, inf],
        mean=[-1.0, -1.0],
        mean_at=[-inf, -inf],
        peak=[-1.0, -1.0],
        peak_at=[-inf, -inf],
        used=[0.0, 0.0],
        desired=[0],
        size=[0, 0, -1, -1],
        resizes=[0],
        grows=[0],
        rises=[0],
        fewest=[0],
        near=[0, 0],
    )


# A vote is twice the replicas, plus one if it comes from a total: so the largest number is the vote that counts.
NO_VOTE = -1


def need(of: ResourceRule, past: HvpaPast, r: int) -> int:
    """The largest total that any source asks for."""
    if not of.controlled:
        return UNSET
    return int(max(past.by_usage[r], past.by_metrics[r], past.by_saturation[r]))


def resolve(rule: HvpaRule, past: HvpaPast, current: int, count: int, missing: bool, urgent: bool, now: float) -> None:
    """Combine the votes. What waits only for its time, or changes too little, moves along with the others."""
    past.total[CPU], past.total[MEMORY] = need(rule.cpu, past, CPU), need(rule.memory, past, MEMORY)
    cpu, memory = reached(rule.cpu, past, CPU), reached(rule.memory, past, MEMORY)
    sized = cpu >= 0 or memory >= 0
    way = way_of(
        cpu > past.current_total[CPU] or memory > past.current_total[MEMORY],
        0 <= cpu < past.current_total[CPU] or 0 <= memory < past.current_total[MEMORY],
    )
    gate = gate_of(rule, past, way, missing, urgent, now) if sized else OPEN
    held = gate in HOLDS
    # If something was not measured, the replicas stay: it is unknown whether fewer would suffice.
    vote = 2 * current if held or missing or (not sized and rule.by_usage) else NO_VOTE
    if sized and gate == OPEN:
        vote = max(vote, vote_of(rule, past, way, current))
    if count != FAILED:
        asked = forced_into(count, rule.first, rule.last)
        vote = max(vote, 2 * with_room(past, in_time(rule, past, asked, current, missing, urgent, now), current))
    low, high = rule.first, rule.last
    inside = forced_into(current, low, high)
    if (held and inside < current) or in_time(rule, past, inside, current, missing, urgent, now) != inside:
        low, high = min(low, current), max(high, current)
    settle(rule, past, current, sized and gate == OPEN, way, vote, missing, low, high)
    alone = int(past.desired[0])
    if sized and gate != OPEN and not held and alone != current:
        vote = max(vote, vote_of(rule, past, way, current))
        settle(rule, past, current, True, way, vote, missing, low, high)  # noqa: FBT003  compiled by place
        if not remains(alone, past.desired[0], current):
            past.desired[0] = forced_into(current, low, high)
            keep_size(past)
    if past.resizes[0] and past.desired[0] == current and not is_outcome_enough(rule, past, current, way, urgent):
        keep_size(past)


def is_outcome_enough(rule: HvpaRule, past: HvpaPast, current: int, way: int, urgent: bool) -> bool:
    """Whether a resource that changes enough really gets another amount at the current count."""
    if (
        past.size[CPU] == past.request[CPU]
        and past.size[MEMORY] == past.request[MEMORY]
        and past.size[2] == past.limit[CPU]
        and past.size[3] == past.limit[MEMORY]
    ):
        return True
    cpu = past.total[CPU] >= 0 and past.size[CPU] * current != past.current_total[CPU]
    memory = past.total[MEMORY] >= 0 and past.size[MEMORY] * current != past.current_total[MEMORY]
    rises = (cpu and past.size[CPU] * current > past.current_total[CPU]) or (
        memory and past.size[MEMORY] * current > past.current_total[MEMORY]
    )
    if rises and (urgent or is_saturated(rule, past)):
        return True
    return (cpu and moves_enough(rule.cpu, past, CPU, way)) or (memory and moves_enough(rule.memory, past, MEMORY, way))


def keep_size(past: HvpaPast) -> None:
    """Undo a change of size."""
    past.size[CPU], past.size[MEMORY] = past.request[CPU], past.request[MEMORY]
    past.size[2], past.size[3] = past.limit[CPU], past.limit[MEMORY]
    past.resizes[0] = past.rises[0] = 0


def gate_of(rule: HvpaRule, past: HvpaPast, way: int, missing: bool, urgent: bool, now: float) -> int:
    """Whether the container may move now; the first gate that blocks counts."""
    if way == STAYS:
        return OPEN
    saturated = is_saturated(rule, past)
    enough = moves_enough(rule.cpu, past, CPU, way) or moves_enough(rule.memory, past, MEMORY, way)
    pressing = urgent or saturated
    return movement_gate(way, time_gate(rule, past, way, pressing, now), missing, pressing, enough)


def time_gate(rule: HvpaRule, past: HvpaPast, way: int, urgent: bool, now: float) -> int:
    """Whether a move is allowed at this time; urgency skips stabilisation, upwards only."""
    mode, wait = (rule.mode_up, rule.wait_up) if way == UP else (rule.mode_down, rule.wait_down)
    open_now = mode == IN_WINDOW and rule.begin >= 0 and contains(rule.begin, rule.end, int(now % 86400))
    wait = patience(wait, past.swings[0]) if way == DOWN else wait
    return closed(mode, wait, now - past.last_scale[0], not (urgent and way == UP), open_now)


def reached(of: ResourceRule, past: HvpaPast, r: int) -> int:
    """What can be reached of a total; what exceeds the maximum is no change."""
    return int(reachable(past.total[r], past.current_total[r], of.ceiling))


def is_saturated(rule: HvpaRule, past: HvpaPast) -> bool:
    return bool(
        (rule.cpu.controlled and past.by_saturation[CPU] >= 0)
        or (rule.memory.controlled and past.by_saturation[MEMORY] >= 0)
    )


def moves_enough(of: ResourceRule, past: HvpaPast, r: int, way: int) -> bool:
    total, current_total = reached(of, past, r), past.current_total[r]
    if total < 0:
        return False
    value, percent = (of.up_value, of.up_percent) if way == UP else (of.down_value, of.down_percent)
    needed = needed_change(value, percent, current_total, of.default_change)
    return is_enough(abs(total - current_total), needed)


def in_time(rule: HvpaRule, past: HvpaPast, count: int, current: int, missing: bool, urgent: bool, now: float) -> int:
    """These replicas if the move is allowed now, otherwise the current replicas."""
    timed = time_gate(rule, past, UP if count > current else DOWN, urgent, now)
    return count if count_gate(count, current, timed, missing) == OPEN else current


def vote_of(rule: HvpaRule, past: HvpaPast, way: int, current: int) -> int:
    """The most replicas that any source asks for by any resource; if nothing rises or falls, the current replicas."""
    if way == STAYS:
        return 2 * current
    vote = max(
        resource_vote(rule.cpu, past, CPU, rule.first, current),
        resource_vote(rule.memory, past, MEMORY, rule.first, current),
    )
    if vote == NO_VOTE or not rule.requests_only:
        return vote
    return 2 * with_room(past, vote // 2, current) + 1


def with_room(past: HvpaPast, count: int, current: int) -> int:
    """These replicas, or more if pods that can get no more than now would reach their cap."""
    return max(count, past.fewest[0]) if count < current else count


def resource_vote(of: ResourceRule, past: HvpaPast, r: int, first: int, current: int) -> int:
    if not of.controlled or of.counts == 0:
        return NO_VOTE
    most = NO_VOTE
    if past.by_usage[r] >= 0:
        bound = past.bound[r]
        # A total that was held at what is there asks for no other count.
        stays = bound != FREE and past.by_usage[r] == past.current_total[r]
        most = current if stays else held_to(looked_up(of, first, past.by_usage[r], current), current, bound)
        before, then = past.recount_before[0], past.recount_advice[r]
        if past.recount_at[0] > -inf and past.recount_after[0] > before and then >= 0:
            raised = then * before
            needed = looked_up(of, first, raised, before)
            most = current if keeps_added(past.by_usage[r], raised, most, needed, current) else most
    if past.by_metrics[r] >= 0:
        # A total that is already there asks for no other count.
        stays = past.by_metrics[r] == past.current_total[r]
        most = max(most, current if stays else looked_up(of, first, past.by_metrics[r], current))
    if past.by_saturation[r] >= 0:
        most = max(most, looked_up(of, first, past.by_saturation[r], current))
    return NO_VOTE if most == NO_VOTE else 2 * most + 1


def looked_up(of: ResourceRule, first: int, total: int, current: int) -> int:
    return count_for(first, of.counts, of.lows, of.highs, of.belows, of.pins, total, current)


def settle(
    rule: HvpaRule,
    past: HvpaPast,
    current: int,
    moving: bool,
    way: int,
    vote: int,
    missing: bool,
    low: int,
    high: int,
) -> None:
    """The result of the votes, unless it removes replicas and every remaining pod would have to get larger for it."""
    desired = forced_into(current if vote == NO_VOTE else vote // 2, low, high)
    if moving and way == DOWN and desired < current and grow_while_shrinking(rule, past, current, desired):
        vote = max(vote, 2 * current)
        desired = forced_into(vote // 2, low, high)
        moving = desired != current
    past.desired[0] = desired
    if moving and (way != STAYS or desired != current):
        size_pods(rule, past, current, desired, way, vote, missing)


def grow_while_shrinking(rule: HvpaRule, past: HvpaPast, current: int, fewer: int) -> bool:
    """Whether with fewer replicas every resource of each pod would rise: then no replicas are removed yet."""
    if has_one_size(rule, fewer):
        return False
    return resource_grows(rule.cpu, past, CPU, current, fewer) and resource_grows(
        rule.memory, past, MEMORY, current, fewer
    )


def resource_grows(of: ResourceRule, past: HvpaPast, r: int, current: int, fewer: int) -> bool:
    """A resource without a total does not object."""
    if past.total[r] < 0:
        return True
    return outgrows(past.total[r], past.request[r], current, fewer, of.base_value, of.base_percent)


def size_pods(rule: HvpaRule, past: HvpaPast, current: int, desired: int, way: int, vote: int, missing: bool) -> None:
    """The size of each pod for other replicas or another total."""
    past.resizes[0], past.rises[0] = 1, 1 if way == UP else 0
    # Replicas that come from no total do not spread one: pods keep at least their size.
    spreads = vote == NO_VOTE or vote % 2 == 1
    stays, may_shrink = keeps_size(way, current, desired, spreads), may_get_less(missing, current, desired)
    size_resource(rule, rule.cpu, past, CPU, current, desired, stays, may_shrink)
    size_resource(rule, rule.memory, past, MEMORY, current, desired, stays, may_shrink)


def size_resource(
    rule: HvpaRule,
    of: ResourceRule,
    past: HvpaPast,
    r: int,
    current: int,
    desired: int,
    stays: bool,
    may_shrink: bool,
) -> None:
    """The request of each pod and its limit, within the allowed range."""
    total, old, limit = past.total[r], past.request[r], past.limit[r]
    if total < 0:
        return
    part = part_of(
        total,
        past.current_total[r],
        old,
        current,
        desired,
        of.base_value,
        of.base_percent,
        pinned(rule, of, past, r, desired),
        most_at(rule.first, of.counts, of.mosts, desired),
        stays,
        may_shrink,
        of.grain,
    )
    request = permitted(part.amount, of.least, of.most, limit if rule.requests_only else UNSET)
    past.size[r] = request
    if limit >= 0 and not rule.requests_only and request != old:
        past.size[2 + r] = whole_limit(
            past.ratio_limit[r],
            past.ratio_request[r],
            request,
            of.gap_value,
            of.gap_percent,
            desired,
            of.grain,
        )


def pinned(rule: HvpaRule, of: ResourceRule, past: HvpaPast, r: int, desired: int) -> int:
    """The only size at these replicas; if none is written, the current size."""
    if not has_one_size(rule, desired):
        return UNSET
    n = desired - rule.first
    return int(of.pins[n] if 0 <= n < of.counts else past.request[r])


def has_one_size(rule: HvpaRule, count: int) -> bool:
    """Whether pods have a fixed size at these replicas, so that only replicas change."""
    if count < rule.first:
        return rule.pinned_before
    return count <= rule.last and bool(rule.pinned_at[count - rule.first])
