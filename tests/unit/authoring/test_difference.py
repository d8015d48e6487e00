"""Differences in words and as a patch."""

from hypot import FROZEN, HPA, VPA, ContainerPolicy, cpu, diff, external, memory


def web(**given):
    return HPA("deployment/web", **{"max_replicas": 10, **given})


def test_equal_objects_do_not_differ():
    """The difference is false, without words and without a patch."""
    found = diff(web(), web())
    assert (bool(found), found.words, found.patch, str(found)) == (False, (), {}, "")


def test_a_number_differs_by_its_kubernetes_path():
    """Both values are shown; what one side does not have is absent."""
    found = diff(web(), web(max_replicas=20, min_replicas=2))
    assert found.words == ("spec.maxReplicas: 10 → 20", "spec.minReplicas: absent → 2")
    assert found.patch == {"spec": {"maxReplicas": 20, "minReplicas": 2}}
    assert diff(web(min_replicas=2), web()).patch == {"spec": {"minReplicas": None}}


def test_metrics_are_compared_by_what_they_measure():
    """A metric in another place is the same metric."""
    queue = {"queue": "mail"}
    old = web(metrics=[cpu(utilization=70), memory(average="1Gi"), external("jobs", average=30, labels=queue)])
    new = web(
        metrics=[external("jobs", average=40, labels=queue), cpu(utilization=60), cpu(average="1", container="app")]
    )
    assert diff(old, new).words == (
        "spec.metrics: metric cpu: target 70 % → 60 %",
        "spec.metrics: metric memory is removed",
        "spec.metrics: metric jobs (External) with queue=mail: target 30 per pod → 40 per pod",
        "spec.metrics: metric cpu (ContainerResource) of container app is added, with the target 1 per pod",
    )
    assert diff(web(), web(metrics=[cpu(utilization=60)])).words == (
        "spec.metrics: metric cpu is added, with the target 60 %",
    )


def test_another_order_is_a_difference():
    """The order of metrics has no effect, but the manifests differ."""
    both = [cpu(utilization=7), memory(average=1)]
    old, new = web(metrics=both), web(metrics=both[::-1])
    assert diff(old, new).words == ("spec.metrics: the order changes to metric memory, metric cpu",)


def test_containers_are_compared_by_name():
    """The path inside the container follows its name."""
    old = VPA("deployment/web", containers=[ContainerPolicy("a"), ContainerPolicy("b", max_allowed={"cpu": "1"})])
    new = VPA("deployment/web", containers=[ContainerPolicy("b", max_allowed={"cpu": "2"})])
    assert diff(old, new).words == (
        "spec.resourcePolicy.containerPolicies: container a is removed",
        "spec.resourcePolicy.containerPolicies: container b: maxAllowed.cpu: 1 → 2",
    )


def test_what_the_cluster_writes_does_not_count():
    """A live object equals the one that was applied, apart from defaults."""
    live = web().to_dict() | {"status": {"currentReplicas": 3}}
    live["metadata"] |= {"uid": "1", "resourceVersion": "2", "managedFields": []}
    live["metadata"]["annotations"] = {"kubectl.kubernetes.io/last-applied-configuration": "{}"}
    assert not diff(live, web())
    assert diff(web(), HPA.from_dict(live).effective("1.34")).words == (
        "spec.minReplicas: absent → 1",
        "spec.metrics: metric cpu is added, with the target 80 %",
    )


def test_a_whole_block_is_shown_as_json():
    """Long blocks are cut; the patch has all of them."""
    found = diff(web(), web(scale_down=FROZEN))
    assert found.words == ('spec.behavior: absent → {"scaleDown": {"selectPolicy": "Disabled"}}',)
    assert diff(web(), {"spec": "x" * 200}).words[-1].endswith("...")


def test_true_is_not_one():
    """Values of another type differ."""
    assert diff({"spec": {"a": True}}, {"spec": {"a": 1}}).words == ("spec.a: true → 1",)
