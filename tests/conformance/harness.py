"""Runs the test cases of other projects: one pytest parameter per case of a vector file, known differences applied.

A module decorates one function per section of a file. The function takes a case, translates its `given` into calls of
hypot and asserts its `expect`. It needs no fixture, so that the check for stale deviations can run it again:

    @each_case("hpa_defaults.json")
    def test_defaults(case): ...

`deviations.toml` lists where hypot differs on purpose. A case that matches an entry still runs: it passes if it agrees,
and is an expected failure with the entry's reason if it does not. It also lists the cases of functions that hypot has
no counterpart of: they are skipped, with the reason.
"""

import functools
import json
import operator
import os
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

VARIABLE = "HYPOT_VECTORS"
DEVIATIONS = Path(__file__).with_name("deviations.toml")

Case = dict[str, Any]
Check = Callable[[Case], None]

# (file, section) -> the checks that modules declare for it.
CHECKS: dict[tuple[str, str], dict[str, Check]] = {}


def vector_file(name: str) -> Path:
    """The path of a vector file: in the folder that the variable names, else next to the repository."""
    folder = os.environ.get(VARIABLE)
    return (Path(folder) if folder else Path(__file__).resolve().parents[3] / "shared" / "vectors") / name


def load_cases(file: str, section: str = "cases") -> list[Case]:
    """The cases of one section; the calling module is skipped if the file is missing."""
    path = vector_file(file)
    if not path.is_file():
        reason = f"{file} is not there: no {path}; set {VARIABLE} to the folder that holds it"
        pytest.skip(reason, allow_module_level=True)
    return json.loads(path.read_text(encoding="utf-8"))[section]


def unique_ids(cases: list[Case]) -> list[str]:
    """The names of the cases; the second case of the same name is called `name #2`."""
    seen: dict[str, int] = {}
    ids = []
    for case in cases:
        seen[case["name"]] = count = seen.get(case["name"], 0) + 1
        ids.append(case["name"] if count == 1 else f"{case['name']} #{count}")
    return ids


def each_case(file: str, section: str = "cases") -> Callable[[Check], Check]:
    """Run the decorated function once per case."""
    cases = load_cases(file, section)

    def decorate(check: Check) -> Check:
        CHECKS.setdefault((file, section), {})[check.__name__] = check

        @functools.wraps(check)
        def run(case: Case) -> None:
            absent = next((each for each in inapplicable() if each.covers(file, case)), None)
            if absent is not None:
                pytest.skip(absent.reason)
            known = next((d for d in deviations() if d.covers(file, case)), None)
            try:
                check(case)
            except AssertionError:
                if known is None:
                    raise
                pytest.xfail(known.reason)

        return pytest.mark.parametrize("case", cases, ids=unique_ids(cases))(run)

    return decorate


def function_of(given: Mapping[str, Any]) -> Any:
    """The function that a case calls; custom_metrics.json calls it the kind of the case."""
    return given.get("function", given.get("kind"))


@dataclass(frozen=True, slots=True)
class Deviation:
    """Where hypot differs on purpose: one case by its name, or every case whose `given` meets all conditions."""

    file: str
    reason: str
    function: str | None = None
    case: str | None = None
    when: tuple[str, ...] = ()
    # No available case shows the difference; another case of the same shape may.
    unseen: bool = False

    def covers(self, file: str, case: Case) -> bool:
        given = case.get("given", case)
        if file != self.file or (self.function is not None and function_of(given) != self.function):
            return False
        return case["name"] == self.case if self.case is not None else all(holds(c, given) for c in self.when)

    def differing(self) -> Iterator[str]:
        """The covered cases whose result differs from what their file expects."""
        for (file, section), checks in CHECKS.items():
            covered = (c for c in load_cases(file, section) if self.covers(file, c)) if file == self.file else ()
            for case in covered:
                if any(_fails(check, case) for check in checks.values()):
                    yield case["name"]


@dataclass(frozen=True, slots=True)
class Inapplicable:
    """Functions of a vector file that have no counterpart here; of their cases those whose `given` meets `when`."""

    file: str
    functions: tuple[str, ...]
    reason: str
    when: tuple[str, ...] = ()

    def covers(self, file: str, case: Case) -> bool:
        given = case.get("given", case)
        here = file == self.file and function_of(given) in self.functions
        return here and all(holds(condition, given) for condition in self.when)


