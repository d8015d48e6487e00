"""Another version of hypot takes over live objects, and back again: no workload is scaled because of it."""

import base64
import subprocess
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import yaml

from cluster.plane.api import APPLY
from cluster.plane.controlplane import WORKLOAD_CONTROLLERS, ControlPlane
from cluster.plane.waiting import eventually
from cluster.running.controller import HYPOT
from cluster.running.houses import LONG, VPA, WPA, House, reaches, watermarks
from cluster.running.many import remembering
from cluster.running.proxy import Call, paths
from cluster.running.stage import CRDS, Stage, Workload
from hypot.run.store import shard_text

Object = dict[str, Any]
HOURS = 3600
AT_ONCE = {"type": "Pods", "value": 100, "periodSeconds": 1}
KINDS = {"HorizontalPodAutoscaler": "act", "VerticalPodAutoscaler": "act"}


class Live:
    """One workload under each kind: each has scaled up, and would scale down if the reason to wait were forgotten."""

    def __init__(self, house: House) -> None:
        self.house = house
        self.watermarked = self._grown("watermarked", 300)
        spec = watermarks(downscaleForbiddenWindowSeconds=HOURS, scaleUpLimitFactor=200)
        spec["metrics"][0]["resource"]["metricSelector"] = {"matchLabels": {"app": "watermarked"}}
        self.watermarked.autoscaler(*WPA, spec)
        self.counted = self._grown("counted", 300)
        target = {"type": "AverageValue", "averageValue": "150m"}
        behavior = {
            "scaleUp": {"stabilizationWindowSeconds": 0, "policies": [AT_ONCE]},
            "scaleDown": {"stabilizationWindowSeconds": HOURS},
        }
        metrics = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]
        spec = {"minReplicas": 1, "maxReplicas": 9, "metrics": metrics, "behavior": behavior}
        self.counted.autoscaler("HorizontalPodAutoscaler", "autoscaling/v2", spec)
        self.sized = self._grown("sized", 600)
        self.sizes = self.sized.autoscaler(*VPA, {"updatePolicy": {"updateMode": "InPlaceOrRecreate"}})
        self.both = self._grown("both", 300)
        self.both.autoscaler("Hvpa", "autoscaling.k8s.io/v1alpha1", _both_axes())
        self.all = [self.watermarked, self.counted, self.sized, self.both]

    def _grown(self, name: str, load: float) -> Workload:
        return Workload(self.house.stage, self.house.namespace, name, load=load).create(2)

    def settle(self) -> None:
        """Scale up, then reduce the load."""
        for each in (self.watermarked, self.counted, self.both):
            each.load = 900
        reaches(self.counted, 6)
        eventually(lambda: self.watermarked.replicas() >= 4, LONG)
        for each in (self.both, self.sized):
            eventually(lambda each=each: all(one["cpu"] != "200m" for one in each.requests()), LONG)
        controller = self.house.controllers[-1]
        for each in self.all:
            each.load = 200
        controller.until_reconciled(8, within=LONG)

    def state(self) -> list[Object]:
        """The parts of each workload that a scale write, a resize, an eviction or an edited template would change."""
        return [
            {
                "name": each.name,
                "replicas": each.replicas(),
                "template": each.deployment()["spec"]["template"],
                "pods": sorted(pod["metadata"]["uid"] for pod in each.pods()),
                "requests": sorted(map(str, each.requests())),
            }
            for each in self.all
        ]


def _both_axes() -> Object:
    target = {"type": "Utilization", "averageUtilization": 80}
    change = {"cpu": {"value": "50m"}, "memory": {"value": "20M"}}
    auto = {"updatePolicy": {"updateMode": "Auto"}, "minChange": change}
    metrics = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]
    return {
        "hpa": {"deploy": True, "template": {"spec": {"minReplicas": 1, "maxReplicas": 6, "metrics": metrics}}},
        "vpa": {"deploy": True, "template": {"spec": {}}},
        "scaleUp": {**auto, "stabilizationDuration": "2s"},
        "scaleDown": {**auto, "stabilizationDuration": f"{HOURS}s"},
        "scalingIntervals": [{"minReplicas": 1, "maxReplicas": 6, "maxResources": {"cpu": "2", "memory": "2Gi"}}],
    }


@pytest.fixture(scope="module")
def stage(plane: ControlPlane) -> Iterator[Stage]:
    stage = Stage(plane).start()
    plane.start_controllers(names=WORKLOAD_CONTROLLERS)
    yield stage
    plane.stop_controllers()
    stage.stop()


