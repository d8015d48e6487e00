"""JSON as Kubernetes reads it: fast if it is well-formed, with a slower second pass if something is wrong."""

import json
import re
import sys
from collections.abc import Iterator
from functools import lru_cache
from math import isinf
from typing import Any, Final, NoReturn

from hypot.core.regex import regex
from hypot.kinds.text.yamlscalar import LONGEST_NUMBER
from hypot.kinds.text.yamltext import Document, Fault, LocatedValue, Path, Take, lines_of_offsets


class NotJson(Fault):
    pass


class _Suspect(Exception):  # noqa: N818  a second, slower pass finds the problem and its place
    pass


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = {sys.intern(key): value for key, value in pairs}
    if len(data) != len(pairs):
        raise _Suspect
    return data


def _integer(figures: str) -> int:
    if len(figures) > LONGEST_NUMBER:
        raise _Suspect
    return int(figures)


def _real(figures: str) -> float:
    if _too_large(figures):
        raise _Suspect
    return float(figures)


def _constant(_: str) -> NoReturn:
    raise _Suspect


_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=_object, parse_int=_integer, parse_float=_real, parse_constant=_constant
)
LOOKS_LIKE_JSON: Final = regex(r'\s*[{\[]\s*["{\[]')
_SPACE: Final = regex(r"[ \t\n\r]*")
_PIECE: Final = regex(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\],:]|[^\s{}\[\],:"]+', re.DOTALL)
_HALF: Final = regex(r"\\u[dD](?:[89abAB]..(?!\\u[dD][c-fC-F])|(?<!\\u[dD][89abAB]..\\u[dD])[c-fC-F])", re.DOTALL)
_JSON_WORDS: Final = {
    "Expecting property name": "a key in double quotes is expected here",
    "Expecting ',' delimiter": "a ',' or a closing bracket is missing here",
    "Expecting ':' delimiter": "a ':' is missing here",
    "Expecting value": "a value is missing here",
    "Illegal trailing comma": "a ',' with nothing after it",
    "Unterminated string": "the string that starts here is never closed",
    "Invalid control character": "a line break or control character inside a string; write it as an escape",
    "Invalid \\": "not a valid JSON escape; double the backslash",
}


def documents(text: str, start: int, *, depth: int, aliased: int, take: Take) -> Iterator[Document]:
    """JSON values one after the other, as kubectl prints several objects."""
    del aliased  # JSON has no aliases
    try:
        at = skip_space(text, start)
        while at < len(text):
            document = _JsonDocument(text, depth, take).read(at)
            if _HALF.search(text, at, document.whole.end):
                _look_closely(text, at, depth)
            yield document
            at = skip_space(text, document.whole.end)
    except json.JSONDecodeError as error:
        message = next((ours for theirs, ours in _JSON_WORDS.items() if error.msg.startswith(theirs)), error.msg)
        raise NotJson(error.pos, f"not valid JSON: {message}") from error


class _JsonDocument:
    """Reads the top level itself, so that the position of each element of "items" is known; json reads the rest."""

    def __init__(self, text: str, depth: int, take: Take) -> None:
        self._text = text
        self._depth = depth
        self._take = take
        self._items: list[LocatedValue] | None = None
        self._trimmed = False

    def read(self, start: int) -> Document:
        opening = self._text[start]
        data: Any
        if opening == "{":
            data, end = self._members(start)
        elif opening == "[":
            items, end = self._elements(start, 1)
            data = {"apiVersion": "v1", "kind": "List", "items": items}
        else:
            data, end = self._value(start, 0)
        return Document(LocatedValue(data, start, end), self._items, self._trimmed)

    def _members(self, start: int) -> tuple[dict[str, Any], int]:
        data: dict[str, Any] = {}
        places: dict[str, int] = {}
        at, more = self._first(start, "}")
        while more:
            self._expect('"', at, "Expecting property name")
            key, colon = _DECODER.raw_decode(self._text, at)
            if key in places:
                raise Fault.twice(at, key, places[key])
            places[key] = at
            at = self._expect(":", colon, "Expecting ':' delimiter")
            if key == "items" and self._text[at : at + 1] == "[":
                data[key], at = self._elements(at, 2)
            else:
                data[key], at = self._value(at, 1)
            at, more = self._next(at, "}")
        return data, at

    def _elements(self, start: int, depth: int) -> tuple[list[Any], int]:
        self._items = items = []
        at, more = self._first(start, "]")
        while more:
            data, end = self._value(at, depth)
            taken = self._take(data, end)
            self._trimmed = self._trimmed or taken is not data
            items.append(LocatedValue(taken, at, end))
            at, more = self._next(end, "]")
        return [part.data for part in items], at

    def _first(self, opening: int, close: str) -> tuple[int, bool]:
        at = skip_space(self._text, opening + 1)
        return (at + 1, False) if self._text[at : at + 1] == close else (at, True)

    def _next(self, end: int, close: str) -> tuple[int, bool]:
        at = skip_space(self._text, end)
        if self._text[at : at + 1] == close:
            return at + 1, False
        return self._expect(",", at, "Expecting ',' delimiter"), True

    def _expect(self, character: str, at: int, message: str) -> int:
        at = skip_space(self._text, at)
        if self._text[at : at + 1] != character:
            raise json.JSONDecodeError(message, self._text, at)
        return skip_space(self._text, at + 1)

    def _value(self, at: int, above: int) -> tuple[Any, int]:
        try:
            data, end = _DECODER.raw_decode(self._text, at)
        except (_Suspect, RecursionError) as error:
            _look_closely(self._text, at, min(self._depth, 500), above)  # the stack is no deeper
            raise Fault(at, "this value cannot be read") from error
        if _deeper_than(self._depth - above, data):
            _look_closely(self._text, at, self._depth, above)
        return data, end


def skip_space(text: str, at: int) -> int:
    space = _SPACE.match(text, at)
    return space.end() if space else at


def _deeper_than(room: int, value: Any) -> bool:
    boxes = [value] if isinstance(value, dict | list) else []
    while boxes and room > 0:
        inside = (one for box in boxes for one in (box.values() if isinstance(box, dict) else box))
        boxes = [one for one in inside if isinstance(one, dict | list)]
        room -= 1
    return bool(boxes)


def _look_closely(text: str, start: int, depth: int, above: int = 0) -> None:
    """Find the place of what json only knows to be wrong, and of what json accepts but Kubernetes does not."""
    keys: dict[int, dict[str | int, int]] = {}  # of the objects now open, by level
    for path, at, piece, is_key in _pieces(text, start):
        level = len(path)
        if is_key and path[-1] in keys[level]:
            raise Fault.twice(at, path[-1], keys[level][path[-1]])
        if is_key:
            keys[level][path[-1]] = at
        if piece in {"{", "["} and above + level >= depth:
            raise Fault(at, f"values are nested deeper than {depth} levels")
        if piece == "{":
            keys[level + 1] = {}
        if piece[0] == '"' and re.search("[\ud800-\udfff]", json.loads(piece)):
            raise Fault(at, "half of a surrogate pair (\\ud800 to \\udfff) is not a character")
        if piece in {"NaN", "Infinity", "-Infinity"} or (piece[0] in "-0123456789" and _too_large(piece)):
            raise Fault(at, f"{piece[:20]} is not a number Kubernetes can store")


def _too_large(figures: str) -> bool:
    return len(figures) > LONGEST_NUMBER or isinf(float(figures))


def _pieces(text: str, start: int) -> Iterator[tuple[Path, int, str, bool]]:
    """Every key and value of the JSON value that begins here: path, offset, text, and whether it is a key."""
    path: list[str | int] = []
    within: list[str] = []
    key_next = False
    for found in _PIECE.finditer(text, start):
        piece = found.group()
        if piece in {"}", "]"}:
            path.pop()
            within.pop()
        elif piece == ",":
            key_next = within[-1] == "{"
            path[-1] = path[-1] + 1 if isinstance(path[-1], int) else path[-1]
        elif key_next:
            path[-1] = json.loads(piece)
            yield tuple(path), found.start(), piece, True
            key_next = False
        elif piece != ":":
            yield tuple(path), found.start(), piece, False
            if piece in {"{", "["}:
                within.append(piece)
                path.append("" if piece == "{" else 0)
                key_next = piece == "{"
        if not within:
            return


@lru_cache(maxsize=16)
def lines_by_path(text: str) -> dict[Path, int]:
    places: dict[Path, int] = {}
    for path, offset, _, _ in _pieces(text, 0):
        places.setdefault(path, offset)  # of a key and its value, the key comes first
    return lines_of_offsets(text, places)
