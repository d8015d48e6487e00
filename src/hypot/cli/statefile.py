"""The state of autoscalers between two runs, in a JSON file."""

import contextlib
import importlib
import json
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn

from hypot.cli.files import BadInput
from hypot.cli.output import to_json
from hypot.core.instant import EARLIEST, LATEST
from hypot.policy.continuity import Remembered
from hypot.policy.model.tortoise_state import TortoiseState

_VERSION = 1


@contextlib.contextmanager
def alone(file: str | None) -> Iterator[None]:
    """Lock the state file, if the system has locks: two runs at a time would drop each other's entries.

    The lock is on the folder, because the file itself is replaced as a whole.
    """
    try:
        fcntl = importlib.import_module("fcntl")
        handle = os.open(Path(os.path.realpath(file)).parent, os.O_RDONLY) if file else None
    except (ImportError, OSError):
        # The system has no locks, or the folder does not exist, which reading or writing will report.
        handle = None
    if handle is None:
        yield
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def read_state(file: str) -> dict[str, Remembered]:
    """The entries of the file by "Kind/namespace/name"; empty if the file does not exist yet."""
    try:
        text = Path(file).read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"{file}: cannot read the state: {_why(error)}") from error
    try:
        data = json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise _bad(file, f"not valid JSON: {error}") from error
    if not isinstance(data, dict) or data.get("version") != _VERSION:
        raise _bad(file, f'"version" must be {_VERSION}')
    entries = data.get("autoscalers")
    if not isinstance(entries, dict):
        raise _bad(file, '"autoscalers" must be an object')
    return {key: _entry(file, key, entry) for key, entry in entries.items()}


def _entry(file: str, key: str, data: Any) -> Remembered:
    fault = _fault(data)
    if fault:
        raise _bad(file, f"{key}: {fault}")
    try:
        if data.get("tortoise") is not None:
            TortoiseState.from_dict(data["tortoise"])
    except (ValueError, AttributeError, TypeError) as error:
        raise _bad(file, f"{key}: {error}") from error
    return Remembered.from_dict(data)


def _fault(data: Any) -> str:
    """What is wrong with an entry; empty if nothing is."""
    if not isinstance(data, dict):
        return "must be an object"
    for name in ("recommendations", "ups", "downs"):
        if data.get(name) is not None and not _is_history(data[name]):
            return f'{name} must be null or a list of {{"value": count, "at": seconds}}'
    seen, conditions = data.get("seen") or {}, data.get("conditions") or []
    if not isinstance(seen, dict) or not isinstance(conditions, list):
        return "seen must be an object and conditions a list"
    times = [data.get(name) for name in ("lastScale", "since", "unknownMove")]
    times += [seen.get("at"), *(c.get("since") for c in conditions if isinstance(c, dict))]
    if not all(at is None or _is_time(at) for at in times):
        return "lastScale, since, unknownMove and seen.at must be times in seconds"
    counts = [data.get("desired", 0), data.get("scalings", 0), seen.get("replicas") or 0]
    if not all(map(_is_count, counts)):
        return "desired, scalings and seen.replicas must be whole numbers"
    return "" if data.get("vertical") is None or _is_vertical(data["vertical"]) else "vertical is not what hypot writes"


def _is_vertical(data: Any) -> bool:
    """Whether the `vertical` part of an entry is valid."""
    if not isinstance(data, dict):
        return False
    recount, infeasible = data.get("recount"), data.get("infeasible") or {}
    times = [
        *(data.get(name) for name in ("lastUp", "lastDown", "evicted", "restarted")),
        *_values(data.get("hot")),
        *_values(data.get("stuck")),
    ]
    recent = _values(data.get("recent"))
    amounts = [data.get("advice") or {}, *_values(infeasible)]
    if recount is not None:
        if not isinstance(recount, dict) or set(recount) != {"at", "before", "after", "advice"}:
            return False
        times.append(recount["at"])
        amounts.append(recount["advice"])
        if not _is_count(recount["before"]) or not _is_count(recount["after"]):
            return False
    counts = [data.get(name) for name in ("replicas", "swings", "tries")]
    return (
        all(at is None or _is_time(at) for at in times)
        and all(map(_is_recent_use, recent))
        and all(map(_are_amounts, amounts))
        and all(count is None or (_is_count(count) and count >= 0) for count in counts)
    )


def _is_recent_use(data: Any) -> bool:
    if not isinstance(data, dict) or set(data) != {"mean", "at", "peak", "peak_at"}:
        return False
    amounts, times = (data["mean"], data["peak"]), (data["at"], data["peak_at"])
    return all(map(_is_time, times)) and all(type(each) in {int, float} and 0 <= each < 1e300 for each in amounts)


def _values(data: Any) -> list[Any]:
    """The values of a mapping; for anything else, a single value that fails every check."""
    if data is None:
        return []
    return list(data.values()) if isinstance(data, dict) else [...]


def _are_amounts(data: Any) -> bool:
    return isinstance(data, dict) and all(
        isinstance(each, dict) and all(_is_count(amount) for amount in each.values()) for each in data.values()
    )


def _is_history(entries: Any) -> bool:
    if not isinstance(entries, list):
        return False
    return all(isinstance(e, dict) and _is_count(e.get("value")) and _is_time(e.get("at")) for e in entries)


def _is_count(count: Any) -> bool:
    return type(count) is int


def _is_time(at: Any) -> bool:
    return type(at) in {int, float} and EARLIEST <= at <= LATEST


def _bad(file: str, what: str) -> BadInput:
    return BadInput(f"{file}: not a state file of hypot: {what}; name another file to start without state")


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"{word} is not a JSON number")


def _why(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def write_state(file: str, entries: Mapping[str, Remembered]) -> None:
    """Replace the file atomically: a reader, or an interruption, leaves either the old or the new file."""
    autoscalers = {key: entry.to_dict() for key, entry in entries.items()}
    text = to_json({"version": _VERSION, "autoscalers": autoscalers})
    place = Path(os.path.realpath(file))
    try:
        _replace(place, text)
    except OSError as error:
        raise BadInput(f"{file}: cannot write the state: {_why(error)}") from error


def _replace(place: Path, text: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        mode = place.stat().st_mode
        if not stat.S_ISREG(mode):
            raise OSError(None, "it is not a regular file")
    made = place.with_name(f".{place.name}.{os.getpid()}.tmp")
    # Create the file exclusively, with the permissions of any new file.
    handle = os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as out:
            with contextlib.suppress(FileNotFoundError):
                made.chmod(stat.S_IMODE(place.stat().st_mode))
            out.write(text)
            out.flush()
            os.fsync(out.fileno())
        made.replace(place)
    except BaseException:
        made.unlink(missing_ok=True)
        raise
    _sync_folder(place.parent)


def _sync_folder(folder: Path) -> None:
    """Make the new name survive a power cut, if the system can open folders."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
