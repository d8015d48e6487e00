"""What a pair is made for: the workload, the bounds of what scales it today, and how its pods are scraped."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from hypot.cli.files import BadInput
from hypot.core.amount import RESOURCES
from hypot.kinds.base import Ref, refer
from hypot.kinds.catalogue import Autoscaler
from hypot.kinds.hpa import HPA
from hypot.kinds.hvpa import Hvpa
from hypot.kinds.hvpa.intervals import counts_of
from hypot.kinds.names import group_of
from hypot.kinds.nested import inner, mappings
from hypot.kinds.text.load import LoadedFiles
from hypot.kinds.vpa import VPA
from hypot.kinds.vpa.fields import ContainerPolicy
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
    return PairSubject(
        target, where, bounds, _containers(scalers), _labels(target, workload), _scrape(template), workload, others
    )


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


def _containers(scalers: Iterable[Autoscaler]) -> Reasoned:
    """The bounds of containers. An Hvpa without a maximum has that of its last interval."""
    for one in scalers:
        if isinstance(one, Hvpa | VPA):
            policies = one.resource_policy if isinstance(one, VPA) else one.container_policies
            written = list((policies.containers if policies is not None else None) or ()) or [ContainerPolicy("*")]
            most = _last_size(one) if isinstance(one, Hvpa) else {}
            return Reasoned(tuple([_policy(each, most) for each in written]), f"as in {one.KIND} {one.name}")
    return Reasoned((_policy(ContainerPolicy("*"), {}),), "")


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
    if str(annotations.get(_PORT, "")).isdigit():
        path = {"path": str(annotations[_PATH])} if str(annotations.get(_PATH, "/metrics")) != "/metrics" else {}
        scheme = {"scheme": "https"} if annotations.get(_SCHEME) == "https" else {}
        return Reasoned({"port": int(annotations[_PORT]), **scheme, **path}, "as the prometheus.io annotations say")
    names = [str(port["name"]) for port in ports if port.get("name")]
    named = next((name for name in _PORT_NAMES if name in names), None)
    if named is not None:
        return Reasoned({"port": named}, "the port that is called so")
    if len(ports) == 1:
        return Reasoned({"port": names[0] if names else ports[0].get("containerPort")}, "the only port of the pods")
    return Reasoned({"port": _USUAL_PORT}, "assumed: nothing in the input says which port has the metrics")
