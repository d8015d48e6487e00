"""The JSON Schema of a file with MetricRules, for editors."""

from typing import Any

from hypot.kinds.metric_rules import MetricRules
from hypot.kinds.metric_rules.fields import (
    LearnCost,
    LineWeight,
    MetricRule,
    MetricRulesSpec,
    Scrape,
    SecretKey,
    ServedMetric,
)
from hypot.kinds.node import Node, Scalar, Wire

_REQUIRED: dict[type[Node], tuple[str, ...]] = {
    MetricRulesSpec: ("rules",),
    MetricRule: ("name", "pods", "metrics"),
    Scrape: ("port",),
    SecretKey: ("name",),
    ServedMetric: ("names",),
    LineWeight: ("weight",),
    LearnCost: ("by",),
}


# Where the values come from: one of these.
_SOURCES: dict[str, Any] = {"oneOf": [{"required": ["scrape"]}, {"required": ["prometheus"]}]}


def rules_schema() -> dict[str, Any]:
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": MetricRules.KIND,
        "type": "object",
        "required": ["apiVersion", "kind", "spec"],
        "properties": {
            "apiVersion": {"const": MetricRules.API_VERSION},
            "kind": {"const": MetricRules.KIND},
            "metadata": {"type": "object"},
            "spec": _object(MetricRulesSpec),
        },
        "additionalProperties": False,
    }


def _object(node: type[Node]) -> dict[str, Any]:
    required = {"required": list(_REQUIRED[node])} if node in _REQUIRED else {}
    properties = {w.key: _field(w) for _, w in node.TABLE}
    sources = _SOURCES if node is MetricRule else {}
    return {"type": "object", **required, **sources, "properties": properties, "additionalProperties": False}


def _field(w: Wire) -> dict[str, Any]:
    value = dict(w.type.schema) if isinstance(w.type, Scalar) else _object(w.type)
    listed = {"type": "array", "items": value} if w.many else value
    return {"description": w.doc, **listed, **(w.schema or {})}
