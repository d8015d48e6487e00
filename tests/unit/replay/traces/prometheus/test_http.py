"""Servers that do not answer as Prometheus does, and secrets that must not be shown."""

import base64
import contextlib
import json
import socket
import ssl
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs

import pytest
import trustme

from hypot.replay.traces.prometheus import http as prometheus_http
from hypot.replay.traces.prometheus import query as prometheus
from hypot.replay.traces.prometheus import series
from hypot.replay.traces.prometheus.query import from_prometheus
from hypot.replay.traces.trace import TraceError

PATH = "/api/v1/query_range"


@pytest.fixture(autouse=True)
def _alone(monkeypatch):
    """No proxy and no token of the machine is used."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")
    monkeypatch.setenv("no_proxy", "127.0.0.1,localhost")
    monkeypatch.delenv("HYPOT_PROMETHEUS_TOKEN", raising=False)


class Server(ThreadingHTTPServer):
    """Answers every request by calling `answer`, and records the requests."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.answer = lambda handler: handler.reply(200, success())
        self.asked = []

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    """Hands each request to the server that the test has set up."""

    def do_POST(self):
        form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        self.server.asked.append((self.path, self.headers["Authorization"], form))
        self.server.answer(self)

    def reply(self, status, body, **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """No output in tests."""


@pytest.fixture
def server():
    """A server on a free port."""
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield running
        finally:
            running.shutdown()
            thread.join()


def success(**more):
    """Two points, in the format of Prometheus."""
    series = {"metric": {"workload": "web"}, "values": [[0, "1"], [15, "2"]]}
    return json.dumps({"status": "success", "data": {"resultType": "matrix", "result": [series]}, **more}).encode()


def ask(url, timeout=5.0):
    return from_prometheus(url, "demand", 0, 15, 15, timeout)


def said(url, timeout=5.0) -> str:
    with pytest.raises(TraceError) as caught:
        ask(url, timeout)
    return str(caught.value)


def test_what_is_asked(server):
    """One form, with times to the millisecond."""
    (trace,) = from_prometheus(f"{server.url}/prefix/", "sum(demand)", 0.5, 60, 15)
    assert trace.values.tolist() == [1.0, 2.0]
    form = {"query": ["sum(demand)"], "start": ["0.500"], "end": ["60.000"], "step": ["15.000"]}
    assert server.asked == [(f"/prefix{PATH}", None, form)]


def test_warnings_are_notes(server):
    """A warning appears once, though every piece may have it, and without terminal control characters."""
    server.answer = lambda handler: handler.reply(200, success(warnings=["store\n\x1b[31m is away"]))
    assert ask(server.url)[0].notes == ("Prometheus warns: store [31m is away",)


@pytest.mark.parametrize(
    "body",
    [
        b"<html>Sign in</html>",
        b"",
        b"null",
        b"[]",
        b'{"status": "fine"}',
        b'{"status": "success"}',
        b'{"status": "success", "data": {"resultType": "matrix"}}',
        b'{"status": "success", "data": {"resultType": "matrix", "result": [5]}}',
        b'{"status": "success", "data": {"resultType": "matrix", "result": [{"metric": {}}]}}',
        b'{"status": "success", "data": {"resultType": "matrix", "result": [{"metric": {}, "values": [[1]]}]}}',
        b'{"status": "success", "data": {"resultType": "matrix", "result": [{"metric": {}, "values": [[1, "x"]]}]}}',
        b'{"status": "success", "data": {"resultType": "matrix", "result": [{"metric": [], "values": []}]}}',
        b"[" * 100_000,
        b"\xff\xfe",
    ],
)
def test_answers_that_are_not_prometheus(server, body):
    """Most often this is an HTML page: the path is wrong, or a login is required."""
    server.answer = lambda handler: handler.reply(200, body)
    assert said(server.url) == (f"{server.url}: does not answer like Prometheus (200): is a part of the path missing?")


def test_histograms(server):
    """Histograms are not numbers."""
    series = {"metric": {"__name__": "took", "job": "x"}, "histograms": [[0, {}]]}
    data = {"resultType": "matrix", "result": [series]}
    server.answer = lambda handler: handler.reply(200, json.dumps({"status": "success", "data": data}).encode())
    assert said(server.url) == f'{server.url}: the query returns histograms (took{{job="x"}}): ask for numbers'


@pytest.mark.parametrize("status", [401, 403])
def test_credentials_are_asked_for(server, status):
    """The error says where to put them."""
    server.answer = lambda handler: handler.reply(status, b"who are you?")
    assert said(server.url) == (
        f"{server.url}: refuses the credentials ({status}): put a token into HYPOT_PROMETHEUS_TOKEN, "
        "or write user:password@ before the host"
    )


def test_the_server_s_own_message(server):
    """It is shown on one line, and shortened."""
    body = json.dumps({"status": "error", "errorType": "execution", "error": "too\nmany " + "x" * 1000}).encode()
    server.answer = lambda handler: handler.reply(422, body)
    message = said(server.url)
    assert message.startswith(f"{server.url}: refuses the query (422): too many xxx")
    assert len(message) < 600


def test_a_user_and_a_password(server):
    """They come from the URL, are sent, and appear nowhere else."""
    url = server.url.replace("http://", "http://me:p%40ss@")
    (trace,) = ask(url)
    assert trace.source == server.url
    assert server.asked[0][1] == f"Basic {base64.b64encode(b'me:p@ss').decode()}"


def test_a_token(server, monkeypatch):
    """The token comes from the environment; the URL has precedence."""
    monkeypatch.setenv("HYPOT_PROMETHEUS_TOKEN", " s3cret\n")
    ask(server.url)
    ask(server.url.replace("http://", "http://me@"))
    assert [asked[1] for asked in server.asked] == ["Bearer s3cret", f"Basic {base64.b64encode(b'me:').decode()}"]
    monkeypatch.setenv("HYPOT_PROMETHEUS_TOKEN", "s3\ncret")
    assert said(server.url).startswith("HYPOT_PROMETHEUS_TOKEN is not a valid token")


def test_no_message_shows_a_secret(server):
    """Not even if the server repeats it, or if the URL itself is wrong."""
    packed = base64.b64encode(b"me:p@ss").decode()

    def repeat(handler):
        text = f"{handler.headers['Authorization']} is {packed} is p@ss is p%40ss"
        handler.reply(400, json.dumps({"status": "error", "error": text}).encode())

    server.answer = repeat
    url = server.url.replace("http://", "http://me:p%40ss@")
    assert said(url) == f"{server.url}: refuses the query (400): Basic *** is *** is *** is ***"
    wrong = [f"{url}/?x", url.replace("http:", "ftp:"), url.removeprefix("http://"), f"{url}port"]
    for message in [*map(said, wrong), said("http://me:p%40ss@127.0.0.1:9")]:
        assert "127.0.0.1" in message
        assert not any(secret in message for secret in (packed, "p@ss", "p%40ss"))


def test_a_redirect_on_the_same_host(server):
    """It is followed, with the form and the credentials."""

    def answer(handler):
        if handler.path.startswith("/new"):
            handler.reply(200, success())
        else:
            handler.reply(307, b"", Location=f"/new{PATH}")

    server.answer = answer
    assert ask(server.url.replace("http://", "http://me@"))[0].values.tolist() == [1.0, 2.0]
    (first, second) = server.asked
    assert first[1:] == second[1:]


@pytest.mark.parametrize(
    "location",
    [
        "http://example.org/api",
        "http://localhost:1/",
        "https://127.0.0.1.example.org/",
        "file:///etc/passwd",
        "http://[",
        "",
    ],
)
def test_redirects_that_are_refused(server, location):
    """Another host must not get the credentials, so only the first host gets a request."""
    server.answer = lambda handler: handler.reply(302, b"", Location=location)
    assert said(server.url) == (
        f"{server.url}: redirects to {location or 'nowhere'}, which was not followed: use the right URL"
    )
    assert len(server.asked) == 1


def test_redirects_in_circles(server):
    """The number of redirects is limited."""
    server.answer = lambda handler: handler.reply(308, b"", Location=handler.path)
    assert said(server.url) == f"{server.url}: too many redirects"


def test_a_body_without_an_end(server, monkeypatch):
    """The size of an answer is limited."""
    monkeypatch.setattr(prometheus_http, "MAX_ANSWER", 2**20)

    def pour(handler):
        handler.send_response(200)
        handler.end_headers()
        with contextlib.suppress(ConnectionError):
            while True:
                handler.wfile.write(b" " * 2**16)

    server.answer = pour
    assert said(server.url) == f"{server.url}: sent more than 1 MiB: ask for fewer series, or for a longer step"


def test_a_server_that_does_not_answer(server):
    """The request ends after the timeout."""
    done = threading.Event()
    server.answer = lambda _: done.wait(10)
    message = said(server.url, timeout=0.1)
    done.set()
    assert message == (
        f"{server.url}: no complete answer within 0.1 s: ask for a shorter time range or a longer step, or wait longer"
    )


def test_a_server_that_answers_slowly(server):
    """Single bytes do not extend the timeout."""

    def drip(handler):
        handler.send_response(200)
        handler.end_headers()
        with contextlib.suppress(ConnectionError):
            while True:
                handler.wfile.write(b" ")
                threading.Event().wait(0.02)

    server.answer = drip
    assert "no complete answer within 0.2 s" in said(server.url, timeout=0.2)


def test_an_incomplete_body(server):
    """A part of an answer is an error."""

    def half(handler):
        handler.send_response(200)
        handler.send_header("Content-Length", "100000")
        handler.end_headers()
        handler.wfile.write(success()[:50])

    server.answer = half
    assert said(server.url) == f"{server.url}: the connection broke, or the server does not speak HTTP (IncompleteRead)"


def test_a_server_that_closes_the_connection(server):
    """It closes without sending anything."""
    server.answer = lambda handler: handler.connection.close()
    assert said(server.url).startswith(f"{server.url}: the connection broke, or the server does not speak HTTP")


def test_a_server_that_goes_away_in_between(server, monkeypatch):
    """The first half of the answers is not used."""
    monkeypatch.setattr(prometheus, "MAX_POINTS", 2)

    def once(handler):
        if len(server.asked) == 1:
            handler.reply(200, success())
        else:
            handler.reply(503, b"going down")

    server.answer = once
    with pytest.raises(TraceError, match=r"does not answer like Prometheus \(503\)"):
        from_prometheus(server.url, "demand", 0, 60, 15)


def test_a_server_that_sends_more_points_than_can_be_kept(server, monkeypatch):
    """The points of all answers are counted."""
    monkeypatch.setattr(prometheus, "MAX_POINTS", 2)
    monkeypatch.setattr(series, "MAX_ROWS", 5)
    with pytest.raises(TraceError, match="has more than 5 points"):
        from_prometheus(server.url, "demand", 0, 74, 15)
    assert len(server.asked) == 3


def test_https(server, monkeypatch, tmp_path):
    """An untrusted certificate is refused with an error; with its CA it is accepted."""
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    url = server.url.replace("http:", "https:")
    assert said(url).startswith(f"{url}: its certificate is not trusted (")
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    assert ask(url)[0].values.tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("prometheus:9090", "prometheus:9090: only http:// and https:// are supported"),
        ("file:///etc/passwd", "file:///etc/passwd: only http:// and https:// are supported"),
        ("", ": only http:// and https:// are supported"),
        ("http://", "http://: only http:// and https:// are supported"),
        ("http://host:port", "http://host:port: is not a URL"),
        ("http://[::1", "http://[::1: is not a URL"),
        ("http://ho st", "http://ho st: is not a URL"),
        ("http://host/?query=x", "http://host/: the URL must not contain ? or #"),
    ],
)
def test_urls_that_are_refused(url, message):
    """No request is sent."""
    assert said(url).startswith(message)


def test_a_host_that_is_not_known(monkeypatch):
    """The error names the unknown host."""

    def unknown(*_):
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    monkeypatch.setenv("no_proxy", "*")
    assert said("http://prometheus.invalid:9090") == "http://prometheus.invalid:9090: unknown host"
