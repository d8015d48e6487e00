"""Changes to a manifest at the places that the tables of its kind list; a change is not always a fault."""

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from hypothesis import strategies as st

from cluster.fuzz.odd_values import junk, odd_lists
from hypot.kinds.base import Kind
from hypot.kinds.catalogue import facts_of
from hypot.kinds.crd import Facts
from hypot.kinds.node import Node, Scalar

Manifest = dict[str, Any]
Path = tuple[str | int, ...]

ABSENT = object()


@dataclass(frozen=True, slots=True)
class Spot:
    """A place that may hold a value; `many` marks a list of parts, which are found at index 0 and up."""

    path: Path
    type: Scalar | type[Node]
    many: bool = False
    message: tuple[str, ...] = ()


def spots(kind: type[Kind]) -> Iterator[Spot]:
    """Every place of a spec, whether a given manifest has it or not."""
    return _spots(facts_of(kind), kind, ("spec",))


def _spots(facts: Facts, part: type[Node], path: Path) -> Iterator[Spot]:
    for _, w in part.TABLE:
        place = (part, w.key)
        kind = facts.shapes.get(place, w.type)
        here = (*path, w.key)
        message = {**(w.schema or {}), **facts.hints.get(place, {})}.get("enum", ())
        yield Spot(here, kind, w.many, tuple(message))
        if not isinstance(kind, Scalar):
            yield from _spots(facts, kind, (*here, 0) if w.many else here)
        elif kind.each is not None and kind.schema["type"] == "object":
            yield from (Spot((*here, key), kind.each) for key in ("cpu", "memory", "storage"))


def put(manifest: Manifest, path: Path, value: Any) -> None:
    """Change a manifest in place; missing parents are created, unless another value is in their place."""
    here: Any = manifest
    for part, following in pairwise(path):
        if isinstance(part, int) and here == []:
            here.append({})
        elif isinstance(part, str) and isinstance(here, dict):
            here.setdefault(part, [] if isinstance(following, int) else {})
        here = look(here, (part,))
    if not isinstance(here, dict):
        return
    if value is ABSENT:
        here.pop(path[-1], None)
    else:
        here[path[-1]] = deepcopy(value)


def look(manifest: Any, path: Path) -> Any:
    here = manifest
    for part in path:
        try:
            here = here[part]
        except (LookupError, TypeError):
            return ABSENT
    return here


_NAMES = ["Web", "web_1", "-a", "a-", "a..b", "a.b", "a" * 253, "a" * 254, "", "é", "a\n", None, 1, [], "a/b", ".."]
_LABELS = [None, {}, [], "x", {"a": 1}, {"a": None}, {"": "x"}, {"a/b/c": "x"}, {"A": "x"}, {"a": "x" * 64}, {"a": "é"}]
_LABELS += [{"a" * 64: "x"}, {"/a": "x"}, {"A.b/c": "x"}, {"a.b/c": "x"}, {"a": "-x"}, {"a": "x\n"}, {"a": "x y"}]
_OWNER = {"apiVersion": "v1", "kind": "Pod", "name": "a", "uid": "b"}
_OUTER: dict[Path, list[Any]] = {
    ("metadata", "name"): [ABSENT, *_NAMES],
    ("metadata", "labels"): _LABELS,
    ("metadata", "annotations"): _LABELS,
    ("metadata", "generateName"): ["web-", "Web-", "a.-", "-", "", "a" * 253, "a" * 254, None, 1],
    ("metadata", "finalizers"): [[], ["x"], ["a.b/c"], ["a b"], [""], [None], [1], "x", None, ["x" * 64]],
    ("metadata", "ownerReferences"): [[], [_OWNER], [_OWNER | {"uid": ""}], [_OWNER | {"x": 1}], [{}], [None]],
    ("metadata",): [{}, [], None, "x", ABSENT],
    ("spec",): [{}, [], None, "x", ABSENT],
    ("status",): [{}, [], None, "x", {"currentReplicas": "x"}, {"currentReplicas": 1, "x": None}],
}


