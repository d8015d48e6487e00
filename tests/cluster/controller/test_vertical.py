"""VerticalPodAutoscalers under `hypot run`, end to end on a real control plane."""

from typing import Any

import pytest

from cluster.plane.api import TABLE
from cluster.plane.waiting import eventually
from cluster.running.alone import controlling, two_replicas
from cluster.running.controller import Controller
from cluster.running.film import Film
from cluster.running.shapes import QUICKLY, VPA, series, sizer
from cluster.running.stage import Autoscaler, Stage, Workload
from cluster.standins.metricsserver import silent
from hypot.core.quantity import milli
from hypot.run.report.gauge_table import WEBHOOK_SECONDS

SOON = 60
ACT = {"kinds": {"VerticalPodAutoscaler": "act"}, "settings": QUICKLY}
CHECKPOINTS = "/apis/autoscaling.k8s.io/v1/namespaces/{}/verticalpodautoscalercheckpoints"
# Guaranteed QoS: a resize that changes only the requests would change the QoS class.
LARGE = ("500m", "256Mi", {"cpu": "500m", "memory": "256Mi"})
REQUESTS_ONLY = {"containerPolicies": [{"containerName": "*", "controlledValues": "RequestsOnly"}]}
OURS = {"recommenders": [{"name": "hypot"}]}


def cpu(requests: dict[str, str]) -> int:
    return milli(requests["cpu"])


def cpus(web: Workload) -> list[int]:
    return [cpu(one) for one in web.requests()]


