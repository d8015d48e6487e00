"""What one autoscaler observes in the objects of a dump."""

import gc
import weakref
from typing import ClassVar

import pytest

from hypot.core.instant import read_time
from hypot.kinds.hpa import HPA
from hypot.kinds.metric_values import MetricValue, read_value
from hypot.kinds.selector import parse_selector
from hypot.kinds.vpa import VPA
from hypot.kinds.wpa import WPA
from hypot.policy.families import seen_by
from hypot.policy.model.seen import Failure, Owner, Scale, metric_key
from hypot.policy.model.settings import Settings
from hypot.policy.observe.namespace import ByLabel
from hypot.policy.observe.read_pods import read_pod
from hypot.policy.observe.snapshot import NOTHING_EARLIER, Snapshot, may_matter

NOW = 1_000_000.0
START = "2026-03-02T06:10:02Z"
LATER = "2026-03-02T06:10:03Z"
# The times of the first and of the second value, and which of them counts.
TIMES = [
    (START, LATER, 2),
    (LATER, START, 1),
    (START, START, 2),
    (None, START, 2),
    (START, None, 2),
    (None, None, 2),
    (START, "yesterday", 2),
]


def metadata(name, labels=None, namespace="shop", **more):
    return {"name": name, "namespace": namespace, **({"labels": labels} if labels else {}), **more}


def deployment(name="web", replicas=3, selector=None, namespace="shop", **more):
    spec = {"selector": selector or {"matchLabels": {"app": name}}}
    if replicas is not None:
        spec["replicas"] = replicas
    made = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata(name, namespace=namespace)}
    return {**made, "spec": spec, "status": {"replicas": 3}, **more}


def pod(name, labels=None, namespace="shop", **more):
    made = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata(name, labels or {"app": "web"}, namespace)}
    return {**made, "spec": {"containers": []}, "status": {"phase": "Running"}, **more}


def pod_metrics(name, labels=None, cpu="100m", namespace="shop"):
    made = {"apiVersion": "metrics.k8s.io/v1beta1", "kind": "PodMetrics"}
    usage = [{"name": "app", "usage": {"cpu": cpu, "memory": "1Mi"}}]
    made["metadata"] = metadata(name, labels, namespace)
    return {**made, "timestamp": START, "window": "15.03s", "containers": usage}


