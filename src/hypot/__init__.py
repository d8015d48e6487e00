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
    from hypot.kinds.problem import Problem
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
    "WPA": "hypot.kinds.wpa",
    "Decision": "hypot.policy.decision",
    "InvalidAutoscaler": "hypot.kinds.base",
    "Memory": "hypot.policy.memory",
    "Pace": "hypot.kinds.hpa_parts",
    "Problem": "hypot.kinds.problem",
    "Quantity": "hypot.core.quantity",
    "Recommender": "hypot.kinds.wpa_parts",
    "Ref": "hypot.kinds.base",
    "Seen": "hypot.policy.seen",
    "Settings": "hypot.policy.settings",
    "Step": "hypot.kinds.wpa_parts",
    "band": "hypot.kinds.wpa_parts",
    "check": "hypot.lint",
    "cpu": "hypot.kinds.hpa_parts",
    "decide": "hypot.policy.decide",
    "external": "hypot.kinds.hpa_parts",
    "limit": "hypot.kinds.hpa_parts",
    "memory": "hypot.kinds.hpa_parts",
    "on": "hypot.kinds.hpa_parts",
    "pods": "hypot.kinds.hpa_parts",
    "resource_band": "hypot.kinds.wpa_parts",
}

__all__ = [
    "FROZEN",
    "HPA",
    "WPA",
    "Decision",
    "InvalidAutoscaler",
    "Memory",
    "Pace",
    "Problem",
    "Quantity",
    "Recommender",
    "Ref",
    "Seen",
    "Settings",
    "Step",
    "band",
    "check",
    "cpu",
    "decide",
    "external",
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
