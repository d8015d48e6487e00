"""Answers requests to the metrics APIs."""

from collections import Counter
from collections.abc import Callable
from hashlib import sha256
from http import HTTPStatus
from typing import Any, Final, NamedTuple

import msgspec
from aiohttp import web

from hypot.kinds.metric_values import CUSTOM
from hypot.metricsapi.serve import documents
from hypot.metricsapi.serve.forwarder import PROTOBUF, ForwardedRequest, Forwarder, ForwardError
from hypot.metricsapi.serve.other_metrics import OtherMetrics
from hypot.metricsapi.serve.query import GROUPS, BadQueryError, ValueQuery, read_query, versions_of
from hypot.metricsapi.serve.values import ServedValues, UnknownMetricError
from hypot.serving.answers import JSON, failure, said
from hypot.serving.listener import Limits
from hypot.serving.parts import PartsPayload
from hypot.serving.readers import Attributes, Readers

# A selector of an HPA may have 16 KiB, and the API server adds headers for each group of a user.
LIMITS = Limits(connections=256, kept_for=90.0, line=32 * 1024, headers=256)
_REASONS = {
    HTTPStatus.UNAUTHORIZED: "Unauthorized",
    HTTPStatus.FORBIDDEN: "Forbidden",
    HTTPStatus.SERVICE_UNAVAILABLE: "ServiceUnavailable",
}
_DOCUMENTS: Final[dict[str, Callable[[], dict[str, Any]]]] = {
    "/apis": documents.group_list,
    "/version": documents.version_info,
    "/openapi/v2": documents.openapi_v2,
    "/openapi/v3": documents.openapi_v3_root,
}
_OPENAPI = "/openapi/v3"


class Others(NamedTuple):
    """Another server for what no rule serves, and the list of what it serves."""

    forwarder: Forwarder
    metrics: OtherMetrics


class MetricsPages:
    """The pages of the server. `values` are None while this replica has none to serve; `ready` says what is wrong."""

    def __init__(
        self,
        values: Callable[[], ServedValues | None],
        readers: Readers,
        ready: Callable[[], str],
        others: Others | None = None,
    ) -> None:
        self._values, self._readers, self._others = values, readers, others
        self._probes: dict[str, Callable[[], str]] = {"/healthz": str, "/livez": str, "/readyz": ready}
        # How many requests were answered with each code.
        self.codes: Counter[int] = Counter()

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        response = await self._answer(request)
        self.codes[response.status] += 1
        return response

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.path in self._probes:
            wrong = self._probes[request.path]()
            return said(HTTPStatus.SERVICE_UNAVAILABLE, wrong) if wrong else said(HTTPStatus.OK, "ok")
        if self._others is not None and self._others.forwarder.is_loop(_via(request)):
            why = "this server has passed on the request already"
            return failure(HTTPStatus.LOOP_DETECTED, "LoopDetected", why)
        query, bad = _read(request)
        refused = await self._readers.refusal(request, _attributes(request, query))
        if refused is not None:
            return failure(refused.status, _REASONS.get(refused.status, ""), refused.message)
        if request.method != "GET":
            return failure(HTTPStatus.METHOD_NOT_ALLOWED, "MethodNotAllowed", "only GET is supported")
        if bad:
            return failure(HTTPStatus.BAD_REQUEST, "BadRequest", bad)
        return await self._value(request, query) if query is not None else self._page(request)

    async def _value(self, request: web.BaseRequest, query: ValueQuery) -> web.StreamResponse:
        values = self._values()
        if values is None:
            why = "this replica does not serve values: it does not lead"
            return failure(HTTPStatus.SERVICE_UNAVAILABLE, "ServiceUnavailable", why)
        if self._others is not None and not values.owns(query):
            return await self._forwarded(self._others.forwarder, request, query)
        try:
            return web.Response(body=PartsPayload(values.answer(query)), content_type=JSON)
        except UnknownMetricError as error:
            details = {"name": query.metric, "group": query.group, "kind": query.resource}
            return failure(HTTPStatus.NOT_FOUND, "NotFound", str(error), details)

    async def _forwarded(self, forwarder: Forwarder, request: web.BaseRequest, query: ValueQuery) -> web.StreamResponse:
        """The answer of another server, for a client that may read this."""
        user = self._readers.user(request)
        if user is None:
            why = "the client is no longer known; try again"
            return failure(HTTPStatus.SERVICE_UNAVAILABLE, "ServiceUnavailable", why)
        try:
            asking = ForwardedRequest(user, _via(request), PROTOBUF in request.headers.get("Accept", ""))
            answer = await forwarder.value(query, asking)
        except ForwardError as error:
            why = f"the metric {query.metric} is not served here, and the server in forwardTo gives no answer: {error}"
            return failure(error.status, error.status.phrase.replace(" ", ""), why)
        if answer.content_type:
            return web.Response(status=answer.status, body=answer.body, content_type=answer.content_type)
        why = f"the metric {query.metric} is not served here, and the server in forwardTo answers {answer.status}"
        return failure(answer.status, answer.status.phrase.replace(" ", ""), why)

    def _page(self, request: web.BaseRequest) -> web.StreamResponse:
        found = self._document(request.path.rstrip("/"))
        if found is None:
            return failure(HTTPStatus.NOT_FOUND, "NotFound", "the server could not find the requested resource")
        return _document(request, found)

    def _document(self, path: str) -> dict[str, Any] | None:
        if path in _DOCUMENTS:
            return _DOCUMENTS[path]()
        parts = path.removeprefix(_OPENAPI).split("/")
        if parts[:2] != ["", "apis"] or len(parts) not in {3, 4} or parts[2] not in GROUPS:
            return None
        is_openapi = path.startswith(_OPENAPI)
        if len(parts) == 3:
            return None if is_openapi else documents.api_group(parts[2])
        group, version = parts[2:]
        if version not in versions_of(group):
            return None
        return documents.openapi_v3(group, version) if is_openapi else self._resources(group, version)

    def _resources(self, group: str, version: str) -> dict[str, Any]:
        values = self._values()
        names = () if values is None else values.names(external=group != CUSTOM)
        others = () if values is None or self._others is None else self._others.metrics.of(group, version)
        return documents.resource_list(group, version, names, others)


def _read(request: web.BaseRequest) -> tuple[ValueQuery | None, str]:
    """The query of a request, if it is one, and what is wrong with it."""
    try:
        return read_query(request.rel_url.raw_path, request.rel_url.query), ""
    except BadQueryError as error:
        return None, str(error)


def _via(request: web.BaseRequest) -> str:
    return ", ".join(request.headers.getall("Via", []))


def _attributes(request: web.BaseRequest, query: ValueQuery | None) -> Attributes:
    """What the client must be allowed to do. A metric is a subresource; all methods but GET are refused anyway."""
    verb = request.method.lower()
    if query is None:
        return Attributes(verb, request.path)
    if query.group == CUSTOM:
        resource = (query.namespace, query.resource, query.metric, query.name)
    else:
        verb, resource = "list" if verb == "get" else verb, (query.namespace, query.metric, "", "")
    return Attributes(verb, "", query.group, query.version, *resource)


def _document(request: web.BaseRequest, found: dict[str, Any]) -> web.Response:
    """A document with its version, so that the aggregator reads it again only if it has changed."""
    body = msgspec.json.encode(found)
    tag = f'"{sha256(body).hexdigest()[:32]}"'
    if tag in request.headers.get("If-None-Match", ""):
        return web.Response(status=HTTPStatus.NOT_MODIFIED, headers={"ETag": tag})
    return web.Response(body=body, content_type=JSON, headers={"ETag": tag})
