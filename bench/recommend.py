"""Prints how long `hypot recommend` takes on a cluster: so many workloads, four weeks each, on all cores."""

import os
import random
import subprocess
import sys
import tempfile
import time
from math import cos, pi
from pathlib import Path

import yaml

# What is measured, and what it is extrapolated to; the bar is for two cores.
WORKLOADS, ALL, DAYS, STEP = int(os.environ.get("WORKLOADS", "4")), 100, 28, 60
BAR_MINUTES = 10


def demand(number: int) -> str:
    """Daily and weekly cycles with noise, in requests per second; each workload has its own size and time of day."""
    draw = random.Random(number)  # noqa: S311  the same demand each time
    name, size, shift = f"web-{number}", draw.uniform(50, 500), draw.randrange(1440)
    rows = []
    for i in range(DAYS * 86400 // STEP + 1):
        day, week = 2 * pi * (i + shift) / 1440, 2 * pi * i / 10_080
        rows.append(f"{STEP * i},{name},{size * (2 - cos(day) - 0.3 * cos(week)) * draw.lognormvariate(0, 0.05):.2f}\n")
    return "".join(rows)


def manifests(number: int) -> str:
    ref = {"apiVersion": "apps/v1", "kind": "Deployment", "name": f"web-{number}"}
    resources = {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "1200m", "memory": "2Gi"}}
    labels = {"app": ref["name"]}
    spec = {"containers": [{"name": "web", "resources": resources}]}
    template = {"metadata": {"labels": labels}, "spec": spec}
    metadata = {"name": ref["name"]}
    target = {"type": "Utilization", "averageUtilization": 70}
    hpa = {
        "scaleTargetRef": ref,
        "minReplicas": 2,
        "maxReplicas": 100,
        "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": target}}],
    }
    return yaml.safe_dump_all(
        [
            {**ref, "metadata": metadata, "spec": {"selector": {"matchLabels": dict(labels)}, "template": template}},
            {
                "apiVersion": "autoscaling/v2",
                "kind": "HorizontalPodAutoscaler",
                "metadata": dict(metadata),
                "spec": hpa,
            },
        ]
    )


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        trace, files = Path(folder) / "demand.csv", Path(folder) / "manifests.yaml"
        trace.write_text("time,workload,rps\n" + "".join(map(demand, range(WORKLOADS))))
        files.write_text("---\n".join(map(manifests, range(WORKLOADS))))
        code = "from hypot.cli.main import main; main()"
        command = [sys.executable, "-c", code, "recommend", str(trace), "-f", str(files), "--engine", "fleet"]
        for when in ("with compiling, if its cache is empty", "from its cache"):
            before, began = os.times(), time.perf_counter()
            subprocess.run([*command, "-o", "json"], stdout=subprocess.DEVNULL, check=True)
            wall, after = time.perf_counter() - began, os.times()
            used = after.children_user + after.children_system - before.children_user - before.children_system
            print(
                f"hypot recommend, {WORKLOADS} workloads, {DAYS} days, {when}: {wall:.0f} s, {used:.0f} s of processors"
            )
        minutes = used / WORKLOADS * ALL / 2 / 60
        print(f"{ALL} workloads on two idle cores: {minutes:.1f} minutes (bar: {BAR_MINUTES})")


if __name__ == "__main__":
    main()
