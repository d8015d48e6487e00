"""hypot: explained autoscaling decisions for Kubernetes, on both axes.

Names are resolved when they are first used, so that importing the package costs next to nothing.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hypot.authoring.difference import Difference, diff
    from hypot.authoring.read import from_yaml
    from hypot.authoring.write import to_yaml
    from hypot.cluster.apply import ApplyConflict, ApplyRefused, LiveRefused, apply, live
    from hypot.cluster.config import AccessError
    from hypot.cluster.port import UnreachableError
    from hypot.core.quantity import Quantity
    from hypot.kinds.autoscaler import WorkloadAutoscaler
    from hypot.kinds.base import InvalidAutoscaler, Ref
    from hypot.kinds.hpa import HPA
    from hypot.kinds.hpa.fields import FROZEN, Metric, ScalingRules, cpu, external, limit, memory, on, pods
    from hypot.kinds.hvpa import Hvpa
    from hypot.kinds.hvpa.fields import Change, MaintenanceWindow, ResourceChanges, ScaleType, interval
    from hypot.kinds.problem import Problem
    from hypot.kinds.text.load import LoadError
    from hypot.kinds.tortoise import Tortoise
    from hypot.kinds.tortoise.containers import ContainerScaling
    from hypot.kinds.vpa import VPA
    from hypot.kinds.vpa.fields import ContainerPolicy, CPUBoost, EvictionRequirement, StartupBoost
    from hypot.kinds.wpa import WPA
    from hypot.kinds.wpa.fields import Recommender, TLSConfig, WatermarkRules, band, resource_band
    from hypot.lint import check
    from hypot.policy.decide import decide
    from hypot.policy.model.decision import Decision
    from hypot.policy.model.seen import Seen
    from hypot.policy.model.settings import Settings
    from hypot.policy.model.state import State

# The module of each public name.
_HOMES = {
    name: home
    for home, names in {
        "hypot.authoring.difference": ("Difference", "diff"),
        "hypot.authoring.read": ("from_yaml",),
        "hypot.authoring.write": ("to_yaml",),
        "hypot.cluster.apply": ("ApplyConflict", "ApplyRefused", "LiveRefused", "apply", "live"),
        "hypot.cluster.config": ("AccessError",),
        "hypot.cluster.port": ("UnreachableError",),
        "hypot.core.quantity": ("Quantity",),
        "hypot.kinds.autoscaler": ("WorkloadAutoscaler",),
        "hypot.kinds.base": ("InvalidAutoscaler", "Ref"),
        "hypot.kinds.hpa": ("HPA",),
        "hypot.kinds.hpa.fields": (
            "FROZEN",
            "Metric",
            "ScalingRules",
            "cpu",
            "external",
            "limit",
            "memory",
            "on",
            "pods",
        ),
        "hypot.kinds.hvpa": ("Hvpa",),
        "hypot.kinds.hvpa.fields": ("Change", "ResourceChanges", "ScaleType", "MaintenanceWindow", "interval"),
        "hypot.kinds.problem": ("Problem",),
        "hypot.kinds.text.load": ("LoadError",),
        "hypot.kinds.tortoise": ("Tortoise",),
        "hypot.kinds.tortoise.containers": ("ContainerScaling",),
        "hypot.kinds.vpa": ("VPA",),
        "hypot.kinds.vpa.fields": ("CPUBoost", "ContainerPolicy", "EvictionRequirement", "StartupBoost"),
        "hypot.kinds.wpa": ("WPA",),
        "hypot.kinds.wpa.fields": ("Recommender", "TLSConfig", "WatermarkRules", "band", "resource_band"),
        "hypot.lint": ("check",),
        "hypot.policy.decide": ("decide",),
        "hypot.policy.model.decision": ("Decision",),
        "hypot.policy.model.seen": ("Seen",),
        "hypot.policy.model.settings": ("Settings",),
        "hypot.policy.model.state": ("State",),
    }.items()
    for name in names
}

__all__ = [
    "FROZEN",
    "HPA",
    "VPA",
    "WPA",
    "AccessError",
    "ApplyConflict",
    "ApplyRefused",
    "CPUBoost",
    "Change",
    "ContainerPolicy",
    "ContainerScaling",
    "Decision",
    "Difference",
    "EvictionRequirement",
    "Hvpa",
    "InvalidAutoscaler",
    "LiveRefused",
    "LoadError",
    "MaintenanceWindow",
    "Metric",
    "Problem",
    "Quantity",
    "Recommender",
    "Ref",
    "ResourceChanges",
    "ScaleType",
    "ScalingRules",
    "Seen",
    "Settings",
    "StartupBoost",
    "State",
    "TLSConfig",
    "Tortoise",
    "UnreachableError",
    "WatermarkRules",
    "WorkloadAutoscaler",
    "apply",
    "band",
    "check",
    "cpu",
    "decide",
    "diff",
    "external",
    "from_yaml",
    "interval",
    "limit",
    "live",
    "memory",
    "on",
    "pods",
    "resource_band",
    "to_yaml",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return importlib.import_module("importlib.metadata").version("hypot")
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'hypot' has no attribute {name!r}")
    return getattr(importlib.import_module(home), name)


def __dir__() -> list[str]:
    return sorted(__all__)
