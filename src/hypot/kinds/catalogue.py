"""All kinds, with the facts that other parts need: reading dumps, watches, configuration, RBAC, lint and docs.

A new kind needs a folder next to this file, its names in `hypot.kinds.identity`, one record here, and one in
`hypot.policy.families`. Read the records when they are needed, not when a module is imported: the class of a kind is
imported when the first object of it is met, for most inputs have objects of one or two.
"""

from collections.abc import Iterable
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, TypeGuard, get_args

from hypot.core.dataclass import dataclass
from hypot.kinds import identity
from hypot.kinds.base import Kind
from hypot.kinds.identity import Identity
from hypot.kinds.values.names import group_of

if TYPE_CHECKING:
    from hypot.kinds.autoscaler import WorkloadAutoscaler
    from hypot.kinds.crd import Facts
    from hypot.kinds.hpa import HPA
    from hypot.kinds.hvpa import Hvpa
    from hypot.kinds.tortoise import Tortoise
    from hypot.kinds.vpa import VPA
    from hypot.kinds.wpa import WPA

    Autoscaler = HPA | WPA | VPA | Hvpa | Tortoise | WorkloadAutoscaler
    # Those that size pods.
    Sizing = VPA | Hvpa | Tortoise | WorkloadAutoscaler
else:
    Autoscaler = Sizing = Kind
# What the controller does for a kind: nothing, only recommend, decide and report without writing, or everything.
Mode = Literal["off", "recommend", "observe", "act"]


@dataclass(frozen=True, slots=True)
class KindInfo:
    """One kind. An autoscaler sets the number of replicas (`counts`), the size of pods (`sizes`), or both."""

    identity: Identity
    # The module of its class, and the name of the class.
    module: str
    class_name: str
    plural: str
    # The short names in kubectl, and the abbreviation that hypot uses where space is limited.
    short_names: tuple[str, ...] = ()
    abbreviation: str = ""
    counts: bool = False
    sizes: bool = False
    # The spec field that names its target, with dots between nested names.
    target_field: str = "scaleTargetRef"
    # The module with the facts for its CustomResourceDefinition; empty if the kind is built into Kubernetes.
    crd: str = ""
    # Whether another autoscaler may scale it: it has a scale subresource.
    scalable: bool = False
    # Whether its controller refuses to scale pods that two objects of this kind claim.
    claims_pods: bool = False
    # What the controller does for it by default.
    mode: Mode = "act"
    # Whether one that sizes pods goes by histograms of usage, which are kept as VerticalPodAutoscalerCheckpoints.
    histograms: bool = True
    # The Leases of other controllers that act on it.
    leases: tuple[str, ...] = ()
    # The key of the list of conditions in its status' `conditions`; empty if `conditions` is that list.
    conditions_key: str = ""
    # API groups that users write for it by mistake.
    mistaken_groups: tuple[str, ...] = ()

    @property
    def kind(self) -> type[Kind]:
        found: type[Kind] = getattr(import_module(self.module), self.class_name)
        return found

    @property
    def name(self) -> str:
        return self.identity.kind

    @property
    def api_version(self) -> str:
        return self.identity.api_version

    @property
    def group(self) -> str:
        return group_of(self.api_version)

    @property
    def groups(self) -> tuple[str, ...]:
        """The API groups that serve it, or used to."""
        versions = (self.api_version, *self.identity.former_versions)
        return tuple(dict.fromkeys(group_of(version) for version in versions))

    @property
    def is_autoscaler(self) -> bool:
        return self.counts or self.sizes

    @property
    def decides_both(self) -> bool:
        """Whether one decision includes both a replica count and a size."""
        return self.counts and self.sizes

    @property
    def modes(self) -> tuple[Mode, ...]:
        """The modes that can be configured. `recommend` is only for kinds that do not set a count."""
        return tuple([mode for mode in get_args(Mode) if mode != "recommend" or not self.counts])


