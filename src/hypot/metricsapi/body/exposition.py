"""The lines of one metric in a Prometheus text or OpenMetrics body.

A body may have megabytes, of which a rule needs a few lines. Only the lines that begin with the name of the metric are
parsed.
"""

import re
from collections.abc import Iterator, Mapping
from enum import Enum
from functools import lru_cache
from math import isfinite
from typing import NamedTuple

# A line of a metric that is longer is an error: the largest real ones have a few kilobytes.
LONGEST_LINE = 64 * 1024
# Possessive (++): what was matched is never tried in another way, so a long line takes no longer than its length.
_QUOTED = rb'"(?:[^"\\\n]++|\\[^\n])*+"'
_LABEL_NAME, _IS = rb"[a-zA-Z_][a-zA-Z0-9_]*+", rb"[ \t]*+=[ \t]*+"
_LABELS = rb"[ \t]*+(?:" + _LABEL_NAME + _IS + _QUOTED + rb"[ \t]*+(?:,[ \t]*+|(?=\})))*+"
# After the name: labels in braces, a value, and what may follow it: a time, and an exemplar.
_REST = re.compile(
    rb"[ \t]*+(?:\{(" + _LABELS + rb")\})?[ \t]*+"
    rb"(?<=[ \t}])([^ \t\r\n]+)[ \t]*(?:[ \t]-?[0-9][0-9.eE+-]*[ \t]*)?(?:[ \t]# [^\n]*)?\r?"
)
_PAIR = re.compile((b"(" + _LABEL_NAME + b")" + _IS + b"(" + _QUOTED + b")").decode("ascii"))
_NUMBER = re.compile(rb"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
_ESCAPES = {"\\\\": "\\", '\\"': '"', "\\n": "\n"}
_ESCAPE = re.compile(r'\\[\\"n]')
# What comes before the name of a family in the line that says what it is.
_DECLARED = (b"# TYPE ", b"# HELP ")
# The end of a name whose family has another one, and the types of such a family.
_SUFFIXES = {
    "_total": (b"counter",),
    "_count": (b"histogram", b"summary"),
    "_sum": (b"histogram", b"summary"),
    "_bucket": (b"histogram",),
}
# Longer labels are read again each time, so that what is known of others takes a few megabytes.
_LONGEST_KNOWN = 512
# How often a name may occur, without its line being wanted, before other tasks have their turn.
_AT_ONCE = 64


class ExpositionError(ValueError):
    """A body that cannot be used: its target is faulty."""


class BodyLine(NamedTuple):
    """One line: its labels as they are written, and its value."""

    labels: bytes
    value: float


class Met(Enum):
    """What else is met while a body is read."""

    DECLARATION = "a line that says what the metric is"
    NOTHING = "nothing, for long: another task may run"


def is_metric_name(name: str) -> bool:
    return _NAME.fullmatch(name) is not None


def samples_of(body: bytes, name: str) -> list[BodyLine]:
    """All samples of this metric. Raises an ExpositionError if one of them cannot be read."""
    return [found for found in read(body, name.encode("ascii")) if isinstance(found, BodyLine)]


def read(body: bytes, name: bytes) -> Iterator[BodyLine | Met]:
    """All samples of this metric, one after the other. Raises an ExpositionError if one of them cannot be read."""
    at, length, passed = body.find(name), len(name), 0
    while at >= 0:
        after = at + length
        if body[after : after + 1] in b"{ \t" and after < len(body):
            if _begins_line(body, at):
                end = body.find(b"\n", after)
                end = len(body) if end < 0 else end
                if end - at > LONGEST_LINE:
                    raise ExpositionError(f"a line of {name.decode()} has more than {LONGEST_LINE:,} bytes")
                yield _sample(body, after, end, name)
                after = end
            elif body[max(at - 7, 0) : at] in _DECLARED and _begins_line(body, at - 7):
                yield Met.DECLARATION
        passed += 1
        if passed % _AT_ONCE == 0:
            yield Met.NOTHING
        at = body.find(name, after)


def declares_family(body: bytes, name: str) -> bool:
    """Whether these lines say what the metric is under the name of its family, as `http_requests` for its total."""
    for suffix, types in _SUFFIXES.items():
        if name.endswith(suffix) and name != suffix:
            line = b"# TYPE " + name.removesuffix(suffix).encode("ascii") + b" "
            at = 0 if body.startswith(line) else body.find(b"\n" + line) + 1
            return body.startswith(line, at) and body.startswith(types, at + len(line))
    return False


def _begins_line(body: bytes, at: int) -> bool:
    start = at - 1
    while start >= 0 and body[start] in b" \t":
        start -= 1
    return start < 0 or body[start] == 10  # a line feed


def _sample(body: bytes, start: int, end: int, name: bytes) -> BodyLine:
    match = _REST.fullmatch(body, start, end)
    if match is None:
        raise ExpositionError(f"a line of {name.decode()} cannot be read: {_shown(body[start:end])}")
    labels, number = match.groups()
    if _NUMBER.fullmatch(number) is None or not isfinite(value := float(number)):
        raise ExpositionError(f"a value of {name.decode()} is not a number: {_shown(number)}")
    return BodyLine(labels or b"", value)


def labels_of(sample: BodyLine) -> Mapping[str, str]:
    """The labels by name. Raises an ExpositionError if they are not UTF-8, or if a name occurs twice.

    A label without a value is the same as no label, as in Prometheus.
    """
    return _known(sample.labels) if len(sample.labels) <= _LONGEST_KNOWN else _labels(sample.labels)


def _labels(written: bytes) -> Mapping[str, str]:
    try:
        pairs = _PAIR.findall(written.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise ExpositionError(f"labels are not UTF-8: {_shown(written)}") from error
    found = {name: quoted[1:-1] for name, quoted in pairs}
    if len(found) < len(pairs):
        raise ExpositionError(f"a label occurs twice: {_shown(written)}")
    if b"\\" in written:
        found = {name: _ESCAPE.sub(lambda match: _ESCAPES[match.group()], text) for name, text in found.items()}
    return {key: value for key, value in found.items() if value} if b'""' in written else found


# The pods of a workload have the same labels, at each scrape again.
_known = lru_cache(8192)(_labels)


def _shown(text: bytes) -> str:
    return repr(text[:40].decode("ascii", "replace"))
