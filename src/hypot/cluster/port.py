"""The interface between the controller and a cluster: calls and watches."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]

JSON = "application/json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"
LARGEST_ANSWER = 64 << 20


class UnreachableError(Exception):
    """No answer came: connection refused, closed or timed out. A write may or may not have happened.

    >>> try:
    ...     found = live("hpa", "web")
    ... except UnreachableError as error:
    ...     print(error)
    """


class OutageError(UnreachableError):
    """The API server answers no request at all. `Connection` logs that once, so nobody else needs to."""


class MayNotWriteError(Exception):
    """The write was not sent: the caller is no longer the leader, or not for long enough."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request; the body is sent unchanged."""

    method: Method
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    content: str = JSON
    timeout: float = 10.0
    # A larger answer counts as none, in bytes.
    largest: int = LARGEST_ANSWER

    @property
    def writes(self) -> bool:
        return self.method != "GET"


@dataclass(frozen=True, slots=True)
class Answer:
    """The response, with any status."""

    status: int
    body: bytes = b""
    # How long the server asks to wait before a retry.
    retry_after: float | None = None

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 300

    @property
    def conflict(self) -> bool:
        return self.status == 409

    @property
    def gone(self) -> bool:
        """The requested resource does not exist."""
        return self.status == 404

    def json(self) -> Any:
        """The decoded body, or an empty mapping if it is not JSON, or nested too deeply."""
        import msgspec  # noqa: PLC0415  `import hypot` is quick without it

        try:
            return msgspec.json.decode(self.body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return {}

    @property
    def message(self) -> str:
        """The server's message as text."""
        body = self.json()
        said = body.get("message") if isinstance(body, dict) else None
        text = said if isinstance(said, str) else self.body.decode(errors="replace")[:300]
        return text or f"status {self.status}"

    @property
    def reason(self) -> str:
        """The server's reason for a refusal, such as AlreadyExists or Conflict."""
        body = self.json()
        said = body.get("reason") if isinstance(body, dict) else None
        return said if isinstance(said, str) else ""


class Port(Protocol):
    """A cluster, real or simulated."""

    async def call(self, request: Request) -> Answer:
        """Send a request and wait for the answer. Raises UnreachableError, or MayNotWriteError if nothing was sent."""

    def watch(self, request: Request) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """Lines as they arrive, until the server ends the stream. Raises RefusedError if it does not start."""


class RefusedError(Exception):
    """The server answered with an error."""

    def __init__(self, request: Request, answer: Answer) -> None:
        super().__init__(f"{request.method} {request.path}: {answer.status} {answer.message}")
        self.request, self.answer = request, answer


def encoded(body: Any) -> bytes:
    import msgspec  # noqa: PLC0415  as above

    return msgspec.json.encode(body)


async def expect(port: Port, request: Request) -> Any:
    """The decoded answer; raises RefusedError if the server answers with an error."""
    answer = await port.call(request)
    if not answer.ok:
        raise RefusedError(request, answer)
    return answer.json()
