"""Scores a run (every score of `docs/metrics.md`), and cuts a run into windows."""

from dataclasses import replace

import numpy as np

from hypot.replay.score.columns import sum_in_turn
from hypot.replay.score.families import (
    effort,
    elasticity,
    money,
    prices_at,
    quality,
    requested_of,
    shape,
    waste,
)
from hypot.replay.score.needed import Needed, needed
from hypot.replay.score.scorecard import Scores
from hypot.replay.score.sums import means_of, sums_of
from hypot.replay.score.tally import Account, count_loop, finish, no_tally, room_for, terms_of
from hypot.replay.world.parameters import World
from hypot.replay.world.record import RulePrices, Run, Ticks, Watch


class ScoreError(ValueError):
    """A run cannot be scored or cut as asked."""


def needed_by(run: Run) -> Needed:
    """What the load of a run needs. Policies on one trace share it; make it once and pass it to each `score`."""
    return needed(run.ticks.work, run.ticks.efficiency, run.world)


def score(run: Run, need: Needed | None = None, baseline: Scores | None = None) -> Scores:
    """Every score of a run. `baseline` is the HPA at 70 % on the same trace, for `speedup`."""
    need = needed_by(run) if need is None else need
    if len(need.demand) != len(run.ticks.at):
        raise ScoreError(
            f"{run.policy} on {run.workload}: the run has {len(run.ticks.at)} ticks, its demand {len(need.demand)}; "
            "make it from the same ticks, with needed_by"
        )
    return judge(account_of(run, need), run.world, need, baseline)


def account_of(run: Run, need: Needed) -> Account:
    """Add up the ticks of a run."""
    ticks, terms = len(run.ticks.at), terms_of(run.world)
    tally = no_tally()._replace(sums=[sum_in_turn(column) for column in run.ticks])
    kept = room_for(ticks, terms, lambda places: [0] * places, lambda places: [0.0] * places)
    rows = list(zip(*(column.tolist() for column in run.ticks), strict=True))
    count_loop(tally, terms, kept, rows, need.demand.tolist())
    finish(tally, kept)
    return Account(ticks, tally, kept)


def judge(account: Account, world: World, need: Needed, baseline: Scores | None = None) -> Scores:
    """Every score of a run, from its account."""
    if not account.ticks:
        return Scores()
    requested, sums = requested_of(account), sums_of(account, world)
    means = means_of(account, need.demand, world)
    return Scores(
        **quality(account, world, sums),
        **elasticity(account, means, baseline),
        **shape(account, world, need, requested),
        **waste(account, world, sums),
        **effort(account, world, sums, means, requested),
        **money(account, world, need, sums, requested),
    )


def judge_briefly(account: Account, world: World) -> Scores:
    """Only quality, cost and price; the lower bound takes longest."""
    if not account.ticks:
        return Scores()
    sums = sums_of(account, world)
    return Scores(**quality(account, world, sums), cost=sums.cost, price=prices_at(sums, world, (1.0,))[0])


def part(run: Run, start: float, end: float) -> Run:
    """The ticks of a run from `start` to `end`, exclusive; times are those of `ticks.at`."""
    first, last = np.searchsorted(run.ticks.at, (start, end))
    return _cut(run, int(first), int(last))


def window_borders(ticks: int, count: int) -> list[int]:
    """The ticks at which windows of equal length begin and end."""
    return [ticks * i // count for i in range(count + 1)]


def _cut(run: Run, first: int, last: int) -> Run:
    ticks = Ticks(*(column[first:last] for column in run.ticks))
    start = run.ticks.at[first] if first < len(run.ticks.at) else np.inf
    end = run.ticks.at[last] if last < len(run.ticks.at) else np.inf
    moments = tuple(moment for moment in run.moments if start <= moment.at < end)
    watch, prices = _watch(run.watch, start, end), _prices(run.prices, start, end)
    return replace(run, ticks=ticks, moments=moments, watch=watch, prices=prices)


def _watch(watch: Watch | None, start: float, end: float) -> Watch | None:
    if watch is None:
        return None
    first, last = np.searchsorted(watch.at, (start, end))
    return Watch(watch.metric, *(column[first:last] for column in watch[1:]))


def _prices(prices: RulePrices | None, start: float, end: float) -> RulePrices | None:
    if prices is None:
        return None
    first, last = np.searchsorted(prices.at, (start, end))
    counts, sizes = prices.counts[:, first:last], prices.sizes[:, first:last]
    return prices._replace(at=prices.at[first:last], counts=counts, sizes=sizes)
