"""CustomResourceDefinitions, built from the tables of a kind and the few facts that a table cannot express.

Fields, types, ranges and descriptions come from the `Wire` of each field. A kind adds the rest as FACTS in its own
`crd` module: names, columns, status, required fields and the rules that need CEL. `catalogue` knows these modules.

There is no `default:` anywhere: an object is returned as it was written, and the controller decides what is absent.
"""

import json
from collections.abc import Mapping
from dataclasses import field
from typing import Any

from hypot.core.dataclass import dataclass
from hypot.kinds import meta
from hypot.kinds.base import Kind, Ref
from hypot.kinds.meta import INT64
from hypot.kinds.node import FRACTION, INT32, STRINGS, Node, Scalar, Wire

Schema = dict[str, Any]
Place = tuple[type[Node], str]

_REASONS = {"Required": "FieldValueRequired", "Forbidden": "FieldValueForbidden", "Invalid": "FieldValueInvalid"}
_INT_OR_STRING = "x-kubernetes-int-or-string"
# A field without a type accepts any type that its checks do not cover. These reject lists, mappings and booleans.
ONLY_NUMBERS_AND_TEXT: Schema = {
    "minItems": 1,
    "maxItems": 0,
    "minProperties": 1,
    "maxProperties": 0,
    "not": {"enum": [True, False]},
}
# A status has types for the fields that columns and users read. Other fields are open: what another version writes is
# kept.
OPEN: Schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
TEXT: Schema = {"type": "string"}
TIME: Schema = {"type": "string", "format": "date-time", "nullable": True}
GENERATION: Schema = {
    "type": "integer",
    "format": "int64",
    "description": "the generation of the spec that this status describes",
}
CONDITION: Schema = {
    **OPEN,
    "properties": {
        **dict.fromkeys(("type", "status", "reason", "message"), TEXT),
        "lastTransitionTime": TIME,
    },
}
# The constraints of every reference.
_REFERENCE_HINTS: dict[Place, Schema] = {
    (Ref, "kind"): {"minLength": 1},
    (Ref, "name"): {"minLength": 1},
    (Ref, "apiVersion"): {"pattern": "^[^/]*(/[^/]*)?$"},
}


def listed(doc: str, items: Schema) -> Schema:
    return {"type": "array", "description": doc, "items": items, "x-kubernetes-list-type": "atomic"}


def status_of(node: type[Node]) -> Schema:
    """The schema of a status, or of a part of it. It is open: what another version writes is kept."""
    return {**OPEN, "properties": {w.key: _status_field(w) for _, w in node.TABLE}}


def _status_field(w: Wire) -> Schema:
    described = {"description": w.doc} if w.doc else {}
    if isinstance(w.type, Scalar):
        return {**(TIME if w.type is meta.TIME else w.type.schema), **described}
    part = status_of(w.type)
    return listed(w.doc, part) if w.many else {**part, **described}


@dataclass(frozen=True, slots=True)
class Check:
    """One rule in CEL: its id among the kind's own rules, the expression, the message, and the field it refers to."""

    rule: str
    cel: str
    message: str
    at: str = ""
    kind: str = "Invalid"


MIN_OVER_MAX = Check(
    "min-over-max",
    "!has(self.minReplicas) || !has(self.maxReplicas) || self.minReplicas <= self.maxReplicas",
    "must be greater than or equal to minReplicas",
    ".maxReplicas",
)


@dataclass(frozen=True, slots=True)
class PrinterColumn:
    """A column of `kubectl get`; a `wide` column is shown only with `-o wide`."""

    name: str
    type: str
    path: str
    doc: str
    wide: bool = False


@dataclass(frozen=True, slots=True)
class Facts:
    """What the tables of a kind cannot express.

    `hints` add to a field's schema; `shapes` give a free mapping its fields, or a leaf another type.
    `scale` has the paths of a scale subresource as a CRD has them: specReplicasPath, statusReplicasPath and
    labelSelectorPath. `status_apart` is false if writers send spec and status together.
    """

    doc: str
    status: Mapping[str, Any]
    columns: tuple[PrinterColumn, ...] = ()
    required: Mapping[type[Node], tuple[str, ...]] = field(default_factory=dict)
    checks: Mapping[type[Node], tuple[Check, ...]] = field(default_factory=dict)
    hints: Mapping[Place, Mapping[str, Any]] = field(default_factory=dict)
    shapes: Mapping[Place, type[Node] | Scalar] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    scale: Mapping[str, str] | None = None
    status_apart: bool = True


