"""Converts a weight-based Hvpa to intervals, as text to paste."""

from collections.abc import Callable, Iterator, Mapping
from itertools import groupby
from typing import Any, NamedTuple

from hypot.core.amount import RESOURCES, readable
from hypot.core.axes.interval import HORIZONTAL_ONLY
from hypot.kinds.hvpa.fields import AUTO, MAINTENANCE_WINDOW, MOST_REPLICAS, OFF, HvpaSpec
from hypot.kinds.hvpa.weights import FULL, Weight, weight_at
from hypot.kinds.pod_template import Template
from hypot.kinds.problem import some
from hypot.kinds.text.write import to_yaml
from hypot.kinds.vpa.fields import ContainerPolicy, amounts_of, policy_of
from hypot.lint.input.item import dig, mapping
from hypot.lint.rules.sizes import controls

# Fields that the released controller reads in its blocks, and hypot at the top level of the spec.
_MOVED = ("scaleUp", "scaleDown", "limitsRequestsGapScaleParams")
_STRICTNESS = {AUTO: 0, MAINTENANCE_WINDOW: 1, OFF: 2}
_DIRECTIONS: dict[str, Callable[..., str]] = {"scaleUp": min, "scaleDown": max}
_KEPT_METADATA = ("name", "namespace", "labels", "annotations")
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_FILL = "fill in"


class Stretch(NamedTuple):
    """A range of counts with one weight, up to the last of them; None if the last count is unknown."""

    weight: int
    last: int | None


class PodSizes(NamedTuple):
    """The current and the largest allowed size of a pod, by resource; None if unknown."""

    today: Mapping[str, int | None]
    most: Mapping[str, int | None]


def interval_form(hvpa: HvpaSpec, template: Template | None) -> str:
    """The same manifest with scaling intervals instead of weights. Unknown sizes are left as placeholders.

    Weight 0 becomes a horizontalOnly interval at the size that pods have when they enter it: the current size, or the
    largest size if pods are enlarged before. Any other weight becomes an interval up to the largest allowed size.
    """
    hvpa = hvpa if hvpa.sound() else hvpa.readable()
    spec, moved = _spec(hvpa)
    form = {"apiVersion": hvpa.API_VERSION, "kind": hvpa.KIND, "metadata": _metadata(hvpa), "spec": spec}
    notes = [f"# {some(moved)}: now for both axes, and for all pods together"] if moved else []
    rows = _rows(stretches(hvpa), sizes_of(hvpa, template), _several(hvpa, template))
    return "\n".join([*notes, to_yaml(form).rstrip("\n"), "  scalingIntervals:", *rows])


def _metadata(hvpa: HvpaSpec) -> dict[str, Any]:
    """The metadata that users write, without what the cluster adds."""
    written: Mapping[str, Any] = hvpa.to_dict()["metadata"] if isinstance(hvpa.metadata, dict) else {}
    kept = {key: written[key] for key in _KEPT_METADATA if written.get(key)}
    if isinstance(kept.get("annotations"), dict):
        kept["annotations"].pop(_LAST_APPLIED, None)
    return {key: value for key, value in kept.items() if value}


def _spec(hvpa: HvpaSpec) -> tuple[dict[str, Any], list[str]]:
    """The spec without weights, and the names of the fields that moved from the blocks to its top level."""
    spec: dict[str, Any] = hvpa.to_dict()["spec"]
    for key in ("weightBasedScalingIntervals", "scalingIntervals"):
        spec.pop(key, None)
    blocks = [block for block in (spec.get("vpa"), spec.get("hpa")) if isinstance(block, dict)]
    moved = []
    for key in _MOVED:
        found = [block.pop(key, None) for block in blocks]
        if any(found) and not spec.get(key):
            spec[key] = _one_for_both(key, [mapping(one) for one in found])
            moved.append(key)
    return spec, moved


def _one_for_both(key: str, of_blocks: list[Mapping[str, Any]]) -> dict[str, Any]:
    """The vpa block's amounts; of two modes the freer one for scale-up and the stricter one for scale-down.

    So no pod waits for more than before, and no pod is removed that was kept before.
    """
    written = {name: value for name, value in next(one for one in of_blocks if one).items() if name != "replicas"}
    modes = [dig(one, "updatePolicy", "updateMode") or AUTO for one in of_blocks]
    if key in _DIRECTIONS and len(set(modes)) > 1:
        written["updatePolicy"] = {"updateMode": _DIRECTIONS[key](modes, key=lambda mode: _STRICTNESS.get(mode, 0))}
    return written


