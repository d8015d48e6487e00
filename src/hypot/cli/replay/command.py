"""hypot replay: what each policy would have done with recorded demand."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from hypot.cli.extras import check_can_draw
from hypot.cli.files import BadInput, check_writable, manifests_named, read_objects
from hypot.cli.options import (
    Word,
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
from hypot.cli.replay.comparing import ReplaySubject, compared, engine_named
from hypot.cli.terminal import safe_for
from hypot.cli.trace_keys import reading_given, trace_keys
from hypot.cli.verdict import glyphs_for, width_of
from hypot.core.instant import show_time
from hypot.policy.model.settings import Settings

if TYPE_CHECKING:
    from hypot.replay.policies.policy import Policy
    from hypot.replay.traces.history import TraceFiles
    from hypot.replay.traces.reading import TraceReading
    from hypot.replay.traces.trace import Trace
    from hypot.replay.world.file import WorldFile
    from hypot.replay.world.parameters import Span

WEEK = 7 * 86400.0
# The step of Prometheus queries in seconds, or the tick if that is longer.
STEP = 60.0
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
    world: "WorldFile"
    settings: Settings


def _report(_: click.Context, __: click.Parameter, paths: tuple[str, ...]) -> tuple[str, ...]:
    for path in paths:
        if not path.lower().endswith(_REPORTS):
            raise click.BadParameter(f"{path!r} is not a report file; name a file that ends in .html, .png or .svg")
    return paths


@click.command("replay")
@traces_named
@manifests_named
@click.option(
    "--world", "world_file", metavar="FILE", help="The parameters of the simulated world, YAML; see docs/world.md."
)
@click.option("--strict-world", "strict", is_flag=True, help="Assume nothing of the world or the traces.")
@settings_named
@trace_keys
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
@engine_named
@click.option("-o", "--output", type=Word(_FORMS), default="table", show_default=True)
def command(
    traces: tuple[str, ...],
    paths: tuple[str, ...],
    world_file: str | None,
    strict: bool,
    settings_file: str | None,
    trace_keys: tuple[str, ...],
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

    TRACE is a file of recorded demand, also as .gz: CSV with columns such as time and rps, a CSV export of Grafana, the
    JSON of a Prometheus range query, or Parquet.

    Exit status: 0 success, 2 bad usage or input.
    """
    from hypot.cli.replay import output as out  # noqa: PLC0415  numpy and all of replay, only for this command
    from hypot.cli.replay.numbers import number_lines, refuse_assumed  # noqa: PLC0415
    from hypot.replay.engine.used_numbers import numbers_used  # noqa: PLC0415
    from hypot.replay.traces.history import assumed_of, units_of  # noqa: PLC0415

    if output == "parquet" and sys.stdout.isatty():
        raise click.UsageError("Parquet is binary: redirect it to a file, as in -o parquet > scores.parquet")
    if explain is not None and output != "table":
        raise click.UsageError(f"--explain prints text, not {output}; omit -o")
    for report in reports:
        check_writable(report)
        check_can_draw(report)
    said = reading_given(trace_keys, traces)
    asked = _read(traces, said, paths, world_file, read_settings(settings_file), start, end, grids, prometheus, query)
    explained = _explained_span(explain, asked)
    numbers = numbers_used(asked.world, asked.policies, units_of(asked.traces), assumed_of(asked.traces))
    if strict:
        refuse_assumed(numbers, asked.world)
    subject = ReplaySubject(asked.traces, asked.policies, asked.world.world, asked.settings)
    comparisons = compared(subject, explained, engine, keep=bool(reports or explain))
    outcome = out.ReplayOutcome(comparisons, asked.policies, asked.families, asked.world.world, numbers)
    glyphs, width = glyphs_for(sys.stdout), width_of(sys.stdout)
    if explain is not None:
        text = out.explained(comparisons, asked.policies, explained, glyphs, width)
        click.echo(safe_for(sys.stdout, text), nl=False)
    elif output in {"table", "wide"}:
        text = out.as_text(outcome, glyphs, width, wide=output == "wide")
        click.echo(safe_for(sys.stdout, text), nl=False)
    else:
        click.echo(out.as_data(output, outcome), nl=False)
    if explain is not None or output in {"csv", "parquet"}:
        lines = number_lines(numbers, asked.policies, width_of(sys.stderr))
        click.echo(safe_for(sys.stderr, "\n".join(lines)), err=True)
    out.write_reports(reports, outcome)
    for report in reports:
        click.echo(f"written: {report}", err=True)
    return 0


def _read(
    traces: Sequence[str],
    said: "TraceReading",
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
    from hypot.replay.world.file import WorldFile, read_world_file  # noqa: PLC0415

    check_traces(traces, prometheus, query, "sum(rate(http_requests_total[2m]))")
    wrong: list[str] = []
    given = WorldFile()
    try:
        given = read_world_file(world_file) if world_file else given
        parsed = parse_grid(grids)
    except ValueError as error:
        raise BadInput(str(error)) from error
    loaded, _ = read_objects(paths)
    world = given.world
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
        found = read_given_traces(traces, said, start, end, prometheus, query, WEEK, step)
    except ValueError as error:
        wrong.append(str(error))
    if wrong:
        raise BadInput("\n".join(wrong))
    return _Asked(found, policies, families, given, settings)


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
