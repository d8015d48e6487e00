"""Requests: of which container, from which source, in which version, and what usage can reach."""

import pytest

from hypot.lint import check
from unit.lint.lint_cases import container, cpu, hpa, memory, of_container, pods, thing, vpa, workload, wpa

NO_CPU = container(requests={"memory": "512Mi"})
SIDECAR = container("proxy", requests={}, restartPolicy="Always")


def findings(rule, *objects, kubernetes="1.37"):
    return [one for one in check(*objects, kubernetes=kubernetes).findings if one.rule == rule]


def messages(rule, *objects, kubernetes="1.37"):
    return [one.message for one in findings(rule, *objects, kubernetes=kubernetes)]


def limit_range(**item):
    return thing("v1", "LimitRange", limits=[{"type": "Container"} | item])


def test_default_metric_needs_the_request_too():
    """Without metrics the default is cpu at 80 %, and the message says so."""
    (found,) = findings("request-missing", hpa(metrics=None), workload("web", NO_CPU))
    assert found.field == "spec.metrics"
    assert "the default is 80 % of cpu" in found.message


def test_every_container_is_named():
    """Several containers without the request are in one finding."""
    (message,) = messages("request-missing", hpa(), workload("web", NO_CPU, container(), container("b", requests={})))
    assert message.startswith("containers app and b of Deployment shop/web have no cpu request")


def test_one_of_several_metrics_blocks_the_way_down():
    """The message says what the other metrics can still do."""
    (message,) = messages("request-missing", hpa(metrics=[cpu(), memory()]), workload("web", NO_CPU))
    assert "never removes one" in message


def test_percentage_of_v1_is_found_in_its_field():
    """autoscaling/v1 has its only metric as a percentage in the spec."""
    old = hpa(api_version="autoscaling/v1", metrics=None, targetCPUUtilizationPercentage=70)
    (found,) = findings("request-missing", old, workload("web", NO_CPU))
    assert found.field == "spec.targetCPUUtilizationPercentage"


@pytest.mark.parametrize(
    "metric", [cpu(type="AverageValue", averageValue="500m"), memory(), pods(), of_container("proxy")]
)
def test_metrics_that_do_not_need_this_request(metric):
    """Averages need no request, and a container's metric needs only that container's."""
    assert not findings("request-missing", hpa(metrics=[metric]), workload("web", NO_CPU, container("proxy")))


def test_container_metric_needs_its_own_request():
    """ContainerResource needs the request of one container, whatever the others have."""
    scaler = hpa(metrics=[of_container("app")])
    (message,) = messages("request-missing", scaler, workload("web", NO_CPU, container("proxy")))
    assert "FailedGetContainerResourceMetric" in message


def test_native_sidecar_counts_from_the_version_that_has_them():
    """Init containers count only if they keep running."""
    pod = {"initContainers": [SIDECAR]}
    assert findings("request-missing", hpa(), workload(pod=pod))
    assert not findings("request-missing", hpa(), workload(pod=pod), kubernetes="1.28")
    assert not findings("request-missing", hpa(), workload(pod={"initContainers": [container("prepare", requests={})]}))


def test_limit_is_a_request():
    """The API server fills a missing request from the limit."""
    assert not findings("request-missing", hpa(), workload("web", container(requests={}, limits={"cpu": "1"})))


@pytest.mark.parametrize("key", ["defaultRequest", "default", "max", "min"])
def test_limit_range_fills_the_request(key):
    """Each of the four becomes a default request."""
    assert not findings("request-missing", hpa(), workload("web", NO_CPU), limit_range(**{key: {"cpu": "100m"}}))


def test_limit_range_of_pods_or_elsewhere_fills_nothing():
    """Only the container entries of the same namespace do."""
    of_pods = thing("v1", "LimitRange", limits=[{"type": "Pod", "max": {"cpu": "1"}}])
    elsewhere = limit_range(default={"cpu": "1"}) | {"metadata": {"name": "web", "namespace": "other"}}
    assert findings("request-missing", hpa(), workload("web", NO_CPU), of_pods, elsewhere)


def test_pod_level_request_counts_from_1_34_on():
    """Before, the pod's own requests are dropped, and the message says so."""
    pod = {"resources": {"requests": {"cpu": "1"}}}
    assert not findings("request-missing", hpa(), workload("web", NO_CPU, pod=pod))
    (message,) = messages("request-missing", hpa(), workload("web", NO_CPU, pod=pod), kubernetes="1.33")
    assert message.endswith("the pod's own requests count from Kubernetes 1.34 on")


def test_pod_level_request_of_another_resource_is_not_enough():
    """With pod-level memory the cpu request must come from a container."""
    pod = {"resources": {"requests": {"memory": "1Gi"}}}
    assert findings("request-missing", hpa(), workload("web", NO_CPU, pod=pod))
    assert not findings("request-missing", hpa(), workload("web", NO_CPU, container("b"), pod=pod))


