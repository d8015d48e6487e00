"""Objects as an API server treats them: their paths, how they are patched, what is refused, which watches see them."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from hypot.cluster.port import STRATEGIC_PATCH, Answer, Request, encoded
from hypot.kinds.selector import parse_selector, read_selector

Object = dict[str, Any]

REASONS = {
    400: "BadRequest",
    404: "NotFound",
    405: "MethodNotAllowed",
    409: "Conflict",
    410: "Expired",
    415: "UnsupportedMediaType",
    422: "Invalid",
    429: "TooManyRequests",
}
_PLURALS = {"PodMetrics": "pods", "NodeMetrics": "nodes", "Endpoints": "endpoints"}
_OWN_STATUS = ("status", "finalize")
_MERGED_BY_NAME = frozenset({"containers", "initContainers", "ephemeralContainers"})


class NoError(Exception):
    """A refusal, as an answer to the client."""

    def __init__(self, code: int, message: str, reason: str = "") -> None:
        super().__init__(message)
        self.answer = refusal(code, message, reason)


def status_of(code: int, message: str, reason: str = "") -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Status",
        "metadata": {},
        "status": "Success" if code < 300 else "Failure",
        "message": message,
        "reason": reason or REASONS.get(code, ""),
        "code": code,
    }


def refusal(code: int, message: str, reason: str = "") -> Answer:
    return Answer(code, encoded(status_of(code, message, reason)))


@dataclass(frozen=True, slots=True)
class Place:
    """A path, parsed."""

    prefix: str
    resource: str
    namespace: str = ""
    name: str = ""
    sub: str = ""

    @property
    def collection(self) -> str:
        """The path of all objects of the kind, in all namespaces."""
        return f"{self.prefix}/{self.resource}"

    @property
    def key(self) -> tuple[str, str]:
        return self.namespace, self.name

    @property
    def message(self) -> str:
        return f'{self.resource} "{self.name}"'

    @property
    def api_version(self) -> str:
        return self.prefix.removeprefix("/apis/").removeprefix("/api/")

    @property
    def built_in(self) -> bool:
        """Whether items of a list come without kind and apiVersion, as they do unless a CRD defines them."""
        group = self.api_version.partition("/")[0]
        return "." not in group or group.endswith(".k8s.io")


def place_of(path: str) -> Place:
    """Parse a path; NoError 404 where it leads nowhere."""
    parts = path.strip("/").split("/")
    head = {"api": 2, "apis": 3}.get(parts[0], len(parts))
    rest = parts[head:]
    namespace = ""
    if len(rest) > 2 and rest[0] == "namespaces" and not (len(rest) == 3 and rest[2] in _OWN_STATUS):
        namespace, rest = rest[1], rest[2:]
    if not 1 <= len(rest) <= 3:
        raise NoError(404, "the server could not find the requested resource")
    return Place("/" + "/".join(parts[:head]), rest[0], namespace, *rest[1:])


def plural(kind: str) -> str:
    """The resource of a kind, by the rules that nearly all kinds of Kubernetes follow."""
    if kind in _PLURALS:
        return _PLURALS[kind]
    word = kind.lower()
    if word.endswith("y"):
        return word[:-1] + "ies"
    return word + ("es" if word.endswith("s") else "s")


def path_of(thing: Mapping[str, Any]) -> str:
    """The path of an object, by its apiVersion, kind, namespace and name."""
    version, metadata = str(thing["apiVersion"]), thing["metadata"]
    prefix = f"/apis/{version}" if "/" in version else f"/api/{version}"
    within = f"/namespaces/{metadata['namespace']}" if metadata.get("namespace") else ""
    return f"{prefix}{within}/{plural(str(thing['kind']))}/{metadata['name']}"


def patched(old: Any, patch: Any, content: str) -> Any:
    """An object with a merge patch applied; a strategic patch merges lists of containers by name."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(old) if isinstance(old, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        elif content == STRATEGIC_PATCH and key in _MERGED_BY_NAME:
            merged[key] = _by_name(merged.get(key) or [], value, content)
        else:
            merged[key] = patched(merged.get(key), value, content)
    return merged


def _by_name(old: list[Object], patch: list[Object], content: str) -> list[Object]:
    changes = {each["name"]: each for each in patch}
    kept = [patched(each, changes.pop(each["name"], {}), content) for each in old]
    return [*kept, *(patched({}, each, content) for each in changes.values())]


