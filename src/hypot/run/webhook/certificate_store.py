"""One certificate for all replicas, kept in a Secret; its CA certificate is given to the API server.

Any replica may do this: a webhook that waited for a leader would not answer while there is none. Each write names the
version that was read, so the first writer wins and the others read again.
"""

import base64
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import structlog

from hypot.cluster.port import MERGE_PATCH, Answer, Port, RefusedError, Request, encoded
from hypot.core.instant import show_time
from hypot.run.webhook.certificates import LIFETIME_DAYS, Authority, Issued, due, issue, read, read_authority
from hypot.run.webhook.registration import configuration_path

SECRET = "hypot-webhook"  # noqa: S105  a name
Published = Literal["published", "unchanged", "missing"]

_BY = {"fieldManager": "hypot"}
# Few replicas compete, and one of them succeeds in each round.
_ROUNDS = 5

log = structlog.get_logger()


class CertificateStore:
    """Keeps the Secret of the webhook, and the CA bundle in the webhook configuration.

    For a change without a gap, call `ensure`, then `publish`, and only then serve the certificate from `ensure`.
    """

    def __init__(
        self,
        port: Port,
        namespace: str,
        names: Sequence[str],
        *,
        secret_name: str = SECRET,
        lifetime_days: float = LIFETIME_DAYS,
    ) -> None:
        self._port, self._names, self._lifetime = port, tuple(names), lifetime_days
        self._namespace, self._secret_name = namespace, secret_name
        self._secrets = f"/api/v1/namespaces/{namespace}/secrets"
        self._authority: Authority | None = None

    async def ensure(self, now: float) -> Issued:
        """The certificate to serve: the stored one, or a new one if that is missing, unusable or due for renewal.

        Raises RefusedError if the API server refuses to read or write the Secret, and UnreachableError if it does not
        answer.
        """
        request = Request("GET", f"{self._secrets}/{self._secret_name}")
        for _ in range(_ROUNDS):
            answer = await self._port.call(request)
            if not answer.ok and not answer.gone:
                break
            secret = {} if answer.gone else _mapping(answer.json())
            data = _mapping(secret.get("data"))
            found = read(data, self._names, now)
            if found is not None and not due(found, now):
                return self._known(found)
            authority = read_authority(data, now) or self._authority
            made = issue(self._names, now, lifetime_days=self._lifetime, authority=authority)
            request, answer = await self._write(secret, made)
            if answer.ok:
                log.info("webhook certificate written", secret=self._secret_name, until=show_time(made.not_after))
                return self._known(made)
            if not (answer.conflict or answer.gone):
                return self._kept(found, request, answer)
            request = Request("GET", f"{self._secrets}/{self._secret_name}")
        raise RefusedError(request, answer)

    async def registered(self, issued: Issued) -> bool:
        """Give the API server the CA certificate; return whether the webhook configuration exists."""
        return await self.publish(issued.ca_pem) != "missing"

    async def publish(self, ca_bundle: str) -> Published:
        """Write the CA bundle to the webhook configuration. The installation creates that configuration."""
        wanted, path = base64.b64encode(ca_bundle.encode()).decode(), configuration_path(self._namespace)
        for _ in range(_ROUNDS):
            request = Request("GET", path)
            answer = await self._port.call(request)
            if answer.gone:
                return "missing"
            if not answer.ok:
                break
            patch = _trusting(_mapping(answer.json()), wanted)
            if patch is None:
                return "unchanged"
            request = Request("PATCH", path, _BY, encoded(patch), MERGE_PATCH)
            answer = await self._port.call(request)
            if answer.ok:
                log.info("webhook configuration updated", name=path.rpartition("/")[2])
                return "published"
            if not (answer.conflict or answer.gone):
                break
        raise RefusedError(request, answer)

    async def _write(self, secret: Mapping[str, Any], made: Issued) -> tuple[Request, Answer]:
        """Update the Secret that was read, or create it if there was none."""
        if secret:
            body = encoded({**secret, "data": {**_mapping(secret.get("data")), **made.to_secret()}})
            request = Request("PUT", f"{self._secrets}/{self._secret_name}", _BY, body)
        else:
            metadata = {"name": self._secret_name, "namespace": self._namespace}
            fresh = {"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls"}
            body = encoded({**fresh, "metadata": metadata, "data": made.to_secret()})
            request = Request("POST", self._secrets, _BY, body)
        return request, await self._port.call(request)

    def _kept(self, found: Issued | None, request: Request, answer: Answer) -> Issued:
        """A certificate that could not be renewed is served as long as it is valid."""
        if found is None:
            raise RefusedError(request, answer)
        log.warning(
            "webhook certificate not renewed",
            secret=self._secret_name,
            status=answer.status,
            until=show_time(found.not_after),
            todo="allow hypot to update this Secret",
        )
        return self._known(found)

    def _known(self, issued: Issued) -> Issued:
        """Keep the CA: if the Secret is deleted, the same CA signs the new certificate."""
        self._authority = issued.authority
        return issued


def _trusting(configuration: Mapping[str, Any], bundle: str) -> dict[str, Any] | None:
    """The patch that gives every webhook of the configuration this bundle; None if all of them have it."""
    before = [_mapping(hook) for hook in configuration.get("webhooks") or ()]
    after = [{**hook, "clientConfig": {**_mapping(hook.get("clientConfig")), "caBundle": bundle}} for hook in before]
    if after == before:
        return None
    version = _mapping(configuration.get("metadata")).get("resourceVersion")
    return {"metadata": {"resourceVersion": version}, "webhooks": after}


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
