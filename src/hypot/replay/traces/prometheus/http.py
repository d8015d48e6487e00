"""One HTTP request to a Prometheus server. Credentials go only to the named host and never into a message."""

import base64
import http.client
import os
import socket
import ssl
import time
import urllib.error
import urllib.request
from typing import NamedTuple
from urllib.parse import SplitResult, unquote, urlencode, urljoin, urlsplit, urlunsplit

from hypot.replay.traces.trace import TraceError

TOKEN = "HYPOT_PROMETHEUS_TOKEN"  # noqa: S105  the name of a variable
MAX_ANSWER = 256 * 2**20
_BLOCK = 2**16
_REDIRECTS = (301, 302, 303, 307, 308)
_MOST_REDIRECTS = 5


class PrometheusServer(NamedTuple):
    """The server's URL without credentials, the headers to send, and the secrets to hide."""

    url: str
    headers: dict[str, str]
    secrets: tuple[str, ...]

    def hidden(self, text: str) -> str:
        """A message of the server on one line, with the secrets removed."""
        for secret in self.secrets:
            text = text.replace(secret, "***")
        return "".join(c for c in " ".join(text.split()) if c.isprintable())[:500]


class HttpAnswer(NamedTuple):
    """The status and the body of an answer."""

    status: int
    body: bytes


def find_server(url: str) -> PrometheusServer:
    """Parses the URL. Credentials come from the URL, or from the environment."""
    shown = url.rpartition("@")[2]
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise TraceError(f"{shown}: is not a URL: write for example http://prometheus:9090") from error
    if parts.scheme not in {"http", "https"} or not host:
        raise TraceError(f"{shown}: only http:// and https:// are supported: write for example http://prometheus:9090")
    if parts.query or parts.fragment:
        raise TraceError(f"{shown.partition('?')[0].partition('#')[0]}: the URL must not contain ? or #")
    name = f"[{host}]" if ":" in host else host
    plain = urlunsplit((parts.scheme, name if port is None else f"{name}:{port}", parts.path.rstrip("/"), "", ""))
    if not plain.isascii() or any(c.isspace() or not c.isprintable() for c in plain):
        raise TraceError(f"{shown}: is not a URL: write for example http://prometheus:9090")
    return PrometheusServer(plain, *_credentials(parts))


def _credentials(parts: SplitResult) -> tuple[dict[str, str], tuple[str, ...]]:
    if parts.username is not None:
        user, password = unquote(parts.username), unquote(parts.password or "")
        packed = base64.b64encode(f"{user}:{password}".encode()).decode()
        return {"Authorization": f"Basic {packed}"}, tuple(filter(None, (packed, password, parts.password)))
    token = os.environ.get(TOKEN, "").strip()
    if not token:
        return {}, ()
    if not token.isascii() or not token.isprintable():
        raise TraceError(f"{TOKEN} is not a valid token: it may have white space at its ends, but not inside")
    return {"Authorization": f"Bearer {token}"}, (token,)


def ask(server: PrometheusServer, path: str, form: dict[str, str], timeout: float) -> HttpAnswer:
    """The answer, whatever its status. Raises TraceError if none arrives."""
    deadline = time.monotonic() + timeout
    url = server.url + path
    try:
        for _ in range(_MOST_REDIRECTS + 1):
            with _post(url, server.headers, form, timeout) as response:
                if response.status not in _REDIRECTS:
                    return HttpAnswer(response.status, _body(server, response, deadline))
                url = _followed(server, url, response.headers.get("Location", ""))
    except (OSError, http.client.HTTPException, ValueError) as error:
        if isinstance(error, TraceError):
            raise
        raise TraceError(f"{server.url}: {_why(server, error, timeout)}") from error
    raise TraceError(f"{server.url}: too many redirects")


def _post(url: str, headers: dict[str, str], form: dict[str, str], timeout: float) -> http.client.HTTPResponse:
    """Supports only http and https, with no handler that would follow redirects or raise for a status."""
    opener = urllib.request.OpenerDirector()
    for handler in (urllib.request.ProxyHandler, urllib.request.HTTPHandler, urllib.request.HTTPSHandler):
        opener.add_handler(handler())
    headers = {"Accept": "application/json", "User-Agent": "hypot", **headers}
    request = urllib.request.Request(url, urlencode(form).encode(), headers, method="POST")  # noqa: S310  see above
    response: http.client.HTTPResponse = opener.open(request, timeout=timeout)
    return response


def _body(server: PrometheusServer, response: http.client.HTTPResponse, deadline: float) -> bytes:
    """The whole body. Raises if it is too large or takes too long."""
    blocks, size = [], 0
    while block := response.read1(_BLOCK):
        blocks.append(block)
        size += len(block)
        if size > MAX_ANSWER:
            raise TraceError(
                f"{server.url}: sent more than {MAX_ANSWER / 2**20:.3g} MiB: ask for fewer series, or for a longer step"
            )
        if time.monotonic() > deadline:
            raise TimeoutError
    if response.length:
        raise http.client.IncompleteRead(b"", response.length)
    return b"".join(blocks)


def _followed(server: PrometheusServer, url: str, location: str) -> str:
    """The target of a redirect. Refuses another host, which must not get the credentials."""
    try:
        old, new = urlsplit(url), urlsplit(urljoin(url, location))
        same = (old.scheme, old.hostname, old.port) == (new.scheme, new.hostname, new.port)
        safer = (old.scheme, new.scheme) == ("http", "https") and old.hostname == new.hostname
    except ValueError:
        same = safer = False
    if not location or not (same or safer):
        where = server.hidden(location.rpartition("@")[2].partition("?")[0]) or "nowhere"
        raise TraceError(f"{server.url}: redirects to {where}, which was not followed: use the right URL")
    return urlunsplit((new.scheme, new.netloc.rpartition("@")[2], new.path, new.query, ""))


def _why(server: PrometheusServer, error: Exception, timeout: float) -> str:
    reason = error.reason if isinstance(error, urllib.error.URLError) else error
    if isinstance(reason, TimeoutError):
        return f"no complete answer within {timeout:g} s: ask for a shorter time range or a longer step, or wait longer"
    if isinstance(reason, ConnectionRefusedError):
        return "connection refused: is Prometheus running, and is this its port?"
    if isinstance(reason, socket.gaierror):
        return "unknown host"
    if isinstance(reason, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted ({reason.verify_message}): set SSL_CERT_FILE to its CA certificate"
    if isinstance(reason, ConnectionError | http.client.HTTPException):
        return f"the connection broke, or the server does not speak HTTP ({type(reason).__name__})"
    return f"cannot be reached: {server.hidden(str(reason))}"
