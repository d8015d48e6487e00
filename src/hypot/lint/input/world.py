"""All input objects together, read once and indexed for the rules."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any, Generic, TypeVar

from hypot.core.dataclass import dataclass
from hypot.kinds.autoscaler import WorkloadAutoscaler
from hypot.kinds.base import Kind, Ref
from hypot.kinds.catalogue import CATALOGUE, autoscalers, info_of
from hypot.kinds.hpa import HPA
from hypot.kinds.hpa.fields import Metric
from hypot.kinds.hpa.resource_metric import ResourceMetric, effective_metrics, resource_metric
from hypot.kinds.hvpa import Hvpa, hpa_of
from hypot.kinds.hvpa.fields import OFF
from hypot.kinds.hvpa.rules import IN_HPA
from hypot.kinds.known_kinds import WORKLOAD_GROUPS
from hypot.kinds.pod_template import Defaults, Template, read_template, template_in
from hypot.kinds.problem import Where
from hypot.kinds.selector import Selector, selector_of
from hypot.kinds.tortoise import Tortoise
from hypot.kinds.tortoise.settings import TortoiseSettings
from hypot.kinds.values.names import group_of
from hypot.kinds.values.version import Version
from hypot.kinds.vpa import VPA
from hypot.kinds.vpa.checkpoint import Checkpoint
from hypot.kinds.wpa import WPA
from hypot.lint.input.item import Item, Key, dig, mapping, text, whole
from hypot.lint.input.labels import SelectorIndex
from hypot.lint.input.limit_ranges import defaults_of

K = TypeVar("K", HPA, WPA, VPA, Hvpa, Tortoise, WorkloadAutoscaler)

_PAUSED = "autoscaling.keda.sh/paused"
# Kinds whose scaling is done by a HorizontalPodAutoscaler.
BY_HPA = frozenset({HPA.KIND, "ScaledObject"})
# Datadog's own autoscaler, which sets counts and sizes.
DATADOG = "DatadogPodAutoscaler"
# Rules use only these kinds of the core group, and nothing from the idle groups.
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
    """Whether any rule may look at such an object. Pods and metrics of a dump are dropped while it is read."""
    group = group_of(api_version)
    if not group:
        return kind in _CORE_KINDS
    return group not in _IDLE_GROUPS and not (group == "apps" and kind == "ControllerRevision")


@dataclass(frozen=True, slots=True, eq=False)
class Autoscaler(Generic[K]):
    """An autoscaler as written, and the parts of it that could be read. `root` is the path of its fields."""

    item: Item
    written: K
    spec: K
    target: Key | None
    root: Where = ("spec",)

    @property
    def reference(self) -> Where:
        """The path of its target reference."""
        return _reference(self.item)


AnyAutoscaler = (
    Autoscaler[HPA]
    | Autoscaler[WPA]
    | Autoscaler[VPA]
    | Autoscaler[Hvpa]
    | Autoscaler[Tortoise]
    | Autoscaler[WorkloadAutoscaler]
    | Autoscaler[Any]
)


@dataclass(frozen=True, slots=True, eq=False)
class Claim:
    """An object of any kind that sets the replicas of a target, and the lowest count it sets."""

    item: Item
    target: Key
    least: int

    @property
    def reference(self) -> Where:
        return _reference(self.item)


@dataclass(frozen=True, slots=True, eq=False)
class InputWorkload:
    """A workload. If the input contains it twice, its pods are ambiguous and it has no template."""

    item: Item
    template: Template | None
    selector: Selector | None

    @property
    def key(self) -> Key:
        return self.item.key


@dataclass(frozen=True, slots=True)
class ResourceUse:
    """A Resource or ContainerResource metric of an HPA or of an Hvpa's HPA template."""

    scaler: Autoscaler[HPA]
    metric: ResourceMetric