def definition_of(kind: type[Kind], plural: str, short_names: tuple[str, ...], facts: Facts) -> dict[str, Any]:
    """The CRD that makes an API server accept this kind, and reject what its rules report as an error."""
    group, _, version = kind.API_VERSION.partition("/")
    metadata: Schema = {"name": f"{plural}.{group}"}
    if facts.annotations:
        metadata["annotations"] = dict(facts.annotations)
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": metadata,
        "spec": {
            "group": group,
            "names": {
                "kind": kind.KIND,
                "listKind": f"{kind.KIND}List",
                "plural": plural,
                "singular": kind.KIND.lower(),
                "shortNames": list(short_names),
            },
            "scope": "Namespaced",
            "versions": [
                {
                    "name": version,
                    "served": True,
                    "storage": True,
                    **_subresources(facts),
                    "additionalPrinterColumns": [_column(column) for column in facts.columns],
                    "schema": {"openAPIV3Schema": root_schema(kind, facts)},
                }
            ],
        },
    }
    # The tables are shared by all kinds. A deep copy gives the caller its own lists and keeps YAML free of anchors.
    fresh: dict[str, Any] = json.loads(json.dumps(definition))
    return fresh


def cel_amount(place: str) -> str:
    """A quantity in CEL, with the type check and the conversion that API servers estimate as cheap."""
    return f"(type({place}) in [int] ? quantity('0').add({place}) : quantity({place}))"


def _subresources(facts: Facts) -> Schema:
    gates: Schema = {"status": {}} if facts.status_apart else {}
    if facts.scale is not None:
        gates["scale"] = dict(facts.scale)
    return {"subresources": gates} if gates else {}


def condition_path(name: str, key: str = "status") -> str:
    """The JSON path of a part of one condition, for a column."""
    return f'.status.conditions[?(@.type=="{name}")].{key}'


BLOCKED_COLUMN = PrinterColumn(
    "Blocked", "string", condition_path("ScalingBlocked", "reason"), "why a change is held back"
)


def _column(column: PrinterColumn) -> Schema:
    shown: Schema = {"name": column.name, "type": column.type, "jsonPath": column.path, "description": column.doc}
    return {**shown, "priority": 1} if column.wide else shown


def root_schema(kind: type[Kind], facts: Facts) -> Schema:
    return {
        "type": "object",
        "description": facts.doc,
        "required": ["spec"],
        "properties": {
            "apiVersion": {"type": "string", "description": f"always {kind.API_VERSION}"},
            "kind": {"type": "string", "description": f"always {kind.KIND}"},
            "metadata": {"type": "object"},
            "spec": {"description": "the desired state", **schema_of(kind, facts)},
            "status": {
                "description": "what the controller observed and did; only the controller writes it",
                **facts.status,
            },
        },
    }


def schema_of(node: type[Node], facts: Facts) -> Schema:
    schema: Schema = {"type": "object"}
    required = facts.required.get(node)
    if required:
        schema["required"] = list(required)
    schema["properties"] = {w.key: _field(node, w, facts) for _, w in node.TABLE}
    return _checked(schema, *facts.checks.get(node, ()))


def _field(owner: type[Node], w: Wire, facts: Facts) -> Schema:
    place = (owner, w.key)
    described: Schema = {"description": w.doc} if w.doc else {}
    value = _value(facts.shapes.get(place, w.type), w, facts)
    return {**described, **value, **(w.schema or {}), **_REFERENCE_HINTS.get(place, {}), **facts.hints.get(place, {})}


def _value(kind: Scalar | type[Node], w: Wire, facts: Facts) -> Schema:
    if isinstance(kind, Scalar):
        return _scalar(kind)
    if w.many:
        return {"type": "array", "items": schema_of(kind, facts), "x-kubernetes-list-type": "atomic"}
    return schema_of(kind, facts)


def _scalar(kind: Scalar) -> Schema:
    """The schema of a leaf, stricter where API servers are more lenient than the Go types behind it."""
    schema: Schema = dict(kind.schema)
    if kind is INT64:
        return _checked(schema, _whole("type(self) == int"))
    if kind is INT32:
        # Before 1.36 an API server ignores `format`, and a single number that is too large stops every typed client.
        return _checked({**schema, "minimum": -(2**31), "maximum": 2**31 - 1}, _whole("type(self) == int"))
    if schema.get(_INT_OR_STRING):
        return _checked(schema, _whole("type(self) in [int] || type(self) in [string]"))
    if kind is FRACTION:
        return {**schema, **ONLY_NUMBERS_AND_TEXT}
    if kind.each is not None and schema["type"] == "object":
        return {**schema, "additionalProperties": _scalar(kind.each)}
    if kind is STRINGS:
        # If null is not allowed it is dropped silently, and a selector that lost a label selects more.
        texts = {"type": "string", "nullable": True}
        no_null = Check("type", "self.all(key, dyn(self[key]) != null)", "every value must be text, not null")
        return _checked({**schema, "additionalProperties": texts}, no_null)
    return schema


def _whole(cel: str) -> Check:
    """Schemas accept 1.0 as an integer. CEL does not, and neither do the Go types behind it."""
    return Check("type", cel, "a number must be written without a fraction")


def _checked(schema: Schema, *checks: Check) -> Schema:
    return {**schema, "x-kubernetes-validations": [_validation(check) for check in checks]} if checks else schema


def _validation(check: Check) -> Schema:
    said = {"rule": check.cel, "message": f"{check.message} [{check.rule}]", "reason": _REASONS[check.kind]}
    return {**said, "fieldPath": check.at} if check.at else said
