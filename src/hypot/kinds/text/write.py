"""Writes YAML: the only writer of the project.

Text is written plain only if every reader takes it for text. That excludes what YAML 1.1 or 1.2 reads as a boolean, a
number, a time or null: `Off`, `on`, `yes`, `1e3`, `0x1`, `12:30`, `~`, the empty text. Keys keep their order, and
there are no anchors and no line breaks inside plain or quoted text.
"""

import json
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

# Where a comment goes: the keys and indexes that lead to the value below it.
Place = tuple[str | int, ...]
Comments = Mapping[Place, Iterable[str]]

_NO_COMMENTS: Comments = {}
# What some reader takes for a boolean, null or a number, in any case.
_WORDS = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf", "infinity"})
# These patterns take long to compile, so that is left to their first use.
_PRINTABLE = r"\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff"
_ONE_LINE = f"[{_PRINTABLE}]*"
_LINES = f"[{_PRINTABLE}\\n]*"
# It begins as no number does; or it is an amount such as 500m or 1m30s, or a version such as 1.2.3.
_WORD = rf"(?:[^\W\d_]|[_/$^(]|--?[A-Za-z]|\.[A-Za-z])[{_PRINTABLE}]*"
_AMOUNT = r"[0-9]+(?:\.[0-9]+)?(?:[KMGTPE]i|[numkMGTP])|(?:[0-9]+[hms]){1,3}|[0-9]+(?:\.[0-9]+){2,}"
_PLAIN = f"{_WORD}|{_AMOUNT}"
# The longest text that every reader accepts as a key on one line, less the quotes.
_LONGEST_KEY = 1000


def to_yaml(value: Any, comments: Comments = _NO_COMMENTS) -> str:
    """One document. Each comment is written above the line of its place."""
    lines: list[str] = []
    _write(value, "", lines, (), comments)
    lines.append("")
    return "\n".join(lines)


def documents(*values: Any) -> str:
    """Several documents, in this order."""
    return "---\n".join([to_yaml(value) for value in values])


def _write(value: Any, indent: str, lines: list[str], place: Place, comments: Comments) -> None:
    """All lines go to one list: objects are nested deeply, and lines that are passed up once per level take longest."""
    if isinstance(value, Mapping) and value:
        _mapping(value, indent, lines, place, comments)
    elif isinstance(value, list | tuple) and value:
        _list(value, indent, lines, place, comments)
    else:
        _leaf(indent, value, indent, lines)


def _mapping(value: Mapping[Any, Any], indent: str, lines: list[str], place: Place, comments: Comments) -> None:
    below, where = f"{indent}  ", place
    for key, item in value.items():
        if comments:
            where = (*place, key)
            _comment(where, indent, lines, comments)
        name = _key(key, indent, lines)
        kind = item.__class__
        if kind is str and "\n" not in item:
            lines.append(f"{name}: {_quoted(item)}")
        elif item and (kind is dict or isinstance(item, Mapping)):
            lines.append(f"{name}:")
            _mapping(item, below, lines, where, comments)
        elif item and (kind is list or isinstance(item, list | tuple)):
            lines.append(f"{name}:")
            _list(item, indent, lines, where, comments)
        else:
            _leaf(f"{name}: ", item, indent, lines)


def _list(value: Iterable[Any], indent: str, lines: list[str], place: Place, comments: Comments) -> None:
    below, where = f"{indent}  ", place
    for index, item in enumerate(value):
        if comments:
            where = (*place, index)
            _comment(where, indent, lines, comments)
        if not item or not isinstance(item, Mapping | list | tuple):
            _leaf(f"{indent}- ", item, indent, lines)
            continue
        start = len(lines)
        _write(item, below, lines, where, comments)
        # Comments on the first key are above the dash.
        while lines[start].startswith(f"{below}# "):
            lines[start] = f"{indent}{lines[start][len(below) :]}"
            start += 1
        lines[start] = f"{indent}- {lines[start][len(below) :]}"


def _leaf(before: str, value: Any, indent: str, lines: list[str]) -> None:
    first, *rest = _scalar(value)
    lines.append(f"{before}{first}")
    lines += [f"{indent}  {line}" if line else "" for line in rest]


def _comment(place: Place, indent: str, lines: list[str], comments: Comments) -> None:
    lines += [f"{indent}# {text}" for text in comments.get(place, ())]


def _key(key: Any, indent: str, lines: list[str]) -> str:
    """The line of a key, up to its colon. A long key has a line of its own above."""
    text = _quoted(key) if isinstance(key, str) else _scalar(key)[0]
    if len(text) <= _LONGEST_KEY:
        return f"{indent}{text}"
    lines.append(f"{indent}? {text}")
    return indent


def _scalar(value: Any) -> list[str]:
    """The lines of a value; those after the first are the lines of a block of text."""
    if isinstance(value, str):
        return _block(value) if "\n" in value and _fits_block(value) else [_quoted(value)]
    if value is None:
        return ["null"]
    if isinstance(value, bool):
        return ["true" if value else "false"]
    if isinstance(value, int):
        return [str(int(value))]
    if isinstance(value, float):
        return [_float(float(value))]
    if isinstance(value, Mapping):
        return ["{}"]
    if isinstance(value, list | tuple):
        return ["[]"]
    raise TypeError(f"{type(value).__name__} is not a value of YAML: {value!r}")


def _float(value: float) -> str:
    """YAML 1.1 needs the point: it reads 1e-07 as text."""
    text = repr(value)
    if text in {"inf", "-inf", "nan"}:
        return text.replace("inf", ".inf").replace("nan", ".nan")
    return text.replace("e", ".0e", 1) if "." not in text else text


@lru_cache(maxsize=4096)  # keys, and words such as Deployment, come again and again
def _quoted(text: str) -> str:
    if _is_plain(text):
        return text
    if re.fullmatch(_ONE_LINE, text):
        return "'" + text.replace("'", "''") + "'"
    return _escaped(text)


def _escaped(text: str) -> str:
    """Double quotes: what no reader prints is written as JSON writes it."""
    made = json.dumps(text, ensure_ascii=False)
    return re.sub(f"[^{_PRINTABLE}]", lambda found: _escape(ord(found[0])), made)


def _escape(point: int) -> str:
    return f"\\u{point:04x}" if point < 2**16 else f"\\U{point:08x}"


def _is_plain(text: str) -> bool:
    if not re.fullmatch(_PLAIN, text) or text.lstrip("-.").lower() in _WORDS:
        return False
    return ": " not in text and " #" not in text and not text.endswith((":", " "))


def _fits_block(text: str) -> bool:
    """A block keeps its lines only if none ends with a space, and if the first shows its indentation."""
    lines = text.split("\n")
    plain = re.fullmatch(_LINES, text) is not None and not any(line.endswith(" ") for line in lines)
    return plain and bool(lines[0]) and not lines[0].startswith(" ")


def _block(text: str) -> list[str]:
    body = text.rstrip("\n")
    ended = len(text) - len(body)
    lines = body.split("\n")
    if ended == 0:
        return ["|-", *lines]
    return ["|" if ended == 1 else "|+", *lines, *[""] * (ended - 1)]
