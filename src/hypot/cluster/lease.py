"""Leader election by a Lease: one of several instances may write. Never compares two clocks."""

import asyncio
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any, Final, Literal, NamedTuple

import structlog

from hypot.cluster.clock import Clock, boot
from hypot.cluster.clock import wall as wall_clock
from hypot.cluster.port import Answer, MayNotWriteError, Method, OutageError, Port, Request, UnreachableError, encoded

API_VERSION: Final = "coordination.k8s.io/v1"
SHORTEST_TIMEOUT: Final = 0.1
SHORTEST_SLEEP: Final = 0.05
# After a conflict the Lease is read again; after this many in a row, the next attempt continues.
TRIES: Final = 3

_End = Literal["released", "lost", "failed", "again"]


class _Failure(NamedTuple):
    """What went wrong in an attempt, whether the server refused it, and whether that is logged elsewhere."""

    message: str = ""
    refused: bool = False
    logged: bool = False


_log = structlog.get_logger()


def own_identity(host: str) -> str:
    """A name that is unique to this process, also across restarts."""
    return f"{host}_{secrets.token_hex(8)}"


@dataclass(frozen=True, slots=True)
class Record:
    """The Lease object as it was read; `version` is empty if there is none."""

    version: str = ""
    body: dict[str, Any] = field(default_factory=dict)

    @property
    def spec(self) -> dict[str, Any]:
        found = self.body.get("spec")
        return found if isinstance(found, dict) else {}

    @property
    def holder(self) -> str:
        return str(self.spec.get("holderIdentity") or "")

    @property
    def said(self) -> dict[str, str]:
        """The annotations in which the holder describes itself."""
        metadata = self.body.get("metadata")
        found = metadata.get("annotations") if isinstance(metadata, dict) else None
        return {str(name): str(word) for name, word in found.items()} if isinstance(found, dict) else {}

    @property
    def seconds(self) -> float:
        """How long the holder asked others to wait."""
        asked = self.spec.get("leaseDurationSeconds")
        return float(asked) if isinstance(asked, int) and not isinstance(asked, bool) else 0.0

    @property
    def transitions(self) -> int:
        counted = self.spec.get("leaseTransitions")
        return counted if isinstance(counted, int) and not isinstance(counted, bool) else 0


def taken(record: Record, identity: str, seconds: float, now: float) -> dict[str, Any]:
    """The Lease object with us as the holder. Other fields stay as they are."""
    spec: dict[str, Any] = {
        "holderIdentity": identity,
        "leaseDurationSeconds": max(1, round(seconds)),
        "renewTime": microtime(now),
    }
    if record.holder != identity:
        spec["acquireTime"] = spec["renewTime"]
        spec["leaseTransitions"] = record.transitions + 1 if record.version else 0
    return {**record.body, "spec": {**record.spec, **spec}}


def released(record: Record, now: float) -> dict[str, Any]:
    """The Lease object without a holder, so that others may take it at once."""
    spec = {"holderIdentity": "", "leaseDurationSeconds": 1, "renewTime": microtime(now)}
    return {**record.body, "spec": {**record.spec, **spec}}


