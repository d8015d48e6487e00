"""What a dump says about the inputs of sizes: targets, nodes, ranges, checkpoints, other autoscalers, pods."""

import pytest

from hypot.policy.families import seen_by
from hypot.policy.model.seen import (
    Bounds,
    ClusterNode,
    Controller,
    CountAdvice,
    Failure,
    LimitRange,
    Recommendation,
    Scale,
)
from hypot.policy.model.settings import Settings
from hypot.policy.observe.read_sizes import read_controller, read_limit_range, read_node, read_template
from hypot.policy.observe.snapshot import Snapshot, may_matter
from unit.policy.sizes_world import (
    GI,
    HOUR,
    LABELS,
    MI,
    NOW,
    TARGET,
    advised,
    ago,
    box,
    checkpoint,
    decided,
    fleet,
    hvpa,
    limit_range,
    made,
    node,
    owned,
    pod,
    pods,
    recommended,
    sentences,
    sized,
    vpa,
    wanted,
    workload,
)

LEARNT = {"cpu": {20: 1}, "memory": {40: 1}}
JOB = {"template": {"metadata": {"labels": LABELS}, "spec": {"containers": [box()]}}}
BAND = {
    "minReplicas": 1,
    "maxReplicas": 3,
    "metrics": [
        {
            "type": "External",
            "external": {"metricName": "queue", "metricSelector": {}, "highWatermark": "2", "lowWatermark": "1"},
        }
    ],
}
HVPA = {"apiVersion": "autoscaling.k8s.io/v1alpha1", "kind": "Hvpa", "name": "web"}


def seen(*objects, kind="VerticalPodAutoscaler", name="web"):
    """What one autoscaler of these objects would look at."""
    snapshot = Snapshot(objects)
    chosen = next(one for one in snapshot.autoscalers() if (one.KIND, one.name) == (kind, name))
    return seen_by(snapshot, chosen, NOW, Settings())


def hpa(target=TARGET, desired=3, current=2, name="web", **metadata):
    status = {"desiredReplicas": desired, "currentReplicas": current}
    return made(
        "autoscaling/v2",
        "HorizontalPodAutoscaler",
        name,
        {"scaleTargetRef": target, "maxReplicas": 9},
        status,
        **metadata,
    )


def controlled_by(name):
    return [
        {"apiVersion": "autoscaling.k8s.io/v1alpha1", "kind": "Hvpa", "name": name, "uid": "7f", "controller": True}
    ]


# Targets.


@pytest.mark.parametrize(
    ("api_version", "kind", "spec", "status", "replicas"),
    [
        ("apps/v1", "Deployment", {}, {"replicas": 2}, 2),
        ("apps/v1", "StatefulSet", {}, {"replicas": 2}, 2),
        ("apps/v1", "ReplicaSet", {}, {"replicas": 2}, 2),
        ("v1", "ReplicationController", {"selector": LABELS}, {"replicas": 2}, 2),
        ("v1", "ReplicationController", {"selector": None}, {"replicas": 2}, 2),
        ("apps/v1", "DaemonSet", {}, {"desiredNumberScheduled": 5}, 5),
        ("batch/v1", "Job", {"parallelism": 3}, {"active": 2}, 2),
        ("batch/v1", "Job", {"parallelism": 3}, {}, 3),
        ("batch/v1", "Job", {"selector": None}, {"active": 2}, 2),
        (
            "batch/v1",
            "CronJob",
            {"jobTemplate": {"spec": JOB}, "selector": None},
            {"active": [{"name": "web-1"}]},
            None,
        ),
        ("apps.kruise.io/v1", "CloneSet", {}, {"replicas": 2}, 2),
        ("apps.kruise.io/v1", "CloneSet", {"selector": None}, {"replicas": 2, "selector": "app=web"}, 2),
    ],
)
def test_every_target_of_a_vpa(api_version, kind, spec, status, replicas):
    """Its pods are found, whether or not an autoscaler scales it."""
    target = {"apiVersion": api_version, "kind": kind, "name": "web"}
    there = {**workload(kind, 2, status=status, **spec), "apiVersion": api_version}
    found = seen(vpa(target=target), there, *pods(2, owner=owned(kind, "web")))
    assert isinstance(found.scale, Scale)
    assert found.scale.selector == "app=web"
    assert replicas in {None, found.scale.replicas}
    assert [one.name for one in found.pods] == ["web-0", "web-1"]
    assert [one.name for one in found.template] == ["app"]


