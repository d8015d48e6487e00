"""What `hypot replay` prints and writes."""

import io
import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from itertools import groupby
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple

from hypot.cli.files import write_whole
from hypot.cli.output import to_json
from hypot.cli.replay.numbers import number_lines, numbers_document
from hypot.cli.verdict import Glyphs, Verdict, report
from hypot.core.instant import show_time
from hypot.face.replay.scores import shapes_as_text
from hypot.face.replay.table import fleet_table, fleet_text, table
from hypot.face.replay.value import ASSUMED, ReplayReport
from hypot.kinds.base import count_of
from hypot.kinds.hpa import HPA
from hypot.kinds.hvpa import Hvpa
from hypot.kinds.hvpa.intervals import intervals_of
from hypot.kinds.text.load import Source
from hypot.kinds.tortoise import Tortoise
from hypot.policy.model.decision import show_seconds
from hypot.replay.engine.used_numbers import UsedNumber
from hypot.replay.jobs.comparison import Comparison, Scored, tuned
from hypot.replay.policies.policy import Policy
from hypot.replay.score.ranking import cost_at, keeps_slo, least_of, middle, point_of, verb, verdict, worst
from hypot.replay.score.scorecard import Scores
from hypot.replay.world.file import world_to_dict
from hypot.replay.world.parameters import Span, World
from hypot.replay.world.record import Moment

if TYPE_CHECKING:
    from hypot.core.axes.interval import Interval

# Lateness, in percent, at which grids are compared by cost.
EQUAL_LATENESS = (0.1, 1.0)
NOWHERE = Source("", 0)
# The most names in one sentence, and the most policies that a figure can show distinctly.
NAMES = DRAWN = 7
# The most notes about a fleet.
NOTES = 12
Families = Mapping[str, Sequence[str]]


class ReplayOutcome(NamedTuple):
    """A whole replay: each policy on each trace, and what it was based on."""

    comparisons: Sequence[Comparison]
    policies: Sequence[Policy]
    # The policies of the input, each with its variants by name.
    families: Families
    world: World
    numbers: Sequence[UsedNumber]


def as_text(outcome: ReplayOutcome, glyphs: Glyphs, width: int, *, wide: bool) -> str:
    """What the numbers are based on, the table, and its summary as text."""
    comparisons, policies, families, world, numbers = outcome
    style = glyphs.style if glyphs.colour else None
    based = [line for lines in [number_lines(numbers, policies, width)] if lines for line in (*lines, "")]
    if len(comparisons) > 1:
        fleet = {one.workload: one.scores for one in comparisons}
        heads = textwrap.wrap(_fleet_head(comparisons), width, break_on_hyphens=False)
        lines = fleet_table(fleet, notes=[shapes_as_text(world.shapes), *_all_notes(comparisons)], style=style)
        sentences = [fleet_verdict(comparisons), *fleet_text(fleet), *savings(comparisons, policies)]
        message = [line for sentence in sentences for line in textwrap.wrap(sentence, width, break_on_hyphens=False)]
        return "\n".join([*heads, "", *based, *lines, "", *message]) + "\n"
    one = comparisons[0]
    head = f"{one.workload}: {show_time(one.start)} to {show_time(one.end)}, from {one.source}"
    notes = [shapes_as_text(world.shapes), *one.notes]
    sentences = [*_message(one, families, world), *savings(comparisons, policies)]
    message = [line for sentence in sentences for line in textwrap.wrap(sentence, width)]
    lines = [head, "", *based, *table(one.scores, notes=notes, wide=wide, style=style), "", *message]
    return "\n".join(lines) + "\n"


def _fleet_head(comparisons: Sequence[Comparison]) -> str:
    """Which workloads, when, and where from."""
    names, sources = (
        list(dict.fromkeys(each)) for each in zip(*((one.workload, one.source) for one in comparisons), strict=True)
    )
    first, last = min(one.start for one in comparisons), max(one.end for one in comparisons)
    return f"{len(names)} workloads, {some(names)}: {show_time(first)} to {show_time(last)}, from {some(sources)}"


