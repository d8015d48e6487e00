"""A controller is killed at any moment: its successor reaches the result of an undisturbed controller."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest

from cluster.plane.waiting import eventually
from cluster.running.controller import Controller
from cluster.running.houses import (
    DOWN_FACTOR,
    DOWN_WINDOW,
    LONG,
    UP_FACTOR,
    UP_WINDOW,
    VPA,
    House,
    reaches,
    side_by_side,
    watermarked,
)
from cluster.running.invariants import moves, too_far, too_soon, turns, twice, unguarded
from cluster.running.proxy import When, paths
from cluster.running.stage import Autoscaler, Object, Stage, Workload, stays
from hypot.core.quantity import milli
from hypot.run.webhook.registration import configuration
from ports import free_ports

Results = dict[Any, Future[Any]]
# The kind of write at which it is killed, and when.
Case = tuple[str, When]
MOMENTS: tuple[When, ...] = ("before", "during", "after")
COUNTED = ("scale", "status", "state", "lease")
SIZED = ("resize", "eviction")
CASES = [(kind, when) for kind in (*COUNTED, *SIZED) for when in MOMENTS]
# Load of the first workload, usage and MiB of the second, and the replica count that the first reaches.
STEPS = ((1560.0, 900.0, 100, 8), (410.0, 1500.0, 300, 4), (900.0, 2400.0, 200, 5))
# Each bucket of a histogram is wider than the previous by this factor.
BUCKET = 1.05
# Many at once: most of the time they wait until the Lease of the killed controller expires.
AT_ONCE = 10
ONE_AT_A_TIME = threading.Lock()
WEBHOOKS = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"


@pytest.fixture(scope="module")
def results(request: pytest.FixtureRequest, stage: Stage) -> Results:
    """All selected cases side by side, and an undisturbed controller next to them."""
    cases: dict[Any, Callable[[], Any]] = {}
    # First the cases that wait for each other.
    cases["twins"] = partial(twins, stage)
    for kind in reversed(SIZED):
        cases |= {(kind, when): partial(sized, stage, kind, when) for when in MOMENTS}
    cases["undisturbed"] = partial(counted, stage, None)
    cases |= {(kind, when): partial(counted, stage, (kind, when)) for kind in COUNTED for when in MOMENTS}
    asked = {
        item.callspec.params["case"]
        for item in request.session.items
        if hasattr(item, "callspec") and item.path == request.path
    }
    return side_by_side(
        {case: work for case, work in cases.items() if case in {*asked, "undisturbed", "twins"}}, AT_ONCE
    )


def counted(stage: Stage, death: Case | None) -> tuple[list[int], list[int]]:
    """Demand rises and then falls; the controller is killed on the way up, and again on the way down.

    Returns the replica counts at rest, and all counts on the way.
    """
    with House(stage, "kill") as house:
        web, wpa = watermarked(stage, house.namespace)
        house.hire().until_reconciled(3, LONG)
        rests = []
        for load, replicas in ((1560.0, 8), (410.0, 4)):
            fault = house.kill_at(*death) if death else None
            web.load = load
            if fault is not None:
                eventually(lambda fault=fault: fault.met, LONG)
                successor(house)
            reaches(web, replicas)
            eventually(lambda n=replicas: tells(wpa.status(), n), LONG)
            rests.append(stays(web.replicas, 5))
        done = moves(house.journal)
        counts = [move.replicas for move in done]
        assert too_far(2, counts, UP_FACTOR, DOWN_FACTOR) == []
        assert too_soon(2, done, UP_WINDOW, DOWN_WINDOW) == []
        assert unguarded(house.journal) == []
        assert [each for each in house.controllers if each.lines("reconcile failed")] == []
        return rests, counts


def tells(status: Object, replicas: int) -> bool:
    """Check that the status has the right replica counts."""
    assert status.get("desiredReplicas") == replicas, status
    assert status.get("currentReplicas") == replicas, status
    return True


def successor(house: House) -> Controller:
    """A controller that takes over when the Lease of the killed one expires, with its state."""
    house.controllers[-1].ended()
    controller = house.hire()
    (resumed, *_) = eventually(lambda: controller.is_running() and controller.lines("resumed"), LONG)
    assert (resumed["objects"], controller.lines("state")) == (1, []), resumed
    return controller


def sized(stage: Stage, kind: str, when: When) -> list[str]:
    """All pods are too small; the controller is killed when it changes the second pod. Returns the pods' sizes."""
    kinds = {"VerticalPodAutoscaler": "act", "WatermarkPodAutoscaler": "off"}
    with House(stage, kind, kinds=kinds) as house, webhook(house, kind == "eviction"):
        web = Workload(stage, house.namespace, load=900.0).create(4, cpu="100m", memory="256Mi")
        vertical(web, "Off")
        house.hire().until_reconciled(3, LONG)
        fault = house.kill_at(kind, when, skip=1)
        vpa = vertical(web, "InPlaceOrRecreate" if kind == "resize" else "Recreate")
        eventually(lambda: fault.met, LONG)
        successor(house)
        eventually(lambda: _has(web, ["400m"] * 4), LONG)
        sizes = [each["cpu"] for each in stays(web.requests, 5)]
        assert twice(house.journal, kind) == [], paths(house.journal)
        assert unguarded(house.journal) == []
        (reported,) = vpa.status()["recommendation"]["containerRecommendations"]
        assert reported["target"]["cpu"] == "400m"
        return sizes


