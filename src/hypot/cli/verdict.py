"""Decisions as text: one line says what happens, the indented lines why, and what would change it."""

import json
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TextIO

import click

from hypot.cli.terminal import columns_of_terminal, in_colour
from hypot.core.dataclass import dataclass
from hypot.kinds.base import count_of
from hypot.kinds.catalogue import CATALOGUE
from hypot.kinds.problem import Problem
from hypot.kinds.text.load import Source
from hypot.policy.model.decision import Decision, Step, condition_of
from hypot.policy.model.learned import REASONS
from hypot.policy.model.size import briefly, changes_of
from hypot.policy.model.threshold import described
from hypot.policy.stages.report import clause

_WIDEST = 110
_INDENT = 4
_LABEL = 10
_WIDEST_NAME = 36
VERDICTS = ("up", "down", "resize", "edit", "hold", "undecided")
_COLOURS = {"up": "green", "down": "yellow", "resize": "cyan", "edit": "cyan", "undecided": "red"}


@dataclass(frozen=True, slots=True)
class Verdict:
    """A decision, the place of its autoscaler in the input, and its problems."""

    decision: Decision
    # None for an object of a cluster.
    source: Source | None
    problems: tuple[Problem, ...] = ()
    # If the input has no values of metrics at all: at which of them the autoscaler would ask for more.
    without_values: tuple[str, ...] | None = None

    @property
    def verdict(self) -> str:
        """One of VERDICTS: edit if only its HPA changes."""
        decision = self.decision
        if not decision.decided:
            return "undecided"
        if not decision.recounts or decision.desired is None or decision.current is None:
            return "resize" if decision.resizes else "edit" if decision.edits else "hold"
        return "up" if decision.desired > decision.current else "down"


class Glyphs(NamedTuple):
    """The symbols, and whether the terminal shows colours."""

    arrow: str = "→"
    up: str = "▲"
    down: str = "▼"
    undecided: str = "✗"
    hold: str = " "
    resize: str = "◆"
    edit: str = "◇"
    colour: bool = False

    def style(self, text: str, verdict: str = "", *, bold: bool = False, dim: bool = False) -> str:
        if not self.colour:
            return text
        return click.style(text, fg=_COLOURS.get(verdict), bold=bold or None, dim=dim or None)


def glyphs_for(stream: TextIO) -> Glyphs:
    """The symbols if this stream can encode them, else plain ASCII."""
    colour = in_colour(stream)
    try:
        "".join(Glyphs()[:7]).encode(getattr(stream, "encoding", None) or "ascii")
    except (UnicodeEncodeError, LookupError):
        return Glyphs("->", "^", "v", "x", " ", "*", "+", colour)
    return Glyphs(colour=colour)


def width_of(stream: TextIO) -> int:
    return min(_WIDEST, max(60, columns_of_terminal())) if stream.isatty() else _WIDEST


def report(outcomes: Sequence[Verdict], glyphs: Glyphs, width: int) -> Iterator[str]:
    """All lines of the answer, with a blank line after each autoscaler."""
    columns = _Columns.of(outcomes, glyphs)
    for outcome in outcomes:
        yield from _headline(outcome, columns, glyphs, width)
        yield from _details(outcome, glyphs, width)
        yield ""


def summary(outcomes: Sequence[Verdict]) -> str:
    """The number of autoscalers for each verdict."""
    counts = Counter(outcome.verdict for outcome in outcomes)
    reported = [f"{counts[verdict]} {verdict}" for verdict in VERDICTS if counts[verdict]]
    return f"{count_of(len(outcomes), 'autoscaler')}: {', '.join(reported)}."


def _named(decision: Decision, glyphs: Glyphs) -> tuple[str, str]:
    kind = CATALOGUE[decision.autoscaler.kind].abbreviation or decision.autoscaler.kind
    name = f"{decision.autoscaler.namespace}/{decision.autoscaler.name or '?'}"
    target = f"{kind} {glyphs.arrow} {decision.target.kind or '?'}/{decision.target.name or '?'}"
    return _clean(name), _clean(target)


