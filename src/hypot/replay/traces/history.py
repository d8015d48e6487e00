"""Demand history from files. `hypot.replay.traces.prometheus` reads it from Prometheus."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hypot.replay.traces.format import inspected
from hypot.replay.traces.plain_csv import plain_trace
from hypot.replay.traces.reading import NOTHING_SAID, Assumed, TraceReading
from hypot.replay.traces.trace import PART_ROWS, TimeWindow, Trace, TraceError, Unit, chosen, fewest

if TYPE_CHECKING:
    from hypot.replay.traces.files import TableFile
    from hypot.replay.traces.prometheus.answer_file import SeriesFile

    TraceFile = TableFile | SeriesFile


@dataclass(frozen=True, slots=True)
class TraceFiles:
    """The traces of files, read on demand, so that a fleet may be larger than memory."""

    # A file that cannot be opened is replaced by its error.
    files: "tuple[TraceFile | TraceError, ...]"
    window: TimeWindow
    said: TraceReading = NOTHING_SAID

    @property
    def opened(self) -> "list[TraceFile]":
        return [file for file in self.files if not isinstance(file, TraceError)]

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.opened)

    @property
    def units(self) -> frozenset[Unit | None]:
        return frozenset("rps" if file.unit == "requests" else file.unit for file in self.opened)

    @property
    def assumed(self) -> tuple[Assumed, ...]:
        return tuple(dict.fromkeys(one for file in self.opened for one in file.assumed))

    @property
    def is_large(self) -> bool:
        """Whether the traces should not be held in memory all at once."""
        parts = sum(1 if isinstance(file, TraceError) else file.part_count for file in self.files)
        return parts > 1 and self.rows > PART_ROWS

    def about(self, rows: int) -> float:
        """The estimated number of traces; where workloads were not counted, one trace per `rows` rows is assumed."""
        return sum(file.about(rows) for file in self.opened)

    def check_files(self) -> None:
        """Raises if one of several files cannot be opened and the files are too large to read just to find problems."""
        problems = [problem for file in self.files if isinstance(file, TraceError) for problem in file.problems]
        if problems and self.is_large:
            raise TraceError(*problems)

    def __iter__(self) -> Iterator[Trace]:
        return chosen(self._all(), self.said)

    def _all(self) -> Iterator[Trace]:
        """Yields traces until the first problem, then raises TraceError with every problem of every file."""
        problems: list[str] = []
        twice: list[str] = []
        known: dict[str, str] = {}
        for file in self.files:
            try:
                for trace in _traces(file, self.window):
                    if trace.workload in known:
                        twice.append(_in_both(trace, known[trace.workload]))
                    known.setdefault(trace.workload, trace.source)
                    if not problems and not twice:
                        yield trace
            except TraceError as error:
                problems += error.problems
        problems += fewest(twice, "all files")
        if problems:
            raise TraceError(*problems)


def open_history(
    paths: Sequence[str],
    start: float | None = None,
    end: float | None = None,
    said: TraceReading = NOTHING_SAID,
    progress: Callable[[int, int], None] | None = None,
) -> TraceFiles:
    """The files, cut to the time from start to end. Counts the workloads of large files; reports progress in rows."""
    window = TimeWindow(start, end)
    if not paths:
        raise TraceError("no history file was given")
    if start is not None and end is not None and not start < end:
        raise TraceError(f"the time range {window} is empty: the end must be later than the start")
    return TraceFiles(tuple([_opened(path, said, progress or _silent) for path in paths]), window, said)


def read_history(
    paths: Sequence[str],
    start: float | None,
    end: float | None,
    said: TraceReading,
    progress: Callable[[int, int], None],
) -> list[Trace] | TraceFiles:
    """All traces, or if they do not fit into memory, the files that they come from."""
    if plain := _plain(paths, TimeWindow(start, end), said):
        return plain
    history = open_history(paths, start, end, said, progress)
    history.check_files()
    return history if history.is_large else list(history)


def read_traces(
    paths: Sequence[str], start: float | None = None, end: float | None = None, said: TraceReading = NOTHING_SAID
) -> list[Trace]:
    """The traces of all files at once. Raises TraceError with every problem of every file."""
    return _plain(paths, TimeWindow(start, end), said) or list(open_history(paths, start, end, said))


def units_of(traces: "Sequence[Trace] | TraceFiles") -> frozenset[Unit | None]:
    """The units of all traces; None is that of the world."""
    return traces.units if isinstance(traces, TraceFiles) else frozenset(trace.unit for trace in traces)


def assumed_of(traces: "Sequence[Trace] | TraceFiles") -> tuple[Assumed, ...]:
    """What was assumed of any of them."""
    if isinstance(traces, TraceFiles):
        return traces.assumed
    return tuple(dict.fromkeys(one for trace in traces for one in trace.assumed))


def _plain(paths: Sequence[str], window: TimeWindow, said: TraceReading) -> list[Trace]:
    """The trace of a single plain file. To read several files it pays off to import polars."""
    trace = plain_trace(paths[0], window, said) if len(paths) == 1 else None
    return [] if trace is None else list(chosen([trace], said))


def _opened(path: str, said: TraceReading, progress: Callable[[int, int], None]) -> "TraceFile | TraceError":
    try:
        about = inspected(path)
        if about.form == "json":
            from hypot.replay.traces.prometheus.answer_file import open_answer  # noqa: PLC0415  only if it is used

            return open_answer(path, about, said)
        from hypot.replay.traces.files import open_table  # noqa: PLC0415  polars is slow to import

        return open_table(path, about, said, progress)
    except TraceError as error:
        return error
    except OSError as error:
        return _unreadable(path, error)


def _traces(file: "TraceFile | TraceError", window: TimeWindow) -> Iterator[Trace]:
    if isinstance(file, TraceError):
        raise file
    try:
        yield from file.traces(window)
    except OSError as error:
        raise _unreadable(file.path, error) from error


def _unreadable(path: str, error: OSError) -> TraceError:
    return TraceError(f"{path}: cannot be read: {error.strerror or error}")


def _in_both(trace: Trace, other: str) -> str:
    return f"{trace.source}: workload {trace.workload!r} is in {other} too: join them in one file"


def _silent(_: int, __: int) -> None:
    """Used when the caller does not ask for progress."""
