"""Who a client is by its certificate: the API server, which passes on requests of others, or the client itself.

The cluster publishes in a ConfigMap which authorities issue these certificates, and which headers name the user. Only a
certificate of the authority for passing on requests makes these headers count.
"""

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple
from urllib.parse import unquote

import structlog
from aiohttp import web
from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from hypot.cluster.clock import Clock, wall
from hypot.cluster.port import Port
from hypot.cluster.reflector import NamespacedName, Reflector
from hypot.kinds.values.nested import inner
from hypot.serving.readers import User

NAMESPACE, NAME = "kube-system", "extension-apiserver-authentication"
AUTHENTICATED, UNAUTHENTICATED = "system:authenticated", "system:unauthenticated"
MOST_KEPT = 256

log = structlog.get_logger()


class TrustError(ValueError):
    """The ConfigMap cannot be used."""


class Trust(NamedTuple):
    """What the cluster says about certificates of clients."""

    client_pem: str = ""
    proxy_pem: str = ""
    clients: tuple[x509.Certificate, ...] = ()
    proxies: tuple[x509.Certificate, ...] = ()
    # The names of certificates that may pass on requests; none means all of that authority.
    proxy_names: tuple[str, ...] = ()
    user_headers: tuple[str, ...] = ()
    group_headers: tuple[str, ...] = ()
    uid_headers: tuple[str, ...] = ()
    extra_prefixes: tuple[str, ...] = ()


def read_trust(data: Mapping[str, Any]) -> Trust:
    """The data of the ConfigMap. Raises a TrustError."""
    client, proxy = (str(data.get(key) or "") for key in ("client-ca-file", "requestheader-client-ca-file"))
    keys = ("allowed-names", "username-headers", "group-headers", "uid-headers", "extra-headers-prefix")
    lists = [_texts(data, f"requestheader-{key}") for key in keys]
    return Trust(client, proxy, _certificates(client), _certificates(proxy), *lists)


def _texts(data: Mapping[str, Any], key: str) -> tuple[str, ...]:
    try:
        found = json.loads(data.get(key) or "[]")
    except (TypeError, ValueError) as error:
        raise TrustError(f"{key} is not JSON") from error
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise TrustError(f"{key} is not a list of texts")
    return tuple(found)


def _certificates(pem: str) -> tuple[x509.Certificate, ...]:
    if not pem.strip():
        return ()
    try:
        return tuple(x509.load_pem_x509_certificates(pem.encode()))
    except ValueError as error:
        raise TrustError("a certificate of an authority cannot be read") from error


class ClientCertificates:
    """Keeps up with the ConfigMap, and says who clients are."""

    def __init__(self, port: Port, clock: Clock = wall) -> None:
        self.trust = Trust()
        # Why it cannot be used; empty if it can.
        self.trouble = ""
        # What is known of each certificate that was presented, with the current trust.
        self._presented: dict[bytes, _Presented] = {}
        self._clock = clock
        self._watch: Reflector[Mapping[str, Any]] = Reflector(
            port,
            f"/api/v1/namespaces/{NAMESPACE}/configmaps",
            query={"fieldSelector": f"metadata.name={NAME}"},
            keep=lambda found: inner(found, "data"),
            on_change=self._changed,
        )

    @property
    def awaited(self) -> str:
        """What is missing to know the clients; empty if nothing is."""
        if self.trust.proxies:
            return ""
        what = f"the ConfigMap {NAMESPACE}/{NAME}"
        trouble = self.trouble or self._watch.trouble
        return f"{what}: {trouble}" if trouble else what

    async def run(self) -> None:
        await self._watch.run()

    def _changed(self, key: NamespacedName, data: Mapping[str, Any] | None) -> None:
        """Use the new data. What was known stays if it is deleted, or cannot be read."""
        if key[1] != NAME or data is None:
            return
        try:
            self.trust, self.trouble = read_trust(data), ""
        except TrustError as error:
            self.trouble = str(error)
            log.warning("cannot read who may pass on requests", configmap=f"{NAMESPACE}/{NAME}", error=self.trouble)
            return
        self._presented.clear()

    def user(self, request: web.BaseRequest) -> User | None:
        """Who the client is by its certificate, and by headers if it may pass on requests; None if unknown."""
        tls = None if request.transport is None else request.transport.get_extra_info("ssl_object")
        der = None if tls is None else tls.getpeercert(binary_form=True)
        if not der:
            return None
        found = self._found(der)
        if found is None or not _is_valid(found.certificate, self._clock()):
            return None
        user = _named_in(request.headers, self.trust) if found.passes_on else None
        return user or (_itself(found.certificate) if found.is_client else None)

    def _found(self, der: bytes) -> "_Presented | None":
        """Checked once per certificate: a signature takes longer than an answer."""
        known = self._presented.get(der)
        if known is None:
            try:
                known = self._presented[der] = _presented(x509.load_der_x509_certificate(der), self.trust)
            except ValueError:
                return None
            while len(self._presented) > MOST_KEPT:
                del self._presented[next(iter(self._presented))]
        return known


