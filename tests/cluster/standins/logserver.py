"""The part of a kubelet that `kubectl logs` asks: it answers with the same text for every container."""

import ssl
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import trustme

from cluster.plane.api import Api


class LogServer:
    """Serves on loopback until stopped; `register` makes it the kubelet of a node."""

    def __init__(self, ca: trustme.CA, text: Callable[[], str]) -> None:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(text))
        self._server.daemon_threads = True
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        ca.issue_cert("127.0.0.1").configure_cert(tls)
        self._server.socket = tls.wrap_socket(self._server.socket, server_side=True, do_handshake_on_connect=False)

    def start(self) -> None:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def register(self, api: Api, node: str) -> None:
        status = {
            "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": self._server.server_address[1]}},
        }
        api.patch(f"/api/v1/nodes/{node}/status", {"status": status})


def _handler(text: Callable[[], str]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = 120

        def do_GET(self) -> None:
            url = urlsplit(self.path)
            found = url.path.startswith("/containerLogs/")
            lines = text().splitlines(keepends=True) if found else []
            tail = parse_qs(url.query).get("tailLines")
            body = "".join(lines[-int(tail[0]) :] if tail else lines).encode()
            self.send_response(200 if found else 404)
            self.send_header("Content-Type", "text/plain")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """The tests say what was asked."""

    return Handler
