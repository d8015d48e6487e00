"""The stand-in for the metrics APIs, queried through the real aggregator."""

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from cluster.plane.api import Answer, Api
from cluster.plane.controlplane import ControlPlane
from cluster.standins.metricsserver import MetricsServer, Query, frozen, lagging, lying, silent, stamp

USAGE = "/apis/metrics.k8s.io/v1beta1/namespaces/{}/pods"
CUSTOM = "/apis/custom.metrics.k8s.io/v1beta2/namespaces/{}/pods/*/rps"
EXTERNAL = "/apis/external.metrics.k8s.io/v1beta1/namespaces/{}/lag"


@pytest.fixture(scope="module")
def server(plane: ControlPlane) -> Iterator[MetricsServer]:
    server = MetricsServer(plane.ca)
    server.start()
    server.register(plane.admin)
    yield server
    server.stop()


def counting() -> Any:
    """An answer with a new value each time."""
    said = iter(range(100))

    def answer(query: Query) -> list[dict[str, Any]]:
        return [{"metricName": query.metric, "timestamp": stamp(query.at), "value": str(next(said))}]

    return answer


def ask(api: Api, namespace: str) -> Answer:
    return api.call("GET", EXTERNAL.format(namespace))


def value(api: Api, namespace: str) -> str:
    return ask(api, namespace).body["items"][0]["value"]


def test_each_api_is_asked_with_its_selectors(server: MetricsServer, api: Api, namespace: str) -> None:
    """Namespace, metric, objects and both selectors arrive as they were sent, and are recorded."""
    server.answers[namespace] = lambda _: []
    api.get(USAGE.format(namespace), query={"labelSelector": "app=web"})
    api.get(CUSTOM.format(namespace), query={"labelSelector": "app=web", "metricLabelSelector": "verb=GET"})
    api.get(EXTERNAL.format(namespace), query={"labelSelector": "queue=a"})
    usage, custom, external = [said.query for said in server.journal[-3:]]
    assert (usage.api, usage.namespace, usage.labels) == ("metrics.k8s.io", namespace, "app=web")
    assert (custom.metric, custom.resource, custom.name) == ("rps", "pods", "*")
    assert (custom.labels, custom.metric_labels) == ("app=web", "verb=GET")
    assert (external.metric, external.labels) == ("lag", "queue=a")


def test_an_unknown_namespace_is_refused(server: MetricsServer, api: Api) -> None:
    """A namespace without an answer set by a test gets an error, not made-up values."""
    assert ask(api, "nowhere").status == 503
    assert server.journal[-1].items == ()


def test_silence(server: MetricsServer, api: Api, namespace: str) -> None:
    """A silent server is unavailable."""
    server.answers[namespace] = silent
    assert ask(api, namespace).status == 503


def test_frozen_answers_stay(server: MetricsServer, api: Api, namespace: str) -> None:
    """The first answer is repeated for ever."""
    server.answers[namespace] = frozen(counting())
    assert [value(api, namespace) for _ in range(3)] == ["0", "0", "0"]


def test_lagging_answers_are_old(server: MetricsServer, api: Api, namespace: str) -> None:
    """The values are current, but their times are old."""
    server.answers[namespace] = lagging(counting(), 60)
    (item,) = ask(api, namespace).body["items"]
    assert item["timestamp"] < stamp(time.time() - 55)
    assert value(api, namespace) == "1"


def test_lying_answers_are_changed(server: MetricsServer, api: Api, namespace: str) -> None:
    """The journal has the changed values: these are what was sent."""
    server.answers[namespace] = lying(counting(), lambda item: {**item, "value": "-1"})
    assert value(api, namespace) == "-1"
    assert server.journal[-1].items[0]["value"] == "-1"


def test_one_answer_is_held_back(server: MetricsServer, api: Api, namespace: str) -> None:
    """The client waits until the answer is released; the next client is answered at once."""
    server.answers[namespace] = counting()
    got: list[str] = []
    with server.held(namespace) as hold:
        asking = threading.Thread(target=lambda: got.append(value(api, namespace)))
        asking.start()
        assert hold.asked.wait(60)
        assert value(api, namespace) == "0"
        assert got == []
    asking.join(60)
    assert got == ["1"]