def _message(one: Comparison, families: Families, world: World) -> Iterator[str]:
    scoring = world.scoring
    if scoring.skip or scoring.tune:
        share = f"{scoring.tune:.0%} of the trace" if scoring.tune else ""
        time = show_seconds(scoring.skip) if scoring.skip else ""
        yield f"Not judged: the first {' and the first '.join(part for part in (share, time) if part)}."
    yield verdict(one.policies, one.prices)
    best = sorted(one.front, key=list(one.policies).index)
    if len(one.policies) > 1:
        yield f"On the Pareto front, where nothing is both cheaper and less late: {some(best)}."
    for family, late, cost in equal_costs(one, families):
        yield f"{family} at {late:g} % late + lost: {cost:.2f} $."
    for family, name in tuned(one.judged, families).items():
        part = f"on the first {world.scoring.tune:.0%} of the trace, which is not judged"
        yield f"{family}: {part}, the best by SLO and then by price is {name}."
    if world.scoring.windows > 1:
        yield from _over_windows(one)


def savings(comparisons: Sequence[Comparison], policies: Sequence[Policy]) -> Iterator[str]:
    """What each Tortoise requests less than each HPA of the same target, which is replayed as it was written."""
    for policy, by_hand in _by_hand(policies):
        both = [(one.policies[policy.name].cpu_hours, one.policies[by_hand].cpu_hours) for one in comparisons]
        hours = sum(before - now for now, before in both if now is not None and before is not None)
        total = sum(before for _, before in both if before is not None)
        share = f" ({100 * abs(hours) / total:.1f} %)" if total else ""
        if round(abs(hours), 1) == 0:
            yield f"{policy.name} requests as much as {by_hand}, as written by hand."
            continue
        saved = "saves" if hours >= 0 else "requests more:"
        yield f"{policy.name} {saved} {abs(hours):,.1f} core-hours{share} against {by_hand}, as written by hand."


def _by_hand(policies: Sequence[Policy]) -> Iterator[tuple[Policy, str]]:
    """Each policy with a Tortoise, and the name of each that is an HPA of the same target and no variant of a grid."""
    for policy in policies:
        targets = [_target(one) for one in policy.autoscalers if isinstance(one, Tortoise)]
        for other in policies:
            is_written = len(other.autoscalers) == 1 and not other.family
            if is_written and isinstance(other.autoscalers[0], HPA) and _target(other.autoscalers[0]) in targets:
                yield policy, other.name


def _target(autoscaler: HPA | Tortoise) -> tuple[str | None, str | None, str | None]:
    ref = autoscaler.target
    return (None, None, None) if ref is None else (ref.kind, ref.name, ref.group)


def some(names: Sequence[str]) -> str:
    """The first few names, and how many more there are."""
    more = f" and {len(names) - NAMES} more" if len(names) > NAMES else ""
    return f"{', '.join(names[:NAMES])}{more}"


def fleet_verdict(comparisons: Sequence[Comparison]) -> str:
    """Which policies cost least in total, of those that keep the SLO most often."""
    kept, cost = Counter[str](), Counter[str]()
    for one in comparisons:
        for name, scores in one.policies.items():
            kept[name] += keeps_slo(scores)
            cost[name] += scores.cost or 0.0  # type: ignore[assignment]
    most, total = max(kept[name] for name in cost), len(comparisons)
    often = {name: price for name, price in cost.items() if kept[name] == most}
    best, cheapest = least_of(often), least_of(cost)
    price = f"${cost[best[0]]:.2f} in total"
    if not most:
        nobody = "No policy keeps" if len(cost) > 1 else f"{best[0]} does not keep"
        least = f"{verb(best, 'cost')} least: {price}" if 1 < len(cost) != len(best) else f"the cost is {price}"
        return f"{nobody} the SLO on any of {total} workloads; {least}."
    where = f"all {total} workloads" if most == total else f"{most} of {total} workloads"
    sentence = f"{verb(best, 'keep')} the SLO on {where}"
    if len(best) < len(often):
        sentence += f", as often as any, and {'costs' if len(best) == 1 else 'cost'} least of those"
    rest = ""
    if cheapest[0] not in often:
        of_it = f"on {kept[cheapest[0]]}" if kept[cheapest[0]] else "on none"
        rest = f" {cheapest[0]} costs ${cost[cheapest[0]]:.2f} and keeps it {of_it}."
    return f"{sentence}: {price}{'' if len(best) == 1 else ' each'}.{rest}"


