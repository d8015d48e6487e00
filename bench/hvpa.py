"""Prints the speed of a decision on both axes: an Hvpa with two containers, five intervals and ten pods."""

from core import NOW, median_seconds, row

from hypot.kinds.hvpa import Hvpa
from hypot.kinds.vpa.knobs import Knobs
from hypot.policy.decide import decide
from hypot.policy.model.seen import Container, Pod, PodSample, Scale, Seen
from hypot.policy.model.settings import Settings
from hypot.policy.model.state import State
from hypot.policy.usage.usage import Usage

MI = 1024 * 1024
SIZES = ((1, "500m", "2Gi"), (3, "1", "4Gi"), (6, "2", "8Gi"), (12, "4", "16Gi"), (20, "8", "32Gi"))
CONTAINERS = {"app": (400, 1024 * MI), "proxy": (100, 256 * MI)}


def manifest():
    """An Hvpa with both sources on; the absent vpa block means on."""
    return {
        "apiVersion": "autoscaling.k8s.io/v1alpha1",
        "kind": "Hvpa",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {
            "targetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            "hpa": {"deploy": True, "template": {"spec": {"minReplicas": 1, "maxReplicas": 20}}},
            "scalingIntervals": [
                {"maxReplicas": count, "maxResources": {"cpu": cpu, "memory": memory}} for count, cpu, memory in SIZES
            ],
            "scalingIntervalsOverlap": {"cpu": {"percentage": 20}, "memory": {"percentage": 20}},
            "baseResourcesPerReplica": {"cpu": {"value": "50m"}, "memory": {"percentage": 5}},
            "scaleUp": {"stabilizationDuration": "3m", "minChange": {"cpu": {"percentage": 10}}},
            "scaleDown": {"stabilizationDuration": "10m", "minChange": {"cpu": {"percentage": 10}}},
        },
    }


def world(count=10):
    """Ten pods, whose containers use more than they request, with a day of history."""
    containers = tuple(
        Container(name, {"cpu": cpu, "memory": memory * 1000}) for name, (cpu, memory) in CONTAINERS.items()
    )
    pods = tuple(
        Pod(f"web-{i}", ready="True", ready_since=NOW - 3000, started=NOW - 3600, containers=containers)
        for i in range(count)
    )
    used = tuple((name, {"cpu": cpu * 2, "memory": memory * 1500}) for name, (cpu, memory) in CONTAINERS.items())
    samples = {pod.name: PodSample(NOW - 15, 30.0, used) for pod in pods}
    usage = Usage()
    for name, (cpu, memory) in CONTAINERS.items():
        row_of = usage.instance(usage.declare("web", name, Knobs(), NOW - 86400), "web-0")
        usage.observe([(row_of, cpu * 2, memory * 3 // 2, NOW - 86400 + 600 * i) for i in range(144)])
    return Seen(NOW, Scale(count, count, "app=web"), pods, samples, usage=usage.view("web"))


def decisions_per_second():
    hvpa, seen, memory, settings = Hvpa.from_dict(manifest()), world(), State(), Settings()
    # As in a controller: each decision gets the state after the previous one.
    decision, memory = decide(hvpa, seen, memory, settings)
    assert decision.decided, decision.error
    assert decision.moves
    assert all(step.sentence for step in decision.steps)
    times = 500

    def work():
        for _ in range(times):
            decide(hvpa, seen, memory, settings)

    return times / median_seconds(work)


def main():
    row("decisions/s, one Hvpa, 2 containers, 5 intervals, 10 pods", f"{decisions_per_second():,.0f}", "2,000")


if __name__ == "__main__":
    main()
