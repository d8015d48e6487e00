"""Translates the sizes, changes and intervals of the Hvpa cases."""

from hypot.core.amount import to_milli
from hypot.core.axes.interval import LINEAR, LINEAR_PER_POD
from hypot.kinds.vpa import VPA
from hypot.policy.observe.read_sizes import read_advice

# The part of a key that names a unit -> its resource, and how many amounts one unit is.
UNITS = {
    "cpu_cores": ("cpu", 1000),
    "cpu_millicores": ("cpu", 1),
    "memory_gib": ("memory", 2**30),
    "memory_bytes": ("memory", 1),
    "memory_millibytes": ("memory", 0.001),
}


def division(given):
    """The compatible arithmetic if a case needs it; the setting of an interval itself has precedence."""
    compatible = given.get("compat", {}).get("extrapolation") == "hvpa_v2_per_pod"
    return LINEAR_PER_POD if compatible or "bucket.go" in given.get("reading", "") else LINEAR


def amount(unit, value):
    resource, factor = UNITS[unit]
    whole = round(value * factor)
    return resource, f"{whole}m" if resource == "cpu" else whole


def sizes(mapping, before="", after=""):
    """The resources of a mapping whose keys have this text around a unit; null is not set."""
    found = [(unit, (mapping or {}).get(f"{before}{unit}{after}")) for unit in UNITS]
    return dict(amount(unit, value) for unit, value in found if value is not None)


def changes(given):
    """A value and a percentage of each resource; the unit of the value is in its key, as in `value_bytes`."""
    made = {}
    for resource, one in (given or {}).items():
        shares = {f"{resource}_{key.removeprefix('value_')}": value for key, value in one.items()}
        share = {"value": sizes(shares).get(resource), "percentage": one.get("percentage")}
        made[resource] = {key: value for key, value in share.items() if value is not None}
    return made


def intervals(given):
    return [
        {
            "maxReplicas": row["max_replicas"],
            "maxResources": sizes(row, "max_", "_per_pod"),
            "effectiveIntervalExtrapolation": row.get("extrapolation") or division(given),
        }
        for row in given["scaling_intervals"]
    ]


def amounts(given):
    """Millicores and bytes; null is not set."""
    units = {"cpu_millicores": "cpu", "memory_bytes": "memory"}
    return {units[key]: value for key, value in (given or {}).items() if value is not None}


def milli(given):
    return {resource: to_milli(resource, amount) for resource, amount in amounts(given).items()}


def size_advice(given):
    """The advice from the status of a VPA with these targets and conditions."""
    targets = [
        {"containerName": c["name"], "target": sizes(c["vpa_target"])}
        for c in given["containers"]
        if c.get("vpa_target") is not None
    ]
    conditions = given.get("vpa_conditions") or {"RecommendationProvided": "True"}
    status = {
        "conditions": [{"type": kind, "status": word} for kind, word in conditions.items()],
        "recommendation": {"containerRecommendations": targets},
    }
    return read_advice(VPA.from_dict({"metadata": {"name": "web"}, "status": status}))
