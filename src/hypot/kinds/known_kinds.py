"""The kinds that everybody has: their words in kubectl, and whether an autoscaler can act on them."""

from collections.abc import Iterator
from typing import NamedTuple

from hypot.kinds.values.names import group_of


class KnownKind(NamedTuple):
    """A kind, and its words in kubectl besides its own name and its plural."""

    api_version: str
    kind: str
    short: tuple[str, ...] = ()
    # Whether its pods have one template: a VerticalPodAutoscaler can size them.
    is_workload: bool = False
    # Why nothing can set its number of replicas; empty if an autoscaler can.
    not_scalable: str = ""

    @property
    def words(self) -> Iterator[str]:
        """In lower case."""
        word = self.kind.lower()
        yield word
        yield f"{word}es" if word.endswith("s") else f"{word}s"
        yield from self.short


_BEHIND = "point at the workload behind it"
_OF_ANOTHER = "point at the workload that it scales"
KNOWN_KINDS = (
    KnownKind("apps/v1", "Deployment", ("deploy",), is_workload=True),
    KnownKind("apps/v1", "StatefulSet", ("sts",), is_workload=True),
    KnownKind("apps/v1", "ReplicaSet", ("rs",), is_workload=True),
    KnownKind("v1", "ReplicationController", ("rc",), is_workload=True),
    KnownKind("apps/v1", "DaemonSet", ("ds",), is_workload=True, not_scalable="it runs one pod on each node"),
    KnownKind("batch/v1", "Job", (), is_workload=True, not_scalable="its parallelism is not a replica count"),
    KnownKind("batch/v1", "CronJob", ("cj",), is_workload=True, not_scalable="it creates Jobs"),
    KnownKind("argoproj.io/v1alpha1", "Rollout", ("ro",)),
    KnownKind("autoscaling.k8s.io/v1alpha1", "Hvpa"),
    KnownKind("v1", "Pod", ("po",), not_scalable="point at the workload that created it"),
    KnownKind("v1", "Service", ("svc",), not_scalable=_BEHIND),
    KnownKind("networking.k8s.io/v1", "Ingress", ("ing",), not_scalable=_BEHIND),
    KnownKind("v1", "Namespace", ("ns",), not_scalable="point at a workload in it"),
    KnownKind("v1", "Node", ("no",), not_scalable="point at a workload"),
    KnownKind("autoscaling/v2", "HorizontalPodAutoscaler", ("hpa",), not_scalable=_OF_ANOTHER),
    KnownKind("autoscaling.k8s.io/v1", "VerticalPodAutoscaler", ("vpa",), not_scalable=_OF_ANOTHER),
    KnownKind("datadoghq.com/v1alpha1", "WatermarkPodAutoscaler", ("wpa",), not_scalable=_OF_ANOTHER),
    KnownKind("autoscaling.mercari.com/v1beta3", "Tortoise", (), not_scalable=_OF_ANOTHER),
)
# By each word that authors may write.
BY_WORD = {word: one for one in KNOWN_KINDS for word in one.words}
_BY_KIND = {(group_of(one.api_version), one.kind): one for one in KNOWN_KINDS}
# The API group of each built-in workload.
WORKLOAD_GROUPS = {one.kind: group_of(one.api_version) for one in KNOWN_KINDS if one.is_workload}


def unfit(group: str, kind: str, *, counts: bool) -> str:
    """Why an autoscaler that sets the number of replicas, or only sizes, cannot act on this kind; empty if it can."""
    known = _BY_KIND.get((group, kind))
    return known.not_scalable if known is not None and (counts or not known.is_workload) else ""
