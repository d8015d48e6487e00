"""A scenario in its folder: `scenario.yaml`, next to the manifests of a bad and a good policy, and maybe a pair."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from hypot.replay.scenario.conditions import ConditionError, ScoreCondition, parse
from hypot.replay.scenario.demand import FORMS, DemandError
from hypot.replay.scenario.measures import MeasureError, checked

FILE = "scenario.yaml"
SIDES = ("bad", "good")
# An HPA by request rate and a VPA by usage, for comparison: no condition needs to hold for it.
PAIR = "pair"
KINDS = ("loop", "decisions")
# The name of the only case of a scenario without variants.
ONLY = "as written"
# The keys of a file: about itself, about both sides, about each side, and about the checks.
_KEYS = {
    *("id", "title", "story", "differs", "waits", "kind", "variants", "quick"),
    *("settings", "world", "demand", "start", "every", "cycle", "looks", "ways", "orders", "needs"),
    *("by", "manifests", "patch"),
    *("measure", "show", "bar", "worse"),
}
_MAPPINGS = ("settings", "world", "demand", "start", "ways", "needs", "by", "manifests", "patch", "measure", "variants")
_LISTS = ("show", "bar", "worse", "looks")
_LINES = 3
_FORMS = frozenset(FORMS)


class ScenarioError(ValueError):
    """A scenario that cannot be run, with all problems of its file."""


@dataclass(frozen=True, slots=True)
class Case:
    """One variant of a scenario, complete: what is run for the bad and the good policy, and what must hold."""

    name: str
    bar: tuple[ScoreCondition, ...]
    worse: tuple[ScoreCondition, ...]
    # What is run: the whole mapping of the file, with the changes of the variant applied.
    data: Mapping[str, Any] = field(hash=False)


@dataclass(frozen=True, slots=True)
class Scenario:
    """A problem from practice, and how to reproduce it."""

    id: str
    title: str
    story: str
    # Which figures differ from the specification, and why.
    differs: str
    folder: Path
    kind: str
    # The feature that hypot lacks and this scenario needs; empty if it can be run.
    waits: str
    show: tuple[str, ...]
    cases: tuple[Case, ...] = field(hash=False)

    @property
    def sides(self) -> tuple[str, ...]:
        """Whose manifests are there."""
        return (*SIDES, PAIR) if (self.folder / f"{PAIR}.yaml").is_file() else SIDES

    @property
    def number(self) -> tuple[int, str]:
        """Its position among the scenarios."""
        digits = self.id[1:].partition("-")[0]
        return (int(digits) if digits.isdigit() else 0, self.id)


def read_scenario(folder: Path, *, quick: bool = False) -> Scenario:
    """The scenario of a folder; `quick`: in its reduced form."""
    path = folder / FILE
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ScenarioError(f"{path}: cannot be read: {error.strerror or error}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ScenarioError(f"{path}: is not valid YAML: {error}") from error
    problems = list(_problems(data))
    if problems:
        raise ScenarioError("\n".join(f"{path}: {problem}" for problem in problems))
    if quick:
        data = overlaid(data, data.get("quick") or {})
    try:
        cases = tuple(_cases(data))
    except (ConditionError, DemandError, MeasureError) as error:
        raise ScenarioError(f"{path}: {error}") from error
    return Scenario(
        data["id"],
        data["title"],
        str(data["story"]).strip(),
        str(data.get("differs", "")).strip(),
        folder,
        data.get("kind", "loop"),
        data.get("waits", ""),
        tuple(data["show"]),
        cases,
    )


def _problems(data: Any) -> Iterator[str]:
    if not isinstance(data, Mapping):
        yield "is not a mapping"
        return
    for key in ("id", "title", "story"):
        if not isinstance(data.get(key), str):
            yield f"has no {key}"
    for key in data:
        if key not in _KEYS:
            yield f"{key}: unknown key; the keys are {', '.join(sorted(_KEYS))}"
    yield from (f"{key}: is not a mapping" for key in (*_MAPPINGS, "quick") if not _is_one(data.get(key), Mapping))
    yield from (f"{key}: is not a list" for key in _LISTS if not _is_one(data.get(key), list))
    if data.get("kind", "loop") not in KINDS:
        yield f"kind: {data['kind']} is not one of {', '.join(KINDS)}"
    if data.get("kind") == "decisions" and "measure" in data:
        yield "measure: not allowed here, single decisions have their own figures"
    if len(str(data.get("story", "")).strip().splitlines()) != _LINES:
        yield f"story: write {_LINES} lines"
    yield from (f"has no {key}" for key in ("bar", "worse", "show") if not data.get(key))


def _is_one(value: Any, kind: type[Any]) -> bool:
    """Whether the value has this type, or is missing."""
    return value is None or isinstance(value, kind)


def _cases(data: Mapping[str, Any]) -> Iterator[Case]:
    variants: Mapping[str, Any] = data.get("variants") or {ONLY: {}}
    for name, changes in variants.items():
        made = overlaid(data, changes or {})
        for measured, measure in (made.get("measure") or {}).items():
            checked(measured, measure)
        yield Case(str(name), _conditions(made["bar"]), _conditions(made["worse"]), made)


def _conditions(written: Any) -> tuple[ScoreCondition, ...]:
    return tuple([parse(one) for one in written])


def overlaid(data: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """The data with the changes applied; None removes a key, and a demand of another form replaces the old demand."""
    made = dict(data)
    for key, change in changes.items():
        there = made.get(key)
        if change is None:
            made.pop(key, None)
        elif isinstance(change, Mapping) and isinstance(there, Mapping) and not _of_another_form(there, change):
            made[key] = overlaid(there, change)
        else:
            made[key] = change
    return made


def _of_another_form(there: Mapping[str, Any], change: Mapping[str, Any]) -> bool:
    return bool(_FORMS & set(there) and _FORMS & set(change) - set(there))
