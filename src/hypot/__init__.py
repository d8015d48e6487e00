"""hypot: explained autoscaling decisions for Kubernetes, on both axes.

Names are resolved when they are first used, so that importing the package costs next to nothing.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hypot.core.quantity import Quantity
    from hypot.kinds.base import InvalidAutoscaler, Ref
    from hypot.kinds.hpa import HPA
    from hypot.kinds.hpa.fields import FROZEN, Pace, cpu, external, limit, memory, on, pods
    from hypot.kinds.hvpa import Hvpa
    from hypot.kinds.hvpa.fields import Change, ResourceChanges, ScaleType, Window, interval
    from hypot.kinds.problem import Problem
    from hypot.kinds.vpa import VPA
    from hypot.kinds.vpa.fields import ContainerPolicy, EvictionRequirement
    from hypot.kinds.wpa import WPA
    from hypot.kinds.wpa.fields import Recommender, Step, band, resource_band
    from hypot.lint import check
    from hypot.policy.decide import decide
    from hypot.policy.model.decision import Decision
    from hypot.policy.model.seen import Seen
    from hypot.policy.model.settings import Settings
    from hypot.policy.model.state import Memory

# Public name -> where it lives.
_HOMES = {
    "FROZEN": "hypot.kinds.hpa.fields",
    "HPA": "hypot.kinds.hpa",
    "VPA": "hypot.kinds.vpa",
    "WPA": "hypot.kinds.wpa",
    "Change": "hypot.kinds.hvpa.fields",
    "ContainerPolicy": "hypot.kinds.vpa.fields",
    "Decision": "hypot.policy.model.decision",
    "EvictionRequirement": "hypot.kinds.vpa.fields",
    "Hvpa": "hypot.kinds.hvpa",
    "InvalidAutoscaler": "hypot.kinds.base",
    "Memory": "hypot.policy.model.state",
    "Pace": "hypot.kinds.hpa.fields",
    "Problem": "hypot.kinds.problem",
    "Quantity": "hypot.core.quantity",
    "Recommender": "hypot.kinds.wpa.fields",
    "Ref": "hypot.kinds.base",
    "ResourceChanges": "hypot.kinds.hvpa.fields",
    "ScaleType": "hypot.kinds.hvpa.fields",
    "Seen": "hypot.policy.model.seen",
    "Settings": "hypot.policy.model.settings",
    "Step": "hypot.kinds.wpa.fields",
    "Window": "hypot.kinds.hvpa.fields",
    "band": "hypot.kinds.wpa.fields",
    "check": "hypot.lint",
    "cpu": "hypot.kinds.hpa.fields",
    "decide": "hypot.policy.decide",
    "external": "hypot.kinds.hpa.fields",
    "interval": "hypot.kinds.hvpa.fields",
    "limit": "hypot.kinds.hpa.fields",
    "memory": "hypot.kinds.hpa.fields",
    "on": "hypot.kinds.hpa.fields",
    "pods": "hypot.kinds.hpa.fields",
    "resource_band": "hypot.kinds.wpa.fields",
}

__all__ = [
    "FROZEN",
    "HPA",
    "VPA",
    "WPA",
    "Change",
    "ContainerPolicy",
    "Decision",
    "EvictionRequirement",
    "Hvpa",
    "InvalidAutoscaler",
    "Memory",
    "Pace",
    "Problem",
    "Quantity",
    "Recommender",
    "Ref",
    "ResourceChanges",
    "ScaleType",
    "Seen",
    "Settings",
    "Step",
    "Window",
    "band",
    "check",
    "cpu",
    "decide",
    "external",
    "interval",
    "limit",
    "memory",
    "on",
    "pods",
    "resource_band",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'hypot' has no attribute {name!r}")
    return getattr(importlib.import_module(home), name)


def __dir__() -> list[str]:
    return sorted(__all__)