def test_a_custom_target_by_its_scale():
    """Its scale subresource has the selector of its pods."""
    target = {"apiVersion": "example.com/v1", "kind": "Shop", "name": "web"}
    scale = made("autoscaling/v1", "Scale", "web", {"replicas": 2}, {"replicas": 2, "selector": "app=web"})
    found = seen(vpa(target=target), made("example.com/v1", "Shop", "web", {}), scale, *pods(2))
    assert (found.scale, len(found.pods)) == (Scale(2, 2, "app=web"), 2)


def test_a_cron_job_between_two_runs():
    """It has a template, and no pods."""
    target = {"apiVersion": "batch/v1", "kind": "CronJob", "name": "web"}
    cron = made("batch/v1", "CronJob", "web", {"jobTemplate": {"spec": JOB}}, {})
    decision = decided(vpa(target=target), checkpoint(**LEARNT), cron)
    assert decision.current == 0
    assert wanted(decision)["cpu"] == 410
    assert "NoPodsMatched" in {condition.type for condition in decision.conditions}


@pytest.mark.parametrize("kind", ["DaemonSet", "Job", "CronJob"])
@pytest.mark.parametrize("scaler", ["HorizontalPodAutoscaler", "WatermarkPodAutoscaler", "Hvpa"])
def test_setting_a_count_needs_a_scale(kind, scaler):
    """A DaemonSet has as many pods as there are nodes: it cannot be decided, and the error says why."""
    group = "apps" if kind == "DaemonSet" else "batch"
    target = {"apiVersion": f"{group}/v1", "kind": kind, "name": "web"}
    made_of = {
        "HorizontalPodAutoscaler": hpa(target),
        "WatermarkPodAutoscaler": made(
            "datadoghq.com/v1alpha1", "WatermarkPodAutoscaler", "web", {**BAND, "scaleTargetRef": target}
        ),
        "Hvpa": hvpa(targetRef=target),
    }
    there = {**workload(kind, 2, jobTemplate={"spec": JOB}), "apiVersion": f"{group}/v1"}
    decision = decided(made_of[scaler], vpa(target=target, name="sizer"), there, kind=scaler)
    assert not decision.decided
    assert "has no scale subresource" in decision.error
    assert f"{kind}/web" in decision.error


def test_a_target_that_is_missing_says_what_to_add():
    """The failure contains the kubectl command."""
    target = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "web"}
    scale = seen(vpa(target=target)).scale
    assert isinstance(scale, Failure)
    assert "kubectl get ds web -n shop -o yaml" in scale.message


def test_a_target_of_another_group_says_what_to_write():
    """The message names the kind's own field; a VPA finds the kinds it knows in any group."""
    elsewhere = {**TARGET, "apiVersion": "extensions/v1beta1"}
    assert isinstance(seen(vpa(target=elsewhere), workload()).scale, Scale)
    scale = seen(hvpa(targetRef=elsewhere), workload(), kind="Hvpa").scale
    assert isinstance(scale, Failure)
    assert "write apiVersion: apps/v1 in targetRef" in scale.message


@pytest.mark.parametrize(
    ("api_version", "kind"),
    [
        ("autoscaling.k8s.io/v1", "VerticalPodAutoscaler"),
        ("autoscaling.k8s.io/v1", "VerticalPodAutoscalerCheckpoint"),
        ("autoscaling.k8s.io/v1alpha1", "Hvpa"),
        ("autoscaling.gardener.cloud/v1alpha1", "Hvpa"),
        ("v1", "Node"),
        ("v1", "LimitRange"),
    ],
)
def test_kinds_that_sizes_depend_on(api_version, kind):
    """They are kept when a dump is read."""
    assert may_matter(api_version, kind)


