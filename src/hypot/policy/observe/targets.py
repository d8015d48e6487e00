"""What an autoscaler points at."""

from functools import lru_cache
from typing import NamedTuple

from hypot.kinds.base import Kind, Ref
from hypot.kinds.catalogue import Autoscaler, find_autoscaler, info_of
from hypot.kinds.node import Itself, replaced

_WELL_KNOWN = {
    "Deployment": "apps/v1",
    "StatefulSet": "apps/v1",
    "ReplicaSet": "apps/v1",
    "DaemonSet": "apps/v1",
    "ReplicationController": "v1",
    "Job": "batch/v1",
    "CronJob": "batch/v1",
}


class Target(NamedTuple):
    """A target, the same whatever version of its group a reference names."""

    namespace: str
    group: str
    kind: str
    name: str


def target_of(autoscaler: Kind) -> Ref:
    """The autoscaler's target, as far as readable. A VPA finds the well-known kinds whatever apiVersion it names."""
    target = getattr(autoscaler, "target", None)
    ref = target.readable() if isinstance(target, Ref) else Ref()
    known = None if info_of(autoscaler).counts else _WELL_KNOWN.get(ref.kind or "")
    return replaced(ref, api_version=known) if known else ref


def target_key(autoscaler: Kind) -> Target:
    """The autoscaler's target, to compare it with the targets of others; cached, because every decision asks often."""
    return _target_key(Itself(autoscaler))


@lru_cache(4096)
def _target_key(this: Itself[Kind]) -> Target:
    return key_of_ref(this.value.namespace, target_of(this.value))


def key_of_ref(namespace: str, ref: Ref) -> Target:
    """The object that a reference names. A kind that moved to another group has the current one."""
    moved = find_autoscaler(ref.group, ref.kind)
    return Target(namespace, moved.group if moved else ref.group, ref.kind or "", ref.name or "")


def key_of_autoscaler(autoscaler: Autoscaler) -> Target:
    """The autoscaler itself, as the target of another."""
    return Target(autoscaler.namespace, info_of(autoscaler).group, autoscaler.KIND, autoscaler.name)
