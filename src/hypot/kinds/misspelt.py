"""Kinds that no API server has: a misspelt kind, or one that another API group has.

Nothing reads such an object, so without a word about it an autoscaler with a typing error would be silent.
"""

from functools import cache
from typing import Final

from hypot.core.similar import similar
from hypot.kinds.catalogue import CATALOGUE
from hypot.kinds.known_kinds import KNOWN_KINDS
from hypot.kinds.values.names import group_of

# The other kinds of these groups.
_OTHERS: Final[dict[str, tuple[str, ...]]] = {
    "": (
        *("Binding", "ComponentStatus", "ConfigMap", "Endpoints", "Event", "LimitRange", "Namespace", "Node"),
        *("PersistentVolume", "PersistentVolumeClaim", "Pod", "PodTemplate", "ReplicationController", "ResourceQuota"),
        *("Secret", "Service", "ServiceAccount", "Status", "List", "Config"),
    ),
    "apps": ("ControllerRevision",),
    "argoproj.io": (
        *("AnalysisRun", "AnalysisTemplate", "AppProject", "Application", "ApplicationSet", "ClusterAnalysisTemplate"),
        *("ClusterWorkflowTemplate", "CronWorkflow", "EventBus", "EventSource", "Experiment", "Rollout"),
        *("RolloutManager", "Sensor", "Workflow", "WorkflowTemplate"),
    ),
    "autoscaling": ("Scale",),
    "datadoghq.com": (
        *("DatadogAgent", "DatadogAgentInternal", "DatadogAgentProfile", "DatadogCSIDriver", "DatadogDashboard"),
        *(
            "DatadogGenericResource",
            "DatadogInstrumentation",
            "DatadogMetric",
            "DatadogMonitor",
            "DatadogPodAutoscaler",
        ),
        *("DatadogPodAutoscalerClusterProfile", "DatadogSLO", "ExtendedDaemonSet", "ExtendedDaemonSetReplicaSet"),
        *("ExtendedDaemonsetSetting",),
    ),
    "keda.sh": ("ClusterTriggerAuthentication", "ScaledJob", "ScaledObject", "TriggerAuthentication"),
    "metrics.hypot.dev": ("MetricRules",),
    "policy": ("Eviction", "PodDisruptionBudget", "PodSecurityPolicy"),
}
# Groups to which nobody adds kinds: a kind of these may be less similar.
_CLOSED: Final = frozenset({"apps", "autoscaling", "batch", "policy", "autoscaling.mercari.com", "hypot.dev"})
_ALIKE, _ALIKE_IN_OPEN_GROUPS = 0.6, 0.85
# The kinds of the core group that rules look at.
_CORE: Final = ("LimitRange", "ReplicationController", "ResourceQuota")


@cache
def meant_by(api_version: str, kind: str) -> str:
    """What to write instead of this kind, as a hint; empty if it exists, or if nothing is known that is similar."""
    group, known = group_of(api_version), _kinds_by_group()
    there = known.get(group)
    if there is None or kind in there or kind.removesuffix("List") in there:
        return ""
    if elsewhere := _versions().get(kind):
        return f"did you mean apiVersion {elsewhere}?"
    names = {name.lower(): name for name in (_CORE if not group else there)}
    names |= {word: name for word, name in _short_names().items() if name in there}
    alike = _ALIKE if group in _CLOSED else _ALIKE_IN_OPEN_GROUPS
    near = similar(kind.lower(), names, 1, alike)
    return f"did you mean {names[near[0]]}?" if near else ""


@cache
def _kinds_by_group() -> dict[str, frozenset[str]]:
    found = {group: set(kinds) for group, kinds in _OTHERS.items()}
    for info in CATALOGUE.values():
        # Of groups that users write by mistake, the rules for the version of an object say what is right.
        for group in (*info.groups, *info.mistaken_groups):
            found.setdefault(group, set()).add(info.name)
    for one in KNOWN_KINDS:
        if group_of(one.api_version) in found or one.is_workload:
            found.setdefault(group_of(one.api_version), set()).add(one.kind)
    found.pop("extensions", None)  # gone, and with it many kinds
    return {group: frozenset(kinds) for group, kinds in found.items()}


@cache
def _versions() -> dict[str, str]:
    """The API version of each autoscaler and workload, by kind."""
    workloads = {one.kind: one.api_version for one in KNOWN_KINDS if one.is_workload}
    return workloads | {info.name: info.api_version for info in CATALOGUE.values()}


@cache
def _short_names() -> dict[str, str]:
    words = {word: one.kind for one in KNOWN_KINDS for word in one.short}
    return words | {word: info.name for info in CATALOGUE.values() for word in info.short_names}
