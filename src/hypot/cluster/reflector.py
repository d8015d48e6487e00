"""Keeps the objects of an API server collection in memory: lists once, then watches, and recovers from failures."""

import asyncio
import random as chance
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeVar

import structlog

from hypot.cluster.clock import Clock, boot
from hypot.cluster.page import UnreadableError, plain_fields, read_object, read_page
from hypot.cluster.port import Answer, OutageError, Port, RefusedError, Request, UnreachableError, encoded

Row = TypeVar("Row")
NamespacedName = tuple[str, str]
Keep = Callable[[dict[str, Any]], Row | None]

PAGE: Final = 500
# API servers send a bookmark about every minute, so a longer silence means a dead connection.
SILENCE: Final = 70.0
# The server ends streams after about this time, with jitter so that they do not all end at once.
STREAM_SECONDS: Final = 300
# A stream that lasted this long was good: earlier failures no longer count.
GOOD_STREAM: Final = 5.0
FIRST_PAUSE: Final = 0.4
LONGEST_PAUSE: Final = 30.0
LONGEST_OBEDIENCE: Final = 300.0
MISSING_PAUSE: Final = 15.0
BEGIN_WITHIN: Final = 30.0
# Objects, or seconds, after which other tasks may run.
SLICE_OBJECTS: Final = 200
SLICE_SECONDS: Final = 0.010
INITIAL_EVENTS_END: Final = "k8s.io/initial-events-end"
# Refusals because of our credentials or the server's load, not because of the version that we watch from.
_NOT_ABOUT_VERSIONS: Final = frozenset({401, 403, 429, 503})

_log = structlog.get_logger()


@dataclass(slots=True)
class _ListBatch(Generic[Row]):
    """A list that is not complete yet."""

    rows: dict[NamespacedName, Row] = field(default_factory=dict)
    unread: dict[NamespacedName, str] = field(default_factory=dict)


