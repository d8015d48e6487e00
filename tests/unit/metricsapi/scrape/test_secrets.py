"""Credentials: where they come from, and what is never sent or shown."""

import asyncio
import base64
import ssl

import pytest
import trustme

from fake_cluster import FakeCluster
from hypot.cluster.port import Answer, UnreachableError, encoded
from hypot.kinds.metric_rules.fields import ScrapeCredentials, SecretKey
from hypot.metricsapi.scrape.fetch import ScrapeError
from hypot.metricsapi.scrape.secrets import OwnAccount, Secrets

pytestmark = pytest.mark.asyncio
TOKEN = "very-secret"  # noqa: S105 - of the tests
PATH = "/api/v1/namespaces/shop/secrets/access"
BY_TOKEN = ScrapeCredentials(token=SecretKey("access", "token"))
BY_CA = ScrapeCredentials(token=SecretKey("access", "token"), ca=SecretKey("access", "ca.crt"))
BY_PAIR = ScrapeCredentials(certificate=SecretKey("access"))


@pytest.fixture(scope="module")
def authority():
    return trustme.CA()


def text(pem):
    return pem.bytes().decode()


class World:
    """An API server with one Secret."""

    def __init__(self, own=None, **data):
        self.cluster, self.now = FakeCluster(), 1000.0
        self.secrets = Secrets(self.cluster, own, lambda: self.now)
        self.put(**data)

    def put(self, **data):
        packed = {key.replace("_", "."): base64.b64encode(value.encode()).decode() for key, value in data.items()}
        self.cluster.fixed[PATH] = Answer(200, encoded({"data": packed}))

    async def access(self, credentials=BY_TOKEN, scheme="https"):
        return await self.secrets.access("shop", scheme, credentials)

    async def refused(self, credentials=BY_TOKEN):
        """The message of the error; it never has a secret."""
        with pytest.raises(ScrapeError) as error:
            await self.access(credentials)
        assert error.value.fault == "credentials"
        assert TOKEN not in str(error.value)
        assert error.value.__cause__ is None
        return str(error.value)


@pytest.mark.parametrize("scheme", ["http", ""])
async def test_nothing_is_sent_without_tls(scheme):
    """Nothing is read either."""
    world = World(token=TOKEN)
    assert await world.access(scheme=scheme) == ({}, None)
    assert world.cluster.calls == []


@pytest.mark.parametrize("credentials", [None, ScrapeCredentials(), BY_TOKEN, BY_CA])
async def test_tls_is_always_verified(authority, credentials):
    access = await World(token=TOKEN, ca_crt=text(authority.cert_pem)).access(credentials)
    assert access.tls.verify_mode is ssl.CERT_REQUIRED
    assert access.tls.check_hostname
    assert access.tls.minimum_version >= ssl.TLSVersion.TLSv1_2


async def test_a_token_and_its_authority(authority):
    """Only that authority is trusted, and a line feed after the token does not matter."""
    access = await World(token=f"{TOKEN}\n", ca_crt=text(authority.cert_pem)).access(BY_CA)
    assert access.headers == {"Authorization": f"Bearer {TOKEN}"}
    assert len(access.tls.get_ca_certs()) == 1


async def test_a_client_certificate(authority):
    issued = authority.issue_cert("hypot")
    world = World(tls_crt=text(issued.cert_chain_pems[0]), tls_key=text(issued.private_key_pem))
    access = await world.access(BY_PAIR)
    assert access.headers == {}
    assert access.tls is (await world.access(BY_PAIR)).tls


