"""What becomes of a row where the replay is compiled: it is counted for the scores, kept, or both."""

from typing import Any

from hypot.replay.record import COLUMNS
from hypot.replay.tally import count

# So many rows are turned into columns at once.
BLOCK = 64


def take_row(rows: Any, i: int, row: Any) -> None:
    """Count it from the first tick on that is judged; keep it where there are columns for it."""
    first, tally, terms, kept, demand, bought, columns, block = rows
    if i >= first:
        for j in range(COLUMNS):
            tally.sums[j] += row[j]
        count(tally, terms, kept, i - first, row, demand, bought)
    if columns.shape[1] > 0:
        keep_in_columns(columns, block, i, row)


def keep_in_columns(columns: Any, block: Any, i: int, row: Any) -> None:
    """Rows are put by until there are enough of them to be turned into columns, which is how they are read."""
    place = i % BLOCK
    for j in range(COLUMNS):
        block[place, j] = row[j]
    if place == BLOCK - 1:
        for j in range(COLUMNS):
            for n in range(BLOCK):
                columns[j, i - place + n] = block[n, j]
