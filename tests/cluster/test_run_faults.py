"""What breaks around a controller: its own process stands still, the API server or the metrics go away, and lie."""

import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from functools import partial
from itertools import cycle
from typing import Any

import pytest

from cluster.plane.controlplane import ControlPlane
from cluster.plane.waiting import eventually
from cluster.running.houses import (
    DOWN_FACTOR,
    DOWN_WINDOW,
    LONG,
    UP_FACTOR,
    UP_WINDOW,
    WPA,
    House,
    reaches,
    side_by_side,
    watermarked,
    watermarks,
)
from cluster.running.invariants import METRICS, impatient, moves, overlap, too_far, too_soon, turns, unguarded
from cluster.running.proxy import Call, paths
from cluster.running.stage import Autoscaler, Object, Stage, Workload, stays
from cluster.standins.metricsserver import frozen, lagging, silent, stamp

Results = dict[str, Future[Any]]
AT_ONCE = 15
STOPPED, AWAY = 30.0, 60.0
# What a broken source of metrics has been seen to say.
GARBAGE: tuple[Any, ...] = ("NaN", "-25m", "", "1e400", "+Inf", "12 apples", None, 7, [], {"cpu": "1"})
GONE: Object = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Expired", "code": 410}
BUSY: Object = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "TooManyRequests", "code": 429}


@pytest.fixture(scope="module")
def stage(plane: ControlPlane) -> Iterator[Stage]:
    stage = Stage(plane).start()
    yield stage
    stage.stop()


@pytest.fixture(scope="module")
def results(stage: Stage) -> Results:
    """Each in a house of its own, side by side; those that take long come first."""
    cases: dict[str, Callable[[], Any]] = {
        "frozen": partial(unmeasured, stage, _freeze, downscaleDelayBelowWatermarkSeconds=100),
        "stopped while it looks": partial(stopped, stage, _looks, "before"),
        "stopped while it writes": partial(stopped, stage, _scales, "during"),
        "gone": partial(unmeasured, stage, _silence),
        "empty": partial(unmeasured, stage, _empty),
        "old": partial(unmeasured, stage, _delay),
        "garbage": partial(unmeasured, stage, _garble),
        "one old": partial(unmeasured, stage, _delay_one),
        "one garbage": partial(unmeasured, stage, _garble_one),
        "one ahead": partial(unmeasured, stage, _advance_one),
        "throttled": partial(grows, stage, _throttle),
        "expired": partial(grows, stage, _expire),
        "cut": partial(grows, stage, _cut),
        "one metric left": partial(one_metric_left, stage),
        "unwatched": partial(unwatched, stage),
    }
    return side_by_side(cases, AT_ONCE)


# A process that stands still.


def _looks(call: Call) -> bool:
    return call.method == "GET" and call.path.startswith(METRICS)


def _scales(call: Call) -> bool:
    return call.kind == "scale"


def stopped(stage: Stage, moment: Callable[[Call], bool], when: Any) -> tuple[list[str], list[Call]]:
    """Two replicas; the first one stands still in the middle of a sweep that is to move something.

    What it sent from then on, and what the second one wrote while the first still did.
    """
    with House(stage, "stop") as house:
        web, _ = watermarked(stage, house.namespace)
        first = house.hire()
        first.until_swept(3, LONG)
        second = house.hire()
        eventually(lambda: second.lines("listening"), LONG)
        held = house.proxies[0].hold(moment, when)
        web.load = 1560.0
        assert held.come.wait(LONG)
        first.signal(signal.SIGSTOP)
        began = time.monotonic()
        held.release.set()
        eventually(lambda: second.lines("resumed"), LONG)
        time.sleep(max(0.0, began + STOPPED - time.monotonic()))
        first.signal(signal.SIGCONT)
        eventually(lambda: first.lines("lease lost"), LONG)
        reaches(web, 8)
        second.until_swept(3, LONG)
        # What was on its way when it was stopped had a second to arrive.
        late = paths(house.proxies[0].writes(since=began + 1))
        both = overlap(house.proxies[0].journal, house.proxies[1].journal)
        counts = [move.replicas for move in moves(house.journal)]
        assert (turns(counts), too_far(2, counts, UP_FACTOR, DOWN_FACTOR)) == (0, [])
        # It has lost nothing by that: it leads again as soon as it may.
        second.stop()
        eventually(lambda: len(first.lines("resumed")) == 2, LONG)
        first.until_swept(2, LONG)
        assert stays(web.replicas, 2) == 8
        return late, both


@pytest.mark.parametrize("moment", ["looks", "writes"])
def test_one_that_stood_still_writes_nothing_afterwards(results: Results, moment: str):
    """After 30 s another one leads: there are never two that write."""
    assert results[f"stopped while it {moment}"].result() == ([], [])


# Metrics that are no use.


def _answer(web: Workload) -> Any:
    return web.stage.metrics.answers[web.namespace]


def _silence(web: Workload) -> None:
    web.stage.metrics.answers[web.namespace] = silent


def _empty(web: Workload) -> None:
    web.stage.metrics.answers[web.namespace] = lambda _: []


