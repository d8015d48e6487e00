"""Read Kubernetes objects from files: the output of `kubectl get -o yaml|json` and manifests that users write.

The text of a file is held while the file is read. Afterwards each object keeps its own part of the text, which is read
again when a line inside the object is needed.
"""

import codecs
import pathlib
import re
import stat
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import field, replace
from os.path import realpath
from typing import Any, Final, Protocol, TypeGuard

from hypot.core.dataclass import dataclass
from hypot.core.regex import regex
from hypot.kinds.text import jsontext, yamltext
from hypot.kinds.text.folder import Exclude, manifests_below
from hypot.kinds.text.foreign import RENDER, Why, has_marks, is_in_chart, kinds_named_in
from hypot.kinds.text.jsontext import LOOKS_LIKE_JSON, NotJson, skip_space
from hypot.kinds.text.yamltext import Document, Fault, LocatedValue, Path, Take

_EXAMPLES: Final = {"apiVersion": "autoscaling/v2", "kind": "Deployment"}
_LEAVE_OUT: Final = "leave it out with --exclude"
_NO_TEXT: Final = f"save it as UTF-8; if it is no text, {_LEAVE_OUT}"


class LoadError(Exception):
    """An input that could not be read, with file and line, and the kinds of the objects that seem to be in it.

    >>> try:
    ...     from_yaml("kind: [")
    ... except LoadError as error:
    ...     print(error.line)
    1
    """

    def __init__(
        self,
        file: str,
        line: int | None,
        message: str,
        why: Why = "broken",
        kinds: frozenset[str] = frozenset(),
        hint: str = "",
    ) -> None:
        super().__init__(file, line, message, why, kinds, hint)
        self.file = file
        self.line = line
        self.message = message
        self.why = why
        self.kinds = kinds
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.file}: {self.message}" if self.line is None else f"{self.file}:{self.line}: {self.message}"


@dataclass(frozen=True, slots=True)
class InputLimits:
    """Limits of the input; anything beyond them is rejected."""

    file_bytes: int = 256 * 2**20
    """One file: about 30,000 pods as kubectl prints them. Keeps a device or a wrong file from filling the memory."""

    depth: int = 100
    """Nesting of mappings and lists. A CRD schema needs about 25; Python's stack ends near 1000."""

    aliased_nodes: int = 100_000
    """Values that the aliases of one file expand to. A few hundred are normal; "billion laughs" are an attack."""


@dataclass(frozen=True, slots=True)
class Source:
    """The file and line of an object."""

    file: str
    line: int
    _text: str = field(default="", repr=False, compare=False)
    _top: int = field(default=1, repr=False, compare=False)  # the line on which that text begins
    _base: Path = field(default=(), repr=False, compare=False)  # the path of the object in that text
    _form: "_TextForm | None" = field(default=None, repr=False, compare=False)
    # Whether a tool made the text from this file: the lines are not those of the file.
    rendered: bool = field(default=False, repr=False)

    def line_of(self, path: Path) -> int:
        """The line of the key or element at this path, or of the deepest part of the path that exists."""
        lines = self._form.lines_by_path(self._text) if self._form else {}
        for length in range(len(path), 0, -1):
            if (line := lines.get(self._base + path[:length])) is not None:
                return self._top + line
        return self.line

    def inside(self, path: Path) -> "Source":
        """The source of the object at this path inside this one."""
        return replace(self, line=self.line_of(path), _base=self._base + path)


@dataclass(frozen=True, slots=True)
class LoadedFiles:
    data: dict[str, Any]
    source: Source


# Begins a document, wherever it is in YAML.
_SEPARATOR: Final = regex(r"^---(?=\s|$)", re.MULTILINE)
_GZIP: Final = b"\x1f\x8b"
# Its items are one answer: only this list says that two series with equal labels are two, and not one that comes twice.
_ANSWER = "ExternalMetricValueList"
# Likewise, if it names its query.
_NAMED_ANSWER = "MetricValueList"

Keep = Callable[[str, str], bool]
Progress = Callable[[int, int], None]
_DEFAULT_LIMITS: Final = InputLimits()


def load(
    paths: Iterable[str],
    *,
    progress: Progress | None = None,
    limits: InputLimits = _DEFAULT_LIMITS,
    keep: Keep | None = None,
) -> Iterator[LoadedFiles]:
    """The objects in these files, in the directories among them, and in "-" (stdin)."""
    return Reader(progress=progress, limits=limits, keep=keep).read(paths)


