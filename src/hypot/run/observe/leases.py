"""The Leases of other controllers: which of them are held now, by our own clock."""

import asyncio
from typing import NamedTuple

import structlog

from hypot.cluster.lease import API_VERSION, Record, record_of
from hypot.cluster.port import Port, Request, UnreachableError
from hypot.core.instant import read_time
from hypot.run.config import RunConfig
from hypot.run.rights import ACTS, LEASE, features_of, leases_of_others
from hypot.serving.config import DEFAULT_NAMESPACE

log = structlog.get_logger()
# How often Leases are read, in seconds.
LOOK_EVERY = 30.0
# A Lease counts for at most so long after its last renewal, whatever duration it names.
LONGEST = 60.0
# How far another clock may be ahead of ours, in seconds.
SKEW = 5.0
# The annotation of hypot's Lease that says in which namespaces its holder acts: all, some, or none.
ACTS_IN, EVERYWHERE = "hypot.dev/acts-in", "*"

# Namespace and name.
Named = tuple[str, str]


class Sighting(NamedTuple):
    """A Lease as it was last read."""

    # Its holder and its renewTime; a difference is a renewal.
    renewal: tuple[str, str]
    # Until when it is held if it is not renewed, on our boot clock.
    until: float

    def held(self, boot: float) -> bool:
        return bool(self.renewal[0]) and boot < self.until


def sighted(record: Record, earlier: Sighting | None, now: float, boot: float) -> Sighting:
    """What a Lease shows, compared with the last time.

    Each renewal counts from when we see it, as in our own election: nothing that is written in the Lease makes it
    count for longer. Only the first time there is nothing to compare with. Then its renewTime counts, unless it is in
    the future.
    """
    renewal = (record.holder, str(record.spec.get("renewTime") or ""))
    lasts = min(record.seconds or LONGEST, LONGEST)
    if earlier is None:
        renewed = read_time(record.spec.get("renewTime"))
        is_plausible = renewed is not None and -SKEW <= now - renewed < lasts
        return Sighting(renewal, boot + lasts if is_plausible else boot)
    return Sighting(renewal, boot + lasts if renewal != earlier.renewal else earlier.until)


def acts_in(config: RunConfig) -> str:
    """The namespaces in which this hypot may act, as its Lease announces them."""
    if ACTS not in features_of(config):
        return ""
    return ",".join(sorted(config.watch_namespaces)) or EVERYWHERE


def _meet(ours: str, theirs: str) -> bool:
    """Whether both act in some namespace."""
    if EVERYWHERE in (ours, theirs):
        return bool(ours and theirs)
    return not {*ours.split(",")}.isdisjoint(theirs.split(",")) if ours and theirs else False


def goes_first(namespace: str, other: str) -> bool:
    """Which of two installations acts where both would: that of the usual namespace, else by name."""
    return (namespace != DEFAULT_NAMESPACE, namespace) < (other != DEFAULT_NAMESPACE, other)


class Leases:
    """The Leases of other controllers in the namespaces that are believed, and of other hypots."""

    def __init__(self, port: Port, config: RunConfig) -> None:
        self._port, self._own, self._space = port, (config.namespace, LEASE), acts_in(config)
        # Namespaces of other hypots that act where this one does.
        self._overlaps: set[str] = set()
        self._believed = tuple(dict.fromkeys((config.namespace, *config.lease_namespaces)))
        self._names = {kind: names for kind, names in leases_of_others().items() if config.mode(kind) == "act"}
        self._looked = -LOOK_EVERY
        self._sightings: dict[Named, Sighting] = {}
        self._held: set[Named] = set()
        # By kind, the Lease of its other controller, as text.
        self.fresh: dict[str, str] = {}
        # The Lease of another hypot that acts in the same namespaces and goes first.
        self.twin = ""

    async def look(self, now: float, boot: float) -> None:
        """Read the Leases; for those that cannot be read the last result stays."""
        if boot - self._looked < LOOK_EVERY:
            return
        self._looked = boot
        names = [name for several in self._names.values() for name in several]
        wanted = [(space, name) for name in [*names, *([LEASE] if self._space else [])] for space in self._believed]
        await asyncio.gather(*[self._see(named, now, boot) for named in wanted if named != self._own])
        held = {kind: self._holder(*several) for kind, several in self._names.items()}
        self.fresh = {kind: holder for kind, holder in held.items() if holder}
        self.twin = self._holder(LEASE)

    def _holder(self, *names: str) -> str:
        """Namespace and name of a Lease that is held; empty if there is none."""
        return next(
            (f"{space}/{name}" for name in names for space in self._believed if (space, name) in self._held), ""
        )

    async def _see(self, named: Named, now: float, boot: float) -> None:
        namespace, name = named
        try:
            answer = await self._port.call(Request("GET", f"/apis/{API_VERSION}/namespaces/{namespace}/leases/{name}"))
        except UnreachableError:
            return
        if not (answer.ok or answer.gone):
            return
        self._held.discard(named)
        if answer.gone:
            self._sightings.pop(named, None)
            return
        record = record_of(answer)
        seen = self._sightings[named] = sighted(record, self._sightings.get(named), now, boot)
        is_held = seen.held(boot)
        if name == LEASE:
            is_held = self._yields_to(namespace, record, is_held=is_held)
        if is_held:
            self._held.add(named)

    def _yields_to(self, namespace: str, record: Record, *, is_held: bool) -> bool:
        """Whether the hypot in this namespace acts where this one does, and goes first. An overlap is logged once."""
        overlaps = is_held and _meet(self._space, record.said.get(ACTS_IN, EVERYWHERE))
        yields = overlaps and goes_first(namespace, self._own[0])
        if overlaps and namespace not in self._overlaps:
            todo = "give each its own watchNamespaces, or uninstall one"
            scales_down = namespace if yields else self._own[0]
            log.warning("another hypot acts here too", its_namespace=namespace, scales_down=scales_down, todo=todo)
        elif not overlaps and namespace in self._overlaps:
            log.info("no other hypot acts here any more", its_namespace=namespace)
        self._overlaps = self._overlaps | {namespace} if overlaps else self._overlaps - {namespace}
        return yields
