"""Writes decisions to the statuses and events of the objects."""

import asyncio
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import structlog

from hypot.cluster.connection import warn
from hypot.cluster.port import MayNotWriteError, Port, UnreachableError
from hypot.cluster.time_slice import TimeSlice
from hypot.kinds.values.nested import inner
from hypot.run.in_time import IsTime, always, write_in_time
from hypot.run.internal_errors import InternalErrors
from hypot.run.observe.watches import Watches, resource_of
from hypot.run.outcome import FINE, Done, Key, Outcome
from hypot.run.report.events import EventRecorder, PostedEvent, reported_events
from hypot.run.report.status import Choice, Written, found, is_ours, last_report, patch_request, status_request, wrote

log = structlog.get_logger()
AT_ONCE = 16
# A status that was refused twice is not tried again for this long, unless its object changes.
AGAIN_AFTER = 60.0
LONGEST_LOGGED = 300
# The answers of a server if the object as a whole, and not the new status, does not match its schema.
_UNFIT = frozenset({422, 500})


class RefusedStatus(NamedTuple):
    """The version of an object whose status was refused, how often, and when, on the boot clock."""

    version: str
    times: int
    at: float


class Reporter:
    """Writes statuses and events, and keeps what it wrote, so that nothing is written twice."""

    def __init__(self, port: Port, watches: Watches, instance: str, errors: InternalErrors | None = None) -> None:
        self._port, self._watches, self._errors = port, watches, errors or InternalErrors()
        self._written: dict[Key, Written] = {}
        # For each object, the version that was written to and the version that the write produced.
        self._versions: dict[Key, tuple[str, str]] = {}
        self._refused: dict[Key, RefusedStatus] = {}
        # The statuses that are still to be written, and since when.
        self._due: dict[Key, float] = {}
        self._recorder = EventRecorder(instance)
        self._limit = asyncio.Semaphore(AT_ONCE)

    def forget(self, keys: Iterable[Key]) -> None:
        for key in keys:
            self._written.pop(key, None)
            self._versions.pop(key, None)
            self._refused.pop(key, None)
            self._due.pop(key, None)

    def version(self, outcome: Outcome) -> str:
        """The version for a write: the version that was decided on, or what hypot's own write made of it."""
        seen, made = self._versions.get(outcome.key, ("", ""))
        return made if made and seen == outcome.version else outcome.version

    async def status(self, outcome: Outcome, boot: float) -> Done:
        """Write one status now, if no other client has changed the object since it was decided on."""
        version = self.version(outcome)
        if self._watches.row(outcome.key) is None:
            return Done(f"{outcome.decision.autoscaler} is gone", overtaken=True)
        if not version:
            return Done(f"{outcome.decision.autoscaler} was observed without a version", overtaken=True)
        kind, namespace, name = outcome.key
        path = f"{resource_of(kind).path(namespace)}/{name}"
        try:
            async with self._limit:
                answer = await self._port.call(status_request(outcome, path, version))
                if answer.status in _UNFIT:
                    answer = await self._port.call(patch_request(outcome, path, version))
        except (UnreachableError, MayNotWriteError) as error:
            return Done(str(error))
        if not answer.ok:
            if not answer.conflict and not answer.gone:
                known = self._refused.get(outcome.key)
                times = known.times + 1 if known and known.version == outcome.version else 1
                self._refused[outcome.key] = RefusedStatus(outcome.version, times, boot)
                message = answer.message[:LONGEST_LOGGED]
                log.warning("status refused", object=str(outcome.decision.autoscaler), message=message)
            return Done(f"{answer.status} {answer.message}", overtaken=answer.conflict or answer.gone)
        self._refused.pop(outcome.key, None)
        self._due.pop(outcome.key, None)
        self._written[outcome.key] = wrote(outcome, boot)
        made = str(inner(answer.json(), "metadata").get("resourceVersion") or "")
        self._versions[outcome.key] = (outcome.version, made)
        return FINE

    async def statuses(self, outcomes: Sequence[Outcome], boot: float, is_time: IsTime = always) -> int:
        """Write the statuses that are due while there is time, the rest next time; return how many are left."""
        choice, time_slice = Choice(self._written, boot, self._due), TimeSlice()
        for outcome in outcomes:
            try:
                choice.look(self._last_report(outcome) or outcome)
            except Exception as error:  # noqa: BLE001  the others are still reported
                self._errors.add(outcome.key, "report", error, boot)
            if time_slice.is_due():
                await time_slice.take()
        chosen = [outcome for outcome in choice.chosen() if not self._is_in_vain(outcome, boot)]
        self._due = choice.due()
        done = await write_in_time(chosen, lambda outcome: self._status(outcome, boot), AT_ONCE, is_time)
        left = len(chosen) - len(done)
        if left:
            log.info("statuses left to the next reconcile", count=left)
        return left

    async def _status(self, outcome: Outcome, boot: float) -> Done:
        try:
            return await self.status(outcome, boot)
        except Exception as error:  # noqa: BLE001  the others are still reported
            return Done(str(self._errors.add(outcome.key, "report", error, boot)))

    def _last_report(self, outcome: Outcome) -> Outcome | None:
        """The final status of an object that hypot wrote to in a namespace that has opted out.

        Without it the status would look as if it were still maintained. Other objects are left alone.
        """
        kind, namespace, _ = outcome.key
        watches = self._watches
        if outcome.acting != "observe" or watches.config.mode(kind) == "observe" or watches.is_opted_in(namespace):
            return None
        row = watches.row(outcome.key)
        if row is None or not is_ours(row.managers):
            return None
        return last_report(outcome, self._written.get(outcome.key) or found(outcome.autoscaler.status))

    def _is_in_vain(self, outcome: Outcome, boot: float) -> bool:
        """Whether the server would refuse the status of this version again."""
        known = self._refused.get(outcome.key)
        if known is None or outcome.version != known.version:
            return False
        return known.times > 1 and boot - known.at < AGAIN_AFTER

    async def events(self, outcomes: Sequence[Outcome], more: Iterable[PostedEvent], now: float, boot: float) -> None:
        """Write events; they may be lost, as nothing depends on them."""
        time_slice = TimeSlice()
        for outcome in outcomes:
            try:
                for reported in reported_events(outcome):
                    self._recorder.hear(reported, now, boot)
            except Exception as error:  # noqa: BLE001  the others are still reported
                self._errors.add(outcome.key, "report", error, boot)
            if time_slice.is_due():
                await time_slice.take()
        for reported in more:
            self._recorder.hear(reported, now, boot)
        requests = self._recorder.due(now, boot)

        async def send(number: int) -> None:
            try:
                async with self._limit:
                    self._recorder.answered(requests[number], await self._port.call(requests[number]))
            except (UnreachableError, MayNotWriteError) as error:
                warn("event not written", error)

        await asyncio.gather(*[send(number) for number in range(len(requests))])
