"""One autoscaler in one sweep: what was seen, decided and held back, and how it went."""

from dataclasses import dataclass, field
from typing import Literal

from hypot.policy.decide import Autoscaler
from hypot.policy.decision import Decision
from hypot.policy.hold import Hold
from hypot.policy.memory import Memory
from hypot.policy.seen import Seen

# Kind, namespace and name.
Key = tuple[str, str, str]
# The hold of one whose pods would come back from an eviction as they were.
WEBHOOK_UNAVAILABLE = "WebhookUnavailable"
# The hold of one whose pods did not come back, or came back with another size than they were to have.
NOT_EVICTING = "NotEvicting"
# Whether decisions are written, or only told in logs and gauges.
Acting = Literal["act", "recommend", "observe"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """`decision` is the one after all holds; `memory` is what is remembered after it, `before` what was before."""

    key: Key
    autoscaler: Autoscaler
    seen: Seen
    decision: Decision
    memory: Memory
    acting: Acting = "act"
    before: Memory = field(default_factory=Memory)
    holds: tuple[Hold, ...] = ()
    # What a write was refused with; empty where all went well.
    refusal: str = field(default="")
    # Whether a write may have been done, though nobody said so.
    unsure: bool = False
    # The count that was set; None where none was.
    counted: int | None = None

    @property
    def version(self) -> str:
        """Of the object that was decided on: a write to it is for no other."""
        return str(self.autoscaler.metadata.get("resourceVersion") or "")
