"""VerticalPodAutoscalerCheckpoint, autoscaling.k8s.io/v1: what a recommender has learned about one container."""

from collections.abc import Iterator, Mapping
from math import isfinite
from typing import Any, ClassVar

from hypot.kinds import identity
from hypot.kinds.base import Kind, metadata_of
from hypot.kinds.meta import INT64, TIME
from hypot.kinds.node import STRING, Node, Scalar, node, wire
from hypot.kinds.problem import Problem, Where
from hypot.kinds.values.version import Version

# The only format that recommenders read; checkpoints of another version are ignored.
FORMAT = "v3"


def _is_number(value: Any) -> bool:
    return not isinstance(value, bool) and isinstance(value, int | float) and isfinite(value)


def _is_weights(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(key, str) and _is_number(w) for key, w in value.items())


NUMBER = Scalar("float64", {"type": "number"}, _is_number, "a number")
WEIGHTS = Scalar(
    "map[int]uint32",
    {"type": "object", "additionalProperties": {"type": "number"}},
    _is_weights,
    "a mapping of bucket to weight",
    each=NUMBER,
)


@node
class HistogramCheckpoint(Node):
    """A histogram: weights by bucket, relative to the largest; their sum; and the reference time of the weights."""

    GO: ClassVar[str] = "v1.HistogramCheckpoint"

    reference: str | None = wire("referenceTimestamp", TIME)
    weights: Mapping[str, float] | None = wire("bucketWeights", WEIGHTS)
    total: float | None = wire("totalWeight", NUMBER)


@node
class CheckpointStatus(Node):
    """What was learned, in the format of the upstream recommender."""

    GO: ClassVar[str] = "v1.VerticalPodAutoscalerCheckpointStatus"

    updated: str | None = wire("lastUpdateTime", TIME)
    version: str | None = wire("version", STRING)
    cpu: HistogramCheckpoint | None = wire("cpuHistogram", HistogramCheckpoint)
    memory: HistogramCheckpoint | None = wire("memoryHistogram", HistogramCheckpoint)
    first_sample: str | None = wire("firstSampleStart", TIME)
    last_sample: str | None = wire("lastSampleStart", TIME)
    samples: int | None = wire("totalSamplesCount", INT64)


@node
class CheckpointSpec(Kind):
    """The fields of a checkpoint, as read."""

    API_VERSION: ClassVar[str] = identity.CHECKPOINT.api_version
    KIND: ClassVar[str] = identity.CHECKPOINT.kind
    GO: ClassVar[str] = "v1.VerticalPodAutoscalerCheckpointSpec"
    FORMER_VERSIONS: ClassVar[tuple[str, ...]] = identity.CHECKPOINT.former_versions
    STATUS: ClassVar[type[Node] | None] = CheckpointStatus

    vpa: str | None = wire("vpaObjectName", STRING, "the VerticalPodAutoscaler it is for", schema={"minLength": 1})
    container: str | None = wire("containerName", STRING, "the container that it describes", schema={"minLength": 1})


@node
class Checkpoint(CheckpointSpec):
    """A VerticalPodAutoscalerCheckpoint: one per autoscaler and container, named after both."""

    def __init__(
        self,
        vpa: str,
        container: str,
        *,
        saved: CheckpointStatus | None = None,
        name: str | None = None,
        namespace: str | None = None,
        labels: Mapping[str, str] | None = None,
        annotations: Mapping[str, str] | None = None,
    ) -> None:
        """Create a checkpoint. Raises one exception with all problems."""
        metadata = metadata_of(name or f"{vpa}-{container}", namespace, labels, annotations)
        self.author(metadata, vpa=vpa, container=container)
        object.__setattr__(self, "status", None if saved is None else saved.write())
        self.raise_if_refused()

    @property
    def saved(self) -> CheckpointStatus:
        """The parts of what was learned that can be read."""
        return CheckpointStatus.read(self.status if isinstance(self.status, dict) else {}).readable()

    def rule_problems(self, kubernetes: Version, gates: Mapping[str, bool] | None) -> Iterator[Problem]:
        """The problems of this checkpoint: a missing VPA or container name, and why a recommender would ignore it."""
        del kubernetes, gates
        for key, value in (("vpaObjectName", self.vpa), ("containerName", self.container)):
            if not value:
                yield Problem("checkpoint-subject", "Required", ("spec", key), "must be set")
        if self.status is not None:
            yield from _ignored(self.saved)

    def unreadable_status(self) -> Iterator[Problem]:
        """A status must be readable, but fields that another recommender version adds are not a problem."""
        return (problem for problem in Kind.unreadable_status(self) if problem.rule != "unknown-field")


def _ignored(saved: CheckpointStatus) -> Iterator[Problem]:
    if saved.version != FORMAT:
        message = f"only {FORMAT} is read, so the checkpoint is ignored"
        yield _warning(("status", "version"), message, saved.version)
    for key, histogram in (("cpuHistogram", saved.cpu), ("memoryHistogram", saved.memory)):
        if histogram is None:
            continue
        if (histogram.total or 0) < 0:
            message = "must not be negative; the checkpoint is ignored"
            yield _warning(("status", key, "totalWeight"), message, histogram.total)
        for bucket, weight in (histogram.weights or {}).items():
            if not bucket.isdecimal() or weight < 0:
                message = "is not a bucket with a weight; the checkpoint is ignored"
                yield _warning(("status", key, "bucketWeights", bucket), message, weight)


def _warning(where: Where, message: str, value: Any) -> Problem:
    return Problem("checkpoint-ignored", "Invalid", where, message, value, severity="warning")
