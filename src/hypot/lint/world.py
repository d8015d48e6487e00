"""All objects of the input together, each read once and found by what the rules ask for."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar

from hypot.kinds.base import Kind, Ref
from hypot.kinds.hpa import HPA
from hypot.kinds.hpa_defaults import DEFAULT_METRICS
from hypot.kinds.hpa_parts import Metric, Target
from hypot.kinds.problem import Where
from hypot.kinds.selector import Selector
from hypot.kinds.version import Version
from hypot.kinds.wpa import WPA
from hypot.lint.item import Item, Key, dig, mapping, text, whole
from hypot.lint.labels import SelectorIndex, selector_of
from hypot.lint.template import Defaults, Template, defaults_of, read_template

K = TypeVar("K", HPA, WPA)

_PAUSED = "autoscaling.keda.sh/paused"
# Groups in which the kind is Kubernetes' own, or meant to be.
_HPA_GROUPS = ("autoscaling", "", "apps", "extensions")
# Objects that no rule looks at, by group ("" is all of core but the kinds beside it) and kind.
_CORE_KINDS = frozenset(
    {"ReplicationController", "LimitRange", "ResourceQuota", "Namespace", "HorizontalPodAutoscaler"}
)
_IDLE_GROUPS = frozenset(
    {
        "metrics.k8s.io",
        "custom.metrics.k8s.io",
        "external.metrics.k8s.io",
        "events.k8s.io",
        "discovery.k8s.io",
        "coordination.k8s.io",
        "rbac.authorization.k8s.io",
        "storage.k8s.io",
        "apiextensions.k8s.io",
        "networking.k8s.io",
        "admissionregistration.k8s.io",
        "certificates.k8s.io",
    }
)


def worth_keeping(api_version: str, kind: str) -> bool:
    """Whether any rule may look at such an object; pods and metrics of a dump are let go of while it is read."""
    group = api_version.rpartition("/")[0]
    if not group:
        return kind in _CORE_KINDS
    return group not in _IDLE_GROUPS and not (group == "apps" and kind == "ControllerRevision")


@dataclass(frozen=True, slots=True, eq=False)
class Autoscaler(Generic[K]):
    """An autoscaler as it is written, and what of it could be read."""

    item: Item
    written: K
    spec: K
    target: Key | None


@dataclass(frozen=True, slots=True, eq=False)
class Claim:
    """Something that sets the replicas of a target, whatever its kind, and the least it sets."""

    item: Item
    target: Key
    least: int


@dataclass(frozen=True, slots=True, eq=False)
class Workload:
    """Something with pods. Where the input holds it twice, its pods are anybody's guess and it has no template."""

    item: Item
    template: Template | None
    selector: Selector | None

    @property
    def key(self) -> Key:
        return self.item.key


@dataclass(frozen=True, slots=True)
class ResourceUse:
    """A metric of an HPA that is a resource of the pods, or of one container."""

    scaler: Autoscaler[HPA]
    where: Where
    resource: str
    container: str
    target: Target


class World:
    """The input, indexed. Rules only read it."""

    def __init__(self, items: Iterable[Item], kubernetes: Version) -> None:
        self.items = tuple(items)
        self.kubernetes = kubernetes
        self._by_kind: dict[tuple[str, str], list[Item]] = defaultdict(list)
        for item in self.items:
            self._by_kind[item.group, item.kind].append(item)

    def of_kind(self, group: str, kind: str) -> list[Item]:
        return self._by_kind.get((group, kind), [])

    @cached_property
    def hpas(self) -> tuple[Autoscaler[HPA], ...]:
        found = [item for group in _HPA_GROUPS for item in self.of_kind(group, HPA.KIND)]
        return tuple(_autoscaler(HPA, item) for item in found)

    @cached_property
    def wpas(self) -> tuple[Autoscaler[WPA], ...]:
        return tuple(_autoscaler(WPA, item) for item in self.of_kind("datadoghq.com", WPA.KIND))

    @property
    def autoscalers(self) -> Iterator[Autoscaler[HPA] | Autoscaler[WPA]]:
        yield from self.hpas
        yield from self.wpas

    @cached_property
    def scaled_objects(self) -> list[Item]:
        return self.of_kind("keda.sh", "ScaledObject")

    @cached_property
    def claims(self) -> dict[Key, list[Claim]]:
        """Everything that really scales, by what it scales; a dry run or a paused ScaledObject writes nothing."""
        found: dict[Key, list[Claim]] = defaultdict(list)
        for claim in self._all_claims:
            if _writes(claim.item):
                found[claim.target].append(claim)
        return dict(found)

    @cached_property
    def _all_claims(self) -> tuple[Claim, ...]:
        found = []
        for one in self.autoscalers:
            if one.target is not None:
                least = one.spec.min_replicas
                found.append(Claim(one.item, one.target, 1 if least is None else least))
        for item in self.scaled_objects:
            target = _keda_target(item)
            if target is not None:
                found.append(Claim(item, target, whole(item.spec.get("minReplicaCount")) or 0))
        return tuple(found)

    @cached_property
    def workloads(self) -> dict[Key, Workload]:
        """Everything with a pod template, and whatever else an autoscaler points at."""
        found: dict[Key, Workload] = {}
        targets = {claim.target for claim in self._all_claims}
        for item in self.items:
            template = _template_data(item)
            if template is None and item.key not in targets:
                continue
            twice = item.key in found
            found[item.key] = Workload(item, None if twice else self._template(item, template), _selector(item))
        return found

    def _template(self, item: Item, data: Any) -> Template | None:
        return read_template(data, self.defaults.get(item.namespace, Defaults()), self.kubernetes)

    @cached_property
    def kinds_in(self) -> frozenset[tuple[str, str, str]]:
        """Group, kind and namespace of the workloads that are there."""
        return frozenset(key[:3] for key, workload in self.workloads.items() if not workload.item.controlled)

    @cached_property
    def namespaces_of(self) -> dict[tuple[str, str, str], list[str]]:
        """Where there is a workload of this group, kind and name."""
        found: dict[tuple[str, str, str], list[str]] = defaultdict(list)
        for key in self.workloads:
            found[key.group, key.kind, key.name].append(key.namespace)
        return found

    @cached_property
    def defaults(self) -> dict[str, Defaults]:
        by_namespace: dict[str, list[Item]] = defaultdict(list)
        for item in self.of_kind("", "LimitRange"):
            by_namespace[item.namespace].append(item)
        return {namespace: defaults_of(items) for namespace, items in by_namespace.items()}

    def target_of(self, scaler: Autoscaler[HPA] | Autoscaler[WPA]) -> Workload | None:
        return None if scaler.target is None else self.workloads.get(scaler.target)

    def template_of(self, scaler: Autoscaler[HPA] | Autoscaler[WPA]) -> Template | None:
        """The pods an autoscaler scales; a Rollout may borrow those of a Deployment."""
        workload = self.target_of(scaler)
        if workload is None or workload.template is not None:
            return workload.template if workload is not None else None
        borrowed = mapping(workload.item.spec.get("workloadRef"))
        if not borrowed:
            return None
        lender = self.workloads.get(_key(borrowed.get("apiVersion"), borrowed, workload.key.namespace))
        return lender.template if lender is not None else None

    @cached_property
    def pods_scaled_by_hpa(self) -> SelectorIndex[Workload]:
        """The targets of HorizontalPodAutoscalers, by the labels of the pods they select; KEDA makes such too."""
        selected = []
        for target, claims in self.claims.items():
            workload = self.workloads.get(target)
            if workload is None or workload.selector is None or not any(c.item.kind != WPA.KIND for c in claims):
                continue
            selected.append((target.namespace, workload.selector, workload))
        return SelectorIndex(selected)

    @cached_property
    def resource_uses(self) -> tuple[ResourceUse, ...]:
        return tuple(use for hpa in self.hpas for where, metric in metrics_of(hpa) for use in _uses(hpa, where, metric))


