"""What the API server shares among all objects: the types of metadata and label selectors, as it decodes them.

In its types null stands for nothing, also within lists and maps, where it leaves an empty text or an empty block.
"""

import re
from calendar import monthrange
from collections.abc import Mapping
from dataclasses import field as dataclass_field
from functools import lru_cache
from typing import Annotated, Any, ClassVar

from hypot.kinds.node import BOOL, STRING, Node, Scalar, Wire, node

_TIME = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{1,2}):([0-9]{2}):([0-9]{2})(?:[.,][0-9]+)?"
    r"(?:Z|[+-]([0-9]{2}):([0-9]{2}))"
)


def _is_time(value: Any) -> bool:
    return isinstance(value, str) and _is_time_text(value)


@lru_cache(4096)
def _is_time_text(text: str) -> bool:
    """RFC 3339 as Go reads it: the hour may have one digit, a zone may be a day away."""
    match = _TIME.fullmatch(text)
    if match is None:
        return False
    year, month, day, hour, minute, second, zone_hour, zone_minute = (int(part) for part in match.groups("0"))
    in_calendar = 1 <= month <= 12 and 1 <= day <= monthrange(year or 4, month)[1]
    return in_calendar and hour < 24 and minute < 60 and second < 60 and zone_hour <= 24 and zone_minute <= 60


def _is_int64(value: Any) -> bool:
    return type(value) is int and -(2**63) <= value < 2**63


INT64 = Scalar("int64", {"type": "integer", "format": "int64"}, _is_int64, "a whole number")
UID = Scalar("types.UID", STRING.schema, STRING.fits, STRING.want)
TIME = Scalar("string", {"type": "string", "format": "date-time"}, _is_time, "a time such as 2026-01-31T09:30:00Z")
ANYTHING = Scalar("v1.FieldsV1", {}, lambda _: True, "anything")
TEXTS = Scalar(
    "[]string",
    {"type": "array", "items": STRING.schema},
    lambda v: isinstance(v, list) and all(item is None or isinstance(item, str) for item in v),
    "a list of texts",
    each=STRING,
)
TEXT_MAP = Scalar(
    "map[string]string",
    {"type": "object", "additionalProperties": STRING.schema},
    lambda v: isinstance(v, dict) and all(item is None or isinstance(item, str) for item in v.values()),
    "a mapping of text to text",
    each=STRING,
)


@node
class OwnerReference(Node):
    GO: ClassVar[str] = "OwnerReference"
    BUILT_IN: ClassVar[bool] = True
    GO_PACKAGE: ClassVar[str] = "v1"

    api_version: Annotated[str | None, Wire("apiVersion", STRING)] = None
    kind: Annotated[str | None, Wire("kind", STRING)] = None
    name: Annotated[str | None, Wire("name", STRING)] = None
    uid: Annotated[str | None, Wire("uid", UID)] = None
    controller: Annotated[bool | None, Wire("controller", BOOL)] = None
    blocks: Annotated[bool | None, Wire("blockOwnerDeletion", BOOL)] = None


@node
class ManagedFields(Node):
    GO: ClassVar[str] = "ManagedFieldsEntry"
    BUILT_IN: ClassVar[bool] = True
    GO_PACKAGE: ClassVar[str] = "v1"

    manager: Annotated[str | None, Wire("manager", STRING)] = None
    operation: Annotated[str | None, Wire("operation", STRING)] = None
    api_version: Annotated[str | None, Wire("apiVersion", STRING)] = None
    time: Annotated[str | None, Wire("time", TIME)] = None
    fields_type: Annotated[str | None, Wire("fieldsType", STRING)] = None
    fields: Annotated[Any, Wire("fieldsV1", ANYTHING)] = None
    subresource: Annotated[str | None, Wire("subresource", STRING)] = None


@node
class Condition(Node):
    """How something stands, as every status tells it; each kind has its own name for the type."""

    type: Annotated[str | None, Wire("type", STRING)] = None
    status: Annotated[str | None, Wire("status", STRING)] = None
    changed: Annotated[str | None, Wire("lastTransitionTime", TIME)] = None
    reason: Annotated[str | None, Wire("reason", STRING)] = None
    message: Annotated[str | None, Wire("message", STRING)] = None
    generation: Annotated[int | None, Wire("observedGeneration", INT64)] = None