@pytest.mark.parametrize(
    ("data", "credentials", "message"),
    [
        ({}, BY_TOKEN, "the Secret access has no token"),
        ({"token": ""}, BY_TOKEN, "the token is not one line of plain characters"),
        ({"token": f"{TOKEN}\r\nHost: a"}, BY_TOKEN, "the token is not one line of plain characters"),
        ({"token": f"{TOKEN} {TOKEN}"}, BY_TOKEN, "the token is not one line of plain characters"),
        ({"token": f"{TOKEN}é"}, BY_TOKEN, "the token is not one line of plain characters"),
        ({"token": TOKEN}, BY_CA, "the Secret access has no ca.crt"),
        ({"token": TOKEN, "ca_crt": TOKEN}, BY_CA, "the authorities are not certificates in PEM form"),
        # It must not stand for the authorities of the system.
        ({"token": TOKEN, "ca_crt": ""}, BY_CA, "the authorities are empty"),
        ({"tls_crt": TOKEN}, BY_PAIR, "the Secret access has no tls.key"),
        ({"tls_crt": TOKEN, "tls_key": TOKEN}, BY_PAIR, "the client certificate and its key cannot be used"),
    ],
)
async def test_secrets_that_cannot_be_used(data, credentials, message):
    """Nothing of them is in the message."""
    assert await World(**data).refused(credentials) == message


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"data": {"token": "no base64!"}}, "token of the Secret access is not text"),
        ({"data": {"token": "//79"}}, "token of the Secret access is not text"),
        ({"data": {"token": 3}}, "the Secret access has no token"),
        ({"data": None}, "the Secret access has no token"),
        ([], "the Secret access has no token"),
    ],
)
async def test_odd_secrets(body, message):
    world = World()
    world.cluster.fixed[PATH] = Answer(200, encoded(body))
    assert await world.refused() == message


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (Answer(404), "the Secret access does not exist"),
        (Answer(403, b"very-secret"), "the Secret access cannot be read: the API server answers 403"),
        (UnreachableError(TOKEN), "the Secret access cannot be read: the API server does not answer"),
    ],
)
async def test_a_secret_that_cannot_be_read(answer, message):
    """It is looked for again after 10 s, not with each scrape."""
    world = World(token=TOKEN)
    world.cluster.faults = lambda _: answer
    assert await world.refused() == message
    world.now += 9
    assert await world.refused() == message
    assert len(world.cluster.calls) == 1
    world.cluster.faults = None
    world.now += 1
    assert (await world.access()).headers


async def test_a_secret_is_read_once_a_minute():
    world = World(token="old")  # noqa: S106 - of the tests
    await world.access()
    world.put(token="new")  # noqa: S106 - of the tests
    world.now += 59
    assert (await world.access()).headers == {"Authorization": "Bearer old"}
    world.now += 1
    assert (await world.access()).headers == {"Authorization": "Bearer new"}
    assert len(world.cluster.calls) == 2


async def test_many_scrapes_at_once_read_a_secret_once():
    world = World(token=TOKEN)
    await asyncio.gather(*[world.access() for _ in range(20)])
    assert len(world.cluster.calls) == 1


async def test_a_token_that_a_pod_refused():
    """It is read again, unless it was read in the last 30 s."""
    world = World(token="old")  # noqa: S106 - of the tests
    await world.access()
    world.put(token="new")  # noqa: S106 - of the tests
    world.now += 30
    world.secrets.forget("shop")
    assert (await world.access()).headers == {"Authorization": "Bearer old"}
    world.now += 1
    world.secrets.forget("other")
    assert (await world.access()).headers == {"Authorization": "Bearer old"}
    world.secrets.forget("shop")
    assert (await world.access()).headers == {"Authorization": "Bearer new"}


async def test_the_own_account(authority, tmp_path):
    """Its files are read for each scrape, because the kubelet renews the token."""
    own = OwnAccount(tmp_path / "token", tmp_path / "ca.crt")
    world, credentials = World(own), ScrapeCredentials(service_account=True)
    assert await world.refused(credentials) == "the token of the service account cannot be read"
    own.token.write_text(TOKEN)
    assert await world.refused(credentials) == "the ca of the service account cannot be read"
    own.ca.write_text("")
    assert await world.refused(credentials) == "the authorities are empty"
    authority.cert_pem.write_to_path(own.ca)
    for token in (TOKEN, "next"):
        own.token.write_text(token)
        access = await world.access(credentials)
        assert access.headers == {"Authorization": f"Bearer {token}"}
        assert len(access.tls.get_ca_certs()) == 1
    assert world.cluster.calls == []


async def test_without_an_own_account():
    """A metrics server outside a cluster has none."""
    message = "the metrics server has no service account"
    assert await World().refused(ScrapeCredentials(service_account=True)) == message


async def test_one_context_for_equal_settings(authority):
    """So that connections can be reused; another authority gets its own."""
    world = World(token=TOKEN, ca_crt=text(authority.cert_pem))
    first = await world.access(BY_CA)
    assert (await world.access(BY_CA)).tls is first.tls
    world.put(token=TOKEN, ca_crt=text(trustme.CA().cert_pem))
    world.now += 60
    assert (await world.access(BY_CA)).tls is not first.tls


async def test_secrets_that_nobody_asks_for_are_forgotten():
    """Else those of namespaces that are gone would be kept for ever."""
    world = World(token=TOKEN)
    await world.access()
    world.now += 500.0
    with pytest.raises(ScrapeError):
        await world.secrets.access("another", "https", BY_TOKEN)
    assert list(world.secrets._kept) == [("another", "access")]
