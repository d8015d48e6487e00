"""The HPA that a Tortoise makes and edits, case by case: bounds, targets, metrics, and whether it gets its metrics."""

from dataclasses import replace

import pytest

from conformance.harness import each_case
from conformance.tortoise.cases import (
    NOW,
    Workload,
    changed_at,
    decided,
    horizontal,
    hpa,
    past,
    policies_in,
    settings_of,
    since_of,
    time_of,
    tortoise,
)
from hypot.kinds.tortoise.status import TARGET_UPDATED
from hypot.policy.tortoise.edited_hpa import edited, targets_in
from hypot.policy.tortoise.phases import is_healthy

CORE, GIB = 1000, 2**30


@each_case("tortoise_hpa.json")
def test_tortoise_hpa(case):
    """The HPA, or its health, is that of the original."""
    given, expect = case["given"], case["expect"]
    check = CHECKS.get(given["function"])
    if check is None:
        pytest.fail(f"unknown function {given['function']}")
    check(given, expect)


def applied(given, expect):
    """The HPA that is written: its least and its most each for the need that gives it."""
    assert expect.get("error", False) is False
    high = decided_hpa(given, "max")
    # In an emergency the least is the most.
    low = high if given["tortoise"]["status"].get("tortoise_phase") == "Emergency" else decided_hpa(given, "min")
    found = {**spec_of(high), "minReplicas": low.min_replicas}
    wanted = spec_of(hpa({"spec": expect["hpa_spec"]}))
    if "behavior" not in wanted:
        # The cases of this version leave the behavior out.
        found.pop("behavior", None)
    assert found == wanted


def decided_hpa(given, which):
    now = time_of(given.get("now") or NOW)
    status = given["tortoise"]["status"]
    there = hpa(given.get("initial_hpa") or given["hpa"])
    policies = policies_in(status) or {place[0]: {} for place in targets_in(there)}
    if not policies_in(status):
        for container, resource in targets_in(there):
            policies[container][resource] = "Horizontal"
    requests = {name: {"cpu": CORE, "memory": GIB * 1000} for name in policies}
    # Pods have their maximum size: no maximum is held at the preferred count.
    settings = settings_of(given.get("config"), maximum_cpu_request=CORE, maximum_memory_request=GIB)
    settings = replace(settings, slot_hours=24, slot_period="daily", maximum_max_replicas=most(settings, given))
    factor = settings.min_replicas_multiplier if which == "min" else settings.max_replicas_multiplier
    slots = status["recommendations"]["horizontal"][f"{which}_replicas"]
    phase = status.get("tortoise_phase") or "Working"
    wanted, current = recommended(status), {place: target.percent for place, target in targets_in(there).items()}
    waits = phase in {"Emergency", "BackToNormal"}
    known = past(
        policies,
        requests,
        now,
        settings,
        replicas=slots[0]["replicas"] / factor,
        gathering=since_of(status.get("container_resource_phases"), now),
        targets={"/".join(place): percent for place, percent in (wanted if waits else current).items()},
        retargeted=changed_at(status, TARGET_UPDATED),
        phase=phase,
        low=there.min_replicas,
    )
    used = {} if waits else usage_for(wanted, current, requests)
    mode = given["tortoise"].get("spec", {}).get("update_mode") or ("Emergency" if phase == "Emergency" else "Auto")
    # The minimum falls only while it is known what is needed: little, in these cases.
    busy = dict.fromkeys(wanted, 1) if phase == "BackToNormal" else {}
    seen = Workload(4, requests, used, busy).seen(now, there)
    decision, _ = decided(tortoise(given["tortoise"], policies=policies, mode=mode), seen, settings, known)
    return there if decision.dry_run else decision.hpa.after


def most(settings, given):
    """The cases of the first version have no administrator's maximum."""
    return settings.maximum_max_replicas if given.get("config") else 10_000


def recommended(status):
    listed = status["recommendations"]["horizontal"]["target_utilizations"]
    return {
        (each["container_name"], key.removesuffix("_percent")): percent
        for each in listed
        for key, percent in each["target_utilization"].items()
    }


def usage_for(wanted, current, requests):
    """The usage from which the plain formula gives the targets of the case."""
    found = {name: {} for name in requests}
    for (name, resource), percent in wanted.items():
        if (name, resource) in current:
            upper = 100 - percent + current[name, resource]
            found[name][resource] = upper * (CORE if resource == "cpu" else GIB) // 100
    return found


def spec_of(written):
    """The spec of an HPA; absent and empty fields are the same."""
    return {key: value for key, value in written.to_dict().get("spec", {}).items() if value not in ([], {}, None)}


def made(given, expect):
    """The HPA that is made, or the one that is there."""
    now, policies = time_of(NOW), policies_in(given["tortoise"]["status"])
    there = hpa(given.get("initial_hpa"))
    requests = {name: {"cpu": CORE, "memory": GIB * 1000} for name in policies}
    seen = Workload(given["current_replicas"], requests).seen(now, there)
    decision, _ = decided(tortoise(given["tortoise"], policies=policies), seen, settings_of(given["config"]))
    found = there if decision.hpa is None else decision.hpa.after
    wanted = hpa(expect["hpa"])
    assert (found.name, found.namespace, spec_of(found)) == (wanted.name, wanted.namespace, spec_of(wanted))


def synced(given, expect):
    """The metrics follow the policies; the bounds stay in these cases."""
    policies = policies_in(given["tortoise"]["status"])
    there = hpa(given["initial_hpa"])
    scaled = horizontal(policies)
    if not scaled:
        requests = {name: {"cpu": CORE, "memory": GIB * 1000} for name in policies}
        seen = Workload(4, requests).seen(time_of(NOW), there)
        decision, _ = decided(tortoise(given["tortoise"], policies=policies), seen, settings_of({}))
        assert (decision.hpa is not None and decision.hpa.deletes) is expect["hpa_removed"]
        assert expect["hpa_removed"] or expect["hpa"] == given["initial_hpa"]
        return
    found = edited(there, there.min_replicas, there.max_replicas, {}, scaled, None)
    assert expect["hpa_removed"] is False
    assert spec_of(found) == spec_of(hpa(expect["hpa"]))


def healthy(given, expect):
    policies, grace = policies_in(given["tortoise"]["status"]), settings_of(given["config"]).emergency_grace_period
    now = time_of(given.get("now") or NOW)
    found = not horizontal(policies) or is_healthy(hpa(given.get("hpa")), now, grace)
    assert found is expect["available"]


CHECKS = {
    "update_hpa_from_tortoise_recommendation": applied,
    "hpa_mutating_webhook_on_create": applied,
    "initialize_hpa": made,
    "update_hpa_spec_from_tortoise_autoscaling_policy": synced,
    "is_hpa_metric_available": healthy,
}