# Nodes.


def test_a_node_and_what_its_pods_ask_for():
    """All unfinished pods on the node count, of any namespace, with sidecars and their actual sizes."""
    sidecar = {"initContainers": [box("proxy", "100m", "64Mi", restartPolicy="Always"), box("init", "9")]}
    resized = {"containerStatuses": [{"name": "app", "resources": {"requests": sized("2", "1Gi")}}]}
    stranger = pod(3, box(cpu="4", memory="4Gi"))
    stranger["metadata"] = {"name": "x", "namespace": "elsewhere"}
    there = [pod(0, spec=sidecar), pod(1, status=resized), pod(2, status={"phase": "Succeeded"}), stranger]
    found = seen(vpa(), workload(), node(), node("n2", "8"), *there)
    assert found.nodes == {
        "n1": ClusterNode(
            "n1", {"cpu": 16_000, "memory": 64_000 * GI}, {"cpu": 7_100, "memory": 1000 * (6 * GI + 64 * MI)}
        )
    }


def test_the_largest_nodes_are_there_too():
    """Wherever the pods run, the largest nodes are included: what fits none of them fits no node."""
    small = [node(f"small-{number}", "2", "4Gi") for number in range(50)]
    large = [node("cores", "96", "8Gi"), node("memory", "8", "512Gi"), node("both", "32", "128Gi")]
    found = seen(vpa(), workload(), *small, *large, node("less", "31", "128Gi"), *pods(1, spec={"nodeName": "small-7"}))
    assert set(found.nodes) == {"cores", "memory", "both", "small-7"}
    assert found.nodes["both"].allocatable == {"cpu": 32_000, "memory": 128_000 * GI}


def test_nodes_that_are_not_in_the_input():
    """Only their names are known; a pod without a node adds none."""
    there = [pod(0), pod(1, spec={"nodeName": "n2"}), pod(2, spec={"nodeName": None})]
    assert seen(vpa(), workload(), *there).nodes == {"n1": ClusterNode("n1"), "n2": ClusterNode("n2")}
    assert seen(vpa(), workload(), node(), *there).nodes["n2"] == ClusterNode("n2")


def test_a_pod_that_comes_twice_asks_once():
    """Of an object that is in the input twice, the last one counts."""
    found = seen(vpa(), workload(), node(), pod(0, box(cpu="9")), pod(0))
    assert found.nodes["n1"].requested["cpu"] == 1000


@pytest.mark.parametrize(
    ("condition", "short"),
    [
        ({"status": "True", "reason": "KubeletHasInsufficientMemory"}, True),
        ({"status": "False", "reason": "KubeletHasSufficientMemory"}, False),
        ({"status": "True", "reason": "KubeletReady"}, False),
        ({"status": "Unknown", "reason": "KubeletHasInsufficientMemory"}, False),
    ],
)
def test_a_node_short_of_memory(condition, short):
    """A node is short of memory only while its kubelet says so."""
    status = {"conditions": [{"type": "MemoryPressure", **condition}]}
    assert read_node({"metadata": {"name": "n1"}, "status": status}).short_of_memory is short


# Ranges, templates and controllers.


def test_limit_ranges_item_by_item():
    """The LimitRanges of the namespace are read; of duplicates the last counts."""
    bounds = {"min": sized("10m"), "max": sized("2", "1Gi"), "default": sized("1")}
    ranges = [limit_range(max=sized("9")), limit_range(**bounds), limit_range("Pod", "pods", max=sized(memory="2Gi"))]
    found = seen(vpa(), workload(), *ranges).limit_ranges
    assert found == (
        LimitRange("Container", {"cpu": 10}, {"cpu": 2000, "memory": 1000 * GI}, {"cpu": 1000}),
        LimitRange("Pod", {}, {"memory": 2000 * GI}, {}),
    )


@pytest.mark.parametrize("broken", [{}, {"spec": None}, {"spec": {"limits": {}}}, {"spec": {"limits": ["x"]}}])
def test_a_limit_range_without_limits(broken):
    """A LimitRange without limits bounds nothing."""
    assert read_limit_range(broken) == ()


