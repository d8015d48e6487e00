"""From metrics, pods and recommenders to a watermark proposal, case by case."""

import pytest

from conformance.harness import each_case
from conformance.worlds import NOW, band, marks, wpa_pod
from hypot.core.quantity import format_milli
from hypot.core.replicas.watermark import Side
from hypot.kinds.selector import read_selector
from hypot.kinds.wpa import WPA
from hypot.policy.horizontal.recommender import build_request
from hypot.policy.horizontal.wpa import recommend
from hypot.policy.horizontal.wpa_metrics import group_by_sample, owned_by, ready_pods
from hypot.policy.model.seen import Failure, Owner, PodSample, Reply, Scale, Seen, metric_key

SPEC_KEYS = {
    "algorithm": "algorithm",
    "replica_scaling_absolute_modulo": "replicaScalingAbsoluteModulo",
    "converge_towards_watermark": "convergeTowardsWatermark",
    "min_replicas": "minReplicas",
    "max_replicas": "maxReplicas",
    "readiness_delay_seconds": "readinessDelaySeconds",
    "min_available_replica_percentage": "minAvailableReplicaPercentage",
    "tolerate_zero": "tolerateZero",
}


@each_case("wpa_replica_calculator.json")
def test_wpa_replica_calculator(case):
    """Each calculation of the controller, done by the stages of a decision, gives the expected result."""
    given, expect = case["given"], case["expect"]
    check = CHECKS.get(given["function"])
    if check is None:
        pytest.fail(f"unknown function {given['function']}")
    check(given, expect)


def autoscaler(given):
    """The spec as in the case; defaults are not applied."""
    spec = {new: given["spec"][old] for old, new in SPEC_KEYS.items() if given["spec"].get(old)}
    spec["tolerance"] = format_milli(given["spec"].get("tolerance_milli") or 0)
    spec["scaleTargetRef"] = {"kind": "Deployment", "name": given["scale"]["name"]}
    metric, recommender = given.get("metric"), given["spec"].get("recommender")
    if metric:
        spec["metrics"] = [band(metric)]
    if recommender:
        spec["recommender"] = {
            "url": recommender["url"],
            "targetType": recommender["target_type"],
            "settings": recommender["settings"],
            **marks(recommender),
        }
    metadata = {"name": "test", "annotations": given.get("annotations") or {}}
    return WPA.from_dict({"metadata": metadata, "spec": spec})


def world(given, wpa):
    scale = given["scale"]
    selector = read_selector({"matchLabels": scale["selector"]})
    pods = tuple(pod for pod in map(wpa_pod, given["pods"]) if selector.matches(pod.labels))
    usage = {
        m["pod_name"]: PodSample(NOW, 60.0, (("main", m["usage_milli"]),), m["labels"])
        for m in given.get("pod_metrics", ())
    }
    found = {}
    if wpa.metrics and wpa.metrics[0].external:
        source = wpa.metrics[0].external
        found[metric_key(source.name, source.selector)] = tuple(given["external_metric_values_milli"])
    return Seen(
        now=NOW,
        scale=Scale(scale["spec_replicas"], scale["status_replicas"], "x=y"),
        pods=pods,
        pod_metrics=usage,
        external_metrics=found,
        reply=reply(given.get("recommender_reply")),
    )


def reply(given):
    if given is None:
        return None
    if given.get("error"):
        return Failure(given["error"])
    return Reply(
        given["replicas"],
        given["replicas_lower_bound"],
        given["replicas_upper_bound"],
        given["details"],
        given["observed_target_value"],
    )


def proposal(given, expect):
    wpa = autoscaler(given)
    seen = world(given, wpa)
    (reading,) = recommend(wpa, seen)
    if "error_contains" in expect or expect.get("error"):
        assert reading.proposal is None
        assert reading.error
        return
    assert reading.proposal == expect["replicas"]
    if "ready_replicas" in expect:
        assert reading.ready == expect["ready_replicas"]
        assert (reading.side == Side.ABOVE) == expect["is_above_high_watermark"]
        assert (reading.side == Side.BELOW) == expect["is_below_low_watermark"]
    if "utilization_milli" in expect:
        assert reading.value == expect["utilization_milli"]
    if expect.get("details"):
        assert reading.step.numbers["reason"] == expect["details"]
    if "request_sent" in expect:
        state = build_request(wpa, seen.scale, reading.ready)["state"]
        assert state["currentReplicas"] == expect["request_sent"]["current_replicas"]
        assert state["desiredReplicas"] == expect["request_sent"]["desired_replicas"]


def grouped(given, expect):
    pods = [wpa_pod(pod) for pod in given["pods"]]
    found = group_by_sample(
        pods,
        given["target_name"],
        given["pod_metric_values"],
        given["resource"],
        given["readiness_delay_seconds"],
        skip_owner_check=given["skip_owner_check"],
    )
    assert found.ready == expect["ready_pod_count"]
    assert found.ignored == set(expect["ignored_pods"])


def ready(given, expect):
    pods = [wpa_pod(pod) for pod in given["pods"]]
    found = ready_pods(
        pods,
        given["target_name"],
        NOW,
        given["readiness_delay_seconds"],
        skip_owner_check=given["skip_owner_check"],
    )
    assert found.ready == expect["ready_pods"]
    if "incorrect_target_pods" in expect:
        assert found.foreign == expect["incorrect_target_pods"]
    if expect.get("error") or expect.get("error_expected"):
        assert found.ready == 0


def owner(given, expect):
    owners = [Owner(o["kind"], o["name"]) for o in given["owners"]]
    assert owned_by(owners, given["target_name"]) == expect["matches"]


def skipped_owner_check(given, expect):
    wpa = WPA.from_dict({"metadata": {"name": "x", "annotations": given["annotations"]}, "spec": {}})
    assert wpa.skips_owner_check == expect["skip"]


CHECKS = {
    "GetResourceReplicas": proposal,
    "GetExternalMetricReplicas": proposal,
    "GetRecommenderReplicas": proposal,
    "groupPods": grouped,
    "getReadyPodsCount": ready,
    "checkOwnerRef": owner,
    "shouldSkipOwnerCheck": skipped_owner_check,
}
