"""What clients read before they ask for values: which APIs, versions and metrics there are, and their schema."""

from collections.abc import Iterable
from functools import lru_cache
from importlib.metadata import version
from typing import Any

from hypot.kinds.metric_values import CUSTOM, CUSTOM_LIST, EXTERNAL, EXTERNAL_LIST, api_path
from hypot.metricsapi.serve.query import GROUPS, versions_of

Document = dict[str, Any]
# Clients take an empty list of resources for a failure, so it always has an entry.
NOTHING = "nothing-is-served"
_TITLE = "hypot-metrics"


def group_list() -> Document:
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": [_group(group) for group in GROUPS]}


def api_group(group: str) -> Document:
    return {"kind": "APIGroup", "apiVersion": "v1", **_group(group)}


def _group(group: str) -> Document:
    versions = [{"groupVersion": f"{group}/{each}", "version": each} for each in versions_of(group)]
    return {"name": group, "versions": versions, "preferredVersion": versions[0]}


def resource_list(group: str, version: str, metrics: Iterable[str], others: Iterable[Document] = ()) -> Document:
    """What is served, and what other servers serve."""
    prefix, kind = ("pods/", CUSTOM_LIST) if group == CUSTOM else ("", EXTERNAL_LIST)
    own = [_resource(f"{prefix}{metric}", kind) for metric in metrics]
    resources = merged(own, others) or [_resource(f"{prefix}{NOTHING}", kind)]
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": f"{group}/{version}",
        "resources": resources,
    }


def _resource(name: str, kind: str) -> Document:
    return {"name": name, "singularName": "", "namespaced": True, "kind": kind, "verbs": ["get"]}


def merged(own: Iterable[Document], others: Iterable[Document]) -> list[Document]:
    """Own entries first; those of others with the same name, or with another scope than their parent, are left out.

    The aggregator cannot convert a list in which entries of one parent have different scopes.
    """
    found: dict[str, Document] = {}
    scopes: dict[str, bool] = {}
    for one in (*own, *others):
        name, scope = one["name"], one["namespaced"]
        if scopes.setdefault(name.partition("/")[0], scope) == scope:
            found.setdefault(name, one)
    return list(found.values())


def version_info() -> Document:
    return {"major": "1", "minor": "0", "gitVersion": f"v{version('hypot')}", "platform": "python"}


_TEXT: Document = {"type": "string"}
_OBJECT: Document = {"type": "object"}


def _schemas(reference: str, selector: Document) -> Document:
    """The schemas of the lists; `reference` is where a document of this version keeps them."""
    described = {"type": "object", "properties": dict.fromkeys(("kind", "namespace", "name", "apiVersion"), _TEXT)}
    common = {"describedObject": described, "timestamp": {"type": "string", "format": "date-time"}, "value": _TEXT}
    window = {"type": "integer", "format": "int64"}
    newer = {**common, "metric": {"type": "object", "properties": {"name": _TEXT, "selector": selector}}}
    items = {
        f"{CUSTOM}.v1beta2.MetricValue": {**newer, "windowSeconds": window},
        f"{CUSTOM}.v1beta1.MetricValue": {**common, "metricName": _TEXT, "selector": selector, "window": window},
        f"{EXTERNAL}.v1beta1.ExternalMetricValue": {
            "metricName": _TEXT,
            "metricLabels": {"type": "object", "additionalProperties": _TEXT},
            "timestamp": common["timestamp"],
            "window": window,
            "value": _TEXT,
        },
    }
    found: Document = {name: {"type": "object", "properties": properties} for name, properties in items.items()}
    for name in items:
        listed = {"type": "array", "items": {"$ref": f"{reference}{name}"}}
        properties = {"kind": _TEXT, "apiVersion": _TEXT, "metadata": _OBJECT, "items": listed}
        found[f"{name}List"] = {"type": "object", "required": ["items"], "properties": properties}
    return found


_PARAMETERS = {
    "namespace": "the namespace",
    "name": "the name of an object, or * for all",
    "resource": "the plural of the kind, with its group if it has one",
    "metric": "the name of the metric",
}


def _paths(group: str, version: str) -> dict[str, tuple[str, ...]]:
    """The paths of values, and the parameters in them."""
    base = api_path(group, version)
    if group == EXTERNAL:
        return {f"{base}/namespaces/{{namespace}}/{{metric}}": ("namespace", "metric")}
    return {
        f"{base}/namespaces/{{namespace}}/{{resource}}/{{name}}/{{metric}}": (
            "namespace",
            "resource",
            "name",
            "metric",
        ),
        f"{base}/{{resource}}/{{name}}/{{metric}}": ("resource", "name", "metric"),
        f"{base}/namespaces/{{namespace}}/metrics/{{metric}}": ("namespace", "metric"),
    }


def _list_name(group: str, version: str) -> str:
    return f"{group}.{version}.{CUSTOM_LIST if group == CUSTOM else EXTERNAL_LIST}"


def _selectors(group: str) -> list[str]:
    return ["labelSelector", "metricLabelSelector", "fieldSelector"] if group == CUSTOM else ["labelSelector"]


_ANSWERS = {"400": "a bad parameter", "401": "no valid identity", "403": "no right to read this", "404": "no value"}


def _operation(group: str, version: str, parameters: tuple[str, ...]) -> Document:
    reference = {"$ref": f"#/components/schemas/{_list_name(group, version)}"}
    inside = [
        {"name": key, "in": "path", "required": True, "description": _PARAMETERS[key], "schema": _TEXT}
        for key in parameters
    ]
    optional = [{"name": key, "in": "query", "schema": _TEXT} for key in _selectors(group)]
    found = {"200": {"description": "the values", "content": {"application/json": {"schema": reference}}}}
    errors = {
        code: {"description": text, "content": {"application/json": {"schema": _OBJECT}}}
        for code, text in _ANSWERS.items()
    }
    return {"get": {"parameters": [*inside, *optional], "responses": {**found, **errors}}}


@lru_cache(1)
def openapi_v3_root() -> Document:
    paths = [f"apis/{group}/{each}" for group in GROUPS for each in versions_of(group)]
    return {"paths": {path: {"serverRelativeURL": f"/openapi/v3/{path}"} for path in paths}}


@lru_cache(8)
def openapi_v3(group: str, version: str) -> Document:
    return {
        "openapi": "3.0.0",
        "info": {"title": _TITLE, "version": "v1"},
        "paths": {path: _operation(group, version, keys) for path, keys in _paths(group, version).items()},
        "components": {"schemas": _schemas("#/components/schemas/", {**_OBJECT, "nullable": True})},
    }


@lru_cache(1)
def openapi_v2() -> Document:
    paths: Document = {}
    for group in GROUPS:
        for each in versions_of(group):
            for path, keys in _paths(group, each).items():
                schema = {"$ref": f"#/definitions/{_list_name(group, each)}"}
                inside = [{"name": key, "in": "path", "required": True, "type": "string"} for key in keys]
                optional = [{"name": key, "in": "query", "type": "string"} for key in _selectors(group)]
                answers: Document = {"200": {"description": "the values", "schema": schema}}
                errors = {code: {"description": text} for code, text in _ANSWERS.items()}
                responses = {**answers, **errors}
                produced = ["application/json"]
                paths[path] = {
                    "get": {"produces": produced, "parameters": [*inside, *optional], "responses": responses}
                }
    return {
        "swagger": "2.0",
        "info": {"title": _TITLE, "version": "v1"},
        "paths": paths,
        "definitions": _schemas("#/definitions/", _OBJECT),
    }
