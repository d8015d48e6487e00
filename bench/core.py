"""Prints the speed of the decision core: decisions, manifests, imports. Medians of several rounds."""

import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import yaml

from hypot.kinds.hpa import HPA
from hypot.kinds.text.load import load
from hypot.policy.decide import decide
from hypot.policy.model.seen import Container, Pod, PodSample, Scale, Seen
from hypot.policy.model.settings import Settings
from hypot.policy.model.state import State

NOW = 1_800_000_000.0
ROUNDS = 7


def manifest(number):
    """A HorizontalPodAutoscaler with two metrics and a behavior."""
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": f"web-{number}", "namespace": "shop", "labels": {"app": "web"}},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": f"web-{number}"},
            "minReplicas": 2,
            "maxReplicas": 200,
            "metrics": [
                {"type": "Resource", "resource": {"name": "cpu", "target": _target(70)}},
                {
                    "type": "Pods",
                    "pods": {"metric": {"name": "rps"}, "target": {"type": "AverageValue", "averageValue": "100"}},
                },
            ],
            "behavior": {
                "scaleUp": {
                    "stabilizationWindowSeconds": 0,
                    "selectPolicy": "Max",
                    "policies": [_policy("Pods", 4), _policy("Percent", 100)],
                },
                "scaleDown": {
                    "stabilizationWindowSeconds": 300,
                    "selectPolicy": "Max",
                    "policies": [_policy("Percent", 10)],
                },
            },
        },
    }


def _target(percent):
    return {"type": "Utilization", "averageUtilization": percent}


def _policy(kind, value):
    return {"type": kind, "value": value, "periodSeconds": 60}


def world(count):
    pods = tuple(
        Pod(
            name=f"web-{i}",
            ready="True",
            ready_since=NOW - 3000,
            started=NOW - 3600,
            containers=(Container("app", {"cpu": 500}), Container("proxy", {"cpu": 100})),
        )
        for i in range(count)
    )
    usage = (("app", {"cpu": 480}), ("proxy", {"cpu": 60}))
    samples = {pod.name: PodSample(NOW - 15, 30.0, usage) for pod in pods}
    return Seen(NOW, Scale(count, count, "app=web"), pods, samples)


def median_seconds(work, rounds=ROUNDS):
    """Processor time of one core, so that a busy machine does not distort the figure."""
    taken = []
    for _ in range(rounds):
        start = time.process_time()
        work()
        taken.append(time.process_time() - start)
    return statistics.median(taken)


def decisions_per_second(count):
    data = manifest(0)
    data["spec"]["metrics"] = data["spec"]["metrics"][:1]
    hpa, seen, memory, settings = HPA.from_dict(data), world(count), State(), Settings()
    decision, _ = decide(hpa, seen, memory, settings)
    assert decision.decided
    assert decision.desired > decision.current
    assert all(step.sentence for step in decision.steps)
    times = 2000 if count <= 10 else 500

    def work():
        for _ in range(times):
            decide(hpa, seen, memory, settings)

    return times / median_seconds(work)


def check_all(objects):
    assert not any(HPA.from_dict(data).problems() for data in objects)


def check_file(path):
    assert not any(HPA.from_dict(item.data).problems() for item in load([path]))


def import_seconds():
    """The time to import the package in a new process, without the start of Python."""
    program = "import time; t = time.perf_counter(); import hypot; print(time.perf_counter() - t)"
    runs = [subprocess.run([sys.executable, "-c", program], capture_output=True, check=True) for _ in range(ROUNDS)]
    return statistics.median(float(run.stdout) for run in runs)


def heavy_imports():
    program = "import hypot, sys; print([m for m in ('yaml', 'click', 'rich', 'numpy', 'asyncio') if m in sys.modules])"
    return subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, text=True).stdout.strip()


def row(name, figure, goal):
    print(f"{name:<62} {figure:>14}   {goal}")


def main():
    row("what", "measured", "goal")
    row("decisions/s, one HPA, 10 pods, cpu, behavior", f"{decisions_per_second(10):,.0f}", "8,000")
    row("decisions/s, one HPA, 100 pods, cpu, behavior", f"{decisions_per_second(100):,.0f}", "2,500")
    objects = [manifest(i) for i in range(1000)]
    row("1,000 HPAs read and checked, from dicts", f"{median_seconds(lambda: check_all(objects)):.3f} s", "0.1 s")
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder, "hpas.yaml")
        text.write_text(yaml.safe_dump_all(objects))
        data = Path(folder, "hpas.json")
        data.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
        row(
            "1,000 HPAs read and checked, from YAML", f"{median_seconds(lambda: check_file(str(text)), 3):.3f} s", "1 s"
        )
        row("1,000 HPAs read and checked, from JSON", f"{median_seconds(lambda: check_file(str(data)), 3):.3f} s", "")
    row("import hypot", f"{import_seconds() * 1000:.1f} ms", "100 ms")
    row("heavy modules that import hypot loads", heavy_imports(), "none")


if __name__ == "__main__":
    main()
