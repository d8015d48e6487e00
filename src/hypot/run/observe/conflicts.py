"""Finds other controllers of the same workloads: then hypot holds, and names the other controller."""

from collections.abc import Iterable, Mapping
from typing import Literal

from hypot.kinds.autoscaler import WorkloadAutoscaler
from hypot.kinds.catalogue import Autoscaler, info_of, sets_replicas, sets_sizes
from hypot.kinds.tortoise import Tortoise
from hypot.policy.families import family_of
from hypot.policy.hold import CONFLICT, other_hpa_hold
from hypot.policy.model.decision import Hold
from hypot.policy.model.seen import Seen
from hypot.policy.observe.surroundings import age_of
from hypot.policy.observe.targets import ScaleTarget, key_of_autoscaler, target_key
from hypot.run.observe.rows import AutoscalerRow, Manager
from hypot.run.outcome import Acting, Key
from hypot.run.requests import MANAGER

# A status that was written within this time belongs to a running controller.
FRESH = 120.0
Axis = Literal["replicas", "size"]
DOES: dict[Axis, str] = {"replicas": "scales the same target", "size": "sizes the same pods"}
# The reason of the hold and of the condition for what only a Lease shows.
OTHER_LEADER = "OtherLeader"


class Writers:
    """The other writers of each object's status. They are kept because hypot's own write removes their name."""

    def __init__(self) -> None:
        self._last: dict[Key, Manager] = {}

    def fresh(self, key: Key, row: AutoscalerRow, now: float) -> str:
        """The other controller that recently wrote this object's status; empty if there is none."""
        others = [each for each in row.managers if each.subresource == "status" and each.name != MANAGER]
        known = self._last.get(key)
        if not others and known is None:
            return ""
        last = max([*others, *([known] if known else [])], key=lambda each: each.at, default=None)
        if last is None or now - last.at >= FRESH:
            self._last.pop(key, None)
            return ""
        self._last[key] = last
        return last.name

    def forget(self, keys: Iterable[Key]) -> None:
        for key in keys:
            self._last.pop(key, None)


def counters(autoscaler: Autoscaler, seen: Seen, others: Mapping[tuple[str, str], AutoscalerRow]) -> tuple[str, ...]:
    """HorizontalPodAutoscalers of the same pods, without those that scale the Hvpa itself and so only advise it.

    Empty for an HPA or a VPA: their own rules find conflicts with others of their kind.
    """
    if info_of(autoscaler).claims_pods or not _counts(autoscaler):
        return ()
    found = [tuple(name.split("/", 1)) for name in seen.others]
    return tuple(["/".join(named) for named in found if not _advises(others.get((named[0], named[1])), autoscaler)])


def _counts(autoscaler: Autoscaler) -> bool:
    """Whether it sets the count of its target. An Autoscaler that is Off only reports, next to what it may replace."""
    return sets_replicas(autoscaler) and (not isinstance(autoscaler, WorkloadAutoscaler) or autoscaler.acts)


def _advises(row: AutoscalerRow | None, autoscaler: Autoscaler) -> bool:
    if row is None or not info_of(autoscaler).scalable:
        return False
    return target_key(row.autoscaler) == key_of_autoscaler(autoscaler)


def overruled(
    rows: Mapping[Key, AutoscalerRow], acting: Mapping[Key, Acting], hpas: Iterable[AutoscalerRow]
) -> dict[Key, str]:
    """For each autoscaler that yields its target, to which: to an HPA of the target, else to the oldest that writes.

    Two autoscalers that hypot acts for would undo each other's changes forever. One that writes nothing, such as a
    dry run, conflicts with none.
    """
    claims: dict[tuple[ScaleTarget, Axis], list[Key]] = {}
    for key, row in rows.items():
        if acting[key] == "act" and (target := target_key(row.autoscaler)).name:
            for axis in _claimed(row.autoscaler):
                claims.setdefault((target, axis), []).append(key)
    found: dict[Key, str] = {}
    for (target, axis), keys in claims.items():
        if len(keys) == 1:
            continue
        first, *others = sorted(keys, key=lambda key: precedence(rows[key].autoscaler))
        message = f"{first[0]} {target.namespace}/{first[2]} is older and {DOES[axis]}: remove one of the two"
        yielding = [key for key in others if _writes(rows[key].autoscaler)]
        found.update((key, message) for key in yielding if axis == "replicas" or key not in found)
    for row in hpas if claims else ():
        hpa = row.autoscaler
        message = f"{hpa.KIND} {hpa.namespace}/{hpa.name} scales the same target: remove one of the two"
        found.update(
            (key, message) for key in claims.get((target_key(hpa), "replicas"), ()) if not _edits(rows[key], hpa)
        )
    return found


