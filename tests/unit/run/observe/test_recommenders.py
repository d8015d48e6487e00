"""HTTP recommenders of WatermarkPodAutoscalers, queried over a real socket."""

import asyncio
import os
import socket
import ssl
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager

import aiohttp
import pytest
import trustme
from aiohttp import web as http

from builders import fleet
from hypot.kinds.node import replaced
from hypot.kinds.wpa.fields import SKIP_OWNER_CHECK
from hypot.policy.model.seen import Failure, Reply, Scale
from hypot.policy.observe.snapshot import read_autoscaler
from hypot.run.addresses import AllowedAddresses
from hypot.run.observe import recommenders as replies
from hypot.run.observe.asking import TimeLimits
from hypot.run.observe.certificates import Certificates
from hypot.run.observe.recommenders import Asking, Recommenders
from unit.run.run_world import LOOPBACK, NOW, World, web, wpa

pytestmark = pytest.mark.asyncio
# Real sockets need real time: long enough for a busy machine.
BRIEF = TimeLimits(together=4.0, late=2.0)
ANSWER = {"targetReplicas": 6, "lowerBoundReplicas": 5, "upperBoundReplicas": 7, "reason": "traffic"}


@asynccontextmanager
async def serving(answer, tls=None):
    """A recommender on the loopback; yields its address and the requests that it got."""
    asked = []

    async def post(request):
        asked.append((dict(request.headers), await request.json()))
        return await answer(request) if callable(answer) else http.json_response(answer)

    app = http.Application()
    app.router.add_post("/", post)
    runner = http.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    site = http.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls)
    await site.start()
    port = runner.addresses[0][1]
    try:
        yield f"{'https' if tls else 'http'}://localhost:{port}/", asked
    finally:
        await runner.cleanup()


def asking(url, **more):
    recommender = {"url": url, "targetType": "cpu", "highWatermark": "800m", "lowWatermark": "500m", **more}
    spec = {"metrics": None, "recommender": recommender}
    return Asking(read_autoscaler(wpa(**spec)), Scale(4, 4, "app=web"), ())


def recommenders_with(session, certificates=None, **more):
    return Recommenders(session, LOOPBACK, certificates or Certificates(), **more)


async def ask(*questions, certificates=None):
    async with replies.new_session(LOOPBACK) as session:
        return await recommenders_with(session, certificates, cluster="east").ask(questions, NOW)


async def test_a_question_and_its_answer():
    """The request is that of the upstream controller, with the same user agent."""
    async with serving(ANSWER) as (url, asked):
        (reply,) = await ask(asking(url, settings={"a": "b"}))
        assert reply == Reply(6, 5, 7, "", 0.0)
        ((headers, body),) = asked
        assert (headers["User-Agent"], headers["Content-Type"]) == ("wpa-controller", "application/json")
        assert body["state"] == {"desiredReplicas": 4, "currentReplicas": 4, "readyReplicas": 0}
        assert (body["targetRef"]["cluster"], body["settings"]) == ("east", {"a": "b"})
        assert body["targets"][0]["upperBound"] == 0.8


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ({"error": {"code": 3, "message": "no data"}}, "answered with an error 3"),
        ({"targetReplicas": "six"}, "not whole numbers"),
        ([1], "not a JSON object"),
    ],
)
async def test_answers_that_are_failures(answer, message):
    """Each failure has its reason."""
    async with serving(answer) as (url, _):
        (reply,) = await ask(asking(url))
        assert isinstance(reply, Failure)
        assert message in reply.message


async def answer_500(_):
    return http.Response(status=500, text="out of order " * 100)


async def answer_text(_):
    return http.Response(text="<html>")


async def answer_large(_):
    return http.Response(body=b" " * (replies.LARGEST_REPLY + 1))


@pytest.mark.parametrize(
    ("answer", "message"),
    [(answer_500, "answers 500"), (answer_text, "not JSON"), (answer_large, "1 MiB")],
)
async def test_whatever_else_a_server_says(answer, message):
    """The message is bounded in size, and the answer is never taken for a count."""
    async with serving(answer) as (url, _):
        (reply,) = await ask(asking(url))
        assert message in reply.message
        assert len(reply.message) < 300
        assert "out of order" not in reply.message