def load_text(text: str, name: str = "text", *, limits: InputLimits = _DEFAULT_LIMITS) -> Iterator[LoadedFiles]:
    """The objects in this text; errors call it by this name."""
    return Reader(limits=limits).read_text(text, name)


class Reader:
    """Reads objects, and counts by kind the objects that `keep` rejects.

    Without `unread`, what cannot be read raises a LoadError. With it, the error is passed to it, and the rest is read.
    """

    def __init__(
        self,
        *,
        progress: Progress | None = None,
        limits: InputLimits = _DEFAULT_LIMITS,
        keep: Keep | None = None,
        unread: Callable[[LoadError], None] | None = None,
        exclude: tuple[Exclude, ...] = (),
    ) -> None:
        self.ignored: Counter[str] = Counter()
        # The names of all files, also of those with nothing to read.
        self.files: list[str] = []
        self._progress = progress
        self._limits = limits
        self._keep = keep
        self._unread = unread
        self._exclude = exclude

    def read(self, paths: Iterable[str]) -> Iterator[LoadedFiles]:
        names = self.files = list(_once(name for path in paths for name in _files(path, self._exclude)))
        total = _bytes_ahead(names)
        done = 0
        for name in names:
            try:
                raw = _bytes_of(name, self._limits.file_bytes)
                text = _FileText(_shown(name), _decoded(_shown(name), raw))
            except LoadError as error:
                self._refuse(error)
                continue
            size = len(raw)
            del raw
            yield from self._objects(text, self._pace(done, total, size / max(1, len(text.text))))
            done += size
            self._report(done, total)

    def read_text(self, text: str, name: str) -> Iterator[LoadedFiles]:
        if (nul := text.find("\0")) >= 0:
            raise _FileText(name, text).error(Fault(nul, "a NUL character; this is not YAML or JSON"))
        return self._objects(_FileText(name, text.removeprefix("\ufeff")), lambda _: None)

    def _objects(self, text: "_FileText", pace: Callable[[int], None]) -> Iterator[LoadedFiles]:
        """The objects of a text. After a fault, the rest is read document by document, if anyone wants to have it."""
        if has_marks(text.text) and is_in_chart(text.file):
            self._refuse(LoadError(text.file, None, RENDER, "template"))
            return
        end = 0
        try:
            for document_end, objects in self._documents(text, pace):
                yield from objects
                end = document_end
        except Fault as fault:
            if self._unread is None:
                raise text.error(fault) from fault
            parts = text.parts(end)
            for part in parts:
                yield from self._part(part, pace)

    def _part(self, part: "_FileText", pace: Callable[[int], None]) -> Iterator[LoadedFiles]:
        try:
            for _, objects in self._documents(part, lambda _: None):
                yield from objects
        except Fault as fault:
            self._refuse(part.error(fault))
        pace(part.start + len(part.text))

    def _documents(self, text: "_FileText", pace: Callable[[int], None]) -> Iterator[tuple[int, Iterator[LoadedFiles]]]:
        """The end of each document, and the objects in it."""

        def take(data: Any, offset: int) -> Any:
            pace(offset)
            return self._stub(data)

        for form, document in _documents(text, self._limits, take):
            yield document.whole.end, self._unfold(text, form, document)
            pace(document.whole.end)

    def _unfold(self, text: "_FileText", form: "_TextForm", document: Document) -> Iterator[LoadedFiles]:
        data = document.whole.data
        if data is None:
            return
        if document.items is not None and _is_list(data):
            for part in document.items:
                yield from self._walk(_inherit(data, part.data), text.source(part, form))
            return
        source = text.source(document.whole, form)
        yield from self._walk(form.whole(text, document, self._limits), source)

    def _walk(self, data: Any, source: Source) -> Iterator[LoadedFiles]:
        try:
            items = _items(data, source) if _is_list(data) else None
            api_version, kind = ("", "") if items is not None else _identity_of(data, source)
        except LoadError as error:
            self._refuse(error)
            return
        if items is not None:
            for index, item in enumerate(items):
                yield from self._walk(_inherit(data, item), source.inside(("items", index)))
        elif self._keep is None or self._keep(api_version, kind):
            yield LoadedFiles(data, source)
        else:
            self.ignored[kind] += 1

    def _refuse(self, error: LoadError) -> None:
        if self._unread is None:
            raise error
        self._unread(error)

    def _stub(self, data: Any) -> Any:
        """Drop an item that will be skipped at once; keep only what is needed to count it."""
        if self._keep is None or not isinstance(data, dict) or _is_list(data):
            return data
        api_version, kind = data.get("apiVersion"), data.get("kind")
        if not _is_text(api_version) or not _is_text(kind) or self._keep(api_version, kind):
            return data
        return {"apiVersion": api_version, "kind": kind}

    def _pace(self, done: int, total: int, bytes_per_character: float) -> Callable[[int], None]:
        """A callback that reports how far a file is read, once per mebibyte."""
        reported = 0

        def pace(offset: int) -> None:
            nonlocal reported
            if offset - reported >= 2**20:
                reported = offset
                self._report(done + int(offset * bytes_per_character), total)

        return pace

    def _report(self, done: int, total: int) -> None:
        if self._progress is not None:
            self._progress(done, total)


