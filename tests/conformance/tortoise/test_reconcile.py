"""Whole reconciles of the Tortoise, case by case: phase, policies, requests, and the HPA that is written.

The count of the Deployment becomes pods that are as busy as their targets ask for. The objects that only the original
has, conditions and times are not compared.
"""

import pytest

from conformance.harness import each_case
from conformance.tortoise.cases import (
    LONG,
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
    written,
)
from hypot.core.amount import of_milli
from hypot.core.quantity import milli
from hypot.kinds.tortoise.status import SIZES_UPDATED, TARGET_UPDATED
from hypot.policy.model.state import Vertical
from hypot.policy.tortoise.edited_hpa import FIRST_TARGET, targets_in


@each_case("tortoise_reconcile.json")
def test_tortoise_reconcile(case):
    """What a reconcile leaves behind is that of the original."""
    given, expect = case["given"], case["expect"]
    if given["function"] != "reconcile_once":
        pytest.fail(f"unknown function {given['function']}")
    decision, there, policies = reconciled(given)
    found, wanted = decision.observed, expect["tortoise"]["status"]
    assert policies_in_force(found) == only(policies_in(wanted), policies)
    assert phases_of(found) == only(expected_phases(wanted), policies)
    assert found["tortoisePhase"] == wanted["tortoise_phase"]
    assert sizes_of(decision) == written(requests_in(wanted["conditions"]))
    after = there if decision.dry_run or decision.hpa is None else decision.hpa.after
    assert shape(after) == shape(hpa(expect["hpa"]))


def reconciled(given):
    """The decision, the HPA before it, and the containers."""
    config, status, now = given["config"], given["tortoise"]["status"], time_of(given["now"])
    settings = settings_of(config["hpa"], config["recommender"], {**config["tortoise"], "time_zone": "UTC"})
    made = tortoise(given["tortoise"], policies=written_policies(given["tortoise"]))
    there = hpa(given["hpa"])
    requests = requests_of(given["deployment"]["spec"]["template"], config)
    if made.mode != "Off":
        requests |= milli_requests(status["conditions"])
    listed = given["vpa"]["status"]["recommendation"]["container_recommendations"]
    used = {each["container_name"]: usual(each["target"]) for each in listed}
    known = known_before(status, requests, now, settings, there)
    in_force = policies_in(given["tortoise"]["spec"]) or policies_in(status)
    replicas = given["deployment"]["spec"].get("replicas") or 1
    seen = Workload(replicas, requests, used, busy(in_force, requests, used, there)).seen(now, there)
    sized = Vertical(last_down=changed_at(status, SIZES_UPDATED))
    decision, _ = decided(made, seen, settings, known, sized)
    return decision, there, requests


def requests_of(template, config):
    """The requests of the pods. An injected sidecar has those that the annotations say, and hypot sees it there."""
    listed = [each for each in template["spec"]["containers"] if each.get("resources")]
    found = {each["name"]: amounts(each["resources"]["requests"]) for each in listed}
    notes = template["metadata"].get("annotations") or {}
    if notes.get("sidecar.istio.io/inject") == "true":
        usual_size = amounts(
            {key.removeprefix("istio_sidecar_default_"): amount for key, amount in config.items() if "istio" in key}
        )
        written_size = {r: notes.get(f"sidecar.istio.io/proxy{word}") for r, word in WORDS.items()}
        found["istio-proxy"] = usual_size | {r: milli(text) for r, text in written_size.items() if text}
    return found


WORDS = {"cpu": "CPU", "memory": "Memory"}


def known_before(status, requests, now, settings, there):
    """What was learned; nothing if replicas followed nothing. While a slot is empty, all begins now."""
    policies, highest = policies_in(status), slot_of(status, "max")
    if not horizontal(policies):
        return None
    return past(
        policies,
        requests,
        now,
        settings,
        replicas=highest / settings.max_replicas_multiplier,
        gathering=since_of(status["container_resource_phases"], now - LONG if highest else now),
        phase=status["tortoise_phase"],
        low=0 if there is None else there.min_replicas,
        retargeted=changed_at(status, TARGET_UPDATED),
        targets=recommended(status) if status["tortoise_phase"] in WAITING else {},
    )


def busy(policies, requests, used, there):
    """How busy each place is: the one that moves the count is at its target, the others use what they need."""
    targets = {} if there is None else {place: target.percent for place, target in targets_in(there).items()}
    places = {place: targets.get(place, FIRST_TARGET) for place in horizontal(policies) if place[0] in requests}
    shares = {(name, r): 100 * used[name][r] // of_milli(r, requests[name][r]) for name, r in places}
    first = max(places, key=lambda place: shares[place] / places[place], default=None)
    return {place: target if place == first else min(shares[place], target) for place, target in places.items()}


WAITING = ("Emergency", "BackToNormal")


def written_policies(given):
    """The policies that the controller keeps in the status, unless an HPA that is named says them."""
    named = given["spec"]["target_refs"].get("horizontal_pod_autoscaler_name")
    return {} if named else policies_in(given["status"])


def slot_of(status, which):
    return status["recommendations"]["horizontal"][f"{which}_replicas"][0]["replicas"]


def recommended(status):
    listed = status["recommendations"]["horizontal"]["target_utilizations"]
    return {
        f"{each['container_name']}/{key.removesuffix('_percent')}": percent
        for each in listed
        for key, percent in (each.get("target_utilization") or {}).items()
    }


def milli_requests(conditions):
    listed = conditions.get("container_resource_requests") or ()
    return {each["container_name"]: amounts(each["resource"]) for each in listed}


def requests_in(conditions):
    return {
        name: {r: of_milli(r, amount) for r, amount in each.items()}
        for name, each in milli_requests(conditions).items()
    }


def policies_in_force(status):
    return {each["containerName"]: each["policy"] for each in status["autoscalingPolicy"]}


def only(table, names):
    return {name: each for name, each in table.items() if name in names}


def sizes_of(decision):
    found = decision.sizes if decision.dry_run else decision.desired_sizes
    return {size.container: dict(size.requests) for size in found}


def shape(made):
    """The bounds and metrics of an HPA; None if there is none."""
    if made is None:
        return None
    targets = {place: target.percent for place, target in targets_in(made).items()}
    others = [metric.external.metric.name for metric in made.metrics or () if metric.type == "External"]
    return made.min_replicas, made.max_replicas, targets, others
