"""Credentials for scrapes, from Secrets of the namespace of a pod."""

import asyncio
import base64
import binascii
import ssl
from collections import OrderedDict
from collections.abc import Callable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

from hypot.cluster.client_tls import ClientTlsError, client_context
from hypot.cluster.clock import boot
from hypot.cluster.port import Port, Request, UnreachableError
from hypot.kinds.metric_rules.fields import ScrapeCredentials, SecretKey
from hypot.metricsapi.scrape.fetch import ScrapeError

# How long a Secret is used before it is read again, and how soon a missing one is looked for again.
KEPT_FOR, AGAIN_AFTER = 60.0, 10.0
MOST_CONTEXTS = 8192
LARGEST_SECRET = 2 * 2**20
_CERTIFICATE, _KEY = "tls.crt", "tls.key"
Named = tuple[str, str]


class _Kept(NamedTuple):
    until: float
    data: Mapping[str, str] | None
    trouble: str


class ScrapeAccess(NamedTuple):
    """What a scrape sends, and how it verifies the pod."""

    headers: Mapping[str, str]
    tls: ssl.SSLContext | None


class OwnAccount(NamedTuple):
    """The files of the metrics server's own service account."""

    token: Path
    ca: Path


class Secrets:
    """Reads each Secret at most once a minute, however many pods need it."""

    def __init__(self, port: Port, own: OwnAccount | None = None, clock: Callable[[], float] = boot) -> None:
        self._port, self._own, self._clock = port, own, clock
        self._kept: dict[Named, _Kept] = {}
        # When old ones are dropped next.
        self._drop_at = float("-inf")
        self._contexts: OrderedDict[bytes, ssl.SSLContext] = OrderedDict()
        # Scrapes that need the same Secret wait for one of them to read it.
        self._turns: WeakValueDictionary[Named, asyncio.Lock] = WeakValueDictionary()

    async def access(self, namespace: str, scheme: str, credentials: ScrapeCredentials | None) -> ScrapeAccess:
        """Raises a ScrapeError if something is missing: nothing is sent then."""
        if scheme != "https":
            return ScrapeAccess({}, None)
        credentials = credentials or ScrapeCredentials()
        headers = {}
        if credentials.token is not None:
            headers["Authorization"] = f"Bearer {_token(await self._value(namespace, credentials.token))}"
        elif credentials.service_account:
            headers["Authorization"] = f"Bearer {_token(self._file('token'))}"
        ca = await self._value(namespace, credentials.ca) if credentials.ca is not None else ""
        if credentials.service_account:
            ca = self._file("ca")
        if not ca and (credentials.ca is not None or credentials.service_account):
            # An empty text would stand for the authorities of the system.
            raise ScrapeError("credentials", "the authorities are empty")
        pair = ("", "")
        if credentials.certificate is not None:
            name = credentials.certificate.name
            pair = (
                await self._value(namespace, SecretKey(name, _CERTIFICATE)),
                await self._value(namespace, SecretKey(name, _KEY)),
            )
        return ScrapeAccess(headers, self._context(ca, pair))

    def forget(self, namespace: str) -> None:
        """Read the Secrets of a namespace again: a pod refused what they say."""
        now = self._clock()
        for key in [key for key, kept in self._kept.items() if key[0] == namespace and kept.until - now < KEPT_FOR / 2]:
            del self._kept[key]

    async def _value(self, namespace: str, key: SecretKey) -> str:
        name, entry = key.name or "", key.key or ""
        turn = self._turns.setdefault((namespace, name), asyncio.Lock())
        async with turn:
            kept = self._kept.get((namespace, name))
            if kept is None or kept.until <= self._clock():
                kept = self._kept[namespace, name] = await self._read(namespace, name)
                self._drop_old()
        if kept.data is None:
            raise ScrapeError("credentials", f"the Secret {name} {kept.trouble}")
        written = kept.data.get(entry)
        if not isinstance(written, str):
            raise ScrapeError("credentials", f"the Secret {name} has no {entry}")
        try:
            return base64.b64decode(written, validate=True).decode("utf-8")
        except (binascii.Error, UnicodeDecodeError):
            raise ScrapeError("credentials", f"{entry} of the Secret {name} is not text") from None

    def _drop_old(self) -> None:
        """Forget Secrets that nobody asked for lately: their namespaces may be gone."""
        now = self._clock()
        if now < self._drop_at:
            return
        self._drop_at = now + KEPT_FOR
        for key in [key for key, kept in self._kept.items() if kept.until < now - KEPT_FOR]:
            del self._kept[key]

    async def _read(self, namespace: str, name: str) -> _Kept:
        request = Request("GET", f"/api/v1/namespaces/{namespace}/secrets/{name}", largest=LARGEST_SECRET)
        now = self._clock()
        try:
            answer = await self._port.call(request)
        except UnreachableError:
            return _Kept(now + AGAIN_AFTER, None, "cannot be read: the API server does not answer")
        if not answer.ok:
            trouble = "does not exist" if answer.gone else f"cannot be read: the API server answers {answer.status}"
            return _Kept(now + AGAIN_AFTER, None, trouble)
        body: Any = answer.json()
        data = body.get("data") if isinstance(body, dict) else None
        return _Kept(now + KEPT_FOR, data if isinstance(data, dict) else {}, "")

    def _file(self, which: str) -> str:
        if self._own is None:
            raise ScrapeError("credentials", "the metrics server has no service account")
        try:
            return (self._own.token if which == "token" else self._own.ca).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            raise ScrapeError("credentials", f"the {which} of the service account cannot be read") from None

    def _context(self, ca: str, pair: tuple[str, str]) -> ssl.SSLContext:
        """The TLS settings for these, made once: contexts are large, and connections are reused per context."""
        key = sha256("\0".join((ca, *pair)).encode()).digest()
        known = self._contexts.get(key)
        if known is None:
            known = self._contexts[key] = _new_context(ca, pair)
            while len(self._contexts) > MOST_CONTEXTS:
                self._contexts.popitem(last=False)
        self._contexts.move_to_end(key)
        return known


def _token(text: str) -> str:
    token = text.strip()
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        raise ScrapeError("credentials", "the token is not one line of plain characters")
    return token


def _new_context(ca: str, pair: tuple[str, str]) -> ssl.SSLContext:
    try:
        return client_context(ca, *pair)
    except ClientTlsError as error:
        raise ScrapeError("credentials", str(error)) from None