def _freeze(web: Workload) -> None:
    web.stage.metrics.answers[web.namespace] = frozen(_answer(web))


def _delay(web: Workload) -> None:
    web.stage.metrics.answers[web.namespace] = lagging(_answer(web), 100)


def _garble(web: Workload) -> None:
    words = cycle(GARBAGE)
    web.bend = lambda item: _saying(item, next(words))


def _saying(item: Object, word: Any) -> Object:
    return {**item, "containers": [{"name": "app", "usage": {"cpu": word, "memory": word}}]}


def _one(web: Workload, change: Callable[[Object], Object]) -> None:
    chosen = min(pod["metadata"]["name"] for pod in web.pods())
    web.bend = lambda item: change(item) if item["metadata"]["name"] == chosen else item


def _delay_one(web: Workload) -> None:
    _one(web, lambda item: {**item, "timestamp": stamp(time.time() - 100)})


def _advance_one(web: Workload) -> None:
    _one(web, lambda item: {**item, "timestamp": stamp(time.time() + 3600)})


def _garble_one(web: Workload) -> None:
    words = cycle(GARBAGE)
    _one(web, lambda item: _saying(item, next(words)))


def unmeasured(stage: Stage, spoil: Callable[[Workload], None], **spec: Any) -> tuple[list[str], Object]:
    """Demand falls, and with it the metrics; nothing moves until they are back.

    What was scaled meanwhile, and the condition that says why nothing was.
    """
    with House(stage, "metrics") as house:
        web = Workload(stage, house.namespace, load=600.0).create(4)
        wpa = web.autoscaler(*WPA, watermarks(**spec))
        controller = house.hire()
        controller.until_swept(DOWN_WINDOW + 3, LONG)
        truth, honest = _answer(web), web.bend
        spoil(web)
        web.load = 100.0
        told = eventually(lambda: _complaint(wpa), LONG)
        controller.until_swept(2 * DOWN_WINDOW, LONG)
        scaled = paths(house.proxies[0].writes("scale"))
        assert web.replicas() == 4
        stage.metrics.answers[web.namespace], web.bend = truth, honest
        eventually(lambda: web.replicas() < 4, LONG)
        eventually(lambda: not _complaint(wpa), LONG)
        return scaled, told


def _complaint(wpa: Autoscaler) -> Object:
    """The condition that says that metrics are missing; empty where none does."""
    active, blocked = wpa.condition("ScalingActive"), wpa.condition("ScalingBlocked")
    if active.get("status") == "False":
        return active
    missing = (blocked.get("status"), blocked.get("reason")) == ("True", "MissingMetrics")
    return blocked if missing else {}


@pytest.mark.parametrize("case", ["gone", "empty", "old", "frozen", "garbage"])
def test_nothing_shrinks_without_metrics(results: Results, case: str):
    """Whatever is wrong with them; the condition names the metric, and once they are back it goes on."""
    scaled, told = results[case].result()
    assert scaled == []
    assert told["reason"] == "FailedGetResourceMetric", told
    assert "cpu" in told["message"] or "metrics" in told["message"], told


@pytest.mark.parametrize("case", ["one old", "one garbage", "one ahead"])
def test_nothing_shrinks_while_a_pod_is_not_measured(results: Results, case: str):
    """The rest would be taken for all; the condition names who is missing."""
    scaled, told = results[case].result()
    assert scaled == []
    assert "ready pods without a fresh sample of usage: web-" in told["message"], told


def one_metric_left(stage: Stage) -> tuple[int, list[Object]]:
    """An Hvpa on cpu and memory, of which only cpu can be read: demand falls, and then rises.

    The count after it fell, and what is told.
    """
    metrics = [
        {"type": "Resource", "resource": {"name": name, "target": {"type": "Utilization", "averageUtilization": 80}}}
        for name in ("cpu", "memory")
    ]
    update = {"updatePolicy": {"updateMode": "Auto"}, "stabilizationDuration": "3s"}
    spec = {
        "hpa": {"deploy": True, "template": {"spec": {"minReplicas": 1, "maxReplicas": 8, "metrics": metrics}}},
        "vpa": {"deploy": True, "template": {"spec": {}}},
        "scaleUp": update,
        "scaleDown": update,
        "scalingIntervals": [{"minReplicas": 1, "maxReplicas": 8, "maxResources": {"cpu": "400m", "memory": "1Gi"}}],
    }
    with House(stage, "left") as house:
        web = Workload(stage, house.namespace, load=1200.0, memory=300 << 20).create(4, cpu="400m", memory="400Mi")
        hvpa = web.autoscaler("Hvpa", "autoscaling.k8s.io/v1alpha1", spec)
        controller = house.hire()
        controller.until_swept(3, LONG)
        before = web.replicas()
        web.bend = lambda item: {**item, "containers": [_without_memory(each) for each in item["containers"]]}
        web.load = 100.0
        controller.until_swept(10, LONG)
        fallen = web.replicas() - before
        conditions = hvpa.status().get("conditions", [])
        web.load = 3000.0
        eventually(lambda: web.replicas() > before, LONG)
        return fallen, conditions


