"""Odd worlds: others scale the same workloads, definitions come and go, clocks jump, and state is lost."""

import threading
import time
from base64 import b64encode
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import cycle
from typing import Any

import pytest

from cluster.plane.api import Api
from cluster.plane.waiting import eventually
from cluster.running.crowd import create, forge, listed, replicas_of, usage, waits
from cluster.running.houses import (
    DOWN_FACTOR,
    DOWN_WINDOW,
    LONG,
    UP_FACTOR,
    WPA,
    House,
    Jumpy,
    reaches,
    side_by_side,
    watermarked,
    watermarks,
)
from cluster.running.invariants import METRICS, WHOLE_SECONDS, moves, too_far
from cluster.running.junk import VALID, definitions, is_loose, is_reported, redefine, stored
from cluster.running.proxy import paths
from cluster.running.stage import CRDS, PATHS, Autoscaler, Object, Stage, Workload, install_definitions, stays
from hypot.run.store.shard_text import pack

Results = dict[str, Future[Any]]
AT_ONCE = 9
# How long a WatermarkPodAutoscaler does not scale down, in seconds.
WINDOW = 30
HVPAS = "hvpas.autoscaling.k8s.io"
# Cases that remove or loosen definitions run one after the other.
DEFINITIONS = threading.Lock()
LEASES = "/apis/coordination.k8s.io/v1/namespaces/{}/leases"


@pytest.fixture(scope="module")
def results(stage: Stage) -> Results:
    """Each case in a house of its own, side by side; those that take long come first."""
    cases: dict[str, Callable[[], Any]] = {
        "definition": partial(definition, stage),
        "malformed": partial(malformed, stage),
        "governor": partial(governed, stage),
        "shared": partial(shared, stage),
        "forward": partial(jumped, stage, 20.0),
        "back": partial(jumped, stage, -40.0),
        "version": partial(forgotten, stage, _another_version),
        "garbage": partial(forgotten, stage, _garbage),
        "by hand": partial(by_hand, stage),
        "hpa": partial(conflicting_hpa, stage),
        "status": partial(conflicting_status, stage),
        "deleted": partial(deleted, stage),
    }
    return side_by_side(cases, AT_ONCE)


# Other writers.


def by_hand(stage: Stage) -> tuple[list[int | None], list[int]]:
    """A user scales while a decision is on its way to the server; returns the results of the writes, and the counts."""
    with House(stage, "hand") as house:
        web, _ = watermarked(stage, house.namespace)
        house.hire().until_reconciled(3, LONG)
        held = house.proxies[0].hold(lambda call: call.kind == "scale")
        web.load = 1560.0
        assert held.come.wait(LONG)
        web.scale(6)
        held.release.set()
        reaches(web, 8)
        writes = house.proxies[0].writes("scale")
        return [call.status for call in writes], [move.replicas for move in moves(house.journal)]


def test_a_count_set_manually_is_not_overwritten(results: Results):
    """The decision was about another count: it is dropped, and the next decision starts at the user's count."""
    statuses, counts = results["by hand"].result()
    assert (statuses[0], counts[0] > 6, counts[-1]) == (409, True, 8), (statuses, counts)


def conflicting_hpa(stage: Stage) -> tuple[str, int, int]:
    """An HPA on the same target: the condition, the count meanwhile, and the count once the HPA is gone."""
    with House(stage, "hpa") as house:
        web, wpa = watermarked(stage, house.namespace)
        ref = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
        resource = {"name": "cpu", "target": {"type": "AverageValue", "averageValue": "100"}}
        spec = {
            "scaleTargetRef": ref,
            "minReplicas": 2,
            "maxReplicas": 2,
            "metrics": [{"type": "Resource", "resource": resource}],
        }
        path = PATHS["HorizontalPodAutoscaler"].format(house.namespace)
        stage.api.create(path, {"metadata": {"name": "other"}, "spec": spec})
        controller = house.hire()
        controller.until_reconciled(2, LONG)
        web.load = 1560.0
        reported = eventually(lambda: _blocked(wpa, "Conflict"), LONG)
        controller.until_reconciled(5, LONG)
        meanwhile = web.replicas()
        stage.api.delete(f"{path}/other")
        reaches(web, 8)
        eventually(lambda: wpa.condition("ScalingBlocked")["status"] == "False", LONG)
        return reported["message"], meanwhile, web.replicas()


