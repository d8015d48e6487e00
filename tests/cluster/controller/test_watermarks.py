"""WatermarkPodAutoscalers under `hypot run`, end to end on a real control plane."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest

from cluster.plane.api import TABLE
from cluster.plane.controlplane import ControlPlane
from cluster.plane.waiting import eventually
from cluster.running.alone import controlling
from cluster.running.controller import Controller
from cluster.running.film import Film
from cluster.running.shapes import (
    QUEUE_BAND,
    WPA,
    Queue,
    RecommenderService,
    define,
    definition,
    pods_of,
    series,
    watermarks,
)
from cluster.running.stage import PATHS, Autoscaler, Stage, Workload, stays
from hypot.core.instant import read_time

SOON = 60
MONITORS = "/apis/datadoghq.com/v1alpha1/namespaces/{}/datadogmonitors"
GAUGES = (
    "wpa_controller_value",
    "wpa_controller_high_watermark",
    "wpa_controller_low_watermark",
    "wpa_controller_replicas_scaling_proposal",
    "wpa_controller_replicas_scaling_effective",
    "wpa_controller_restricted_scaling",
    "wpa_controller_transition_countdown",
)


@pytest.fixture(scope="module")
def stage(plane: ControlPlane) -> Iterator[Stage]:
    stage = Stage(plane).start()
    define(stage.api, definition("datadoghq.com", "DatadogMonitor", "datadogmonitors", "v1alpha1"))
    define(stage.api, definition("hypot.test", "Machine", "machines", scale=True))
    yield stage
    stage.stop()


def gauge(controller: Controller, wpa: Autoscaler, name: str, **labels: str) -> list[float]:
    """The values of one gauge of the autoscaler."""
    own = {"wpa_name": wpa.name} if name.startswith("wpa_") else {"object_name": wpa.name, "kind": wpa.kind}
    return [value for _, value in series(controller.get("/metrics")[1], name, **own, **labels)]


def columns(wpa: Autoscaler) -> dict[str, Any]:
    """What `kubectl get` shows."""
    table = wpa.api.get(wpa.path, accept=TABLE)
    return dict(zip([column["name"] for column in table["columnDefinitions"]], table["rows"][0]["cells"], strict=True))


def test_replicas_follow_demand_within_factors_and_windows(stage: Stage, namespace: str) -> None:
    """Steps of half of the replicas, no sooner than the windows allow; status, events, columns and gauges say why."""
    web = Workload(stage, namespace, load=400).create(4)
    with (
        Film(stage.api, PATHS[WPA[0]].format(namespace)) as reported,
        Film(stage.api, PATHS["Deployment"].format(namespace)) as counts,
    ):
        wpa = web.autoscaler(*WPA, watermarks())
        with controlling(stage, namespace) as hypot:
            eventually(lambda: wpa.condition("ScalingActive").get("status") == "True", SOON)
            assert web.replicas() == 4
            web.load = 3000
            eventually(lambda: web.replicas() == 10, SOON)
            eventually(lambda: wpa.status()["currentReplicas"] == 10, SOON)
            assert wpa.status()["desiredReplicas"] == 10
            assert wpa.condition("AboveHighWatermark")["status"] == "True"
            web.load = 100
            eventually(lambda: web.replicas() == 2, SOON)
            eventually(lambda: wpa.status()["currentReplicas"] == 2, SOON)
            web.load = 200
            eventually(lambda: wpa.condition("BelowLowWatermark").get("status") == "False", SOON)
            hypot.until_reconciled()
            status, shown = wpa.status(), columns(wpa)
            exposed = {name: gauge(hypot, wpa, name) for name in GAUGES}
            events = wpa.events()
    assert counts.values("web", "spec", "replicas") == [4, 6, 9, 10, 5, 3, 2]
    moves = reported.values("web", "status", "lastScaleTime")
    times = [read_time(at) for at in moves]
    gaps = [after - before for before, after in pairwise(times)]
    # Times in a status are whole seconds.
    assert all(gap >= window - 1 for gap, window in zip(gaps, [2, 2, 3, 3, 3], strict=True))
    assert (status["desiredReplicas"], status["scalingEventsCount"]) == (2, 6)
    assert status["currentMetrics"][0]["type"] == "Resource"
    assert [(reason, message) for reason, message in events if reason == "Scaling"] == [
        ("Scaling", f"New size: {count}; reason: cpu{{map[]}} above target") for count in (6, 9, 10)
    ] + [("Scaling", f"New size: {count}; reason: All metrics below target") for count in (5, 3, 2)]
    assert (shown["scaling active"], shown["max replicas"], shown["dry-run"]) == ("True", 10, "False")
    assert shown["high watermark"] == "200m"
    assert {name for name, values in exposed.items() if values} == set(GAUGES)
    assert exposed["wpa_controller_high_watermark"] == [200]
    assert exposed["wpa_controller_replicas_scaling_effective"] == [2]


def test_an_external_metric_comes_through_the_aggregator(stage: Stage, namespace: str) -> None:
    """It is queried with its labels, and followed."""
    web = Workload(stage, namespace).create(2)
    queue = Queue(web, 20)
    wpa = web.autoscaler(*WPA, watermarks(metrics=[QUEUE_BAND]))
    with controlling(stage, namespace):
        eventually(lambda: wpa.condition("ScalingActive").get("status") == "True", SOON)
        queue.length = 80
        eventually(lambda: web.replicas() == 4, SOON)
        queue.length = 9
        eventually(lambda: web.replicas() == 2, SOON)
        eventually(lambda: wpa.status()["currentReplicas"] == 2, SOON)
    shown = wpa.status()["currentMetrics"][0]["external"]
    assert (shown["metricName"], shown["metricSelector"]) == ("queue", {"matchLabels": {"of": "web"}})
    assert {(query.metric, query.labels) for query in queue.asked} == {("queue", "of=web")}
    assert next(message for reason, message in wpa.events() if reason == "Scaling").startswith(
        "New size: 3; reason: queue{"
    )


def test_a_recommender_is_asked_over_tls(stage: Stage, namespace: str) -> None:
    """A recommender without a trusted certificate is not used, and nothing scales; then its counts are followed."""
    asked = {"targetReplicas": 4, "lowerBoundReplicas": 3, "upperBoundReplicas": 5, "reason": "busy"}
    web = Workload(stage, namespace).create(2)
    with RecommenderService(stage.plane.ca, lambda _: asked) as service:
        spec = watermarks(
            recommender={"url": service.url, "targetType": "cpu", "highWatermark": "80", "lowWatermark": "50"}
        )
        del spec["metrics"]
        wpa = web.autoscaler(*WPA, spec)
        allowed = {"recommenderHosts": [service.host], "recommenderFiles": str(stage.plane.folder)}
        with controlling(stage, namespace, **allowed) as hypot:
            broken = eventually(lambda: wpa.condition("ScalingActive"), SOON)
            assert (broken["status"], broken["reason"]) == ("False", "FailedGetResourceMetric")
            hypot.until_reconciled(2)
            assert (web.replicas(), service.asked) == (2, [])
            tls = {"caFile": "ca.pem"}
            stage.api.patch(wpa.path, {"spec": {"recommender": {"tlsConfig": tls}}})
            eventually(lambda: web.replicas() == 4, SOON)
            eventually(lambda: wpa.status()["currentReplicas"] == 4, SOON)
            eventually(lambda: gauge(hypot, wpa, "wpa_controller_replicas_scaling_proposal") == [4], SOON)
    assert service.asked[0]["targetRef"]["name"] == "web"
    assert service.asked[0]["state"] == {"desiredReplicas": 2, "currentReplicas": 2, "readyReplicas": 2}
    assert any("recommender{targetType:cpu}" in message for reason, message in wpa.events() if reason == "Scaling")


def test_a_dry_run_of_one_object_is_reported_and_not_written(stage: Stage, namespace: str) -> None:
    """Status and gauge show what would be done; the target changes only after the dry run has ended."""
    web = Workload(stage, namespace, load=3000).create(2)
    wpa = web.autoscaler(*WPA, watermarks(dryRun=True))
    with controlling(stage, namespace) as hypot:
        eventually(lambda: wpa.condition("DryRun").get("status") == "True", SOON)
        hypot.until_reconciled(3)
        assert web.replicas() == 2
        assert wpa.status()["desiredReplicas"] == 3
        assert gauge(hypot, wpa, "wpa_controller_replicas_scaling_effective") == [3]
        assert columns(wpa)["dry-run"] == "True"
        stage.api.patch(wpa.path, {"spec": {"dryRun": False}})
        eventually(lambda: web.replicas() >= 3, SOON)


def test_a_monitor_must_be_ok(stage: Stage, namespace: str) -> None:
    """While the monitor is missing or alerts nothing scales, and the condition says which; then the target follows."""
    web = Workload(stage, namespace, load=3000).create(2)
    annotated = {"wpa.datadoghq.com/lifecycle-control.enabled": "true"}
    wpa = web.autoscaler(*WPA, watermarks(maxReplicas=4), **annotated)
    path = MONITORS.format(namespace)
    with controlling(stage, namespace) as hypot:
        eventually(lambda: wpa.condition("ScalingBlocked").get("reason") == "FailedGetDatadogMonitor", SOON)
        body = {"apiVersion": "datadoghq.com/v1alpha1", "kind": "DatadogMonitor", "metadata": {"name": "web"}}
        stage.api.create(path, body)
        stage.api.patch(f"{path}/web/status", {"status": {"monitorState": "Alert"}})
        eventually(lambda: wpa.condition("ScalingBlocked").get("reason") == "DatadogMonitorNotOK", SOON)
        hypot.until_reconciled(2)
        assert web.replicas() == 2
        assert gauge(hypot, wpa, "hypot_blocked", reason="lifecycle-blocked") == [1]
        stage.api.patch(f"{path}/web/status", {"status": {"monitorState": "OK"}})
        eventually(lambda: web.replicas() == 4, SOON)
        assert wpa.condition("ScalingBlocked")["reason"] == "DatadogMonitorOK"
    assert "FailedGetDatadogMonitor" in {reason for reason, _ in wpa.events()}


def made_target(stage: Stage, namespace: str, kind: str) -> tuple[str, str]:
    """A target of another kind with two pods and no controller of its own: its path and its API version."""
    selector = {"matchLabels": {"app": "web"}}
    if kind == "StatefulSet":
        path, version = f"/apis/apps/v1/namespaces/{namespace}/statefulsets", "apps/v1"
        container = {"name": "app", "image": "app"}
        template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [container]}}
        spec: dict[str, Any] = {"replicas": 2, "selector": selector, "serviceName": "web", "template": template}
    else:
        path, version = f"/apis/hypot.test/v1/namespaces/{namespace}/machines", "hypot.test/v1"
        spec = {"replicas": 2}
    body = {"apiVersion": version, "kind": kind, "metadata": {"name": "web"}, "spec": spec}
    owner = {**stage.api.create(path, body), "apiVersion": version, "kind": kind}
    stage.api.patch(f"{path}/web/status", {"status": {"replicas": 2, "selector": "app=web"}})
    pods_of(stage.api, namespace, owner, 2, "web")
    return f"{path}/web", version


@pytest.mark.parametrize("kind", ["StatefulSet", "Machine"])
def test_any_kind_with_a_scale_is_a_target(stage: Stage, namespace: str, kind: str) -> None:
    """A StatefulSet is watched, a custom kind is known only by its scale: the replica count is written to either."""
    web = Workload(stage, namespace, load=1000)
    stage.metrics.answers[namespace] = web.say
    path, version = made_target(stage, namespace, kind)
    eventually(lambda: [pod for pod in web.pods() if pod["status"]["phase"] == "Running"], SOON)
    target = {"apiVersion": version, "kind": kind, "name": "web"}
    wpa = web.autoscaler(*WPA, {**watermarks(), "scaleTargetRef": target})
    with controlling(stage, namespace):
        eventually(lambda: stage.api.get(path)["spec"]["replicas"] >= 3, SOON)
        web.load = 20
        eventually(lambda: stage.api.get(path)["spec"]["replicas"] == 1, SOON)
    assert {reason for reason, _ in wpa.events()} == {"Scaling"}


def held(wpa: Autoscaler, reason: str) -> bool:
    reported = wpa.condition("ScalingBlocked")
    return (reported.get("status"), reported.get("reason")) == ("True", reason)


def test_paused_and_held(stage: Stage, namespace: str) -> None:
    """Each annotation holds what it says while it is set; condition, column, event and metric report it."""
    web = Workload(stage, namespace, load=3000).create(4)
    wpa = web.autoscaler(*WPA, watermarks(maxReplicas=8), **{"hypot.dev/paused": "true"})
    with controlling(stage, namespace) as hypot:
        eventually(lambda: held(wpa, "Paused"), SOON)
        assert (columns(wpa)["condition"], columns(wpa)["condition state"]) == ("ScalingBlocked", "True")
        eventually(lambda: gauge(hypot, wpa, "hypot_held", reason="Paused") == [1], SOON)
        hypot.until_reconciled(3)
        assert web.replicas() == 4
        wpa.annotate(**{"hypot.dev/paused": "down"})
        eventually(lambda: web.replicas() == 8, SOON)
        web.load = 100
        hypot.until_reconciled(6)
        assert web.replicas() == 8
        wpa.annotate(**{"hypot.dev/paused": "up"})
        eventually(lambda: web.replicas() == 2, SOON)
        web.load = 3000
        hypot.until_reconciled(5)
        assert web.replicas() == 2
        wpa.annotate(**{"hypot.dev/paused": None, "hypot.dev/hold": "5"})
        eventually(lambda: web.replicas() == 5, SOON)
        eventually(lambda: held(wpa, "Held"), SOON)
        eventually(lambda: gauge(hypot, wpa, "hypot_held", reason="Held") == [1], SOON)
        hypot.until_reconciled(3)
        assert web.replicas() == 5
        wpa.annotate(**{"hypot.dev/hold": None})
        eventually(lambda: web.replicas() == 8, SOON)
        eventually(lambda: not held(wpa, "Held"), SOON)
        eventually(lambda: gauge(hypot, wpa, "hypot_held") == [], SOON)
    said = [message for reason, message in wpa.events() if reason == "ScalingHeld"]
    assert [
        word for word in ("all scaling", "scaling up", "scaling down", "count at 5") if not any(word in s for s in said)
    ] == []


def test_a_namespace_without_the_label_is_only_observed(stage: Stage, namespace: str) -> None:
    """No scale, no status and no event, but gauges; with the label hypot acts at once."""
    web = Workload(stage, namespace, load=3000).create(2)
    wpa = web.autoscaler(*WPA, watermarks())
    with controlling(stage, namespace, optIn="label") as hypot:
        eventually(lambda: gauge(hypot, wpa, "wpa_controller_replicas_scaling_effective"), SOON)
        hypot.until_reconciled(3)
        assert gauge(hypot, wpa, "hypot_desired_replicas") == [3]
        assert (web.replicas(), wpa.status(), wpa.events()) == (2, {}, [])
        label = {"metadata": {"labels": {"hypot.dev/scaling": "enabled"}}}
        stage.api.patch(f"/api/v1/namespaces/{namespace}", label)
        eventually(lambda: web.replicas() > 2, SOON)
        eventually(lambda: wpa.status().get("desiredReplicas"), SOON)


def test_a_dry_run_writes_its_lease_and_its_state_only(stage: Stage, namespace: str) -> None:
    """Decisions are only in gauges and logs; the objects of the namespace do not change."""
    web = Workload(stage, namespace, load=3000).create(2)
    wpa = web.autoscaler(*WPA, watermarks())
    paths = (wpa.path, f"{PATHS['Deployment'].format(namespace)}/web")

    def versions() -> list[str]:
        return [stage.api.get(path)["metadata"]["resourceVersion"] for path in paths]

    before = versions()
    with controlling(stage, namespace, dryRun=True) as hypot:
        hypot.until_reconciled(4)
        assert gauge(hypot, wpa, "wpa_controller_replicas_scaling_effective") == [3]
        assert stays(versions, 2) == before
        assert [line["after"] for line in hypot.lines("would decide")] == [3]
        assert hypot.lines("wrote") == []
    assert wpa.events() == []
    own = f"{namespace}-own"
    kept = stage.api.get(f"/api/v1/namespaces/{own}/configmaps")["items"]
    assert any(one["metadata"]["name"].startswith("hypot-dry-run-state-") for one in kept)
    leases = f"/apis/coordination.k8s.io/v1/namespaces/{own}/leases"
    assert stage.api.get(f"{leases}/hypot-dry-run")["spec"]["holderIdentity"] == ""
    assert stage.api.get(f"/api/v1/namespaces/{own}/secrets")["items"] == []
