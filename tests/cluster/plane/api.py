"""A small client of the API server, for tests: JSON in and out, from any number of threads."""

import http.client
import json
import ssl
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

Object = dict[str, Any]
JSON = "application/json"
MERGE, STRATEGIC = "application/merge-patch+json", "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
_CLOSED = (ConnectionError, ssl.SSLEOFError, ssl.SSLZeroReturnError, http.client.CannotSendRequest)


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    body: Any

    @property
    def ok(self) -> bool:
        return self.status < 300

    @property
    def causes(self) -> set[tuple[str, str]]:
        """Field and reason of each fault that a 422 reports."""
        details = self.body.get("details") or {}
        return {(cause.get("field", ""), cause.get("reason", "")) for cause in details.get("causes") or ()}


class ApiError(AssertionError):
    """A response that the test did not expect."""

    def __init__(self, method: str, path: str, answer: Answer) -> None:
        super().__init__(f"{method} {path}: {answer.status} {json.dumps(answer.body)[:2000]}")
        self.answer = answer


class Api:
    """Requests to one API server as one user."""

    def __init__(self, port: int, tls: ssl.SSLContext, token: str) -> None:
        self.port, self._tls, self.token = port, tls, token
        self._idle: deque[http.client.HTTPSConnection] = deque()

    def close(self) -> None:
        while self._idle:
            self._idle.pop().close()

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: Mapping[str, Any] | None = None,
        content: str = JSON,
        accept: str = JSON,
        timeout: float = 30,
    ) -> Answer:
        """The response, whatever its status."""
        sent = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": content, "Accept": accept}
        address = f"{path}?{urlencode(query)}" if query else path
        try:
            return self._exchange(self._connection(timeout), method, address, sent, headers)
        except _CLOSED:
            self.close()  # The server closed an idle connection; a new connection shows whether the server is gone.
            return self._exchange(self._connect(timeout), method, address, sent, headers)

    def get(self, path: str, **how: Any) -> Any:
        return self._expect("GET", path, **how)

    def create(self, path: str, body: Object, **how: Any) -> Any:
        return self._expect("POST", path, body=body, **how)

    def replace(self, path: str, body: Object, **how: Any) -> Any:
        return self._expect("PUT", path, body=body, **how)

    def patch(self, path: str, body: Any, content: str = MERGE, **how: Any) -> Any:
        return self._expect("PATCH", path, body=body, content=content, **how)

    def delete(self, path: str, **how: Any) -> Any:
        return self._expect("DELETE", path, **how)

    def watch(self, path: str, since: str, seconds: int = 600) -> Iterator[Object]:
        """Events as they arrive, until the server ends the watch; uses a connection of its own."""
        connection = self._connect(seconds + 30)
        query = urlencode({"watch": "1", "resourceVersion": since, "timeoutSeconds": seconds})
        try:
            connection.request("GET", f"{path}?{query}", headers={"Authorization": f"Bearer {self.token}"})
            answer = connection.getresponse()
            if answer.status != 200:
                raise ApiError("WATCH", path, Answer(answer.status, _decoded(answer.read())))
            while line := answer.readline():
                yield json.loads(line)
        finally:
            connection.close()

    def _expect(self, method: str, path: str, **how: Any) -> Any:
        answer = self.call(method, path, **how)
        if not answer.ok:
            raise ApiError(method, path, answer)
        return answer.body

    def _exchange(
        self,
        connection: http.client.HTTPSConnection,
        method: str,
        address: str,
        body: bytes | None,
        headers: dict[str, str],
    ) -> Answer:
        try:
            connection.request(method, address, body=body, headers=headers)
            answer = connection.getresponse()
            read = Answer(answer.status, _decoded(answer.read()))
        except BaseException:
            connection.close()
            raise
        self._idle.append(connection)
        return read

    def _connection(self, timeout: float) -> http.client.HTTPSConnection:
        try:
            connection = self._idle.pop()
        except IndexError:
            return self._connect(timeout)
        connection.timeout = timeout
        if connection.sock:
            connection.sock.settimeout(timeout)
        return connection

    def _connect(self, timeout: float) -> http.client.HTTPSConnection:
        return http.client.HTTPSConnection("127.0.0.1", self.port, context=self._tls, timeout=timeout)


def _decoded(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        return {"message": body.decode(errors="replace")}