async def test_an_answer_may_come_in_parts():
    """Large answers and slow servers send several parts."""

    async def by_and_by(request):
        response = http.StreamResponse()
        await response.prepare(request)
        for part in (b'{"targetReplicas": 6,', b' "lowerBoundReplicas": 5,', b' "upperBoundReplicas": 7}'):
            await response.write(part)
            await asyncio.sleep(0.02)
        return response

    async with serving(by_and_by) as (url, _):
        assert await ask(asking(url)) == [Reply(6, 5, 7, "", 0.0)]


async def test_a_connection_that_is_refused(unused_tcp_port):
    """A refused connection is a failure with a message."""
    (reply,) = await ask(asking(f"http://127.0.0.1:{unused_tcp_port}/"))
    assert reply.message == "the recommender cannot be asked: no connection: Connection refused"


@pytest.mark.parametrize("more", [{}, {"caFile": "ca.pem"}, {"caFile": "ca.pem", "serverName": "b.example"}])
async def test_a_certificate_that_is_not_valid(more, tmp_path):
    """The message says why, and nothing of this process."""
    authority, server = trustme.CA(), ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("a.example").configure_cert(server)
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    async with serving(ANSWER, server) as (url, _):
        (reply,) = await ask(asking(url, tlsConfig=more), certificates=Certificates(str(tmp_path)))
    assert reply.message.startswith("the recommender cannot be asked: its certificate is not valid: ")
    assert ("ismatch" in reply.message) == bool(more)
    assert not [odd for odd in ("0x", "_ssl.c", "<", "(") if odd in reply.message]


async def test_tls_with_a_server_that_has_none():
    """The reason is that of the TLS library."""
    async with serving(ANSWER) as (url, _):
        (reply,) = await ask(asking(url.replace("http:", "https:")))
    assert reply.message.startswith("the recommender cannot be asked: TLS failed: ")
    assert not [odd for odd in ("0x", "_ssl.c", "<", "localhost") if odd in reply.message]


async def test_a_host_that_cannot_be_resolved(monkeypatch):
    """Its name is in the address, which is reported anyway."""

    def unknown(*_, **__):
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    (reply,) = await ask(asking("http://localhost:1/"))
    assert reply.message == "the recommender cannot be asked: its host cannot be resolved"


async def test_an_answer_that_cannot_be_decoded():
    """The client would show its own error object."""

    async def garbled(_):
        return http.Response(body=b"not gzip", headers={"Content-Encoding": "gzip"})

    async with serving(garbled) as (url, _):
        (reply,) = await ask(asking(url))
    assert reply.message == "the recommender cannot be asked: its answer is incomplete or cannot be decoded"


async def never(_):
    await asyncio.Event().wait()


async def test_those_that_never_answer_do_not_stop_the_others():
    """The others are answered in the same reconcile; later the hanging ones, more than the limit, come last."""
    async with (
        asyncio.timeout(120),
        serving(never) as (hung, _),
        serving(ANSWER) as (url, asked),
        aiohttp.ClientSession() as session,
    ):
        recommenders = recommenders_with(session, limits=BRIEF)
        questions = [asking(f"{hung}?{number}") for number in range(20)]
        before = await recommenders.ask([asking(url), *questions], NOW)
        after = await recommenders.ask([*questions[:15], asking(url)], NOW)
    assert isinstance(before[0], Reply)
    assert isinstance(after[-1], Reply)
    assert len(asked) == 2
    assert "the recommender did not answer within" in after[0].message