def test_the_template_of_a_workload_and_of_its_jobs():
    """The size that new pods start with."""
    assert [(c.name, c.requests["cpu"]) for c in read_template(workload("Deployment", 1, box(), box("log", "5m")))] == [
        ("app", 1000),
        ("log", 5),
    ]
    assert [c.name for c in read_template({"spec": {"jobTemplate": {"spec": JOB}}})] == ["app"]
    assert read_template({"spec": {"template": {"spec": {"containers": "none"}}}}) == ()


@pytest.mark.parametrize(
    ("data", "replicas"),
    [
        (workload("ReplicaSet", 3, name="x"), 3),
        ({"kind": "ReplicaSet", "metadata": {"name": "x"}, "spec": {}}, 1),
        ({"kind": "StatefulSet", "metadata": {"name": "x"}, "spec": {"replicas": "many"}}, None),
        ({"kind": "DaemonSet", "metadata": {"name": "x"}, "status": {"numberReady": 4}}, 4),
        ({"kind": "DaemonSet", "metadata": {"name": "x"}}, None),
        ({"kind": "Job", "metadata": {"name": "x"}, "spec": {"parallelism": 3}}, None),
    ],
)
def test_how_many_pods_a_controller_keeps(data, replicas):
    """A DaemonSet counts its ready pods; a Job gives no number."""
    assert read_controller(data) == Controller(data["kind"], "x", replicas)


def test_controllers_are_those_of_the_pods():
    """They come from the pods' owner references, with the controlling owner first."""
    both = [{"kind": "Shop", "name": "x"}, *owned()]
    found = seen(vpa(), *fleet(2, owner=both))
    assert found.controllers == {("ReplicaSet", "web-5d9c"): Controller("ReplicaSet", "web-5d9c", 2)}
    assert [owner.kind for owner in found.pods[0].owners] == ["ReplicaSet", "Shop"]


# Advice.


def test_the_advice_of_a_vpa_is_its_own_status():
    """The recommendation is read as amounts, with all its bounds."""
    status = advised(recommended(target=("1500m", "2Gi"), lower=("1", "1Gi"), upper=("2", "2000000001m")))
    found = seen(vpa(status=status), workload()).size_advice
    target = {"cpu": 1500, "memory": 2 * GI}
    bounds = Bounds("app", target, {"cpu": 1000, "memory": GI}, {"cpu": 2000, "memory": 2_000_001}, target)
    assert found == Recommendation((bounds,), "status of VerticalPodAutoscaler web")


@pytest.mark.parametrize(
    "status",
    [None, {}, {"recommendation": {}}, {"recommendation": {"containerRecommendations": "x"}}, {"recommendation": [1]}],
)
def test_a_status_without_advice(status):
    """It is a failure that names the object."""
    found = seen(vpa(status=status), workload()).size_advice
    assert isinstance(found, Failure)
    assert "VerticalPodAutoscaler web" in found.message


@pytest.mark.parametrize("amount", ["-1", "x", None, [], True])
def test_advice_that_is_no_amount_counts_as_absent(amount):
    """Such an amount is ignored."""
    status = advised({"containerName": "app", "target": {"cpu": amount, "memory": "1Gi"}})
    found = seen(vpa(status=status), workload()).size_advice
    assert isinstance(found, Recommendation)
    assert found.containers[0].target == {"memory": GI}


def test_the_advice_of_an_hvpa_is_that_of_the_vpa_of_its_target():
    """Of several VPAs the owned VPA counts, else the first by name."""
    kind = {"kind": "Hvpa"}
    first = vpa("Off", name="a", status=advised(recommended(target=("1", "1Gi"))))
    second = vpa("Off", name="b", status=advised(recommended(target=("2", "2Gi"))))
    other = vpa("Off", name="0", target={**TARGET, "name": "db"}, status=advised(recommended()))
    assert seen(hvpa(), second, first, other, workload(), **kind).size_advice.origin.endswith(" a")
    second["metadata"]["ownerReferences"] = controlled_by("web")
    assert seen(hvpa(), first, second, workload(), **kind).size_advice.origin.endswith(" b")
    assert seen(hvpa(), other, workload(), **kind).size_advice is None


