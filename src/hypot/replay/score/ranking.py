"""Policies side by side: which are on the Pareto front, which is cheapest at equal quality, and how stable that is."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from itertools import pairwise
from math import log
from statistics import median
from typing import Any, NamedTuple

from hypot.kinds.problem import some
from hypot.replay.score.columns import NOTHING
from hypot.replay.score.scorecard import Scores

# In percent: less lateness than one request in a million counts as none, and has no logarithm.
LEAST_LATE = 1e-4
# Figures that differ by a smaller share are printed as equal.
_EQUAL = 0.0005


class PolicyPoint(NamedTuple):
    """A policy by cost and quality: dollars (or shares of a static peak), late and lost requests in percent."""

    cost: float
    late: float


def point_of(scores: Scores, cost: str = "cost") -> PolicyPoint | None:
    """The point of a run, by this cost field; None if it has no cost. Without requests, none was late."""
    paid = getattr(scores, cost)
    return None if paid is None else PolicyPoint(paid, late_or_lost(scores))


def late_or_lost(scores: Scores) -> float:
    """Late and lost requests together, in percent."""
    return (scores.late or 0.0) + (scores.lost or 0.0)


def front(entries: Mapping[str, PolicyPoint]) -> set[str]:
    """The policies that no other beats. A tie in both keeps all; equal in one and worse in the other is beaten."""
    kept: set[str] = set()
    last: PolicyPoint | None = None
    for name, point in sorted(entries.items(), key=lambda entry: entry[1]):
        if last is None or point.late < last.late or point == last:
            kept.add(name)
            last = point
    return kept


def cost_at(curve: Iterable[PolicyPoint], late: float) -> float | None:
    """The cost at which the curve of a grid has this lateness in percent: linear in its logarithm, along the front.

    None if the curve does not reach there: points outside of it were not tried.
    """
    points = [PolicyPoint(cost, max(there, LEAST_LATE)) for cost, there in curve]
    kept = front({str(i): point for i, point in enumerate(points)})
    line = sorted({points[int(i)] for i in kept}, key=lambda point: point.late)
    wanted = max(late, LEAST_LATE)
    for point in line:
        if point.late == wanted:
            return point.cost
    for better, worse in pairwise(line):
        if better.late < wanted < worse.late:
            way = log(wanted / better.late) / log(worse.late / better.late)
            return better.cost + way * (worse.cost - better.cost)
    return None


def middle(scores: Sequence[Scores]) -> Scores:
    """The median of each score over several windows or traces; for a boolean its share. None does not count."""
    return _over(scores, lambda values, _: _share(values) if isinstance(values[0], bool) else median(values))


def worst(scores: Sequence[Scores]) -> Scores:
    """The worst of each score; where neither direction is better, the largest."""
    return _over(scores, lambda values, better: min(values) if better == "high" else max(values))


def keeps_slo(scores: Scores) -> bool:
    """Whether late and lost requests stay within what the SLO allows; an SLO of 100 % allows none."""
    return scores.budget <= 1.0 if scores.budget is not None else late_or_lost(scores) <= NOTHING


def verdict(scores: Mapping[str, Scores], prices: Mapping[str, Sequence[float]] | None = None) -> str:
    """A sentence or two: the cheapest policy that meets the SLO, and whether the ranking depends on one price.

    `prices` has the result of `prices_at` for each policy: at a tenth, once and ten times the price of a late request.
    """
    if not scores:
        return "There is nothing to compare."
    sentences = [_cheapest(scores)]
    if prices is not None and len(prices) > 1:
        sentences.append(_stability(prices))
    return " ".join(sentences)


def ranking_at(prices: Mapping[str, Sequence[float]], place: int) -> list[str]:
    """All policies by one of their prices, the lowest first; equal prices are sorted by name."""
    return sorted(prices, key=lambda name: (prices[name][place], name))


def _over(scores: Sequence[Scores], pick: Callable[[Sequence[float], str], float]) -> Scores:
    chosen: dict[str, Any] = {}
    for column in fields(Scores):
        values = [value for one in scores if (value := getattr(one, column.name)) is not None]
        if values:
            chosen[column.name] = pick(values, column.metadata["better"])
    return Scores(**chosen)


def _share(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _cheapest(scores: Mapping[str, Scores]) -> str:
    costs = {name: one.cost for name, one in scores.items() if one.cost is not None and keeps_slo(one)}
    if not costs:
        nearest = least_of({name: late_or_lost(one) for name, one in scores.items()})
        if len(nearest) == len(scores):
            return f"{verb(nearest, 'miss', 'misses')} the SLO: {_qualities(nearest, scores)}."
        return f"No policy meets the SLO; {verb(nearest, 'come')} closest: {_qualities(nearest, scores)}."
    first = least_of(costs)
    price = f"${costs[first[0]]:.2f}, {_qualities(first, scores)}"
    if len(scores) == 1:
        return f"{first[0]} meets the SLO: {price}."
    if len(first) == 1:
        reported = f"{first[0]} is the cheapest policy that meets the SLO: {price}"
    else:
        reported = f"{some(first)} cost the same, and nothing that meets the SLO costs less: {price}"
    others = sorted((cost, name) for name, cost in costs.items() if name not in first)
    if not others or costs[first[0]] <= NOTHING:
        return f"{reported}."
    more = 100.0 * (others[0][0] / costs[first[0]] - 1.0)
    return f"{reported}; the next cheapest, {others[0][1]}, costs {more:.1f} % more."


def verb(names: Sequence[str], plural: str, singular: str = "") -> str:
    """The names with a verb in the right number."""
    return f"{some(list(names))} {(singular or f'{plural}s') if len(names) == 1 else plural}"


def least_of(figures: Mapping[str, float]) -> list[str]:
    """Those with the least figure, by name. What differs by less than is printed is equal."""
    least = min(figures.values())
    return sorted(name for name, figure in figures.items() if figure <= least * (1.0 + _EQUAL) + NOTHING)


def _qualities(names: Sequence[str], scores: Mapping[str, Scores]) -> str:
    """That of all of them if it is one, else that of each of the first."""
    found = [_quality(scores[name]) for name in names]
    if len(set(found)) == 1:
        return found[0]
    return some([f"{name} {quality}" for name, quality in zip(names, found, strict=True)])


def _quality(scores: Scores) -> str:
    """Each by itself: a request may be both, so their sum is not a share of all requests."""
    lost = f" and {scores.lost:.3g} % lost" if scores.lost else ""
    return f"{scores.late or 0.0:.3g} % late{lost}"


def _stability(prices: Mapping[str, Sequence[float]]) -> str:
    """The ranking by price, and how it changes if a late request costs a tenth or ten times as much."""
    tenth, usual, tenfold = (least_of({name: of[place] for name, of in prices.items()}) for place in range(3))
    by_price = "By price, which includes late requests and restarts,"
    if len(tenth) == len(usual) == len(tenfold) == len(prices):
        return f"{by_price} they are equal, also if a late request costs a tenth or ten times as much."
    first = f"{by_price} {verb(usual, 'come')} first"
    if tenth == usual == tenfold:
        if ranking_at(prices, 0) == ranking_at(prices, 1) == ranking_at(prices, 2):
            return f"{first}, and the ranking stays the same if a late request costs a tenth or ten times as much."
        return f"{first}, also if a late request costs a tenth or ten times as much; the order after it changes."
    return (
        f"{first}, but the ranking depends on the price of a late request: "
        f"{some(tenth)} {'is' if len(tenth) == 1 else 'are'} first at a tenth of it, {some(tenfold)} at ten times."
    )
