"""Tortoises of former API versions, and of the form in which the first version had policies, read as v1beta3.

The first version has the policies of a container next to its bounds, `resourcePolicy[].autoscalingPolicy`, and one
release of it capitalises `MinAllocatedResources`. There, cpu is Horizontal and memory is Vertical if a container leaves
them out. Both forms are read in every version: users write them with the newest version, too.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from hypot.kinds.identity import TORTOISE
from hypot.kinds.problem import Problem, Where

CURRENT, FORMER = TORTOISE.api_version, TORTOISE.former_versions
# What v1beta3 chooses for every container if no policy is written at all, and no HPA is named.
AUTOMATIC = {"cpu": "Horizontal", "memory": "Vertical"}
_OLD_POLICY, _OLD_MINIMUM, _MINIMUM = "autoscalingPolicy", "MinAllocatedResources", "minAllocatedResources"
_OLD_TARGET, _OLD_GATES = "deploymentName", "featureGates"


def upgraded(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """The manifest as v1beta3; the same object if there is nothing to convert."""
    spec, status = data.get("spec"), data.get("status")
    changes: dict[str, Any] = {}
    former = data.get("apiVersion", CURRENT) in FORMER
    if isinstance(spec, dict):
        written = _with_policies(_with_target(spec, former=former))
        if former and _OLD_GATES in written:
            written = {key: value for key, value in written.items() if key != _OLD_GATES}
        if written is not spec:
            changes["spec"] = written
    if former and isinstance(status, dict):
        changes["status"] = _upgraded_status(status)
    return {**data, **changes} if changes else data


def _with_target(spec: dict[str, Any], *, former: bool) -> dict[str, Any]:
    refs = spec.get("targetRefs")
    if not former or not isinstance(refs, dict) or _OLD_TARGET not in refs:
        return spec
    rest = {key: value for key, value in refs.items() if key != _OLD_TARGET}
    rest.setdefault("scaleTargetRef", _deployment(refs[_OLD_TARGET]))
    return {**spec, "targetRefs": rest}


def _deployment(name: Any) -> dict[str, Any]:
    return {"apiVersion": "apps/v1", "kind": "Deployment", "name": name}


def _with_policies(spec: dict[str, Any]) -> dict[str, Any]:
    sizes = spec.get("resourcePolicy")
    if not isinstance(sizes, list) or not any(_is_old(item) for item in sizes):
        return spec
    made: dict[str, Any] = {**spec, "resourcePolicy": [_without_policy(item) for item in sizes]}
    found = [_policy(item) for item in sizes if isinstance(item, dict) and _OLD_POLICY in item]
    # If all are what v1beta3 chooses itself, it also chooses for containers that are not listed here. With a named HPA
    # it chooses by the metrics of that HPA.
    chosen = all(item.get("policy") == AUTOMATIC for item in found) and not _names_hpa(spec)
    if found and not spec.get(_OLD_POLICY) and not chosen:
        made[_OLD_POLICY] = found
    if all(isinstance(item, dict) and item.keys() <= {"containerName"} for item in made["resourcePolicy"]):
        del made["resourcePolicy"]
    return made


def _names_hpa(spec: Mapping[str, Any]) -> bool:
    refs = spec.get("targetRefs")
    return isinstance(refs, dict) and bool(refs.get("horizontalPodAutoscalerName"))


def _is_old(item: Any) -> bool:
    return isinstance(item, dict) and (_OLD_POLICY in item or _OLD_MINIMUM in item)


def _without_policy(item: Any) -> Any:
    if not _is_old(item):
        return item
    rest = {key: value for key, value in item.items() if key not in {_OLD_POLICY, _OLD_MINIMUM}}
    if _OLD_MINIMUM in item:
        rest.setdefault(_MINIMUM, item[_OLD_MINIMUM])
    return rest


def _policy(item: dict[str, Any]) -> dict[str, Any]:
    written = item[_OLD_POLICY]
    complete = {**AUTOMATIC, **written} if isinstance(written, dict) else written
    policy = dict(AUTOMATIC) if written is None else complete
    return {**({"containerName": item["containerName"]} if "containerName" in item else {}), "policy": policy}


def _upgraded_status(status: dict[str, Any]) -> dict[str, Any]:
    targets = status.get("targets")
    if not isinstance(targets, dict) or "deployment" not in targets:
        return status
    rest = {key: value for key, value in targets.items() if key != "deployment"}
    return {**status, "targets": {"scaleTargetRef": _deployment(targets["deployment"]), **rest}}


def old_places(data: Mapping[str, Any]) -> Iterator[Problem]:
    """What is read from the place of an old version in a manifest of the current one, and what is not read at all."""
    former = data.get("apiVersion", CURRENT) in FORMER
    spec = data.get("spec")
    if not isinstance(spec, dict):
        return
    if former and _OLD_GATES in spec:
        yield _ignored(("spec", _OLD_GATES), "v1beta3 has no feature gates")
    refs = spec.get("targetRefs")
    if former and isinstance(refs, dict) and _OLD_TARGET in refs and refs.get("scaleTargetRef") is not None:
        yield _ignored(("spec", "targetRefs", _OLD_TARGET), "scaleTargetRef is used")
    sizes = spec.get("resourcePolicy")
    for i, item in enumerate(sizes if isinstance(sizes, list) else ()):
        if isinstance(item, dict):
            yield from _old_item(item, ("spec", "resourcePolicy", i), spec, former=former)


def _old_item(item: dict[str, Any], where: Where, spec: Mapping[str, Any], *, former: bool) -> Iterator[Problem]:
    if _OLD_POLICY in item and spec.get(_OLD_POLICY):
        yield _ignored((*where, _OLD_POLICY), "spec.autoscalingPolicy is used")
    elif _OLD_POLICY in item and not former:
        yield _moved((*where, _OLD_POLICY), "spec.autoscalingPolicy")
    if _OLD_MINIMUM in item and _MINIMUM in item:
        yield _ignored((*where, _OLD_MINIMUM), f"{_MINIMUM} is used")
    elif _OLD_MINIMUM in item and not former:
        yield _moved((*where, _OLD_MINIMUM), _MINIMUM)


def _ignored(where: Where, why: str) -> Problem:
    return Problem("old-field", "Notice", where, f"is ignored: {why}", hint="remove it", severity="warning")


def _moved(where: Where, place: str) -> Problem:
    message = f"is the form of an old version; it is read as {place}, but an API server rejects it"
    return Problem("old-field", "Notice", where, message, hint=f"write {place}", severity="warning")
