"""Credentials for a cluster, kept up to date: service account tokens rotate, and tokens from plugins expire."""

import asyncio
import json
import math
import os
import signal
import ssl
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from hypot.cluster.config import Access, AccessError, Pem, Plugin, read_pem
from hypot.cluster.secret_file import secret_file

# A token file is read again after this time. Also the shortest time between two runs of a plugin after a 401.
HELD_FOR = 60.0
PLUGIN_WITHIN = 30.0
LARGEST_CREDENTIAL = 2**20
# For a plugin whose clock is behind ours, so that not every call runs it.
SHORTEST_LIFE = 10.0


@dataclass(frozen=True, slots=True)
class Identity:
    """The credentials for the server: a token, a certificate with its key, or nothing."""

    token: str = field(default="", repr=False)
    certificate: Pem | None = field(default=None, repr=False)
    key: Pem | None = field(default=None, repr=False)


class Credentials:
    """The current identity of an access. Uses the wall clock, because plugins give expiry times in wall time."""

    def __init__(self, access: Access, clock: Callable[[], float]) -> None:
        self._access, self._clock = access, clock
        self._held = Identity(access.token, access.certificate, access.key)
        self._since = -math.inf
        self._ends = -math.inf if access.token_file or access.plugin else math.inf
        self._running: asyncio.Task[bytes] | None = None

    async def current(self) -> Identity:
        """The current identity; AccessError if there is none. The old token is kept while its file cannot be read."""
        if self._since <= self._clock() < self._ends:
            return self._held
        if self._access.plugin is not None:
            await self._ask(self._access.plugin)
        elif self._access.token_file is not None:
            self._read(self._access.token_file)
        return self._held

    def renewed(self, rejected: Identity) -> Identity | None:
        """The identity to try after the server rejected one; None if there is no other yet.

        A token file is read at once. A plugin runs with the next call, unless it ran just before.
        """
        if self._access.plugin is None and self._access.token_file is not None:
            self._read(self._access.token_file)
        elif self._since > -math.inf and not 0 <= self._clock() - self._since < HELD_FOR:
            self._ends = -math.inf
        return self._held if self._held != rejected else None

    async def close(self) -> None:
        if self._running is not None:
            self._running.cancel()
            await asyncio.gather(self._running, return_exceptions=True)

    async def _ask(self, plugin: Plugin) -> None:
        """All callers share one run, and it continues when a caller stops waiting."""
        if self._running is None or self._running.done():
            self._running = asyncio.create_task(run_plugin(plugin, self._access.source))
            self._running.add_done_callback(lambda task: task.cancelled() or task.exception())
        said = await asyncio.shield(self._running)
        self._held, ends = credential_of(said, plugin, self._access)
        self._since = self._clock()
        self._ends = max(ends, self._since + SHORTEST_LIFE)

    def _read(self, file: Path) -> None:
        cause: Exception | None = None
        try:
            token = file.read_text(encoding="ascii").strip()
        except (OSError, UnicodeDecodeError) as error:
            token, cause = "", error
        token = token or self._held.token
        if not token:
            raise AccessError(f"{self._access.source}: {file} has no readable token") from cause
        self._held = replace(self._held, token=token)
        self._since = self._clock()
        self._ends = self._since + HELD_FOR


