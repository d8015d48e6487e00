"""A stand-in for metrics-server and the metrics adapters: real TLS, behind the real aggregator, scripted answers.

The answers come from one function per namespace. `silent`, `frozen`, `lagging` and `lying` make worse ones from it.
Every answer is recorded in the journal, so that each action of a controller can be explained by what it was given.
"""

import json
import ssl
import threading
import time
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import trustme

from cluster.plane.api import APPLY, Api
from cluster.plane.waiting import eventually

Object = dict[str, Any]
VERSIONS = {"metrics.k8s.io": "v1beta1", "custom.metrics.k8s.io": "v1beta2", "external.metrics.k8s.io": "v1beta1"}
KINDS = {
    "metrics.k8s.io": "PodMetrics",
    "custom.metrics.k8s.io": "MetricValue",
    "external.metrics.k8s.io": "ExternalMetricValue",
}
SERVICE, NAMESPACE = "metrics-stand-in", "kube-system"
EVERYWHERE, PROBE = "", "probe-"


@dataclass(frozen=True, slots=True)
class Query:
    """A query: API and namespace, time, the metric and object that it is about, and the selectors."""

    api: str
    namespace: str
    at: float
    metric: str = ""
    resource: str = ""
    name: str = ""
    labels: str = ""
    metric_labels: str = ""


Answer = Callable[[Query], list[Object]]


class RefusedError(Exception):
    """Raised in place of an answer: the status to refuse with."""

    def __init__(self, status: int = 503, reason: str = "ServiceUnavailable") -> None:
        super().__init__(reason)
        self.status, self.reason = status, reason


@dataclass(frozen=True, slots=True)
class Answered:
    """One entry of the journal; without items where the query was refused."""

    query: Query
    at: float
    status: int
    items: tuple[Object, ...] = ()
    reason: str = ""


def silent(_: Query) -> list[Object]:
    raise RefusedError


def frozen(answer: Answer) -> Answer:
    """Repeat the first answer for ever, with its times."""
    said: dict[tuple[str, ...], list[Object]] = {}

    def again(query: Query) -> list[Object]:
        key = (query.api, query.metric, query.resource, query.name, query.labels, query.metric_labels)
        if key not in said:
            said[key] = answer(query)
        return said[key]

    return again


def lagging(answer: Answer, seconds: float) -> Answer:
    """Answers with times that are older than they should be."""

    def late(query: Query) -> list[Object]:
        return [{**item, "timestamp": stamp(query.at - seconds)} for item in answer(query)]

    return late


def lying(answer: Answer, change: Callable[[Object], Object]) -> Answer:
    def bent(query: Query) -> list[Object]:
        return [change(item) for item in answer(query)]

    return bent


def stamp(at: float) -> str:
    return datetime.fromtimestamp(int(at), UTC).isoformat().replace("+00:00", "Z")


@dataclass
class Hold:
    """One answer held back: `asked` is set when the query has arrived, `release` lets the answer go."""

    asked: threading.Event = field(default_factory=threading.Event)
    release: threading.Event = field(default_factory=threading.Event)


class _Quiet(ThreadingHTTPServer):
    def handle_error(self, *_: Any) -> None:
        """The client has disconnected; a control plane that stops does that."""


