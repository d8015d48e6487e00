"""TLS of a client, from texts in PEM form."""

import ssl

from hypot.cluster.secret_file import secret_file


class ClientTlsError(ValueError):
    """The texts are not what they should be; nothing of them is in the message."""


def client_context(ca: str = "", certificate: str = "", key: str = "") -> ssl.SSLContext:
    """Without authorities, those of the system count. Servers are always verified."""
    try:
        context = ssl.create_default_context(cadata=ca or None)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
    except (ssl.SSLError, ValueError):
        raise ClientTlsError("the authorities are not certificates in PEM form") from None
    if certificate or key:
        with secret_file(f"{certificate}\n{key}".encode()) as path:
            try:
                # Without a password, OpenSSL would ask for one on the terminal.
                context.load_cert_chain(path, password="")
            except (OSError, ValueError):
                raise ClientTlsError("the client certificate and its key cannot be used") from None
    return context