def _fails(check: Check, case: Case) -> bool:
    try:
        check(case)
    except AssertionError:
        return True
    except (pytest.skip.Exception, pytest.fail.Exception):
        return False
    return False


@functools.cache
def entries() -> tuple[dict[str, Any], ...]:
    """The entries of the file, as written."""
    return tuple(tomllib.loads(DEVIATIONS.read_text(encoding="utf-8")).get("deviation", ()))


@functools.cache
def deviations() -> tuple[Deviation, ...]:
    """The well-formed entries; malformed entries excuse nothing."""
    return tuple(deviation(entry) for entry in entries() if not faults(entry))


@functools.cache
def absent_entries() -> tuple[dict[str, Any], ...]:
    """The entries for functions without a counterpart, as written."""
    return tuple(tomllib.loads(DEVIATIONS.read_text(encoding="utf-8")).get("not_applicable", ()))


@functools.cache
def inapplicable() -> tuple[Inapplicable, ...]:
    """The well-formed entries; malformed entries excuse nothing."""
    return tuple(without_counterpart(entry) for entry in absent_entries() if not absence_faults(entry))


def without_counterpart(entry: Mapping[str, Any]) -> Inapplicable:
    lists = {key: tuple(entry.get(key, ())) for key in ("functions", "when")}
    return Inapplicable(**{**entry, **lists})


def absence_faults(entry: Mapping[str, Any]) -> list[str]:
    """What is wrong with an entry for functions without a counterpart, as text."""
    message = [f"unknown key {key}" for key in entry if key not in Inapplicable.__dataclass_fields__]
    message += [f"{key} must be text" for key in ("file", "reason") if not isinstance(entry.get(key), str)]
    if not str(entry.get("reason", "")).endswith("."):
        message.append("reason must be a sentence")
    functions, when = entry.get("functions"), entry.get("when", [])
    if not isinstance(functions, list) or not functions or not all(isinstance(each, str) for each in functions):
        message.append("functions must be a list of names")
    if not isinstance(when, list) or not all(_is_condition(text) for text in when):
        message.append("when must be a list of conditions")
    return message


def deviation(entry: Mapping[str, Any]) -> Deviation:
    return Deviation(**{**entry, "when": tuple(entry.get("when", ()))})


def faults(entry: Mapping[str, Any]) -> list[str]:
    """What is wrong with an entry, as text."""
    message = [f"unknown key {key}" for key in entry if key not in Deviation.__dataclass_fields__]
    message += [f"{key} must be text" for key in ("file", "reason") if not isinstance(entry.get(key), str)]
    message += [f"{key} must be text" for key in ("function", "case") if not isinstance(entry.get(key, ""), str)]
    if not str(entry.get("reason", "")).endswith("."):
        message.append("reason must be a sentence")
    if ("case" in entry) == ("when" in entry):
        message.append("needs either case or when")
    when = entry.get("when", ["x is present"])
    if not isinstance(when, list) or not when:
        return [*message, "when must be a list of conditions"]
    return message + [f"not a condition: {text}" for text in when if not _is_condition(text)]


CONDITION = re.compile(r"(?P<path>\S+) (?:is (?P<is>absent|present)|(?P<op>==|!=|<=|>=|<|>|contains) (?P<value>.+))")
OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "contains": operator.contains,
}


def _is_condition(text: object) -> bool:
    match = CONDITION.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        return False
    value = match["value"] or "null"
    try:
        return value.startswith("@") or bool(json.dumps(json.loads(value)))
    except ValueError:
        return False


def holds(condition: str, given: Any) -> bool:
    """Whether a condition such as `spec.metrics[0].type == "External"` holds; `@path` is the value at another path.

    Null counts as absent; a comparison with an absent value is false.
    """
    match = CONDITION.fullmatch(condition)
    if match is None:
        raise ValueError(f"{condition!r} is not a condition")
    value = look_up(given, match["path"])
    if match["is"] or value is None:
        return match["is"] == ("absent" if value is None else "present")
    other = match["value"]
    known = look_up(given, other[1:]) if other.startswith("@") else json.loads(other)
    try:
        return known is not None and OPERATORS[match["op"]](value, known)
    except TypeError:
        return False


def look_up(value: Any, path: str) -> Any:
    """The value at `a.b[0].c`, or None."""
    for name, index in re.findall(r"([^.\[\]]+)|\[(\d+)\]", path):
        if name:
            value = value.get(name) if isinstance(value, dict) else None
        else:
            value = value[int(index)] if isinstance(value, list) and int(index) < len(value) else None
    return value
