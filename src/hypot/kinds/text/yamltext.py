"""YAML text as Kubernetes reads it: the rules of go-yaml v2 behind sigs.k8s.io/yaml, built from libyaml's events.

It uses events instead of nodes, because a list dump of a cluster is one document: its items are completed one by one,
and no tree of the whole file is ever in memory. Positions are offsets into the text; the caller turns them into lines.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import lru_cache
from itertools import count
from typing import Any, Final, NoReturn

import yaml
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from hypot.core.dataclass import dataclass
from hypot.kinds.text.yamlscalar import CORE, MERGE, Memo, RefusedScalar, as_key, plain_key, plain_value, short, tagged

Path = tuple[str | int, ...]

# The pure parser reads the same language, about fifteen times slower.
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class Fault(Exception):  # noqa: N818  the caller, which knows the file, turns it into an error
    """A problem in a text and its offset. A message about two places ends with the line of the earlier one."""

    def __init__(self, offset: int, message: str, earlier: int | None = None, hint: str = "") -> None:
        super().__init__(offset, message, earlier, hint)
        self.offset = offset
        self.message = message
        self.earlier = earlier
        self.hint = hint

    @classmethod
    def twice(cls, offset: int, key: str | int, earlier: int) -> "Fault":
        hint = "remove one of the two: kubectl takes the last one and says nothing, kustomize refuses the file"
        return cls(offset, f"the key {key!r} is given twice, first", earlier, hint)


@dataclass(frozen=True, slots=True)
class LocatedValue:
    """A value and the range of the text it was read from."""

    data: Any
    start: int
    end: int
    column: int = 0  # the indentation of its first line; other lines are relative to it


@dataclass(frozen=True, slots=True)
class Document:
    whole: LocatedValue
    items: list[LocatedValue] | None = None  # the elements of a top-level "items", each with its position
    trimmed: bool = False  # `take` replaced an element


Take = Callable[[Any, int], Any]
"""Called with each element of a top-level "items" and the offset of its end; the result replaces the element."""


def documents(text: str, start: int, *, depth: int, aliased: int, take: Take) -> Iterator[Document]:
    try:
        yield from _Builder(text, start, depth, aliased, take).documents()
    except yaml.YAMLError as error:
        raise _as_text(error, text, start) from error
    except RecursionError as error:
        raise Fault(start, "values are nested too deeply") from error


@lru_cache(maxsize=16)  # lookups for one object come one after the other
def lines_by_path(text: str) -> dict[Path, int]:
    """The line of every key and element, counted from 0. A value from an alias has the line of the alias."""
    places: dict[Path, int] = {}
    next_event = _Loader(text).get_event
    with suppress(yaml.YAMLError):
        while not isinstance(event := next_event(), MappingStartEvent | StreamEndEvent):
            pass
        _note_places(next_event, event, (), places)
    return lines_of_offsets(text, places)


def lines_of_offsets(text: str, places: dict[Path, int]) -> dict[Path, int]:
    breaks = [at.start() for at in re.finditer("\n", text)]
    return {path: bisect_left(breaks, offset) for path, offset in places.items()}


def _note_places(next_event: Callable[[], Any], event: Any, path: Path, places: dict[Path, int]) -> None:
    """Record where each key and element below this event begins; this consumes the events."""
    if isinstance(event, MappingStartEvent):
        while not isinstance(key := next_event(), MappingEndEvent):
            below = (*path, _key_text(key))
            places[below] = key.start_mark.index
            _note_places(next_event, next_event(), below, places)
    elif isinstance(event, SequenceStartEvent):
        for index in count():
            if isinstance(element := next_event(), SequenceEndEvent):
                return
            places[*path, index] = element.start_mark.index
            _note_places(next_event, element, (*path, index), places)


def _key_text(event: Any) -> str:
    if isinstance(event, AliasEvent):
        return f"*{event.anchor}"
    return str(event.value) if event.style or event.tag else plain_key(event.value)


_OPEN: Final = object()  # an anchor whose value is still being read
_UNPRINTABLE: Final = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class _Builder:
    """Builds values from the events of one text."""

    def __init__(self, text: str, start: int, depth: int, aliased: int, take: Take) -> None:
        if odd := _UNPRINTABLE.search(text, start):
            raise Fault(odd.start(), f"the control character U+{ord(odd.group()):04X} is not allowed in YAML")
        self._next: Callable[[], Any] = _Loader(text[start:]).get_event
        self._base = start
        self._deepest = depth
        self._aliased = aliased
        self._take = take
        self._values = Memo(plain_value)
        self._keys = Memo(plain_key)
        self._anchors: dict[str, Any] = {}
        self._items: list[LocatedValue] | None = None
        self._trimmed = False
        self._closed: Any = None

    def documents(self) -> Iterator[Document]:
        """Each document, as soon as it is certain that the next one begins and this one is not broken."""
        complete: list[Document] = []
        while not isinstance(event := self._next(), StreamEndEvent):
            if isinstance(event, DocumentStartEvent):
                yield from complete
                complete = [self._document(event)]
        yield from complete

    def _document(self, opening: DocumentStartEvent) -> Document:
        if opening.tags:
            self._fail(opening, "%TAG directives are not supported; remove them")
        self._anchors, self._items, self._trimmed = {}, None, False
        first = self._next()
        whole = self._part(first, self._node(first, 0))
        return Document(whole, self._items, self._trimmed)

    def _part(self, first: Any, data: Any) -> LocatedValue:
        kind = first.__class__
        last = self._closed if kind is MappingStartEvent and self._closed else first
        start, end = first.start_mark, last.end_mark
        return LocatedValue(data, self._base + start.index, self._base + end.index, start.column)

    def _node(self, event: Any, depth: int) -> Any:
        kind = event.__class__
        if kind is AliasEvent:
            return self._alias(event, depth)
        if kind is MappingStartEvent:
            value: Any = self._mapping(event, depth + 1)
        elif kind is SequenceStartEvent:
            value = self._sequence(event, depth + 1)
        else:
            value = self._scalar(event)
        if event.anchor is not None:
            self._anchors[event.anchor] = value
        return value

    def _scalar(self, event: Any) -> Any:
        try:
            if event.tag is not None:
                return tagged(event.tag, event.value)
            return event.value if event.style else self._values[event.value]
        except RefusedScalar as refused:
            self._fail(event, str(refused))

    def _mapping(self, opening: Any, depth: int) -> dict[str, Any]:
        """The hot loop: the plain cases are inlined, the rest is left to methods."""
        self._open(opening, depth, CORE + "map")
        next_event: Callable[[], Any] = self._next
        keys, values = self._keys, self._values
        result: dict[str, Any] = {}
        seen: dict[str, Any] = {}
        event = opening
        try:
            while (event := next_event()).__class__ is not MappingEndEvent:
                if event.__class__ is ScalarEvent and event.tag is None and event.anchor is None:
                    key = event.value if event.style else keys[event.value]
                else:
                    key = self._key(event, depth)
                if key is MERGE:
                    result.update(self._merged(next_event(), depth))
                    continue
                if key in seen:
                    self._twice(key, seen[key], event)
                seen[key] = event
                event = next_event()
                if event.__class__ is ScalarEvent and event.tag is None and event.anchor is None:
                    result[key] = event.value if event.style else values[event.value]
                elif depth == 1 and key == "items" and event.__class__ is SequenceStartEvent and event.anchor is None:
                    result[key] = self._elements(event)
                else:
                    result[key] = self._node(event, depth)
        except RefusedScalar as refused:
            self._fail(event, str(refused))
        self._closed = event
        return result

    def _sequence(self, opening: Any, depth: int) -> list[Any]:
        self._open(opening, depth, CORE + "seq")
        next_event = self._next
        result = []
        while (event := next_event()).__class__ is not SequenceEndEvent:
            result.append(self._node(event, depth))
        return result

    def _elements(self, opening: Any) -> list[Any]:
        """The top-level "items": every element is passed to `take` as soon as it is complete."""
        self._open(opening, 2, CORE + "seq")
        self._items = []
        while (event := self._next()).__class__ is not SequenceEndEvent:
            part = self._part(event, self._node(event, 2))
            taken = self._take(part.data, part.end)
            if taken is not part.data:
                part = LocatedValue(taken, part.start, part.end, part.column)
                self._trimmed = True
            self._items.append(part)
        return [part.data for part in self._items]

    def _open(self, opening: Any, depth: int, tag: str) -> None:
        if depth > self._deepest:
            self._fail(opening, f"values are nested deeper than {self._deepest} levels")
        if opening.tag is not None and opening.tag not in {"!", tag}:
            self._fail(opening, f"the tag {short(opening.tag)} is not supported; remove it")
        if opening.anchor is not None:
            self._anchors[opening.anchor] = _OPEN

    def _key(self, event: Any, depth: int) -> str:
        if isinstance(event, MappingStartEvent | SequenceStartEvent):
            raise RefusedScalar("a mapping or a list cannot be a key")
        return as_key(self._node(event, depth))

    def _twice(self, key: str, first: Any, second: Any) -> NoReturn:
        earlier = self._base + first.start_mark.index
        raise Fault.twice(self._base + second.start_mark.index, key, earlier)

    def _merged(self, event: Any, depth: int) -> dict[str, Any]:
        """The keys that "<<" merges in. They overwrite the keys before it: go-yaml v2 merges in order of appearance."""
        value = self._node(event, depth)
        several = value if event.__class__ is SequenceStartEvent else [value]
        if not all(isinstance(mapping, dict) for mapping in several):
            self._fail(event, "the value of << must be a mapping or a list of mappings")
        result: dict[str, Any] = {}
        for mapping in reversed(several):
            result.update(mapping)
        return result

    def _alias(self, event: Any, depth: int) -> Any:
        name = event.anchor
        if name not in self._anchors:
            self._fail(event, f"the alias *{name} has no anchor &{name} before it")
        if self._anchors[name] is _OPEN:
            self._fail(event, f"the alias *{name} is inside the value it refers to")
        return self._copy(self._anchors[name], event, depth)

    def _copy(self, value: Any, alias: Any, depth: int) -> Any:
        """A copy, so that no two places share a value and the values that aliases expand to can be counted."""
        self._aliased -= 1
        if self._aliased < 0:
            self._fail(alias, "aliases expand to too many values; write them out")
        if not isinstance(value, dict | list):
            return value
        if depth >= self._deepest:
            self._fail(alias, f"values are nested deeper than {self._deepest} levels")
        if isinstance(value, list):
            return [self._copy(one, alias, depth + 1) for one in value]
        return {key: self._copy(one, alias, depth + 1) for key, one in value.items()}

    def _fail(self, event: Any, message: str) -> NoReturn:
        raise Fault(self._base + event.start_mark.index, message)


_TAB: Final = "a tab cannot be used to indent; use spaces"
_HUMAN: Final = [  # parser message, which of its two places to use, text to show instead
    ("quoted scalar: found unexpected", "context", "the quoted string that starts here is never closed"),
    ("tab character", "problem", _TAB),
    (
        "mapping values are not allowed",
        "problem",
        "': ' is not allowed here; check the indentation, or quote the value",
    ),
    ("expected ':'", "context", "a ':' and a space must follow this key"),
    ("sequence entries are not allowed", "problem", "a list item cannot begin here; put its '- ' on a line of its own"),
    ("parsing a flow sequence", "both", "a ',' or ']' is missing for the list opened"),
    ("parsing a flow mapping", "both", "a ',' or '}' is missing for the mapping opened"),
    ("parsing a block mapping", "both", "expected a key indented like the others of the mapping that starts"),
    ("parsing a block collection", "both", "expected a '- ' indented like the others of the list that starts"),
    ("<document start>", "problem", "the document ends before this; check the indentation, or separate it by ---"),
    ("unknown escape", "problem", "not a valid escape in a double-quoted string; double the backslash"),
    ("quoted scalar", "problem", "a \\x, \\u or \\U escape in a double-quoted string is not a character"),
    ("scanning an a", "context", "a name must follow * or &; quote the value if it is text"),
    ("a tag:", "context", "not a tag; quote the value if it is text"),
    ("tag handle", "problem", "this tag is not supported; remove it"),
]


def _as_text(error: yaml.YAMLError, text: str, base: int) -> Fault:
    """One readable line from the parser's context and problem."""
    said = f"{getattr(error, 'context', None)}: {getattr(error, 'problem', None) or error}"
    problem, context = (_offset(error, name, base) for name in ("problem_mark", "context_mark"))
    if "cannot start any token" in said or "node content" in said:
        found = text[problem : problem + 1]
        if not found:
            return Fault(problem, "the text ends where a value is expected")
        return Fault(
            problem, _TAB if found == "\t" else f"{found!r} is not allowed here; quote the value if it is text"
        )
    for fragment, place, message in _HUMAN:
        if fragment in said:
            return Fault(context if place == "context" else problem, message, context if place == "both" else None)
    return Fault(problem, " ".join(said.removeprefix("None: ").split()))


def _offset(error: yaml.YAMLError, name: str, base: int) -> int:
    mark = getattr(error, name, None) or getattr(error, "problem_mark", None)
    return base + (mark.index if mark else 0)
