"""The list of what another metrics server serves, asked again and again, so that no client waits for it."""

import asyncio
from collections.abc import Callable
from typing import Any

import structlog

from hypot.metricsapi.serve.forwarder import Forwarder, ForwardError
from hypot.metricsapi.serve.query import GROUPS, versions_of
from hypot.serving.readers import User

log = structlog.get_logger()
EVERY = 30.0


class OtherMetrics:
    """While the other server does not answer, it serves nothing."""

    def __init__(self, forwarder: Forwarder, user: User, active: Callable[[], bool]) -> None:
        """`user` is this server itself. Nothing is asked while it is not `active`."""
        self._forwarder, self._user, self._active = forwarder, user, active
        self._known: dict[tuple[str, str], list[dict[str, Any]]] = {}
        # Whether the other server answered the last time; None if it was not asked.
        self.up: bool | None = None

    def of(self, group: str, version: str) -> list[dict[str, Any]]:
        return self._known.get((group, version), [])

    async def run(self) -> None:
        """Run until it is cancelled."""
        while True:
            if self._active():
                await self.refresh()
            else:
                self._known, self.up = {}, None
            await self._waited()

    async def refresh(self) -> None:
        try:
            found = [await self._forwarder.resources(*one, self._user) for one in _versions()]
        except ForwardError as error:
            if self.up is not False:
                log.warning("another metrics server does not say what it serves", error=str(error))
            self._known, self.up = {}, False
            self._forwarder.counts.faults[error.fault] += 1
            return
        self._known = {one: listed or [] for one, listed in zip(_versions(), found, strict=True)}
        self.up = True

    async def _waited(self) -> None:
        """Until the next question is due, or this replica becomes or stops being active."""
        was, passed = self._active(), 0.0
        while passed < EVERY and self._active() == was:
            await asyncio.sleep(0.5)
            passed += 0.5


def _versions() -> list[tuple[str, str]]:
    return [(group, version) for group in GROUPS for version in versions_of(group)]
