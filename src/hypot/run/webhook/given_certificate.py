"""A certificate that others keep in a directory, such as cert-manager in a mounted Secret. hypot only reads it."""

import asyncio
import ssl
from pathlib import Path

from cryptography import x509

from hypot.cluster.port import Port, RefusedError, Request
from hypot.policy.observe.read_pods import inner, mappings
from hypot.run.files import FileError, checked_file
from hypot.run.webhook.certificates import CERTIFICATE, KEY, Issued
from hypot.run.webhook.registration import configuration_path


class GivenCertificateError(ValueError):
    """The directory has no certificate that can be served."""


class GivenCertificate:
    """The certificate in a directory; the installation says which CA the API server trusts."""

    def __init__(self, port: Port, namespace: str, folder: str) -> None:
        self._port, self._path, self._folder = port, configuration_path(namespace), Path(folder)

    async def ensure(self, now: float) -> Issued:
        """The certificate that is there now. Raises GivenCertificateError."""
        del now
        return await asyncio.to_thread(self._read)

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

    def _read(self) -> Issued:
        try:
            files = [checked_file(self._folder, name) for name in (CERTIFICATE, KEY)]
            certificate, key = (file.read_text(encoding="ascii") for file in files)
            # OpenSSL also checks that the key belongs to the certificate; without a password it would ask for one.
            ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(files[0], files[1], password="")
            first = x509.load_pem_x509_certificates(certificate.encode())[0]
        except (FileError, OSError, ValueError) as error:
            why = f"{error}; it must have {CERTIFICATE} and {KEY}"
            raise GivenCertificateError(f"webhookCertificate {self._folder}: {why}") from error
        begins, ends = first.not_valid_before_utc.timestamp(), first.not_valid_after_utc.timestamp()
        return Issued("", certificate, key, "", begins, ends)
