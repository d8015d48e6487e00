"""Demand history from files. Prometheus is read by `hypot.replay.traces_prometheus`."""

from collections.abc import Callable, Sequence
from pathlib import Path

from hypot.replay.traces_value import Trace, TraceError, Unit, Window, fewest

__all__ = ["Trace", "TraceError", "Unit", "read_traces"]


def read_traces(
    paths: Sequence[str],
    start: float | None = None,
    end: float | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[Trace]:
    """The traces of all files, cut to the time from start to end; progress is told in bytes.

    Raises TraceError with every problem of every file.
    """
    from hypot.replay.traces_files import read_file  # noqa: PLC0415  polars is slow to import

    window = Window(start, end)
    if not paths:
        raise TraceError("no file with history was named")
    if start is not None and end is not None and not start < end:
        raise TraceError(f"nothing lies {window}: the end must be later than the start")
    traces: list[Trace] = []
    problems: list[str] = []
    sizes = [_size(path) for path in paths]
    for done, path in enumerate(paths, 1):
        try:
            traces += read_file(path, window)
        except TraceError as error:
            problems += error.problems
        except OSError as error:
            problems.append(f"{path}: cannot be read: {error.strerror or error}")
        if progress is not None:
            progress(sum(sizes[:done]), sum(sizes))
    problems += _twice(traces)
    if problems:
        raise TraceError(*problems)
    return traces


def _size(path: str) -> int:
    try:
        return Path(path).stat().st_size
    except (OSError, ValueError):
        return 0


def _twice(traces: list[Trace]) -> list[str]:
    first: dict[str, str] = {}
    problems = []
    for trace in traces:
        if trace.workload in first:
            other = first[trace.workload]
            problems.append(f"{trace.source}: workload {trace.workload!r} is in {other} too: join them in one file")
        first.setdefault(trace.workload, trace.source)
    return fewest(problems, traces[-1].source) if problems else []
