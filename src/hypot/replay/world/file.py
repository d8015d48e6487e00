"""Reads a world from YAML or JSON. Checks every value and reports all problems at once, each with its line."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from hypot.core.similar import similar
from hypot.kinds.problem import dotted, shown
from hypot.kinds.text.yamltext import Fault, documents, lines_by_path
from hypot.replay.world.parameters import Drop, Span, World
from hypot.replay.world.rules import Trouble, Where, in_whole_ticks, inconsistencies
from hypot.replay.world.units import DROP_PARTS, SIGNALS, SPAN_PARTS, Parameter, Section, sections, shown_in, value_in

_MOST_BYTES = 2**20
_MOST_ELEMENTS = 10_000
_DEPTH, _ALIASED = 20, 10_000
_UNREAD = object()


class WorldError(ValueError):
    """A world that cannot be used, with all its problems."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = tuple(problems)


class WorldFile(NamedTuple):
    """A world, and which of its parameters the file gives: `service.work`. Without a file, it has the defaults."""

    world: World = World()
    given: frozenset[str] = frozenset()
    file: str = ""


def read_world_file(path: str | Path) -> WorldFile:
    """The world that a file describes; missing parameters have their defaults."""
    file = str(path)
    text = _text_of(file)
    world, given, troubles = _read(_data_of(file, text))
    if troubles:
        lines = lines_by_path(text)
        placed = sorted((_line(lines, trouble.where), trouble.message) for trouble in troubles)
        raise WorldError([f"{file}:{line}: {message}" for line, message in placed])
    return WorldFile(world, frozenset(map(dotted, given)), file)


def read_world(path: str | Path) -> World:
    """The world that a file describes."""
    return read_world_file(path).world


def world_from_dict(data: Mapping[str, Any]) -> World:
    """A world from a mapping with the names of a world file. Raises WorldError with all problems."""
    world, _, troubles = _read(data)
    if troubles:
        raise WorldError([trouble.message for trouble in troubles])
    return world


def world_to_dict(world: World) -> dict[str, Any]:
    """Every parameter by its name in a world file, as plain numbers: seconds, cores and bytes."""
    out: dict[str, Any] = {}
    for section in sections():
        held = getattr(world, section.attribute) if section.name else world
        values = {one.name: _plain(getattr(held, one.attribute)) for one in section.parameters}
        out.update({section.name: values} if section.name else values)
    return out


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, tuple):
        return [one._asdict() for one in value]
    return value


def _text_of(file: str) -> str:
    try:
        with Path(file).open("rb") as opened:
            raw = opened.read(_MOST_BYTES + 1)
        if len(raw) > _MOST_BYTES:
            raise WorldError([f"{file}: larger than {_MOST_BYTES:,} bytes, so this is not a world file"])
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise WorldError([f"{file}: not UTF-8 text; save it as UTF-8"]) from error
    except (OSError, ValueError) as error:
        if isinstance(error, WorldError):
            raise
        why = getattr(error, "strerror", None) or str(error)
        raise WorldError([f"{file}: cannot be read: {why}; check the path"]) from error


def _data_of(file: str, text: str) -> Any:
    """The content of the only document in a text; an empty text is a world of defaults."""

    def fail(offset: int, message: str, cause: Fault | None = None) -> NoReturn:
        line = text.count("\n", 0, offset) + 1
        raise WorldError([f"{file}:{line}: {message}"]) from cause

    try:
        given = list(documents(text, 0, depth=_DEPTH, aliased=_ALIASED, take=lambda data, _: data))
    except Fault as fault:
        line = "" if fault.earlier is None else f" on line {text.count(chr(10), 0, fault.earlier) + 1}"
        fail(fault.offset, fault.message + line, fault)
    if len(given) > 1:
        fail(given[1].whole.start, "a second document; write one world per file")
    return given[0].whole.data if given else None


def _line(lines: Mapping[Where, int], where: Where) -> int:
    """The line of the deepest part of this path that is in the file."""
    found = (lines[where[:length]] for length in range(len(where), 0, -1) if where[:length] in lines)
    return next(found, 0) + 1


def _read(data: Any) -> tuple[World, set[Where], list[Trouble]]:
    """The world, which of its parameters are written, and the problems."""
    reading = _WorldReader()
    world = reading.world({} if data is None else data)
    world = in_whole_ticks(world)
    return world, reading.written, [*reading.troubles, *inconsistencies(world, reading.written, reading.unread)]


