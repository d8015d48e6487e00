"""JSON schemas (draft 2020-12) for editors and checkers of YAML, from the same tables as the CRDs.

They are stricter than a CRD where an editor should complain early: an unknown field is an error, and `type` must name
the block that is there. They leave out what only CEL can express; `hypot lint` checks all of it.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from hypot.kinds.base import Kind, Ref
from hypot.kinds.catalogue import KindInfo, autoscalers, facts_of
from hypot.kinds.crd import ONLY_NUMBERS_AND_TEXT, Facts, Place, Schema, root_schema, schema_of
from hypot.kinds.hpa import HPA
from hypot.kinds.hpa.fields import (
    ContainerResourceSource,
    ExternalSource,
    Limit,
    Metric,
    ObjectSource,
    PodsSource,
    ResourceSource,
    ScalingRules,
    Target,
)
from hypot.kinds.hpa.rules import METRIC_TYPES
from hypot.kinds.hvpa.crd import behavior_hints
from hypot.kinds.meta import LabelSelector, MetricName, ObjectMeta
from hypot.kinds.node import QUANTITY, QUANTITY_PATTERN, Node, Scalar

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_NUMBER_OR_TEXT = ["number", "string"]
_PRESERVED, _INT_OR_STRING = "x-kubernetes-preserve-unknown-fields", "x-kubernetes-int-or-string"
# An HPA accepts a number with a fraction as a quantity.
_QUANTITY = Scalar(QUANTITY.go, {"type": _NUMBER_OR_TEXT, "pattern": QUANTITY_PATTERN}, QUANTITY.fits, QUANTITY.want)
_ABOVE_ZERO: Schema = {"exclusiveMinimum": 0, "allOf": [{"pattern": r"^\+?[0.]*[1-9]"}]}
_PERCENT, _AVERAGE, _VALUE = ({"required": [key]} for key in ("averageUtilization", "averageValue", "value"))


def editor_schema(info: KindInfo) -> Schema:
    """The schema of one kind, with its apiVersion and kind fixed."""
    kind = info.kind
    root = root_schema(kind, facts_of(kind)) if info.crd else _hpa_root()
    properties = {
        **root["properties"],
        "apiVersion": {"const": kind.API_VERSION},
        "kind": {"const": kind.KIND},
        "metadata": {"description": "name, namespace, labels and annotations", **schema_of(ObjectMeta, _METADATA)},
        "status": {"type": "object", "description": "what the controller observed and did"},
    }
    title = {"title": f"{kind.KIND} {kind.API_VERSION}"}
    return {
        "$schema": DIALECT,
        **title,
        **_strict({**root, "required": ["apiVersion", "kind", "spec"], "properties": properties}),
    }


def editor_schemas() -> dict[str, Schema]:
    """The schemas of all autoscalers by file name, as kubeconform and editors expect it: kind-group-version.json."""
    return {_file_name(info.kind): editor_schema(info) for info in autoscalers()}


def schema_of_all() -> Schema:
    """One schema for files with objects of any of these kinds; `kind` says which applies."""
    schemas = [editor_schema(info) for info in autoscalers()]
    names = [schema["properties"]["kind"]["const"] for schema in schemas]
    chosen = [{"if": {"properties": {"kind": {"const": name}}}, "then": {"$ref": f"#/$defs/{name}"}} for name in names]
    defined = {
        name: {k: v for k, v in schema.items() if k != "$schema"} for name, schema in zip(names, schemas, strict=True)
    }
    return {
        "$schema": DIALECT,
        "title": "Autoscalers",
        "type": "object",
        "required": ["apiVersion", "kind"],
        "properties": {"kind": {"enum": names}},
        "allOf": chosen,
        "$defs": defined,
    }


def _file_name(kind: type[Kind]) -> str:
    group, _, version = kind.API_VERSION.partition("/")
    return f"{kind.KIND}-{group.partition('.')[0]}-{version}.json".lower()


def _hpa_root() -> Schema:
    root = root_schema(HPA, _HPA_FACTS)
    # A type, and the block of this type.
    root["properties"]["spec"]["properties"]["metrics"]["items"]["maxProperties"] = 2
    return root


_NAME: Schema = {"pattern": "^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$", "maxLength": 253}
_METADATA = Facts(doc="", status={}, hints={(ObjectMeta, "name"): _NAME})
_TARGETS: dict[type[Node], Schema] = {
    ResourceSource: {"oneOf": [_PERCENT, _AVERAGE]},
    ContainerResourceSource: {"oneOf": [_PERCENT, _AVERAGE]},
    PodsSource: _AVERAGE,
    ObjectSource: {"anyOf": [_VALUE, _AVERAGE]},
    ExternalSource: {"oneOf": [_VALUE, _AVERAGE]},
}


def _hpa_hints() -> Iterator[tuple[Place, Schema]]:
    yield (HPA, "scaleTargetRef"), {"description": "the workload to scale; anything with a scale subresource"}
    yield (HPA, "minReplicas"), {"description": "1 if absent; 0 needs an Object or External metric", "minimum": 0}
    yield (HPA, "maxReplicas"), {"description": "never more than this; not below minReplicas", "minimum": 1}
    yield (HPA, "metrics"), {"description": "the largest proposal is used; cpu at 80 % if absent"}
    yield (HPA, "behavior"), {"description": "how fast to scale"}
    yield (Metric, "type"), {"description": "which block is used", "enum": list(METRIC_TYPES)}
    yield (Target, "type"), {"enum": ["Utilization", "Value", "AverageValue"]}
    yield (Target, "averageUtilization"), {"minimum": 1}
    yield (Target, "value"), _ABOVE_ZERO
    yield (Target, "averageValue"), _ABOVE_ZERO
    yield (MetricName, "name"), {"pattern": "^[^/%]+$"}
    for source, schema in _TARGETS.items():
        yield (source, "target"), schema
    for source in (ResourceSource, ContainerResourceSource):
        yield (source, "name"), {"description": "cpu or memory", "minLength": 1}
    yield (ContainerResourceSource, "container"), {"description": "the container", "minLength": 1}
    yield from behavior_hints()


_HPA_FACTS = Facts(
    doc="Scales the number of pods of a workload by metrics.",
    status={},
    required={
        HPA: ("scaleTargetRef", "maxReplicas"),
        Ref: ("kind", "name"),
        Metric: ("type",),
        Target: ("type",),
        Limit: ("type", "value", "periodSeconds"),
        MetricName: ("name",),
        ResourceSource: ("name", "target"),
        ContainerResourceSource: ("name", "container", "target"),
        PodsSource: ("metric", "target"),
        ObjectSource: ("describedObject", "metric", "target"),
        ExternalSource: ("metric", "target"),
    },
    hints=dict(_hpa_hints()),
    shapes={
        (MetricName, "selector"): LabelSelector,
        (ScalingRules, "tolerance"): _QUANTITY,
        (Target, "value"): _QUANTITY,
        (Target, "averageValue"): _QUANTITY,
    },
)


def _strict(schema: Any) -> Any:
    """The schema in draft 2020-12, without the extensions of Kubernetes."""
    if isinstance(schema, list):
        return [_strict(item) for item in schema]
    if not isinstance(schema, Mapping):
        return schema
    kept = {key: value for key, value in schema.items() if not key.startswith("x-kubernetes-")}
    if schema.get(_PRESERVED) and "type" not in schema:
        kept = {key: value for key, value in kept.items() if key not in ONLY_NUMBERS_AND_TEXT}
        kept["type"] = _NUMBER_OR_TEXT
    if schema.get(_INT_OR_STRING):
        kept = {"type": ["integer", "string"], **{key: value for key, value in kept.items() if key != "anyOf"}}
    nullable = kept.pop("nullable", False)
    made = {key: _strict_part(key, value) for key, value in kept.items()}
    if nullable and isinstance(made.get("type"), str):
        made["type"] = [made["type"], "null"]
    properties = made.get("properties")
    if made.get("type") == "object" and properties and not schema.get(_PRESERVED):
        made["additionalProperties"] = False
        made.update(_named_blocks(properties))
    return made


def _strict_part(key: str, value: Any) -> Any:
    if key == "properties":
        return {name: _strict(part) for name, part in value.items()}
    return _strict(value) if key in {"items", "additionalProperties"} else value


def _named_blocks(properties: Mapping[str, Any]) -> Schema:
    """If `type` names blocks, such as External and external, the block of this type must be there."""
    words = properties.get("type", {}).get("enum", ())
    blocks = {word: word[:1].lower() + word[1:] for word in words}
    if not blocks or not all(block in properties for block in blocks.values()):
        return {}
    return {"allOf": [_named_block(word, block) for word, block in blocks.items()]}


def _named_block(word: str, block: str) -> Schema:
    named = {"properties": {"type": {"const": word}}, "required": ["type"]}
    return {"if": named, "then": {"required": [block]}}
