"""TLS settings of recommenders. An object may name files, but only those of one directory of the administrator."""

import ssl
from functools import lru_cache
from pathlib import Path

from hypot.kinds.wpa.fields import TLSConfig
from hypot.serving.files import FileError, checked_file

# The TLS library normalises other names, which takes quadratic time.
LONGEST_SERVER_NAME = 253
_VERSIONS = {"TLS11": ssl.TLSVersion.TLSv1_1, "TLS12": ssl.TLSVersion.TLSv1_2, "TLS13": ssl.TLSVersion.TLSv1_3}


class CertificateError(ValueError):
    """The TLS settings of an object cannot be used; the message may be shown to its owner."""


class Certificates:
    """Makes TLS contexts for objects. Reads files, so it is called in a thread."""

    def __init__(self, folder: str = "", *, insecure: bool = False) -> None:
        self._folder = Path(folder).resolve() if folder else None
        self._insecure = insecure

    def context(self, tls: TLSConfig | None) -> ssl.SSLContext:
        """Changed files are read again."""
        if tls is not None and tls.insecure_skip_verify and not self._insecure:
            raise CertificateError("insecureSkipVerify is not allowed; the administrator can set recommenderInsecure")
        if tls is not None and not _is_short_ascii(tls.server_name or ""):
            raise CertificateError(f"serverName is not ASCII, or longer than {LONGEST_SERVER_NAME} characters")
        tls = tls or TLSConfig()
        files = (tls.ca_file, tls.cert_file, tls.key_file)
        found = tuple([self._file(name) if name else "" for name in files])
        versions = (_VERSIONS.get(tls.min_version or ""), _VERSIONS.get(tls.max_version or ""))
        written = tuple([Path(path).stat().st_mtime_ns for path in found if path])
        return _context(found, written, versions, bool(tls.insecure_skip_verify))

    def _file(self, name: str) -> str:
        """The path of a regular file in the folder, of a bounded size."""
        if self._folder is None:
            raise CertificateError("files are not read; the administrator can mount them and set recommenderFiles")
        try:
            return str(checked_file(self._folder, name))
        except FileError as error:
            raise CertificateError(f"recommenderFiles: {error}") from error


def _is_short_ascii(name: str) -> bool:
    return len(name) <= LONGEST_SERVER_NAME and name.isascii()


@lru_cache(64)
def _context(
    files: tuple[str, ...],
    written: tuple[int, ...],
    versions: tuple[ssl.TLSVersion | None, ssl.TLSVersion | None],
    insecure: bool,
) -> ssl.SSLContext:
    """A certificate file that cannot be read is an error, and never a reason to skip verification.

    The authorities of the system take long to load, so objects share a context: a tenant cannot ask for many.
    The client still keeps connections with different server names apart (aiohttp 3.14.5 does).
    """
    del written
    authorities, certificate, key = files
    try:
        context = ssl.create_default_context(cafile=authorities or None)
        if certificate:
            context.load_cert_chain(certificate, key or None)
    except (OSError, ValueError) as error:
        raise CertificateError("a file has no certificate or key that can be used") from error
    if insecure:
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    oldest, newest = versions
    if oldest is not None:
        context.minimum_version = oldest
    if newest is not None:
        context.maximum_version = newest
    return context
