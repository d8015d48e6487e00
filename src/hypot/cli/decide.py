"""hypot decide: what each autoscaler in a dump would do now, and why."""

import gc
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from math import isfinite
from typing import Any

import click

from hypot.cli.files import BadInput, last_of_each, read_what_can_be
from hypot.cli.options import read_settings, settings_named, time_given
from hypot.cli.output import to_json
from hypot.cli.statefile import alone, read_state, write_state
from hypot.cli.verdict import Verdict, glyphs_for, report, safe_for, summary, width_of
from hypot.core.instant import show_time
from hypot.kinds.catalogue import Autoscaler, autoscalers, names_of
from hypot.kinds.text.load import LoadedFiles, Source
from hypot.kinds.text.write import to_yaml
from hypot.kinds.tortoise import Tortoise
from hypot.kinds.values.version import Version, parse_version, show_version
from hypot.policy.continuity import Remembered, resumed
from hypot.policy.decide import decide
from hypot.policy.families import seen_by
from hypot.policy.hold import other_hpa_hold
from hypot.policy.model.decision import Decision, MoveReport
from hypot.policy.model.seen import Scale
from hypot.policy.model.settings import Settings
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

_ORIGINS = {
    "given": "as given",
    "input": "the newest time in the input",
    "clock": "the time of the clock, because the input has none",
}


@dataclass(slots=True)
class _Run:
    """One call of the command: the input of the decisions, and the state."""

    settings: Settings
    snapshot: Snapshot
    now: float
    origin: str
    states: dict[str, Remembered] = field(default_factory=dict)

    def outcome(self, autoscaler: Autoscaler, source: Source) -> Verdict:
        problems = autoscaler.problems(self.settings.kubernetes, self.settings.gates)
        in_the_way = blocking(autoscaler, problems)
        if in_the_way:
            refused = refusal(autoscaler, in_the_way, self.now)
            return Verdict(Decision.of(refused, MoveReport()), source, problems)
        return Verdict(self._decision(autoscaler), source, problems)

    def _decision(self, autoscaler: Autoscaler) -> Decision:
        seen = seen_by(self.snapshot, autoscaler, self.now, self.settings)
        key = f"{autoscaler.KIND}/{autoscaler.namespace}/{autoscaler.name}"
        earlier = self.states.get(key)
        current = seen.scale.replicas if isinstance(seen.scale, Scale) else None
        state = resumed(autoscaler, earlier, current, self.now, self.settings)
        # The HPA of a Tortoise is not written next to another one.
        conflict = other_hpa_hold(seen.others) if isinstance(autoscaler, Tortoise) and not autoscaler.decides else None
        decision, after = decide(autoscaler, seen, state, self.settings, () if conflict is None else (conflict,))
        # Nothing was written to a cluster, so the state records no move as done.
        known = current if current is not None or earlier is None else earlier.replicas
        self.states[key] = Remembered(after, known, self.now)
        return decision


