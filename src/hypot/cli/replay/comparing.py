"""Replays policies on traces, with progress: in this process, in others, or on a Dask cluster."""

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import click

from hypot.cli.bar import ProgressBar, bar
from hypot.cli.ending import heeding
from hypot.cli.extras import missing
from hypot.cli.files import BadInput
from hypot.policy.model.settings import Settings

if TYPE_CHECKING:
    from hypot.replay.jobs.comparison import Comparison, ReplayJob, Scored
    from hypot.replay.policies.policy import Policy
    from hypot.replay.traces.history import TraceFiles
    from hypot.replay.traces.trace import Trace
    from hypot.replay.world.parameters import Span, World

# From this many ticks on, compiling pays off even for the first time.
WORTH_COMPILING = 3_000_000
# The longest replay of one workload: a gigabyte of columns.
MOST_TICKS = 5_000_000


class ReplaySubject(NamedTuple):
    """What is replayed; a large history is read during the replay."""

    traces: "list[Trace] | TraceFiles"
    policies: "Sequence[Policy]"
    world: "World"
    settings: Settings


def compared(asked: ReplaySubject, explained: "Span", engine: str, *, keep: bool) -> "list[Comparison]":
    """Every policy on every trace, in worker processes if that pays off."""
    from hypot.replay.jobs.job_queue import JobQueue, JobsError  # noqa: PLC0415  only for this command
    from hypot.replay.score.scores import ScoreError  # noqa: PLC0415
    from hypot.replay.traces.trace import TraceError  # noqa: PLC0415

    try:
        traces, ticks = _counted(asked)
        ticks *= len(asked.policies)
        kept = keep and isinstance(asked.traces, list) and len(asked.traces) == 1
        with heeding():
            compiled = 0 if kept else _compiled(engine, asked, ticks)
        queue = JobQueue(asked.policies, asked.world, asked.settings, explained, keep=kept, compiled=compiled > 0)
        quick = compiled == len(asked.policies)
        with (
            bar("replaying", ticks) as progress,
            heeding(),
            closing(_work(queue.jobs(traces), engine, ticks, progress, compiled=quick)) as coming,
        ):
            for place, judged in coming:
                queue.enter(place, judged)
    except (JobsError, ScoreError, TraceError) as error:
        raise BadInput(str(error)) from error
    return queue.comparisons()


def _bound(traces: "Iterable[Trace]", world: "World") -> "Iterator[Trace]":
    """The traces that can be replayed and scored. One of many that is too short to be scored is left out."""
    from hypot.replay.engine.demand import ticks_replayed  # noqa: PLC0415  only for this command
    from hypot.replay.jobs.comparison import check_scoring  # noqa: PLC0415  only for this command
    from hypot.replay.score.scores import ScoreError  # noqa: PLC0415  only for this command

    short: list[ScoreError] = []
    scored = 0
    for trace in traces:
        try:
            check_scoring(trace, world)
        except ScoreError as error:
            short.append(error)
            continue
        scored += 1
        ticks = ticks_replayed(trace, world)
        if ticks > MOST_TICKS:
            message = f"{trace.source}: {trace.workload} has {ticks:,} ticks of {world.tick:g} s, {MOST_TICKS:,} fit"
            raise BadInput(f"{message}; replay a part with --from and --to, or set a longer tick in the world file")
        yield trace
    if short and not scored:
        raise short[0]
    if short:
        others = f" (and {len(short) - 1} more like it)" if len(short) > 1 else ""
        click.echo(f"left out: {short[0]}{others}", err=True)


def _compiled(engine: str, asked: ReplaySubject, ticks: int) -> int:
    """How many policies the compiled engine replays; it is compiled here, before worker processes need it."""
    if engine == "plain":
        return 0
    if engine.startswith("dask://"):
        # Each worker compiles it itself, if it can.
        return len(asked.policies) if ticks >= WORTH_COMPILING else 0
    try:
        from hypot.replay.fleet import fleet  # noqa: PLC0415  numba, only where it is used
    except ModuleNotFoundError as error:
        if engine == "fleet" or missing(error) is None:
            raise
        return 0
    obstacles = {policy.name: fleet.obstacle(policy, asked.world, asked.settings) for policy in asked.policies}
    covered = [policy for policy in asked.policies if not obstacles[policy.name]]
    if engine == "fleet" or ticks >= WORTH_COMPILING:
        _report_plain(obstacles)
    loops = fleet.loops_of(covered, asked.world, asked.settings)
    if fleet.is_compiled(loops):
        return len(covered)
    if engine == "auto" and ticks < WORTH_COMPILING:
        return 0
    return len(covered) if _compile(engine, loops) else 0


def _compile(engine: str, loops: set[str]) -> bool:
    """Whether the compiled code could be stored."""
    from hypot.replay.fleet import fleet  # noqa: PLC0415  numba, only where it is used

    try:
        with bar("compiling the engine, once for this version", None, plain=True) as progress:
            fleet.warm(loops, progress.at)
    except OSError as error:
        message = f"compiled code cannot be stored in {fleet.cache_folder().parent}: {error.strerror or error}"
        if engine == "fleet":
            raise BadInput(f"{message}; free space there, or set XDG_CACHE_HOME to another folder") from error
        click.echo(f"{message}; replaying without it", err=True)
        return False
    return True


def _report_plain(obstacles: Mapping[str, str]) -> None:
    """Report the policies that only the plain engine can replay, once for each reason."""
    for why in dict.fromkeys(filter(None, obstacles.values())):
        first, *others = [name for name, one in obstacles.items() if one == why]
        more = f" (and {len(others)} more like it)" if others else ""
        click.echo(f"plain engine, which is slower, for {first}{more}: {why}", err=True)


def _work(
    jobs: "Iterator[ReplayJob]", engine: str, ticks: int, progress: ProgressBar, *, compiled: bool
) -> "Generator[tuple[int, Scored]]":
    """Run the jobs in local processes, or on a Dask cluster."""
    if not engine.startswith("dask://"):
        from hypot.replay.jobs.work import work  # noqa: PLC0415  only for this command

        return work(jobs, ticks, progress.add, compiled=compiled)
    from hypot.replay.jobs.dask_jobs import spread  # noqa: PLC0415  only if it is used

    return spread(jobs, engine, progress.add)


def _counted(asked: ReplaySubject) -> "tuple[Iterable[Trace], int]":
    """The traces and their total ticks; for a large history, estimated from the first trace."""
    from hypot.replay.engine.demand import ticks_replayed  # noqa: PLC0415  only for this command

    if isinstance(asked.traces, list):
        traces = list(_bound(asked.traces, asked.world))
        return traces, sum(ticks_replayed(trace, asked.world) for trace in traces)
    coming = _bound(asked.traces, asked.world)
    first = next(coming)
    return chain([first], coming), int(ticks_replayed(first, asked.world) * asked.traces.about(len(first.times)))
