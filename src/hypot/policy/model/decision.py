"""A decision: the move with its steps and holds, and its report: conditions, events and status."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, Self

from hypot.core.instant import show_time
from hypot.kinds.values.names import group_of
from hypot.policy.model.hpa_edit import HpaEdit
from hypot.policy.model.size import Size, resources_of
from hypot.policy.model.threshold import MarkedBand, Slope, Threshold

Stage = Literal["observe", "recommend", "resolve", "restrain"]
Action = Literal["scale_up", "scale_down", "none"]
# No error, an error of the cluster, or an error in the object's spec.
ErrorKind = Literal["none", "internal", "spec"]


class Step(NamedTuple):
    """One applied rule: the count before and after it, the numbers it used, and a sentence."""

    stage: Stage
    rule: str
    before: int | None
    after: int | None
    sentence: str
    numbers: Mapping[str, Any] = {}

    def to_dict(self) -> dict[str, Any]:
        return {
            "stage": self.stage,
            "rule": self.rule,
            "before": self.before,
            "after": self.after,
            "numbers": dict(self.numbers),
            "sentence": self.sentence,
        }


class Condition(NamedTuple):
    type: str
    status: str
    reason: str
    message: str
    since: float

    def to_dict(self) -> dict[str, Any]:
        return {
            "lastTransitionTime": show_time(self.since),
            "message": self.message,
            "reason": self.reason,
            "status": self.status,
            "type": self.type,
        }


Conditions = tuple[Condition, ...]


class Event(NamedTuple):
    type: Literal["Normal", "Warning"]
    reason: str
    message: str
    # The changed pod, if the event is about a single pod.
    pod: str = ""

    def to_dict(self) -> dict[str, Any]:
        return {"type": self.type, "reason": self.reason, "message": self.message}


class Name(NamedTuple):
    """The identity of an object."""

    api_version: str
    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}"

    @property
    def group(self) -> str:
        return group_of(self.api_version)

    def to_dict(self) -> dict[str, Any]:
        return {"apiVersion": self.api_version, "kind": self.kind, "namespace": self.namespace, "name": self.name}


class MetricReading(NamedTuple):
    """The result of one metric: a proposal, or why there is none."""

    metric: str
    description: str
    proposal: int | None
    step: Step
    # The value that was compared with the target, in milli; None if the metric failed.
    value: int | None = None
    status: Mapping[str, Any] = {}
    error: str = ""
    error_kind: ErrorKind = "none"
    failed_reason: str = ""
    band: Slope | MarkedBand | None = None
    # For kinds with a band: how many pods counted, on which side the value is, and whether this is a step inside it.
    ready: int = 0
    side: int = 0
    converging: bool = False

    def action(self, replicas_before: int) -> Action:
        """The direction of the proposal, compared with the replica count that the status showed before."""
        if self.proposal is None or self.proposal == replicas_before:
            return "none"
        return "scale_up" if self.proposal > replicas_before else "scale_down"


class PodAction(NamedTuple):
    """What happens to one running pod, by which rule, and why."""

    pod: str
    action: Literal["resize", "evict", "none"]
    rule: str
    sentence: str
    sizes: tuple[Size, ...] = ()
    # For an eviction: if evictions are not possible, the pod is resized in place instead.
    or_resize: bool = False

    def to_dict(self) -> dict[str, Any]:
        reported = {"pod": self.pod, "action": self.action, "rule": self.rule, "sentence": self.sentence}
        return {**reported, "resources": resources_of(self.sizes)} if self.sizes else reported


Blocks = Literal["both", "up", "down"]


class Hold(NamedTuple):
    """A reason not to scale: a CamelCase reason, a message, the blocked direction, and the count it pins, if any."""

    reason: str
    message: str
    blocks: Blocks = "both"
    pinned: int | None = None


# The hold of an autoscaler whose last decision is not completely done: the reason only if there is no other hold.
PLAN_UNDER_WAY = "PlanUnderWay"
_ORDER: tuple[Blocks, ...] = ("both", "down", "up")


def main_reason(holds: Sequence[Hold]) -> str:
    """The reason of a hold that blocks all, else scale-down, else scale-up. The webhook for new pods reads it."""
    return min(holds, key=lambda hold: (hold.reason == PLAN_UNDER_WAY, _ORDER.index(hold.blocks))).reason


class MoveReport(NamedTuple):
    """What is reported of a move: conditions, events, and the status without those conditions."""

    conditions: Conditions = ()
    events: tuple[Event, ...] = ()
    status: Mapping[str, Any] = {}
    # The key of the list of conditions in `conditions`; empty if `conditions` is that list.
    conditions_key: str = ""


class Move(NamedTuple):
    """What one autoscaler is to do, and why. It is not reported yet, because holds may still change it."""

    autoscaler: Name
    target: Name
    at: float
    current: int | None
    desired: int | None
    reason: str = ""
    steps: tuple[Step, ...] = ()
    # The conditions if nothing is written.
    unwritten: Conditions = ()
    warnings: tuple[Event, ...] = ()
    # The status without its conditions, if nothing changes. Keys with the value None are left out.
    observed: Mapping[str, Any] = {}
    # What is unknown, and when it no longer matters.
    unknown: tuple[str, ...] = ()
    # Why nothing could be decided, or what went wrong during the decision; kind "none" if nothing did.
    error: str = ""
    error_kind: ErrorKind = "none"
    decided: bool = True
    dry_run: bool = False
    # How long a scale event matters to rate limits, downwards and upwards; None if no events are kept.
    event_periods: tuple[float | None, float | None] = (None, None)
    # How long its scale-downs wait after any scaling; None for kinds that do not count those that were reversed.
    window: float | None = None
    readings: tuple[MetricReading, ...] = ()
    # For kinds that size pods: the current and the desired size of each container.
    sizes: tuple[Size, ...] = ()
    desired_sizes: tuple[Size, ...] = ()
    # Whether the largest pod already has the desired size and more is needed, so that the other pods are raised to it.
    catches_up: bool = False
    actions: tuple[PodAction, ...] = ()
    # Whether running pods are resized one by one, by `actions`, and not all at once.
    by_pod: bool = False
    # The HPA to write.
    hpa: HpaEdit | None = None
    # The holds from outside its kind's own rules; None if the object could not be decided.
    holds: tuple[Hold, ...] | None = None
    # The move before the holds changed it; None if they changed nothing.
    wanted: "Move | None" = None
    # Empty, except in a Decision, which replaces it: it stays the last field.
    report: MoveReport = MoveReport()

    @property
    def thresholds(self) -> tuple[Threshold, ...]:
        """The nearest metric values that would change a proposal."""
        return tuple([t for reading in self.readings if reading.band for t in reading.band.thresholds()])

    @property
    def moves(self) -> bool:
        """Whether anything changes, or would in a dry run. Windows and counters use this."""
        return self.recounts or self.resizes

    @property
    def edits(self) -> bool:
        """Whether its HPA changes, or would in a dry run."""
        return self.decided and self.hpa is not None and self.hpa.writes

    @property
    def recounts(self) -> bool:
        """Whether the replica count changes."""
        return self.decided and self.desired is not None and self.desired != self.current

    @property
    def resizes(self) -> bool:
        """Whether the size of any container changes."""
        if self.by_pod:
            return self.decided and any(action.action != "none" for action in self.actions)
        return self.decided and (self.catches_up or self.desired_sizes != self.sizes)

    @property
    def grows(self) -> bool:
        """Whether the workload gets more of anything."""
        return self.enlarges or (self.recounts and (self.desired or 0) > (self.current or 0))

    @property
    def enlarges(self) -> bool:
        """Whether pods get more of anything."""
        if self.catches_up:
            return True
        had = {size.container: size.requests for size in self.sizes}
        return self.resizes and any(
            amount > had.get(size.container, {}).get(resource, 0)
            for size in self.desired_sizes
            for resource, amount in size.requests.items()
        )

    @property
    def rescales(self) -> bool:
        """Whether a new size is to be written."""
        return self.moves and not self.dry_run

    @property
    def action(self) -> Action:
        if not self.recounts or self.dry_run or self.desired is None or self.current is None:
            return "none"
        return "scale_up" if self.desired > self.current else "scale_down"

    @property
    def event_period(self) -> float | None:
        """How long the scale event of this move matters to rate limits; None if no event is kept."""
        if self.current is None or self.desired is None:
            return None
        return self.event_periods[self.desired > self.current]


class Decision(Move):
    """A complete decision: the move and its report.

    >>> from hypot.policy.model.seen import Failure
    >>> seen = Seen(now=0.0, scale=Failure("not found"))
    >>> decision, after = decide(HPA("deployment/web", max_replicas=10), seen, State(), Settings())
    >>> isinstance(decision, Decision)
    True
    """

    __slots__ = ()

    @classmethod
    def of(cls, move: Move, report: MoveReport) -> Self:
        return cls._make((*move[:-1], report))

    @property
    def conditions(self) -> Conditions:
        return self.report.conditions

    @property
    def events(self) -> tuple[Event, ...]:
        return self.report.events

    @property
    def reported(self) -> Mapping[str, Any]:
        """The status to write, without the conditions above."""
        return self.report.status

    @property
    def status(self) -> dict[str, Any]:
        """The complete status that the controller would write."""
        return status_with(self.report)

    def to_dict(self) -> dict[str, Any]:
        """The stable form that `-o json` prints."""
        return {
            "autoscaler": self.autoscaler.to_dict(),
            "target": self.target.to_dict(),
            "at": show_time(self.at),
            "decided": self.decided,
            "dryRun": self.dry_run,
            "current": _point(self.current, self.sizes),
            "desired": _point(self.desired, self.desired_sizes),
            "reason": self.reason,
            "steps": [step.to_dict() for step in self.steps],
            "conditions": [condition.to_dict() for condition in self.conditions],
            "events": [event.to_dict() for event in self.events],
            "thresholds": [threshold.to_dict() for threshold in self.thresholds],
            "unknown": list(self.unknown),
            "error": self.error,
            "status": self.status,
            **({"pods": [action.to_dict() for action in self.actions]} if self.actions else {}),
            **({} if self.hpa is None else {"hpa": self.hpa.to_dict()}),
        }


def status_with(report: MoveReport) -> dict[str, Any]:
    """The status with the conditions in their place."""
    listed = [condition.to_dict() for condition in report.conditions]
    if not listed:
        return dict(report.status)
    if not report.conditions_key:
        return {"conditions": listed, **report.status}
    return {**report.status, "conditions": {**report.status.get("conditions", {}), report.conditions_key: listed}}


def _point(replicas: int | None, sizes: tuple[Size, ...]) -> dict[str, Any]:
    return {"replicas": replicas, "resources": resources_of(sizes)} if sizes else {"replicas": replicas}


def renewed(old: Condition | None, kind: str, status: bool | str, reason: str, message: str, now: float) -> Condition:
    """The condition to report now; its transition time changes only when its status does."""
    word = status if isinstance(status, str) else "True" if status else "False"
    since = old.since if old is not None and old.status == word else now
    return Condition(kind, word, reason, message, since)


def with_condition(
    conditions: Conditions, kind: str, status: bool | str, reason: str, message: str, now: float
) -> Conditions:
    """Set a condition in place; a new type comes last."""
    return placed(conditions, renewed(condition_of(conditions, kind), kind, status, reason, message, now))


def placed(conditions: Conditions, one: Condition) -> Conditions:
    """The conditions with this one in its place; a new type comes last."""
    for i, there in enumerate(conditions):
        if there.type == one.type:
            return (*conditions[:i], one, *conditions[i + 1 :])
    return (*conditions, one)


def condition_of(conditions: Conditions, kind: str) -> Condition | None:
    for condition in conditions:
        if condition.type == kind:
            return condition
    return None


def show_seconds(amount: float) -> str:
    """A duration as text."""
    whole = round(amount)
    if whole < 120:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    return f"{minutes} min" if not rest else f"{minutes} min {rest} s"