def _version(_: click.Context, __: click.Parameter, text: str | None) -> Version | None:
    try:
        return None if text is None else parse_version(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


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


@click.command("decide")
@click.option(
    "-f",
    "--filename",
    "paths",
    multiple=True,
    required=True,
    metavar="FILE|DIR|-",
    help="Kubernetes YAML or JSON as kubectl prints it; may be repeated.",
)
@click.option(
    "--now",
    metavar="TIME",
    callback=time_given,
    help="Decide at this time, RFC 3339 or seconds since 1970; by default the newest time in the input.",
)
@click.option("--kubernetes", metavar="1.36", callback=_version, help="Decide as this version of Kubernetes does.")
@settings_named
@click.option(
    "--state", "state_file", metavar="FILE", help="Continue from the state of earlier runs, and write it back."
)
@click.option("-n", "--namespace", help="Only the autoscalers in this namespace.")
@click.option("-o", "--output", type=click.Choice(["text", "json", "yaml"]), default="text", show_default=True)
@_uncollected()
def command(
    paths: tuple[str, ...],
    now: float | None,
    kubernetes: Version | None,
    settings_file: str | None,
    state_file: str | None,
    namespace: str | None,
    output: str,
) -> int:
    """Show what each autoscaler in a dump would do now, and why.

    Exit status: 0 all decided, 1 some could not be decided or there was nothing to decide, 2 bad usage or input.
    """
    settings = read_settings(settings_file)
    settings = replace(settings, kubernetes=kubernetes) if kubernetes else settings
    given = read_what_can_be(paths, may_matter)
    loaded, ignored = given.objects, given.ignored
    sources = _sources(loaded, namespace)
    if not sources:
        click.echo(f"nothing to decide: {_instead(loaded, ignored)}", err=True)
        return 1
    snapshot = Snapshot(one.data for one in loaded)
    with alone(state_file):
        states = read_state(state_file) if state_file else {}
        run = _Run(settings, snapshot, *_moment(now, snapshot), states)
        if state_file:
            _check_order(state_file, states.values(), run.now)
        outcomes = [run.outcome(one, sources[key]) for one in snapshot.autoscalers() if (key := _key(one)) in sources]
        if state_file:
            write_state(state_file, states)
    if output == "text":
        _print_text(run, outcomes, with_state=state_file is not None)
        _report_ignored(loaded, ignored, snapshot)
    else:
        document = _plain(_document(run, outcomes))
        click.echo((to_json if output == "json" else to_yaml)(document).encode("utf-8", "replace"), nl=False)
    return 0 if all(outcome.decision.decided for outcome in outcomes) and not given.broken else 1


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


def _instead(loaded: list[LoadedFiles], ignored: Counter[str]) -> str:
    kinds = Counter(str(one.data["kind"]) for one in loaded) + ignored
    there = f"found only {_counted(kinds)}" if kinds else "there is nothing in it"
    return f"no autoscaler in the input ({', '.join(names_of(autoscalers()))}): {there}"


def _counted(kinds: Counter[str]) -> str:
    return ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))


def _moment(now: float | None, snapshot: Snapshot) -> tuple[float, str]:
    if now is not None:
        return now, "given"
    newest = snapshot.newest_time()
    return (newest, "input") if newest is not None else (time.time(), "clock")


def _check_order(file: str, states: Iterable[Remembered], now: float) -> None:
    latest = max((entry.at for entry in states if entry.at is not None), default=now)
    if latest > now:
        raise BadInput(
            f"{file}: the state is from {show_time(latest)}, which is after {show_time(now)}: pass dumps in the "
            "order of their times, or name another state file"
        )


def _print_text(run: _Run, outcomes: list[Verdict], *, with_state: bool) -> None:
    glyphs, version = glyphs_for(sys.stdout), show_version(run.settings.kubernetes)
    lines = [f"{show_time(run.now)}, {_ORIGINS[run.origin]}; Kubernetes {version}", ""]
    lines += report(outcomes, glyphs, width_of(sys.stdout))
    lines.append(summary(outcomes))
    if not with_state and any(outcome.decision.unknown for outcome in outcomes):
        lines.append("What happened before this dump is unknown; --state FILE keeps state between runs.")
    click.echo(safe_for(sys.stdout, "\n".join(lines)), color=glyphs.colour)


def _report_ignored(loaded: list[LoadedFiles], ignored: Counter[str], snapshot: Snapshot) -> None:
    """Report the kinds that no decision depends on; custom kinds too, unless they are a target."""
    targets = {target_of(one).kind for one in snapshot.autoscalers()}
    unused = [one.data for one in loaded if not is_known(one.data["apiVersion"], one.data["kind"])]
    kinds = ignored + Counter(str(data["kind"]) for data in unused if data["kind"] not in targets)
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
    return [{**p.to_dict(), "file": source.file, "line": source.line_of(p.where)} for p in outcome.problems]


def _plain(value: Any) -> Any:
    """The same in JSON types; a number that is not finite, such as a ratio to zero pods, becomes null."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and not isfinite(value) else value
