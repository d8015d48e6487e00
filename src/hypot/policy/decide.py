"""The one entry: the same decision in the command line, in replay and in the controller."""

from hypot.kinds.catalogue import Autoscaler
from hypot.policy.families import family_of
from hypot.policy.hold import hold_back
from hypot.policy.model.decision import Decision
from hypot.policy.model.seen import Seen
from hypot.policy.model.settings import Settings
from hypot.policy.model.state import Memory


def decide(spec: Autoscaler, seen: Seen, memory: Memory, settings: Settings) -> tuple[Decision, Memory]:
    """What this autoscaler would do now, why, and what must be remembered. Pure: deciding twice changes nothing.

    The holds that its annotations ask for are in force; who knows of others goes on with `hold_back`.
    """
    memory = memory.until(seen.now)
    return hold_back(spec, family_of(spec).decide(spec, seen, memory, settings), (), seen, memory)


def write_failed(spec: Autoscaler, decision: Decision, memory: Memory, message: str) -> Decision:
    """The decision after its write was refused."""
    return family_of(spec).write_failed(decision, memory, message)
