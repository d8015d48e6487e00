"""hypot decide on kinds that size pods, from one dump to the next, and in need."""

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
# Twice the size, at once.
GROWING = advised(recommended(target=("2", "2Gi"), lower=("1500m", "1Gi"), upper=("3", "3Gi")))


def test_a_stuck_resize_over_two_dumps(tmp_path):
    """The first sees it, the second gives it up."""
    waiting = {"conditions": [{"type": "PodResizePending", "status": "True", "reason": "Deferred"}]}
    objects = [vpa("InPlaceOrRecreate", status=GROWING), *fleet(4, status=waiting)]
    memory = ("--state", tmp_path / "state.json")
    first = document(tmp_path, *objects, args=memory).of()
    assert {one["rule"] for one in first["pods"]} == {"resize-deferred"}
    second = document(tmp_path, *objects, args=memory, now=301).of()
    assert [one["action"] for one in second["pods"]] == ["evict", "evict", "none", "none"]


def test_an_infeasible_resize_over_two_dumps(tmp_path):
    """What a node refused for good is not asked for again."""
    refused = {"conditions": [{"type": "PodResizePending", "status": "True", "reason": "Infeasible"}]}
    asked = {"containerStatuses": [{"name": "app", "resources": {"requests": sized("1", "1Gi")}}]}
    memory = ("--state", tmp_path / "state.json")
    sizer = vpa("InPlace", status=GROWING)
    document(tmp_path, sizer, *fleet(4, box(cpu="2", memory="2Gi"), status={**refused, **asked}), args=memory)
    later = document(tmp_path, sizer, *fleet(4), args=memory, now=HOUR).of()
    assert {one["rule"] for one in later["pods"]} == {"resize-infeasible"}


def saturated(seconds):
    """Two pods that use all they can reach: 500m beyond their requests of one core are free on their node."""
    full = [sample(i, "1250m", "512Mi", seconds=-seconds) for i in range(2)]
    slow = {"scaleUp": {"minChange": {"cpu": {"value": "1"}, "memory": {"value": "1Gi"}}}}
    child = vpa("Off", name="child", status=advised(recommended(target=("1100m", "1Gi"))))
    return [hvpa(**slow), child, node(cpu="2500m"), *fleet(2), *full]


def test_saturation_over_two_dumps(tmp_path):
    """Seen once it is told, seen twice it overrides the minimum change: 1.3 times what can be reached."""
    memory = ("--state", tmp_path / "state.json")
    first = document(tmp_path, *saturated(-30), args=memory)
    one = first.of(kind="Hvpa")
    assert one["desired"] == one["current"]
    assert [note for note in one["unknown"] if "in one sample" in note]
    second = document(tmp_path, *saturated(30), args=memory, now=60).of(kind="Hvpa")
    assert [step["rule"] for step in second["steps"]].count("saturated") == 1
    assert "(saturation)" in second["reason"]
    # Together they can reach 2500m.
    assert second["desired"]["resources"]["app"]["requests"]["cpu"] == "1625m"


def test_a_memory_that_was_tampered_with(tmp_path):
    """It is refused in one line, whichever part of it is broken."""
    file = tmp_path / "state.json"
    for vertical in ([1], "x", {"recount": [1]}, {"recount": {"at": 1}}, {"stuck": 3}, {"advice": {"app": 3}}):
        entry = {"VerticalPodAutoscaler/shop/web": {"vertical": vertical}, "Hvpa/shop/web": {"vertical": vertical}}
        file.write_text(json.dumps({"version": 1, "autoscalers": entry}), encoding="utf-8")
        result = ran(tmp_path, vpa(), hvpa(), CHECKPOINT, *fleet(2), args=("--state", file))
        assert result.status == 2
        assert "not a state file of hypot" in result.err


def test_a_dump_without_metrics_is_decided_at_its_own_time(tmp_path):
    """Without metrics the checkpoint tells how late it is, so a pod of 13 hours is not taken for a young one."""
    young = fleet(2, box(cpu="440m", memory="1470157273"), status={"startTime": ago(13 * HOUR)})
    path = written(tmp_path, vpa(), CHECKPOINT, *young)
    result = hypot("-f", path)
    assert result.out.startswith(f"{ago(MINUTE)}, the newest time in the input")


# Signs of need.


def killed(seconds=HOUR):
    """Two pods, the first of which was killed for memory."""
    ended = {"reason": "OOMKilled", "startedAt": ago(seconds + DAY), "finishedAt": ago(seconds)}
    status = {"containerStatuses": [{"name": "app", "restartCount": 1, "lastState": {"terminated": ended}}]}
    return [workload(), pod(0, status=status), pod(1)]


PATIENT = {
    "scaleUp": {"minChange": {"cpu": {"value": "9"}, "memory": {"value": "90Gi"}}, "stabilizationDuration": "5h"}
}
LITTLE_MORE = vpa("Off", name="child", status=advised(recommended(target=("1", "1500Mi"))))


def test_a_container_killed_for_memory_opens_the_way_up(tmp_path):
    """Neither stabilisation nor the minimum change holds back; without that they do."""
    calm = document(tmp_path, hvpa(**PATIENT), LITTLE_MORE, *fleet(2)).of(kind="Hvpa")
    assert calm["desired"] == calm["current"]
    found = document(tmp_path, hvpa(**PATIENT), LITTLE_MORE, *killed()).of(kind="Hvpa")
    assert found["desired"]["resources"]["app"]["requests"]["memory"] == "1500Mi"
    assert "app of pod web-0 was oom-killed" in found["steps"][0]["sentence"].lower()
    assert found["status"]["overrideScaleUpStabilization"] is True


def test_a_pod_evicted_from_a_node_short_of_memory(tmp_path):
    """It is gone, and still tells that there was too little."""
    gone = pod(9, status={"phase": "Failed", "reason": "Evicted"})
    objects = [hvpa(**PATIENT), LITTLE_MORE, *fleet(2), gone]
    found = document(tmp_path, *objects, node(short=True)).of(kind="Hvpa")
    assert "pod web-9 was evicted while its node was under memory pressure" in found["steps"][0]["sentence"].lower()
    assert found["desired"] != found["current"]
    calm = document(tmp_path, *objects, node()).of(kind="Hvpa")
    assert calm["desired"] == calm["current"]
