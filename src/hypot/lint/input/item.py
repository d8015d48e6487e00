"""One input object, read defensively: no field is guaranteed to have the right type."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePath
from typing import Any, NamedTuple

from hypot.kinds.base import DEFAULT_NAMESPACE
from hypot.kinds.known_kinds import WORKLOAD_GROUPS
from hypot.kinds.text.load import Source
from hypot.kinds.values.names import group_of

Folder = tuple[str, ...]


class Key(NamedTuple):
    """Identifies an object, independent of its API version."""

    group: str
    kind: str
    namespace: str
    name: str
    # The folder or the file that defines it, if several of the input do.
    variant: str = ""

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}"


@dataclass(frozen=True, eq=False)
class Item:
    """A manifest and its position in the input. Values that many rules need are cached."""

    data: Mapping[str, Any]
    source: Source | None = None
    variant: str = ""
    # Whether other files of its folder define objects of its file too, so that the file is like a folder of its own.
    is_variant: bool = False
    # Whether these are so many that the file is meant as another version of the others.
    is_bundle: bool = False

    @property
    def api_version(self) -> str:
        return text(self.data.get("apiVersion"))

    @property
    def group(self) -> str:
        return group_of(self.api_version)

    @property
    def kind(self) -> str:
        return text(self.data.get("kind"))

    @cached_property
    def metadata(self) -> Mapping[str, Any]:
        return mapping(self.data.get("metadata"))

    @property
    def name(self) -> str:
        return text(self.metadata.get("name"))

    @property
    def namespace(self) -> str:
        return text(self.metadata.get("namespace")) or DEFAULT_NAMESPACE

    @property
    def spec(self) -> Mapping[str, Any]:
        return mapping(self.data.get("spec"))

    @property
    def annotations(self) -> Mapping[str, Any]:
        return mapping(self.metadata.get("annotations"))

    @cached_property
    def key(self) -> Key:
        # Workloads were in the group extensions before Kubernetes 1.16, and their autoscalers mean them as apps.
        group = WORKLOAD_GROUPS.get(self.kind, self.group) if self.group == "extensions" else self.group
        return Key(group, self.kind, self.namespace, self.name, self.variant)

    @cached_property
    def folder(self) -> Folder:
        """The parts of the path of its folder; none for what a program made or rendered, which belongs together."""
        return self._place(file_alone=self.is_variant)

    @property
    def applied_with(self) -> Folder:
        """The folder or the file that is applied as a whole, so that it may hold the object only once."""
        return self._place(file_alone=self.is_bundle)

    def _place(self, *, file_alone: bool) -> Folder:
        if self.source is None or self.source.rendered:
            return ()
        file = PurePath(self.source.file)
        return file.parts if file_alone else file.parent.parts

    @property
    def live(self) -> bool:
        """Whether it was read from a cluster, which fills in fields that the manifest left out."""
        return bool(self.data.get("status") or self.metadata.get("uid") or self.metadata.get("resourceVersion"))

    @property
    def owners(self) -> frozenset[tuple[str, str]]:
        """Kind and name of every owner."""
        references = [mapping(one) for one in sequence(self.metadata.get("ownerReferences"))]
        return frozenset((text(one.get("kind")), text(one.get("name"))) for one in references)

    @property
    def controlled(self) -> bool:
        """Whether another object controls it: an owner reference has controller: true."""
        return any(mapping(one).get("controller") is True for one in sequence(self.metadata.get("ownerReferences")))

    def __str__(self) -> str:
        return str(self.key)


def mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def sequence(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def whole(value: Any) -> int | None:
    """The value if it is an integer, else None. A boolean is not an integer here."""
    return value if type(value) is int else None


def dig(value: Any, *path: str) -> Any:
    """The value at a path of keys, or None."""
    for key in path:
        value = mapping(value).get(key)
    return value


def annotation_places(item: Item, name: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """The path and the text of an annotation, if it is present."""
    value = item.annotations.get(name)
    if isinstance(value, str):
        yield ("metadata", "annotations", name), value