async def test_slow_name_lookups_leave_other_threads_free(monkeypatch):
    """State, Prometheus and the API server need threads meanwhile, and other recommenders are queried."""
    loop, over, real = asyncio.get_running_loop(), threading.Event(), socket.getaddrinfo
    loop.set_default_executor(ThreadPoolExecutor(1))

    def slowly(host, *rest, **more):
        if str(host).endswith(".example"):
            over.wait(30)
            raise socket.gaierror(socket.EAI_AGAIN, "no answer")
        return real(host, *rest, **more)

    monkeypatch.setattr(socket, "getaddrinfo", slowly)
    try:
        async with asyncio.timeout(120), serving(ANSWER) as (url, _), replies.new_session(LOOPBACK) as session:
            questions = [asking(f"http://r{number}.example/") for number in range(15)]
            *hung, answered = await recommenders_with(session, limits=BRIEF).ask([*questions, asking(url)], NOW)
            assert await loop.run_in_executor(None, str, "free") == "free"
    finally:
        over.set()
    assert isinstance(answered, Reply)
    assert {type(each) for each in hung} == {Failure}


async def test_a_reconcile_ends_though_a_recommender_hangs():
    """The reconcile decides on the other autoscaler."""
    async with asyncio.timeout(120), serving(never) as (hung, _):
        recommender = {"url": hung, "highWatermark": "800m", "lowWatermark": "500m"}
        async with World(*web(4), wpa(), wpa("stuck", metrics=None, recommender=recommender)) as world:
            world.reconciler.observer._recommenders = recommenders_with(world.session, limits=BRIEF)
            world.queue("30")
            reconciled = await world.reconcile()
            assert world.of(reconciled).decision.decided
            assert "did not answer within" in world.of(reconciled, name="stuck").decision.error


async def test_a_redirect_is_not_an_answer():
    """Hypot queries only addresses that the object names."""
    async with serving(ANSWER) as (url, asked):

        async def elsewhere(_):
            raise http.HTTPTemporaryRedirect(url)

        async with serving(elsewhere) as (first, _):
            (reply,) = await ask(asking(first))
    assert "answers 307: redirects are not followed" in reply.message
    assert asked == []


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://x/", "", "localhost"])
async def test_other_addresses_are_refused(url):
    """The error kind is `spec`: the object is wrong."""
    (reply,) = await ask(asking(url))
    assert reply.kind == "spec"


@pytest.mark.parametrize(
    "url",
    [
        "ftp://u:passw0rd@127.0.0.1/r?key=k3y",
        "http://u:passw0rd@127.0.0.1:1/r?key=k3y",
        "http://u:pass/w0rd@127.0.0.1/r?key=k3y",
        "http://u:passw0rd@/r?key=k3y",
        "http://u:passw0rd@h\uff0fost/r?key=k3y",
    ],
)
async def test_secrets_in_an_address_are_not_reported(url):
    """Many people read conditions and events."""
    (reply,) = await ask(asking(url))
    assert not [secret for secret in ("pass", "w0rd", "k3y") if secret in reply.message]


@pytest.mark.parametrize(
    ("host", "why"),
    [("\u0300\u0323" * 125_000, "longer than 2048"), ("a" * 3000, "longer than 2048"), ("\u0300\u0323", "not ASCII")],
)
async def test_an_address_that_takes_long_to_parse(host, why):
    """It is refused before, and the next recommender is asked."""
    async with serving(ANSWER) as (url, _):
        bad, good = await ask(asking(f"http://{host}.b.svc/"), asking(url))
    assert (bad.kind, why in bad.message, len(bad.message) < 300) == ("spec", True, True)
    assert isinstance(good, Reply)


async def test_credentials_are_not_sent_without_tls():
    """The message says what to change."""
    async with serving(ANSWER) as (url, asked):
        (reply,) = await ask(asking(url.replace("http://", "http://u:passw0rd@")))
    assert reply == Failure("the recommender's url has credentials, which are only sent over https", "spec")
    assert asked == []


