"""One autoscaler in one reconcile: what was seen, decided and held back, and how it went once it was written."""

from dataclasses import dataclass, field
from typing import Literal, Self

from hypot.kinds.catalogue import Autoscaler
from hypot.policy.model.decision import Decision, Hold, Move
from hypot.policy.model.seen import Seen
from hypot.policy.model.state import State

# Kind, namespace and name.
Key = tuple[str, str, str]
# The hold of one whose pods would come back from an eviction as they were.
WEBHOOK_UNAVAILABLE = "WebhookUnavailable"
# The hold of one whose pods did not come back, or came back with another size than they were to have.
NOT_EVICTING = "NotEvicting"
# The condition that says how a plan goes.
CARRIED_OUT = "CarriedOut"
# Whether decisions are written, or only told in logs and gauges.
Acting = Literal["act", "recommend", "observe"]


@dataclass(frozen=True, slots=True)
class Judged:
    """`move` is the one after all holds; `state` is what is remembered after it, `before` what was before."""

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
    """`decision` is what is reported after all writes; `state` is what is remembered then."""

    key: Key
    autoscaler: Autoscaler
    seen: Seen
    decision: Decision
    state: State
    acting: Acting = "act"
    before: State = field(default_factory=State)
    holds: tuple[Hold, ...] = ()
    # What a write was refused with; empty where all went well.
    refusal: str = field(default="")
    # Whether a write may have been done, though nobody said so.
    unsure: bool = False
    # The count that was set; None where none was.
    counted: int | None = None

    @classmethod
    def of(cls, judged: Judged, decision: Decision, state: State) -> Self:
        """What is reported and remembered of a move."""
        given = (judged.key, judged.autoscaler, judged.seen, decision, state)
        return cls(*given, judged.acting, judged.before, judged.holds)

    @property
    def version(self) -> str:
        """Of the object that was decided on: a write to it is for no other."""
        return str(self.autoscaler.metadata.get("resourceVersion") or "")


@dataclass(frozen=True, slots=True)
class Reconciled:
    """What one reconcile came to, for gauges and logs."""

    outcomes: tuple[Outcome, ...] = ()
    began: float = 0.0
    seconds: float = 0.0
    deciding: float = 0.0
    stale_share: float = 0.0
    # Parts of the state that could not be written.
    unwritten: int = 0
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class Done:
    """How a write went: in words where it did not happen, and whether it is worth another try in the next reconcile."""

    refusal: str = ""
    # Overtaken by somebody else's write: nothing is wrong, and the next reconcile sees what is true.
    overtaken: bool = False
    # No answer came: it may have been done.
    unsure: bool = False

    @property
    def ok(self) -> bool:
        return not self.refusal


FINE = Done()
