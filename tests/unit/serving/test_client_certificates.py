"""Who a client is by its certificate, over real TLS."""

from contextlib import asynccontextmanager

import aiohttp
import pytest
import trustme
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from fake_cluster import FakeCluster
from hypot.serving.answers import said
from hypot.serving.certificate_holder import CertificateHolder
from hypot.serving.certificates import issue
from hypot.serving.client_certificates import ClientCertificates, TrustError, read_trust
from hypot.serving.listener import Limits, Listener
from unit.serving.front_proxy import CLIENTS, PROXIES, STRANGERS, certificate, config_map, presenting, trusted

pytestmark = pytest.mark.asyncio
ALICE = {"X-Remote-User": "alice", "X-Remote-Group": "shop"}


@asynccontextmanager
async def server(data=None, clock=None):
    """A server that says who the client is, and a function that asks it."""
    clients = ClientCertificates(FakeCluster(), **({} if clock is None else {"clock": clock}))
    clients._changed(("kube-system", "extension-apiserver-authentication"), trusted() if data is None else data)

    async def answer(request):
        return said(200, str(clients.user(request)))

    issued = issue(("127.0.0.1",), clients._clock())
    holder = CertificateHolder(issued)
    holder.ask_clients(f"{clients.trust.client_pem}\n{clients.trust.proxy_pem}")
    listener = Listener(answer, Limits())
    await listener.start("127.0.0.1", 0, holder.context)

    async def asked(leaf=None, **headers):
        tls = presenting(issued.ca_pem, leaf)
        connector = aiohttp.TCPConnector(ssl=tls)
        async with (
            aiohttp.ClientSession(connector=connector) as session,
            session.get(f"https://127.0.0.1:{listener.port}/", headers=headers) as got,
        ):
            return (await got.text()).strip()

    try:
        yield asked, clients
    finally:
        await listener.stop()


async def test_the_api_server_passes_on_requests():
    """The headers name the user, its groups, uid and more."""
    more = {"X-Remote-Uid": "7", "X-Remote-Extra-Scopes.example%2Fa": "one"}
    async with server() as (asked, _):
        found = await asked(certificate(PROXIES), **ALICE, **more)
    assert found == (
        "User(name='alice', groups=('shop', 'system:authenticated'), uid='7', extra=(('scopes.example/a', ('one',)),))"
    )


async def test_somebody_without_an_identity_gets_none():
    """The API server passes on requests of anonymous clients too."""
    async with server() as (asked, _):
        found = await asked(
            certificate(PROXIES), **{"X-Remote-User": "system:anonymous", "X-Remote-Group": "system:unauthenticated"}
        )
    assert "groups=('system:unauthenticated',)" in found


@pytest.mark.parametrize(
    "leaf",
    [
        None,
        certificate(PROXIES, "somebody-else"),
        pytest.param(PROXIES.issue_cert("front-proxy-client"), id="name only as a host"),
    ],
)
async def test_headers_of_others_do_not_count(leaf):
    """Without a certificate, or with one of another name."""
    async with server() as (asked, _):
        assert await asked(leaf, **ALICE) == "None"


async def test_a_client_certificate_is_not_one_for_passing_on():
    """The client is who its certificate says, whatever its headers say."""
    async with server() as (asked, _):
        found = await asked(certificate(CLIENTS, "front-proxy-client", "system:masters"), **ALICE)
    assert found.startswith("User(name='front-proxy-client', groups=('system:masters', 'system:authenticated')")


@pytest.mark.parametrize("leaf", [certificate(STRANGERS), certificate(PROXIES, expired=True)], ids=["strange", "old"])
async def test_a_certificate_that_is_not_valid_ends_the_handshake(leaf):
    async with server() as (asked, _):
        with pytest.raises((aiohttp.ClientError, OSError)):
            await asked(leaf, **ALICE)


async def test_any_name_of_the_authority_if_none_is_given():
    async with server(trusted(names=())) as (asked, _):
        assert "alice" in await asked(certificate(PROXIES, "anything"), **ALICE)


async def test_an_intermediate_authority_does_not_count():
    """Only what the authority signed itself counts: an intermediate authority could pass on any request."""
    middle = PROXIES.create_child_ca()
    async with server() as (asked, _):
        assert await asked(certificate(middle), **ALICE) == "None"


async def test_an_authority_that_is_replaced_counts_no_longer():
    """TLS still accepts its certificates on this port, but nobody is known by them."""
    async with server() as (asked, clients):
        leaf = certificate(PROXIES)
        assert "alice" in await asked(leaf, **ALICE)
        clients._changed(("kube-system", "extension-apiserver-authentication"), trusted(proxies=trustme.CA()))
        assert await asked(leaf, **ALICE) == "None"


async def test_a_certificate_expires_while_it_is_used():
    """A connection may be open for longer than the certificate is valid."""
    leaf = certificate(PROXIES)
    loaded = x509.load_pem_x509_certificate(leaf.cert_chain_pems[0].bytes())
    ends = loaded.not_valid_after_utc.timestamp()
    now = [ends - 60.0]
    async with server(clock=lambda: now[0]) as (_, clients):
        der = loaded.public_bytes(Encoding.DER)
        request = _Request(der, ALICE)
        assert clients.user(request).name == "alice"
        now[0] = ends + 1
        assert clients.user(request) is None


class _Request:
    def __init__(self, der, headers):
        self.headers, self.transport = _Headers(headers), self
        self._der = der

    def get_extra_info(self, _):
        return self

    def getpeercert(self, *, binary_form):
        assert binary_form
        return self._der


class _Headers(dict):
    def getall(self, key, default):
        return [self[key]] if key in self else default


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("requestheader-allowed-names", "front-proxy-client"),
        ("requestheader-username-headers", '{"a": 1}'),
        ("requestheader-group-headers", "[1]"),
        ("requestheader-client-ca-file", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----"),
    ],
)
async def test_a_configmap_that_cannot_be_read_is_reported(key, text):
    """What was known before stays."""
    with pytest.raises(TrustError):
        read_trust({**trusted(), key: text})
    async with server() as (asked, clients):
        clients._changed(("kube-system", "extension-apiserver-authentication"), {**trusted(), key: text})
        assert clients.trouble
        assert "alice" in await asked(certificate(PROXIES), **ALICE)


async def test_nobody_is_known_before_the_configmap():
    """It says what it waits for."""
    clients = ClientCertificates(FakeCluster())
    assert clients.awaited == "the ConfigMap kube-system/extension-apiserver-authentication"
    clients._changed(("kube-system", "extension-apiserver-authentication"), config_map()["data"])
    assert clients.awaited == ""
