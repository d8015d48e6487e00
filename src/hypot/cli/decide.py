"""hypot decide: what each autoscaler in a dump or a cluster would do now, and why."""

import gc
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field, replace
from math import isfinite
from typing import TYPE_CHECKING, Any

import click

from hypot.cli.chosen import files_among, is_chosen, named_objects, none_chosen
from hypot.cli.configuration.file import ConfigurationFile, configuration_for
from hypot.cli.files import BadInput, last_of_each, read_what_can_be
from hypot.cli.live.options import LIVE_SECTION, LiveOptions, given_live, live_options
from hypot.cli.options import (
    Word,
    configuration_named,
    read_settings,
    report_newer,
    settings_named,
    time_given,
    version_given,
)
from hypot.cli.output import to_json
from hypot.cli.sections import in_sections
from hypot.cli.statefile import alone, read_state, write_state
from hypot.cli.terminal import safe_for
from hypot.cli.verdict import Verdict, glyphs_for, report, summary, width_of
from hypot.core.dataclass import dataclass
from hypot.core.instant import show_time
from hypot.face.style import printable
from hypot.kinds.base import Ref, count_of
from hypot.kinds.catalogue import Autoscaler, autoscalers, names_of
from hypot.kinds.hpa import HPA
from hypot.kinds.misspelt import meant_by
from hypot.kinds.problem import Problem, some, without_consequences
from hypot.kinds.text.load import LoadedFiles, Source
from hypot.kinds.text.write import to_yaml
from hypot.kinds.tortoise import Tortoise
from hypot.kinds.values.version import NEWEST, Version, show_version
from hypot.policy.continuity import Remembered, resumed
from hypot.policy.decide import decide
from hypot.policy.families import seen_by
from hypot.policy.hold import other_hpa_hold
from hypot.policy.horizontal.without_values import pods_without_values, thresholds_without_values
from hypot.policy.model.decision import Decision, MoveReport
from hypot.policy.model.seen import Scale
from hypot.policy.model.settings import Settings
from hypot.policy.model.threshold import described
from hypot.policy.observe.absent import IN_CLUSTER, IN_DUMP
from hypot.policy.observe.snapshot import (
    Key,
    Snapshot,
    is_autoscaler,
    is_known,
    key_of,
    may_matter,
)
from hypot.policy.observe.targets import target_of
from hypot.policy.valid import blocking, refusal

if TYPE_CHECKING:
    from hypot.cli.live.reader import ClusterReader
    from hypot.cli.live.session import LiveCluster

# So many kinds are counted one by one.
_MOST_KINDS = 8
_ORIGINS = {
    "given": "as given",
    "input": "the newest time in the input",
    "clock": "the time of the clock",
    "cluster": "when the cluster was read",
}


@dataclass(slots=True)
class _Run:
    """One call of the command: the input of the decisions, and the state."""

    settings: Settings
    snapshot: Snapshot
    now: float
    origin: str
    states: dict[str, Remembered] = field(default_factory=dict)
    # Whether there is nothing but manifests: no pods and no values of metrics.
    manifests_only: bool = False

    def outcome(self, autoscaler: Autoscaler, source: Source | None) -> Verdict:
        problems = autoscaler.problems(self.settings.kubernetes, self.settings.gates)
        problems = _filled_in(autoscaler, tuple(without_consequences(problems)))
        in_the_way = blocking(autoscaler, problems)
        if in_the_way:
            refused = refusal(autoscaler, in_the_way, self.now)
            return Verdict(Decision.of(refused, MoveReport()), source, problems)
        values = _without_values(autoscaler, self.settings) if self.manifests_only else None
        return Verdict(self._decision(autoscaler), source, problems, values)

    def _decision(self, autoscaler: Autoscaler) -> Decision:
        seen = seen_by(self.snapshot, autoscaler, self.now, self.settings)
        key = f"{autoscaler.KIND}/{autoscaler.namespace}/{autoscaler.name}"
        earlier = self.states.get(key)
        current = seen.scale.replicas if isinstance(seen.scale, Scale) else None
        state = resumed(autoscaler, earlier, current, self.now, self.settings)
        # The HPA of a Tortoise is not written next to another one.
        conflict = other_hpa_hold(seen.others) if isinstance(autoscaler, Tortoise) and not autoscaler.decides else None
        holds = () if conflict is None else (conflict,)
        decision, after = decide(autoscaler, seen, state, self.settings, holds, real=True)
        # Nothing was written to a cluster, so the state records no move as done.
        known = current if current is not None or earlier is None else earlier.replicas
        self.states[key] = Remembered(after, known, self.now)
        return decision


