"""The largest rate per pod that keeps the SLO: candidates around what was observed, each replayed on the history."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from math import floor, log10
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hypot.cli.files import BadInput
from hypot.cli.pair.manifests import by_rate, served_name, written
from hypot.cli.pair.subject import PairSubject
from hypot.cli.replay.comparing import ReplaySubject, compared
from hypot.kinds.text.load import LoadedFiles, Source
from hypot.policy.model.settings import Settings
from hypot.replay.engine.deciders import NEVER
from hypot.replay.policies.policy import PolicyError
from hypot.replay.policies.read import POLICY, read_policies
from hypot.replay.policies.start import start_of, start_of_world
from hypot.replay.score.ranking import keeps_slo, late_or_lost
from hypot.replay.score.scorecard import Scores
from hypot.replay.traces.trace import Trace
from hypot.replay.world.file import WorldFile
from hypot.replay.world.parameters import World

if TYPE_CHECKING:
    from hypot.replay.policies.policy import Policy

# Candidates are this far apart, and so many at a time; the first ones go from below the start to above it.
STEP, BELOW, AT_ONCE = 1.25, 5, 12
# After so many rounds the search ends.
ROUNDS = 4
# Without observed replicas the search starts where a pod is busy for this share of its time.
USUAL_SHARE = 0.5
# A lower rate helps if it leaves less than this share of the late and lost requests.
HELPS = 0.99
QUARTILE = 25
# A rate is too large if it costs more than this many times as much as the cheapest: few pods with much headroom each.
# Less than that is noise of the replay.
MOST_COST = 1.05


class Tried(NamedTuple):
    """A rate per pod, and how its replay was scored."""

    rate: str
    scores: Scores

    @property
    def keeps(self) -> bool:
        return keeps_slo(self.scores)


class RateChoice(NamedTuple):
    """The chosen rate, and all that were tried, in ascending order."""

    rate: str
    tried: tuple[Tried, ...]
    start: str

    @property
    def largest(self) -> Tried:
        """The largest that keeps the SLO as all lower ones do."""
        return _kept(self.tried)[-1]

    def reasons(self, given: WorldFile) -> tuple[str, ...]:
        """How it was found, with the neighbours of the choice."""
        world = given.world
        place = next(i for i, one in enumerate(self.tried) if one.rate == self.rate)
        shown = self.tried[max(place - 2, 0) : place + 3]
        cost = self.tried[place].scores.cost or 0.0
        slo, but = f"{100 * world.service.slo:g} %", self._but(cost)
        return (
            f"The largest rate that keeps the SLO of {slo} in a replay of the history{but}.",
            f"The search began at {self.start}.",
            _work(given),
            *[_row(one, cost, chosen=one.rate == self.rate) for one in shown],
        )

    def _but(self, cost: float) -> str:
        if self.rate == self.largest.rate or not cost:
            return ""
        more = 100 * ((self.largest.scores.cost or 0.0) / cost - 1)
        return f", and costs little more than lower ones: {self.largest.rate} would cost {more:.0f} % more"


def _work(given: WorldFile) -> str:
    work = f"{given.world.service.work * 1000:g} ms"
    if "service.work" in given.given:
        return f"Each request takes {work} of cpu there, as the world says (--world)."
    return f"Assumed: each request takes {work} of cpu; write yours as service.work in a file for --world."


def _row(one: Tried, reference: float, *, chosen: bool) -> str:
    cost = f"{(one.scores.cost or 0.0) / reference:.2f} times the cost" if reference else ""
    word = "chosen" if chosen else "keeps it" if one.keeps else "misses it"
    return f"  {one.rate:>6}: {_misses(one):.3f} % late or lost, {cost}: {word}"


def best_rate(trace: Trace, subject: PairSubject, counter: str, world: World, settings: Settings) -> RateChoice:
    """Search for it. Raises if no rate keeps the SLO."""
    names = {**world.metrics.names, served_name(counter): "requests"}
    world = replace(world, metrics=replace(world.metrics, names=names))
    first, why = start_rate(trace, subject, world)
    found = search(first, lambda rates: list(_replayed(rates, trace, subject, counter, world, settings)))
    kept = _kept(found)
    if len(kept) == len(found):
        raise BadInput(
            f"the minimum of {subject.bounds.value[0]} replicas alone keeps the SLO of {100 * world.service.slo:g} % "
            "in this history, so it does not say at which rate a pod is full; give a history with busier times, a "
            "lower minimum (--replicas), or the rate itself (--rate 300)"
        )
    if not kept:
        lowest = found[0]
        raise BadInput(
            f"no rate keeps the SLO of {100 * world.service.slo:g} %: even {lowest.rate} requests/s per pod leave "
            f"{_misses(lowest):.3f} % late or lost; raise the maximum of {subject.bounds.value[1]} "
            "replicas or the cpu limit of the pods, or check the world (--world)"
        )
    return RateChoice(chosen(kept).rate, tuple(found), why)


def chosen(kept: Sequence[Tried]) -> Tried:
    """The largest of the rates that keep the SLO, unless it costs notably more than another of them."""
    most = min(one.scores.cost or 0.0 for one in kept) * MOST_COST
    return max((one for one in kept if (one.scores.cost or 0.0) <= most), key=kept.index)


def search(first: float, replayed: Callable[[list[str]], Sequence[Tried]]) -> list[Tried]:
    """All that was tried, in ascending order: until there is a rate that keeps the SLO below one that does not.

    A search for lower rates ends where they help no more: then something else makes requests late.
    """
    low, high = -BELOW, AT_ONCE - BELOW
    found = list(replayed(_ladder(first, low, high)))
    for _ in range(ROUNDS - 1):
        if not found[0].keeps:
            if _misses(found[0]) >= _misses(found[1]) * HELPS:
                break
            found = [*replayed(_ladder(first, low - AT_ONCE, low)), *found]
            low -= AT_ONCE
        elif found[-1].keeps:
            found = [*found, *replayed(_ladder(first, high, high + AT_ONCE))]
            high += AT_ONCE
        else:
            break
    return found


def _misses(one: Tried) -> float:
    return late_or_lost(one.scores)


def _kept(found: Iterable[Tried]) -> list[Tried]:
    kept: list[Tried] = []
    for one in found:
        if not one.keeps:
            break
        kept.append(one)
    return kept


def _ladder(first: float, low: int, high: int) -> list[str]:
    return list(dict.fromkeys(rounded(first * STEP**step) for step in range(low, high)))


def rounded(rate: float) -> str:
    """Two digits, as a quantity: 0.25 is 250m."""
    digits = 1 - floor(log10(rate))
    thousandths = max(round(round(rate, digits) * 1000), 1)
    return str(thousandths // 1000) if thousandths % 1000 == 0 else f"{thousandths}m"


def start_rate(trace: Trace, subject: PairSubject, world: World) -> tuple[float, str]:
    """Where the search begins: a rate, and how it was found as a clause."""
    if trace.replicas is not None:
        busy = (trace.replicas > 0) & (trace.values > 0)
        if busy.any():
            rate = float(np.percentile(trace.values[busy] / trace.replicas[busy], QUARTILE))
            return rate, f"{rounded(rate)}, the lower quartile of requests/s per ready replica in the history"
    start = start_of(subject.workload, world).start if subject.workload is not None else None
    if start is None:
        start = start_of_world(world, subject.target.kind or "", subject.target.name or "")
    rate = max(start.cpu / 1000.0 / world.service.work * USUAL_SHARE, 0.01)
    share = f"{100 * USUAL_SHARE:.0f} % of what a pod of {start.cpu}m cpu serves"
    return rate, f"{rounded(rate)}, {share}; the history has no column of replicas"


def _replayed(
    rates: Sequence[str], trace: Trace, subject: PairSubject, counter: str, world: World, settings: Settings
) -> Iterator[Tried]:
    policies = list(_policies(rates, subject, counter, world, settings))
    [one] = compared(ReplaySubject([trace], policies, world, settings), NEVER, "auto", keep=False)
    for rate in rates:
        yield Tried(rate, one.policies[f"rate {rate}"])


def _policies(
    rates: Sequence[str], subject: PairSubject, counter: str, world: World, settings: Settings
) -> "Iterator[Policy]":
    loaded: list[LoadedFiles] = [] if subject.workload is None else [subject.workload]
    for rate in rates:
        pair = written(subject, by_rate(counter, rate))
        for data in (pair.hpa.to_dict(), pair.vpa.to_dict()):
            metadata = {**data["metadata"], "annotations": {POLICY: f"rate {rate}"}}
            loaded.append(LoadedFiles({**data, "metadata": metadata}, Source("hypot pair", 1)))
    try:
        yield from read_policies(loaded, world, settings.kubernetes, settings.gates)
    except PolicyError as error:
        raise BadInput(str(error)) from error
