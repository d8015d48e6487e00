"""Writes that are sent in time or not at all, checked at the last moment that this process controls.

Between a decision to write and its first byte there may be a new connection, a turn of the event loop, or a process
that was stopped for half a minute. So the right to write is checked again when bytes are passed to the system.
"""

import math
import socket
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from typing import Any
from weakref import WeakValueDictionary

import aiohttp
from aiohttp.client_reqrep import ClientResponse
from aiohttp.connector import AddrInfoType, Connection

from hypot.cluster.port import MayNotWriteError, Request

# The seconds during which a write may still be sent.
Guard = Callable[[], float]


class Sending:
    """One call that is being sent. A write is sent once, and only while the guard allows it; reads are not limited."""

    def __init__(self, request: Request, guard: Guard | None) -> None:
        self.request, self._guard = request, guard if request.writes else None
        self._begun = False
        self._passed = False
        # No byte was sent, so the write did not happen; any later failure is a consequence of that.
        self.held_back = False

    def again(self) -> "Sending":
        """The same call, to be sent once more."""
        return Sending(self.request, self._guard)

    def left(self) -> float:
        """The seconds during which it may be sent; 0 or less means that it may not."""
        return math.inf if self._guard is None else self._guard()

    def checked(self) -> float:
        """The seconds left; raises MayNotWriteError if there are none."""
        left = self.left()
        if left <= 0:
            raise self.refusal()
        return left

    def begin(self) -> None:
        """Called before each attempt: aiohttp would resend a PUT or DELETE after a disconnect, even if it was done."""
        if self._begun and self.request.writes:
            raise ConnectionAbortedError("the connection was closed, and a write is not sent twice")
        self.checked()
        self._begun = True

    def pass_bytes(self) -> None:
        """Called before bytes are passed to the system. The rest of a write that was started is held back as well."""
        if self.left() <= 0:
            self.held_back = not self._passed
            raise ConnectionAbortedError("the right to write ended before the write was sent completely")
        self._passed = True

    def refusal(self) -> MayNotWriteError:
        return MayNotWriteError(f"{self.request.method} {self.request.path}: not sent, the right to write has ended")


# The call that this task is about to send.
sending: ContextVar[Sending] = ContextVar("sending")
_sockets: WeakValueDictionary[int, "GuardedSocket"] = WeakValueDictionary()


class GuardedSocket(socket.socket):
    """Checks with the call that it carries before it sends; a connection carries one call at a time."""

    carried: Sending | None = None

    def send(self, data: Any, flags: int = 0, /) -> int:
        if self.carried is not None:
            self.carried.pass_bytes()
        return super().send(data, flags)

    def sendmsg(self, buffers: Iterable[Any], *more: Any) -> int:
        if self.carried is not None:
            self.carried.pass_bytes()
        return super().sendmsg(buffers, *more)


def guarded_socket(address: AddrInfoType) -> socket.socket:
    """A socket that can be found by its file number, because transports do not expose theirs."""
    family, kind, protocol, *_ = address
    made = GuardedSocket(family, kind, protocol)
    _sockets[made.fileno()] = made
    return made


class GuardedRequest(aiohttp.ClientRequest):
    """Checks once more when it has its connection, and makes the socket check before all bytes that it sends."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._sending = sending.get()

    async def send(self, conn: Connection) -> ClientResponse:
        self._sending.begin()
        carrier = conn.transport.get_extra_info("socket") if conn.transport else None
        guarded = _sockets.get(carrier.fileno()) if carrier else None
        if guarded is not None:
            guarded.carried = self._sending
        return await super().send(conn)
