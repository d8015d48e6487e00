"""The rules for Hvpas: the released controller's checks, and more that prevent harmful settings.

What a schema or CEL can express is also in the generated CRD. That excludes sums of quantities, annotations, and the
rules for metrics and container policies in the templates.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from hypot.core import timeofday
from hypot.core.amount import RESOURCES
from hypot.kinds.base import Ref, target_problems
from hypot.kinds.decode import decode_problems
from hypot.kinds.hpa.fields import Metric
from hypot.kinds.hvpa.fields import (
    MAINTENANCE_WINDOW,
    MODES,
    RECOMMENDATIONS,
    SOURCES,
    Change,
    HPABlock,
    HvpaSpec,
    ResourceChanges,
    ScaleType,
    VPABlock,
    WeightInterval,
)
from hypot.kinds.hvpa.interval_rules import interval_problems
from hypot.kinds.hvpa.intervals import share_of
from hypot.kinds.metadata import metadata_problems
from hypot.kinds.node import Node
from hypot.kinds.problem import Problem, Where, below, in_order, too_many, unsupported
from hypot.kinds.selector import SelectorError, read_selector
from hypot.kinds.vpa.fields import LONGEST_AMOUNT
from hypot.kinds.vpa.knobs import knob_problems
from hypot.kinds.vpa.rules import is_plain, resource_policy_problems, update_policy_problems
from hypot.kinds.wpa.rules import MetricLabelSelector

HPA: Where = ("spec", "hpa")
VPA: Where = ("spec", "vpa")
IN_HPA: Where = (*HPA, "template", "spec")
IN_VPA: Where = (*VPA, "template", "spec")
MAX_WEIGHTS = 50
MAX_METRICS = 15


def spec_problems(hvpa: HvpaSpec) -> Iterator[Problem]:
    """The problems of a spec as it is."""
    yield from target_problems(hvpa.target or Ref(), ("spec", "targetRef"))
    yield from below("not-negative", hvpa.replicas, 0, ("spec", "replicas"))
    yield from _source_problems(hvpa)
    yield from _count_problems(hvpa)
    yield from _size_problems(hvpa)
    scales = _scales(hvpa)
    for where, scale in scales.items():
        yield from _scale_problems(scale, where)
    yield from _window_problems(hvpa, scales)
    yield from changes_problems(hvpa.base, ("spec", "baseResourcesPerReplica"))
    yield from changes_problems(hvpa.limits_gap, ("spec", "limitsRequestsGapScaleParams"))
    if hvpa.vpa is not None:
        yield from changes_problems(hvpa.vpa.limits_gap, (*VPA, "limitsRequestsGapScaleParams"))
    yield from changes_problems(hvpa.overlap, ("spec", "scalingIntervalsOverlap"), most=100)
    yield from interval_problems(hvpa)
    yield from _weight_problems(hvpa)
    yield from _annotation_problems(hvpa.annotations)
    if not hvpa.is_weight_based:
        yield from _unread_problems(hvpa, scales)
        yield from _restless_problems(hvpa)


def _source_problems(hvpa: HvpaSpec) -> Iterator[Problem]:
    for where, block in ((HPA, hvpa.hpa), (VPA, hvpa.vpa)):
        if block is None:
            continue
        if block.deploy is None:
            message = "is absent, which means false: the block is present but not a source of recommendations"
            hint = "write deploy: true, or deploy: false to make this explicit"
            yield Problem("deploy-absent", "Notice", (*where, "deploy"), message, hint=hint, severity="warning")
        yield from _block_problems(block, where)
    if not hvpa.uses_hpa and not hvpa.uses_vpa:
        message = "neither the hpa nor the vpa block is deployed, so nothing is ever recommended"
        hint = "write deploy: true in one of them, or remove the block"
        yield Problem("no-source", "Notice", ("spec",), message, hint=hint, severity="warning")


def _block_problems(block: HPABlock | VPABlock, where: Where) -> Iterator[Problem]:
    template = block.template
    metadata: Mapping[str, Any] = (template.metadata if template is not None else None) or {}
    at = (*where, "template", "metadata")
    if metadata.get("ownerReferences"):
        message = "must not be set: objects created from the template belong to the Hvpa"
        yield Problem("owner-references", "Forbidden", (*at, "ownerReferences"), message)
    texts = {key: metadata[key] for key in ("labels", "annotations") if isinstance(metadata.get(key), dict)}
    if texts:
        for problem in metadata_problems({"name": "named-later", **texts}):
            yield replace(problem, where=(*at, *problem.where[1:]))
    if block.selector is not None:
        yield from _selector_problems(block.selector, texts.get("labels") or {}, where)


def _selector_problems(written: Mapping[str, Any], labels: Mapping[str, str], where: Where) -> Iterator[Problem]:
    unreadable = list(_unreadable_selector(written, (*where, "selector")))
    yield from unreadable
    if not unreadable and not read_selector(written).matches(labels):
        place = (*where, "template", "metadata", "labels")
        yield Problem("selector", "Invalid", place, "must match the selector of this block", dict(labels))


def _unreadable_selector(written: Mapping[str, Any], where: Where) -> Iterator[Problem]:
    unreadable = list(decode_problems(MetricLabelSelector.read(written), where))
    yield from unreadable
    if unreadable:
        return
    try:
        read_selector(written)
    except SelectorError as error:
        yield Problem("selector", "Invalid", where, str(error), written)


def _metric_selector_problems(metrics: Iterable[Metric]) -> Iterator[Problem]:
    """An API server accepts any selector of a metric, and the HPA fails later when it queries the metric."""
    for i, metric in enumerate(metrics):
        for name, w in metric.TABLE:
            named = getattr(getattr(metric, name), "metric", None)
            if named is not None and named.selector is not None:
                where = (*IN_HPA, "metrics", i, w.key, "metric", "selector")
                yield from _unreadable_selector(named.selector, where)


def _count_problems(hvpa: HvpaSpec) -> Iterator[Problem]:
    template = hvpa.hpa_spec
    low, high = template.min_replicas, template.max_replicas
    yield from below("min-replicas", low, 1, (*IN_HPA, "minReplicas"))
    yield from below("max-replicas", high, 1, (*IN_HPA, "maxReplicas"))
    yield from too_many("metric-count", len(template.metrics or ()), MAX_METRICS, (*IN_HPA, "metrics"))
    yield from _metric_selector_problems(template.metrics or ())
    if low is not None and high is not None and 1 <= high < low:
        message = "must be greater than or equal to minReplicas"
        yield Problem("min-over-max", "Invalid", (*IN_HPA, "maxReplicas"), message, high, in_order(low, high))


def _size_problems(hvpa: HvpaSpec) -> Iterator[Problem]:
    """The VPA's own rules for its template. The Hvpa decides when to act, so the mode gets errors but no warnings."""
    template = hvpa.vpa_spec
    if template.update_policy is not None:
        for problem in update_policy_problems(template.update_policy, (*IN_VPA, "updatePolicy")):
            if problem.severity == "error":
                yield problem
    if template.resource_policy is not None:
        yield from resource_policy_problems(template.resource_policy, (*IN_VPA, "resourcePolicy"))
    yield from knob_problems(hvpa.knob_annotations, (*VPA, "template", "metadata", "annotations"))


