"""What an autoscaler may change of a container, by its policies for containers. A VPA has these, and others do too."""

from collections.abc import Mapping
from typing import NamedTuple

from hypot.core.amount import RESOURCES
from hypot.kinds.base import Kind
from hypot.kinds.derived import derived
from hypot.kinds.vpa.fields import OFF, REQUESTS_ONLY, ResourcePolicy, amounts_of, policy_of, raised


class Allowed(NamedTuple):
    """The bounds of one container, and whether it may be changed at all."""

    least: Mapping[str, int]
    most: Mapping[str, int]
    controlled: tuple[str, ...] = RESOURCES
    switched_off: bool = False
    requests_only: bool = False


_FREE = Allowed({}, {})


@derived
def allowed(sizer: Kind, container: str) -> Allowed:
    policies: ResourcePolicy | None = getattr(sizer, "container_policies", None)
    policy = policy_of(raised(policies, sizer.floor), container)
    if policy is None:
        return _FREE
    least, most = amounts_of(policy.min_allowed), amounts_of(policy.max_allowed)
    written = policy.controlled_resources
    controlled = RESOURCES if written is None else tuple([resource for resource in RESOURCES if resource in written])
    left_alone = policy.mode == OFF or not controlled
    return Allowed(least, most, controlled, left_alone, policy.controlled_values == REQUESTS_ONLY)
