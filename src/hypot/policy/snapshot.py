"""From the objects of a dump to what each autoscaler sees. Nothing is fetched, and time is an argument."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from hypot.kinds.base import DEFAULT_NAMESPACE, Ref
from hypot.kinds.hpa import HPA
from hypot.kinds.hpa_defaults import with_defaults
from hypot.kinds.hvpa import Hvpa, hpa_of
from hypot.kinds.metricname import MetricName
from hypot.kinds.node import replaced
from hypot.kinds.selector import Selector, SelectorError, read_selector
from hypot.kinds.vpa import VPA
from hypot.kinds.wpa import WPA
from hypot.kinds.wpa_parts import ExternalBand, ResourceBand
from hypot.policy.decide import Autoscaler
from hypot.policy.memory import read_time
from hypot.policy.namespace import Namespace, selector_of
from hypot.policy.podrow import inner, mappings, name_of
from hypot.policy.scalerow import group_of, has_scale, no_scale, not_there, read_scale, scale_of_workload
from hypot.policy.seen import Failure, PodSample, Scale, Seen, Value, metric_key
from hypot.policy.settings import Settings
from hypot.policy.sizerow import read_template
from hypot.policy.surroundings import Surroundings, controllers_of
from hypot.policy.valuerow import MetricValues

Object = Mapping[str, Any]
Key = tuple[str, str, str]

AUTOSCALERS: dict[tuple[str, str], type[Autoscaler]] = {
    ("autoscaling", "HorizontalPodAutoscaler"): HPA,
    ("datadoghq.com", "WatermarkPodAutoscaler"): WPA,
    ("autoscaling.k8s.io", "VerticalPodAutoscaler"): VPA,
    ("autoscaling.k8s.io", "Hvpa"): Hvpa,
    ("autoscaling.gardener.cloud", "Hvpa"): Hvpa,
}
_KNOWN = {
    *AUTOSCALERS,
    ("autoscaling", "Scale"),
    ("autoscaling.k8s.io", "VerticalPodAutoscalerCheckpoint"),
    ("", "Pod"),
    ("", "Node"),
    ("", "LimitRange"),
    ("", "ReplicationController"),
    ("apps", "DaemonSet"),
    ("batch", "Job"),
    ("batch", "CronJob"),
    ("apps", "Deployment"),
    ("apps", "StatefulSet"),
    ("apps", "ReplicaSet"),
    ("metrics.k8s.io", "PodMetrics"),
    ("custom.metrics.k8s.io", "MetricValue"),
    ("external.metrics.k8s.io", "ExternalMetricValue"),
    ("datadoghq.com", "DatadogMonitor"),
}
_WELL_KNOWN = {
    "Deployment": "apps/v1",
    "StatefulSet": "apps/v1",
    "ReplicaSet": "apps/v1",
    "DaemonSet": "apps/v1",
    "ReplicationController": "v1",
    "Job": "batch/v1",
    "CronJob": "batch/v1",
}
# Kubernetes' own groups beside those that end in .k8s.io; what is not known there is never a target.
_BUILT_IN = {"", "apps", "autoscaling", "batch", "extensions", "policy"}
_CONDITION_TIMES = ("lastTransitionTime", "lastUpdateTime", "lastProbeTime")


def may_matter(api_version: str, kind: str) -> bool:
    """Whether a decision can depend on an object of this kind: known ones, and any custom kind as a target."""
    group = group_of(api_version)
    return (group, kind) in _KNOWN or not (group in _BUILT_IN or group.endswith(".k8s.io"))


def is_known(api_version: Any, kind: Any) -> bool:
    return (group_of(api_version), kind) in _KNOWN


def is_autoscaler(data: Object) -> bool:
    return (group_of(data.get("apiVersion")), data.get("kind")) in AUTOSCALERS


def key_of(data: Object) -> Key:
    """Kind, namespace and name; the same for one object in several versions of its API."""
    return str(data.get("kind") or ""), _namespace_of(data), name_of(data)


def target_of(autoscaler: Autoscaler) -> Ref:
    """What it scales, as far as that can be read. A VPA finds the well-known kinds whatever its apiVersion says."""
    ref = autoscaler.target.readable() if isinstance(autoscaler.target, Ref) else Ref()
    known = _WELL_KNOWN.get(ref.kind or "") if isinstance(autoscaler, VPA) else None
    return replaced(ref, api_version=known) if known else ref


class Snapshot:
    """The objects of a dump, indexed once. Of an object that comes twice the last counts."""

    def __init__(self, objects: Iterable[Object]) -> None:
        self._autoscalers: dict[Key, Autoscaler] = {}
        self._workloads: dict[Key, dict[str, Object]] = {}
        self._scales: dict[tuple[str, str], list[Object]] = {}
        self._monitors: dict[tuple[str, str], str] = {}
        self._namespaces: dict[str, Namespace] = {}
        self._values = MetricValues()
        self._surroundings = Surroundings()
        self._times: set[str] = set()
        self._found: dict[tuple[str, Key, str], Scale | Failure] = {}
        takers = self._takers()
        for data in objects:
            takers.get((group_of(data.get("apiVersion")), data.get("kind")), self._take_workload)(data)
            self._times.update(_times(data))
        for autoscaler in self._autoscalers.values():
            self._surroundings.take_autoscaler(autoscaler)
            self._take_claim(autoscaler)

    def _takers(self) -> dict[tuple[str, Any], Callable[[Object], None]]:
        return {
            **dict.fromkeys(AUTOSCALERS, self._take_autoscaler),
            ("", "Pod"): self._take_pod,
            ("", "Node"): self._surroundings.take_node,
            ("", "LimitRange"): lambda data: self._surroundings.take_limit_range(_namespace_of(data), data),
            ("autoscaling.k8s.io", "VerticalPodAutoscalerCheckpoint"): (
                lambda data: self._surroundings.take_checkpoint(_namespace_of(data), data)
            ),
            ("metrics.k8s.io", "PodMetrics"): lambda data: self._namespace(_namespace_of(data)).take_sample(data),
            ("custom.metrics.k8s.io", "MetricValue"): self._values.add_custom,
            ("external.metrics.k8s.io", "ExternalMetricValue"): self._values.add_external,
            ("autoscaling", "Scale"): self._take_scale,
            ("datadoghq.com", "DatadogMonitor"): self._take_monitor,
        }

    def _take_autoscaler(self, data: Object) -> None:
        kind = AUTOSCALERS[group_of(data["apiVersion"]), data["kind"]]
        self._autoscalers[key_of(data)] = kind.from_dict(data)
        if kind is Hvpa:
            # An HPA may scale the Hvpa itself.
            self._take_workload(data)

    def _take_pod(self, data: Object) -> None:
        self._namespace(_namespace_of(data)).take_pod(data)
        self._surroundings.take_pod(data)

    def _take_workload(self, data: Object) -> None:
        self._workloads.setdefault(key_of(data), {})[group_of(data.get("apiVersion"))] = data

    def _take_scale(self, data: Object) -> None:
        self._scales.setdefault((_namespace_of(data), name_of(data)), []).append(data)

    def _take_monitor(self, data: Object) -> None:
        state = inner(data, "status").get("monitorState")
        self._monitors[_namespace_of(data), name_of(data)] = state if isinstance(state, str) else ""

    def _take_claim(self, autoscaler: Autoscaler) -> None:
        """Pods claimed by two HorizontalPodAutoscalers are scaled by neither; other kinds do not ask."""
        scale = self.scale(autoscaler)
        if isinstance(autoscaler, HPA) and isinstance(scale, Scale):
            namespace = autoscaler.namespace
            self._namespace(namespace).take_claim(scale.selector, f"{namespace}/{autoscaler.name}")

    def _namespace(self, name: str) -> Namespace:
        if name not in self._namespaces:
            self._namespaces[name] = Namespace(name)
        return self._namespaces[name]

    def autoscalers(self) -> tuple[Autoscaler, ...]:
        return tuple(self._autoscalers.values())

    def newest_time(self) -> float | None:
        """The latest moment the input tells of; None where it tells of none."""
        return max((at for text in self._times if (at := read_time(text)) is not None), default=None)

    def seen(self, autoscaler: Autoscaler, now: float, settings: Settings) -> Seen:
        """What this autoscaler would look at."""
        autoscaler = autoscaler.readable()
        scale = self.scale(autoscaler)
        monitor = self._monitors.get((autoscaler.namespace, autoscaler.name))
        if isinstance(scale, Failure):
            return Seen(now, scale, monitor=monitor)
        namespace = self._namespace(autoscaler.namespace)
        answers = _Answers(self._values, namespace, scale.selector)
        if isinstance(autoscaler, HPA):
            answers.to_hpa(with_defaults(autoscaler, settings.kubernetes, dict(settings.gates) or None))
        elif isinstance(autoscaler, Hvpa):
            answers.to_hvpa(autoscaler, settings)
        elif isinstance(autoscaler, VPA):
            answers.to_vpa()
        else:
            answers.to_wpa(autoscaler)
        seen = Seen(
            now,
            scale,
            answers.pods,
            answers.resources,
            answers.of_pods,
            answers.of_objects,
            answers.external,
            rivals=self._rivals(autoscaler, namespace, scale.selector),
            monitor=monitor,
        )
        return self._with_sizes(autoscaler, seen, settings) if isinstance(autoscaler, VPA | Hvpa) else seen

    def _rivals(self, autoscaler: Autoscaler, namespace: Namespace, selector: str) -> tuple[str, ...]:
        if isinstance(autoscaler, VPA):
            return self._surroundings.rivals(autoscaler)
        itself = f"{namespace.name}/{autoscaler.name}" if isinstance(autoscaler, HPA) else ""
        return tuple([name for name in namespace.claimants(selector) if name != itself])

    def _with_sizes(self, autoscaler: VPA | Hvpa, seen: Seen, settings: Settings) -> Seen:
        """The same, and what sizes depend on."""
        around, ref, namespace = self._surroundings, target_of(autoscaler), autoscaler.namespace
        usage, notes = around.usage(autoscaler, seen, settings)
        workload = self._workloads.get((ref.kind or "", namespace, ref.name or ""), {}).get(ref.group)
        owners = {(o.kind, o.name) for pod in seen.pods for o in pod.owners}
        made = {
            owner: found
            for owner in owners
            for found in self._workloads.get((owner[0], namespace, owner[1]), {}).values()
        }
        return replace(
            seen,
            nodes=around.nodes(seen.pods),
            limit_ranges=around.limit_ranges(namespace),
            controllers=controllers_of(seen.pods, made),
            template=read_template(workload) if workload else (),
            usage=usage,
            size_advice=around.size_advice(autoscaler),
            count_advice=around.count_advice(autoscaler) if isinstance(autoscaler, Hvpa) else None,
            notes=notes,
        )

    def scale(self, autoscaler: Autoscaler) -> Scale | Failure:
        """The scale of the autoscaler's target, looked for once; who only sizes pods needs none."""
        ref = target_of(autoscaler)
        written = "targetRef" if isinstance(autoscaler, VPA | Hvpa) else "scaleTargetRef"
        key = (ref.group, (ref.kind or "", autoscaler.namespace, ref.name or ""), written)
        if key not in self._found:
            self._found[key] = self._find_scale(ref, autoscaler.namespace, written)
        found = self._found[key]
        if isinstance(found, Scale) and not has_scale(ref) and not isinstance(autoscaler, VPA):
            return no_scale(ref)
        return self._topmost(ref, autoscaler.namespace, found) if isinstance(autoscaler, VPA) else found

    def _topmost(self, ref: Ref, namespace: str, found: Scale | Failure) -> Scale | Failure:
        """A VPA sizes the pods of the controller that nobody else controls."""
        workload = self._workloads.get((ref.kind or "", namespace, ref.name or ""), {}).get(ref.group, {})
        for owner in mappings(inner(workload, "metadata").get("ownerReferences")):
            if owner.get("controller") is True:
                above = f"{owner.get('kind')}/{owner.get('name')}"
                return Failure(f"{ref} is controlled by {above}: write that as the target", "spec")
        return found

    def _find_scale(self, ref: Ref, namespace: str, written: str) -> Scale | Failure:
        workloads = self._workloads.get((ref.kind or "", namespace, ref.name or ""), {})
        workload = workloads.get(ref.group)
        for scale in reversed(self._scales.get((namespace, ref.name or ""), [])):
            if _same_object(scale, workload):
                return read_scale(scale)
        if workload is not None:
            return scale_of_workload(workload, ref)
        elsewhere = next(iter(workloads.values()), {})
        return not_there(ref, namespace, str(elsewhere.get("apiVersion") or ""), written)


