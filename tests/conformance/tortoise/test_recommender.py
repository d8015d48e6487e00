"""The recommender of the Tortoise, case by case: target utilizations by the plain formula, bounds of slots, and sizes.

What the percentile of usage says a pod needs, times the replicas, is what all pods together need.
"""

from dataclasses import replace
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from conformance.harness import each_case
from conformance.tortoise.cases import (
    Workload,
    amounts,
    brief_hpa,
    decided,
    horizontal,
    past,
    settings_of,
    time_of,
    tortoise,
    usual,
    written,
)
from hypot.kinds.tortoise.status import WEEKDAYS
from hypot.policy.model.current_size import CurrentSize
from hypot.policy.tortoise.edited_hpa import targets_in
from hypot.policy.tortoise.sizes import (
    SizedResource,
    bounds_of,
    counts_of,
    horizontal_size,
    vertical_size,
    with_requests,
)

NOW = 1_800_000_000.0
# The usage of a pod in the cases of slots.
SIZE = {"app": {"cpu": 1000, "memory": 2**30 * 1000}}
BY_CPU = {"app": {"cpu": "Horizontal", "memory": "Off"}}


@each_case("tortoise_recommender.json")
def test_tortoise_recommender(case):
    """Each recommendation is that of the original."""
    given, expect = case["given"], case["expect"]
    check = CHECKS.get(given["function"])
    if check is None:
        pytest.fail(f"unknown function {given['function']}")
    check(given, expect)


def targets(given, expect):
    """The targets of all Horizontal resources; a Vertical one has none here. Without new ones the targets stay."""
    containers = given["containers"]
    settings = settings_of(given["config"], target_update_interval=1.0)
    policies = {each["name"]: each["policy"] for each in containers}
    requests = {each["name"]: amounts(each["request"]) for each in containers}
    used = {each["name"]: usual(each["vpa_max_recommendation"]) for each in containers}
    hpa = brief_hpa(given["hpa"])
    seen = Workload(given.get("current_replicas", 10), requests, used).seen(NOW, hpa)
    _, after = decided(
        tortoise({}, policies=policies), seen, settings, past(policies, requests, NOW, settings, phase="Working")
    )
    found = {tuple(key.split("/")): percent for key, percent in after.tortoise.targets.items()}
    if expect.get("target_utilization") is None:
        assert found == {place: target.percent for place, target in targets_in(hpa).items()}
        return
    listed = {each["container"]: each for each in expect["target_utilization"]}
    wanted = {(name, r): listed.get(name, {}).get(f"{r}_percent") for name, r in horizontal(policies)}
    assert found == {place: percent for place, percent in wanted.items() if percent is not None}


def slots(given, expect):
    """The bounds of the slot of now; its least and its most each for the need that gave it before."""
    now, settings = time_of(given["now"]), settings_of(given["config"])
    lows, highs = (given.get(f"{which}_replicas_slots") or [] for which in ("min", "max"))
    zone = next((each["time_zone"] for each in lows if each.get("time_zone")), "Asia/Tokyo")
    settings = replace(settings, time_zone=zone, maximum_min_replicas=settings.maximum_max_replicas)
    assert expect["error"] is False, "every slot exists"
    busy = {("app", "cpu"): 70}
    seen = Workload(given["current_replicas"], SIZE, busy=busy).seen(now)
    for before, after, which, factor in (
        (lows, expect["min_replicas_slots"], "minReplicas", settings.min_replicas_multiplier),
        (highs, expect["max_replicas_slots"], "maxReplicas", settings.max_replicas_multiplier),
    ):
        place = next(i for i, (old, new) in enumerate(zip(before, after, strict=True)) if is_now(old, now, zone))
        needed = before[place]["replicas"] / factor
        known = past(BY_CPU, SIZE, now, settings, replicas=needed, phase="Working")
        decision, _ = decided(tortoise({}, policies=BY_CPU), seen, unheld(settings), known)
        assert decision.observed[which] == after[place]["replicas"]


def unheld(settings):
    """Pods have their maximum size: no maximum is held at the preferred count."""
    return replace(settings, maximum_cpu_request=SIZE["app"]["cpu"])


def is_now(slot, now, zone):
    local = datetime.fromtimestamp(now, ZoneInfo(zone))
    day = WEEKDAYS[local.isoweekday() % 7]
    return slot["from_hour"] <= local.hour < slot["to_hour"] and slot.get("weekday") in {None, day}


def sizes(given, expect):
    """The size of each container, as it is written."""
    settings = settings_of(given["config"])
    policies = {each["name"]: each["policy"] for each in given["containers"]}
    hpa = brief_hpa(given.get("hpa") or {})
    found = {each["name"]: sized(each, given, policies, settings, targets_in(hpa)) for each in given["containers"]}
    assert written(found) == written({each["container"]: usual(each) for each in expect["vertical_recommendation"]})


def sized(container, given, policies, settings, known):
    name, policy, requests = container["name"], container["policy"], usual(container["request"])
    used = usual(container.get("vpa_max_recommendation") or container.get("vpa_recommendation"))
    bounds = {f"{which}_allocated_resources": container.get(f"{which}_allocated") for which in ("min", "max")}
    written_bounds = {key: value for key, value in bounds.items() if value}
    spec = {"resource_policy": [{"container_name": name, **written_bounds}]} if written_bounds else {}
    owner = tortoise({"spec": spec}, policies=policies)
    count, counts = given["current_replicas"], counts_of(owner, settings)
    wanted = {}
    for resource, size in requests.items():
        place = (name, resource)
        target = known[place].percent if place in known else 100
        one = SizedResource(place, size, *bounds_of(owner, place, settings), used.get(resource), target=target)
        if policy[resource] == "Vertical":
            wanted[resource] = vertical_size(one, settings)
        elif policy[resource] == "Horizontal":
            one = one._replace(total=None if one.used is None else count * one.used)
            several = len(horizontal(policies)) > 1
            wanted[resource] = horizontal_size(one, count, counts, settings, several=several)
    return dict(with_requests(CurrentSize(name, requests, {}, {}), wanted, count, settings).requests)


CHECKS = {
    "update_hpa_target_utilization_recommendations": targets,
    "update_hpa_min_max_replicas_recommendations": slots,
    "update_vpa_recommendation": sizes,
}
