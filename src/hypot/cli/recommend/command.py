"""hypot recommend: for each workload, what would have been cheaper on its own history, and how sure that is."""

import sys
from collections.abc import Callable
from itertools import chain, islice
from typing import TYPE_CHECKING, TypeVar

import click

from hypot.cli.extras import check_can_draw
from hypot.cli.files import BadInput, check_writable, read_objects, write_whole
from hypot.cli.live.options import LiveOptions, given_live, live_options
from hypot.cli.options import (
    Word,
    check_traces,
    end_given,
    prometheus_named,
    query_named,
    read_given_traces,
    start_given,
    traces_named,
)
from hypot.cli.replay.comparing import engine_named
from hypot.cli.terminal import safe_for
from hypot.cli.trace_keys import reading_given, trace_keys
from hypot.cli.verdict import glyphs_for, width_of

if TYPE_CHECKING:
    from hypot.cli.recommend.output import RecommendOutcome
    from hypot.cli.recommend.planning import Planner
    from hypot.kinds.text.load import LoadedFiles
    from hypot.replay.jobs.comparison import Comparison
    from hypot.replay.traces.history import TraceFiles
    from hypot.replay.traces.trace import Trace
    from hypot.replay.world.file import WorldFile

T = TypeVar("T")
# How much of its history Prometheus is asked for.
SPAN = 14 * 86400.0
# The step of Prometheus queries in seconds, or the tick if that is longer.
STEP = 60.0


def _page(_: click.Context, __: click.Parameter, path: str | None) -> str | None:
    if path is not None and not path.lower().endswith((".html", ".htm")):
        raise click.BadParameter(f"{path!r} is not a page; name a file that ends in .html")
    return path


@click.command("recommend")
@traces_named
@click.option(
    "-f",
    "--filename",
    "paths",
    multiple=True,
    metavar="FILE|DIR|-",
    help="Manifests of the workloads, and of what scales them today. May be given more than once.",
)
@click.option("-n", "--namespace", help="With --live: the namespace that is read; by default that of the kubeconfig.")
@live_options
@click.option(
    "--world", "world_file", metavar="FILE", help="The parameters of the simulated world, YAML; see docs/world.md."
)
@click.option("--strict-world", "strict", is_flag=True, help="Assume nothing of the world or the traces.")
@click.option("--prices", "price_file", metavar="FILE", help="What an hour costs on each class of nodes, YAML.")
@trace_keys
@start_given
@end_given
@prometheus_named("demand", "the last 14 days")
@query_named("Requests/s or cores")
@click.option("--report", metavar="FILE", callback=_page, help="Also write a page about all workloads, .html.")
@engine_named
@click.option("-o", "--output", type=Word(["table", "json", "patch"]), default="table", show_default=True)
def command(
    traces: tuple[str, ...],
    paths: tuple[str, ...],
    namespace: str | None,
    live: bool,
    context: str | None,
    everywhere: bool,
    save: str | None,
    world_file: str | None,
    strict: bool,
    price_file: str | None,
    trace_keys: tuple[str, ...],
    start: float | None,
    end: float | None,
    prometheus: str | None,
    query: str | None,
    report: str | None,
    engine: str,
    output: str,
) -> int:
    """Show what would be cheaper for each workload than what it has today.

    TRACE is a file of recorded demand, as for `hypot replay`; each workload is found in the manifests by its name. On
    its own history, what it has today is replayed next to an Autoscaler, a pair, a tuned HPA and right-sized requests.

    Exit status: 0 success, 2 bad usage or input.
    """
    from hypot.cli.recommend import output as out  # noqa: PLC0415  numpy and all of replay, only for this command
    from hypot.cli.recommend.planning import Planner  # noqa: PLC0415
    from hypot.cli.recommend.prices import read_prices  # noqa: PLC0415
    from hypot.cli.recommend.workloads import Workloads  # noqa: PLC0415
    from hypot.policy.model.settings import Settings  # noqa: PLC0415
    from hypot.replay.traces.trace import TraceError  # noqa: PLC0415
    from hypot.replay.world.file import WorldFile, read_world_file  # noqa: PLC0415

    if report is not None:
        check_writable(report)
        check_can_draw(report)
    cluster = given_live(live=live, context=context, namespace=namespace, everywhere=everywhere, save=save, files=paths)
    if namespace is not None and cluster is None:
        raise click.UsageError("-n needs --live, which reads a cluster")
    said = reading_given(trace_keys, traces)
    check_traces(traces, prometheus, query, "sum by (workload) (rate(http_requests_total[2m]))")
    given, wrong = WorldFile(), list[str]()
    try:
        given = read_world_file(world_file) if world_file else given
    except ValueError as error:
        wrong.append(str(error))
    prices = _checked(lambda: read_prices(price_file), wrong)
    loaded = _checked(lambda: _manifests(paths, cluster, traces), wrong)
    found: list[Trace] | TraceFiles = []
    try:
        step = max(STEP, given.world.tick)
        found = read_given_traces(traces, said, start, end, prometheus, query, SPAN, step)
    except TraceError as error:
        wrong.append(str(error))
    if wrong or prices is None or loaded is None:
        raise BadInput("\n".join(wrong))
    planner = Planner(Workloads(loaded), given, prices, Settings())
    outcome = out.outcome_of(planner, _compared(found, planner, given, engine, strict=strict))
    _show(outcome, output, report)
    return 0