def hpa(name="web", metrics=None, target="web", kind="Deployment", api_version="apps/v1", namespace="shop"):
    ref = {"apiVersion": api_version, "kind": kind, "name": target}
    spec = {"scaleTargetRef": ref, "maxReplicas": 9, **({"metrics": metrics} if metrics else {})}
    made = {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler"}
    return {**made, "metadata": metadata(name, namespace=namespace), "spec": spec}


def wpa(metrics, name="web"):
    ref = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    spec = {"scaleTargetRef": ref, "maxReplicas": 9, "metrics": metrics}
    made = {"apiVersion": "datadoghq.com/v1alpha1", "kind": "WatermarkPodAutoscaler"}
    return {**made, "metadata": metadata(name), "spec": spec}


def metric_value(metric, kind, name, value, namespace="shop", **more):
    of = {"kind": kind, "name": name, **({"namespace": namespace} if namespace else {})}
    made = {"apiVersion": "custom.metrics.k8s.io/v1beta1", "kind": "MetricValue", "describedObject": of}
    return {**made, "metricName": metric, "value": value, "timestamp": START, **more}


def external_value(metric, value, at=START, **labels):
    made = {"apiVersion": "external.metrics.k8s.io/v1beta1", "kind": "ExternalMetricValue"}
    return {**made, "metricName": metric, "metricLabels": labels, "value": value, "timestamp": at}


def external_list(*items):
    return {"apiVersion": "external.metrics.k8s.io/v1beta1", "kind": "ExternalMetricValueList", "items": [*items]}


def seen_by_first(*objects):
    snapshot = Snapshot(objects)
    return seen_by(snapshot, snapshot.autoscalers()[0], NOW, Settings())


def pods_metric(name="rps", selector=None):
    metric = {"name": name, **({"selector": selector} if selector else {})}
    return {"type": "Pods", "pods": {"metric": metric, "target": {"type": "AverageValue", "averageValue": "10"}}}


def object_metric(kind="Ingress", api_version="networking.k8s.io/v1", name="main", selector=None):
    of = {"apiVersion": api_version, "kind": kind, "name": name}
    metric = {"name": "hits", **({"selector": selector} if selector else {})}
    return {
        "type": "Object",
        "object": {"describedObject": of, "metric": metric, "target": {"type": "Value", "value": "10"}},
    }


def external_metric(selector=None):
    metric = {"name": "queue", **({"selector": selector} if selector else {})}
    return {"type": "External", "external": {"metric": metric, "target": {"type": "Value", "value": "10"}}}


# The target and its scale.


def test_scale_of_a_deployment():
    """Desired replicas, current replicas and selector all come from the workload."""
    selector = {"matchLabels": {"app": "web"}, "matchExpressions": [{"key": "canary", "operator": "DoesNotExist"}]}
    seen = seen_by_first(hpa(), deployment(selector=selector))
    assert seen.scale == Scale(3, 3, "app=web,!canary")
    assert seen.now == NOW


def test_the_version_of_the_target_does_not_matter():
    """Kubernetes finds a target by group and kind, whatever version is written."""
    old = {**deployment(), "apiVersion": "apps/v1beta2"}
    assert seen_by_first(hpa(), old).scale == Scale(3, 3, "app=web")


def test_absent_replicas_mean_one():
    """The API server's default for every workload."""
    assert seen_by_first(hpa(), deployment(replicas=None)).scale == Scale(1, 3, "app=web")


def test_zero_left_out_of_a_status_is_zero():
    """The API leaves out zeros, so a status without replicas has none."""
    assert seen_by_first(hpa(), deployment(status={})).scale == Scale(3, 0, "app=web")


def test_an_authored_manifest_is_at_rest():
    """Without a status the desired size counts as the current size."""
    authored = deployment()
    del authored["status"]
    assert seen_by_first(hpa(), authored).scale == Scale(3, 3, "app=web")


def test_a_scale_object_wins():
    """What the API itself answered is better than what we derive."""
    scale = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": metadata("web")}
    scale |= {"spec": {"replicas": 7}, "status": {"replicas": 6, "selector": "app=web"}}
    assert seen_by_first(hpa(), deployment(), scale).scale == Scale(7, 6, "app=web")
    asleep = {**scale, "spec": {}, "status": {"selector": "app=web"}}
    assert seen_by_first(hpa(), asleep).scale == Scale(0, 0, "app=web")


def test_a_scale_object_of_another_workload_of_that_name():
    """A Scale has no kind, but the uid of its workload: another uid is ignored."""
    scale = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": metadata("web", uid="b"), "spec": {}}
    mine = deployment()
    mine["metadata"]["uid"] = "a"
    assert seen_by_first(hpa(), mine, scale).scale == Scale(3, 3, "app=web", "a")


def test_a_replication_controller_has_plain_labels():
    """Its selector is a plain map; without a selector its template's labels count."""
    rc = {"apiVersion": "v1", "kind": "ReplicationController", "metadata": metadata("web"), "status": {"replicas": 2}}
    target = hpa(kind="ReplicationController", api_version="v1")
    plain = {**rc, "spec": {"replicas": 2, "selector": {"app": "web", "tier": "x"}}}
    assert seen_by_first(target, plain).scale == Scale(2, 2, "app=web,tier=x")
    templated = {**rc, "spec": {"replicas": 2, "template": {"metadata": {"labels": {"app": "web"}}}}}
    assert seen_by_first(target, templated).scale == Scale(2, 2, "app=web")


@pytest.mark.parametrize(
    ("spec", "status", "selector"),
    [
        ({"selector": {"matchLabels": {"app": "web"}}}, {}, "app=web"),
        ({"selector": {"matchLabels": {"app": "web"}}}, {"selector": "app=web,role=x"}, "app=web,role=x"),
        ({}, {"selector": "app in (a,b)"}, "app in (a,b)"),
        ({"selector": {"app": "web"}}, {}, "app=web"),
        ({"selector": {"app": {"nested": 1}}}, {}, ""),
        ({}, {}, ""),
    ],
)
def test_a_custom_kind(spec, status, selector):
    """Custom kinds have their selector as text in status, structured in spec, or not at all."""
    rollout = {"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "metadata": metadata("web")}
    rollout |= {"spec": {"replicas": 4, **spec}, "status": {"replicas": 4, **status}}
    seen = seen_by_first(hpa(kind="Rollout", api_version="argoproj.io/v1alpha1"), rollout, pod("a"))
    assert seen.scale == Scale(4, 4, selector)


def test_a_missing_target_says_what_to_add():
    """The failure names the object as the API does, and the command that gets it."""
    scale = seen_by_first(hpa()).scale
    assert isinstance(scale, Failure)
    assert scale.message == (
        'deployments.apps "web" is not in the input; add it: kubectl get deploy web -n shop -o yaml'
    )


def test_a_missing_custom_target_is_named_in_full():
    """Kubectl takes the plural with its group."""
    scale = seen_by_first(hpa(kind="Rollout", api_version="argoproj.io/v1alpha1")).scale
    assert isinstance(scale, Failure)
    assert "kubectl get rollouts.argoproj.io web -n shop" in scale.message


def test_a_target_of_another_group():
    """A reference without its group finds nothing in a cluster either; we say which group it is."""
    scale = seen_by_first(hpa(api_version=None), deployment()).scale
    assert isinstance(scale, Failure)
    assert "write apiVersion: apps/v1" in scale.message


@pytest.mark.parametrize("replicas", ["three", -1, 2.5, True])
def test_replicas_that_are_not_a_count(replicas):
    """A size that cannot be read is a failure; no default replaces it."""
    scale = seen_by_first(hpa(), deployment(replicas=replicas)).scale
    assert isinstance(scale, Failure)
    assert "spec.replicas" in scale.message


def test_a_selector_that_cannot_be_read():
    """An invalid operator fails the scale, with a message."""
    bad = {"matchExpressions": [{"key": "a", "operator": "Near"}]}
    scale = seen_by_first(hpa(), deployment(selector=bad)).scale
    assert isinstance(scale, Failure)
    assert "cannot be read" in scale.message


# Pods.


def test_pods_of_the_selector_and_namespace():
    """Labels and namespace must both fit; the order is that of the input."""
    others = [pod("d", {"app": "other"}), pod("e", namespace="elsewhere"), pod("f", {"x": "y"})]
    seen = seen_by_first(hpa(), pod("b"), *others, deployment(), pod("a"))
    assert [p.name for p in seen.pods] == ["b", "a"]


def test_of_an_object_that_comes_twice_the_last_counts():
    """Dumps of several files may overlap."""
    seen = seen_by_first(hpa(), deployment(), pod("a"), pod("a", status={"phase": "Failed"}))
    assert [(p.name, p.phase) for p in seen.pods] == [("a", "Failed")]


def test_a_pod_in_full():
    """Everything an autoscaler looks at."""
    found = read_pod({
        "metadata": {
            **metadata("a", {"app": "web"}),
            "deletionTimestamp": START,
            "ownerReferences": [{"kind": "ReplicaSet", "name": "web-1"}],
        },
        "spec": {
            "containers": [
                {"name": "app", "resources": {"requests": {"cpu": "500m"}, "limits": {"cpu": "1", "memory": "1Ki"}}}
            ],
            "initContainers": [
                {"name": "mesh", "restartPolicy": "Always", "resources": {"requests": {"cpu": "50m"}}},
                {"name": "setup", "resources": {"requests": {"cpu": "2"}}},
            ],
            "overhead": {"cpu": "10m"},
            "resources": {"requests": {"cpu": "700m"}},
        },
        "status": {
            "phase": "Running",
            "startTime": START,
            "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-03-02T06:10:21Z"}],
        },
    })  # fmt: skip
    assert found.deleted
    assert found.phase == "Running"
    assert found.ready == "True"
    assert (found.ready_since, found.started) == (read_time("2026-03-02T06:10:21Z"), read_time(START))
    assert [(c.name, dict(c.requests)) for c in found.containers] == [
        ("app", {"cpu": 500, "memory": 1_024_000}),
        ("mesh", {"cpu": 50}),
    ]
    assert [(c.name, dict(c.requests)) for c in found.init_containers] == [("setup", {"cpu": 2000})]
    assert found.pod_requests == {"cpu": 700}
    assert found.overhead == {"cpu": 10}
    assert found.owners == (Owner("ReplicaSet", "web-1"),)


