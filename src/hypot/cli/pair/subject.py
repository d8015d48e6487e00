"""What a pair is made for: the workload, the bounds of what scales it today, and how its pods are scraped."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

from hypot.cli.files import BadInput
from hypot.core.amount import RESOURCES, show
from hypot.kinds.base import Ref, refer
from hypot.kinds.catalogue import Autoscaler
from hypot.kinds.hpa import HPA
from hypot.kinds.hvpa import Hvpa
from hypot.kinds.hvpa.intervals import counts_of
from hypot.kinds.metric_rules.rules import HIGHEST_PORT
from hypot.kinds.text.load import LoadedFiles
from hypot.kinds.values.names import group_of
from hypot.kinds.values.nested import inner, mappings
from hypot.kinds.vpa import VPA
from hypot.kinds.vpa.fields import ContainerPolicy, UpdatePolicy, amounts_of
from hypot.policy.observe.snapshot import Snapshot
from hypot.policy.observe.targets import target_of

DEFAULT_NAMESPACE = "default"
LEAST, MOST = 2, 10
# The kinds of a pair. Its objects are called like the target.
REPLACED = (HPA.KIND, VPA.KIND)
# Annotations of pod templates that say how the pods are scraped.
_PORT, _PATH, _SCHEME = "prometheus.io/port", "prometheus.io/path", "prometheus.io/scheme"
_PORT_NAMES = ("metrics", "http-metrics", "prometheus", "monitoring")
_USUAL_PORT = "metrics"


class Reasoned(NamedTuple):
    """A value, and where it comes from, as a clause."""

    value: Any
    why: str


class PairSubject(NamedTuple):
    """The workload of a pair, as far as the input says."""

    target: Ref
    # Empty if nothing says it.
    namespace: str
    bounds: Reasoned
    containers: Reasoned
    # The labels of its pods.
    labels: Reasoned
    scrape: Reasoned
    workload: LoadedFiles | None
    # What scales the target today and is not replaced by an object of the same name.
    others: tuple[Autoscaler, ...]
    # How the VPA that is replaced updates pods; None if there is none.
    updates: UpdatePolicy | None = None

    @property
    def searched_namespace(self) -> str:
        return self.namespace or DEFAULT_NAMESPACE


def read_subject(
    target: Ref, namespace: str | None, loaded: list[LoadedFiles], replicas: tuple[int, int] | None
) -> PairSubject:
    """What the input says about this workload."""
    workload = _workload(target, namespace, loaded)
    snapshot = Snapshot(one.data for one in loaded)
    scalers = [one for one in snapshot.autoscalers() if _targets(one, target)]
    where = namespace or _namespace(target, workload, scalers)
    scalers = [one for one in scalers if one.namespace == (where or DEFAULT_NAMESPACE)]
    scalers.sort(key=lambda one: (not isinstance(one, Hvpa), one.KIND, one.name))
    bounds = Reasoned(replicas, "as given") if replicas is not None else _bounds(scalers)
    if bounds.value[0] > bounds.value[1]:
        raise BadInput(f"the minimum of {bounds.value[0]} replicas ({bounds.why}) is above the maximum")
    others = tuple([one for one in scalers if one.KIND not in REPLACED or one.name != target.name])
    template = inner(workload.data, "spec", "template") if workload is not None else {}
    containers = [
        one for one in mappings(inner(template, "spec").get("containers")) if isinstance(one.get("name"), str)
    ]
    updates = next((one.update_policy for one in scalers if isinstance(one, VPA)), None)
    sized, labels = _containers(scalers, containers), _labels(target, workload)
    return PairSubject(target, where, bounds, sized, labels, _scrape(template), workload, others, updates)


def _workload(target: Ref, namespace: str | None, loaded: Iterable[LoadedFiles]) -> LoadedFiles | None:
    found = [one for one in loaded if _is(one.data, target) and _is_in(one.data, namespace)]
    if len(found) > 1:
        places = " and ".join(f"{one.source.file}:{one.source.line}" for one in found)
        raise BadInput(f"{target} is in the input twice, {places}: name its namespace with -n")
    return found[0] if found else None


def _is(data: Mapping[str, Any], target: Ref) -> bool:
    one = refer(data)
    return (one.kind, one.name) == (target.kind, target.name) and group_of(one.api_version) == group_of(
        target.api_version
    )


def _is_in(data: Mapping[str, Any], namespace: str | None) -> bool:
    return namespace is None or inner(data, "metadata").get("namespace") in {None, namespace}


def _namespace(target: Ref, workload: LoadedFiles | None, scalers: Iterable[Autoscaler]) -> str:
    """That of the workload, else of what scales it; empty if nothing says it."""
    if workload is not None:
        written = inner(workload.data, "metadata").get("namespace")
        return written if isinstance(written, str) else ""
    found = sorted({str(inner(one.metadata).get("namespace") or "") for one in scalers})
    if len(found) > 1:
        raise BadInput(f"{target} is scaled in the namespaces {', '.join(found)}: name one with -n")
    return found[0] if found else ""


def _targets(autoscaler: Autoscaler, target: Ref) -> bool:
    one = target_of(autoscaler)
    return (one.kind, one.name) == (target.kind, target.name)


def _bounds(scalers: Iterable[Autoscaler]) -> Reasoned:
    for one in scalers:
        low, high = _counts(one)
        if high is not None:
            return Reasoned((max(low or 1, 1), high), f"as in {one.KIND} {one.name}")
    return Reasoned((LEAST, MOST), "assumed, because nothing in the input says it: --replicas MIN..MAX")


def _counts(scaler: Autoscaler) -> tuple[int | None, int | None]:
    if not isinstance(scaler, Hvpa):
        return getattr(scaler, "min_replicas", None), getattr(scaler, "max_replicas", None)
    low, high = counts_of(scaler)
    return low, max(high, scaler.hpa_spec.max_replicas or 0)


def _containers(scalers: Iterable[Autoscaler], containers: Sequence[Mapping[str, Any]]) -> Reasoned:
    """The bounds of containers. An Hvpa without a maximum has that of its last interval."""
    for one in scalers:
        if isinstance(one, Hvpa | VPA):
            policies = one.resource_policy if isinstance(one, VPA) else one.container_policies
            written = list((policies.containers if policies is not None else None) or ()) or [ContainerPolicy("*")]
            most = _last_size(one) if isinstance(one, Hvpa) else {}
            why = f"as in {one.KIND} {one.name}"
            if not most or len(containers) < 2:
                return Reasoned(tuple([_policy(each, most) for each in written]), why)
            return _shared(written, amounts_of(most), containers, why)
    return Reasoned((_policy(ContainerPolicy("*"), {}),), "")


def _shared(
    written: Sequence[ContainerPolicy], most: Mapping[str, int], containers: Sequence[Mapping[str, Any]], why: str
) -> Reasoned:
    """The bounds of several containers: the largest size of their pod is shared as their requests are."""
    by_name = {each.container_name: each for each in written}
    usual = by_name.get("*", ContainerPolicy("*"))
    policies = {name: replace(by_name.get(name, usual), container_name=name) for name in map(_name_of, containers)}
    requests = {
        _name_of(one): amounts_of(inner(one, "resources").get("requests"))
        for one in containers
        if policies[_name_of(one)].mode != "Off"
    }
    known = {
        resource
        for resource in most
        if all(resource in (policies[name].controlled_resources or RESOURCES) for name in requests)
        and all(each.get(resource) for each in requests.values())
    }
    wholes = {resource: sum(each[resource] for each in requests.values()) for resource in known}
    made = [
        _policy(
            policy,
            {
                resource: show(resource, most[resource] * requests[name][resource] // whole)
                for resource, whole in wholes.items()
                if name in requests
            },
        )
        for name, policy in policies.items()
    ]
    missing = " and ".join(resource for resource in RESOURCES if resource in most and resource not in known)
    shared = "; the largest size of a pod is shared as the requests of its containers are" if known else ""
    left = f"; it has no maximum of {missing} for each container, write one" if missing else ""
    return Reasoned(tuple(made), f"{why}{shared}{left}")


def _name_of(container: Mapping[str, Any]) -> str:
    return str(container["name"])


def _last_size(hvpa: Hvpa) -> dict[str, Any]:
    sizes = [interval.max_resources for interval in hvpa.intervals or () if interval.max_resources]
    return dict(sizes[-1]) if sizes else {}


def _policy(written: ContainerPolicy, most: Mapping[str, Any]) -> ContainerPolicy:
    """The same with fixed limits."""
    if written.mode == "Off":
        return ContainerPolicy(written.container_name, mode="Off")
    known = {resource: most[resource] for resource in RESOURCES if resource in most}
    return ContainerPolicy(
        written.container_name,
        min_allowed=written.min_allowed,
        max_allowed={**known, **(written.max_allowed or {})} or None,
        controlled_resources=written.controlled_resources,
        controlled_values="RequestsOnly",
    )


def _labels(target: Ref, workload: LoadedFiles | None) -> Reasoned:
    if workload is not None:
        selector = inner(workload.data, "spec", "selector")
        if selector.get("matchLabels") or selector.get("matchExpressions"):
            return Reasoned(dict(selector), f"as in {target}")
    return Reasoned(
        {"matchLabels": {"app": target.name}}, f"assumed: the selector of {target} is not in the input; name it with -f"
    )


def _scrape(template: Mapping[str, Any]) -> Reasoned:
    """How pods are scraped: as their annotations say, else at a port that is called so, else at the only one."""
    annotations = inner(template, "metadata", "annotations")
    ports = [
        port
        for container in mappings(inner(template, "spec").get("containers"))
        for port in mappings(container.get("ports"))
    ]
    if _PORT in annotations:
        return Reasoned(_annotated(annotations), _annotated_why(annotations))
    names = [str(port["name"]) for port in ports if port.get("name")]
    named = next((name for name in _PORT_NAMES if name in names), None)
    if named is not None:
        return Reasoned({"port": named}, "the port that is called so")
    if len(ports) == 1:
        return Reasoned({"port": names[0] if names else ports[0].get("containerPort")}, "the only port of the pods")
    return Reasoned({"port": _USUAL_PORT}, "assumed: nothing in the input says which port has the metrics")


def _annotated(annotations: Mapping[str, Any]) -> dict[str, Any]:
    """How the annotations of Prometheus say that pods are scraped. The parameters of a URL are fields of their own."""
    port = str(annotations[_PORT])
    if not re.fullmatch(r"[0-9]{1,5}", port) or not 1 <= int(port) <= HIGHEST_PORT:
        raise BadInput(
            f"the annotation {_PORT} of the pods is {port!r}, which is not a port; write 1 to {HIGHEST_PORT}"
        )
    url = urlsplit(str(annotations.get(_PATH) or "/metrics"))
    path = f"/{url.path.lstrip('/')}"
    parameters = parse_qs(url.query, keep_blank_values=True)
    return {
        "port": int(port),
        **({"scheme": "https"} if annotations.get(_SCHEME) == "https" else {}),
        **({"path": path} if path != "/metrics" else {}),
        **({"parameters": parameters} if parameters else {}),
    }


def _annotated_why(annotations: Mapping[str, Any]) -> str:
    why = "as the prometheus.io annotations say"
    if annotations.get(_SCHEME) != "https":
        return why
    return f"{why}; certificates are verified, so write credentials.ca, and serverName if they are not for addresses"
