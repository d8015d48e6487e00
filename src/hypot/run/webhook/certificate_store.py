"""The certificate of the webhook, kept in a Secret; its CA certificate is given to the API server."""

from collections.abc import Mapping, Sequence
from typing import Any

from hypot.cluster.port import Port
from hypot.kinds.values.nested import inner
from hypot.run.webhook.registration import configuration_path
from hypot.serving.ca_bundle import Published, publish
from hypot.serving.certificate_secret import CertificateSecret
from hypot.serving.certificates import LIFETIME_DAYS, Issued

SECRET = "hypot-webhook"  # noqa: S105  a name


class CertificateStore(CertificateSecret):
    """Keeps the Secret of the webhook, and the CA bundle in the webhook configuration.

    For a change without a gap, call `ensure`, then `publish`, and only then serve the certificate from `ensure`.
    """

    def __init__(
        self, port: Port, namespace: str, names: Sequence[str], *, lifetime_days: float = LIFETIME_DAYS
    ) -> None:
        super().__init__(port, namespace, names, server="webhook", secret_name=SECRET, lifetime_days=lifetime_days)

    async def registered(self, issued: Issued) -> bool:
        """Give the API server the CA certificate; return whether the webhook configuration exists."""
        return await self.publish(issued.ca_pem) != "missing"

    async def publish(self, ca_pem: str) -> Published:
        """Write the CA bundle to the webhook configuration. The installation creates that configuration."""
        return await publish(self._port, configuration_path(self._namespace), ca_pem, _trusting)


def _trusting(configuration: Mapping[str, Any], bundle: str) -> dict[str, Any] | None:
    """Every webhook of the configuration gets this bundle; None if all of them have it."""
    before = [inner(hook) for hook in configuration.get("webhooks") or ()]
    after = [{**hook, "clientConfig": {**inner(hook, "clientConfig"), "caBundle": bundle}} for hook in before]
    return None if after == before else {"webhooks": after}
