"""When an Hvpa may scale: update policy, stabilisation, maintenance window, minimum change. The first gate counts."""

from collections.abc import Mapping
from math import inf
from typing import Literal, NamedTuple

from hypot.core.amount import RESOURCES, brief
from hypot.core.axes import gate
from hypot.core.axes.interval import least_change
from hypot.core.timeofday import contains
from hypot.kinds.hvpa.fields import AUTO, LEAST_CHANGE, MAINTENANCE_WINDOW, OFF, HvpaSpec, ScaleType
from hypot.kinds.hvpa.intervals import share_of
from hypot.kinds.vpa.fields import amounts_of
from hypot.policy.model.decision import show_seconds

Direction = Literal["up", "down", "none"]
Reason = Literal[
    "", "UpdatePolicy", "StabilizationWindow", "MaintenanceWindow", "MinChange", "ParadoxicalScaling", "MissingData"
]
# Names for the numbers of `core.gate`.
DIRECTIONS: tuple[Direction, ...] = ("none", "up", "down")
WAYS: tuple[Direction, ...] = ("up", "down")
REASONS: dict[int, Reason] = {
    gate.OPEN: "",
    gate.UPDATE_POLICY: "UpdatePolicy",
    gate.STABILIZATION: "StabilizationWindow",
    gate.MAINTENANCE: "MaintenanceWindow",
    gate.MIN_CHANGE: "MinChange",
    gate.PARADOX: "ParadoxicalScaling",
    gate.MISSING_DATA: "MissingData",
}
_NUMBERS = {reason: number for number, reason in REASONS.items()}
MODES = {AUTO: gate.AUTO, OFF: gate.OFF, MAINTENANCE_WINDOW: gate.IN_WINDOW}

DEFAULT_LEAST_CHANGE = amounts_of(LEAST_CHANGE)
NO_SCALE_TYPE = ScaleType()


class Gate(NamedTuple):
    """Why a container may not change now: a reason and a message; both empty if it may."""

    reason: Reason = ""
    message: str = ""

    @property
    def number(self) -> int:
        """The number of this gate in `core.gate`."""
        return _NUMBERS[self.reason]


OPEN = Gate()


def scale_type(hvpa: HvpaSpec, direction: Direction) -> ScaleType:
    return (hvpa.scale_up if direction == "up" else hvpa.scale_down) or NO_SCALE_TYPE


def settle_time(hvpa: HvpaSpec) -> float:
    written = scale_type(hvpa, "up").stabilization_seconds
    return gate.SETTLE if written is None else written


def longest_window(hvpa: HvpaSpec) -> float:
    """How long its last scaling matters, in seconds."""
    windows = [scale_type(hvpa, way).stabilization_seconds or 0.0 for way in WAYS]
    return max(*windows, settle_time(hvpa))


def is_off(hvpa: HvpaSpec) -> bool:
    """Whether it only recommends. An Hvpa that acts at some times or in one direction is not off."""
    written = (hvpa.scale_up, hvpa.scale_down)
    return all(isinstance(way, ScaleType) and way.mode == OFF for way in written)


def direction_of(now: Mapping[str, int], totals: Mapping[str, int]) -> Direction:
    """Up if any resource rises, else down if any falls, else none."""
    changes = [totals[resource] - now.get(resource, 0) for resource in totals]
    return DIRECTIONS[gate.way_of(any(change > 0 for change in changes), any(change < 0 for change in changes))]


def closed_by(mode: str, window: float, since_last: float | None, *, patient: bool, in_window: bool) -> Reason:
    """The first closed time gate; with `patient` False stabilisation is skipped."""
    since = inf if since_last is None else since_last
    return REASONS[gate.closed(MODES.get(mode, gate.AUTO), window, since, patient, in_window)]


def time_gate(
    hvpa: HvpaSpec, direction: Direction, last: float | None, now: float, *, urgent: bool, swings: int = 0
) -> Gate:
    """Whether the time allows a change; urgency skips stabilisation, for scale-ups only.

    `swings` grows with each scale-down that restarted pods and was soon reversed; one that lasts lowers it.
    """
    kind = scale_type(hvpa, direction)
    written, since = kind.stabilization_seconds or 0.0, None if last is None else now - last
    window = gate.patience(written, swings) if direction == "down" else written
    patient = not (urgent and direction == "up")
    reason = closed_by(kind.mode, window, since, patient=patient, in_window=in_window(hvpa, now))
    if not reason:
        return OPEN
    message = {
        "UpdatePolicy": f"scaling {direction} is switched off",
        "StabilizationWindow": f"scaling {direction} waits until {show_seconds(window)} after the last scaling"
        f"{_because(swings) if window > written else ''}",
        "MaintenanceWindow": f"scaling {direction} waits for the maintenance window",
    }
    return Gate(reason, message[reason])


def _because(swings: int) -> str:
    """Without a number: scale-downs that lasted may lie between, and only so many are counted."""
    reversed_ones = "a scale-down that restarted pods was" if swings == 1 else "scale-downs that restarted pods were"
    return f", because {reversed_ones} soon reversed"


def in_window(hvpa: HvpaSpec, now: float) -> bool:
    """Whether now is in the maintenance window; False if the window is absent or unreadable."""
    bounds = hvpa.window.bounds if hvpa.window else None
    return bounds is not None and contains(*bounds, int(now % 86400))


def change_gate(hvpa: HvpaSpec, direction: Direction, now: Mapping[str, int], totals: Mapping[str, int]) -> Gate:
    """Blocks if no resource changes by at least its minimum."""
    small = []
    for resource in RESOURCES:
        if resource not in totals:
            continue
        change = abs(totals[resource] - now.get(resource, 0))
        needed = threshold(hvpa, direction, resource, now.get(resource, 0))
        if gate.is_enough(change, needed):
            return OPEN
        small.append(f"{resource} by {brief(resource, change)} (minimum {brief(resource, needed)})")
    message = f"the total changes by too little: {', '.join(small)}" if small else "the total does not change"
    return Gate("MinChange", message)


def threshold(hvpa: HvpaSpec, direction: Direction, resource: str, total: int) -> int:
    share = share_of(scale_type(hvpa, direction).min_change, resource)
    return least_change(share.value, share.percent, total, DEFAULT_LEAST_CHANGE[resource])
