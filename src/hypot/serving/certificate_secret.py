"""One certificate for all replicas, kept in a Secret.

Any replica may do this: a server that waited for a leader would not answer while there is none. Each write names the
version that was read, so the first writer wins and the others read again.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import structlog

from hypot.cluster.port import Answer, Port, RefusedError, Request, encoded
from hypot.kinds.values.nested import inner
from hypot.serving.certificates import LIFETIME_DAYS, Authority, Issued, due, issue, read, read_authority

BY = {"fieldManager": "hypot"}
# Few replicas compete, and one of them succeeds in each round.
ROUNDS = 5

log = structlog.get_logger()


class CertificateSecret:
    """Keeps the Secret with the certificate of a server, such as the webhook."""

    def __init__(
        self,
        port: Port,
        namespace: str,
        names: Sequence[str],
        *,
        server: str,
        secret_name: str,
        lifetime_days: float = LIFETIME_DAYS,
    ) -> None:
        self._port, self._names, self._server, self._lifetime = port, tuple(names), server, lifetime_days
        self._namespace, self._secret_name = namespace, secret_name
        self._secrets = f"/api/v1/namespaces/{namespace}/secrets"
        self._authority: Authority | None = None

    async def ensure(self, now: float) -> Issued:
        """The certificate to serve: the stored one, or a new one if that is missing, unusable or due for renewal.

        Raises RefusedError if the API server refuses to read or write the Secret, and UnreachableError if it does not
        answer.
        """
        request = Request("GET", f"{self._secrets}/{self._secret_name}")
        for _ in range(ROUNDS):
            answer = await self._port.call(request)
            if not answer.ok and not answer.gone:
                break
            secret = {} if answer.gone else inner(answer.json())
            data = inner(secret, "data")
            found = read(data, self._names, now)
            if found is not None and not due(found, now):
                return self._known(found)
            authority = read_authority(data, now) or self._authority
            made = issue(
                self._names,
                now,
                lifetime_days=self._lifetime,
                authority=authority,
                subject=f"hypot {self._server}",
            )
            request, answer = await self._write(secret, made)
            if answer.ok:
                log.info("certificate written", server=self._server, secret=self._secret_name, until=made.until)
                return self._known(made)
            if not (answer.conflict or answer.gone):
                return self._kept(found, request, answer)
            request = Request("GET", f"{self._secrets}/{self._secret_name}")
        raise RefusedError(request, answer)

    async def _write(self, secret: Mapping[str, Any], made: Issued) -> tuple[Request, Answer]:
        """Update the Secret that was read, or create it if there was none."""
        if secret:
            body = encoded({**secret, "data": {**inner(secret, "data"), **made.to_secret()}})
            request = Request("PUT", f"{self._secrets}/{self._secret_name}", BY, body)
        else:
            metadata = {"name": self._secret_name, "namespace": self._namespace}
            fresh = {"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls"}
            body = encoded({**fresh, "metadata": metadata, "data": made.to_secret()})
            request = Request("POST", self._secrets, BY, body)
        return request, await self._port.call(request)

    def _kept(self, found: Issued | None, request: Request, answer: Answer) -> Issued:
        """A certificate that could not be renewed is served as long as it is valid."""
        if found is None:
            raise RefusedError(request, answer)
        log.warning(
            "certificate not renewed",
            server=self._server,
            secret=self._secret_name,
            status=answer.status,
            until=found.until,
            todo="allow hypot to update this Secret",
        )
        return self._known(found)

    def _known(self, issued: Issued) -> Issued:
        """Keep the CA: if the Secret is deleted, the same CA signs the new certificate."""
        self._authority = issued.authority
        return issued
