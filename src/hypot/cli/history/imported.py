"""hypot history import: Tortoises learn from recorded usage, so that they work from their first day."""

import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import click

from hypot.cli.files import BadInput, manifests_named
from hypot.cli.history.tortoises import TortoiseEntry, read_tortoises
from hypot.cli.options import (
    check_traces,
    end_given,
    prometheus_named,
    query_named,
    read_given_traces,
    read_settings,
    settings_named,
    start_given,
    traces_named,
)
from hypot.cli.statefile import alone, read_state, write_state
from hypot.cli.terminal import safe_for
from hypot.cli.trace_keys import reading_given, trace_keys
from hypot.cli.verdict import glyphs_for
from hypot.core.amount import CPU, brief
from hypot.core.instant import show_time
from hypot.core.learning.slots import MOST, slots_of
from hypot.face.style import printable
from hypot.kinds.base import count_of
from hypot.kinds.tortoise.settings import DAY
from hypot.policy.continuity import Remembered
from hypot.policy.model.learned import Learned, SlotLayout
from hypot.policy.model.size import Place
from hypot.policy.model.state import State
from hypot.policy.model.tortoise_state import TortoiseState, key_of
from hypot.policy.tortoise.needs import amount_of
from hypot.policy.tortoise.phases import gathers_for
from hypot.replay.traces.reading import FIRST_DATE

if TYPE_CHECKING:
    from hypot.policy.tortoise.history import LearnedHistory, UsageSeries
    from hypot.replay.traces.history import TraceFiles
    from hypot.replay.traces.trace import Trace

WEEK = 7 * DAY
# The step of Prometheus queries in seconds: a rate over five minutes leaves nothing out.
STEP = 300.0
QUERY = 'sum(rate(container_cpu_usage_seconds_total{namespace="shop", pod=~"web-.*", container="app"}[5m]))'
_SHOWN_NAMES = 8


class _Match(NamedTuple):
    """A Tortoise with a trace: in which place it learns, at which target utilizations, until when."""

    entry: TortoiseEntry
    place: Place
    targets: dict[Place, int]
    until: float
    notes: tuple[str, ...]


class _Taught(NamedTuple):
    """What a Tortoise learned."""

    match: _Match
    found: "LearnedHistory"

    @property
    def layout(self) -> SlotLayout:
        return self.found.learned.layout

    def own(self, earlier: Remembered | None) -> Learned | None:
        """What it knew of this place before, in the same slots."""
        past = _past(earlier)
        own = None if past is None else past.learned_in(self.found.learned.place)
        at = earlier.at if earlier is not None and earlier.at is not None else self.match.until
        return own.relaid(self.layout, at) if own is not None and own.layout != self.layout else own

    def merged(self, earlier: Remembered | None) -> Learned:
        """The history, with what it knew before; where both know something, what was observed last counts."""
        own, learned = self.own(earlier), self.found.learned
        if own is None or own.tally is None:
            return learned
        return own.after(learned) if self.is_older(own) else learned.after(own)

    def is_older(self, own: Learned | None) -> bool:
        """Whether its own observations are newer than the end of the history."""
        tally = self.found.learned.tally
        return own is not None and own.tally is not None and tally is not None and own.tally[:2] > tally[:2]


@click.command("import")
@traces_named
@manifests_named
@click.option(
    "--state", "state_file", required=True, metavar="FILE", help="The state that hypot decide continues from."
)
@settings_named
@prometheus_named("usage", "as many weeks as are learned from")
@query_named("Cores")
@trace_keys
@start_given
@end_given
def command(
    traces: tuple[str, ...],
    paths: tuple[str, ...],
    state_file: str,
    settings_file: str | None,
    prometheus: str | None,
    query: str | None,
    trace_keys: tuple[str, ...],
    start: float | None,
    end: float | None,
) -> int:
    """Let Tortoises learn from recorded usage, in cores.

    TRACE is a file of recorded usage, as for hypot replay: CSV with columns such as time and cores, and workload if it
    holds several, a CSV export of Grafana, the JSON of a Prometheus range query, or Parquet.

    Exit status: 0 all Tortoises learned, 1 some did not, 2 bad usage or input.
    """
    from hypot.replay.traces.trace import TraceError  # noqa: PLC0415  numpy, only here

    check_traces(traces, prometheus, query, QUERY)
    settings = read_settings(settings_file)
    entries = read_tortoises(paths, settings)
    span = max(entry.own.window_weeks for entry in entries) * WEEK
    try:
        found = read_given_traces(traces, reading_given(trace_keys, traces), start, end, prometheus, query, span, STEP)
        with alone(state_file):
            states = read_state(state_file)
            lesson = _Lesson(entries, states)
            taught = lesson.learn(found)
            older = [one.is_older(one.own(states.get(one.match.entry.key))) for one in taught]
            for one in taught:
                states[one.match.entry.key] = _state(one, states.get(one.match.entry.key))
            write_state(state_file, states)
    except TraceError as error:
        raise BadInput(str(error)) from error
    notes = [list(_notes(one, is_older=is_older)) for one, is_older in zip(taught, older, strict=True)]
    _print(entries, list(zip(taught, notes, strict=True)), lesson, state_file)
    return 0 if len({one.match.entry.key for one in taught}) == len(entries) else 1


