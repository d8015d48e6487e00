"""A day of an Autoscaler on a real control plane, next to the same day of a real HPA at 70 %.

A day has ten minutes: both decide every second, pods start, stop and resize 144 times as fast as usual, and windows are
as much shorter. The Autoscaler begins with what it learned in three days. Both serve the same demand with equal pods.
"""

import asyncio
import faulthandler
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from cluster.plane.controlplane import ControlPlane
from cluster.running.alone import controller_for, running
from cluster.running.service import LATE, REQUESTS, WORLD, Service, Totals, serving
from cluster.running.short_day import DAY, FACTOR, HYPOT, learned
from cluster.running.stage import Autoscaler, Stage, Workload
from cluster.standins.kubelet import Rule
from hypot.cluster.api import Api
from hypot.cluster.config import read_access
from hypot.core.instant import read_time
from hypot.run.rights import LEASE, state_name
from hypot.run.store.shards import Shards

PAST_DAYS = 3
# After a restart nothing is scaled down for 80 reconciles. The day that counts begins afterwards.
WARM_UP = 90
# The least decisions per second: with fewer, a day is not like a day.
PACE = 0.9
# The cores that the demand needs at its usual peak.
PEAK = 12.0
WINDOW = 300.0 / FACTOR
HPA_FLAGS = (
    "--horizontal-pod-autoscaler-sync-period=1s",
    f"--horizontal-pod-autoscaler-downscale-stabilization={WINDOW:.3f}s",
    f"--horizontal-pod-autoscaler-cpu-initialization-period={WINDOW:.3f}s",
    f"--horizontal-pod-autoscaler-initial-readiness-delay={30.0 / FACTOR:.3f}s",
)
# The default behavior; its periods of 15 s are those of one reconcile.
AT_ONCE = {"type": "Percent", "value": 100, "periodSeconds": 1}
BEHAVIOR = {
    "scaleUp": {"policies": [AT_ONCE, {"type": "Pods", "value": 4, "periodSeconds": 1}]},
    "scaleDown": {"policies": [AT_ONCE]},
}
CPU_70 = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 70}}}
HPA = {"minReplicas": 2, "maxReplicas": 100, "metrics": [CPU_70], "behavior": BEHAVIOR}
AUTOSCALER = {"updateMode": "Auto", "metrics": {"requests": {"name": REQUESTS}, "late": {"name": LATE}}}


@pytest.fixture(scope="module")
def stage(plane: ControlPlane) -> Iterator[Stage]:
    made = Stage(plane, *HPA_FLAGS).start()
    yield made
    made.stop()


def demand_of(days: float) -> np.ndarray:
    """Cores in each second: every day has its hours, and no second is like the one before."""
    drawn = np.random.default_rng(1).standard_normal((2, int(days * DAY)))
    hour = np.arange(drawn.shape[1]) % DAY / DAY * 24.0
    usual = 0.25 + 0.275 * (1.0 + np.sin((hour - 8.0) / 12.0 * np.pi)) + 0.25 * np.exp(-((hour - 20.0) ** 2) / 3.0)
    slow = np.zeros(drawn.shape[1])
    for i in range(1, len(slow)):
        slow[i] = 0.95 * slow[i - 1] + 0.03 * drawn[0, i]
    return PEAK * usual * np.exp(slow + 0.03 * drawn[1])


def workload(stage: Stage, namespace: str) -> Workload:
    """The pods of the world, which start, stop and resize as fast as there."""
    pods, first = WORLD.pods, WORLD.workload
    stage.kubelet.rules[namespace] = Rule(ready_after=pods.start, gone_after=pods.stop, resize_after=WORLD.resize.takes)
    limits = {"cpu": f"{first.cpu_limit}", "memory": f"{first.memory_limit}"}
    return Workload(stage, namespace).create(first.replicas, f"{first.cpu}", f"{first.memory}", limits)


def save(plane: ControlPlane, namespace: str, one: Autoscaler, entry: dict[str, Any]) -> None:
    """Save the state of an Autoscaler as an earlier leader would."""

    async def saved() -> list[str]:
        async with Api(read_access(str(plane.kubeconfig("admin")))) as api:
            key = f"{one.kind}/{one.namespace}/{one.name}"
            return await Shards(api, namespace, state_name(LEASE)).save({key: entry})

    assert asyncio.run(saved()) == []


def words(name: str, one: Totals) -> str:
    return f"{name}: {one.core_seconds:.0f} core-seconds, {one.late:.0f} of {one.requests:.0f} requests late"


def test_a_day_costs_less_than_with_an_hpa_and_is_no_later(
    stage: Stage, namespace: str, report: Callable[[str], None]
) -> None:
    """Fewer core-hours, no more late requests."""
    # It takes longer than a test that hangs.
    faulthandler.cancel_dump_traceback_later()
    twin = f"{namespace}-twin"
    stage.api.create("/api/v1/namespaces", {"metadata": {"name": twin}})
    demand, past = demand_of(PAST_DAYS + 2), int(PAST_DAYS * DAY)
    ours, theirs = workload(stage, namespace), workload(stage, twin)
    one = ours.autoscaler("Autoscaler", "hypot.dev/v1alpha1", AUTOSCALER)
    begin = time.time()
    state = learned(one.get(), demand[:past], begin)
    services = [Service(web, demand[past:], begin) for web in (ours, theirs)]
    controller = controller_for(stage, namespace, settings={"downscaleWindow": WINDOW})
    controller.command = HYPOT
    save(stage.plane, controller.config["namespace"], one, state)
    with serving(*services), running(controller):
        theirs.autoscaler("HorizontalPodAutoscaler", "autoscaling/v2", HPA)
        time.sleep(WARM_UP)
        before, decided = [service.totals for service in services], len(controller.lines("reconciled"))
        time.sleep(DAY)
        autoscaler, hpa = (service.totals.since(then) for service, then in zip(services, before, strict=True))
        decided = len(controller.lines("reconciled")) - decided
        since = one.status()["learned"]["since"]
    report(words("Autoscaler", autoscaler))
    report(words("HPA at 70 %", hpa))
    if decided < PACE * DAY:
        pytest.skip(f"only {decided} decisions in {DAY:.0f} s: this machine is too busy for days of ten minutes")
    assert read_time(since) <= begin - past + 2.0
    assert autoscaler.core_seconds < hpa.core_seconds
    assert autoscaler.late <= hpa.late
