"""What the API server's decoder would reject, and the Python path of a field."""

import re
from collections.abc import Container, Iterator, Mapping
from typing import Any

from hypot.core.similar import similar
from hypot.kinds.meta import TIME
from hypot.kinds.node import INT32, QUANTITY, STRINGS, Node, Scalar, Wire
from hypot.kinds.problem import Problem, Where, dotted, shown


def python_path(root: Node, where: Where) -> str:
    """The Python path of a wire path, as an author would write it."""
    path = ""
    # A part of the object, or several; an empty part, whose words are the same, in place of what is absent.
    here: Any = root
    for part in where:
        if isinstance(part, int):
            path += f"[{part}]"
            here = _item(here, part)
            continue
        name, w = here.BY_KEY.get(part, (part, None)) if isinstance(here, Node) else (part, None)
        word = name if w is None else here.written_as(name, w)
        here = None if w is None or isinstance(w.type, Scalar) else _inside(getattr(here, name), w.type)
        if word:
            path += f".{word}" if path else word
    return path


def _inside(value: Any, kind: type[Node]) -> Any:
    if isinstance(value, tuple):
        return [item if isinstance(item, kind) else kind() for item in value]
    return value if isinstance(value, kind) else kind()


def _item(several: Any, i: int) -> Any:
    if isinstance(several, Node):
        return several
    return several[i] if isinstance(several, list) and i < len(several) else None


def decode_problems(root: Node, where: Where) -> Iterator[Problem]:
    """Wrong types first, then unknown fields."""
    for place, owner, w, value in root.misfits(where):
        yield from _misfits(place, owner, w, value)
    for place, owner in root.strangers(where):
        yield _stranger(place, owner)


def _misfits(where: Where, owner: type[Node], w: Wire, value: Any) -> Iterator[Problem]:
    """The problems inside the value if it has parts, else of the value itself."""
    kind = w.type
    if not isinstance(kind, Scalar):
        yield _misfit(where, owner, w, value)
    elif kind.shape is not None and isinstance(value, dict):
        yield from decode_problems(kind.shape.read(value), where)
    elif kind.each is not None and isinstance(value, list if kind.schema["type"] == "array" else dict):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            if isinstance(value, dict) and not isinstance(key, str):
                hint = 'put the key in quotes, e.g. "1"'
                yield Problem("type", "Decode", where, f"the key {_bounded(key)} is not text", value, hint)
            elif item is not None and not kind.each.fits(item):
                yield _wrong_item((*where, key), owner, kind.each, item)
    else:
        yield _misfit(where, owner, w, value)


def _wrong_item(where: Where, owner: type[Node], each: Scalar, item: Any) -> Problem:
    message = _unmarshal(json_type(item), owner, where[:-1], each.go)
    hint = 'put the value in quotes, e.g. "true" or "1"' if not isinstance(item, dict | list) else ""
    return Problem("type", "Decode", where, message, item, hint)


def _unmarshal(found: str, owner: type[Node], where: Where, go: str) -> str:
    """The message of Go's decoder."""
    place = ".".join(part for part in where if isinstance(part, str))
    return f"json: cannot unmarshal {found} into Go struct field {owner.GO.rpartition('.')[2]}.{place} of type {go}"


def _misfit(where: Where, owner: type[Node], w: Wire, value: Any) -> Problem:
    if w.type is QUANTITY:
        share = _percentage(value)
        hint = "write a quantity such as 500m, 2, 512Mi or 1.5Gi"
        if share is not None:
            hint = f"write {share / 100:g} for {share} percent"
        return Problem("quantity", "Invalid", where, _quantity_text(value), value, hint)
    want, go = _expected(where, w)
    if w.type is TIME and isinstance(value, str):
        message = f'parsing time {shown(value)} as "2006-01-02T15:04:05Z07:00"'
        return Problem("type", "Decode", where, message, value, f"write {want}")
    found = f"number {shown(value)}" if go.startswith("int") and json_type(value) == "number" else json_type(value)
    message = _unmarshal(found, owner, where, go)
    if w.type is INT32 and isinstance(value, int | float) and not isinstance(value, bool):
        hint = f"write a whole number from {-(2**31)} to {2**31 - 1}"
        return Problem("type", "Decode", where, message, value, hint)
    hint = _instead(where, w, value) or _in_quotes(w.type, value) or f"write {want} instead of {_bounded(value)}"
    return Problem("type", "Decode", where, message, value, hint)


