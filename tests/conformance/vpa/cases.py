"""Translates the pods, recommendations and policies of the VPA cases."""

from hypot.core.amount import to_milli
from hypot.kinds.vpa.fields import ResourcePolicy
from hypot.policy.model.seen import Bounds, Container, LimitRange, Pod

UNITS = {"cpu_millicores": "cpu", "memory_bytes": "memory"}
FIELDS = {"target": "target", "lower_bound": "lower", "upper_bound": "upper", "uncapped_target": "uncapped"}


def amounts(given):
    return {UNITS[key]: amount for key, amount in (given or {}).items() if key in UNITS and amount is not None}


def milli(given):
    """Observed amounts in milli-units; they may be fractions of a byte."""
    return {r: round(a * 1000) if r == "memory" else to_milli(r, a) for r, a in amounts(given).items()}


def quantities(given):
    return {UNITS[key]: f"{amount}m" if key == "cpu_millicores" else amount for key, amount in (given or {}).items()}


def bounds(given):
    return tuple(
        Bounds(one["container_name"], **{"target": {}, **{new: amounts(one.get(old)) for old, new in FIELDS.items()}})
        for one in given or ()
    )


def policy(given):
    if given is None:
        return None
    names = {"container_name": "containerName", "mode": "mode", "controlled_values": "controlledValues"}
    written = []
    for one in given["container_policies"]:
        own = {new: one[old] for old, new in names.items() if one.get(old) is not None}
        sized = {"minAllowed": one.get("min_allowed"), "maxAllowed": one.get("max_allowed")}
        written.append({**own, **{key: quantities(value) for key, value in sized.items() if value is not None}})
    return ResourcePolicy.read({"containerPolicies": written})


def pod(given):
    reported = {one["name"]: one for one in given.get("container_statuses") or ()}
    containers = []
    for one in given["containers"]:
        status = reported.get(one["name"])
        actual = (None, None) if status is None else (milli(status["requests"]), milli(status["limits"]))
        containers.append(Container(one["name"], milli(one["requests"]), milli(one["limits"]), *actual))
    return Pod(given.get("name", "pod"), containers=tuple(containers))


def limit_range(given, kind):
    if given is None:
        return ()
    return (LimitRange(given.get("type", kind), *(milli(given.get(key)) for key in ("min", "max", "default"))),)
