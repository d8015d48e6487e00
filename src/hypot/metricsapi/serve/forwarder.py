"""Asks another metrics server for what no rule serves.

The request is made again from the query that was checked: the other server gets neither the headers of the client nor
its spelling of the path, so it cannot take them for something else than what the client was allowed.
"""

import asyncio
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Literal, NamedTuple, Self
from urllib.parse import quote, urlencode

import aiohttp
import msgspec
from yarl import URL

from hypot.cluster.named_server import ServerFileError, ServerTls, has_more_parts, read_token, whole
from hypot.kinds.metric_values import CUSTOM
from hypot.metricsapi.serve.query import METRICS, NAMESPACES, ValueQuery
from hypot.serving.answers import JSON
from hypot.serving.readers import User

PROTOBUF = "application/vnd.kubernetes.protobuf"
ANSWER_WITHIN, MOST_AT_ONCE = 10.0, 16
LARGEST_ANSWER, LARGEST_LIST, MOST_RESOURCES = 8 << 20, 4 << 20, 20_000
LONGEST_VIA = 1024
_VIA = "1.1"

ForwardFault = Literal["busy", "connection", "credentials", "timeout", "too-large", "body", "redirect", "path", "loop"]
_STATUS: dict[ForwardFault, HTTPStatus] = {
    "busy": HTTPStatus.SERVICE_UNAVAILABLE,
    "connection": HTTPStatus.SERVICE_UNAVAILABLE,
    "timeout": HTTPStatus.GATEWAY_TIMEOUT,
    "path": HTTPStatus.BAD_REQUEST,
    "loop": HTTPStatus.LOOP_DETECTED,
}


class ForwardError(Exception):
    """No answer that can be passed on. Nothing of an answer is in the message."""

    def __init__(self, fault: ForwardFault, message: str) -> None:
        super().__init__(message)
        self.fault: ForwardFault = fault

    @property
    def status(self) -> HTTPStatus:
        return _STATUS.get(self.fault, HTTPStatus.BAD_GATEWAY)


class OtherServer(NamedTuple):
    """Another metrics server, and what it gets to know who asks."""

    address: str
    ca_file: str = ""
    certificate: str = ""
    token_file: str = ""


class ForwardedRequest(NamedTuple):
    """Who asks, through which servers the request came, and whether protobuf is understood."""

    user: User
    via: str = ""
    protobuf: bool = False


class ForwardedAnswer(NamedTuple):
    """An answer to pass on; without a body that may be passed on, it is empty."""

    status: HTTPStatus
    content_type: str
    body: bytes


@dataclass(slots=True)
class ForwardCounts:
    """What happened so far."""

    codes: Counter[int] = field(default_factory=Counter)
    faults: Counter[ForwardFault] = field(default_factory=Counter)


