"""What one pass through the stages finds, and ends in a Move; and what a kind says of a move that is written."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Protocol

from hypot.kinds.base import Ref
from hypot.policy.model.decision import (
    Condition,
    Conditions,
    ErrorKind,
    Event,
    Hold,
    MetricReading,
    Move,
    Name,
    PodAction,
    Stage,
    Step,
    condition_of,
    placed,
    renewed,
    show_time,
)
from hypot.policy.model.seen import Failure, Seen
from hypot.policy.model.state import State
from hypot.policy.stages.restrain import LIMIT_REASONS, Limited, limit_step

if TYPE_CHECKING:
    from hypot.policy.model.size import Size


class Scaler(Protocol):
    """An autoscaler of any kind, as far as telling needs to know it."""

    API_VERSION: ClassVar[str]
    KIND: ClassVar[str]

    @property
    def name(self) -> str: ...
    @property
    def namespace(self) -> str: ...
    @property
    def target(self) -> Ref | None: ...


class Effect(NamedTuple):
    """What became of a move. Without more all of it is done, or would be."""

    # Why the write was refused: nothing moved, and that is an error.
    refused: str = ""
    # Whether anything was done of it: all, nothing without a fault, or only the record of what new pods are to have.
    done: Literal["all", "nothing", "recorded"] = "all"
    # The pods that keep their size.
    undone: frozenset[str] = frozenset()
    # What the status says of the size of new pods: as it was decided, or this instead.
    sizes_differ: bool = False
    recorded: Any = None
    # How the plan goes that carries the move out.
    progress: Condition | None = None
    # What came to light in the way of it.
    note: Hold | None = None


DONE = Effect()


class MoveReport(NamedTuple):
    """What a kind says of a move that is written; of its status only what the move changes."""

    conditions: Conditions
    events: tuple[Event, ...] = ()
    status: Mapping[str, Any] = {}


class Refusal(NamedTuple):
    """What a kind says of a move that was refused: a condition, an event, and what its status goes back to."""

    condition: str
    reason: str
    event: str
    message: str
    status: Mapping[str, Any] = {}


def succeeded(move: Move, state: State, reason: str) -> Conditions:
    """The conditions once the count is written."""
    message = f"the target's scale was set to {move.desired}"
    old = condition_of(state.conditions, "AbleToScale")
    return placed(move.unwritten, renewed(old, "AbleToScale", "True", reason, message, move.at))


def count_status(move: Move, state: State) -> dict[str, Any]:
    """The part of a status that a move of the count changes."""
    last = move.at if move.moves else state.last_scale
    return {"desiredReplicas": move.desired, "lastScaleTime": None if last is None else show_time(last)}


class Findings:
    """Collects while an autoscaler of any kind is decided; the kind says which reasons its conditions have."""

    def __init__(self, spec: Scaler, seen: Seen, state: State) -> None:
        self.spec, self.seen, self.state, self.now = spec, seen, state, seen.now
        self.began = {condition.type: condition for condition in state.conditions}
        self.reported = dict(self.began)
        self.steps: list[Step] = []
        self.warnings: list[Event] = []
        self.unknown: list[str] = []
        self.last_condition = ""
        self.readings: tuple[MetricReading, ...] = ()
        self.error = ""
        self.error_kind: ErrorKind = "none"
        self.sizes: tuple[Size, ...] = ()
        self.desired_sizes: tuple[Size, ...] = ()
        self.catches_up = False
        self.actions: tuple[PodAction, ...] = ()

    @property
    def conditions(self) -> Conditions:
        return tuple(self.reported.values())

    def condition(self, kind: str, status: bool | str, reason: str, message: str) -> None:
        """Set one condition in its place, compared with how the pass began and not with what it said on the way."""
        self.reported[kind] = renewed(self.began.get(kind), kind, status, reason, message, self.now)
        self.last_condition = kind

    def step(
        self,
        stage: Stage,
        rule: str,
        before: int | None,
        after: int | None,
        sentence: str,
        numbers: Mapping[str, Any] | None = None,
    ) -> None:
        self.steps.append(Step(stage, rule, before, after, sentence, numbers or {}))

    def warn(self, reason: str, message: str) -> None:
        self.warnings.append(Event("Warning", reason, message))

    def failed(self, message: str, kind: ErrorKind) -> None:
        self.error, self.error_kind = message, kind

    def no_scale(self, failure: Failure, reason: str) -> None:
        """The target cannot be seen, so nothing can be decided."""
        message = f"the target's scale could not be read: {failure.message}"
        self.condition("AbleToScale", "False", reason, message)
        self.warn(reason, failure.message)
        self.step("observe", "no-scale", None, None, sentence(message))
        self.failed(failure.message, failure.kind)

    def scale_read(self) -> None:
        self.condition("AbleToScale", "True", "SucceededGetScale", "the target's scale was read")

    def switched_off(self, why: str) -> None:
        """At zero replicas an autoscaler keeps out."""
        self.condition("ScalingActive", "False", "ScalingDisabled", "the target has zero replicas, so scaling is off")
        self.step("restrain", "scaling-disabled", 0, 0, f"{why}: it stays off until someone scales it up.")

    def read(self, readings: Iterable[MetricReading]) -> None:
        """Tell what each metric says, and warn of each that says nothing."""
        self.readings = tuple(readings)
        for reading in self.readings:
            self.steps.append(reading.step)
            if reading.proposal is None:
                self.warn(reading.failed_reason, reading.error)

    def outside_bounds(self, current: int, low: int, high: int) -> int | None:
        """Where a size outside its bounds goes: there at once, whatever the metrics and windows say."""
        if current > high:
            self.step("restrain", "above-max", current, high, f"{current} is above the maximum: go to {high}.")
            return high
        if current < low:
            self.step("restrain", "below-min", current, low, f"{current} is below the minimum: go to {low}.")
            return low
        return None

    def resolved(self, current: int, best: MetricReading) -> None:
        """Tell which metric won, where there was a choice."""
        if len(self.readings) > 1:
            message = f"The largest proposal is {best.proposal}, from {best.description}."
            self.step("resolve", "largest", current, best.proposal, message)

    def limited(self, before: int, limited: Limited, low: int, high: int, numbers: dict[str, Any]) -> None:
        """Tell which bound or speed limit changed a count, or that none did."""
        reason, message = LIMIT_REASONS[limited.limit]
        self.condition("ScalingLimited", limited.replicas != before, reason, message)
        self.steps.append(limit_step(before, limited, low, high, numbers))
        if limited.unknown:
            self.unknown.append(limited.unknown)

    def move(
        self,
        current: int | None,
        desired: int | None,
        observed: Mapping[str, Any],
        *,
        reason: str = "",
        decided: bool = True,
        dry_run: bool = False,
        event_periods: tuple[float | None, float | None] = (None, None),
        by_pod: bool = False,
    ) -> Move:
        """Everything found so far, as one value."""
        spec = self.spec
        ref = spec.target.readable() if isinstance(spec.target, Ref) else Ref()
        return Move(
            autoscaler=Name(spec.API_VERSION, spec.KIND, spec.namespace, spec.name),
            target=Name(ref.api_version or "", ref.kind or "", spec.namespace, ref.name or ""),
            at=self.now,
            current=current,
            desired=desired,
            reason=reason,
            steps=tuple(self.steps),
            unwritten=self.conditions,
            warnings=tuple(self.warnings),
            observed=observed,
            unknown=tuple(self.unknown),
            error=self.error,
            error_kind=self.error_kind,
            decided=decided,
            dry_run=dry_run,
            event_periods=event_periods,
            readings=self.readings,
            sizes=self.sizes,
            desired_sizes=self.desired_sizes,
            catches_up=self.catches_up,
            actions=self.actions,
            by_pod=by_pod,
        )

    def stays(self, current: int | None, observed: Mapping[str, Any], **more: Any) -> Move:
        """Nothing could be decided."""
        return self.move(current, current, observed, decided=False, **more)


def sentence(message: str) -> str:
    return f"{message[:1].upper()}{message[1:]}."


def kebab(word: str) -> str:
    return "".join(f"-{c.lower()}" if c.isupper() else c for c in word).lstrip("-")