class InputWorld:
    """The indexed input. Rules only read it."""

    def __init__(self, items: Iterable[Item], kubernetes: Version, *, complete: bool = False) -> None:
        """If the input is `complete`, what is not in it does not exist."""
        self.items = tuple(items)
        self.kubernetes = kubernetes
        self.complete = complete
        self._by_kind: dict[tuple[str, str], list[Item]] = defaultdict(list)
        for item in self.items:
            self._by_kind[item.group, item.kind].append(item)

    def of_kind(self, group: str, kind: str) -> list[Item]:
        return self._by_kind.get((group, kind), [])

    def _items(self, cls: type[Kind]) -> Iterator[Item]:
        info = info_of(cls)
        for group in (*info.groups, *info.mistaken_groups):
            yield from self.of_kind(group, cls.KIND)

    @cached_property
    def hpas(self) -> tuple[Autoscaler[HPA], ...]:
        return tuple(_autoscaler(HPA, item) for item in self._items(HPA))

    @cached_property
    def wpas(self) -> tuple[Autoscaler[WPA], ...]:
        return tuple(_autoscaler(WPA, item) for item in self._items(WPA))

    @cached_property
    def vpas(self) -> tuple[Autoscaler[VPA], ...]:
        return tuple(_autoscaler(VPA, item) for item in self._items(VPA))

    @cached_property
    def hvpas(self) -> tuple[Autoscaler[Hvpa], ...]:
        return tuple(_autoscaler(Hvpa, item) for item in self._items(Hvpa))

    @cached_property
    def tortoises(self) -> tuple[Autoscaler[Tortoise], ...]:
        return tuple(_autoscaler(Tortoise, item) for item in self._items(Tortoise))

    @cached_property
    def workload_autoscalers(self) -> tuple[Autoscaler[WorkloadAutoscaler], ...]:
        return tuple(_autoscaler(WorkloadAutoscaler, item) for item in self._items(WorkloadAutoscaler))

    @cached_property
    def others(self) -> tuple[Autoscaler[Any], ...]:
        """Autoscalers of kinds that have no rules of their own, only those that all kinds share."""
        known = {HPA, WPA, VPA, Hvpa, Tortoise, WorkloadAutoscaler}
        kinds = [info.kind for info in autoscalers() if info.kind not in known]
        return tuple(_autoscaler(kind, item) for kind in kinds for item in self._items(kind))

    @cached_property
    def checkpoints(self) -> tuple[tuple[Item, Checkpoint], ...]:
        return tuple((item, Checkpoint.from_dict(item.data)) for item in self._items(Checkpoint))

    @property
    def counting(self) -> Iterator[Autoscaler[HPA] | Autoscaler[WPA] | Autoscaler[WorkloadAutoscaler]]:
        """The autoscalers with a minReplicas and a maxReplicas of their own."""
        yield from self.hpas
        yield from self.wpas
        yield from (one for one in self.workload_autoscalers if one.spec.counts)

    @property
    def autoscalers(self) -> Iterator[AnyAutoscaler]:
        """Everything that points at a workload, to scale or to size it."""
        yield from self.hpas
        yield from self.wpas
        yield from self.vpas
        yield from self.hvpas
        yield from self.tortoises
        yield from self.workload_autoscalers
        yield from self.others

    @cached_property
    def hpa_sources(self) -> tuple[Autoscaler[HPA], ...]:
        """HPA objects, and the HPAs that Hvpas define by a template or imply by leaving out the block."""
        return (*self.hpas, *(_template_of_hpa(one) for one in self.hvpas if one.spec.uses_hpa))

    @cached_property
    def scaled_objects(self) -> list[Item]:
        return self.of_kind("keda.sh", "ScaledObject")

    @cached_property
    def claims(self) -> dict[Key, list[Claim]]:
        """Everything that really scales, by target; without dry runs and paused ScaledObjects, which write nothing."""
        found: dict[Key, list[Claim]] = defaultdict(list)
        for claim in self._all_claims:
            if writes(claim.item):
                found[claim.target].append(claim)
        return dict(found)

    @cached_property
    def _all_claims(self) -> tuple[Claim, ...]:
        found = []
        counted = (one for one in self.others if info_of(one.spec).counts)
        for one in (*self.counting, *self.hvpas, *counted):
            if one.target is not None:
                least = one.spec.min_replicas
                found.append(Claim(one.item, one.target, 1 if least is None else least))
        least = TortoiseSettings().minimum_min_replicas
        found += [Claim(one.item, one.target, least) for one in self.tortoises if one.target is not None]
        for item in self.scaled_objects:
            target = _keda_target(item)
            if target is not None:
                found.append(Claim(item, target, whole(item.spec.get("minReplicaCount")) or 0))
        for item in self.of_kind("datadoghq.com", DATADOG):
            ref = mapping(item.spec.get("targetRef"))
            if text(ref.get("name")):
                target = _key(ref.get("apiVersion"), ref, item.namespace)
                found.append(Claim(item, target, whole(dig(item.spec, "constraints", "minReplicas")) or 1))
        return tuple(found)

    @cached_property
    def workloads(self) -> dict[Key, InputWorkload]:
        """Every object with a pod template, and every other object that an autoscaler points at."""
        found: dict[Key, InputWorkload] = {}
        targets = {claim.target for claim in self._all_claims} | {one.target for one in self.autoscalers}
        for item in self.items:
            template = template_in(item.spec)
            if template is None and item.key not in targets:
                continue
            twice = item.key in found
            found[item.key] = InputWorkload(item, None if twice else self._template(item, template), _selector(item))
        return found

    def _template(self, item: Item, data: Any) -> Template | None:
        return read_template(data, self.defaults.get(item.namespace, Defaults()), self.kubernetes)

    @cached_property
    def kinds_in(self) -> frozenset[tuple[str, str, str]]:
        """Group, kind and namespace of the workloads in the input that no other object controls."""
        return frozenset(key[:3] for key, workload in self.workloads.items() if not workload.item.controlled)

    @cached_property
    def namespaces_of(self) -> dict[tuple[str, str, str], list[str]]:
        """The namespaces that have a workload of this group, kind and name."""
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

    def target_of(self, scaler: AnyAutoscaler) -> InputWorkload | None:
        return None if scaler.target is None else self.workloads.get(scaler.target)

    def template_of(self, scaler: AnyAutoscaler) -> Template | None:
        """The pod template of the target. A Rollout may use that of a Deployment; an Hvpa uses that of its target."""
        workload = self.target_of(scaler)
        if workload is None or workload.template is not None:
            return workload.template if workload is not None else None
        reference = "targetRef" if workload.key.kind == Hvpa.KIND else "workloadRef"
        borrowed = mapping(workload.item.spec.get(reference))
        if not borrowed:
            return None
        lender = self.workloads.get(_key(borrowed.get("apiVersion"), borrowed, workload.key.namespace))
        return lender.template if lender is not None else None

    @cached_property
    def pods_scaled_by_hpa(self) -> SelectorIndex[InputWorkload]:
        """The targets of HorizontalPodAutoscalers, including those that KEDA creates, by the pods they select."""
        selected = []
        for target, claims in self.claims.items():
            workload = self.workloads.get(target)
            by_hpa = any(claim.item.kind in BY_HPA for claim in claims)
            if workload is None or workload.selector is None or not by_hpa:
                continue
            selected.append((target.namespace, workload.selector, workload))
        return SelectorIndex(selected)

    @cached_property
    def resource_uses(self) -> tuple[ResourceUse, ...]:
        made = ((hpa, resource_metric(*one)) for hpa in self.hpa_sources for one in metrics_of(hpa))
        return tuple(ResourceUse(hpa, metric) for hpa, metric in made if metric is not None)