async def run_plugin(plugin: Plugin, source: str) -> bytes:
    """The output of the command, within 30 s. Its stderr goes to ours."""
    about = {"interactive": False, **({"cluster": plugin.cluster} if plugin.cluster else {})}
    asked = json.dumps({"apiVersion": plugin.version, "kind": "ExecCredential", "spec": about})
    try:
        process = await asyncio.create_subprocess_exec(
            plugin.command,
            *plugin.arguments,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            env={**os.environ, **plugin.environment, "KUBERNETES_EXEC_INFO": asked},
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else error
        hint = plugin.hint or "The kubeconfig gets its credentials from this command: install it, or check PATH"
        raise AccessError(f"{source}: {plugin.command} cannot be started: {why}. {hint}") from error
    try:
        async with asyncio.timeout(PLUGIN_WITHIN):
            said = await _bounded(process, f"{source}: {plugin.command}")
            status = await process.wait()
    except TimeoutError as error:
        raise AccessError(
            f"{source}: {plugin.command} did not end within {PLUGIN_WITHIN:.0f} s; run it manually"
        ) from error
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
    if status != 0:
        hint = plugin.hint or "It gives the credentials: log in again, or choose another context"
        raise AccessError(f"{source}: {plugin.command} ended with status {status}; run it manually to see why. {hint}")
    return said


async def _bounded(process: asyncio.subprocess.Process, who: str) -> bytes:
    assert process.stdout is not None  # noqa: S101  for the type checker: stdout is a pipe
    said = bytearray()
    while chunk := await process.stdout.read(2**16):
        said += chunk
        if len(said) > LARGEST_CREDENTIAL:
            raise AccessError(f"{who} prints more than an ExecCredential contains")
    return bytes(said)


def credential_of(said: bytes, plugin: Plugin, access: Access) -> tuple[Identity, float]:
    """The identity in an ExecCredential, and when it expires. Messages never include its content."""
    who = f"{access.source}: {plugin.command}"
    try:
        reported = json.loads(said)
    except (ValueError, RecursionError):
        raise AccessError(f"{who} does not print an ExecCredential as JSON") from None
    status = reported.get("status") if isinstance(reported, Mapping) else None
    if not isinstance(status, Mapping):
        raise AccessError(f"{who} does not print an ExecCredential with a status")
    if reported.get("kind") != "ExecCredential" or reported.get("apiVersion") != plugin.version:
        raise AccessError(f"{who} does not print an ExecCredential of {plugin.version}, which the kubeconfig asks for")
    token, certificate, key = (_text(status, each) for each in ("token", "clientCertificateData", "clientKeyData"))
    if bool(certificate) != bool(key) or not (token or certificate):
        raise AccessError(f"{who} gives neither a token nor a certificate with its key")
    shown = (certificate.encode(), key.encode()) if certificate else (access.certificate, access.key)
    return Identity(token, *shown), _end(status.get("expirationTimestamp"), who)


def _text(status: Mapping[str, Any], name: str) -> str:
    value = status.get(name)
    return value if isinstance(value, str) else ""


def _end(stamp: Any, who: str) -> float:
    """When a credential expires; infinite if it has no expiry."""
    if stamp is None:
        return math.inf
    try:
        ends = datetime.fromisoformat(stamp)
    except (TypeError, ValueError):
        raise AccessError(f"{who} gives an expirationTimestamp that is not a time") from None
    if ends.tzinfo is None:
        raise AccessError(f"{who} gives an expirationTimestamp without a time zone")
    return ends.timestamp()


def tls_of(access: Access, identity: Identity) -> ssl.SSLContext:
    """The TLS context. It verifies the server unless that was explicitly disabled."""
    try:
        context = ssl.create_default_context(cadata=_authority(access))
    except (ssl.SSLError, ValueError) as error:
        raise AccessError(f"{access.source}: the certificate authority is not a PEM certificate") from error
    # Certificate authorities of clusters often lack the extensions that newer Python versions require.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if access.insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if identity.certificate is not None and identity.key is not None:
        _show(context, identity.certificate, identity.key, access.source)
    return context


def _authority(access: Access) -> str | None:
    """The text of the certificate authority, if given. An empty one must not fall back to those of this machine."""
    if access.ca is None:
        return None
    text = read_pem(access.ca, access.source).decode("ascii", errors="ignore")  # comments may be in any language
    if "CERTIFICATE-----" not in text:
        raise AccessError(f"{access.source}: the certificate authority is not a PEM certificate")
    return text


def _show(context: ssl.SSLContext, certificate: Pem, key: Pem, source: str) -> None:
    """Load a certificate and its key. OpenSSL reads only files, so inline data is written to temporary files."""
    with ExitStack() as written:
        shown, secret = (
            pem if isinstance(pem, Path) else written.enter_context(secret_file(pem)) for pem in (certificate, key)
        )
        try:
            # Without this, OpenSSL would ask for a passphrase on the terminal.
            context.load_cert_chain(shown, secret, password="")
        except (OSError, ValueError) as error:
            raise AccessError(f"{source}: the client certificate and its key cannot be used: {error}") from error
