"""From the objects of a dump or a cluster to what each autoscaler observes. No I/O; time is an argument."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import chain
from types import MappingProxyType
from typing import Any, NamedTuple, cast

from hypot.core.instant import read_time
from hypot.kinds.base import DEFAULT_NAMESPACE, Ref
from hypot.kinds.catalogue import CATALOGUE, Autoscaler, find_autoscaler, info_of
from hypot.kinds.hpa import HPA
from hypot.kinds.metric_values import CUSTOM_LIST
from hypot.kinds.tortoise import Tortoise
from hypot.kinds.values.names import group_of
from hypot.kinds.values.nested import inner, mappings
from hypot.policy.model.seen import ClusterNode, Container, Failure, LimitRange, Pod, PodSample, Scale, Seen, UsageView
from hypot.policy.model.settings import Settings
from hypot.policy.observe.absent import IN_DUMP, Absent
from hypot.policy.observe.answered import Answered, Items
from hypot.policy.observe.metric_queries import CUSTOM_API, EXTERNAL_API, MetricQuery, read_link
from hypot.policy.observe.namespace import Namespace, PodIndex
from hypot.policy.observe.questions import Answers, Questions, Values
from hypot.policy.observe.read_namespace import settings_in
from hypot.policy.observe.read_pods import labels_of, name_of, read_pod, read_sample
from hypot.policy.observe.read_scale import has_scale, no_scale, read_scale, scale_of_workload
from hypot.policy.observe.read_sizes import read_limit_range, read_node, read_template
from hypot.policy.observe.read_values import MetricValues
from hypot.policy.observe.refusals import Refusals, refused
from hypot.policy.observe.surroundings import Surroundings, controllers_of
from hypot.policy.observe.targets import ScaleTarget, key_of_ref, target_of

Object = Mapping[str, Any]
Key = tuple[str, str, str]
# Returns the history of usage of an autoscaler's target, and notes on what could not be read.
UsageOf = Callable[[Autoscaler, Seen, Settings], tuple[UsageView | None, tuple[str, ...]]]

_KNOWN = {
    ("autoscaling", "Scale"),
    ("autoscaling.k8s.io", "VerticalPodAutoscalerCheckpoint"),
    ("", "Pod"),
    ("", "Node"),
    ("", "LimitRange"),
    ("", "Namespace"),
    ("", "Status"),
    ("", "ReplicationController"),
    ("apps", "DaemonSet"),
    ("batch", "Job"),
    ("batch", "CronJob"),
    ("apps", "Deployment"),
    ("apps", "StatefulSet"),
    ("apps", "ReplicaSet"),
    ("metrics.k8s.io", "PodMetrics"),
    ("custom.metrics.k8s.io", "MetricValue"),
    ("custom.metrics.k8s.io", "MetricValueList"),
    ("external.metrics.k8s.io", "ExternalMetricValueList"),
    ("external.metrics.k8s.io", "ExternalMetricValue"),
    ("datadoghq.com", "DatadogMonitor"),
}
# What only a cluster can say, beside the values of metrics.
_OBSERVED = frozenset(
    {("", "Pod"), ("autoscaling", "Scale"), ("autoscaling.k8s.io", "VerticalPodAutoscalerCheckpoint")}
)
# Kubernetes' own groups, in addition to those that end in .k8s.io; unknown kinds in these groups are never targets.
_BUILT_IN = {"", "apps", "autoscaling", "batch", "extensions", "policy"}
_CONDITION_TIMES = ("lastTransitionTime", "lastUpdateTime", "lastProbeTime")


def may_matter(api_version: str, kind: str) -> bool:
    """Whether a decision can depend on an object of this kind: known kinds, and any custom kind as a target."""
    group = group_of(api_version)
    return is_known(api_version, kind) or not (group in _BUILT_IN or group.endswith(".k8s.io"))


def is_known(api_version: Any, kind: Any) -> bool:
    group = group_of(api_version)
    return (group, kind) in _KNOWN or find_autoscaler(group, kind) is not None


def is_autoscaler(data: Object) -> bool:
    return find_autoscaler(group_of(data.get("apiVersion")), data.get("kind")) is not None


def key_of(data: Object) -> Key:
    """Kind, namespace and name; the same for all API versions of an object."""
    return str(data.get("kind") or ""), namespace_of(data), name_of(data)


def read_autoscaler(data: Object) -> Autoscaler:
    return cast("Autoscaler", CATALOGUE[data["kind"]].kind.from_dict(data))


class Lasting(NamedTuple):
    """Derived data to reuse in the next snapshot: pod indexes by namespace, the rest by identity of the workload.

    Each is reused only for the identical objects.
    """

    pods: Mapping[str, PodIndex] = MappingProxyType({})
    scales: Mapping[int, tuple[Object, Scale | Failure]] = MappingProxyType({})
    templates: Mapping[int, tuple[Object, tuple[Container, ...]]] = MappingProxyType({})


NOTHING_EARLIER = Lasting()


class Snapshot:
    """All objects, indexed once. If an object comes twice, the last one counts."""

    def __init__(
        self,
        objects: Iterable[Object] = (),
        *,
        values: Values | None = None,
        usage: UsageOf | None = None,
        absent: Absent = IN_DUMP,
        earlier: Lasting = NOTHING_EARLIER,
    ) -> None:
        """From the objects of a dump, or empty, to be filled by the caller with objects that are already read."""
        self._earlier = earlier
        self._autoscalers: dict[Key, Autoscaler] = {}
        self._workloads: dict[Key, dict[str, Object]] = {}
        self._scales: dict[tuple[str, str], list[tuple[ScaleTarget | None, Object]]] = {}
        self._monitors: dict[tuple[str, str], str] = {}
        self._namespaces: dict[str, Namespace] = {}
        self._given = MetricValues()
        self._answers: dict[MetricQuery, Items | Failure] = {}
        self.values: Values = values or Answered(self._answers, self._given)
        # Not a bound method: every reconcile would leave a reference cycle for the garbage collector.
        self._surroundings = Surroundings(partial(_all_pods, self._namespaces))
        self._usage: UsageOf = usage or self._surroundings.usage
        self._refusals = Refusals(absent)
        self._times: set[str] = set()
        # The namespaces of pods that ran; "" if something else shows that the input was read from a cluster.
        self._observed: set[str] = set()
        self._scales_read: dict[int, tuple[Object, Scale | Failure]] = {}
        self._templates_read: dict[int, tuple[Object, tuple[Container, ...]]] = {}
        self._found: dict[tuple[str, Key, str], Scale | Failure] = {}
        # By identity; the autoscaler itself is kept so that its id is not reused.
        self._scale_of: dict[int, tuple[Autoscaler, Scale | Failure]] = {}
        takers = self._takers()
        for data in objects:
            if is_autoscaler(data):
                self.take_autoscaler(read_autoscaler(data), data)
            else:
                takers.get((group_of(data.get("apiVersion")), data.get("kind")), self.take_workload)(data)
            self._times.update(_times(data))
            if _is_observed(data):
                self._observed.add(namespace_of(data) if data.get("kind") == "Pod" else "")
        self.settle()

    def _takers(self) -> dict[tuple[str, Any], Callable[[Object], None]]:
        around = self._surroundings
        return {
            ("", "Pod"): lambda data: self.take_pod(namespace_of(data), read_pod(data)),
            ("", "Node"): lambda data: self.take_node(read_node(data)),
            ("", "LimitRange"): (
                lambda data: self.take_limit_range(namespace_of(data), name_of(data), read_limit_range(data))
            ),
            ("", "Namespace"): lambda data: self.take_namespace(name_of(data), settings_in(data)),
            ("autoscaling.k8s.io", "VerticalPodAutoscalerCheckpoint"): (
                lambda data: around.take_checkpoint(namespace_of(data), data)
            ),
            ("metrics.k8s.io", "PodMetrics"): self._take_sample,
            ("custom.metrics.k8s.io", "MetricValue"): self._given.add_custom,
            ("custom.metrics.k8s.io", "MetricValueList"): self._take_answer,
            ("external.metrics.k8s.io", "ExternalMetricValueList"): self._take_answer,
            ("external.metrics.k8s.io", "ExternalMetricValue"): lambda data: self._given.add_external([data]),
            ("autoscaling", "Scale"): self.take_scale,
            ("datadoghq.com", "DatadogMonitor"): self.take_monitor,
            ("", "Status"): self._take_refusal,
        }

    def take_autoscaler(self, autoscaler: Autoscaler, data: Object) -> None:
        """Take an autoscaler. A kind that other autoscalers may scale, such as an Hvpa, is a workload too."""
        self._autoscalers[autoscaler.KIND, autoscaler.namespace, autoscaler.name] = autoscaler
        if info_of(autoscaler).scalable:
            self.take_workload(data)

    def take_pod(self, namespace: str, pod: Pod) -> None:
        self._namespace(namespace).take_pod(pod)

    def take_node(self, node: ClusterNode) -> None:
        self._surroundings.take_node(node)

    def take_limit_range(self, namespace: str, name: str, items: tuple[LimitRange, ...]) -> None:
        self._surroundings.take_limit_range(namespace, name, items)

    def take_namespace(self, name: str, annotations: Mapping[str, str]) -> None:
        self._surroundings.take_namespace(name, annotations)

    def take_sample(self, namespace: str, pod: str, sample: PodSample) -> None:
        self._namespace(namespace).take_sample(pod, sample)

    def _take_sample(self, data: Object) -> None:
        self.take_sample(namespace_of(data), name_of(data), read_sample(data, labels_of(data)))

    def _take_answer(self, data: Object) -> None:
        """Take the answer of a metrics API. If it names its query, it is for that query only."""
        link, items = inner(data, "metadata").get("selfLink"), tuple(mappings(data.get("items")))
        if isinstance(link, str) and link:
            self._answers[read_link(link)] = items
        elif data.get("kind") == CUSTOM_LIST:
            for item in items:
                self._given.add_custom(item)
        else:
            self._given.add_external(items)

    def _take_refusal(self, data: Object) -> None:
        link, message = refused(data)
        if link.startswith((f"{CUSTOM_API}/", f"{EXTERNAL_API}/")):
            self._answers[read_link(link)] = Failure(message)
        else:
            self._refusals.take(link, message)

    def take_workload(self, data: Object) -> None:
        self._workloads.setdefault(key_of(data), {})[group_of(data.get("apiVersion"))] = data

    def take_scale(self, data: Object, target: ScaleTarget | None = None) -> None:
        """Take a Scale. It does not name the kind of its target, so the caller does, if it is known."""
        self._scales.setdefault((namespace_of(data), name_of(data)), []).append((target, data))

    def take_monitor(self, data: Object) -> None:
        state = inner(data, "status").get("monitorState")
        self._monitors[namespace_of(data), name_of(data)] = state if isinstance(state, str) else ""

    def settle(self) -> None:
        """After all objects are taken: record which autoscaler sizes, counts and claims what."""
        for autoscaler in self._autoscalers.values():
            self._surroundings.take_autoscaler(autoscaler)
            self._take_claim(autoscaler)

    def _take_claim(self, autoscaler: Autoscaler) -> None:
        """Pods claimed by two HorizontalPodAutoscalers are scaled by neither; other kinds do not claim pods."""
        if not info_of(autoscaler).claims_pods:
            return
        scale = self.scale(autoscaler)
        if isinstance(scale, Scale):
            namespace = autoscaler.namespace
            self._namespace(namespace).take_claim(scale.selector, f"{namespace}/{autoscaler.name}")

    def _namespace(self, name: str) -> Namespace:
        found = self._namespaces.get(name)
        if found is None:
            found = self._namespaces[name] = Namespace(name, self._refusals, self._earlier.pods.get(name))
        return found

    def lasting(self) -> Lasting:
        """What the next snapshot may reuse, as far as the cluster is unchanged."""
        pods = {name: each.index() for name, each in self._namespaces.items()}
        return Lasting(pods, self._scales_read, self._templates_read)

    def autoscalers(self) -> tuple[Autoscaler, ...]:
        return tuple(self._autoscalers.values())

    def pods(self, namespace: str, selector: str) -> tuple[Pod, ...]:
        return self._namespace(namespace).pods(selector)

    def target_pods(self, autoscaler: Autoscaler) -> tuple[Pod, ...]:
        """The pods of the autoscaler's target; none if it cannot be found."""
        scale = self.scale(autoscaler)
        return self.pods(autoscaler.namespace, scale.selector) if isinstance(scale, Scale) else ()

    def newest_time(self) -> float | None:
        """The latest timestamp in the input; None if it has manifests only.

        Some exported objects among the manifests of a repository do not make a dump.
        """
        if self._observed.isdisjoint({"", *(namespace for _, namespace, _ in self._autoscalers)}):
            return None
        return max((at for text in self._times if (at := read_time(text)) is not None), default=None)

    def seen(self, autoscaler: Autoscaler, now: float, settings: Settings, questions: Questions) -> Seen:
        """What this autoscaler observes, with the answers to its questions. Unreadable parts are left out."""
        scale = self.scale(autoscaler)
        monitor = self._monitors.get((autoscaler.namespace, autoscaler.name))
        if isinstance(scale, Failure):
            return Seen(now, scale, monitor=monitor)
        namespace = self._namespace(autoscaler.namespace)
        answers = Answers(questions, self.values, namespace, scale.selector)
        seen = Seen(
            now,
            scale,
            answers.pods,
            answers.resources,
            answers.of_pods,
            answers.of_objects,
            answers.external,
            others=self._conflicts(autoscaler, namespace, scale.selector),
            monitor=monitor,
        )
        return self._with_sizes(autoscaler, seen, settings) if info_of(autoscaler).sizes else seen

    def _conflicts(self, autoscaler: Autoscaler, namespace: Namespace, selector: str) -> tuple[str, ...]:
        if not info_of(autoscaler).counts:
            return self._surroundings.conflicts(autoscaler)
        claims = autoscaler.name if info_of(autoscaler).claims_pods else ""
        own = autoscaler.edited_hpa_name if isinstance(autoscaler, Tortoise) else claims
        itself = f"{namespace.name}/{own}"
        return tuple([name for name in namespace.claimants(selector) if name != itself])

    def _with_sizes(self, autoscaler: Autoscaler, seen: Seen, settings: Settings) -> Seen:
        """The observed state with everything that sizes depend on."""
        around, ref, namespace = self._surroundings, target_of(autoscaler), autoscaler.namespace
        usage, notes = self._usage(autoscaler, seen, settings)
        workload = self._workloads.get((ref.kind or "", namespace, ref.name or ""), {}).get(ref.group)
        metadata = inner(workload, "metadata")
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
            template=self._template(workload) if workload else (),
            usage=usage,
            size_advice=around.size_advice(autoscaler),
            count_advice=around.count_advice(autoscaler) if info_of(autoscaler).counts else None,
            notes=notes,
            namespace_annotations=around.namespace_annotations(namespace),
            hpa=self._edited_hpa(autoscaler),
            target_uid=str(metadata.get("uid") or ""),
            target_version=str(metadata.get("resourceVersion") or ""),
        )

    def _edited_hpa(self, autoscaler: Autoscaler) -> HPA | None:
        """The HPA that a Tortoise edits, without what cannot be read."""
        if not isinstance(autoscaler, Tortoise):
            return None
        found = self._surroundings.hpa(autoscaler.namespace, autoscaler.hpa_name)
        return None if found is None else found.readable()

    def scale(self, autoscaler: Autoscaler) -> Scale | Failure:
        """The scale of the autoscaler's target, computed once; kinds that only size pods need no scale subresource."""
        known = self._scale_of.get(id(autoscaler))
        if known is None or known[0] is not autoscaler:
            known = self._scale_of[id(autoscaler)] = (autoscaler, self._scale(autoscaler))
        return known[1]

    def _scale(self, autoscaler: Autoscaler) -> Scale | Failure:
        if unread := self._refusals.pods(autoscaler.namespace):
            return Failure(unread)
        ref = target_of(autoscaler)
        info = info_of(autoscaler)
        written = info.target_field
        key = (ref.group, (ref.kind or "", autoscaler.namespace, ref.name or ""), written)
        if key not in self._found:
            self._found[key] = self._find_scale(ref, autoscaler.namespace, written)
        found = self._found[key]
        if isinstance(found, Scale) and not has_scale(ref) and info.counts:
            return no_scale(ref)
        return found if info.counts else self._topmost(ref, autoscaler.namespace, found)

    def _topmost(self, ref: Ref, namespace: str, found: Scale | Failure) -> Scale | Failure:
        """A VPA must target the topmost controller: it fails if the target has a controller itself."""
        workload = self._workloads.get((ref.kind or "", namespace, ref.name or ""), {}).get(ref.group, {})
        for owner in mappings(inner(workload, "metadata").get("ownerReferences")):
            if owner.get("controller") is True:
                above = f"{owner.get('kind')}/{owner.get('name')}"
                return Failure(f"{ref} is controlled by {above}: use that as the target", "spec")
        return found

    def _find_scale(self, ref: Ref, namespace: str, written: str) -> Scale | Failure:
        workloads = self._workloads.get((ref.kind or "", namespace, ref.name or ""), {})
        workload = workloads.get(ref.group)
        target = key_of_ref(namespace, ref)
        for known, scale in reversed(self._scales.get((namespace, ref.name or ""), [])):
            if known in {None, target} and _same_object(scale, workload):
                return read_scale(scale)
        if workload is not None:
            return self._scale_of_workload(workload, ref)
        elsewhere = next(iter(workloads.values()), {})
        return self._refusals.target(ref, namespace, str(elsewhere.get("apiVersion") or ""), written)

    def _scale_of_workload(self, workload: Object, ref: Ref) -> Scale | Failure:
        known = self._earlier.scales.get(id(workload))
        if known is None or known[0] is not workload:
            known = (workload, scale_of_workload(workload, ref))
        self._scales_read[id(workload)] = known
        return known[1]

    def _template(self, workload: Object) -> tuple[Container, ...]:
        known = self._earlier.templates.get(id(workload))
        if known is None or known[0] is not workload:
            known = (workload, read_template(workload))
        self._templates_read[id(workload)] = known
        return known[1]