def _without_memory(container: Object) -> Object:
    return {**container, "usage": {"cpu": container["usage"]["cpu"], "memory": "NaN"}}


def test_growth_needs_one_metric_and_shrinking_needs_all(results: Results):
    """As the rules of an HPA say, which an Hvpa counts by."""
    fallen, conditions = results["one metric left"].result()
    assert fallen >= 0, conditions


# A server that does not serve.


def _throttle(house: House) -> None:
    """Every other kind of call is refused for a while, with a time to wait."""
    proxy = house.proxies[0]
    for kind in ("scale", "status", "memory"):
        proxy.refuse(lambda call, kind=kind: call.kind == kind, 429, BUSY, 3, Retry_After="1")
    proxy.refuse(_looks, 429, BUSY, 3, Retry_After="1")


def _expire(house: House) -> None:
    """All watches end, and none can go on from where it was."""
    house.proxies[0].refuse(lambda call: "resourceVersion" in call.query and "watch" in call.query, 410, GONE, 12)
    house.proxies[0].cut()


def _cut(house: House) -> None:
    for _ in range(8):
        house.proxies[0].cut()
        time.sleep(1)


def grows(stage: Stage, trouble: Callable[[House], None]) -> tuple[list[int], list[str]]:
    """Demand rises in the middle of it, and falls again afterwards.

    Where the count came to rest, and everything that was wrong with the way there.
    """
    with House(stage, "trouble") as house:
        web, wpa = watermarked(stage, house.namespace)
        controller = house.hire()
        controller.until_swept(3, LONG)
        web.load = 1560.0
        trouble(house)
        rests = []
        for load, replicas in ((1560.0, 8), (410.0, 4)):
            web.load = load
            reaches(web, replicas)
            rests.append(stays(web.replicas, 3))
        eventually(lambda: wpa.status().get("currentReplicas") == 4, LONG)
        done = moves(house.journal)
        counts = [move.replicas for move in done]
        wrong = [str(each) for each in too_far(2, counts, UP_FACTOR, DOWN_FACTOR)]
        wrong += [str(each) for each in too_soon(2, done, UP_WINDOW, DOWN_WINDOW)]
        assert turns(counts) == 1
        return rests, wrong + unguarded(house.journal) + impatient(house.journal, 1.0)


def unwatched(stage: Stage) -> tuple[list[str], str, int]:
    """The pods cannot be followed any more, whatever else can, and demand falls.

    What was scaled meanwhile, the condition, and the count once they can.
    """
    with House(stage, "blind") as house:
        web, wpa = watermarked(stage, house.namespace, 4, 600.0)
        controller = house.hire()
        controller.until_swept(DOWN_WINDOW + 3, LONG)
        proxy, broken = house.proxies[0], {"kind": "Status", "apiVersion": "v1", "code": 500}
        fault = proxy.refuse(lambda call: call.path.endswith("/pods") and not _looks(call), 500, broken, 1000)
        proxy.cut()
        eventually(lambda: fault.met, LONG)
        web.load = 100.0
        eventually(lambda: wpa.condition("ScalingBlocked").get("reason") == "StaleWatch", LONG)
        controller.until_swept(2 * DOWN_WINDOW, LONG)
        scaled, told = paths(proxy.writes("scale")), str(wpa.condition("ScalingBlocked")["message"])
        fault.times = 0
        eventually(lambda: web.replicas() < 4, LONG)
        return scaled, told, web.replicas()


def test_nothing_shrinks_on_what_is_not_watched(results: Results):
    """What was seen last may have been true long ago."""
    scaled, told, after = results["unwatched"].result()
    assert (scaled, after) == ([], 3)
    assert "pods" in told


@pytest.mark.parametrize("case", ["throttled", "expired", "cut"])
def test_calls_that_fail_now_and_then_move_nothing_wrongly(results: Results, case: str):
    """What was refused is asked again, once and in time; watches go on."""
    assert results[case].result() == ([8, 4], [])


def test_the_api_server_is_away_for_a_minute(stage: Stage, results: Results):
    """The controller lives on and writes nothing, then leads again and does what became necessary meanwhile."""
    wait(results.values())
    with House(stage, "away") as house:
        web, wpa = watermarked(stage, house.namespace, 4, 600.0)
        controller = house.hire()
        controller.until_swept(3, LONG)
        stage.plane.stop_server()
        web.load = 1560.0
        time.sleep(AWAY)
        assert controller.is_running()
        assert not [call for call in house.proxies[0].writes() if call.kind == "scale"]
        stage.plane.start_server()
        eventually(lambda: len(controller.lines("lease acquired")) == 2, LONG)
        reaches(web, 8)
        web.load = 410.0
        reaches(web, 4)
        eventually(lambda: wpa.status().get("currentReplicas") == 4, LONG)
        counts = [move.replicas for move in moves(house.journal)]
        assert (counts[0], turns(counts)) == (6, 1), counts
        assert too_far(4, counts, UP_FACTOR, DOWN_FACTOR) == []
        assert controller.stop() == 0