def _blocked(wpa: Autoscaler, reason: str) -> Object:
    """The condition, while it blocks for this reason; otherwise empty."""
    found = wpa.condition("ScalingBlocked")
    return found if (found.get("status"), found.get("reason")) == ("True", reason) else {}


def test_another_hpa_on_the_target_is_named_and_left_alone(results: Results):
    """Both would change the same count; when the HPA is gone, hypot continues."""
    reported, meanwhile, after = results["hpa"].result()
    assert "/other" in reported
    assert (meanwhile, after) == (2, 8)


def conflicting_status(stage: Stage) -> tuple[str, list[str]]:
    """Another controller writes the status of the object: the condition, and what was scaled."""
    with House(stage, "status") as house:
        web, wpa = watermarked(stage, house.namespace)
        controller = house.hire()
        controller.until_reconciled(3, LONG)
        with writing_status(wpa, "their-controller"):
            began = time.monotonic()
            web.load = 1560.0
            reported = eventually(lambda: _blocked(wpa, "Conflict"), LONG)
            controller.until_reconciled(8, LONG)
            return reported["message"], paths(house.proxies[0].writes("scale", since=began))


@contextmanager
def writing_status(one: Autoscaler, manager: str) -> Iterator[None]:
    """Another controller, which writes the status all the time: also after hypot has lost its Lease for a while."""
    begun, ended = threading.Event(), threading.Event()

    def write() -> None:
        for last in cycle(("ScalingActive", "AbleToScale")):
            theirs = {"currentReplicas": 2, "desiredReplicas": 2, "lastConditionType": last}
            one.api.patch(f"{one.path}/status", {"status": theirs}, query={"fieldManager": manager})
            begun.set()
            if ended.wait(0.5):
                return

    writing = threading.Thread(target=write, daemon=True)
    writing.start()
    try:
        assert begun.wait(LONG)
        yield
    finally:
        ended.set()
        writing.join()


def test_another_writer_of_the_status_is_named_and_left_alone(results: Results):
    """While the other's writes are recent hypot does not scale, though hypot writes the status too."""
    reported, scaled = results["status"].result()
    assert "their-controller" in reported
    assert scaled == []


def deleted(stage: Stage) -> tuple[list[str], int]:
    """The object is deleted while hypot reads metrics that ask for more: what was scaled afterwards, and the count."""
    with House(stage, "gone") as house:
        web, wpa = watermarked(stage, house.namespace)
        controller = house.hire()
        controller.until_reconciled(3, LONG)
        held = house.proxies[0].hold(lambda call: call.path.startswith(METRICS))
        assert held.come.wait(LONG)
        # Not earlier: a call that is already in flight would be answered with this load.
        web.load = 1560.0
        stage.api.delete(wpa.path)
        gone = time.monotonic()
        # Long enough for the watch to report it.
        time.sleep(1)
        held.release.set()
        controller.until_reconciled(3, LONG)
        assert not controller.lines("reconcile failed")
        return paths(house.proxies[0].writes("scale", since=gone)), web.replicas()


def test_an_object_deleted_during_a_decision_scales_nothing(results: Results):
    """Once an autoscaler is deleted, its target must be left alone."""
    assert results["deleted"].result() == ([], 2)


# Definitions.


def definition(stage: Stage) -> tuple[list[bool], int]:
    """The definition of Hvpas is missing, comes, goes and comes again; a WatermarkPodAutoscaler next to it continues.

    Returns whether each Hvpa got conditions, and the replica count of the other.
    """
    with DEFINITIONS, House(stage, "crd") as house:
        _remove(stage.api, HVPAS)
        web, _ = watermarked(stage, house.namespace)
        controller = house.hire()
        controller.until_reconciled(2, LONG)
        reported = []
        for _ in range(2):
            install_definitions(stage.api)
            hvpa = eventually(lambda: _hvpa(web), LONG)
            reported.append(bool(eventually(lambda hvpa=hvpa: hvpa.status().get("conditions"), LONG)))
            _remove(stage.api, HVPAS)
        web.load = 1560.0
        reaches(web, 8)
        controller.until_reconciled(3, LONG)
        install_definitions(stage.api)
        assert not controller.lines("reconcile failed")
        return reported, web.replicas()