def test_the_advice_of_an_hpa_that_scales_the_hvpa_comes_first():
    """An HPA that scales the target itself counts only if no HPA scales the Hvpa."""
    kind = {"kind": "Hvpa"}
    of_target, of_hvpa = hpa(name="a"), hpa(HVPA, desired=4, name="b")
    assert seen(hvpa(), of_target, of_hvpa, workload(), **kind).count_advice == CountAdvice(
        4, 2, "the status of HorizontalPodAutoscaler b"
    )
    assert seen(hvpa(), of_target, workload(), **kind).count_advice.desired == 3
    assert seen(hvpa(), workload(), **kind).count_advice is None
    silent = seen(hvpa(), {**of_target, "status": {}}, workload(), **kind).count_advice
    assert silent == Failure("the status of HorizontalPodAutoscaler a does not ask for a number of replicas")


# Checkpoints.


def test_an_hvpa_reads_the_checkpoints_of_its_vpa():
    """Or the checkpoints that hypot wrote under the Hvpa's own name."""
    child = vpa("Off", name="web-child")
    for owner in ("web-child", "web"):
        found = seen(hvpa(), child, checkpoint(owner=owner, **LEARNT), workload(), kind="Hvpa")
        assert found.usage.containers() == ("app",)
    assert seen(hvpa(), child, checkpoint(owner="other", **LEARNT), workload(), kind="Hvpa").usage is None


def test_the_checkpoints_of_the_vpa_that_it_owns_come_first():
    """The order of the input does not matter."""
    mine = vpa("Off", name="mine", ownerReferences=controlled_by("web"))
    other = vpa("Off", name="another")
    learnt = [
        checkpoint(owner="mine", cpu={20: 1}, memory={40: 1}),
        checkpoint(owner="another", cpu={40: 1}, memory={40: 1}),
    ]
    for order in ((mine, other), (other, mine)):
        decision = decided(hvpa(), *order, *learnt, *fleet(2), kind="Hvpa")
        assert "app cpu 410m" in sentences(decision, "size")[0]


def test_the_checkpoints_of_a_vpa_of_another_target_are_not_read():
    """Though the VPA has the name of the Hvpa, its containers are others."""
    stranger = vpa("Off", target={**TARGET, "name": "db"})
    found = seen(hvpa(), stranger, checkpoint(owner="web", **LEARNT), workload(), kind="Hvpa")
    assert found.usage is None


def test_checkpoints_of_another_namespace_are_not_read():
    """Names are unique in a namespace only."""
    elsewhere = checkpoint(**LEARNT)
    elsewhere["metadata"]["namespace"] = "elsewhere"
    assert seen(vpa(), elsewhere, workload()).usage is None


def test_the_knobs_of_an_hvpa_are_in_its_vpa_template():
    """Annotations of the Hvpa itself are not knobs."""
    template = {"metadata": {"annotations": {"hypot.dev/safety-margin": "0"}}}
    tuned = hvpa(vpa={"deploy": True, "template": template}, annotations={"hypot.dev/safety-margin": "9"})
    decision = decided(tuned, checkpoint(**LEARNT), *fleet(2), kind="Hvpa")
    assert "app cpu 357m" in sentences(decision, "size")[0]


# Time.


def test_a_checkpoint_has_a_time():
    """It was written a minute ago, while the youngest pod is days old."""
    snapshot = Snapshot([vpa(), checkpoint(**LEARNT), *fleet(2)])
    assert snapshot.newest_time() == NOW - 60


def test_the_last_scale_time_of_an_hvpa_is_a_time():
    """The last scale time is in the past of every dump."""
    scaled = hvpa(status={"lastScaling": {"lastUpdated": ago(HOUR)}})
    assert Snapshot([scaled, *fleet(2)]).newest_time() == NOW - HOUR
