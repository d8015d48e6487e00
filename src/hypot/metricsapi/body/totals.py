"""What a rule needs of a body that arrives in pieces: the total of each of its metrics.

Only the piece at hand and the line that is not complete yet are in memory, however long the body is.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from hypot.kinds.metric_rules.fields import ServedMetric
from hypot.kinds.selector import Selector, read_line_selector
from hypot.metricsapi.body.exposition import BodyLine, ExpositionError, Met, declares_family, labels_of, read
from hypot.metricsapi.body.request_classes import RequestCounts, ScrapedRequests

_EVERYTHING = Selector()
# A line without an end fails the scrape.
_LONGEST_LINE = 2**20
# How many lines of a body may be wanted, all metrics of the rule together: reading them takes a second or two.
MOST_LINES = 100_000
# How many of them are read before other tasks may have their turn.
_LINES_AT_ONCE = 16
# What OpenMetrics ends with, after the line before.
_EOF = b"\n# EOF"
# The largest total whose increase is still exact enough: nanoseconds of thirty years.
LARGEST_TOTAL = 1e18


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
    weights = tuple([(read_line_selector(one.where), float(one.weight or 0.0)) for one in metric.weights or ()])
    return Wanted(metric.source, read_line_selector(metric.where), weights)


class Scraped(NamedTuple):
    """The total of each wanted metric, and when they were measured: on the boot clock, and to show.

    A metric without a line has no total. It is among `declared` if the body says what it is all the same, as many
    programs do of a counter with labels before it counts anything.
    """

    at: float
    wall: float
    totals: list[float | None]
    size: int
    # What costs are learned from, where a rule asks for it.
    requests: ScrapedRequests | None = None
    declared: frozenset[int] = frozenset()


class _Family:
    """The wanted metrics of one name: their lines are read once for all of them."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.metrics: list[int] = []
        self.declared = False
        self.lines = 0


class Totals:
    """The totals of the wanted metrics. Raises an ExpositionError for a body that cannot be used."""

    def __init__(
        self,
        wanted: Sequence[Wanted],
        counts: RequestCounts | None = None,
        *,
        open_metrics: bool = False,
        delimited: bool = False,
    ) -> None:
        """`counts` also gets the lines of its metric, and those of cpu.

        OpenMetrics says where a body ends; `delimited`: whether the connection does.
        """
        self._wanted, self._counts, self._open_metrics, self._delimited = wanted, counts, open_metrics, delimited
        self._sums = [0.0] * len(wanted)
        self._families: dict[str, _Family] = {}
        for i, one in enumerate(wanted):
            self._family(one.name).metrics.append(i)
        if counts is not None:
            self._family(counts.cpu)
        self._rest = b""
        # The end of what was taken.
        self._end = b""
        self._lines = 0

    def _family(self, name: str) -> _Family:
        return self._families.setdefault(name, _Family(name))

    def feed(self, piece: bytes) -> None:
        for _ in self.steps(piece):
            pass

    def steps(self, piece: bytes) -> Iterator[None]:
        """Take a piece in small steps: other tasks may run after each of them."""
        end = piece.rfind(b"\n")
        if end < 0:
            self._keep(self._rest + piece)
            return
        lines = self._rest + piece[: end + 1] if self._rest else piece[: end + 1]
        self._keep(piece[end + 1 :])
        self._end = lines[-len(_EOF) - 1 :]
        for family in self._families.values():
            yield from self._take(family, lines)

    def close(self) -> list[float | None]:
        """The totals, after the last piece."""
        self._check_end()
        totals: list[float | None] = [None] * len(self._wanted)
        for family in self._families.values():
            for i in family.metrics if family.lines else ():
                if not abs(self._sums[i]) <= LARGEST_TOTAL:
                    raise ExpositionError(f"the total of {family.name} is too large")
                totals[i] = self._sums[i]
        return totals

    @property
    def declared(self) -> frozenset[int]:
        """The metrics without a line, of which the body says what they are."""
        several = [each.metrics for each in self._families.values() if each.declared and not each.lines]
        return frozenset([i for metrics in several for i in metrics])

    def _check_end(self) -> None:
        """The end of a body that was cut off may look like a whole line: 23 instead of 2345."""
        if self._open_metrics and not (b"\n" + self._end + self._rest).removesuffix(b"\n").endswith(_EOF):
            raise ExpositionError("the body is not complete: it does not end with # EOF")
        if self._rest and not self._open_metrics and (not self._delimited or self._may_be_wanted(self._rest.lstrip())):
            raise ExpositionError("the body is not complete: its last line does not end")

    def _may_be_wanted(self, line: bytes) -> bool:
        names = [name.encode("ascii") for name in self._families]
        return any(line.startswith(name) or name.startswith(line) for name in names)

    def _keep(self, rest: bytes) -> None:
        if len(rest) > _LONGEST_LINE:
            raise ExpositionError(f"a line has more than {_LONGEST_LINE:,} bytes")
        self._rest = rest

    def _take(self, family: _Family, lines: bytes) -> Iterator[None]:
        counts = self._counts if self._counts is not None and self._counts.cpu == family.name else None
        try:
            for found in read(lines, family.name.encode("ascii")):
                if isinstance(found, BodyLine):
                    self._add(family, found)
                    if counts is not None:
                        counts.add_cpu(found)
                elif found is Met.DECLARATION:
                    family.declared = True
                if self._lines % _LINES_AT_ONCE == 0:
                    yield
        except ExpositionError:
            if family.metrics or counts is None:
                raise
            counts.broken = True
        if not family.lines and not family.declared:
            family.declared = declares_family(lines, family.name)
        yield

    def _add(self, family: _Family, line: BodyLine) -> None:
        # A line that does not count still shows that the metric is there: its total may be 0.
        family.lines += 1
        self._lines += 1
        if self._lines > MOST_LINES:
            raise ExpositionError(f"more than {MOST_LINES:,} lines are wanted of it; drop labels with many values")
        labels = labels_of(line)
        for i in family.metrics:
            if self._counts is not None and self._counts.metric == i:
                self._counts.add(line)
            wanted = self._wanted[i]
            self._sums[i] += line.value * (wanted.weight_of(labels) if wanted.by_label else 1.0)
