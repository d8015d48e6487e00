"""Which files a .gitignore excludes, by the rules of git."""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final, NamedTuple

from hypot.core.regex import regex

# No name of a file is longer than 255 bytes; a longer pattern is a mistake.
_LONGEST: Final = 1000
_CLASS: Final = regex(r"\[(?P<not>[!^]?)(?P<inside>\]?(?:\\.|[^\]\\])*)\]")
# Reserved for operations on sets in expressions of Python.
_SETS: Final = regex(r"([\[&|~])")
_QUOTED: Final = r"\\\1"


class Pattern(NamedTuple):
    """One line: an expression for each name on the path, whether it takes an earlier match back, and what it is for.

    None stands for any number of folders.
    """

    names: tuple[re.Pattern[str] | None, ...]
    negated: bool
    folders_only: bool

    def matches(self, path: tuple[str, ...]) -> bool:
        ends = {0}
        for each, name in enumerate(self.names):
            if name is not None:
                ends = {end + 1 for end in ends if end < len(path) and name.fullmatch(path[end])}
            elif ends:
                # At the end of a pattern it stands for something inside the folder.
                first = min(ends) + (each == len(self.names) - 1 and each > 0)
                ends = set(range(first, len(path) + 1))
        return len(path) in ends


Patterns = tuple[Pattern, ...]


def patterns_of(lines: Iterable[str]) -> Patterns:
    return tuple([pattern for line in lines if (pattern := _pattern(line)) is not None])


def decision(patterns: Patterns, path: tuple[str, ...], *, folder: bool) -> bool | None:
    """Whether the last pattern that matches this relative path excludes it; None if no pattern matches."""
    for pattern in reversed(patterns):
        if (folder or not pattern.folders_only) and pattern.matches(path):
            return not pattern.negated
    return None


@lru_cache(maxsize=4096)
def _pattern(line: str) -> Pattern | None:
    text = _without_spaces(line.rstrip("\r\n"))
    if not text or text.startswith("#") or len(text) > _LONGEST:
        return None
    negated = text.startswith("!")
    text = text[negated:]
    folders_only = text.endswith("/")
    text = text[: len(text) - folders_only]
    if not text:
        return None
    # Without a slash inside, a pattern matches at any depth.
    names = text.removeprefix("/").split("/") if "/" in text else ["**", text]
    try:
        return Pattern(tuple([None if name == "**" else _expression(name) for name in names]), negated, folders_only)
    except re.error:
        return None


def _without_spaces(line: str) -> str:
    """Spaces at the end do not count, unless a backslash quotes them."""
    text = line.rstrip(" ")
    quoted = (len(text) - len(text.rstrip("\\"))) % 2 == 1
    return f"{text} " if quoted and text != line else text


def _expression(glob: str) -> re.Pattern[str]:
    """Each * takes as little as it can and never more, so that no name takes long; the last one takes what is left."""
    texts = [""]
    for piece in _pieces(glob):
        if piece == "*":
            texts.append("")
        else:
            texts[-1] += piece
    first, *middle = texts
    if not middle:
        return re.compile(first, re.DOTALL)
    *middle, last = middle
    return re.compile(first + "".join(f"(?>.*?{text})" for text in middle if text) + f".*{last}", re.DOTALL)


def _pieces(glob: str) -> Iterator[str]:
    """An expression for each character or class; * for any number of characters."""
    at = 0
    while at < len(glob):
        sign = glob[at]
        if sign == "[" and (found := _CLASS.match(glob, at)):
            yield f"[{'^' if found['not'] else ''}{_SETS.sub(_QUOTED, found['inside'])}]"
            at = found.end()
        elif sign == "\\" and at + 1 < len(glob):
            yield re.escape(glob[at + 1])
            at += 2
        else:
            yield {"*": "*", "?": "."}.get(sign) or re.escape(sign)
            at += 1
