"""A client whose connections can be cut while other threads wait on them."""

import http.client
import socket
from contextlib import suppress
from weakref import WeakSet

from cluster.plane.api import Api


class CuttableApi(Api):
    """Sends requests like another client, over connections of its own."""

    def __init__(self, like: Api) -> None:
        super().__init__(like.port, like._tls, like.token)
        self._open: WeakSet[http.client.HTTPSConnection] = WeakSet()

    def cut(self) -> None:
        """Readers get the end of the stream, writers a broken pipe."""
        for connection in list(self._open):
            with suppress(OSError, TypeError):
                socket.socket.shutdown(connection.sock, socket.SHUT_RDWR)  # Bypass TLS: a reader may be using it.

    def _connect(self, timeout: float) -> http.client.HTTPSConnection:
        connection = super()._connect(timeout)
        self._open.add(connection)
        return connection
