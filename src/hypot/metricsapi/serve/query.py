"""What a request to the metrics APIs asks for."""

from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import unquote

from hypot.kinds.metric_values import ALL, CUSTOM, CUSTOM_VERSIONS, EXTERNAL, VERSION
from hypot.kinds.selector import Selector, SelectorError, parse_selector

_VERSIONS = {CUSTOM: CUSTOM_VERSIONS, EXTERNAL: (VERSION,)}
GROUPS = tuple(_VERSIONS)
PODS, NAMESPACES, METRICS = "pods", "namespaces", "metrics"
SELECTORS = ("labelSelector", "metricLabelSelector")
_NAME_FIELD = "metadata.name="


class BadQueryError(ValueError):
    """A parameter that cannot be read; the message is for the client."""


class ValueQuery(NamedTuple):
    """A query for values. An external metric has no resource; the name is `*` for all objects."""

    group: str
    version: str
    namespace: str
    resource: str
    name: str
    metric: str
    # Selects objects of a custom metric, and series of an external one.
    objects: Selector
    # Selects series of a custom metric.
    series: Selector
    # Both as they were written.
    object_text: str = ""
    series_text: str = ""


def versions_of(group: str) -> tuple[str, ...]:
    return _VERSIONS.get(group, ())


def read_query(raw_path: str, parameters: Mapping[str, str]) -> ValueQuery | None:
    """The query of a path as it was sent, or None if it is not one. Raises a BadQueryError for a bad parameter."""
    parts = [unquote(part) for part in raw_path.strip("/").split("/")]
    if len(parts) < 5 or parts[0] != "apis" or parts[2] not in versions_of(parts[1]) or not all(parts):
        return None
    group, version, rest = parts[1], parts[2], parts[3:]
    found = _custom(rest) if group == CUSTOM else _external(rest)
    if found is None:
        return None
    namespace, resource, name, metric = found
    texts = [parameters.get(key, "") for key in SELECTORS]
    objects, series = (_selector(key, text) for key, text in zip(SELECTORS, texts, strict=True))
    query = ValueQuery(group, version, namespace, resource, name, metric, objects, series, *texts)
    return _with_field(query, parameters.get("fieldSelector", ""))


def _custom(rest: list[str]) -> tuple[str, str, str, str] | None:
    """Namespace, resource, name and metric. A namespace itself is written as `namespaces/x/metrics/m`."""
    if rest[0] == NAMESPACES and len(rest) == 4 and rest[2] == METRICS:
        return "", NAMESPACES, rest[1], rest[3]
    if rest[0] == NAMESPACES and len(rest) == 5:
        return rest[1], rest[2], rest[3], rest[4]
    if rest[0] != NAMESPACES and len(rest) == 3:
        return "", rest[0], rest[1], rest[2]
    return None


def _external(rest: list[str]) -> tuple[str, str, str, str] | None:
    return (rest[1], "", ALL, rest[2]) if rest[0] == NAMESPACES and len(rest) == 3 else None


def _selector(key: str, text: str) -> Selector:
    try:
        return parse_selector(text)
    except SelectorError as error:
        raise BadQueryError(f"{key}: {error}") from error


def _with_field(query: ValueQuery, field: str) -> ValueQuery:
    """A field selector may only repeat the name in the path, or select one of all objects."""
    if not field:
        return query
    name = field.removeprefix(_NAME_FIELD)
    if not field.startswith(_NAME_FIELD) or not name or query.name not in {ALL, name}:
        raise BadQueryError("fieldSelector: only metadata.name is supported, and it must agree with the path")
    return query._replace(name=name)
