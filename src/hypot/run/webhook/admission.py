"""The admission of a new pod: it gets the size that its autoscaler recorded, within what its namespace allows.

A pod is never refused here, and never changed into a pod that the API server would refuse: in doubt it stays as it is.
"""

import base64
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, assert_never

import msgspec

from hypot.core.amount import CPU, MOST, RESOURCES
from hypot.kinds.autoscaler import WorkloadAutoscaler
from hypot.kinds.catalogue import Autoscaler
from hypot.kinds.hpa import HPA
from hypot.kinds.hvpa import Hvpa
from hypot.kinds.hvpa.status import BLOCKED
from hypot.kinds.tortoise import Tortoise
from hypot.kinds.tortoise.status import WORKING
from hypot.kinds.values.nested import inner, mappings
from hypot.kinds.vpa import VPA, with_defaults
from hypot.kinds.vpa.fields import OFF, REQUESTS_ONLY, amounts_of, policy_of
from hypot.kinds.vpa.knobs import Knobs, knobs_from
from hypot.kinds.wpa import WPA
from hypot.policy.autoscaler.report import recorded_containers
from hypot.policy.autoscaler.rule import bounds_of, sized_name
from hypot.policy.governor import WAITS
from hypot.policy.hold import CONFLICT, EDGES, holds_of
from hypot.policy.model.decision import Blocks, condition_of
from hypot.policy.model.plan import resizing_of
from hypot.policy.model.seen import Bounds, Container, Failure, LimitRange, Pod
from hypot.policy.model.size import Size, between
from hypot.policy.model.state import read_conditions
from hypot.policy.observe.namespace import selector_of
from hypot.policy.observe.read_pods import read_amount, read_pod
from hypot.policy.observe.read_sizes import read_advice
from hypot.policy.tortoise.report import recorded_requests
from hypot.policy.vertical.fit import amounts, fit, is_off
from hypot.policy.vertical.limits import admits, resized, within
from hypot.policy.vertical.need import OBSERVED_CONTAINERS
from hypot.policy.vertical.pod_size import has_enough, has_size
from hypot.policy.vertical.vpa import controlled, forbids, resolve
from hypot.run.outcome import NOT_EVICTING, WEBHOOK_UNAVAILABLE
from hypot.run.webhook.new_pod import SIZED_BY, LargePodError, read_new_pod

# The suffix of SIZED_BY if the pod is smaller or larger than its sizer recommends.
SMALLER, LARGER = "smaller", "larger"
# The API server's limit for one object; a review contains little else.
LARGEST_BODY = 3 * 1024 * 1024

Find = Callable[[Mapping[str, Any], str], Autoscaler | None]
Ranges = tuple[LimitRange, ...] | Failure
LimitRangesOf = Callable[[str], Ranges]
MayShrink = Callable[[], bool]
Operation = dict[str, Any]

_CLUSTER = Knobs()
# Holds in a status that do not apply to new pods. Paused and Held come from annotations, which are read directly and
# give the direction. A move that waits for the governor may proceed in the middle of a reconcile: a pod evicted then
# would come back as large as before. The holds for unsized new pods must not keep new pods unsized.
_NOT_FOR_NEW_PODS = frozenset({"Paused", "Held", WAITS.reason, WEBHOOK_UNAVAILABLE, NOT_EVICTING})


class BadReviewError(ValueError):
    """The body is not an AdmissionReview of version v1 with a request."""


class Reviewed(NamedTuple):
    """The AdmissionReview of the answer, and whether it changes the pod; `error` is why a pod stays as it is."""

    body: bytes
    patched: bool
    namespace: str
    error: str = ""


class Sizing(NamedTuple):
    """The sizes for a new pod; `otherwise` says whether they are smaller or larger than its sizer recommends."""

    given: tuple[Size, ...] = ()
    otherwise: str = ""


class _ReviewedResource(msgspec.Struct, gc=False, frozen=True):
    group: str = ""
    version: str = ""
    resource: str = ""


# Shared defaults: a body may repeat its request a hundred thousand times, and each one is decoded.
_NO_RESOURCE, _NO_OBJECT = _ReviewedResource(), msgspec.Raw(b"null")


class _Request(msgspec.Struct, gc=False):
    """The part of a request that is used. The object is decoded when it is needed."""

    uid: str
    resource: _ReviewedResource = _NO_RESOURCE
    sub_resource: str = msgspec.field(default="", name="subResource")
    operation: str = ""
    namespace: str = ""
    object: msgspec.Raw = _NO_OBJECT

    @property
    def creates_a_pod(self) -> bool:
        return self.operation == "CREATE" and not self.sub_resource and self.resource == _PODS


class _Review(msgspec.Struct, gc=False):
    api_version: str = msgspec.field(name="apiVersion")
    kind: str
    request: _Request


