"""The scenarios: problems from practice, reproduced with a bad policy, and the manifest that solves them.

A scenario passes if the good policy meets its bar and the bad policy is worse by as much as the file says.
"""

import json
import os
import re
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import Future, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import Any, Literal, NamedTuple

from hypot.policy.model.settings import SettingsError
from hypot.replay.jobs.pool import pool_of
from hypot.replay.scenario import decisions, loop
from hypot.replay.scenario.conditions import ConditionError
from hypot.replay.scenario.demand import DemandError, seconds
from hypot.replay.scenario.file import FILE, PAIR, SIDES, Case, Scenario, ScenarioError, read_scenario
from hypot.replay.scenario.looks import LookError
from hypot.replay.scenario.measures import MeasureError, unit_of
from hypot.replay.world.file import WorldError

Status = Literal["passed", "failed", "waiting"]
Figures = Mapping[str, float | None]
# Fewer ticks than this are done before other processes would have started.
WORTH_A_PROCESS = 60_000
_WRONG = (ConditionError, DemandError, LookError, MeasureError, WorldError, SettingsError)
# The keys of a case that both sides share, and the keys with one entry per side.
_SHARED = ("world", "settings", "demand", "measure", "start", "every", "cycle", "looks", "ways", "orders", "needs")
_OF_A_SIDE = ("by", "manifests", "patch")


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a scenario: the figures of each case by side, and every condition that does not hold."""

    scenario: Scenario
    status: Status
    bad: Mapping[str, Figures] = field(default_factory=dict, hash=False)
    good: Mapping[str, Figures] = field(default_factory=dict, hash=False)
    # Empty without a pair.
    pair: Mapping[str, Figures] = field(default_factory=dict, hash=False)
    broken: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The stable form that `-o json` prints."""
        cases = self.scenario.cases
        return {
            "id": self.scenario.id,
            "title": self.scenario.title,
            "status": self.status,
            "bad": {case: _plain(figures) for case, figures in self.bad.items()},
            "good": {case: _plain(figures) for case, figures in self.good.items()},
            "pair": {case: _plain(figures) for case, figures in self.pair.items()},
            "bar": {case.name: [str(condition) for condition in case.bar] for case in cases},
        }


def _plain(figures: Figures) -> dict[str, float | None]:
    """Figures as JSON can hold them: infinite values become null."""
    return {name: value if value is not None and isfinite(value) else None for name, value in figures.items()}


class ScenarioJob(NamedTuple):
    """One policy of one case, as it is handed to a worker."""

    folder: Path
    kind: str
    side: str
    data: Mapping[str, Any]

    @property
    def key(self) -> str:
        """Equal for jobs with the same outcome."""
        shared = {name: self.data.get(name) for name in _SHARED}
        own = {name: (self.data.get(name) or {}).get(self.side) for name in _OF_A_SIDE}
        return json.dumps([str(self.folder), self.kind, self.side, shared, own], sort_keys=True, default=str)

    @property
    def ticks(self) -> float:
        """The approximate length, to start with the longest job."""
        demand = self.data.get("demand") or {}
        if self.kind != "loop" or not demand:
            return 0.0
        points = demand.get("points") or demand.get("steps") or [[0]]
        length = seconds(demand["length"]) if "length" in demand else seconds(points[-1][0])
        return length / seconds((self.data.get("world") or {}).get("tick", 15.0))


def default_folder() -> Path:
    """The folder of the scenarios: in the package, or next to the sources in a checkout."""
    here = Path(__file__).resolve()
    places = (here.parents[2] / "scenarios", here.parents[4] / "scenarios")
    return next((place for place in places if place.is_dir()), places[-1])


def read_scenarios(folder: Path, *, quick: bool = False) -> list[Scenario]:
    """All scenarios of a folder in their order. Raises ScenarioError with all problems of all files."""
    found: list[Scenario] = []
    problems: list[str] = []
    for path in sorted(folder.glob(f"*/{FILE}")):
        try:
            found.append(read_scenario(path.parent, quick=quick))
        except ScenarioError as error:
            problems.append(str(error))
    if problems:
        raise ScenarioError("\n".join(problems))
    if not found:
        raise ScenarioError(f"{folder}: contains no scenario; a scenario is a folder with a {FILE}")
    return sorted(found, key=lambda one: one.number)


def chosen(scenarios: Sequence[Scenario], ids: Sequence[str]) -> list[Scenario]:
    """The scenarios that were asked for, as S1, s1 or S01; S23 also selects S23-T. All if none is named."""
    if not ids:
        return list(scenarios)
    known = {name for one in scenarios for name in (one.id, one.id.partition("-")[0])}
    by_name = {name.upper(): name for name in known}
    asked = {name: re.sub(r"^S0+", "S", name.upper()) for name in ids}
    unknown = [name for name in ids if asked[name] not in by_name]
    if unknown:
        listed = ", ".join(one.id for one in scenarios)
        raise ScenarioError(f"no scenario {', '.join(unknown)}; there are {listed}")
    wanted = {by_name[name] for name in asked.values()}
    return [one for one in scenarios if one.id in wanted or one.id.partition("-")[0] in wanted]