# In the order in which the definitions are printed.
CATALOGUE: dict[str, KindInfo] = {
    info.name: info
    for info in (
        KindInfo(
            identity.HPA,
            "hypot.kinds.hpa",
            "HPA",
            "horizontalpodautoscalers",
            short_names=("hpa",),
            abbreviation="HPA",
            counts=True,
            claims_pods=True,
            mode="off",
            mistaken_groups=("", "apps", "extensions"),
        ),
        KindInfo(
            identity.WPA,
            "hypot.kinds.wpa",
            "WPA",
            "watermarkpodautoscalers",
            short_names=("wpa",),
            abbreviation="WPA",
            counts=True,
            crd="hypot.kinds.wpa.crd",
            leases=("watermarkpodautoscaler-lock",),
        ),
        KindInfo(
            identity.VPA,
            "hypot.kinds.vpa",
            "VPA",
            "verticalpodautoscalers",
            short_names=("vpa",),
            abbreviation="VPA",
            sizes=True,
            target_field="targetRef",
            crd="hypot.kinds.vpa.crd",
            mode="off",
            leases=("vpa-updater",),
        ),
        KindInfo(
            identity.CHECKPOINT,
            "hypot.kinds.vpa.checkpoint",
            "Checkpoint",
            "verticalpodautoscalercheckpoints",
            short_names=("vpacheckpoint",),
            crd="hypot.kinds.vpa.checkpoint_crd",
        ),
        KindInfo(
            identity.HVPA,
            "hypot.kinds.hvpa",
            "Hvpa",
            "hvpas",
            short_names=("hvpa",),
            abbreviation="Hvpa",
            counts=True,
            sizes=True,
            target_field="targetRef",
            crd="hypot.kinds.hvpa.crd",
            scalable=True,
        ),
        KindInfo(
            identity.TORTOISE,
            "hypot.kinds.tortoise",
            "Tortoise",
            "tortoises",
            short_names=("tortoise",),
            abbreviation="Tortoise",
            counts=True,
            sizes=True,
            target_field="targetRefs.scaleTargetRef",
            crd="hypot.kinds.tortoise.crd",
            conditions_key=identity.TORTOISE_CONDITIONS,
        ),
        KindInfo(
            identity.AUTOSCALER,
            "hypot.kinds.autoscaler",
            "WorkloadAutoscaler",
            "autoscalers",
            short_names=("asc",),
            abbreviation="Autoscaler",
            counts=True,
            sizes=True,
            target_field="targetRef",
            crd="hypot.kinds.autoscaler.crd",
            histograms=False,
        ),
    )
}


def load_all() -> tuple[type[Kind], ...]:
    """The classes of all kinds."""
    return tuple([info.kind for info in CATALOGUE.values()])


def info_of(kind: Kind | type[Kind]) -> KindInfo:
    return CATALOGUE[kind.KIND]


def sizes_pods(autoscaler: Kind) -> TypeGuard[Sizing]:
    """Whether it sizes pods, and so has policies for containers."""
    return info_of(autoscaler).sizes


def sets_replicas(autoscaler: Kind) -> bool:
    """Whether its kind, and its axes if it has any, say so."""
    # Only a kind with axes has this attribute.
    return bool(getattr(autoscaler, "counts", info_of(autoscaler).counts))


def sets_sizes(autoscaler: Kind) -> bool:
    """Whether its kind, and its axes if it has any, say so."""
    return bool(getattr(autoscaler, "sizes", info_of(autoscaler).sizes))


def autoscalers() -> tuple[KindInfo, ...]:
    return tuple([info for info in CATALOGUE.values() if info.is_autoscaler])


def controlled() -> tuple[KindInfo, ...]:
    """In the controller's order: first the kinds that it acts on by default, last the kinds built into Kubernetes."""
    return tuple(sorted(autoscalers(), key=lambda info: (info.mode != "act", not info.crd)))


def sizing() -> tuple[KindInfo, ...]:
    return tuple([info for info in autoscalers() if info.sizes])


def measuring() -> tuple[KindInfo, ...]:
    """Those that size pods by histograms of their usage."""
    return tuple([info for info in sizing() if info.histograms])


def names_of(infos: Iterable[KindInfo]) -> tuple[str, ...]:
    return tuple([info.name for info in infos])


def find_autoscaler(group: str, kind: Any) -> KindInfo | None:
    """The autoscaler kind of this group and kind, or None if it is not an autoscaler."""
    info = CATALOGUE.get(kind) if isinstance(kind, str) else None
    return info if info is not None and info.is_autoscaler and group in info.groups else None


def defined() -> tuple[KindInfo, ...]:
    """The kinds that have a CustomResourceDefinition."""
    return tuple([info for info in CATALOGUE.values() if info.crd])


def facts_of(kind: type[Kind]) -> "Facts":
    """What the CRD of this kind contains beyond its fields. Loaded on demand: it is large and rarely needed."""
    facts: Facts = import_module(CATALOGUE[kind.KIND].crd).FACTS
    return facts


def crd_of(kind: type[Kind]) -> dict[str, Any]:
    """The CustomResourceDefinition of this kind."""
    from hypot.kinds.crd import definition_of  # noqa: PLC0415  most who look for a kind need no definition

    info = CATALOGUE[kind.KIND]
    return definition_of(kind, info.plural, info.short_names, facts_of(kind))
