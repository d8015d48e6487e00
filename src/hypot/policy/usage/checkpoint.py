"""The history of one container, in the form of a VerticalPodAutoscalerCheckpoint's status."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from hypot.core.instant import read_time, show_time
from hypot.core.usage.histogram import YEAR_ONE, Saved

VERSION = "v3"


class CheckpointError(ValueError):
    """The status of a checkpoint cannot be read; the message says which part and why."""


class CheckpointContent(NamedTuple):
    """Both histograms, and when and how often cpu was sampled; None if it never was."""

    cpu: Saved
    memory: Saved
    first: float | None = None
    last: float | None = None
    samples: int = 0


def written(state: CheckpointContent, now: float) -> dict[str, Any]:
    return {
        "version": VERSION,
        "lastUpdateTime": show_time(now),
        "cpuHistogram": _histogram(state.cpu),
        "memoryHistogram": _histogram(state.memory),
        "firstSampleStart": None if state.first is None else show_time(state.first),
        "lastSampleStart": None if state.last is None else show_time(state.last),
        "totalSamplesCount": state.samples,
    }


def read(status: Any) -> CheckpointContent:
    """Read the status; an error says why it cannot be read. Absent parts count as empty."""
    if not isinstance(status, Mapping):
        raise CheckpointError("the checkpoint has no status")
    version = status.get("version")
    if version != VERSION:
        raise CheckpointError(f"the checkpoint has version {version!r}, and only {VERSION!r} can be read")
    samples = status.get("totalSamplesCount") or 0
    if type(samples) is not int or samples < 0:
        raise CheckpointError(f"totalSamplesCount: {samples!r} is not a number of samples")
    return CheckpointContent(
        _read_histogram(status, "cpuHistogram"),
        _read_histogram(status, "memoryHistogram"),
        _read_time(status, "firstSampleStart"),
        _read_time(status, "lastSampleStart"),
        samples,
    )


def _histogram(saved: Saved) -> dict[str, Any]:
    return {
        "referenceTimestamp": None if saved.reference <= YEAR_ONE else show_time(saved.reference),
        "bucketWeights": {str(bucket): weight for bucket, weight in saved.weights.items()},
        "totalWeight": saved.total,
    }


def _read_histogram(status: Mapping[str, Any], key: str) -> Saved:
    data = status.get(key)
    if data is None:
        return Saved(0.0, {})
    if not isinstance(data, Mapping):
        raise CheckpointError(f"{key}: not a histogram")
    total = data.get("totalWeight") or 0.0
    if isinstance(total, bool) or not isinstance(total, int | float):
        raise CheckpointError(f"{key}.totalWeight: {total!r} is not a number")
    weights = data.get("bucketWeights") or {}
    if not isinstance(weights, Mapping):
        raise CheckpointError(f"{key}.bucketWeights: not a mapping of bucket to weight")
    at = _read_time(data, "referenceTimestamp")
    whole = dict(_read_weight(key, bucket, weight) for bucket, weight in weights.items())
    return Saved(float(total), whole, YEAR_ONE if at is None else at)


def _read_weight(key: str, bucket: Any, weight: Any) -> tuple[int, int]:
    """Read one entry; JSON has the bucket numbers as text."""
    try:
        number = int(bucket)
    except (TypeError, ValueError):
        raise CheckpointError(f"{key}.bucketWeights: {bucket!r} is not the number of a bucket") from None
    if type(weight) is not int:
        raise CheckpointError(f"{key}.bucketWeights.{number}: {weight!r} is not a whole number")
    return number, weight


def _read_time(data: Mapping[str, Any], key: str) -> float | None:
    text = data.get(key)
    if text is None:
        return None
    at = read_time(text)
    if at is None:
        raise CheckpointError(f"{key}: {text!r} is not a time")
    return None if at <= YEAR_ONE else at
