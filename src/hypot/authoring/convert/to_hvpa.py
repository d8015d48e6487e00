"""To an Hvpa: one axis becomes an interval, in which the other does not change."""

from typing import Any

from hypot.authoring.convert.result import CannotConvertError, Converted, Note, Workload, metadata_like
from hypot.core.amount import RESOURCES, of_milli, readable
from hypot.kinds.hpa import HPA
from hypot.kinds.hvpa import Hvpa
from hypot.kinds.hvpa.fields import OFF, ScalePolicy, ScaleType, interval
from hypot.kinds.vpa import VPA
from hypot.kinds.vpa.fields import INITIAL
from hypot.kinds.vpa.fields import OFF as ONLY_RECOMMENDS

_NOT_IN_HVPA = {
    "recommenders": "the recommender: an Hvpa uses hypot's own",
    "startup_boost": "the startup boost",
}


def from_hpa(hpa: HPA, workload: Workload) -> Converted:
    """One interval in which pods keep their size."""
    sizes = _sizes(workload)
    notes = [
        Note("assumed", f"pods keep their size, which is at most {_shown(sizes)} per container"),
        Note("check", "an Hvpa earns its place with more intervals: add some, and remove `deploy: false` of its vpa"),
    ]
    if (hpa.min_replicas or 1) < 1:
        notes.append(Note("lost", "minReplicas 0: an Hvpa keeps at least one pod"))
    made = Hvpa(
        hpa.target or {},
        intervals=[interval(hpa.max_replicas, **sizes, extrapolation="horizontalOnly")],
        min_replicas=max(1, hpa.min_replicas or 1),
        max_replicas=hpa.max_replicas,
        metrics=hpa.metrics,
        hpa_scale_up=hpa.scale_up,
        hpa_scale_down=hpa.scale_down,
        use_vpa=False,
        **metadata_like(hpa),
    )
    return Converted((made,), tuple(notes))


def from_vpa(vpa: VPA, workload: Workload) -> Converted:
    """One interval with the count that the workload has."""
    count = workload.replicas
    if not count:
        raise CannotConvertError("an Hvpa needs a count: give the manifest of the workload too, with its replicas")
    policies = vpa.container_policies
    containers = (policies.containers if policies is not None else None) or ()
    sized = [one for one in containers if one.mode != ONLY_RECOMMENDS]
    if not sized or any(resource not in (one.max_allowed or {}) for one in sized for resource in RESOURCES):
        raise CannotConvertError("an interval has a size: write maxAllowed with cpu and memory for each container")
    notes = [Note("assumed", f"always {count} pods, as the workload has now"), *_lost(vpa)]
    held = ScaleType(ScalePolicy(OFF)) if vpa.mode in {ONLY_RECOMMENDS, INITIAL} else None
    if vpa.mode == INITIAL:
        notes.append(Note("lost", "mode Initial: an Hvpa cannot size only new pods, so it only recommends"))
    made = Hvpa(
        vpa.target or {},
        intervals=[interval(count)],
        min_replicas=count,
        max_replicas=count,
        containers=containers,
        scale_up=held,
        scale_down=held,
        use_hpa=False,
        **metadata_like(vpa),
    )
    return Converted((made,), tuple(notes))


def _lost(vpa: VPA) -> list[Note]:
    found = [Note("lost", text) for name, text in _NOT_IN_HVPA.items() if getattr(vpa, name)]
    updates = vpa.update_policy
    if updates is not None and (updates.min_replicas or updates.eviction_requirements or updates.evict_after_oom):
        found.append(Note("lost", "conditions of the update policy: minReplicas, evictionRequirements, OOM kills"))
    return found


def _sizes(workload: Workload) -> dict[str, Any]:
    """The largest requests of a container."""
    made: dict[str, Any] = {}
    for resource in RESOURCES:
        amounts = [each[resource] for each in workload.requests.values() if resource in each]
        if not amounts:
            fix = "give the manifest of the workload too, with requests for cpu and memory"
            raise CannotConvertError(f"an interval has a size of {resource}, which nothing in the input says: {fix}")
        made[resource] = readable(resource, of_milli(resource, max(amounts)))
    return made


def _shown(sizes: dict[str, Any]) -> str:
    return " and ".join(f"{amount} {resource}" for resource, amount in sizes.items())
