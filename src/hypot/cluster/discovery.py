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
# Groups come from users, who may write many.
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
    """The kinds of a group, and when they were read; empty if the group is not served."""

    at: float
    kinds: Mapping[str, ServedKind]

    def answers(self, kind: str, now: float) -> bool:
        held = HELD_FOR if kind in self.kinds else MISSED_FOR
        return 0 <= now - self.at < held


class Discovery:
    """Reads each group once in a while. A failed request raises; it is not an answer."""

    def __init__(self, port: Port, clock: Callable[[], float] = time.monotonic) -> None:
        self._port, self._clock = port, clock
        self._served: dict[str, _Served] = {}
        self._asking: dict[str, Lock] = {}

    async def resource_of(self, group: str, kind: str) -> ServedKind | None:
        """The served kind, or None if there is no such kind. Raises UnreachableError and RefusedError.

        Of several versions it is the one that the server prefers; one that can be scaled comes first.
        """
        if (held := self._held(group, kind)) is not None:
            return held.kinds.get(kind)
        self._forget_old()
        async with self._asking.setdefault(group, Lock()):
            if (held := self._held(group, kind)) is None:
                held = self._served[group] = _Served(self._clock(), await self._ask(group))
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

    def _held(self, group: str, kind: str) -> _Served | None:
        held = self._served.get(group)
        return held if held is not None and held.answers(kind, self._clock()) else None

    async def _ask(self, group: str) -> Mapping[str, ServedKind]:
        found: dict[str, ServedKind] = {}
        for api_version in await self._versions(group):
            root = root_of(api_version)
            answer = None if root is None else await self._read(root)
            for kind, served in kinds_of(api_version, answer).items() if answer else ():
                if kind not in found or (served.scalable and not found[kind].scalable):
                    found[kind] = served
        return found

    async def _versions(self, group: str) -> list[str]:
        """The versions of a group, the preferred one first. The core group has only one."""
        if not group:
            return ["v1"]
        if "/" in group:
            return []
        answer = await self._read(f"/apis/{_quoted(group)}")
        return [] if answer is None else versions_of(answer)

    async def _read(self, path: str) -> Answer | None:
        """The answer; None if there is nothing at this path."""
        request = Request("GET", path)
        answer = await self._port.call(request)
        if answer.gone:
            return None
        if not answer.ok:
            raise RefusedError(request, answer)
        return answer

    def _forget_old(self) -> None:
        if len(self._served) < HELD_AT_MOST:
            return
        self._served.clear()
        self._asking = {name: lock for name, lock in self._asking.items() if lock.locked()}


def versions_of(answer: Answer) -> list[str]:
    """The group versions of an APIGroup, the preferred one first."""
    reported = answer.json()
    if not isinstance(reported, dict):
        return []
    listed = reported.get("versions")
    entries = [reported.get("preferredVersion"), *(listed if isinstance(listed, list) else ())]
    named = [each.get("groupVersion") for each in entries if isinstance(each, dict)]
    return list(dict.fromkeys(each for each in named if isinstance(each, str)))


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
