"""Scrapes over a real socket: what is sent, what is read, and what is refused."""

import asyncio
import contextlib
import gzip
import ssl
import sys
import tracemalloc

import pytest
import trustme
from aiohttp import web
from yarl import URL

from hypot.cluster.clock import boot, wall
from hypot.kinds.selector import parse_selector
from hypot.metricsapi.body.totals import Wanted
from hypot.metricsapi.scrape.fetch import ScrapeError, ScrapeRequest, fetch, new_session
from unit.metricsapi.answering import answering

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

pytestmark = pytest.mark.asyncio
NAME = "requests_total"
BODY = b"# TYPE requests_total counter\n" + b"".join(
    b'requests_total{code="%d"} 10\nother{a="requests_total 3"} 1\n' % code for code in range(200, 300)
)
TOKEN = {"Authorization": "Bearer very-secret"}
# Real sockets need real time: long enough for a busy machine.
LONG = 10.0


async def get(url, headers=(), largest=2**20, within=LONG, **more):
    async with new_session(1.0) as session:
        return await fetch(session, ScrapeRequest(url, [Wanted(NAME)], dict(headers), **more), within, largest)


async def fault(url, **more):
    """The fault and the message of a scrape that gives nothing; the token is never in it."""
    with pytest.raises(ScrapeError) as error:
        await get(url, TOKEN, **more)
    assert "very-secret" not in str(error.value)
    assert len(str(error.value)) <= 200
    return error.value.fault, str(error.value)


async def test_a_scrape():
    before = boot(), wall()
    async with answering(BODY) as (url, asked):
        found = await get(url.with_query({"a": "b c"}), TOKEN)
    assert (found.totals, found.size) == ([1000.0], len(BODY))
    assert before[0] <= found.at <= boot()
    assert before[1] <= found.wall <= wall()
    (request,) = asked
    assert (request.method, request.path_qs) == ("GET", "/metrics?a=b+c")
    assert request.headers["Accept-Encoding"] == "zstd, gzip"
    assert request.headers["Accept"].startswith("application/openmetrics-text")
    assert request.headers["User-Agent"] == "hypot-metrics"
    assert request.headers["Authorization"] == TOKEN["Authorization"]


@pytest.mark.parametrize(
    ("encoding", "pack"),
    [("gzip", gzip.compress), ("GZIP", gzip.compress), ("zstd", zstd.compress), ("identity", bytes)],
)
async def test_a_compressed_body(encoding, pack):
    async with answering(lambda _: packed(pack(BODY), encoding)) as (url, _):
        found = await get(url)
    assert (found.totals, found.size) == ([1000.0], len(BODY))


async def packed(body, encoding):
    return web.Response(body=body, headers={"Content-Encoding": encoding})


async def test_connections_are_reused():
    """One of them is enough for scrapes that follow each other."""
    async with answering(BODY) as (url, asked), new_session(LONG) as session:
        for _ in range(3):
            await fetch(session, ScrapeRequest(url, [Wanted(NAME)], {}), LONG, 2**20)
        assert len({request.transport.get_extra_info("peername") for request in asked}) == 1


@pytest.mark.parametrize("encoding", ["", "gzip", "zstd"])
async def test_a_body_that_is_too_large(encoding):
    """Exactly the limit is read. Beyond it nothing more is, however small the body is before it is unpacked."""
    pack = {"gzip": gzip.compress, "zstd": zstd.compress}.get(encoding, bytes)
    async with answering(lambda _: packed(pack(BODY), encoding)) as (url, _):
        assert (await get(url, largest=len(BODY))).totals == [1000.0]
        found = await fault(url, largest=len(BODY) - 1)
    assert found == ("too-large", f"the body has more than {len(BODY) - 1:,} bytes")


async def test_a_body_without_end():
    """It is cut off at the limit, and not at the deadline."""

    async def endless(request):
        response = web.StreamResponse()
        await response.prepare(request)
        try:
            while True:
                await response.write(b"other 1\n" * 8192)
        except ConnectionError:
            return response

    async with answering(endless) as (url, _):
        assert (await fault(url))[0] == "too-large"


@pytest.mark.parametrize("status", [201, 204, 301, 400, 401, 403, 404, 500, 503])
async def test_a_status(status):
    async with answering(lambda _: with_status(status)) as (url, _):
        assert await fault(url) == ("status", f"it answers {status}")


async def with_status(status, **headers):
    return web.Response(status=status, headers=headers)


async def test_redirects_are_not_followed():
    """Else a pod could have the token sent to another place."""
    async with answering(BODY) as (other, asked):
        async with answering(lambda _: with_status(302, Location=str(other))) as (url, _):
            assert await fault(url) == ("status", "it answers 302")
        assert asked == []