def _is_text(value: Any) -> TypeGuard[str]:
    return isinstance(value, str) and bool(value)


def _is_list(data: Any) -> bool:
    """Whether it is a List or a typed list like PodMetricsList. Other kinds named "...List" have no top-level items."""
    if not isinstance(data, dict) or not isinstance(kind := data.get("kind"), str) or _is_answer(data):
        return False
    return kind == "List" or (kind.endswith("List") and isinstance(data.get("items", 0), list | None))


def _inherit(parent: dict[str, Any], item: Any) -> Any:
    """Add the apiVersion and kind that an item of a typed list leaves out, as the API server does."""
    if parent["kind"] == "List" or not isinstance(item, dict):
        return item
    said = {"apiVersion": parent.get("apiVersion"), "kind": parent["kind"].removesuffix("List")}
    missing = {name: value for name, value in said.items() if item.get(name) in (None, "")}
    return missing | {name: value for name, value in item.items() if name not in missing} if missing else item


def _items(data: dict[str, Any], source: Source) -> list[Any]:
    items = data.get("items")
    if items is None:
        return []
    if not isinstance(items, list):
        raise LoadError(
            source.file, source.line_of(("items",)), f"the items of a List must be a list, got {_type(items)}"
        )
    return items


def _identity_of(data: Any, source: Source) -> tuple[str, str]:
    """The apiVersion and kind of an object."""
    if not isinstance(data, dict):
        message = f"expected an object with apiVersion and kind, got {_type(data)}"
        raise LoadError(source.file, source.line, message, "other")
    kinds = frozenset({kind}) if _is_text(kind := data.get("kind")) else frozenset()
    if _is_text(called := _name_of(data)) and has_marks(called):
        raise LoadError(source.file, source.line_of(("metadata", "name")), RENDER, "template", kinds)
    if _is_answer(data):
        _check_answer(data, source)
    # Values of a chart and settings of programs may have a kind too.
    meant = isinstance(data.get("metadata"), dict) or "apiVersion" in data
    why: Why = "incomplete" if kinds and meant else "other"
    for name in ("apiVersion", "kind"):
        value = data.get(name)
        if value in (None, ""):
            message = f"an object without {name}; every Kubernetes object has one"
            raise LoadError(source.file, source.line, message, why, kinds, f"write {name}, such as {_EXAMPLES[name]}")
        if not _is_text(value):
            message = f"{name} must be text, got {_type(value)}; quote it"
            hint = f"quote it, or write {name}, such as {_EXAMPLES[name]}"
            raise LoadError(source.file, source.line_of((name,)), message, why, kinds, hint)
    return data["apiVersion"], data["kind"]


def _name_of(data: dict[str, Any]) -> Any:
    metadata = data.get("metadata")
    return metadata.get("name") if isinstance(metadata, dict) else None


def _is_answer(data: dict[str, Any]) -> bool:
    metadata = data.get("metadata")
    named = isinstance(metadata, dict) and bool(metadata.get("selfLink"))
    return data.get("kind") == _ANSWER or (named and data.get("kind") == _NAMED_ANSWER)


def _check_answer(data: dict[str, Any], source: Source) -> None:
    for index, item in enumerate(_items(data, source)):
        if not isinstance(item, dict):
            line = source.line_of(("items", index))
            raise LoadError(source.file, line, f"expected a value with metricName, got {_type(item)}")


