"""The scale of a target: its scale subresource if the input has it, else derived from the workload itself."""

from collections.abc import Mapping
from typing import Any

from hypot.kinds.base import Ref
from hypot.kinds.selector import SelectorError, show_selector
from hypot.kinds.values.nested import inner
from hypot.policy.model.seen import Failure, Scale
from hypot.policy.observe.read_pods import name_of

# The API resource of the most common target kinds, and kubectl's short name for them.
_RESOURCES = {
    ("apps", "Deployment"): ("deployments.apps", "deploy"),
    ("apps", "StatefulSet"): ("statefulsets.apps", "sts"),
    ("apps", "ReplicaSet"): ("replicasets.apps", "rs"),
    ("", "ReplicationController"): ("replicationcontrollers", "rc"),
}
# Kinds that have pods but no scale subresource.
_WITHOUT_SCALE = {
    ("apps", "DaemonSet"): ("daemonsets.apps", "ds"),
    ("batch", "Job"): ("jobs.batch", "job"),
    ("batch", "CronJob"): ("cronjobs.batch", "cronjob"),
}


def plural(kind: str) -> str:
    """The resource name of a kind, by the rule that nearly all kinds follow."""
    word = kind.lower()
    if word.endswith(("s", "x", "ch", "sh")):
        return f"{word}es"
    return f"{word[:-1]}ies" if word.endswith("y") and word[-2:-1] not in set("aeiou") else f"{word}s"


def read_scale(data: Mapping[str, Any]) -> Scale | Failure:
    """Read a Scale object; the API omits zeros."""
    spec, status = inner(data, "spec"), inner(data, "status")
    asked, there, selector = _or(spec.get("replicas"), 0), _or(status.get("replicas"), 0), status.get("selector")
    if not (_is_count(asked) and _is_count(there)):
        return _uncountable(f'Scale "{name_of(data)}"', asked, there)
    return Scale(asked, there, selector if isinstance(selector, str) else "", _uid(data))


def scale_of_workload(data: Mapping[str, Any], ref: Ref) -> Scale | Failure:
    """The scale as the API server would show it for this workload."""
    try:
        selector = selector_text(data, ref)
    except SelectorError as error:
        return Failure(f"the selector of {_quoted(ref)} cannot be read: {error}")
    if not has_scale(ref):
        return Scale(_pods_of(data), _pods_of(data), selector, _uid(data))
    spec, status = inner(data, "spec"), inner(data, "status")
    asked = _or(spec.get("replicas"), 1)
    # A manifest without status was never on a cluster: it counts as fully scaled.
    there = _or(status.get("replicas"), 0 if isinstance(data.get("status"), dict) else asked)
    if not (_is_count(asked) and _is_count(there)):
        return _uncountable(_quoted(ref), asked, there)
    return Scale(asked, there, selector, _uid(data))


def _or(value: Any, if_absent: Any) -> Any:
    return if_absent if value is None else value


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0


def _uncountable(what: str, asked: Any, there: Any) -> Failure:
    path, value = ("status.replicas", there) if _is_count(asked) else ("spec.replicas", asked)
    return Failure(f"{what} has {path} {value!r}, which is not a number of replicas")


def _uid(data: Mapping[str, Any]) -> str:
    """The uid of the workload, which its Scale has too."""
    return str(inner(data, "metadata").get("uid") or "")


def _quoted(ref: Ref) -> str:
    return f'{resource_of(ref)[0]} "{ref.name}"'


def selector_text(data: Mapping[str, Any], ref: Ref) -> str:
    """The selector as text. Built-in kinds have a structured one or plain labels; custom kinds often text in status."""
    status = inner(data, "status")
    text, chosen = status.get("selector") or status.get("targetSelector"), inner(data, "spec", "selector")
    if isinstance(text, str) and text:
        return text
    if "matchLabels" in chosen or "matchExpressions" in chosen:
        return show_selector(chosen)
    if not chosen and ref.kind in {"ReplicationController", "Job"}:
        chosen = inner(data, "spec", "template", "metadata", "labels")
    if not chosen and ref.kind == "CronJob":
        chosen = inner(data, "spec", "jobTemplate", "spec", "template", "metadata", "labels")
    if any(isinstance(value, dict | list) for value in chosen.values()):
        return ""
    return show_selector({"matchLabels": chosen})


def resource_of(ref: Ref) -> tuple[str, str]:
    """The full resource name of the target's kind, and the name for kubectl."""
    kind, group = ref.kind or "", ref.group
    full = f"{plural(kind)}.{group}" if group else plural(kind)
    return _RESOURCES.get((group, kind)) or _WITHOUT_SCALE.get((group, kind)) or (full, full)


def has_scale(ref: Ref) -> bool:
    return (ref.group, ref.kind or "") not in _WITHOUT_SCALE


def no_scale(ref: Ref) -> Failure:
    return Failure(f"{ref} has no scale subresource: an autoscaler cannot set the number of its pods", "spec")


def _pods_of(data: Mapping[str, Any]) -> int:
    """How many pods a workload without a scale has, if it says so; else 0."""
    status = inner(data, "status")
    counts = [status.get("desiredNumberScheduled"), status.get("active"), inner(data, "spec").get("parallelism")]
    return next((count for count in counts if type(count) is int and count >= 0), 0)


def not_there(ref: Ref, namespace: str, elsewhere: str, key: str) -> Failure:
    """The failure for a missing target; `elsewhere` is the apiVersion under which this kind and name exist."""
    full, short = resource_of(ref)
    if elsewhere:
        written = ref.api_version or "no apiVersion"
        return Failure(f"the target has {written}, but {ref} is of {elsewhere}: write apiVersion: {elsewhere} in {key}")
    return Failure(
        f'{full} "{ref.name}" is not in the input; add it: kubectl get {short} {ref.name} -n {namespace} -o yaml'
    )
