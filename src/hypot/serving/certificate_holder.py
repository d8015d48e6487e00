"""The certificate of a listener. It can change while the listener accepts connections."""

import os
import ssl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hypot.serving.certificates import Issued


class CertificateHolder:
    """The certificate of a listener. Connections made after `take` get the new certificate; open ones stay."""

    def __init__(self, issued: Issued) -> None:
        self.context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self.issued = issued
        self._load()

    def take(self, issued: Issued) -> bool:
        """Serve this certificate from now on; return whether it differs from the previous one."""
        if issued.cert_pem == self.issued.cert_pem:
            return False
        self.issued = issued
        self._load()
        return True

    def _load(self) -> None:
        with _readable(f"{self.issued.cert_pem}{self.issued.key_pem}".encode()) as path:
            self.context.load_cert_chain(path)


@contextmanager
def _readable(secret: bytes) -> Iterator[str]:
    """A temporary path with this content: in memory if the system supports it, else a file only this user can read."""
    memory = hasattr(os, "memfd_create") and Path("/proc/self/fd").is_dir()
    with os.fdopen(os.memfd_create("hypot"), "wb") if memory else tempfile.NamedTemporaryFile() as file:
        file.write(secret)
        file.flush()
        yield f"/proc/self/fd/{file.fileno()}" if memory else file.name
