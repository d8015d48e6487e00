"""Rules for WatermarkPodAutoscalers: what their controller does silently."""

import json
from collections import defaultdict
from collections.abc import Iterator

from hypot.core.dataclass import dataclass
from hypot.kinds.base import FALSE_WORDS, TRUE_WORDS
from hypot.kinds.problem import Where, some
from hypot.kinds.selector import Selector, selector_of
from hypot.kinds.values.nested import amount
from hypot.kinds.wpa import DEFAULTS, WPA
from hypot.kinds.wpa.fields import LIFECYCLE_CONTROL, SKIP_OWNER_CHECK, BandMetric, ResourceBand
from hypot.kinds.wpa.pods import missed_pods
from hypot.lint.input.item import annotation_places
from hypot.lint.input.labels import SelectorIndex
from hypot.lint.input.world import Autoscaler, InputWorkload, InputWorld
from hypot.lint.rule import WPA_ONLY, Hit, RuleFamily

WATERMARKS = RuleFamily("Watermarks", "What the WatermarkPodAutoscaler's controller does silently.", kinds=WPA_ONLY)

_LOG_ATTRIBUTES = "wpa.datadoghq.com/logs-attributes"


def _metrics(wpa: Autoscaler[WPA]) -> Iterator[tuple[Where, BandMetric]]:
    for i, metric in enumerate(wpa.spec.metrics or ()):
        yield ("spec", "metrics", i), metric


def _resources(world: InputWorld) -> Iterator[tuple[Autoscaler[WPA], Where, ResourceBand]]:
    for wpa in world.wpas:
        for where, metric in _metrics(wpa):
            if metric.type == "Resource" and metric.resource is not None:
                yield wpa, (*where, "resource"), metric.resource


@WATERMARKS.rule(
    "wpa-selector-misses-pods",
    "error",
    title="A Resource metric whose selector does not match the target's pods",
    why="metricSelector chooses the pods that are measured. If it does not match the labels of the target's pods there "
    "is no sample, or a sample of other pods, and one failing metric fails the whole sync.",
    fix="write the labels of the target's pods",
    example="the selector does not match the pods of Deployment shop/web (labels app=web)",
)
def wpa_selector_misses_pods(world: InputWorld) -> Iterator[Hit]:
    for wpa, where, source in _resources(world):
        template = world.template_of(wpa)
        missed = "" if template is None else missed_pods(source, template, wpa.target)
        if missed:
            yield Hit(wpa.item, (*where, "metricSelector"), missed)


@WATERMARKS.rule(
    "wpa-selector-too-wide",
    "warning",
    title="A Resource metric whose selector also matches other pods",
    why="metricSelector chooses the pods that are measured, and their usage is added up regardless of their owner. An "
    "empty selector adds up the whole namespace.",
    fix="write labels that only the target's pods have",
    example="an empty selector adds up the cpu of every pod in namespace shop",
)
def wpa_selector_too_wide(world: InputWorld) -> Iterator[Hit]:
    narrow = []
    for wpa, where, source in _resources(world):
        selector, at = selector_of(source.selector), (*where, "metricSelector")
        if selector is not None and selector.requirements:
            narrow.append((wpa.item.namespace, selector, _Chosen(wpa, at, selector)))
        elif selector is not None:
            message = f"an empty selector adds up the {source.name} of every pod in namespace {wpa.item.namespace}"
            yield Hit(wpa.item, at, message)
    yield from _taken_in(world, SelectorIndex(narrow)) if narrow else ()


@dataclass(frozen=True, slots=True, eq=False)
class _Chosen:
    """The pods that one metric measures."""

    wpa: Autoscaler[WPA]
    where: Where
    selector: Selector

    def own(self, world: InputWorld) -> bool:
        target = world.target_of(self.wpa)
        return target is not None and target.template is not None and self.selector.matches(target.template.labels)


