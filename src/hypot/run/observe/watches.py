"""All watched objects in their current state. Nothing is decided here."""

import asyncio
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

import structlog

from hypot.cluster.port import Port
from hypot.cluster.reflector import Reflector
from hypot.core.amount import CPU, of_milli
from hypot.kinds.catalogue import CATALOGUE, Autoscaler, controlled, sizing
from hypot.kinds.values.names import group_of
from hypot.kinds.wpa import WPA
from hypot.policy.observe.absent import Absent
from hypot.policy.observe.questions import Values
from hypot.policy.observe.snapshot import Lasting, Snapshot, UsageOf
from hypot.run.config import RunConfig
from hypot.run.observe.rows import (
    AutoscalerRow,
    NamespaceRow,
    Object,
    follow_autoscaler,
    keep_limit_range,
    keep_monitor,
    keep_namespace,
    keep_node,
    keep_pod,
    keep_replica_set,
    keep_workload,
)
from hypot.run.outcome import Key

if TYPE_CHECKING:
    from hypot.policy.model.seen import ClusterNode, LimitRange, Pod

log = structlog.get_logger()
# How often missing and new CustomResourceDefinitions and namespaces are checked for, in seconds.
LOOK_EVERY = 1.0

Row = TypeVar("Row")
Named = tuple[str, str]


class ApiResource(NamedTuple):
    """A resource of the API, by the parts of its path."""

    api_version: str
    kind: str
    plural: str

    @property
    def group(self) -> str:
        return group_of(self.api_version)

    def path(self, namespace: str = "") -> str:
        base = f"/apis/{self.api_version}" if "/" in self.api_version else f"/api/{self.api_version}"
        return f"{base}/namespaces/{namespace}/{self.plural}" if namespace else f"{base}/{self.plural}"


PODS = ApiResource("v1", "Pod", "pods")
NODES = ApiResource("v1", "Node", "nodes")
NAMESPACES = ApiResource("v1", "Namespace", "namespaces")
LIMIT_RANGES = ApiResource("v1", "LimitRange", "limitranges")
REPLICA_SETS = ApiResource("apps/v1", "ReplicaSet", "replicasets")
MONITORS = ApiResource("datadoghq.com/v1alpha1", "DatadogMonitor", "datadogmonitors")
CHECKPOINTS = ApiResource(
    "autoscaling.k8s.io/v1", "VerticalPodAutoscalerCheckpoint", "verticalpodautoscalercheckpoints"
)
WORKLOADS = (
    ApiResource("apps/v1", "Deployment", "deployments"),
    ApiResource("apps/v1", "StatefulSet", "statefulsets"),
    ApiResource("v1", "ReplicationController", "replicationcontrollers"),
)
WORKLOADS_WITHOUT_SCALE = (
    ApiResource("apps/v1", "DaemonSet", "daemonsets"),
    ApiResource("batch/v1", "Job", "jobs"),
    ApiResource("batch/v1", "CronJob", "cronjobs"),
)


def resource_of(kind: str) -> ApiResource:
    """The API resource of an autoscaler's kind."""
    info = CATALOGUE[kind]
    return ApiResource(info.api_version, info.name, info.plural)


class WatchedResource(Generic[Row]):
    """One resource, with one watch, or with one watch per watched namespace."""

    def __init__(
        self, port: Port, resource: ApiResource, keep: Callable[[dict[str, Any]], Row | None], *spaces: str
    ) -> None:
        self.resource = resource
        self.reflectors = [Reflector(port, resource.path(space), keep=keep) for space in spaces or ("",)]

    def items(self) -> Iterator[tuple[Named, Row]]:
        for reflector in self.reflectors:
            yield from reflector.rows.items()

    def values(self) -> Iterator[Row]:
        for reflector in self.reflectors:
            yield from reflector.rows.values()

    def get(self, named: Named) -> Row | None:
        for reflector in self.reflectors:
            if named in reflector.rows:
                return reflector.rows[named]
        return None

    @property
    def synced(self) -> bool:
        return all(reflector.synced or reflector.missing for reflector in self.reflectors)

    @property
    def missing(self) -> bool:
        """Whether the API server says that the resource does not exist."""
        return any(reflector.missing for reflector in self.reflectors)

    @property
    def trouble(self) -> str:
        return next((each.trouble for each in self.reflectors if each.trouble), "")

    def age(self) -> float:
        """How long ago the quietest of its watches last reported; a missing resource has no age."""
        return max((each.age() for each in self.reflectors if not each.missing), default=0.0)

    def __len__(self) -> int:
        return sum(len(each.rows) for each in self.reflectors)