def _remove(api: Api, name: str) -> None:
    api.call("DELETE", f"{CRDS}/{name}")
    eventually(lambda: api.call("GET", f"{CRDS}/{name}").status == 404, LONG)


def _hvpa(web: Workload) -> Autoscaler:
    """Create an Hvpa as soon as the server accepts it; it has another target."""
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "nobody"}
    body = {**VALID["Hvpa"], "kind": "Hvpa", "metadata": {"name": "web"}}
    body["spec"] = {**body["spec"], "targetRef": target}
    made = web.stage.api.call("POST", PATHS["Hvpa"].format(web.namespace), body)
    assert made.ok or made.status == 409, made
    return Autoscaler(web.stage.api, "Hvpa", web.namespace, "web")


def test_a_definition_may_come_and_go(results: Results):
    """An Hvpa is handled while its definition exists; a missing definition does not stop other objects."""
    assert results["definition"].result() == ([True, True], 8)


def malformed(stage: Stage) -> tuple[int, list[str], list[str]]:
    """A hundred objects that were stored under a looser schema, and a healthy object among them.

    Returns its replica count, the objects that were not reported, and what failed in the controller.
    """
    kinds = dict.fromkeys(("WatermarkPodAutoscaler", "Hvpa", "VerticalPodAutoscaler"), "act")
    with DEFINITIONS, House(stage, "junk", kinds=kinds) as house:
        names = [f"{kind['spec']['names']['plural']}.{kind['spec']['group']}" for kind in definitions(stage.api)]
        strict = [stage.api.get(f"{CRDS}/{name}") for name in names]
        for each in strict:
            redefine(stage.api, each, loose=True)
        eventually(lambda: is_loose(stage.api, house.namespace), LONG)
        broken = stored(stage.api, house.namespace)
        for each in strict:
            redefine(stage.api, each, loose=False)
        web, _ = watermarked(stage, house.namespace)
        controller = house.hire()
        controller.until_reconciled(3, LONG)
        web.load = 1560.0
        reaches(web, 8)
        controller.until_reconciled(5, LONG)
        untold = [f"{each.kind} {each.name} {each.get()['spec']}" for each in broken if not is_reported(each)]
        wrong = [str(line)[:500] for line in controller.lines("reconcile failed")]
        return web.replicas(), untold, wrong


def test_a_hundred_malformed_objects_stop_no_other(results: Results):
    """Each reconcile decides for the healthy object; each of the others has a condition or an event."""
    assert results["malformed"].result() == (8, [], [])


# Clocks, state and the governor.


def jumped(stage: Stage, seconds: float) -> tuple[str, list[int], int, int]:
    """The wall clock of the controller jumps while demand falls; then demand rises, and falls again.

    Returns the condition, scale-downs while the clock was not trusted, and the counts after the rise and at the end.
    """
    with House(stage, "clock") as house:
        web = Workload(stage, house.namespace, load=600.0).create(4)
        wpa = web.autoscaler(*WPA, watermarks(downscaleForbiddenWindowSeconds=WINDOW))
        controller = house.hire(Jumpy)
        assert isinstance(controller, Jumpy)
        controller.until_reconciled(WINDOW + 3, LONG)
        began = time.monotonic()
        controller.offset.write_text(str(seconds), encoding="utf-8")
        # Until then, a reconcile may be running that began before the jump.
        eventually(lambda: controller.lines("the clock jumped"), LONG)
        web.load = 100.0
        reported = eventually(lambda: _blocked(wpa, "ClockJump"), LONG)
        controller.until_reconciled(5, LONG)
        web.load = 1560.0
        eventually(lambda: web.replicas() > 4, LONG)
        risen = web.replicas()
        web.load = 100.0
        eventually(lambda: web.replicas() < risen, LONG)
        return reported["message"], _scaled_down(house, began), risen, web.replicas()


def _scaled_down(house: House, since: float) -> list[int]:
    """Replica counts below four that were written in the first window after that time."""
    until = since + WINDOW - WHOLE_SECONDS
    return [move.replicas for move in moves(house.journal) if move.looked < until and move.replicas < 4]


@pytest.mark.parametrize("way", ["forward", "back"])
def test_a_clock_jump_prevents_scale_down_for_a_window(results: Results, way: str):
    """Ages and windows mean nothing after a jump; a scale-up does not wait."""
    reported, shrunk, risen, after = results[way].result()
    assert "clock" in reported
    assert (shrunk, risen > 4, after < risen) == ([], True, True)


