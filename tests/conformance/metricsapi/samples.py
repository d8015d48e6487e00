"""Samples of counters, the targets they belong to, and the values that are served."""

import json

from hypot.core.instant import show_time
from hypot.core.quantity import milli
from hypot.kinds.metric_rules import GARDENER
from hypot.kinds.metric_rules.read import rules_of
from hypot.kinds.metric_values import CUSTOM
from hypot.metricsapi.ages import Ages
from hypot.metricsapi.plan import plan_of
from hypot.metricsapi.serve.documents import resource_list
from hypot.metricsapi.serve.query import read_query
from hypot.metricsapi.serve.values import ServedValues, UnknownMetricError
from hypot.metricsapi.served_pods import PodAddresses, read_served_pod
from hypot.metricsapi.targets import ScrapeTargets
from unit.metricsapi.pods_world import AHEAD, add, only, pod, rule, scraped, targets_of

METRIC = "shoot:apiserver_request_total:sum"
COUNTER = {"counter": "apiserver_request_total", "names": [METRIC]}
CUSTOM_PATH = f"/apis/{CUSTOM}/v1beta2"


def ages(given):
    names = {"min_sample_gap": "least_gap", "max_sample_gap": "longest_gap", "max_sample_age": "oldest"}
    found = {ours: given.get(f"{theirs}_seconds") for theirs, ours in names.items()}
    return Ages()._replace(**{name: value for name, value in found.items() if value is not None})


def all_targets(given):
    """Targets with the samples of the case."""
    targets = targets_of(rule("shoot", COUNTER, pods={}))
    for each in given["pods"]:
        one = pod(each["name"], namespace=given["namespace"], uid=each["uid"], labels=each["labels"])
        (target,) = add(targets, one)
        for at, count in each["samples"]:
            target.sampled(scraped(at, count), ages(given))
    return targets


def answered(targets, path, given, **parameters):
    """The items that a client gets, or None for 404 NotFound."""
    values = ServedValues(targets, ages(given), lambda: given.get("now_seconds", 0))
    try:
        return json.loads(b"".join(values.answer(read_query(path, parameters))))["items"]
    except UnknownMetricError:
        return None


def rate(given, expect):
    targets = all_targets(
        {
            **given,
            "namespace": "ns",
            "pods": [
                {
                    "name": "p",
                    "uid": "",
                    "labels": {},
                    "samples": [(s["time_seconds"], s["total_request_count"]) for s in given["samples"]],
                }
            ],
        }
    )
    found = answered(targets, f"{CUSTOM_PATH}/namespaces/ns/pods/*/{given['metric']}", given)
    wanted = expect["value"]
    if wanted is None:
        assert found == []
        return
    (item,) = found
    assert milli(item["value"]) == wanted["value_milli"]
    assert item["windowSeconds"] == wanted["window_seconds"]
    assert item["timestamp"] == show_time(wanted["timestamp_seconds"] + AHEAD)


def same_item(item, wanted):
    wanted = {**wanted, "timestamp": show_time(wanted["timestamp_seconds"] + AHEAD)}
    del wanted["timestamp_seconds"]
    assert item == wanted


def get_by_name(given, expect):
    path = f"{CUSTOM_PATH}/namespaces/{given['namespace']}/pods/{given['pod']}/{METRIC}"
    found = answered(all_targets(given), path, given)
    # The peer finds nothing and no error.
    assert found is not None
    (item,) = found
    same_item(item, expect["value"])


def get_by_selector(given, expect):
    path = f"{CUSTOM_PATH}/namespaces/{given['namespace']}/pods/%2A/{METRIC}"
    found = answered(all_targets(given), path, given, labelSelector=given["selector"])
    assert len(found) == len(expect["items"])
    for item, wanted in zip(found, expect["items"], strict=True):
        same_item(item, wanted)


def list_all_metrics(_, expect):
    names = [
        name for one in targets_of(rule("shoot", COUNTER)).plan.rules for each in one.served for name in each.names
    ]
    listed = resource_list(CUSTOM, "v1beta2", names)["resources"]
    wanted = [(f"{each['resource']}/{each['metric']}", each["namespaced"]) for each in expect["metrics"]]
    assert [(each["name"], each["namespaced"]) for each in listed] == wanted


def registry(given, expect):
    """A target that is gone takes samples, but nobody can ask for them."""
    targets = targets_of(rule("shoot", COUNTER), pods=[pod()])
    target = only(targets)
    if given.get("pod_known") is False:
        targets.update((target.pod.namespace, target.pod.name), None, None)
    for each in given["samples"]:
        target.sampled(scraped(each["time_seconds"], each["total_request_count"]), ages(given))
    if "pod_exists" in expect:
        assert bool(len(targets)) == expect["pod_exists"]
        return
    (counter,) = target.samples
    for sample, wanted in ((counter.old, expect["old"]), (counter.new, expect["new"])):
        found = (None, 0) if sample is None else (sample.at, sample.value)
        assert found == (wanted["time_seconds"], wanted["count"])
    assert target.faults == expect["fault_count"]


def pod_is_relevant(given, expect):
    """An event is relevant if the pod is a target before or after it."""
    targets = ScrapeTargets(plan_of([rules_of(GARDENER)]))
    several = [given] if given["event"] == "create" else [given["old"], given["new"]]
    found = []
    for each in several:
        served = read_served_pod(
            {
                "metadata": {"name": "p", "namespace": given["namespace"], "uid": "u", "labels": each["labels"]},
                "status": {"phase": "Running", "podIP": each.get("ip", "192.168.22.21")},
            },
            PodAddresses(),
        )
        targets.update((given["namespace"], "p"), served, None)
        found.append(len(targets))
    assert any(found) == expect["relevant"]


CHECKS = {
    "rate": rate,
    "get_by_name": get_by_name,
    "get_by_selector": get_by_selector,
    "list_all_metrics": list_all_metrics,
    "registry": registry,
    "pod_is_relevant": pod_is_relevant,
}
