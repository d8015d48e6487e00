"""The HTTP API of a Prometheus that the administrator names."""

from collections.abc import Mapping
from typing import TypeVar

import aiohttp
import msgspec

from hypot.cluster.named_server import ServerTls, read_token, whole

LONGEST_ERROR = 500


class PrometheusError(Exception):
    """Prometheus did not answer, or not with a valid result."""


class PrometheusAnswer(msgspec.Struct, gc=False):
    """What every answer has; its data depend on the query."""

    status: str = ""
    error: str = ""


class VectorSeries(msgspec.Struct, gc=False):
    """One series of an instant query: the time of the query, and the value as text."""

    metric: dict[str, str] = {}
    value: tuple[float, str] = (0.0, "NaN")


class VectorData(msgspec.Struct, gc=False):
    """The result of an instant query."""

    result: list[VectorSeries] = []


class VectorAnswer(PrometheusAnswer, gc=False):
    """The answer to an instant query."""

    data: VectorData | None = None


A = TypeVar("A", bound=PrometheusAnswer)


class PrometheusApi:
    """One Prometheus. Redirects are not followed: the token is for this server."""

    def __init__(self, session: aiohttp.ClientSession, address: str, token_file: str = "", ca_file: str = "") -> None:
        self._session, self._url, self._token_file = session, f"{address.rstrip('/')}/api/v1/", token_file
        self._tls = ServerTls(ca_file) if address.startswith("https://") else None

    async def ask(self, path: str, form: Mapping[str, str], largest: int) -> tuple[int, bytes]:
        """The status and the body of an answer, whatever it is. Raises if it is larger than so many bytes."""
        headers = {"Authorization": f"Bearer {read_token(self._token_file)}"} if self._token_file else {}
        tls = self._tls.context() if self._tls is not None else True
        async with self._session.post(
            self._url + path, data=form, headers=headers, ssl=tls, allow_redirects=False
        ) as answer:
            body = await whole(answer.content, largest)
            if len(body) > largest:
                raise PrometheusError(f"its answer is over {largest >> 20} MiB")
            return answer.status, body


def read_answer(decoder: msgspec.json.Decoder[A], status: int, body: bytes) -> A:
    """The answer to a query. Raises with the error that Prometheus reports."""
    try:
        read = decoder.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise PrometheusError(f"it answers {status}, without JSON: {error}") from error
    if read.status != "success":
        raise PrometheusError(f"it answers {status}: {read.error[:LONGEST_ERROR]}")
    return read
