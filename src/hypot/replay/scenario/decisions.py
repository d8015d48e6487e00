"""Runs one policy of a scenario decision by decision, on observations that the file lists; no cluster is simulated."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from hypot.core.amount import CPU, MEMORY, RESOURCES
from hypot.kinds.catalogue import Autoscaler
from hypot.policy.model.settings import Settings
from hypot.replay.scenario.choosing import Chooser, Deciding, chooser_of
from hypot.replay.scenario.demand import EPOCH, seconds
from hypot.replay.scenario.file import ScenarioError
from hypot.replay.scenario.looks import FleetState, Look, amounts, seen_of, start_of, ways_of
from hypot.replay.scenario.loop import policy_of
from hypot.replay.score.columns import HOUR
from hypot.replay.score.families import path_dependence
from hypot.replay.world.file import world_from_dict

GIB = 2**30
# The unit of each figure that is not a plain number.
UNITS = {
    "cpu": "cores",
    "memory": "GiB",
    "total_cpu": "cores",
    "total_memory": "GiB",
    "least_total_memory": "GiB",
    "most_total_memory": "GiB",
    "target": "%",
    "hours": "core-h",
    "asked_hours": "core-h",
}


@dataclass(frozen=True, slots=True)
class Walk:
    """One list of looks: the state at the start and after each look, the needs, and how often nothing was decided."""

    states: tuple[FleetState, ...]
    needs: tuple[Mapping[str, int], ...]
    undecided: int
    # The target utilization after each look, in percent, if the policy computes one.
    targets: tuple[int, ...] = ()

    @property
    def end(self) -> FleetState:
        return self.states[-1]


def measured(folder: Path, data: Mapping[str, Any], side: str) -> dict[str, float | None]:
    """All figures of one side."""
    settings = Settings.from_dict(data.get("settings") or {})
    autoscalers = policy_of(folder, data, side, world_from_dict(data.get("world") or {})).autoscalers
    if len(autoscalers) != 1:
        raise ScenarioError(f"{folder}: the {side} side has {len(autoscalers)} autoscalers; write one")
    by = (data.get("by") or {}).get(side, "")
    every, start = seconds(data.get("every", "15s")), start_of(data)
    walks = []
    for looks in ways_of(data, every):
        chooser = chooser_of(autoscalers[0], by, settings)
        walks.append(walked(chooser, autoscalers[0], start, looks, every))
    return figures(walks, every)


def walked(chooser: Chooser, autoscaler: Autoscaler, start: FleetState, looks: Sequence[Look], every: float) -> Walk:
    """Take one look after the other; what is decided at one look is the state at the next."""
    states, targets, undecided, now = [start], list[int](), 0, EPOCH
    for look in looks:
        now += seconds(look["after"]) if "after" in look else every
        state = states[-1]
        replicas, size, decided = chooser.chosen(seen_of(state, look, autoscaler, now))
        states.append(FleetState(replicas, {**state.size, **size}))
        targets += [chooser.target] if isinstance(chooser, Deciding) else []
        undecided += not decided
    needs = tuple([amounts(look.get("need") or {}) for look in looks])
    return Walk(tuple(states), needs, undecided, tuple(targets))


def figures(walks: Sequence[Walk], every: float) -> dict[str, float | None]:
    """The figures of all walks. With several: the end of the first, the worst of all, and how far apart they end.

    `hours` is the cpu that was requested after each look, `asked_hours` the cpu that was needed; `target` is the target
    utilization at the end, and `updates` how often it changed.
    """
    first, after = walks[0], [state for walk in walks for state in walk.states[1:]]
    steps = [abs(b.replicas - a.replicas) for walk in walks for a, b in pairwise(walk.states)]
    ends = {(walk.end.replicas, *sorted(walk.end.size.items())) for walk in walks}
    totals = {resource: [float(walk.end.total(resource)) for walk in walks] for resource in RESOURCES}
    cores, hours = [state.total(CPU) / 1000 for state in first.states[1:]], every / HOUR
    return {
        "replicas": float(first.end.replicas),
        "most_replicas": float(max(state.replicas for state in after)),
        "least_replicas": float(min(state.replicas for state in after)),
        "cpu": first.end.size.get(CPU, 0) / 1000,
        "memory": first.end.size.get(MEMORY, 0) / GIB,
        "total_cpu": totals[CPU][0] / 1000,
        "total_memory": totals[MEMORY][0] / GIB,
        "least_total_memory": min(totals[MEMORY]) / GIB,
        "most_total_memory": max(totals[MEMORY]) / GIB,
        "moves": float(sum(step > 0 for step in steps)),
        "largest_step": float(max(steps)),
        "paradox": float(sum(_is_paradox(a, b) for walk in walks for a, b in pairwise(walk.states))),
        "undecided": float(sum(walk.undecided for walk in walks)),
        "ends": float(len(ends)),
        "path_dependence": max(path_dependence(totals[resource]) for resource in RESOURCES),
        "target": float(first.targets[-1]) if first.targets else 0.0,
        "updates": float(max(sum(a != b for a, b in pairwise(walk.targets)) for walk in walks)),
        "hours": sum(cores) * hours,
        "asked_hours": sum(need.get(CPU, 0) for need in first.needs) / 1000 * hours,
    }


def _is_paradox(before: FleetState, after: FleetState) -> bool:
    """Whether the total of a resource moved in one direction and the size of a pod in the other."""
    return any(
        (after.total(r) - before.total(r)) * (after.size.get(r, 0) - before.size.get(r, 0)) < 0 for r in RESOURCES
    )
