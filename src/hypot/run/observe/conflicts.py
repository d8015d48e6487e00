"""Finds other controllers of the same workloads: then hypot holds, and names the other controller."""

from collections.abc import Iterable, Mapping
from typing import Any

from hypot.cluster.port import Port, Request, UnreachableError
from hypot.kinds.catalogue import CATALOGUE, Autoscaler, info_of
from hypot.policy.families import family_of
from hypot.policy.model.decision import Hold
from hypot.policy.model.seen import Seen
from hypot.policy.model.state import read_time
from hypot.policy.observe.read_pods import inner, mappings
from hypot.policy.observe.surroundings import age_of
from hypot.policy.observe.targets import Target, key_of_autoscaler, target_key
from hypot.run.config import RunConfig
from hypot.run.observe.rows import AutoscalerRow, Manager
from hypot.run.outcome import Acting, Key
from hypot.run.requests import MANAGER
from hypot.run.rights import ACTS, LEASE, features_of

# A Lease or a status that was written within this time belongs to a running controller.
FRESH = 120.0
# The annotation of hypot's Lease that says in which namespaces its holder acts: all, some, or none.
ACTS_IN, EVERYWHERE = "hypot.dev/acts-in", "*"
# How often Leases are listed, in seconds.
LOOK_EVERY = 60.0
# The reason of the hold and of the condition.
CONFLICT = "Conflict"


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
    info = info_of(autoscaler)
    if info.claims_pods or not info.counts:
        return ()
    found = [tuple(name.split("/", 1)) for name in seen.others]
    return tuple(["/".join(named) for named in found if not _advises(others.get((named[0], named[1])), autoscaler)])


def _advises(row: AutoscalerRow | None, autoscaler: Autoscaler) -> bool:
    if row is None or not info_of(autoscaler).scalable:
        return False
    return target_key(row.autoscaler) == key_of_autoscaler(autoscaler)


def overruled(
    rows: Mapping[Key, AutoscalerRow], acting: Mapping[Key, Acting], hpas: Iterable[AutoscalerRow]
) -> dict[Key, str]:
    """For each autoscaler that yields its target, to which: to an HPA of the target, else to the oldest that writes.

    Two autoscalers that hypot acts for would undo each other's changes for ever. One that writes nothing, such as a
    dry run, conflicts with none.
    """
    claims: dict[Target, list[Key]] = {}
    for key, row in rows.items():
        info = info_of(row.autoscaler)
        if not info.counts or info.claims_pods or acting[key] != "act":
            continue
        if (target := target_key(row.autoscaler)).name:
            claims.setdefault(target, []).append(key)
    found: dict[Key, str] = {}
    for target, keys in claims.items():
        if len(keys) == 1:
            continue
        first, *others = sorted(keys, key=lambda key: precedence(rows[key].autoscaler))
        message = f"{first[0]} {target.namespace}/{first[2]} is older and scales the same target: remove one of the two"
        found.update((key, message) for key in others if _writes(rows[key].autoscaler))
    for row in hpas if claims else ():
        hpa = row.autoscaler
        message = f"{hpa.KIND} {hpa.namespace}/{hpa.name} scales the same target: remove one of the two"
        found.update((key, message) for key in claims.get(target_key(hpa), ()))
    return found


def precedence(autoscaler: Autoscaler) -> tuple[bool, str, str, str]:
    """The sort key for several autoscalers of one target; the first acts: those that write, then the oldest."""
    return not _writes(autoscaler), age_of(autoscaler)[0], autoscaler.KIND, autoscaler.name


def _writes(autoscaler: Autoscaler) -> bool:
    """Whether it can change anything: an invalid object never does."""
    if any(each.severity == "error" and each.rule != "unknown-field" for each in autoscaler.problems()):
        return False
    return not family_of(autoscaler).is_off(autoscaler)


def sizers(vpas: Iterable[AutoscalerRow]) -> dict[Target, str]:
    """The VerticalPodAutoscalers that change pods, by target."""
    found: dict[Target, str] = {}
    for row in vpas:
        vpa = row.autoscaler
        if not family_of(vpa).is_off(vpa):
            found[target_key(vpa)] = vpa.name
    return found


def sizer(autoscaler: Autoscaler, found: Mapping[Target, str]) -> str:
    """The VPA that sizes the pods of an Hvpa; empty for other kinds, which set no sizes or check this themselves."""
    return found.get(target_key(autoscaler), "") if info_of(autoscaler).decides_both else ""