class Changes:
    """The changes that are tried on one kind."""

    def __init__(
        self,
        kind: type[Kind],
        odd: tuple[tuple[Scalar, st.SearchStrategy[Any]], ...],
        counts: tuple[int, ...],
        places: dict[Path, st.SearchStrategy[Any]] | None = None,
    ) -> None:
        """`odd` are values by type, `places` are values of a single place; `counts` are lengths for changed lists."""
        found = tuple(spots(kind))
        self.leaves = tuple(spot for spot in found if isinstance(spot.type, Scalar))
        self.parts = tuple(spot for spot in found if not isinstance(spot.type, Scalar))
        self._odd, self._counts, self._places = odd, counts, places or {}

    def one(self, draw: st.DrawFn, manifest: Manifest) -> None:
        """Change one place: mostly a leaf that is present, so that more of the manifest stays valid."""
        choices = (*[self._present] * 8, *[self._any] * 4, self._part, self._repeat, self._stranger, self._outer)
        draw(st.sampled_from(choices))(draw, manifest)

    def _values(self, spot: Spot) -> st.SearchStrategy[Any]:
        """Mostly values of the right type, because most rules are about these."""
        of_type = next((values for kind, values in self._odd if kind is spot.type), odd_lists)
        fitting = self._places.get(spot.path, of_type)
        if spot.message:
            fitting = st.one_of(fitting, st.sampled_from(spot.message))
        return st.one_of(fitting, fitting, fitting, fitting, junk, st.just(ABSENT))

    def _any(self, draw: st.DrawFn, manifest: Manifest) -> None:
        spot = draw(st.sampled_from(self.leaves))
        put(manifest, spot.path, draw(self._values(spot)))

    def _present(self, draw: st.DrawFn, manifest: Manifest) -> None:
        present = [spot for spot in self.leaves if look(manifest, spot.path) is not ABSENT]
        if present:
            spot = draw(st.sampled_from(present))
            put(manifest, spot.path, draw(self._values(spot)))

    def _part(self, draw: st.DrawFn, manifest: Manifest) -> None:
        spot = draw(st.sampled_from(self.parts))
        put(manifest, spot.path, draw(st.one_of(junk, st.just(ABSENT))))

    def _repeat(self, draw: st.DrawFn, manifest: Manifest) -> None:
        """Repeat the first entry of a list many times, or empty the list."""
        spot = draw(st.sampled_from([spot for spot in self.parts if spot.many]))
        held = look(manifest, spot.path)
        if isinstance(held, list) and held:
            put(manifest, spot.path, [deepcopy(held[0]) for _ in range(draw(st.sampled_from(self._counts)))])

    def _stranger(self, draw: st.DrawFn, manifest: Manifest) -> None:
        paths = [(), ("spec",), ("metadata",), *((*spot.path, 0) if spot.many else spot.path for spot in self.parts)]
        path = draw(st.sampled_from([path for path in paths if isinstance(look(manifest, path), dict)]))
        put(manifest, (*path, draw(st.sampled_from(["x", "", "maxreplicas", "Spec", "é", "a.b", "a/b"]))), draw(junk))

    def _outer(self, draw: st.DrawFn, manifest: Manifest) -> None:
        path = draw(st.sampled_from(list(_OUTER)))
        put(manifest, path, draw(st.sampled_from(_OUTER[path])))


@st.composite
def changed(draw: st.DrawFn, sound: st.SearchStrategy[Manifest], changes: Changes) -> Manifest:
    """A valid manifest with no, one or several changes."""
    manifest = deepcopy(draw(sound))
    for _ in range(draw(st.sampled_from([0, 1, 1, 1, 1, 2, 3, 4]))):
        changes.one(draw, manifest)
    return manifest
