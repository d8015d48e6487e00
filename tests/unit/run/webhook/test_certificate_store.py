"""One certificate for all replicas: kept in a Secret, renewed by one replica, and published to the API server."""

import asyncio
import base64

import pytest

from fake_cluster import FakeCluster
from hypot.cluster.port import Answer, RefusedError
from hypot.run.webhook.certificate_store import CertificateStore
from hypot.run.webhook.registration import configuration
from hypot.serving.certificates import names_of, read

pytestmark = pytest.mark.asyncio

NOW = 1_800_000_000.0
DAY = 86_400.0
NAMES = names_of("hypot-webhook", "hypot-system")
WHERE = "/api/v1/namespaces/hypot-system/secrets/hypot-webhook"
CONFIGURATION = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/hypot"


def keeper(cluster, **options):
    return CertificateStore(cluster, "hypot-system", NAMES, **options)


def stored(cluster):
    return read(cluster.get(WHERE)["data"], NAMES, NOW)


class TestEnsure:
    """One Secret for all replicas."""

    async def test_made_where_it_is_missing(self):
        """It is a Secret of the type for TLS."""
        cluster = FakeCluster()
        issued = await keeper(cluster).ensure(NOW)
        assert stored(cluster) == issued
        assert cluster.get(WHERE)["type"] == "kubernetes.io/tls"

    async def test_replicas_that_start_together_serve_the_same(self):
        """The second replica reads what the first wrote."""
        cluster = FakeCluster()
        made = await asyncio.gather(*(keeper(cluster).ensure(NOW) for _ in range(3)))
        assert set(made) == {stored(cluster)}

    async def test_nothing_is_written_while_it_is_good(self):
        """A check is one GET."""
        cluster = FakeCluster()
        await keeper(cluster).ensure(NOW)
        cluster.calls.clear()
        await keeper(cluster).ensure(NOW + 50 * DAY)
        assert [call.method for call in cluster.calls] == ["GET"]

    async def test_renewed_by_one_when_it_is_due(self):
        """The same authority signs it, and it replaces the version that was read; the others read it."""
        cluster = FakeCluster()
        first = await keeper(cluster).ensure(NOW)
        made = await asyncio.gather(*(keeper(cluster).ensure(NOW + 61 * DAY) for _ in range(2)))
        assert made[0] == made[1] != first
        assert made[0].ca_pem == first.ca_pem
        assert [call.method for call in cluster.calls if call.method == "PUT"] == ["PUT", "PUT"]

    async def test_labels_and_other_entries_of_the_secret_stay(self):
        """Others may depend on them."""
        cluster = FakeCluster()
        metadata = {"name": "hypot-webhook", "namespace": "hypot-system", "labels": {"team": "sre"}}
        cluster.put(
            {"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "metadata": metadata, "data": {"a": "YQ=="}}
        )
        await keeper(cluster).ensure(NOW)
        secret = cluster.get(WHERE)
        assert (secret["type"], secret["metadata"]["labels"], secret["data"]["a"]) == (
            "Opaque",
            {"team": "sre"},
            "YQ==",
        )

    async def test_a_deleted_secret_is_made_again_by_the_same_authority(self):
        """Otherwise the other replica would not be trusted until its next check."""
        cluster = FakeCluster()
        mine = keeper(cluster)
        first = await mine.ensure(NOW)
        cluster.remove(WHERE)
        second = await mine.ensure(NOW)
        assert second.ca_pem == first.ca_pem
        assert second.cert_pem != first.cert_pem

    async def test_a_certificate_that_cannot_be_renewed_serves_while_it_is_valid(self):
        """A missing right is logged and does not stop the webhook."""
        cluster = FakeCluster()
        first = await keeper(cluster).ensure(NOW)
        cluster.faults = lambda call: Answer(403, b"{}") if call.writes else None
        assert await keeper(cluster).ensure(NOW + 70 * DAY) == first
        with pytest.raises(RefusedError, match=r"PUT .*hypot-webhook: 403"):
            await keeper(cluster).ensure(NOW + 90 * DAY)

    async def test_a_secret_that_may_not_be_read_is_reported(self):
        """The error names the call."""
        cluster = FakeCluster()
        cluster.faults = lambda _: Answer(403, b'{"message": "no"}')
        with pytest.raises(RefusedError, match=r"GET .*hypot-webhook: 403 no"):
            await keeper(cluster).ensure(NOW)


class TestPublish:
    """Which authorities the API server trusts."""

    async def test_a_missing_configuration_is_reported(self):
        """The installation creates it; nothing is created here."""
        cluster = FakeCluster()
        assert await keeper(cluster).publish("pem") == "missing"
        assert not [call for call in cluster.calls if call.writes]

    async def test_written_once(self):
        """The rest of the configuration stays as it was."""
        cluster = FakeCluster()
        before = cluster.put(configuration("hypot-system", "hypot-webhook"))["webhooks"][0]
        issued = await keeper(cluster).ensure(NOW)
        assert await keeper(cluster).publish(issued.ca_pem) == "published"
        assert await keeper(cluster).publish(issued.ca_pem) == "unchanged"
        after = cluster.get(CONFIGURATION)["webhooks"][0]
        assert base64.b64decode(after["clientConfig"].pop("caBundle")).decode() == issued.ca_pem
        assert after == before

    async def test_a_change_in_between_is_read_again(self):
        """The write names the version that was read, so changes of others are kept."""
        cluster = FakeCluster()
        installed = cluster.put(configuration("hypot-system", "hypot-webhook"))

        def another_first(call):
            if call.writes:
                cluster.faults = None
                cluster.put({**installed, "metadata": {**installed["metadata"], "labels": {"by": "somebody"}}})

        cluster.faults = another_first
        assert await keeper(cluster).publish("pem") == "published"
        now = cluster.get(CONFIGURATION)
        assert now["metadata"]["labels"] == {"by": "somebody"}
        assert now["webhooks"][0]["clientConfig"]["caBundle"] == base64.b64encode(b"pem").decode()

    async def test_a_refusal_is_reported(self):
        """The error names the call."""
        cluster = FakeCluster()
        cluster.put(configuration("hypot-system", "hypot-webhook"))
        cluster.faults = lambda call: Answer(403, b"{}") if call.writes else None
        with pytest.raises(RefusedError, match=r"PATCH .*/hypot: 403"):
            await keeper(cluster).publish("pem")
