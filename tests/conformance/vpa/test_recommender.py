"""The upstream recommender's own cases: amounts, estimators, samples, peaks, OOM kills, checkpoints, expiry."""

import asyncio

import numpy as np
import pytest

from conformance.harness import each_case
from conformance.vpa.usage_checks import AREA_CHECKS, NOW, OWNER, POD, USAGE_CHECKS, camel
from hypot.core import amount
from hypot.core.amount import CPU, MEMORY, RESOURCES
from hypot.core.instant import read_time
from hypot.core.quantity import Quantity
from hypot.core.usage import estimate
from hypot.core.usage.histogram import Bank
from hypot.core.usage.layout import CPU_LAYOUT, MEMORY_LAYOUT, Layout
from hypot.kinds.selector import parse_selector
from hypot.kinds.vpa import VPA
from hypot.kinds.vpa.fields import AUTO, OFF, policy_of
from hypot.kinds.vpa.knobs import MIB, Knobs, for_container
from hypot.policy.model.settings import Settings
from hypot.policy.model.state import Vertical
from hypot.policy.observe.read_pods import read_pod
from hypot.policy.usage.usage import Usage
from hypot.policy.usage.view import listed
from hypot.policy.vertical.fit import is_off
from hypot.policy.vertical.oom import last_oom
from hypot.policy.vertical.vpa import conditions_of
from hypot.run.store.usage_history import UsageHistory


@each_case("vpa_recommender.json")
def test_vpa_recommender(case):
    """Each part of the way from samples to a recommendation gives the expected result."""
    given, expect = case["given"], case["expect"]
    check = CHECKS.get(given["function"]) or AREA_CHECKS.get(case["area"])
    if check is None:
        pytest.fail(f"unknown function {given['function']}")
    check(given, expect)


# Amounts and rounding.


def resource_list(given, expect):
    assert amount.round_up(given["cpu_millicores"], given["round_cpu_millicores"]) == expect["cpu_millicores"]
    memory = amount.round_up(given["memory_bytes"], given["round_memory_bytes"])
    if not given["humanize_memory"]:
        assert memory == expect["memory_bytes"]
        return
    text = amount.humanize(memory)
    assert text == expect.get("memory_quantity", text)
    assert Quantity.parse(text).milli / 1000 == expect["memory_bytes"]


def humanized(given, expect):
    assert amount.humanize(given["bytes"]) == expect["text"]


def rounded(given, expect):
    """What upstream refuses is left unchanged."""
    assert amount.round_up(given["amount"], given["scale"]) == expect["amount"]
    assert (given["scale"] < 1) == expect["error"]


def from_cores(given, expect):
    assert amount.of_unit(CPU, given["cores"]) == expect["millicores"]


def to_cores(given, expect):
    assert amount.to_unit(CPU, given["millicores"]) == expect["cores"]


def from_bytes(given, expect):
    assert amount.of_unit(MEMORY, given["bytes"]) == expect["memory_amount_bytes"]


def to_bytes(given, expect):
    assert amount.to_unit(MEMORY, given["memory_amount_bytes"]) == expect["bytes"]


def scaled(given, expect):
    assert amount.scale(given["amount"], given["factor"]) == expect["amount"]


def cut(given, expect):
    assert amount.from_float(given["value"]) == expect["amount"]
    assert estimate.whole(np.array([given["value"]])).tolist() == [expect["amount"]]


# Estimators.


def assert_layout(layout, options, unit):
    written = (options[f"max_value_{unit}"], options[f"first_bucket_size_{unit}"], options["ratio"], options["epsilon"])
    assert Layout.exponential(*written).starts.tolist() == layout.starts.tolist()


def percentile_estimator(given, expect):
    for resource, unit, layout in ((CPU, "cores", CPU_LAYOUT), (MEMORY, "bytes", MEMORY_LAYOUT)):
        assert_layout(layout, given[f"{resource}_histogram_options"], unit)
        bank = Bank(layout)
        row = bank.new(given["half_life_seconds"] or float("inf"))
        for sample in given[f"{resource}_samples"]:
            bank.add(row, sample[f"value_{unit}"], sample["weight"])
        found = amount.of_unit(resource, bank.percentiles(row, [given[f"{resource}_percentile"]])[0])
        wanted = expect[f"{resource}_{unit}"]
        assert amount.to_unit(resource, found) == pytest.approx(wanted, rel=expect["max_relative_error"])


def bases(given):
    return {CPU: amount.of_unit(CPU, given["base_cpu_cores"]), MEMORY: int(given["base_memory_bytes"])}


def assert_amounts(found, expect):
    for resource, key in ((CPU, "cpu_cores"), (MEMORY, "memory_bytes")):
        if key in expect:
            assert amount.to_unit(resource, found[resource]) == pytest.approx(expect[key], rel=1e-12)
    assert found[CPU] == expect.get("cpu_amount_millicores", found[CPU])


