"""One page of a list, as the API server sends it. An object that cannot be read does not keep the others from it."""

import re
from collections.abc import Iterator
from typing import Any, Final, TypeVar

import msgspec

_TOKEN: Final = re.compile(rb'"(?:[^"\\]|\\.)*"|[][{}]')


class ListMeta(msgspec.Struct, rename="camel"):
    resource_version: str = ""
    continue_: str = msgspec.field(default="", name="continue")


class Page(msgspec.Struct, rename="camel"):
    """A page of a list. Items stay bytes until they are processed, so that a page is not in memory twice."""

    metadata: ListMeta
    items: list[msgspec.Raw] | None = None
    kind: str = ""
    api_version: str = ""


class UnreadableError(ValueError):
    """An object or a page that is not JSON, or is nested too deeply."""


class _Items(msgspec.Struct):
    items: list[msgspec.Raw] | None = None


P = TypeVar("P", Page, _Items)


def read_page(body: bytes) -> Page:
    """The page; raises UnreadableError."""
    return _read(body, Page)


def read_items(body: bytes) -> list[msgspec.Raw]:
    """The items of a list that is not split into pages; raises UnreadableError."""
    return _read(body, _Items).items or []


def _read(body: bytes, kind: type[P]) -> P:
    try:
        return msgspec.json.decode(body, type=kind)
    except RecursionError:
        # One object that is nested too deeply. Anyone who may create such an object would stop the watch for all.
        return _read_apart(body, kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UnreadableError(str(error)) from error


def read_object(text: bytes | msgspec.Raw) -> dict[str, Any]:
    """The object; raises UnreadableError."""
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UnreadableError(str(error)) from error


def plain_fields(text: bytes | msgspec.Raw, *path: str) -> dict[str, Any]:
    """The fields of the object at this path of a text that cannot be read as a whole; empty if there is no object.

    Lists and objects in it are None, since they can be too deep as well: managedFields repeat the fields of a spec.
    """
    body = bytes(text)
    try:
        return read_object(b"".join(_flat(body, _start(body, *path))))
    except UnreadableError:
        return {}


def _start(body: bytes, *path: str) -> int:
    """Where the object at this path begins, or the end; without recursion."""
    names = [b"", *(f'"{name}"'.encode() for name in path)]
    depth, matched, name = 0, 0, b""
    for token in _TOKEN.finditer(body):
        sign = token[0]
        if sign[:1] == b'"':
            name = sign if depth == matched else name
        elif sign in b"]}":
            depth -= 1
            matched = min(matched, depth)
        else:
            if sign == b"{" and depth == matched and name == names[matched]:
                matched += 1
            if matched == len(names):
                return token.start()
            depth += 1
    return len(body)


def _flat(body: bytes, start: int) -> Iterator[bytes]:
    """The text of the object that begins here, with null for all that is nested in it; without recursion."""
    depth = 0
    for token in _TOKEN.finditer(body, start):
        sign = token[0]
        if sign[:1] == b'"':
            continue
        if sign in b"]}":
            depth -= 1
            if depth == 0:
                yield body[start : token.end()]
                return
            start = token.end() if depth == 1 else start
            continue
        if depth == 1:
            yield body[start : token.start()] + b"null"
        depth += 1


def _read_apart(body: bytes, kind: type[P]) -> P:
    """The page, read in two parts: the items one by one, and all around them."""
    places = list(_items(body))
    if not places:
        raise UnreadableError("the page is nested too deeply")
    try:
        page = msgspec.json.decode(body[: places[0][0]] + body[places[-1][1] :], type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UnreadableError(str(error)) from error
    page.items = [msgspec.Raw(body[first:end]) for first, end in places]
    return page


def _items(body: bytes) -> Iterator[tuple[int, int]]:
    """Where each item of the list begins and ends; without recursion."""
    depth, name, first, listing = 0, b"", 0, False
    for token in _TOKEN.finditer(body):
        sign = token[0]
        if sign[:1] == b'"':
            name = sign if depth == 1 else name
            continue
        if sign in b"]}":
            depth -= 1
            if listing and depth == 2:
                yield first, token.end()
            listing = listing and depth > 1
            continue
        if depth == 1:
            listing = name == b'"items"' and sign == b"["
        elif depth == 2:
            first = token.start()
        depth += 1
