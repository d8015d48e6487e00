"""Usage across restarts: restored from the state and checkpoints, and written to checkpoints, a few at a time."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
import structlog

from hypot.cluster.page import UnreadableError, read_object, read_page
from hypot.cluster.port import Answer, MayNotWriteError, Port, RefusedError, Request, UnreachableError
from hypot.kinds.catalogue import measuring, names_of
from hypot.kinds.values.nested import inner, mappings
from hypot.kinds.vpa import VPA
from hypot.policy.vertical.vpa import follows_ours
from hypot.run.observe.rows import AutoscalerRow
from hypot.run.observe.watches import CHECKPOINTS
from hypot.run.outcome import Key
from hypot.run.store.checkpoints import (
    StoredCheckpoint,
    belongs_to,
    checkpoint_name,
    checkpoint_request,
    due,
    known,
    restore,
    subject_of,
)
from hypot.run.store.usage_history import Subject, UsageHistory

log = structlog.get_logger()
PAGE = "500"
# How many times in a row the list may be refused before hypot continues without checkpoints.
TRIES = 3


@dataclass(slots=True)
class Patience:
    """How many refusals are left; it outlives the UsageStore, because each start of leading makes a new one."""

    left: int = TRIES

    def ends(self) -> bool:
        """Count one refusal; return whether it was the last one allowed. Then the count starts again."""
        self.left = self.left - 1 if self.left > 1 else TRIES
        return self.left == TRIES

    def renew(self) -> None:
        self.left = TRIES


class UsageStore:
    """Reads checkpoints once, when leading starts; `port` is the port for writes, so a dry run writes none."""

    def __init__(
        self, port: Port, history: UsageHistory, namespaces: tuple[str, ...], patience: Patience | None = None
    ) -> None:
        self._port, self._history, self._namespaces = port, history, namespaces
        self._patience = patience or Patience()
        self._there: dict[Subject, StoredCheckpoint] = {}
        self._written: dict[Subject, float] = {}
        # Whether the cluster serves checkpoints; None before that is needed.
        self._is_served: bool | None = None

    async def restore(self, rows: Mapping[Key, AutoscalerRow], entries: Mapping[str, Any], now: float) -> None:
        """Restore the usage of the previous leader; RefusedError if reading checkpoints should be tried again."""
        sizers: dict[Key, AutoscalerRow] = {}
        kinds = names_of(measuring())
        for key, row in rows.items():
            if key[0] in kinds:
                sizers[key] = row
                self._history.declare(row.autoscaler, (), now)
        if not sizers:
            return
        checkpoints = await self._found(sizers)
        for note in await restore(self._history, entries, checkpoints, now):
            log.warning("state", note=note)

    def forget(self, keys: set[Key]) -> None:
        for subject in [each for each in {**self._there, **self._written} if each[0] in keys]:
            self._there.pop(subject, None)
            self._written.pop(subject, None)

    async def _found(self, rows: Mapping[Key, AutoscalerRow]) -> list[dict[str, Any]]:
        """The checkpoints of these autoscalers and their current targets; those of former targets are overwritten."""
        found = []
        for data in await self._listed():
            subject = subject_of(data, rows)
            if subject is None:
                continue
            self._there[subject] = known(data)
            if belongs_to(data, rows[subject[0]].identity):
                found.append(data)
        return found

    async def _listed(self) -> list[dict[str, Any]]:
        """All checkpoints of the watched namespaces; none if the kind is not served."""
        found: list[dict[str, Any]] = []
        for namespace in self._namespaces or ("",):
            query = {"limit": PAGE}
            while True:
                request = Request("GET", CHECKPOINTS.path(namespace), query)
                answer = await self._port.call(request)
                if not answer.ok:
                    self._go_without(request, answer)
                    return []
                page = read_page(answer.body)
                found += [each for item in page.items or () if (each := _read(item)) is not None]
                if not page.metadata.continue_:
                    break
                query = {"limit": PAGE, "continue": page.metadata.continue_}
        self._is_served = True
        self._patience.renew()
        return found

    def _go_without(self, request: Request, answer: Answer) -> None:
        """Continue without checkpoints if the kind is not served, or after several other refusals; else raise."""
        if not answer.gone:
            if not self._patience.ends():
                raise RefusedError(request, answer)
            log.warning("continuing without checkpoints", path=request.path, message=answer.message)
        self._is_served = False

    async def write(self, rows: Mapping[Key, AutoscalerRow], now: float) -> None:
        """Write a few of the changed checkpoints; one that cannot be written is tried again later.

        Checkpoints of VPAs with another recommender are not written.
        """
        if self._is_served is False:
            return
        ours = {
            key: row
            for key, row in rows.items()
            if not isinstance(row.autoscaler, VPA) or follows_ours(row.autoscaler.readable())
        }
        sampled = {subject: at for subject, at in self._history.sampled().items() if subject[0] in ours}
        subjects = due(sampled, self._written, now)
        if subjects and self._is_served is None:
            # No autoscaler sized pods when leading started.
            try:
                await self._found(ours)
            except (UnreachableError, RefusedError) as error:
                log.warning("checkpoints cannot be read", error=str(error))
                return
        if not self._is_served:
            return
        await asyncio.gather(*[self._write(subject, rows[subject[0]], now) for subject in subjects])

    async def _write(self, subject: Subject, row: AutoscalerRow, now: float) -> None:
        status, there = self._history.status(subject, now), self._there.get(subject)
        request = checkpoint_request(subject, row.uid, row.identity, status, there)
        self._written[subject] = now
        try:
            answer = await self._port.call(request)
        except (UnreachableError, MayNotWriteError):
            return
        if answer.ok:
            self._there[subject] = known(answer.json())
        elif answer.conflict:
            await self._look_again(subject)
        elif answer.gone:
            self._there.pop(subject, None)
        else:
            log.warning("checkpoint refused", path=request.path, message=answer.message)

    async def _look_again(self, subject: Subject) -> None:
        """Another client wrote it: read its new version, so that the next write replaces it."""
        (_, namespace, owner), container = subject
        query = {"fieldSelector": f"metadata.name={checkpoint_name(owner, container)}"}
        try:
            answer = await self._port.call(Request("GET", CHECKPOINTS.path(namespace), query))
        except UnreachableError:
            return
        for data in mappings(inner(answer.json()).get("items")) if answer.ok else ():
            self._there[subject] = known(data)
            self._written.pop(subject, None)


def _read(item: msgspec.Raw) -> dict[str, Any] | None:
    """A checkpoint; None if it cannot be read: then its usage is measured again."""
    try:
        return read_object(item)
    except UnreadableError as error:
        log.warning("checkpoint skipped", error=str(error)[:200])
        return None
