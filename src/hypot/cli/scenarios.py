"""hypot scenarios: reproduces common problems, each with a bad and a good policy."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from hypot.cli.bar import bar
from hypot.cli.ending import heeding
from hypot.cli.files import BadInput
from hypot.cli.options import Word
from hypot.cli.output import to_json
from hypot.cli.terminal import safe_for
from hypot.cli.verdict import Glyphs, glyphs_for
from hypot.kinds.base import count_of

if TYPE_CHECKING:
    from hypot.replay.scenario.file import Case
    from hypot.replay.scenario.scenarios import Result

_FORMS = ["table", "json", "markdown"]
_COLOURS = {"passed": "up", "failed": "undecided", "waiting": "down"}
# Names with one of these words already contain their unit.
_SAYS_IT = ("hours", "minutes", "cores")
_HEADS = ("", "scenario", "", "figure", "bad", "good", "pair", "bar")
_NUMBERS = {"bad", "good", "pair"}


@click.command("scenarios")
@click.argument("ids", nargs=-1, metavar="[S1]...")
@click.option(
    "--folder",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Your own scenarios: a folder for each, with a scenario.yaml.",
)
@click.option("--list", "only_list", is_flag=True, help="Print their names and titles, and run nothing.")
@click.option("--quick", is_flag=True, help="Run the reduced form, as the tests do.")
@click.option("-o", "--output", type=Word(_FORMS), default="table", show_default=True)
def command(ids: tuple[str, ...], folder: Path | None, output: str, *, only_list: bool, quick: bool) -> int:
    """Reproduce common problems: a bad policy, and a good one for comparison.

    Without a name all scenarios run, which takes some minutes.

    Exit status: 0 all passed or wait for a feature that hypot does not have yet, 1 some failed, 2 bad usage or input.
    """
    from hypot.replay.scenario import scenarios as all_of_them  # noqa: PLC0415  numpy, only for this command
    from hypot.replay.scenario.file import ScenarioError  # noqa: PLC0415

    try:
        wanted = all_of_them.chosen(
            all_of_them.read_scenarios(folder or all_of_them.default_folder(), quick=quick), ids
        )
        if only_list:
            click.echo("\n".join(f"{one.id:<6} {one.title}" for one in wanted))
            return 0
        with bar("scenarios", len(wanted)) as progress, heeding():
            results = all_of_them.run_scenarios(wanted, progress.at)
    except ScenarioError as error:
        raise BadInput(str(error)) from error
    if output == "json":
        click.echo(to_json([result.to_dict() for result in results]).encode("utf-8", "replace"), nl=False)
        for line in broken(results):
            click.echo(line, err=True)
    elif output == "markdown":
        click.echo("\n".join(as_markdown(results)))
    else:
        glyphs = glyphs_for(sys.stdout)
        text = "\n".join(as_table(results, glyphs))
        click.echo(safe_for(sys.stdout, text), color=glyphs.colour)
    return 1 if any(result.status == "failed" for result in results) else 0


class FigureRow(NamedTuple):
    """One figure of one case; cells equal to the row above are empty."""

    id: str
    title: str
    status: str
    figure: str
    bad: str = ""
    good: str = ""
    pair: str = ""
    bar: str = ""


def rows_of(result: "Result") -> Iterator[FigureRow]:
    """All deciding figures of a scenario; if it has several cases, each case's first row has its name."""
    scenario = result.scenario
    head = FigureRow(scenario.id, scenario.title, result.status, "")
    if scenario.waits:
        yield head._replace(figure=f"waits for {scenario.waits}")
        return
    several = len(scenario.cases) > 1
    if several:
        yield head
    for case in scenario.cases:
        for i, (name, bad, good, pair, limits) in enumerate(_figures(result, case)):
            first = head if not several else FigureRow("", f"  {case.name}", "", "")
            start = first if i == 0 else FigureRow("", "", "", "")
            yield start._replace(figure=name.replace("_", " "), bad=bad, good=good, pair=pair, bar=limits)