@node
class ObjectMeta(Node):
    GO: ClassVar[str] = "ObjectMeta"
    GO_PACKAGE: ClassVar[str] = "v1"

    name: Annotated[str | None, Wire("name", STRING)] = None
    generate_name: Annotated[str | None, Wire("generateName", STRING)] = None
    namespace: Annotated[str | None, Wire("namespace", STRING)] = None
    self_link: Annotated[str | None, Wire("selfLink", STRING)] = None
    uid: Annotated[str | None, Wire("uid", UID)] = None
    resource_version: Annotated[str | None, Wire("resourceVersion", STRING)] = None
    generation: Annotated[int | None, Wire("generation", INT64)] = None
    created: Annotated[str | None, Wire("creationTimestamp", TIME)] = None
    deleted: Annotated[str | None, Wire("deletionTimestamp", TIME)] = None
    grace: Annotated[int | None, Wire("deletionGracePeriodSeconds", INT64)] = None
    labels: Annotated[Mapping[str, str] | None, Wire("labels", TEXT_MAP)] = None
    annotations: Annotated[Mapping[str, str] | None, Wire("annotations", TEXT_MAP)] = None
    owners: Annotated[tuple[OwnerReference, ...] | None, Wire("ownerReferences", OwnerReference, many=True)] = None
    finalizers: Annotated[list[str] | None, Wire("finalizers", TEXTS)] = None
    managed: Annotated[tuple[ManagedFields, ...] | None, Wire("managedFields", ManagedFields, many=True)] = None


@node
class LabelRequirement(Node):
    GO: ClassVar[str] = "LabelSelectorRequirement"
    BUILT_IN: ClassVar[bool] = True
    GO_PACKAGE: ClassVar[str] = "v1"

    key: Annotated[str | None, Wire("key", STRING)] = None
    operator: Annotated[str | None, Wire("operator", STRING)] = None
    values: Annotated[list[str] | None, Wire("values", TEXTS)] = None


@node
class LabelSelector(Node):
    GO: ClassVar[str] = "LabelSelector"
    GO_PACKAGE: ClassVar[str] = "v1"

    labels: Annotated[Mapping[str, str] | None, Wire("matchLabels", TEXT_MAP)] = None
    expressions: Annotated[
        tuple[LabelRequirement, ...] | None, Wire("matchExpressions", LabelRequirement, many=True)
    ] = None


def _is_selector(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    selector = LabelSelector.read(value)
    return selector.sound() or not (any(selector.misfits()) or any(selector.strangers()))


def stored_selector(value: Mapping[str, Any]) -> dict[str, Any]:
    """What an API server shows of a selector: nothing that is empty, and an empty text for null."""
    selector = LabelSelector.read(value).readable()
    out: dict[str, Any] = {}
    if selector.labels:
        out["matchLabels"] = {key: text or "" for key, text in selector.labels.items()}
    if selector.expressions:
        out["matchExpressions"] = [_stored_requirement(one) for one in selector.expressions]
    return out


def _stored_requirement(requirement: LabelRequirement) -> dict[str, Any]:
    out: dict[str, Any] = {"key": requirement.key or "", "operator": requirement.operator or ""}
    if requirement.values:
        out["values"] = [text or "" for text in requirement.values]
    return out


# Kept as the mapping it was, and checked as what it stands for.
SELECTOR = Scalar(
    "v1.LabelSelector",
    {"type": "object"},
    _is_selector,
    "a mapping",
    shape=LabelSelector,
    stored=stored_selector,
)


@node
class MetricName(Node):
    """Which series: a name and, where one name has many, a selector."""

    GO: ClassVar[str] = "MetricIdentifier"

    name: Annotated[str | None, Wire("name", STRING)] = None
    selector: Annotated[Mapping[str, Any] | None, Wire("selector", SELECTOR)] = dataclass_field(
        default=None, hash=False
    )