class Watches:
    """The watches that a configuration needs, and snapshots of their objects."""

    def __init__(self, port: Port, config: RunConfig) -> None:
        spaces = config.watch_namespaces
        watch = partial(self._watched, port, spaces)
        self.config = config
        self.all: list[WatchedResource[Any]] = []
        self.pods: WatchedResource[Pod] = watch(PODS, keep_pod)
        self.autoscalers: dict[str, WatchedResource[AutoscalerRow]] = {
            info.name: watch(resource_of(info.name), partial(follow_autoscaler, self.row, info.api_version, info.name))
            for info in controlled()
            if self._needs(info.name)
        }
        only_sized = any(config.enabled(info.name) and not info.counts for info in sizing())
        kinds = WORKLOADS + (WORKLOADS_WITHOUT_SCALE if only_sized else ())
        self.workloads: list[WatchedResource[Object]] = [
            watch(each, partial(keep_workload, each.api_version, each.kind)) for each in kinds
        ]
        self.replica_sets: WatchedResource[Object] = watch(REPLICA_SETS, keep_replica_set)
        self.namespaces: WatchedResource[NamespaceRow] | None = None
        if config.opt_in == "label":
            self.namespaces = self._watched(port, (), NAMESPACES, keep_namespace)
        self.monitors: WatchedResource[Object] | None = None
        if config.enabled(WPA.KIND):
            self.monitors = watch(MONITORS, keep_monitor)
        self.nodes: WatchedResource[ClusterNode] | None = None
        self.limit_ranges: WatchedResource[tuple[LimitRange, ...]] | None = None
        if config.sizes_pods:
            self.nodes = self._watched(port, (), NODES, keep_node)
            self.limit_ranges = watch(LIMIT_RANGES, keep_limit_range)

    def _needs(self, kind: str) -> bool:
        """Whether to watch a kind: an Hvpa may follow its target's HPA and VPA; any kind may conflict with an HPA."""
        config, info = self.config, CATALOGUE[kind]
        if config.enabled(kind) or info.claims_pods:
            return True
        return not info.counts and any(config.enabled(other.name) and other.decides_both for other in sizing())

    def _watched(
        self, port: Port, spaces: tuple[str, ...], resource: ApiResource, keep: Callable[[dict[str, Any]], Row | None]
    ) -> WatchedResource[Row]:
        made = WatchedResource(port, resource, keep, *spaces)
        self.all.append(made)
        return made

    async def run(self) -> None:
        """Run all watches forever."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._report_missing())
            for watched in self.all:
                for reflector in watched.reflectors:
                    group.create_task(reflector.run())

    async def _report_missing(self) -> None:
        """Log missing definitions and namespaces: hypot does not wait for them, and they look like empty ones."""
        kinds, spaces = set[str](), set[str]()
        what, message = "namespace", "create it, or remove it from watchNamespaces"
        if self.namespaces is None:
            what, message = "objects", "this watched namespace has no pod, workload or autoscaler: does it exist?"
        while True:
            undefined = {kind for kind, each in self.autoscalers.items() if each.missing and self.config.enabled(kind)}
            _report("definition", "kind", kinds, undefined, "hypot crds | kubectl apply --server-side -f -")
            unseen = self._unseen()
            _report(what, "namespace", spaces, unseen, message)
            kinds, spaces = undefined, unseen
            await asyncio.sleep(LOOK_EVERY)

    def _unseen(self) -> set[str]:
        """Watched namespaces that do not exist; if hypot does not list namespaces, those that look empty."""
        spaces = self.config.watch_namespaces
        if self.namespaces is not None:
            there = self.namespaces
            return {name for name in spaces if there.synced and there.get(("", name)) is None}
        if self.unready:
            return set()
        kinds = self._kinds()
        return {name for place, name in enumerate(spaces) if not any(each.reflectors[place].rows for each in kinds)}

    def _kinds(self) -> list[WatchedResource[Any]]:
        """The watched resources that are in the watched namespaces."""
        return [self.pods, self.replica_sets, *self.workloads, *self.autoscalers.values()]

    @property
    def unready(self) -> str:
        """The resources that have not been listed yet, as text; empty if all are listed."""
        waiting = [each for each in self.all if not each.synced]
        return ", ".join(f"{each.resource.plural} ({each.trouble or 'not listed yet'})" for each in waiting)

    @property
    def blind(self) -> str:
        """A resource that decisions need and whose watch fails at the moment, as text; empty if all watches work."""
        needed = [*self._kinds(), *([self.namespaces] if self.namespaces else [])]
        return next((f"{each.resource.plural} ({each.trouble})" for each in needed if each.trouble), "")

    @property
    def capacity(self) -> int | None:
        """The millicores that pods may request on all nodes together; None if no node is known."""
        found = [of_milli(CPU, node.allocatable.get(CPU, 0)) for node in self.nodes.values()] if self.nodes else []
        return sum(found) if found else None

    def age(self) -> float:
        return max(each.age() for each in self.all)

    def row(self, key: Key) -> AutoscalerRow | None:
        kind, namespace, name = key
        return self.autoscalers[kind].get((namespace, name)) if kind in self.autoscalers else None

    def stands(self, key: Key, autoscaler: Autoscaler) -> bool:
        """Whether it still exists, is still opted in, and is unchanged apart from its status since the decision."""
        row = self.row(key)
        if row is None or not self.is_opted_in(key[1]):
            return False
        return row.autoscaler is autoscaler or _asks(row.autoscaler) == _asks(autoscaler)

    def workload(self, group: str, kind: str, named: Named) -> Object | None:
        """A watched workload; None if there is none, or if its kind is not watched."""
        watched = self._watched_kind(group, kind)
        return None if watched is None else watched.get(named)

    def watches(self, group: str, kind: str) -> ApiResource | None:
        """The resource of a workload's kind; None if it is not watched."""
        watched = self._watched_kind(group, kind)
        return None if watched is None else watched.resource

    def _watched_kind(self, group: str, kind: str) -> WatchedResource[Object] | None:
        for watched in (*self.workloads, self.replica_sets):
            if (watched.resource.group, watched.resource.kind) == (group, kind):
                return watched
        return None

    def is_opted_in(self, namespace: str) -> bool:
        found = None if self.namespaces is None else self.namespaces.get(("", namespace))
        return self.namespaces is None or (found is not None and found.opted_in)

    def snapshot(self, values: Values, usage: UsageOf, absent: Absent, earlier: Lasting) -> Snapshot:
        """The current state without usage samples and fetched scales; the caller adds these and then settles it."""
        made = Snapshot(values=values, usage=usage, absent=absent, earlier=earlier)
        for watched in (*self.workloads, self.replica_sets):
            for data in watched.values():
                made.take_workload(data)
        for rows in self.autoscalers.values():
            for row in rows.values():
                made.take_autoscaler(row.autoscaler, row.data)
        for node in self.nodes.values() if self.nodes else ():
            made.take_node(node)
        for (namespace, name), items in self.limit_ranges.items() if self.limit_ranges else ():
            made.take_limit_range(namespace, name, items)
        for (_, name), space in self.namespaces.items() if self.namespaces else ():
            if space.annotations:
                made.take_namespace(name, space.annotations)
        for monitor in self.monitors.values() if self.monitors else ():
            made.take_monitor(monitor)
        return made


def _report(what: str, field: str, before: set[str], missing: set[str], todo: str) -> None:
    gone, came = f"{what} missing", f"{what} arrived"
    for name in sorted(missing - before):
        log.warning(gone, **{field: name}, todo=todo)
    for name in sorted(before - missing):
        log.info(came, **{field: name})


def _asks(autoscaler: Autoscaler) -> tuple[object, ...]:
    """The parts of an object that people set; its status changes all the time."""
    metadata = autoscaler.metadata
    return metadata.get("uid"), metadata.get("generation"), autoscaler.annotations
