"""Lists that were asked for, kept in blocks.

Asked again, a list costs what has changed since, not all that it contains.
"""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import NamedTuple

from hypot.metricsapi.serve.query import ValueQuery
from hypot.metricsapi.targets import ScrapeTarget

# How many targets share a block: a new sample costs one block.
BLOCK = 64
# Autoscalers ask every 15 s. What nobody asks for any more is dropped, and the rest is bounded.
UNUSED_AFTER = 120.0
MOST_LISTS, MOST_BYTES = 4096, 64 * 2**20
# About what a list, and each target in it, takes besides its text.
_PER_LIST, _PER_TARGET = 4096, 24
_FOREVER = float("inf")


class ListChoice(NamedTuple):
    """A target in a list, and which of its values."""

    target: ScrapeTarget
    i: int


class ListItem(NamedTuple):
    """A value as it is sent, and until when it may be."""

    until: float
    text: bytes


# None if there is no value that may be sent now.
Write = Callable[[ListChoice, float], ListItem | None]
Generation = tuple[int, ...]


class _ListBlock:
    """The items of some targets, valid until one of them has changed or the oldest value is too old."""

    __slots__ = ("_choices", "_revisions", "_targets", "_until", "text")

    def __init__(self, choices: Sequence[ListChoice]) -> None:
        self._choices, self._targets = choices, [each.target for each in choices]
        self._revisions: list[int] = []
        self._until = -_FOREVER
        self.text = b""

    def refresh(self, now: float, write: Write) -> None:
        revisions = [target.revision for target in self._targets]
        if now <= self._until and revisions == self._revisions:
            return
        items = [item for choice in self._choices if (item := write(choice, now)) is not None]
        self._revisions = revisions
        self._until = min((item.until for item in items), default=_FOREVER)
        self.text = b",".join([item.text for item in items])


class _List:
    """The blocks of one list; the choice of its targets is valid for one generation."""

    __slots__ = ("_blocks", "_fixed", "generation", "size", "used")

    def __init__(self, query: ValueQuery, generation: Generation, choices: Sequence[ListChoice]) -> None:
        self.generation, self.used = generation, 0.0
        self._blocks = [_ListBlock(choices[at : at + BLOCK]) for at in range(0, len(choices), BLOCK)]
        self._fixed = self.size = _PER_LIST + _PER_TARGET * len(choices) + len(repr(query))

    def texts(self, now: float, write: Write) -> list[bytes]:
        for block in self._blocks:
            block.refresh(now, write)
        found = [block.text for block in self._blocks if block.text]
        self.size = self._fixed + sum(map(len, found))
        return found


class Lists:
    """The lists that were asked for, the least recently used one first."""

    def __init__(self) -> None:
        self._kept: OrderedDict[ValueQuery, _List] = OrderedDict()
        self._size = 0

    def __len__(self) -> int:
        return len(self._kept)

    def texts(
        self,
        query: ValueQuery,
        now: float,
        generation: Generation,
        choose: Callable[[], Sequence[ListChoice]],
        write: Write,
    ) -> list[bytes]:
        """The items of a list, joined block by block. `choose` finds its targets again if the generation is another."""
        kept = self._kept.pop(query, None)
        self._size -= 0 if kept is None else kept.size
        if kept is None or kept.generation != generation:
            kept = _List(query, generation, choose())
        found = kept.texts(now, write)
        kept.used = now
        self._kept[query] = kept
        self._size += kept.size
        self._drop(now)
        return found

    def _drop(self, now: float) -> None:
        """Drop what is unused or too much, but never the list that was asked for last."""
        while len(self._kept) > 1:
            query, oldest = next(iter(self._kept.items()))
            if len(self._kept) <= MOST_LISTS and self._size <= MOST_BYTES and now - oldest.used <= UNUSED_AFTER:
                return
            del self._kept[query]
            self._size -= oldest.size
