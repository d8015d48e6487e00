"""Two replicas of hypot: one writes, and the other continues where the first stopped."""

from collections.abc import Iterator
from typing import Any

import pytest

from cluster.plane.controlplane import WORKLOAD_CONTROLLERS, ControlPlane
from cluster.plane.waiting import eventually
from cluster.running.houses import LONG, House, reaches
from cluster.running.many import remembering
from cluster.running.proxy import Call, Proxy, paths
from cluster.running.stage import Autoscaler, Stage, Workload

Object = dict[str, Any]
KINDS = {"HorizontalPodAutoscaler": "act"}
LEASE_SECONDS = 15.0
AT_ONCE = {"type": "Pods", "value": 100, "periodSeconds": 1}
# It scales up at once, and does not scale down during a test.
BEHAVIOR = {
    "scaleUp": {"stabilizationWindowSeconds": 0, "policies": [AT_ONCE]},
    "scaleDown": {"stabilizationWindowSeconds": 3600},
}


@pytest.fixture(scope="module")
def stage(plane: ControlPlane) -> Iterator[Stage]:
    stage = Stage(plane).start()
    plane.start_controllers(names=WORKLOAD_CONTROLLERS)
    yield stage
    plane.stop_controllers()
    stage.stop()


def counted(stage: Stage, namespace: str) -> tuple[Workload, Autoscaler]:
    """A workload of 2 pods at their target of 100 millicores each."""
    web = Workload(stage, namespace, load=200).create(2)
    target = {"type": "AverageValue", "averageValue": "100m"}
    metrics = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]
    spec = {"minReplicas": 1, "maxReplicas": 12, "metrics": metrics, "behavior": BEHAVIOR}
    return web, web.autoscaler("HorizontalPodAutoscaler", "autoscaling/v2", spec)


def holder_told(proxy: Proxy) -> list[tuple[float, str]]:
    """The holder in each write of the Lease, and the time."""
    return [(call.at, call.json["spec"].get("holderIdentity") or "") for call in proxy.writes("lease") if call.done]


def others_than_lease(proxy: Proxy) -> list[Call]:
    return [call for call in proxy.writes() if call.kind != "lease"]


def test_only_one_of_two_replicas_writes(stage: Stage) -> None:
    """The replica that holds the Lease scales the workload; the other only reads the cluster and the Lease."""
    with House(stage, "both", kinds=KINDS) as house:
        web, _ = counted(stage, house.namespace)
        replicas = [house.hire(), house.hire()]
        eventually(lambda: any(each.lines("reconciled") for each in replicas), LONG)
        web.load = 500
        reaches(web, 5)
        eventually(lambda: all(each.lines("listening") for each in replicas), LONG)
        leads = [bool(each.lines("lease acquired")) for each in replicas]
        wrote = [bool(others_than_lease(proxy)) for proxy in house.proxies]
        assert sorted(leads) == [False, True]
        assert wrote == leads
        follower = house.proxies[leads.index(False)]
        assert [reported for reported in holder_told(follower) if reported[1]] == []


def test_the_other_takes_over_and_remembers(stage: Stage) -> None:
    """SIGTERM releases the Lease, so the other need not wait until it expires; windows continue from before."""
    with House(stage, "handed", kinds=KINDS) as house:
        remembering(stage.api, house.own)
        web, hpa = counted(stage, house.namespace)
        first = house.hire()
        first.until_reconciled(within=LONG)
        second = house.hire()
        one, other = house.proxies
        web.load = 500
        reaches(web, 5)
        web.load = 200
        eventually(lambda: hpa.condition("AbleToScale").get("reason") == "ScaleDownStabilized", LONG)
        eventually(lambda: second.lines("listening"), LONG)
        first.until_reconciled(2, within=LONG)

        assert first.stop() == 0
        eventually(lambda: second.lines("lease acquired"), LONG)
        second.until_reconciled(3, within=LONG)
        (resumed,) = second.lines("resumed")
        assert (resumed["objects"], resumed["cold"]) == (1, False)
        assert web.replicas() == 5
        assert paths(other.writes("scale")) == []
        assert hpa.condition("AbleToScale")["reason"] == "ScaleDownStabilized"

        released, last = holder_told(one)[-1]
        taken, holder = holder_told(other)[0]
        assert (last, bool(holder)) == ("", True)
        assert taken - released < LEASE_SECONDS
        assert [call for call in one.writes() if call.at > released] == []

        web.load = 700
        reaches(web, 7)
        assert all(call.done for call in other.writes("scale"))
