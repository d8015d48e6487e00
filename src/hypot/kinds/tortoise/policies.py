"""How each resource of a container is scaled, in the spec and in the status."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from hypot.core.amount import RESOURCES
from hypot.kinds.node import STRING, Node, node, wire

OFF, HORIZONTAL, VERTICAL = "Off", "Horizontal", "Vertical"
AutoscalingType = Literal["Off", "Horizontal", "Vertical"]
POLICIES = (OFF, HORIZONTAL, VERTICAL)

# Resource -> policy.
Policies = Mapping[str, str]


@node
class AutoscalingTypes(Node):
    """The policy of each resource; Off if absent."""

    GO: ClassVar[str] = "map[v1.ResourceName]v1beta3.AutoscalingType"

    cpu: str | None = wire("cpu", STRING, "of cpu; Off if absent", schema={"enum": list(POLICIES)})
    memory: str | None = wire("memory", STRING, "of memory; Off if absent", schema={"enum": list(POLICIES)})


@node
class ContainerAutoscalingPolicy(Node):
    GO: ClassVar[str] = "v1beta3.ContainerAutoscalingPolicy"

    container_name: str | None = wire("containerName", STRING, "the container", schema={"minLength": 1})
    policy: AutoscalingTypes | None = wire("policy", AutoscalingTypes, "how each of its resources is scaled", path="")


def written_policies(items: Any) -> dict[str, dict[str, str]]:
    """By container. Of several for the same container the first is used; an unknown word counts as Off."""
    found: dict[str, dict[str, str]] = {}
    for item in items if isinstance(items, tuple) else ():
        if isinstance(item, ContainerAutoscalingPolicy) and isinstance(item.container_name, str):
            found.setdefault(item.container_name, _types(item.policy))
    return found


def _types(policy: AutoscalingTypes | None) -> dict[str, str]:
    written = {resource: getattr(policy, resource, None) for resource in RESOURCES}
    return {resource: word if isinstance(word, str) and word in POLICIES else OFF for resource, word in written.items()}


def scales_horizontally(items: Any) -> bool:
    """Whether any resource of any container is Horizontal."""
    return any(HORIZONTAL in policies.values() for policies in written_policies(items).values())