class _Presented(NamedTuple):
    """A certificate, whether its holder may pass on requests of others, and whether it may act for itself."""

    certificate: x509.Certificate
    passes_on: bool
    is_client: bool


def _presented(certificate: x509.Certificate, trust: Trust) -> _Presented:
    if not _is_for_clients(certificate):
        return _Presented(certificate, passes_on=False, is_client=False)
    is_named = not trust.proxy_names or _name(certificate) in trust.proxy_names
    passes_on = is_named and _issued(certificate, trust.proxies)
    return _Presented(certificate, passes_on, _issued(certificate, trust.clients))


def _issued(certificate: x509.Certificate, authorities: Iterable[x509.Certificate]) -> bool:
    """Whether one of the authorities signed it. Certificates in between, which a client may send, do not count."""
    for authority in authorities:
        try:
            certificate.verify_directly_issued_by(authority)
        except (ValueError, TypeError, InvalidSignature, UnsupportedAlgorithm):
            continue
        return True
    return False


def _is_valid(certificate: x509.Certificate, now: float) -> bool:
    at = datetime.fromtimestamp(now, UTC)
    return certificate.not_valid_before_utc <= at <= certificate.not_valid_after_utc


def _is_for_clients(certificate: x509.Certificate) -> bool:
    try:
        uses = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    except x509.ExtensionNotFound:
        return False
    return ExtendedKeyUsageOID.CLIENT_AUTH in uses or ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE in uses


def _name(certificate: x509.Certificate) -> str:
    return next(iter(_subject(certificate, NameOID.COMMON_NAME)), "")


def _subject(certificate: x509.Certificate, what: x509.ObjectIdentifier) -> list[str]:
    return [str(each.value) for each in certificate.subject.get_attributes_for_oid(what)]


def _itself(certificate: x509.Certificate) -> User | None:
    name = _name(certificate)
    groups = _subject(certificate, NameOID.ORGANIZATION_NAME)
    return User(name, (*groups, AUTHENTICATED)) if name else None


def _named_in(headers: Any, trust: Trust) -> User | None:
    """The user that the headers name: the first header that is there counts for the name."""
    name = next((found for key in trust.user_headers if (found := headers.get(key, ""))), "")
    if not name:
        return None
    groups = tuple(dict.fromkeys(group for key in trust.group_headers for group in headers.getall(key, ())))
    uid = next((found for key in trust.uid_headers if (found := headers.get(key, ""))), "")
    extra: dict[str, list[str]] = {}
    for prefix in trust.extra_prefixes:
        for key, text in headers.items():
            if key.lower().startswith(prefix.lower()):
                extra.setdefault(unquote(key[len(prefix) :].lower()), []).append(text)
    if not {AUTHENTICATED, UNAUTHENTICATED} & set(groups):
        groups = (*groups, AUTHENTICATED)
    return User(name, groups, uid, tuple(sorted((key, tuple(found)) for key, found in extra.items())))