class _Columns(NamedTuple):
    """The widths of the names and of the figures before and after; a very long name does not widen its column."""

    name: int
    target: int
    before: int
    after: int

    @classmethod
    def of(cls, outcomes: Sequence[Verdict], glyphs: Glyphs) -> "_Columns":
        names = [_named(outcome.decision, glyphs) for outcome in outcomes]
        return cls(
            _widest(name for name, _ in names),
            _widest(target for _, target in names),
            _widest(_figure(outcome.decision.current) for outcome in outcomes),
            _widest(_figure(outcome.decision.desired) for outcome in outcomes),
        )


def _widest(texts: Iterable[str]) -> int:
    return max((len(text) for text in texts if len(text) <= _WIDEST_NAME), default=0)


def _figure(count: int | None) -> str:
    return "?" if count is None else str(count)


def _headline(outcome: Verdict, columns: _Columns, glyphs: Glyphs, width: int) -> Iterator[str]:
    decision, verdict = outcome.decision, outcome.verdict
    name, target = _named(decision, glyphs)
    before, after = _figure(decision.current).rjust(columns.before), _figure(decision.desired).rjust(columns.after)
    size = "undecided:" if verdict == "undecided" else f"{before} {glyphs.arrow} {after} "
    size = f"{getattr(glyphs, verdict)} {size}"
    left = f"{name.ljust(columns.name)}  {target.ljust(columns.target)}  {size} "
    lines = _wrapped(left + _message(outcome), width, indent=" " * 2 * _INDENT)
    if not glyphs.colour:
        yield from lines
        return
    first = lines[0].replace(name, glyphs.style(name, bold=True), 1)
    yield first.replace(size, glyphs.style(size, verdict, bold=verdict != "hold"), 1)
    yield from lines[1:]


def _message(outcome: Verdict) -> str:
    """The reason in a few words."""
    decision = outcome.decision
    if outcome.verdict == "undecided":
        return _NOT_MEASURED if _is_not_measured(outcome) else _clean(_error(decision))
    if outcome.verdict != "hold":
        reason = decision.reason.replace(" (percentage of request)", "")
        return _clean(f"dry run: {reason}" if decision.dry_run else reason)
    if decision.sizes:
        return f"hold: {_hold_message(decision)}"
    held = [step for step in decision.steps if step.stage == "restrain" and step.before != step.after]
    if not held and not decision.readings:
        held = list(decision.steps)
    return f"hold: {_gist(held[-1])}" if held else f"hold: the metrics ask for {_figure(decision.current)}"


_NOT_MEASURED = "no values of its metrics in the input"


def _is_not_measured(outcome: Verdict) -> bool:
    """Whether it is undecided only because manifests have no values of metrics."""
    readings = outcome.decision.readings
    return (
        outcome.without_values is not None
        and bool(readings)
        and all(reading.proposal is None and reading.error_kind != "spec" for reading in readings)
    )


def _error(decision: Decision) -> str:
    broken = [reading for reading in decision.readings if reading.proposal is None]
    if not broken:
        return decision.error
    count = f" ({len(broken)} of {len(decision.readings)} metrics fail)" if len(decision.readings) > 1 else ""
    return broken[0].error + count


def _hold_message(decision: Decision) -> str:
    """Why a kind that sizes pods leaves everything as it is."""
    held = [step for step in decision.steps if step.stage == "restrain"]
    if held:
        return _clean(clause(held[-1].sentence))
    limited = condition_of(decision.conditions, "ScalingLimited")
    if limited is not None and limited.status == "True":
        return _clean(f"limited: {limited.message}")
    unknown = [step for step in decision.steps if step.rule in REASONS]
    return _clean(clause(unknown[-1].sentence)) if unknown else "the size is right"


def _gist(step: Step) -> str:
    """A step's sentence without its conditions and the count at its end: the details have them."""
    message = clause(step.sentence).partition(", ")[0].partition(" until ")[0]
    for ending in (f": {step.after}", f": stay at {step.after}"):
        message = message.removesuffix(ending)
    return _clean(message)


