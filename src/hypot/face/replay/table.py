"""The scores of a replay as lines of text."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from textwrap import wrap
from typing import NamedTuple, Protocol

from hypot.face.replay.scores import (
    CHOSEN,
    NOTHING,
    SPREAD,
    Fleet,
    ScoreColumn,
    best_of,
    best_spreads,
    known_of,
    missing_of,
    of_policy,
    policies_of,
    rows_of,
    shown,
    spreads_of,
    wins_of,
)
from hypot.face.replay.value import REFERENCES
from hypot.face.style import printable
from hypot.kinds.base import count_of
from hypot.replay.score.ranking import late_or_lost
from hypot.replay.score.scorecard import Scores

WIDTH = 100
_GAP = "  "
_LEAST_NAME = 12
_CUT = ".."
_WIDEST_HEAD = 16
# If there are more workloads than this, the worst are named: this many per policy, for this many policies.
_ALL_SEEN, _WORST, _REPORTED = 5, 3, 7


class Style(Protocol):
    """How a terminal emphasises or dims text."""

    def __call__(self, text: str, /, *, bold: bool = False, dim: bool = False) -> str: ...


class _Cell(NamedTuple):
    text: str
    best: bool = False


class _Block(NamedTuple):
    """A column of cells: headings, then one cell per row."""

    heads: tuple[str, ...]
    cells: tuple[_Cell, ...]

    @property
    def width(self) -> int:
        return max(len(text) for text in (*self.heads, *(cell.text for cell in self.cells)))


def table(
    scores: Mapping[str, Scores],
    *,
    notes: Sequence[str] = (),
    wide: bool = False,
    width: int = WIDTH,
    style: Style | None = None,
) -> list[str]:
    """One line per policy, with the best value of each column marked. Without a style, marks are stars.

    Wide: one line for each score that any policy has, with as many policies side by side as fit.
    """
    rows = rows_of({printable(name): one for name, one in scores.items()})
    lines = list(_all_scores(rows, width, style) if wide else _chosen(rows, width, style))
    return [*lines, *_below(notes, width, style)]


def fleet_table(
    fleet: Fleet,
    *,
    notes: Sequence[str] = (),
    width: int = WIDTH,
    style: Style | None = None,
) -> list[str]:
    """One line per policy: the median and the worst over all workloads, and how many it wins by price."""
    named = {workload: {printable(name): one for name, one in scores.items()} for workload, scores in fleet.items()}
    names = policies_of(named)
    blocks = [block for column in SPREAD for block in _spread_blocks(named, column)]
    won = {name: count for name, count in wins_of(named).items() if len(fleet) > 1}
    most = max(won.values(), default=0)
    cells = [_Cell(str(won.get(name, NOTHING)), most > 0 and won.get(name) == most) for name in names]
    blocks.append(_Block(("", "wins"), tuple(cells)))
    lines = _lines(names, ("", "policy"), blocks, width, style)
    explained = f"Over {count_of(len(fleet), 'workload')}; a policy wins a workload if its price is the lowest."
    return [*lines, *_below([explained, *missing_of(named), *notes], width, style)]


def fleet_text(fleet: Fleet) -> Iterator[str]:
    """The total cost of all workloads, and the workloads on which a policy is at its worst: a median shows neither."""
    known = {name: of_policy(fleet, name) for name in policies_of(fleet)}
    costs = {
        name: sum(one.cost or 0.0 for one in scores) for name, scores in known.items() if len(scores) == len(fleet)
    }
    if costs:
        yield f"Total cost: {', '.join(f'{printable(name)} ${cost:.2f}' for name, cost in costs.items())}."
    if len(fleet) <= _ALL_SEEN:
        return
    competing = [name for name in known if name not in REFERENCES]
    for name in competing[:_REPORTED]:
        late = _worst(fleet, name, late_or_lost, "%")
        dear = _worst(fleet, name, lambda scores: scores.to_lower_bound or 0.0, "x")
        label = [f"most late or lost on {late}"] * bool(late) + [f"farthest above its bound on {dear}"] * bool(dear)
        if label:
            yield f"{printable(name)}: {'; '.join(label)}."
    if (others := len(competing) - _REPORTED) > 0:
        yield f"For the other {others} {'policy' if others == 1 else 'policies'}, -o csv lists every workload."


def _worst(fleet: Fleet, policy: str, of: Callable[[Scores], float], unit: str) -> str:
    """The few workloads with the highest figure, ties in their order; empty if all are zero."""
    figures = {workload: of(scores[policy]) for workload, scores in fleet.items() if policy in scores}
    highest = sorted(figures, key=lambda workload: -figures[workload])[:_WORST]
    return ", ".join(f"{printable(name)} ({figures[name]:.3g} {unit})" for name in highest if figures[name] > 0)


def _chosen(rows: Mapping[str, Scores], width: int, style: Style | None) -> Iterator[str]:
    blocks = []
    for column in CHOSEN:
        best = best_of(column, rows)
        cells = [_Cell(shown(column, column.of(one)), name in best) for name, one in rows.items()]
        blocks.append(_Block((column.head, column.unit), tuple(cells)))
    return _lines(tuple(rows), ("policy", ""), blocks, width, style)


def _spread_blocks(fleet: Fleet, column: ScoreColumn) -> Iterator[_Block]:
    """Two columns: the name of the score is the heading of the first, its unit that of the second."""
    spreads = spreads_of(fleet, column)
    heads = ((column.head, "median"), (column.unit, "worst"))
    for place, best in enumerate(best_spreads(column, spreads)):
        texts = {name: NOTHING if one is None else shown(column, one[place]) for name, one in spreads.items()}
        yield _Block(heads[place], tuple([_Cell(text, name in best) for name, text in texts.items()]))


def _all_scores(rows: Mapping[str, Scores], width: int, style: Style | None) -> Iterator[str]:
    """As many policies side by side as fit, the others below them."""
    columns = known_of(rows)
    best = {column.key: best_of(column, rows) for column in columns}
    names = [f"{column.head}, {column.unit}" if column.unit else column.head for column in columns]
    first = max(map(len, names), default=0)
    blocks = {
        name: _Block(
            (_cut(name, _WIDEST_HEAD),), tuple([_Cell(shown(c, c.of(one)), name in best[c.key]) for c in columns])
        )
        for name, one in rows.items()
    }
    left = list(blocks)
    while left:
        fitting = _fitting([blocks[name] for name in left], width - 1 - first)
        yield from _lines(names, ("score",), [blocks[name] for name in left[:fitting]], width, style)
        left = left[fitting:]
        if left:
            yield ""


def _fitting(blocks: Sequence[_Block], room: int) -> int:
    """How many blocks fit, at least one."""
    for count, block in enumerate(blocks):
        room -= block.width + len(_GAP)
        if room < 0:
            return max(count, 1)
    return len(blocks)


def _lines(
    names: Sequence[str], heads: Sequence[str], blocks: Sequence[_Block], width: int, style: Style | None
) -> Iterator[str]:
    """Names to the left, figures to the right; the mark of the best value is in the gap before the next column."""
    room = max(width - 1 - sum(block.width + len(_GAP) for block in blocks), _LEAST_NAME)
    texts = [_cut(name, room) for name in (*heads, *names)]
    room = max(map(len, texts))
    for i, head in enumerate(heads):
        line = head.ljust(room) + "".join(_GAP + block.heads[i].rjust(block.width) for block in blocks)
        yield _styled(line.rstrip(), style, bold=True) if i == 0 else _styled(line.rstrip(), style, dim=True)
    for i, name in enumerate(names):
        reference = name in REFERENCES
        cells = [_cell(block.cells[i], block.width, style, dim=reference) for block in blocks]
        label = _styled(texts[len(heads) + i].ljust(room), style, dim=reference)
        yield f"{label} {''.join(cells)}".rstrip()


def _cell(cell: _Cell, width: int, style: Style | None, *, dim: bool) -> str:
    padding = " " * (width - len(cell.text) + 1)
    if cell.best:
        return padding + (f"{cell.text}*" if style is None else style(cell.text, bold=True) + " ")
    return padding + _styled(cell.text, style, dim=dim) + " "


def _styled(text: str, style: Style | None, *, bold: bool = False, dim: bool = False) -> str:
    return text if style is None or not text else style(text, bold=bold, dim=dim)


def _cut(name: str, room: int) -> str:
    """Names that are too long lose their middle, because they usually differ at the start or the end."""
    if len(name) <= room:
        return name
    tail = (room - len(_CUT)) // 2
    return name[: room - len(_CUT) - tail] + _CUT + name[len(name) - tail :]


def _below(notes: Sequence[str], width: int, style: Style | None) -> Iterator[str]:
    if notes:
        yield ""
    for note in notes:
        for line in wrap(printable(note), width, subsequent_indent=_GAP, break_on_hyphens=False):
            yield _styled(line, style, dim=True)
