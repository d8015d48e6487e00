"""Amounts and targets in a few words, always with a unit: 70%, 500m, 512Mi, 40/pod, 3x2000m,8Gi."""

import re
from typing import Any, NamedTuple

from hypot.kinds.hvpa.fields import ScalingInterval, interval
from hypot.kinds.wpa.fields import Algorithm

_NUMBER = r"[0-9]+(?:\.[0-9]+)?"
_CPU = re.compile(rf"{_NUMBER}m")
_MEMORY = re.compile(rf"{_NUMBER}(?:[KMGTPE]i|[kMGTPE])")
_PERCENT = re.compile(r"([0-9]+)%")
_ANY = re.compile(rf"{_NUMBER}(?:[KMGTPE]i|[mkMGTPE])?")
_INTERVAL = re.compile(r"([0-9]+)x([^,]+),([^,]+)")
_EXAMPLES = {"cpu": "500m", "memory": "512Mi"}
# The algorithm of a WatermarkPodAutoscaler for each unit of its watermarks.
ALGORITHMS: dict[str, Algorithm] = {"pod": "average", "total": "absolute"}


class UnclearError(ValueError):
    """Words that could mean several things, or nothing; the message says what to write."""


def target_of(resource: str, text: str) -> dict[str, Any]:
    """A percentage of the request, or an amount per pod, as the keyword of `cpu` and `memory`."""
    if match := _PERCENT.fullmatch(text):
        return {"utilization": int(match[1])}
    return {"average": amount_of(resource, text, percent=True)}


def amount_of(resource: str, text: str, *, percent: bool = False) -> str:
    """An amount of cpu or memory with its unit."""
    if (_CPU if resource == "cpu" else _MEMORY).fullmatch(text):
        return text
    raise UnclearError(f"{text!r} {_why(resource, text, percent=percent)}")


def _why(resource: str, text: str, *, percent: bool) -> str:
    example = _EXAMPLES[resource]
    what = f"70% (of the request) or {example} (per pod)" if percent else example
    if re.fullmatch(_NUMBER, text):
        if resource == "cpu":
            return f"has no unit: write {what}; {text} cores are {float(text) * 1000:.0f}m"
        return f"has no unit: write {what}"
    if resource == "memory" and (match := re.fullmatch(rf"({_NUMBER})([KMGTP]i?)B", text, re.IGNORECASE)):
        return f"is not a quantity of Kubernetes: write {match[1]}{match[2]}"
    if resource == "memory" and re.fullmatch(rf"{_NUMBER}m", text):
        return "is in thousandths of a byte: write 512Mi"
    return f"is not an amount of {resource}: write {what}"


def percentage_of(text: str) -> int:
    if match := _PERCENT.fullmatch(text):
        return int(match[1])
    raise UnclearError(f"{text!r} is not a percentage: write 30%")


def range_of(resource: str, text: str) -> tuple[str | None, str | None]:
    """Both bounds of a size from MIN..MAX; either may be missing."""
    low, dots, high = text.partition("..")
    if not dots or not (low or high):
        example = {"cpu": "100m..2000m", "memory": "128Mi..4Gi"}[resource]
        most = example.rpartition("..")[2]
        raise UnclearError(f"{text!r} is not a range: write {example}, or with one end only: ..{most}")
    return (amount_of(resource, low) if low else None, amount_of(resource, high) if high else None)


class Watermark(NamedTuple):
    """An amount, and the algorithm that its unit means."""

    amount: str
    algorithm: Algorithm


def watermark_of(metric: str, text: str) -> Watermark:
    """40/pod or 2000/total; of cpu and memory with the unit of the resource too."""
    amount, slash, per = text.partition("/")
    if not slash or per not in ALGORITHMS:
        example = _EXAMPLES.get(metric, "40")
        raise UnclearError(f"{text!r} does not say of what: write {example}/pod or {example}/total")
    if metric in _EXAMPLES:
        return Watermark(amount_of(metric, amount), ALGORITHMS[per])
    if not _ANY.fullmatch(amount):
        raise UnclearError(f"{text!r} is not an amount: write 40/pod, or 1.5k/total")
    return Watermark(amount, ALGORITHMS[per])


def interval_of(text: str) -> ScalingInterval:
    """Up to so many pods of at most this size: 3x2000m,8Gi."""
    match = _INTERVAL.fullmatch(text)
    if match is None:
        meaning = "up to 3 pods of at most 2 cores and 8Gi"
        raise UnclearError(f"{text!r} is not an interval: write 3x2000m,8Gi for {meaning}")
    return interval(int(match[1]), cpu=amount_of("cpu", match[2]), memory=amount_of("memory", match[3]))