def _in_quotes(kind: "Scalar | type[Node]", value: Any) -> str:
    """How to write a bare number or word where text is expected; empty if that is not what is wrong."""
    if isinstance(value, dict):
        bare = {key: item for key, item in value.items() if isinstance(item, bool | int | float)}
        quoted = ", ".join(f'{key}: "{shown(item)}"' for key, item in bare.items())
        return f"put it in quotes: {_cut(quoted)}" if kind is STRINGS and bare else ""
    if isinstance(value, bool) and isinstance(kind, Scalar) and kind.fits(shown(value)):
        words = "y, yes, on or true" if value else "n, no, off or false"
        return f"put what is written there in quotes: YAML reads a bare {words} as {shown(value)}"
    takes_text = isinstance(kind, Scalar) and kind.fits(shown(value)) and isinstance(value, bool | int | float)
    return f'put it in quotes: "{shown(value)}"' if takes_text else ""


def _percentage(value: Any) -> int | None:
    match = re.fullmatch(r"([0-9]{1,3})\s*%", value) if isinstance(value, str) else None
    return int(match[1]) if match is not None else None


def _instead(where: Where, w: Wire, value: Any) -> str:
    """What to write for a value whose meaning is clear; else empty."""
    if w.type is INT32 and (share := _percentage(value)) is not None:
        return f"write {share}, without the percent sign"
    if w.type is INT32 and isinstance(value, str) and re.fullmatch(r"[0-9]{1,9}", value):
        return f"write {value} without quotes, as a number"
    if isinstance(value, Mapping) and not isinstance(w.type, Scalar) and not (w.many and isinstance(where[-1], str)):
        return f"in Python a {w.type.__name__} is no mapping; from_dict reads mappings"
    return ""


def _quantity_text(value: Any) -> str:
    """The API server's message: either only the suffix is wrong, or the whole form."""
    if isinstance(value, str) and re.fullmatch(r"[+-]?[0-9]+\.?[0-9]*[eEinumkKMGTP]*[-+]?[0-9]*", value):
        return "unable to parse quantity's suffix"
    return "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"


def _expected(where: Where, w: Wire) -> tuple[str, str]:
    if isinstance(w.type, Scalar):
        return w.type.want, w.type.go
    go, authored = w.type.GO, where[0] == "spec"
    if w.many and not isinstance(where[-1], int):
        return f"a list of {w.type.__name__}" if authored else "a list", f"[]{go}"
    return f"a mapping, in Python a {w.type.__name__}" if authored else "a mapping", go


def _fields_below(owner: type[Node], key: object) -> Iterator[tuple[str, ...]]:
    """Where this field is one or two levels below, in a block that is no list."""
    blocks = [
        ((name,), w.type) for name, (_, w) in owner.BY_KEY.items() if not isinstance(w.type, Scalar) and not w.many
    ]
    for path, block in blocks:
        if key in block.BY_KEY:
            yield (*path, str(key))
    for path, block in blocks:
        yield from ((*path, name, str(key)) for name, (_, w) in block.BY_KEY.items() if key in _fields_of(w))


def _fields_of(w: Wire) -> Container[object]:
    return () if isinstance(w.type, Scalar) or w.many else w.type.BY_KEY


def _bounded(value: Any) -> str:
    return _cut(shown(value))


def _cut(text: str) -> str:
    return text if len(text) <= 80 else text[:77] + "..."


def json_type(value: Any) -> str:
    """What Go's decoder calls the type of a value."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list | tuple) else "object"


def _stranger(where: Where, owner: type[Node]) -> Problem:
    word, around = str(where[-1]), where[:-1]
    near = similar(word, owner.BY_KEY, 1, 0.7)
    inside = list(_fields_below(owner, where[-1]))
    meant: Where = ()
    if word in owner.MOVED:
        place, hint = owner.MOVED[word]
        meant = (*around, place)
    elif near:
        hint = f"did you mean {near[0]}?"
        meant = (*around, near[0])
    elif inside:
        nearest = [path for path in inside if len(path) == len(inside[0])]
        hint = f"did you mean {' or '.join(dotted((*around, *path)) for path in nearest)}?"
    else:
        hint = "valid fields: " + ", ".join(owner.BY_KEY)
    message = f'strict decoding error: unknown field "{dotted(where)}"'
    return Problem("unknown-field", "Decode", where, message, None, hint, meant=meant)
