"""Queries the HTTP recommenders of WatermarkPodAutoscalers."""

import asyncio
import socket
import ssl
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import aiohttp
import msgspec
from aiohttp.abc import AbstractResolver, ResolveResult

from hypot.cluster.port import encoded
from hypot.kinds.address import shown_address
from hypot.kinds.wpa import WPA
from hypot.kinds.wpa.fields import Recommender, TLSConfig
from hypot.policy.horizontal.recommender import build_request, read_reply
from hypot.policy.horizontal.wpa_metrics import ready_pods
from hypot.policy.model.seen import Failure, Pod, Reply, Scale
from hypot.run.observe.asking import LIMITS, Crowd, Question, TimeLimits, whole

LARGEST_ANSWER = 1 << 20
AGENT = "wpa-controller"
# Concurrent name lookups: a slow lookup cannot be cancelled.
LOOKUPS = 64
_VERSIONS = {"TLS11": ssl.TLSVersion.TLSv1_1, "TLS12": ssl.TLSVersion.TLSv1_2, "TLS13": ssl.TLSVersion.TLSv1_3}


class Lookups(AbstractResolver):
    """Looks names up in its own threads, so that no other code waits for a name server that does not answer."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(LOOKUPS, "lookup")

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        look_up = partial(socket.getaddrinfo, host, port, family, socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG)
        found = await asyncio.get_running_loop().run_in_executor(self._threads, look_up)
        return [_resolved(host, *each) for each in found]

    async def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


def _resolved(
    host: str, family: socket.AddressFamily, kind: socket.SocketKind, proto: int, name: str, address: Any
) -> ResolveResult:
    del kind, name
    flags = socket.AI_NUMERICHOST | socket.AI_NUMERICSERV
    return ResolveResult(hostname=host, host=address[0], port=address[1], family=family, proto=proto, flags=flags)


def new_session() -> aiohttp.ClientSession:
    """A session for recommenders only: tenants choose their host names, and other lookups must not wait for them."""
    return aiohttp.ClientSession(connector=aiohttp.TCPConnector(resolver=Lookups()))


class Asking(NamedTuple):
    """One autoscaler that asks its recommender, with the scale and pods of its target."""

    wpa: WPA
    scale: Scale
    pods: tuple[Pod, ...]


class Recommenders:
    """Asks all recommenders in a reconcile, several at the same time, within one deadline."""

    def __init__(self, session: aiohttp.ClientSession, cluster: str = "", limits: TimeLimits = LIMITS) -> None:
        self._session, self._cluster = session, cluster
        self._crowd = Crowd(limits)

    async def ask(self, asking: Iterable[Asking], now: float) -> list[Reply | Failure]:
        return await self._crowd.ask([self._question(each, now) for each in asking])

    def _question(self, asking: Asking, now: float) -> Question[Reply | Failure]:
        url = (asking.wpa.recommender or Recommender()).url or ""
        return Question(asking.wpa.namespace, url, "the recommender", partial(self._one, asking, now))

    async def _one(self, asking: Asking, now: float) -> Reply | Failure:
        try:
            return await self._post(asking, now)
        except (aiohttp.ClientError, OSError, ValueError) as error:
            return Failure(f"the recommender cannot be asked: {_why(error)}")

    async def _post(self, asking: Asking, now: float) -> Reply | Failure:
        recommender = asking.wpa.recommender or Recommender()
        url = recommender.url or ""
        if urlsplit(url).scheme not in {"http", "https"}:
            return Failure(f"the recommender's url {shown_address(url)!r} is neither http nor https", "spec")
        body = encoded(build_request(asking.wpa, asking.scale, _ready(asking, now), self._cluster))
        headers = {"Content-Type": "application/json", "User-Agent": AGENT}
        tls = _context(recommender.tls) if url.startswith("https:") else True
        name = recommender.tls.server_name if recommender.tls else None
        async with self._session.post(
            url, data=body, headers=headers, ssl=tls, server_hostname=name, allow_redirects=False
        ) as answer:
            if 300 <= answer.status < 400:
                return Failure(f"the recommender answers {answer.status}: redirects are not followed")
            read = await whole(answer.content, LARGEST_ANSWER)
            if answer.status != 200:
                reported = read[:100].decode(errors="replace")
                return Failure(f"the recommender answers {answer.status}: {reported}")
            if len(read) > LARGEST_ANSWER:
                return Failure("the recommender's answer is larger than 1 MiB")
            return _read(read)


def _why(error: Exception) -> str:
    """The error as text, without the address, which may contain secrets."""
    if isinstance(error, aiohttp.ClientResponseError):
        return f"{error.status} {error.message}"
    if isinstance(error, aiohttp.InvalidURL) or type(error) is ValueError:
        return "its url cannot be read"
    return str(error) or type(error).__name__


def _read(body: bytes) -> Reply | Failure:
    try:
        data: Any = msgspec.json.decode(body)
    except msgspec.DecodeError as error:
        return Failure(f"the recommender's answer is not JSON: {error}")
    return read_reply(data)


def _ready(asking: Asking, now: float) -> int:
    wpa = asking.wpa
    target = (wpa.target.name if wpa.target else None) or ""
    delay, skip = float(wpa.readiness_delay or 0), wpa.skips_owner_check
    return ready_pods(asking.pods, target, now, delay, skip_owner_check=skip).ready


def _context(tls: TLSConfig | None) -> ssl.SSLContext:
    """The TLS context for the object's settings; changed files are read again."""
    files = (tls.ca_file, tls.cert_file, tls.key_file) if tls else ()
    return _read_context(tls, tuple([Path(file).stat().st_mtime_ns for file in files if file]))


@lru_cache(64)
def _read_context(tls: TLSConfig | None, written: tuple[int, ...]) -> ssl.SSLContext:
    """A certificate file that cannot be read is an error, and never a reason to skip verification."""
    del written
    context = ssl.create_default_context(cafile=tls.ca_file if tls else None)
    if tls is None:
        return context
    if tls.cert_file:
        context.load_cert_chain(tls.cert_file, tls.key_file)
    if tls.insecure_skip_verify:
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if tls.min_version in _VERSIONS:
        context.minimum_version = _VERSIONS[tls.min_version]
    if tls.max_version in _VERSIONS:
        context.maximum_version = _VERSIONS[tls.max_version]
    return context