@pytest.mark.parametrize(
    "broken",
    [
        {},
        {"metadata": None, "spec": [], "status": "x"},
        {"metadata": {"name": 5, "labels": {"a": 1}, "ownerReferences": [None]}, "spec": {"containers": [None, "x"]}},
        {"spec": {"containers": [{"resources": {"requests": {"cpu": "a lot", "memory": ["1"]}}}], "overhead": 3}},
        {"status": {"conditions": [{"type": "Ready", "lastTransitionTime": 5}], "startTime": "yesterday"}},
    ],
)
def test_what_cannot_be_read_counts_as_absent(broken):
    """A broken pod is a pod with less known about it, never a crash."""
    found = read_pod(broken)
    assert found.started is None
    assert all(not c.requests for c in found.containers)


# Pod metrics.


def test_pod_metrics_by_their_own_labels():
    """Metrics of a pod that is already gone count too, as the metrics server would answer."""
    seen = seen_by_first(
        hpa(), deployment(), pod("a"), pod_metrics("a", {"app": "web"}, "123456789n"), pod_metrics("b", {"app": "x"}),
        pod_metrics("gone", {"app": "web"}), pod_metrics("a", {"app": "web"}, namespace="elsewhere"),
    )  # fmt: skip
    assert set(seen.pod_metrics) == {"a", "gone"}
    sample = seen.pod_metrics["a"]
    assert (sample.at, sample.window) == (read_time(START), 15.03)
    assert sample.usage("cpu", "") == 124
    assert sample.usage("memory", "app") == 1_048_576_000
    assert sample.labels == {"app": "web"}


