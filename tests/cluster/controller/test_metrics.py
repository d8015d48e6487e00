"""Unusable metrics and watches: nothing scales down because of them, and a condition says why."""

import time
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from itertools import cycle
from typing import Any

import pytest

from cluster.plane.waiting import eventually
from cluster.running.houses import DOWN_WINDOW, LONG, WPA, House, side_by_side, watermarked, watermarks
from cluster.running.invariants import METRICS
from cluster.running.proxy import Call, paths
from cluster.running.stage import Autoscaler, Object, Stage, Workload
from cluster.standins.metricsserver import frozen, lagging, silent, stamp

Results = dict[str, Future[Any]]
AT_ONCE = 10
LEFT_OUT = "pods without a fresh sample of usage: web-"
# Values that broken metrics sources have been seen to report.
GARBAGE: tuple[Any, ...] = ("NaN", "-25m", "", "1e400", "+Inf", "12 apples", None, 7, [], {"cpu": "1"})


@pytest.fixture(scope="module")
def results(stage: Stage) -> Results:
    """Each case in a house of its own, side by side; the longest comes first."""
    cases: dict[str, Callable[[], Any]] = {
        # Its samples age for 90 s before they are missing, and the start without state must hold for longer than that.
        "frozen": partial(unmeasured, stage, _freeze, downscaleDelayBelowWatermarkSeconds=240),
        "gone": partial(unmeasured, stage, _silence),
        "empty": partial(unmeasured, stage, _empty),
        "old": partial(unmeasured, stage, _delay),
        "garbage": partial(unmeasured, stage, _garble),
        "one old": partial(unmeasured, stage, _delay_one, LEFT_OUT),
        "one garbage": partial(unmeasured, stage, _garble_one, LEFT_OUT),
        "one ahead": partial(unmeasured, stage, _advance_one, LEFT_OUT),
        "one metric left": partial(one_metric_left, stage),
        "unwatched": partial(unwatched, stage),
    }
    return side_by_side(cases, AT_ONCE)


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
    message = cycle(GARBAGE)
    web.bend = lambda item: _saying(item, next(message))


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
    message = cycle(GARBAGE)
    _one(web, lambda item: _saying(item, next(message)))


def unmeasured(
    stage: Stage, spoil: Callable[[Workload], None], message: str = "", **spec: Any
) -> tuple[list[str], Object]:
    """Demand falls while the metrics fail; nothing scales until they are back.

    Returns what was scaled meanwhile, and the condition that says why nothing was.
    """
    with House(stage, "metrics") as house:
        web = Workload(stage, house.namespace, load=600.0).create(4)
        wpa = web.autoscaler(*WPA, watermarks(**spec))
        controller = house.hire()
        controller.until_reconciled(DOWN_WINDOW + 3, LONG)
        truth, honest = _answer(web), web.bend
        spoil(web)
        web.load = 100.0
        reported = eventually(lambda: _complaint(wpa, message), LONG)
        controller.until_reconciled(2 * DOWN_WINDOW, LONG)
        scaled = paths(house.proxies[0].writes("scale"))
        assert web.replicas() == 4
        stage.metrics.answers[web.namespace], web.bend = truth, honest
        eventually(lambda: web.replicas() < 4, LONG)
        eventually(lambda: not _complaint(wpa), LONG)
        return scaled, reported


def _complaint(wpa: Autoscaler, message: str = "") -> Object:
    """The condition that says, with this message, that metrics are missing; empty if there is none."""
    active, blocked = wpa.condition("ScalingActive"), wpa.condition("ScalingBlocked")
    missing = [active] if active.get("status") == "False" else []
    if (blocked.get("status"), blocked.get("reason")) == ("True", "MissingMetrics"):
        missing.append(blocked)
    return next((one for one in missing if message in one["message"]), {})


@pytest.mark.parametrize("case", ["gone", "empty", "old", "frozen", "garbage"])
def test_nothing_scales_down_without_metrics(results: Results, case: str):
    """Whatever is wrong with the metrics, the condition names the metric; scaling continues once they are back."""
    scaled, reported = results[case].result()
    assert scaled == []
    assert reported["reason"] == "FailedGetResourceMetric", reported
    assert "cpu" in reported["message"] or "metrics" in reported["message"], reported


@pytest.mark.parametrize("case", ["one old", "one garbage", "one ahead"])
def test_nothing_scales_down_while_a_pod_is_not_measured(results: Results, case: str):
    """The measured pods would be taken for all pods; the condition names the missing pods."""
    scaled, reported = results[case].result()
    assert scaled == []
    assert LEFT_OUT in reported["message"], reported


def one_metric_left(stage: Stage) -> tuple[int, list[Object]]:
    """An Hvpa on cpu and memory, of which only cpu can be read: demand falls, and then rises.

    Returns the change of the count after it fell, and the conditions.
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
        controller.until_reconciled(3, LONG)
        before = web.replicas()
        web.bend = lambda item: {**item, "containers": [_without_memory(each) for each in item["containers"]]}
        web.load = 100.0
        controller.until_reconciled(10, LONG)
        fallen = web.replicas() - before
        conditions = hvpa.status().get("conditions", [])
        web.load = 3000.0
        eventually(lambda: web.replicas() > before, LONG)
        return fallen, conditions


def _without_memory(container: Object) -> Object:
    return {**container, "usage": {"cpu": container["usage"]["cpu"], "memory": "NaN"}}


def test_scale_up_needs_one_metric_and_scale_down_needs_all(results: Results):
    """An Hvpa follows the rules of an HPA here."""
    fallen, conditions = results["one metric left"].result()
    assert fallen >= 0, conditions


def _looks(call: Call) -> bool:
    return call.method == "GET" and call.path.startswith(METRICS)


def unwatched(stage: Stage) -> tuple[list[str], str, int]:
    """The pods can no longer be watched, everything else can, and demand falls.

    Returns what was scaled meanwhile, the condition, and the count once the pods are watched again.
    """
    with House(stage, "blind") as house:
        web, wpa = watermarked(stage, house.namespace, 4, 600.0)
        controller = house.hire()
        controller.until_reconciled(DOWN_WINDOW + 3, LONG)
        proxy, broken = house.proxies[0], {"kind": "Status", "apiVersion": "v1", "code": 500}
        fault = proxy.refuse(lambda call: call.path.endswith("/pods") and not _looks(call), 500, broken, 1000)
        proxy.cut()
        eventually(lambda: fault.met, LONG)
        web.load = 100.0
        eventually(lambda: wpa.condition("ScalingBlocked").get("reason") == "StaleWatch", LONG)
        controller.until_reconciled(2 * DOWN_WINDOW, LONG)
        scaled, reported = paths(proxy.writes("scale")), str(wpa.condition("ScalingBlocked")["message"])
        fault.times = 0
        eventually(lambda: web.replicas() < 4, LONG)
        return scaled, reported, web.replicas()


def test_nothing_scales_down_on_stale_watches(results: Results):
    """The last observed state of the pods may be outdated."""
    scaled, reported, after = results["unwatched"].result()
    assert (scaled, after) == ([], 3)
    assert "pods" in reported