class Forwarder:
    """Passes on queries. `identity` names this server to the others, so that a loop is found."""

    def __init__(self, other: OtherServer, identity: str) -> None:
        self.counts = ForwardCounts()
        self._other, self._identity = other, identity
        self._session: aiohttp.ClientSession | None = None
        self._base = URL(other.address).origin()
        self._tls = ServerTls(other.ca_file, other.certificate)
        self._running = 0

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar())
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._session is not None:
            await self._session.close()

    def is_loop(self, via: str) -> bool:
        """Whether a request has been forwarded by this server already."""
        return f"{_VIA} {self._identity}" in [each.strip() for each in via.split(",")] or len(via) > LONGEST_VIA

    async def value(self, query: ValueQuery, asking: ForwardedRequest) -> ForwardedAnswer:
        """The answer of the other server. Raises a ForwardError if there is none."""
        try:
            answer = await self._asked(_path(query), asking, LARGEST_ANSWER)
        except ForwardError as error:
            self.counts.faults[error.fault] += 1
            raise
        self.counts.codes[answer.status] += 1
        return answer

    async def resources(self, group: str, version: str, user: User) -> list[dict[str, Any]] | None:
        """What the other server serves in this version; None if it does not have the version."""
        answer = await self._asked(f"/apis/{group}/{version}", ForwardedRequest(user), LARGEST_LIST)
        if answer.status == HTTPStatus.NOT_FOUND:
            return None
        if answer.status != HTTPStatus.OK or has_more_parts(answer.body, MOST_RESOURCES, 20 * MOST_RESOURCES):
            raise ForwardError("body", f"it answers {answer.status} to a question for its metrics")
        try:
            read = msgspec.json.decode(answer.body, type=_ResourceList)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            raise ForwardError("body", "its list of metrics cannot be read") from None
        return [one.shown() for one in read.resources if one.is_usable]

    async def _asked(self, path: str, asking: ForwardedRequest, largest: int) -> ForwardedAnswer:
        if self._running >= MOST_AT_ONCE:
            raise ForwardError("busy", "too many requests are being passed on")
        self._running += 1
        try:
            async with asyncio.timeout(ANSWER_WITHIN):
                return await self._answer(path, asking, largest)
        except TimeoutError:
            raise ForwardError("timeout", f"it did not answer within {ANSWER_WITHIN:.0f} s") from None
        except ServerFileError as error:
            raise ForwardError("credentials", str(error)) from error
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise ForwardError("connection", f"it cannot be asked: {type(error).__name__}") from error
        finally:
            self._running -= 1

    async def _answer(self, path: str, asking: ForwardedRequest, largest: int) -> ForwardedAnswer:
        if self._session is None:
            raise ForwardError("connection", "this server is starting")
        async with self._session.get(
            URL(f"{self._base}{path}", encoded=True),
            headers=list(self._headers(asking)),
            ssl=self._tls.context(),
            allow_redirects=False,
        ) as answer:
            _check(answer.status, answer.headers.get("Content-Encoding", ""))
            body = await whole(answer.content, largest)
            if len(body) > largest:
                raise ForwardError("too-large", f"its answer has more than {largest:,} bytes")
            kind, status = answer.content_type, HTTPStatus(answer.status)
            if kind == JSON or (kind == PROTOBUF and asking.protobuf):
                return ForwardedAnswer(status, kind, body)
            if status < HTTPStatus.BAD_REQUEST:
                raise ForwardError("body", "its answer is neither JSON nor what was asked for")
            return ForwardedAnswer(status, "", b"")

    def _headers(self, asking: ForwardedRequest) -> Iterator[tuple[str, str]]:
        """The user is named only with a certificate that the other server can check."""
        yield "Accept", f"{PROTOBUF}, {JSON}" if asking.protobuf else JSON
        yield "Accept-Encoding", "identity"
        yield "User-Agent", "hypot-metrics"
        yield "Via", ", ".join([*([asking.via] if asking.via else []), f"{_VIA} {self._identity}"])
        if self._other.token_file:
            yield "Authorization", f"Bearer {read_token(self._other.token_file)}"
        if self._other.certificate:
            yield from _naming(asking.user)


def _naming(user: User) -> Iterator[tuple[str, str]]:
    yield "X-Remote-User", user.name
    if user.uid:
        yield "X-Remote-Uid", user.uid
    for group in user.groups:
        yield "X-Remote-Group", group
    for key, texts in user.extra:
        for text in texts:
            yield f"X-Remote-Extra-{quote(key, safe='')}", text


def _check(status: int, encoding: str) -> None:
    if status == HTTPStatus.UNAUTHORIZED:
        raise ForwardError("credentials", "it does not accept the credentials of this server")
    if status == HTTPStatus.LOOP_DETECTED:
        raise ForwardError("loop", "it is this server itself, or passes on requests to it")
    if not 200 <= status < 600 or 300 <= status < 400:
        raise ForwardError("redirect", f"it answers {status}, which is not passed on")
    if encoding not in {"", "identity"}:
        raise ForwardError("body", "its answer is compressed, which was not asked for")


def _path(query: ValueQuery) -> str:
    """The path of a query. A field selector is part of it as the name, which the client was allowed."""
    if query.group != CUSTOM:
        parts = [NAMESPACES, query.namespace, query.metric]
    elif query.resource == NAMESPACES and not query.namespace:
        parts = [NAMESPACES, query.name, METRICS, query.metric]
    else:
        parts = [*([NAMESPACES, query.namespace] if query.namespace else []), query.resource, query.name, query.metric]
    if any(part in {".", ".."} or "/" in part or not part.isprintable() for part in parts):
        raise ForwardError("path", "a name in the path has a slash, or is no name")
    path = "/".join(["", "apis", query.group, query.version, *(quote(part, safe="") for part in parts)])
    selectors = {"labelSelector": query.object_text, "metricLabelSelector": query.series_text}
    written = urlencode({key: text for key, text in selectors.items() if text})
    return f"{path}?{written}" if written else path


class _Resource(msgspec.Struct, gc=False):
    name: str = ""
    singularName: str = ""  # noqa: N815  as on the wire
    namespaced: bool = False
    kind: str = ""
    verbs: list[str] = []

    @property
    def is_usable(self) -> bool:
        return 0 < len(self.name) <= 512 and 0 < len(self.kind) <= 128 and self.name.isprintable()

    def shown(self) -> dict[str, Any]:
        return msgspec.to_builtins(self)  # type: ignore[no-any-return]


class _ResourceList(msgspec.Struct, gc=False):
    resources: list[_Resource] = []