class _Lesson:
    """Finds the Tortoise of each trace, and lets all of them learn at once."""

    def __init__(self, entries: list[TortoiseEntry], states: dict[str, Remembered]) -> None:
        self._entries, self._states = entries, states
        # What a trace of this name is the usage of: the first container, or the one that is named.
        self._by_name: dict[str, list[tuple[TortoiseEntry, Place | None]]] = {}
        for entry in entries:
            name = entry.target.name or ""
            places = _measured(entry)
            named = {f"{_full_name(entry)}/{container}": (container, resource) for container, resource in places}
            for each, place in [(name, None), (_full_name(entry), None), *named.items()]:
                self._by_name.setdefault(each, []).append((entry, place or next(iter(places), None)))
        self._taken: dict[tuple[str, Place | None], str] = {}
        self._problems: list[str] = []
        # Why a Tortoise can learn nothing, by its key.
        self.faults = {entry.key: entry.fault for entry in entries if entry.fault}
        # Traces without a Tortoise.
        self.others: list[str] = []

    def learn(self, traces: "list[Trace] | TraceFiles") -> list[_Taught]:
        """What each Tortoise learns. Raises one exception with all problems."""
        from hypot.policy.tortoise.history import learned_from  # noqa: PLC0415  numpy, only here

        matches: list[_Match] = []
        found = list(learned_from(self._series(traces, matches)))
        taught = [_Taught(*each) for each in zip(matches, found, strict=True)]
        if not taught and not self._problems:
            self._problems.append(self._nobody())
        if self._problems:
            raise BadInput("\n".join(self._problems))
        return taught

    def _series(self, traces: "list[Trace] | TraceFiles", matches: list[_Match]) -> "Iterator[UsageSeries]":
        from hypot.policy.tortoise.history import UsageSeries  # noqa: PLC0415  numpy, only here

        only = isinstance(traces, list) and len(traces) == len(self._entries) == 1
        for trace in traces:
            match = self._match(trace, only=only)
            if match is None:
                continue
            matches.append(match)
            layout, target = match.entry.layout, match.targets[match.place]
            yield UsageSeries(match.place, target, trace.times, trace.values * 1000.0, layout)

    def _match(self, trace: "Trace", *, only: bool) -> _Match | None:
        """The Tortoise of a trace; None if there is none, or if there is a problem, which is kept."""
        found = self._by_name.get(trace.workload, [])
        if only and not found:
            found = self._by_name[_full_name(self._entries[0])]
        if not found:
            self.others.append(trace.workload)
            return None
        problem = self._problem(trace, found)
        entry, place = found[0]
        if problem:
            self._problems.append(f"{trace.source}: workload {trace.workload!r} {problem}")
        if problem or entry.key in self.faults:
            return None
        self._taken[entry.key, place] = trace.workload
        if place is None:
            self.faults[entry.key] = "its replicas follow memory, and a trace has only cores"
            return None
        past = _past(self._states.get(entry.key))
        known = {} if past is None else past.targets
        targets = {each: known.get(key_of(each)) or entry.targets[each] for each in entry.targets}
        notes = (*(f"assumed: {one}" for one in trace.assumed), *trace.notes)
        return _Match(entry, place, targets, float(trace.times[-1]), notes)

    def _problem(self, trace: "Trace", found: list[tuple[TortoiseEntry, Place | None]]) -> str:
        if len(found) > 1:
            names = " and ".join(one.name for one, _ in found)
            return f"may be that of the Tortoises {names}: name it by namespace and name"
        entry, place = found[0]
        if (entry.key, place) in self._taken:
            return f"and {self._taken[entry.key, place]!r} are both that of {entry.name}: keep one of them"
        if trace.unit == "rps":
            return f"is in requests/s, and a Tortoise learns from usage: record cores, such as {QUERY}"
        if trace.times[0] < FIRST_DATE:
            return "has times that do not count from 1970, so the slots of a week are unknown: write dates"
        return ""

    def _nobody(self) -> str:
        """Why no Tortoise learned anything."""
        lines = [
            f"{entry.source.file}:{entry.source.line}: {entry.name}: {self.faults[entry.key]}"
            for entry in self._entries
            if entry.key in self.faults
        ]
        wanted = [_full_name(one) for one in self._entries if one.key not in self.faults]
        if wanted:
            lines.append(f"no trace is that of a target: there are {_listed(self.others)}, wanted is {_listed(wanted)}")
        return "\n".join(lines)


def _full_name(entry: TortoiseEntry) -> str:
    return f"{entry.tortoise.namespace}/{entry.target.name}"