def test_pod_level_request_does_not_help_a_container_metric():
    """ContainerResource uses only the container's request."""
    pod = {"resources": {"requests": {"cpu": "1"}}}
    assert findings("request-missing", hpa(metrics=[of_container("app")]), workload("web", NO_CPU, pod=pod))


def test_requests_of_zero_are_no_base():
    """A share of zero cannot be computed either."""
    (message,) = messages("request-missing", hpa(), workload("web", container(requests={"cpu": 0})))
    assert "add up to 0" in message


def test_rollout_with_the_pods_of_a_deployment():
    """A Rollout may refer to a Deployment for its template."""
    target = {"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout"}
    ref = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "lender"}
    rollout = thing("argoproj.io/v1alpha1", "Rollout", workloadRef=ref)
    assert findings("request-missing", hpa(target=target), rollout, workload("lender", NO_CPU))
    assert not findings("request-missing", hpa(target=target), rollout, workload("lender"))


def test_init_container_is_no_container_to_measure():
    """It has ended before anything is measured."""
    scaler = hpa(metrics=[of_container("prepare")])
    (message,) = messages("container-missing", scaler, workload(pod={"initContainers": [container("prepare")]}))
    assert "has ended" in message
    sidecar = {"initContainers": [container("prepare", restartPolicy="Always")]}
    assert not findings("container-missing", scaler, workload(pod=sidecar))


def test_refused_resource_of_a_container_is_reported_once():
    """What a kind's own rule refuses is not reported again."""
    report = check(hpa(metrics=[of_container("app", name="storage")]), workload())
    assert [one.rule for one in report.findings] == ["resource-name"]
    assert findings("resource-not-served", hpa(metrics=[of_container("app", name="ephemeral-storage")]))


def test_watermark_of_an_unserved_resource():
    """A WatermarkPodAutoscaler reads the same API."""
    metric = {"type": "Resource", "resource": {"name": "gpu", "metricSelector": {}, "highWatermark": 1}}
    assert findings("resource-not-served", wpa(metrics=[metric]))


@pytest.mark.parametrize(
    ("metric", "limits", "reached"),
    [
        (cpu(70), {"cpu": "500m"}, True),
        (cpu(91), {"cpu": "500m"}, False),
        (cpu(180), {"cpu": "1"}, True),
        (cpu(190), {"cpu": "1"}, False),
        (cpu(190), None, True),
        (memory(type="AverageValue", averageValue="480Mi"), {"memory": "512Mi"}, False),
        (memory(type="AverageValue", averageValue="400Mi"), {"memory": "512Mi"}, True),
        (of_container("app", type="AverageValue", averageValue="1"), {"cpu": "1"}, False),
    ],
)
def test_what_usage_can_reach(metric, limits, reached):
    """Usage stops at the limit, which must be above target and tolerance."""
    scaler = hpa(metrics=[metric])
    assert bool(findings("target-unreachable", scaler, workload("web", container(limits=limits)))) is not reached


def test_reach_is_that_of_the_whole_pod():
    """One container without a limit gives room for all."""
    tight, free = container(limits={"cpu": "500m"}), container("b")
    assert not findings("target-unreachable", hpa(metrics=[cpu(95)]), workload("web", tight, free))
    pod = {"resources": {"limits": {"cpu": "1"}}}
    assert findings("target-unreachable", hpa(metrics=[cpu(95)]), workload("web", tight, free, pod=pod))


def test_own_tolerance_decides_the_reach():
    """scaleUp.tolerance replaces the 10 % from the version on that keeps it."""
    scaler = hpa(metrics=[cpu(95)], behavior={"scaleUp": {"tolerance": "0.01"}})
    tight = workload("web", container(limits={"cpu": "500m"}))
    assert not findings("target-unreachable", scaler, tight)
    assert findings("target-unreachable", scaler, tight, kubernetes="1.34")


@pytest.mark.parametrize("name", ["istio-proxy", "linkerd-proxy", "daprd", "vault-agent"])
def test_container_that_a_mesh_injects_is_not_missing(name):
    """No template has it, and its policies and metrics work; a similar name is still missing."""

    def found(container_name):
        policy = {"containerPolicies": [{"containerName": container_name, "mode": "Off"}]}
        objects = hpa(metrics=[of_container(container_name)]), vpa(resourcePolicy=policy), workload("web")
        return {one.rule for one in check(*objects).findings} & {"container-missing", "policy-container-missing"}

    assert not found(name)
    assert found(f"{name}y") == {"container-missing", "policy-container-missing"}


def test_the_workload_is_named_with_its_place():
    """It may be in another file, far away in a repository."""
    (found,) = findings("request-missing", hpa(), workload("web", NO_CPU))
    assert [place.object for place in found.related] == ["Deployment shop/web"]
    (found,) = findings("container-missing", hpa(metrics=[of_container("api")]), workload("web"))
    assert [place.object for place in found.related] == ["Deployment shop/web"]