def _figures(result: "Result", case: "Case") -> Iterator[tuple[str, str, str, str, str]]:
    """Each figure with its bar; a condition is listed at the first figure that it names."""
    from hypot.replay.scenario.scenarios import unit  # noqa: PLC0415  numpy, only for this command

    bad, good, pair = result.bad[case.name], result.good[case.name], result.pair.get(case.name)
    for name in bad:
        limits = [str(one) for one in case.bar if next((n for n in good if n in one.names()), "") == name]
        counted = unit(result.scenario, case, name)
        label = name if not counted or any(word in name for word in _SAYS_IT) else f"{name}, {counted}"
        by_pair = "" if pair is None else shown(pair[name])
        yield label, shown(bad[name]), shown(good[name]), by_pair, ", ".join(limits).replace("_", " ")


def shown(value: float | None) -> str:
    """The value with three significant digits and no exponent."""
    if value is None:
        return "-"
    if abs(value) >= 100 or value == int(value):
        return f"{value:.0f}"
    return f"{value:.3g}" if abs(value) >= 0.001 or value == 0 else "<0.001"


def as_table(results: Sequence["Result"], glyphs: Glyphs) -> Iterator[str]:
    """One line per figure, a blank line between scenarios, and the failed conditions below."""
    blocks = [list(rows_of(result)) for result in results]
    # Without a pair there is no column for it.
    shown_heads = [i for i, head in enumerate(_HEADS) if head != "pair" or any(result.pair for result in results)]
    widths = [max(len(row[i]) for block in blocks for row in [_HEADS, *block]) for i in range(len(_HEADS))]
    yield glyphs.style(_line(_HEADS, widths, shown_heads), bold=True)
    for result, block in zip(results, blocks, strict=True):
        yield ""
        for i, row in enumerate(block):
            line = _line(row, widths, shown_heads)
            status = result.status
            yield line.replace(status, glyphs.style(status, _COLOURS[status], bold=True), 1) if i == 0 else line
    yield ""
    yield from broken(results)
    yield summary(results)


def broken(results: Sequence["Result"]) -> Iterator[str]:
    """The failed conditions, and the actual values."""
    for result in results:
        yield from (f"{result.scenario.id}: {label}" for label in result.broken)


def _line(row: Sequence[str], widths: Sequence[int], places: Iterable[int]) -> str:
    cells = [row[i].rjust(widths[i]) if _HEADS[i] in _NUMBERS else row[i].ljust(widths[i]) for i in places]
    return "  ".join(cells).rstrip()


def summary(results: Sequence["Result"]) -> str:
    counts = [(word, sum(result.status == word for result in results)) for word in _COLOURS]
    reported = ", ".join(f"{count} {word}" for word, count in counts if count)
    return f"{count_of(len(results), 'scenario')}: {reported}."


def as_markdown(results: Sequence["Result"]) -> Iterator[str]:
    """The same as Markdown for the docs, followed by the description of each scenario."""
    yield "| | scenario | | figure | bad | good | pair | bar |"
    yield "| --- | --- | --- | --- | ---: | ---: | ---: | --- |"
    for result in results:
        for row in rows_of(result):
            limits = f"`{row.bar}`" if row.bar else ""
            bold = f"**{row.id}**" if row.id else ""
            cells = (bold, row.title.strip(), row.status, row.figure, row.bad, row.good, row.pair, limits)
            yield f"| {' | '.join(cells)} |"
    for result in results:
        yield from _section(result)


def _section(result: "Result") -> Iterator[str]:
    scenario = result.scenario
    yield from ("", f"## {scenario.id}: {scenario.title}", "", scenario.story)
    if scenario.differs:
        yield from ("", "Differences from the specification:", scenario.differs)
    where = f"`scenarios/{scenario.folder.name}`"
    yield from ("", f"It waits for {scenario.waits}; {where}." if scenario.waits else f"In {where}.")