def _measured(entry: TortoiseEntry) -> list[Place]:
    """What replicas follow and a trace of cores can say."""
    return [place for place in entry.targets if place[1] == CPU]


def _listed(names: Iterable[str]) -> str:
    shown = [printable(name) for name in names]
    more = [f"{len(shown) - _SHOWN_NAMES} more"] if len(shown) > _SHOWN_NAMES else []
    return ", ".join([*shown[:_SHOWN_NAMES], *more])


def _past(earlier: Remembered | None) -> TortoiseState | None:
    return None if earlier is None else earlier.state.tortoise


def _state(taught: _Taught, earlier: Remembered | None) -> Remembered:
    """The state of a Tortoise that watched the history: nothing else that is known of it changes."""
    past = _past(earlier)
    known = past or TortoiseState(())
    others = [
        each for each in known.learned if each.layout == taught.layout and each.place != taught.found.learned.place
    ]
    learned = taught.merged(earlier)
    began = learned.since if learned.is_enough() else taught.match.until
    since = {**known.since, learned.place: min(began, known.since.get(learned.place, began))}
    targets = {key_of(place): percent for place, percent in taught.match.targets.items()}
    made = replace(known, learned=(*others, learned), since=since, targets=targets)
    if earlier is None:
        return Remembered(State(tortoise=made), at=taught.match.until)
    at = taught.match.until if earlier.at is None else max(earlier.at, taught.match.until)
    return replace(earlier, state=earlier.state._replace(tortoise=made), at=at)


def _notes(taught: _Taught, *, is_older: bool) -> Iterator[str]:
    """What an author should know of one history."""
    yield from taught.match.notes
    if is_older:
        yield "what it observed itself is newer than the end of this trace, and stays"
    if taught.found.learned.peak() >= MOST:
        resource = taught.match.place[1]
        yield f"more than {brief(resource, amount_of(resource, MOST))} counts as that: is the trace in cores?"


def _print(
    entries: list[TortoiseEntry], taught: list[tuple[_Taught, list[str]]], lesson: _Lesson, state_file: str
) -> None:
    glyphs = glyphs_for(sys.stdout)
    by_key: dict[str, list[tuple[_Taught, list[str]]]] = {}
    for one, notes in taught:
        by_key.setdefault(one.match.entry.key, []).append((one, notes))
    lines = []
    for entry in entries:
        lines.append(
            f"{glyphs.style(printable(entry.name), bold=True)}  Tortoise {glyphs.arrow} {printable(str(entry.target))}"
        )
        known = by_key.get(entry.key, [])
        for one, notes in known:
            lines += _lines(one, notes)
        lines += (
            _untaught_places(entry, [one for one, _ in known])
            if known
            else _not_taught(entry, lesson.faults.get(entry.key))
        )
        lines.append("")
    lines.append(f"{state_file}: {count_of(len(by_key), 'Tortoise')} of {len(entries)} learned.")
    click.echo(safe_for(sys.stdout, "\n".join(lines)), color=glyphs.colour)
    if lesson.others:
        click.echo(
            f"ignored: {count_of(len(lesson.others), 'trace')} without a Tortoise: {_listed(lesson.others)}", err=True
        )


def _not_taught(entry: TortoiseEntry, fault: str | None) -> Iterator[str]:
    if fault:
        first, *rest = fault.split("\n")
        yield f"    not learned: {printable(first)}"
        yield from (f"        {printable(line)}" for line in rest)
        return
    names = f"{printable(_full_name(entry))} or {printable(entry.target.name or '')}"
    yield f"    not learned: no trace is called {names}"


def _untaught_places(entry: TortoiseEntry, known: list[_Taught]) -> Iterator[str]:
    taught = {one.match.place for one in known}
    for container, resource in entry.targets:
        if (container, resource) not in taught:
            named = f": a trace of it is called {_full_name(entry)}/{container}" if resource == CPU else ""
            yield printable(f"    replicas also follow {resource} of {container}, which is not learned{named}")


def _lines(taught: _Taught, notes: Iterable[str]) -> Iterator[str]:
    match, (learned, counted, left_out) = taught.match, taught.found
    layout = learned.layout
    container, resource = match.place
    weeks = (taught.match.until - learned.since) / WEEK
    yield (
        f"    {resource} of {printable(container)}, at a target of {match.targets[match.place]} %: {weeks:.1f} weeks, "
        f"{show_time(learned.since)} to {show_time(taught.match.until)}"
    )
    slots = slots_of(layout.hours, layout.daily)
    lost = f"; {left_out} left out for lack of samples" if left_out else ""
    yield f"    {learned.known()} of {slots} slots have data, from {count_of(counted, 'occurrence')}{lost}"
    yield f"    most needed: {brief(resource, learned.peak())} of {resource} in total"
    gathers = gathers_for(match.entry.own)
    if match.until - learned.since < gathers or not learned.is_enough():
        yield f"    too little to work at once: it gathers data for {count_of(round(gathers / DAY), 'day')}"
    for note in notes:
        yield f"    note: {printable(note)}"
