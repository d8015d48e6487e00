"""Hvpas under `hypot run`, end to end on a real control plane: both axes of each decision, in the right order."""

import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from cluster.plane.api import MERGE, TABLE
from cluster.plane.controlplane import ControlPlane
from cluster.plane.waiting import eventually
from cluster.running.alone import controlling
from cluster.running.controller import Controller
from cluster.running.film import Film
from cluster.running.shapes import HVPA, QUICKLY, both_axes, by_objects, series
from cluster.running.stage import PATHS, Autoscaler, Stage, Workload
from cluster.standins.kubelet import Rule
from cluster.standins.metricsserver import stamp
from hypot.core.quantity import milli

SOON = 60
SETTINGS = {"settings": QUICKLY}
HPA_FLAGS = (
    "--horizontal-pod-autoscaler-sync-period=1s",
    "--horizontal-pod-autoscaler-cpu-initialization-period=1s",
    "--horizontal-pod-autoscaler-initial-readiness-delay=1s",
)


@pytest.fixture(scope="module")
def stage(plane: ControlPlane) -> Iterator[Stage]:
    stage = Stage(plane, *HPA_FLAGS).start()
    yield stage
    stage.stop()


def pods_path(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}/pods"


def cpus(web: Workload) -> list[int]:
    return sorted(milli(one["cpu"]) for one in web.requests())


def is_at(web: Workload, replicas: int, least: int, most: int) -> bool:
    """Whether there are so many pods, all of the same size, and that size is in this range."""
    sizes = cpus(web)
    return web.replicas() == len(sizes) == replicas and least <= sizes[0] and sizes[-1] <= most and len(set(sizes)) == 1


def written(controller: Controller) -> set[str]:
    """The subresources of pods, and the resources, that were written."""
    paths = [line["path"].split("/") for line in controller.lines("wrote")]
    return {path[-1] if path[-1] in {"resize", "eviction", "scale"} else path[-2] for path in paths}


def carried(hvpa: Autoscaler) -> tuple[Any, Any]:
    reported = hvpa.condition("CarriedOut")
    return reported.get("status"), reported.get("reason")


def never_less(pods: Film, marks: list[tuple[int, int]]) -> None:
    """Between two times of rest, the total never fell below the smaller of their two minimums."""
    totals = pods.totals()
    for (before, had), (after, has) in pairwise(marks):
        assert min(totals[before - 1 : after]) >= min(had, has), totals


def test_both_axes_follow_demand_in_place(stage: Stage, namespace: str) -> None:
    """The same pods get larger, then their number rises, and back; the total is never too low on the way."""
    web = Workload(stage, namespace, load=150).create(1, "200m", "128Mi")
    with Film(stage.api, pods_path(namespace)) as pods:
        hvpa = web.autoscaler(*HVPA, both_axes())
        with controlling(stage, namespace, **SETTINGS) as hypot:
            marks = [(pods.until_current(), 200)]
            for load, count, least, most in (
                (300, 1, 340, 430),
                (1200, 2, 690, 800),
                (3000, 3, 1150, 1300),
                (300, 1, 340, 430),
            ):
                web.load = load
                eventually(lambda count=count, least=least, most=most: is_at(web, count, least, most), SOON)
                hypot.until_reconciled(2)
                marks.append((pods.until_current(), count * least))
            status = hvpa.status()
            table = stage.api.get(hvpa.path, accept=TABLE)
            did = written(hypot)
    never_less(pods, marks)
    assert did >= {"resize", "scale"}
    assert "eviction" not in did
    assert (status["desiredReplicas"], status["replicas"]) == (1, 1)
    assert status["lastScaling"]["hpaStatus"]["desiredReplicas"] == 1
    assert carried(hvpa) == ("True", "Done")
    scaled = [message for reason, message in hvpa.events() if reason == "Scaled"]
    assert any(message.startswith("replicas 1 → 2; app cpu ") for message in scaled)
    shown = dict(zip([c["name"] for c in table["columnDefinitions"]], table["rows"][0]["cells"], strict=True))
    assert (shown["Target"], shown["Replicas"], shown["Desired"]) == ("web", 1, 1)
    assert web.deployment()["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"] == "200m"


def small_and_many(stage: Stage, namespace: str, rule: Rule, **annotations: str) -> tuple[Workload, Autoscaler]:
    """Four small pods where two larger pods are right; the autoscaler is still paused."""
    stage.kubelet.rules[namespace] = rule
    web = Workload(stage, namespace, load=1000).create(4, "200m", "128Mi")
    return web, web.autoscaler(*HVPA, both_axes(), **{"hypot.dev/paused": "true", **annotations})


