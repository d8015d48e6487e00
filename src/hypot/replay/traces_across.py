"""What holds for all parts of a file together, where each of them is read by itself."""

from hypot.replay.traces_value import TraceError, Window, moment, named


class Across:
    """Grows from part to part."""

    def __init__(self, file: str, window: Window) -> None:
        self.file, self.window = file, window
        self._first: dict[str, tuple[int, int]] = {}
        self._covered: tuple[float, float] | None = None
        self._is_empty = True
        self._lost: list[str] = []

    def other(self, thing: str, value: int, row: int) -> int | None:
        """A row of an earlier part that differs from this one in a thing that must be the same for all."""
        known, where = self._first.setdefault(thing, (value, row))
        return None if known == value else where

    def cut(self, first: float, last: float, lost: list[str], *, is_empty: bool) -> None:
        """A part that goes from one time to another was cut to the window, and these workloads are lost."""
        begin, end = self._covered or (first, last)
        self._covered = (min(begin, first), max(end, last))
        self._is_empty &= is_empty
        self._lost += lost

    def notes(self, *, is_fleet: bool) -> tuple[str, ...]:
        """What is known after the last part. Raises where nothing is left of all of them."""
        if self._covered is not None and self._is_empty:
            first, last = map(moment, self._covered)
            one = " of one workload" if is_fleet else ""
            raise TraceError(f"{self.file}: has no two rows{one} {self.window}: it covers {first} to {last}")
        if not self._lost:
            return ()
        return (f"passed over: {named(sorted(self._lost), 'workload')} with fewer than two rows {self.window}",)
