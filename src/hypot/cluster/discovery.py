"""Which resources a cluster serves, and their paths."""

import re
import time
from asyncio import Lock
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from hypot.cluster.port import Answer, Port, RefusedError, Request

HELD_FOR = 600.0
# A missing kind may be installed at any moment.
MISSED_FOR = 60.0
# Group versions come from users, who may write many.
HELD_AT_MOST = 256


@dataclass(frozen=True, slots=True)
class ServedKind:
    """A kind as it is served."""

    api_version: str
    kind: str
    plural: str
    namespaced: bool = True
    subresources: frozenset[str] = frozenset()

    @property
    def scalable(self) -> bool:
        return "scale" in self.subresources


@dataclass(frozen=True, slots=True)
class _Served:
    """The kinds of a group version, and when they were read; empty if the group version is not served."""

    at: float
    kinds: Mapping[str, ServedKind]

    def answers(self, kind: str, now: float) -> bool:
        held = HELD_FOR if kind in self.kinds else MISSED_FOR
        return 0 <= now - self.at < held


class Discovery:
    """Reads each group version once in a while. A failed request raises; it is not an answer."""

    def __init__(self, port: Port, clock: Callable[[], float] = time.monotonic) -> None:
        self._port, self._clock = port, clock
        self._served: dict[str, _Served] = {}
        self._asking: dict[str, Lock] = {}

    async def resource_of(self, api_version: str, kind: str) -> ServedKind | None:
        """The served kind, or None if there is no such kind. Raises UnreachableError and RefusedError."""
        if (held := self._held(api_version, kind)) is not None:
            return held.kinds.get(kind)
        self._forget_old()
        async with self._asking.setdefault(api_version, Lock()):
            if (held := self._held(api_version, kind)) is None:
                held = self._served[api_version] = _Served(self._clock(), await self._ask(api_version))
        return held.kinds.get(kind)

    async def server_version(self) -> tuple[int, int]:
        """Major and minor version, without vendor suffixes."""
        request = Request("GET", "/version")
        answer = await self._port.call(request)
        reported = answer.json() if answer.ok else {}
        major, minor = (_number(reported, each) for each in ("major", "minor"))
        if major is None or minor is None:
            raise RefusedError(request, answer)
        return major, minor

    def _held(self, api_version: str, kind: str) -> _Served | None:
        held = self._served.get(api_version)
        return held if held is not None and held.answers(kind, self._clock()) else None

    async def _ask(self, api_version: str) -> Mapping[str, ServedKind]:
        root = root_of(api_version)
        if root is None:
            return {}
        request = Request("GET", root)
        answer = await self._port.call(request)
        if answer.gone:
            return {}
        if not answer.ok:
            raise RefusedError(request, answer)
        return kinds_of(api_version, answer)

    def _forget_old(self) -> None:
        if len(self._served) < HELD_AT_MOST:
            return
        self._served.clear()
        self._asking = {name: lock for name, lock in self._asking.items() if lock.locked()}


def kinds_of(api_version: str, answer: Answer) -> dict[str, ServedKind]:
    """The kinds of an APIResourceList. Of two resources with the same kind, the first is used."""
    reported = answer.json()
    listed = reported.get("resources") if isinstance(reported, dict) else None
    entries = [each for each in listed or () if isinstance(each, dict) and isinstance(each.get("name"), str)]
    below: dict[str, set[str]] = {}
    for each in entries:
        plural, _, subresource = each["name"].partition("/")
        below.setdefault(plural, set()).update({subresource} - {""})
    kinds: dict[str, ServedKind] = {}
    for each in entries:
        name, kind = each["name"], each.get("kind")
        if "/" not in name and isinstance(kind, str):
            served = ServedKind(api_version, kind, name, each.get("namespaced") is True, frozenset(below[name]))
            kinds.setdefault(kind, served)
    return kinds


def _number(reported: Any, name: str) -> int | None:
    digits = re.match("[0-9]+", str(reported.get(name))) if isinstance(reported, dict) else None
    return int(digits[0]) if digits else None


def root_of(api_version: str) -> str | None:
    """The path of a group version, or None if the text is not a group version."""
    parts = api_version.split("/")
    if not all(parts) or len(parts) > 2:
        return None
    return "/".join(("", "apis" if len(parts) == 2 else "api", *map(_quoted, parts)))


def path_of(resource: ServedKind, namespace: str, name: str, subresource: str = "") -> str:
    """The path of an object; without a name of the collection, and without a namespace in all namespaces."""
    root = root_of(resource.api_version)
    if root is None:
        raise ValueError(f"{resource.api_version}: not a group version")
    within = ("namespaces", namespace) if resource.namespaced and namespace else ()
    parts = (*within, resource.plural, *((name,) if name else ()), *((subresource,) if subresource else ()))
    return "/".join((root, *map(_quoted, parts)))


def _quoted(part: str) -> str:
    """Escape a path segment, so that it stays one segment. Dots alone would lead out of it."""
    return part.replace(".", "%2E") if part in {".", ".."} else quote(part, safe="")