def held(hypot: Controller) -> set[str]:
    return {labels["reason"] for labels, _ in series(hypot.get("/metrics")[1], "hypot_held", object_name="web")}


def let_go(hypot: Controller, hvpa: Autoscaler) -> None:
    """End the pause, once hypot knows enough to scale down too."""
    eventually(lambda: held(hypot) == {"Paused"}, SOON)
    hvpa.annotate(**{"hypot.dev/paused": None})


def test_scale_down_waits_for_larger_pods(stage: Stage, namespace: str) -> None:
    """While the node defers the larger size no pod goes; once it is actual they go, and the total is never too low."""
    rule = Rule(ready_after=0.2, resize="defer")
    web, hvpa = small_and_many(stage, namespace, rule)
    with Film(stage.api, pods_path(namespace)) as pods:
        marks = [(pods.until_current(), 800)]
        with controlling(stage, namespace, **SETTINGS) as hypot:
            let_go(hypot, hvpa)
            eventually(lambda: carried(hvpa) == ("False", "UnderWay"), SOON)
            hypot.until_reconciled(4)
            assert (web.replicas(), cpus(web)) == (4, [200] * 4)
            active = series(hypot.get("/metrics")[1], "hypot_plans", state="under-way")
            assert [value for _, value in active] == [1]
            stage.kubelet.rules[namespace] = replace(rule, resize="acknowledge")
            eventually(lambda: is_at(web, 2, 560, 700), SOON)
            eventually(lambda: carried(hvpa) == ("True", "Done"), SOON)
            marks.append((pods.until_current(), 1120))
            first = hypot.lines("decided")[0]
    assert (first["before"], first["after"]) == (4, 2)
    never_less(pods, marks)


def test_an_infeasible_resize_ends_the_plan(stage: Stage, namespace: str) -> None:
    """With InPlace no pod is evicted for it: condition and event report that the plan ended, and no pod is lost."""
    web, hvpa = small_and_many(
        stage, namespace, Rule(ready_after=0.2, resize="refuse"), **{"hypot.dev/resize": "InPlace"}
    )
    before = {pod["metadata"]["uid"] for pod in web.pods()}
    with controlling(stage, namespace, webhook=True, **SETTINGS) as hypot:
        let_go(hypot, hvpa)
        eventually(lambda: carried(hvpa) == ("False", "Infeasible"), SOON)
        hypot.until_reconciled(3)
        assert written(hypot) == {"resize"}
    assert (web.replicas(), {pod["metadata"]["uid"] for pod in web.pods()}) == (4, before)
    assert any(reason == "PlanEnded" and "never grant" in message for reason, message in hvpa.events())


@pytest.mark.parametrize("answer", ["refuse", "defer"])
def test_pods_are_evicted_where_in_place_fails(stage: Stage, namespace: str, answer: Any) -> None:
    """At once if the node can never grant the size, else after five minutes; new pods start at their size."""
    web, hvpa = small_and_many(stage, namespace, Rule(ready_after=0.2, resize=answer))
    before = {pod["metadata"]["uid"] for pod in web.pods()}
    with controlling(stage, namespace, webhook=True, **SETTINGS) as hypot:
        let_go(hypot, hvpa)
        eventually(lambda: put_off(stage, web) and is_at(web, 2, 560, 700), SOON)
        assert "eviction" in written(hypot)
        eventually(lambda: carried(hvpa) == ("True", "Done"), SOON)
    assert not before & {pod["metadata"]["uid"] for pod in web.pods()}
    assert {pod["metadata"]["annotations"]["hypot.dev/sized-by"] for pod in web.pods()} == {"Hvpa/web"}


def put_off(stage: Stage, web: Workload) -> bool:
    """Backdate the deferrals, so that nodes seem to have deferred for minutes, also those made meanwhile."""
    long_ago = stamp(time.time() - 400)
    for pod in web.pods():
        found = pod["status"].get("conditions", [])
        conditions = [_dated(condition, long_ago) for condition in found]
        if conditions != found:
            name, version = pod["metadata"]["name"], {"resourceVersion": pod["metadata"]["resourceVersion"]}
            body = {"metadata": version, "status": {"conditions": conditions}}
            # A pod that is deleted or changed right now is tried again at the next check.
            stage.api.call("PATCH", f"{pods_path(web.namespace)}/{name}/status", body, content=MERGE)
    return True