async def test_cookies_are_not_kept():
    async def answer(_):
        return web.Response(body=BODY, headers={"Set-Cookie": "a=b"})

    async with answering(answer) as (url, asked), new_session(LONG) as session:
        for _ in range(2):
            await fetch(session, ScrapeRequest(url, [Wanted(NAME)], {}), LONG, 2**20)
        assert "Cookie" not in asked[1].headers


@pytest.mark.parametrize("begins", [True, False])
async def test_a_slow_pod(begins):
    """The deadline is for the whole answer, also if some of it comes."""

    async def slow(request):
        response = web.StreamResponse()
        if begins:
            await response.prepare(request)
            await response.write(BODY)
        await asyncio.sleep(LONG)
        return response

    async with answering(slow) as (url, _):
        assert await fault(url, within=0.1) == ("timeout", "no complete answer within 0 s")


async def cut_off(request):
    """Half of a body, whose length is known."""
    response = web.StreamResponse(headers={"Content-Length": str(len(BODY))})
    await response.prepare(request)
    await response.write(BODY[: len(BODY) // 2])
    request.transport.close()
    return response


async def cut_off_in_chunks(request):
    response = web.StreamResponse()
    response.enable_chunked_encoding()
    await response.prepare(request)
    await response.write(BODY[: len(BODY) // 2])
    request.transport.close()
    return response


@pytest.mark.parametrize("answer", [cut_off, cut_off_in_chunks])
async def test_a_body_that_is_cut_off(answer):
    """A part of the total would look like a reset."""
    async with answering(answer) as (url, _):
        assert (await fault(url))[0] == "connection"


@pytest.mark.parametrize("kind", ["text/plain", "application/openmetrics-text; version=1.0.0"])
async def test_a_body_that_ends_with_the_connection(kind):
    """Nothing but its last line says whether it is complete: 23 may have been 2345."""
    eof = b"# EOF\n" if "openmetrics" in kind else b""
    head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nConnection: close\r\n\r\n".encode()
    for body, totals in ((b"requests_total 2345\n" + eof, [2345.0]), (b"requests_total 23", None)):

        async def spoken(reader, writer, body=body):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(head + body)
            writer.close()
            await writer.wait_closed()

        async with await asyncio.start_server(spoken, "127.0.0.1", 0) as server:
            url = URL(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/")
            if totals is None:
                assert (await fault(url))[0] == "body"
            else:
                assert (await get(url)).totals == totals


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
async def test_a_compressed_body_that_is_cut_off(encoding):
    pack = {"gzip": gzip.compress, "zstd": zstd.compress}[encoding]
    async with answering(lambda _: packed(pack(BODY)[:-4], encoding)) as (url, _):
        assert await fault(url) == ("body", f"the {encoding} body is not complete")


@pytest.mark.parametrize(
    ("body", "encoding", "message"),
    [
        (b"requests_total 5", "", "the body is not complete: its last line does not end"),
        (b'requests_total{a="1",a="2"} 5\n', "", 'a label occurs twice: \'a="1",a="2"\''),
        (b"requests_total NaN\n", "", "a value of requests_total is not a number: 'NaN'"),
        (b"requests_total 1e400\n", "", "a value of requests_total is not a number: '1e400'"),
        (b"requests_total{a=\n", "", "a line of requests_total cannot be read: '{a='"),
        (b"x" * 2**21, "", "a line has more than 1,048,576 bytes"),
        (BODY, "gzip", "the body is not valid gzip"),
        (BODY, "zstd", "the body is not valid zstd"),
        (BODY, "br", "the body has a content encoding that was not asked for"),
    ],
)
async def test_a_body_of_garbage(body, encoding, message):
    async with answering(lambda _: packed(body, encoding)) as (url, _):
        assert await fault(url, largest=2**22) == ("body", message)


async def test_a_body_that_stops_everything():
    """60 kB of gzip are 20 MB of wanted lines: other tasks go on, and the deadline is kept in the middle of it."""
    line = b'requests_total{code="200",verb="GET"} 1\n'
    wanted = [Wanted(NAME, parse_selector("code=200"), ((parse_selector("verb=LIST"), 5.0),))] * 3
    body = gzip.compress(line * 466_033)
    async with (
        answering(lambda _: packed(body, "gzip")) as (url, _),
        new_session(1.0) as session,
        longest_stop() as stop,
    ):
        asked = ScrapeRequest(url, wanted, {})
        with pytest.raises(ScrapeError, match="more than 100,000 lines are wanted"):
            await fetch(session, asked, 60.0, 20 * 2**20)
        with pytest.raises(ScrapeError, match="no complete answer"):
            await fetch(session, asked, 0.3, 20 * 2**20)
    assert stop() < 0.2


async def test_members_without_contents_stop_nothing():
    """They are never any bytes of the body, so what came counts too."""
    body = gzip.compress(b"") * 150_000
    async with (
        answering(lambda _: packed(body, "gzip")) as (url, _),
        new_session(1.0) as session,
        longest_stop() as stop,
    ):
        with pytest.raises(ScrapeError, match="more than 2,097,152 bytes"):
            await fetch(session, ScrapeRequest(url, [Wanted(NAME)], {}), 60.0, 2**21)
    assert stop() < 0.2


@contextlib.asynccontextmanager
async def longest_stop():
    """How long the event loop did not turn, at most. The body itself is made before."""
    longest = 0.0

    async def beat():
        nonlocal longest
        while True:
            began = boot()
            await asyncio.sleep(0.01)
            longest = max(longest, boot() - began - 0.01)

    beating = asyncio.ensure_future(beat())
    await asyncio.sleep(0.05)
    yield lambda: longest
    beating.cancel()


@pytest.mark.parametrize("answer", [b"", b"SSH-2.0\r\n", b"HTTP/1.1 200 OK\r\nA: " + b"b" * 100_000, bytes(200)])
async def test_what_is_not_http(answer):
    """Another service has the port."""

    async def spoken(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        writer.close()
        await writer.wait_closed()

    async with await asyncio.start_server(spoken, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        async with answering(BODY) as (url, _):
            assert (await fault(url.with_port(port)))[0] == "connection"


async def test_nobody_listens():
    async with answering(BODY) as (url, _):
        pass
    assert (await fault(url))[0] == "connection"


def server_side(authority, name):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(name).configure_cert(context)
    return context


def trusting(authority):
    context = ssl.create_default_context()
    authority.configure_trust(context)
    return context


@pytest.fixture(scope="module")
def authority():
    return trustme.CA()


async def test_tls(authority):
    """The name is that of the rule, because pods have addresses."""
    async with answering(BODY, server_side(authority, "kube-apiserver")) as (url, asked):
        found = await get(url, TOKEN, tls=trusting(authority), server_name="kube-apiserver")
        assert found.totals == [1000.0]
        assert asked[0].headers["Authorization"] == TOKEN["Authorization"]


async def test_open_connections_over_tls_are_small(authority):
    """There are thousands. Both ends are in this process; asyncio's own buffers would take 512 KiB for both."""
    tls, number = trusting(authority), 10
    async with answering(BODY, server_side(authority, "127.0.0.1")) as (url, _), new_session(LONG) as session:
        tracemalloc.start()
        try:
            asked = ScrapeRequest(url, [Wanted(NAME)], {}, tls)
            await asyncio.gather(*(fetch(session, asked, LONG, 2**20) for _ in range(number)))
            held, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert 64 * 1024 < held / number < 192 * 1024


async def test_tls_without_a_name(authority):
    """The certificate must then have the address."""
    async with answering(BODY, server_side(authority, "127.0.0.1")) as (url, _):
        assert (await get(url, tls=trusting(authority))).totals == [1000.0]


@pytest.mark.parametrize(
    ("issuer", "name"), [("other", "kube-apiserver"), ("own", "other"), ("own", "127.0.0.1"), ("system", "127.0.0.1")]
)
async def test_a_certificate_that_is_not_trusted(authority, issuer, name):
    """Of another authority, or for another name. Nothing is sent then."""
    trusted = {"other": trustme.CA(), "own": authority}.get(issuer)
    tls = None if trusted is None else trusting(trusted)
    async with answering(BODY, server_side(authority, name)) as (url, asked):
        assert (await fault(url, tls=tls, server_name="kube-apiserver"))[0] == "connection"
        assert asked == []


async def test_tls_to_a_pod_without_it(authority):
    async with answering(BODY) as (url, asked):
        assert (await fault(url.with_scheme("https"), tls=trusting(authority)))[0] == "connection"
        assert asked == []


async def test_a_client_certificate(authority):
    context = server_side(authority, "127.0.0.1")
    context.verify_mode = ssl.CERT_REQUIRED
    authority.configure_trust(context)
    tls = trusting(authority)
    async with answering(BODY, context) as (url, _):
        assert (await fault(url, tls=tls))[0] == "connection"
        authority.issue_cert("hypot").configure_cert(tls)
        assert (await get(url, tls=tls)).totals == [1000.0]