def test_pod_metrics_without_labels_belong_to_the_pod_of_their_name():
    """Some metrics servers do not repeat labels."""
    objects = [deployment(), pod("a"), pod("b", {"app": "other"}), pod_metrics("a"), pod_metrics("b"), pod_metrics("c")]
    seen = seen_by_first(hpa(), *objects)
    assert set(seen.pod_metrics) == {"a"}
    assert seen.pod_metrics["a"].labels == {"app": "web"}


def test_no_pod_metrics_at_all():
    """Their absence is a failure that says how to get them."""
    seen = seen_by_first(hpa(), deployment(), pod("a"))
    assert isinstance(seen.pod_metrics, Failure)
    assert "kubectl get --raw /apis/metrics.k8s.io/v1beta1/namespaces/shop/pods" in seen.pod_metrics.message


def test_no_pod_metrics_of_this_target():
    """Only other targets have pod metrics: the answer is empty, not a failure."""
    assert seen_by_first(hpa(), deployment(), pod("a"), pod_metrics("x", {"app": "x"})).pod_metrics == {}


def test_pod_metrics_that_are_not_needed():
    """An autoscaler on other metrics does not need them."""
    assert seen_by_first(hpa(metrics=[external_metric()]), deployment()).pod_metrics == {}


# Custom metrics.


def test_values_of_pods():
    """Only of the selected pods; the window is the API's default where it gives none."""
    values = [metric_value("rps", "Pod", n, "1500m") for n in ("a", "x")]
    values += [metric_value("rps", "Pod", "b", "3", windowSeconds=30), metric_value("other", "Pod", "a", "9")]
    seen = seen_by_first(hpa(metrics=[pods_metric()]), deployment(), pod("a"), pod("b"), *values)
    at = read_time(START)
    assert seen.pods_metrics == {
        metric_key("rps", None): {"a": MetricValue(1500, at, 60.0), "b": MetricValue(3000, at, 30.0)}
    }


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        ({}, 60.0),
        ({"windowSeconds": 300}, 300.0),
        ({"window": 300}, 300.0),
        ({"windowSeconds": 0}, 0.0),
        ({"windowSeconds": None}, 60.0),
        ({"windowSeconds": None, "window": 300}, 300.0),
        ({"windowSeconds": None, "window": "300s"}, 300.0),
        ({"windowSeconds": 300, "window": None}, 300.0),
        ({"windowSeconds": 0, "window": 300}, 0.0),
        ({"windowSeconds": None, "window": None}, 60.0),
        ({"window": "5m"}, 300.0),
        ({"window": "long"}, 60.0),
        ({"window": "9" * 400 + "s"}, 60.0),
        ({"window": True}, 60.0),
        ({"window": float("inf")}, 60.0),
        ({"window": float("nan")}, 60.0),
        ({"window": 10**400}, 60.0),
    ],
)
def test_the_window_of_a_value(written, seconds):
    """By the names of both versions, a null is absent; the controller of Kubernetes assumes a minute."""
    assert read_value({"value": "1", "timestamp": START, **written}) == MetricValue(1000, read_time(START), seconds)


def test_values_of_the_second_beta():
    """v1beta2 has a block for the metric, with its selector."""
    selector = {"matchLabels": {"path": "root"}}
    value = metric_value("", "Pod", "a", "5") | {"metric": {"name": "rps", "selector": selector}}
    asked = seen_by_first(hpa(metrics=[pods_metric(selector=selector)]), deployment(), pod("a"), value)
    assert asked.pods_metrics[metric_key("rps", selector)]["a"].milli == 5000
    unasked = seen_by_first(hpa(metrics=[pods_metric()]), deployment(), pod("a"), value)
    assert unasked.pods_metrics == {metric_key("rps", None): {}}


def test_a_value_with_the_exact_selector_wins():
    """A value without a selector answers any query; a value with another selector answers none."""
    selector = {"matchExpressions": [{"key": "p", "operator": "In", "values": ["a", "b"]}]}
    turned = {"matchExpressions": [{"key": "p", "operator": "In", "values": ["b", "a"]}]}
    exact = metric_value("rps", "Pod", "a", "1", selector=turned)
    bare = metric_value("rps", "Pod", "a", "2")
    other = metric_value("rps", "Pod", "a", "3", selector={"matchLabels": {"p": "z"}})
    world = [hpa(metrics=[pods_metric(selector=selector)]), deployment(), pod("a")]
    key = metric_key("rps", selector)
    assert seen_by_first(*world, exact, bare, other).pods_metrics[key]["a"].milli == 1000
    assert seen_by_first(*world, bare, other).pods_metrics[key]["a"].milli == 2000
    assert seen_by_first(*world, other).pods_metrics[key] == {}


