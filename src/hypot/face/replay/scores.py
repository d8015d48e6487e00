"""Scores prepared for display: which columns, with how many digits, and which policy is best."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from math import isinf, isnan
from statistics import median
from typing import Any, NamedTuple

from hypot.core.amount import MEMORY, readable
from hypot.face.replay.value import REFERENCES
from hypot.replay.score.scorecard import Better, Scores, families
from hypot.replay.world.parameters import Shapes

NOTHING = "-"
# Scores by workload and policy.
Fleet = Mapping[str, Mapping[str, Scores]]


class ScoreColumn(NamedTuple):
    """One score: its key, its heading and meaning, and how to read and compare it."""

    key: str
    head: str
    unit: str
    better: Better
    digits: int
    why: str
    of: Callable[[Scores], float | None]
    # The family of the score, for the table of all scores.
    group: str = ""


class Spread(NamedTuple):
    """One score of one policy over a fleet."""

    median: float
    worst: float


def _reader(name: str) -> Callable[[Scores], float | None]:
    return lambda scores: getattr(scores, name)


def _column(name: str, head: str = "", unit: str | None = None) -> ScoreColumn:
    given: Any = next(f for f in fields(Scores) if f.name == name)
    about = given.metadata
    unit = about["unit"] if unit is None else unit
    head = head or name.replace("_", " ")
    group = next(family for family, scores in families().items() if given in scores)
    return ScoreColumn(name, head, unit, about["better"], about["digits"], about["why"], _reader(name), group)


def changes(scores: Scores) -> float | None:
    """Changes of replicas and sizes together."""
    known = [value for value in (scores.replica_changes, scores.size_changes) if value is not None]
    return sum(known) if known else None


ALL = tuple([_column(f.name) for f in fields(Scores)])
CHOSEN = (
    _column("cost"),
    _column("to_lower_bound", "cost", "x bound"),
    _column("late"),
    _column("lost"),
    _column("p99"),
    _column("cpu_hours", "cpu", "core-h"),
    _column("peak_pods", "peak", "pods"),
    ScoreColumn("changes", "changes", "/day", "low", 1, "Changes of replicas and of the pod size.", changes),
    _column("restarts"),
    _column("price"),
)
# The scores that summarise a fleet.
SPREAD = tuple([column for column in CHOSEN if column.key in {"to_lower_bound", "late", "lost", "p99", "changes"}])
# The score that decides which policy wins a workload.
WINS = CHOSEN[-1]


def shown(column: ScoreColumn, value: float | None) -> str:
    """The value with the digits of the score; a positive value is never shown as zero."""
    if value is None or isnan(value):
        return NOTHING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinf(value):
        return "inf" if value > 0 else "-inf"
    text = f"{value:.{column.digits}f}"
    least = 10.0**-column.digits
    return f"<{least:.{column.digits}f}" if 0 < value < least / 2 else text


def best_of(column: ScoreColumn, scores: Mapping[str, Scores]) -> frozenset[str]:
    """The policies with the best value, as shown; empty if it is the same for all."""
    return best_among(column, {name: column.of(one) for name, one in scores.items()})


def best_among(column: ScoreColumn, values: Mapping[str, float | None]) -> frozenset[str]:
    known = {
        name: value
        for name, value in values.items()
        if name not in REFERENCES and value is not None and not isnan(value)
    }
    if not column.better or len(known) < 2:
        return frozenset()
    first = min(known.values()) if column.better == "low" else max(known.values())
    best = frozenset(name for name, value in known.items() if shown(column, value) == shown(column, first))
    return best if len(best) < len(known) else frozenset()


def rows_of(scores: Mapping[str, Scores]) -> dict[str, Scores]:
    """The policies as they were given, then the references."""
    competing = {name: one for name, one in scores.items() if name not in REFERENCES}
    return competing | {name: scores[name] for name in REFERENCES if name in scores}


def known_of(scores: Mapping[str, Scores]) -> tuple[ScoreColumn, ...]:
    """All scores that at least one policy has."""
    return tuple([column for column in ALL if any(column.of(one) is not None for one in scores.values())])


def spreads_of(fleet: Fleet, column: ScoreColumn) -> dict[str, Spread | None]:
    """The spread by policy, the references last."""
    return {name: _spread(column, of_policy(fleet, name)) for name in policies_of(fleet)}


def _spread(column: ScoreColumn, scores: Iterable[Scores]) -> Spread | None:
    """None if no workload has the score."""
    values = [value for one in scores if (value := column.of(one)) is not None and not isnan(value)]
    if not values:
        return None
    return Spread(median(values), min(values) if column.better == "high" else max(values))


def best_spreads(column: ScoreColumn, spreads: Mapping[str, Spread | None]) -> tuple[frozenset[str], frozenset[str]]:
    """The policies with the best median, and those with the best worst value."""
    medians = {name: None if spread is None else spread.median for name, spread in spreads.items()}
    worsts = {name: None if spread is None else spread.worst for name, spread in spreads.items()}
    return best_among(column, medians), best_among(column, worsts)


def policies_of(fleet: Fleet) -> tuple[str, ...]:
    """Every policy of a fleet once, the references last."""
    return tuple(rows_of({name: one for scores in fleet.values() for name, one in scores.items()}))


def of_policy(fleet: Fleet, policy: str) -> list[Scores]:
    return [scores[policy] for scores in fleet.values() if policy in scores]


def wins_of(fleet: Fleet) -> dict[str, int]:
    """On how many workloads each policy has the lowest price; in a tie all of them win."""
    won = {name: 0 for name in policies_of(fleet) if name not in REFERENCES}
    for scores in fleet.values():
        known = {name: value for name in won if name in scores and (value := WINS.of(scores[name])) is not None}
        for name, value in known.items():
            won[name] += value <= min(known.values())
    return won


def missing_of(fleet: Fleet) -> list[str]:
    """Which policies did not run on every workload, as text."""
    counts = {name: len(of_policy(fleet, name)) for name in policies_of(fleet)}
    short = {name: count for name, count in counts.items() if count < len(fleet)}
    return [f"{name}: on {count} of {len(fleet)} workloads" for name, count in short.items()]


def shapes_as_text(shapes: Shapes) -> str:
    """Which shapes the lower bound may use, as text; printed with every result, because costs are compared with it."""
    replicas = _from_to(str(shapes.min_replicas), str(shapes.max_replicas))
    cpu = _from_to(f"{shapes.min_cpu:g}", f"{shapes.max_cpu:g}")
    memory = _from_to(readable(MEMORY, shapes.min_memory), readable(MEMORY, shapes.max_memory))
    sizes = f"{cpu} {'core' if cpu == '1' else 'cores'} and {memory}"
    counts = f"{replicas} {'replica' if replicas == '1' else 'replicas'}"
    return f"The lower bound may use {counts} of {sizes}, or the policy's own."


def _from_to(low: str, high: str) -> str:
    return low if low == high else f"{low} to {high}"
