"""A certificate that others keep in a directory, such as cert-manager in a mounted Secret. hypot only reads it."""

import asyncio
from pathlib import Path

from hypot.cluster.port import Port, RefusedError, Request
from hypot.kinds.values.nested import inner, mappings
from hypot.run.webhook.registration import configuration_path
from hypot.serving.certificates import Issued
from hypot.serving.given_certificate import GivenCertificateError, read_certificate


class GivenCertificate:
    """The certificate in a directory; the installation says which CA the API server trusts."""

    def __init__(self, port: Port, namespace: str, folder: str) -> None:
        self._port, self._path, self._folder = port, configuration_path(namespace), Path(folder)

    async def ensure(self, now: float) -> Issued:
        """The certificate that is there now. Raises GivenCertificateError."""
        del now
        try:
            return await asyncio.to_thread(read_certificate, self._folder)
        except GivenCertificateError as error:
            raise GivenCertificateError(f"webhookCertificate {error}") from error

    async def registered(self, issued: Issued) -> bool:
        """Whether the API server calls the webhook: its configuration exists and has a CA bundle."""
        del issued
        request = Request("GET", self._path)
        answer = await self._port.call(request)
        if answer.gone:
            return False
        if not answer.ok:
            raise RefusedError(request, answer)
        hooks = list(mappings(inner(answer.json()).get("webhooks")))
        return bool(hooks) and all(inner(hook, "clientConfig").get("caBundle") for hook in hooks)