def _without_values(autoscaler: Autoscaler, settings: Settings) -> tuple[str, ...]:
    if not isinstance(autoscaler, HPA):
        return ()
    pods = pods_without_values(autoscaler)
    return tuple([described(pods, found) for found in thresholds_without_values(autoscaler, settings)])


def _filled_in(autoscaler: Autoscaler, problems: tuple[Problem, ...]) -> tuple[Problem, ...]:
    """Placeholders such as ${REPLICAS} are one problem: what is wrong with them says nothing."""
    in_the_way = blocking(autoscaler, problems)
    if not in_the_way:
        return problems
    from hypot.lint.input.placeholders import (  # noqa: PLC0415  few files have any
        how_to_fill_in,
        placeholder_at,
        placeholders_in,
    )

    data = autoscaler.to_dict()
    if not any(placeholder_at(data, problem.where) for problem in in_the_way):
        return problems
    found = list(dict.fromkeys(placeholders_in(data)))
    message = f"{some(found)} {'is' if len(found) == 1 else 'are'} filled in later"
    hint = how_to_fill_in(found, "hypot decide -f -")
    kept = [problem for problem in problems if placeholder_at(data, problem.where) is None]
    return (Problem("placeholder", "", (), message, None, hint), *kept)


@contextmanager
def _uncollected() -> Iterator[None]:
    """Disable garbage collection: nearly all objects of a dump stay alive, and collecting takes as long as the rest."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


@dataclass(slots=True)
class _Input:
    """What the autoscalers depend on, and where each of those that are asked for comes from."""

    objects: list[dict[str, Any]]
    # None for what was read from a cluster.
    sources: dict[Key, Source | None]
    # Objects of kinds that no decision depends on.
    ignored: Counter[str] = field(default_factory=Counter)
    # Whether a part of it could not be read.
    incomplete: bool = False
    # The cluster, if it was read.
    cluster: "LiveCluster | None" = None

    @property
    def place(self) -> str:
        return self.cluster.place if self.cluster else "the input"


@click.command("decide", cls=in_sections(LIVE_SECTION))
@click.argument("named", nargs=-1, metavar="[FILE|DIR|-]... [KIND/NAME]...")
@click.option(
    "-f",
    "--filename",
    "paths",
    multiple=True,
    metavar="FILE|DIR|-",
    help="Kubernetes YAML or JSON as kubectl prints it; may be repeated.",
)
@live_options
@click.option(
    "--now",
    metavar="TIME",
    callback=time_given,
    help="Decide at this time, RFC 3339 or seconds since 1970; by default the newest time in the input.",
)
@click.option("--kubernetes", metavar="1.36", callback=version_given, help="Decide as this version of Kubernetes does.")
@settings_named
@click.option(
    "--state", "state_file", metavar="FILE", help="Continue from the state of earlier runs, and write it back."
)
@click.option("-n", "--namespace", metavar="NS", help="Only the autoscalers in this namespace.")
@configuration_named
@click.option("-o", "--output", type=Word(["text", "json", "yaml"]), default="text", show_default=True)
@_uncollected()
def command(
    named: tuple[str, ...],
    paths: tuple[str, ...],
    live: bool,
    context: str | None,
    everywhere: bool,
    save: str | None,
    now: float | None,
    kubernetes: Version | None,
    settings_file: str | None,
    state_file: str | None,
    namespace: str | None,
    config: str | None,
    output: str,
) -> int:
    """Show what each autoscaler in these files or in a cluster (--live) would do now, and why.

    KIND/NAME is a target or an autoscaler, such as deployment/web or hpa/web; without it, all are decided. With -f or
    --live every word is one, also if a file has that name. With --live, the namespace is the kubeconfig's own unless -n
    or -A says otherwise. Exit status: 0 all decided, 1 some could not be decided or read or there was nothing to
    decide, 2 bad usage or input.
    """
    files = () if live or paths else files_among(named)
    paths += files
    named = tuple(word for word in named if word not in files)
    asked = named_objects(named)
    configuration = configuration_for(paths, config)
    settings = read_settings(settings_file, configuration.values.kubernetes or NEWEST)
    settings = replace(settings, kubernetes=kubernetes) if kubernetes else settings
    cluster = given_live(live=live, context=context, namespace=namespace, everywhere=everywhere, save=save, files=paths)
    if cluster is None:
        given = _from_files(paths, namespace, configuration)
    else:
        given = _from_cluster(cluster, asked, settings)
        settings = replace(settings, kubernetes=kubernetes or _known_version(given) or settings.kubernetes)
    report_newer(settings.kubernetes)
    if not given.sources:
        click.echo(f"nothing to decide: {_instead(given)}", err=True)
        return 1
    snapshot = Snapshot(given.objects, absent=IN_DUMP if cluster is None else IN_CLUSTER)
    chosen = [one for one in snapshot.autoscalers() if _key(one) in given.sources and is_chosen(one, asked)]
    if not chosen:
        raise none_chosen(asked, snapshot.autoscalers(), given.place)
    with alone(state_file):
        states = read_state(state_file) if state_file else {}
        manifests_only = given.cluster is None and snapshot.newest_time() is None
        run = _Run(settings, snapshot, *_moment(now, snapshot, given), states, manifests_only)
        if state_file:
            _check_order(state_file, states.values(), run.now)
        outcomes = [run.outcome(one, given.sources[_key(one)]) for one in chosen]
        if state_file:
            write_state(state_file, states)
    if output == "text":
        _print_text(run, outcomes, given, with_state=state_file is not None)
        _report_ignored(given, snapshot)
    else:
        document = _plain(_document(run, outcomes))
        click.echo((to_json if output == "json" else to_yaml)(document).encode("utf-8", "replace"), nl=False)
    if save:
        _save(save, given, run, named, settings_file)
    return 0 if all(outcome.decision.decided for outcome in outcomes) and not given.incomplete else 1


def _from_files(paths: tuple[str, ...], namespace: str | None, configuration: ConfigurationFile) -> _Input:
    if not paths:
        raise click.UsageError("name files or folders, as in `hypot decide .`, or read the cluster with --live")
    given = read_what_can_be(paths, _may_be_meant, (configuration.exclude,))
    objects = [one.data for one in given.objects]
    refusals = [data for data in objects if data["kind"] == "Status"]
    if refusals:
        from hypot.cli.live.session import report_refusals  # noqa: PLC0415  few dumps have any

        report_refusals(refusals)
    sources: dict[Key, Source | None] = {**_sources(given.objects, namespace)}
    misspelt = [one for one in given.objects if _report_misspelt(one)]
    return _Input(objects, sources, given.ignored, bool(given.broken or refusals or misspelt))


def _may_be_meant(api_version: str, kind: str) -> bool:
    return may_matter(api_version, kind) or bool(meant_by(api_version, kind))


def _report_misspelt(one: LoadedFiles) -> bool:
    api_version, kind = one.data["apiVersion"], one.data["kind"]
    hint = meant_by(api_version, kind)
    if hint:
        place = f"{one.source.file}:{one.source.line}"
        click.echo(printable(f"{place}: {api_version} has no kind {kind}; {hint}"), err=True)
    return bool(hint)


def _from_cluster(options: LiveOptions, asked: tuple[Ref, ...], settings: Settings) -> _Input:
    from hypot.cli.live.for_decide import read_for_decide  # noqa: PLC0415  the network, which files do not need
    from hypot.cli.live.session import read_cluster  # noqa: PLC0415

    async def read(reader: "ClusterReader", namespace: str) -> None:
        await read_for_decide(reader, namespace, lambda one: is_chosen(one, asked), settings)

    cluster = read_cluster(options, read)
    sources: dict[Key, Source | None] = {key_of(data): None for data in cluster.objects if is_autoscaler(data)}
    return _Input(cluster.objects, sources, incomplete=bool(cluster.refusals), cluster=cluster)


def _known_version(given: _Input) -> Version | None:
    return given.cluster.version if given.cluster else None


def _save(file: str, given: _Input, run: _Run, named: tuple[str, ...], settings_file: str | None) -> None:
    from hypot.cli.live.save import save  # noqa: PLC0415  as above

    settings = ("--settings", settings_file) if settings_file else ()
    moment = ("--now", show_time(run.now), "--kubernetes", show_version(run.settings.kubernetes))
    save(file, given.objects, ("hypot", "decide", *named, "-f", file, *moment, *settings))


def _key(autoscaler: Autoscaler) -> Key:
    return autoscaler.KIND, autoscaler.namespace, autoscaler.name


def _sources(loaded: list[LoadedFiles], namespace: str | None) -> dict[Key, Source]:
    """The place of each autoscaler in the input."""
    found = last_of_each((one for one in loaded if is_autoscaler(one.data)), key_of)
    chosen = {key: source for key, source in found.items() if namespace in {None, key[1]}}
    if found and not chosen:
        others = ", ".join(sorted({key[1] for key in found}))
        raise BadInput(f"no autoscaler in namespace {namespace}; there are some in {others}")
    return chosen


def _instead(given: _Input) -> str:
    message = f"no autoscaler in {given.place} ({', '.join(names_of(autoscalers()))})"
    if given.cluster:
        return f"{message}; -A reads all namespaces" if "namespace " in given.place else message
    kinds = Counter(str(data["kind"]) for data in given.objects) + given.ignored
    return f"{message}: {f'found only {_counted(kinds)}' if kinds else 'there is nothing in it'}"


def _counted(kinds: Counter[str]) -> str:
    if len(kinds) <= _MOST_KINDS:
        return ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
    most = ", ".join(f"{count} {kind}" for kind, count in kinds.most_common(_MOST_KINDS - 1))
    return f"{most} and {count_of(len(kinds) - _MOST_KINDS + 1, 'other kind')}"


def _moment(now: float | None, snapshot: Snapshot, given: _Input) -> tuple[float, str]:
    if now is not None:
        return now, "given"
    if given.cluster:
        return float(int(given.cluster.read_at)), "cluster"
    newest = snapshot.newest_time()
    return (newest, "input") if newest is not None else (time.time(), "clock")


def _check_order(file: str, states: Iterable[Remembered], now: float) -> None:
    latest = max((entry.at for entry in states if entry.at is not None), default=now)
    if latest > now:
        raise BadInput(
            f"{file}: the state is from {show_time(latest)}, which is after {show_time(now)}: pass dumps in the "
            "order of their times, or name another state file"
        )


def _print_text(run: _Run, outcomes: list[Verdict], given: _Input, *, with_state: bool) -> None:
    glyphs, version = glyphs_for(sys.stdout), show_version(run.settings.kubernetes)
    lines = [f"{show_time(run.now)}, {_ORIGINS[run.origin]}; Kubernetes {version}"]
    if run.manifests_only:
        lines.append("The input has manifests only, no pods and no values of metrics; --live reads a cluster.")
    lines.append("")
    lines += report(outcomes, glyphs, width_of(sys.stdout))
    lines.append(summary(outcomes))
    if not with_state and any(outcome.decision.unknown for outcome in outcomes):
        before = "this moment" if given.cluster else "this dump"
        lines.append(f"What happened before {before} is unknown; --state FILE keeps state between runs.")
    click.echo(safe_for(sys.stdout, "\n".join(lines)), color=glyphs.colour)


def _report_ignored(given: _Input, snapshot: Snapshot) -> None:
    """Report the kinds that no decision depends on; custom kinds too, unless they are a target."""
    targets = {target_of(one).kind for one in snapshot.autoscalers()}
    unused = [data for data in given.objects if not is_known(data["apiVersion"], data["kind"])]
    kinds = given.ignored + Counter(str(data["kind"]) for data in unused if data["kind"] not in targets)
    if kinds:
        click.echo(f"ignored: {_counted(kinds)}", err=True)


def _document(run: _Run, outcomes: list[Verdict]) -> dict[str, Any]:
    """What -o json and -o yaml print; decide.schema.json describes it."""
    return {
        "now": show_time(run.now),
        "nowFrom": run.origin,
        "settings": run.settings.to_dict(),
        "decisions": [
            {**one.decision.to_dict(), "verdict": one.verdict, "problems": _problems(one)} for one in outcomes
        ],
    }


def _problems(outcome: Verdict) -> list[dict[str, Any]]:
    source = outcome.source
    if source is None:
        return [{**p.to_dict(), "file": "", "line": None} for p in outcome.problems]
    return [{**p.to_dict(), "file": source.file, "line": source.line_of(p.where)} for p in outcome.problems]


def _plain(value: Any) -> Any:
    """The same in JSON types; a number that is not finite, such as a ratio to zero pods, becomes null."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and not isfinite(value) else value