class _Answers:
    """The answers to the questions of one autoscaler's metrics."""

    def __init__(self, values: MetricValues, namespace: Namespace, selector: str) -> None:
        self._values, self._namespace, self._selector = values, namespace, selector
        self.pods = namespace.pods(selector)
        self.resources: Mapping[str, PodSample] | Failure = {}
        self.of_pods: dict[str, Mapping[str, Value] | Failure] = {}
        self.of_objects: dict[str, int | Failure] = {}
        self.external: dict[str, tuple[int, ...] | Failure] = {}

    def to_hpa(self, hpa: HPA) -> None:
        for metric in hpa.metrics or ():
            if metric.type in {"Resource", "ContainerResource"}:
                self.resources = self._namespace.samples([selector_of(self._selector)])
            elif metric.type == "Pods" and metric.pods:
                self._ask_pods(metric.pods.metric or MetricName())
            elif metric.type == "Object" and metric.object:
                self._ask_object(metric.object.metric or MetricName(), metric.object.described or Ref())
            elif metric.type == "External" and metric.external:
                asked = metric.external.metric or MetricName()
                self._ask_external(asked.name, asked.selector)

    def to_hvpa(self, hvpa: Hvpa, settings: Settings) -> None:
        """Usage is looked at for saturation too, whatever the metrics."""
        self.resources = self._namespace.samples([selector_of(self._selector)])
        if hvpa.uses_hpa:
            self.to_hpa(with_defaults(hpa_of(hvpa), settings.kubernetes, dict(settings.gates) or None))

    def to_vpa(self) -> None:
        self.resources = self._namespace.samples([selector_of(self._selector)])

    def to_wpa(self, wpa: WPA) -> None:
        """Its resource metrics have selectors of their own, over all pod metrics of the namespace."""
        chosen: list[Selector | None] = []
        for metric in wpa.metrics or ():
            source = metric.source
            if isinstance(source, ExternalBand):
                self._ask_external(source.name, source.selector)
            elif isinstance(source, ResourceBand):
                chosen.append(_readable_selector(source.selector))
        if chosen:
            self.resources = self._namespace.samples(chosen)

    def _ask_pods(self, metric: MetricName) -> None:
        key, pods = metric_key(metric.name, metric.selector), (pod.name for pod in self.pods)
        self.of_pods[key] = self._values.of_pods(
            metric.name or "", metric.selector, self._namespace.name, pods, self._selector
        )

    def _ask_object(self, metric: MetricName, ref: Ref) -> None:
        key = metric_key(metric.name, metric.selector, str(ref))
        self.of_objects[key] = self._values.of_object(metric.name or "", metric.selector, self._namespace.name, ref)

    def _ask_external(self, name: str | None, selector: Mapping[str, Any] | None) -> None:
        answer = self._values.external(name or "", selector, self._namespace.name)
        self.external[metric_key(name, selector)] = answer