class Reflector(Generic[Row]):
    """The rows of one collection. They reflect the server's objects; which event led there does not matter."""

    def __init__(
        self,
        port: Port,
        path: str,
        *,
        keep: Keep[Row],
        query: Mapping[str, str] | None = None,
        on_change: Callable[[NamespacedName, Row | None], None] | None = None,
        clock: Clock = boot,
        random: Callable[[], float] = chance.random,
    ) -> None:
        """`keep` turns an object into a row, or None if it is not needed; `on_change` is only a hint."""
        self.path = path
        self.rows: dict[NamespacedName, Row] = {}
        # Objects that could not be read, and why. They have no row.
        self.unread: dict[NamespacedName, str] = {}
        self.missing = False
        self.trouble = ""
        self.lists = 0
        self.restarts = 0
        self._port, self._keep, self._query, self._on_change = port, keep, dict(query or {}), on_change
        self._clock, self._random = clock, random
        self._known = asyncio.Event()
        # Empty means that there is no version to watch from, so a list is due.
        self._version = ""
        self._fresh_at = -float("inf")
        self._streams_lists = True
        self._pages_once = False
        self._failures = self._expiries = 0
        self._taken, self._slice_began = 0, 0.0

    @property
    def synced(self) -> bool:
        """Whether a list has ever been completed."""
        return self.lists > 0

    async def wait_synced(self) -> None:
        """Wait until the first list is complete, or the server reports that there is no such collection."""
        await self._known.wait()

    def age(self) -> float:
        """Seconds since the server last confirmed the rows; infinite before the first list."""
        return self._clock() - self._fresh_at

    async def run(self) -> None:
        """Run forever: list if there is no version to watch from, then watch."""
        while True:
            await asyncio.sleep(await self._attempt())
            self.restarts += 1

    async def _attempt(self) -> float:
        """Run one stream from start to end. Returns how long to wait before the next."""
        try:
            if not self._version and (self._pages_once or not self._streams_lists):
                await self._list()
            good = await self._follow()
        except RefusedError as refused:
            return self._refused(refused)
        except OutageError as error:
            return self._failed(str(error), quiet=True)
        except UnreachableError as error:
            return self._failed(str(error))
        except TimeoutError:
            return self._silent()
        except Exception as error:  # noqa: BLE001  if the watch stopped, rows would become stale unnoticed
            return self._failed(f"GET {self.path}: {type(error).__name__}: {error}")
        return 0.0 if good else self._failed(f"GET {self.path}: the stream ended right after it began")

    def _refused(self, refused: RefusedError) -> float:
        answer, request = refused.answer, refused.request
        if answer.status == 410:
            return self._expired()
        if "sendInitialEvents" in request.query and _knows_no_streaming_lists(answer):
            _log.info(
                "server does not support streaming lists, using pages", path=self.path, message=answer.message[:200]
            )
            self._streams_lists = False
            return 0.0
        if answer.gone:
            return self._gone()
        if answer.status not in _NOT_ABOUT_VERSIONS:
            self._version = ""
        return self._failed(str(refused), min(answer.retry_after or 0.0, LONGEST_OBEDIENCE))

    def _expired(self) -> float:
        """List again, at once unless that did not help just before."""
        self._version = ""
        self._expiries += 1
        _log.info("watch expired", path=self.path, times=self._expiries)
        return 0.0 if self._expiries == 1 else self._pause()

    def _gone(self) -> float:
        """The server reported that there is no such collection, so there are no rows."""
        if not self.missing:
            _log.warning("not served", path=self.path, rows=len(self.rows))
        self._version, self.missing, self.trouble = "", True, ""
        gone = list(self.rows)
        self.rows.clear()
        self.unread.clear()
        for key in gone:
            self._report(key)
        self._fresh_at = self._clock()
        self._known.set()
        return MISSING_PAUSE

    def _silent(self) -> float:
        """The connection died, or no row changes: in that case a server need not send bookmarks."""
        if not self._version:
            return self._failed(f"GET {self.path}: nothing received for {SILENCE:g} s")
        _log.info("watch silent", path=self.path, seconds=SILENCE)
        return self._pause()

    def _failed(self, trouble: str, at_least: float = 0.0, *, quiet: bool = False) -> float:
        before, self.trouble = self.trouble, trouble[:300]
        if not quiet and self.trouble != before:
            _log.warning("watch failed", path=self.path, error=self.trouble)
        return max(at_least, self._pause())

    def _pause(self) -> float:
        """Exponential backoff with jitter, so that many clients do not come back at the same time."""
        longest = min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(self._failures, 16))
        self._failures += 1
        return longest * (0.5 + self._random() / 2)

    async def _list(self) -> None:
        """List page by page. Nothing is replaced before the last page has arrived."""
        batch, token = _ListBatch[Row](), ""
        while True:
            query = {**self._query, "limit": str(PAGE), **({"continue": token} if token else {})}
            request = Request("GET", self.path, query, timeout=BEGIN_WITHIN)
            answer = await self._port.call(request)
            if not answer.ok:
                raise RefusedError(request, answer)
            page = read_page(answer.body)
            usual = {"apiVersion": page.api_version, "kind": page.kind.removesuffix("List")}
            for item in page.items or ():
                try:
                    self._take({**usual, **read_object(item)}, batch)
                except UnreadableError as error:
                    self._take({"metadata": plain_fields(item, "metadata")}, batch, error=error)
                await self._turn()
            token = page.metadata.continue_
            if not token:
                break
        self._pages_once = False
        await self._replace(batch, page.metadata.resource_version or "0")

    async def _follow(self) -> bool:
        """Process a stream until it ends. Returns whether it was good."""
        request = self._watch_request()
        batch = None if self._version else _ListBatch[Row]()
        now = asyncio.get_running_loop().time
        async with asyncio.timeout(SILENCE) as silence, self._port.watch(request) as lines:
            began = self._clock()
            self.missing = False
            # If a streaming list breaks off, pages are more reliable.
            self._pages_once = batch is not None
            if batch is None:
                self.trouble = ""
            try:
                async for line in lines:
                    silence.reschedule(now() + SILENCE)
                    batch = await self._line(line, batch, request)
                    await self._turn()
            finally:
                good = self._clock() - began >= GOOD_STREAM
                if good:
                    self._failures = self._expiries = 0
        return good

    def _watch_request(self) -> Request:
        seconds = round(STREAM_SECONDS * (0.8 + 0.4 * self._random()))
        query = {"watch": "true", "allowWatchBookmarks": "true", "timeoutSeconds": str(seconds)}
        if self._version:
            query["resourceVersion"] = self._version
        else:
            query |= {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
        return Request("GET", self.path, {**self._query, **query}, timeout=BEGIN_WITHIN)

    async def _line(self, line: bytes, batch: _ListBatch[Row] | None, request: Request) -> _ListBatch[Row] | None:
        """Process one line. Returns the incomplete list while it is incomplete."""
        error = None
        try:
            event = read_object(line)
        except UnreadableError as unreadable:
            error, event = unreadable, _outline(line)
        what, thing = event.get("type"), event.get("object")
        if not isinstance(thing, dict):
            _log.warning("line skipped", path=self.path, error=str(error or "no object")[:200])
            return batch
        if what == "ERROR":
            raise RefusedError(request, _as_answer(thing))
        if batch is None:
            self._fresh()
        version = _metadata(thing).get("resourceVersion")
        if what == "BOOKMARK":
            if batch is not None and _ends_the_list(thing):
                self._pages_once = False
                await self._replace(batch, str(version or "0"))
                return None
        elif (key := self._take(thing, batch, deleted=what == "DELETED", error=error)) is not None and batch is None:
            self._report(key)
        if batch is None and isinstance(version, str) and version:
            self._version = version
        return batch

    def _take(
        self,
        thing: dict[str, Any],
        batch: _ListBatch[Row] | None,
        *,
        deleted: bool = False,
        error: UnreadableError | None = None,
    ) -> NamespacedName | None:
        """Store the row of an object, or remove it. Returns the key of the object, if it has one.

        With an `error`, only the plain fields of its metadata are known.
        """
        rows, unread = (self.rows, self.unread) if batch is None else (batch.rows, batch.unread)
        metadata = _metadata(thing)
        namespace, name = metadata.get("namespace") or "", metadata.get("name")
        if not isinstance(name, str) or not isinstance(namespace, str):
            _log.warning("object skipped", path=self.path, name=str(name)[:253], error="no name")
            return None
        key = namespace, name
        unread.pop(key, None)
        row, trouble = (None, error) if deleted or error else self._kept(thing)
        if trouble is not None and not deleted:
            unread[key] = f"{type(trouble).__name__}: {trouble}"[:200]
            _log.warning("object skipped", path=self.path, namespace=namespace, name=name, error=unread[key])
        if row is None:
            rows.pop(key, None)
        else:
            rows[key] = row
        return key

    def _kept(self, thing: dict[str, Any]) -> tuple[Row | None, Exception | None]:
        """The row of an object, and why there is none if it could not be read."""
        try:
            return self._keep(thing), None
        except Exception as error:  # noqa: BLE001  one bad object must not stop the others
            return None, error

    async def _replace(self, batch: _ListBatch[Row], version: str) -> None:
        """Replace the rows with a complete list, in one step."""
        old = dict(self.rows)
        self.rows.clear()
        self.rows.update(batch.rows)
        self.unread = batch.unread
        self._version, self.missing = version, False
        self.lists += 1
        self._fresh()
        self._known.set()
        if self._on_change is None:
            return
        for key in old.keys() | batch.rows.keys():
            if old.get(key) != batch.rows.get(key):
                self._report(key)
            await self._turn()

    def _fresh(self) -> None:
        self._fresh_at, self.trouble = self._clock(), ""

    def _report(self, key: NamespacedName) -> None:
        if self._on_change is None:
            return
        try:
            self._on_change(key, self.rows.get(key))
        except Exception as error:  # noqa: BLE001  a failing listener must not stop the watch
            _log.warning("listener failed", path=self.path, namespace=key[0], name=key[1], error=str(error)[:200])

    async def _turn(self) -> None:
        """Let other tasks run now and then: a fast stream never waits by itself."""
        self._taken += 1
        if self._taken < SLICE_OBJECTS and self._clock() - self._slice_began < SLICE_SECONDS:
            return
        await asyncio.sleep(0)
        self._taken, self._slice_began = 0, self._clock()


def _outline(line: bytes) -> dict[str, Any]:
    """What can be read of an event whose object cannot; empty if the line is torn."""
    event = plain_fields(line)
    return {**event, "object": {"metadata": plain_fields(line, "object", "metadata")}} if "object" in event else {}


def _metadata(thing: dict[str, Any]) -> dict[str, Any]:
    found = thing.get("metadata")
    return found if isinstance(found, dict) else {}


def _ends_the_list(thing: dict[str, Any]) -> bool:
    annotations = _metadata(thing).get("annotations")
    return isinstance(annotations, dict) and annotations.get(INITIAL_EVENTS_END) == "true"


def _knows_no_streaming_lists(answer: Answer) -> bool:
    """Whether the server is too old for streaming lists, or has them disabled."""
    return answer.status in {400, 422} or (answer.status == 403 and "sendInitialEvents" in answer.message)


def _as_answer(status: dict[str, Any]) -> Answer:
    """An error within a stream, as an answer to the request."""
    code, details = status.get("code"), status.get("details")
    after = details.get("retryAfterSeconds") if isinstance(details, dict) else None
    return Answer(
        code if isinstance(code, int) else 500,
        encoded(status),
        float(after) if isinstance(after, int | float) and after > 0 else None,
    )