def _details(outcome: Verdict, glyphs: Glyphs, width: int) -> Iterator[str]:
    decision = outcome.decision
    steps = [] if _is_not_measured(outcome) else _worth_reporting(decision)
    before = _widest(_figure(step.before) for step in steps)
    after = _widest(_figure(step.after) for step in steps)
    for step in steps:
        yield from _entry(step.stage, step.sentence, glyphs, width, _move(step, before, after, glyphs))
    for reading in decision.readings:
        limits = reading.band.thresholds() if reading.band else ()
        if limits:
            yield from _entry("thresholds", described(decision.current or 0, limits), glyphs, width)
    for line in outcome.without_values or () if not any(reading.band for reading in decision.readings) else ():
        yield from _entry("thresholds", line, glyphs, width)
    yield from _sizes(decision, glyphs, width)
    yield from _hpa(decision, glyphs, width)
    for sentence in decision.unknown:
        yield from _entry("unknown", sentence, glyphs, width)
    for problem in outcome.problems:
        source, hint = outcome.source, f" ({problem.hint})" if problem.hint else ""
        where = "" if source is None else f"{source.file}:{source.line_of(problem.where)}: "
        yield from _entry(problem.severity, f"{where}{problem}{hint}", glyphs, width)


def _sizes(decision: Decision, glyphs: Glyphs, width: int) -> Iterator[str]:
    """The requests of each container, before and after."""
    for old, new in zip(decision.sizes, decision.desired_sizes, strict=True):
        amounts = {**briefly(old.requests), **briefly(new.requests)}
        changes = changes_of(old.requests, new.requests)
        parts = [
            f"{resource} {f' {glyphs.arrow} '.join(changes[resource]) if resource in changes else amount}"
            for resource, amount in amounts.items()
        ]
        label = "advised" if decision.by_pod else "size"
        yield from _entry(label, f"{new.container}: {', '.join(parts) or 'no requests'}", glyphs, width)


def _hpa(decision: Decision, glyphs: Glyphs, width: int) -> Iterator[str]:
    """The HPA that is to be written, as a diff."""
    edit = decision.hpa
    if edit is None:
        return
    changes = list(edit.changes())
    if edit.deletes:
        yield from _entry("hpa", f"{edit.name} is to be deleted", glyphs, width)
        return
    if edit.before is None:
        yield from _entry("hpa", f"{edit.name} is to be created", glyphs, width)
    elif not changes:
        yield from _entry("hpa", f"{edit.name} stays as it is", glyphs, width)
    for change in changes:
        was = [] if edit.before is None else [_shown_field(change.before)]
        text = f" {glyphs.arrow} ".join([*was, _shown_field(change.after)])
        yield from _entry("hpa", f"{change.field}: {text}", glyphs, width)


def _shown_field(value: Any) -> str:
    """A number, the target of a metric in percent, or what is written as JSON."""
    if value is None:
        return "unset"
    target = _target_in(value)
    return f"{target} %" if target is not None else json.dumps(value)


def _target_in(metric: Any) -> Any:
    source = metric.get("containerResource") if isinstance(metric, dict) else None
    return source.get("target", {}).get("averageUtilization") if isinstance(source, dict) else None


def _worth_reporting(decision: Decision) -> list[Step]:
    """The steps to show: not that a single proposal is the largest, nor again that nothing could be read."""
    proposals = [reading for reading in decision.readings if reading.proposal is not None]
    said = {"largest"} if len(decision.readings) == 1 else set()
    said |= set() if proposals else {"hold-on-failure"}
    headline = "" if decision.decided else _error(decision).partition(" (")[0]
    return [step for step in decision.steps if step.rule not in said and not (headline and headline in step.sentence)]


def _move(step: Step, before: int, after: int, glyphs: Glyphs) -> str:
    blank = " " * (before + after + len(glyphs.arrow) + 2)
    if step.before is None and step.after is None:
        return blank
    result = glyphs.undecided if step.after is None else str(step.after)
    return f"{_figure(step.before).rjust(before)} {glyphs.arrow} {result.rjust(after)}"


def _entry(label: str, sentence: str, glyphs: Glyphs, width: int, move: str = "") -> Iterator[str]:
    """A labelled sentence; its further lines are aligned with the first."""
    margin = " " * _INDENT + label.ljust(_LABEL) + " "
    start = f"{margin}{move}  " if move else margin
    lines = _wrapped(_clean(sentence), max(30, width - len(start))) or [""]
    yield glyphs.style(start, dim=True) + lines[0]
    yield from (" " * len(start) + line for line in lines[1:])


def _clean(text: str) -> str:
    """One line without control characters: names and messages come from the input."""
    return "".join(c if c.isprintable() else " " if c.isspace() else "?" for c in text)


def _wrapped(text: str, width: int, indent: str = "") -> list[str]:
    """Lines of at most this width; commands and times stay whole."""
    return textwrap.wrap(text, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
