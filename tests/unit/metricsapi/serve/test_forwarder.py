"""Requests to another metrics server over real TLS: what it gets, and what is passed on."""

import asyncio
import json
import ssl
from contextlib import asynccontextmanager

import pytest
import trustme
from aiohttp import web

from hypot.kinds.metric_values import CUSTOM
from hypot.metricsapi.serve import forwarder as module
from hypot.metricsapi.serve.forwarder import PROTOBUF, ForwardedRequest, Forwarder, ForwardError, OtherServer
from hypot.metricsapi.serve.other_metrics import OtherMetrics
from hypot.metricsapi.serve.query import read_query
from hypot.serving.readers import User
from unit.metricsapi.answering import answering
from unit.serving.front_proxy import PROXIES, STRANGERS, certificate

pytestmark = pytest.mark.asyncio
CA = trustme.CA()
IDENTITY = "hypot-metrics.hypot-system"
USER = User("hpa", ("system:a", "system:b"), "u1", (("scopes/x", ("1", "2")),))
PATH = "/apis/custom.metrics.k8s.io/v1beta2/namespaces/shop/services/web/hits"
LIST = {"kind": "MetricValueList", "items": []}


def tls():
    """Of a server that asks for certificates of the authority for passing on requests."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cadata=PROXIES.cert_pem.bytes().decode())
    CA.issue_cert("127.0.0.1").configure_cert(context)
    context.verify_mode = ssl.CERT_OPTIONAL
    return context


@pytest.fixture
def folder(tmp_path):
    """A token, an authority, and a client certificate."""
    (tmp_path / "token").write_text("very-secret\n")
    (tmp_path / "ca.crt").write_bytes(CA.cert_pem.bytes())
    present(tmp_path, PROXIES)
    return tmp_path


def present(folder, authority):
    leaf = certificate(authority, "hypot-metrics")
    (folder / "tls.crt").write_bytes(b"".join(each.bytes() for each in leaf.cert_chain_pems))
    (folder / "tls.key").write_bytes(leaf.private_key_pem.bytes())


@asynccontextmanager
async def forwarding(url, folder, **changes):
    files = {"ca_file": str(folder / "ca.crt"), "certificate": str(folder), **changes}
    async with Forwarder(OtherServer(str(url.origin()), **files), IDENTITY) as made:
        yield made


def query(path=PATH, **parameters):
    return read_query(path, parameters)


async def get(url, folder, path=PATH, *, via="", protobuf=False, parameters=None, **changes):
    async with forwarding(url, folder, **changes) as made:
        return await made.value(query(path, **parameters or {}), ForwardedRequest(USER, via, protobuf))


async def said(content, status=200, kind="application/json", **headers):
    return web.Response(status=status, body=content, content_type=kind, headers=headers)


class Witness:
    """Answers, and keeps which certificates it saw."""

    def __init__(self):
        self.seen = []

    async def __call__(self, request):
        self.seen.append(request.get_extra_info("peercert"))
        return await said(json.dumps(LIST))


async def fault(url, folder, **more):
    async with forwarding(url, folder, **more) as made:
        with pytest.raises(ForwardError) as error:
            await made.value(query(), ForwardedRequest(USER))
        assert made.counts.faults == {error.value.fault: 1}
    assert "very-secret" not in str(error.value)
    return error.value.fault, int(error.value.status)


async def test_the_user_is_named_as_the_api_server_does(folder):
    """With the certificate of this server, and nothing that a client could have written."""
    witness = Witness()
    async with answering(witness, tls()) as (url, asked):
        answer = await get(url, folder)
    assert (answer.status, answer.content_type, json.loads(answer.body)) == (200, "application/json", LIST)
    (request,) = asked
    headers = request.headers
    assert (request.method, request.path) == ("GET", PATH)
    assert headers["X-Remote-User"] == "hpa"
    assert headers["X-Remote-Uid"] == "u1"
    assert headers.getall("X-Remote-Group") == ["system:a", "system:b"]
    assert headers.getall("X-Remote-Extra-scopes%2Fx") == ["1", "2"]
    assert (headers["Via"], headers["Accept"]) == (f"1.1 {IDENTITY}", "application/json")
    assert "Authorization" not in headers
    assert (("commonName", "hypot-metrics"),) in witness.seen[0]["subject"]


async def test_a_token_instead(folder):
    """Then the other server sees the account of this one, and no user is named."""
    async with answering(lambda _: said(json.dumps(LIST)), tls()) as (url, asked):
        await get(url, folder, certificate="", token_file=str(folder / "token"))
    assert asked[0].headers["Authorization"] == "Bearer very-secret"
    assert not [key for key in asked[0].headers if key.startswith("X-Remote")]


@pytest.mark.parametrize(
    ("path", "parameters", "sent"),
    [
        (PATH, {}, PATH),
        (
            PATH.replace("services/web", "pods/*"),
            {"labelSelector": "app in (a,b)"},
            "pods/%2A/hits?labelSelector=app+in+%28a%2Cb%29",
        ),
        (PATH, {"metricLabelSelector": "a=b", "pretty": "1"}, "web/hits?metricLabelSelector=a%3Db"),
        # The name that was checked, whatever the other server makes of field selectors.
        (PATH.replace("web", "%2A"), {"fieldSelector": "metadata.name=web"}, PATH),
        (
            "/apis/custom.metrics.k8s.io/v1beta2/namespaces/shop/metrics/hits",
            {},
            "v1beta2/namespaces/shop/metrics/hits",
        ),
        ("/apis/custom.metrics.k8s.io/v1beta2/nodes/n1/hits", {}, "v1beta2/nodes/n1/hits"),
        ("/apis/external.metrics.k8s.io/v1beta1/namespaces/shop/queue", {}, "v1beta1/namespaces/shop/queue"),
    ],
)
async def test_the_path_is_written_anew(folder, path, parameters, sent):
    async with answering(lambda _: said(json.dumps(LIST)), tls()) as (url, asked):
        await get(url, folder, path, parameters=parameters)
    assert asked[0].raw_path.endswith(sent)


@pytest.mark.parametrize("part", ["..%2F..%2Fbank%2Fpods%2Fx", "..", "%2E%2E", "a%0Ab", "a%2Fb"])
async def test_names_that_mean_another_path(folder, part):
    """Else a client could read there what it was not checked for."""
    async with answering(lambda _: said(b"{}"), tls()) as (url, asked), forwarding(url, folder) as made:
        with pytest.raises(ForwardError) as error:
            await made.value(query(PATH.replace("web", part)), ForwardedRequest(USER))
    assert (error.value.fault, error.value.status, asked) == ("path", 400, [])


@pytest.mark.parametrize(
    ("answer", "protobuf", "expected"),
    [
        ({"content": b'{"code": 404}', "status": 404}, False, (404, "application/json", b'{"code": 404}')),
        ({"content": b'{"code": 403}', "status": 403}, False, (403, "application/json", b'{"code": 403}')),
        ({"content": b"k8s\0", "kind": PROTOBUF}, True, (200, PROTOBUF, b"k8s\0")),
        # Pages for people are not passed on, only what they mean.
        ({"content": b"<html>", "kind": "text/html", "status": 500}, False, (500, "", b"")),
        ({"content": b"k8s\0", "kind": PROTOBUF, "status": 404}, False, (404, "", b"")),
    ],
)
async def test_what_is_passed_on(folder, answer, protobuf, expected):
    async with answering(lambda _: said(**answer), tls()) as (url, _):
        assert await get(url, folder, protobuf=protobuf) == expected


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ({"content": b"", "status": 307, "Location": "https://elsewhere.example/"}, ("redirect", 502)),
        ({"content": b"{}", "status": 401}, ("credentials", 502)),
        ({"content": b"{}", "status": 508}, ("loop", 508)),
        ({"content": b"<html>", "kind": "text/html"}, ("body", 502)),
        ({"content": b"k8s\0", "kind": PROTOBUF}, ("body", 502)),
        ({"content": b"{}", "Content-Encoding": "gzip"}, ("body", 502)),
    ],
)
async def test_what_is_not_passed_on(folder, answer, expected):
    async with answering(lambda _: said(**answer), tls()) as (url, _):
        assert await fault(url, folder) == expected


async def test_a_body_that_is_too_large(folder, monkeypatch):
    monkeypatch.setattr(module, "LARGEST_ANSWER", 1000)
    async with answering(lambda _: said(b"[" + b" " * 2000 + b"]"), tls()) as (url, _):
        assert await fault(url, folder) == ("too-large", 502)


async def test_a_server_that_hangs(folder, monkeypatch):
    """It has some seconds, and few requests wait at the same time."""
    monkeypatch.setattr(module, "ANSWER_WITHIN", 0.2)
    monkeypatch.setattr(module, "MOST_AT_ONCE", 2)

    async def never(_):
        await asyncio.sleep(3600)

    async with answering(never, tls()) as (url, _), forwarding(url, folder) as made:
        several = [made.value(query(), ForwardedRequest(USER)) for _ in range(3)]
        found = await asyncio.gather(*several, return_exceptions=True)
    assert sorted((each.fault, int(each.status)) for each in found) == [
        ("busy", 503),
        ("timeout", 504),
        ("timeout", 504),
    ]


async def test_a_server_that_cannot_be_trusted(folder):
    """Nothing is sent, neither to a server of another authority nor without the own files."""
    async with answering(lambda _: said(b"{}"), tls()) as (url, asked):
        (folder / "ca.crt").write_bytes(STRANGERS.cert_pem.bytes())
        assert await fault(url, folder) == ("connection", 503)
        (folder / "ca.crt").write_bytes(CA.cert_pem.bytes())
        assert await fault(url, folder, token_file=str(folder / "no")) == ("credentials", 502)
        (folder / "tls.key").unlink()
        assert await fault(url, folder) == ("credentials", 502)
    assert asked == []
    assert await fault(url, folder, certificate="") == ("connection", 503)


async def test_a_certificate_that_is_renewed(folder):
    """The files are read again for each request."""
    witness = Witness()
    async with answering(witness, tls()) as (url, _), forwarding(url, folder) as made:
        await made.value(query(), ForwardedRequest(USER))
        present(folder, PROXIES)
        await made.value(query(), ForwardedRequest(USER))
    first, second = witness.seen
    assert first["serialNumber"] != second["serialNumber"]


@pytest.mark.parametrize(
    ("via", "is_loop"),
    [
        ("", False),
        (f"1.1 {IDENTITY}", True),
        (f"1.1 proxy, 1.1 {IDENTITY}", True),
        (f"1.1 {IDENTITY}x", False),
        ("1.1 hypot-metrics.other", False),
        ("x" * 2000, True),
    ],
)
async def test_a_loop(folder, via, is_loop):
    async with answering(lambda _: said(b"{}"), tls()) as (url, asked), forwarding(url, folder) as made:
        assert made.is_loop(via) is is_loop
        if not is_loop:
            await made.value(query(), ForwardedRequest(USER, via))
            assert made.is_loop(asked[0].headers["Via"])


def entry(name, **changes):
    found = {"name": name, "singularName": "", "namespaced": True, "kind": "MetricValueList", "verbs": ["get"]}
    return {**found, **changes}


async def listing(request):
    """A server that does not have the newer version, and tells more than it should."""
    if "v1beta2" in request.path:
        return await said(b'{"code": 404}', 404)
    listed = [entry("pods/hits", storageVersionHash="x"), entry(""), entry("services/\n")]
    return await said(json.dumps({"kind": "APIResourceList", "resources": listed}))


async def test_the_list_of_metrics(folder):
    """Only entries that clients can use, and only their known fields."""
    async with answering(listing, tls()) as (url, asked), forwarding(url, folder) as made:
        others = OtherMetrics(made, USER, lambda: True)
        await others.refresh()
        assert others.up is True
        assert others.of(CUSTOM, "v1beta2") == []
        assert others.of(CUSTOM, "v1beta1") == [entry("pods/hits")]
    assert {each.headers["X-Remote-User"] for each in asked} == {"hpa"}


@pytest.mark.parametrize(
    "answer",
    [
        {"content": b"{}", "status": 500},
        {"content": b"[]"},
        {"content": b'{"resources": 3}'},
        {"content": b'{"resources": [' + b"{}," * 20_001 + b"{}]}"},
        {"content": b"[" * 100_000},
        {"content": b"{}", "status": 508},
    ],
)
async def test_a_list_that_cannot_be_used(folder, answer):
    """What was known before is gone, and a gauge says so."""
    fails = False

    async def answered(request):
        return await (said(**answer) if fails else listing(request))

    async with answering(answered, tls()) as (url, _), forwarding(url, folder) as made:
        others = OtherMetrics(made, USER, lambda: True)
        await others.refresh()
        fails = True
        await others.refresh()
        assert (others.up, others.of(CUSTOM, "v1beta1")) == (False, [])
        assert made.counts.faults.total() == 1
