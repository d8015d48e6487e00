"""hypot pair: replicas by request rate and sizes by usage, two autoscalers that do not disturb each other."""

import re
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import click

from hypot.cli.files import BadInput, read_objects
from hypot.cli.pair.manifests import Signal, by_rate, by_usage, rule_text, rules_text, text_of, written
from hypot.cli.pair.rules_file import RuleText, add_rule
from hypot.cli.pair.subject import PairSubject, read_subject
from hypot.cli.trace_keys import reading_given, trace_keys
from hypot.core.quantity import QuantityError, milli
from hypot.kinds.base import Ref, refer, target_problems
from hypot.kinds.values.names import dns_subdomain
from hypot.replay.traces.reading import TraceReading

if TYPE_CHECKING:
    from hypot.replay.traces.trace import Trace

AUTO = "auto"
_COUNTER = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")


def _target(_: click.Context, __: click.Parameter, text: str) -> Ref:
    ref = refer(text)
    if any(target_problems(ref, ())) or ref.api_version is None or any(dns_subdomain(ref.name or "")):
        raise click.BadParameter(f"{text!r} is not a workload; write deployment/web, or statefulset/db")
    return ref


def _amount(_: click.Context, __: click.Parameter, text: str | None) -> str | None:
    if text is None or text == AUTO:
        return text
    try:
        amount = milli(text)
    except QuantityError as error:
        raise click.BadParameter(str(error)) from error
    if amount <= 0:
        raise click.BadParameter(f"{text} is not above zero")
    return text


def _replicas(_: click.Context, __: click.Parameter, text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    found = re.fullmatch(r"([1-9][0-9]{0,5})\.\.([1-9][0-9]{0,5})", text)
    if found is None or int(found[1]) > int(found[2]):
        raise click.BadParameter(f"{text!r} is not a range; write 2..20")
    return int(found[1]), int(found[2])


def _counter(_: click.Context, __: click.Parameter, text: str) -> str:
    if not _COUNTER.fullmatch(text):
        raise click.BadParameter(f"{text!r} is not the name of a Prometheus metric")
    return text


@click.command("pair")
@click.argument("target", callback=_target, metavar="KIND/NAME")
@click.option(
    "-f",
    "--filename",
    "paths",
    multiple=True,
    metavar="FILE|DIR|-",
    help="The workload and what scales it today: bounds, labels and ports are taken from there.",
)
@click.option("-n", "--namespace", help="The namespace of the workload.")
@click.option(
    "--rate", metavar="N|auto", callback=_amount, help="Requests/s per pod; auto: the largest that keeps the SLO."
)
@click.option("--cpu", metavar="CORES", callback=_amount, help="Cores per pod instead, without a metrics server.")
@click.option(
    "--counter",
    default="http_requests_total",
    show_default=True,
    callback=_counter,
    help="The counter of requests that the pods expose.",
)
@click.option("--replicas", metavar="MIN..MAX", callback=_replicas, help="The bounds of replicas.")
@click.option("--history", metavar="TRACE", help="Recorded requests, a file as for hypot replay, for --rate auto.")
@trace_keys
@click.option("--world", "world_file", metavar="FILE", help="What a request costs, for --rate auto; see docs/world.md.")
@click.option("--rules", "rules_file", metavar="FILE", help="Add the rule to this file of hypot metrics.")
def command(
    target: Ref,
    paths: tuple[str, ...],
    namespace: str | None,
    rate: str | None,
    cpu: str | None,
    counter: str,
    replicas: tuple[int, int] | None,
    history: str | None,
    trace_keys: tuple[str, ...],
    world_file: str | None,
    rules_file: str | None,
) -> int:
    """Print an HPA by request rate and a VPA by usage for one workload.

    Each follows its own signal, so neither disturbs the other.

    Exit status: 0 success, 2 bad usage or input.
    """
    _check(rate, cpu, history, (history, world_file, *trace_keys), rules_file)
    loaded = read_objects(paths)[0] if paths else []
    subject = read_subject(target, namespace, loaded, replicas)
    said = reading_given(trace_keys, [history] if history else [])
    signal = by_usage(cpu) if cpu is not None else _signal(subject, counter, rate or "", history, said, world_file)
    pair = written(subject, signal)
    if rules_file is not None and pair.rule is not None:
        text = RuleText(partial(rules_text, subject), partial(rule_text, subject))
        done = add_rule(rules_file, pair.rule, text)
        click.echo(done, err=True)
    click.echo(text_of(subject, signal, pair, with_rule=rules_file is None), nl=False)
    return 0


def _check(
    rate: str | None, cpu: str | None, history: str | None, for_auto: Sequence[str | None], rules_file: str | None
) -> None:
    if rate is not None and cpu is not None:
        raise click.UsageError("replicas follow either --rate or --cpu, not both: leave out one of them")
    if rate is None and cpu is None:
        raise click.UsageError("write --rate 300 (requests/s per pod), --rate auto, or --cpu 6 (cores per pod)")
    if cpu == AUTO:
        raise click.UsageError("--cpu needs a number of cores; only --rate can be auto")
    if rate == AUTO and history is None:
        raise click.UsageError("--rate auto needs --history TRACE: requests/s of this workload, CSV or Parquet")
    if rate != AUTO and any(one is not None for one in for_auto):
        raise click.UsageError("--history, --trace and --world belong to --rate auto")
    if cpu is not None and rules_file is not None:
        raise click.UsageError("--rules belongs to --rate: an HPA by usage needs no metrics server")


def _signal(
    subject: PairSubject, counter: str, rate: str, history: str | None, said: TraceReading, world_file: str | None
) -> Signal:
    if rate != AUTO:
        return by_rate(counter, rate)
    from hypot.cli.pair.rate import best_rate  # noqa: PLC0415  numpy and all of replay, only for auto
    from hypot.policy.model.settings import Settings  # noqa: PLC0415
    from hypot.replay.world.file import WorldFile, read_world_file  # noqa: PLC0415

    try:
        given = read_world_file(world_file) if world_file else WorldFile()
    except ValueError as error:
        raise BadInput(str(error)) from error
    trace = _trace(history or "", said, subject)
    choice = best_rate(trace, subject, counter, given.world, Settings())
    return by_rate(counter, choice.rate, (*choice.reasons(given), *(f"Assumed: {one}." for one in trace.assumed)))


def _trace(history: str, said: TraceReading, subject: PairSubject) -> "Trace":
    """The only trace of the file, or the one that is called like the target."""
    from hypot.cli.options import read_given_traces  # noqa: PLC0415
    from hypot.replay.traces.trace import TraceError  # noqa: PLC0415

    try:
        found = list(read_given_traces([history], said, None, None, None, None, 0.0, 0.0))
    except TraceError as error:
        raise BadInput(str(error)) from error
    names = {subject.target.name, f"{subject.searched_namespace}/{subject.target.name}"}
    chosen = found if len(found) == 1 else [one for one in found if one.workload in names]
    if len(chosen) != 1:
        there = ", ".join(one.workload for one in found[:8])
        raise BadInput(f"{history}: no workload is called {subject.target.name}; there are {there}")
    if chosen[0].unit == "cores":
        raise BadInput(f"{history}: is in cores, and a rate needs requests/s: name its unit with --trace unit=rps")
    return chosen[0]
