"""A controller is killed at each write for a Tortoise: its successor reaches the result of an undisturbed one."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future
from functools import partial
from typing import Any, NamedTuple

import pytest

from cluster.plane.controlplane import ControlPlane
from cluster.plane.waiting import eventually
from cluster.running.houses import LONG, House, side_by_side
from cluster.running.invariants import twice, unguarded
from cluster.running.proxy import Fault, When, paths
from cluster.running.stage import PATHS, Stage, Workload, stays
from cluster.running.tortoises import HPA_FLAGS, SETTINGS, Earlier, bounds, hpas, their_hpa, tortoise

Case = tuple[str, When]
MOMENTS: tuple[When, ...] = ("before", "during", "after")
# Most of the time they wait until the Lease of the killed controller expires. With more, a slow machine starts so many
# processes at once that controllers do not renew their Leases in time and stop.
AT_ONCE = 5


class Rest(NamedTuple):
    """What is in the cluster in the end: each HPA and its bounds, the replicas, and the memory of each pod."""

    hpas: dict[str, tuple[int, int]]
    replicas: int
    memory: list[str]


@pytest.fixture(scope="module")
def stage(plane: ControlPlane) -> Iterator[Stage]:
    stage = Stage(plane, *HPA_FLAGS).start()
    yield stage
    stage.stop()


def killed(house: House, kind: str, when: When | None, **how: Any) -> Fault | None:
    """Kill the controller at its next such write."""
    return None if when is None else house.kill_at(kind, when, **how)


def succeeded(house: House, fault: Fault | None) -> None:
    """Wait for the kill, and for a successor that leads."""
    if fault is None:
        return
    eventually(lambda: fault.met or not house.controllers[-1].is_running(), LONG)
    house.controllers[-1].ended()
    house.hire().until_reconciled(2, LONG)


def a_week_ago(house: House, web: Workload, **spec: Any) -> None:
    """A Tortoise that has observed long enough."""
    one = tortoise(web, **spec)
    earlier = house.hire(Earlier)
    eventually(lambda: one.status().get("tortoisePhase") == "GatheringData", LONG)
    assert earlier.stop() == 0


def created(house: House, web: Workload, when: When | None) -> None:
    house.hire().until_reconciled(2, LONG)
    fault = killed(house, "hpa", when, method="POST")
    tortoise(web)
    succeeded(house, fault)
    eventually(lambda: own(house) == {"tortoise-hpa-web": (3, 100)}, LONG)


def edited(house: House, web: Workload, when: When | None) -> None:
    a_week_ago(house, web)
    house.hire()
    succeeded(house, killed(house, "hpa", when, method="PATCH"))
    eventually(lambda: own(house) == {"tortoise-hpa-web": (3, 7)}, LONG)


def handed_back(house: House, web: Workload, when: When | None) -> None:
    """Neither a mark nor anything else of the Tortoise is left."""
    api, (theirs, found) = house.stage.api, their_hpa(web)
    a_week_ago(house, web, named="theirs")
    house.hire()
    eventually(lambda: bounds(house.stage, theirs) == (3, 8), LONG)
    fault = killed(house, "hpa", when, method="PATCH")
    api.call("DELETE", f"{PATHS['Tortoise'].format(web.namespace)}/{web.name}")
    succeeded(house, fault)
    eventually(lambda: api.get(theirs)["spec"] == found, LONG)
    assert not api.get(theirs)["metadata"].get("annotations")


def sized(house: House, web: Workload, when: When | None) -> None:
    """Only one size is right, whatever the usage; killed at the second pod."""
    house.hire().until_reconciled(2, LONG)
    fault = killed(house, "resize", when, skip=1)
    same = {"memory": "400Mi"}
    sizes = {"containerName": "app", "minAllocatedResources": same, "maxAllocatedResources": same}
    only = [{"containerName": "app", "policy": {"cpu": "Off", "memory": "Vertical"}}]
    tortoise(web, autoscalingPolicy=only, resourcePolicy=[sizes])
    succeeded(house, fault)
    eventually(lambda: memory(web) == ["400Mi"] * 4, LONG)
    assert twice(house.journal, "resize") == [], paths(house.journal)


STEPS: dict[str, Callable[[House, Workload, When | None], None]] = {
    "created": created,
    "edited": edited,
    "handed-back": handed_back,
    "sized": sized,
}
CASES = [(step, when) for step in STEPS for when in MOMENTS]


def own(house: House) -> dict[str, tuple[int, int]]:
    """Each HPA of the namespace, and its bounds."""
    there = house.stage.api.get(hpas(house.namespace))["items"]
    return {each["metadata"]["name"]: (each["spec"]["minReplicas"], each["spec"]["maxReplicas"]) for each in there}


def memory(web: Workload) -> list[str]:
    return [each["memory"] for each in web.requests()]


def rest_of(stage: Stage, step: str, when: When | None) -> Rest:
    """What is there in the end; the controller is killed at a write of this step."""
    with House(stage, step, **SETTINGS) as house:
        web = Workload(stage, house.namespace, load=1200).create(4, "500m", "128Mi")
        STEPS[step](house, web, when)

        made = stays(lambda: Rest(own(house), web.replicas(), memory(web)), 4)
        posts = [call for call in house.journal if call.kind == "hpa" and call.method == "POST" and call.done]
        assert len(posts) <= 1, paths(posts)
        assert unguarded(house.journal) == []
        assert [each for each in house.controllers if each.lines("reconcile failed")] == []
        return made


@pytest.fixture(scope="module")
def results(request: pytest.FixtureRequest, stage: Stage) -> dict[Any, Future[Rest]]:
    """All selected cases side by side, and undisturbed controllers next to them."""
    asked = [item.callspec.params["case"] for item in request.session.items if item.path == request.path]
    cases = {case: partial(rest_of, stage, *case) for case in asked}
    cases |= {(step, None): partial(rest_of, stage, step, None) for step, _ in asked}
    return side_by_side(cases, AT_ONCE)


@pytest.mark.parametrize("case", CASES, ids="-".join)
def test_a_kill_changes_nothing_in_the_end(results: dict[Any, Future[Rest]], case: Case):
    """The same HPA with the same bounds, the same replicas and sizes; no HPA is made twice."""
    assert results[case].result() == results[case[0], None].result()
