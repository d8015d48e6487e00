"""hypot intervals: replica count and pod size for each level of total demand, as a table and as charts."""

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import click

from hypot.cli.files import BadInput, manifests_named, read_objects
from hypot.cli.options import Word, chosen_by_name
from hypot.cli.output import to_json
from hypot.cli.plot_file import check_single, plot_named, write_plot
from hypot.cli.terminal import safe_for
from hypot.cli.verdict import Glyphs, glyphs_for
from hypot.core.amount import readable
from hypot.face.intervals.table import UNITS, CountRow, IntervalTable, figure, named, notes_of, silent, tables_of
from hypot.face.style import printable
from hypot.kinds.base import Ref
from hypot.kinds.hvpa import Hvpa
from hypot.kinds.problem import Problem
from hypot.kinds.text.load import LoadedFiles, Source
from hypot.kinds.text.write import to_yaml

_GROUPS = frozenset(version.partition("/")[0] for version in (Hvpa.API_VERSION, *Hvpa.FORMER_VERSIONS))
_LEGEND = (
    'Above the total "up to", the count goes up to the next one. Below the total "down to", it may go down,',
    "but not while each pod would need a larger size for that. In between, the size of the pods changes.",
)
_WEIGHTS = "weightBasedScalingIntervals has no effective intervals; hypot lint says why, and prints an interval form"


@dataclass(frozen=True, slots=True)
class _HvpaEntry:
    """An Hvpa of the input, its place in the input, and its problems."""

    hvpa: Hvpa
    source: Source
    problems: tuple[Problem, ...]
    # Empty if there are no intervals, or if the manifest has errors.
    tables: tuple[IntervalTable, ...]

    @classmethod
    def of(cls, loaded: LoadedFiles) -> "_HvpaEntry":
        hvpa = Hvpa.from_dict(loaded.data)
        problems = hvpa.problems()
        sound = not hvpa.is_weight_based and all(problem.severity != "error" for problem in problems)
        return cls(hvpa, loaded.source, problems, tables_of(hvpa) if sound else ())

    @property
    def name(self) -> str:
        return f"{self.hvpa.namespace}/{self.hvpa.name}"


@click.command("intervals")
@manifests_named
@click.option("-n", "--namespace", help="Only the Hvpas in this namespace.")
@click.option("--name", help="Only the Hvpas with this name.")
@plot_named("charts")
@click.option("-o", "--output", type=Word(["text", "json", "yaml"]), default="text", show_default=True)
def command(paths: tuple[str, ...], namespace: str | None, name: str | None, plot: str | None, output: str) -> int:
    """Show replica count and pod size for each level of total demand.

    Exit status: 0 success, 1 a manifest has errors or no intervals, 2 bad usage or input.
    """
    loaded, ignored = read_objects(paths, _is_hvpa)
    entries = chosen_by_name("Hvpa", _entries(loaded, ignored), lambda entry: entry.hvpa, namespace, name)
    fine = all(entry.tables for entry in entries)
    if plot is not None and fine:
        hvpas = [entry.hvpa for entry in entries]
        write_plot(plot, lambda: _page(hvpas), lambda form: _picture(hvpas, form))
    if output == "text":
        _print_text(entries)
    else:
        document = {"hvpas": [_as_dict(entry) for entry in entries]}
        click.echo((to_json if output == "json" else to_yaml)(document).encode("utf-8", "replace"), nl=False)
    if plot is not None and fine:
        click.echo(f"drawn: {plot}", err=True)
    if plot is not None and not fine:
        click.echo(f"{plot}: not drawn, because not every Hvpa has valid intervals", err=True)
    return 0 if fine else 1


def _is_hvpa(api_version: str, kind: str) -> bool:
    return kind == Hvpa.KIND and api_version.partition("/")[0] in _GROUPS


