"""Errors of hypot's own code: each stays with its object, is counted, and is logged once per change."""

from collections import Counter
from collections.abc import Iterable
from traceback import extract_tb
from typing import Literal, NamedTuple

import structlog

from hypot.run.outcome import Key

Stage = Literal["observe", "decide", "act", "report", "save"]
# How long an object whose report failed is reported as failed, before the whole report is tried again.
AGAIN_AFTER = 600.0

log = structlog.get_logger()


class InternalError(NamedTuple):
    """An error at one stage for one object. `name` and `where` contain nothing of the object or of an answer."""

    stage: Stage
    name: str
    where: str

    def __str__(self) -> str:
        return f"hypot could not {self.stage}: {self.name}"


class InternalErrors:
    """The internal errors of this reconcile by object, and their number since the start."""

    def __init__(self) -> None:
        self.now: dict[Key, InternalError] = {}
        self.total = Counter[Stage]()
        # What was logged for each object, and which errors were logged with a traceback.
        self._logged: dict[Key, InternalError] = {}
        self._traced: set[InternalError] = set()
        # Until when, on the boot clock, the report of an object is not tried again.
        self._unreported: dict[Key, tuple[InternalError, float]] = {}

    def begin(self, keys: Iterable[Key], boot: float) -> None:
        """Begin a reconcile of these objects."""
        there = frozenset(keys)
        self._unreported = {
            key: (error, until) for key, (error, until) in self._unreported.items() if key in there and boot < until
        }
        over = [key for key in self._logged if key not in self.now or key not in there]
        for key in over:
            del self._logged[key]
            log.info("internal error is over", object="/".join(key))
        self.now = {key: error for key, (error, _) in self._unreported.items()}

    def add(self, key: Key, stage: Stage, error: Exception, boot: float | None = None) -> InternalError:
        """Record an error that was caught for this object; with `boot`, it is reported as failed for a while."""
        found = InternalError(stage, type(error).__name__, where(error))
        self.total[stage] += 1
        self.now.setdefault(key, found)
        if boot is not None:
            self._unreported.setdefault(key, (found, boot + AGAIN_AFTER))
        if self._logged.get(key) != found:
            self._logged[key] = found
            # Many objects may have the same error: one traceback is enough.
            trace = None if found in self._traced else error
            self._traced.add(found)
            log.error(
                "internal error", object="/".join(key), stage=stage, error=found.name, at=found.where, exc_info=trace
            )
        return found


def where(error: Exception) -> str:
    """The line of code that raised it."""
    frames = extract_tb(error.__traceback__, limit=-1)
    return f"{frames[0].filename.rpartition('/')[2]}:{frames[0].lineno}" if frames else ""
