"""The requests of a body by class, and the cpu that they took: what the cost of a request is learned from.

The lines are those that are read anyway. What is wrong with cpu fails no scrape: then nothing is learned of it.
"""

import json
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from hypot.kinds.selector import Selector
from hypot.metricsapi.body.exposition import BodyLine, labels_of

# Classes of a rule; further ones are one class.
MOST_CLASSES = 32
LONGEST_VALUE = 63
OTHER = "other"
# Lines whose class is remembered by their labels as they are written, and how long these may be.
_MOST_LINES, _LONGEST_LINE = 4096, 2048
_LARGEST = 1e15
# Values that are written as they are in the name of a class; the others are in quotes.
_PLAIN = re.compile(r"[-_.a-zA-Z0-9/]+")
_PART = re.compile(r'(?:!(\w+)|(\w+)=("(?:[^"\\]|\\.)*"|[^,"]*))(?:,|$)', re.ASCII)
# A line that the rule does not select.
_NONE = -1


class ScrapedRequests(NamedTuple):
    """The counts of one scrape: requests by class, and cpu seconds."""

    requests: tuple[float, ...]
    cpu: float


def name_of(values: Iterable[tuple[str, str]]) -> str:
    """The name of a class by the labels that make it; an empty value is an absent label."""
    return ",".join([f"{key}={_text(value)}" if value else f"!{key}" for key, value in values])


def values_in(name: str) -> list[tuple[str, str]]:
    """The labels of the class of this name."""
    found = [(match[1] or match[2], match[3] or "") for match in _PART.finditer(name)]
    return [(key, json.loads(value) if value.startswith('"') else value) for key, value in found]


def _text(value: str) -> str:
    return value if _PLAIN.fullmatch(value) else json.dumps(value, ensure_ascii=False)


class RequestClasses:
    """The classes of a rule, the same for all its pods. The first ones that are met have a class of their own.

    A name has the labels of the class, such as `verb=LIST`, so that a weight can select it.
    """

    def __init__(self, by: Sequence[str], where: Selector) -> None:
        self.names: list[str] = []
        self._by, self._where = by, where
        self._columns: dict[str, int] = {}
        self._lines: dict[bytes, int] = {}

    def column(self, line: BodyLine) -> int:
        """The number of its class; negative if the rule does not select the line."""
        known = self._lines.get(line.labels)
        if known is not None:
            return known
        found = self._found(line)
        if len(line.labels) <= _LONGEST_LINE:
            if len(self._lines) >= _MOST_LINES:
                self._lines.clear()
            self._lines[line.labels] = found
        return found

    def _found(self, line: BodyLine) -> int:
        labels = labels_of(line)
        if not self._where.matches(labels):
            return _NONE
        values = [(key, labels.get(key, "")) for key in self._by]
        if any(len(value) > LONGEST_VALUE for _, value in values):
            return self._column_of(OTHER)
        return self._column_of(name_of(values))

    def _column_of(self, name: str) -> int:
        if name not in self._columns:
            own = len(self._columns) - (OTHER in self._columns)
            if name != OTHER and own >= MOST_CLASSES:
                return self._column_of(OTHER)
            self._columns[name] = len(self.names)
            self.names.append(name)
        return self._columns[name]


class RequestCounts:
    """Adds up one body. `metric` is the number of the wanted metric whose lines are requests."""

    def __init__(self, classes: RequestClasses, metric: int, cpu: str) -> None:
        self.metric = metric
        self._classes, self.cpu = classes, cpu
        self._requests: list[float] = []
        self._cpu = 0.0
        self._has_cpu = False
        # Whether what was read cannot be used: then nothing is learned of this body.
        self.broken = False

    def add(self, line: BodyLine) -> None:
        column = self._classes.column(line)
        if column >= 0:
            self._requests += [0.0] * (column + 1 - len(self._requests))
            self._requests[column] += line.value

    def add_cpu(self, line: BodyLine) -> None:
        self._has_cpu = True
        self._cpu += line.value

    def close(self) -> ScrapedRequests | None:
        """The counts after the last line; None if they cannot be used."""
        if self.broken or not self._has_cpu or not all(0 <= each <= _LARGEST for each in (self._cpu, *self._requests)):
            return None
        return ScrapedRequests(tuple(self._requests), self._cpu)
