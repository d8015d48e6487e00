"""The lines of one metric in a Prometheus text or OpenMetrics body.

A body may have megabytes, of which a rule needs a few lines. Only the lines that begin with the name of the metric are
parsed.
"""

import re
from collections.abc import Iterator, Mapping
from math import isfinite
from typing import NamedTuple

# A line of a metric that is longer is an error: the largest real ones have a few kilobytes.
LONGEST_LINE = 64 * 1024
# Possessive (++): what was matched is never tried in another way, so a long line takes no longer than its length.
_QUOTED = rb'"(?:[^"\\\n]++|\\[^\n])*+"'
# After the name: labels in braces, a value, and what may follow it: a time, and an exemplar.
_REST = re.compile(
    rb"[ \t]*(?:\{((?:[^\"{}\n]++|" + _QUOTED + rb")*+)\})?[ \t]*"
    rb"(?<=[ \t}])([^ \t\r\n]+)[ \t]*(?:[ \t]-?[0-9][0-9.eE+-]*[ \t]*)?(?:[ \t]# [^\n]*)?\r?"
)
_LABEL = re.compile(rb"[ \t]*([a-zA-Z_][a-zA-Z0-9_]*)[ \t]*=[ \t]*(" + _QUOTED + rb")[ \t]*(,|$)")
_NUMBER = re.compile(rb"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
_ESCAPES = {b"\\\\": b"\\", b'\\"': b'"', b"\\n": b"\n"}
_ESCAPE = re.compile(rb'\\[\\"n]')


class ExpositionError(ValueError):
    """A body that cannot be used: its target is faulty."""


class BodyLine(NamedTuple):
    """One line: its labels as they are written, and its value."""

    labels: bytes
    value: float


def is_metric_name(name: str) -> bool:
    return _NAME.fullmatch(name) is not None


def samples_of(body: bytes, name: str) -> list[BodyLine]:
    """All samples of this metric. Raises an ExpositionError if one of them cannot be read."""
    return list(_samples(body, name.encode("ascii")))


def _samples(body: bytes, name: bytes) -> Iterator[BodyLine]:
    at, length = body.find(name), len(name)
    while at >= 0:
        after = at + length
        if body[after : after + 1] in b"{ \t" and after < len(body) and _begins_line(body, at):
            end = body.find(b"\n", after)
            end = len(body) if end < 0 else end
            if end - at > LONGEST_LINE:
                raise ExpositionError(f"a line of {name.decode()} has more than {LONGEST_LINE:,} bytes")
            yield _sample(body, after, end, name)
            after = end
        at = body.find(name, after)


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
    """The labels by name. Raises an ExpositionError if they cannot be read, or if a name occurs twice.

    A label without a value is the same as no label, as in Prometheus.
    """
    found: dict[str, str] = {}
    text, at = sample.labels, 0
    while at < len(text):
        match = _LABEL.match(text, at)
        if match is None:
            if text[at:].strip(b" \t"):
                raise ExpositionError(f"labels cannot be read: {_shown(text)}")
            break
        name, quoted, _ = match.groups()
        if (key := name.decode("ascii")) in found:
            raise ExpositionError(f"the label {key} occurs twice: {_shown(text)}")
        try:
            found[key] = _ESCAPE.sub(lambda match: _ESCAPES[match.group()], quoted[1:-1]).decode("utf-8")
        except UnicodeDecodeError as error:
            raise ExpositionError(f"the label {key} is not UTF-8") from error
        at = match.end()
    return {key: value for key, value in found.items() if value} if b'""' in text else found


def _shown(text: bytes) -> str:
    return repr(text[:40].decode("ascii", "replace"))
