"""Every kind there is, and where its facts are."""

from importlib import import_module
from typing import Any

from hypot.kinds.base import Kind
from hypot.kinds.crd import Facts, definition_of
from hypot.kinds.hpa import HPA
from hypot.kinds.hvpa import Hvpa
from hypot.kinds.vpa import VPA
from hypot.kinds.vpa.checkpoint import Checkpoint
from hypot.kinds.wpa import WPA

Autoscaler = HPA | WPA | VPA | Hvpa

# The facts of a definition import their kind, so they are loaded only when somebody asks for a definition.
_FACTS: dict[type[Kind], str] = {
    WPA: "hypot.kinds.wpa.crd",
    VPA: "hypot.kinds.vpa.crd",
    Checkpoint: "hypot.kinds.vpa.checkpoint_crd",
    Hvpa: "hypot.kinds.hvpa.crd",
}
ALL_CRDS: tuple[type[Kind], ...] = tuple(_FACTS)


def facts_of(kind: type[Kind]) -> Facts:
    """What the definition of this kind says beyond its fields."""
    facts: Facts = import_module(_FACTS[kind]).FACTS
    return facts


def crd_of(kind: type[Kind]) -> dict[str, Any]:
    return definition_of(kind, facts_of(kind))