async def test_an_invalid_http_answer_reveals_neither_itself_nor_the_address():
    """The HTTP client would repeat both."""

    async def gibberish(reader, writer):
        await reader.readline()
        writer.write(b"SSH-2.0-b4nner\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(gibberish, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        (reply,) = await ask(asking(f"http://127.0.0.1:{port}/r?key=k3y"))
    assert reply.message == "the recommender cannot be asked: its answer is not HTTP"


async def test_one_that_fails_does_not_stop_the_others():
    """Answers come in the order of the questions."""
    async with serving(ANSWER) as (url, _):
        found = await ask(asking(""), asking(url), asking("http://127.0.0.1:1/"))
        assert [isinstance(each, Reply) for each in found] == [False, True, False]


async def test_tls_trusts_only_the_configured_authorities(tmp_path):
    """It trusts the authorities of the system or of a file, or skips verification where the object says so."""
    authority = trustme.CA()
    server = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("localhost").configure_cert(server)
    ca = tmp_path / "ca.pem"
    authority.cert_pem.write_to_path(ca)
    async with serving(ANSWER, server) as (url, _):
        plain, trusting, careless, missing = await ask(
            asking(url),
            asking(url, tlsConfig={"caFile": "ca.pem"}),
            asking(url, tlsConfig={"insecureSkipVerify": True}),
            asking(url, tlsConfig={"caFile": "none.pem"}),
            certificates=Certificates(str(tmp_path), insecure=True),
        )
        assert isinstance(plain, Failure)
        assert isinstance(trusting, Reply)
        assert isinstance(careless, Reply)
        assert isinstance(missing, Failure)


async def test_a_connection_is_not_used_for_another_server_name(tmp_path):
    """Objects share a TLS context, but a name is checked though a connection is open."""
    authority = trustme.CA()
    server = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("a.example").configure_cert(server)
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    found = []
    async with serving(ANSWER, server) as (url, _), replies.new_session(LOOPBACK) as session:
        recommenders = recommenders_with(session, Certificates(str(tmp_path)))
        for name in ("a.example", "b.example", "a.example", None):
            tls = {"caFile": "ca.pem", "serverName": name}
            found += await recommenders.ask([asking(url, tlsConfig=tls)], NOW)
    assert [type(reply) for reply in found] == [Reply, Failure, Reply, Failure]


async def test_new_certificates_are_taken_up(tmp_path):
    """A rewritten file is read again, without a restart."""
    wrong, right = trustme.CA(), trustme.CA()
    server = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    right.issue_cert("localhost").configure_cert(server)
    ca = tmp_path / "ca.pem"
    async with serving(ANSWER, server) as (url, _):
        found = []
        for number, authority in enumerate((wrong, right)):
            authority.cert_pem.write_to_path(ca)
            os.utime(ca, (NOW + number, NOW + number))
            found += await ask(asking(url, tlsConfig={"caFile": str(ca)}), certificates=Certificates(str(tmp_path)))
    assert [type(reply) for reply in found] == [Failure, Reply]


@pytest.mark.parametrize(("word", "ready"), [("true", 3), ("True", 0), ("1", 0)])
async def test_owners_do_not_matter_only_by_the_exact_word(word, ready):
    """The recommender hears of the same ready pods as the decision."""
    async with serving(ANSWER) as (url, asked):
        usual = asking(url)
        spec = replaced(usual.wpa, metadata={"annotations": {SKIP_OWNER_CHECK: word}})
        await ask(usual._replace(wpa=spec, pods=fleet(3, owners=())))
    assert asked[0][1]["state"]["readyReplicas"] == ready


async def test_a_reconcile_follows_its_recommender():
    """The answer sets the count; the request has the number of ready pods."""
    async with serving(ANSWER) as (url, asked):
        spec = {"metrics": None, "recommender": {"url": url, "highWatermark": "800m", "lowWatermark": "500m"}}
        async with World(*web(4), wpa(**spec)) as world:
            await world.reconcile()
            assert world.replicas == 6
        assert asked[0][1]["state"]["readyReplicas"] == 4


async def test_a_reconcile_without_an_answer_moves_nothing():
    """Missing data never scales down."""
    recommender = {"url": "http://127.0.0.1:1/", "highWatermark": "800m", "lowWatermark": "500m"}
    spec = {"metrics": None, "recommender": recommender}
    async with World(*web(4), wpa(**spec)) as world:
        outcome = await world.outcome()
        assert (world.replicas, outcome.decision.decided) == (4, False)
        assert "cannot be asked" in outcome.decision.error


async def nested(_):
    return http.Response(body=b'{"a":' * 100_000 + b"1" + b"}" * 100_000, content_type="application/json")


async def not_text(_):
    return http.Response(body=b'{"targetReplicas": 6, "reason": "\xff\xfe"}', content_type="application/json")


async def huge_number(_):
    return http.Response(body=b'{"targetReplicas": ' + b"9" * 400 + b"}", content_type="application/json")


async def secret(_):
    return http.json_response({"error": {"code": "t0k3n", "message": "t0k3n"}, "timestamp": "t0k3n", "reason": "t0k3n"})


@pytest.mark.parametrize("answer", [nested, not_text, huge_number, secret])
async def test_a_hostile_answer_fails_alone(answer):
    """Whatever an answer contains, the next recommender is heard, and nothing of it is reported."""
    async with serving(answer) as (hostile, _), serving(ANSWER) as (url, _):
        bad, good = await ask(asking(hostile), asking(url))
    assert isinstance(bad, Failure)
    assert "t0k3n" not in bad.message
    assert isinstance(good, Reply)


HOSTILE_TLS = [
    {"serverName": "a\0b"},
    {"serverName": "x" * 10_000},
    {"serverName": "\u0300\u0323" * 125_000},
    {"minVersion": "TLS13", "maxVersion": "TLS11"},
]


@pytest.mark.parametrize("tls", HOSTILE_TLS)
async def test_hostile_tls_settings_fail_alone(tls):
    """Errors of the TLS library are failures of the question."""
    async with serving(ANSWER) as (url, _):
        bad, good = await ask(asking("https://localhost:1/", tlsConfig=tls), asking(url))
    assert isinstance(bad, Failure)
    assert isinstance(good, Reply)


async def test_an_address_that_is_not_allowed_is_not_called():
    """Neither directly nor through a name."""
    allowed = AllowedAddresses(["localhost"])
    async with serving(ANSWER) as (url, asked), replies.new_session(allowed) as session:
        recommenders = Recommenders(session, allowed, Certificates())
        by_name, by_number = await recommenders.ask([asking(url), asking(url.replace("localhost", "127.0.0.1"))], NOW)
    assert "its url is not allowed: its address is loopback" in by_name.message
    assert "is not allowed: its address is loopback" in by_number.message
    assert asked == []


@pytest.mark.parametrize(
    "host",
    ["\uff11\uff12\uff17.0.0.1", "forecast.shop.svc\\@127.0.0.1", "127.0.0.1#@forecast.shop.svc", "127.0.0.1?.svc"],
)
async def test_an_address_is_checked_as_the_client_reads_it(host):
    """Whatever a url hides its host behind."""
    allowed = AllowedAddresses(["*.1", "*.svc"])
    async with replies.new_session(allowed) as session:
        (reply,) = await Recommenders(session, allowed, Certificates()).ask([asking(f"http://{host}:1/")], NOW)
    assert [why for why in ("loopback", "cannot be read", "not ASCII") if why in reply.message]


async def test_cookies_are_not_kept():
    """A cookie of one tenant's recommender would be sent to those of others."""

    async def with_cookie(_):
        answer = http.json_response(ANSWER)
        answer.headers["Set-Cookie"] = "tenant=a; Path=/"
        return answer

    async with serving(with_cookie) as (url, asked), replies.new_session(LOOPBACK) as session:
        recommenders = recommenders_with(session)
        for _ in range(2):
            await recommenders.ask([asking(url)], NOW)
    assert [headers.get("Cookie") for headers, _ in asked] == [None, None]


async def test_a_namespace_that_has_not_opted_in_is_not_asked():
    """Its objects must not make hypot call anything."""
    async with serving(ANSWER) as (url, asked):
        spec = {"metrics": None, "recommender": {"url": url, "highWatermark": "800m", "lowWatermark": "500m"}}
        async with World(*web(4), wpa(**spec), opt_in="label") as world:
            await world.reconcile()
            assert world.replicas == 4
    assert asked == []
