"""What vertical autoscalers read in addition to pods, indexed once: nodes, ranges, checkpoints, other autoscalers."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING, Any

from hypot.core.amount import RESOURCES, of_milli
from hypot.kinds.base import Kind
from hypot.kinds.catalogue import Autoscaler, info_of
from hypot.kinds.hpa import HPA
from hypot.kinds.values.nested import inner, mappings
from hypot.kinds.vpa import VPA
from hypot.kinds.vpa.fields import OFF
from hypot.kinds.vpa.knobs import knobs_of
from hypot.policy.model.current_size import live
from hypot.policy.model.seen import (
    ClusterNode,
    Controller,
    CountAdvice,
    Failure,
    LimitRange,
    Pod,
    Recommendation,
    Seen,
    UsageView,
)
from hypot.policy.model.settings import Settings
from hypot.policy.observe.read_pods import name_of
from hypot.policy.observe.read_sizes import read_advice, read_controller, read_count_advice
from hypot.policy.observe.targets import ScaleTarget, key_of_autoscaler, target_key
from hypot.policy.vertical.oom import last_oom, put_out

if TYPE_CHECKING:
    from hypot.policy.usage.usage import Usage

Object = Mapping[str, Any]


class Surroundings:
    """Takes objects in any order; answers are computed on first use."""

    def __init__(self, pods: Callable[[], Iterable[Pod]]) -> None:
        """`pods` returns all pods of the cluster."""
        self._pods = pods
        self._nodes: dict[str, ClusterNode] = {}
        self._on_node: dict[str, list[Pod]] | None = None
        self._ranges: dict[str, dict[str, tuple[LimitRange, ...]]] = {}
        self._checkpoints: dict[tuple[str, str], dict[str, Object]] = {}
        self._sizers: dict[ScaleTarget, list[VPA]] = {}
        self._counters: dict[ScaleTarget, list[HPA]] = {}
        self._vpas: set[tuple[str, str]] = set()
        self._hpas: dict[tuple[str, str], HPA] = {}
        self._annotations: dict[str, Mapping[str, str]] = {}
        self._read_nodes: dict[str, ClusterNode] = {}
        self._largest: list[str] | None = None

    def take_node(self, node: ClusterNode) -> None:
        self._nodes[node.name] = node

    def take_namespace(self, name: str, annotations: Mapping[str, str]) -> None:
        self._annotations[name] = annotations

    def namespace_annotations(self, name: str) -> Mapping[str, str]:
        return self._annotations.get(name, {})

    def take_limit_range(self, namespace: str, name: str, items: tuple[LimitRange, ...]) -> None:
        self._ranges.setdefault(namespace, {})[name] = items

    def take_checkpoint(self, namespace: str, data: Object) -> None:
        spec = inner(data, "spec")
        owner, container = str(spec.get("vpaObjectName") or ""), str(spec.get("containerName") or "")
        self._checkpoints.setdefault((namespace, owner), {})[container] = data

    def take_autoscaler(self, autoscaler: Any) -> None:
        """Record which autoscaler sizes or counts which target."""
        key = target_key(autoscaler)
        info = info_of(autoscaler)
        if info.sizes and not info.counts:
            self._sizers.setdefault(key, []).append(autoscaler)
            self._vpas.add((autoscaler.namespace, autoscaler.name))
        elif info.claims_pods:
            self._counters.setdefault(key, []).append(autoscaler)
            self._hpas[autoscaler.namespace, autoscaler.name] = autoscaler

    def hpa(self, namespace: str, name: str) -> HPA | None:
        """The HPA of this name."""
        return self._hpas.get((namespace, name))

    def nodes(self, pods: Iterable[Pod]) -> dict[str, ClusterNode]:
        """The nodes of these pods, and the largest nodes: a pod that fits none of these fits nowhere."""
        if self._largest is None:
            self._largest = _largest(self._nodes.values())
        return {name: self._node(name) for name in {*self._largest, *[pod.node for pod in pods if pod.node]}}

    def _node(self, name: str) -> ClusterNode:
        """The node with the total requests of its pods; a node that is not in the input has no known size."""
        if name not in self._nodes:
            return ClusterNode(name)
        if name not in self._read_nodes:
            requested: dict[str, int] = {}
            for pod in self._pods_on(name):
                for container in pod.containers:
                    for resource, amount in container.current_requests.items():
                        requested[resource] = requested.get(resource, 0) + amount
            self._read_nodes[name] = replace(self._nodes[name], requested=requested)
        return self._read_nodes[name]

    def _pods_on(self, node: str) -> list[Pod]:
        if self._on_node is None:
            self._on_node = {}
            for pod in self._pods():
                if pod.node and pod.phase not in {"Succeeded", "Failed"}:
                    self._on_node.setdefault(pod.node, []).append(pod)
        return self._on_node.get(node, [])

    def limit_ranges(self, namespace: str) -> tuple[LimitRange, ...]:
        return tuple([item for items in self._ranges.get(namespace, {}).values() for item in items])

    def usage(self, autoscaler: Kind, seen: Seen, settings: Settings) -> tuple[UsageView | None, tuple[str, ...]]:
        """The histograms from checkpoints plus current usage and OOM kills, and notes on what could not be read."""
        kept = [self._checkpoints.get((autoscaler.namespace, owner)) for owner in self._keepers(autoscaler)]
        found = next((checkpoints for checkpoints in kept if checkpoints), None)
        return (None, ()) if found is None else _loaded(autoscaler, found, seen, settings)

    def _keepers(self, autoscaler: Kind) -> list[str]:
        """The names under which the target's usage is stored: its own, unless a VPA of another target has that name."""
        if not info_of(autoscaler).counts:
            return [autoscaler.name]
        sizers = sorted(self._sizers_of(autoscaler), key=lambda vpa: _rank(vpa, autoscaler.name))
        names = [vpa.name for vpa in sizers]
        taken = (autoscaler.namespace, autoscaler.name) in self._vpas and autoscaler.name not in names
        return names if taken else list(dict.fromkeys([autoscaler.name, *names]))

    def conflicts(self, vpa: Kind) -> tuple[str, ...]:
        """Older VPAs that size the same pods; only the oldest acts, and of equally old ones the first by name."""
        others = [
            other for other in self._sizers.get(target_key(vpa), ()) if other.mode != OFF and other.name != vpa.name
        ]
        return tuple([other.name for other in sorted(others, key=age_of) if age_of(other) < age_of(vpa)])

    def _sizers_of(self, hvpa: Kind) -> list[VPA]:
        return self._sizers.get(target_key(hvpa), [])

    def size_advice(self, autoscaler: Kind) -> Recommendation | Failure | None:
        """The recommendation in a VPA's own status; for an Hvpa that of the VPA with the same target."""
        if not info_of(autoscaler).counts:
            return read_advice(autoscaler)
        sizers = self._sizers_of(autoscaler)
        return read_advice(_owned_first(sizers, autoscaler.name)) if sizers else None

    def count_advice(self, hvpa: Autoscaler) -> CountAdvice | Failure | None:
        """What the HPA of this Hvpa asks for: the HPA that scales the Hvpa itself, else the one of its target."""
        for target in (key_of_autoscaler(hvpa), target_key(hvpa)):
            if counters := self._counters.get(target):
                return read_count_advice(_owned_first(counters, hvpa.name))
        return None


