"""What deciding needs of each kind: one record each, beside the one in `hypot.kinds.catalogue`."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hypot.kinds.base import Kind
from hypot.kinds.catalogue import Autoscaler
from hypot.kinds.hpa import HPA
from hypot.kinds.hpa.fields import Behavior
from hypot.kinds.hvpa import Hvpa
from hypot.kinds.hvpa.status import BLOCKED
from hypot.kinds.problem import Problem
from hypot.kinds.vpa import VPA
from hypot.kinds.vpa.fields import OFF
from hypot.kinds.wpa import WPA
from hypot.policy.horizontal import hpa, wpa
from hypot.policy.hvpa import gates, hvpa
from hypot.policy.hvpa import report as hvpa_report
from hypot.policy.model.decision import Conditions, Move
from hypot.policy.model.seen import Seen
from hypot.policy.model.settings import Settings
from hypot.policy.model.state import State
from hypot.policy.observe import freshness, questions
from hypot.policy.observe.questions import Questions
from hypot.policy.observe.snapshot import Snapshot
from hypot.policy.stages.report import Effect, MoveReport, Refusal
from hypot.policy.vertical import vpa

ABLE = "AbleToScale"
DECODE = "Decode"


def _as_they_are(conditions: Conditions) -> Conditions:
    return conditions


def _by_type(conditions: Conditions) -> Conditions:
    return tuple(sorted(conditions, key=lambda one: one.type))


@dataclass(frozen=True, slots=True)
class Family:
    """How objects of one kind are decided on. Its functions take the object first; it is of that kind."""

    decide: Callable[[Any, Seen, State, Settings], tuple[Move, State]]
    # What it says of a move that is written, and of one whose write was refused.
    report: Callable[[Any, Move, State, Settings, Effect], MoveReport]
    refused: Callable[[Any, Move, State, str], Refusal]
    # Whose usage it looks at, and which metrics it asks for.
    questions: Callable[[Any, Settings], Questions]
    # For how long its past matters to what it may do next, in seconds.
    longest_window: Callable[[Any, Settings], float]
    # Whether it never moves anything, by its own spec.
    is_off: Callable[[Any], bool]
    # Whether nothing can be decided about an object with this error.
    is_undecidable: Callable[[Problem], bool]
    # The condition that says so: type, status and reason.
    undecidable: tuple[str, str, str]
    # Pods that should have been measured and were not, where the kind takes those for idle.
    unmeasured: Callable[[Any, Seen], tuple[str, ...]] = lambda _object, _seen: ()
    # Whether histograms of usage decide. None of its pods may be gone then.
    goes_by_usage: Callable[[Any], bool] = lambda _object: False
    # Its rate limits, where those and its windows look at single recommendations and moves, as those of an HPA.
    behavior: Callable[[Any, Settings], Behavior | None] | None = None
    # The condition that says what holds it back, and its status then.
    held: tuple[str, str] = (BLOCKED, "True")
    # Whether the kind itself is held back for a reason of this name.
    holds_for: Callable[[str], bool] = lambda _reason: False
    # Whether its status says which condition was set last.
    names_last_condition: bool = False
    # The order of conditions in its status.
    in_order: Callable[[Conditions], Conditions] = _as_they_are


FAMILIES: dict[str, Family] = {
    HPA.KIND: Family(
        decide=hpa.decide,
        report=hpa.report,
        refused=hpa.refused,
        questions=questions.of_hpa,
        longest_window=hpa.longest_window,
        is_off=lambda _hpa: False,
        is_undecidable=lambda _problem: True,
        undecidable=(ABLE, "False", "InvalidSpec"),
        behavior=hpa.behavior_of,
        held=(ABLE, "False"),
    ),
    WPA.KIND: Family(
        decide=wpa.decide,
        report=wpa.report,
        refused=wpa.refused,
        questions=questions.of_wpa,
        longest_window=wpa.longest_window,
        is_off=lambda spec: spec.dry_run is True,
        is_undecidable=lambda problem: problem.kind == DECODE,
        undecidable=(ABLE, "False", "FailedSpecCheck"),
        unmeasured=freshness.left_out,
        holds_for=lambda reason: "DatadogMonitor" in reason,
        names_last_condition=True,
        in_order=wpa.newest_first,
    ),
    VPA.KIND: Family(
        decide=vpa.decide,
        report=vpa.report,
        refused=vpa.refused,
        questions=questions.of_vpa,
        longest_window=lambda _vpa, settings: settings.downscale_window,
        is_off=lambda spec: spec.mode == OFF,
        is_undecidable=vpa.forbids,
        undecidable=("ConfigUnsupported", "True", "InvalidSpec"),
        unmeasured=lambda _vpa, seen: freshness.not_folded(seen),
        goes_by_usage=lambda _vpa: True,
        in_order=_by_type,
    ),
    Hvpa.KIND: Family(
        decide=hvpa.decide,
        report=hvpa_report.report,
        refused=hvpa_report.refused,
        questions=questions.of_hvpa,
        longest_window=lambda spec, _settings: gates.longest_window(spec),
        is_off=gates.is_off,
        is_undecidable=lambda problem: problem.kind == DECODE,
        undecidable=("Ready", "False", "InvalidSpec"),
        unmeasured=lambda spec, seen: freshness.not_folded(seen) if spec.uses_vpa else (),
        goes_by_usage=lambda spec: spec.uses_vpa,
        holds_for=lambda reason: reason in gates.REASONS.values(),
    ),
}


def family_of(autoscaler: Kind) -> Family:
    return FAMILIES[autoscaler.KIND]


def seen_by(snapshot: Snapshot, autoscaler: Autoscaler, now: float, settings: Settings) -> Seen:
    """What this autoscaler looks at in a snapshot."""
    readable = autoscaler.readable()
    return snapshot.seen(readable, now, settings, family_of(readable).questions(readable, settings))
