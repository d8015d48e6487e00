"""A cluster in memory that keeps the promises of an API server."""

import asyncio
import copy
import time
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from typing import Any, Final

import msgspec

from fake_objects import (
    Change,
    NoError,
    Object,
    Place,
    Watcher,
    check,
    forbids_eviction,
    line,
    patched,
    path_of,
    place_of,
    refusal,
    resized,
    scale_of,
    show_time,
    status_of,
    without,
)
from hypot.cluster.port import APPLY_PATCH, JSON, Answer, RefusedError, Request, UnreachableError, encoded

KEPT_CHANGES: Final = 10_000
BOOKMARK_EVERY: Final = 60.0
LONGEST_WATCH: Final = 3600.0
INITIAL_EVENTS_END: Final = "k8s.io/initial-events-end"

Fault = Callable[[Request], Answer | Exception | None]


class FakeCluster:
    """A Port. Objects are never changed in place: a write replaces the object."""

    def __init__(self, *, streaming: bool = True, wall: Callable[[], float] = time.time) -> None:
        """Without `streaming` it answers a streaming list as a server that does not support it."""
        self.calls: list[Request] = []
        self.faults: Fault | None = None
        # Collections that are not served, such as /apis/autoscaling.k8s.io/v1/verticalpodautoscalers: no CRD.
        self.absent: set[str] = set()
        # Paths that hold no objects, such as those of custom metrics, and what is answered there.
        self.fixed: dict[str, Answer] = {}
        self.streaming = streaming
        self._wall = wall
        self._version = 1
        self._oldest = 0
        self._objects: dict[str, dict[tuple[str, str], Object]] = {}
        self._kinds: dict[str, str] = {}
        self._changes: deque[Change] = deque()
        self._watchers: set[Watcher] = set()
        self._pages: dict[str, tuple[int, list[Object]]] = {}
        # The fields of a status that were applied last.
        self._applied: dict[tuple[str, ...], frozenset[str]] = {}

    # What a test does without a request.

    def put(self, thing: Object) -> Object:
        """Create or replace, status included; returns the object as it is now."""
        place = place_of(path_of(thing))
        return copy.deepcopy(self._store(place, self._find(place), copy.deepcopy(thing)))

    def get(self, path: str) -> Object | None:
        """The object at a path, as a copy."""
        return copy.deepcopy(self._find(place_of(path)))

    def remove(self, path: str) -> None:
        """Delete at once, whatever its finalizers say; a missing object is ignored."""
        place = place_of(path)
        if (old := self._find(place)) is not None:
            self._drop(place, old)

    def objects(self, path: str) -> list[Object]:
        """What a collection holds, in the order of a list."""
        return copy.deepcopy(self._within(Watcher(place_of(path), Request("GET", path))))

    def serve(self, api_version: str, *resources: Object) -> None:
        """Answer discovery: the group has this version, with these resources."""
        group = api_version.rpartition("/")[0]
        self.fixed[f"/apis/{group}"] = Answer(200, encoded({"versions": [{"groupVersion": api_version}]}))
        self.fixed[f"/apis/{api_version}"] = Answer(200, encoded({"resources": resources}))

    # Faults.

    def cut_watches(self) -> None:
        """Break every stream, as a lost connection does."""
        self._end(UnreachableError("the connection was cut"))

    def end_watches(self) -> None:
        """End every stream cleanly, as a server does after its timeout."""
        self._end(None)

    def silence_watches(self) -> None:
        """Streams stay open and send nothing more, as when the peer died silently."""
        for watcher in self._watchers:
            watcher.deaf = True

    def expire(self) -> None:
        """Forget history: a watch from an older version must list again, and lists already begun cannot continue."""
        self._oldest = self._version
        self._changes.clear()
        self._pages.clear()

    # The port.

    async def call(self, request: Request) -> Answer:
        self.calls.append(request)
        await asyncio.sleep(0)
        if (fault := self.faults and self.faults(request)) is not None:
            if isinstance(fault, Exception):
                raise fault
            return fault
        if request.path in self.fixed:
            return self.fixed[request.path]
        try:
            place = self._place(request)
            body = _body(request)
            return self._answer(place, request, body)
        except NoError as no:
            return no.answer

    def watch(self, request: Request) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        return self._watching(request)

    @asynccontextmanager
    async def _watching(self, request: Request) -> AsyncIterator[AsyncIterator[bytes]]:
        self.calls.append(request)
        await asyncio.sleep(0)
        if (fault := self.faults and self.faults(request)) is not None:
            raise RefusedError(request, fault) if isinstance(fault, Answer) else fault
        try:
            watcher = Watcher(self._place(request), request)
            self._begin(watcher)
        except NoError as no:
            raise RefusedError(request, no.answer) from None
        self._watchers.add(watcher)
        try:
            async with aclosing(self._lines(watcher)) as lines:
                yield lines
        finally:
            self._watchers.discard(watcher)

    def _begin(self, watcher: Watcher) -> None:
        """Queue everything that is sent before anything new happens."""
        query = watcher.request.query
        initial, since = query.get("sendInitialEvents") == "true", query.get("resourceVersion", "")
        if initial and (not self.streaming or query.get("resourceVersionMatch") != "NotOlderThan"):
            raise NoError(422, "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for watch")
        if initial or since in {"", "0"}:
            for thing in self._within(watcher):
                watcher.queue.put_nowait(line("ADDED", thing))
            if initial and watcher.bookmarks:
                watcher.queue.put_nowait(self._bookmark(watcher, annotations={INITIAL_EVENTS_END: "true"}))
            return
        if int(since) < self._oldest:
            said = status_of(410, f"too old resource version: {since} ({self._oldest})")
            watcher.queue.put_nowait(line("ERROR", said))
            watcher.queue.put_nowait(None)
            return
        for change in self._changes:
            if change.version > int(since):
                watcher.report(change)

    async def _lines(self, watcher: Watcher) -> AsyncGenerator[bytes, None]:
        now = asyncio.get_running_loop().time
        end = now() + float(watcher.request.query.get("timeoutSeconds", LONGEST_WATCH))
        while now() < end or watcher.deaf:
            try:
                async with asyncio.timeout(None if watcher.deaf else min(BOOKMARK_EVERY, end - now())):
                    reported = await watcher.queue.get()
            except TimeoutError:
                # A bookmark is never newer than what was sent.
                if watcher.bookmarks and not watcher.deaf and watcher.queue.empty():
                    yield self._bookmark(watcher)
                continue
            if reported is None:
                return
            if isinstance(reported, Exception):
                raise reported
            yield reported

    def _bookmark(self, watcher: Watcher, **metadata: Any) -> bytes:
        kind = {"kind": self._kind(watcher.place), "apiVersion": watcher.place.api_version}
        return line("BOOKMARK", {**kind, "metadata": {"resourceVersion": str(self._version), **metadata}})

    def _end(self, how: Exception | None) -> None:
        for watcher in self._watchers:
            watcher.queue.put_nowait(how)

    # Reading.

    def _place(self, request: Request) -> Place:
        place = place_of(request.path)
        if place.collection in self.absent:
            raise NoError(404, "the server could not find the requested resource")
        return place

    def _kind(self, place: Place) -> str:
        return self._kinds.get(place.collection, "")

    def _find(self, place: Place) -> Object | None:
        return self._objects.get(place.collection, {}).get(place.key)

    def _must_find(self, place: Place) -> Object:
        if (found := self._find(place)) is None:
            raise NoError(404, f"{place.message} not found")
        return found

    def _within(self, watcher: Watcher) -> list[Object]:
        held = self._objects.get(watcher.place.collection, {})
        return [held[key] for key in sorted(held) if watcher.sees(held[key])]

    def _list(self, place: Place, request: Request) -> Answer:
        """One page; later pages show the objects as they were when the first page was requested."""
        token, limit = request.query.get("continue", ""), int(request.query.get("limit", "0"))
        if token and token not in self._pages:
            raise NoError(410, "The provided continue parameter is too old to display a consistent list result.")
        version, rest = self._pages[token] if token else (self._version, self._within(Watcher(place, request)))
        page, rest = (rest[:limit], rest[limit:]) if limit else (rest, [])
        metadata: Object = {"resourceVersion": str(version)}
        if rest:
            metadata |= {"continue": f"{version}-{len(self.calls)}", "remainingItemCount": len(rest)}
            self._pages[metadata["continue"]] = (version, rest)
        shown = [without(each, "apiVersion", "kind") for each in page] if place.built_in else page
        kind = f"{self._kind(place)}List"
        return _ok({"kind": kind, "apiVersion": place.api_version, "metadata": metadata, "items": shown})

    # Writing.

    def _answer(self, place: Place, request: Request, body: Object) -> Answer:
        if place.sub:
            return self._subresource(place, request, body)
        match request.method:
            case "GET":
                return _ok(self._must_find(place)) if place.name else self._list(place, request)
            case "POST":
                return self._create(place, request, without(body, "status"))
            case "PUT":
                old = self._must_find(place)
                return self._update(place, request, old, body)
            case "PATCH":
                return self._patch(place, request, body)
            case "DELETE":
                return self._delete(place, request, body)

    def _create(self, place: Place, request: Request, body: Object) -> Answer:
        metadata = body.get("metadata") or {}
        name = metadata.get("name") or f"{metadata.get('generateName', '')}{self._version:05x}"
        place = Place(place.prefix, place.resource, place.namespace, name)
        if self._find(place) is not None:
            raise NoError(409, f"{place.message} already exists", "AlreadyExists")
        within = {"namespace": place.namespace} if place.namespace else {}
        new = {**body, "metadata": {**without(metadata, "resourceVersion", "uid"), **within, "name": name}}
        return _ok(new if _dry(request) else self._store(place, None, new), 201)

    def _update(self, place: Place, request: Request, old: Object, new: Object) -> Answer:
        """Spec and metadata as sent; the status has its own path."""
        check(old, new.get("metadata") or {}, place)
        kept = {**without(new, "status"), **({"status": old["status"]} if "status" in old else {})}
        return _ok(kept if _dry(request) else self._store(place, old, kept))

    def _patch(self, place: Place, request: Request, body: Object) -> Answer:
        if (
            request.content == APPLY_PATCH
            and self._find(place) is None
            and not (body.get("metadata") or {}).get("resourceVersion")
        ):
            return self._create(place, request, without(body, "status"))
        old = self._must_find(place)
        check(old, body.get("metadata") or {}, place)
        return self._update(place, request, old, patched(old, body, request.content))

    def _delete(self, place: Place, request: Request, body: Object) -> Answer:
        """Options in a body replace those of the query."""
        old = self._must_find(place)
        check(old, body.get("preconditions") or {}, place)
        if body.get("dryRun") == ["All"] or (not body and _dry(request)):
            return _ok(status_of(200, f"{place.message} would be deleted"))
        if not old["metadata"].get("finalizers"):
            self._drop(place, old)
            return _ok(status_of(200, f"{place.message} deleted"))
        going = {"deletionTimestamp": show_time(self._wall()), **old["metadata"]}
        return _ok(self._store(place, old, {**old, "metadata": going}))

    def _subresource(self, place: Place, request: Request, body: Object) -> Answer:
        old = self._must_find(place)
        if (place.resource, place.sub, request.method) == ("pods", "eviction", "POST"):
            return self._evict(place, request, old, body)
        shown = scale_of(old) if place.sub == "scale" else old
        if request.method == "GET":
            return _ok(shown)
        if request.method not in {"PUT", "PATCH"} or place.sub not in {"scale", "status", "resize"}:
            raise NoError(405, f"the server does not allow {request.method} on {place.message}/{place.sub}")
        check(old, body.get("metadata") or {}, place)
        wanted = body if request.method == "PUT" else patched(shown, body, request.content)
        if request.content == APPLY_PATCH and place.sub == "status" and not _dry(request):
            wanted = self._without_dropped(place, wanted, body.get("status") or {})
        if place.sub == "scale":
            new = {**old, "spec": {**(old.get("spec") or {}), "replicas": wanted["spec"].get("replicas", 0)}}
        elif place.sub == "resize":
            new = resized(old, wanted)
        else:
            new = {**old, "status": wanted.get("status", {})}
        new = new if _dry(request) else self._store(place, old, new)
        return _ok(scale_of(new) if place.sub == "scale" else new)

    def _without_dropped(self, place: Place, wanted: Object, applied: Object) -> Object:
        """Remove the top-level fields of a status that were applied before and are not any more."""
        path = (place.collection, place.namespace, place.name)
        dropped, self._applied[path] = self._applied.get(path, frozenset()) - applied.keys(), frozenset(applied)
        return {**wanted, "status": without(wanted.get("status") or {}, *dropped)}

    def _evict(self, place: Place, request: Request, pod: Object, body: Object) -> Answer:
        check(pod, (body.get("deleteOptions") or {}).get("preconditions") or {}, place)
        budgets = self.objects(f"/apis/policy/v1/namespaces/{place.namespace}/poddisruptionbudgets")
        if any(forbids_eviction(each, pod) for each in budgets):
            return refusal(429, "Cannot evict pod as it would violate the pod's disruption budget.")
        self._delete(place, request, {})
        return _ok(status_of(201, "evicted"), 201)

    def _store(self, place: Place, old: Object | None, new: Object) -> Object:
        """Store an object; an unchanged object makes no change, as on a real server."""
        before = old["metadata"] if old else {}
        kept = {k: before[k] for k in ("uid", "resourceVersion", "creationTimestamp", "generation") if k in before}
        new = {"apiVersion": place.api_version, **new, "metadata": {**new.get("metadata", {}), **kept}}
        if "kind" not in new and self._kind(place):
            new["kind"] = self._kind(place)
        if old == new:
            return new
        self._version += 1
        reported = {"resourceVersion": str(self._version)}
        if old is None:
            reported["uid"] = new["metadata"].get("uid") or f"uid-{self._version}"
            reported["creationTimestamp"] = new["metadata"].get("creationTimestamp") or show_time(self._wall())
        new["metadata"] |= reported
        if "spec" in new and (old is None or old.get("spec") != new["spec"]):
            new["metadata"]["generation"] = before.get("generation", 0) + 1
        self._kinds.setdefault(place.collection, new.get("kind", ""))
        self._objects.setdefault(place.collection, {})[place.key] = new
        self._record(Change(self._version, place.collection, old, new))
        if new["metadata"].get("deletionTimestamp") and not new["metadata"].get("finalizers"):
            self._drop(place, new)
        return new

    def _drop(self, place: Place, old: Object) -> None:
        self._version += 1
        del self._objects[place.collection][place.key]
        self._record(Change(self._version, place.collection, old, None))

    def _record(self, change: Change) -> None:
        self._changes.append(change)
        if len(self._changes) > KEPT_CHANGES:
            self._oldest = self._changes.popleft().version
        for watcher in self._watchers:
            watcher.report(change)


def _body(request: Request) -> Object:
    """The decoded body; refused where its content type or its query does not allow it."""
    if request.method == "PATCH" and request.content == JSON:
        raise NoError(415, "the body of the request was in an unknown format")
    if request.content == APPLY_PATCH and not request.query.get("fieldManager"):
        raise NoError(400, "PatchOptions.meta.k8s.io is invalid: fieldManager: Required value")
    if not request.body:
        return {}
    try:
        return msgspec.json.decode(request.body, type=Object)
    except msgspec.DecodeError as error:
        raise NoError(400, f"the body cannot be read: {error}") from error


def _dry(request: Request) -> bool:
    return request.query.get("dryRun") == "All"


def _ok(thing: Object, status: int = 200) -> Answer:
    return Answer(status, encoded(thing))
