"""`hypot metrics` on a control plane with a front proxy, pods that count requests, and a forwarder to who is ready."""

import json
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from http.client import HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import trustme

from cluster.plane.controlplane import USERS, ControlPlane
from cluster.running.controller import Controller
from cluster.running.stage import Workload
from ports import free_ports

Object = dict[str, Any]
GROUP, SERVICE, OWN = "custom.metrics.k8s.io", "hypot-metrics", "hypot-system"
# The Service of the forwarder: the API server can connect to it, but not to the addresses of pods.
OUTSIDE = "hypot-metrics-outside"
NAME = "requests_per_second"
ACCOUNT = f"system:serviceaccount:{OWN}:hypot-metrics"
RULES: Object = {
    "apiVersion": "metrics.hypot.dev/v1alpha1",
    "kind": "MetricRules",
    "metadata": {"name": "shop"},
    "spec": {
        "rules": [
            {
                "name": "web",
                "pods": {"matchLabels": {"app": "web"}},
                "scrape": {"port": 0},
                "metrics": [{"counter": "requests_total", "names": [NAME]}],
            }
        ]
    },
}
# Long enough that a scrape that is late on a busy machine changes a rate by little.
QUICK = {"scrapePeriod": 3, "minSampleGap": 1, "maxSampleAge": 12}


class FrontedPlane(ControlPlane):
    """A control plane whose API server passes on requests with a certificate of its own authority."""

    users: ClassVar = {**USERS, "tenant": "tenants", ACCOUNT: "system:serviceaccounts"}

    def __init__(self, binaries: Path, folder: Path) -> None:
        super().__init__(binaries, folder)
        self.proxies, self.clients = trustme.CA(), trustme.CA()

    def _server_flags(self) -> list[str]:
        files = {name: self.folder / name for name in ("proxies.pem", "clients.pem", "proxy.pem", "proxy.key")}
        self.proxies.cert_pem.write_to_path(str(files["proxies.pem"]))
        self.clients.cert_pem.write_to_path(str(files["clients.pem"]))
        leaf = self.proxies.issue_cert(common_name="front-proxy-client")
        leaf.private_key_pem.write_to_path(str(files["proxy.key"]))
        leaf.cert_chain_pems[0].write_to_path(str(files["proxy.pem"]))
        return [
            *super()._server_flags(),
            f"--client-ca-file={files['clients.pem']}",
            f"--requestheader-client-ca-file={files['proxies.pem']}",
            "--requestheader-allowed-names=front-proxy-client",
            "--requestheader-username-headers=X-Remote-User",
            "--requestheader-group-headers=X-Remote-Group",
            "--requestheader-extra-headers-prefix=X-Remote-Extra-",
            f"--proxy-client-cert-file={files['proxy.pem']}",
            f"--proxy-client-key-file={files['proxy.key']}",
        ]


class MetricsProcess(Controller):
    """`hypot metrics` from `start` to `stop`."""

    def __init__(self, plane: ControlPlane, name: str, rules: Path, user: str = "admin", **config: Any) -> None:
        super().__init__(plane, name, user)
        (self.secure,) = free_ports(1)
        self.subcommand = ("metrics", "-f", str(rules))
        self.config = {
            "namespace": OWN,
            "listen": "127.0.0.1",
            "securePort": self.secure,
            "probePort": self.probes,
            "metricsPort": self.metrics,
            "podNetworks": ["127.0.0.0/8"],
            "service": OUTSIDE,
            **QUICK,
            **config,
        }

    def is_ready(self) -> bool:
        try:
            return not self.has_ended and self.get("/readyz")[0] == 200
        except OSError:
            return False


class CountingPods:
    """All pods at one address: each counts its share of the requests."""

    def __init__(self) -> None:
        # Requests per second, and among how many pods they are shared.
        self.requests, self._pods = 0.0, lambda: 1
        self.scrapes = 0
        self._count, self._since = 0.0, time.monotonic()
        self._lock = threading.Lock()
        pods = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                body = f'requests_total{{code="200"}} {pods.count()}\n'.encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    def count(self) -> float:
        with self._lock:
            now = time.monotonic()
            self._count += (now - self._since) * self.requests / max(self._pods(), 1)
            self._since = now
            self.scrapes += 1
            return self._count

    def serve(self, requests: float, web: Workload) -> None:
        """From now on they serve so many requests per second together."""
        self.count()
        self.requests, self._pods = requests, lambda: len(web.pods())

    def start(self) -> "CountingPods":
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()


class Forwarder:
    """A Service in one process: new connections go to a replica that is `ready`, old ones end with theirs."""

    def __init__(self, ready: Callable[[], list[MetricsProcess]]) -> None:
        self._find, self._ready = ready, list[MetricsProcess]()
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._open: dict[socket.socket, MetricsProcess] = {}
        self._stopped = False

    @property
    def port(self) -> int:
        return int(self._listening.getsockname()[1])

    def start(self) -> "Forwarder":
        threading.Thread(target=self._accept, daemon=True).start()
        threading.Thread(target=self._follow, daemon=True).start()
        return self

    def stop(self) -> None:
        self._stopped = True
        self._listening.close()
        for each in list(self._open):
            _end(each)

    def _follow(self) -> None:
        """Several times a second, as kube-proxy with its watch."""
        while not self._stopped:
            with suppress(OSError, HTTPException):
                self._ready = self._find()
            for each, replica in list(self._open.items()):
                if replica not in self._ready or replica.has_ended:
                    _end(each)
            time.sleep(0.2)

    def _accept(self) -> None:
        while not self._stopped:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            threading.Thread(target=self._forward, args=(client,), daemon=True).start()

    def _forward(self, client: socket.socket) -> None:
        replica = next(iter(self._ready), None)
        if replica is None:
            _end(client)
            return
        try:
            server = socket.create_connection(("127.0.0.1", replica.secure), 5)
        except OSError:
            _end(client)
            return
        server.settimeout(None)
        self._open |= {client: replica, server: replica}
        for one, other in ((client, server), (server, client)):
            threading.Thread(target=self._copy, args=(one, other), daemon=True).start()

    def _copy(self, source: socket.socket, to: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                to.sendall(data)
        for each in (source, to):
            self._open.pop(each, None)
            _end(each)


def _end(one: socket.socket) -> None:
    with suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)
    one.close()


def rules_for(port: int, **served: str) -> str:
    """The rules for pods at this port: what is served, by the counter."""
    made = json.loads(json.dumps(RULES))
    (rule,) = made["spec"]["rules"]
    rule["scrape"]["port"] = port
    if served:
        rule["metrics"] = [{"counter": counter, "names": [name]} for counter, name in served.items()]
    return json.dumps(made)


def api_service(version: str, port: int) -> Object:
    return {
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": {"name": f"{version}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "version": version,
            "service": {"name": OUTSIDE, "namespace": OWN, "port": port},
            "groupPriorityMinimum": 100,
            "versionPriority": 200 if version == "v1beta2" else 100,
        },
    }