@pytest.mark.parametrize(("first", "second", "counts"), TIMES)
def test_the_newest_of_two_values_counts(first, second, counts):
    """A dump may hold two answers about a pod or an object."""
    world = [hpa(metrics=[pods_metric(), object_metric()]), deployment(), pod("a")]
    for i, at in enumerate((first, second), 1):
        world.append(metric_value("rps", "Pod", "a", f"{i}", timestamp=at))
        world.append(metric_value("hits", "Ingress", "main", f"{i}", timestamp=at))
    seen = seen_by_first(*world)
    assert seen.pods_metrics[metric_key("rps", None)]["a"].milli == counts * 1000
    assert seen.object_metrics == {metric_key("hits", None, "Ingress/main"): counts * 1000}


def test_no_values_of_pods():
    """The failure contains the exact query to run."""
    selector = {"matchLabels": {"path": "root"}}
    seen = seen_by_first(hpa(metrics=[pods_metric(selector=selector)]), deployment(), pod("a"))
    failure = seen.pods_metrics[metric_key("rps", selector)]
    assert isinstance(failure, Failure)
    path = "/apis/custom.metrics.k8s.io/v1beta1/namespaces/shop/pods/*/rps?labelSelector=app%3Dweb"
    assert f"kubectl get --raw '{path}&metricLabelSelector=path%3Droot'" in failure.message


def test_the_value_of_an_object():
    """It is found by kind and name, in the autoscaler's namespace or without a namespace."""
    key = metric_key("hits", None, "Ingress/main")
    world = [hpa(metrics=[object_metric()]), deployment()]
    elsewhere = metric_value("hits", "Ingress", "main", "7", namespace="elsewhere")
    assert seen_by_first(*world, elsewhere, metric_value("hits", "Ingress", "main", "12")).object_metrics == {
        key: 12000
    }
    cluster_scoped = metric_value("hits", "Ingress", "main", "5", namespace=None)
    assert seen_by_first(*world, cluster_scoped).object_metrics == {key: 5000}
    failure = seen_by_first(*world, elsewhere).object_metrics[key]
    assert isinstance(failure, Failure)
    assert "/namespaces/shop/ingresses.networking.k8s.io/main/hits'" in failure.message


def test_the_value_of_a_namespace():
    """The written name is ignored: the query is about the autoscaler's own namespace."""
    metric = object_metric("Namespace", "v1", "ignored")
    value = metric_value("hits", "Namespace", "shop", "4", namespace=None)
    seen = seen_by_first(hpa(metrics=[metric]), deployment(), value)
    assert seen.object_metrics == {metric_key("hits", None, "Namespace/ignored"): 4000}
    failure = seen_by_first(hpa(metrics=[metric]), deployment()).object_metrics
    assert "/namespaces/shop/metrics/hits'" in next(iter(failure.values())).message


def test_external_values_by_label():
    """All series that match, in the order of the input."""
    values = [external_value("queue", "5", q="a"), external_value("queue", "700m", q="a", shard="2")]
    values += [external_value("queue", "9", q="b"), external_value("other", "1", q="a")]
    selector = {"matchLabels": {"q": "a"}}
    metrics = [external_metric(selector), external_metric(), external_metric({"matchLabels": {"q": "z"}})]
    seen = seen_by_first(hpa(metrics=metrics), deployment(), *values)
    assert seen.external_metrics == {
        metric_key("queue", selector): (5000, 700),
        metric_key("queue", None): (5000, 700, 9000),
        metric_key("queue", {"matchLabels": {"q": "z"}}): (),
    }


def test_a_series_that_comes_twice_counts_once():
    """Two queries may answer with the same series, and a dump may hold one answer twice."""
    twice = [external_value("queue", "5", q="a"), external_value("queue", "6", q="a")]
    unlabelled = [external_value("queue", "2"), external_value("queue", "2"), external_value("queue", "3")]
    seen = seen_by_first(hpa(metrics=[external_metric()]), deployment(), *twice, *unlabelled)
    assert list(seen.external_metrics.values()) == [(6000, 3000)]


A, B, UNLABELLED = (
    external_value("queue", "5", q="a"),
    external_value("queue", "7", q="b"),
    external_value("queue", "2"),
)
CHANGED = external_value("queue", "6", q="a")


