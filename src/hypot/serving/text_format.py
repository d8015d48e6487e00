"""The text format of Prometheus: the families that a server exposes, and their series."""

from collections.abc import Iterable, Iterator, Mapping
from math import isinf, isnan
from typing import Literal, NamedTuple

Type = Literal["gauge", "counter", "histogram"]
# How many lines are rendered before other tasks run: a few milliseconds of work.
LINES_AT_ONCE = 500
_ESCAPES = str.maketrans({"\\": "\\\\", "\n": "\\n", '"': '\\"'})


class MetricFamily(NamedTuple):
    """One metric name, and all series that have it."""

    name: str
    type: Type
    help: str
    labels: tuple[str, ...] = ()


class Sample(NamedTuple):
    """One series and its value; `labels` is the text between the braces."""

    name: str
    labels: str
    value: float
    # What a histogram appends to the name of its family.
    suffix: str = ""


def labelled(**labels: str) -> str:
    """Labels as text, as they are between the braces."""
    return ",".join([f'{name}="{value.translate(_ESCAPES)}"' for name, value in labels.items()])


def shown(value: float) -> str:
    if isinstance(value, int):
        return str(int(value))
    if isnan(value):
        return "NaN"
    if isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return repr(value)


def sort_in(samples: Iterable[Sample], lines: dict[str, list[str]]) -> None:
    """Add the line of each sample to those of its family."""
    for name, labels, value, suffix in samples:
        braced = f"{{{labels}}}" if labels else ""
        lines.setdefault(name, []).append(f"{name}{suffix}{braced} {shown(value)}\n")


def rendered(families: Iterable[MetricFamily], lines: dict[str, list[str]]) -> Iterator[bytes]:
    """The families that have lines, in slices: other tasks may run between two slices. The lines are used up."""
    for family in families:
        found = lines.pop(family.name, None)
        if found is None:
            continue
        yield f"# HELP {family.name} {family.help}\n# TYPE {family.name} {family.type}\n".encode()
        for first in range(0, len(found), LINES_AT_ONCE):
            yield "".join(found[first : first + LINES_AT_ONCE]).encode(errors="replace")


def family_table(parts: Mapping[str, Iterable[MetricFamily]]) -> str:
    """The families as a table for the documentation, under the title of each part."""
    lines = ["| name | type | labels | what it says |", "| --- | --- | --- | --- |"]
    for title, families in parts.items():
        lines.append(f"| **{title}** | | | |")
        for family in families:
            labels = ", ".join(f"`{label}`" for label in family.labels)
            lines.append(f"| `{family.name}` | {family.type} | {labels} | {family.help} |")
    return "\n".join(lines)