def _claimed(autoscaler: Autoscaler) -> Iterable[Axis]:
    """What it sets of its target. Kinds that find conflicts among themselves by their own rules claim nothing."""
    info = info_of(autoscaler)
    if not info.claims_pods and _counts(autoscaler):
        yield "replicas"
    if info.decides_both and sets_sizes(autoscaler) and not family_of(autoscaler).is_off(autoscaler):
        yield "size"


def _edits(row: AutoscalerRow, hpa: Autoscaler) -> bool:
    """Whether this HPA is the one that a Tortoise edits."""
    return isinstance(row.autoscaler, Tortoise) and row.autoscaler.edited_hpa_name == hpa.name


def precedence(autoscaler: Autoscaler) -> tuple[bool, str, str, str]:
    """The sort key for several autoscalers of one target; the first acts: those that write, then the oldest."""
    return not _writes(autoscaler), age_of(autoscaler)[0], autoscaler.KIND, autoscaler.name


def _writes(autoscaler: Autoscaler) -> bool:
    """Whether it can change anything: an invalid object never does."""
    if any(each.severity == "error" and each.rule != "unknown-field" for each in autoscaler.problems()):
        return False
    return not family_of(autoscaler).is_off(autoscaler)


def sizers(vpas: Iterable[AutoscalerRow]) -> dict[ScaleTarget, str]:
    """The VerticalPodAutoscalers that change pods, by target."""
    found: dict[ScaleTarget, str] = {}
    for row in vpas:
        vpa = row.autoscaler
        if not family_of(vpa).is_off(vpa):
            found[target_key(vpa)] = vpa.name
    return found


def sizer(autoscaler: Autoscaler, found: Mapping[ScaleTarget, str]) -> str:
    """The VPA that sizes the pods of a kind that sets both; empty for others, which check this themselves.

    An Autoscaler sizes no pods if it is Off or only sets replicas.
    """
    if not info_of(autoscaler).decides_both:
        return ""
    if isinstance(autoscaler, WorkloadAutoscaler) and not (autoscaler.acts and sets_sizes(autoscaler)):
        return ""
    return found.get(target_key(autoscaler), "")


def older_sizer(autoscaler: Autoscaler, seen: Seen) -> str:
    """The conflict with an older VerticalPodAutoscaler of the same pods, as text: only the oldest acts."""
    if info_of(autoscaler).counts or family_of(autoscaler).is_off(autoscaler) or not seen.others:
        return ""
    older = f"{autoscaler.KIND} {autoscaler.namespace}/{seen.others[0]}"
    return f"{older} is older and sizes the same pods: remove one of the two"


def conflict_hold(writer: str, hpas: tuple[str, ...], vpa: str = "", older: str = "") -> Hold | None:
    """A hold in both directions that names the first conflict; None without a conflict."""
    if (found := other_hpa_hold(hpas)) is not None:
        return found
    if older:
        return Hold(CONFLICT, older)
    if vpa:
        return Hold(CONFLICT, f"VerticalPodAutoscaler {vpa} sizes the same pods: remove it, or set its mode to Off")
    if writer:
        return Hold(
            CONFLICT, f"{writer} writes the status of this object: stop that controller, or switch this kind off"
        )
    return None


def lease_hold(lease: str, twin: str = "") -> Hold | None:
    """A hold on scale-downs while another controller holds its Lease; None if none does.

    A Lease does not show what its holder does. If it is wrong, only scale-downs wait.
    """
    if twin:
        message = f"another hypot leads with the Lease {twin}: no scale-down until one of the two is stopped"
        return Hold(OTHER_LEADER, message, "down")
    if lease:
        message = f"the controller behind the Lease {lease} is running: no scale-down until it is stopped"
        return Hold(OTHER_LEADER, f"{message}, or this kind is switched off", "down")
    return None