class MetricsServer:
    """Serves on loopback until stopped; `register` puts it behind the API server."""

    def __init__(self, ca: trustme.CA) -> None:
        self.answers: dict[str, Answer] = {}
        self.journal: list[Answered] = []
        self._holds: dict[str, Hold] = {}
        self._ca = ca
        self._server = _Quiet(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        ca.issue_cert(f"{SERVICE}.{NAMESPACE}.svc").configure_cert(tls)
        self._server.socket = tls.wrap_socket(self._server.socket, server_side=True, do_handshake_on_connect=False)

    def start(self) -> None:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def stop(self) -> None:
        for hold in self._holds.values():
            hold.release.set()
        self._server.shutdown()
        self._server.server_close()

    def register(self, api: Api, within: float = 20, groups: Iterable[str] = tuple(VERSIONS)) -> None:
        """Create a Service that leads here and an APIService for each group; returns once queries arrive here."""
        service = {"metadata": {"name": SERVICE}, "spec": {"type": "ExternalName", "externalName": "localhost"}}
        _apply(api, f"/api/v1/namespaces/{NAMESPACE}/services", {"apiVersion": "v1", "kind": "Service", **service})
        for group in groups:
            _apply(api, "/apis/apiregistration.k8s.io/v1/apiservices", self._api_service(group))
        eventually(lambda: all(self._is_asked(api, group) for group in groups), within)

    def _is_asked(self, api: Api, group: str) -> bool:
        """Whether a query to the API server reaches this server."""
        place = f"namespaces/{PROBE}{self._server.server_address[1]}"
        path = "pods" if group == "metrics.k8s.io" else "metrics/any" if group.startswith("custom") else "any"
        self.answers.setdefault(place.removeprefix("namespaces/"), lambda _: [])
        asked = len(self.journal)
        return api.call("GET", f"/apis/{group}/{VERSIONS[group]}/{place}/{path}").ok and len(self.journal) > asked

    @contextmanager
    def held(self, namespace: str) -> Iterator[Hold]:
        """Hold back the next answer about a namespace while the caller moves its pods."""
        hold = self._holds[namespace] = Hold()
        try:
            yield hold
        finally:
            self._holds.pop(namespace, None)
            hold.release.set()

    def answer(self, query: Query) -> Answered:
        """Answer and record; every answer is made here."""
        if query.namespace == EVERYWHERE:
            return self._answer_everywhere(query)
        hold = self._holds.pop(query.namespace, None)
        if hold:
            hold.asked.set()
            hold.release.wait(30)
        try:
            items = self.answers.get(query.namespace, silent)(query)
            said = Answered(query, time.time(), 200, tuple(items))
        except RefusedError as refused:
            said = Answered(query, time.time(), refused.status, reason=refused.reason)
        self.journal.append(said)
        return said

    def _answer_everywhere(self, query: Query) -> Answered:
        """The answers of all namespaces; one that refuses adds nothing, and if all refuse, the whole is refused."""
        answers = [self.answer(replace(query, namespace=each)) for each in list(self.answers)]
        items = tuple(item for said in answers for item in said.items)
        real = [said for said in answers if not said.query.namespace.startswith(PROBE)]
        if not items and answers and all(said.status != 200 for said in real):
            return Answered(query, time.time(), 503, reason="ServiceUnavailable")
        return Answered(query, time.time(), 200, items)

    def _api_service(self, group: str) -> Object:
        service = {"name": SERVICE, "namespace": NAMESPACE, "port": self._server.server_address[1]}
        return {
            "apiVersion": "apiregistration.k8s.io/v1",
            "kind": "APIService",
            "metadata": {"name": f"{VERSIONS[group]}.{group}"},
            "spec": {
                "group": group,
                "version": VERSIONS[group],
                "service": service,
                "caBundle": b64encode(self._ca.cert_pem.bytes()).decode(),
                "groupPriorityMinimum": 100,
                "versionPriority": 100,
            },
        }


def _apply(api: Api, path: str, body: Object) -> None:
    """Create or replace the object."""
    name = body["metadata"]["name"]
    api.patch(f"{path}/{name}", body, content=APPLY, query={"fieldManager": "tests", "force": "true"})


def read_query(address: str, at: float) -> Query | None:
    """The query of an address; None if it is not about metrics."""
    url = urlsplit(address)
    asked = {key: values[0] for key, values in parse_qs(url.query).items()}
    labels, metric_labels = asked.get("labelSelector", ""), asked.get("metricLabelSelector", "")
    match [unquote(part) for part in url.path.strip("/").split("/")]:
        case ["apis", "metrics.k8s.io", _, "pods"]:
            return Query("metrics.k8s.io", EVERYWHERE, at, labels=labels)
        case ["apis", "metrics.k8s.io", _, "namespaces", namespace, "pods"]:
            return Query("metrics.k8s.io", namespace, at, labels=labels)
        case ["apis", "custom.metrics.k8s.io", _, "namespaces", namespace, "metrics", metric]:
            return Query("custom.metrics.k8s.io", namespace, at, metric, "namespaces", namespace, labels, metric_labels)
        case ["apis", "custom.metrics.k8s.io", _, "namespaces", namespace, resource, name, metric]:
            return Query("custom.metrics.k8s.io", namespace, at, metric, resource, name, labels, metric_labels)
        case ["apis", "external.metrics.k8s.io", _, "namespaces", namespace, metric]:
            return Query("external.metrics.k8s.io", namespace, at, metric, labels=labels)
    return None


def _resources(group: str) -> list[Object]:
    """Discovery: only metrics.k8s.io has resources that are known in advance."""
    if group != "metrics.k8s.io":
        return []
    return [{"name": "pods", "singularName": "", "namespaced": True, "kind": "PodMetrics", "verbs": ["get", "list"]}]


def _reply(server: MetricsServer, address: str) -> tuple[int, Object]:
    query = read_query(address, time.time())
    if query:
        said = server.answer(query)
        version = f"{query.api}/{VERSIONS[query.api]}"
        if said.status == 200:
            return 200, {"kind": f"{KINDS[query.api]}List", "apiVersion": version, "metadata": {}, "items": said.items}
        return said.status, _refusal(said.status, said.reason)
    match urlsplit(address).path.strip("/").split("/"):
        case ["apis", "metrics.k8s.io" as group, version, "nodes"]:
            body = {"kind": "NodeMetricsList", "apiVersion": f"{group}/{version}", "metadata": {}}
            return 200, {**body, "items": [_node_usage("node-1")]}
        case ["apis", group, version] if VERSIONS.get(group) == version:
            body = {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": f"{group}/{version}"}
            return 200, {**body, "resources": _resources(group)}
    return 404, _refusal(404, "NotFound")


def _node_usage(name: str) -> Object:
    usage = {"cpu": "500m", "memory": "2Gi"}
    return {"metadata": {"name": name}, "timestamp": stamp(time.time()), "window": "15s", "usage": usage}


def _refusal(status: int, reason: str) -> Object:
    return {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "code": status}


def _handler(server: MetricsServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = 120

        def do_GET(self) -> None:
            status, body = _reply(server, self.path)
            text = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_: Any) -> None:
            """The journal is the log."""

    return Handler
