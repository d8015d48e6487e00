"""CustomResourceDefinitions, built from the tables of a kind and the few facts that a table cannot say.

Fields, types, ranges and words come from the `Wire` of each field. What a kind adds stands in its own `crd` module, as
FACTS: names, columns, status, required fields and the rules that need CEL. `catalogue` knows which kinds have one.

There is no `default:` anywhere: an object comes back as it was written, and what is absent the controller decides.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hypot.kinds.base import Kind, Ref
from hypot.kinds.meta import INT64
from hypot.kinds.node import FRACTION, INT32, STRINGS, Node, Scalar, Wire

Schema = dict[str, Any]
Place = tuple[type[Node], str]

_REASONS = {"Required": "FieldValueRequired", "Forbidden": "FieldValueForbidden", "Invalid": "FieldValueInvalid"}
_INT_OR_STRING = "x-kubernetes-int-or-string"
# A field without a type takes whatever its checks do not look at; no list, mapping or boolean passes these.
ONLY_NUMBERS_AND_TEXT: Schema = {
    "minItems": 1,
    "maxItems": 0,
    "minProperties": 1,
    "maxProperties": 0,
    "not": {"enum": [True, False]},
}
# A status is typed where columns and people look, and open beside that: what another version writes there is kept.
OPEN: Schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
TEXT: Schema = {"type": "string"}
TIME: Schema = {"type": "string", "format": "date-time", "nullable": True}
GENERATION: Schema = {"type": "integer", "format": "int64", "description": "the spec this status is about"}
CONDITION: Schema = {
    **OPEN,
    "properties": {
        **dict.fromkeys(("type", "status", "reason", "message"), TEXT),
        "lastTransitionTime": TIME,
    },
}
# What every reference must have.
_REFERENCE_HINTS: dict[Place, Schema] = {
    (Ref, "kind"): {"minLength": 1},
    (Ref, "name"): {"minLength": 1},
    (Ref, "apiVersion"): {"pattern": "^[^/]*(/[^/]*)?$"},
}


def listed(doc: str, items: Schema) -> Schema:
    return {"type": "array", "description": doc, "items": items, "x-kubernetes-list-type": "atomic"}


@dataclass(frozen=True, slots=True)
class Check:
    """One rule in CEL: its id among the kind's own rules, the expression, the words, and the field they are said of."""

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
    """What `kubectl get` shows; `wide` ones only with `-o wide`."""

    name: str
    type: str
    path: str
    doc: str
    wide: bool = False


@dataclass(frozen=True, slots=True)
class Facts:
    """What a kind's tables do not say.

    `hints` add to a field's schema; `shapes` give a free mapping its fields, or a leaf another type.
    `scale` names the paths of a scale subresource as a definition does: specReplicasPath, statusReplicasPath and
    labelSelectorPath. `status_apart` is false where writers send spec and status as one.
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
    """The definition that makes an API server accept this kind, and refuse what its rules call an error."""
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
                    "schema": {"openAPIV3Schema": _root(kind, facts)},
                }
            ],
        },
    }
    # Built of tables that all kinds share: the caller gets lists of their own, and YAML no anchors.
    fresh: dict[str, Any] = json.loads(json.dumps(definition))
    return fresh


def cel_amount(place: str) -> str:
    """A quantity in CEL. It is asked for its type and made of a number in the ways that API servers think cheap."""
    return f"(type({place}) in [int] ? quantity('0').add({place}) : quantity({place}))"


def _subresources(facts: Facts) -> Schema:
    gates: Schema = {"status": {}} if facts.status_apart else {}
    if facts.scale is not None:
        gates["scale"] = dict(facts.scale)
    return {"subresources": gates} if gates else {}


def condition_path(name: str, key: str = "status") -> str:
    """Where a column finds a part of one condition."""
    return f'.status.conditions[?(@.type=="{name}")].{key}'


BLOCKED_COLUMN = PrinterColumn(
    "Blocked", "string", condition_path("ScalingBlocked", "reason"), "what holds a change back"
)


def _column(column: PrinterColumn) -> Schema:
    shown: Schema = {"name": column.name, "type": column.type, "jsonPath": column.path, "description": column.doc}
    return {**shown, "priority": 1} if column.wide else shown


def _root(kind: type[Kind], facts: Facts) -> Schema:
    return {
        "type": "object",
        "description": facts.doc,
        "required": ["spec"],
        "properties": {
            "apiVersion": {"type": "string", "description": f"always {kind.API_VERSION}"},
            "kind": {"type": "string", "description": f"always {kind.KIND}"},
            "metadata": {"type": "object"},
            "spec": {"description": "what is wanted", **_object(kind, facts)},
            "status": {"description": "what was found and done; the controller's to write", **facts.status},
        },
    }


def _object(node: type[Node], facts: Facts) -> Schema:
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
        return {"type": "array", "items": _object(kind, facts), "x-kubernetes-list-type": "atomic"}
    return _object(kind, facts)


def _scalar(kind: Scalar) -> Schema:
    """A leaf, closed where API servers are more lenient than the types behind it."""
    schema: Schema = dict(kind.schema)
    if kind is INT64:
        return _checked(schema, _whole("type(self) == int"))
    if kind is INT32:
        # Before 1.36 an API server does not look at `format`, and one number too large stops every typed reader.
        return _checked({**schema, "minimum": -(2**31), "maximum": 2**31 - 1}, _whole("type(self) == int"))
    if schema.get(_INT_OR_STRING):
        return _checked(schema, _whole("type(self) in [int] || type(self) in [string]"))
    if kind is FRACTION:
        return {**schema, **ONLY_NUMBERS_AND_TEXT}
    if kind.each is not None and schema["type"] == "object":
        return {**schema, "additionalProperties": _scalar(kind.each)}
    if kind is STRINGS:
        # Null is dropped without a word where it is not allowed, and a selector that lost a label selects more.
        texts = {"type": "string", "nullable": True}
        no_null = Check("type", "self.all(key, dyn(self[key]) != null)", "every value must be text, not null")
        return _checked({**schema, "additionalProperties": texts}, no_null)
    return schema


def _whole(cel: str) -> Check:
    """Schemas take 1.0 for an integer; CEL does not, and neither do the types behind it."""
    return Check("type", cel, "a number must be written without a fraction")


def _checked(schema: Schema, *checks: Check) -> Schema:
    return {**schema, "x-kubernetes-validations": [_validation(check) for check in checks]} if checks else schema


def _validation(check: Check) -> Schema:
    said = {"rule": check.cel, "message": f"{check.message} [{check.rule}]", "reason": _REASONS[check.kind]}
    return {**said, "fieldPath": check.at} if check.at else said
