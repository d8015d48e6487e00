"""The certificate of a listener. It can change while the listener accepts connections."""

import ssl

from hypot.cluster.secret_file import secret_file
from hypot.serving.certificates import Issued


class CertificateHolder:
    """The certificate of a listener. Connections made after `take` get the new certificate; open ones stay."""

    def __init__(self, issued: Issued) -> None:
        self.context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self.issued = issued
        self._load()

    def ask_clients(self, authorities: str) -> None:
        """Ask clients for a certificate of one of these authorities (PEM); clients without one are accepted too.

        An authority that was given once stays here, so what a certificate allows must be checked again.
        """
        self.context.verify_mode = ssl.CERT_OPTIONAL
        # Certificates of clusters are not strict about RFC 5280.
        self.context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        if authorities.strip():
            self.context.load_verify_locations(cadata=authorities)

    def take(self, issued: Issued) -> bool:
        """Serve this certificate from now on; return whether it differs from the previous one."""
        if issued.cert_pem == self.issued.cert_pem:
            return False
        self.issued = issued
        self._load()
        return True

    def _load(self) -> None:
        with secret_file(f"{self.issued.cert_pem}{self.issued.key_pem}".encode()) as path:
            self.context.load_cert_chain(path)
