"""hypot decide on kinds that size pods, over several dumps and on signs of need."""

import json

from unit.policy.sizes_world import (
    DAY,
    HOUR,
    MINUTE,
    advised,
    ago,
    box,
    checkpoint,
    document,
    fleet,
    hvpa,
    hypot,
    node,
    pod,
    ran,
    recommended,
    sample,
    sized,
    vpa,
    workload,
    written,
)

CHECKPOINT = checkpoint(cpu={20: 10000}, memory={40: 10000})
# Twice the size, applied at once.
GROWING = advised(recommended(target=("2", "2Gi"), lower=("1500m", "1Gi"), upper=("3", "3Gi")))


def test_a_stuck_resize_over_two_dumps(tmp_path):
    """The first run sees the deferred resize; the second evicts instead."""
    waiting = {"conditions": [{"type": "PodResizePending", "status": "True", "reason": "Deferred"}]}
    objects = [vpa("InPlaceOrRecreate", status=GROWING), *fleet(4, status=waiting)]
    state = ("--state", tmp_path / "state.json")
    first = document(tmp_path, *objects, args=state).of()
    assert {one["rule"] for one in first["pods"]} == {"resize-deferred"}
    second = document(tmp_path, *objects, args=state, now=301).of()
    assert [one["action"] for one in second["pods"]] == ["evict", "evict", "none", "none"]


def test_an_infeasible_resize_over_two_dumps(tmp_path):
    """A size that the node refused as infeasible is not requested again."""
    refused = {"conditions": [{"type": "PodResizePending", "status": "True", "reason": "Infeasible"}]}
    asked = {"containerStatuses": [{"name": "app", "resources": {"requests": sized("1", "1Gi")}}]}
    state = ("--state", tmp_path / "state.json")
    sizer = vpa("InPlace", status=GROWING)
    document(tmp_path, sizer, *fleet(4, box(cpu="2", memory="2Gi"), status={**refused, **asked}), args=state)
    later = document(tmp_path, sizer, *fleet(4), args=state, now=HOUR).of()
    assert {one["rule"] for one in later["pods"]} == {"resize-infeasible"}


def saturated(seconds):
    """Two pods that use all they can: their node has 500m free beyond their requests of one core each."""
    full = [sample(i, "1250m", "512Mi", seconds=-seconds) for i in range(2)]
    slow = {"scaleUp": {"minChange": {"cpu": {"value": "1"}, "memory": {"value": "1Gi"}}}}
    child = vpa("Off", name="child", status=advised(recommended(target=("1100m", "1Gi"))))
    return [hvpa(**slow), child, node(cpu="2500m"), *fleet(2), *full]


def test_saturation_over_two_dumps(tmp_path):
    """One saturated sample is reported; two override the minimum change: 1.3 times what pods can reach."""
    state = ("--state", tmp_path / "state.json")
    first = document(tmp_path, *saturated(-30), args=state)
    one = first.of(kind="Hvpa")
    assert one["desired"] == one["current"]
    assert [note for note in one["unknown"] if "in one sample" in note]
    second = document(tmp_path, *saturated(30), args=state, now=60).of(kind="Hvpa")
    assert [step["rule"] for step in second["steps"]].count("saturated") == 1
    assert "(saturation)" in second["reason"]
    # Together they can reach 2500m.
    assert second["desired"]["resources"]["app"]["requests"]["cpu"] == "1625m"


def test_a_state_file_that_was_tampered_with(tmp_path):
    """The file is refused, whichever part of it is broken."""
    file = tmp_path / "state.json"
    use = {"mean": 1, "at": 1, "peak": 1, "peak_at": 1}
    recent = [3, {"mean": 1}, {**use, "mean": "x"}, {**use, "peak": 10**400}, {**use, "at": -1e300}]
    broken = ([1], "x", {"recount": [1]}, {"recount": {"at": 1}}, {"stuck": 3}, {"advice": {"app": 3}})
    broken += ({"swings": "x"}, {"swings": -(10**400)}, {"tries": 0.5}, {"evicted": "x"}, {"restarted": "x"})
    for vertical in (*broken, *({"recent": {"app/cpu": each}} for each in recent)):
        entry = {"VerticalPodAutoscaler/shop/web": {"vertical": vertical}, "Hvpa/shop/web": {"vertical": vertical}}
        file.write_text(json.dumps({"version": 1, "autoscalers": entry}), encoding="utf-8")
        result = ran(tmp_path, vpa(), hvpa(), CHECKPOINT, *fleet(2), args=("--state", file))
        assert result.status == 2
        assert "not a state file of hypot" in result.err


def test_a_state_file_with_counts_that_are_null(tmp_path):
    """As if they were absent."""
    file = tmp_path / "state.json"
    entry = {"Hvpa/shop/web": {"lastScale": 1, "vertical": {"replicas": None, "swings": None, "tries": None}}}
    file.write_text(json.dumps({"version": 1, "autoscalers": entry}), encoding="utf-8")
    assert ran(tmp_path, hvpa(), CHECKPOINT, *fleet(2), args=("--state", file)).status == 0


def test_a_dump_without_metrics_is_decided_at_its_own_time(tmp_path):
    """Without metrics the checkpoint gives the time, so a pod of 13 hours does not count as young."""
    young = fleet(2, box(cpu="440m", memory="1470157273"), status={"startTime": ago(13 * HOUR)})
    path = written(tmp_path, vpa(), CHECKPOINT, *young)
    result = hypot("-f", path)
    assert result.out.startswith(f"{ago(MINUTE)}, the newest time in the input")


# Signs of need.


def killed(seconds=HOUR):
    """Two pods; the first was OOM-killed."""
    ended = {"reason": "OOMKilled", "startedAt": ago(seconds + DAY), "finishedAt": ago(seconds)}
    status = {"containerStatuses": [{"name": "app", "restartCount": 1, "lastState": {"terminated": ended}}]}
    return [workload(), pod(0, status=status), pod(1)]


PATIENT = {
    "scaleUp": {"minChange": {"cpu": {"value": "9"}, "memory": {"value": "90Gi"}}, "stabilizationDuration": "5h"}
}
LITTLE_MORE = vpa("Off", name="child", status=advised(recommended(target=("1", "1500Mi"))))


def test_an_oom_kill_allows_scale_up(tmp_path):
    """After an OOM kill neither stabilisation nor the minimum change holds back; otherwise both do."""
    calm = document(tmp_path, hvpa(**PATIENT), LITTLE_MORE, *fleet(2)).of(kind="Hvpa")
    assert calm["desired"] == calm["current"]
    found = document(tmp_path, hvpa(**PATIENT), LITTLE_MORE, *killed()).of(kind="Hvpa")
    assert found["desired"]["resources"]["app"]["requests"]["memory"] == "1500Mi"
    assert "app of pod web-0 was oom-killed" in found["steps"][0]["sentence"].lower()
    assert found["status"]["overrideScaleUpStabilization"] is True


def test_a_pod_evicted_from_a_node_short_of_memory(tmp_path):
    """The pod is gone, but its eviction still shows that there was too little memory."""
    gone = pod(9, status={"phase": "Failed", "reason": "Evicted"})
    objects = [hvpa(**PATIENT), LITTLE_MORE, *fleet(2), gone]
    found = document(tmp_path, *objects, node(short=True)).of(kind="Hvpa")
    assert "pod web-9 was evicted while its node was under memory pressure" in found["steps"][0]["sentence"].lower()
    assert found["desired"] != found["current"]
    calm = document(tmp_path, *objects, node()).of(kind="Hvpa")
    assert calm["desired"] == calm["current"]
