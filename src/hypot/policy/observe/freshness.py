"""Which samples of usage are fresh: recent by the wall clock, changing by the boot clock, and not from the future.

A sample is stale if it is older than max(90 s, 3 of its windows), if its timestamp has not changed for that long, or if
it is more than 30 s ahead of our clock. If every sample is ahead, our clock is behind: then age means nothing, and
samples count that still change and are near the others.
"""

from collections.abc import Hashable, Mapping
from dataclasses import field
from typing import Any, TypeVar

from hypot.core.amount import RESOURCES
from hypot.core.dataclass import dataclass
from hypot.kinds.selector import SelectorError, read_selector
from hypot.kinds.wpa import WPA
from hypot.kinds.wpa.fields import ResourceBand
from hypot.policy.model.current_size import has_crashed, live
from hypot.policy.model.seen import Failure, Pod, PodSample, Scale, Seen

# Any identifier of a pod.
PodName = TypeVar("PodName", bound=Hashable)

# A metrics server scrapes at least once a minute; the rest allows for a late scrape.
OLDEST = 90.0
# How many of its own windows old a sample may be.
WINDOWS = 3
# The clocks of one cluster differ by less than this.
MOST_AHEAD = 30.0
# How far the two clocks may drift apart between two observations.
MOST_JUMP = 5.0


@dataclass(frozen=True, slots=True)
class Freshness:
    """By pod: the timestamp of its last sample, and when that sample was first observed, by the boot clock."""

    first: Mapping[Any, tuple[float, float]] = field(default_factory=dict, hash=False)


def patience(window: float) -> float:
    """How old a sample with this window may be."""
    return max(OLDEST, WINDOWS * window)


def is_old(at: float, window: float, now: float) -> bool:
    """Whether this was measured too long ago; NaN counts as old."""
    return not now - at <= patience(window)


def is_untimely(at: float, now: float) -> bool:
    """Whether this time is too long ago, or further ahead than clocks may differ."""
    return is_old(at, 0.0, now) or at > now + MOST_AHEAD


def fresh(
    samples: Mapping[PodName, PodSample], state: Freshness, now_wall: float, now_boot: float
) -> tuple[Mapping[PodName, PodSample], frozenset[PodName], Freshness]:
    """The samples to decide with, the pods whose samples are stale, and the state for the next call.

    Do not call it if the samples could not be listed: a pod that is not in `samples` is forgotten.
    """
    first = state.first
    seen: dict[PodName, tuple[float, float]] = {}
    still: list[PodName] = []
    for name, sample in samples.items():
        known = first.get(name)
        if known is None or known[0] != sample.at:
            known = (sample.at, now_boot)
        elif now_boot - known[1] > OLDEST and now_boot - known[1] > patience(sample.window):
            still.append(name)
        seen[name] = known
    stale = frozenset([*still, *_out_of_time(samples, now_wall)])
    kept = {name: sample for name, sample in samples.items() if name not in stale} if stale else samples
    return kept, stale, Freshness(seen)


def _out_of_time(samples: Mapping[PodName, PodSample], now: float) -> list[PodName]:
    """The pods whose samples are too old or too far ahead."""
    oldest, ahead = now - OLDEST, now + MOST_AHEAD
    # Nearly all samples are in this range, whatever their window; NaN never is.
    odd = [name for name, sample in samples.items() if not oldest <= sample.at <= ahead]
    if len(odd) == len(samples) and odd and all(samples[name].at > ahead for name in odd):
        return _unlike(samples)
    return [name for name in odd if samples[name].at > ahead or is_old(samples[name].at, samples[name].window, now)]


def _unlike(samples: Mapping[PodName, PodSample]) -> list[PodName]:
    """The pods whose samples are far from the median time, which single nodes with a wrong clock do not move."""
    middle = sorted(sample.at for sample in samples.values())[len(samples) // 2]
    return [name for name, sample in samples.items() if not abs(sample.at - middle) <= patience(sample.window)]


def are_gone(seen: Seen) -> bool:
    """Whether there should be pods but there are none: then histograms alone would decide how many are enough."""
    wanted = seen.scale.replicas if isinstance(seen.scale, Scale) else 0
    return wanted > 0 and not live(seen.pods)


def not_folded(seen: Seen) -> tuple[str, ...]:
    """Pods without a sample, which histograms do not notice. New pods had no time to be measured and do not count."""
    samples, pods = seen.pod_metrics, live(seen.pods)
    if isinstance(samples, Failure) or not any(pod.name in samples for pod in pods):
        return tuple([pod.name for pod in pods])
    return tuple([pod.name for pod in pods if _is_due(pod, seen.now) and not _is_whole(pod, samples.get(pod.name))])


def _is_due(pod: Pod, now: float) -> bool:
    """Whether the pod should have a sample. Unready pods too: the node of such a pod may be unreachable."""
    since = pod.started if pod.ready_since is None else pod.ready_since
    return pod.phase == "Running" and not has_crashed(pod, now) and (since is None or now - since > OLDEST)


def _is_whole(pod: Pod, sample: PodSample | None) -> bool:
    return sample is not None and all(sample.is_whole(pod, resource) for resource in RESOURCES)


def left_out(wpa: WPA, seen: Seen) -> tuple[str, ...]:
    """Ready pods without a complete sample: they are missing from the sum, so the resulting count is too small."""
    samples = seen.pod_metrics
    if isinstance(samples, Failure):
        return ()
    ready = [pod for pod in live(seen.pods) if pod.phase == "Running" and pod.ready == "True"]
    found: dict[str, None] = {}
    for source in [metric.source for metric in wpa.metrics or ()]:
        if not isinstance(source, ResourceBand):
            continue
        try:
            selector = read_selector(source.selector)
        except SelectorError:
            continue
        for pod in ready:
            sample = samples.get(pod.name)
            if selector.matches(pod.labels) and (sample is None or not sample.is_whole(pod, source.name or "")):
                found[pod.name] = None
    return tuple(found)


def frozen_clock_jump(wall_then: float, boot_then: float, wall_now: float, boot_now: float) -> float:
    """By how many seconds the wall clock was set in between, positive if forward. The boot clock is never set."""
    return (wall_now - wall_then) - (boot_now - boot_then)


def is_clock_jump(seconds: float) -> bool:
    """Whether this is more than drift."""
    return abs(seconds) > MOST_JUMP
