"""Reads a certificate that others keep in a directory, such as cert-manager in a mounted Secret."""

import ssl
from pathlib import Path

from cryptography import x509

from hypot.serving.certificates import CERTIFICATE, KEY, Issued
from hypot.serving.files import FileError, checked_file


class GivenCertificateError(ValueError):
    """The directory has no certificate that can be served."""


def read_certificate(folder: Path) -> Issued:
    """The certificate that is in the directory now, without its CA. Raises GivenCertificateError."""
    try:
        files = [checked_file(folder, name) for name in (CERTIFICATE, KEY)]
        certificate, key = (file.read_text(encoding="ascii") for file in files)
        # OpenSSL also checks that the key belongs to the certificate; without a password it would ask for one.
        ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(files[0], files[1], password="")
        first = x509.load_pem_x509_certificates(certificate.encode())[0]
    except (FileError, OSError, ValueError) as error:
        raise GivenCertificateError(f"{folder}: {error}; it must have {CERTIFICATE} and {KEY}") from error
    begins, ends = first.not_valid_before_utc.timestamp(), first.not_valid_after_utc.timestamp()
    return Issued("", certificate, key, "", begins, ends)
