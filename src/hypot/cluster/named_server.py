"""What is needed to ask a server that the administrator names: its files, and answers of a bounded size.

The files may be renewed at any time, as mounted Secrets are, so they are read for each request.
"""

import ssl
from pathlib import Path

import aiohttp

from hypot.cluster.client_tls import ClientTlsError, client_context

LARGEST_FILE = 2**20


class ServerFileError(OSError):
    """A file cannot be used; the message has its path and nothing of its content."""


def read_token(file: str) -> str:
    """The token in a file: one line of plain characters."""
    token = read_text(file, "its token file").strip()
    if not token or not (token.isascii() and token.isprintable()):
        raise ServerFileError("its token file has something other than one line of plain characters")
    return token


def read_text(file: str, what: str) -> str:
    try:
        with Path(file).open("rb") as opened:
            return opened.read(LARGEST_FILE).decode("utf-8")
    except OSError as error:
        raise ServerFileError(f"{what} {file} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ServerFileError(f"{what} is not text") from None


class ServerTls:
    """How a server is verified, and the client certificate that it gets. Both are optional."""

    def __init__(self, ca_file: str = "", certificate: str = "") -> None:
        """`certificate` is a directory with tls.crt and tls.key."""
        self._ca_file, self._certificate = ca_file, certificate
        self._known: tuple[tuple[str, str, str], ssl.SSLContext] | None = None

    def context(self) -> ssl.SSLContext:
        """Made again only if a file has changed: contexts are large, and connections are reused per context."""
        texts = self._texts()
        if self._known is None or self._known[0] != texts:
            try:
                self._known = texts, client_context(*texts)
            except ClientTlsError as error:
                raise ServerFileError(str(error)) from error
        return self._known[1]

    def _texts(self) -> tuple[str, str, str]:
        ca = read_text(self._ca_file, "its CA file") if self._ca_file else ""
        if self._ca_file and not ca.strip():
            # An empty text would stand for the authorities of the system.
            raise ServerFileError(f"its CA file {self._ca_file} is empty")
        if not self._certificate:
            return ca, "", ""
        pair = [Path(self._certificate, name) for name in ("tls.crt", "tls.key")]
        certificate, key = (read_text(str(file), "its client certificate") for file in pair)
        return ca, certificate, key


def has_more_parts(body: bytes, objects: int, texts: int) -> bool:
    """Whether JSON has more objects or texts than so many: small parts take more memory than their text."""
    return body.count(b"{") > objects or body.count(b'"') > 2 * texts


async def whole(content: aiohttp.StreamReader, largest: int) -> bytes:
    """The whole body; of a body that is too large, a little more than `largest` bytes."""
    parts: list[bytes] = []
    size = 0
    while size <= largest and (part := await content.readany()):
        parts.append(part)
        size += len(part)
    return b"".join(parts)