def _autoscaler(cls: type[K], item: Item) -> Autoscaler[K]:
    written = cls.from_dict(item.data)
    spec = written if written.sound() else written.readable()
    return Autoscaler(item, written, spec, _target(item, spec.target))


def _target(item: Item, ref: Ref | None) -> Key | None:
    if ref is None or not ref.kind or not ref.name:
        return None
    return Key(ref.group, ref.kind, item.namespace, ref.name)


def _keda_target(item: Item) -> Key | None:
    ref = mapping(item.spec.get("scaleTargetRef"))
    if not text(ref.get("name")):
        return None
    kind = text(ref.get("kind")) or "Deployment"
    return _key(ref.get("apiVersion") or "apps/v1", {**ref, "kind": kind}, item.namespace)


def _writes(item: Item) -> bool:
    """KEDA takes any word but a false one for paused."""
    if item.kind == WPA.KIND:
        return item.spec.get("dryRun") is not True
    return item.annotations.get(_PAUSED, "false") in {"false", "False", "FALSE", "f", "F", "0"}


def _key(api_version: Any, ref: Any, namespace: str) -> Key:
    return Key(text(api_version).rpartition("/")[0], text(dig(ref, "kind")), namespace, text(dig(ref, "name")))


def reference_key(item: Item, name: str) -> Key:
    """The object that a reference in an object's spec points at."""
    ref = mapping(item.spec.get(name))
    return _key(ref.get("apiVersion"), ref, item.namespace)


def _template_data(item: Item) -> Any:
    """The pod template of anything that has one where such things have it."""
    found = item.spec.get("template")
    if found is None:
        found = dig(item.spec, "jobTemplate", "spec", "template")
    return found if isinstance(dig(found, "spec", "containers"), list) else None


def _selector(item: Item) -> Selector | None:
    data = item.spec.get("selector")
    if item.kind != "ReplicationController":
        return selector_of(data)
    labels = data or dig(item.spec, "template", "metadata", "labels")
    return selector_of({"matchLabels": labels}) if isinstance(labels, dict) else None


def metrics_of(hpa: Autoscaler[HPA]) -> Iterator[tuple[Where, Metric]]:
    """The metrics that count, with their places; where none is written the API server adds one."""
    if hpa.written.metrics is None or hpa.written.metrics == ():
        yield ("spec", "metrics"), DEFAULT_METRICS[0]
        return
    for i, metric in enumerate(hpa.spec.metrics or ()):
        yield ("spec", "metrics", i), metric


def _uses(hpa: Autoscaler[HPA], where: Where, metric: Metric) -> Iterator[ResourceUse]:
    resource, container = metric.resource, metric.container_resource
    if metric.type == "Resource" and resource is not None:
        at = where if where == ("spec", "metrics") else (*where, "resource")
        yield ResourceUse(hpa, at, resource.name or "", "", resource.target or Target())
    elif metric.type == "ContainerResource" and container is not None and container.container:
        at = (*where, "containerResource")
        yield ResourceUse(hpa, at, container.name or "", container.container, container.target or Target())


def kinds_of(world: World) -> Iterator[tuple[Item, Kind]]:
    """Every autoscaler as its kind, for the kind's own rules."""
    for one in world.autoscalers:
        yield one.item, one.written