def _show(outcome: "RecommendOutcome", output: str, report: str | None) -> None:
    from hypot.cli.recommend import output as out  # noqa: PLC0415
    from hypot.cli.recommend.patch import patches  # noqa: PLC0415

    if output == "table":
        glyphs = glyphs_for(sys.stdout)
        click.echo(safe_for(sys.stdout, out.as_text(outcome, glyphs, width_of(sys.stdout))), nl=False)
    else:
        text = out.as_json(outcome) if output == "json" else patches(outcome)
        click.echo(text.encode("utf-8", "replace"), nl=False)
    if report is not None:
        from hypot.face.recommend.page import page  # noqa: PLC0415  plotly, only if a page is written

        write_whole(report, page(out.report_of(outcome)).encode("utf-8", "replace"))
        click.echo(f"written: {report}", err=True)


def _manifests(paths: tuple[str, ...], cluster: LiveOptions | None, traces: tuple[str, ...]) -> "list[LoadedFiles]":
    """Of files, or the objects of a cluster; nothing is changed in it."""
    from hypot.kinds.text.load import LoadedFiles, Source  # noqa: PLC0415  only for this command

    if cluster is None:
        return read_objects(paths)[0] if paths else []
    from hypot.cli.live.for_lint import read_for_lint  # noqa: PLC0415  the network, which files do not need
    from hypot.cli.live.save import save  # noqa: PLC0415
    from hypot.cli.live.session import read_cluster  # noqa: PLC0415

    found = read_cluster(cluster, read_for_lint)
    if cluster.save:
        save(cluster.save, found.objects, ("hypot", "recommend", *traces, "-f", cluster.save))
    return [LoadedFiles(one, Source("cluster", 0)) for one in found.objects]


def _checked(read: Callable[[], T], wrong: list[str]) -> T | None:
    """What is read; what is wrong is reported together with the rest."""
    try:
        return read()
    except BadInput as error:
        wrong.append(error.message)
        return None


def _compared(
    found: "list[Trace] | TraceFiles", planner: "Planner", given: "WorldFile", engine: str, *, strict: bool
) -> "list[Comparison]":
    """All choices on all histories."""
    from hypot.cli.replay.comparing import ReplayBatch, bad_input, counted, replayed  # noqa: PLC0415
    from hypot.cli.replay.numbers import refuse_assumed  # noqa: PLC0415
    from hypot.policy.model.settings import Settings  # noqa: PLC0415
    from hypot.replay.engine.deciders import NEVER  # noqa: PLC0415
    from hypot.replay.engine.demand import ticks_replayed  # noqa: PLC0415

    with bad_input():
        traces, ticks = counted(found, given.world)
        coming = planner.jobs(traces, alone=isinstance(found, list) and len(found) == 1)
        if isinstance(found, list):
            known = list(coming)
            ticks = sum(ticks_replayed(one.trace, one.world) * len(one.policies) for one in known)
        else:
            known = list(islice(coming, 1))
            ticks *= sum(len(one.policies) for one in known)
        if not known:
            raise BadInput("\n".join(f"{one.workload}: {one.why}" for one in planner.left))
        if strict:
            refuse_assumed(planner.assumed(), given)
        batch = ReplayBatch(chain(known, coming), ticks, planner.covering(), Settings())
        return replayed(batch, NEVER, engine, brief=True)
