"""hypot replay: what each policy would have done with recorded demand."""

import sys
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

import click

from hypot.cli.bar import ProgressBar, bar
from hypot.cli.ending import heeding
from hypot.cli.files import BadInput, check_writable, manifests_named, read_objects
from hypot.cli.options import (
    check_traces,
    end_given,
    prometheus_named,
    query_named,
    read_given_traces,
    read_settings,
    settings_named,
    start_given,
    time_given,
    traces_named,
)
from hypot.cli.verdict import glyphs_for, safe_for, width_of
from hypot.core.instant import show_time
from hypot.policy.model.settings import Settings

if TYPE_CHECKING:
    from hypot.replay.jobs.comparison import Comparison, ReplayJob, Scored
    from hypot.replay.policies.policy import Policy
    from hypot.replay.traces.history import TraceFiles
    from hypot.replay.traces.trace import Trace
    from hypot.replay.world.parameters import Span, World

WEEK = 7 * 86400.0
# The step of Prometheus queries in seconds, or the tick if that is longer.
STEP = 60.0
# From this many ticks on, compiling pays off even for the first time.
WORTH_COMPILING = 3_000_000
# The longest replay of one workload: a gigabyte of columns.
MOST_TICKS = 5_000_000
# --explain shows the decisions this many seconds before and after the given time.
AROUND = 30.0
_REPORTS = (".html", ".htm", ".png", ".svg")
_FORMS = ["table", "wide", "json", "csv", "parquet"]


@dataclass(frozen=True, slots=True)
class _Asked:
    """The checked input of a replay; a large history is read during the replay."""

    traces: "list[Trace] | TraceFiles"
    policies: "list[Policy]"
    # The policies of the input, each with its variants by name.
    families: dict[str, list[str]]
    world: "World"
    settings: Settings


def _report(_: click.Context, __: click.Parameter, paths: tuple[str, ...]) -> tuple[str, ...]:
    for path in paths:
        if not path.lower().endswith(_REPORTS):
            raise click.BadParameter(f"{path!r} is not a report file; name a file that ends in .html, .png or .svg")
    return paths


def _engine(_: click.Context, __: click.Parameter, engine: str) -> str:
    if engine not in {"auto", "plain", "fleet"} and not engine.startswith("dask://"):
        raise click.BadParameter(f"{engine!r} is not one of auto, plain, fleet and dask://HOST:PORT")
    return engine


@click.command("replay")
@traces_named
@manifests_named
@click.option(
    "--world", "world_file", metavar="FILE", help="The parameters of the simulated world, YAML; see docs/world.md."
)
@settings_named
@start_given
@end_given
@click.option("--grid", "grids", multiple=True, metavar="hpa.cpu=50..90:5", help="Try many values; may be repeated.")
@prometheus_named("demand", "the last 7 days")
@query_named("Requests/s or cores")
@click.option(
    "--report",
    "reports",
    multiple=True,
    metavar="FILE",
    callback=_report,
    help="Write a page (.html), or pictures (.png, .svg); may be repeated.",
)
@click.option("--explain", metavar="TIME", help="Explain the decisions around this time; +90m counts from the start.")
@click.option(
    "--engine",
    metavar="auto|plain|fleet|dask://HOST:PORT",
    callback=_engine,
    default="auto",
    show_default=True,
    help="The engine; all give the same figures: compiled (hypot[fleet]), or on a Dask cluster (hypot[dask]).",
)
@click.option("-o", "--output", type=click.Choice(_FORMS), default="table", show_default=True)
def command(
    traces: tuple[str, ...],
    paths: tuple[str, ...],
    world_file: str | None,
    settings_file: str | None,
    start: float | None,
    end: float | None,
    grids: tuple[str, ...],
    prometheus: str | None,
    query: str | None,
    reports: tuple[str, ...],
    explain: str | None,
    engine: str,
    output: str,
) -> int:
    """Show what each policy would have done with recorded demand, and its cost.

    TRACE is a CSV or Parquet file: columns timestamp and value, and workload if it holds several.

    Exit status: 0 success, 2 bad usage or input.
    """
    from hypot.cli.replay import output as out  # noqa: PLC0415  numpy and all of replay, only for this command

    if output == "parquet" and sys.stdout.isatty():
        raise click.UsageError("Parquet is binary: redirect it to a file, as in -o parquet > scores.parquet")
    if explain is not None and output != "table":
        raise click.UsageError(f"--explain prints text, not {output}; omit -o")
    for report in reports:
        check_writable(report)
    asked = _read(traces, paths, world_file, read_settings(settings_file), start, end, grids, prometheus, query)
    explained = _explained_span(explain, asked)
    comparisons = _compared(asked, explained, engine, keep=bool(reports or explain))
    if explain is not None:
        text = out.explained(comparisons, asked.policies, explained, glyphs_for(sys.stdout), width_of(sys.stdout))
        click.echo(safe_for(sys.stdout, text), nl=False)
    elif output in {"table", "wide"}:
        glyphs, width = glyphs_for(sys.stdout), width_of(sys.stdout)
        found = (comparisons, asked.policies, asked.families, asked.world)
        text = out.as_text(*found, glyphs, width, wide=output == "wide")
        click.echo(safe_for(sys.stdout, text), nl=False)
    else:
        click.echo(out.as_data(output, comparisons, asked.policies, asked.families, asked.world), nl=False)
    out.write_reports(reports, comparisons, asked.policies, asked.families, asked.world)
    for report in reports:
        click.echo(f"written: {report}", err=True)
    return 0


