"""The size in an Hvpa's status: new pods come up with it, so it is never one that was not recorded."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from hypot.policy.model.size import Size, resources_of
from hypot.policy.observe.read_pods import inner, mappings
from hypot.run.outcome import Outcome

SCALING, SIZES, LISTED = "lastScaling", "vpaStatus", "containerResources"


def is_recorded(outcome: Outcome, sizes: Iterable[Size]) -> bool:
    """Whether the object's status, as it is watched, says already how pods come up."""
    listed = mappings(inner(outcome.autoscaler.status, SCALING, SIZES).get(LISTED))
    known = {each.get("containerName"): each.get("resources") for each in listed}
    return all(known.get(name) == resources for name, resources in resources_of(sizes).items())


def recorded(outcome: Outcome, sizes: Iterable[Size]) -> Outcome:
    """With these sizes in its status."""
    listed = [{"containerName": name, "resources": each} for name, each in resources_of(sizes).items()]
    return _told(outcome, {**_scaling(outcome), SIZES: {LISTED: listed}})


def unrecorded(outcome: Outcome) -> Outcome:
    """With the old size in its status, as long as a new one is only decided on."""
    scaling = _scaling(outcome)
    if not scaling or not outcome.decision.resizes:
        return outcome
    return _told(outcome, {**scaling, SIZES: inner(outcome.autoscaler.status, SCALING).get(SIZES)})


def as_before(outcome: Outcome) -> Outcome:
    """With the last scaling as the status has it, where nothing came of another one."""
    before = inner(outcome.autoscaler.status, SCALING)
    return _told(outcome, before) if before else outcome


def _scaling(outcome: Outcome) -> dict[str, Any]:
    return inner(dict(outcome.decision.reported), SCALING)


def _told(outcome: Outcome, scaling: Mapping[str, Any]) -> Outcome:
    known = {key: each for key, each in scaling.items() if each is not None}
    reported = {**outcome.decision.reported, SCALING: known}
    return replace(outcome, decision=replace(outcome.decision, reported=reported))
