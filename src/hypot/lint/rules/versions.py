"""Rules for what the given version of Kubernetes serves and enables."""

from collections.abc import Iterator

from hypot.kinds.hpa import HPA
from hypot.kinds.hpa.rules import NEWER, ONE_METRIC
from hypot.kinds.identity import AUTOSCALING_V1
from hypot.kinds.problem import Where
from hypot.kinds.values.version import Version, gate_open, opened_in, show_version
from hypot.lint.input.world import Autoscaler, InputWorld, kinds_of
from hypot.lint.rule import CHECKPOINT_ONLY, EVERY, HPA_ONLY, SIZING, Hit, RuleFamily

VERSIONS = RuleFamily("Versions", "What the given version of Kubernetes serves; set it with --kubernetes.")

# Version of the autoscaling API -> the first Kubernetes without it.
_REMOVED: dict[str, Version] = {"autoscaling/v2beta1": (1, 25), "autoscaling/v2beta2": (1, 26)}
_SERVED = ("autoscaling/v1", "autoscaling/v2")


@VERSIONS.rule(
    "api-version-not-served",
    "error",
    title="An API version that this Kubernetes does not serve",
    why="autoscaling/v2beta1 was removed in Kubernetes 1.25 and v2beta2 in 1.26; other versions never existed. kubectl "
    "reports that there are no matches for the kind. hypot reads the object as autoscaling/v2 and continues.",
    fix="write autoscaling/v2; `kubectl convert` rewrites the metrics of v2beta1",
    example="autoscaling/v2beta2 was removed in Kubernetes 1.26",
    kinds=EVERY,
)
def api_version_not_served(world: InputWorld) -> Iterator[Hit]:
    for hpa in world.hpas:
        written = hpa.item.api_version
        removed = _REMOVED.get(written)
        if removed is not None and world.kubernetes >= removed:
            message = f"{written} was removed in Kubernetes {show_version(removed)}"
            yield Hit(hpa.item, ("apiVersion",), message)
        elif removed is None and written not in _SERVED:
            message = f"no Kubernetes serves HorizontalPodAutoscaler in {written}; it was read as {HPA.API_VERSION}"
            yield Hit(hpa.item, ("apiVersion",), message, f"write {HPA.API_VERSION}")
    for item, kind in kinds_of(world):
        known = {kind.API_VERSION, *kind.FORMER_VERSIONS}
        if not isinstance(kind, HPA) and item.api_version not in known:
            message = f"{item.api_version} is not a version of {kind.KIND}; it was read as {kind.API_VERSION}"
            yield Hit(item, ("apiVersion",), message, f"write {kind.API_VERSION}")


@VERSIONS.rule(
    "old-api-version",
    "warning",
    title="An old version of the API",
    why="A beta still works with the given version and stops with the upgrade. The betas of the VerticalPodAutoscaler "
    "are no longer served, and the redesigned Hvpa has another API group. hypot reads such an object as the newest "
    "version, and writes it as that.",
    fix="write autoscaling/v2, autoscaling.k8s.io/v1 for a VerticalPodAutoscaler, autoscaling.k8s.io/v1alpha1 for an "
    "Hvpa",
    example="autoscaling/v2beta2 is removed in Kubernetes 1.26; it was read as autoscaling/v2",
    kinds=(*HPA_ONLY, *SIZING, *CHECKPOINT_ONLY),
)
def old_api_version(world: InputWorld) -> Iterator[Hit]:
    for hpa in world.hpas:
        written = hpa.item.api_version
        removed = _REMOVED.get(written)
        read = f"it was read as {HPA.API_VERSION}"
        if removed is not None and world.kubernetes < removed:
            yield Hit(hpa.item, ("apiVersion",), f"{written} is removed in Kubernetes {show_version(removed)}; {read}")
    for item, kind in kinds_of(world):
        if not isinstance(kind, HPA) and item.api_version in kind.FORMER_VERSIONS:
            message = f"{item.api_version} is an old version of this API; it was read as {kind.API_VERSION}"
            yield Hit(item, ("apiVersion",), message, f"write {kind.API_VERSION}")


