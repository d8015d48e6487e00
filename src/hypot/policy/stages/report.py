"""What one pass through the stages has to tell: steps, conditions, events, and at the end a Decision."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from hypot.kinds.base import Ref
from hypot.policy.model.decision import (
    Conditions,
    Decision,
    ErrorKind,
    Event,
    Name,
    PodAction,
    Reading,
    Stage,
    Step,
    renewed,
)
from hypot.policy.model.seen import Failure, Seen
from hypot.policy.model.state import Memory
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


class Telling:
    """Collects while an autoscaler of any kind is decided; the kind says which reasons its conditions have."""

    def __init__(self, spec: Scaler, seen: Seen, memory: Memory) -> None:
        self.spec, self.seen, self.memory, self.now = spec, seen, memory, seen.now
        self.began = {condition.type: condition for condition in memory.conditions}
        self.told = dict(self.began)
        self.steps: list[Step] = []
        self.events: list[Event] = []
        self.unknown: list[str] = []
        self.last_condition = ""
        self.readings: tuple[Reading, ...] = ()
        self.error = ""
        self.error_kind: ErrorKind = "none"
        self.sizes: tuple[Size, ...] = ()
        self.desired_sizes: tuple[Size, ...] = ()
        self.catches_up = False
        self.actions: tuple[PodAction, ...] = ()

    @property
    def conditions(self) -> Conditions:
        return tuple(self.told.values())

    def condition(self, kind: str, status: bool | str, reason: str, message: str) -> None:
        """Set one condition in its place, compared with how the pass began and not with what it said on the way."""
        self.told[kind] = renewed(self.began.get(kind), kind, status, reason, message, self.now)
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
        self.events.append(Event("Warning", reason, message))

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

    def read(self, readings: Iterable[Reading]) -> None:
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

    def resolved(self, current: int, best: Reading) -> None:
        """Tell which metric won, where there was a choice."""
        if len(self.readings) > 1:
            words = f"The largest proposal is {best.proposal}, from {best.description}."
            self.step("resolve", "largest", current, best.proposal, words)

    def limited(self, before: int, limited: Limited, low: int, high: int, numbers: dict[str, Any]) -> None:
        """Tell which bound or speed limit changed a count, or that none did."""
        reason, message = LIMIT_REASONS[limited.limit]
        self.condition("ScalingLimited", limited.replicas != before, reason, message)
        self.steps.append(limit_step(before, limited, low, high, numbers))
        if limited.unknown:
            self.unknown.append(limited.unknown)

    def in_order(self, conditions: Conditions) -> Conditions:
        """How this kind lists its conditions."""
        return conditions

    def decision(
        self,
        current: int | None,
        desired: int | None,
        reported: Mapping[str, Any],
        *,
        reason: str = "",
        unwritten: Conditions | None = None,
        decided: bool = True,
        dry_run: bool = False,
        event_period: float | None = None,
        by_pod: bool = False,
    ) -> Decision:
        """Everything told so far, as one value."""
        spec, conditions = self.spec, self.in_order(self.conditions)
        ref = spec.target.readable() if isinstance(spec.target, Ref) else Ref()
        return Decision(
            autoscaler=Name(spec.API_VERSION, spec.KIND, spec.namespace, spec.name),
            target=Name(ref.api_version or "", ref.kind or "", spec.namespace, ref.name or ""),
            at=self.now,
            current=current,
            desired=desired,
            reason=reason,
            steps=tuple(self.steps),
            conditions=conditions,
            unwritten=conditions if unwritten is None else unwritten,
            events=tuple(self.events),
            reported=reported,
            unknown=tuple(self.unknown),
            error=self.error,
            error_kind=self.error_kind,
            decided=decided,
            dry_run=dry_run,
            event_period=event_period,
            readings=self.readings,
            sizes=self.sizes,
            desired_sizes=self.desired_sizes,
            catches_up=self.catches_up,
            actions=self.actions,
            by_pod=by_pod,
        )


def sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}."
