"""A certificate that others keep in a directory."""

import os
from datetime import UTC, datetime

import pytest
import trustme

from fake_cluster import FakeCluster
from fake_objects import refusal
from hypot.cluster.port import Answer, RefusedError, encoded
from hypot.run.webhook.given_certificate import GivenCertificate
from hypot.run.webhook.registration import configuration, configuration_path
from hypot.serving.certificate_holder import CertificateHolder
from hypot.serving.given_certificate import GivenCertificateError

pytestmark = pytest.mark.asyncio
ENDS = datetime(2033, 5, 18, 3, 33, 20, tzinfo=UTC)


def write(folder, authority, **how):
    """As Kubernetes mounts a Secret: links to a directory that is replaced as a whole."""
    issued = authority.issue_cert("hypot-webhook.hypot-system.svc", not_after=ENDS, **how)
    data = folder / f"..{len(list(folder.iterdir()))}"
    data.mkdir()
    issued.private_key_pem.write_to_path(data / "tls.key")
    for pem in issued.cert_chain_pems:
        pem.write_to_path(data / "tls.crt", append=True)
    for name in ("tls.crt", "tls.key"):
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to(data / name)
    return issued


@pytest.fixture
def authority():
    return trustme.CA()


@pytest.mark.parametrize("kind", [trustme.KeyType.RSA, trustme.KeyType.ECDSA])
async def test_it_can_be_served(tmp_path, authority, kind):
    """Whatever its key, and with the certificates between it and its authority."""
    between = authority.create_child_ca()
    issued = write(tmp_path, between, key_type=kind)
    found = await GivenCertificate(FakeCluster(), "own", str(tmp_path)).ensure(0.0)
    assert found.cert_pem == "".join(pem.bytes().decode() for pem in issued.cert_chain_pems)
    assert found.not_after == ENDS.timestamp()
    assert CertificateHolder(found).issued is found


async def test_another_one_is_read(tmp_path, authority):
    """It is read each time, because others renew it."""
    given = GivenCertificate(FakeCluster(), "own", str(tmp_path))
    write(tmp_path, authority)
    first = await given.ensure(0.0)
    write(tmp_path, authority)
    assert CertificateHolder(first).take(await given.ensure(0.0))


def other_key(folder, _authority):
    write(folder, trustme.CA())
    trustme.CA().issue_cert("x").private_key_pem.write_to_path(folder / "tls.key")


def outside(folder, authority):
    elsewhere = folder.parent / "elsewhere"
    elsewhere.mkdir()
    write(elsewhere, authority)
    for name in ("tls.crt", "tls.key"):
        (folder / name).symlink_to(elsewhere / name)


def pipe(folder, authority):
    write(folder, authority)
    (folder / "tls.key").unlink()
    os.mkfifo(folder / "tls.key")


def no_pem(folder, authority):
    write(folder, authority)
    (folder / "tls.crt").unlink()
    (folder / "tls.crt").write_text("soon")


BROKEN = {"nothing": lambda *_: None, "other key": other_key, "outside": outside, "pipe": pipe, "no PEM": no_pem}


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
async def test_what_cannot_be_served_is_reported(tmp_path, authority, broken):
    """The message names the directory and what it must have."""
    folder = tmp_path / "mounted"
    folder.mkdir()
    broken(folder, authority)
    with pytest.raises(GivenCertificateError, match=f"webhookCertificate {folder}: .*tls.crt and tls.key"):
        await GivenCertificate(FakeCluster(), "own", str(folder)).ensure(0.0)


@pytest.mark.parametrize(("bundle", "expected"), [("pem", True), ("", False), (None, False)])
async def test_it_is_registered_where_the_api_server_can_trust_it(bundle, expected):
    """Only the configuration of hypot is read, and nothing is written."""
    cluster = FakeCluster()
    if bundle is not None:
        cluster.fixed[configuration_path("own")] = Answer(200, encoded(configuration("own", "hypot-webhook", bundle)))
    assert await GivenCertificate(cluster, "own", "/none").registered(None) is expected
    assert [(call.method, call.path) for call in cluster.calls] == [("GET", configuration_path("own"))]


async def test_a_configuration_that_may_not_be_read_is_an_error():
    """It does not count as missing."""
    cluster = FakeCluster()
    cluster.faults = lambda _: refusal(403, "hypot may not")
    with pytest.raises(RefusedError, match="hypot may not"):
        await GivenCertificate(cluster, "own", "/none").registered(None)
