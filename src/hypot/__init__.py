"""hypot: explained autoscaling decisions for Kubernetes, on both axes.

Names are resolved when they are first used, so that importing the package costs next to nothing.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hypot.core.quantity import Quantity
    from hypot.kinds.base import InvalidAutoscaler, Ref
    from hypot.kinds.hpa import HPA
    from hypot.kinds.hpa_parts import FROZEN, Pace, cpu, external, limit, memory, on, pods
    from hypot.kinds.hvpa import Hvpa
    from hypot.kinds.hvpa_parts import Change, ResourceChanges, ScaleType, Window, interval
    from hypot.kinds.problem import Problem
    from hypot.kinds.vpa import VPA
    from hypot.kinds.vpa_parts import ContainerPolicy, EvictionRequirement
    from hypot.kinds.wpa import WPA
    from hypot.kinds.wpa_parts import Recommender, Step, band, resource_band
    from hypot.lint import check
    from hypot.policy.decide import decide
    from hypot.policy.decision import Decision
    from hypot.policy.memory import Memory
    from hypot.policy.seen import Seen
    from hypot.policy.settings import Settings

# Public name -> where it lives.
_HOMES = {
    "FROZEN": "hypot.kinds.hpa_parts",
    "HPA": "hypot.kinds.hpa",
    "VPA": "hypot.kinds.vpa",
    "WPA": "hypot.kinds.wpa",
    "Change": "hypot.kinds.hvpa_parts",
    "ContainerPolicy": "hypot.kinds.vpa_parts",
    "Decision": "hypot.policy.decision",
    "EvictionRequirement": "hypot.kinds.vpa_parts",
    "Hvpa": "hypot.kinds.hvpa",
    "InvalidAutoscaler": "hypot.kinds.base",
    "Memory": "hypot.policy.memory",
    "Pace": "hypot.kinds.hpa_parts",
    "Problem": "hypot.kinds.problem",
    "Quantity": "hypot.core.quantity",
    "Recommender": "hypot.kinds.wpa_parts",
    "Ref": "hypot.kinds.base",
    "ResourceChanges": "hypot.kinds.hvpa_parts",
    "ScaleType": "hypot.kinds.hvpa_parts",
    "Seen": "hypot.policy.seen",
    "Settings": "hypot.policy.settings",
    "Step": "hypot.kinds.wpa_parts",
    "Window": "hypot.kinds.hvpa_parts",
    "band": "hypot.kinds.wpa_parts",
    "check": "hypot.lint",
    "cpu": "hypot.kinds.hpa_parts",
    "decide": "hypot.policy.decide",
    "external": "hypot.kinds.hpa_parts",
    "interval": "hypot.kinds.hvpa_parts",
    "limit": "hypot.kinds.hpa_parts",
    "memory": "hypot.kinds.hpa_parts",
    "on": "hypot.kinds.hpa_parts",
    "pods": "hypot.kinds.hpa_parts",
    "resource_band": "hypot.kinds.wpa_parts",
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
