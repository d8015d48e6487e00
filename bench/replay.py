"""How fast a replay is: the plain engine, one workload, 28 days at 15 s, service model and scores included."""

import statistics
import time

import numpy as np

from hypot.kinds.hpa import HPA
from hypot.kinds.wpa import WPA
from hypot.policy.settings import Settings
from hypot.replay.demand import Load
from hypot.replay.engine import replay
from hypot.replay.policy_parts import Policy, Start
from hypot.replay.scores import score
from hypot.replay.world import World

DAYS, TICK, ROUNDS = 28, 15.0, 3
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


if __name__ == "__main__":
    main()