def _another_version(state: Object) -> None:
    state["data"]["version"], state["binaryData"] = "0", {"state": b64encode(pack({}, version=0)).decode()}


def _garbage(state: Object) -> None:
    state["binaryData"] = {"state": b64encode(bytes(range(256)) * 16).decode()}


def forgotten(stage: Stage, spoil: Callable[[Object], None]) -> tuple[Object, str, list[int], int]:
    """The state is corrupted between two controllers, and demand falls.

    Returns how the second began, its condition, scale-downs in its first window, and the first count after it.
    """
    with House(stage, "state") as house:
        web = Workload(stage, house.namespace, load=600.0).create(4)
        wpa = web.autoscaler(*WPA, watermarks(downscaleForbiddenWindowSeconds=WINDOW))
        house.hire().until_reconciled(WINDOW + 3, LONG)
        house.controllers[0].stop()
        for state in house.states():
            spoil(state)
            stage.api.replace(f"/api/v1/namespaces/{house.own}/configmaps/{state['metadata']['name']}", state)
        web.load = 100.0
        began = time.monotonic()
        controller = house.hire()
        (resumed, *_) = eventually(lambda: controller.is_running() and controller.lines("resumed"), LONG)
        reported = eventually(lambda: _blocked(wpa, "ColdStart"), LONG)
        eventually(lambda: web.replicas() < 4, LONG)
        assert controller.lines("state"), "nothing was reported"
        return resumed, reported["message"], _scaled_down(house, began), moves(house.journal)[0].replicas


@pytest.mark.parametrize("case", ["version", "garbage"])
def test_without_state_nothing_scales_down_for_a_window(results: Results, case: str):
    """Unreadable state counts as no state; the log says what was found, and the condition why nothing scales."""
    resumed, reported, shrunk, after = results[case].result()
    assert resumed["cold"] is True
    assert "without saved state" in reported
    assert (shrunk, after) == ([], 3)


def governed(stage: Stage) -> tuple[list[int], int, list[str], list[int]]:
    """Thirty workloads should scale down at once, one up. The counts, also after a kill, and which workloads wait."""
    with House(stage, "many") as house:
        loads = {f"web-{number}": 300.0 for number in range(31)}
        many = [Workload(stage, house.namespace, name) for name in loads]
        for web in many:
            create(web)
        stage.metrics.answers[house.namespace] = lambda query: usage(stage, house.namespace, loads, query)
        for web in many:
            web.until_ready(2)
        controller = house.hire()
        controller.until_reconciled(8, LONG)
        loads |= dict.fromkeys(list(loads)[:30], 60.0)
        loads["web-30"] = 700.0
        eventually(lambda: replicas_of(stage, house.namespace)["web-30"] > 2, LONG)
        eventually(lambda: list(replicas_of(stage, house.namespace).values()).count(1) == 5, LONG)
        controller.until_reconciled(8, LONG)
        before = replicas_of(stage, house.namespace)
        waiting = [wpa["metadata"]["name"] for wpa in listed(stage, house.namespace) if waits(wpa)]
        controller.kill()
        house.hire().until_reconciled(6, LONG)
        after = replicas_of(stage, house.namespace)
        return list(before.values()), before["web-30"], waiting, list(after.values())


def test_thirty_scale_downs_are_admitted_five_at_a_time(results: Results):
    """The others wait and report it, a scale-up does not wait, and a new controller does not start to count again."""
    before, grown, waiting, after = results["governor"].result()
    assert (before.count(1), len(waiting), after.count(1)) == (5, 25, 5)
    assert grown > 2


