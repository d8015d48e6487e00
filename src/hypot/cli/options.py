"""Options that several commands share."""

import time
from collections.abc import Callable, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, TypeVar

import click

from hypot.cli.bar import bar
from hypot.cli.files import BadInput
from hypot.cli.mapping import read_mapping
from hypot.core.instant import LATEST, read_time
from hypot.kinds.problem import did_you_mean
from hypot.kinds.values.version import NEWEST, Version, parse_version, show_version

if TYPE_CHECKING:
    from hypot.policy.model.settings import Settings
    from hypot.replay.traces.history import TraceFiles
    from hypot.replay.traces.reading import TraceReading
    from hypot.replay.traces.trace import Trace

Entry = TypeVar("Entry")
Option = Callable[[Callable[..., Any]], Callable[..., Any]]


class Word(click.Choice[str]):
    """One of some words; of another one, the most similar is named."""

    def fail(self, message: str, param: click.Parameter | None = None, ctx: click.Context | None = None) -> NoReturn:
        """With a hint, unless the message is not about a word."""
        quoted = message.partition("'")[2].partition("'")[0]
        hint = did_you_mean(quoted, self.choices)
        super().fail(f"{message} {hint[:1].upper()}{hint[1:]}" if hint else message, param, ctx)


def version_given(_: click.Context, __: click.Parameter, text: str | None) -> Version | None:
    """A Kubernetes version."""
    try:
        return None if text is None else parse_version(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


def report_newer(version: Version) -> None:
    """Say that rules of a later Kubernetes are unknown."""
    if version > NEWEST:
        newest = show_version(NEWEST)
        message = f"Kubernetes {show_version(version)} is newer than this hypot, which knows the rules up to {newest}"
        click.echo(f"{message} and applies those", err=True)


class Named(Protocol):
    """An object with a name."""

    @property
    def name(self) -> str: ...
    @property
    def namespace(self) -> str: ...


configuration_named = click.option(
    "--config", metavar="FILE", help="The configuration; by default the nearest .hypot.toml or pyproject.toml."
)


settings_named = click.option(
    "--settings", "settings_file", metavar="FILE", help="The controller's flags and gates, YAML or JSON."
)


_SERVER_OPTIONS: Sequence[Option] = (
    click.option(
        "--kubeconfig", metavar="FILE", help="The kubeconfig; by default the pod's service account, or as kubectl does."
    ),
    click.option("--context", metavar="NAME", help="The context in the kubeconfig."),
    click.option(
        "--log",
        "log_format",
        type=Word(["text", "json"]),
        help="The log format; by default text on a terminal, else json.",
    ),
)


def server_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """How a server reaches its cluster, and how it logs."""
    for option in reversed(_SERVER_OPTIONS):
        command = option(command)
    return command


def time_given(_: click.Context, __: click.Parameter, text: str | None) -> float | None:
    """A time from RFC 3339 text or from seconds since 1970."""
    if text is None:
        return None
    try:
        at: float | None = float(text)
    except ValueError:
        at = read_time(text)
    if at is None or not isfinite(at) or not 0 <= at <= LATEST:
        raise click.BadParameter(f"{text!r} is not a time; write 2026-11-15T01:58:03Z, or seconds since 1970")
    return at


def read_settings(file: str | None, kubernetes: Version = NEWEST) -> "Settings":
    """The settings of a file, for this version unless it names another one."""
    from hypot.policy.model.settings import Settings, SettingsError  # noqa: PLC0415  not every command has settings

    if file is None:
        return Settings(kubernetes=kubernetes)
    data = read_mapping(file, "settings", "tolerance: 0.05")
    try:
        return Settings.from_dict({"kubernetes": show_version(kubernetes), **data})
    except SettingsError as error:
        hint = "; quote it in YAML, 1.30 is read as 1.3" if isinstance(data.get("kubernetes"), float) else ""
        raise BadInput(f"{file}: {error}{hint if str(error).startswith('kubernetes') else ''}") from error


traces_named = click.argument("traces", nargs=-1, metavar="[TRACE]...")
start_given = click.option("--from", "start", metavar="TIME", callback=time_given, help="Use traces from this time on.")
end_given = click.option("--to", "end", metavar="TIME", callback=time_given, help="Use traces up to this time.")


def prometheus_named(what: str, span: str) -> Option:
    return click.option(
        "--prometheus", metavar="URL", help=f"Read {what} from Prometheus, with --query: {span}, or --from."
    )


def query_named(unit: str) -> Option:
    return click.option("--query", metavar="PROMQL", help=f"{unit}, one series per workload.")


def check_traces(traces: Sequence[str], prometheus: str | None, query: str | None, example: str) -> None:
    """Check that traces are named in one of two ways; `example` is a query."""
    if prometheus and traces:
        raise click.UsageError(f"name trace files or a Prometheus server, not both: {traces[0]} or --prometheus")
    if prometheus and not query:
        raise click.UsageError(f"--prometheus needs a --query, such as '{example}'")
    if query and not prometheus:
        raise click.UsageError("--query needs the server: --prometheus http://HOST:9090")
    if not traces and not prometheus:
        raise click.UsageError("name trace files, or a Prometheus server with --prometheus and --query")


def read_given_traces(
    traces: Sequence[str],
    said: "TraceReading",
    start: float | None,
    end: float | None,
    prometheus: str | None,
    query: str | None,
    span: float,
    step: float,
) -> "list[Trace] | TraceFiles":
    """All traces, or if they do not fit into memory, the files that they come from.

    Prometheus is asked for the last `span` seconds, unless a start is given, in steps of `step`.
    """
    if prometheus and query:
        from hypot.replay.traces.prometheus.query import from_prometheus  # noqa: PLC0415  only if it is used

        until = time.time() if end is None else end
        since = until - span if start is None else start
        with bar("querying Prometheus", None) as progress:
            return from_prometheus(prometheus, query, since, until, step, progress=progress.at, said=said)
    from hypot.replay.traces.history import read_history  # noqa: PLC0415  only if it is used

    with bar("reading", None) as progress:
        return read_history(traces, start, end, said, progress.at)


def chosen_by_name(
    kind: str, entries: Sequence[Entry], named: Callable[[Entry], Named], namespace: str | None, name: str | None
) -> list[Entry]:
    """The entries that -n and --name ask for, by the object of each."""

    def is_asked(one: Named) -> bool:
        return namespace in {None, one.namespace} and name in {None, one.name}

    chosen = [entry for entry in entries if is_asked(named(entry))]
    if not chosen:
        asked = " ".join(part for part in (name and f"named {name}", namespace and f"in namespace {namespace}") if part)
        there = sorted(f"{one.namespace}/{one.name}" for one in map(named, entries))
        raise BadInput(f"no {kind} {asked}; there are {', '.join(there)}")
    return chosen
