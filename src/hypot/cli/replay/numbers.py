"""The numbers of the world that nobody wrote into a world file: what `hypot replay` says about them."""

import json
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

from hypot.cli.files import BadInput
from hypot.kinds.base import count_of
from hypot.replay.engine.used_numbers import TRACES, UsedNumber
from hypot.replay.policies.policy import Policy
from hypot.replay.traces.reading import OPTION
from hypot.replay.world.file import WorldFile

_STRICT = "--strict-world"
_LONGEST_VALUE = 200
# A space at which no line ends; it does not occur in names and values.
_KEPT = "\0"
# Other ways to give a number than the world file.
_ELSEWHERE = {"workload": "or give the manifest of the workload with -f"}


def number_lines(numbers: Sequence[UsedNumber], policies: Sequence[Policy], width: int) -> list[str]:
    """What was assumed, section by section, and what manifests and traces say."""
    lines: list[str] = []
    readings, assumed = _assumed(numbers)
    if readings:
        head = f"Assumed of the trace; {OPTION} KEY=VALUE says otherwise, and {_STRICT} refuses to assume:"
        lines += textwrap.wrap(head, width, break_on_hyphens=False)
        longest = max(len(one.parameter.name) for one in readings)
        for one in readings:
            shown = one.text if one.text[:1].isalnum() or one.text.startswith("[") else json.dumps(one.text)
            value = textwrap.shorten(shown, _LONGEST_VALUE, placeholder=" …")
            lines += _hanging(f"  {one.parameter.name:<{longest}}  ", f"{value}: {one.parameter.why}", width)
    if assumed:
        head = f"These numbers are assumed; --world FILE gives yours, and {_STRICT} refuses to assume:"
        lines += textwrap.wrap(head, width, break_on_hyphens=False)
        sections = _by_section(assumed)
        longest = max(map(len, sections))
        for name, some in sections.items():
            lines += _hanging(f"  {name:<{longest}}  ", _listed(some), width)
    everybody = set(_names(policies))
    for (source, names), some in _by_source(numbers).items():
        concerned = "" if set(names) == everybody else f" for {', '.join(names)}"
        listed = "; ".join(f"{section} {_listed(ones)}" for section, ones in _by_section(some).items())
        lines += _hanging("", f"From {source}{concerned}: {listed}", width)
    return lines


def _assumed(numbers: Iterable[UsedNumber]) -> tuple[list[UsedNumber], list[UsedNumber]]:
    """How traces are read, and numbers of the world."""
    assumed = [one for one in numbers if one.origin == "default"]
    return [one for one in assumed if one.section == TRACES], [one for one in assumed if one.section != TRACES]


def _by_section(numbers: Iterable[UsedNumber]) -> dict[str, list[UsedNumber]]:
    return {name: list(some) for name, some in groupby(numbers, key=lambda one: one.section)}


def _listed(numbers: Iterable[UsedNumber]) -> str:
    return ", ".join(f"{one.parameter.name}{_KEPT}{one.text}" for one in numbers)


def _hanging(begin: str, text: str, width: int) -> list[str]:
    """Wrapped below the first word; a name stays with its value."""
    after = " " * (len(begin) or 2)
    lines = textwrap.wrap(text, width, initial_indent=begin, subsequent_indent=after, break_on_hyphens=False)
    return [line.replace(_KEPT, " ") for line in lines]


def _by_source(numbers: Iterable[UsedNumber]) -> dict[tuple[str, tuple[str, ...]], list[UsedNumber]]:
    found: dict[tuple[str, tuple[str, ...]], list[UsedNumber]] = {}
    for one in numbers:
        if one.source:
            found.setdefault((one.source, one.policies), []).append(one)
    return found


def _names(policies: Iterable[Policy]) -> list[str]:
    return [policy.family or policy.name for policy in policies]


def refuse_assumed(numbers: Sequence[UsedNumber], given: WorldFile) -> None:
    """Raises with everything that would be assumed, as the parts of files that would give it."""
    readings, assumed = _assumed(numbers)
    lines: list[str] = []
    if assumed:
        where = f"write them in {given.file}" if given.file else "write them in a file, and name it with --world"
        lines += [f"{_STRICT}: {count_of(len(assumed), 'number')} would be assumed; {where}:", *_as_yaml(assumed)]
    if readings:
        head = f"{_STRICT}: how to read the trace would be assumed; write it in .hypot.toml, or as {OPTION} KEY=VALUE:"
        lines += [head, f"[{TRACES}]", *(_as_toml(one) for one in readings)]
    if lines:
        raise BadInput("\n".join(lines))


def _as_toml(reading: UsedNumber) -> str:
    value = str(reading.value)
    is_written = value.startswith("[") or value in {"true", "false"}
    return f"{reading.parameter.name} = {value if is_written else json.dumps(value)}  # {reading.parameter.why}"


def _as_yaml(numbers: Sequence[UsedNumber]) -> Iterator[str]:
    for name, some in groupby(numbers, key=lambda one: one.section):
        other = _ELSEWHERE.get(name)
        yield f"{name}:{f'  # {other}' if other else ''}"
        lines = [(f"  {one.parameter.name}: {_yaml_value(one)}", one.parameter.why) for one in some]
        longest = max(len(line) for line, _ in lines)
        yield from (f"{line:<{longest}}  # {why}" for line, why in lines)


def _yaml_value(number: UsedNumber) -> str:
    if number.value is None:
        return "null"
    return number.text.removeprefix("$")


def numbers_document(numbers: Iterable[UsedNumber]) -> list[dict[str, Any]]:
    """What -o json prints of them."""
    return [
        {
            "parameter": one.key,
            "value": one.value,
            "text": one.text,
            "from": one.origin,
            "source": one.source,
            "policies": list(one.policies),
        }
        for one in numbers
    ]