def _scales(hvpa: HvpaSpec) -> dict[Where, ScaleType]:
    """Both directions of the spec, and the four in the blocks of the released controller."""
    found: dict[Where, ScaleType | None] = {
        ("spec", "scaleUp"): hvpa.scale_up,
        ("spec", "scaleDown"): hvpa.scale_down,
    }
    for where, block in ((HPA, hvpa.hpa), (VPA, hvpa.vpa)):
        if block is not None:
            found |= {(*where, "scaleUp"): block.scale_up, (*where, "scaleDown"): block.scale_down}
    return {where: scale for where, scale in found.items() if scale is not None}


def _scale_problems(scale: ScaleType, where: Where) -> Iterator[Problem]:
    if scale.mode not in MODES:
        place = (*where, "updatePolicy", "updateMode")
        yield Problem("update-mode", "NotSupported", place, unsupported(MODES), scale.mode)
    if scale.stabilization is not None and scale.stabilization_seconds is None:
        message = "must be a duration that is not negative"
        place = (*where, "stabilizationDuration")
        yield Problem("stabilization", "Invalid", place, message, scale.stabilization, "write 90s, 3m or 1h30m")
    yield from changes_problems(scale.min_change, (*where, "minChange"))


def changes_problems(changes: ResourceChanges | None, where: Where, most: int | None = None) -> Iterator[Problem]:
    """The problems of an amount and a percentage for each resource; neither may be negative."""
    for name, w in changes.TABLE if changes is not None else ():
        change: Change | None = getattr(changes, name)
        if change is None:
            continue
        at = (*where, w.key)
        if change.value is not None and not is_plain(change.value):
            message = f"must be a plain quantity of at most {LONGEST_AMOUNT} characters, and not negative"
            yield Problem("quantity", "Invalid", (*at, "value"), message, change.value, "write 200m, 2 or 1.5Gi")
        yield from below("percentage", change.percentage, 0, (*at, "percentage"))
        if most is not None and (change.percentage or 0) > most:
            message = f"must be less than or equal to {most}"
            yield Problem("percentage", "Invalid", (*at, "percentage"), message, change.percentage)


