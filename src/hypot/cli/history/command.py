"""hypot history: the week as each Tortoise learned it."""

import sys
from typing import Any

import click

from hypot.cli.history import imported
from hypot.cli.history.shown import as_dict, lines_of
from hypot.cli.history.tortoises import TortoiseEntry, read_tortoises
from hypot.cli.options import Word, chosen_by_name, read_settings, settings_named
from hypot.cli.output import to_json
from hypot.cli.plot_file import check_single, plot_named, write_plot
from hypot.cli.statefile import read_state
from hypot.cli.terminal import safe_for
from hypot.cli.verdict import glyphs_for
from hypot.face.history.charts import LearnedWeek
from hypot.face.style import printable
from hypot.policy.continuity import Remembered
from hypot.policy.model.learned import Learned
from hypot.policy.tortoise.needs import unit_size
from hypot.policy.tortoise.week import bounds_rule, slots_learned


@click.group("history", invoke_without_command=True, subcommand_metavar="[import ...]")
@click.option(
    "-f", "--filename", "paths", multiple=True, metavar="FILE|DIR|-", help="Tortoises, their targets and HPAs."
)
@click.option("--state", "state_file", metavar="FILE", help="What hypot decide or hypot history import wrote.")
@settings_named
@click.option("-n", "--namespace", help="Only the Tortoises in this namespace.")
@click.option("--name", help="Only the Tortoises with this name.")
@plot_named("the week")
@click.option("-o", "--output", type=Word(["text", "json"]), default="text", show_default=True)
@click.pass_context
def command(
    context: click.Context,
    paths: tuple[str, ...],
    state_file: str | None,
    settings_file: str | None,
    namespace: str | None,
    name: str | None,
    plot: str | None,
    output: str,
) -> int:
    """Show what Tortoises learned, slot by slot.

    `hypot history import` lets them learn from recorded usage.

    Exit status: 0 success, 1 a Tortoise learned nothing yet, 2 bad usage or input.
    """
    if context.invoked_subcommand is not None:
        if paths or state_file or settings_file or namespace or name or plot:
            raise click.UsageError(f"options of {context.invoked_subcommand} belong after it")
        return 0
    if not paths or not state_file:
        raise click.UsageError("name the Tortoises with -f and what they learned with --state")
    found = read_tortoises(paths, read_settings(settings_file))
    entries = chosen_by_name("Tortoise", found, lambda entry: entry.tortoise, namespace, name)
    states = read_state(state_file)
    shown = [(entry, week) for entry in entries for week in _weeks(entry, states.get(entry.key))]
    known = [week for _, week in shown if isinstance(week, LearnedWeek)]
    learned = {entry.key for entry, week in shown if isinstance(week, LearnedWeek)}
    if plot is not None and known:
        write_plot(plot, lambda: _page(known), lambda form: _picture(known, form))
    _print(shown, output)
    if plot is not None:
        click.echo(f"drawn: {plot}" if known else f"{plot}: not drawn, because nothing was learned", err=True)
    return 0 if len(learned) == len(entries) else 1


command.add_command(imported.command)


def _weeks(entry: TortoiseEntry, remembered: Remembered | None) -> list[LearnedWeek | str]:
    """What a Tortoise learned of each place that its replicas follow, or why there is nothing to show."""
    past = None if remembered is None else remembered.state.tortoise
    if entry.fault:
        return [entry.fault]
    if past is None:
        return ["the state has nothing about it: let hypot decide --state or hypot history import write it"]
    several = len(past.learned) > 1
    at = None if remembered is None else remembered.at
    return [_week(entry, learned, at, several=several) for learned in past.learned]


def _week(entry: TortoiseEntry, learned: Learned, at: float | None, *, several: bool) -> LearnedWeek | str:
    container, _, resource = learned.place.rpartition("/")
    what = f"{resource} of {container}"
    size = entry.sizes.get((container, resource), 0)
    if not size:
        return f"it learned what it needs of {what}, which its pods do not request any more"
    if learned.layout != entry.layout:
        learned = learned.relaid(entry.layout, learned.since if at is None else at)
    unit = unit_size(resource, size)
    slots = slots_learned(learned, unit, bounds_rule(entry.counts, entry.own))
    if not any(slot.needed for slot in slots):
        return f"it learned nothing{f' of {what}' if several else ''} yet: a slot counts once it is over"
    name = f"{entry.name}, {what}" if several else entry.name
    return LearnedWeek(name, str(entry.target), learned, unit, slots)


def _page(weeks: list[LearnedWeek]) -> str:
    from hypot.face.history.plot import page  # noqa: PLC0415  plotly, only for drawing

    return page(weeks)


def _picture(weeks: list[LearnedWeek], form: str) -> bytes:
    check_single("Tortoise", [week.name for week in weeks])
    from hypot.face.history.picture import picture  # noqa: PLC0415  matplotlib, only for pictures

    return picture(weeks[0], form)


def _print(shown: list[tuple[TortoiseEntry, LearnedWeek | str]], output: str) -> None:
    if output == "json":
        document: dict[str, Any] = {"tortoises": [as_dict(entry, week) for entry, week in shown]}
        click.echo(to_json(document).encode("utf-8", "replace"), nl=False)
        return
    glyphs = glyphs_for(sys.stdout)
    lines: list[str] = []
    for entry, week in shown:
        name = glyphs.style(printable(entry.name), bold=True)
        lines += [f"{name}  Tortoise {glyphs.arrow} {printable(str(entry.target))}", *lines_of(week, glyphs), ""]
    click.echo(safe_for(sys.stdout, "\n".join(lines)), nl=False, color=glyphs.colour)
