"""Runs one policy of a scenario in the closed loop: passes the world, the demand and the manifests to the engine."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from hypot.kinds.text.load import LoadedFiles, LoadError, load
from hypot.policy.model.settings import Settings
from hypot.replay.engine.deciders import NEVER
from hypot.replay.engine.demand import load_of
from hypot.replay.engine.engine import replay
from hypot.replay.policies.policy import Policy, PolicyError
from hypot.replay.policies.read import read_policies
from hypot.replay.scenario.demand import WORKLOAD, folder_of_traces, trace_of
from hypot.replay.scenario.file import ScenarioError, overlaid
from hypot.replay.scenario.measures import figures
from hypot.replay.world.file import world_from_dict
from hypot.replay.world.parameters import Span, World
from hypot.replay.world.record import Run


def run_side(folder: Path, data: Mapping[str, Any], side: str, explained: Span = NEVER) -> Run:
    """The replay of one policy of one case."""
    world = world_from_dict(data.get("world") or {})
    settings = Settings.from_dict(data.get("settings") or {})
    demand = load_of(trace_of(data["demand"], folder_of_traces()), world)
    return replay(policy_of(folder, data, side, world), WORKLOAD, demand, world, settings, explained)


def measured(folder: Path, data: Mapping[str, Any], side: str) -> dict[str, float | None]:
    """All figures of that replay."""
    return figures(run_side(folder, data, side), data.get("measure") or {})


def policy_of(folder: Path, data: Mapping[str, Any], side: str, world: World) -> Policy:
    """The only policy in the manifests of a side."""
    try:
        policies = read_policies(manifests_of(folder, data, side), world)
    except (PolicyError, LoadError) as error:
        raise ScenarioError(str(error)) from error
    if len(policies) != 1:
        names = ", ".join(policy.name for policy in policies)
        raise ScenarioError(f"{folder}: the {side} side has {len(policies)} policies: {names}; write one")
    return policies[0]


def manifests_of(folder: Path, data: Mapping[str, Any], side: str) -> list[LoadedFiles]:
    """The objects of a side, with the changes of the case applied."""
    name = (data.get("manifests") or {}).get(side, f"{side}.yaml")
    patches = (data.get("patch") or {}).get(side) or []
    return list(_patched(load([str(folder / name)]), patches))


def _patched(loaded: Iterator[LoadedFiles], patches: Sequence[Mapping[str, Any]]) -> Iterator[LoadedFiles]:
    """Applies each change to the objects of its kind."""
    for one in loaded:
        made = one.data
        for patch in patches:
            if patch.get("kind") == made.get("kind"):
                made = overlaid(made, patch)
        yield replace(one, data=made)