def _dated(condition: dict[str, Any], since: str) -> dict[str, Any]:
    if (condition["type"], condition.get("reason")) != ("PodResizePending", "Deferred"):
        return condition
    return {**condition, "lastTransitionTime": min(condition["lastTransitionTime"], since)}


def test_a_pod_killed_out_of_memory_is_evicted(stage: Stage, namespace: str) -> None:
    """It could not apply a resize before it dies again; the other pod is resized in place for the same need."""
    web = Workload(stage, namespace, memory=100 << 20).create(2, "200m", "128Mi")
    policy = {"containerName": "*", "minAllowed": {"memory": "128Mi"}, "controlledResources": ["memory"]}
    spec = both_axes(
        hpa={"deploy": False, "template": {"spec": {"minReplicas": 2, "maxReplicas": 2}}},
        vpa={"deploy": True, "template": {"spec": {"resourcePolicy": {"containerPolicies": [policy]}}}},
        scalingIntervals=[{"maxReplicas": 2, "maxResources": {"cpu": "4", "memory": "4Gi"}}],
    )
    hvpa = web.autoscaler(*HVPA, spec)
    with controlling(stage, namespace, webhook=True, **SETTINGS) as hypot:
        eventually(lambda: hvpa.condition("RecommendationProvided").get("status") == "True", SOON)
        killed, other = (pod["metadata"]["name"] for pod in web.pods())
        stage.kubelet.crash(namespace, killed)
        eventually(lambda: [line for line in hypot.lines("wrote") if line["path"].endswith(f"{killed}/eviction")], SOON)
        eventually(lambda: len([one for one in web.requests() if milli(one["memory"]) > milli("190Mi")]) == 2, SOON)
        paths = [line["path"] for line in hypot.lines("wrote")]
    assert f"{pods_path(namespace)}/{killed}/resize" not in paths
    assert f"{pods_path(namespace)}/{other}/resize" in paths
    assert other in {pod["metadata"]["name"] for pod in web.pods()}


