"""Rules for the metrics of an autoscaler."""

import json
import re
from collections.abc import Iterator, Mapping

from hypot.core.amount import show
from hypot.kinds.hpa.fields import Metric, Target
from hypot.kinds.pod_template import Template
from hypot.kinds.problem import Where, dotted
from hypot.kinds.values.nested import amount
from hypot.lint.input.item import Item
from hypot.lint.input.world import InputWorld, metrics_of
from hypot.lint.rule import BOTH, HPA_ONLY, MEASURING, SIZING, Hit, RuleFamily

METRICS = RuleFamily("Metrics", "Metrics that are accepted but do not do what they seem to do.", kinds=MEASURING)

_MANY_CORES = 8_000
# A maximum may be as large as a node, so that a pod can have all of it.
_LARGEST_NODE = 192_000
_EACH_POD = "for each pod"
_ALL_PERCENT = 100
_IDLE_PERCENT = 5
_MEBIBYTE = 2**20 * 1000


@METRICS.rule(
    "object-target-type",
    "error",
    title="An Object metric whose target type and field disagree",
    why="The API server does not compare them. For Object metrics the controller follows the type, does not find the "
    "field, and fails (FailedGetObjectMetric) at every sync.",
    fix="write type Value with value, or type AverageValue with averageValue",
    example="type Utilization has no matching field here (value is set): the metric always fails with "
    "FailedGetObjectMetric",
)
def object_target_type(world: InputWorld) -> Iterator[Hit]:
    for hpa in world.hpa_sources:
        for where, metric in metrics_of(hpa):
            target = metric.object.target if metric.type == "Object" and metric.object is not None else None
            if target is None or (target.value is None and target.average is None):
                continue
            works = {"Value": target.value, "AverageValue": target.average}.get(target.type or "") is not None
            if target.type in _TARGET_TYPES and not works:
                given = " and ".join(_fields(target))
                message = f"type {target.type} has no matching field here ({given} is set)"
                outcome = "the metric always fails with FailedGetObjectMetric"
                yield Hit(hpa.item, (*where, "object", "target", "type"), f"{message}: {outcome}")


_TARGET_TYPES = ("Utilization", "Value", "AverageValue")


def _fields(target: Target) -> list[str]:
    held = {
        "value": target.value,
        "averageValue": target.average,
        "averageUtilization": target.utilization,
    }
    return [key for key, amount in held.items() if amount is not None]


@METRICS.rule(
    "target-type-mismatch",
    "warning",
    title="A metric whose target type does not match the field that is used",
    why="The API server does not compare them, and outside Object metrics the controller looks at the fields only. "
    "The type misleads readers.",
    fix="write the type that belongs to the field",
    example="type is Utilization, but the controller uses averageValue: write type AverageValue",
)
def target_type_mismatch(world: InputWorld) -> Iterator[Hit]:
    for hpa in world.hpa_sources:
        for where, metric in metrics_of(hpa):
            key, target = _chosen(metric)
            field, expected = _acted_on(key, target)
            if field and target.type in _TARGET_TYPES and target.type != expected:
                message = f"type is {target.type}, but the controller uses {field}: write type {expected}"
                yield Hit(hpa.item, (*where, key, "target", "type"), message)


def _chosen(metric: Metric) -> tuple[str, Target]:
    """The block that the type names, with the target in it; Object has its own rule."""
    sources = {
        "Resource": ("resource", metric.resource),
        "ContainerResource": ("containerResource", metric.container_resource),
        "Pods": ("pods", metric.pods),
        "External": ("external", metric.external),
    }
    key, source = sources.get(metric.type or "", ("", None))
    return key, (source.target if source is not None else None) or Target()


def _acted_on(key: str, target: Target) -> tuple[str, str]:
    if target.average is not None:
        return "averageValue", "AverageValue"
    if key == "external" and target.value is not None:
        return "value", "Value"
    if key in {"resource", "containerResource"} and target.utilization is not None:
        return "averageUtilization", "Utilization"
    return "", ""


@METRICS.rule(
    "duplicate-metric",
    "advice",
    title="The same metric twice",
    why="The largest proposal wins, so of two targets for one metric only the lower has an effect.",
    fix="keep the metric with the lower target",
    example="the same metric as spec.metrics[0]; only the lower of the two targets is used",
)
def duplicate_metric(world: InputWorld) -> Iterator[Hit]:
    for hpa in world.hpa_sources:
        first: dict[str, int] = {}
        for i, (where, metric) in enumerate(metrics_of(hpa)):
            identity = _identity(metric)
            earlier = first.setdefault(identity, i) if identity else i
            if earlier != i:
                same = dotted((*hpa.root, "metrics", earlier))
                yield Hit(hpa.item, where, f"the same metric as {same}; only the lower of the two targets is used")


def _identity(metric: Metric) -> str:
    """What is measured and how it is compared, without the amount of the target."""
    if metric.type == "Object" and metric.object is not None:
        target = metric.object.target or Target()
    else:
        target = _chosen(metric)[1]
    written = metric.write()
    for source in written.values():
        if isinstance(source, dict):
            source.pop("target", None)
    fields = _fields(target)
    return json.dumps([written, fields], sort_keys=True, default=str) if fields else ""