def check(old: Object, wanted: Mapping[str, Any], place: Place) -> None:
    """Preconditions: a resourceVersion or uid that is named must be the current value."""
    for one in ("resourceVersion", "uid"):
        stands, named = old["metadata"][one], wanted.get(one)
        if named and named != stands:
            said = f"Operation cannot be fulfilled on {place.message}: the {one} is {stands}, not {named}"
            raise NoError(409, f"{said}; the object has been modified")


def scale_of(thing: Object) -> Object:
    """The Scale of a workload, as autoscalers read and write it."""
    # A hostile object may have anything there.
    spec, status = (inner if isinstance(inner := thing.get(key), dict) else {} for key in ("spec", "status"))
    metadata = thing["metadata"]
    reported = status.get("selector", status.get("labelSelector"))
    labels = (spec.get("selector") or {}).get("matchLabels") or {}
    return {
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": {k: metadata[k] for k in ("name", "namespace", "uid", "resourceVersion") if k in metadata},
        "spec": {"replicas": spec.get("replicas", 0)},
        "status": {
            "replicas": status.get("replicas", 0),
            "selector": reported
            if isinstance(reported, str)
            else ",".join(f"{k}={v}" for k, v in sorted(labels.items())),
        },
    }


def resized(old: Object, wanted: Object) -> Object:
    """A pod with the resources of its containers changed and nothing else."""
    asked = {each["name"]: each.get("resources", {}) for each in wanted["spec"]["containers"]}
    containers = [
        {**each, "resources": asked.get(each["name"], each.get("resources", {}))} for each in old["spec"]["containers"]
    ]
    return {**old, "spec": {**old["spec"], "containers": containers}}


def selected(thing: Object, labels: str, fields: str) -> bool:
    """Whether a labelSelector and a fieldSelector match an object."""
    if labels and not parse_selector(labels).matches(thing["metadata"].get("labels") or {}):
        return False
    for term in filter(None, fields.split(",")):
        path, _, value = term.replace("!=", "=!").replace("==", "=").partition("=")
        if (_at(thing, path) == value.removeprefix("!")) == value.startswith("!"):
            return False
    return True


def _at(thing: Any, path: str) -> str:
    for part in path.split("."):
        thing = thing.get(part) if isinstance(thing, dict) else None
    return "" if thing is None else str(thing)


def forbids_eviction(budget: Object, pod: Object) -> bool:
    """Whether a PodDisruptionBudget selects the pod and allows no more disruptions."""
    if (budget.get("status") or {}).get("disruptionsAllowed", 1) > 0:
        return False
    return read_selector(budget["spec"].get("selector")).matches(pod["metadata"].get("labels") or {})


def without(thing: Object, *fields: str) -> Object:
    return {key: value for key, value in thing.items() if key not in fields}


def show_time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass(frozen=True, slots=True)
class Change:
    """One change in the history: the object before and after it."""

    version: int
    collection: str
    old: Object | None
    new: Object | None


@dataclass(eq=False, slots=True)
class Watcher:
    """A client that is sent the changes."""

    place: Place
    request: Request
    queue: "asyncio.Queue[bytes | Exception | None]" = field(default_factory=asyncio.Queue)
    deaf: bool = False

    @property
    def bookmarks(self) -> bool:
        return self.request.query.get("allowWatchBookmarks") == "true"

    def sees(self, thing: Object | None) -> bool:
        """Whether an object is among those requested."""
        if thing is None or self.place.namespace not in {"", thing["metadata"].get("namespace", "")}:
            return False
        query = self.request.query
        if self.place.name and self.place.name != thing["metadata"]["name"]:
            return False
        return selected(thing, query.get("labelSelector", ""), query.get("fieldSelector", ""))

    def report(self, change: Change) -> None:
        """Queue a change; an object that leaves the selector is reported as deleted."""
        if self.deaf or change.collection != self.place.collection:
            return
        was, now = self.sees(change.old), self.sees(change.new)
        if now:
            self.queue.put_nowait(line("MODIFIED" if was else "ADDED", change.new))
        elif was and change.old is not None:
            metadata = {**change.old["metadata"], "resourceVersion": str(change.version)}
            self.queue.put_nowait(line("DELETED", {**change.old, "metadata": metadata}))


def line(kind: str, thing: Object | None) -> bytes:
    return encoded({"type": kind, "object": thing})