def older_sizer(autoscaler: Autoscaler, seen: Seen) -> str:
    """The conflict with an older VerticalPodAutoscaler of the same pods, as text: only the oldest acts."""
    if info_of(autoscaler).counts or family_of(autoscaler).is_off(autoscaler) or not seen.others:
        return ""
    older = f"{autoscaler.KIND} {autoscaler.namespace}/{seen.others[0]}"
    return f"{older} is older and sizes the same pods: remove one of the two"


def conflict_hold(
    writer: str, lease: str, hpas: tuple[str, ...], vpa: str = "", older: str = "", twin: str = ""
) -> Hold | None:
    """A hold in both directions that names the first conflict; None without a conflict."""
    if twin:
        return Hold(CONFLICT, f"another hypot leads with the Lease {twin}: stop one of the two")
    if hpas:
        return Hold(CONFLICT, f"HorizontalPodAutoscaler {hpas[0]} scales the same pods: remove one of the two")
    if older:
        return Hold(CONFLICT, older)
    if vpa:
        return Hold(CONFLICT, f"VerticalPodAutoscaler {vpa} sizes the same pods: remove it, or set its mode to Off")
    if writer:
        return Hold(
            CONFLICT, f"{writer} writes the status of this object: stop that controller, or switch this kind off"
        )
    if lease:
        return Hold(CONFLICT, f"the controller behind the Lease {lease} is running: stop it, or switch this kind off")
    return None


def acts_in(config: RunConfig) -> str:
    """The namespaces in which this hypot may act, as its Lease announces them."""
    if ACTS not in features_of(config):
        return ""
    return ",".join(sorted(config.watch_namespaces)) or EVERYWHERE


def leases_to_watch(config: RunConfig) -> tuple[list[str], str, str]:
    """The kinds to check for conflicts, the namespace of the own Lease, and the namespaces hypot acts in."""
    return [kind for kind, mode in config.kinds.items() if mode == "act"], config.namespace, acts_in(config)


def _meet(ours: str, theirs: str) -> bool:
    """Whether both act in some namespace."""
    if EVERYWHERE in (ours, theirs):
        return bool(ours and theirs)
    return not {*ours.split(",")}.isdisjoint(theirs.split(",")) if ours and theirs else False


class Leases:
    """The Leases of other controllers, listed once a minute."""

    def __init__(self, port: Port, kinds: Iterable[str], own: str = "", space: str = "") -> None:
        """`kinds`: the kinds that hypot acts on; `space`: where, and if empty, no other hypot is looked for."""
        self._port, self._own, self._space = port, own, space
        self._names = {kind: CATALOGUE[kind].leases for kind in kinds}
        self._looked = -LOOK_EVERY
        self.fresh: dict[str, str] = {}
        # The Lease of another hypot that acts: both would lead at once, each with its own Lease.
        self.twin = ""

    async def look(self, now: float, boot: float) -> None:
        """List the Leases; for those that cannot be read the last result stays."""
        if boot - self._looked < LOOK_EVERY:
            return
        self._looked = boot
        if self._space:
            twin = await self._holder(LEASE, now)
            self.twin = self.twin if twin is None else twin
        for kind, names in self._names.items():
            for name in names:
                found = await self._holder(name, now)
                if found is None:
                    continue
                if found:
                    self.fresh[kind] = found
                elif self.fresh.get(kind, "").endswith(f"/{name}"):
                    del self.fresh[kind]

    async def _holder(self, name: str, now: float) -> str | None:
        """Namespace and name of a Lease that is being renewed; empty if there is none, None if it cannot be read."""
        path = "/apis/coordination.k8s.io/v1/leases"
        try:
            answer = await self._port.call(Request("GET", path, {"fieldSelector": f"metadata.name={name}"}))
        except UnreachableError:
            return None
        if not answer.ok:
            return None
        leases = mappings(inner(answer.json()).get("items"))
        return next((_named(lease) for lease in leases if _is_fresh(lease, now) and not self._is_harmless(lease)), "")

    def _is_harmless(self, lease: Mapping[str, Any]) -> bool:
        """Whether it is the own Lease, or that of a hypot that acts in other namespaces."""
        named = inner(lease, "metadata")
        theirs = inner(named, "annotations").get(ACTS_IN, EVERYWHERE)
        return named.get("name") == LEASE and (named.get("namespace") == self._own or not _meet(self._space, theirs))


def _is_fresh(lease: Mapping[str, Any], now: float) -> bool:
    spec = inner(lease, "spec")
    renewed = read_time(spec.get("renewTime"))
    return bool(spec.get("holderIdentity")) and renewed is not None and now - renewed < FRESH


def _named(lease: Mapping[str, Any]) -> str:
    metadata = inner(lease, "metadata")
    return f"{metadata.get('namespace')}/{metadata.get('name')}"