def _type(value: Any) -> str:
    names = {dict: "a mapping", list: "a list", str: "text", bool: "a boolean", type(None): "null"}
    return names.get(type(value), "a number")


def _shown(name: str) -> str:
    return "<stdin>" if name == "-" else name


def _files(path: str, exclude: tuple[Exclude, ...]) -> list[str]:
    if path == "-":
        return [path]
    try:
        if not stat.S_ISDIR(pathlib.Path(path).stat().st_mode):
            return [path]
        found = manifests_below(path, exclude)
    except (OSError, ValueError) as error:
        raise _cannot_read(getattr(error, "filename", None) or path, error) from error
    if not found:
        raise LoadError(path, None, "no .yaml, .yml or .json file in this directory or below it", "unreadable")
    return found


def _bytes_ahead(names: list[str]) -> int:
    """The number of bytes to read, or 0 if one of the files is a pipe."""
    total = 0
    for name in names:
        try:
            state = pathlib.Path(name).stat() if name != "-" else None
        except OSError as error:
            raise _cannot_read(name, error) from error
        if state is None or not stat.S_ISREG(state.st_mode):
            return 0
        total += state.st_size
    return total


def _bytes_of(name: str, most: int) -> bytes:
    try:
        if name == "-":
            raw = sys.stdin.buffer.read(most + 1) if sys.stdin else b""
        else:
            with pathlib.Path(name).open("rb") as file:
                raw = file.read(most + 1)
        raw = _unpacked(raw, most) if raw.startswith(_GZIP) else raw
    except (OSError, ValueError) as error:
        raise _cannot_read(_shown(name), error) from error
    if len(raw) > most:
        raise LoadError(
            _shown(name), None, f"larger than {most:,} bytes; split it, or select less when dumping", "unreadable"
        )
    return raw


def _unpacked(raw: bytes, most: int) -> bytes:
    """The content of a gzip file, of which at most one byte more than that is unpacked."""
    unpacker = zlib.decompressobj(16 + zlib.MAX_WBITS)
    try:
        content = unpacker.decompress(raw, most + 1)
    except zlib.error as error:
        raise ValueError(f"not a valid gzip file ({error})") from error
    if not unpacker.eof and len(content) <= most:
        raise ValueError("the gzip file is cut off")
    return content


def _cannot_read(name: str, error: OSError | ValueError) -> LoadError:
    why = getattr(error, "strerror", None) or str(error)
    packed = isinstance(error, ValueError) and not isinstance(error, OSError)
    todo = "check its permissions" if isinstance(error, PermissionError) else "check the path"
    todo = "pack it again" if packed else todo
    return LoadError(name, None, f"cannot read it: {why}; {todo}", "unreadable", hint=f"{todo}, or {_LEAVE_OUT}")


def _decoded(file: str, raw: bytes) -> str:
    """The text of UTF-8, or of UTF-16 with a byte order mark, which a PowerShell redirection writes."""
    encoding = "utf-16" if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8"
    raw = raw.removeprefix(codecs.BOM_UTF8)
    try:
        text = raw.decode(encoding)
    except UnicodeDecodeError as error:
        offset = len(raw[: error.start].decode(encoding, "replace"))
        fault = Fault(offset, f"not {encoding.upper()} text; save it as UTF-8", hint=_NO_TEXT)
        raise _FileText(file, raw.decode(encoding, "replace")).broken(fault) from error
    if (nul := text.find("\0")) >= 0:
        raise _FileText(file, text).broken(
            Fault(nul, "a NUL character; this is a binary file, or UTF-16 without a byte order mark", hint=_NO_TEXT)
        )
    return text


