"""The client of an API server, against real servers with TLS on loopback."""

import asyncio
import re
import ssl
import sys

import pytest
import trustme
from aiohttp import web

from hypot.cluster import api as module
from hypot.cluster.api import Api, path_kind, pause, retry_after
from hypot.cluster.config import EXEC_VERSIONS, Plugin
from hypot.cluster.port import Answer, Request, UnreachableError
from unit.cluster.server import CA, OK, PODS, WRITES, access_at, changed, each_write, head, serving, talking

asynchronous = pytest.mark.asyncio


@asynchronous
async def test_what_is_asked_is_sent_as_it_is():
    """The server sees method, path, query, body, content type and credentials, and nothing unexpected."""
    seen = []

    async def handler(request: web.Request) -> web.Response:
        body = await request.read()
        seen.append((request.method, request.raw_path, body, dict(request.headers)))
        return web.json_response({"a": 1}, status=201)

    request = Request(
        "PATCH", "/apis/x/v1/namespaces/a%2Fb/things/c", {"fieldManager": "hypot"}, b'{"b":2}', "some/type"
    )
    async with serving(handler) as access, Api(access, user_agent="tests") as api:
        answer = await api.call(request)

    assert (answer.status, answer.json()) == (201, {"a": 1})
    method, path, body, headers = seen[0]
    assert (method, path, body) == ("PATCH", "/apis/x/v1/namespaces/a%2Fb/things/c?fieldManager=hypot", b'{"b":2}')
    assert headers["Authorization"] == "Bearer secret-word"
    assert headers["User-Agent"] == "tests"
    assert headers["Content-Type"] == "some/type"
    assert (headers["Accept"], headers["Accept-Encoding"]) == ("application/json", "identity")


@asynchronous
async def test_the_server_may_be_below_a_path():
    """Behind some gateways a cluster is a path of their address."""
    seen = []

    async def handler(request: web.Request) -> web.Response:
        seen.append(request.path)
        return web.Response()

    async with serving(handler) as access, Api(changed(access, server=f"{access.server}/k8s/one")) as api:
        await api.call(PODS)
    assert seen == ["/k8s/one/api/v1/pods"]


@asynchronous
async def test_an_unknown_authority_is_reported():
    """A certificate that we do not trust ends the call, and the message names the certificate as the cause."""
    reached = []

    async def handler(request: web.Request) -> web.Response:
        reached.append(request)
        return web.Response()

    async with serving(handler) as access, Api(changed(access, ca=trustme.CA().cert_pem.bytes())) as api:
        said = re.escape("GET /api/v1/pods: the certificate of 127.0.0.1 is not trusted")
        with pytest.raises(UnreachableError, match=said) as reported:
            await api.call(PODS)
    assert "secret-word" not in str(reported.value)
    assert reported.value.__cause__ is not None
    assert reached == []


@asynchronous
@pytest.mark.parametrize(("name", "trusted"), [("api.test", True), ("other.test", False)])
async def test_the_name_of_the_server_is_checked(name, trusted):
    """The certificate must have the server name of the kubeconfig."""

    async def handler(_: web.Request) -> web.Response:
        return web.Response()

    async with serving(handler) as access, Api(changed(access, tls_server_name=name)) as api:
        if trusted:
            assert (await api.call(PODS)).ok
            return
        with pytest.raises(UnreachableError, match="not trusted"):
            await api.call(PODS)


@asynchronous
async def test_checking_can_be_switched_off():
    """Any certificate is accepted, but only where the kubeconfig says so."""

    async def handler(_: web.Request) -> web.Response:
        return web.Response()

    async with serving(handler) as access, Api(changed(access, ca=None, insecure=True)) as api:
        assert (await api.call(PODS)).ok


@asynchronous
async def test_a_client_certificate_is_shown():
    """A server that asks for a certificate gets the configured one."""
    seen = []

    async def handler(request: web.Request) -> web.Response:
        seen.append(request.get_extra_info("peercert"))
        return web.Response()

    ours = CA.issue_cert("hypot.test")
    certificate = b"".join(each.bytes() for each in ours.cert_chain_pems)
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    CA.issue_cert("127.0.0.1").configure_cert(tls)
    CA.configure_trust(tls)
    tls.verify_mode = ssl.CERT_REQUIRED
    async with serving(handler, tls) as access:
        known = changed(access, token="", certificate=certificate, key=ours.private_key_pem.bytes())
        async with Api(known) as api:
            assert (await api.call(PODS)).ok
    assert ("DNS", "hypot.test") in seen[0]["subjectAltName"]