@pytest.fixture(scope="module")
def live(stage: Stage) -> Iterator[Live]:
    """Workloads at rest, under a hypot that has just been stopped."""
    with House(stage, "upgraded", kinds=KINDS) as house:
        remembering(stage.api, house.own)
        live = Live(house)
        first = house.hire()
        first.until_reconciled(within=LONG)
        live.settle()
        assert first.stop() == 0
        yield live


def as_it_is(_: House) -> None:
    """The state stays as it is."""


def of_version(version: int) -> Callable[[House], None]:
    """State in another format, as another version of hypot would have left it."""

    def rewrite(house: House) -> None:
        for each in house.states():
            entries = shard_text.opened(base64.b64decode(each["binaryData"]["state"])).entries
            packed = base64.b64encode(shard_text.pack(entries, version=version)).decode()
            body = {"data": {"version": str(version)}, "binaryData": {"state": packed}}
            house.stage.api.patch(f"/api/v1/namespaces/{house.own}/configmaps/{each['metadata']['name']}", body)

    return rewrite


def lost(house: House) -> None:
    for each in house.states():
        house.stage.api.delete(f"/api/v1/namespaces/{house.own}/configmaps/{each['metadata']['name']}")


def definitions_again(house: House) -> None:
    """Apply the definitions again, as an upgrade does."""
    printed = subprocess.run([*HYPOT, "crds"], capture_output=True, check=True).stdout
    for each in filter(None, yaml.safe_load_all(printed)):
        query = {"fieldManager": "kubectl", "force": "true"}
        house.stage.api.patch(f"{CRDS}/{each['metadata']['name']}", each, APPLY, query=query)


def moves(call: Call) -> bool:
    """Whether a call changes what runs, or what is to run."""
    return call.writes and (call.kind in {"scale", "resize", "eviction"} or "/apis/apps/" in call.path)


# In this order: each takes over from the previous one. Whether it can read the state.
CASES: dict[str, tuple[Callable[[House], None], bool]] = {
    "upgrade": (as_it_is, True),
    "with the definitions applied again": (definitions_again, True),
    "upgrade from an older form": (of_version(0), False),
    "with a lost state": (lost, False),
    "and once more": (as_it_is, True),
}


def test_an_older_version_leaves_newer_state_alone(live: Live) -> None:
    """It refuses to lead and says so; it leads as soon as it can read the state again."""
    house, before, readable = live.house, live.state(), live.house.states()
    of_version(shard_text.VERSION + 1)(house)
    newer = house.states()
    controller = house.hire()
    eventually(lambda: controller.lines("refuses to lead"), LONG)
    controller.probes = controller.lines("listening")[0]["port"]
    status, text = controller.get("/readyz")
    assert (status, "from a newer hypot" in text) == (503, True)
    lease = f"/apis/coordination.k8s.io/v1/namespaces/{house.own}/leases/hypot"
    eventually(lambda: not house.stage.api.get(lease)["spec"].get("holderIdentity"), LONG)
    assert (house.states(), controller.lines("reconciled")) == (newer, [])
    for each in readable:
        body = {key: each[key] for key in ("data", "binaryData")}
        house.stage.api.patch(f"/api/v1/namespaces/{house.own}/configmaps/{each['metadata']['name']}", body)
    controller.until_reconciled(2, within=LONG)
    assert controller.stop() == 0
    assert len(controller.lines("refuses to lead")) == 1
    assert paths(filter(moves, house.proxies[-1].journal)) == []
    assert live.state() == before


@pytest.mark.parametrize("case", CASES)
def test_live_objects_stay_as_they_are(live: Live, case: str) -> None:
    """The new controller does not scale, resize, evict or edit anything, whether or not it can read the state."""
    prepare, readable = CASES[case]
    house, before = live.house, live.state()
    prepare(house)
    controller = house.hire()
    controller.until_reconciled(5, within=LONG)
    assert controller.stop() == 0
    (resumed,) = controller.lines("resumed")
    # After a start without state hypot stays cold for as long as that matters, even after restarts.
    earlier = list(CASES.values())[: list(CASES).index(case) + 1]
    assert resumed["cold"] is not all(could for _, could in earlier)
    assert bool(controller.lines("state")) is not readable
    assert paths(filter(moves, house.proxies[-1].journal)) == []
    assert live.state() == before


def test_a_workload_still_scales_up_afterwards(live: Live) -> None:
    """After all takeovers it still follows demand."""
    controller = live.house.hire()
    controller.until_reconciled(within=LONG)
    live.counted.load = 1200
    reaches(live.counted, 8)
    assert controller.stop() == 0