def _taken_in(world: InputWorld, index: SelectorIndex[_Chosen]) -> Iterator[Hit]:
    """Workloads with equal labels are matched by the same selectors, so they are handled together."""
    alike: dict[int, tuple[tuple[_Chosen, ...], list[InputWorkload]]] = {}
    for key, workload in world.workloads.items():
        if workload.template is not None and not workload.item.controlled:
            matching = index.matching(key.namespace, workload.template.labels)
            alike.setdefault(id(matching), (matching, []))[1].append(workload)
    groups: dict[_Chosen, list[tuple[InputWorkload, ...]]] = defaultdict(list)
    for matching, workloads in alike.values():
        for chosen in matching:
            groups[chosen].append(world.met_by(chosen.wpa.item, tuple(workloads)))
    for chosen, taken in groups.items():
        total = sum(len(workloads) for workloads in taken) - chosen.own(world)
        if total > 0:
            others = (one.key for workloads in taken for one in workloads if one.key != chosen.wpa.target)
            names = some(others, total)
            yield Hit(
                chosen.wpa.item, chosen.where, f"the selector also matches the pods of {names}, so their usage is added"
            )


@WATERMARKS.rule(
    "wpa-absolute-resource",
    "warning",
    title="A Resource metric under the absolute algorithm",
    why="absolute compares the sum over all pods with the watermarks and then multiplies by the number of pods again: "
    "three pods at 90 with a high watermark of 40 become 21. It is the default algorithm.",
    fix="write algorithm: average, which compares the usage per pod",
    example="algorithm absolute compares the sum over all pods, not the usage of one, with the watermarks",
)
def wpa_absolute_resource(world: InputWorld) -> Iterator[Hit]:
    for wpa, where, _ in _resources(world):
        if (wpa.written.algorithm or "absolute") == "absolute":
            message = "algorithm absolute compares the sum over all pods, not the usage of one, with the watermarks"
            yield Hit(wpa.item, where, message)


@WATERMARKS.rule(
    "wpa-zero-tolerance",
    "warning",
    title="A tolerance of 0 means 10 %",
    why="The controller treats 0 as absent and fills in its default of 10 %.",
    fix="write a small tolerance such as 1m",
    example="a tolerance of 0 counts as absent and becomes 10 %",
)
def wpa_zero_tolerance(world: InputWorld) -> Iterator[Hit]:
    for wpa in world.wpas:
        if amount(wpa.spec.tolerance) == 0:
            yield Hit(wpa.item, ("spec", "tolerance"), "a tolerance of 0 counts as absent and becomes 10 %")


@WATERMARKS.rule(
    "wpa-ignored-block",
    "warning",
    title="A metric with a block that its type does not name",
    why="Only the block of the type is read; the other looks as if it had an effect.",
    fix="make it a metric of its own, or remove it",
    example="type Resource reads the resource block only; external is ignored",
)
def wpa_ignored_block(world: InputWorld) -> Iterator[Hit]:
    for wpa in world.wpas:
        for where, metric in _metrics(wpa):
            if metric.external is None or metric.resource is None or metric.source is None:
                continue
            read, ignored = ("external", "resource") if metric.type == "External" else ("resource", "external")
            message = f"type {metric.type} reads the {read} block only; {ignored} is ignored"
            yield Hit(wpa.item, (*where, ignored), message)


@WATERMARKS.rule(
    "wpa-skip-verify",
    "warning",
    title="insecureSkipVerify is never applied",
    why="The controller accepts the field and verifies the recommender's certificate all the same.",
    fix="give the recommender's certificate authority in caFile",
    example="insecureSkipVerify is accepted and never applied: the certificate is verified",
)
def wpa_skip_verify(world: InputWorld) -> Iterator[Hit]:
    for wpa in world.wpas:
        tls = wpa.spec.recommender.tls if wpa.spec.recommender is not None else None
        if tls is not None and tls.insecure_skip_verify:
            message = "insecureSkipVerify is accepted and never applied: the certificate is verified"
            yield Hit(wpa.item, ("spec", "recommender", "tlsConfig", "insecureSkipVerify"), message)


