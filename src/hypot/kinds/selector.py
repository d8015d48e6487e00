"""Label selectors, in the text form of a Scale and the structured form of everything else."""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from hypot.core.dataclass import dataclass
from hypot.core.regex import regex
from hypot.kinds.values.names import label_value, qualified_name

# No workload needs a longer selector, and each decision reads it.
LONGEST = 16_384
_OPERATORS = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "!"}
_TERM = regex(
    r"\s*(?:(?P<absent>!\s*[^\s,=!()<>]+)"
    r"|(?P<key>[^\s,=!()<>]+)(?:\s*(?P<op>==|=|!=|<|>)\s*(?P<value>[^\s,=!()<>]*)"
    r"|\s+(?P<set>in|notin)\s*\((?P<values>[^()]*)\))?)\s*(?P<more>,|$)"
)


class SelectorError(ValueError):
    """An invalid selector."""


@dataclass(frozen=True, slots=True)
class Requirement:
    key: str
    operator: str
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        value = labels.get(self.key)
        if self.operator == "in":
            return value in self.values
        if self.operator == "notin":
            return value is None or value not in self.values
        if self.operator in {"<", ">"}:
            return _compares(value, self.operator, self.values[0])
        return (value is not None) == (self.operator == "exists")


def _compares(value: str | None, operator: str, bound: str) -> bool:
    if value is None or not re.fullmatch(r"-?\d{1,18}", value):
        return False
    return int(value) < int(bound) if operator == "<" else int(value) > int(bound)


@dataclass(frozen=True, slots=True)
class Selector:
    """A set of requirements that must all hold. An empty set matches everything."""

    requirements: tuple[Requirement, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        for requirement in self.requirements:  # noqa: SIM110  twice as fast as all(...), and called for each pod
            if not requirement.matches(labels):
                return False
        return True


@lru_cache(4096)
def parse_selector(text: str) -> Selector:
    """Read `app=web,tier in (a,b),!canary`."""
    return Selector(tuple(_terms(text)))


def _terms(text: str) -> Iterator[Requirement]:
    if len(text) > LONGEST:
        raise SelectorError(f"the selector has {len(text)} characters, and at most {LONGEST} are read")
    position, end = 0, len(text.rstrip())
    while position < end:
        match = _TERM.match(text, position)
        if match is None:
            raise SelectorError(f"unable to parse requirement: {text[position:].strip()!r} in {text!r}")
        position = match.end()
        yield _requirement(match)
        if match["more"] and position >= end:
            raise SelectorError(f"found the end after ',', expected a label key in {text!r}")


def _requirement(match: "re.Match[str]") -> Requirement:
    if match["absent"]:
        return _checked(Requirement(match["absent"][1:].strip(), "!"))
    key, operator = match["key"], match["op"]
    if operator is None and match["set"] is None:
        return _checked(Requirement(key, "exists"))
    if operator is None:
        return _checked(Requirement(key, match["set"], tuple(v.strip() for v in match["values"].split(","))))
    if operator in {"<", ">"} and not re.fullmatch(r"-?\d{1,18}", match["value"]):
        raise SelectorError(f"for 'Gt', 'Lt' operators, the value must be an integer: {match['value']!r}")
    word = operator if operator in {"<", ">"} else "notin" if operator == "!=" else "in"
    return _checked(Requirement(key, word, (match["value"],)))


def _checked(requirement: Requirement) -> Requirement:
    for message in qualified_name(requirement.key):
        raise SelectorError(f"invalid label key {requirement.key!r}: {message}")
    for value in requirement.values if requirement.operator in {"in", "notin"} else ():
        for message in label_value(value):
            raise SelectorError(f"invalid label value {value!r}: {message}")
    return requirement


def read_selector(data: Mapping[str, Any] | None) -> Selector:
    """Read matchLabels and matchExpressions. An absent selector matches everything here, but nothing elsewhere."""
    read = read_line_selector(data)
    for requirement in read.requirements:
        _checked(requirement)
    return read


def read_line_selector(data: Mapping[str, Any] | None) -> Selector:
    """The same for lines of metrics, whose labels may have any text; who reads it checks their names."""
    if not data:
        return Selector()
    labels = data.get("matchLabels") or {}
    expressions = data.get("matchExpressions") or ()
    if not isinstance(labels, Mapping) or not isinstance(expressions, list | tuple):
        raise SelectorError("matchLabels must be a mapping and matchExpressions a list")
    equal = [Requirement(str(k), "in", (str(v),)) for k, v in labels.items()]
    return Selector((*equal, *(_expression(e) for e in expressions)))


def _expression(data: Any) -> Requirement:
    word = data.get("operator") if isinstance(data, Mapping) else None
    operator = _OPERATORS.get(word) if isinstance(word, str) else None
    if operator is None:
        raise SelectorError(f"{word!r} is not a valid label selector operator")
    listed = data.get("values") or []
    if not isinstance(listed, list | tuple):
        raise SelectorError(f"the values of {data.get('key')!r} must be a list")
    values = tuple(str(v) for v in listed)
    if (operator in {"in", "notin"}) != bool(values):
        raise SelectorError(f"values must {'' if not values else 'not '}be given for operator {word}")
    return Requirement(str(data.get("key") or ""), operator, values)


def show_selector(data: Mapping[str, Any] | None) -> str:
    """The text form of a structured selector, as a Scale carries it."""
    parts = [f"{r.key}={r.values[0]}" if _is_equality(r) else _set_text(r) for r in read_selector(data).requirements]
    return ",".join(parts)


def _is_equality(requirement: Requirement) -> bool:
    return requirement.operator == "in" and len(requirement.values) == 1


def _set_text(requirement: Requirement) -> str:
    if requirement.operator == "exists":
        return requirement.key
    if requirement.operator == "!":
        return f"!{requirement.key}"
    return f"{requirement.key} {requirement.operator} ({_joined(requirement.values)})"


def _joined(values: Iterable[str]) -> str:
    return ",".join(sorted(values))


def selector_of(data: Any) -> Selector | None:
    """The parsed selector, or None if it is missing or invalid."""
    if not isinstance(data, Mapping):
        return None
    try:
        return read_selector(data)
    except SelectorError:
        return None
