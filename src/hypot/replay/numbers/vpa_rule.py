"""A VerticalPodAutoscaler, and the input of any size recommender, as the plain numbers of the numeric step."""

from collections.abc import Mapping, Sequence
from typing import Any

from hypot.core.amount import RESOURCES
from hypot.core.sizes.fate import DEFERRED_PATIENCE, IN_PROGRESS_PATIENCE
from hypot.core.usage.estimate import share
from hypot.kinds.catalogue import Sizing
from hypot.kinds.vpa import VPA, with_defaults
from hypot.kinds.vpa.allowed import allowed
from hypot.kinds.vpa.fields import (
    AUTO,
    HIGHER,
    IN_PLACE,
    IN_PLACE_OR_RECREATE,
    INITIAL,
    LOWER,
    OFF,
    RECREATE,
    REQUESTS_ONLY,
    EvictionRequirement,
    UpdatePolicy,
    amounts_of,
    policy_of,
)
from hypot.kinds.vpa.knobs import for_updates, knobs_from, knobs_of
from hypot.policy.hold import needs_whole_decisions
from hypot.policy.model.settings import Settings
from hypot.policy.usage import view
from hypot.policy.vertical.act import mode_of, positive
from hypot.policy.vertical.fit import INTEGER_CPU, is_off
from hypot.policy.vertical.resize import LOWERS_MEMORY, RESIZES
from hypot.policy.vertical.vpa import controlled, follows_ours, forbids
from hypot.replay.numbers import vpa as numeric_vpa
from hypot.replay.numbers.usage import NumericRecipe, NumericUsage, new_usage
from hypot.replay.numbers.vpa import VpaRule

_MODES = {
    OFF: numeric_vpa.IDLE,
    INITIAL: numeric_vpa.ONLY_NEW,
    RECREATE: numeric_vpa.EVICTS,
    AUTO: numeric_vpa.EVICTS,
    IN_PLACE_OR_RECREATE: numeric_vpa.RESIZES,
    IN_PLACE: numeric_vpa.RESIZES_ONLY,
}


def usage_of(autoscaler: Sizing, container: str, settings: Settings) -> NumericUsage:
    """An empty history for the knobs of this autoscaler."""
    resources: Sequence[str] = controlled(autoscaler.container_policies, container)
    if not isinstance(autoscaler, VPA):
        resources = allowed(autoscaler, container).controlled
    knobs = knobs_of(autoscaler, container, settings.vpa)
    cpu, memory = (
        NumericRecipe(
            resource in resources,
            [*written.percentiles],
            written.unit,
            written.margin,
            written.interval,
            share(written.minimum, 1),
            written.grain,
        )
        for resource, written in zip(RESOURCES, view.recipes(knobs), strict=True)
    )
    half_lives = (knobs.cpu_half_life, knobs.memory_half_life)
    return new_usage(cpu, memory, half_lives, knobs.memory_interval, knobs.oom_bump_up_ratio, knobs.oom_min_bump_up)


def rule_of(vpa: VPA, container: str, restarts: frozenset[str], settings: Settings) -> VpaRule | None:
    """None if only the full decision works: a hold, nothing to recommend, or requirements that cannot be read."""
    if needs_whole_decisions(vpa.annotations):
        return None
    full = with_defaults(vpa)
    policy, update = full.resource_policy, full.update_policy
    requirements = _requirements(update)
    mode = _MODES.get(mode_of(update))
    if mode is None or requirements is None or is_off(policy, container) or not follows_ours(full):
        return None
    if any(forbids(problem) for problem in full.problems()):
        return None
    knobs, own = knobs_from(full.annotations, settings.vpa), policy_of(policy, container)
    low, high = (amounts_of(own.min_allowed), amounts_of(own.max_allowed)) if own else ({}, {})
    caps = {"cpu": knobs.max_allowed_cpu or 0, "memory": knobs.max_allowed_memory or 0}
    whole_cores = full.annotations.get(INTEGER_CPU.format(container)) == "true"
    written = update if isinstance(update, UpdatePolicy) else UpdatePolicy()
    updating = for_updates(knobs, update)
    return VpaRule(
        mode,
        int(positive(written.min_replicas, updating.min_replicas)),
        updating.eviction_tolerance,
        updating.lifetime_threshold,
        updating.update_threshold,
        positive(written.evict_after_oom, updating.evict_after_oom),
        updating.in_place_skips_budget,
        bool(restarts),
        settings.kubernetes >= RESIZES,
        settings.kubernetes >= LOWERS_MEMORY or "memory" in restarts,
        whole_cores,
        bool(low or high or any(caps.values()) or whole_cores),
        own is not None and own.controlled_values == REQUESTS_ONLY,
        _pair(low),
        _pair({**caps, **high}),
        _pair(low),
        _pair(high),
        len(requirements),
        [one.change == HIGHER for one in requirements],
        ["cpu" in (one.resources or ()) for one in requirements],
        ["memory" in (one.resources or ()) for one in requirements],
        DEFERRED_PATIENCE,
        IN_PROGRESS_PATIENCE,
    )


def _pair(amounts: Mapping[str, int]) -> list[int]:
    return [amounts.get(resource, 0) for resource in RESOURCES]


def _requirements(policy: UpdatePolicy | None) -> tuple[EvictionRequirement, ...] | None:
    """None if some cannot be read."""
    written: Any = policy.eviction_requirements if isinstance(policy, UpdatePolicy) else None
    if written is None:
        return ()
    if not isinstance(written, tuple):
        return None
    read = [one for one in written if isinstance(one, EvictionRequirement) and one.change in {HIGHER, LOWER}]
    return tuple(read) if len(read) == len(written) else None