def _entries(loaded: list[LoadedFiles], ignored: Counter[str]) -> list[_HvpaEntry]:
    """Every Hvpa; of several with one name the last, as with kubectl apply."""
    if not loaded:
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(ignored.items()))
        raise BadInput(f"no Hvpa in the input: {f'found only {kinds}' if kinds else 'there is nothing in it'}")
    found: dict[str, _HvpaEntry] = {}
    for one in loaded:
        entry = _HvpaEntry.of(one)
        if entry.name in found:
            places = " and ".join(f"{source.file}:{source.line}" for source in (found[entry.name].source, one.source))
            click.echo(f"{entry.name} is in the input twice, {places}: the last one counts", err=True)
        found[entry.name] = entry
    return list(found.values())


def _names(entries: Sequence[_HvpaEntry]) -> str:
    return ", ".join(sorted(entry.name for entry in entries))


def _page(hvpas: list[Hvpa]) -> str:
    from hypot.face.intervals.plot import page  # noqa: PLC0415  the rules and plotly, only for drawing

    return page(hvpas)


def _picture(hvpas: list[Hvpa], form: str) -> bytes:
    check_single("Hvpa", [f"{hvpa.namespace}/{hvpa.name}" for hvpa in hvpas])
    if not any(table.rows for table in tables_of(hvpas[0])):
        raise BadInput(f"{hvpas[0]}: nothing to draw, because it sizes no container")
    from hypot.face.intervals.picture import picture  # noqa: PLC0415  matplotlib, only for pictures

    return picture(hvpas[0], form)


def _print_text(entries: list[_HvpaEntry]) -> None:
    glyphs = glyphs_for(sys.stdout)
    lines = [line for entry in entries for line in _lines(entry, glyphs)]
    if any(table.rows for entry in entries for table in entry.tables):
        lines += _LEGEND
    text = "\n".join(lines).rstrip("\n") + "\n"
    found = _findings(entries, colour=glyphs.colour)
    click.echo(safe_for(sys.stdout, f"{text}\n{found}" if found else text), nl=False, color=glyphs.colour)


def _findings(entries: list[_HvpaEntry], *, colour: bool) -> str:
    """All problems, as `hypot lint` prints them."""
    if not any(entry.problems for entry in entries):
        return ""
    from hypot.cli.lint import as_text  # noqa: PLC0415  only if something is wrong
    from hypot.lint.report import Finding, LintReport  # noqa: PLC0415
    from hypot.lint.rule_list import rule_of  # noqa: PLC0415

    found = [
        Finding(
            problem.rule,
            problem.severity,
            entry.source.file,
            entry.source.line_of(problem.where),
            Hvpa.API_VERSION,
            Hvpa.KIND,
            entry.hvpa.namespace,
            entry.hvpa.name,
            problem.field,
            str(problem).removeprefix(f"{problem.field}: "),
            problem.hint or rule_of(problem.rule).fix,
        )
        for entry in entries
        for problem in entry.problems
    ]
    found.sort(key=lambda one: (one.file, one.line or 0))
    files = len({entry.source.file for entry in entries})
    return as_text(LintReport(tuple(found), len(entries), files, len(entries), 0), colour=colour)


def _lines(entry: _HvpaEntry, glyphs: Glyphs) -> Iterator[str]:
    target = entry.hvpa.target if isinstance(entry.hvpa.target, Ref) else Ref()
    name = glyphs.style(printable(entry.name), bold=True)
    yield f"{name}  Hvpa {glyphs.arrow} {printable(str(target))}"
    if not entry.tables:
        yield f"    {_WEIGHTS if entry.hvpa.is_weight_based else 'not shown: the manifest has errors'}"
    for table in entry.tables:
        yield ""
        message = printable(named(table.containers, alone=len(entry.tables) == 1))
        silence = silent(table)
        yield f"    {message}: {silence}" if silence and not table.rows else f"    {message}"
        yield from (f"    {line}".rstrip() for line in _grid(table, glyphs))
        if silence and table.rows:
            yield f"    {silence}"
    yield ""


class _Column(NamedTuple):
    head: str
    cells: list[str]

    @property
    def width(self) -> int:
        return max(map(len, [self.head, *self.cells]))


