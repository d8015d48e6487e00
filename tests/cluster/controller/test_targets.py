"""What an autoscaler points at: other versions of the same group, and targets that are missing."""

from collections.abc import Iterator

import pytest

from cluster.plane.controlplane import WORKLOAD_CONTROLLERS, ControlPlane
from cluster.plane.waiting import eventually
from cluster.running.houses import LONG, WPA, House, reaches, watermarks
from cluster.running.many import remembering
from cluster.running.shapes import define, definition, pods_of
from cluster.running.stage import Stage, Workload

CELLS = "/apis/acc.test/v1/namespaces/{}/cells"
KINDS = {"HorizontalPodAutoscaler": "act"}
RESOURCE = {"name": "cpu", "target": {"type": "AverageValue", "averageValue": "100m"}}
COUNTED = {"minReplicas": 1, "maxReplicas": 12, "metrics": [{"type": "Resource", "resource": RESOURCE}]}
HPA = ("HorizontalPodAutoscaler", "autoscaling/v2")


@pytest.fixture(scope="module")
def stage(plane: ControlPlane) -> Iterator[Stage]:
    stage = Stage(plane).start()
    plane.start_controllers(names=WORKLOAD_CONTROLLERS)
    define(stage.api, definition("acc.test", "Cell", "cells", scale=True))
    yield stage
    plane.stop_controllers()
    stage.stop()


def test_a_target_is_found_in_any_version_of_its_group(stage: Stage) -> None:
    """Kubernetes' own controller also looks for group and kind only."""
    with House(stage, "version", kinds=KINDS) as house:
        web = Workload(stage, house.namespace, load=200).create(2)
        target = {"apiVersion": "apps/v1beta1", "kind": "Deployment", "name": "web"}
        web.autoscaler(*HPA, {**COUNTED, "scaleTargetRef": target})
        body = {"apiVersion": "acc.test/v1", "kind": "Cell", "metadata": {"name": "cell"}, "spec": {"replicas": 2}}
        cell = stage.api.create(CELLS.format(house.namespace), body)
        place = f"{CELLS.format(house.namespace)}/cell"
        stage.api.patch(f"{place}/status", {"status": {"replicas": 2, "selector": "app=cell"}})
        pods_of(stage.api, house.namespace, cell, 2, "cell")
        cells = Workload(stage, house.namespace, "cell", load=1000)
        stage.metrics.answers[house.namespace] = cells._beside(web.say)
        spec = watermarks(scaleTargetRef={"apiVersion": "acc.test/v9", "kind": "Cell", "name": "cell"})
        spec["metrics"][0]["resource"]["metricSelector"] = {"matchLabels": {"app": "cell"}}
        cells.autoscaler(*WPA, spec)
        house.hire().until_reconciled(2, LONG)
        web.load = 500
        reaches(web, 5)
        eventually(lambda: stage.api.get(place)["spec"]["replicas"] > 2, LONG)


def test_the_status_stays_while_the_target_is_missing(stage: Stage) -> None:
    """As with Kubernetes' own controller, the rest of the status is kept, and one condition says what is wrong."""
    with House(stage, "missing", kinds=KINDS) as house:
        remembering(stage.api, house.own)
        web = Workload(stage, house.namespace, load=200).create(2)
        hpa = web.autoscaler(*HPA, COUNTED)
        controller = house.hire()
        eventually(lambda: hpa.condition("ScalingLimited"), LONG)
        before = hpa.status()
        stage.api.patch(hpa.path, {"spec": {"scaleTargetRef": {"name": "none"}}})
        eventually(lambda: hpa.condition("AbleToScale")["reason"] == "FailedGetScale", LONG)
        controller.until_reconciled(2, LONG)
        after = hpa.status()
        assert before["currentReplicas"] == 2
        for key in ("currentReplicas", "desiredReplicas", "currentMetrics"):
            assert after[key] == before[key]
        kept = [each for each in after["conditions"] if each["type"] != "AbleToScale"]
        assert kept == [each for each in before["conditions"] if each["type"] != "AbleToScale"]
        stage.api.patch(hpa.path, {"spec": {"scaleTargetRef": {"name": "web"}}})
        eventually(lambda: hpa.condition("AbleToScale")["status"] == "True", LONG)
        assert web.replicas() == 2
