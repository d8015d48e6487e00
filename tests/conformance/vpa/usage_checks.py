"""What observed samples leave in a `Usage`: checks for the upstream recommender's cases."""

import re
from contextlib import nullcontext

import pytest

from hypot.core.amount import CPU, MEMORY
from hypot.core.instant import read_time
from hypot.core.usage.histogram import Bank
from hypot.core.usage.layout import MEMORY_LAYOUT
from hypot.kinds.vpa.knobs import Knobs
from hypot.policy.usage.usage import Usage, contributes

OWNER, POD = ("namespace-1", "vpa-1"), "pod-1"
NOW = 1_500_000_000.0


def camel(data):
    """The same data with the keys of a manifest."""
    if isinstance(data, dict):
        return {re.sub("_([a-z])", lambda m: m[1].upper(), key): camel(value) for key, value in data.items()}
    return [camel(item) for item in data] if isinstance(data, list) else data


def by_container_name(given, expect):
    usage, at = Usage(), read_time(given["sample_time"])
    alone = Usage()
    for sample in given["samples"]:
        for bank, owner in ((usage, OWNER), (alone, sample["pod"])):
            row = bank.declare(owner, sample["container"], Knobs(), at)
            number = bank.instance(row, sample["pod"])
            bank.observe([(number, 1000 * sample["cpu_cores"], sample["memory_bytes"], at)])
    counts = {name: usage.aggregates["samples"][usage.aggregate(OWNER, name)] for name in expect["total_samples_count"]}
    assert counts == expect["total_samples_count"]
    row = usage.aggregate(OWNER, "app-A")
    pods = [pod["name"] for pod in given["pods"] if "app-A" in pod["containers"]]
    ends = {pod: alone.instances["window_end"][alone.instance(alone.aggregate(pod, "app-A"), pod)] for pod in pods}
    peaks = Bank(MEMORY_LAYOUT)
    peaks.new(Knobs().memory_half_life)
    for sample in expect["app-A_memory_histogram_equals_samples"]:
        pod = re.fullmatch("window end of (.*)/app-A", sample["time"])[1]
        peaks.add(0, sample["value_bytes"], sample["weight"], ends[pod])
    assert_same(usage.memory, row, peaks)
    merged = alone.cpu.copied(alone.aggregate(pods[0], "app-A"))
    for pod in pods[1:]:
        merged.merge(0, alone.aggregate(pod, "app-A"), alone.cpu)
    assert expect["app-A_cpu_histogram_equals_merge_of_both_containers"]
    assert_same(usage.cpu, row, merged)


def assert_same(bank, row, other):
    assert bank.weights[row].tolist() == pytest.approx(other.weights[0].tolist(), rel=1e-12, abs=1e-15)
    assert bank.total[row] == pytest.approx(other.total[0], rel=1e-12)
    assert (bank.first[row], bank.last[row]) == (other.first[0], other.last[0])
    assert bank.reference[row] == other.reference[0]


def saved(given, expect):
    usage = Usage()
    row = usage.declare(OWNER, "app", Knobs(), NOW)
    usage.aggregates["first"][row] = read_time(given["first_sample_start"])
    usage.aggregates["last"][row] = read_time(given["last_sample_start"])
    usage.aggregates["samples"][row] = given["total_samples_count"]
    for sample in given["cpu_samples"]:
        usage.cpu.add(row, sample["value_cores"], sample["weight"], read_time(sample["time"]))
    for sample in given["memory_samples"]:
        usage.memory.add(row, sample["value_bytes"], sample["weight"], read_time(sample["time"]))
    status = usage.save(OWNER, "app", NOW)
    assert status["version"] == expect["version"]
    assert status["firstSampleStart"] == expect["first_sample_start"]
    assert status["lastSampleStart"] == expect["last_sample_start"]
    assert status["totalSamplesCount"] == expect["total_samples_count"]
    assert len(status["cpuHistogram"]["bucketWeights"]) == expect["cpu_bucket_count"]
    assert len(status["memoryHistogram"]["bucketWeights"]) == expect["memory_bucket_count"]
    assert abs(read_time(status["lastUpdateTime"]) - NOW) <= expect["last_update_time_within_seconds_of_now"]


def loaded(given, expect):
    usage = Usage()
    row = usage.declare(OWNER, "app", Knobs(), NOW)
    with pytest.raises(ValueError, match="version") if expect["error"] else nullcontext():
        usage.load(OWNER, "app", camel(given["checkpoint"]))
    if expect["error"]:
        return
    assert usage.aggregates["first"][row] == read_time(expect["first_sample_start"])
    assert usage.aggregates["last"][row] == read_time(expect["last_sample_start"])
    assert usage.aggregates["samples"][row] == expect["total_samples_count"]
    assert usage.cpu.is_empty(row).item() == expect["cpu_is_empty"]
    assert usage.memory.is_empty(row).item() == expect["memory_is_empty"]


