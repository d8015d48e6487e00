"""Self-signed certificates: a CA that is valid for years, and the certificate of a server."""

import base64
import binascii
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from typing import NamedTuple

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

LIFETIME_DAYS = 90
AUTHORITY_DAYS = 3650
# Clocks differ: a client whose clock is behind by this much still accepts a new certificate.
SKEW = timedelta(hours=1)
# Keys of the Secret; the first two are those of its type, kubernetes.io/tls.
CERTIFICATE, KEY, AUTHORITY, AUTHORITY_KEY = "tls.crt", "tls.key", "ca.crt", "ca.key"
# The errors that a broken Secret causes.
_BROKEN = (ValueError, TypeError, binascii.Error, InvalidSignature, UnsupportedAlgorithm, x509.ExtensionNotFound)


class Authority(NamedTuple):
    """The CA. Its first certificate belongs to the key; the others are former CAs that are still trusted."""

    pem: str
    key_pem: str

    def __repr__(self) -> str:
        return "Authority(...)"


@dataclass(frozen=True, slots=True)
class Issued:
    """A serving certificate, its CA, and its validity. Times are seconds since the epoch."""

    # What clients must trust: the CA that signed, and former CAs until they expire.
    ca_pem: str
    cert_pem: str
    key_pem: str = field(repr=False)
    ca_key_pem: str = field(repr=False)
    not_before: float
    not_after: float

    @property
    def until(self) -> str:
        """When it ends, as Kubernetes prints times."""
        return f"{datetime.fromtimestamp(self.not_after, UTC):%Y-%m-%dT%H:%M:%SZ}"

    @property
    def authority(self) -> Authority:
        return Authority(self.ca_pem, self.ca_key_pem)

    def to_secret(self) -> dict[str, str]:
        """As the `data` of a Secret."""
        texts = {
            CERTIFICATE: self.cert_pem,
            KEY: self.key_pem,
            AUTHORITY: self.ca_pem,
            AUTHORITY_KEY: self.ca_key_pem,
        }
        return {key: base64.b64encode(text.encode()).decode() for key, text in texts.items()}


def names_of(service: str, namespace: str) -> tuple[str, ...]:
    """The DNS names of a Service; the API server uses the first.

    A name with a dot is not a Service but a host outside the cluster: that is its only name.
    """
    if "." in service or ":" in service:
        return (service,)
    local = f"{service}.{namespace}"
    return f"{local}.svc", f"{local}.svc.cluster.local", local


def issue(
    names: Sequence[str],
    now: float,
    *,
    lifetime_days: float = LIFETIME_DAYS,
    authority: Authority | None = None,
    subject: str = "hypot",
) -> Issued:
    """A new serving certificate; from a new CA if none is given or the given one would expire first."""
    at = datetime.fromtimestamp(int(now), UTC)
    until = at + timedelta(days=lifetime_days)
    if authority is None or _signer(authority).not_valid_after_utc <= until:
        authority = _new_authority(at, authority, subject)
    signer, signing_key = _signer(authority), _private(authority.key_pem)
    key = ec.generate_private_key(ec.SECP256R1())
    certificate = (
        _begun(subject, signer.subject, key, at, until)
        .add_extension(x509.SubjectAlternativeName([_general_name(name) for name in names]), critical=False)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs=False), critical=True)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signing_key.public_key()), critical=False)
        .sign(signing_key, SHA256())
    )
    return _issued(authority, certificate, _pem(key))


def due(issued: Issued, now: float) -> bool:
    """Whether to renew: at most a third of the lifetime is left, so weeks of failing renewals do no harm."""
    return now >= issued.not_after - (issued.not_after - issued.not_before) / 3


def read(data: Mapping[str, str], names: Sequence[str], now: float) -> Issued | None:
    """The certificate in a Secret; None if it is unreadable, inconsistent, expired, or for other names."""
    with suppress(*_BROKEN):
        authority = read_authority(data, now)
        if authority is None:
            return None
        certificate = x509.load_pem_x509_certificate(_text(data, CERTIFICATE).encode())
        key = _private(_text(data, KEY))
        certificate.verify_directly_issued_by(_signer(authority))
        if _public(certificate.public_key()) != _public(key.public_key()) or not _holds(certificate, now):
            return None
        if set(names) <= _names_in(certificate):
            return _issued(authority, certificate, _text(data, KEY))
    return None


def read_authority(data: Mapping[str, str], now: float) -> Authority | None:
    """The CA in a Secret, if it can sign again; so a lost certificate does not require new trust."""
    with suppress(*_BROKEN):
        authority = Authority(_text(data, AUTHORITY), _text(data, AUTHORITY_KEY))
        signer = _signer(authority)
        same = _public(signer.public_key()) == _public(_private(authority.key_pem).public_key())
        return authority if same and _holds(signer, now) else None
    return None


def _new_authority(at: datetime, former: Authority | None, subject: str) -> Authority:
    """A new CA, followed by former CAs whose certificates may still be in use."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = f"{subject} CA {at:%Y-%m-%d}"
    certificate = (
        _begun(name, _name(name), key, at, at + timedelta(days=AUTHORITY_DAYS))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs=True), critical=True)
        .sign(key, SHA256())
    )
    believed = [] if former is None else _certificates(former.pem)
    kept = [each for each in believed if each.not_valid_after_utc > at]
    return Authority("".join(_written(each) for each in (certificate, *kept)), _pem(key))


def _begun(
    subject: str, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, at: datetime, until: datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(_name(subject))
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(at - SKEW)
        .not_valid_after(until)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs,
        crl_sign=signs,
        encipher_only=False,
        decipher_only=False,
    )


def _general_name(name: str) -> x509.GeneralName:
    """A DNS name, or an IP address for a server that runs outside the cluster."""
    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _names_in(certificate: x509.Certificate) -> set[str]:
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    addresses: Iterable[object] = names.get_values_for_type(x509.IPAddress)
    return {*names.get_values_for_type(x509.DNSName), *map(str, addresses)}


def _holds(certificate: x509.Certificate, now: float) -> bool:
    return certificate.not_valid_before_utc.timestamp() <= now < certificate.not_valid_after_utc.timestamp()


def _issued(authority: Authority, certificate: x509.Certificate, key_pem: str) -> Issued:
    begins, ends = certificate.not_valid_before_utc.timestamp(), certificate.not_valid_after_utc.timestamp()
    return Issued(authority.pem, _written(certificate), key_pem, authority.key_pem, begins, ends)


def _certificates(pem: str) -> list[x509.Certificate]:
    return x509.load_pem_x509_certificates(pem.encode())


def _signer(authority: Authority) -> x509.Certificate:
    return _certificates(authority.pem)[0]


def _written(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(Encoding.PEM).decode()


def _pem(key: ec.EllipticCurvePrivateKey) -> str:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


def _private(pem: str) -> ec.EllipticCurvePrivateKey:
    key = load_pem_private_key(pem.encode(), password=None)
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise TypeError("not an elliptic curve key")
    return key


def _public(key: object) -> bytes:
    if not isinstance(key, ec.EllipticCurvePublicKey):
        raise TypeError("not an elliptic curve key")
    return key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)


def _text(data: Mapping[str, str], key: str) -> str:
    return base64.b64decode(data.get(key) or "", validate=True).decode()