def test_the_template_is_edited_on_request(stage: Stage, namespace: str) -> None:
    """The pods are left to the workload's own controller."""
    web, hvpa = small_and_many(stage, namespace, Rule(ready_after=0.2), **{"hypot.dev/resize": "Template"})
    with controlling(stage, namespace, **SETTINGS) as hypot:
        let_go(hypot, hvpa)
        eventually(lambda: is_at(web, 2, 560, 700), SOON)
        eventually(lambda: carried(hvpa) == ("True", "Done"), SOON)
        assert written(hypot) <= {"scale", "deployments"}
    requests = web.deployment()["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]
    assert 560 <= milli(requests["cpu"]) <= 700
    assert requests["memory"] == "128Mi"


def test_paradox(stage: Stage, namespace: str) -> None:
    """No pod gets smaller going up or larger coming down: the count waits until the total fits the smaller pods."""
    web = Workload(stage, namespace, load=390).create(1, "450m", "128Mi")
    with (
        Film(stage.api, PATHS["Deployment"].format(namespace)) as counts,
        Film(stage.api, pods_path(namespace)) as pods,
    ):
        hvpa = web.autoscaler(*HVPA, both_axes())
        with controlling(stage, namespace, **SETTINGS) as hypot:
            hypot.until_reconciled(3)
            web.load = 520
            eventually(lambda: is_at(web, 2, 290, 360), SOON)
            web.load = 400
            eventually(lambda: hvpa.condition("ScalingBlocked").get("reason") == "ParadoxicalScaling", SOON)
            held = cpus(web)
            hypot.until_reconciled(4)
            assert cpus(web) == held
            assert series(hypot.get("/metrics")[1], "hypot_blocked", object_name="web", reason="paradoxical-scaling")
            web.load = 200
            eventually(lambda: is_at(web, 1, 225, 290), SOON)
    assert counts.values("web", "spec", "replicas") == [1, 2, 1]
    larger = [milli(pod["spec"]["containers"][0]["resources"]["requests"]["cpu"]) for pod in pods.states]
    assert max(larger) == 450


def test_overlap(stage: Stage, namespace: str) -> None:
    """At the same total there are two pods on the way down and one on the way up."""
    web = Workload(stage, namespace, load=700).create(1, "450m", "128Mi")
    hvpa = web.autoscaler(*HVPA, both_axes(scalingIntervalsOverlap={"cpu": {"percentage": 30}}))
    with controlling(stage, namespace, **SETTINGS) as hypot:
        eventually(lambda: is_at(web, 2, 390, 470), SOON)
        web.load = 380
        eventually(lambda: is_at(web, 2, 210, 270), SOON)
        hypot.until_reconciled(3)
        assert web.replicas() == 2
        web.load = 180
        eventually(lambda: is_at(web, 1, 200, 270), SOON)
        web.load = 380
        eventually(lambda: is_at(web, 1, 430, 500), SOON)
        hypot.until_reconciled(3)
        assert web.replicas() == 1
    assert hvpa.status()["desiredReplicas"] == 1


def child(hvpa: Autoscaler, kind: str, name: str = "web") -> dict[str, Any]:
    """The child, or empty if there is none."""
    answer = hvpa.api.call("GET", f"{PATHS[kind].format(hvpa.namespace)}/{name}")
    assert answer.ok or answer.status == 404, answer
    return answer.body if answer.ok else {}


def advise(hvpa: Autoscaler, cpu: str) -> None:
    """Write a recommendation as a recommender of the cluster does for the child VPA."""
    path = f"{PATHS['VerticalPodAutoscaler'].format(hvpa.namespace)}/web/status"
    amounts = {"cpu": cpu, "memory": "128Mi"}
    each = {"containerName": "app", **dict.fromkeys(("target", "lowerBound", "upperBound"), amounts)}
    reported = {"type": "RecommendationProvided", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    status = {"conditions": [reported], "recommendation": {"containerRecommendations": [each]}}
    hvpa.api.patch(path, {"status": status}, query={"fieldManager": "vpa-recommender"})


def test_children_are_kept_and_followed(stage: Stage, namespace: str) -> None:
    """Children are created and repaired, surplus is removed, all go with the Hvpa; the real HPA controller counts."""
    web = Workload(stage, namespace, load=700).create(2, "400m", "128Mi")
    hvpa = web.autoscaler(*HVPA, by_objects(), **{"hypot.dev/recommendations": "objects"})
    hpas = PATHS["HorizontalPodAutoscaler"].format(namespace)
    with controlling(stage, namespace, **SETTINGS) as hypot:
        hpa = eventually(lambda: child(hvpa, "HorizontalPodAutoscaler"), SOON)
        vpa = eventually(lambda: child(hvpa, "VerticalPodAutoscaler"), SOON)
        assert hpa["spec"]["scaleTargetRef"] == {"apiVersion": HVPA[1], "kind": "Hvpa", "name": "web"}
        assert hpa["spec"]["behavior"]["scaleDown"]["stabilizationWindowSeconds"] == 0
        assert (vpa["spec"]["updatePolicy"]["updateMode"], vpa["spec"]["targetRef"]["kind"]) == ("Off", "Deployment")
        owners = [one["metadata"]["ownerReferences"][0]["uid"] for one in (hpa, vpa)]
        assert owners == [hvpa.get()["metadata"]["uid"]] * 2

        stage.api.patch(f"{hpas}/web", {"spec": {"maxReplicas": 3}})
        eventually(lambda: child(hvpa, "HorizontalPodAutoscaler")["spec"]["maxReplicas"] == 12, SOON)
        metadata = {"name": "more", "ownerReferences": hpa["metadata"]["ownerReferences"]}
        stage.api.create(hpas, {"metadata": metadata, "spec": hpa["spec"]})
        eventually(lambda: not child(hvpa, "HorizontalPodAutoscaler", "more"), SOON)

        advise(hvpa, "400m")
        eventually(lambda: hvpa.get()["spec"].get("replicas") == 2, SOON)
        web.load = 3600
        eventually(lambda: web.replicas() == 3, SOON)
        eventually(lambda: hvpa.get()["spec"]["replicas"] == 3, SOON)
        assert any("(hpa)" in message for reason, message in hvpa.events() if reason == "Scaled")
        web.load = 500
        advise(hvpa, "200m")
        eventually(lambda: web.replicas() == 2, SOON)
        eventually(lambda: hvpa.get()["spec"]["replicas"] == 2, SOON)

        stage.api.patch(hvpa.path, {"spec": {"hpa": {"deploy": False}}})
        eventually(lambda: not child(hvpa, "HorizontalPodAutoscaler"), SOON)
        stage.api.delete(hvpa.path)
        eventually(lambda: not child(hvpa, "VerticalPodAutoscaler"), SOON)
        count = web.replicas()
        hypot.until_reconciled(2)
        assert web.replicas() == count
