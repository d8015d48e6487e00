"""Differences in words and as a patch."""

from hypot import FROZEN, HPA, VPA, ContainerPolicy, Hvpa, ScalingRules, cpu, diff, external, interval, limit, memory


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


def test_amounts_are_compared_as_amounts():
    """However they are written; a change of one keeps what the author wrote."""
    old = web(metrics=[external("jobs", average=30), memory(average="1024Mi")], scale_up=ScalingRules(tolerance=0.1))
    new = web(metrics=[external("jobs", average="30"), memory(average="1Gi")], scale_up=ScalingRules(tolerance="100m"))
    assert (diff(old, new).words, diff(old, new).patch) == ((), {})
    other = web(metrics=[external("jobs", average=40), memory(average="1Gi")])
    assert diff(old, other).words[0] == "spec.metrics: metric jobs (External): target 30 per pod → 40 per pod"
    assert diff(old, other).patch["spec"]["metrics"][0]["external"]["target"]["averageValue"] == 40
    sizes = [VPA("deployment/web", containers=[ContainerPolicy("a", max_allowed={"cpu": one})]) for one in (1, "1000m")]
    assert not diff(*sizes)
    assert diff({"a": 30}, {"a": "30"})


def test_the_order_of_labels_has_no_effect():
    """Neither on the name of a metric nor on the difference."""
    one, other = ({"a": "1", "b": "2"}, {"b": "2", "a": "1"})
    both = [web(metrics=external("x", average=1, labels=labels)) for labels in (one, other)]
    assert not diff(*both)
    assert diff(
        web(metrics=external("x", average=1, labels=one)), web(metrics=external("x", average=2, labels=other))
    ).words == ("spec.metrics: metric x (External) with a=1,b=2: target 1 per pod → 2 per pod",)


def test_a_namespace_that_one_side_leaves_out_is_no_difference():
    """It comes from the context; two namespaces are a difference."""
    assert not diff(web(namespace="shop"), web())
    assert not diff(web(), web(namespace="shop"))
    assert diff(web(namespace="a"), web(namespace="shop")).words == ("metadata.namespace: a → shop",)


def test_policies_are_compared_by_type_and_period():
    """Another order is one sentence."""
    both = [limit(pods=4, per="1m"), limit(percent=100, per="1m")]
    old, new = web(scale_up=ScalingRules(both)), web(scale_up=ScalingRules(both[::-1]))
    place = "spec.behavior.scaleUp.policies"
    assert diff(old, new).words == (f"{place}: the order changes to policy Percent per 60 s, policy Pods per 60 s",)
    more = web(scale_up=ScalingRules([limit(pods=5, per="1m")]))
    assert diff(old, more).words == (
        f"{place}: policy Pods per 60 s: value: 4 → 5",
        f"{place}: policy Percent per 60 s is removed",
    )


def test_intervals_are_compared_by_their_last_count():
    """The first may go, and the others stay what they were."""
    made = [interval(1, cpu="1", memory="1Gi"), interval(3, cpu="2", memory="4Gi"), interval(cpu="4", memory="8Gi")]
    old = Hvpa("deployment/web", intervals=made, max_replicas=9)
    assert diff(old, Hvpa("deployment/web", intervals=made[1:], max_replicas=9)).words == (
        "spec.scalingIntervals: interval up to 1 is removed",
    )
