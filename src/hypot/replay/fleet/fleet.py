"""The compiled engine, for many workloads: the functions of the plain engine, compiled by numba."""

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import numpy as np

from hypot.policy.model.settings import Settings
from hypot.replay.engine.autoscalers import prices_of
from hypot.replay.engine.demand import Load
from hypot.replay.fleet import machine_code
from hypot.replay.fleet.cases import EXAMPLES, Prepared, example, prepared, price_record_of, rules_for
from hypot.replay.fleet.forms import Form, form_of
from hypot.replay.fleet.machine_code import Progress, cache_folder
from hypot.replay.fleet.records import NotCoveredError, TooLargeError
from hypot.replay.fleet.rows import TallyRows
from hypot.replay.policies.policy import Policy
from hypot.replay.score import tally
from hypot.replay.score.columns import sum_in_turn
from hypot.replay.score.needed import Needed
from hypot.replay.score.tally import Account
from hypot.replay.world.parameters import World
from hypot.replay.world.record import COLUMNS, Run, Ticks

__all__ = [
    "account",
    "account_of",
    "cache_folder",
    "is_compiled",
    "loops_of",
    "obstacle",
    "replay",
    "warm",
]

# The loop over stored rows, for runs that are scored in parts.
COUNTING = tally.count_loop.__name__
# Freeing a block of this many numbers once makes malloc keep such memory. Otherwise the columns of every run would be
# requested from the system again, page by page.
FREED = 4_000_000
np.empty(FREED)


def loops_of(policies: Iterable[Policy], world: World, settings: Settings) -> set[str]:
    """The names of the loops that replay these policies; empty if none can."""
    found = set()
    for policy in policies:
        with suppress(NotCoveredError):
            found.add(rules_for(policy, world, settings).loop.__name__)
    if found and (world.scoring.tune or world.scoring.windows > 1):
        found.add(COUNTING)
    return found


def is_compiled(loops: Iterable[str] = EXAMPLES) -> bool:
    """Whether an earlier run has left compiled code of all these loops."""
    return all(machine_code.is_there(loop, _usual_form(loop)) for loop in loops)


def warm(loops: Iterable[str] = EXAMPLES, progress: Progress | None = None) -> None:
    """Compile these now, so that processes that start later find them on disk."""
    machine_code.make({loop: _usual_form(loop) for loop in loops}, progress)


def _usual_form(loop: str) -> Form:
    """The form of the arguments, which is the same for every world and settings."""
    load, world = Load(0.0, np.ones(2), np.ones(2), np.zeros(2)), World()
    rows = TallyRows(0, 2, world, np.ones(2), keep=False)
    if loop == COUNTING:
        return form_of(_counting(rows, np.zeros((2, COLUMNS))))
    return form_of(_arguments(prepared(example(loop), load, world, Settings()), load, rows))


def obstacle(policy: Policy, world: World, settings: Settings) -> str:
    """Why only the plain engine can replay this; empty if the numeric step covers everything, and the state fits."""
    try:
        prepared(policy, Load(0.0, np.ones(1), np.ones(1), np.zeros(1)), world, settings)
    except NotCoveredError as error:
        return str(error)
    return ""


def replay(policy: Policy, workload: str, load: Load, world: World, settings: Settings) -> Run:
    """Like `engine.replay`, without recording decisions. Raises NotCoveredError if it cannot."""
    ticks = len(load.work)
    rows = TallyRows(ticks, 0, world, np.empty(0), keep=True)
    record = price_record_of(_run(policy, workload, load, world, settings, rows))
    prices = None if record is None else prices_of(record, settings.sync_period)
    return Run(policy.name, workload, world, Ticks(*rows.columns), notes=policy.notes, prices=prices)


def account(
    policy: Policy, workload: str, load: Load, world: World, settings: Settings, first: int, need: Needed
) -> Account:
    """The account of such a run from the tick `first` on; keeps no rows."""
    rows = TallyRows(first, len(load.work) - first, world, need.demand, keep=False)
    _run(policy, workload, load, world, settings, rows)
    return rows.account()


def account_of(run: Run, need: Needed) -> Account:
    """Like `scores.account_of`."""
    rows = TallyRows(0, len(run.ticks.at), run.world, need.demand, keep=False)
    rows.tally["sums"][:] = [sum_in_turn(column) for column in run.ticks]
    machine_code.call(COUNTING, *_counting(rows, np.ascontiguousarray(np.stack(run.ticks, axis=1))))
    return rows.account()


def _counting(rows: TallyRows, table: Any) -> tuple[Any, ...]:
    return rows.tally, rows.terms, rows.kept, table, rows.demand


def _run(policy: Policy, workload: str, load: Load, world: World, settings: Settings, rows: TallyRows) -> Prepared:
    ready = prepared(policy, load, world, settings)
    if not machine_code.call(ready.loop.__name__, *_arguments(ready, load, rows)):
        raise TooLargeError(f"{policy.name} on {workload}: exceeds the capacity of the compiled engine")
    rows.finish(len(load.work))
    return ready


def _arguments(ready: Prepared, load: Load, rows: TallyRows) -> tuple[Any, ...]:
    given = tuple([np.ascontiguousarray(column) for column in (load.work, load.efficiency, load.memory)])
    return (*ready.records, rows.given, given, *ready.arguments)
