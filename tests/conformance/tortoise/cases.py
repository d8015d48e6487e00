"""Translates the cases of the Tortoise into objects, settings, past and surroundings of a decision.

A slot of the original has two numbers of replicas; here it has a need, from which both bounds follow. So what a case
says about a slot becomes the need of so many replicas, and what it says about the count becomes usage at its target.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from types import MappingProxyType
from typing import NamedTuple

from hypot.core.amount import MEMORY, RESOURCES, of_milli
from hypot.kinds.hpa import HPA
from hypot.kinds.tortoise import Tortoise
from hypot.kinds.tortoise.settings import PLAIN_FORMULA, TortoiseSettings
from hypot.policy.decide import decide
from hypot.policy.model.learned import Learned
from hypot.policy.model.seen import Bounds, Container, Pod, PodSample, Recommendation, Scale, Seen
from hypot.policy.model.settings import Settings
from hypot.policy.model.state import EMPTY, State, Vertical
from hypot.policy.model.tortoise_state import TortoiseState, key_of
from hypot.policy.tortoise.tuning import layout_of

MIB = 1024**2
LONG = 60 * 86400.0
NOW = "2024-01-10T12:00:00Z"
# What a case does not set does not bind.
UNBOUND = TortoiseSettings(
    target_rule=PLAIN_FORMULA,
    minimum_target_utilization=1,
    target_max_increase=100,
    minimum_cpu_request=0,
    minimum_memory_request=0,
    vertical_buffer=0.0,
    max_scaling_down_ratio=0.0,
    shrinks_per_day=24,
)
# The key of a case, without its unit -> the setting, if that has another name.
RENAMED = {
    "max_replicas_factor": "max_replicas_multiplier",
    "min_replicas_factor": "min_replicas_multiplier",
    "upper_target_utilization": "maximum_target_utilization",
    "preferred_replica_num_at_peak": "preferred_max_replicas",
    "max_allowed_scaling_down_ratio": "max_scaling_down_ratio",
    "buffer_ratio_on_vertical_resource": "vertical_buffer",
    "hpa_target_utilization_max_increase": "target_max_increase",
    "hpa_target_utilization_update_interval": "target_update_interval",
    "emergency_mode_grace_period": "emergency_grace_period",
    "gathering_data_period_type": "slot_period",
}
WIRE = {"from_hour": "from", "to_hour": "to", "time_zone": "timezone", "replicas": "value"}
UNIT = re.compile(r"_(percent_points|percent|millicores|millibytes|seconds)$")
WRITTEN_UNIT = re.compile(r"_(percent|millicores|millibytes)$")


def time_of(text):
    return datetime.fromisoformat(text).timestamp()


def camel(key):
    return re.sub(r"_([a-z])", lambda match: match[1].upper(), key)


def wire(value):
    """A manifest in its own words: keys in camel case, and amounts as quantities."""
    if isinstance(value, list):
        return [wire(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {_key(key): _amount(key, inner) for key, inner in value.items() if inner is not None}


def _key(key):
    return camel(WRITTEN_UNIT.sub("", WIRE.get(key, key)))


def _amount(key, value):
    if key.endswith("_millicores"):
        return f"{value}m"
    return str(value // 1000) if key.endswith("_millibytes") else wire(value)


def amounts(given):
    """Milli-units by resource, as they are in a case."""
    found = {resource: (given or {}).get(f"{resource}_milli{unit}") for resource, unit in _UNITS}
    return {resource: amount for resource, amount in found.items() if amount is not None}


_UNITS = (("cpu", "cores"), ("memory", "bytes"))


def usual(given):
    """Millicores and bytes by resource."""
    return {resource: of_milli(resource, amount) for resource, amount in amounts(given).items()}


def written(sizes):
    """Sizes as they are written: memory is rounded up to whole MiB."""
    return {
        name: {r: -(-amount // MIB) * MIB if r == MEMORY else amount for r, amount in each.items()}
        for name, each in sizes.items()
    }


def settings_of(*configs, **more):
    """The settings of a case over those that bind nothing."""
    changes = {}
    for config in configs:
        for key, value in (config or {}).items():
            name = UNIT.sub("", key)
            name = RENAMED.get(name, name)
            if name in TortoiseSettings.__dataclass_fields__ and name != "default_hpa_behavior":
                changes[name] = _setting(key, value)
    for name in ("minimum_min_replicas", "preferred_max_replicas"):
        if name in changes:
            changes[name] = max(changes[name], 1)
    return replace(UNBOUND, **{**changes, **more})


def _setting(key, value):
    if not key.endswith("_millibytes"):
        return value
    return {name: each // 1000 for name, each in value.items()} if isinstance(value, dict) else value // 1000


def policies_in(status):
    """What the status says about each container that has any policy."""
    return {each["container_name"]: each.get("policy") or {} for each in (status or {}).get("autoscaling_policy") or ()}


def tortoise(given, *, policies=None, mode=None):
    """A Tortoise with the policies that are in force.

    The tests of the original leave the mode empty if it does not matter, and act; here an absent mode is Off.
    """
    spec = dict(given.get("spec") or {})
    spec["update_mode"] = mode or spec.get("update_mode") or "Auto"
    in_force = policies if policies is not None else policies_in(given.get("status"))
    if not spec.get("autoscaling_policy") and in_force:
        spec["autoscaling_policy"] = [{"container_name": name, "policy": each} for name, each in in_force.items()]
    refs = {**(spec.get("target_refs") or {})}
    refs["scale_target_ref"] = refs.get("scale_target_ref") or {"kind": "Deployment", "name": "web"}
    named = {"name": "t", "namespace": "default", **(given.get("metadata") or {})}
    return Tortoise.from_dict(
        {
            "apiVersion": "autoscaling.mercari.com/v1beta3",
            "kind": "Tortoise",
            "metadata": wire(named),
            "spec": wire({**spec, "target_refs": refs}),
        }
    )


def hpa(given):
    """An HPA; None if there is none."""
    return None if given is None else HPA.from_dict({"apiVersion": "autoscaling/v2", **wire(given)})


def brief_hpa(given):
    """An HPA of which a case gives only the metrics, each in one line."""
    metrics = []
    for each in given.get("metrics") or ():
        if each["type"] == "ContainerResource":
            target = {"type": "Utilization", "average_utilization": each["target_average_utilization_percent"]}
            source = {"container": each["container"], "name": each["resource"], "target": target}
            metrics.append({"type": "ContainerResource", "container_resource": source})
        elif each["type"] == "External":
            target = {"type": "Value", "value": str(each["target_value"])}
            metrics.append(
                {"type": "External", "external": {"metric": {"name": each["metric_name"]}, "target": target}}
            )
        else:
            metrics.append(each)
    bounds = {key: given.get(key) for key in ("min_replicas", "max_replicas")}
    metadata = {"name": "hpa", "annotations": given.get("annotations") or {}}
    return hpa({"metadata": metadata, "spec": {**bounds, "metrics": metrics}})


class Workload(NamedTuple):
    """Pods of one size. `requests`: container -> milli-units by resource; `busy`: place -> percent of its request."""

    replicas: int
    requests: dict
    used: Mapping = MappingProxyType({})
    busy: Mapping = MappingProxyType({})

    def seen(self, now, hpa=None):
        """What is observed of it. `used` are the percentiles of usage: container -> millicores and bytes."""
        containers = tuple([Container(name, each) for name, each in self.requests.items()])
        old = now - LONG
        pods = [
            Pod(f"web-{i}", ready="True", ready_since=old, started=old, containers=containers, labels={"app": "web"})
            for i in range(self.replicas)
        ]
        usage = {
            name: {r: amount * self.busy[name, r] // 100 for r, amount in each.items() if (name, r) in self.busy}
            for name, each in self.requests.items()
        }
        sample = PodSample(now - 10, 30.0, tuple(usage.items()))
        advice = Recommendation(tuple([Bounds(name, each) for name, each in self.used.items()]), "the case")
        return Seen(
            now,
            Scale(self.replicas, self.replicas, "app=web"),
            tuple(pods),
            pod_metrics={pod.name: sample for pod in pods} if self.busy else {},
            template=containers,
            size_advice=advice if self.used else None,
            hpa=hpa,
        )


def horizontal(policies):
    return [(name, r) for name, each in policies.items() for r in RESOURCES if each.get(r) == "Horizontal"]


def past(policies, requests, now, settings, *, replicas=0.0, gathering=(), **kept):
    """A Tortoise that has observed for long, and needed so many replicas when this slot last occurred.

    `gathering`: since when each place is observed, if that is later.
    """
    learned = tuple([_learned(place, requests, now, settings, replicas) for place in horizontal(policies)])
    since = {key_of(place): dict(gathering).get(place, now - LONG) for place in horizontal(policies)}
    return TortoiseState(learned, since=since, **kept)


def _learned(place, requests, now, settings, replicas):
    container, resource = place
    learned = Learned.begun(layout_of(settings), key_of(place), now - LONG)
    if not replicas:
        return learned
    size = of_milli(resource, requests[container][resource])
    needed = round(replicas * (-(-size // MIB) if resource == MEMORY else size))
    turn, slot = learned.layout.place(now)
    table = learned.table()
    table.record(turn - 1, slot, needed)
    return replace(learned, codes=table.codes.tobytes())


def decided(tortoise, seen, settings, past=None, vertical=None, conditions=()):
    """The decision and the state after it."""
    state = State(recommendations=EMPTY, vertical=vertical or Vertical(), tortoise=past, conditions=conditions)
    return decide(tortoise, seen, state, Settings(tortoise=settings))


def since_of(phases, otherwise):
    """Since when each resource that is not Working yet is observed; one without a phase counts as ready."""
    return {
        (each["container_name"], r): time_of(phase["last_transition_time"])
        if phase.get("last_transition_time")
        else otherwise
        for each in phases or ()
        for r, phase in (each.get("resource_phases") or {}).items()
        if phase["phase"] == "GatheringData"
    }


def phases_of(status):
    """The phase of each resource in the status of a decision."""
    return {
        each["containerName"]: {r: phase["phase"] for r, phase in each["resourcePhases"].items()}
        for each in status["containerResourcePhases"]
    }


def expected_phases(status, names=None):
    return {
        each["container_name"]: {r: phase["phase"] for r, phase in each["resource_phases"].items()}
        for each in status.get("container_resource_phases") or ()
        if names is None or each["container_name"] in names
    }


def changed_at(status, kind):
    """When a condition last became True; None if it is not, or if no time is known."""
    listed = (status.get("conditions") or {}).get("tortoise_conditions") or ()
    times = [each.get("last_transition_time") for each in listed if (each["type"], each["status"]) == (kind, "True")]
    return time_of(times[0]) if times and times[0] else None