_PODS = _ReviewedResource("", "v1", "pods")
_READ = msgspec.json.Decoder(_Review)
_VERSION, _KIND = "admission.k8s.io/v1", "AdmissionReview"


def always() -> bool:
    """Smaller pods are always allowed."""
    return True


def review(
    body: bytes,
    find: Find,
    limit_ranges_of: LimitRangesOf,
    knobs: Knobs = _CLUSTER,
    may_shrink: MayShrink = always,
) -> Reviewed:
    """The answer to an AdmissionReview: always allowed, with a patch if an autoscaler has a size for the pod.

    Raises BadReviewError if the body is not a review, and nothing else.
    """
    request = _read(body)
    operations, left = list[Operation](), ""
    if request.creates_a_pod:
        try:
            operations = _operations(request, find, limit_ranges_of, knobs, may_shrink)
        except LargePodError as error:
            left = str(error)
        except Exception as error:  # noqa: BLE001 - a pod must start, whatever fails here
            left = type(error).__name__
    response: dict[str, Any] = {"uid": request.uid, "allowed": True}
    if operations:
        patch = base64.b64encode(msgspec.json.encode(operations)).decode()
        response |= {"patchType": "JSONPatch", "patch": patch}
    written = msgspec.json.encode({"apiVersion": _VERSION, "kind": _KIND, "response": response})
    return Reviewed(written, bool(operations), request.namespace, left)


def _read(body: bytes) -> _Request:
    """The request in the body; the decoder limits the nesting depth."""
    if len(body) > LARGEST_BODY:
        raise BadReviewError(f"the review has {len(body)} bytes; at most {LARGEST_BODY} are accepted")
    try:
        read = _READ.decode(body)
    except (msgspec.DecodeError, RecursionError) as error:
        raise BadReviewError(f"not a review: {error}") from error
    if (read.api_version, read.kind) != (_VERSION, _KIND):
        raise BadReviewError(f"not an {_KIND} of {_VERSION}")
    return read.request


def _operations(
    request: _Request, find: Find, limit_ranges_of: LimitRangesOf, knobs: Knobs, may_shrink: MayShrink
) -> list[Operation]:
    pod = read_new_pod(request.object)
    autoscaler = find(pod, request.namespace)
    if autoscaler is None:
        return []
    sizing = sizing_for(autoscaler, pod, limit_ranges_of(request.namespace), knobs, may_shrink=may_shrink())
    return patch_for(pod, sizing.given, annotations_of(autoscaler, pod, sizing.otherwise))


def sizer_of(autoscaler: Autoscaler, otherwise: str = "") -> str:
    """The name of the sizer in the annotation of a pod, with a suffix if the pod has another size."""
    name = f"{autoscaler.KIND}/{autoscaler.name}"
    return f"{name}/{otherwise}" if otherwise else name


def annotations_of(autoscaler: Autoscaler, pod: Mapping[str, Any], otherwise: str) -> dict[str, str]:
    """The annotations that name the sizer; for a VPA also the containers, so that later injected ones stay as is."""
    reported = {SIZED_BY: sizer_of(autoscaler, otherwise)}
    if isinstance(autoscaler, VPA):
        names = [str(container.get("name")) for container in mappings(inner(pod, "spec").get("containers"))]
        reported[OBSERVED_CONTAINERS] = ", ".join(names)
    return reported


def sizing_for(
    autoscaler: Autoscaler,
    pod: Mapping[str, Any],
    limit_ranges: Ranges,
    knobs: Knobs = _CLUSTER,
    *,
    may_shrink: bool = True,
) -> Sizing:
    """The sizes for the containers of a new pod; only the resources that the autoscaler controls.

    Empty if the autoscaler sizes the pod template, or if the pod has pod-level resources, which bound its containers.
    Holds apply only to a VPA, whose recommendation is new for the pod. The size that another kind recorded passed the
    holds when it was decided, and other pods run with it.
    """
    if isinstance(limit_ranges, Failure) or inner(pod, "spec", "resources"):
        return Sizing()
    if resizing_of(autoscaler.annotations) == "Template":
        return Sizing()
    # A pod that does not exist yet has no status, so any status in the request is ignored.
    made = read_pod({"metadata": inner(pod, "metadata"), "spec": inner(pod, "spec")})
    match autoscaler:
        case VPA():
            wanted = _advised(with_defaults(autoscaler), made, limit_ranges, knobs)
            fitted = within(wanted, made, limit_ranges)
            return _given(_held(autoscaler, fitted, made, limit_ranges, may_shrink=may_shrink), wanted, made)
        case Hvpa():
            wanted = _recorded(autoscaler, made)
            return _given(within(wanted, made, limit_ranges), wanted, made)
        case Tortoise():
            wanted = _requested(autoscaler, made)
            return _given(within(wanted, made, limit_ranges), wanted, made)
        case WorkloadAutoscaler():
            wanted = _sized(autoscaler, made)
            return _given(within(wanted, made, limit_ranges), wanted, made)
        case HPA() | WPA():
            return Sizing()
        case _ as other:
            assert_never(other)


