"""What compiled replays do with a row: count it for the scores, keep it, or both."""

from functools import partial
from typing import Any

import numpy as np

from hypot.replay.fleet.records import record_of
from hypot.replay.score.tally import Account, Tally, count, finish, no_tally, room_for, terms_of
from hypot.replay.world.parameters import World
from hypot.replay.world.record import COLUMNS, Floats

# How many rows are transposed into columns at once.
BLOCK = 64


def take_row(rows: Any, i: int, row: Any) -> None:
    """Count the row, from the first scored tick on; keep it if there are columns for it."""
    first, tally, terms, kept, demand, columns, block = rows
    if i >= first:
        for j in range(COLUMNS):
            tally.sums[j] += row[j]
        count(tally, terms, kept, i - first, row, demand)
    if columns.shape[1] > 0:
        keep_in_columns(columns, block, i, row)


def keep_in_columns(columns: Any, block: Any, i: int, row: Any) -> None:
    """Buffer rows until there are enough to transpose them into columns, in which form they are read."""
    place = i % BLOCK
    for j in range(COLUMNS):
        block[place, j] = row[j]
    if place == BLOCK - 1:
        for j in range(COLUMNS):
            for n in range(BLOCK):
                columns[j, i - place + n] = block[n, j]


class TallyRows:
    """The destination of rows: a tally, for `judged` ticks from the tick `first` on, and columns if they are kept."""

    def __init__(self, first: int, judged: int, world: World, demand: Floats, *, keep: bool) -> None:
        terms = terms_of(world)
        self.first, self._judged = first, judged
        self.tally, self.terms = record_of(no_tally(), 1), record_of(terms, 1)
        self.kept = room_for(judged, terms, partial(np.empty, dtype=np.int64), np.empty)
        self.demand = np.ascontiguousarray(demand)
        self.columns = np.empty((COLUMNS, first + judged if keep else 0))
        self._block = np.empty((BLOCK, COLUMNS))

    @property
    def given(self) -> tuple[Any, ...]:
        judging = (self.first, self.tally, self.terms, self.kept, self.demand)
        return (*judging, self.columns, self._block)

    def finish(self, ticks: int) -> None:
        """Transpose the last block, which may not be full."""
        rest = ticks % BLOCK
        if self.columns.size and rest:
            self.columns[:, ticks - rest :] = self._block[:rest].T

    def account(self) -> Account:
        made = Tally(*(self.tally[name] for name in Tally._fields))
        finish(made, self.kept)
        return Account(self._judged, made, self.kept)