def stretches(hvpa: HvpaSpec) -> list[Stretch]:
    """The weights as ranges of counts without a gap. If several weights cover a count, the first applies."""
    first, most = hvpa.min_replicas, hvpa.max_replicas or 0
    written = hvpa.weights or ()
    ends = [one.last or most or one.start or 0 for one in written]
    end = min(max([first, most, *ends]), MOST_REPLICAS)
    weights = [Weight(one.vpa_weight or 0, one.start or first, one.last or end) for one in written]
    open_end = not most and any(not one.last for one in written)
    by_count = _without_gaps([weight_at(weights, count) for count in range(first, end + 1)])
    found, count = [], first - 1
    for weight, group in groupby(by_count):
        count += sum(1 for _ in group)
        found.append(Stretch(weight, None if open_end and count == end else count))
    return found


def _without_gaps(weights: list[int | None]) -> list[int]:
    """A count without a weight gets the weight of the counts below it, or at the start the first weight above it."""
    before = next((weight for weight in weights if weight is not None), FULL)
    filled = []
    for weight in weights:
        before = before if weight is None else weight
        filled.append(before)
    return filled


def sizes_of(hvpa: HvpaSpec, template: Template | None) -> PodSizes:
    """For each sized resource, the current and the largest allowed size of the largest container."""
    policies = hvpa.container_policies
    written = (policies.containers or ()) if policies is not None else ()
    today: dict[str, int | None] = {}
    most: dict[str, int | None] = {}
    for resource in RESOURCES:
        of_it = [policy for policy in written or (ContainerPolicy(),) if controls(policy, resource)]
        if not of_it:
            continue
        least = max(amounts_of(policy.min_allowed).get(resource, 0) for policy in of_it)
        caps = [amounts_of(policy.max_allowed).get(resource, 0) for policy in of_it]
        most[resource] = max(caps) or None
        has = max(_requests(hvpa, template, resource).values(), default=0)
        has = max(has, least) if has else 0
        today[resource] = min(has, most[resource] or has) or None
    return PodSizes(today, most)


def _requests(hvpa: HvpaSpec, template: Template | None, resource: str) -> dict[str, int]:
    """The current request of each sized container."""
    return {
        container.name: amounts_of(container.requests).get(resource, 0)
        for container in (template.running if template is not None else ())
        if controls(policy_of(hvpa.container_policies, container.name), resource)
    }


def _several(hvpa: HvpaSpec, template: Template | None) -> list[str]:
    """The sized containers if their sizes differ, else none."""
    sizes = [_requests(hvpa, template, resource) for resource in RESOURCES]
    return sorted(set().union(*sizes)) if any(len(set(size.values())) > 1 for size in sizes) else []


def _rows(found: list[Stretch], sizes: PodSizes, several: list[str]) -> Iterator[str]:
    now = sizes.today
    for stretch in found:
        only_counts = stretch.weight == 0
        now = now if only_counts else sizes.most
        yield from _comments(stretch.weight, several)
        yield f"  - maxReplicas: {f'<most replicas>  # {_FILL}' if stretch.last is None else stretch.last}"
        yield "    maxResources:" if now else "    maxResources: {}"
        for resource, size in now.items():
            yield f"      {resource}: {_unknown(now is sizes.today) if size is None else readable(resource, size)}"
        if only_counts:
            yield f"    effectiveIntervalExtrapolation: {HORIZONTAL_ONLY}"


def _comments(weight: int, several: list[str]) -> Iterator[str]:
    if weight:
        yield f"  # was vpaWeight {weight}: pods are sized up to maxAllowed"
        return
    yield "  # was vpaWeight 0: only the replica count changes, pods keep their size"
    if several:
        yield f"  # {some(several)} all get this size; write maxAllowed or mode Off for those that must stay smaller"


def _unknown(of_today: bool) -> str:
    if of_today:
        return f"<current request>  # {_FILL}: the workload is not in the input, or has no request"
    return f"<largest size>  # {_FILL}: there is no maxAllowed"