def vertical(web: Workload, mode: str) -> Autoscaler:
    """A VPA for which only one size is right, whatever the usage."""
    bounds = {"cpu": "400m", "memory": "256Mi"}
    policy = {"containerName": "app", "minAllowed": bounds, "maxAllowed": bounds}
    spec = {"updatePolicy": {"updateMode": mode}, "resourcePolicy": {"containerPolicies": [policy]}}
    if mode == "Off":
        return web.autoscaler(*VPA, spec)
    vpa = Autoscaler(web.stage.api, VPA[0], web.namespace, web.name)
    vpa.api.patch(vpa.path, {"spec": spec})
    return vpa


@contextmanager
def webhook(house: House, wanted: bool) -> Iterator[None]:
    """The house's webhook, registered as after an installation; only one can be registered at a time."""
    if not wanted:
        yield
        return
    api, name, (port,) = house.stage.api, "hypot-webhook", free_ports(1)
    house.config["webhookPort"] = port
    made = configuration(house.own, name, watch_namespaces=[house.namespace], opt_in="all")
    made["webhooks"][0]["clientConfig"]["service"]["port"] = port
    # It leads to this machine.
    service = {"metadata": {"name": name}, "spec": {"type": "ExternalName", "externalName": "localhost"}}
    with ONE_AT_A_TIME:
        api.create(f"/api/v1/namespaces/{house.own}/services", service)
        api.create(WEBHOOKS, made)
        try:
            yield
        finally:
            api.delete(f"{WEBHOOKS}/{made['metadata']['name']}")


def twins(stage: Stage) -> tuple[list[list[int]], list[Object]]:
    """Two houses under the same demand; in the first house the controller is killed while demand changes.

    Returns the counts of both after each step, and the recommendations for the containers of both at the end.
    """
    kinds = {"VerticalPodAutoscaler": "act"}
    with House(stage, "twin", kinds=kinds) as one, House(stage, "twin", kinds=kinds) as two:
        houses = (one, two)
        webs = [watermarked(stage, house.namespace)[0] for house in houses]
        apis = [Workload(stage, house.namespace, "api", load=900.0).create(3, cpu="500m") for house in houses]
        vpas = [api.autoscaler(*VPA, {"updatePolicy": {"updateMode": "InPlaceOrRecreate"}}) for api in apis]
        for house in houses:
            house.hire()
        for house in houses:
            house.controllers[0].until_reconciled(5, LONG)
        rests = []
        for step, (load, usage, memory, replicas) in enumerate(STEPS):
            for web, api in zip(webs, apis, strict=True):
                web.load, api.load, api.memory = load, usage, memory << 20
            if step == 1:
                one.controllers[0].until_reconciled(3, LONG)
                one.controllers[0].kill()
                one.hire()
            for web in webs:
                reaches(web, replicas)
            for house in houses:
                house.controllers[-1].until_reconciled(8, LONG)
            rests.append([web.replicas() for web in webs])
        advice = [vpa.status()["recommendation"]["containerRecommendations"][0]["target"] for vpa in vpas]
        return rests, advice


def _has(web: Workload, sizes: list[str]) -> bool:
    found = [each.get("cpu") for each in web.requests()]
    assert found == sizes, found
    return True


def test_an_undisturbed_controller(results: Results):
    """The reference for the other cases: eight replicas at the peak, four after it."""
    rests, counts = results["undisturbed"].result()
    assert (rests, turns(counts)) == ([8, 4], 1)


def test_a_killed_controller_decides_like_its_undisturbed_twin(results: Results):
    """The counts are the same after every step, and sizes differ by at most one bucket."""
    rests, (one, two) = results["twins"].result()
    assert rests == [[8, 8], [4, 4], [5, 5]]
    for resource in ("cpu", "memory"):
        mine, other = (milli(each[resource]) for each in (one, two))
        assert max(mine, other) / min(mine, other) <= BUCKET, (one, two)


@pytest.mark.parametrize("case", [case for case in CASES if case[0] in COUNTED], ids="-".join)
def test_a_kill_causes_no_other_scaling(results: Results, case: Case):
    """Replicas rise and fall to the same counts, in allowed steps and windows, with one turn, and the state is kept."""
    rests, counts = results[case].result()
    undisturbed, _ = results["undisturbed"].result()
    assert (rests, turns(counts)) == (undisturbed, 1)


@pytest.mark.parametrize("case", [case for case in CASES if case[0] in SIZED], ids="-".join)
def test_a_kill_changes_no_pod_twice(results: Results, case: Case):
    """Every pod gets its size, and none is changed again afterwards."""
    assert results[case].result() == ["400m"] * 4
