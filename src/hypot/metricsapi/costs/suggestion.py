"""Weights for a rules file, from what `/metrics` of the metrics server says about costs."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import yaml

from hypot.metricsapi.body.exposition import labels_of, samples_of
from hypot.metricsapi.body.request_classes import OTHER, values_in
from hypot.metricsapi.costs import families

# Below this share of explained variance, something else uses the cpu.
LEAST_EXPLAINED = 0.5
_SMALL = 0.1


class ClassCost(NamedTuple):
    """A class of requests, by its selector; cost and weight are None if they are not known yet."""

    name: str
    cost: float | None
    error: float | None
    weight: float | None
    shared: bool


class Suggestion(NamedTuple):
    """What is suggested for a rule."""

    rule: str
    observations: float
    explained: float
    classes: tuple[ClassCost, ...]

    @property
    def weighted(self) -> list[ClassCost]:
        """The classes that get a weight, the most expensive ones first."""
        found = [each for each in self.classes if each.weight is not None and each.name != OTHER]
        return sorted(found, key=lambda each: (-(each.weight or 0.0), each.name))


def suggestions_in(body: bytes) -> list[Suggestion]:
    """The suggestions in a page of metrics. Raises an ExpositionError for a page that cannot be read."""
    by_rule = {rule: value for (rule, _), value in _values(body, families.OBSERVATIONS).items()}
    explained = _values(body, families.EXPLAINED)
    costs, errors = _values(body, families.COST), _values(body, families.COST_ERROR)
    weights, shared = _values(body, families.WEIGHT), _values(body, families.SHARED)
    return [
        Suggestion(
            rule,
            observations,
            explained.get((rule, ""), 0.0),
            tuple(
                ClassCost(key[1], costs.get(key), errors.get(key), weights.get(key), value > 0)
                for key, value in shared.items()
                if key[0] == rule
            ),
        )
        for rule, observations in by_rule.items()
    ]


def _values(body: bytes, name: str) -> dict[tuple[str, str], float]:
    """The values of a family by rule and class."""
    found = [(labels_of(line), line.value) for line in samples_of(body, name)]
    return {(labels.get("rule", ""), labels.get("class", "")): value for labels, value in found}


def lines_of(suggestion: Suggestion) -> Iterator[str]:
    """The suggestion as YAML, with its reasons as comments."""
    observations, explained = suggestion.observations, suggestion.explained
    yield f"# Rule {suggestion.rule}: {observations:.0f} observations explain {explained:.0%} of the variance of cpu."
    if suggestion.weighted:
        if explained < LEAST_EXPLAINED:
            yield "# That is little: something else uses the cpu, so do not rely on these weights."
        yield "# Write them into the metric with learnCost. The sum of the mix stays, and so does the HPA target."
        yield "weights:"
        for each in suggestion.weighted:
            entry = {"where": where_of(each.name), "weight": _rounded(each.weight or 0.0)}
            text = yaml.safe_dump(entry, default_flow_style=True, sort_keys=False, width=10_000).strip()
            yield f"- {text} # {_reason(each)}"
    else:
        yield "# No cost is known yet: there are too few observations, or requests hardly vary."
    if unknown := sorted(each.name for each in suggestion.classes if each.weight is None):
        yield f"# Not known yet, so they count 1: {', '.join(unknown)}"
    if any(each.name == OTHER and each.weight is not None for each in suggestion.classes):
        yield f"# {OTHER}: all classes above the limit, and long values of labels; they count once."


def _rounded(weight: float) -> float:
    """Two decimals, and two digits of a small one: 0.0025 is not nothing."""
    return round(weight, 2) if weight >= _SMALL else float(f"{weight:.2g}")


def _reason(each: ClassCost) -> str:
    error = "" if each.error is None else f" ± {1000 * each.error:.2g}"
    common = ", one cost for classes that always move together" if each.shared else ""
    return f"{1000 * (each.cost or 0.0):.3g}{error} ms of cpu{common}"


def where_of(name: str) -> Mapping[str, Any]:
    """The selector of a class, as a weight has it."""
    labels = {key: value for key, value in values_in(name) if value}
    absent = [{"key": key, "operator": "DoesNotExist"} for key, value in values_in(name) if not value]
    return {**({"matchLabels": labels} if labels else {}), **({"matchExpressions": absent} if absent else {})}