@pytest.mark.parametrize(
    ("objects", "values"),
    [
        ([external_list(A, B)], (5000, 7000)),
        ([external_list(A, A, CHANGED)], (5000, 5000, 6000)),
        ([external_list(A, A), external_list(A, A)], (5000, 5000)),
        ([external_list(A, A), external_list(CHANGED, B)], (6000, 7000)),
        ([external_list(CHANGED), external_list(A, A)], (5000, 5000)),
        ([external_list(A, A), CHANGED], (6000,)),
        ([external_list(UNLABELLED, UNLABELLED), external_list(UNLABELLED, UNLABELLED)], (2000, 2000)),
        ([external_list(UNLABELLED), external_list(external_value("queue", "3"))], (3000,)),
        ([external_list(UNLABELLED, A), external_list(external_value("queue", "3"), B)], (3000, 5000, 7000)),
        ([external_list(A, external_value("queue", "much", q="a")), external_list(A)], (5000,)),
        ([external_list()], None),
    ],
)
def test_series_add_up_within_a_list_and_count_once_between_lists(objects, values):
    """As in the controller, which asks for each list once; of two lists of the same time the last one counts."""
    found = seen_by_first(hpa(metrics=[external_metric()]), deployment(), *objects).external_metrics
    (series,) = found.values()
    assert isinstance(series, Failure) if values is None else series == values


@pytest.mark.parametrize("labels", [{}, {"q": "a"}])
@pytest.mark.parametrize(("first", "second", "counts"), TIMES)
def test_the_newest_of_two_lists_counts(first, second, counts, labels):
    """Files come in any order, and the last one may be the oldest; of equal or unknown times the last one counts."""
    lists = [external_list(external_value("queue", f"{i}", at, **labels)) for i, at in enumerate((first, second), 1)]
    seen = seen_by_first(hpa(metrics=[external_metric()]), deployment(), *lists)
    assert list(seen.external_metrics.values()) == [(counts * 1000,)]


def test_the_newest_list_counts_with_all_its_equal_series():
    """Its newest value says how new it is. An unreadable value is not replaced by an older one."""
    newest = external_list(external_value("queue", "5", START), external_value("queue", "6", LATER))
    older = external_list(external_value("queue", "9", START))
    for lists in ([newest, older], [older, newest]):
        seen = seen_by_first(hpa(metrics=[external_metric()]), deployment(), *lists)
        assert list(seen.external_metrics.values()) == [(5000, 6000)]
    broken = external_list(external_value("queue", "?", LATER))
    seen = seen_by_first(hpa(metrics=[external_metric()]), deployment(), broken, external_value("queue", "5", START))
    assert isinstance(seen.external_metrics[metric_key("queue", None)], Failure)


def test_the_time_of_external_values():
    """The newest time of a dump may be that of a value in a list."""
    assert Snapshot([external_list(A, A)]).newest_time() == read_time(START)


def test_no_external_value():
    """The failure contains the exact query to run."""
    selector = {"matchLabels": {"q": "a"}}
    failure = seen_by_first(hpa(metrics=[external_metric(selector)]), deployment()).external_metrics
    message = failure[metric_key("queue", selector)].message
    assert "'/apis/external.metrics.k8s.io/v1beta1/namespaces/shop/queue?labelSelector=q%3Da'" in message


def test_an_external_sum_is_never_taken_without_one_of_its_parts():
    """A smaller sum would scale the target down on missing data."""
    values = external_list(external_value("queue", "much"), external_value("queue", "5"))
    seen = seen_by_first(hpa(metrics=[external_metric()]), deployment(), values)
    assert isinstance(seen.external_metrics[metric_key("queue", None)], Failure)


# WatermarkPodAutoscalers.


def test_a_band_sees_external_values_and_pod_metrics_by_its_own_selector():
    """Its resource selector applies to all pod metrics of the namespace, as in the controller."""
    external = {"metricName": "queue", "metricSelector": {"matchLabels": {"q": "a"}}, "highWatermark": "9"}
    resource = {"name": "cpu", "metricSelector": {"matchLabels": {"tier": "x"}}, "highWatermark": "9"}
    metrics = [{"type": "External", "external": external}, {"type": "Resource", "resource": resource}]
    objects = [deployment(), pod("a"), external_value("queue", "5", q="a"), external_value("queue", "7", q="b")]
    objects += [pod_metrics("a", {"app": "web", "tier": "x"}), pod_metrics("b", {"tier": "x"})]
    seen = seen_by_first(wpa(metrics), *objects, pod_metrics("c", {"app": "web"}))
    assert seen.external_metrics == {metric_key("queue", {"matchLabels": {"q": "a"}}): (5000,)}
    assert set(seen.pod_metrics) == {"a", "b"}


