"""Replays policies on traces, with progress: in this process, in others, or on a Dask cluster."""

from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
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
    from hypot.replay.jobs.job_queue import TraceJobs
    from hypot.replay.policies.policy import Policy
    from hypot.replay.traces.history import TraceFiles
    from hypot.replay.traces.trace import Trace
    from hypot.replay.world.parameters import Span, World

# From this many ticks on, compiling pays off even for the first time.
WORTH_COMPILING = 3_000_000
# The longest replay of one workload: a gigabyte of columns.
MOST_TICKS = 5_000_000
# In the plain engine, a decision of an Autoscaler takes as long as so many ticks of others.
AUTOSCALER_TICKS = 30


def _engine(_: click.Context, __: click.Parameter, engine: str) -> str:
    if engine not in {"auto", "plain", "fleet"} and not engine.startswith("dask://"):
        raise click.BadParameter(f"{engine!r} is not one of auto, plain, fleet and dask://HOST:PORT")
    return engine


engine_named = click.option(
    "--engine",
    metavar="auto|plain|fleet|dask://HOST:PORT",
    callback=_engine,
    default="auto",
    show_default=True,
    help="The engine; all give the same figures: compiled (hypot[fleet]), or on a Dask cluster (hypot[dask]).",
)


class ReplaySubject(NamedTuple):
    """What is replayed; a large history is read during the replay."""

    traces: "list[Trace] | TraceFiles"
    policies: "Sequence[Policy]"
    world: "World"
    settings: Settings


class Covering(NamedTuple):
    """A policy in its world, and what messages call it: what the engine must be able to replay."""

    label: str
    policy: "Policy"
    world: "World"


class ReplayBatch(NamedTuple):
    """Traces with the policies of each, in all so many ticks, and which of these policies the engine is chosen for."""

    wanted: "Iterable[TraceJobs]"
    ticks: int
    covering: Sequence[Covering]
    settings: Settings


def compared(asked: ReplaySubject, explained: "Span", engine: str, *, keep: bool) -> "list[Comparison]":
    """Every policy on every trace, in worker processes if that pays off."""
    from hypot.replay.jobs.job_queue import TraceJobs  # noqa: PLC0415  only for this command

    with bad_input():
        traces, ticks = counted(asked.traces, asked.world)
        wanted = (TraceJobs(trace, asked.policies, asked.world) for trace in traces)
        covering = [Covering(one.name, one, asked.world) for one in asked.policies]
        kept = keep and isinstance(asked.traces, list) and len(asked.traces) == 1
        batch = ReplayBatch(wanted, ticks * len(asked.policies), covering, asked.settings)
        return replayed(batch, explained, engine, keep=kept)


def replayed(
    batch: ReplayBatch, explained: "Span", engine: str, *, keep: bool = False, brief: bool = False
) -> "list[Comparison]":
    """The policies of each trace, side by side."""
    from hypot.replay.jobs.job_queue import JobQueue  # noqa: PLC0415  only for this command

    with heeding():
        compiled = 0 if keep else _compiled(engine, batch)
    queue = JobQueue(batch.settings, explained, keep=keep, compiled=compiled > 0, brief=brief)
    quick = compiled == len(batch.covering)
    with (
        bar("replaying", batch.ticks) as progress,
        heeding(),
        closing(_work(queue.jobs(batch.wanted), engine, batch.ticks, progress, compiled=quick)) as coming,
    ):
        for place, judged in coming:
            queue.enter(place, judged)
    return queue.comparisons()


@contextmanager
def bad_input() -> "Iterator[None]":
    """What is wrong with traces and workers, as an error of the command."""
    from hypot.replay.jobs.job_queue import JobsError  # noqa: PLC0415  only for this command
    from hypot.replay.score.scores import ScoreError  # noqa: PLC0415
    from hypot.replay.traces.trace import TraceError  # noqa: PLC0415

    try:
        yield
    except (JobsError, ScoreError, TraceError) as error:
        raise BadInput(str(error)) from error


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


def _compiled(engine: str, batch: ReplayBatch) -> int:
    """How many policies the compiled engine replays; it is compiled here, before worker processes need it."""
    if engine == "plain":
        return 0
    covering, effort = batch.covering, _effort(batch)
    if engine.startswith("dask://"):
        # Each worker compiles it itself, if it can.
        return len(covering) if effort >= WORTH_COMPILING else 0
    try:
        from hypot.replay.fleet import fleet  # noqa: PLC0415  numba, only where it is used
    except ModuleNotFoundError as error:
        if engine == "fleet" or missing(error) is None:
            raise
        return 0
    obstacles = [fleet.obstacle(one.policy, one.world, batch.settings) for one in covering]
    if engine == "fleet" or effort >= WORTH_COMPILING:
        _report_plain([(one.label, why) for one, why in zip(covering, obstacles, strict=True)])
    covered = [one for one, why in zip(covering, obstacles, strict=True) if not why]
    loops = set().union(*(fleet.loops_of([one.policy], one.world, batch.settings) for one in covered))
    if fleet.is_compiled(loops):
        return len(covered)
    if engine == "auto" and effort < WORTH_COMPILING:
        return 0
    return len(covered) if _compile(engine, loops) else 0


def _effort(batch: ReplayBatch) -> float:
    """How many ticks of the other policies take as long in the plain engine."""
    from hypot.kinds.autoscaler import WorkloadAutoscaler  # noqa: PLC0415  only for this command

    learning = [any(isinstance(a, WorkloadAutoscaler) for a in one.policy.autoscalers) for one in batch.covering]
    return batch.ticks * (1 + (AUTOSCALER_TICKS - 1) * sum(learning) / max(1, len(learning)))


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


def _report_plain(obstacles: Sequence[tuple[str, str]]) -> None:
    """Report the policies that only the plain engine can replay, once for each reason."""
    for why in dict.fromkeys(filter(None, (why for _, why in obstacles))):
        first, *others = [name for name, one in obstacles if one == why]
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


def counted(traces: "list[Trace] | TraceFiles", world: "World") -> "tuple[Iterable[Trace], int]":
    """The traces and their total ticks; for a large history, estimated from the first trace."""
    from hypot.replay.engine.demand import ticks_replayed  # noqa: PLC0415  only for this command

    if isinstance(traces, list):
        found = list(_bound(traces, world))
        return found, sum(ticks_replayed(trace, world) for trace in found)
    coming = _bound(traces, world)
    first = next(coming)
    return chain([first], coming), int(ticks_replayed(first, world) * traces.about(len(first.times)))
