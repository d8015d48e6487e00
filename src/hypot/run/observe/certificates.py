"""TLS settings of recommenders. An object may name files, but only those of one directory of the administrator."""

import ssl
from functools import lru_cache
from pathlib import Path

from hypot.kinds.wpa.fields import TLSConfig
from hypot.run.files import FileError, checked_file

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
        files = (tls.ca_file, tls.cert_file, tls.key_file) if tls else (None, None, None)
        found = tuple([self._file(name) if name else "" for name in files])
        return _context(tls, found, tuple([Path(path).stat().st_mtime_ns for path in found if path]))

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
def _context(tls: TLSConfig | None, files: tuple[str, str, str], written: tuple[int, ...]) -> ssl.SSLContext:
    """A certificate file that cannot be read is an error, and never a reason to skip verification."""
    del written
    authorities, certificate, key = files
    try:
        context = ssl.create_default_context(cafile=authorities or None)
        if certificate:
            context.load_cert_chain(certificate, key or None)
    except (OSError, ValueError) as error:
        raise CertificateError("a file has no certificate or key that can be used") from error
    if tls is None:
        return context
    if tls.insecure_skip_verify:
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if tls.min_version in _VERSIONS:
        context.minimum_version = _VERSIONS[tls.min_version]
    if tls.max_version in _VERSIONS:
        context.maximum_version = _VERSIONS[tls.max_version]
    return context
