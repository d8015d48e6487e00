"""The types of metadata and label selectors that all objects share, as the API server decodes them.

In these types null means absent. Within lists and maps it becomes an empty string or an empty block.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, ClassVar

from hypot.core.regex import regex
from hypot.kinds.node import BOOL, STRING, Node, Scalar, node, wire

_TIME = regex(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{1,2}):([0-9]{2}):([0-9]{2})(?:[.,][0-9]+)?"
    r"(?:Z|[+-]([0-9]{2}):([0-9]{2}))"
)


def _is_time(value: Any) -> bool:
    return isinstance(value, str) and _is_time_text(value)


@lru_cache(4096)
def _is_time_text(text: str) -> bool:
    """RFC 3339 as Go parses it: the hour may have one digit, and a zone offset may be up to a day."""
    match = _TIME.fullmatch(text)
    if match is None:
        return False
    year, month, day, hour, minute, second, zone_hour, zone_minute = (int(part) for part in match.groups("0"))
    from calendar import monthrange  # noqa: PLC0415  manifests have no times

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
    "a list of strings",
    each=STRING,
)
TEXT_MAP = Scalar(
    "map[string]string",
    {"type": "object", "additionalProperties": STRING.schema},
    lambda v: isinstance(v, dict) and all(isinstance(k, str) and isinstance(i, str | None) for k, i in v.items()),
    "a mapping of text to text",
    each=STRING,
)


@node
class OwnerReference(Node):
    GO: ClassVar[str] = "v1.OwnerReference"
    BUILT_IN: ClassVar[bool] = True

    api_version: str | None = wire("apiVersion", STRING)
    kind: str | None = wire("kind", STRING)
    name: str | None = wire("name", STRING)
    uid: str | None = wire("uid", UID)
    controller: bool | None = wire("controller", BOOL)
    blocks: bool | None = wire("blockOwnerDeletion", BOOL)


@node
class ManagedFields(Node):
    GO: ClassVar[str] = "v1.ManagedFieldsEntry"
    BUILT_IN: ClassVar[bool] = True

    manager: str | None = wire("manager", STRING)
    operation: str | None = wire("operation", STRING)
    api_version: str | None = wire("apiVersion", STRING)
    time: str | None = wire("time", TIME)
    fields_type: str | None = wire("fieldsType", STRING)
    fields: Any = wire("fieldsV1", ANYTHING)
    subresource: str | None = wire("subresource", STRING)


@node
class StatusCondition(Node):
    """A condition as in every status. Each kind has its own Go name for the type."""

    type: str | None = wire("type", STRING)
    status: str | None = wire("status", STRING)
    last_transition_time: str | None = wire("lastTransitionTime", TIME)
    reason: str | None = wire("reason", STRING)
    message: str | None = wire("message", STRING)
    observed_generation: int | None = wire("observedGeneration", INT64)


@node
class ObjectMeta(Node):
    GO: ClassVar[str] = "v1.ObjectMeta"

    name: str | None = wire("name", STRING)
    generate_name: str | None = wire("generateName", STRING)
    namespace: str | None = wire("namespace", STRING)
    self_link: str | None = wire("selfLink", STRING)
    uid: str | None = wire("uid", UID)
    resource_version: str | None = wire("resourceVersion", STRING)
    generation: int | None = wire("generation", INT64)
    created: str | None = wire("creationTimestamp", TIME)
    deleted: str | None = wire("deletionTimestamp", TIME)
    grace: int | None = wire("deletionGracePeriodSeconds", INT64)
    labels: Mapping[str, str] | None = wire("labels", TEXT_MAP)
    annotations: Mapping[str, str] | None = wire("annotations", TEXT_MAP)
    owners: tuple[OwnerReference, ...] | None = wire("ownerReferences", OwnerReference, many=True)
    finalizers: list[str] | None = wire("finalizers", TEXTS)
    managed: tuple[ManagedFields, ...] | None = wire("managedFields", ManagedFields, many=True)


@node
class LabelRequirement(Node):
    GO: ClassVar[str] = "v1.LabelSelectorRequirement"
    BUILT_IN: ClassVar[bool] = True

    key: str | None = wire("key", STRING)
    operator: str | None = wire("operator", STRING)
    values: list[str] | None = wire("values", TEXTS)


@node
class LabelSelector(Node):
    GO: ClassVar[str] = "v1.LabelSelector"

    labels: Mapping[str, str] | None = wire("matchLabels", TEXT_MAP)
    expressions: tuple[LabelRequirement, ...] | None = wire("matchExpressions", LabelRequirement, many=True)


def _is_selector(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    selector = LabelSelector.read(value)
    return selector.sound() or not (any(selector.misfits()) or any(selector.strangers()))


def stored_selector(value: Mapping[str, Any]) -> dict[str, Any]:
    """A selector as the API server shows it: without empty parts, and with an empty string for null."""
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


# Kept as the mapping that was read, but checked as a LabelSelector.
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
    """Identifies a metric series: a name and, if the name has several series, a selector."""

    GO: ClassVar[str] = "v2.MetricIdentifier"

    name: str | None = wire("name", STRING, "name of the series")
    selector: Mapping[str, Any] | None = wire("selector", SELECTOR, "selects among the series of this name")
