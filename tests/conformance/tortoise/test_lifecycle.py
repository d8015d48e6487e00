"""The life of a Tortoise, case by case: slots, phases, policies in force, usage, new requests and failures."""

from dataclasses import replace

import pytest

from conformance.harness import each_case
from conformance.tortoise.cases import (
    NOW,
    Workload,
    amounts,
    changed_at,
    decided,
    expected_phases,
    horizontal,
    hpa,
    past,
    phases_of,
    policies_in,
    settings_of,
    since_of,
    time_of,
    tortoise,
    usual,
    wire,
    written,
)
from hypot.core.amount import RESOURCES, of_milli
from hypot.kinds.tortoise.status import FAILED, SIZES_UPDATED, WORKING
from hypot.kinds.vpa.fields import amounts_of
from hypot.policy.model.current_size import CurrentSize
from hypot.policy.model.decision import condition_of
from hypot.policy.model.seen import Failure
from hypot.policy.model.state import Vertical, read_conditions
from hypot.policy.tortoise.phases import overall, phase_after
from hypot.policy.tortoise.policies import in_force

CORE, GIB = 1000, 2**30
AT = time_of(NOW)


@each_case("tortoise_lifecycle.json")
def test_tortoise_lifecycle(case):
    """Each step of its life is that of the original; times of conditions are not compared."""
    given, expect = case["given"], case["expect"]
    check = CHECKS.get(given["function"])
    if check is None:
        pytest.fail(f"unknown function {given['function']}")
    check(given, expect)


def requests_for(policies):
    return {name: {"cpu": CORE, "memory": GIB * 1000} for name in policies}


def begun(given, expect):
    """The first decision: the layout of slots, and phases that gather."""
    status = given["tortoise"].get("status")
    policies = policies_in(status) or {"app": {"cpu": "Horizontal", "memory": "Vertical"}}
    settings = settings_of({key: given[key] for key in SLOTS if key in given})
    seen = Workload(3, requests_for(policies)).seen(AT)
    decision, _ = decided(tortoise(given["tortoise"], policies=policies), seen, settings)
    wanted = expect["tortoise"]["status"]
    for which in ("minReplicas", "maxReplicas"):
        key = "min_replicas" if which == "minReplicas" else "max_replicas"
        listed = [
            {"timezone": settings.time_zone, **wire({k: v for k, v in each.items() if k != "updated_at"})}
            for each in wanted["recommendations"]["horizontal"][key]
        ]
        assert decision.observed["recommendations"]["horizontal"][which] == listed
    if given.get("version") != "seed":
        assert decision.observed["tortoisePhase"] == wanted["tortoise_phase"]
        assert phases_of(decision.observed) == expected_phases(wanted)


SLOTS = ("slot_hours", "gathering_data_period_type", "time_zone")


def observed_usage(given, expect):
    """What is shown as the recommendation of a VPA: the percentile of usage."""
    listed = given["vpa"]["status"]["recommendation"]["container_recommendations"]
    used = {each["container_name"]: usual(each["target"]) for each in listed}
    wanted = expect["tortoise"]["status"]["conditions"]["container_recommendation_from_vpa"]
    policies = {each["container_name"]: dict.fromkeys(RESOURCES, "Vertical") for each in wanted}
    seen = Workload(3, requests_for(policies), used).seen(AT)
    decision, _ = decided(tortoise({}, policies=policies), seen, settings_of({}))
    found = {
        each["containerName"]: [quantities(each[part]) for part in ("recommendation", "maxRecommendation")]
        for each in decision.observed["conditions"]["containerRecommendationFromVPA"]
    }
    parts = ("recommendation", "max_recommendation")
    assert found == {each["container_name"]: [usual(each[part]) for part in parts] for each in wanted}


def quantities(reported):
    return amounts_of({resource: each["quantity"] for resource, each in reported.items()})


def gathered(given, expect):
    """Phases by how long each resource is observed; empty slots do not matter."""
    status, now = given["tortoise"]["status"], time_of(given["now"])
    before = expected_phases(status)
    # A resource with a phase is scaled by replicas, unless a policy says otherwise: only for these time counts.
    policies = policies_in(status) or {
        name: {r: "Off" if phase == "Off" else "Horizontal" for r, phase in each.items()}
        for name, each in before.items()
    }
    settings = settings_of({key: given[key] for key in SLOTS if key in given})
    requests = requests_for(policies)
    used = {
        name: {r: 1 for r in each if before[name][r] == WORKING and each[r] == "Vertical"}
        for name, each in policies.items()
    }
    since = since_of(status["container_resource_phases"], now)
    known = past(policies, requests, now, settings, gathering=since, phase=status["tortoise_phase"])
    seen = Workload(3, requests, used).seen(now, hpa({"metadata": {"name": "hpa"}, "spec": {}}))
    decision, _ = decided(tortoise({}, policies=policies), seen, settings, known)
    wanted = expect["tortoise"]["status"]
    assert phases_of(decision.observed) == expected_phases(wanted)
    assert decision.observed["tortoisePhase"] == wanted["tortoise_phase"]