def _read(
    traces: Sequence[str],
    paths: tuple[str, ...],
    world_file: str | None,
    settings: Settings,
    start: float | None,
    end: float | None,
    grids: Sequence[str],
    prometheus: str | None,
    query: str | None,
) -> _Asked:
    """All input, checked; independent errors are reported together."""
    from hypot.replay.policies.grid import expand, parse_grid  # noqa: PLC0415
    from hypot.replay.policies.read import read_policies  # noqa: PLC0415  only for this command
    from hypot.replay.world.file import read_world  # noqa: PLC0415
    from hypot.replay.world.parameters import World  # noqa: PLC0415

    check_traces(traces, prometheus, query, "sum(rate(http_requests_total[2m]))")
    wrong: list[str] = []
    world = World()
    try:
        world = read_world(world_file) if world_file else world
        parsed = parse_grid(grids)
    except ValueError as error:
        raise BadInput(str(error)) from error
    loaded, _ = read_objects(paths)
    policies: list[Policy] = []
    families: dict[str, list[str]] = {}
    try:
        written = read_policies(loaded, world, settings.kubernetes, settings.gates)
        policies = expand(written, parsed, world, settings.kubernetes, settings.gates)
        families = _families(policies)
    except ValueError as error:
        wrong.append(str(error))
    found: list[Trace] | TraceFiles = []
    try:
        step = max(STEP, world.tick)
        found = read_given_traces(traces, start, end, prometheus, query, WEEK, step)
    except ValueError as error:
        wrong.append(str(error))
    if wrong:
        raise BadInput("\n".join(wrong))
    return _Asked(found, policies, families, world, settings)


def _families(policies: "Sequence[Policy]") -> dict[str, list[str]]:
    """The policies of the input, each with its variants by name."""
    found: dict[str, list[str]] = {}
    for one in policies:
        found.setdefault(one.family or one.name, []).append(one.name)
    return found


def _explained_span(explain: str | None, asked: _Asked) -> "Span":
    """The time span that is explained."""
    from hypot.kinds.units import SECONDS  # noqa: PLC0415  only if it is used
    from hypot.replay.engine.deciders import NEVER  # noqa: PLC0415
    from hypot.replay.world.parameters import Span  # noqa: PLC0415

    if explain is None:
        return NEVER
    if not isinstance(asked.traces, list):
        raise click.UsageError("--explain needs a single workload, and there are many: name a file with one")
    if len(asked.traces) > 1:
        names = ", ".join(trace.workload for trace in asked.traces[:8])
        raise click.UsageError(f"--explain needs a single workload, and there are {len(asked.traces)}: {names}")
    first, last = float(asked.traces[0].times[0]), float(asked.traces[0].times[-1])
    if explain.startswith("+"):
        try:
            at = first + float(SECONDS.read(explain[1:]))
        except ValueError as error:
            raise click.UsageError(f"--explain {explain}: write {SECONDS.example} after the +") from error
    else:
        given = time_given(click.get_current_context(), click.Option(["--explain"]), explain)
        at = first if given is None else given
    if not first <= at <= last:
        raise click.UsageError(f"--explain {explain}: the trace covers {show_time(first)} to {show_time(last)}")
    return Span(at - AROUND, at + AROUND)


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


def _compiled(engine: str, asked: _Asked, ticks: int) -> int:
    """How many policies the compiled engine replays; it is compiled here, before worker processes need it."""
    if engine == "plain":
        return 0
    if engine.startswith("dask://"):
        # Each worker compiles it itself, if it can.
        return len(asked.policies) if ticks >= WORTH_COMPILING else 0
    try:
        from hypot.replay.fleet import fleet  # noqa: PLC0415  numba, only where it is used
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in {"numba", "llvmlite"}:
            raise
        if engine == "fleet":
            raise BadInput("numba is not installed: pip install hypot[fleet]") from error
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
    try:
        from hypot.replay.jobs.dask_jobs import spread  # noqa: PLC0415  only if it is used
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in {"distributed", "dask"}:
            raise
        raise BadInput("Dask is not installed: pip install hypot[dask]") from error
    return spread(jobs, engine, progress.add)


def _counted(asked: _Asked) -> "tuple[Iterable[Trace], int]":
    """The traces and their total ticks; for a large history, estimated from the first trace."""
    from hypot.replay.engine.demand import ticks_replayed  # noqa: PLC0415  only for this command

    if isinstance(asked.traces, list):
        traces = list(_bound(asked.traces, asked.world))
        return traces, sum(ticks_replayed(trace, asked.world) for trace in traces)
    coming = _bound(asked.traces, asked.world)
    first = next(coming)
    return chain([first], coming), int(ticks_replayed(first, asked.world) * asked.traces.about(len(first.times)))


def _compared(asked: _Asked, explained: "Span", engine: str, *, keep: bool) -> "list[Comparison]":
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
