"""How long a command takes from its start to its end, compared with a Python that does nothing: `python -c pass`.

Run as users do: by the installed entry point, with modules that are compiled already. The commands take turns, so that
other work on the machine disturbs all of them alike.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from hypot.kinds.text.write import documents

ROUNDS, WARM_UP = 15, 2
FILES, PODS = 10, 3
BIN = Path(sys.executable).parent
NOTHING = "python -c pass"
ENVIRONMENT = {
    name: value for name, value in os.environ.items() if name not in {"PYTHONDONTWRITEBYTECODE", "PYTHONPATH"}
}


def manifests(i):
    """A service as a repository has it: a workload, its autoscaler and its budget."""
    name = f"web-{i}"
    labels = {"app": name}
    container = {
        "name": "app",
        "image": f"registry.example/{name}:1.4",
        "resources": {"requests": {"cpu": "500m", "memory": "512Mi"}},
    }
    workload = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "shop"},
        "spec": {
            "replicas": PODS,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }
    autoscaler = {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": name, "namespace": "shop"},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name},
            "minReplicas": 2,
            "maxReplicas": 10,
            "metrics": [
                {
                    "type": "Resource",
                    "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 70}},
                }
            ],
        },
    }
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": "shop"},
        "spec": {"maxUnavailable": 1, "selector": {"matchLabels": labels}},
    }
    return [workload, autoscaler, budget]


def observed(i):
    """What a cluster adds to these in a dump: pods and their usage."""
    labels, now = {"app": f"web-{i}"}, "2026-03-02T09:30:00Z"
    for k in range(PODS):
        metadata = {"name": f"web-{i}-{k}", "namespace": "shop", "labels": labels, "creationTimestamp": now}
        ready = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-03-02T06:10:21Z"}
        requests = {"cpu": "500m", "memory": "512Mi"}
        yield {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {**metadata, "creationTimestamp": "2026-03-02T06:10:00Z"},
            "spec": {"containers": [{"name": "app", "resources": {"requests": requests}}]},
            "status": {"phase": "Running", "startTime": "2026-03-02T06:10:02Z", "conditions": [ready]},
        }
        yield {
            "apiVersion": "metrics.k8s.io/v1beta1",
            "kind": "PodMetrics",
            "metadata": metadata,
            "timestamp": now,
            "window": "30s",
            "containers": [{"name": "app", "usage": {"cpu": "470m", "memory": "300Mi"}}],
        }


def written(folder, objects_of):
    """Ten files, one for each service."""
    folder.mkdir()
    for i in range(FILES):
        (folder / f"web-{i}.yaml").write_text(documents(*objects_of(i)), encoding="utf-8")
    return str(folder)


def commands(folder):
    """The commands by their names, with their bars."""
    repository = written(folder / "repository", manifests)
    dump = written(folder / "dump", lambda i: [*manifests(i), *observed(i)])
    hypot = str(BIN / "hypot")
    return {
        NOTHING: ([str(BIN / "python"), "-c", "pass"], None),
        "hypot --help": ([hypot, "--help"], 4),
        f"hypot lint, {FILES} files": ([hypot, "lint", repository], 10),
        f"hypot decide, {FILES} files with {FILES * PODS} pods": ([hypot, "decide", "-f", dump], None),
    }


def seconds_of(command):
    began = time.perf_counter()
    subprocess.run(command, env=ENVIRONMENT, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - began


def main():
    with tempfile.TemporaryDirectory() as scratch:
        measured = commands(Path(scratch))
        taken = {name: [] for name in measured}
        for number in range(WARM_UP + ROUNDS):
            for name, (command, _) in measured.items():
                seconds = seconds_of(command)
                if number >= WARM_UP:
                    taken[name].append(seconds)
    medians = {name: statistics.median(each) for name, each in taken.items()}
    print(f"Medians of {ROUNDS} runs that take turns:")
    for name, (_, bar) in measured.items():
        ratio = f"{medians[name] / medians[NOTHING]:5.1f} times `{NOTHING}`" if name != NOTHING else ""
        print(f"  {name:<36} {1000 * medians[name]:6.0f} ms {ratio}{f' (bar {bar})' if bar else ''}".rstrip())


if __name__ == "__main__":
    main()