@pytest.mark.parametrize(
    ("monitors", "state"),
    [
        ([], None),
        ([("web", {"status": {"monitorState": "OK"}})], "OK"),
        ([("web", {"status": {}})], ""),
        ([("web", {})], ""),
        ([("other", {"status": {"monitorState": "Alert"}})], None),
    ],
)
def test_the_monitor_of_the_same_name(monitors, state):
    """No monitor, a monitor without a state, and a state are three different cases."""
    made = {"apiVersion": "datadoghq.com/v1alpha1", "kind": "DatadogMonitor"}
    objects = [{**made, "metadata": metadata(name), **more} for name, more in monitors]
    assert seen_by_first(wpa([]), deployment(), *objects).monitor == state
    assert seen_by_first(wpa([]), *objects).monitor == state


# Conflicts.


def test_conflicts_are_other_autoscalers_whose_pods_overlap():
    """Two HPAs on one target, and an HPA with a wider selector, claim the same pods."""
    wide = deployment("wide", selector={"matchExpressions": [{"key": "app", "operator": "Exists"}]})
    objects = [deployment(), wide, deployment("alone"), pod("a"), pod("z", {"app": "alone"})]
    autoscalers = [hpa(), hpa("second"), hpa("wide", target="wide"), hpa("alone", target="alone"), wpa([], "band")]
    snapshot = Snapshot([*autoscalers, *objects, hpa(namespace="elsewhere"), deployment(namespace="elsewhere")])
    conflicts = {str(one): seen_by(snapshot, one, NOW, Settings()).others for one in snapshot.autoscalers()}
    assert conflicts == {
        "HorizontalPodAutoscaler shop/web": ("shop/second", "shop/wide"),
        "HorizontalPodAutoscaler shop/second": ("shop/web", "shop/wide"),
        "HorizontalPodAutoscaler shop/wide": ("shop/web", "shop/second", "shop/alone"),
        "HorizontalPodAutoscaler shop/alone": ("shop/wide",),
        "WatermarkPodAutoscaler shop/band": ("shop/web", "shop/second", "shop/wide"),
        "HorizontalPodAutoscaler elsewhere/web": (),
    }


def test_without_pods_there_is_no_conflict():
    """Only shared pods make a conflict; overlapping selectors alone do not."""
    assert seen_by_first(hpa(), hpa("second"), deployment()).others == ()


# The whole snapshot.


def test_autoscalers_of_any_version():
    """Both kinds, old versions too, in the order of the input."""
    old = {**hpa("old"), "apiVersion": "autoscaling/v1"}
    found = Snapshot([wpa([], "band"), old, hpa()]).autoscalers()
    assert [(type(one), one.name) for one in found] == [(WPA, "band"), (HPA, "old"), (HPA, "web")]


