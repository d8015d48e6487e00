"""The client of the tests: idle connections that the server closes do not affect a test."""

import http.client
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest
import trustme

from cluster.plane.api import Api

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
RESET = struct.pack("ii", 1, 0)


def _reset(connection: ssl.SSLSocket) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    connection.close()


def _goodbye(connection: ssl.SSLSocket) -> None:
    with suppress(OSError):
        connection.settimeout(0.05)
        connection.unwrap()
    connection.close()


def _close(connection: ssl.SSLSocket) -> None:
    connection.close()


WAYS = {"goodbye": _goodbye, "close": _close, "reset": _reset}


@contextmanager
def forgetful(end: Callable[[ssl.SSLSocket], None], patience: int) -> Iterator[tuple[Api, Callable[[], None]]]:
    """A server that answers `patience` requests per connection, and ends the connection on request."""
    ca = trustme.CA()
    server_tls, client_tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH), ssl.create_default_context()
    ca.issue_cert("127.0.0.1").configure_cert(server_tls)
    ca.configure_trust(client_tls)
    reported, ended = threading.Semaphore(0), threading.Semaphore(0)

    def end_it() -> None:
        reported.release()
        assert ended.acquire(timeout=60)

    def serve(accepted: socket.socket) -> None:
        connection = server_tls.wrap_socket(accepted, server_side=True)
        reader = connection.makefile("rb")
        for _ in range(patience):
            length = int(http.client.parse_headers(reader).get("Content-Length", 0)) if reader.readline() else 0
            reader.read(length)
            connection.sendall(ANSWER)
        reader.close()
        assert patience == 0 or reported.acquire(timeout=60)
        end(connection)
        ended.release()

    def accept() -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=accept, daemon=True).start()
        api = Api(listener.getsockname()[1], client_tls, "token")
        yield api, end_it
        api.close()
        listener.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("method", ["GET", "PATCH"])
def test_a_connection_ended_while_idle_is_reopened(way: str, method: str) -> None:
    """The client reconnects however the server ended the connection, also for a request with a body."""
    with forgetful(WAYS[way], patience=1) as (api, end_it):
        for _ in range(5):
            assert api.call(method, "/", {"a": 1} if method == "PATCH" else None).ok
            end_it()


@pytest.mark.parametrize("way", WAYS)
def test_a_server_that_never_answers_is_an_error(way: str) -> None:
    """The client does not retry for ever if new connections end before a response."""
    with forgetful(WAYS[way], patience=0) as (api, _), pytest.raises(OSError, match=r"EOF|closed|reset|pipe"):
        api.call("PATCH", "/", {"a": 1})
