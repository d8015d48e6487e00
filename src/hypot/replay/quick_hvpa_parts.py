"""What an Hvpa says and remembers, in plain numbers."""

from math import inf
from typing import Any, NamedTuple

from hypot.replay.quick_hpa import HpaRule

CPU, MEMORY = range(2)
# As many counts may have an interval here.
COUNTS = 256


class ResourceRule(NamedTuple):
    """What is written of one resource. Amounts are millicores or bytes; below zero is unset, and so is no `most`."""

    controlled: bool
    half_life: float
    grain: int
    least: int
    most: int
    base_value: int
    base_percent: int
    gap_value: int
    gap_percent: int
    # How far a total must move, up and down.
    default_change: int
    up_value: int
    up_percent: int
    down_value: int
    down_percent: int
    # How many counts have an interval, from the first on, and what each is for.
    counts: int
    lows: Any
    highs: Any
    belows: Any
    pins: Any


class HvpaRule(NamedTuple):
    """An Hvpa in plain numbers."""

    # Whether metrics are a source, which of them make a total, and whether the usage of pods is one.
    by_metrics: bool
    hpa: HpaRule
    totals: Any
    by_usage: bool
    settle: float
    cpu: ResourceRule
    memory: ResourceRule
    # The fewest and the most replicas, and the counts at which pods have one size: those before the first, and each.
    first: int
    last: int
    pinned_before: bool
    pinned_at: Any
    requests_only: bool
    mode_up: int
    mode_down: int
    wait_up: float
    wait_down: float
    # Seconds of the day; below zero where there is no window.
    begin: int
    end: int


class HvpaPast(NamedTuple):
    """What it remembers, and what there is to see of its last decision; columns have one place, or one per resource."""

    # When it last moved, and last got more of anything; minus infinite: never.
    last_scale: Any
    last_up: Any
    # At the last look: how many replicas there were, and which sizes were recommended.
    replicas: Any
    advice: Any
    # The last change of the count, and the sizes that were recommended before it.
    recount_at: Any
    recount_before: Any
    recount_after: Any
    recount_advice: Any
    # The first sample of those that are all at the cap; infinite where none is.
    hot: Any
    # The wish: how many replicas, their size with both limits, whether that is another size, and more of anything.
    desired: Any
    size: Any
    resizes: Any
    grows: Any
    # Scratch: whether more is needed, what the largest pod, the smallest one and all have, what each source asks for in
    # total and which way, and what counts of it.
    rises: Any
    request: Any
    limit: Any
    least: Any
    standing: Any
    by_usage: Any
    bound: Any
    by_metrics: Any
    by_heat: Any
    total: Any


def no_hvpa_past() -> HvpaPast:
    past = HvpaPast(*([-1, -1] for _ in HvpaPast._fields))
    return past._replace(
        last_scale=[-inf],
        last_up=[-inf],
        replicas=[-1],
        recount_at=[-inf],
        recount_before=[0],
        recount_after=[0],
        hot=[inf, inf],
        desired=[0],
        size=[0, 0, -1, -1],
        resizes=[0],
        grows=[0],
        rises=[0],
    )
