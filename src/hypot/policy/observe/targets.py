"""What an autoscaler points at."""

from typing import NamedTuple

from hypot.kinds.base import Kind, Ref
from hypot.kinds.catalogue import Autoscaler, find_autoscaler, info_of
from hypot.kinds.derived import derived
from hypot.kinds.node import replaced

_WELL_KNOWN = {
    "Deployment": "apps/v1",
    "StatefulSet": "apps/v1",
    "ReplicaSet": "apps/v1",
    "DaemonSet": "apps/v1",
    "ReplicationController": "v1",
    "Job": "batch/v1",
    "CronJob": "batch/v1",
}


class ScaleTarget(NamedTuple):
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


@derived
def target_key(autoscaler: Kind) -> ScaleTarget:
    """The autoscaler's target, to compare it with the targets of others."""
    return key_of_ref(autoscaler.namespace, target_of(autoscaler))


def key_of_ref(namespace: str, ref: Ref) -> ScaleTarget:
    """The object that a reference names. A kind that moved to another group has the current one."""
    moved = find_autoscaler(ref.group, ref.kind)
    return ScaleTarget(namespace, moved.group if moved else ref.group, ref.kind or "", ref.name or "")


def key_of_autoscaler(autoscaler: Autoscaler) -> ScaleTarget:
    """The autoscaler itself, as the target of another."""
    return ScaleTarget(autoscaler.namespace, info_of(autoscaler).group, autoscaler.KIND, autoscaler.name)