@VERSIONS.rule(
    "single-metric-version",
    "advice",
    title="An HPA of autoscaling/v1",
    why="autoscaling/v1 is served, and stays so. It knows one cpu percentage and nothing else: no other metric, and no "
    "behavior.",
    fix=NEWER,
    example=ONE_METRIC,
    kinds=HPA_ONLY,
)
def single_metric_version(world: InputWorld) -> Iterator[Hit]:
    for hpa in world.hpas:
        # Fields of autoscaling/v2 are errors that say what to write.
        if hpa.item.api_version == AUTOSCALING_V1 and not hpa.item.spec.keys() & {"metrics", "behavior"}:
            yield Hit(hpa.item, ("apiVersion",), ONE_METRIC)


# What is beside autoscalers: group, kind and version -> the first Kubernetes without it, and what replaces it.
_NEIGHBOURS: dict[tuple[str, str], dict[str, tuple[Version, str]]] = {
    ("policy", "PodDisruptionBudget"): {"policy/v1beta1": ((1, 25), "policy/v1")},
    ("batch", "CronJob"): {"batch/v1beta1": ((1, 25), "batch/v1"), "batch/v2alpha1": ((1, 21), "batch/v1")},
    ("extensions", "Deployment"): {"extensions/v1beta1": ((1, 16), "apps/v1")},
    ("extensions", "DaemonSet"): {"extensions/v1beta1": ((1, 16), "apps/v1")},
    ("extensions", "ReplicaSet"): {"extensions/v1beta1": ((1, 16), "apps/v1")},
    **{
        ("apps", kind): {"apps/v1beta1": ((1, 16), "apps/v1"), "apps/v1beta2": ((1, 16), "apps/v1")}
        for kind in ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet")
    },
}


@VERSIONS.rule(
    "neighbour-not-served",
    "error",
    title="An object beside an autoscaler whose API version this Kubernetes does not serve",
    why="kubectl reports that there are no matches for the kind, so the workload or the budget does not exist.",
    fix="write the version that replaces it",
    example="policy/v1beta1 was removed in Kubernetes 1.25",
    kinds=("PodDisruptionBudget", "CronJob", "workloads"),
)
def neighbour_not_served(world: InputWorld) -> Iterator[Hit]:
    for (group, kind), versions in _NEIGHBOURS.items():
        for item in world.of_kind(group, kind):
            removed, instead = versions.get(item.api_version, (None, ""))
            if removed is not None and world.kubernetes >= removed:
                message = f"{item.api_version} was removed in Kubernetes {show_version(removed)}"
                yield Hit(item, ("apiVersion",), message, f"write {instead}")


@VERSIONS.rule(
    "gate-closed",
    "error",
    title="A field that this Kubernetes drops, because its feature gate is closed",
    why="A field behind a closed gate is dropped silently when the object is stored: a tolerance before "
    "Kubernetes 1.35, ContainerResource metrics before 1.27.",
    fix="leave the field out, upgrade, or silence the rule if the gate is open on your cluster",
    example="Kubernetes 1.34 drops the tolerance: its gate HPAConfigurableTolerance is open from 1.35 on",
    kinds=HPA_ONLY,
)
def gate_closed(world: InputWorld) -> Iterator[Hit]:
    for hpa in world.hpas:
        for gate, what, where in _gated(hpa):
            if not gate_open(gate, world.kubernetes):
                version = f"Kubernetes {show_version(world.kubernetes)}"
                yield Hit(hpa.item, where, f"{version} drops {what}: its gate {gate} is open from {opened_in(gate)} on")


def _gated(hpa: Autoscaler[HPA]) -> Iterator[tuple[str, str, Where]]:
    for key, pace in (("scaleUp", hpa.spec.scale_up), ("scaleDown", hpa.spec.scale_down)):
        if pace is not None and pace.tolerance is not None:
            yield "HPAConfigurableTolerance", "the tolerance", ("spec", "behavior", key, "tolerance")
    for i, metric in enumerate(hpa.spec.metrics or ()):
        if metric.type == "ContainerResource":
            yield "HPAContainerMetrics", "ContainerResource metrics", ("spec", "metrics", i)
