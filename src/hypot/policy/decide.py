"""The one entry: the same decision in the command line, in replay and in the controller."""

from hypot.kinds.catalogue import Autoscaler
from hypot.kinds.hpa import HPA
from hypot.kinds.hvpa import Hvpa
from hypot.kinds.vpa import VPA
from hypot.kinds.wpa import WPA
from hypot.policy.hold import hold_back
from hypot.policy.horizontal import hpa, wpa
from hypot.policy.hvpa import hvpa
from hypot.policy.model.decision import Decision
from hypot.policy.model.seen import Seen
from hypot.policy.model.settings import Settings
from hypot.policy.model.state import Memory
from hypot.policy.vertical import vpa


def decide(spec: Autoscaler, seen: Seen, memory: Memory, settings: Settings) -> tuple[Decision, Memory]:
    """What this autoscaler would do now, why, and what must be remembered. Pure: deciding twice changes nothing.

    The holds that its annotations ask for are in force; who knows of others goes on with `hold_back`.
    """
    memory = memory.until(seen.now)
    return hold_back(spec, _by_kind(spec, seen, memory, settings), (), seen, memory)


def _by_kind(spec: Autoscaler, seen: Seen, memory: Memory, settings: Settings) -> tuple[Decision, Memory]:
    if isinstance(spec, HPA):
        return hpa.decide(spec, seen, memory, settings)
    if isinstance(spec, WPA):
        return wpa.decide(spec, seen, memory, settings)
    if isinstance(spec, VPA):
        return vpa.decide(spec, seen, memory, settings)
    return hvpa.decide(spec, seen, memory, settings)


def write_failed(spec: Autoscaler, decision: Decision, memory: Memory, message: str) -> Decision:
    """The decision after its write was refused."""
    policies = {HPA: hpa.write_failed, WPA: wpa.write_failed, VPA: vpa.write_failed, Hvpa: hvpa.write_failed}
    return policies[type(spec)](decision, memory, message)
