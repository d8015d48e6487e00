"""Demand history from files. `hypot.replay.traces.prometheus` reads it from Prometheus."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hypot.replay.traces.plain_csv import plain_trace
from hypot.replay.traces.trace import PART_ROWS, TimeWindow, Trace, TraceError, Unit, fewest

if TYPE_CHECKING:
    from hypot.replay.traces.files import File


@dataclass(frozen=True, slots=True)
class TraceFiles:
    """The traces of files, read on demand, so that a fleet may be larger than memory."""

    # A file that cannot be opened is replaced by its error.
    files: "tuple[File | TraceError, ...]"
    window: TimeWindow

    @property
    def rows(self) -> int:
        return sum(file.opened.rows for file in self.files if not isinstance(file, TraceError))

    @property
    def units(self) -> frozenset[Unit | None]:
        return frozenset(file.opened.columns.unit for file in self.files if not isinstance(file, TraceError))

    @property
    def is_large(self) -> bool:
        """Whether the traces should not be held in memory all at once."""
        parts = sum(1 if isinstance(file, TraceError) else len(file.parts) for file in self.files)
        return parts > 1 and self.rows > PART_ROWS

    def about(self, rows: int) -> float:
        """The estimated number of traces; where workloads were not counted, one trace per `rows` rows is assumed."""
        parts = [part for file in self.files if not isinstance(file, TraceError) for part in file.parts]
        return sum(part.workloads or max(1.0, part.rows / rows) for part in parts)

    def check_files(self) -> None:
        """Raises if one of several files cannot be opened and the files are too large to read just to find problems."""
        problems = [problem for file in self.files if isinstance(file, TraceError) for problem in file.problems]
        if problems and self.is_large:
            raise TraceError(*problems)

    def __iter__(self) -> Iterator[Trace]:
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
    progress: Callable[[int, int], None] | None = None,
) -> TraceFiles:
    """The files, cut to the time from start to end. Counts the workloads of large files; reports progress in rows."""
    window = TimeWindow(start, end)
    if not paths:
        raise TraceError("no history file was given")
    if start is not None and end is not None and not start < end:
        raise TraceError(f"the time range {window} is empty: the end must be later than the start")
    return TraceFiles(tuple([_opened(path, progress or _silent) for path in paths]), window)


def read_history(
    paths: Sequence[str], start: float | None, end: float | None, progress: Callable[[int, int], None]
) -> list[Trace] | TraceFiles:
    """All traces, or if they do not fit into memory, the files that they come from."""
    if plain := _plain(paths, TimeWindow(start, end)):
        return plain
    history = open_history(paths, start, end, progress)
    history.check_files()
    return history if history.is_large else list(history)


def read_traces(paths: Sequence[str], start: float | None = None, end: float | None = None) -> list[Trace]:
    """The traces of all files at once. Raises TraceError with every problem of every file."""
    return _plain(paths, TimeWindow(start, end)) or list(open_history(paths, start, end))


def units_of(traces: "Sequence[Trace] | TraceFiles") -> frozenset[Unit | None]:
    """The units of all traces; None is that of the world."""
    return traces.units if isinstance(traces, TraceFiles) else frozenset(trace.unit for trace in traces)


def _plain(paths: Sequence[str], window: TimeWindow) -> list[Trace]:
    """The trace of a single plain file. To read several files it pays off to import polars."""
    trace = plain_trace(paths[0], window) if len(paths) == 1 else None
    return [] if trace is None else [trace]


def _opened(path: str, progress: Callable[[int, int], None]) -> "File | TraceError":
    from hypot.replay.traces.files import open_file  # noqa: PLC0415  polars is slow to import

    try:
        return open_file(path, progress)
    except TraceError as error:
        return error
    except OSError as error:
        return _unreadable(path, error)


def _traces(file: "File | TraceError", window: TimeWindow) -> Iterator[Trace]:
    from hypot.replay.traces.files import read_file  # noqa: PLC0415  as above

    if isinstance(file, TraceError):
        raise file
    try:
        yield from read_file(file, window)
    except OSError as error:
        raise _unreadable(file.path, error) from error


def _unreadable(path: str, error: OSError) -> TraceError:
    return TraceError(f"{path}: cannot be read: {error.strerror or error}")


def _in_both(trace: Trace, other: str) -> str:
    return f"{trace.source}: workload {trace.workload!r} is in {other} too: join them in one file"


def _silent(_: int, __: int) -> None:
    """Used when the caller does not ask for progress."""
