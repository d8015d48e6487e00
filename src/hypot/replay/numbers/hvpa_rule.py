"""An Hvpa as the plain numbers of the numeric step, if that covers everything it asks for; and its state."""

from collections.abc import Mapping, Sequence
from math import inf
from typing import Any

from hypot.core.amount import RESOURCES
from hypot.core.axes.gate import UNSET
from hypot.kinds.hpa.defaults import with_defaults
from hypot.kinds.hvpa import Hvpa, hpa_of
from hypot.kinds.hvpa.fields import MODES as WRITTEN_MODES
from hypot.kinds.hvpa.fields import OWN
from hypot.kinds.hvpa.intervals import Share, counts_of, intervals_of, largest_total, only_counts_at, share, share_of
from hypot.kinds.vpa.allowed import allowed
from hypot.kinds.vpa.knobs import knobs_of
from hypot.policy.hold import needs_whole_decisions
from hypot.policy.hvpa.count_source import utilization_metric
from hypot.policy.hvpa.gates import DEFAULT_LEAST_CHANGE, MODES, scale_type, settle_time
from hypot.policy.hvpa.hvpa import forbidding
from hypot.policy.hvpa.resolve import GRAINS
from hypot.policy.model.settings import Settings
from hypot.policy.model.state import RecentUse, Recount, State, Vertical
from hypot.replay.numbers import hpa_rule
from hypot.replay.numbers.hpa import HpaRule, NumericPace
from hypot.replay.numbers.hvpa_resolve import HvpaPast, HvpaRule, ResourceRule
from hypot.replay.world.parameters import Signal

_NO_PACE = NumericPace(
    window=0.0, disabled=True, least=False, policies=0, percents=[False], values=[0], periods=[0.0], longest=0.0
)
# The largest amount and percentage whose products fit into a 64-bit integer for thousands of replicas.
MOST_WRITTEN, MOST_PERCENT = 2**43, 10_000
# Used if metrics are not a source.
NO_HPA = HpaRule(
    metrics=0,
    sources=[0],
    subjects=[0],
    targets=[0],
    low=1,
    high=1,
    down=0.0,
    up=0.0,
    behavior=False,
    window=0.0,
    pace_up=_NO_PACE,
    pace_down=_NO_PACE,
    factor=0.0,
    floor=0.0,
    cpu_period=0.0,
    readiness_delay=0.0,
)


def rule_of(
    hvpa: Hvpa, container: str, cpu_limit: int | None, names: Mapping[str, Signal], settings: Settings
) -> HvpaRule | None:
    """None if only the full decision works: it refuses, reads other objects, or its numbers are too large.

    `cpu_limit` counts only if limits are fixed.
    """
    if not _is_covered(hvpa, container):
        return None
    hpa = NO_HPA
    totals = [0]
    if hvpa.uses_hpa:
        written = with_defaults(hpa_of(hvpa), settings.kubernetes, settings.gates)
        found = hpa_rule.rule_of(written, container, names, settings)
        if found is None:
            return None
        hpa = found._replace(high=written.max_replicas or 1)
        by_total = [utilization_metric(metric) for metric in written.metrics or ()]
        # Where the size may not change, a utilization votes for a count like any other metric.
        controlled = allowed(hvpa, container).controlled
        totals = [int(metric is not None and metric.resource in controlled) for metric in by_total]
    limits = (cpu_limit, None)
    cpu, memory = (_resource_rule(hvpa, container, *each, settings) for each in zip(RESOURCES, limits, strict=True))
    if not _is_modest(cpu) or not _is_modest(memory):
        return None
    low, high = counts_of(hvpa)
    up, down = scale_type(hvpa, "up"), scale_type(hvpa, "down")
    begin, end = (hvpa.window.bounds if hvpa.window else None) or (UNSET, UNSET)
    return HvpaRule(
        by_metrics=hvpa.uses_hpa,
        hpa=hpa,
        totals=totals,
        by_usage=hvpa.uses_vpa,
        settle=float(settle_time(hvpa)),
        cpu=cpu,
        memory=memory,
        first=low,
        last=high,
        pinned_before=only_counts_at(hvpa, low - 1),
        pinned_at=[int(only_counts_at(hvpa, count)) for count in range(low, high + 1)],
        requests_only=allowed(hvpa, container).requests_only,
        mode_up=MODES[up.mode],
        mode_down=MODES[down.mode],
        wait_up=up.stabilization_seconds or 0.0,
        wait_down=down.stabilization_seconds or 0.0,
        begin=begin,
        end=end,
    )


