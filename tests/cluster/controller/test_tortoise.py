"""Tortoises under `hypot run`, end to end on a real control plane; a clock set back makes a week pass at once."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from cluster.plane.controlplane import ControlPlane
from cluster.plane.waiting import eventually
from cluster.running.alone import controller_for, controlling, running
from cluster.running.houses import Jumpy
from cluster.running.shapes import QUICKLY
from cluster.running.stage import PATHS, Autoscaler, Stage, Workload, stays
from hypot.kinds.tortoise import Tortoise

SOON = 60
DAY = 86400.0
SETTINGS = {"settings": QUICKLY, "kinds": {"Tortoise": "act", "HorizontalPodAutoscaler": "off"}}
HPA_FLAGS = (
    "--horizontal-pod-autoscaler-sync-period=1s",
    "--horizontal-pod-autoscaler-cpu-initialization-period=1s",
    "--horizontal-pod-autoscaler-initial-readiness-delay=1s",
    "--horizontal-pod-autoscaler-downscale-stabilization=1s",
)
CPU_ONLY = [{"containerName": "app", "policy": {"cpu": "Horizontal"}}]


class Earlier(Jumpy):
    """It runs eight days ago."""

    at_first = -8 * DAY


@pytest.fixture(scope="module")
def stage(plane: ControlPlane) -> Iterator[Stage]:
    stage = Stage(plane, *HPA_FLAGS).start()
    yield stage
    stage.stop()


def tortoise(web: Workload, mode: str = "Auto", *, named: str = "", **spec: Any) -> Autoscaler:
    refs = {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": web.name}}
    refs |= {"horizontalPodAutoscalerName": named} if named else {}
    body = {
        "apiVersion": Tortoise.API_VERSION,
        "kind": Tortoise.KIND,
        "metadata": {"name": web.name, "namespace": web.namespace},
        "spec": {"updateMode": mode, "targetRefs": refs, "autoscalingPolicy": CPU_ONLY, **spec},
    }
    web.stage.api.create(PATHS["Tortoise"].format(web.namespace), body)
    return Autoscaler(web.stage.api, "Tortoise", web.namespace, web.name)


@contextmanager
def a_week_ago(stage: Stage, namespace: str) -> Iterator[Jumpy]:
    """The controller as it was more than a week ago; its state stays."""
    usual = controller_for(stage, namespace, **SETTINGS)
    earlier = Earlier(stage.plane, usual.name, **usual.config)
    with running(earlier):
        yield earlier


def hpas(namespace: str) -> str:
    return PATHS["HorizontalPodAutoscaler"].format(namespace)


def bounds(stage: Stage, path: str) -> tuple[int, int]:
    spec = stage.api.get(path)["spec"]
    return spec["minReplicas"], spec["maxReplicas"]


def test_bounds_are_learned_and_the_hpa_controller_follows_them(stage: Stage, namespace: str) -> None:
    """Every phase from the first to Working; then the learned bounds move with demand, and replicas follow."""
    web = Workload(stage, namespace, load=1200).create(4, "500m", "128Mi")
    one = tortoise(web)
    own = f"{hpas(namespace)}/tortoise-hpa-{web.name}"
    with a_week_ago(stage, namespace):
        eventually(lambda: bounds(stage, own) == (3, 100), SOON)
        eventually(lambda: one.status()["tortoisePhase"] == "GatheringData", SOON)
    with controlling(stage, namespace, **SETTINGS):
        eventually(lambda: one.status()["tortoisePhase"] == "Working", SOON)
        eventually(lambda: bounds(stage, own) == (3, 7), SOON)
        eventually(lambda: 3 <= web.replicas() <= 4, SOON)
        web.load = 4000
        # The target may have risen by then.
        eventually(lambda: 10 <= web.replicas() <= 12, SOON)
        eventually(lambda: 5 <= bounds(stage, own)[0] <= 6, SOON)
        stage.api.patch(own, {"metadata": {"labels": {"team": "shop"}}, "spec": {"maxReplicas": 90}})
        eventually(lambda: bounds(stage, own)[1] < 30, SOON)
        assert stage.api.get(own)["metadata"]["labels"]["team"] == "shop"
    assert {reason for reason, _ in one.events()} >= {"HPACreated", "HPAUpdated"}


def test_emergency_and_back(stage: Stage, namespace: str) -> None:
    """The minimum becomes the maximum at once, and goes back step by step."""
    web = Workload(stage, namespace, load=1200).create(4, "500m", "128Mi")
    one = tortoise(web)
    own = f"{hpas(namespace)}/tortoise-hpa-{web.name}"
    with a_week_ago(stage, namespace):
        eventually(lambda: bounds(stage, own) == (3, 100), SOON)
    with controlling(stage, namespace, **SETTINGS):
        eventually(lambda: bounds(stage, own) == (3, 7), SOON)
        stage.api.patch(one.path, {"spec": {"updateMode": "Emergency"}})
        eventually(lambda: one.status()["tortoisePhase"] == "Emergency", SOON)
        eventually(lambda: bounds(stage, own) == (7, 7), SOON)
        eventually(lambda: web.replicas() == 7, SOON)
        stage.api.patch(one.path, {"spec": {"updateMode": "Auto"}})
        eventually(lambda: bounds(stage, own) == (3, 7), SOON)
        eventually(lambda: one.status()["tortoisePhase"] == "Working", SOON)


def test_a_named_hpa_is_handed_back(stage: Stage, namespace: str) -> None:
    """Only bounds and targets change, and they come back when the Tortoise is deleted."""
    web = Workload(stage, namespace, load=1200).create(4, "500m", "128Mi")
    target = {"type": "Utilization", "averageUtilization": 60}
    metric = {"type": "ContainerResource", "containerResource": {"name": "cpu", "container": "app", "target": target}}
    ref = {"apiVersion": "apps/v1", "kind": "Deployment", "name": web.name}
    behavior = {"scaleDown": {"stabilizationWindowSeconds": 7}}
    spec = {"scaleTargetRef": ref, "minReplicas": 2, "maxReplicas": 40, "metrics": [metric], "behavior": behavior}
    theirs = f"{hpas(namespace)}/theirs"
    found = stage.api.create(hpas(namespace), {"metadata": {"name": "theirs"}, "spec": spec})["spec"]
    one = tortoise(web, named="theirs")
    with a_week_ago(stage, namespace):
        eventually(lambda: one.status()["tortoisePhase"] == "GatheringData", SOON)
        assert stage.api.get(theirs)["spec"] == found
    with controlling(stage, namespace, **SETTINGS):
        eventually(lambda: bounds(stage, theirs) == (3, 8), SOON)
        assert stage.api.get(theirs)["spec"]["behavior"] == found["behavior"]
        stage.api.call("DELETE", one.path)
        eventually(lambda: stage.api.get(theirs)["spec"] == found, SOON)
    assert not stage.api.get(theirs)["metadata"].get("annotations")


def test_off_makes_nothing(stage: Stage, namespace: str) -> None:
    """It learns and reports, and neither an HPA nor a pod changes."""
    web = Workload(stage, namespace, load=1200).create(4, "500m", "128Mi")
    one = tortoise(web, "Off")
    with a_week_ago(stage, namespace):
        eventually(lambda: one.status()["tortoisePhase"] == "GatheringData", SOON)
    with controlling(stage, namespace, **SETTINGS):
        eventually(lambda: one.status().get("minReplicas") == 3, SOON)
        assert stays(lambda: (stage.api.get(hpas(namespace))["items"], web.replicas()), 3) == ([], 4)
