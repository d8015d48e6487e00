"""Tortoises under `hypot run`, end to end on a real control plane; a clock set back makes a week pass at once."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from cluster.plane.controlplane import ControlPlane
from cluster.plane.waiting import eventually
from cluster.running.alone import controller_for, controlling, running
from cluster.running.houses import Jumpy
from cluster.running.stage import Stage, Workload, stays
from cluster.running.tortoises import HPA_FLAGS, SETTINGS, Earlier, bounds, hpas, their_hpa, tortoise

SOON = 60


@pytest.fixture(scope="module")
def stage(plane: ControlPlane) -> Iterator[Stage]:
    stage = Stage(plane, *HPA_FLAGS).start()
    yield stage
    stage.stop()


@contextmanager
def a_week_ago(stage: Stage, namespace: str) -> Iterator[Jumpy]:
    """The controller as it was more than a week ago; its state stays."""
    usual = controller_for(stage, namespace, **SETTINGS)
    earlier = Earlier(stage.plane, usual.name, **usual.config)
    with running(earlier):
        yield earlier


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
    theirs, found = their_hpa(web)
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