def test_the_newest_time_of_the_input():
    """Any past time counts; a deletion timestamp may lie in the future."""
    doomed = pod("a")
    doomed["metadata"]["deletionTimestamp"] = "2027-01-01T00:00:00Z"
    doomed["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z"
    assert Snapshot([doomed, hpa()]).newest_time() == read_time("2026-01-01T00:00:00Z")
    doomed["metadata"]["managedFields"] = [{"time": "2026-01-02T00:00:00Z"}]
    assert Snapshot([doomed, hpa()]).newest_time() == read_time("2026-01-02T00:00:00Z")
    doomed["status"]["conditions"] = [{"lastTransitionTime": "2026-01-03T01:00:00+01:00", "lastProbeTime": None}]
    assert Snapshot([doomed, hpa()]).newest_time() == read_time("2026-01-03T00:00:00Z")
    scaled = hpa() | {"status": {"lastScaleTime": "2026-01-04T00:00:00Z"}}
    assert Snapshot([doomed, scaled]).newest_time() == read_time("2026-01-04T00:00:00Z")
    assert Snapshot([doomed, pod_metrics("a"), scaled]).newest_time() == read_time(START)
    assert Snapshot([hpa()]).newest_time() is None


@pytest.mark.parametrize(
    ("api_version", "kind", "matters"),
    [
        ("v1", "Pod", True),
        ("apps/v1", "StatefulSet", True),
        ("argoproj.io/v1alpha1", "Rollout", True),
        ("metrics.k8s.io/v1beta1", "PodMetrics", True),
        ("v1", "Secret", False),
        ("apps/v1", "DaemonSet", True),
        ("batch/v1", "Job", True),
        ("networking.k8s.io/v1", "Ingress", False),
    ],
)
def test_kinds_that_may_matter(api_version, kind, matters):
    """Of Kubernetes' own kinds only a few matter; any custom kind may be a target."""
    assert may_matter(api_version, kind) is matters


def test_an_autoscaler_that_cannot_be_read_is_seen_as_far_as_possible():
    """Wrong types in a spec do not stop the reading of everything else."""
    broken = hpa() | {"spec": {"scaleTargetRef": "web", "metrics": [5, {"type": "Pods", "pods": "x"}]}}
    assert isinstance(seen_by_first(broken, deployment()).scale, Failure)
    half = hpa(metrics=[{"type": "External", "external": {"metric": {"name": 7}}}, external_metric({"matchLabels": 3})])
    seen = seen_by_first(half, deployment(), external_value("queue", "1"))
    assert all(isinstance(answer, Failure) for answer in seen.external_metrics.values())


@pytest.mark.parametrize(
    ("selector", "found"),
    [
        ("", [0, 1, 2, 3]),
        ("app=a", [0, 2]),
        ("app=a,tier=x", [2]),
        ("app in (b,a)", [0, 1, 2]),
        ("app in (a,b),tier", [1, 2]),
        ("!app", [3]),
        ("app=z", []),
    ],
)
def test_the_index_finds_what_the_selector_matches(selector, found):
    """The index only narrows the search; the selector decides."""
    labels = [{"app": "a"}, {"app": "b", "tier": "y"}, {"app": "a", "tier": "x"}, {"tier": "x"}]
    index = ByLabel(zip(labels, range(4), strict=True))
    assert index.select(parse_selector(selector)) == found


def _templated(cpu):
    container = {"name": "app", "resources": {"requests": {"cpu": cpu}}}
    web = deployment()
    return {**web, "spec": {**web["spec"], "template": {"spec": {"containers": [container]}}}}


class TestTheNextSnapshot:
    """Results for objects that have not changed are reused."""

    WEB = (hpa(), deployment(), pod("a"), pod("b"))
    READ: ClassVar = {}

    def looked(self, *objects, earlier=NOTHING_EARLIER):
        snapshot = Snapshot(earlier=earlier)
        for data in objects:
            if data["kind"] == "Pod":
                snapshot.take_pod("shop", self.READ.setdefault(id(data), read_pod(data)))
            elif data["kind"] == "Deployment":
                snapshot.take_workload(data)
            else:
                snapshot.take_autoscaler(HPA.from_dict(data), data)
        snapshot.settle()
        seen = seen_by(snapshot, snapshot.autoscalers()[0], NOW, Settings())
        return seen, snapshot.lasting()

    @pytest.mark.parametrize("read_again", [False, True])
    def test_the_very_same_pods_have_the_same_index(self, read_again):
        """Pods that were read again get a new index, because the old index would keep the old pods in memory."""
        first, lasting = self.looked(*self.WEB)
        if read_again:
            self.READ.clear()
        second, after = self.looked(*self.WEB, earlier=lasting)
        assert first == second
        assert (after.pods["shop"] is lasting.pods["shop"]) is not read_again

    @pytest.mark.parametrize(
        "pods",
        [
            (pod("a"),),
            (pod("a"), pod("b"), pod("c")),
            (pod("a"), pod("b", {"app": "api"})),
            (pod("a"), pod("b", status={"phase": "Failed"})),
        ],
    )
    def test_other_pods_are_seen(self, pods):
        """After a pod came, went or changed, the earlier result is not used."""
        _, lasting = self.looked(*self.WEB)
        objects = (*self.WEB[:2], *pods)
        assert self.looked(*objects, earlier=lasting)[0] == self.looked(*objects)[0]

    def test_a_workload_that_changed_is_read_again(self):
        """Identity decides, as a watch delivers a new object for each change."""
        _, lasting = self.looked(*self.WEB)
        web, _, *pods = self.WEB
        assert self.looked(web, deployment(replicas=7), *pods, earlier=lasting)[0].scale.replicas == 7

    @pytest.mark.parametrize("cpu", ["100m", "200m"])
    def test_a_template_is_read_again_only_if_its_workload_changed(self, cpu):
        """Reading it anew for each Hvpa and VPA in every reconcile would be slow."""
        vpa, settings = VPA("deployment/web", namespace="shop"), Settings()
        web, lasting = _templated("100m"), NOTHING_EARLIER
        seen = []
        for workload in (web, web, _templated(cpu)):
            snapshot = Snapshot(earlier=lasting)
            snapshot.take_workload(workload)
            snapshot.take_autoscaler(vpa, vpa.to_dict())
            snapshot.settle()
            seen.append(seen_by(snapshot, vpa, NOW, settings).template)
            lasting = snapshot.lasting()
        first, same, later = seen
        assert same is first
        assert later is not first
        assert [container.requests["cpu"] for container in (*first, *later)] == [100, int(cpu.removesuffix("m"))]

    def test_a_snapshot_is_freed_without_the_garbage_collector(self):
        """The garbage collector runs rarely, and every reconcile makes a snapshot."""
        snapshot = Snapshot(self.WEB)
        seen_by(snapshot, snapshot.autoscalers()[0], NOW, Settings())
        gone = weakref.ref(snapshot)
        gc.disable()
        try:
            del snapshot
            assert gone() is None
        finally:
            gc.enable()