def _given(sizes: tuple[Size, ...], wanted: tuple[Size, ...], pod: Pod) -> Sizing:
    """A hold or a LimitRange may leave a pod with another size than recommended: then the result says so."""
    by_container = {size.container: size for size in wanted}
    comes_up = resized(pod, sizes)
    if has_size(comes_up, by_container):
        return Sizing(sizes)
    return Sizing(sizes, LARGER if has_enough(comes_up, by_container) else SMALLER)


def _advised(vpa: VPA, pod: Pod, limit_ranges: Iterable[LimitRange], knobs: Knobs) -> tuple[Size, ...]:
    """The recommendation in a VPA's status, fitted to this pod."""
    fitted = fit(advised_bounds(vpa, knobs), vpa.resource_policy, pod, limit_ranges)
    return tuple([each.patch for each in fitted.containers])


def advised_bounds(vpa: VPA, knobs: Knobs) -> tuple[Bounds, ...]:
    """The recommendation in a VPA's status, before it is fitted to a pod; empty if new pods get none."""
    advice = read_advice(vpa)
    if vpa.mode == OFF or isinstance(advice, Failure) or any(forbids(problem) for problem in vpa.problems()):
        return ()
    usable = [bounds._replace(target=_usable(bounds.target)) for bounds in advice.containers]
    return resolve(vpa, replace(advice, containers=tuple(usable)), knobs_from(vpa.annotations, knobs))


def _held(
    vpa: VPA, sizes: tuple[Size, ...], pod: Pod, limit_ranges: Sequence[LimitRange], *, may_shrink: bool
) -> tuple[Size, ...]:
    """These sizes after holds, compared with the pod's manifest; empty if its namespace would refuse the result."""
    blocks = {hold.blocks for hold in holds_of(vpa.annotations)} | held_for_new_pods(vpa)
    blocks |= set() if may_shrink else {"down"}
    if "both" in blocks:
        return ()
    written = {c.name: Size(c.name, amounts(c.requests), amounts(c.limits)) for c in pod.containers}
    kept = sizes
    for each in blocks:
        kept = tuple([between(written[size.container], size, EDGES[each]) for size in kept])
    return kept if kept == sizes or admits(resized(pod, kept), limit_ranges) else ()


def held_for_new_pods(autoscaler: Autoscaler) -> set[Blocks]:
    """What the leader holds back for new pods, read from the VPA's status: this replica may not be the leader."""
    if not isinstance(autoscaler, VPA) or not isinstance(autoscaler.status, dict):
        return set()
    reported = condition_of(read_conditions(autoscaler.status.get("conditions")), BLOCKED)
    if reported is None or reported.status != "True" or reported.reason in _NOT_FOR_NEW_PODS:
        return set()
    return {"both"} if reported.reason == CONFLICT else {"down"}


def _recorded(hvpa: Hvpa, pod: Pod) -> tuple[Size, ...]:
    """The last size in an Hvpa's status, without the containers and resources that it does not control.

    Empty if its status selects pods with other labels: then it was for another target.
    """
    reported = inner(hvpa.status).get("targetSelector")
    selector = selector_of(reported) if isinstance(reported, str) else None
    if selector is not None and not selector.matches(pod.labels):
        return ()
    recorded = inner(hvpa.status, "lastScaling", "vpaStatus").get("containerResources")
    written = {str(each.get("containerName")): inner(each, "resources") for each in mappings(recorded)}
    return tuple(
        [
            _decided(hvpa, container, written[container.name])
            for container in pod.containers
            if container.name in written
            and not container.sidecar
            and not is_off(hvpa.container_policies, container.name)
        ]
    )


def _decided(hvpa: Hvpa, container: Container, resources: Mapping[str, Any]) -> Size:
    """The size of the controlled resources; a limit is never below its request."""
    sized = controlled(hvpa.container_policies, container.name)
    requests = {r: a for r, a in _usable(amounts_of(resources.get("requests"))).items() if r in sized}
    limits = {r: a for r, a in _usable(amounts_of(resources.get("limits"))).items() if r in requests}
    present = amounts(container.limits)
    policy = policy_of(hvpa.container_policies, container.name)
    if policy is not None and policy.controlled_values == REQUESTS_ONLY:
        return Size(container.name, {r: min(a, present.get(r, a)) for r, a in requests.items()})
    limits = {**{r: present[r] for r in requests if r in present}, **limits}
    return Size(container.name, requests, {r: max(a, requests[r]) for r, a in limits.items()})