def _readable_selector(data: Mapping[str, Any] | None) -> Selector | None:
    try:
        return read_selector(data)
    except SelectorError:
        return None


def _namespace_of(data: Object) -> str:
    return str(inner(data, "metadata").get("namespace") or DEFAULT_NAMESPACE)


def _same_object(scale: Object, workload: Object | None) -> bool:
    """A Scale does not tell the kind it belongs to, but it has the uid of its workload."""
    uids = {inner(data, "metadata").get("uid") for data in (scale, workload or {})}
    return len(uids - {None}) < 2


def _times(data: Object) -> Iterator[str]:
    """Every moment that lies in the past of a dump: a deletion may still be to come."""
    metadata, status = inner(data, "metadata"), inner(data, "status")
    found = [metadata.get("creationTimestamp"), data.get("timestamp")]
    found += [status.get("startTime"), status.get("lastScaleTime"), status.get("lastUpdateTime")]
    found.append(inner(status, "lastScaling").get("lastUpdated"))
    found += [entry.get("time") for entry in mappings(metadata.get("managedFields"))]
    for condition in mappings(status.get("conditions")):
        found += [condition.get(name) for name in _CONDITION_TIMES]
    for container in mappings(status.get("containerStatuses")):
        for state in (*inner(container, "state").values(), *inner(container, "lastState").values()):
            found += [inner(state).get("startedAt"), inner(state).get("finishedAt")]
    return (time for time in found if isinstance(time, str))