@dataclass(slots=True)
class _FileText:
    """The text of one file, with line numbers."""

    file: str
    text: str
    # Where it begins, if it is a part of the text of a file.
    start: int = 0
    first_line: int = 1
    _offset: int = 0
    _line: int = 0

    def __post_init__(self) -> None:
        self._line = self.first_line

    def parts(self, start: int) -> "list[_FileText]":
        """The documents of the rest of the text, each as a text of its own."""
        found = []
        for end in (*(mark.start() for mark in _SEPARATOR.finditer(self.text, start)), len(self.text)):
            found.append(_FileText(self.file, self.text[start:end], start, self.line(start)))
            start = end
        return found

    def line(self, offset: int) -> int:
        """The line number as editors count it. Going forwards, the usual case, each part of the text is read once."""
        if offset < self._offset:
            return self.text.count("\n", 0, offset) + self.first_line
        self._line += self.text.count("\n", self._offset, offset)
        self._offset = offset
        return self._line

    def source(self, part: LocatedValue, form: "_TextForm") -> Source:
        line = self.line(part.start)
        return Source(self.file, line, self.stretch(part), line, (), form)

    def stretch(self, part: LocatedValue) -> str:
        """The text of a part, with the indentation of its first line restored, so that it is valid YAML on its own."""
        return " " * part.column + self.text[part.start : part.end]

    def error(self, fault: Fault) -> LoadError:
        """A template, if its marks may have kept it from being parsed."""
        broken = self.broken(fault)
        if "List" in broken.kinds or not has_marks(self._document_at(self._place_of(fault))):
            return broken
        return LoadError(broken.file, broken.line, f"{broken.message}; {RENDER}", "template", broken.kinds)

    def broken(self, fault: Fault) -> LoadError:
        offset = self._place_of(fault)
        column = offset - self.text.rfind("\n", 0, offset)
        earlier = "" if fault.earlier is None else f" on line {self.line(fault.earlier)}"
        message = f"{fault.message}{earlier} (column {column})"
        kinds = kinds_named_in(self._document_at(offset))
        return LoadError(self.file, self.line(offset), message, "broken", kinds, fault.hint)

    def _place_of(self, fault: Fault) -> int:
        return min(fault.offset, len(self.text.rstrip()))  # the end of a file is the end of its last line

    def _document_at(self, offset: int) -> str:
        """The text between the separators around this place."""
        end = _SEPARATOR.search(self.text, offset)
        begins = [mark.start() for mark in _SEPARATOR.finditer(self.text, 0, offset)]
        return self.text[begins[-1] if begins else 0 : end.start() if end else len(self.text)]


class _Documents(Protocol):
    def __call__(self, text: str, start: int, *, depth: int, aliased: int, take: Take) -> Iterator[Document]: ...


@dataclass(frozen=True, slots=True)
class _TextForm:
    """YAML or JSON."""

    documents: _Documents
    lines_by_path: Callable[[str], dict[Path, int]]

    def read(self, text: str, start: int, limits: InputLimits, take: Take) -> Iterator[Document]:
        return self.documents(text, start, depth=limits.depth, aliased=limits.aliased_nodes, take=take)

    def whole(self, text: _FileText, document: Document, limits: InputLimits) -> Any:
        """The document's data. If items were dropped but it is not a list after all, they are read again."""
        if not document.trimmed:
            return document.whole.data
        return next(self.read(text.stretch(document.whole), 0, limits, lambda data, _: data)).whole.data


def _once(names: Iterable[str]) -> Iterator[str]:
    """Each file once, by its first name: folders may overlap, and a link is the same file."""
    seen = set()
    for name in names:
        place = name if name == "-" else realpath(name)
        if place not in seen:
            seen.add(place)
            yield name


def _documents(text: _FileText, limits: InputLimits, take: Take) -> Iterator[tuple[_TextForm, Document]]:
    """Read as JSON if it looks like JSON. From the first part that is not JSON, read as YAML, as kubectl does."""
    named_json = text.file.lower().endswith(".json")
    end = 0
    no_json: Fault | None = None
    if named_json or text.text.startswith(("{", "["), skip_space(text.text, 0)):
        try:
            for document in _JSON.read(text.text, 0, limits, take):
                yield _JSON, document
                end = document.whole.end
        except NotJson as fault:
            if named_json or (end and not text.text.startswith("---", skip_space(text.text, end))):
                raise
            no_json = fault
        else:
            return
    try:
        for document in _YAML.read(text.text, end, limits, take):
            yield _YAML, document
    except Fault as fault:
        meant_as_json = no_json is not None and not end and LOOKS_LIKE_JSON.match(text.text)
        raise (no_json if meant_as_json and no_json else fault) from fault


_YAML: Final = _TextForm(yamltext.documents, yamltext.lines_by_path)
_JSON: Final = _TextForm(jsontext.documents, jsontext.lines_by_path)
