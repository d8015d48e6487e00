"""The numbers of the world that nobody wrote into a world file: what `hypot replay` says about them."""

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

from hypot.cli.files import BadInput
from hypot.kinds.base import count_of
from hypot.replay.engine.used_numbers import UNIT, UsedNumber
from hypot.replay.policies.policy import Policy
from hypot.replay.world.file import WorldFile

_STRICT = "--strict-world"
# A space at which no line ends; it does not occur in names and values.
_KEPT = "\0"
# Other ways to give a number than the world file.
_ELSEWHERE = {"workload": "or give the manifest of the workload with -f"}


def number_lines(numbers: Sequence[UsedNumber], policies: Sequence[Policy], width: int) -> list[str]:
    """What was assumed, section by section, and what manifests and traces say."""
    lines: list[str] = []
    assumed = [one for one in numbers if one.origin == "default"]
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
    """Raises with everything that would be assumed, as the part of a world file that would give it."""
    assumed = [one for one in numbers if one.origin == "default"]
    if not assumed:
        return
    where = f"write them in {given.file}" if given.file else "write them in a file, and name it with --world"
    head = f"{_STRICT}: {count_of(len(assumed), 'number')} would be assumed; {where}:"
    raise BadInput("\n".join([head, *_as_yaml(assumed)]))


def _as_yaml(numbers: Sequence[UsedNumber]) -> Iterator[str]:
    for name, some in groupby(numbers, key=lambda one: one.section):
        other = _ELSEWHERE.get(name)
        yield f"{name}:{f'  # {other}' if other else ''}"
        lines = [(f"  {one.parameter.name}: {_yaml_value(one)}", _why(one)) for one in some]
        longest = max(len(line) for line, _ in lines)
        yield from (f"{line:<{longest}}  # {why}" for line, why in lines)


def _why(number: UsedNumber) -> str:
    more = " Or name the column of the trace requests or cores." if number.key == UNIT else ""
    return f"{number.parameter.why}{more}"


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