def _is_covered(hvpa: Hvpa, container: str) -> bool:
    if needs_whole_decisions(hvpa.annotations) or forbidding(hvpa):
        return False
    if hvpa.is_weight_based or hvpa.recommendations != OWN:
        return False
    modes = {scale_type(hvpa, "up").mode, scale_type(hvpa, "down").mode}
    low, high = counts_of(hvpa)
    return modes.issubset(WRITTEN_MODES) and not allowed(hvpa, container).switched_off and low <= high


def _resource_rule(hvpa: Hvpa, container: str, resource: str, limit: int | None, settings: Settings) -> ResourceRule:
    bounds, knobs = allowed(hvpa, container), knobs_of(hvpa, container, settings.vpa)
    intervals = intervals_of(hvpa, container, resource, limit)
    base = share(hvpa, "base", resource).both
    up, down = (share_of(scale_type(hvpa, way).min_change, resource) for way in ("up", "down"))
    return ResourceRule(
        resource in bounds.controlled,
        float(knobs.cpu_half_life if resource == "cpu" else knobs.memory_half_life),
        knobs.pod_min_cpu if resource == "cpu" else knobs.pod_min_memory,
        GRAINS[resource],
        bounds.least.get(resource, 0),
        bounds.most.get(resource, 0),
        *base,
        *_given(share(hvpa, "limits_gap", resource)),
        DEFAULT_LEAST_CHANGE[resource],
        *_given(up),
        *_given(down),
        len(intervals),
        [one.low for one in intervals],
        [one.high for one in intervals],
        [one.below for one in intervals],
        [one.pinned for one in intervals],
        [one.most for one in intervals],
        largest_total(hvpa, container, resource, limit),
    )


def _is_modest(of: ResourceRule) -> bool:
    amounts = (
        of.least,
        of.most,
        of.base_value,
        of.gap_value,
        of.up_value,
        of.down_value,
        of.floor,
        *of.pins,
        *of.mosts,
    )
    percents = (of.base_percent, of.gap_percent, of.up_percent, of.down_percent)
    return max(amounts) <= MOST_WRITTEN and max(percents) <= MOST_PERCENT and max(of.highs, default=0) <= 2**53


def _given(written: Share) -> tuple[int, int]:
    value, percent = (UNSET if one is None else one for one in written)
    return value, percent


def state_of(past: HvpaPast, container: str) -> State:
    """The same state, in the form that the full decision reads."""
    advice = _advised(container, past.advice)
    recounted = past.recount_at[0] > -inf
    counts = (past.recount_before[0], past.recount_after[0])
    return State(
        last_scale=_time(past.last_scale[0]),
        vertical=Vertical(
            last_up=_time(past.last_up[0]),
            last_down=_time(past.last_down[0]),
            swings=past.swings[0],
            replicas=None if past.replicas[0] < 0 else past.replicas[0],
            advice=advice,
            recount=Recount(past.recount_at[0], *counts, _advised(container, past.recount_advice))
            if recounted
            else None,
            hot={f"{container}/{r}": first for r, first in zip(RESOURCES, past.hot, strict=True) if first < inf},
            recent={
                f"{container}/{name}": RecentUse(past.mean[r], past.mean_at[r], past.peak[r], past.peak_at[r])
                for r, name in enumerate(RESOURCES)
                if past.mean[r] >= 0.0
            },
        ),
    )


def _time(at: float) -> float | None:
    return None if at == -inf else at


def _advised(container: str, column: Sequence[Any]) -> dict[str, dict[str, int]]:
    known = {resource: amount for resource, amount in zip(RESOURCES, column, strict=True) if amount >= 0}
    return {container: known} if known else {}
