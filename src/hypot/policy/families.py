"""How each kind is decided: one record per kind, next to its record in `hypot.kinds.catalogue`."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from hypot.core.bank.bank import HOLDS
from hypot.core.dataclass import dataclass
from hypot.kinds.autoscaler import WorkloadAutoscaler
from hypot.kinds.autoscaler.status import READY
from hypot.kinds.base import Kind
from hypot.kinds.catalogue import Autoscaler
from hypot.kinds.hpa import HPA
from hypot.kinds.hpa.fields import Behavior
from hypot.kinds.hvpa import Hvpa
from hypot.kinds.hvpa.status import BLOCKED
from hypot.kinds.problem import Problem
from hypot.kinds.tortoise import Tortoise
from hypot.kinds.tortoise.policies import OFF as NOT_SCALED
from hypot.kinds.tortoise.status import FAILED, OVERRIDDEN
from hypot.kinds.vpa import VPA
from hypot.kinds.vpa.fields import OFF
from hypot.kinds.wpa import WPA
from hypot.policy.autoscaler import autoscaler
from hypot.policy.autoscaler import report as autoscaler_report
from hypot.policy.horizontal import hpa, wpa
from hypot.policy.hvpa import gates, hvpa
from hypot.policy.hvpa import report as hvpa_report
from hypot.policy.model.decision import Conditions, Move, MoveReport
from hypot.policy.model.seen import Seen
from hypot.policy.model.settings import Settings
from hypot.policy.model.size import Size
from hypot.policy.model.state import State
from hypot.policy.observe import freshness, questions
from hypot.policy.observe.questions import Questions
from hypot.policy.observe.snapshot import Snapshot
from hypot.policy.stages.report import Effect, Refusal
from hypot.policy.tortoise import report as tortoise_report
from hypot.policy.tortoise import tortoise
from hypot.policy.vertical import vpa

ABLE = "AbleToScale"
DECODE = "Decode"


def _as_they_are(conditions: Conditions) -> Conditions:
    return conditions


def _by_type(conditions: Conditions) -> Conditions:
    return tuple(sorted(conditions, key=lambda one: one.type))


class SizeRecord(NamedTuple):
    """Where a status records the sizes of new pods: a list of containers."""

    listed: Callable[[Iterable[Size]], Any]
    found: Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Family:
    """How objects of one kind are decided. Each function takes an object of that kind as its first argument."""

    decide: Callable[[Any, Seen, State, Settings], tuple[Move, State]]
    # The report of a written move, with only the status that the move changes, and the report of a refused move.
    report: Callable[[Any, Move, State, Settings, Effect], MoveReport]
    refused: Callable[[Any, Move, State, str], Refusal]
    # Whether it reads the usage of pods, and which metrics it asks for.
    questions: Callable[[Any, Settings], Questions]
    # How long its past affects its next decisions, in seconds.
    longest_window: Callable[[Any, Settings], float]
    # Whether its spec switches it off, so that it never changes anything.
    is_off: Callable[[Any], bool]
    # Whether an object with this error cannot be decided.
    is_undecidable: Callable[[Problem], bool]
    # The condition of an object that cannot be decided: type, status and reason.
    undecidable: tuple[str, str, str]
    # Pods that should have a sample and have none, for kinds that treat such pods as idle.
    unmeasured: Callable[[Any, Seen], tuple[str, ...]] = lambda _object, _seen: ()
    # Whether it decides from histograms of usage. It must not decide while all of its pods are gone.
    goes_by_usage: Callable[[Any], bool] = lambda _object: False
    # Its rate limits, for kinds whose limits and windows use individual recommendations and moves, as an HPA does.
    behavior: Callable[[Any, Settings], Behavior | None] | None = None
    # The condition that reports a hold, and its status while held.
    held: tuple[str, str] = (BLOCKED, "True")
    # Whether this reason comes from the kind's own rules and not from a hold.
    holds_for: Callable[[str], bool] = lambda _reason: False
    # Whether its status names the condition that was set last.
    names_last_condition: bool = False
    # How its status records sizes for new pods; None for kinds whose recommendation is that record.
    record: SizeRecord | None = None
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
        holds_for=lambda reason: reason in wpa.MONITOR_REASONS,
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
        record=SizeRecord(hvpa_report.listed_sizes, hvpa_report.recorded_sizes),
    ),
    Tortoise.KIND: Family(
        decide=tortoise.decide,
        report=tortoise_report.report,
        refused=tortoise_report.refused,
        questions=questions.of_tortoise,
        longest_window=lambda _tortoise, settings: settings.downscale_window,
        is_off=lambda spec: spec.mode == NOT_SCALED,
        is_undecidable=lambda problem: problem.kind == DECODE or problem.where[0] == "spec",
        undecidable=(FAILED, "True", "InvalidSpec"),
        unmeasured=lambda _tortoise, seen: freshness.not_folded(seen),
        goes_by_usage=lambda _tortoise: True,
        held=(OVERRIDDEN, "True"),
        record=SizeRecord(tortoise_report.listed_requests, tortoise_report.recorded_requests),
        in_order=_by_type,
    ),
    WorkloadAutoscaler.KIND: Family(
        decide=autoscaler.decide,
        report=autoscaler_report.report,
        refused=autoscaler_report.refused,
        questions=questions.of_autoscaler,
        # The longest hold of a rule.
        longest_window=lambda _autoscaler, settings: HOLDS[-1] * settings.sync_period,
        is_off=lambda spec: not spec.acts,
        is_undecidable=lambda problem: problem.kind == DECODE or problem.where[0] == "spec",
        undecidable=(READY, "False", "InvalidSpec"),
        unmeasured=lambda _autoscaler, seen: freshness.not_folded(seen),
        holds_for=lambda reason: reason in {autoscaler_report.NO_METRICS, autoscaler_report.SATURATED},
        record=SizeRecord(autoscaler_report.listed_containers, autoscaler_report.recorded_containers),
    ),
}


def family_of(autoscaler: Kind) -> Family:
    return FAMILIES[autoscaler.KIND]


def seen_by(snapshot: Snapshot, autoscaler: Autoscaler, now: float, settings: Settings) -> Seen:
    """What this autoscaler observes in a snapshot."""
    readable = autoscaler.readable()
    return snapshot.seen(readable, now, settings, family_of(readable).questions(readable, settings))
