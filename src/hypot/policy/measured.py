"""Holds against scaling down on missing usage or on an outdated answer."""

from hypot.core.instant import show_time
from hypot.kinds.catalogue import Autoscaler, info_of
from hypot.policy.families import family_of
from hypot.policy.hold import blocked
from hypot.policy.model.decision import Hold, Move
from hypot.policy.model.seen import Reply, Seen
from hypot.policy.model.state import State
from hypot.policy.observe.freshness import are_gone, is_untimely

# Blocks every scale-down.
_ANY = Hold("MissingMetrics", "", "down")


def measured_holds(autoscaler: Autoscaler, seen: Seen, state: State, move: Move) -> list[Hold]:
    """What of the observation is too little for this move; it also applies to steps of a plan."""
    if state.plan is None and blocked(move, _ANY, seen) is move:
        return []
    found, reply = [], seen.reply
    if pods := family_of(autoscaler).unmeasured(autoscaler, seen):
        message = f"pods without a fresh sample of usage: {', '.join(pods[:3])}, {len(pods)} in all"
        found.append(Hold("MissingMetrics", message, "down"))
    if info_of(autoscaler).decides_both and family_of(autoscaler).goes_by_usage(autoscaler) and are_gone(seen):
        found.append(Hold("MissingMetrics", "the target has no pod that can be measured", "down"))
    if isinstance(reply, Reply) and reply.at is not None and is_untimely(reply.at, seen.now):
        message = f"no scale-down: the recommender's answer is from {show_time(reply.at)}"
        found.append(Hold("StaleAnswer", message, "down"))
    return found