def _autoscaler(cls: type[K], item: Item) -> Autoscaler[K]:
    written = cls.from_dict(item.data)
    spec = written if written.sound() else written.readable()
    return Autoscaler(item, written, spec, _target(item, spec.target))


def _template_of_hpa(hvpa: Autoscaler[Hvpa]) -> Autoscaler[HPA]:
    hpa = hpa_of(hvpa.spec)
    return Autoscaler(hvpa.item, hpa, hpa, hvpa.target, IN_HPA)


def _target(item: Item, ref: Ref | None) -> Key | None:
    """A VerticalPodAutoscaler finds built-in workloads by kind and ignores the group."""
    if ref is None or not ref.kind or not ref.name:
        return None
    counts = CATALOGUE[item.kind].counts
    group = ref.group if counts else WORKLOAD_GROUPS.get(ref.kind, ref.group)
    return Key(group, ref.kind, item.namespace, ref.name)


def _reference(item: Item) -> Where:
    others = "targetRef" if item.kind == DATADOG else "scaleTargetRef"
    field = CATALOGUE[item.kind].target_field if item.kind in CATALOGUE else others
    return ("spec", *field.split("."))


def _keda_target(item: Item) -> Key | None:
    ref = mapping(item.spec.get("scaleTargetRef"))
    if not text(ref.get("name")):
        return None
    kind = text(ref.get("kind")) or "Deployment"
    return _key(ref.get("apiVersion") or "apps/v1", {**ref, "kind": kind}, item.namespace)


def mode_of(vpa: Autoscaler[VPA]) -> str:
    """The effective update mode. YAML reads an unquoted Off as false."""
    return OFF if dig(vpa.item.spec, "updatePolicy", "updateMode") is False else vpa.spec.mode


def writes(item: Item) -> bool:
    """Whether it changes anything. For KEDA any value but a false one means paused. An Hvpa may be Off both ways."""
    if item.kind == WPA.KIND:
        return item.spec.get("dryRun") is not True
    if item.kind in {Tortoise.KIND, WorkloadAutoscaler.KIND}:
        return item.spec.get("updateMode") not in (OFF, None, False)
    if item.kind == DATADOG:
        return not (
            dig(item.spec, "applyPolicy", "mode") == "Preview" or dig(item.spec, "policy", "applyMode") == "None"
        )
    if item.kind == Hvpa.KIND:
        modes = [dig(item.spec, direction, "updatePolicy", "updateMode") for direction in ("scaleUp", "scaleDown")]
        return not all(mode in (OFF, False) for mode in modes)
    return item.annotations.get(_PAUSED, "false") in {"false", "False", "FALSE", "f", "F", "0"}


def _key(api_version: Any, ref: Any, namespace: str) -> Key:
    return Key(group_of(api_version), text(dig(ref, "kind")), namespace, text(dig(ref, "name")))


def _selector(item: Item) -> Selector | None:
    data = item.spec.get("selector")
    if item.kind != "ReplicationController":
        return selector_of(data)
    labels = data or dig(item.spec, "template", "metadata", "labels")
    return selector_of({"matchLabels": labels}) if isinstance(labels, dict) else None


def metrics_of(hpa: Autoscaler[HPA]) -> Iterator[tuple[Where, Metric]]:
    """The effective metrics with their paths."""
    return effective_metrics(hpa.written, hpa.spec, hpa.root)


def kinds_of(world: InputWorld) -> Iterator[tuple[Item, Kind]]:
    """Every object of a kind that reports its own problems."""
    for one in world.autoscalers:
        yield one.item, one.written
    yield from world.checkpoints