def _requested(tortoise: Tortoise, pod: Pod) -> tuple[Size, ...]:
    """The size in a Tortoise's status; only of the resources that it scales by now."""
    listed = mappings(inner(tortoise.status).get("containerResourcePhases"))
    phases = {str(each.get("containerName")): inner(each, "resourcePhases") for each in listed}
    written = {str(each.get("containerName")): each for each in mappings(recorded_requests(tortoise.status))}
    return tuple(
        [
            _with_limits(container, written[container.name], phases[container.name])
            for container in pod.containers
            if container.name in written and container.name in phases and not container.sidecar
        ]
    )


def _with_limits(container: Container, written: Mapping[str, Any], phases: Mapping[str, Any]) -> Size:
    """A limit that is not recorded keeps its ratio to the request; without a limit there is none."""
    sized = [resource for resource in RESOURCES if inner(phases, resource).get("phase") == WORKING]
    requests = {r: a for r, a in _usable(amounts_of(written.get("resource"))).items() if r in sized}
    given, present, had = _usable(amounts_of(written.get("limits"))), amounts(container.limits), container.requests
    limits = {
        r: max(given.get(r) or present[r] * request // (amounts(had).get(r) or present[r]), request)
        for r, request in requests.items()
        if r in present
    }
    return Size(container.name, requests, limits)


def _sized(autoscaler: WorkloadAutoscaler, pod: Pod) -> tuple[Size, ...]:
    """The cpu of the one container that an Autoscaler sizes, from its status; all else stays as in the manifest.

    Bounds may have changed since it was recorded.
    """
    containers = {container.name: container for container in pod.containers if not container.sidecar}
    name = sized_name(autoscaler, {each.name: amounts(each.requests) for each in containers.values()})
    recorded = {str(each.get("containerName")): each for each in mappings(recorded_containers(autoscaler.status))}
    if not autoscaler.acts or not autoscaler.sizes or name not in recorded:
        return ()
    given = {part: _usable(amounts_of(recorded[name].get(part))).get(CPU) for part in ("requests", "limits")}
    if given["requests"] is None:
        return ()
    least, most = bounds_of(autoscaler, name, amounts(containers[name].requests)[CPU])
    cpu = max(least, min(most, given["requests"]))
    limit = {CPU: max(given["limits"] or cpu, cpu)} if CPU in containers[name].limits else {}
    return (Size(name, {CPU: cpu}, limit),)


def _usable(given: Mapping[str, int]) -> dict[str, int]:
    """The amounts above zero and not above what any machine has."""
    return {resource: amount for resource, amount in given.items() if 0 < amount <= MOST}


def patch_for(pod: Mapping[str, Any], sizes: Iterable[Size], annotations: Mapping[str, str]) -> list[Operation]:
    """JSON Patch operations that give the containers these sizes and the pod these annotations.

    Nothing is removed. A pod that already has its size is annotated too: that shows that the webhook was called.
    """
    metadata, listed = pod.get("metadata"), inner(pod, "spec").get("containers")
    if not isinstance(metadata, dict) or not isinstance(listed, list):
        return []
    wanted = {size.container: size.to_dict() for size in sizes}
    operations: list[Operation] = []
    named = False
    for place, container in enumerate(listed):
        resources = wanted.get(str(container.get("name"))) if isinstance(container, dict) else None
        if resources:
            named, present = True, container.get("resources")
            operations += _added(f"/spec/containers/{place}/resources", present, _changes(present, resources))
    return [*operations, *_added("/metadata/annotations", metadata.get("annotations"), annotations)] if named else []


def _changes(present: Any, resources: Mapping[str, Mapping[str, str]]) -> dict[str, dict[str, str]]:
    """The amounts that differ from the present ones; two notations of one amount are equal."""
    found: dict[str, dict[str, str]] = {}
    for part, given in resources.items():
        has = inner(present, part)
        changed = {r: text for r, text in given.items() if read_amount(has.get(r)) != read_amount(text)}
        if changed:
            found[part] = changed
    return found


def _added(path: str, present: Any, wanted: Mapping[str, Any]) -> list[Operation]:
    """Operations that add entries to a mapping, which may be missing; other entries stay."""
    if not wanted:
        return []
    if present is None:
        return [{"op": "add", "path": path, "value": dict(wanted)}]
    if not isinstance(present, dict):
        return []
    operations: list[Operation] = []
    for key, value in wanted.items():
        place = f"{path}/{key.replace('~', '~0').replace('/', '~1')}"
        if isinstance(value, Mapping):
            operations += _added(place, present.get(key), value)
        elif present.get(key) != value:
            operations.append({"op": "add", "path": place, "value": value})
    return operations