def sized(given, expect):
    """Vertical resources work as soon as their usage is known."""
    status = given["tortoise"]["status"]
    policies = policies_in(status)
    requests = requests_for(policies)
    used = {name: {"cpu": CORE, "memory": GIB} for name in policies}
    settings = settings_of({})
    known = past(policies, requests, AT, settings, gathering=since_of(status["container_resource_phases"], AT))
    seen = Workload(3, requests, used).seen(AT, hpa({"metadata": {"name": "hpa"}, "spec": {}}))
    decision, _ = decided(tortoise({}, policies=policies), seen, settings, known)
    wanted = expect["tortoise"]["status"]
    assert phases_of(decision.observed) == expected_phases(wanted)
    assert decision.observed["tortoisePhase"] == wanted.get("tortoise_phase", "PartlyWorking")


def policies(given, expect):
    """The policies in force; those in the status before do not matter."""
    status = given["tortoise"]["status"]
    listed = status["conditions"]["container_resource_requests"]
    sizes = [CurrentSize(each["container_name"], usual(each["resource"]), {}, {}) for each in listed]
    found = in_force(tortoise(given["tortoise"], policies={}), sizes, hpa(given.get("hpa")))
    assert found == policies_in(expect["tortoise"]["status"])


def requested(given, expect):
    """The new requests. All that is scaled is Vertical here, so that usage says what is recommended."""
    status, now = given["tortoise"]["status"], time_of(given["now"])
    advised = {
        each["container_name"]: {r: amount for r, amount in usual(each["recommended_resource"]).items() if amount}
        for each in status["recommendations"]["vertical"]["container_resource_recommendation"]
    }
    words = {
        name: {r: "Off" if word == "Off" else "Vertical" for r, word in each.items()}
        for name, each in policies_in(status).items()
    }
    had = requests_in(status) or {name: {"cpu": CORE, "memory": GIB * 1000} for name in advised}
    last = changed_at(status, SIZES_UPDATED)
    seen = Workload(given["replicas"], had, advised).seen(now)
    decision, _ = decided(
        tortoise(given["tortoise"], policies=words), seen, settings_of({}), vertical=Vertical(last_down=last)
    )
    found = decision.sizes if decision.dry_run else decision.desired_sizes
    wanted = requests_in(expect["tortoise"]["status"]) or had
    in_bytes = {name: {r: of_milli(r, amount) for r, amount in each.items()} for name, each in wanted.items()}
    assert {size.container: dict(size.requests) for size in found} == written(in_bytes)


def requests_in(status):
    listed = status["conditions"].get("container_resource_requests") or ()
    return {each["container_name"]: amounts(each["resource"]) for each in listed}


def unhealthy(given, expect):
    """An HPA without metrics is an emergency of a Tortoise in mode Auto."""
    status = given["tortoise"]["status"]
    before = status["tortoise_phase"]
    scales = not status.get("autoscaling_policy") or bool(horizontal(policies_in(status)))
    mode = given["tortoise"]["spec"]["update_mode"]
    found = phase_after(before, before, mode, scales=scales, healthy=given["scaling_active"], reached=True)
    assert found == expect["tortoise"]["status"]["tortoise_phase"]


def next_phase(given, expect):
    """The phase by the mode. A Tortoise that names no HPA scales nothing by replicas in these cases."""
    spec, before = given["tortoise"]["spec"], given["tortoise"]["status"]["tortoise_phase"]
    scales = bool(spec["target_refs"].get("horizontal_pod_autoscaler_name"))
    usual_phase = {"PartlyWorking": "PartlyWorking", "Initializing": overall(["GatheringData"])}.get(before, WORKING)
    if not before:
        words = {"app": {"cpu": "Horizontal", "memory": "Vertical"}}
        own = {"metadata": given["tortoise"]["metadata"], "spec": {"update_mode": "Auto"}}
        decision, _ = decided(tortoise(own, policies=words), Workload(3, requests_for(words)).seen(AT), settings_of({}))
        assert decision.observed["tortoisePhase"] == expect["phase"]
        return
    found = phase_after(before, usual_phase, spec["update_mode"], scales=scales, healthy=True, reached=True)
    assert found == expect["phase"]


def failure(given, expect):
    """The condition that says whether it failed; a reason is never empty here."""
    (wanted,) = expect["tortoise"]["status"]["conditions"]["tortoise_conditions"]
    before = given["tortoise"]["status"]["conditions"].get("tortoise_conditions")
    words = {"app": {"cpu": "Horizontal", "memory": "Vertical"}}
    seen = Workload(3, requests_for(words)).seen(time_of(given["now"]))
    if given.get("error_message"):
        seen = replace(seen, scale=Failure(given["error_message"]))
    known = read_conditions([wire(each) for each in before or ()])
    decision, _ = decided(tortoise({}, policies=words), seen, settings_of({}), conditions=known)
    found = condition_of(decision.report.conditions, FAILED)
    assert (found.status, found.since) == (wanted["status"], time_of(wanted["last_transition_time"]))
    assert wanted["status"] == "False" or found.reason == wanted["reason"]


CHECKS = {
    "initialize_tortoise": begun,
    "update_container_recommendation_from_vpa": observed_usage,
    "change_phase_if_finished_gathering_data": gathered,
    "set_all_vertical_container_resource_phase_working": sized,
    "update_autoscaling_policy_in_status": policies,
    "update_resource_request": requested,
    "update_phase_if_hpa_is_unhealthy": unhealthy,
    "update_tortoise_phase": next_phase,
    "record_reconciliation_failure": failure,
}