def _grid(table: IntervalTable, glyphs: Glyphs) -> Iterator[str]:
    """The table of the original proposal: per pod and total, up and down, side by side for each resource."""
    if not table.rows:
        return
    counts = _Column("replicas", [str(row.replicas) for row in table.rows])
    blank = " " * counts.width
    top, middle, heads = blank, blank, counts.head.rjust(counts.width)
    bodies = [cell.rjust(counts.width) for cell in counts.cells]
    for resource in table.resources:
        up, down = _pair(table.rows, resource, up=True), _pair(table.rows, resource, up=False)
        spans = [sum(column.width for column in pair) + 2 for pair in (up, down)]
        top += "  " + f" {resource}, {UNITS[resource][0]} ".center(sum(spans) + 2, "-")
        middle += "  " + " up to ".center(spans[0], "-") + "  " + " down to ".center(spans[1], "-")
        for column in (*up, *down):
            heads += "  " + column.head.rjust(column.width)
            bodies = [f"{b}  {cell.rjust(column.width)}" for b, cell in zip(bodies, column.cells, strict=True)]
    yield from (glyphs.style(line, dim=True) for line in (top, middle))
    yield glyphs.style(heads, bold=True)
    for row, body in zip(table.rows, bodies, strict=True):
        notes = "; ".join(notes_of(row))
        yield f"{body}  {glyphs.style(notes, dim=True)}" if notes else body


def _pair(rows: Sequence[CountRow], resource: str, *, up: bool) -> tuple[_Column, _Column]:
    each = [row.up_to_per_pod(resource) if up else row.down_to_per_pod(resource) for row in rows]
    all_of_them = [row.reaches[resource].up_to if up else row.reaches[resource].down_to for row in rows]
    return (
        _Column("per pod", ["-" if amount is None else figure(resource, amount) for amount in each]),
        _Column("total", [figure(resource, amount) for amount in all_of_them]),
    )


def _as_dict(entry: _HvpaEntry) -> dict[str, Any]:
    """One entry of what -o json and -o yaml print; intervals.schema.json describes it."""
    hvpa, source = entry.hvpa, entry.source
    target = hvpa.target if isinstance(hvpa.target, Ref) else Ref()
    return {
        "apiVersion": hvpa.API_VERSION,
        "kind": hvpa.KIND,
        "namespace": hvpa.namespace,
        "name": hvpa.name,
        "file": source.file,
        "line": source.line,
        "target": {"apiVersion": target.api_version, "kind": target.kind, "name": target.name},
        "weightBased": hvpa.is_weight_based,
        "containers": [_table_as_dict(table) for table in entry.tables],
        "problems": [_problem_as_dict(problem, source) for problem in entry.problems],
    }


def _table_as_dict(table: IntervalTable) -> dict[str, Any]:
    return {
        "names": list(table.containers),
        "mode": "Off" if table.off else "Auto",
        "unsized": list(table.unsized),
        "intervals": [
            {"replicas": row.replicas, **{resource: _reach_as_dict(row, resource) for resource in table.resources}}
            for row in table.rows
        ],
    }


def _reach_as_dict(row: CountRow, resource: str) -> dict[str, Any]:
    reach = row.reaches[resource]
    return {
        "upTo": _amounts(resource, row.up_to_per_pod(resource), reach.up_to),
        "downTo": _amounts(resource, row.down_to_per_pod(resource), reach.down_to),
        "fixed": readable(resource, reach.fixed) if reach.fixed else None,
        "atMinAllowed": reach.at_least,
    }


def _amounts(resource: str, per_pod: float | None, total: int) -> dict[str, str | None]:
    each = None if per_pod is None else readable(resource, round(per_pod))
    return {"perPod": each, "total": readable(resource, total)}


def _problem_as_dict(problem: Problem, source: Source) -> dict[str, Any]:
    return {**problem.to_dict(), "file": source.file, "line": source.line_of(problem.where)}
