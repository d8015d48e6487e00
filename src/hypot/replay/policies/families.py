"""What a kind can be replayed with: one record for each kind that has rules of its own.

A kind without a record can be replayed, too: every decision is the full one, and the knobs of a grid are paths.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from hypot.kinds.catalogue import Autoscaler
from hypot.kinds.hpa import HPA
from hypot.kinds.hvpa import Hvpa
from hypot.kinds.tortoise import Tortoise
from hypot.kinds.vpa import VPA
from hypot.kinds.vpa.fields import OFF
from hypot.kinds.wpa import WPA
from hypot.replay.policies import grid_knobs
from hypot.replay.policies.grid_knobs import Change
from hypot.replay.policies.obstacles import (
    Obstacle,
    hpa_obstacles,
    hvpa_obstacles,
    step_obstacles,
    unknown_metrics,
    vpa_obstacles,
    wpa_obstacles,
)
from hypot.replay.policies.policy import Start
from hypot.replay.world.parameters import World


@dataclass(frozen=True, slots=True)
class ReplayFamily:
    """How objects of one kind are replayed. Each function takes an object of that kind as its first argument."""

    # What cannot be replayed, in this world and on this workload.
    obstacles: Callable[[Any, Start | None, World], Iterator[Obstacle]] = unknown_metrics
    # A note for readers of the results, or an empty text.
    remark: Callable[[Any], str] = lambda _object: ""
    # How a knob of a grid changes the manifest of the object.
    change: Callable[[Any, dict[str, Any], str], Change] = grid_knobs.no_change


def _off(vpa: VPA) -> str:
    return f"{vpa} has the mode Off: it only recommends, and no pod changes" if vpa.mode == OFF else ""


def _dry(wpa: WPA) -> str:
    return f"{wpa} is a dry run: it decides, but changes nothing" if wpa.dry_run else ""


def _no_action(tortoise: Tortoise) -> str:
    return f"{tortoise} has the mode Off: it only learns, and nothing changes" if tortoise.mode == OFF else ""


def _weighted(hvpa: Hvpa) -> str:
    if not hvpa.is_weight_based:
        return ""
    return f"{hvpa} has weights: it is replayed as released HVPA controllers blend; hypot itself never does so"


_FAMILIES: dict[str, ReplayFamily] = {
    HPA.KIND: ReplayFamily(hpa_obstacles, change=grid_knobs.hpa_change),
    WPA.KIND: ReplayFamily(wpa_obstacles, _dry, grid_knobs.wpa_change),
    VPA.KIND: ReplayFamily(vpa_obstacles, _off, grid_knobs.vpa_change),
    Hvpa.KIND: ReplayFamily(hvpa_obstacles, _weighted, grid_knobs.hvpa_change),
    Tortoise.KIND: ReplayFamily(remark=_no_action),
}


def _family_of(autoscaler: Autoscaler) -> ReplayFamily:
    return _FAMILIES.get(autoscaler.KIND, ReplayFamily())


def obstacles(autoscaler: Autoscaler, start: Start | None, world: World) -> Iterator[Obstacle]:
    """What cannot be replayed; `start` is None if the workload could not be read."""
    readable = autoscaler.readable()
    yield from step_obstacles(readable)
    yield from _family_of(readable).obstacles(readable, start, world)


def remark_on(autoscaler: Autoscaler) -> str:
    """A note for readers of the results, or an empty text."""
    return _family_of(autoscaler).remark(autoscaler)


def change(autoscaler: Autoscaler, knob: str) -> Change:
    """How a knob changes the manifest of this autoscaler; any path that begins with `spec` is a knob."""
    data = autoscaler.to_dict()
    if knob.startswith("spec."):
        return grid_knobs.path_change(data, knob)
    return _family_of(autoscaler).change(autoscaler, data, knob)
