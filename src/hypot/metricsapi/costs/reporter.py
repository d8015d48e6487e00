"""Writes an event when the cost of a request changes: one for each change, and only by the replica that leads."""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

import structlog

from hypot.cluster.clock import boot, wall
from hypot.cluster.port import JSON, Port, Request, UnreachableError, encoded
from hypot.metricsapi.costs.learner import WorkloadChange
from hypot.serving.event_object import LONGEST_MESSAGE, EventSubject, Occurrences, cut, event_name, event_object

log = structlog.get_logger()
# How often changes are reported, and how many events that may be in a time: the log has all of them.
EVERY = 5.0
MOST_EVENTS, EVENTS_WITHIN = 20, 600.0
# An event that cannot be sent is tried again for as long as this many others do not follow it.
MOST_WAITING = 100
WRITE_WITHIN = 5.0

# Reason -> its type, and what it means.
REASONS = {
    "RequestCostRose": ("Warning", "Requests take more cpu than usual, by at least `changeFactor`."),
    "RequestCostFell": ("Normal", "Requests take less cpu than usual, by at least `changeFactor`."),
    "RequestCostUsual": ("Normal", "Requests take as much cpu as before the change."),
    "RequestCostSettled": (
        "Normal",
        "The change has lasted for six half-lives; this cost is the usual one from now on.",
    ),
}
_REASON_OF = {
    "rose": "RequestCostRose",
    "fell": "RequestCostFell",
    "usual": "RequestCostUsual",
    "settled": "RequestCostSettled",
}


def message_of(found: WorkloadChange) -> str:
    change = found.change
    cores = f"a pod uses {change.cores:.3g} cpu, and {change.usual_cores:.3g} would be usual for its requests"
    if change.direction == "usual":
        return f"Requests take the usual cpu again: {cores} (rule {found.rule})."
    kept = "; this is usual from now on" if change.direction == "settled" else ""
    return f"Requests take {change.ratio:.2g} times the usual cpu: {cores}{kept} (rule {found.rule})."


def table() -> str:
    """All reasons as a table for the documentation."""
    lines = ["| reason | type | what it means |", "| --- | --- | --- |"]
    return "\n".join([*lines, *[f"| `{reason}` | {kind} | {text} |" for reason, (kind, text) in REASONS.items()]])


class CostReporter:
    """Reports changes. `may_write` says for how many seconds this replica still leads."""

    def __init__(
        self, port: Port, instance: str, may_write: Callable[[], float], clock: Callable[[], float] = boot
    ) -> None:
        self._port, self._instance, self._may_write, self._clock = port, instance, may_write, clock
        self._waiting: deque[Request] = deque(maxlen=MOST_WAITING)
        self._written: deque[float] = deque()
        self._names = 0

    async def run(self, changes: Callable[[], Iterable[WorkloadChange]]) -> None:
        """Report until it is cancelled. An error here is logged: metrics are served without events, too."""
        while True:
            try:
                self.take(changes())
                await self.send()
            except Exception as error:
                log.exception("changed costs not reported", error=repr(error))
            await asyncio.sleep(EVERY)

    def take(self, changes: Iterable[WorkloadChange]) -> None:
        """Take new changes. A replica that does not lead forgets them: the leader sees them itself."""
        for found in changes:
            if self._may_write() > 0:
                self._log(found)
                if self._may_send():
                    self._waiting.append(self._request(found))

    def _log(self, found: WorkloadChange) -> None:
        about = found.workload
        log.warning(
            "cost of requests changed",
            rule=found.rule,
            namespace=about.namespace,
            workload=f"{about.kind}/{about.name}",
            reason=_REASON_OF[found.change.direction],
            ratio=round(found.change.ratio, 2),
        )

    def _may_send(self) -> bool:
        now = self._clock()
        while self._written and now - self._written[0] > EVENTS_WITHIN:
            self._written.popleft()
        if len(self._written) >= MOST_EVENTS:
            return False
        self._written.append(now)
        return True

    def _request(self, found: WorkloadChange) -> Request:
        self._names += 1
        about, now = found.workload, wall()
        reason = _REASON_OF[found.change.direction]
        made: dict[str, Any] = event_object(
            EventSubject(about.api_version, about.kind, about.namespace, about.name, about.uid),
            event_name(about.name, int(now * 1e6) + self._names),
            REASONS[reason][0],
            reason,
            cut(message_of(found), LONGEST_MESSAGE),
            Occurrences(now, now),
            self._instance,
        )
        path = f"/api/v1/namespaces/{about.namespace}/events"
        return Request("POST", path, {"fieldManager": "hypot"}, encoded(made), JSON, timeout=WRITE_WITHIN)

    async def send(self) -> None:
        """Send what waits. What the server refuses is dropped; what it did not answer is sent again later."""
        while self._waiting and self._may_write() > WRITE_WITHIN:
            request = self._waiting[0]
            try:
                answer = await self._port.call(request)
            except UnreachableError as error:
                log.warning("event not sent", path=request.path, error=str(error))
                return
            self._waiting.popleft()
            if not answer.ok and not answer.conflict:
                log.warning("event refused", path=request.path, status=answer.status, error=answer.message)
        if self._may_write() <= 0:
            self._waiting.clear()
