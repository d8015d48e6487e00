"""Reads MetricRules from a file, and reports everything that is wrong with it by file and line."""

from collections.abc import Iterator, Mapping
from typing import Any

from hypot.kinds.metric_rules import MetricRules
from hypot.kinds.problem import Problem, shown
from hypot.kinds.text.load import LoadError, load
from hypot.kinds.values.nested import inner, mappings


class RulesError(ValueError):
    """Rules that cannot be used, with all problems, one per line."""


def read_rules(file: str) -> MetricRules:
    """The rules of a file, YAML or JSON."""
    try:
        found = list(load([file]))
    except LoadError as error:
        raise RulesError(str(error)) from error
    rules = [one for one in found if one.data.get("kind") == MetricRules.KIND]
    if len(rules) != 1 or len(found) != 1:
        raise RulesError(f"{file}: must have one object of kind {MetricRules.KIND} and nothing else")
    (one,) = rules
    made = MetricRules.from_dict(one.data)
    wrong = sorted((one.source.line_of(each.where), words(each)) for each in problems_of(made, one.data))
    if wrong:
        raise RulesError("\n".join(f"{file}:{line}: {message}" for line, message in wrong))
    return made


def problems_of(made: MetricRules, data: Mapping[str, Any]) -> Iterator[Problem]:
    """The problems of rules, also what only their text shows."""
    yield from made.problems()
    for i, rule in enumerate(mappings(inner(data, "spec").get("rules"))):
        if "namespaces" in rule and rule["namespaces"] is None:
            message = "is empty, which would mean all namespaces; write names, or leave it out"
            yield Problem("empty-namespaces", "Required", ("spec", "rules", i, "namespaces"), message)


def rules_of(data: Mapping[str, Any]) -> MetricRules:
    """The rules of a mapping, which must be valid."""
    made = MetricRules.from_dict(data)
    if wrong := [words(each) for each in problems_of(made, data)]:
        raise RulesError("\n".join(wrong))
    return made


def words(problem: Problem) -> str:
    """A problem as text. This file is not decoded by an API server, so its messages do not help."""
    if problem.rule == "unknown-field":
        return f"{problem.field}: unknown field; {problem.hint}"
    if problem.kind == "Decode":
        return f"{problem.field}: {problem.hint or problem.message}"
    value = f"{shown(problem.value)} " if problem.kind == "Invalid" else ""
    return f"{problem.field}: {value}{problem.message}{f'; {problem.hint}' if problem.hint else ''}"
