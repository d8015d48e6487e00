"""Finds the workload of a history among manifests, and what scales it."""

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import NamedTuple

from hypot.cli.files import BadInput
from hypot.cli.pair.subject import PairSubject, read_subject
from hypot.kinds.base import Ref, refer
from hypot.kinds.catalogue import find_autoscaler
from hypot.kinds.text.load import LoadedFiles
from hypot.kinds.values.names import dns_subdomain, group_of
from hypot.kinds.values.nested import inner
from hypot.policy.observe.snapshot import read_autoscaler
from hypot.policy.observe.targets import target_of
from hypot.replay.advice.today import ScaledWorkload
from hypot.replay.policies.read import WORKLOADS, is_controlled

_KINDS = frozenset(kind.lower() for kind in WORKLOADS)
# The fewest replicas where nothing says it, unless there is only one today.
_FEWEST, _MOST = 2, 100


class UnknownWorkloadError(ValueError):
    """A history of which nobody can say to which workload it belongs."""


class _Key(NamedTuple):
    """A workload; the namespace is empty if its manifest has none."""

    namespace: str
    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class _Known:
    """A workload of the input, with what scales it."""

    def __init__(self) -> None:
        self.workloads: list[LoadedFiles] = []
        self.scalers: list[LoadedFiles] = []


class FoundWorkload(NamedTuple):
    """The workload of a history: for advice, and for a pair."""

    subject: ScaledWorkload
    pair: PairSubject
    notes: tuple[str, ...]


class Workloads:
    """All workloads of manifests, by name."""

    def __init__(self, loaded: Iterable[LoadedFiles]) -> None:
        self._known: dict[_Key, _Known] = {}
        for one in loaded:
            self._take(one)

    def _take(self, one: LoadedFiles) -> None:
        group, kind = group_of(one.data.get("apiVersion")), str(one.data.get("kind"))
        written = inner(one.data, "metadata").get("namespace")
        namespace = written if isinstance(written, str) else ""
        if find_autoscaler(group, kind) is not None:
            target = target_of(read_autoscaler(one.data))
            if target.name:
                self._at(_Key(namespace, str(target.kind), target.name)).scalers.append(one)
        elif group == "apps" and kind in WORKLOADS and not is_controlled(one.data):
            self._at(_Key(namespace, kind, str(refer(one.data).name))).workloads.append(one)

    def _at(self, key: _Key) -> _Known:
        return self._known.setdefault(key, _Known())

    @cached_property
    def _by_name(self) -> dict[str, list[_Key]]:
        found: dict[str, list[_Key]] = {}
        for key in self._known:
            found.setdefault(key.name, []).append(key)
        return found

    def find(self, name: str, *, alone: bool) -> FoundWorkload:
        """Of a history called `web`, `shop/web` or `deployment/web`. `alone`: it is the only one."""
        *before, last = name.split("/")
        keys = [key for key in self._by_name.get(last, ()) if all(_fits(key, part) for part in before)]
        notes: tuple[str, ...] = ()
        if not keys and alone and len({key.name for key in self._known}) == 1:
            keys = list(self._known)
            notes = (f"no manifest is called {name}: {keys[0].kind}/{keys[0].name} is the only workload",)
        if len({(key.kind, key.name) for key in keys}) > 1 or len({key.namespace for key in keys} - {""}) > 1:
            there = ", ".join(sorted(f"{key.kind} {key}" for key in keys))
            raise UnknownWorkloadError(f"{name} may be each of {there}; call the history NAMESPACE/NAME or KIND/NAME")
        if not keys:
            return self._unknown(name, before, last)
        return _found(keys, [self._known[key] for key in keys], notes)

    def _unknown(self, name: str, before: Sequence[str], last: str) -> FoundWorkload:
        """Nothing is known but the name."""
        if any(dns_subdomain(last)):
            last = "workload"
        namespace = before[0] if len(before) == 1 and not any(dns_subdomain(before[0])) else ""
        target = Ref("apps/v1", "Deployment", last)
        note = f"no manifest of {name}: its pods are assumed" if self._known else "without manifests, pods are assumed"
        bounds = (_FEWEST, _MOST)
        pair = read_subject(target, namespace or None, [], bounds)
        return FoundWorkload(ScaledWorkload(target, namespace, bounds, "assumed", ()), pair, (note,))


def _fits(key: _Key, part: str) -> bool:
    """Whether this part of a name, a kind or a namespace, is that of the workload. A missing namespace is any."""
    if part.lower() in _KINDS:
        return part.lower() == key.kind.lower()
    return not key.namespace or part == key.namespace


def _found(keys: Sequence[_Key], known: Sequence[_Known], notes: tuple[str, ...]) -> FoundWorkload:
    workloads = [one for each in known for one in each.workloads]
    scalers = [one for each in known for one in each.scalers]
    if len(workloads) > 1:
        places = " and ".join(f"{one.source.file}:{one.source.line}" for one in workloads)
        raise UnknownWorkloadError(f"{keys[0].kind} {keys[0]} is in the input twice: {places}")
    target = refer(workloads[0].data) if workloads else target_of(read_autoscaler(scalers[0].data))
    namespace = next((key.namespace for key in keys if key.namespace), "")
    try:
        pair = read_subject(target, namespace or None, [*workloads, *scalers], None)
        bounds, why = pair.bounds.value, pair.bounds.why
        if why.startswith("assumed"):
            bounds, why = _assumed_bounds(workloads), "assumed"
            pair = read_subject(target, namespace or None, [*workloads, *scalers], bounds)
    except BadInput as error:
        raise UnknownWorkloadError(str(error)) from error
    workload = workloads[0] if workloads else None
    subject = ScaledWorkload(target, namespace, bounds, why, tuple(pair.containers.value), workload, tuple(scalers))
    return FoundWorkload(subject, pair, notes)


def _assumed_bounds(workloads: Sequence[LoadedFiles]) -> tuple[int, int]:
    """As an Autoscaler has them; a workload of one pod may stay so, and a large one may stay large."""
    written = inner(workloads[0].data, "spec").get("replicas") if workloads else None
    count = written if type(written) is int and written > 0 else _FEWEST
    return min(_FEWEST, count), max(_MOST, 2 * count)
