"""Translates the pods, samples and rules of the vector files into what policies observe."""

from hypot.core.quantity import format_milli
from hypot.kinds.hpa.fields import ScalingRules
from hypot.kinds.metric_values import MetricValue
from hypot.policy.model.seen import Container, Owner, Pod, PodSample

NOW = 1_800_000_000.0
# The files write 1000000000 seconds ago for "set, infinitely long ago".
LONG_AGO = -1e12


def ago(seconds):
    """A time so many seconds before now; null is not set."""
    if seconds is None:
        return None
    return LONG_AGO if seconds == 1_000_000_000 else NOW - seconds


def hpa_pod(given, resource=""):
    ready = given.get("ready_condition")
    return Pod(
        name=given["name"],
        phase=given.get("phase", "Running"),
        deleted=given.get("deleted", False),
        ready=ready and ready["status"],
        ready_since=ready and ago(ready["last_transition_seconds_ago"]),
        started=ago(given.get("start_seconds_ago")),
        containers=tuple(_container(c, resource) for c in _running(given)),
        init_containers=tuple(
            _container(c, resource) for c in given.get("init_containers", ()) if c.get("restart_policy") != "Always"
        ),
        labels=given.get("labels", {}),
        pod_requests=given.get("pod_level_request_millis"),
    )


def _running(given):
    sidecars = [c for c in given.get("init_containers", ()) if c.get("restart_policy") == "Always"]
    return [*given.get("containers", ()), *sidecars]


def _container(given, resource):
    if "requests_millis_by_resource" in given:
        return Container(given["name"], given["requests_millis_by_resource"] or {})
    request = given.get("request_millis")
    return Container(given["name"], {} if request is None else {resource: request})


def samples(given, resource=""):
    return {metric["pod"]: _sample(metric, resource) for metric in given}


def _sample(given, resource):
    usage = [(c["name"], _usage(c, resource)) for c in given["containers"]]
    return PodSample(ago(given["timestamp_seconds_ago"]), given["window_seconds"], tuple(usage))


def _usage(given, resource):
    if "usage_millis_by_resource" in given:
        return given["usage_millis_by_resource"]
    amount = given["usage_millis"]
    return {} if amount is None else {resource: amount}


def values(given):
    return {v["pod"]: MetricValue(v["value_millis"]) for v in given}


def pace(rules):
    """Scaling rules in the notation of the files; null is not given."""
    if rules is None:
        return None
    policies = rules.get("policies")
    wire = {
        "stabilizationWindowSeconds": rules.get("stabilization_window_seconds"),
        "selectPolicy": rules.get("select_policy"),
        "tolerance": rules.get("tolerance"),
        "policies": policies and [_policy(p) for p in policies],
    }
    return ScalingRules.read({key: value for key, value in wire.items() if value is not None})


def _policy(given):
    return {"type": given["type"], "value": given["value"], "periodSeconds": given["period_seconds"]}


def wpa_pod(given):
    kind, age = given["start_time_kind"], given.get("start_age_seconds")
    started = {"unset": None, "go_zero_time": LONG_AGO}.get(kind, NOW - (age or 0))
    changed = given.get("ready_transition_age_seconds")
    return Pod(
        name=given["name"],
        phase=given["phase"],
        deleted=bool(given.get("being_deleted")),
        ready=given["ready_condition"],
        ready_since=None if changed is None else NOW - changed,
        started=started,
        labels=given.get("labels", {}),
        owners=tuple(Owner(owner["kind"], owner["name"]) for owner in given["owners"]),
    )


def band(metric):
    labels = metric.get("selector_match_labels")
    source = {"metricSelector": {"matchLabels": labels or {}}, **marks(metric)}
    key = "metricName" if metric["type"] == "External" else "name"
    return {"type": metric["type"], metric["type"].lower(): {key: metric["name"], **source}}


def marks(given):
    found = {"highWatermark": given.get("high_watermark_milli"), "lowWatermark": given.get("low_watermark_milli")}
    return {key: format_milli(value) for key, value in found.items() if value is not None}
