"""A problem of an object: readable as text, as JSON, and with the path that leads to its line."""

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Literal

from hypot.core.dataclass import dataclass
from hypot.core.similar import similar

Severity = Literal["error", "warning", "advice"]
Where = tuple[str | int, ...]

# How many names a message lists at most.
NAMED = 3

# The API server's text for each kind of error, and whether it shows the value.
_WORDS = {
    "Required": ("Required value", False),
    "Invalid": ("Invalid value", True),
    "NotSupported": ("Unsupported value", True),
    "Forbidden": ("Forbidden", False),
    "TooLong": ("Too long", False),
    "TooMany": ("Too many", True),
    "Duplicate": ("Duplicate value", True),
}


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem. `field` is the Kubernetes path, `path` the Python path.

    >>> problem = HPA.from_dict({"spec": {"minReplicas": "2"}}).problems()[1]
    >>> problem.field, problem.path, problem.hint
    ('spec.minReplicas', 'min_replicas', 'write 2 without quotes, as a number')
    """

    rule: str
    kind: str
    where: Where
    message: str
    value: Any = None
    hint: str = ""
    severity: Severity = "error"
    path: str = ""
    # The field that was meant, if this one does not exist.
    meant: Where = ()

    @property
    def field(self) -> str:
        return dotted(self.where)

    def __str__(self) -> str:
        """The API server's own rendering: path, kind, value, message."""
        message, shows_value = _WORDS.get(self.kind, ("", False))
        parts = [self.field, message, shown(self.value) if shows_value else "", self.message]
        return ": ".join(part for part in parts if part)

    def to_dict(self) -> dict[str, Any]:
        return {
            "rule": self.rule,
            "severity": self.severity,
            "kind": self.kind,
            "field": self.field,
            "path": self.path,
            "value": self.value if isinstance(self.value, str | int | float | bool | None) else shown(self.value),
            "message": self.message,
            "hint": self.hint,
        }


def without_consequences(problems: Iterable[Problem]) -> Iterator[Problem]:
    """One problem for one mistake.

    Left out is what else is wrong with a field that is missing, and that a field is missing that was written under
    another name.
    """
    found = list(problems)
    missing = {problem.where for problem in found if problem.kind == "Required"}
    meant = [problem.meant for problem in found if problem.meant]
    for problem in found:
        required = problem.kind == "Required"
        if not required and problem.where in missing:
            continue
        if not (required and any(problem.where[: len(place)] == place for place in meant)):
            yield problem


def dotted(where: Sequence[str | int]) -> str:
    text = ""
    for part in where:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def shown(value: Any) -> str:
    """A value as the API server prints it: JSON."""
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except (ValueError, TypeError, RecursionError):
        return f"a {type(value).__name__} that JSON cannot represent"


def unsupported(allowed: Iterable[str]) -> str:
    """The API server's list of supported values."""
    return "supported values: " + ", ".join(f'"{word}"' for word in sorted(allowed))


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A hint with the most similar known word; empty if none is similar."""
    by_lower = {name.lower(): name for name in known}
    near = similar(word.lower(), by_lower, 1, 0.6)
    return f"did you mean {by_lower[near[0]]}?" if near else ""


def below(rule: str, value: int | None, least: int, where: Where) -> Iterator[Problem]:
    if value is not None and value < least:
        yield Problem(rule, "Invalid", where, f"must be greater than or equal to {least}", value)


def in_order(low: int, high: int | None) -> str:
    """The hint for a minReplicas above maxReplicas."""
    lower = f", or lower minReplicas to {high} or less" if high is not None and high > 0 else ""
    return f"raise maxReplicas to {low} or more{lower}"


def too_many(rule: str, count: int, most: int, where: Where, hint: str = "") -> Iterator[Problem]:
    if count > most:
        yield Problem(rule, "TooMany", where, f"must have at most {most} item{'s' if most > 1 else ''}", count, hint)


def some(names: Iterable[object], total: int | None = None) -> str:
    """At most three names for a message: `a, b, c and 4 more`. With a total, only the first names are read."""
    known = names if isinstance(names, list) else list(islice(names, NAMED))
    count = len(known) if total is None else total
    shown = [str(name) for name in known[:NAMED]]
    if count > len(shown):
        return f"{', '.join(shown)} and {count - len(shown)} more"
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)