def _largest(nodes: Iterable[ClusterNode]) -> list[str]:
    """The nodes for which no other node has both more cpu and more memory: only a few, even in a large cluster."""
    sizes = [(tuple([node.allocatable.get(resource, inf) for resource in RESOURCES]), node.name) for node in nodes]
    found: list[str] = []
    most: float = -1
    for (_, memory), name in sorted(sizes, reverse=True):
        if memory > most:
            found.append(name)
            most = memory
    return found


def _owned_first(scalers: Any, owner: str) -> Any:
    """The autoscaler that this Hvpa owns, else the first by name."""
    return min(scalers, key=lambda scaler: _rank(scaler, owner))


def _rank(scaler: HPA | VPA, owner: str) -> tuple[bool, str]:
    return owner not in _owners(scaler), scaler.name


def age_of(vpa: Kind) -> tuple[str, str]:
    """A sort key, oldest first: Kubernetes timestamps sort as text; an object without one is the youngest."""
    metadata = vpa.metadata if isinstance(vpa.metadata, dict) else {}
    return str(metadata.get("creationTimestamp") or "~"), vpa.name


def _owners(scaler: HPA | VPA) -> set[str]:
    metadata = scaler.metadata if isinstance(scaler.metadata, dict) else {}
    return {str(o.get("name")) for o in mappings(metadata.get("ownerReferences")) if o.get("kind") == "Hvpa"}


def _loaded(
    autoscaler: Kind, checkpoints: Mapping[str, Object], seen: Seen, settings: Settings
) -> tuple[UsageView | None, tuple[str, ...]]:
    from hypot.policy.usage.usage import Usage  # noqa: PLC0415 - numpy costs a tenth of a second, and few dumps need it

    usage, notes, good = Usage(), [], []
    for container, data in sorted(checkpoints.items()):
        usage.declare(autoscaler.name, container, knobs_of(autoscaler, container, settings.vpa), 0.0)
        try:
            usage.load(autoscaler.name, container, inner(data, "status"))
            good.append(container)
        except (ValueError, OverflowError) as error:
            notes.append(f"checkpoint {name_of(data)} cannot be used: {error}")
    if not good:
        return None, tuple(notes)
    if isinstance(seen.pod_metrics, Failure):
        notes.append(f"checkpoints lack the memory peak of the current window, and {seen.pod_metrics.message}")
    _observe(usage, autoscaler.name, frozenset(good), seen)
    return usage.view(autoscaler.name), tuple(notes)


def _observe(usage: "Usage", owner: str, containers: frozenset[str], seen: Seen) -> None:
    """Fold in what the input shows: the usage of live pods, OOM kills, and evictions because of memory pressure."""
    samples = {} if isinstance(seen.pod_metrics, Failure) else seen.pod_metrics
    for pod in sorted([*live(seen.pods), *put_out(seen.pods)], key=lambda pod: pod.name):
        sample = samples.get(pod.name)
        used = dict(sample.containers) if sample is not None else {}
        for container in pod.containers:
            if container.name not in containers:
                continue
            instance = usage.instance(usage.aggregate(owner, container.name), pod.uid or pod.name)
            amounts = used.get(container.name, {})
            cpu, memory = amounts.get("cpu"), amounts.get("memory")
            if sample is not None:
                usage.observe([(instance, cpu, None if memory is None else of_milli("memory", memory), sample.at)])
            oom = last_oom(pod, container)
            if oom is not None:
                usage.oom(instance, *oom)


def controllers_of(
    pods: Iterable[Pod], workloads: Mapping[tuple[str, str], Object]
) -> dict[tuple[str, str], Controller]:
    """The controllers of these pods, as far as they are in the input."""
    wanted = {(owner.kind, owner.name) for pod in pods for owner in pod.owners}
    return {key: read_controller(workloads[key]) for key in wanted if key in workloads}
