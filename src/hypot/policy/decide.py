"""The one entry: the same decision in the command line, in replay and in the controller."""

from hypot.kinds.hpa import HPA
from hypot.kinds.wpa import WPA
from hypot.policy import hpa, wpa
from hypot.policy.decision import Decision
from hypot.policy.memory import Memory
from hypot.policy.seen import Seen
from hypot.policy.settings import Settings

Autoscaler = HPA | WPA


def decide(spec: Autoscaler, seen: Seen, memory: Memory, settings: Settings) -> tuple[Decision, Memory]:
    """What this autoscaler would do now, why, and what must be remembered. Pure: deciding twice changes nothing."""
    if isinstance(spec, HPA):
        return hpa.decide(spec, seen, memory, settings)
    return wpa.decide(spec, seen, memory, settings)


def write_failed(spec: Autoscaler, decision: Decision, memory: Memory, message: str) -> Decision:
    """The decision after its write was refused."""
    failed = hpa.write_failed if isinstance(spec, HPA) else wpa.write_failed
    return failed(decision, memory, message)