def expired(given, expect):
    usage = Usage()
    knobs = Knobs(
        memory_interval=given["memory_aggregation_interval_seconds"],
        memory_interval_count=given["memory_aggregation_interval_count"],
    )
    start = read_time(given.get("last_sample_start") or given["creation_time"])
    row = usage.declare(OWNER, "app", knobs, start)
    number = usage.instance(row, POD)
    usage.observe([(number, 1000, None, start)] * min(given["total_samples_count"], 1))
    for each in expect["is_expired_after_seconds"]:
        assert usage.is_expired(row, start + each["age_seconds"]) == each["expired"]


def dropped_peak(given, expect):
    usage = Usage()
    knobs = Knobs(memory_interval=given["memory_aggregation_interval_seconds"])
    number = usage.instance(usage.declare(OWNER, "app", knobs, 0.0), POD)
    sample = given["memory_sample"]
    usage.observe([(number, None, sample["usage_bytes"], sample["time_unix_seconds"])])
    for each in expect["checkpoint_at"]:
        weights = usage.save(OWNER, "app", each["now_unix_seconds"])["memoryHistogram"]["bucketWeights"]
        assert (not weights) == each["memory_histogram_empty"]


def collected(given, expect):
    usage = Usage()
    row = usage.declare(OWNER, "app", Knobs(), NOW)
    number = usage.instance(row, POD)
    usage.observe([(number, 1000, 10**9, NOW)] if given["has_sample"] else [])
    alive = {POD} if contributes(given["pod_phase"], given["controller_exists"]) else set()
    gone = usage.expire(NOW + given["age_seconds"], alive)
    assert ((OWNER, "app") not in gone) == expect["aggregate_state_kept"]


def collected_rarely(given, expect):
    usage = Usage(given["gc_period_seconds"])
    assert given["first_run_before_state_exists"]
    assert usage.expire(NOW) == ()
    number = usage.instance(usage.declare(OWNER, "app", Knobs(), NOW), POD)
    assert given["state_expired"]
    usage.observe([(number, 1000, None, NOW - 100 * 86400)])
    kept = [usage.expire(NOW + later) == () for later in given["later_runs_seconds_after_first"]]
    assert kept == expect["aggregate_state_kept_after_run"]


def observed(given, expect):
    start = read_time(given["start_time"])
    knobs = Knobs(
        oom_bump_up_ratio=given["oom_bump_up_ratio"],
        oom_min_bump_up=given["oom_min_bump_up_bytes"],
        memory_interval=given["memory_aggregation_interval_seconds"],
        memory_interval_count=given.get("memory_aggregation_interval_count", 8),
    )
    usage = Usage()
    row = usage.declare(OWNER, "app", knobs, start)
    number = usage.instance(row, POD)
    assert [happened(usage, number, event, start) for event in given["events"]] == expect["accepted"]
    for resource, unit, bank in ((CPU, "cores", usage.cpu), (MEMORY, "bytes", usage.memory)):
        if f"{resource}_histogram_calls" not in expect:
            continue
        wanted = Bank(bank.layout)
        wanted.new(bank.half_life[row])
        for call in expect[f"{resource}_histogram_calls"]:
            work = wanted.add if call["op"] == "add" else wanted.subtract
            work(0, call[f"value_{unit}"], call["weight"], start + call["offset_seconds"])
        assert_same(bank, row, wanted)


def happened(usage, number, event, start):
    at = start + event["offset_seconds"]
    if event["op"] == "record_oom":
        return usage.oom(number, at, event["requested_memory_bytes"])
    folded = usage.observe([(number, event.get("usage_millicores"), event.get("usage_bytes"), at)])
    return getattr(folded, event["resource"]).tolist() == [True]


USAGE_CHECKS = {
    "aggregate_state_by_container_name": by_container_name,
    "aggregate_container_state_save_to_checkpoint": saved,
    "aggregate_container_state_load_from_checkpoint_fails_for_version_mismatch": loaded,
    "aggregate_container_state_load_from_checkpoint": loaded,
    "aggregate_container_state_is_expired": expired,
    "aggregate_container_state_is_expired_with_custom_interval_count": expired,
    "merge_container_state_for_checkpoint_drops_recent_memory_peak": dropped_peak,
    "cluster_gc_rate_limiting": collected_rarely,
}
# These cases differ in what happens, not in how it is checked.
AREA_CHECKS = {"container_state": observed, "garbage_collection": collected}
