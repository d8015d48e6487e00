"""What a dump shows of its pods counts in addition to its checkpoints and its status."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from unit.policy.sizes_world import (
    NOW,
    ago,
    box,
    checkpoint,
    decided,
    fleet,
    hvpa,
    made,
    pod,
    recommended,
    sample,
    vpa,
    wanted,
)
from unit.policy.sizes_world import advised as advice

GI = 1024**3
# Learnt while pods used about 1 GiB at their peaks; the peak of today is not in a checkpoint.
LEARNT = checkpoint(cpu={20: 1}, memory={36: 1})
LEARNT["status"]["memoryHistogram"]["totalWeight"] = 4.0
KILLED = {"lastState": {"terminated": {"reason": "OOMKilled", "startedAt": ago(900), "finishedAt": ago(300)}}}
HYPOT = Path(sys.executable).with_name("hypot")


def test_the_peak_of_today_counts():
    """A checkpoint lacks today's peak; pods that use it now are not sized below it."""
    using = [sample(index, memory="5Gi") for index in range(2)]
    pods = fleet(2, box(memory="6Gi"))
    assert wanted(decided(vpa("Recreate"), LEARNT, *pods, *using))["memory"] > 5 * GI
    blind = decided(vpa("Recreate"), LEARNT, *pods)
    assert "checkpoints lack the memory peak of the current window" in blind.unknown[0]


def test_a_container_whose_checkpoint_is_broken_is_not_sized_by_one_sample():
    """One sample is not a history, so nothing is decided."""
    broken = checkpoint(cpu={20: 1}, memory={36: 1}, version="v9")
    decision = decided(vpa("Recreate"), broken, *fleet(2, box(memory="6Gi")), sample(0), sample(1))
    assert not decision.decided


def test_an_oom_kill_counts():
    """An OOM kill asks for more than the pod had, whatever was learnt before."""
    status = {"containerStatuses": [{"name": "app", "restartCount": 1, **KILLED}]}
    pods = fleet(2, box(memory="4Gi"), status=status)
    assert wanted(decided(vpa("Recreate"), LEARNT, *pods, sample(0), sample(1)))["memory"] > 4.8 * GI


def test_an_eviction_for_memory_pressure_counts():
    """What the evicted pod used was too little; an eviction without a time does not count."""
    message = "The node was low on resource: memory. Container app was using 4Gi, request is 1Gi, "
    ended = {"type": "DisruptionTarget", "status": "True", "reason": "TerminationByKubelet"}
    reported = {"phase": "Failed", "reason": "Evicted", "message": message}
    gone = pod(9, status={**reported, "conditions": [{**ended, "lastTransitionTime": ago(300)}]})
    assert wanted(decided(vpa("Recreate"), LEARNT, *fleet(2), gone, sample(0), sample(1)))["memory"] > 4.8 * GI
    silent = pod(9, status=reported)
    assert wanted(decided(vpa("Recreate"), LEARNT, *fleet(2), silent, sample(0), sample(1)))["memory"] < 4 * GI


def test_the_status_remembers_at_which_count_a_size_was_learnt():
    """With the status read back, the size that led to more replicas does not add replicas again."""
    child = vpa("Off", name="child", status=advice(recommended(target=("1800m", "1Gi"))))
    first = decided(hvpa(), child, *fleet(1, box(cpu="500m")), kind="Hvpa")
    assert first.desired > 1
    size = first.desired_sizes[0].requests
    grown = box(cpu=f"{size['cpu']}m", memory=str(size["memory"]))
    again = [hvpa(status=first.status), child, *fleet(first.desired, grown)]
    second = decided(*again, kind="Hvpa", now=NOW + 30)
    assert second.desired == first.desired
    assert [step for step in second.steps if step.rule == "stale-size"]


def test_an_hpa_that_is_not_active_asks_for_nothing():
    """Its last recommendation is from before it lost its metrics."""
    metrics = [{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization"}}}]
    metrics[0]["resource"]["target"]["averageUtilization"] = 100
    block = {"deploy": True, "template": {"spec": {"maxReplicas": 4, "metrics": metrics}}}
    status = {"desiredReplicas": 3, "currentReplicas": 2, "conditions": [{"type": "ScalingActive", "status": "False"}]}
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    hpa = made("autoscaling/v2", "HorizontalPodAutoscaler", "web", {"scaleTargetRef": target, "maxReplicas": 4}, status)
    spec = hvpa(hpa=block, annotations={"hypot.dev/recommendations": "objects"})
    child = vpa("Off", name="child", status=advice(recommended(target=("1", "1Gi"))))
    decision = decided(spec, child, hpa, *fleet(2), kind="Hvpa")
    assert decision.desired == 2
    assert any("not active" in step.sentence for step in decision.steps)


@pytest.mark.parametrize("command", [["crds"], ["decide", "-f", "examples/both-axes.yaml"]])
def test_a_closed_standard_output_is_reported(command):
    """A standard output that the shell closed with >&- is an error without a traceback."""
    root = Path(__file__).parents[4]
    done = subprocess.run(
        [HYPOT, *command], cwd=root, stderr=subprocess.PIPE, text=True, check=False, preexec_fn=lambda: os.close(1)
    )
    assert (done.returncode, "Traceback" in done.stderr) == (2, False)
    assert "standard output is closed" in done.stderr
