"""All input objects together, read once and indexed for the rules."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from hypot.core.dataclass import dataclass
from hypot.kinds import identity
from hypot.kinds.base import Kind, Ref
from hypot.kinds.catalogue import CATALOGUE, KindInfo, autoscalers, find_autoscaler, info_of
from hypot.kinds.hpa import HPA
from hypot.kinds.hpa.fields import Metric
from hypot.kinds.hpa.resource_metric import ResourceMetric, effective_metrics, resource_metric
from hypot.kinds.known_kinds import WORKLOAD_GROUPS
from hypot.kinds.misspelt import meant_by
from hypot.kinds.pod_template import Defaults, Template, read_template, template_in
from hypot.kinds.problem import Where
from hypot.kinds.selector import Selector, selector_of
from hypot.kinds.values.names import group_of
from hypot.kinds.values.version import Version
from hypot.lint.input.item import Folder, Item, Key, dig, mapping, text, whole
from hypot.lint.input.labels import SelectorIndex
from hypot.lint.input.limit_ranges import defaults_of
from hypot.lint.input.placeholders import placeholder_at
from hypot.lint.input.variants import Variants, with_files

if TYPE_CHECKING:  # a class is imported when there is an object of its kind
    from hypot.kinds.autoscaler import WorkloadAutoscaler
    from hypot.kinds.hvpa import Hvpa
    from hypot.kinds.tortoise import Tortoise
    from hypot.kinds.vpa import VPA
    from hypot.kinds.vpa.checkpoint import Checkpoint
    from hypot.kinds.wpa import WPA

K = TypeVar("K", HPA, "WPA", "VPA", "Hvpa", "Tortoise", "WorkloadAutoscaler")

# An update mode of several kinds.
OFF = "Off"

_MINIMUM = ("spec", "minReplicas")
_PAUSED = "autoscaling.keda.sh/paused"
# Kinds that have rules of their own.
_WITH_RULES = frozenset(
    one.kind
    for one in (identity.HPA, identity.WPA, identity.VPA, identity.HVPA, identity.TORTOISE, identity.AUTOSCALER)
)
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
        return kind in _CORE_KINDS or bool(meant_by(api_version, kind))
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
    | Autoscaler["WPA"]
    | Autoscaler["VPA"]
    | Autoscaler["Hvpa"]
    | Autoscaler["Tortoise"]
    | Autoscaler["WorkloadAutoscaler"]
    | Autoscaler[Any]
)


@dataclass(frozen=True, slots=True, eq=False)
class Claim:
    """An object of any kind that sets the replicas of a target, and the lowest count it sets, if that is known."""

    item: Item
    target: Key
    least: int | None

    @property
    def reference(self) -> Where:
        return _reference(self.item)


Scaler = TypeVar("Scaler", AnyAutoscaler, Claim)


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
        given = with_files(tuple(items), _is_scaled_or_scales)
        self._variants = Variants(item for item in given if _is_scaled_or_scales(item))
        self.items = tuple(self._variants.told_apart(item) for item in given)
        # What each set of LimitRanges gives.
        self._given: dict[tuple[int, ...], Defaults] = {}
        self.kubernetes = kubernetes
        self.complete = complete
        self._by_kind: dict[tuple[str, str], list[Item]] = defaultdict(list)
        for item in self.items:
            self._by_kind[item.group, item.kind].append(item)

    def apart(self, one: Item, other: Item) -> bool:
        """Whether these two do not meet, because their files or folders are alternatives."""
        return self._variants.apart(one, other)

    def governs(self, policy: Item, item: Item) -> bool:
        """Whether a LimitRange or a quota is for the item, which has its namespace.

        Without a written namespace it is applied anywhere, so it is only for what is above or below it in the folders.
        """
        if self.apart(policy, item):
            return False
        above, below = sorted((policy.folder, item.folder), key=len)
        return bool(policy.metadata.get("namespace")) or below[: len(above)] == above

    def meets(self, item: Item, workload: InputWorkload) -> bool:
        """Whether the item and the workload are of one cluster; of the variants of a workload, the nearest is."""
        key = workload.key._replace(variant="")
        return self._variants.nearest(key, item) == workload.key and not self.apart(item, workload.item)

    def met_by(self, item: Item, workloads: tuple[InputWorkload, ...]) -> tuple[InputWorkload, ...]:
        """Those of the workloads that the item meets; the same tuple if there are no variants."""
        return tuple(one for one in workloads if self.meets(item, one)) if self.variants else workloads

    def by_what_they_meet(self, those: list[Scaler]) -> Iterator[tuple[list[Scaler], list[Scaler]]]:
        """Some of them with all that these meet, until each was among the first."""
        if not self.variants:
            yield those, those
            return
        in_folder: dict[Folder, list[Scaler]] = defaultdict(list)
        for one in those:
            in_folder[one.item.folder].append(one)
        for found in in_folder.values():
            yield found, [other for other in those if not self.apart(found[0].item, other.item)]

    @cached_property
    def variants(self) -> tuple[Key, ...]:
        """The objects that several folders or files define."""
        return tuple(self._variants.folders)

    def has(self, kinds: Iterable[str]) -> bool:
        """Whether there is an object of any of these kinds."""
        return not self._kinds.isdisjoint(kinds)

    @cached_property
    def _kinds(self) -> set[str]:
        return {kind for _, kind in self._by_kind}

    def of_kind(self, group: str, kind: str) -> list[Item]:
        return self._by_kind.get((group, kind), [])

    def _items(self, info: KindInfo) -> Iterator[Item]:
        for group in (*info.groups, *info.mistaken_groups):
            yield from self.of_kind(group, info.name)

    def _all(self, kind: str) -> tuple[Autoscaler[Any], ...]:
        """The autoscalers of this kind."""
        info = CATALOGUE[kind]
        return tuple(self._autoscaler(info.kind, item) for item in self._items(info))

    def _autoscaler(self, cls: type[Any], item: Item) -> Autoscaler[Any]:
        written = cls.from_dict(item.data)
        spec = written if written.sound() else written.readable()
        target = _target(item, spec.target)
        return Autoscaler(item, written, spec, target and self._variants.nearest(target, item))

    @cached_property
    def hpas(self) -> tuple[Autoscaler[HPA], ...]:
        return self._all(identity.HPA.kind)

    @cached_property
    def wpas(self) -> "tuple[Autoscaler[WPA], ...]":
        return self._all(identity.WPA.kind)

    @cached_property
    def vpas(self) -> "tuple[Autoscaler[VPA], ...]":
        return self._all(identity.VPA.kind)

    @cached_property
    def hvpas(self) -> "tuple[Autoscaler[Hvpa], ...]":
        return self._all(identity.HVPA.kind)

    @cached_property
    def tortoises(self) -> "tuple[Autoscaler[Tortoise], ...]":
        return self._all(identity.TORTOISE.kind)

    @cached_property
    def workload_autoscalers(self) -> "tuple[Autoscaler[WorkloadAutoscaler], ...]":
        return self._all(identity.AUTOSCALER.kind)

    @cached_property
    def others(self) -> tuple[Autoscaler[Any], ...]:
        """Autoscalers of kinds that have no rules of their own, only those that all kinds share."""
        return tuple(one for info in autoscalers() if info.name not in _WITH_RULES for one in self._all(info.name))

    def hpa_of(self, tortoise: "Autoscaler[Tortoise]") -> Autoscaler[HPA] | None:
        """The HPA that a Tortoise names or makes, if it is in the input."""
        key = Key("autoscaling", HPA.KIND, tortoise.item.namespace, tortoise.spec.hpa_name or "")
        return self._hpas_by_key.get(self._variants.nearest(key, tortoise.item))

    @cached_property
    def _hpas_by_key(self) -> dict[Key, Autoscaler[HPA]]:
        return {one.item.key: one for one in self.hpas}

    @cached_property
    def checkpoints(self) -> "tuple[tuple[Item, Checkpoint], ...]":
        info = CATALOGUE[identity.CHECKPOINT.kind]
        return tuple((item, cast("Checkpoint", info.kind.from_dict(item.data))) for item in self._items(info))

    @property
    def counting(self) -> "Iterator[Autoscaler[HPA] | Autoscaler[WPA] | Autoscaler[WorkloadAutoscaler]]":
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
                least = None if placeholder_at(one.item.data, _MINIMUM) else one.spec.min_replicas or 1
                found.append(Claim(one.item, one.target, least))
        if self.tortoises:
            from hypot.kinds.tortoise.settings import TortoiseSettings  # noqa: PLC0415  only where there is one

            least = TortoiseSettings().minimum_min_replicas
            found += [Claim(one.item, one.target, least) for one in self.tortoises if one.target is not None]
        for item in self.scaled_objects:
            target = _keda_target(item)
            if target is not None:
                target = self._variants.nearest(target, item)
                unknown = placeholder_at(item.data, ("spec", "minReplicaCount"))
                found.append(Claim(item, target, None if unknown else whole(item.spec.get("minReplicaCount")) or 0))
        for item in self.of_kind("datadoghq.com", DATADOG):
            ref = mapping(item.spec.get("targetRef"))
            if text(ref.get("name")):
                target = self._variants.nearest(_key(ref.get("apiVersion"), ref, item.namespace), item)
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
        return read_template(data, self._defaults(item), self.kubernetes)

    def _defaults(self, item: Item) -> Defaults:
        """What the LimitRanges of its namespace give to its containers."""
        found = [one for one in self._limit_ranges.get(item.namespace, ()) if self.governs(one, item)]
        which = tuple(map(id, found))
        if which not in self._given:
            self._given[which] = defaults_of(found)
        return self._given[which]

    @cached_property
    def workloads_of(self) -> dict[tuple[str, str, str], list[InputWorkload]]:
        """By group, kind and namespace: the workloads that no other object controls."""
        found: dict[tuple[str, str, str], list[InputWorkload]] = defaultdict(list)
        for key, workload in self.workloads.items():
            if not workload.item.controlled:
                found[key[:3]].append(workload)
        return found

    @cached_property
    def namespaces_of(self) -> dict[tuple[str, str, str], list[str]]:
        """The namespaces that have a workload of this group, kind and name, where a manifest writes them.

        Without a written namespace, a kustomization, a release or `kubectl -n` says which one it is.
        """
        found: dict[tuple[str, str, str], dict[str, None]] = defaultdict(dict)
        for key, workload in self.workloads.items():
            if workload.item.metadata.get("namespace"):
                found[key.group, key.kind, key.name][key.namespace] = None
        return {name: list(namespaces) for name, namespaces in found.items()}

    @cached_property
    def _limit_ranges(self) -> dict[str, list[Item]]:
        by_namespace: dict[str, list[Item]] = defaultdict(list)
        for item in self.of_kind("", "LimitRange"):
            by_namespace[item.namespace].append(item)
        return by_namespace

    def target_of(self, scaler: AnyAutoscaler) -> InputWorkload | None:
        return None if scaler.target is None else self.workloads.get(scaler.target)

    def template_of(self, scaler: AnyAutoscaler) -> Template | None:
        """The pod template of the target. A Rollout may use that of a Deployment; an Hvpa uses that of its target."""
        workload = self.target_of(scaler)
        if workload is None or workload.template is not None:
            return workload.template if workload is not None else None
        reference = "targetRef" if workload.key.kind == identity.HVPA.kind else "workloadRef"
        borrowed = mapping(workload.item.spec.get(reference))
        if not borrowed:
            return None
        lending = _key(borrowed.get("apiVersion"), borrowed, workload.key.namespace)
        lender = self.workloads.get(self._variants.nearest(lending, workload.item))
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


def _is_scaled_or_scales(item: Item) -> bool:
    """Whether it is an autoscaler or may be the target of one."""
    if item.kind in {"ScaledObject", DATADOG} or find_autoscaler(item.group, item.kind) is not None:
        return True
    return whole(item.spec.get("replicas")) is not None or template_in(item.spec) is not None


def _template_of_hpa(hvpa: "Autoscaler[Hvpa]") -> Autoscaler[HPA]:
    from hypot.kinds.hvpa import hpa_of  # noqa: PLC0415  where there is none, these are not needed
    from hypot.kinds.hvpa.rules import IN_HPA  # noqa: PLC0415

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


def mode_of(vpa: "Autoscaler[VPA]") -> str:
    """The effective update mode. YAML reads an unquoted Off as false."""
    return OFF if dig(vpa.item.spec, "updatePolicy", "updateMode") is False else vpa.spec.mode


def changes_running_pods(vpa: "Autoscaler[VPA]") -> bool:
    from hypot.kinds.vpa.fields import INITIAL  # noqa: PLC0415  only where there is one

    return mode_of(vpa) not in {OFF, INITIAL}


def writes(item: Item) -> bool:
    """Whether it changes anything. For KEDA any value but a false one means paused. An Hvpa may be Off both ways."""
    if item.kind == identity.WPA.kind:
        return item.spec.get("dryRun") is not True
    if item.kind in {identity.TORTOISE.kind, identity.AUTOSCALER.kind}:
        return item.spec.get("updateMode") not in (OFF, None, False)
    if item.kind == DATADOG:
        return not (
            dig(item.spec, "applyPolicy", "mode") == "Preview" or dig(item.spec, "policy", "applyMode") == "None"
        )
    if item.kind == identity.HVPA.kind:
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