@WATERMARKS.rule(
    "wpa-one-mark",
    "advice",
    title="Only one watermark",
    why="The missing watermark is copied from the other, so the band is a point: the metric acts as the target of a "
    "HorizontalPodAutoscaler, rounded up in both directions, with only the tolerance to prevent constant changes.",
    fix="write both watermarks; the range between them is the purpose of this kind",
    example="without lowWatermark the band is one point, and the metric acts as a plain target",
)
def wpa_one_mark(world: InputWorld) -> Iterator[Hit]:
    for wpa in world.wpas:
        for where, metric in _metrics(wpa):
            source, key = metric.source, (metric.type or "").lower()
            if source is None or (source.high is None) == (source.low is None):
                continue
            missing = "highWatermark" if source.high is None else "lowWatermark"
            # A watermark of a wrong type is there, and reported as that.
            if (*where, key, missing) not in {place for place, *_ in wpa.written.misfits(("spec",))}:
                message = f"without {missing} the band is one point, and the metric acts as a plain target"
                yield Hit(wpa.item, (*where, key), message)


@WATERMARKS.rule(
    "wpa-dry-run",
    "advice",
    title="Dry run is on",
    why="Decisions are made and reported, but nothing is written to the target.",
    fix="remove dryRun to let the autoscaler act",
    example="dryRun is on: the target is never changed",
)
def wpa_dry_run(world: InputWorld) -> Iterator[Hit]:
    for wpa in world.wpas:
        if wpa.spec.dry_run:
            yield Hit(wpa.item, ("spec", "dryRun"), "dryRun is on: the target is never changed")


@WATERMARKS.rule(
    "wpa-slow-scale-up",
    "advice",
    title="Upscaling waits longer than downscaling",
    why="Adding pods late costs requests, removing them late costs money; the longer wait is nearly always intended "
    "for scale-down. Each window starts with any move, in either direction.",
    fix="swap the two windows",
    example="after any move pods are added only after 600 seconds but removed after 300",
)
def wpa_slow_scale_up(world: InputWorld) -> Iterator[Hit]:
    for wpa in world.wpas:
        up, down = (
            wpa.spec.up_forbidden_window or DEFAULTS["up_forbidden_window"],
            wpa.spec.down_forbidden_window or DEFAULTS["down_forbidden_window"],
        )
        if up > down:
            message = f"after any move pods are added only after {up} seconds but removed after {down}"
            key = "upscale" if wpa.spec.up_forbidden_window is not None else "downscale"
            yield Hit(wpa.item, ("spec", f"{key}ForbiddenWindowSeconds"), message)


@WATERMARKS.rule(
    "wpa-annotation",
    "warning",
    title="An annotation whose value the controller does not understand",
    why="lifecycle-control.enabled takes a Go boolean, skip-owner-check exactly true, logs-attributes a JSON object. "
    "Anything else is ignored.",
    fix='write "true" or "false"; for logs-attributes a JSON object',
    example='"yes" is not a boolean, so lifecycle control stays off',
)
def wpa_annotation(world: InputWorld) -> Iterator[Hit]:
    for wpa in world.wpas:
        for where, value in annotation_places(wpa.item, LIFECYCLE_CONTROL):
            if value not in TRUE_WORDS | FALSE_WORDS:
                yield Hit(wpa.item, where, f"{json.dumps(value)} is not a boolean, so lifecycle control stays off")
        for where, value in annotation_places(wpa.item, SKIP_OWNER_CHECK):
            if value != "true" and value.lower() in {"true", "1", "t", "yes", "y", "on"}:
                yield Hit(wpa.item, where, f"only the word true counts, so {json.dumps(value)} changes nothing")
        for where, value in annotation_places(wpa.item, _LOG_ATTRIBUTES):
            if not _is_json_object(value):
                yield Hit(wpa.item, where, "not a JSON object, so no attribute is added to the log")


def _is_json_object(value: str) -> bool:
    try:
        return isinstance(json.loads(value), dict)
    except (ValueError, RecursionError):
        return False