def confidence_multiplier(given, expect):
    usage = Usage()
    row = usage.declare(OWNER, "app", Knobs(), NOW)
    number = usage.instance(row, POD)
    usage.observe([(number, 1000 * s["usage_cores"], None, s["time_unix_seconds"]) for s in given["cpu_samples"]])
    known = [usage.aggregates[name][row].item() for name in ("first", "last", "samples")]
    sure = estimate.confidence(*known, given["confidence_interval_seconds"])
    assert sure == pytest.approx(expect.get("confidence", sure))
    factor = estimate.widening(sure, given["multiplier"], given["exponent"])
    assert_amounts({r: estimate.with_confidence(base, factor) for r, base in bases(given).items()}, expect)


def margin_estimator(given, expect):
    found = {r: estimate.with_margin(base, given["margin_fraction"]) for r, base in bases(given).items()}
    assert_amounts(found, expect)


def constant(cpu, memory, least_cpu, least_memory):
    """All three figures of a recommender that always finds the same, without margin."""
    certain = float("inf")
    return {
        CPU: estimate.bounds(cpu, cpu, cpu, 0.0, certain, least_cpu),
        MEMORY: estimate.bounds(memory, memory, memory, 0.0, certain, least_memory),
    }


def min_resources_estimator(given, expect):
    base = bases(given)
    least = amount.of_unit(CPU, given["min_cpu_cores"]), int(given["min_memory_bytes"])
    figures = constant(base[CPU], base[MEMORY], *least)
    assert_amounts({resource: figures[resource][1] for resource in RESOURCES}, expect)


def recommended(given):
    count = len(given["containers"])
    least = [estimate.share(given["pod_min_cpu_millicores"], count)]
    least.append(estimate.share(given["pod_min_memory_mib"] * MIB, count))
    figures = constant(1000 * given["const_estimate_cpu_cores"], given["const_estimate_memory_bytes"], *least)
    controlled = given.get("controlled_resources", RESOURCES)
    return listed(dict.fromkeys(given["containers"], figures), dict.fromkeys(given["containers"], controlled))


def minimum(given, expect):
    found = {bounds.container: bounds.target for bounds in recommended(given)}
    assert found == {name: amounts(wanted) for name, wanted in expect["targets"].items()}


def amounts(wanted):
    return {CPU: wanted["cpu_millicores"], MEMORY: wanted["memory_bytes"]}


def controlled_resources(given, expect):
    for bounds in recommended(given):
        for field in (bounds.target, bounds.lower, bounds.upper):
            assert sorted(field) == sorted(expect["resources_present_in_target_lower_upper"])
            assert not set(expect["resources_absent"]).intersection(field)


def in_order(given, expect):
    grains = {CPU: given["round_cpu_millicores"], MEMORY: given["round_memory_bytes"]}
    wanted = {name: amounts(target) for name, target in given["targets"].items()}
    figures = {
        name: {resource: [amount.round_up(found, grains[resource])] * 3 for resource, found in target.items()}
        for name, target in wanted.items()
    }
    result = listed(figures, {})
    assert [bounds.container for bounds in result] == expect["container_order"]
    assert ({bounds.container: bounds.target for bounds in result} == wanted) == expect["targets_unchanged"]


# OOM kills.


def state(data):
    if data is None:
        return {}
    names = {"finished_at": "finishedAt", "started_at": "startedAt", "reason": "reason"}
    return {data["kind"]: {names[key]: value for key, value in data.items() if key in names}}


def pod_manifest(given, which):
    status = given[f"{which}_container_status"]
    shown = {
        "name": given["container"],
        "restartCount": status["restart_count"],
        "state": state(status["state"]),
        "lastState": state(status["last_state"]),
    }
    actual = given[f"{which}_status_memory_request_bytes"]
    if actual is not None:
        shown["resources"] = {"requests": {"memory": str(actual)}}
    asked = given[f"{which}_spec_memory_request_bytes"]
    spec = {"name": given["container"], "resources": {"requests": {"memory": str(asked)}}}
    return {"metadata": given["pod"], "spec": {"containers": [spec]}, "status": {"containerStatuses": [shown]}}


def assert_ooms(wanted, *shown):
    """The new OOM kills after these observations of a pod, and how much memory each container had or used."""
    pods = [read_pod(manifest) for manifest in shown]
    sizer = VPA("Deployment/web", namespace="shop")
    history, at = UsageHistory(Settings()), NOW
    key = history.declare(sizer, [container.name for container in pods[-1].containers], at)
    for pod in pods:
        news = asyncio.run(history.observe({}, {key: (pod,)}, at)).ooms
    assert news == len(wanted)
    reported = {container.name: last_oom(pods[-1], container) for container in pods[-1].containers}
    assert [reported[each["container"]] for each in wanted] == [
        (read_time(each["time"]), each["memory_bytes"]) for each in wanted
    ]


def oom_on_update(given, expect):
    wanted = [] if expect["oom"] is None else [expect["oom"]]
    assert_ooms(wanted, pod_manifest(given, "old"), pod_manifest(given, "new"))