def _all_pods(namespaces: Mapping[str, Namespace]) -> Iterator[Pod]:
    return chain.from_iterable(namespace.all_pods() for namespace in namespaces.values())


def namespace_of(data: Object) -> str:
    return str(inner(data, "metadata").get("namespace") or DEFAULT_NAMESPACE)


def _same_object(scale: Object, workload: Object | None) -> bool:
    """Whether a Scale can belong to this workload: its uid must not differ."""
    uids = {inner(data, "metadata").get("uid") for data in (scale, workload or {})}
    return len(uids - {None}) < 2


def _is_observed(data: Object) -> bool:
    """Whether it shows that the input was read from a cluster. The status of a manifest has no times."""
    if is_autoscaler(data):
        return any(_times({"status": data.get("status")}))
    group = group_of(data.get("apiVersion"))
    return (group.endswith("metrics.k8s.io") or (group, data.get("kind")) in _OBSERVED) and any(_times(data))


def _times(data: Object) -> Iterator[str]:
    """The timestamps that are not later than the dump; a deletion timestamp may be, so it is left out."""
    metadata, status = inner(data, "metadata"), inner(data, "status")
    found = [metadata.get("creationTimestamp"), data.get("timestamp")]
    found += [status.get("startTime"), status.get("lastScaleTime"), status.get("lastUpdateTime")]
    found.append(inner(status, "lastScaling").get("lastUpdated"))
    found += [item.get("timestamp") for item in mappings(data.get("items"))]
    found += [entry.get("time") for entry in mappings(metadata.get("managedFields"))]
    for condition in mappings(status.get("conditions")):
        found += [condition.get(name) for name in _CONDITION_TIMES]
    for container in mappings(status.get("containerStatuses")):
        for state in (*inner(container, "state").values(), *inner(container, "lastState").values()):
            found += [inner(state).get("startedAt"), inner(state).get("finishedAt")]
    return (time for time in found if isinstance(time, str))
