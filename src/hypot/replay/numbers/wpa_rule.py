"""A WatermarkPodAutoscaler as the plain numbers of the numeric step, if that covers everything it asks for."""

from collections.abc import Mapping
from typing import NamedTuple

from hypot.core.quantity import milli
from hypot.core.replicas.watermark import STAY
from hypot.kinds.wpa import WPA, with_defaults
from hypot.kinds.wpa.fields import LIFECYCLE_CONTROL, BandMetric, ExternalBand, marks_of
from hypot.policy.hold import needs_whole_decisions
from hypot.policy.horizontal.wpa import is_urgent
from hypot.policy.horizontal.wpa_metrics import TOWARDS
from hypot.replay.numbers.wpa import CPU, EXTERNAL, MEMORY, WpaRule
from hypot.replay.world.parameters import Signal
from hypot.replay.world.signals import SIGNALS

_RESOURCES = {"cpu": CPU, "memory": MEMORY}


class _Line(NamedTuple):
    source: int
    signal: int
    high: int
    low: int
    single: bool


def rule_of(wpa: WPA, names: Mapping[str, Signal]) -> WpaRule | None:
    """None if only the full decision works."""
    full = with_defaults(wpa)
    special = full.recommender is not None or full.dry_run or is_urgent(full) or LIFECYCLE_CONTROL in full.annotations
    return None if special or needs_whole_decisions(full.annotations) else marks_rule(wpa, names)


def marks_rule(wpa: WPA, names: Mapping[str, Signal]) -> WpaRule | None:
    """Only its watermarks, whatever else it asks for; None if the numeric step cannot measure some."""
    full = with_defaults(wpa)
    lines = [_line(metric, names) for metric in full.metrics or ()]
    known = [line for line in lines if line is not None]
    if not known or len(known) < len(lines) or not full.min_replicas or not full.max_replicas:
        return None
    return WpaRule(
        len(known),
        [line.source for line in known],
        [line.signal for line in known],
        [line.high for line in known],
        [line.low for line in known],
        [line.single for line in known],
        full.algorithm == "average",
        milli(full.tolerance or 0),
        full.modulo or 1,
        TOWARDS.get(full.converge or "", STAY),
        full.min_replicas,
        full.max_replicas,
        milli(full.up_factor or 0),
        milli(full.down_factor or 0),
        float(full.up_forbidden_window or 0),
        float(full.down_forbidden_window or 0),
        full.up_delay or 0,
        full.down_delay or 0,
        float(full.readiness_delay or 0),
        full.min_available or 0,
        bool(full.tolerate_zero),
    )


def _line(metric: BandMetric, names: Mapping[str, Signal]) -> _Line | None:
    source = metric.source
    if source is None:
        return None
    high, low = marks_of(source.high, source.low)
    if high is None or low is None or milli(high) <= 0:
        return None
    single = source.high is None or source.low is None
    if isinstance(source, ExternalBand):
        name = source.name or ""
        return _Line(EXTERNAL, SIGNALS[names[name]], milli(high), milli(low), single) if name in names else None
    if source.name not in _RESOURCES or (source.selector or {}):
        return None
    return _Line(_RESOURCES[source.name], 0, milli(high), milli(low), single)


def first_metric(wpa: WPA) -> str:
    """The name of the first metric."""
    source = (wpa.metrics or (BandMetric(),))[0].source
    return "" if source is None else str(source.name)