def _window_problems(hvpa: HvpaSpec, scales: Mapping[Where, ScaleType]) -> Iterator[Problem]:
    where: Where = ("spec", "maintenanceTimeWindow")
    if hvpa.window is None:
        waiting = [scale_at for scale_at, scale in scales.items() if scale.mode == MAINTENANCE_WINDOW]
        if waiting:
            message = f"must be set: {waiting[0][-1]} has the mode {MAINTENANCE_WINDOW}"
            hint = "write both, such as begin: 220000+0100 and end: 230000+0100"
            yield Problem("maintenance-window", "Required", where, message, hint=hint)
        return
    for key, text in (("begin", hvpa.window.begin), ("end", hvpa.window.end)):
        if not text:
            yield Problem("maintenance-window", "Required", (*where, key), "must be set")
            continue
        try:
            timeofday.parse(text)
        except ValueError:
            message, hint = "must be HHMMSS and a zone offset", "write 220000+0100 for 10 p.m. in Berlin in winter"
            yield Problem("maintenance-window", "Invalid", (*where, key), message, text, hint)


def _weight_problems(hvpa: HvpaSpec) -> Iterator[Problem]:
    where: Where = ("spec", "weightBasedScalingIntervals")
    weights = hvpa.weights or ()
    if weights and hvpa.intervals:
        message = "must not be used together with scalingIntervals, which replace it"
        yield Problem("weights-and-intervals", "Forbidden", where, message, hint="keep scalingIntervals")
    yield from too_many("weight", len(weights), MAX_WEIGHTS, where)
    for i, one in enumerate(weights):
        yield from _weight_interval_problems(hvpa, one, (*where, i))


def _weight_interval_problems(hvpa: HvpaSpec, one: WeightInterval, where: Where) -> Iterator[Problem]:
    if not 0 <= (one.vpa_weight or 0) <= 100:
        yield Problem("weight", "Invalid", (*where, "vpaWeight"), "must be between 0 and 100", one.vpa_weight)
    yield from below("weight", one.start, 0, (*where, "startReplicaCount"))
    yield from below("weight", one.last, 0, (*where, "lastReplicaCount"))
    first, last = one.start or hvpa.min_replicas, one.last or hvpa.max_replicas
    if last is not None and 0 <= last < first:
        message = f"must not be below the first count of the interval, which is {first}"
        yield Problem("weight", "Invalid", (*where, "lastReplicaCount"), message, last)


def _annotation_problems(annotations: Mapping[str, Any]) -> Iterator[Problem]:
    written = annotations.get(RECOMMENDATIONS)
    if written is not None and written not in SOURCES:
        place = ("metadata", "annotations", RECOMMENDATIONS)
        yield Problem("recommendations", "NotSupported", place, unsupported(SOURCES), written)


def _unread_problems(hvpa: HvpaSpec, scales: Mapping[Where, ScaleType]) -> Iterator[Problem]:
    """Fields of the released controller that have moved to the top level of the spec."""
    released: dict[Where, Node | None] = {where: scale for where, scale in scales.items() if len(where) > 2}
    if hvpa.vpa is not None:
        released[*VPA, "limitsRequestsGapScaleParams"] = hvpa.vpa.limits_gap
    for where, part in released.items():
        if _says_something(part):
            message = f"is ignored when scalingIntervals are set: spec.{where[-1]} is used"
            yield Problem(
                "unread-field", "Notice", where, message, hint=f"move it to spec.{where[-1]}", severity="warning"
            )


def _restless_problems(hvpa: HvpaSpec) -> Iterator[Problem]:
    """Usage is never exactly the same twice, so without a minimum change sizes never rest."""
    for key, scale in (("scaleUp", hvpa.scale_up), ("scaleDown", hvpa.scale_down)):
        changes = scale.min_change if scale is not None else None
        for resource in RESOURCES if changes is not None else ():
            share = share_of(changes, resource)
            if 0 in {share.value, share.percent}:
                message = "is 0, so every little change of usage changes the size of pods"
                hint = "write 5 percent or more, or leave it out for 200m and 200M"
                where = ("spec", key, "minChange", resource)
                yield Problem("min-change", "Notice", where, message, hint=hint, severity="warning")


def _says_something(part: Any) -> bool:
    """Whether it contains any value. Go writes empty blocks too."""
    if isinstance(part, Node):
        return any(_says_something(getattr(part, name)) for name, _ in part.TABLE)
    return part is not None