def shared(stage: Stage) -> tuple[list[int], list[int], list[int]]:
    """A tenant forges budget and asks to scale down twelve workloads; then another tenant asks for one of ten.

    Returns the counts of the first tenant before that and after it, and those of the second.
    """
    with House(stage, "greedy") as house, House(stage, "modest") as other:
        house.config["watchNamespaces"] = [house.namespace, other.namespace]
        loads = {
            each.namespace: {f"web-{number}": 300.0 for number in range(count)}
            for each, count in ((house, 12), (other, 10))
        }
        many = [Workload(stage, namespace, name) for namespace, named in loads.items() for name in named]
        for web in many:
            create(web)
        for namespace, named in loads.items():
            stage.metrics.answers[namespace] = partial(usage, stage, namespace, named)
        for web in many:
            web.until_ready(2)
        forge(stage, house.namespace)
        controller = house.hire()
        controller.until_reconciled(8, LONG)
        loads[house.namespace] |= dict.fromkeys(loads[house.namespace], 60.0)
        eventually(lambda: [*replicas_of(stage, house.namespace).values()].count(1) == 4, LONG)
        controller.until_reconciled(8, LONG)
        before = replicas_of(stage, house.namespace)
        loads[other.namespace]["web-7"] = 60.0
        eventually(lambda: replicas_of(stage, other.namespace)["web-7"] == 1, LONG)
        after = replicas_of(stage, house.namespace)
        return [*before.values()], [*after.values()], [*replicas_of(stage, other.namespace).values()]


def test_a_tenant_can_neither_lift_nor_use_up_the_budget(results: Results):
    """The first gets its own part and the common part, and no more; the own part of the second is still there."""
    before, after, others = results["shared"].result()
    assert (before.count(1), after.count(1), others.count(1)) == (4, 4, 1)


# Every controller sees the Lease of another controller, so no other case may be running.


@pytest.mark.parametrize("name", ["watermarkpodautoscaler-lock", "hypot"])
def test_the_lease_of_another_controller_stops_scale_downs(stage: Stage, results: Results, name: str):
    """A Lease in kube-system that is being renewed is named. A scale-up does not wait, and an old Lease is ignored."""
    wait(results.values())
    with House(stage, "lease") as house:
        web, wpa = watermarked(stage, house.namespace, 3, 450.0)
        with renewing(stage, "kube-system", name, 1.0):
            controller = house.hire()
            controller.until_reconciled(2, LONG)
            web.load = 100.0
            reported = eventually(lambda: _blocked(wpa, "OtherLeader"), LONG)
            controller.until_reconciled(DOWN_WINDOW + 3, LONG)
            assert f"kube-system/{name}" in reported["message"]
            assert web.replicas() == 3
            web.load = 1560.0
            reaches(web, 8)
            controller.stop()
        with renewing(stage, "kube-system", name, ago=180):
            web.load = 700.0
            house.hire()
            eventually(lambda: web.replicas() < 8, LONG)
            eventually(lambda: not _blocked(wpa, "OtherLeader"), LONG)
            assert stays(lambda: bool(_blocked(wpa, "OtherLeader")), 2) is False
        assert too_far(3, [move.replicas for move in moves(house.journal)], UP_FACTOR, DOWN_FACTOR) == []


@pytest.mark.parametrize("name", ["watermarkpodautoscaler-lock", "hypot"])
def test_a_forged_lease_stops_nothing(stage: Stage, results: Results, name: str):
    """A tenant renews it in its own namespace; one in kube-system from 2099 is not renewed and holds nothing."""
    wait(results.values())
    with (
        House(stage, "forged") as house,
        renewing(stage, house.namespace, name, 0.5),
        renewing(stage, "kube-system", name, ago=-70 * 365 * 86_400),
    ):
        web, wpa = watermarked(stage, house.namespace, 3, 450.0)
        house.hire().until_reconciled(2, LONG)
        web.load = 250.0
        eventually(lambda: web.replicas() < 3, LONG)
        web.load = 1560.0
        reaches(web, 8)
        assert not _blocked(wpa, "OtherLeader")


@contextmanager
def renewing(stage: Stage, namespace: str, name: str, every: float = 0.0, ago: float = 0.0) -> Iterator[str]:
    """A Lease of another controller, renewed so often, or never again; returns its path."""
    path, ended = LEASES.format(namespace), threading.Event()
    stage.api.create(path, {"metadata": {"name": name}, "spec": _renewed(ago)})

    def renew() -> None:
        while not ended.wait(every):
            stage.api.patch(f"{path}/{name}", {"spec": _renewed(ago)})

    thread = threading.Thread(target=renew, daemon=True)
    if every:
        thread.start()
    try:
        yield f"{path}/{name}"
    finally:
        ended.set()
        if every:
            thread.join()
        stage.api.call("DELETE", f"{path}/{name}")


def _renewed(ago: float) -> Object:
    at = datetime.now(UTC) - timedelta(seconds=ago)
    return {"holderIdentity": "theirs", "leaseDurationSeconds": 15, "renewTime": at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")}