@asynchronous
@each_write
@pytest.mark.parametrize("status", [429, 503])
async def test_a_throttled_request_is_sent_again(monkeypatch, request_, status):
    """The server did nothing and says when to retry, so a write is sent again too."""
    monkeypatch.setattr(module, "SHORTEST_PAUSE", 0.01)
    seen = []

    async def handler(request: web.Request) -> web.Response:
        seen.append(await request.read())
        return web.Response(status=status if len(seen) < 3 else 200, headers={"Retry-After": "0"})

    async with serving(handler) as access, Api(access, guard=lambda: 5.0) as api:
        assert (await api.call(request_)).status == 200
    assert seen == [request_.body or b""] * 3


@asynchronous
@pytest.mark.parametrize("guard", [None, lambda: 20.0])
async def test_a_wait_that_does_not_fit_is_returned(guard):
    """The caller decides what to do when the server asks for more time than there is."""
    seen = []

    async def handler(request: web.Request) -> web.Response:
        seen.append(request)
        return web.Response(status=429, headers={"Retry-After": "30"})

    async with serving(handler) as access, Api(access, guard=guard) as api:
        answer = await api.call(Request("DELETE", "/api/v1/pods", timeout=60 if guard else 10))
    assert (answer.status, answer.retry_after, len(seen)) == (429, 30.0, 1)


