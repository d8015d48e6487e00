"""Queries the HTTP recommenders of WatermarkPodAutoscalers."""

import asyncio
import os
import socket
import ssl
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import aiohttp
import msgspec
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from hypot.cluster.named_server import whole
from hypot.cluster.port import encoded
from hypot.kinds.values.address import shown_address, url_fault
from hypot.kinds.wpa import WPA
from hypot.kinds.wpa.fields import Recommender
from hypot.policy.horizontal.recommender import build_request, read_reply
from hypot.policy.horizontal.wpa_metrics import ready_pods
from hypot.policy.model.seen import Failure, Pod, Reply, Scale
from hypot.run.addresses import AllowedAddresses
from hypot.run.observe.asking import LARGEST_REPLY, LIMITS, Crowd, Question, TimeLimits
from hypot.run.observe.certificates import CertificateError, Certificates

AGENT = "wpa-controller"
# Concurrent name lookups: a slow lookup cannot be cancelled.
LOOKUPS = 64


class RefusedAddressError(OSError):
    """A name was resolved to an address that must not be called."""


class Lookups(AbstractResolver):
    """Looks names up in its own threads, so that no other code waits for a name server that does not answer.

    A name with an address that must not be called is refused as a whole.
    """

    def __init__(self, allowed: AllowedAddresses) -> None:
        self._threads = ThreadPoolExecutor(LOOKUPS, "lookup")
        self._allowed = allowed

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        look_up = partial(socket.getaddrinfo, host, port, family, socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG)
        found = await asyncio.get_running_loop().run_in_executor(self._threads, look_up)
        for *_, address in found:
            if why := self._allowed.fault_of(host, port, str(address[0])):
                raise RefusedAddressError(f"its url is not allowed: {why}")
        return [_resolved(host, *each) for each in found]

    async def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


def _resolved(
    host: str, family: socket.AddressFamily, kind: socket.SocketKind, proto: int, name: str, address: Any
) -> ResolveResult:
    del kind, name
    flags = socket.AI_NUMERICHOST | socket.AI_NUMERICSERV
    return ResolveResult(hostname=host, host=address[0], port=address[1], family=family, proto=proto, flags=flags)


def new_session(allowed: AllowedAddresses) -> aiohttp.ClientSession:
    """A session for recommenders only: tenants choose their host names, and other lookups must not wait for them.

    It keeps no cookies: a recommender could set one that is sent to those of other tenants.
    """
    connector = aiohttp.TCPConnector(resolver=Lookups(allowed))
    return aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar())


class Asking(NamedTuple):
    """One autoscaler that asks its recommender, with the scale and pods of its target."""

    wpa: WPA
    scale: Scale
    pods: tuple[Pod, ...]


class Recommenders:
    """Asks all recommenders in a reconcile, several at the same time, within one deadline."""

    def __init__(
        self,
        session: aiohttp.ClientSession,
        allowed: AllowedAddresses,
        certificates: Certificates,
        cluster: str = "",
        limits: TimeLimits = LIMITS,
    ) -> None:
        self._session, self._allowed, self._certificates = session, allowed, certificates
        self._cluster, self._crowd = cluster, Crowd(limits)

    async def ask(self, asking: Iterable[Asking], now: float) -> list[Reply | Failure]:
        return await self._crowd.ask([self._question(each, now) for each in asking])

    def _question(self, asking: Asking, now: float) -> Question[Reply | Failure]:
        url = (asking.wpa.recommender or Recommender()).url or ""
        return Question(asking.wpa.namespace, url, "the recommender", partial(self._one, asking, now))

    async def _one(self, asking: Asking, now: float) -> Reply | Failure:
        try:
            return await self._post(asking, now)
        except CertificateError as error:
            return Failure(f"the recommender cannot be asked: tlsConfig: {error}", "spec")
        except (aiohttp.ClientError, OSError, ValueError) as error:
            return Failure(f"the recommender cannot be asked: {shown_error(error)}")

    async def _post(self, asking: Asking, now: float) -> Reply | Failure:
        recommender = asking.wpa.recommender or Recommender()
        if why := url_fault(recommender.url or ""):
            return Failure(f"the recommender's url is not allowed: {why}", "spec")
        # Checked as the client reads it: other readers find other hosts in odd texts.
        url = URL(recommender.url or "")
        if why := self._allowed.fault(str(url)):
            shown = shown_address(recommender.url or "")
            return Failure(f"the recommender's url {shown!r} is not allowed: {why}", "spec")
        if url.scheme == "http" and (url.user or url.password):
            return Failure("the recommender's url has credentials, which are only sent over https", "spec")
        body = encoded(build_request(asking.wpa, asking.scale, _ready(asking, now), self._cluster))
        headers = {"Content-Type": "application/json", "User-Agent": AGENT}
        tls = await asyncio.to_thread(self._certificates.context, recommender.tls) if url.scheme == "https" else True
        name = recommender.tls.server_name if recommender.tls else None
        async with self._session.post(
            url, data=body, headers=headers, ssl=tls, server_hostname=name, allow_redirects=False
        ) as answer:
            if 300 <= answer.status < 400:
                return Failure(f"the recommender answers {answer.status}: redirects are not followed")
            if answer.status != 200:
                return Failure(f"the recommender answers {answer.status}")
            read = await whole(answer.content, LARGEST_REPLY)
            if len(read) > LARGEST_REPLY:
                return Failure("the recommender's answer is larger than 1 MiB")
            return _read(read)


def shown_error(error: Exception) -> str:
    """The error as text, without the address, which may contain secrets, and without anything of the answer."""
    if isinstance(error, aiohttp.ClientConnectorError):
        return _why_not_connected(error.os_error)
    if isinstance(error, aiohttp.ClientResponseError):
        return "its answer is not HTTP"
    if isinstance(error, aiohttp.ClientPayloadError):
        return "its answer is incomplete or cannot be decoded"
    if isinstance(error, aiohttp.InvalidURL) or type(error) is ValueError:
        return "its url cannot be read"
    return str(error) or type(error).__name__


def _why_not_connected(error: OSError) -> str:
    """The texts of the client contain addresses and objects of this process."""
    match error:
        case RefusedAddressError():
            return str(error)
        case socket.gaierror():
            return "its host cannot be resolved"
        case ssl.SSLCertVerificationError():
            return f"its certificate is not valid: {error.verify_message}"
        case ssl.SSLError():
            return f"TLS failed: {(error.reason or 'unknown error').replace('_', ' ').lower()}"
    return f"no connection: {os.strerror(error.errno)}" if error.errno else "no connection"


def _read(body: bytes) -> Reply | Failure:
    try:
        data: Any = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return Failure("the recommender's answer is not JSON")
    reply = read_reply(data)
    # Its reason stays out: the address may be any server of the cluster, and an answer must not appear in a status.
    return replace(reply, reason="") if isinstance(reply, Reply) else reply


def _ready(asking: Asking, now: float) -> int:
    wpa = asking.wpa
    target = (wpa.target.name if wpa.target else None) or ""
    delay, skip = float(wpa.readiness_delay or 0), wpa.skips_owner_check
    return ready_pods(asking.pods, target, now, delay, skip_owner_check=skip).ready