def jobs_of(scenarios: Sequence[Scenario]) -> dict[str, ScenarioJob]:
    """Everything that must be run for the scenarios, each job once."""
    cases = [(one, case) for one in scenarios if not one.waits for case in one.cases]
    made = [ScenarioJob(one.folder, one.kind, side, case.data) for one, case in cases for side in one.sides]
    return {job.key: job for job in made}


def run_scenarios(
    scenarios: Sequence[Scenario], progress: Callable[[int, int], None] | None = None, *, workers: int | None = None
) -> list[Result]:
    """Run and judge scenarios; reports progress as finished jobs and all jobs."""
    jobs = jobs_of(scenarios)
    done: dict[str, Figures] = {}
    with closing(_worked(jobs, (os.cpu_count() or 1) if workers is None else workers)) as work:
        for key, figures in work:
            done[key] = figures
            if progress is not None:
                progress(len(done), len(jobs))
    return [judged(one, done) for one in scenarios]


def do(job: ScenarioJob) -> Figures:
    """The figures of one policy of one case."""
    try:
        if job.kind == "loop":
            return loop.measured(job.folder, job.data, job.side)
        return decisions.measured(job.folder, job.data, job.side)
    except _WRONG as error:
        raise ScenarioError(f"{job.folder / FILE}: {error}") from error


def judged(scenario: Scenario, done: Mapping[str, Figures]) -> Result:
    """Whether, in every case, the good policy meets the bar and the bad policy is worse."""
    if scenario.waits:
        return Result(scenario, "waiting")
    bad: dict[str, Figures] = {}
    good: dict[str, Figures] = {}
    pair: dict[str, Figures] = {}
    broken: list[str] = []
    for case in scenario.cases:
        by_side = {
            side: done[ScenarioJob(scenario.folder, scenario.kind, side, case.data).key] for side in scenario.sides
        }
        try:
            broken += [f"{case.name}: {message}" for message in _broken(case, by_side)]
        except ConditionError as error:
            raise ScenarioError(f"{scenario.folder / FILE}: {error}") from error
        wanted = figures_of(scenario, case)
        strange = [name for name in wanted if name not in by_side["good"]]
        if strange:
            raise ScenarioError(f"{scenario.folder / FILE}: show: not measured: {', '.join(strange)}")
        bad[case.name], good[case.name] = ({name: by_side[side].get(name) for name in wanted} for side in SIDES)
        if PAIR in by_side:
            pair[case.name] = {name: by_side[PAIR].get(name) for name in wanted}
    return Result(scenario, "failed" if broken else "passed", bad, good, pair, tuple(broken))


def figures_of(scenario: Scenario, case: Case) -> list[str]:
    """The figures that decide a case, in the order of the file."""
    named = [name for condition in (*case.bar, *case.worse) for name in sorted(condition.names())]
    return list(dict.fromkeys([*scenario.show, *(name.rpartition(".")[2] for name in named)]))


def unit(scenario: Scenario, case: Case, figure: str) -> str:
    """The unit of a figure; empty for a plain number."""
    if scenario.kind == "decisions":
        return decisions.UNITS.get(figure, "")
    return unit_of(figure, case.data.get("measure") or {})


def _broken(case: Case, by_side: Mapping[str, Figures]) -> Iterator[str]:
    """The conditions that do not hold, each with the actual figures."""
    both = {f"{side}.{name}": value for side in SIDES for name, value in by_side[side].items()}
    for condition in case.bar:
        if not condition.holds({**by_side["good"], **both}):
            yield f"the good policy misses {condition} ({_found(condition.names(), {**by_side['good'], **both})})"
    for condition in case.worse:
        if not condition.holds(both):
            yield f"the bad policy is not as bad as {condition} ({_found(condition.names(), both)})"


def _found(names: set[str], figures: Figures) -> str:
    values = [(name, figures[name]) for name in sorted(names)]
    return ", ".join(f"{name} is {'nothing' if value is None else f'{value:.4g}'}" for name, value in values)


def _worked(jobs: Mapping[str, ScenarioJob], workers: int) -> Generator[tuple[str, Figures]]:
    if min(workers, len(jobs)) < 2 or sum(job.ticks for job in jobs.values()) < WORTH_A_PROCESS:
        yield from ((key, do(job)) for key, job in jobs.items())
        return
    longest = sorted(jobs.items(), key=lambda each: -each[1].ticks)
    with pool_of(min(workers, len(jobs))) as pool:
        places: dict[Future[Figures], str] = {pool.submit(do, job): key for key, job in longest}
        for future in as_completed(places):
            try:
                yield places[future], future.result()
            except BrokenProcessPool as error:
                message = "a worker process was killed, usually out of memory"
                raise ScenarioError(f"{message}; run fewer scenarios at once") from error