def _over_windows(one: Comparison) -> Iterator[str]:
    for judged in one.judged:
        mid, bad = middle(judged.windows), worst(judged.windows)
        yield (
            f"{judged.policy} over {count_of(len(judged.windows), 'window')}: "
            f"cost {_shown(mid.cost)} $ (worst {_shown(bad.cost)}), "
            f"late {_shown(mid.late, 3)} % (worst {_shown(bad.late, 3)})."
        )


def _shown(value: float | None, digits: int = 2) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def equal_costs(one: Comparison, families: Families) -> Iterator[tuple[str, float, float]]:
    """The cost of each grid at equal lateness, if its curve reaches that."""
    for family, members in families.items():
        if len(members) < 2:
            continue
        points = [point_of(one.policies[name]) for name in members]
        curve = [point for point in points if point is not None]
        for late in EQUAL_LATENESS:
            cost = cost_at(curve, late)
            if cost is not None:
                yield family, late, cost


def _all_notes(comparisons: Sequence[Comparison]) -> list[str]:
    """The notes, most frequent first, and only a few of them: gaps differ in every trace."""
    concerned: dict[str, list[str]] = {}
    for one in comparisons:
        for note in one.notes:
            concerned.setdefault(note, []).append(one.workload)
    by_frequency = sorted(concerned.items(), key=lambda item: -len(item[1]))
    notes = [f"{note}{'' if len(names) == len(comparisons) else f' ({some(names)})'}" for note, names in by_frequency]
    if len(notes) <= NOTES:
        return notes
    return [*notes[:NOTES], f"and {count_of(len(notes) - NOTES, 'more note')}: -o json has those of every workload"]


def as_data(form: str, outcome: ReplayOutcome) -> bytes:
    if form == "json":
        return to_json(document(outcome)).encode("utf-8", "replace")
    import polars as pl  # noqa: PLC0415  only if a table is written

    rows = [(one.workload, name, scores) for one in outcome.comparisons for name, scores in one.scores.items()]
    columns: dict[str, list[Any]] = {"workload": [row[0] for row in rows], "policy": [row[1] for row in rows]}
    columns |= {column.name: [getattr(row[2], column.name) for row in rows] for column in fields(Scores)}
    frame = pl.DataFrame(columns, strict=False)
    if form == "csv":
        return frame.write_csv().encode()
    written = io.BytesIO()
    frame.write_parquet(written)
    return written.getvalue()


def document(outcome: ReplayOutcome) -> dict[str, Any]:
    """What -o json prints; replay.schema.json describes it."""
    comparisons, policies, families, world, numbers = outcome
    return {
        "world": world_to_dict(world),
        "numbers": numbers_document(numbers),
        "shapes": shapes_as_text(world.shapes),
        "policies": [
            {
                "name": policy.name,
                "autoscalers": [{"kind": a.KIND, "name": a.name} for a in policy.autoscalers],
                "notes": list(policy.notes),
            }
            for policy in policies
        ],
        "workloads": [_workload(one, families) for one in comparisons],
    }


def _workload(one: Comparison, families: Families) -> dict[str, Any]:
    return {
        "name": one.workload,
        "source": one.source,
        "from": show_time(one.start),
        "to": show_time(one.end),
        "notes": list(one.notes),
        "verdict": verdict(one.policies, one.prices),
        "front": sorted(one.front),
        "tuned": tuned(one.judged, families),
        "equalLateness": [{"policy": f, "late": late, "cost": cost} for f, late, cost in equal_costs(one, families)],
        "scores": {name: scores.to_dict() for name, scores in one.scores.items()},
        "windows": {judged.policy: [scores.to_dict() for scores in judged.windows] for judged in one.judged},
    }