def eviction(given, expect):
    """The pod reports the same as the event: the containers that used too much of the scarce resource."""
    notes = given["annotations"]
    keys = ("offending_containers", "offending_containers_usage", "starved_resource")
    names, used, starved = (notes[key].split(",") for key in keys)
    blamed = [
        f"Container {name} was using {usage}, request is 0, has larger consumption of memory. "
        for name, usage, resource in zip(names, used, starved, strict=False)
        if resource == MEMORY
    ]
    ended = {"type": "Ready", "status": "False", "lastTransitionTime": given["creation_timestamp"]}
    message = f"The node was low on resource: memory. {''.join(blamed)}"
    status = {"phase": "Failed", "reason": given["reason"], "message": message, "conditions": [ended]}
    spec = {"containers": [{"name": name} for name in names]}
    assert_ooms(expect["ooms"], {"metadata": {"name": given["involved_name"]}, "spec": spec, "status": status})


# Fields of an object.


def autoscaler(resource_policy, mode="Recreate"):
    spec = {"resourcePolicy": camel(resource_policy), "updatePolicy": {"updateMode": mode}}
    return VPA.from_dict({"spec": {key: value for key, value in spec.items() if value is not None}})


def own_policy(given):
    policy = given["container_policy"]
    written = None if policy is None else {"container_policies": [{**policy, "container_name": "app"}]}
    return autoscaler(written).resource_policy


def scaling_mode(given, expect):
    assert (OFF if is_off(own_policy(given), "app") else AUTO) == expect["scaling_mode"]


def policy_resources(given, expect):
    policy = policy_of(own_policy(given), "app")
    usage = Usage()
    number = usage.instance(usage.declare(OWNER, "app", Knobs(), NOW), POD)
    usage.observe([(number, 1000, 10**9, NOW)])
    written = None if policy is None else policy.controlled_resources
    controlled = {} if written is None else {"app": written}
    (bounds,) = usage.view(OWNER).estimate(Knobs(), ["app"], controlled)
    assert sorted(bounds.target) == sorted(expect["controlled_resources"])


def memory_interval(given, expect):
    knobs = for_container(Knobs(), policy_of(own_policy(given), "app"))
    assert knobs.memory_interval == expect["memory_aggregation_interval_seconds"]


def memory_interval_count(given, expect):
    knobs = for_container(Knobs(), policy_of(own_policy(given), "app"))
    assert knobs.memory_interval_count == expect["memory_aggregation_interval_count"]


def resource_policy(given, expect):
    policy = autoscaler(given["resource_policy"]).resource_policy
    off = {name: is_off(policy, name) for name in given["containers"]}
    assert {name: not is_off for name, is_off in off.items()} == expect["needs_recommendation"]
    assert {name: OFF if is_off else AUTO for name, is_off in off.items()} == expect["scaling_mode"]


def matching(given, expect):
    vpa = autoscaler(given["resource_policy"], given["update_mode"])
    matches = parse_selector(given["vpa_selector"]).matches(given["new_container_labels"])
    names = [*given["existing_aggregation_containers"], *([given["new_container"]] if matches else [])]
    assert {name: not is_off(vpa.resource_policy, name) for name in names} == expect["needs_recommendation"]
    assert (vpa.mode if matches else None) == expect["new_container_update_mode"]


def conditions(given, expect):
    reported = conditions_of(pods_matched=given["pods_matched"], recommended=given["has_recommendation"])
    assert [condition._asdict() for condition in reported] == expect["conditions"]
    assert not {condition.type for condition in reported} & set(expect["absent_condition_types"])


def last_recommendations(given, expect):
    before = {name: known for name, known in given["container_last_recommendations"].items() if known is not None}
    new = {each["container_name"]: each["target"] for each in given["new_recommendation"]}
    assert Vertical(advice=before).learnt(new).advice == expect["container_last_recommendations"]


CHECKS = {
    **USAGE_CHECKS,
    "resources_as_resource_list": resource_list,
    "humanize_memory_quantity": humanized,
    "round_up_to_scale": rounded,
    "cpu_amount_from_cores": from_cores,
    "cores_from_cpu_amount": to_cores,
    "memory_amount_from_bytes": from_bytes,
    "bytes_from_memory_amount": to_bytes,
    "scale_resource": scaled,
    "resource_amount_from_float": cut,
    "percentile_estimator": percentile_estimator,
    "confidence_multiplier": confidence_multiplier,
    "confidence_multiplier_with_custom_interval": confidence_multiplier,
    "confidence_multiplier_no_history": confidence_multiplier,
    "margin_estimator": margin_estimator,
    "min_resources_estimator": min_resources_estimator,
    "min_resources_applied": minimum,
    "min_resources_split_across_containers": minimum,
    "controlled_resources_filtered": controlled_resources,
    "controlled_resources_filtered_default": controlled_resources,
    "map_to_list_of_recommended_container_resources": in_order,
    "oom_observer_on_update": oom_on_update,
    "parse_eviction_event": eviction,
    "update_from_policy_scaling_mode": scaling_mode,
    "update_from_policy_controlled_resources": policy_resources,
    "update_from_policy_memory_aggregation_interval": memory_interval,
    "update_from_policy_memory_aggregation_interval_count": memory_interval_count,
    "set_resource_policy": resource_policy,
    "use_aggregation_if_matching": matching,
    "update_conditions": conditions,
    "update_recommendation": last_recommendations,
}
