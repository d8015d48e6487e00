"""What the controller asks of a cluster: calls and watches, whoever answers them."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import msgspec

Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]

JSON = "application/json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"


class UnreachableError(Exception):
    """No answer came: refused, cut or too late. A write may or may not have been done."""


class MayNotWriteError(Exception):
    """The write was not sent: whoever wants to write does not lead any more, or not for long enough."""


@dataclass(frozen=True, slots=True)
class Request:
    """One call; a body is sent as it is."""

    method: Method
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    content: str = JSON
    timeout: float = 10.0

    @property
    def writes(self) -> bool:
        return self.method != "GET"


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back, whatever its status."""

    status: int
    body: bytes = b""
    # How long to wait before asking again, where the server says so.
    retry_after: float | None = None

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 300

    @property
    def conflict(self) -> bool:
        return self.status == 409

    @property
    def gone(self) -> bool:
        """What was asked about is not there."""
        return self.status == 404

    def json(self) -> Any:
        """The body, decoded; an empty mapping where it is no JSON."""
        try:
            return msgspec.json.decode(self.body)
        except msgspec.DecodeError:
            return {}

    @property
    def message(self) -> str:
        """What the server says, in words."""
        body = self.json()
        said = body.get("message") if isinstance(body, dict) else None
        text = said if isinstance(said, str) else self.body.decode(errors="replace")[:300]
        return text or f"status {self.status}"

    @property
    def reason(self) -> str:
        """The server's word for a refusal, such as AlreadyExists or Conflict."""
        body = self.json()
        said = body.get("reason") if isinstance(body, dict) else None
        return said if isinstance(said, str) else ""


class Port(Protocol):
    """A cluster, real or not."""

    async def call(self, request: Request) -> Answer:
        """Ask, and wait for the answer. Raises UnreachableError, or MayNotWriteError before anything was sent."""

    def watch(self, request: Request) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """Lines as they come, until the server ends the stream. Raises RefusedError where it does not begin."""


class RefusedError(Exception):
    """The server answered, and not with what was asked for."""

    def __init__(self, request: Request, answer: Answer) -> None:
        super().__init__(f"{request.method} {request.path}: {answer.status} {answer.message}")
        self.request, self.answer = request, answer


def encoded(body: Any) -> bytes:
    return msgspec.json.encode(body)


async def expect(port: Port, request: Request) -> Any:
    """The decoded answer; RefusedError where the server says no."""
    answer = await port.call(request)
    if not answer.ok:
        raise RefusedError(request, answer)
    return answer.json()