def report_of(outcome: ReplayOutcome) -> ReplayReport:
    comparisons, policies, families, world, numbers = outcome
    settings, shapes = world_to_dict(world), shapes_as_text(world.shapes)
    origins = [(one.key, one.text, one.source or ASSUMED) for one in numbers]
    if len(comparisons) > 1:
        fleet = {one.workload: one.scores for one in comparisons}
        names = list(comparisons[0].scores)
        mid = {name: middle([one.scores[name] for one in comparisons]) for name in names}
        return ReplayReport(
            f"{len(comparisons)} workloads",
            fleet_verdict(comparisons),
            mid,
            settings=settings,
            shapes=shapes,
            notes=tuple(_all_notes(comparisons)),
            numbers=origins,
            fleet=fleet,
        )
    one = comparisons[0]
    intervals: dict[str, Sequence[Interval]] = {}
    for policy in policies:
        for autoscaler in policy.autoscalers:
            if isinstance(autoscaler, Hvpa) and not policy.weights:
                intervals[policy.name] = intervals_of(autoscaler, policy.workload.container, "cpu")
    runs = [judged.run for judged in _in_order(one) if judged.run is not None]
    need = one.judged[0].needed
    return ReplayReport(
        one.workload,
        " ".join(_message(one, families, world)),
        {**{run.policy: one.scores[run.policy] for run in runs}, **one.scores},
        tuple(runs),
        None if need is None else need.demand,
        intervals,
        settings,
        shapes,
        one.notes,
        origins,
    )


def _in_order(one: Comparison) -> list[Scored]:
    """In the given order; if there are too many to draw, the Pareto front first, then by price."""
    if len(one.judged) <= DRAWN:
        return list(one.judged)
    front = one.front
    return sorted(one.judged, key=lambda judged: (judged.policy not in front, judged.scores.price or inf))


def write_reports(paths: Sequence[str], outcome: ReplayOutcome) -> None:
    if not paths:
        return
    report = report_of(outcome)
    for path in paths:
        if path.lower().endswith((".html", ".htm")):
            from hypot.face.replay.report import page  # noqa: PLC0415  plotly, only if a page is written

            write_whole(path, page(report).encode("utf-8", "replace"))
        else:
            _draw(path, report)


def _draw(path: str, report: ReplayReport) -> None:
    """Write the overview to the given file, and every other figure next to it."""
    from hypot.face.replay.picture import figures_of, picture  # noqa: PLC0415  matplotlib, only for pictures

    form, stem = path[-3:].lower(), path[:-4]
    for figure in figures_of(report):
        write_whole(path if figure == "overview" else f"{stem}-{figure}.{form}", picture(report, figure, form))


def explained(
    comparisons: Sequence[Comparison], policies: Sequence[Policy], reported: Span, glyphs: Glyphs, width: int
) -> str:
    """The decisions around a moment with their steps, and the changes before and after it."""
    lines: list[str] = []
    named = {policy.name: policy for policy in policies}
    for judged in comparisons[0].judged:
        if judged.run is None:
            continue
        policy, moments = named[judged.policy], judged.run.moments
        source = next((one for one in policy.sources if one is not None), NOWHERE)
        lines.append(glyphs.style(judged.policy, bold=True))
        before = [moment for moment in moments if moment.at < reported.start][-1:]
        after = [moment for moment in moments if moment.at > reported.end][:1]
        around = [moment for moment in moments if reported.start <= moment.at <= reported.end]
        if not around:
            lines.append("  has no autoscaler" if not policy.autoscalers else "  decides nothing at this time")
        for word, some in (("the last change before: ", before), ("", around), ("the next change after: ", after)):
            for when, moment in _folded(some):
                lines.append(f"  {word}{when}")
                lines += report([Verdict(moment.decision, source)], glyphs, width)
    return "\n".join(lines).rstrip("\n") + "\n"


def _folded(moments: Sequence[Moment]) -> Iterator[tuple[str, Moment]]:
    """Consecutive equal decisions, combined into one."""
    for _, group in groupby(moments, key=lambda moment: [step.sentence for step in moment.decision.steps]):
        alike = list(group)
        until = f" to {show_time(alike[-1].at)}, the same {len(alike)} times" if len(alike) > 1 else ""
        yield f"{show_time(alike[0].at)}{until}", alike[-1]
