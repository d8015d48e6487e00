"""Reads policies from ordinary manifests: which objects belong together, on which workload, and what prevents it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hypot.kinds.base import Ref, refer
from hypot.kinds.catalogue import Autoscaler, autoscalers, find_autoscaler, info_of, names_of
from hypot.kinds.hpa import HPA
from hypot.kinds.problem import Where
from hypot.kinds.text.load import LoadedFiles, Source
from hypot.kinds.tortoise import Tortoise
from hypot.kinds.values.names import group_of
from hypot.kinds.values.nested import inner, mappings
from hypot.kinds.values.version import NEWEST, Version
from hypot.policy.observe.snapshot import read_autoscaler
from hypot.policy.observe.targets import target_of
from hypot.replay.policies.make import Placed, hindrances, made
from hypot.replay.policies.obstacles import Cluster, own_obstacles
from hypot.replay.policies.policy import LONGEST_NAME, STATIC_PEAK, Mishap, Policy, PolicyError, short_name
from hypot.replay.policies.start import Found, pod_of_world, start_of, start_of_world
from hypot.replay.world.parameters import World

POLICY = "hypot.dev/policy"
WORKLOADS = ("Deployment", "StatefulSet", "ReplicaSet")
# Kinds whose number of pods cannot be set, or whose pods do not last.
_NEVER = ("DaemonSet", "Job", "CronJob")
_STATIC_HINT = f"to replay a workload alone as a static policy, give it the annotation {POLICY}: NAME"


@dataclass(eq=False, slots=True)
class _Scaler:
    """An autoscaler of the input and its source."""

    autoscaler: Autoscaler
    source: Source
    target: Ref
    sound: bool


@dataclass(eq=False, slots=True)
class _InputWorkload:
    """A workload of the input; it is read once, and only if a policy needs it."""

    loaded: LoadedFiles
    annotated: bool
    found: Found | None = None
    used: bool = False

    @property
    def ref(self) -> Ref:
        return refer(self.loaded.data)

    @property
    def namespace(self) -> Any:
        return inner(self.loaded.data, "metadata").get("namespace")


@dataclass(eq=False, slots=True)
class _Group:
    """The parts of one policy, as far as the input names them."""

    name: str
    scalers: list[_Scaler] = field(default_factory=list)
    workloads: list[_InputWorkload] = field(default_factory=list)


def read_policies(
    loaded: Sequence[LoadedFiles],
    world: World,
    kubernetes: Version = NEWEST,
    gates: Mapping[str, bool] | None = None,
) -> list[Policy]:
    """All policies in the order of the input. Raises PolicyError with everything that cannot be replayed."""
    reading = _PolicyReader(world, Cluster(kubernetes, gates))
    for one in loaded:
        reading.take(one)
    policies = reading.policies()
    if reading.mishaps:
        raise PolicyError(_in_order(reading.mishaps, [one.source.file for one in loaded]))
    return policies


def _in_order(mishaps: list[Mishap], files: list[str]) -> list[Mishap]:
    """Sorted by file, in the order in which the files were given, and by line."""
    rank = {file: i for i, file in reversed(list(enumerate(files)))}

    def place(mishap: Mishap) -> tuple[int, int]:
        source = mishap.source
        return (-1, 0) if source is None else (rank.get(source.file, 0), source.line_of(mishap.where))

    return sorted(mishaps, key=place)


class _PolicyReader:
    """Makes one pass over the input, and then one over the policies in it."""

    def __init__(self, world: World, cluster: Cluster) -> None:
        self._world, self._cluster = world, cluster
        self._groups: dict[object, _Group] = {}
        self._workloads: list[_InputWorkload] = []
        self._hpas: list[HPA] = []
        self._ignored: Counter[str] = Counter()
        self.mishaps: list[Mishap] = []

    def take(self, loaded: LoadedFiles) -> None:
        data = loaded.data
        group, kind = group_of(data.get("apiVersion")), str(data.get("kind"))
        if find_autoscaler(group, kind) is not None:
            self._take_autoscaler(read_autoscaler(data), loaded)
        elif group == "apps" and kind in WORKLOADS and not is_controlled(data):
            self._take_workload(loaded)
        elif POLICY in inner(data, "metadata", "annotations"):
            self._report(loaded.source, ("kind",), f"{refer(data)}: a {kind} cannot be replayed; {_what_can()}")
        else:
            self._ignored[kind] += 1

    def _take_autoscaler(self, autoscaler: Autoscaler, loaded: LoadedFiles) -> None:
        wrong = own_obstacles(autoscaler, self._cluster)
        for where, message in wrong:
            self._report(loaded.source, where, f"{autoscaler}: {message}")
        if isinstance(autoscaler, HPA):
            self._hpas.append(autoscaler)
        scaler = _Scaler(autoscaler, loaded.source, target_of(autoscaler), sound=not wrong)
        names = self._names(loaded)
        if names is None:
            self._groups[scaler] = _Group(autoscaler.name, [scaler])
            return
        for name in names:
            self._groups.setdefault(name, _Group(name)).scalers.append(scaler)

    def _take_workload(self, loaded: LoadedFiles) -> None:
        names = self._names(loaded)
        workload = _InputWorkload(loaded, names is not None)
        self._workloads.append(workload)
        for name in names or ():
            self._groups.setdefault(name, _Group(name)).workloads.append(workload)

    def _names(self, loaded: LoadedFiles) -> list[str] | None:
        """The policies that an object names; None if it names none."""
        written = inner(loaded.data, "metadata", "annotations").get(POLICY)
        if written is None:
            return None
        place = ("metadata", "annotations", POLICY)
        if not isinstance(written, str):
            self._report(loaded.source, place, f"{POLICY}: must be text: policy names, separated by commas")
            return []
        names = [name.strip() for name in written.split(",")]
        wrong = [(name, message) for name in names if (message := _name_fault(name))]
        twice = [name for name, count in Counter(names).items() if count > 1]
        for name, message in [*wrong, *((name, "is given twice") for name in twice)]:
            self._report(loaded.source, place, f"{POLICY}: the name {name[:80]!r} {message}")
        bad = {name for name, _ in wrong}
        return [name for name in dict.fromkeys(names) if name not in bad]

    def policies(self) -> list[Policy]:
        groups = list(self._groups.values())
        self._name(groups)
        if not groups and not self.mishaps:
            self._report(None, (), f"there is no policy in the manifests: {_what_can()}; {_STATIC_HINT}")
        found = [policy for group in groups if (policy := self._policy(group)) is not None]
        note = self._note_on_the_rest()
        return [replace(policy, notes=(*policy.notes, note)) for policy in found] if note else found

    def _name(self, groups: list[_Group]) -> None:
        """A policy without an annotation has the name of its autoscaler, with the kind if that name is taken."""
        given = {key for key in self._groups if isinstance(key, str)}
        own = [group for key, group in self._groups.items() if not isinstance(key, str)]
        times = Counter([*given, *(group.name for group in own)])
        for group in own:
            scaler = group.scalers[0]
            if times[group.name] > 1:
                group.name = f"{short_name(scaler.autoscaler)} {group.name}"
            if scaler.sound and (message := _name_fault(group.name)):
                todo = f"name it with the annotation {POLICY}"
                self._report(scaler.source, ("metadata", "name"), f"as a policy {group.name[:80]!r} {message}; {todo}")
        first: dict[str, _Group] = {}
        for group in groups:
            if first.setdefault(group.name, group) is not group:
                message = f"a second policy has the name {group.name!r}; give it another with the annotation {POLICY}"
                self._report(group.scalers[0].source, ("metadata", "name"), message)

    def _policy(self, group: _Group) -> Policy | None:
        self._report_other_targets(group)
        found = self._start(group)
        named = self._named_hpa(group)
        scalers = [one for one in group.scalers if one.autoscaler is not named]
        placed: list[Placed] = [(one.autoscaler, one.source) for one in scalers]
        mishaps = hindrances(group.name, placed, found, self._world, named)
        self.mishaps += mishaps
        if mishaps or found.start is None or not all(one.sound for one in group.scalers):
            return None
        return made(group.name, placed, found.start, found.notes, named)

    def _named_hpa(self, group: _Group) -> HPA | None:
        """The HPA that a Tortoise of the group names, wherever it is in the input."""
        for tortoise in [one.autoscaler for one in group.scalers if isinstance(one.autoscaler, Tortoise)]:
            for hpa in self._hpas if tortoise.names_hpa else ():
                if hpa.name == tortoise.hpa_name and _same_namespace(tortoise, hpa.metadata.get("namespace")):
                    return hpa
        return None

    def _report_other_targets(self, group: _Group) -> None:
        """A policy has exactly one workload."""
        named = [(one.source, _target_place(one.autoscaler), one.target) for one in group.scalers if one.target.name]
        own = group.workloads[:1] or []
        first = own[0].ref if own else named[0][2] if named else Ref()
        for source, where, ref in named:
            if (ref.kind, ref.name) != (first.kind, first.name):
                message = f"policy {group.name!r} targets {first}, but this targets {ref}; a policy has one target"
                self._report(source, where, message)
        for other in group.workloads[1:]:
            message = f"policy {group.name!r} already has {own[0].ref}; a policy has one workload"
            self._report(other.loaded.source, ("metadata", "annotations", POLICY), message)

    def _start(self, group: _Group) -> Found:
        if group.workloads:
            return self._read(group.workloads[0])
        scaler = group.scalers[0]
        ref = scaler.target
        if ref.kind in _NEVER:
            message = f"a {ref.kind} cannot be replayed: the number of its pods cannot be set"
            return Found(None, mishaps=(Mishap(scaler.source, _target_place(scaler.autoscaler), message),))
        free = [one for one in self._workloads if not one.annotated]
        fitting = [one for one in free if _fits(scaler, one)]
        if len(fitting) > 1:
            place = ", ".join(f"{one.loaded.source.file}:{one.loaded.source.line}" for one in fitting)
            message = f"{ref} occurs more than once ({place}); give it once, or set {POLICY} on each"
            return Found(None, mishaps=(Mishap(scaler.source, _target_place(scaler.autoscaler), message),))
        if fitting:
            return self._read(fitting[0])
        return self._replacement(scaler, free)

    def _replacement(self, scaler: _Scaler, free: list[_InputWorkload]) -> Found:
        """The only workload in the input, or that of the world, for a target that is not among the manifests."""
        ref = scaler.target
        if len(free) == 1:
            found = self._read(free[0])
            return found._replace(notes=(f"{ref} is not among the manifests: {free[0].ref} is replayed", *found.notes))
        if free:
            message = f"{ref} is not among the manifests; add it, or give exactly one workload"
            return Found(None, mishaps=(Mishap(scaler.source, _target_place(scaler.autoscaler), message),))
        kind = str(ref.kind or "Deployment")
        start = start_of_world(self._world, kind, str(ref.name or "workload"))
        return Found(start, (f"No {kind} given; using {pod_of_world(self._world)}",))

    def _read(self, workload: _InputWorkload) -> Found:
        workload.used = True
        if workload.found is None:
            workload.found = start_of(workload.loaded, self._world)
        return workload.found

    def _note_on_the_rest(self) -> str:
        """A note on objects of the input that are in no policy."""
        idle = Counter(str(one.ref.kind) for one in self._workloads if not one.used)
        rest = self._ignored + idle
        if not rest:
            return ""
        return f"not replayed: {', '.join(f'{count} {kind}' for kind, count in sorted(rest.items()))}"

    def _report(self, source: Source | None, where: Where, message: str) -> None:
        self.mishaps.append(Mishap(source, where, message))


def is_controlled(data: Mapping[str, Any]) -> bool:
    """Whether a controller owns the object, as with a ReplicaSet of a Deployment; no policy applies to it."""
    owners = mappings(inner(data, "metadata").get("ownerReferences"))
    return any(owner.get("controller") is True for owner in owners)


def _fits(scaler: _Scaler, workload: _InputWorkload) -> bool:
    """Whether this is the target. A missing namespace matches any."""
    ref, target = workload.ref, scaler.target
    same = _same_namespace(scaler.autoscaler, workload.namespace)
    return same and (ref.kind, ref.name) == (target.kind, target.name)


def _same_namespace(autoscaler: Autoscaler, namespace: Any) -> bool:
    own = autoscaler.metadata.get("namespace") if isinstance(autoscaler.metadata, dict) else None
    return not own or not namespace or own == namespace


def _target_place(autoscaler: Autoscaler) -> Where:
    return ("spec", *info_of(autoscaler).target_field.split("."))


def _name_fault(name: str) -> str:
    if not name:
        return "is empty"
    if not name.isprintable():
        return "contains characters that cannot be printed"
    if name == STATIC_PEAK:
        return "is reserved: policies are compared with it"
    return f"is longer than {LONGEST_NAME} characters" if len(name) > LONGEST_NAME else ""


def _what_can() -> str:
    kinds = sorted(names_of(autoscalers()))
    return f"give {', '.join([*kinds, *WORKLOADS[:-1]])} or {WORKLOADS[-1]}"