def microtime(at: float) -> str:
    """RFC 3339 in UTC with microseconds, the format in Leases."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


class Lease:
    """An election. The leader checks `left` before each write, and completes the write within that time.

    The holder counts its time from before a renewal was sent; a follower counts a longer time from after it saw the
    record change. So the holder's time ends before the follower's begins, whatever their clocks show.
    """

    def __init__(
        self,
        port: Port,
        namespace: str,
        name: str,
        identity: str,
        *,
        duration: float = 15.0,
        deadline: float = 10.0,
        retry: float = 2.0,
        clock: Clock = boot,
        wall: Clock = wall_clock,
        annotations: Callable[[], Mapping[str, str]] = dict,
    ) -> None:
        """`identity` must be unique to this process, see `own_identity`; `port` must not check this lease for writes.

        The holder writes `annotations` to the Lease to describe itself.
        """
        if not 0 < retry < deadline < duration:
            raise ValueError(f"a lease needs 0 < retry < deadline < duration, not {retry}, {deadline}, {duration}")
        self.identity = identity
        # The holder when it was read last, and the annotations of that holder.
        self.holder = ""
        self.said: Mapping[str, str] = {}
        # Why the last attempt failed, as text; `refused` only if the server refused, not if it did not answer.
        self.trouble = self.refused = ""
        # When the first of the failed attempts in a row ended.
        self._troubled_at = float("inf")
        self._port, self._namespace, self._name = port, namespace, name
        self._duration, self._deadline, self._retry = duration, deadline, retry
        self._clock, self._wall, self._annotations = clock, wall, annotations
        # Until when we may write, on our own clock.
        self._until = -float("inf")
        # What was read last, None if that may be outdated; and since when the record is unchanged.
        self._record: Record | None = None
        self._seen_version: str | None = None
        self._seen_at = -float("inf")
        self._wait, self._pause = 0.0, retry
        self._busy = asyncio.Lock()
        self._ending = self._reported = self._aside = False
        self._followed = ""
        # Of the current attempt.
        self._failed = _Failure()

    def left(self) -> float:
        """Seconds during which we may still write; 0 or less means that we may not."""
        return self._until - self._clock()

    def troubled_for(self) -> float:
        """Seconds since attempts began to fail; negative if the last one succeeded."""
        return self._clock() - self._troubled_at

    @property
    def leading(self) -> bool:
        return self.left() > 0

    def stand_aside(self) -> None:
        """Leave the Lease to others until `stand`. It is given back with the next attempt."""
        self._aside, self._until = True, -float("inf")

    def stand(self) -> None:
        self._aside = False

    async def run(self) -> None:
        """Acquire or renew the Lease until `release`."""
        now = asyncio.get_running_loop().time
        while not self._ending:
            due = now() + self._retry
            self._announce()
            async with self._busy:
                await self._attempt()
            self._note()
            self._announce()
            await asyncio.sleep(min(max(due - now(), 0.0), self._pause))

    async def release(self) -> None:
        """Let others take the Lease at once, if we hold it. Call this after the last write has been answered."""
        self._ending = True
        self._until = -float("inf")
        async with self._busy:
            self._failed = _Failure()
            for _ in range(TRIES):
                end = await self._give_back()
                if end != "again":
                    break
        self._report_end(end)

    async def _give_back(self) -> _End:
        record = self._record or await self._read()
        if record is None:
            return "failed"
        if record.holder != self.identity:
            return "lost"
        answer = await self._write("PUT", released(record, self._wall()))
        self._record = None
        if answer is not None and answer.conflict:
            return "again"
        return "released" if answer is not None and answer.ok else "failed"

    async def _attempt(self) -> None:
        self._pause = self._retry
        self._failed = _Failure()
        for _ in range(TRIES):
            if self._ending or await self._step() != "again":
                return

    async def _step(self) -> Literal["done", "again"]:
        """Read the record if it is unknown, and write it if we may. `again` if the record is not what we expected."""
        if not self.leading:
            # Time has passed: another instance may hold it now.
            self._record = None
        if self._aside:
            return "again" if await self._give_back() == "again" else "done"
        record = self._record or await self._read()
        if record is None:
            return "done"
        if not self._may_take(record):
            self._until = -float("inf")
            self._record = None
            # It may be free before the next attempt is due, so sleep no longer than that.
            self._pause = max(self._free_in(), SHORTEST_SLEEP)
            return "done"
        return await self._take(record)

    async def _read(self) -> Record | None:
        """The current record, or None if there was no answer."""
        answer = await self._ask("GET", f"{self._collection}/{self._name}")
        if answer is None or not (answer.ok or answer.gone):
            return None
        self._observe(record_of(answer) if answer.ok else Record())
        return self._record

    def _observe(self, record: Record) -> None:
        """Store since when the record is unchanged. A deleted record is waited for like a renewed one."""
        if record.version != self._seen_version:
            self._seen_version, self._seen_at = record.version, self._clock()
        if record.version:
            foreign = record.holder not in {"", self.identity}
            self._wait = max(self._duration, record.seconds) if foreign else 0.0
        self._record, self.holder, self.said = record, record.holder, record.said

    def _may_take(self, record: Record) -> bool:
        if record.version and record.holder in {"", self.identity}:
            return True
        return self._free_in() <= 0

    def _free_in(self) -> float:
        """Seconds until the Lease is free, if it is not renewed."""
        return self._seen_at + self._wait - self._clock()

    async def _take(self, record: Record) -> Literal["done", "again"]:
        """Write that we hold the Lease. Our time counts from before the request was sent."""
        sent = self._clock()
        new = taken(record, self.identity, self._duration, self._wall())
        answer = await self._write("PUT" if record.version else "POST", new)
        self._record = None
        if answer is None:
            return "done"
        if answer.conflict or (answer.gone and record.version):
            return "again"
        if not answer.ok:
            return "done"
        if not self._ending and not self._aside:
            self._until = sent + self._deadline
        self._observe(record_of(answer))
        return "done"

    async def _write(self, method: Method, body: dict[str, Any]) -> Answer | None:
        saying = self._annotations()
        if saying:
            known = body.get("metadata") or {}
            said = {**(known.get("annotations") or {}), **saying}
            body = {
                **body,
                "metadata": {"name": self._name, "namespace": self._namespace, **known, "annotations": said},
            }
        if method == "PUT":
            return await self._ask("PUT", f"{self._collection}/{self._name}", body)
        metadata = {"name": self._name, "namespace": self._namespace}
        whole = {"apiVersion": API_VERSION, "kind": "Lease", "metadata": metadata, **body}
        return await self._ask("POST", self._collection, whole)

    async def _ask(self, method: Method, path: str, body: dict[str, Any] | None = None) -> Answer | None:
        """The answer, including a refusal; None if none came in time."""
        within = min(2 * self._retry, self._deadline)
        if self.leading:
            within = max(min(within, self.left()), SHORTEST_TIMEOUT)
        query = {"fieldManager": "hypot"} if body else {}
        # The port gives up first: it knows whether the server answers other requests.
        request = Request(method, path, query, encoded(body) if body else None, timeout=0.95 * within)
        try:
            async with asyncio.timeout(within):
                answer = await self._port.call(request)
        except (UnreachableError, MayNotWriteError) as error:
            self._fail(str(error), logged=isinstance(error, OutageError))
            return None
        except TimeoutError:
            self._fail(f"{method} {path}: no answer within {within:.3g} s")
            return None
        except Exception as error:  # noqa: BLE001  an election that stops would leave no leader
            self._fail(f"{method} {path}: {type(error).__name__}: {error}")
            return None
        if not (answer.ok or answer.conflict or (answer.gone and method != "POST")):
            self._refuse(f"{method} {path}: {answer.status} {answer.message}", answer)
        return answer

    @property
    def _collection(self) -> str:
        return f"/apis/{API_VERSION}/namespaces/{self._namespace}/leases"

    def _fail(self, message: str, *, refused: bool = False, logged: bool = False) -> None:
        self._failed = _Failure(message[:300], refused, logged)

    def _refuse(self, message: str, answer: Answer) -> None:
        """Record a failed answer. A server that is overloaded or broken has not refused."""
        if answer.gone:
            todo = "create it, or apply what `hypot manifests` prints"
            message = f"namespace {self._namespace} does not exist: {todo} ({message})"
        self._fail(message, refused=400 <= answer.status < 500 and answer.status != HTTPStatus.TOO_MANY_REQUESTS)

    def _note(self) -> None:
        """Log a problem once, as long as it stays the same from attempt to attempt."""
        trouble, refused, logged = self._failed
        if trouble and trouble != self.trouble and not logged:
            _log.warning("lease request failed", name=self._name, error=trouble)
        if not (trouble and self.trouble):
            self._troubled_at = self._clock() if trouble else float("inf")
        self.trouble, self.refused = trouble, trouble if refused else ""

    def _announce(self) -> None:
        if self._ending:
            return
        if self.leading != self._reported:
            self._reported = self.leading
            self._say("lease acquired" if self._reported else "lease lost")
        followed = "" if self._reported or self.holder == self.identity else self.holder
        if followed and followed != self._followed:
            self._say("following")
        if followed or self._reported:
            self._followed = followed

    def _report_end(self, end: _End) -> None:
        if end == "released":
            self._say("lease released")
        elif self._reported and end == "lost":
            self._say("lease lost")
        elif self._reported:
            wait = f"others wait until it expires, up to {self._duration:g} s"
            _log.warning("lease not released", name=self._name, error=self._failed.message, outcome=wait)
        self._reported = False

    def _say(self, what: str) -> None:
        _log.info(what, name=self._name, namespace=self._namespace, identity=self.identity, holder=self.holder)


def record_of(answer: Answer) -> Record:
    """The Lease in an answer; an empty record if there is none."""
    body = answer.json()
    metadata = body.get("metadata") if isinstance(body, dict) else None
    version = metadata.get("resourceVersion") if isinstance(metadata, dict) else None
    return Record(version, body) if isinstance(version, str) else Record()
