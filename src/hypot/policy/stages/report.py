"""The findings of one pass through the stages, which end in a Move, and the report of a kind on a written move."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Protocol

from hypot.core.instant import show_time
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
)
from hypot.policy.model.seen import Failure, Seen
from hypot.policy.model.size import briefly
from hypot.policy.model.state import State, without_conditions
from hypot.policy.stages.restrain import LIMIT_REASONS, Limited, limit_step

if TYPE_CHECKING:
    from hypot.policy.model.size import Size


class Scaler(Protocol):
    """The parts of an autoscaler of any kind that a report needs."""

    API_VERSION: ClassVar[str]
    KIND: ClassVar[str]

    @property
    def name(self) -> str: ...
    @property
    def namespace(self) -> str: ...
    @property
    def status(self) -> Any: ...
    @property
    def target(self) -> Ref | None: ...


class Effect(NamedTuple):
    """The result of a move's writes. The default: everything was done, or would be."""

    # Why the write was refused: nothing changed, and that is an error.
    refused: str = ""
    # How much was done: all, nothing (without an error), or only recording the size for new pods.
    done: Literal["all", "nothing", "recorded"] = "all"
    # The pods that kept their size.
    undone: frozenset[str] = frozenset()
    # Whether the status records another size for new pods than was decided, and that size.
    sizes_differ: bool = False
    recorded: Any = None
    # The progress of the plan that carries out the move.
    progress: Condition | None = None
    # An obstacle that was found during the writes.
    note: Hold | None = None


DONE = Effect()


class Refusal(NamedTuple):
    """A kind's report on a refused move: a condition, an event, and the status values to restore."""

    condition: str
    reason: str
    event: str
    message: str
    status: Mapping[str, Any] = {}
    # The status of the condition.
    word: str = "False"


def succeeded(move: Move, state: State, reason: str) -> Conditions:
    """The conditions once the count is written."""
    message = f"the target's scale was set to {move.desired}"
    old = condition_of(state.conditions, "AbleToScale")
    return placed(move.unwritten, renewed(old, "AbleToScale", "True", reason, message, move.at))


def count_status(move: Move, state: State) -> dict[str, Any]:
    """The part of the status that a change of the count changes."""
    last = move.at if move.moves else state.last_scale
    return {"desiredReplicas": move.desired, "lastScaleTime": None if last is None else show_time(last)}


class Findings:
    """Collects findings during a decision of any kind; the kind chooses the reasons of its conditions."""

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
        """Set a condition. Its transition time follows from its status when the pass began, not from a later one."""
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
        """The target's scale cannot be read, so nothing can be decided."""
        message = f"the target's scale could not be read: {failure.message}"
        self.condition("AbleToScale", "False", reason, message)
        self.warn(reason, failure.message)
        self.step("observe", "no-scale", None, None, sentence(message))
        self.failed(failure.message, failure.kind)

    def kept_status(self) -> dict[str, Any]:
        """The status as it is, without conditions: what a pass that could not decide reports."""
        old = self.spec.status if isinstance(self.spec.status, Mapping) else {}
        return without_conditions(old)

    def scale_read(self) -> None:
        self.condition("AbleToScale", "True", "SucceededGetScale", "the target's scale was read")

    def switched_off(self, why: str) -> None:
        """An autoscaler does not act on a target with zero replicas."""
        self.condition("ScalingActive", "False", "ScalingDisabled", "the target has zero replicas, so scaling is off")
        self.step("restrain", "scaling-disabled", 0, 0, f"{why}: autoscaling stays off until the target is scaled up.")

    def read(self, readings: Iterable[MetricReading]) -> None:
        """Report the reading of each metric, and warn about each that failed."""
        self.readings = tuple(readings)
        for reading in self.readings:
            self.steps.append(reading.step)
            if reading.proposal is None:
                self.warn(reading.failed_reason, reading.error)

    def outside_bounds(self, current: int, low: int, high: int) -> int | None:
        """The bound that a count outside the bounds goes to at once, whatever metrics and windows say; else None."""
        if current > high:
            self.step("restrain", "above-max", current, high, f"{current} is above the maximum: go to {high}.")
            return high
        if current < low:
            self.step("restrain", "below-min", current, low, f"{current} is below the minimum: go to {low}.")
            return low
        return None

    def resolved(self, current: int, best: MetricReading) -> None:
        """Report which metric won, if there were several."""
        if len(self.readings) > 1:
            message = f"The largest proposal is {best.proposal}, from {best.description}."
            self.step("resolve", "largest", current, best.proposal, message)

    def limited(self, before: int, limited: Limited, low: int, high: int, numbers: dict[str, Any]) -> None:
        """Report which bound or rate limit changed the count, or that none did."""
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
        """All findings so far, as a Move."""
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
            holds=(),
        )

    def stays(self, current: int | None, observed: Mapping[str, Any], **more: Any) -> Move:
        """A move for a pass that could not decide."""
        return self.move(current, current, observed, decided=False, **more)


def summary(move: Move) -> str:
    """What a move changes, in short."""
    parts = [f"replicas {move.current} → {move.desired}"] if move.recounts else []
    for old, new in zip(move.sizes, move.desired_sizes, strict=True):
        if old != new:
            parts.append(f"{new.container} {', '.join(f'{r} {a}' for r, a in briefly(new.requests).items())}")
    parts += ["all pods raised to the size of the largest"] if move.catches_up else []
    return "; ".join(parts)


def sentence(message: str) -> str:
    """A message as a sentence. The path of a field stays as it is; a name, as of a container, must not come first."""
    first = message.partition(" ")[0].rstrip(".:,")
    start = message[:1] if "." in first else message[:1].upper()
    return f"{start}{message[1:].removesuffix('.')}."


def clause(written: str) -> str:
    """A sentence as part of another one; a first word such as LimitRange stays as it is."""
    first = written.partition(" ")[0]
    start = written[:1].lower() if first[1:].islower() else written[:1]
    return f"{start}{written[1:]}".rstrip(".")


def kebab(word: str) -> str:
    return "".join(f"-{c.lower()}" if c.isupper() else c for c in word).lstrip("-")
