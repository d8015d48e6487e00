"""The certificate of the webhook, kept in a Secret; its CA certificate is given to the API server."""

import base64
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import structlog

from hypot.cluster.port import MERGE_PATCH, Port, RefusedError, Request, encoded
from hypot.kinds.nested import inner
from hypot.run.webhook.registration import configuration_path
from hypot.serving.certificate_secret import BY, ROUNDS, CertificateSecret
from hypot.serving.certificates import LIFETIME_DAYS, Issued

SECRET = "hypot-webhook"  # noqa: S105  a name
Published = Literal["published", "unchanged", "missing"]

log = structlog.get_logger()


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

    async def publish(self, ca_bundle: str) -> Published:
        """Write the CA bundle to the webhook configuration. The installation creates that configuration."""
        wanted, path = base64.b64encode(ca_bundle.encode()).decode(), configuration_path(self._namespace)
        for _ in range(ROUNDS):
            request = Request("GET", path)
            answer = await self._port.call(request)
            if answer.gone:
                return "missing"
            if not answer.ok:
                break
            patch = _trusting(inner(answer.json()), wanted)
            if patch is None:
                return "unchanged"
            request = Request("PATCH", path, BY, encoded(patch), MERGE_PATCH)
            answer = await self._port.call(request)
            if answer.ok:
                log.info("webhook configuration updated", name=path.rpartition("/")[2])
                return "published"
            if not (answer.conflict or answer.gone):
                break
        raise RefusedError(request, answer)


def _trusting(configuration: Mapping[str, Any], bundle: str) -> dict[str, Any] | None:
    """The patch that gives every webhook of the configuration this bundle; None if all of them have it."""
    before = [inner(hook) for hook in configuration.get("webhooks") or ()]
    after = [{**hook, "clientConfig": {**inner(hook, "clientConfig"), "caBundle": bundle}} for hook in before]
    if after == before:
        return None
    version = inner(configuration, "metadata").get("resourceVersion")
    return {"metadata": {"resourceVersion": version}, "webhooks": after}
