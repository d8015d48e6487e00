"""What the answer of a Prometheus says about each pod, as samples like those of scrapes."""

import math
from collections.abc import Iterable
from functools import lru_cache
from typing import Literal, NamedTuple

from hypot.cluster.prometheus import VectorSeries
from hypot.core.scraping.rate import Counter, CounterSample
from hypot.metricsapi.body.totals import LARGEST_TOTAL
from hypot.metricsapi.prometheus.promql import PART_LABEL, Part, PartOf, PodLabels
from hypot.metricsapi.targets import ScrapeTarget

# Why an answer says nothing of a pod.
PodFault = Literal["missing", "several", "value"]
Named = tuple[str, str]
Parts = dict[str, float]
_SEVERAL = "its series are from several scrapes; select one with `where` in the section `prometheus`, such as a job"


class QueryTime(NamedTuple):
    """When a query was sent, on the boot clock, and its time in Prometheus."""

    at: float
    wall: float

    def placed(self, reading: "Reading") -> CounterSample:
        """A reading on the boot clock. Its age counts by the clock of Prometheus: that of this machine may differ."""
        at = self.at - (self.wall - reading.wall)
        # A multiple of a power of two, so that the gap to another sample is exact if it is a round number.
        return CounterSample(math.floor(at * 1024) / 1024, *reading)


class Reading(NamedTuple):
    """A total of a pod, and when it was scraped, on the clock of Prometheus."""

    wall: float
    value: float

    def before(self, new: CounterSample) -> CounterSample:
        """The sample of this reading, which is older than another sample."""
        return CounterSample(new.at - round(new.wall - self.wall, 3), *self)


class PodFaultError(Exception):
    """The answer says nothing of a pod that may be served."""

    def __init__(self, fault: PodFault, message: str) -> None:
        super().__init__(message)
        self.fault: PodFault = fault


def by_pod(series: Iterable[VectorSeries], labels: PodLabels, found: dict[Named, Parts]) -> None:
    """Sort in the numbers of each pod by their part of the query. What is no number is NaN: its pod is faulty."""
    for each in series:
        named = each.metric.get(labels.namespace, ""), each.metric.get(labels.pod, "")
        found.setdefault(named, {})[each.metric.get(PART_LABEL, "")] = _number(each.value[1])


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def samples_of(target: ScrapeTarget, parts: Parts, time: QueryTime) -> list[Counter | PodFaultError]:
    """The sample of now of each metric, and of counters that of a window earlier; or why there is none."""
    found: list[Counter | PodFaultError] = []
    for i in range(len(target.rule.wanted)):
        try:
            found.append(_pair(target, i, parts, time))
        except PodFaultError as error:
            found.append(error)
    return found


def _pair(target: ScrapeTarget, i: int, parts: Parts, time: QueryTime) -> Counter:
    new = time.placed(_reading(target, i, parts, time, earlier=False))
    if not target.rule.served[i].is_counter:
        return Counter(None, new)
    try:
        return Counter(_reading(target, i, parts, time, earlier=True).before(new), new)
    except PodFaultError:
        # It is new, or its scrape of that time failed: there is no rate yet.
        return Counter(None, new)


def _reading(target: ScrapeTarget, i: int, parts: Parts, time: QueryTime, *, earlier: bool) -> Reading:
    name = target.rule.wanted[i].name
    total, at, several = map(parts.get, _keys(i, earlier))
    if total is None or at is None:
        raise PodFaultError("missing", f"Prometheus has no {name} of it")
    if several is not None:
        raise PodFaultError("several", f"{name}: {_SEVERAL}")
    if not abs(total) <= LARGEST_TOTAL or not 0 <= at <= time.wall:
        raise PodFaultError("value", f"the total of {name} is not a number, or too large")
    if at < target.pod.created:
        # A pod that was replaced by one of the same name.
        raise PodFaultError("missing", f"Prometheus has no {name} of it, only of a former pod")
    return Reading(at, total)


@lru_cache(256)
def _keys(i: int, earlier: bool) -> list[str]:
    return [str(PartOf(i, part, earlier)) for part in Part]


class Taken(NamedTuple):
    """The samples to keep of a metric, and why one of them gives no rate."""

    counter: Counter
    rejected: str = ""


def taken(known: Counter, found: Counter, least_gap: float) -> Taken:
    """The two samples of an answer, as if they had been scraped one after the other."""
    old, new = found
    if new is None or old is None:
        return Taken(_kept(known, found))
    if old.wall == new.wall:
        # The window is shorter than the time between two scrapes.
        return Taken(_kept(known, Counter(None, new)))
    made = Counter(None, old).sampled(new, least_gap)
    if made.old is not None:
        return Taken(made)
    return Taken(Counter(None, new), "" if _is_same(known, new) else "reset" if made.new is new else "too-soon")


def _kept(known: Counter, found: Counter) -> Counter:
    """What is known already, if there is no newer sample."""
    return known if known.old is not None and found.new is not None and _is_same(known, found.new) else found


def _is_same(known: Counter, new: CounterSample) -> bool:
    return known.new is not None and known.new.wall == new.wall


class TakenAnswer(NamedTuple):
    """Why some samples of a pod give no rate, and the metrics of which the answer says nothing."""

    rejected: list[str]
    faults: list[PodFaultError]


def take(target: ScrapeTarget, parts: Parts, time: QueryTime, least_gap: float) -> TakenAnswer:
    """Take the samples of an answer. A metric without one keeps those that it has, until they are too old.

    Raises a PodFaultError if there is none at all.
    """
    found = samples_of(target, parts, time)
    faults = [one for one in found if isinstance(one, PodFaultError)]
    if len(faults) == len(found):
        raise faults[0]
    several = [
        Taken(known) if isinstance(pair, PodFaultError) else taken(known, pair, least_gap)
        for known, pair in zip(target.known, found, strict=True)
    ]
    missing = [wanted.name for wanted, pair in zip(target.rule.wanted, found, strict=True) if pair in faults]
    target.take([one.counter for one in several], tuple(dict.fromkeys(missing)))
    return TakenAnswer([one.rejected for one in several if one.rejected], faults)
