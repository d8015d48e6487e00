"""What a rule needs of a body that arrives in pieces: the total of each of its metrics.

Only the piece at hand and the line that is not complete yet are in memory, however long the body is.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from hypot.kinds.metric_rules.fields import ServedMetric
from hypot.kinds.selector import Selector, read_selector
from hypot.metricsapi.body.exposition import BodyLine, ExpositionError, labels_of, samples_of
from hypot.metricsapi.body.request_classes import RequestCounts, ScrapedRequests

_EVERYTHING = Selector()
# A line without an end fails the scrape.
_LONGEST_LINE = 2**20
# The largest total that a value in milli-units keeps exactly enough.
LARGEST_TOTAL = 1e15


class Wanted(NamedTuple):
    """A metric of the body, which of its lines count, and how much."""

    name: str
    where: Selector = _EVERYTHING
    weights: tuple[tuple[Selector, float], ...] = ()

    @property
    def by_label(self) -> bool:
        """Whether labels matter at all; reading them takes most of the time."""
        return bool(self.where.requirements or self.weights)

    def weight_of(self, labels: Mapping[str, str]) -> float:
        if not self.where.matches(labels):
            return 0.0
        return next((weight for where, weight in self.weights if where.matches(labels)), 1.0)


def wanted_of(metric: ServedMetric) -> Wanted:
    weights = tuple([(read_selector(one.where), float(one.weight or 0.0)) for one in metric.weights or ()])
    return Wanted(metric.source, read_selector(metric.where), weights)


class Scraped(NamedTuple):
    """The total of each wanted metric, and when they were measured: on the boot clock, and to show."""

    at: float
    wall: float
    totals: list[float]
    size: int
    # What costs are learned from, where a rule asks for it.
    requests: ScrapedRequests | None = None


class Totals:
    """The totals of the wanted metrics. Raises an ExpositionError for a body that cannot be used."""

    def __init__(self, wanted: Sequence[Wanted], counts: RequestCounts | None = None) -> None:
        """`counts` also gets the lines of its metric, and those of cpu."""
        self._wanted, self._counts = wanted, counts
        self._sums = [0.0] * len(wanted)
        self._lines = [0] * len(wanted)
        self._rest = b""

    def feed(self, piece: bytes) -> None:
        end = piece.rfind(b"\n")
        if end < 0:
            self._keep(self._rest + piece)
            return
        self._take(self._rest + piece[: end + 1] if self._rest else piece[: end + 1])
        self._keep(piece[end + 1 :])

    def close(self) -> list[float]:
        """The totals, after the last piece."""
        self._take(self._rest)
        self._rest = b""
        for wanted, lines, total in zip(self._wanted, self._lines, self._sums, strict=True):
            if not lines:
                raise ExpositionError(f"there is no {wanted.name}")
            if not abs(total) <= LARGEST_TOTAL:
                raise ExpositionError(f"the total of {wanted.name} is too large")
        return self._sums

    def _keep(self, rest: bytes) -> None:
        if len(rest) > _LONGEST_LINE:
            raise ExpositionError(f"a line has more than {_LONGEST_LINE:,} bytes")
        self._rest = rest

    def _take(self, lines: bytes) -> None:
        for i, wanted in enumerate(self._wanted):
            for sample in samples_of(lines, wanted.name):
                self._add(i, wanted, sample)
        if self._counts is not None:
            self._counts.add_cpu(lines)

    def _add(self, i: int, wanted: Wanted, sample: BodyLine) -> None:
        # A line that does not count still shows that the metric is there: its total may be 0.
        self._lines[i] += 1
        if self._counts is not None and self._counts.metric == i:
            self._counts.add(sample)
        self._sums[i] += sample.value * (wanted.weight_of(labels_of(sample)) if wanted.by_label else 1.0)