class _WorldReader:
    """One pass over a mapping: which parameters were written, which of them could not be read, and the problems."""

    def __init__(self) -> None:
        self.troubles: list[Trouble] = []
        self.written: set[Where] = set()
        self.unread: set[Where] = set()

    def world(self, data: Any) -> World:
        top, *parts = sections()
        if not self._is_mapping(data, (), "tick: 15s"):
            return World()
        self._strangers(data, (), [*(one.name for one in top.parameters), *(part.name for part in parts)])
        made = {part.attribute: self._part(part, data.get(part.name)) for part in parts}
        return World(**self._values(top.parameters, data, ()), **made)

    def _part(self, section: Section, data: Any) -> Any:
        where = (section.name,)
        first = section.parameters[0]
        if data is None or not self._is_mapping(data, where, f"{first.name}: ..."):
            return section.made()
        self._strangers(data, where, [one.name for one in section.parameters])
        return section.made(**self._values(section.parameters, data, where))

    def _values(self, parameters: Sequence[Parameter], data: Mapping[str, Any], where: Where) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for one in parameters:
            if one.name not in data:
                continue
            place = (*where, one.name)
            self.written.add(place)
            before = len(self.troubles)
            value = self._value(one, data[one.name], place)
            if len(self.troubles) > before:
                self.unread.add(place)
            else:
                values[one.attribute] = value
        return values

    def _value(self, parameter: Parameter, written: Any, place: Where) -> Any:
        if parameter.unit in {"spans", "drops"}:
            return self._stretches(parameter.unit == "drops", written, place)
        if parameter.unit == "names":
            return self._names(written, place)
        if written is None:
            if not parameter.optional:
                self._report(place, "is empty; write a value, or leave it out for the default")
            return None
        if parameter.choices:
            return self._word(parameter.choices, written, place)
        try:
            return value_in(parameter, written)
        except ValueError as error:
            return self._report(place, str(error), written)

    def _word(self, choices: Sequence[str], written: Any, place: Where) -> Any:
        if isinstance(written, str) and written in choices:
            return written
        return self._report(place, f"is not one of {', '.join(choices)}", written)

    def _names(self, written: Any, place: Where) -> dict[str, Any]:
        if written is None or not self._is_mapping(written, place, "http_requests: requests"):
            return {}
        if "" in written:
            self._report(place, "a metric without a name")
        return {str(name): self._word(SIGNALS, signal, (*place, str(name))) for name, signal in written.items()}

    def _stretches(self, are_drops: bool, written: Any, place: Where) -> tuple[Any, ...]:
        if written is None:
            return ()
        if not isinstance(written, list) or len(written) > _MOST_ELEMENTS:
            self._report(place, f"write a list of at most {_MOST_ELEMENTS} entries, such as '- {{start: 2h, end: 4h}}'")
            return ()
        return tuple(self._elements(are_drops, written, place))

    def _elements(self, are_drops: bool, written: list[Any], place: Where) -> Iterator[Any]:
        parts = DROP_PARTS if are_drops else SPAN_PARTS
        for i, one in enumerate(written):
            where = (*place, i)
            if not self._is_mapping(one, where, "start: 2h"):
                continue
            self._strangers(one, where, [part.name for part in parts])
            missing = [part.name for part in parts if one.get(part.name) is None]
            if missing:
                self._report(where, f"has no {' and no '.join(missing)}")
                continue
            values = [self._value(part, one[part.name], (*where, part.name)) for part in parts]
            if None in values:
                continue
            if values[1] <= values[0]:
                ends = [shown_in("seconds", value) for value in values[:2]]
                self._report((*where, "end"), f"{ends[1]} is not after the start, {ends[0]}")
            yield (Drop if are_drops else Span)(*values)

    def _strangers(self, data: Mapping[str, Any], where: Where, known: Sequence[str]) -> None:
        for name in data:
            if name not in known:
                near = similar(str(name)[:100], known, 1, 0.6)
                todo = f"did you mean {near[0]}?" if near else f"the parameters here are {', '.join(known)}"
                self._report((*where, str(name)), f"unknown parameter; {todo}")

    def _is_mapping(self, data: Any, where: Where, example: str) -> bool:
        if isinstance(data, Mapping):
            return True
        message = f"is not a mapping; write one, such as '{example}'"
        self._report(where or ("the world",), message, data)
        return False

    def _report(self, where: Where, message: str, value: Any = _UNREAD) -> None:
        reported = "" if value is _UNREAD else f"{_bounded(value)} "
        self.troubles.append(Trouble(where, f"{_bounded_text(dotted(where))}: {reported}{message}"))


def _bounded(value: Any) -> str:
    return _bounded_text(shown(value))


def _bounded_text(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:77]}..."
