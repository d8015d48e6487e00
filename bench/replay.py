"""How fast a replay is: the plain engine, one workload, 28 days at 15 s, service model and scores included."""

import statistics
import time
from dataclasses import replace

import numpy as np

from hypot.kinds.hpa import HPA
from hypot.kinds.wpa import WPA
from hypot.policy.settings import Settings
from hypot.replay.demand import Load
from hypot.replay.engine import replay
from hypot.replay.policy_parts import Policy, Start
from hypot.replay.scores import score
from hypot.replay.world import World

DAYS, TICK, ROUNDS, WORKLOADS = 28, 15.0, 3, 300
TARGET = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
BEHAVIOR = {
    "scaleUp": {"policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}]},
    "scaleDown": {
        "stabilizationWindowSeconds": 300,
        "policies": [{"type": "Percent", "value": 50, "periodSeconds": 60}],
    },
}


def load() -> Load:
    """A month of days and weeks, with noise."""
    count = int(DAYS * 86400 / TICK)
    at = TICK * np.arange(count)
    rng = np.random.default_rng(1)
    work = 6 - 4 * np.cos(2 * np.pi * at / 86400) - np.cos(2 * np.pi * at / 604800)
    return Load(1.7e9, work * rng.lognormal(0, 0.03, count), np.ones(count), np.zeros(count))


def policies() -> dict[str, HPA | WPA]:
    cpu = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 70}}}
    spec = {"scaleTargetRef": TARGET, "minReplicas": 2, "maxReplicas": 100, "metrics": [cpu], "behavior": BEHAVIOR}
    band = {
        "type": "Resource",
        "resource": {"name": "cpu", "metricSelector": {}, "highWatermark": "800m", "lowWatermark": "500m"},
    }
    marks = {"scaleTargetRef": TARGET, "minReplicas": 2, "maxReplicas": 100, "algorithm": "average", "metrics": [band]}
    hpa = {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "web"}, "spec": spec}
    wpa = {
        "apiVersion": "datadoghq.com/v1alpha1",
        "kind": "WatermarkPodAutoscaler",
        "metadata": {"name": "web"},
        "spec": marks,
    }
    return {"HPA with behavior": HPA.from_dict(hpa), "watermarks": WPA.from_dict(wpa)}


def fleet_figures(world: World) -> None:
    """Many workloads on all cores, from trace to scores, as the command runs them."""
    from hypot.replay import fleet  # noqa: PLC0415  what is measured
    from hypot.replay.comparison import Job  # noqa: PLC0415
    from hypot.replay.crew import work  # noqa: PLC0415
    from hypot.replay.traces_value import Trace  # noqa: PLC0415

    began, there = time.perf_counter(), fleet.is_compiled()
    fleet.warm(world, Settings())
    print(f"fleet engine, {'from its cache' if there else 'compiled'}: {time.perf_counter() - began:.1f} s (bar: 30 s)")
    minute = replace(world, tick=60.0)
    times = 60.0 * np.arange(DAYS * 1440 + 1)
    rates = [300 - 200 * np.cos(2 * np.pi * (times + 977 * i) / 86400) for i in range(WORKLOADS)]
    traces = [Trace(f"w{i}", times, rate, None, "requests", "bench") for i, rate in enumerate(rates)]
    start = Start("web", 2, "web", 1000, 2**30, 1200, 2 * 2**30)
    for name, autoscaler in policies().items():
        tried = Policy(name, (autoscaler,), start)
        jobs = [Job(tried, trace, minute, Settings(), keep=False, compiled=True) for trace in traces]
        ticks = WORKLOADS * (len(times) - 1)
        began = time.perf_counter()
        done = sum(1 for _ in work(jobs, ticks))
        took = time.perf_counter() - began
        print(f"fleet engine, {name}, {done} workloads, {DAYS} days at 60 s: {ticks / took / 1e6:.2f} million ticks/s")


def main() -> None:
    demand, world = load(), World()
    start = Start("web", 2, "web", 1000, 2**30, 1200, 2 * 2**30)
    for name, autoscaler in policies().items():
        took = []
        for _ in range(ROUNDS):
            began = time.process_time()
            score(replay(Policy(name, (autoscaler,), start), "web", demand, world, Settings()))
            took.append(time.process_time() - began)
        ticks = len(demand.work)
        middle = statistics.median(took)
        bar = " (bar: 4 s)" if autoscaler.KIND == HPA.KIND else ""
        print(f"plain engine, {name}, {DAYS} days at {TICK:g} s: {middle:.2f} s, {ticks / middle:,.0f} ticks/s{bar}")
    fleet_figures(world)


if __name__ == "__main__":
    main()