@asynchronous
async def test_a_read_ends_in_its_time():
    """A server that accepts and then sends nothing does not block the caller, at any point of its answer."""
    silent = asyncio.Event()

    async def conversation(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if b"half" in await head(reader):
            writer.write(OK[:-1])
        await silent.wait()

    async with talking(conversation) as access, Api(access) as api:
        for path in ("/api", "/half"):
            with pytest.raises(UnreachableError, match=rf"GET {path}: no answer within 0\.1 s"):
                await api.call(Request("GET", path, timeout=0.1))


@asynchronous
async def test_a_refused_connection():
    """A refused connection is reported with its address."""
    server = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    server.close()
    async with Api(access_at(port)) as api:
        with pytest.raises(UnreachableError, match=f"GET /api/v1/pods: no connection to 127.0.0.1:{port}"):
            await api.call(PODS)


@asynchronous
@pytest.mark.parametrize("said", [OK[:-1], b"HTTP/1.1 wrong\r\n\r\n", b"SSH-2.0\r\n\r\n"])
async def test_half_an_answer_is_an_error(said):
    """An answer that is cut short or is not HTTP is reported as a failure to reach the server."""

    async def conversation(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await head(reader)
        writer.write(said)
        await writer.drain()
        writer.close()
        await writer.wait_closed()

    async with talking(conversation) as access, Api(access) as api:
        with pytest.raises(UnreachableError, match="PUT /api/v1/namespaces/a/pods/b: "):
            await api.call(WRITES[1])


@asynchronous
async def test_an_answer_has_a_largest_size(monkeypatch):
    """An endless list does not fill our memory, and the message says what to do."""
    monkeypatch.setattr(module, "LARGEST_ANSWER", 2**20)

    async def handler(request: web.Request) -> web.Response:
        return web.Response(body=bytes(2**20 + (request.path == "/large")))

    async with serving(handler) as access, Api(access) as api:
        assert len((await api.call(Request("GET", "/fits", largest=2**20))).body) == 2**20
        with pytest.raises(UnreachableError, match="GET /large: the answer is over 1 MiB; ask for fewer at a time"):
            await api.call(Request("GET", "/large", largest=2**20))
        with pytest.raises(UnreachableError, match=r"GET /fits: the answer is over 0\.5 MiB$"):
            await api.call(Request("GET", "/fits", largest=2**19))


@asynchronous
async def test_redirects_are_not_followed():
    """A redirect could lead our token to another server."""

    async def handler(_: web.Request) -> web.Response:
        return web.Response(status=307, headers={"Location": "/elsewhere"})

    async with serving(handler) as access, Api(access) as api:
        assert (await api.call(PODS)).status == 307


@asynchronous
async def test_a_refused_token_is_renewed(tmp_path):
    """A 401 may mean that the token was revoked early; the plugin runs again at most once a minute."""
    script = (
        "import json, sys\n"
        "with open(sys.argv[1], 'a+') as runs: runs.write('x'); runs.seek(0); token = runs.read()\n"
        "print(json.dumps({'kind': 'ExecCredential', 'apiVersion': sys.argv[2], 'status': {'token': token}}))\n"
    )
    plugin = Plugin(EXEC_VERSIONS[0], sys.executable, ("-c", script, str(tmp_path / "runs"), EXEC_VERSIONS[0]))
    seen, now = [], [0.0]

    async def handler(request: web.Request) -> web.Response:
        seen.append(request.headers["Authorization"])
        return web.Response(status=401)

    async with serving(handler) as access, Api(changed(access, token="", plugin=plugin), clock=lambda: now[0]) as api:
        for now[0] in (0.0, 30.0, 61.0, 61.0, 90.0):
            assert (await api.call(PODS)).status == 401
    assert seen == ["Bearer x", "Bearer x", "Bearer x", "Bearer xx", "Bearer xx"]


@asynchronous
@pytest.mark.parametrize("request_", [PODS, Request("POST", PODS.path, body=b"{}")], ids=["read", "write"])
async def test_a_replaced_token_file_is_read_at_once(tmp_path, request_):
    """A 401 did nothing, so the request is sent once more, with the new token; without a new one it is an answer."""
    file, seen, good = tmp_path / "token", [], "Bearer second"
    file.write_text("first", encoding="ascii")

    async def handler(request: web.Request) -> web.Response:
        seen.append(request.headers["Authorization"])
        return web.json_response({}, status=200 if seen[-1] == good else 401)

    changed_access = {"token": "", "token_file": file}
    async with serving(handler) as access, Api(changed(access, **changed_access), guard=lambda: 9.0) as api:
        assert (await api.call(request_)).status == 401
        file.write_text("second", encoding="ascii")
        assert (await api.call(request_)).ok
        assert (await api.call(request_)).ok
        file.write_text("third", encoding="ascii")
        good = "Bearer fourth"
        assert (await api.call(request_)).status == 401
        assert api.calls[request_.method, "pods", "4xx"] == 4
    assert seen == [f"Bearer {token}" for token in ("first", "first", "second", "second", "second", "third")]


@asynchronous
async def test_a_watch_also_reads_a_replaced_token(tmp_path):
    """It begins with the new token."""
    file = tmp_path / "token"
    file.write_text("first", encoding="ascii")

    async def handler(request: web.Request) -> web.Response:
        fits = request.headers["Authorization"] == "Bearer second"
        return web.Response(status=200, text="{}\n") if fits else web.Response(status=401)

    async with serving(handler) as access, Api(changed(access, token="", token_file=file)) as api:
        file.write_text("second", encoding="ascii")
        async with api.watch(PODS) as lines:
            assert [line async for line in lines] == [b"{}"]


@pytest.mark.parametrize(
    ("header", "seconds"), [("7", 7.0), (" 0 ", 0.0), (None, None), ("-1", None), ("nan", None), ("Wed, 21 Oct", None)]
)
def test_how_long_to_wait_is_a_number(header, seconds):
    """API servers write seconds; anything else is ignored."""
    assert retry_after(header) == seconds


@pytest.mark.parametrize(
    ("answer", "left", "wait"),
    [
        (Answer(429, retry_after=2.0), 10, 2.1),
        (Answer(503, retry_after=2.0), 10, 2.1),
        (Answer(429, retry_after=2.0), 2.1, None),
        (Answer(429, retry_after=0.0), 10, 0.105),
        (Answer(429), 10, None),
        (Answer(500, retry_after=1.0), 10, None),
        (Answer(200, retry_after=1.0), 10, None),
    ],
)
def test_when_a_request_is_retried(answer, left, wait):
    """Only if the server says that it did nothing, says when to retry, and there is time."""
    assert pause(answer, left, 0.5) == (wait if wait is None else pytest.approx(wait))


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/api/v1/pods", "pods"),
        ("/api/v1/namespaces", "namespaces"),
        ("/api/v1/namespaces/a", "namespaces"),
        ("/api/v1/namespaces/a/status", "namespaces/status"),
        ("/api/v1/namespaces/a/pods", "pods"),
        ("/api/v1/namespaces/a/pods/b", "pods"),
        ("/api/v1/namespaces/a/pods/b/resize", "pods/resize"),
        ("/api/v1/nodes/a", "nodes"),
        ("/apis/apps/v1/namespaces/a/deployments/b/scale", "deployments/scale"),
        ("/apis/datadoghq.com/v1alpha1/watermarkpodautoscalers", "watermarkpodautoscalers"),
        ("/apis/metrics.k8s.io/v1beta1/pods", "pods.metrics.k8s.io"),
        ("/apis/metrics.k8s.io/v1beta1/namespaces/a/pods", "pods.metrics.k8s.io"),
        ("/apis/custom.metrics.k8s.io/v1beta2/namespaces/a/pods/*/requests", "custom.metrics.k8s.io"),
        ("/apis/external.metrics.k8s.io/v1beta1/namespaces/a/queue", "external.metrics.k8s.io"),
        ("/apis/apps/v1", "discovery"),
        ("/apis", "discovery"),
        ("/api/v1", "discovery"),
        ("/version", "version"),
        ("/openapi/v3/apis/apps/v1", "openapi"),
        ("/", ""),
    ],
)
def test_calls_are_counted_without_names(path, kind):
    """A metric with these labels has one series per resource, not per object."""
    assert path_kind(path) == kind
