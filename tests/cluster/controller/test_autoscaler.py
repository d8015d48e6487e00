"""Autoscalers under `hypot run` on a real control plane: both axes, restarts, lost metrics and other writers."""

from typing import Any

import pytest

from cluster.plane.waiting import eventually
from cluster.running.alone import controlling
from cluster.running.controller import Controller
from cluster.running.shapes import series
from cluster.running.stage import Autoscaler, Stage, Workload, stays
from cluster.standins.kubelet import Rule
from cluster.standins.metricsserver import RefusedError
from hypot.core.quantity import milli

KIND = ("Autoscaler", "hypot.dev/v1alpha1")
SOON = 60
# The longest hold of a rule is 80 reconciles.
PERIOD, LONGEST = 0.25, 20.0
SETTINGS = {"settings": {"syncPeriod": PERIOD}}
BOUNDS = {"resourcePolicy": {"containerPolicies": [{"containerName": "app", "maxAllowed": {"cpu": "800m"}}]}}
# Four pods of 200m.
SMALL = 800


def shape(web: Workload) -> tuple[int, int]:
    """How many pods there are, and the cpu of the smallest and of the largest together, in millicores."""
    sizes = [milli(one["cpu"]) for one in web.requests()]
    return web.replicas(), min(sizes, default=0) + max(sizes, default=0)


def total(web: Workload) -> int:
    """The cpu that all pods request, in millicores."""
    return sum(milli(one["cpu"]) for one in web.requests())


def begun(
    stage: Stage, namespace: str, mode: str = "Auto", load: float = 300, **spec: Any
) -> tuple[Workload, Autoscaler]:
    """Four small pods with little load."""
    stage.kubelet.rules[namespace] = Rule(ready_after=0.2)
    web = Workload(stage, namespace, load=load).create(4, "200m", "128Mi")
    return web, web.autoscaler(*KIND, {"updateMode": mode, "maxReplicas": 12, **BOUNDS, **spec})


def is_large(web: Workload) -> bool:
    """More pods, and larger ones; all are ready, and of the same size."""
    sizes = {milli(one["cpu"]) for one in web.requests()}
    ready = web.deployment().get("status", {}).get("readyReplicas", 0)
    return (
        web.replicas() > 4 and len(sizes) == 1 and min(sizes) > 200 and ready == web.replicas() == len(web.requests())
    )


def has_decided(hypot: Controller) -> bool:
    return bool(series(hypot.get("/metrics")[1], "hypot_demand_cores", object_name="web"))


def test_both_axes_follow_demand(stage: Stage, namespace: str) -> None:
    """Up at once, in place, and down once the longest hold has passed."""
    web, one = begun(stage, namespace)
    with controlling(stage, namespace, **SETTINGS) as hypot:
        eventually(lambda: has_decided(hypot), SOON)
        web.load = 4000
        eventually(lambda: is_large(web), SOON)
        large = total(web)
        assert large > 4000
        web.load = 300
        eventually(lambda: total(web) < large / 3, SOON + LONGEST)
        eventually(lambda: one.condition("CarriedOut").get("reason") == "Done", SOON)
        status, page = one.status(), hypot.get("/metrics")[1]
    assert one.condition("Ready")["reason"] == "Decided"
    assert status["learned"]["replicas"]["rule"]
    assert status["containers"][0]["requests"]["cpu"]
    assert [value for _, value in series(page, "hypot_planned_demand_cores", object_name="web", axis="replicas")]
    assert any(reason == "Scaled" for reason, _ in one.events())
    written = web.deployment()["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"]
    assert written == "200m"


def test_off_only_reports(stage: Stage, namespace: str) -> None:
    """The status says what it would do; an HPA of the same target would not conflict."""
    web, one = begun(stage, namespace, mode="Off")
    with controlling(stage, namespace, **SETTINGS) as hypot:
        eventually(lambda: has_decided(hypot), SOON)
        web.load = 4000
        eventually(lambda: one.status().get("desiredReplicas", 0) > 4 or "800m" in one.status().get("size", ""), SOON)
        hypot.until_reconciled(4)
        assert (shape(web), total(web)) == ((4, 400), SMALL)
        assert not [line for line in hypot.lines("wrote") if "/pods/" in line["path"] or "/scale" in line["path"]]
    assert one.condition("Ready")["reason"] == "ReportsOnly"
    assert "containers" not in one.status()


def test_a_restart_keeps_what_was_learned_and_releases_nothing_early(stage: Stage, namespace: str) -> None:
    """The next controller knows since when it learns, and holds for as long as the longest hold."""
    web, one = begun(stage, namespace)
    with controlling(stage, namespace, **SETTINGS) as hypot:
        eventually(lambda: has_decided(hypot), SOON)
        web.load = 4000
        eventually(lambda: is_large(web), SOON)
        web.load = 3600
        hypot.until_reconciled(80)
        eventually(lambda: is_large(web), SOON)
        since = one.status()["learned"]["since"]
    before = shape(web)
    web.load = 300
    with controlling(stage, namespace, **SETTINGS) as hypot:
        eventually(lambda: has_decided(hypot), SOON)
        stays(lambda: shape(web), LONGEST / 2)
        assert shape(web) == before
        assert one.status()["learned"]["since"] == since
        eventually(lambda: total(web) < SMALL + 800, SOON + LONGEST)


def test_lost_metrics_shrink_nothing(stage: Stage, namespace: str) -> None:
    """While pods have no samples nothing is scaled down, however little they used before."""
    web, one = begun(stage, namespace)
    with controlling(stage, namespace, **SETTINGS) as hypot:
        eventually(lambda: has_decided(hypot), SOON)
        web.load = 4000
        eventually(lambda: is_large(web), SOON)
        say = stage.metrics.answers[namespace]

        def nothing(_query: Any) -> list[Any]:
            raise RefusedError(503, "ServiceUnavailable")

        stage.metrics.answers[namespace] = nothing
        web.load = 300
        eventually(lambda: one.condition("ScalingBlocked").get("reason") == "NoMetrics", SOON)
        before = shape(web)
        stays(lambda: shape(web), LONGEST + 5.0)
        assert shape(web) == before
        stage.metrics.answers[namespace] = say
        eventually(lambda: shape(web) < before, SOON + 2 * LONGEST)


@pytest.mark.parametrize("axes", ["Both", "Size"])
def test_a_count_that_someone_sets_is_the_next_beginning(stage: Stage, namespace: str, axes: str) -> None:
    """It is not undone by a decision that was made for another count; with `axes: Size` it stays."""
    web, _ = begun(stage, namespace, axes=axes)
    with controlling(stage, namespace, **SETTINGS) as hypot:
        eventually(lambda: has_decided(hypot), SOON)
        web.scale(9)
        web.until_ready(9)
        hypot.until_reconciled(8)
        assert web.replicas() == 9
        decided = [
            (line["before"], line["after"]) for line in hypot.lines("decided") if line["before"] != line["after"]
        ]
    assert all(before == 9 for before, _ in decided)