def memories(web: Workload) -> list[int]:
    """Bytes; checks that the limits keep their proportion to the requests."""
    pods = [pod["spec"]["containers"][0]["resources"] for pod in web.pods()]
    assert all(abs(milli(one["limits"]["memory"]) - 2 * milli(one["requests"]["memory"])) <= 2000 for one in pods)
    return [milli(one["memory"]) // 1000 for one in web.requests()]


def advised(vpa: Autoscaler) -> dict[str, Any]:
    """The recommendation for the only container; empty before the first."""
    found = vpa.status().get("recommendation", {}).get("containerRecommendations", [])
    return found[0] if found else {}


def marks_of(pod: dict[str, Any]) -> str:
    return str(pod["metadata"].get("annotations", {}).get("hypot.dev/sized-by", ""))


def uids(web: Workload) -> set[str]:
    return {pod["metadata"]["uid"] for pod in web.pods()}


def written(controller: Controller) -> list[list[tuple[str, str]]]:
    """The pods that were written in each reconcile, each with its subresource."""
    reconciles: list[list[tuple[str, str]]] = [[]]
    for line in controller.lines():
        if line["event"] == "reconciled":
            reconciles.append([])
        elif line["event"] == "wrote" and "/pods/" in line["path"]:
            *_, pod, subresource = line["path"].split("/")
            reconciles[-1].append((pod, subresource))
    return reconciles


def deeds(controller: Controller) -> list[list[str]]:
    """The subresources of pods that were written in each reconcile."""
    return [[subresource for _, subresource in reconcile] for reconcile in written(controller)]


def test_pods_are_resized_in_place_and_back(stage: Stage, namespace: str) -> None:
    """The same pods get more and then less, as many at once as the budget allows; status, events, columns show it."""
    limits = {"cpu": "400m", "memory": "256Mi"}
    web = Workload(stage, namespace, load=1200, memory=200 << 20).create(4, "200m", "128Mi", limits)
    before = uids(web)
    vpa = web.autoscaler(*VPA, sizer("InPlaceOrRecreate"))
    with controlling(stage, namespace, **ACT) as hypot:
        eventually(lambda: len(web.requests()) == 4 and min(cpus(web)) >= 330 and min(memories(web)) > 200 << 20, SOON)
        assert 300 < milli(advised(vpa)["target"]["cpu"]) < 500
        web.load, web.memory = 200, 60 << 20
        eventually(lambda: max(cpus(web)) <= 100 and max(memories(web)) < 128 << 20, SOON)
        reconciles = deeds(hypot)
        table = stage.api.get(vpa.path, accept=TABLE)
    assert uids(web) == before
    assert {action for reconcile in reconciles for action in reconcile} == {"resize"}
    assert max(len(reconcile) for reconcile in reconciles) == 2
    assert vpa.condition("RecommendationProvided")["status"] == "True"
    assert set(advised(vpa)) == {"containerName", "target", "lowerBound", "upperBound", "uncappedTarget"}
    assert {reason for reason, _ in vpa.events()} == {"InPlaceResizedByVPA"}
    shown = dict(zip([c["name"] for c in table["columnDefinitions"]], table["rows"][0]["cells"], strict=True))
    assert (shown["Mode"], shown["Provided"]) == ("InPlaceOrRecreate", "True")
    assert milli(shown["CPU"]) < 100
    assert web.deployment()["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"] == "200m"


def test_pods_are_evicted_where_in_place_fails_and_restart_at_their_size(stage: Stage, namespace: str) -> None:
    """Requests below their limits would change the QoS class of these pods; the webhook sizes the new pods."""
    web = Workload(stage, namespace, load=400, memory=100 << 20).create(4, *LARGE)
    before, names = uids(web), {pod["metadata"]["name"] for pod in web.pods()}
    spec = sizer("InPlaceOrRecreate", resourcePolicy=REQUESTS_ONLY)
    with Film(stage.api, f"/api/v1/namespaces/{namespace}/pods") as pods:
        vpa = web.autoscaler(*VPA, spec)
        with controlling(stage, namespace, webhook=True, **ACT) as hypot:
            eventually(lambda: len(cpus(web)) == 4 and max(cpus(web)) < 200 and not uids(web) & before, SOON)
            reconciles = written(hypot)
    # New pods have another QoS class, so a later recommendation may resize them in place.
    assert {action for reconcile in reconciles for pod, action in reconcile if pod in names} == {"eviction"}
    assert max(len(reconcile) for reconcile in reconciles) <= 2
    assert [marks_of(pod) for pod in web.pods()] == ["VerticalPodAutoscaler/web"] * 4
    assert {pod["spec"]["containers"][0]["resources"]["limits"]["cpu"] for pod in pods.states} == {"500m"}
    assert "EvictedPod" in {reason for reason, _ in vpa.events()}


@pytest.mark.parametrize("mode", ["Recreate", "Auto"])
def test_a_new_autoscaler_records_before_it_evicts(stage: Stage, namespace: str, mode: str) -> None:
    """Pods that need more come back with more, each after one eviction: the status had their size before."""
    web = Workload(stage, namespace, load=1200, memory=300 << 20).create(3, "100m", "128Mi")
    before = uids(web)
    with controlling(stage, namespace, webhook=True, **ACT) as hypot:
        vpa = web.autoscaler(*VPA, sizer(mode))
        eventually(lambda: len(cpus(web)) == 3 and min(cpus(web)) >= 400 and not uids(web) & before, SOON)
        evictions = [action for reconcile in deeds(hypot) for action in reconcile]
    assert evictions == ["eviction"] * 3
    assert {marks_of(pod) for pod in web.pods()} == {"VerticalPodAutoscaler/web"}
    assert min(milli(each["memory"]) // 1000 for each in web.requests()) >= 300 << 20
    assert "WebhookUnavailable" not in {reason for reason, _ in vpa.events()}


def test_the_other_replica_sizes_what_the_leader_evicts(stage: Stage, namespace: str) -> None:
    """A new autoscaler: its status tells the webhook of a replica that decides nothing, before any pod is evicted."""
    web = Workload(stage, namespace, load=1200, memory=300 << 20).create(3, "100m", "128Mi")
    before = uids(web)
    with two_replicas(stage, namespace, **ACT) as (leader, proxy, follower):
        held = proxy.hold(lambda call: call.kind == "status" and b'"target"' in call.body)
        web.autoscaler(*VPA, sizer("Recreate"))
        eventually(held.come.is_set, SOON)
        assert proxy.writes("eviction") == []
        held.release.set()
        eventually(lambda: len(cpus(web)) == 3 and min(cpus(web)) >= 400 and not uids(web) & before, SOON)
        # The log of a reconcile comes after its writes.
        eventually(lambda: [action for reconcile in deeds(leader) for action in reconcile] == ["eviction"] * 3, SOON)
        answered = [series(each.get("/metrics")[1], f"{WEBHOOK_SECONDS}_count") for each in (leader, follower)]
        assert (follower.lines("lease acquired"), follower.lines("wrote")) == ([], [])
    assert {marks_of(pod) for pod in web.pods()} == {"VerticalPodAutoscaler/web"}
    assert [sum(value for _, value in found) for found in answered] == [0, 3]


def test_an_eviction_waits_for_its_budget(stage: Stage, namespace: str) -> None:
    """A PodDisruptionBudget that allows no disruption keeps all pods; hypot reports it and continues to reconcile."""
    web = Workload(stage, namespace, load=400, memory=100 << 20).create(4, *LARGE)
    before = uids(web)
    budget = {"metadata": {"name": "web"}, "spec": {"minAvailable": 4, "selector": {"matchLabels": {"app": "web"}}}}
    path = f"/apis/policy/v1/namespaces/{namespace}/poddisruptionbudgets"
    stage.api.create(path, budget)
    vpa = web.autoscaler(*VPA, sizer("Recreate", resourcePolicy=REQUESTS_ONLY))
    with controlling(stage, namespace, webhook=True, **ACT) as hypot:
        eventually(lambda: [line for line in hypot.lines("refused") if line["path"].endswith("/eviction")], SOON)
        hypot.until_reconciled(6)
        assert uids(web) == before
        assert "FailedResize" in {reason for reason, _ in vpa.events()}
        assert "EvictedPod" not in {reason for reason, _ in vpa.events()}
        stage.api.delete(f"{path}/web")
        eventually(lambda: not uids(web) & before, SOON)


def test_pods_without_requests_are_never_resized(stage: Stage, namespace: str) -> None:
    """Their QoS class would change, and this mode does not evict: there is a recommendation, and why it waits."""
    web = Workload(stage, namespace, load=400).create(2, cpu="")
    vpa = web.autoscaler(*VPA, sizer("InPlace"))
    with controlling(stage, namespace, **ACT) as hypot:
        eventually(lambda: advised(vpa).get("target"), SOON)
        hypot.until_reconciled(4)
        held = series(hypot.get("/metrics")[1], "hypot_blocked", object_name="web", reason="resize-not-allowed")
        assert [value for _, value in held] == [1]
        assert deeds(hypot)[-4:] == [[], [], [], []]
    assert vpa.events() == []


def test_recommend_mode_writes_only_its_own_statuses(stage: Stage, namespace: str) -> None:
    """Objects that name hypot get a recommendation and a checkpoint; other objects and pods get nothing."""
    web = Workload(stage, namespace, load=1200).create(2)
    other = Workload(stage, namespace, "other", load=1200).create(2)
    ours = web.autoscaler(*VPA, sizer("InPlaceOrRecreate", **OURS))
    theirs = other.autoscaler(*VPA, sizer("InPlaceOrRecreate"))
    with controlling(stage, namespace, kinds={"VerticalPodAutoscaler": "recommend"}, settings=QUICKLY) as hypot:
        eventually(lambda: advised(ours).get("target"), SOON)
        hypot.until_reconciled(4)
        assert deeds(hypot)[-4:] == [[], [], [], []]
    kept = stage.api.get(CHECKPOINTS.format(namespace))["items"]
    assert [one["spec"]["vpaObjectName"] for one in kept] == ["web"]
    assert theirs.status() == {}
    assert (ours.events(), theirs.events()) == ([], [])


def test_usage_is_restored_from_checkpoints(stage: Stage, namespace: str) -> None:
    """Without state, status and metrics a new process uses the checkpoint, which is deleted with its autoscaler."""
    web = Workload(stage, namespace, load=600).create(2)
    vpa = web.autoscaler(*VPA, sizer("Off"))
    path = f"{CHECKPOINTS.format(namespace)}/web-app"
    with controlling(stage, namespace, **ACT):
        eventually(lambda: stage.api.call("GET", path).ok, SOON)
    kept = stage.api.get(path)
    assert kept["status"]["totalSamplesCount"] >= 1
    memory = f"/api/v1/namespaces/{namespace}-own/configmaps"
    for one in stage.api.get(memory)["items"]:
        stage.api.delete(f"{memory}/{one['metadata']['name']}")
    stage.metrics.answers[namespace] = silent
    stage.api.patch(f"{vpa.path}/status", {"status": None}, query={"fieldManager": "hypot"})
    assert advised(vpa) == {}
    with controlling(stage, namespace, **ACT):
        eventually(lambda: advised(vpa).get("target"), SOON)
        assert 300 <= milli(advised(vpa)["target"]["cpu"]) < 500
    stage.api.delete(vpa.path)
    eventually(lambda: stage.api.call("GET", path).status == 404, SOON)
