"""HorizontalPodAutoscalers of former API versions, read as autoscaling/v2."""

import json
from collections.abc import Container, Iterator, Mapping
from dataclasses import replace
from typing import Any, ClassVar

from hypot.kinds.base import Ref
from hypot.kinds.decode import decode_problems
from hypot.kinds.hpa.status import HPAStatus, HPAStatusV1
from hypot.kinds.identity import AUTOSCALING_V1, AUTOSCALING_V2BETA1, HPA
from hypot.kinds.node import INT32, Node, node, wire
from hypot.kinds.problem import Problem

CURRENT, FORMER = HPA.api_version, HPA.former_versions
_ANNOTATION = "autoscaling.alpha.kubernetes.io/"
_CARRYING = frozenset(
    _ANNOTATION + key
    for key in ("metrics", "behavior", "current-metrics", "conditions", "scale-up-tolerance", "scale-down-tolerance")
)


@node
class _SpecV1(Node):
    GO: ClassVar[str] = "v2.HorizontalPodAutoscalerSpec"

    target: Ref | None = wire("scaleTargetRef", Ref)
    min_replicas: int | None = wire("minReplicas", INT32)
    max_replicas: int | None = wire("maxReplicas", INT32)
    utilization: int | None = wire("targetCPUUtilizationPercentage", INT32)


def misread(data: Mapping[str, Any]) -> Iterator[Problem]:
    """What the decoder of autoscaling/v1 rejects in this manifest but that of v2 would accept, such as metrics."""
    for problem in _foreign(data, "spec", _SpecV1, known=_SpecV1.BY_KEY):
        newer = problem.where[-1] in {"metrics", "behavior"}
        yield (
            replace(problem, hint=f"change apiVersion to {CURRENT}, which has {problem.where[-1]}")
            if newer
            else problem
        )
    yield from _foreign(data, "status", HPAStatusV1, known=HPAStatus.BY_KEY.keys() & HPAStatusV1.BY_KEY.keys())


def _foreign(data: Mapping[str, Any], key: str, of: type[Node], known: Container[str]) -> Iterator[Problem]:
    block = data.get(key)
    if isinstance(block, dict):
        yield from decode_problems(of.read({k: v for k, v in block.items() if k not in known}), (key,))


def upgraded(data: Mapping[str, Any]) -> dict[str, Any]:
    """The manifest as autoscaling/v2. The fields of an unknown version are left as they are."""
    version, spec = data.get("apiVersion"), data.get("spec")
    out = {**data, "apiVersion": CURRENT}
    if version == AUTOSCALING_V1 and (spec is None or isinstance(spec, dict)):
        return _from_v1(out, dict(spec or {}))
    if not isinstance(spec, dict):
        return out
    if version == AUTOSCALING_V2BETA1:
        metrics = spec.get("metrics")
        if isinstance(metrics, list):
            out["spec"] = {**spec, "metrics": [_metric(m) for m in metrics]}
    return out


def _from_v1(out: dict[str, Any], spec: dict[str, Any]) -> dict[str, Any]:
    """The spec has one cpu percentage; everything newer is in annotations as JSON."""
    metrics: list[Any] = []
    percent = spec.pop("targetCPUUtilizationPercentage", None)
    if percent is not None:
        target = {"type": "Utilization", "averageUtilization": percent}
        metrics.append({"type": "Resource", "resource": {"name": "cpu", "target": target}})
    metadata = out.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    if isinstance(annotations, dict) and isinstance(metadata, dict):
        carried = {key: _json(annotations.get(_ANNOTATION + key)) for key in ("metrics", "behavior")}
        if isinstance(carried["metrics"], list):
            metrics = [*(_metric(m) for m in carried["metrics"]), *metrics]
        if isinstance(carried["behavior"], dict) and (behavior := _uncapitalised(carried["behavior"])):
            spec["behavior"] = behavior
        _add_conditions(out, _json(annotations.get(_ANNOTATION + "conditions")))
        kept = {k: v for k, v in annotations.items() if k not in _CARRYING}
        out["metadata"] = {**metadata, "annotations": kept} if kept else _without(metadata, "annotations")
    if metrics:
        spec["metrics"] = metrics
    out["spec"] = spec
    status = out.get("status")
    if isinstance(status, dict):
        out["status"] = _without(status, "currentCPUUtilizationPercentage") or None
    return out


def _add_conditions(out: dict[str, Any], conditions: Any) -> None:
    status = out.get("status")
    if isinstance(status, dict) and isinstance(conditions, list):
        out["status"] = {**status, "conditions": conditions}


def _json(text: Any) -> Any:
    try:
        return json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        return None


def _without(mapping: dict[str, Any], key: str) -> dict[str, Any]:
    return {k: v for k, v in mapping.items() if k != key}


def _uncapitalised(value: Any) -> Any:
    """The behavior annotation spells its keys as Go does, ScaleUp for scaleUp. Its nulls mean absent."""
    if isinstance(value, dict):
        return {k[:1].lower() + k[1:]: _uncapitalised(v) for k, v in value.items() if v is not None}
    return [_uncapitalised(item) for item in value] if isinstance(value, list) else value


def _metric(metric: Any) -> Any:
    """Convert a metric of v2beta1, where the targets were next to the name."""
    if not isinstance(metric, dict):
        return metric
    return {key: _source(key, value) if isinstance(value, dict) else value for key, value in metric.items()}


def _source(kind: str, source: dict[str, Any]) -> dict[str, Any]:
    rest = dict(source)
    out: dict[str, Any] = {}
    if kind == "object" and "target" in rest:
        out["describedObject"] = rest.pop("target")
    if kind in {"object", "pods", "external"}:
        name, selector = rest.pop("metricName", None), rest.pop("metricSelector", rest.pop("selector", None))
        out["metric"] = {k: v for k, v in (("name", name), ("selector", selector)) if v is not None}
    target = _target(rest, kind)
    out.update(rest)
    if target:
        out["target"] = target
    return out


def _target(rest: dict[str, Any], kind: str) -> dict[str, Any]:
    """Move the old target fields out of a source. For Object metrics an average takes precedence over a total."""
    renamed = {
        "targetAverageUtilization": ("Utilization", "averageUtilization"),
        "targetAverageValue": ("AverageValue", "averageValue"),
        "averageValue": ("AverageValue", "averageValue"),
        "targetValue": ("Value", "value"),
    }
    out: dict[str, Any] = {}
    for old, (target, new) in renamed.items():
        if old in rest:
            amount = rest.pop(old)
            if not (kind == "object" and old == "targetValue" and "averageValue" in out):
                out.setdefault("type", target)
                out[new] = amount
    return out
