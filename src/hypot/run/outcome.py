"""One autoscaler in one reconcile: what was observed, decided and held back, and the results of its writes."""

from dataclasses import dataclass, field
from typing import Literal, Self

from hypot.kinds.catalogue import Autoscaler
from hypot.policy.model.decision import Decision, Hold, Move
from hypot.policy.model.seen import Seen
from hypot.policy.model.state import State

# Kind, namespace and name.
Key = tuple[str, str, str]
# The hold of an autoscaler whose pods would come back from an eviction with their old size.
WEBHOOK_UNAVAILABLE = "WebhookUnavailable"
# The hold of an autoscaler whose pods did not come back, or came back with a size other than the decided one.
NOT_EVICTING = "NotEvicting"
# The condition that reports the progress of a plan.
CARRIED_OUT = "CarriedOut"
# Whether decisions are written to the cluster, or only reported in logs and gauges.
Acting = Literal["act", "recommend", "observe"]


@dataclass(frozen=True, slots=True)
class Judged:
    """`move` is the move after all holds; `state` is the state after it, `before` the state before it."""

    key: Key
    autoscaler: Autoscaler
    seen: Seen
    move: Move
    state: State
    acting: Acting = "act"
    before: State = field(default_factory=State)
    holds: tuple[Hold, ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """`decision` is what is reported after all writes; `state` is the state that is kept then."""

    key: Key
    autoscaler: Autoscaler
    seen: Seen
    decision: Decision
    state: State
    acting: Acting = "act"
    before: State = field(default_factory=State)
    holds: tuple[Hold, ...] = ()
    # Why a write was refused; empty if all writes succeeded.
    refusal: str = field(default="")
    # Whether a write may have been done although no answer came.
    unsure: bool = False
    # The replica count that was set; None if none was set.
    counted: int | None = None

    @classmethod
    def of(cls, judged: Judged, decision: Decision, state: State) -> Self:
        """The outcome of a judged move."""
        given = (judged.key, judged.autoscaler, judged.seen, decision, state)
        return cls(*given, judged.acting, judged.before, judged.holds)

    @property
    def version(self) -> str:
        """The resourceVersion of the object that was decided on: writes apply to this version only."""
        return str(self.autoscaler.metadata.get("resourceVersion") or "")


@dataclass(frozen=True, slots=True)
class Reconciled:
    """The result of one reconcile, for gauges and logs."""

    outcomes: tuple[Outcome, ...] = ()
    began: float = 0.0
    seconds: float = 0.0
    deciding: float = 0.0
    stale_share: float = 0.0
    # Parts of the state that could not be written.
    unwritten: int = 0
    trouble: str = ""
    # The share of the possible state that is used.
    state_used: float = 0.0


@dataclass(frozen=True, slots=True)
class Done:
    """The result of a write: why it did not happen, if so, and whether that is an error or only a race."""

    refusal: str = ""
    # Overtaken by another client's write: this is not an error, and the next reconcile reads the new state.
    overtaken: bool = False
    # No answer came: the write may have been done.
    unsure: bool = False

    @property
    def ok(self) -> bool:
        return not self.refusal


FINE = Done()