@METRICS.rule(
    "memory-alone",
    "advice",
    title="Memory as the only metric",
    why="Most processes do not give memory back when load falls, and adding pods rarely lowers the memory of the "
    "others. Such an autoscaler scales up and hardly ever down.",
    fix="add a metric that follows load (cpu, requests per second, queue length), or size memory with a "
    "VerticalPodAutoscaler",
    example="memory is the only metric; it rarely falls with the load, so pods are added and hardly ever removed",
    kinds=HPA_ONLY,
)
def memory_alone(world: InputWorld) -> Iterator[Hit]:
    uses: dict[int, list[str]] = {}
    for use in world.resource_uses:
        uses.setdefault(id(use.scaler), []).append(use.metric.resource)
    for hpa in world.hpas:
        resources = uses.get(id(hpa), [])
        if resources and set(resources) == {"memory"} and len(resources) == len(hpa.spec.metrics or ()):
            message = "memory is the only metric; it rarely falls with the load"
            yield Hit(hpa.item, ("spec", "metrics", 0), f"{message}, so pods are added and hardly ever removed")


@METRICS.rule(
    "unit-slip",
    "warning",
    title="An amount that looks like a wrong unit",
    why="Without a unit, cpu is counted in whole cores and memory in bytes: 100 for cpu means a hundred cores, 512 for "
    "memory half a kilobyte.",
    fix="write the unit: 500m for half a core, 512Mi for memory; averageUtilization for a percentage",
    example="averageValue 100 means 100 whole cores for each pod",
    kinds=(*BOTH, *SIZING),
)
def unit_slip(world: InputWorld) -> Iterator[Hit]:
    where: Where
    for use in world.resource_uses:
        where = (*use.metric.where, "target", "averageValue")
        template = world.template_of(use.scaler)
        yield from _slip(use.scaler.item, where, use.metric.resource, use.metric.target.average, template, _EACH_POD)
    for wpa in world.wpas:
        sources = [(i, metric.resource) for i, metric in enumerate(wpa.spec.metrics or ()) if metric.type == "Resource"]
        most = wpa.spec.max_replicas or 1
        average = wpa.spec.algorithm == "average"
        cores, of = (_MANY_CORES, _EACH_POD) if average else (most * _MANY_CORES, "for all pods together")
        for i, source in sources:
            if source is not None:
                where = ("spec", "metrics", i, "resource", "highWatermark")
                yield from _slip(wpa.item, where, source.name or "", source.high, world.template_of(wpa), of, cores)
    if not world.has(SIZING):
        return
    from hypot.lint.rules.sizes import policies_of  # noqa: PLC0415  only where pods are sized

    for one, place, policy in policies_of(world):
        for key, bounds in (("minAllowed", policy.min_allowed), ("maxAllowed", policy.max_allowed)):
            for resource, written in bounds.items() if isinstance(bounds, Mapping) else ():
                where, cores = (*place, key, resource), _LARGEST_NODE if key == "maxAllowed" else _MANY_CORES
                template = world.template_of(one)
                yield from _slip(one.item, where, resource, written, template, "for each container", cores)


def _slip(
    item: Item,
    where: Where,
    resource: str,
    written: object,
    template: Template | None,
    of: str,
    cores: int = _MANY_CORES,
) -> Iterator[Hit]:
    """What an amount means, if that is not what anybody means; for cpu from so many millicores on."""
    held, name = amount(written), where[-1] if where[-1] not in {"cpu", "memory"} else where[-2]
    if held is None or held <= 0:
        return
    if resource == "memory" and held < _MEBIBYTE:
        message = f"{name} {written} means {held // 1000 or held / 1000:g} bytes {of}"
        number = re.sub(r"[^0-9.].*", "", str(written))
        yield Hit(item, where, message, f"write the unit: {number}Mi, or Gi")
    if resource != "cpu" or held < cores or held % 1000 or _is_large(template, held):
        return
    whole = held // 1000
    yield Hit(item, where, f"{name} {written} means {whole} whole cores {of}", _meant(name, whole, template, of))


def _meant(name: object, written: int, template: Template | None, of: str) -> str:
    """What to write instead of so many whole cores: up to 100, a target is probably a percentage of the request."""
    if name not in {"averageValue", "highWatermark"} or written > _ALL_PERCENT or of != _EACH_POD:
        return f"write the unit: {written}m"
    request = template.request("cpu") if template is not None else None
    amount = f"{written} % of the pod's request is {show('cpu', request * written // 100)}" if request else ""
    if name == "averageValue":
        other = amount or "an amount has a unit, such as 500m"
        return f"for a percentage of the request, write type: Utilization and averageUtilization: {written}; {other}"
    return amount or "write an amount of cpu, such as 350m; a watermark is no percentage"


@METRICS.rule(
    "tiny-utilization",
    "warning",
    title="A utilization target that pods exceed even when idle",
    why="A pod that does nothing uses a few percent of its request. With such a target the count goes to maxReplicas, "
    "and stays there.",
    fix="write a percentage such as 70; for an amount, averageValue with its unit",
    example="a target of 1 % is exceeded by pods that do nothing, so the count goes to maxReplicas",
    kinds=MEASURING,
)
def tiny_utilization(world: InputWorld) -> Iterator[Hit]:
    for use in world.resource_uses:
        percent = use.metric.target.utilization
        if percent is not None and 0 < percent <= _IDLE_PERCENT:
            message = f"a target of {percent} % is exceeded by pods that do nothing, so the count goes to maxReplicas"
            yield Hit(use.scaler.item, (*use.metric.where, "target", "averageUtilization"), message)


def _is_large(template: Template | None, cpu: int) -> bool:
    """Whether the pods really have that much cpu."""
    if template is None:
        return False
    return max(template.request("cpu") or 0, template.limit("cpu") or 0) >= cpu
