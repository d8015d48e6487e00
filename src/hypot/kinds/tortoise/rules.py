"""The rules for Tortoises: the checks of the original webhook without its gaps, and more that prevent harmful settings.

What a schema or CEL can express is also in the generated CRD. That excludes annotations, and the rules of an update
that depend on the status.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from hypot.kinds.base import FALSE_WORDS, TRUE_WORDS, Ref, target_problems
from hypot.kinds.problem import Problem, Where, below, did_you_mean, too_many, unsupported
from hypot.kinds.tortoise.behavior import behavior_problems
from hypot.kinds.tortoise.fields import (
    DECIDE,
    DELETE_ALL,
    DELETION_POLICIES,
    EMERGENCY,
    LEAST,
    MOST,
    UPDATE_MODES,
    ContainerResourcePolicy,
    TortoiseSpec,
)
from hypot.kinds.tortoise.policies import POLICIES, AutoscalingTypes, ContainerAutoscalingPolicy, scales_horizontally
from hypot.kinds.tortoise.settings import annotation_problems
from hypot.kinds.tortoise.status import MAY_HAVE_EMERGENCY
from hypot.kinds.values.names import dns_subdomain
from hypot.kinds.values.version import NEWEST, Version
from hypot.kinds.vpa.fields import ANY_CONTAINER
from hypot.kinds.vpa.knobs import knob_problems
from hypot.kinds.vpa.rules import MAX_POLICIES, range_problems

TARGET: Where = ("spec", "targetRefs", "scaleTargetRef")
HPA_NAME: Where = ("spec", "targetRefs", "horizontalPodAutoscalerName")
SCALED: Where = ("spec", "autoscalingPolicy")
SIZED: Where = ("spec", "resourcePolicy")
BEHAVIOR: Where = ("spec", "horizontalPodAutoscalerBehavior")
NOTES: Where = ("metadata", "annotations")


def spec_problems(
    tortoise: TortoiseSpec, kubernetes: Version = NEWEST, gates: Mapping[str, bool] | None = None
) -> Iterator[Problem]:
    """The problems of a spec as it is, without applying defaults."""
    yield from target_problems(tortoise.target or Ref(), TARGET)
    yield from _hpa_name_problems(tortoise)
    yield from _word_problems("update-mode", tortoise.update_mode, UPDATE_MODES, ("spec", "updateMode"))
    yield from _word_problems(
        "deletion-policy", tortoise.deletion_policy, DELETION_POLICIES, ("spec", "deletionPolicy")
    )
    yield from _scaled_problems(tortoise)
    yield from _sized_problems(tortoise.resource_policy or ())
    yield from below("max-replicas", tortoise.max_replicas, 1, ("spec", "maxReplicas"))
    if tortoise.behavior is not None:
        yield from behavior_problems(tortoise.behavior, BEHAVIOR, kubernetes, gates)
    yield from _annotation_problems(tortoise.annotations)


def _word_problems(rule: str, word: str | None, known: tuple[str, ...], where: Where) -> Iterator[Problem]:
    if word is not None and word not in known:
        yield Problem(rule, "NotSupported", where, unsupported(known), word, did_you_mean(word, known))


def _hpa_name_problems(tortoise: TortoiseSpec) -> Iterator[Problem]:
    refs = tortoise.target_refs
    name = refs.hpa if refs is not None else None
    if name == "":
        yield Problem("hpa-name", "Invalid", HPA_NAME, "must not be empty", name, "leave it out for an HPA of its own")
    for message in dns_subdomain(name) if name else ():
        yield Problem("hpa-name", "Invalid", HPA_NAME, message, name)


def _scaled_problems(tortoise: TortoiseSpec) -> Iterator[Problem]:
    items = tortoise.autoscaling_policy or ()
    yield from too_many("policy-count", len(items), MAX_POLICIES, SCALED)
    yield from _container_name_problems(items, SCALED)
    for i, item in enumerate(items):
        where = (*SCALED, i, "policy")
        if item.policy is None or not item.policy.write():
            message = "is empty, so no resource of this container is scaled"
            hint = "write cpu and memory, or remove the item: a container that is not listed is Off, too"
            yield Problem("autoscaling-policy", "Notice", where, message, hint=hint, severity="warning")
            continue
        yield from _type_problems(item.policy, where)
    if items and tortoise.names_hpa and not scales_horizontally(items):
        message = "is never edited: no resource is Horizontal"
        hint = "make a resource Horizontal, or leave the name out"
        yield Problem("hpa-unused", "Notice", HPA_NAME, message, tortoise.hpa_name, hint, "warning")


def _type_problems(policy: AutoscalingTypes, where: Where) -> Iterator[Problem]:
    for name, w in policy.TABLE:
        yield from _word_problems("autoscaling-policy", getattr(policy, name), POLICIES, (*where, w.key))


def _sized_problems(items: tuple[ContainerResourcePolicy, ...]) -> Iterator[Problem]:
    yield from too_many("policy-count", len(items), MAX_POLICIES, SIZED)
    yield from _container_name_problems(items, SIZED)
    for i, item in enumerate(items):
        yield from range_problems(item.min_allocated or {}, item.max_allocated or {}, (*SIZED, i), LEAST, MOST)


def _container_name_problems(
    items: Iterable[ContainerAutoscalingPolicy | ContainerResourcePolicy], where: Where
) -> Iterator[Problem]:
    seen: set[str] = set()
    for i, item in enumerate(items):
        name = item.container_name
        place = (*where, i, "containerName")
        if not name:
            yield Problem("container-name", "Required", place, "must name a container")
        elif name in seen:
            yield Problem("duplicate-policy", "Duplicate", place, "", name, "keep one item for each container")
        elif name == ANY_CONTAINER:
            effect = "this item has no effect" if where == SIZED else "everything that is not listed is Off"
            message = f"is no container: a Tortoise has no {ANY_CONTAINER} for all, so {effect}"
            hint = "write an item for each container" + (", or leave the list out" if where == SCALED else "")
            yield Problem("container-name", "Notice", place, message, name, hint, "warning")
        if name:
            seen.add(name)


def _annotation_problems(annotations: Mapping[str, Any]) -> Iterator[Problem]:
    decide = annotations.get(DECIDE)
    if isinstance(decide, str) and decide not in TRUE_WORDS | FALSE_WORDS:
        yield Problem("decide", "NotSupported", (*NOTES, DECIDE), unsupported(("true", "false")), decide)
    yield from annotation_problems(annotations)
    yield from knob_problems(annotations, NOTES)


def update_problems(new: TortoiseSpec, old: TortoiseSpec) -> Iterator[Problem]:
    """What an update of `old` to `new` must not change. The status is that of `old`."""
    new, old = new.readable(), old.readable()
    yield from _target_change_problems(new, old)
    yield from _hpa_change_problems(new, old)
    yield from _last_horizontal_problems(new, old)
    phase = old.reported.phase
    if new.mode == EMERGENCY != old.mode and phase not in MAY_HAVE_EMERGENCY:
        message = f"Emergency needs learned bounds: the phase must be {', '.join(MAY_HAVE_EMERGENCY)}"
        hint = f"the phase is {phase}" if phase else "nothing is learned yet"
        yield Problem("emergency-phase", "Invalid", ("spec", "updateMode"), message, new.mode, hint)


def _target_change_problems(new: TortoiseSpec, old: TortoiseSpec) -> Iterator[Problem]:
    before, after = old.target or Ref(), new.target or Ref()
    for key, was, now in (("kind", before.kind, after.kind), ("name", before.name, after.name)):
        if was and now != was:
            hint = "make another Tortoise for another target"
            yield Problem("immutable", "Invalid", (*TARGET, key), "field is immutable", now or "", hint)


def _hpa_change_problems(new: TortoiseSpec, old: TortoiseSpec) -> Iterator[Problem]:
    """The name may be removed. Otherwise a change would leave an edited HPA behind."""
    if not new.names_hpa or (old.names_hpa and new.hpa_name == old.hpa_name):
        return
    edited = old.reported.hpa
    if new.hpa_name == edited or (not edited and not old.names_hpa):
        return
    message = f"must stay {edited or old.hpa_name}, which is already edited, or be removed"
    yield Problem("immutable", "Invalid", HPA_NAME, message, new.hpa_name)


def _last_horizontal_problems(new: TortoiseSpec, old: TortoiseSpec) -> Iterator[Problem]:
    """Without any Horizontal resource the HPA goes, so the update must say that it may."""
    before = old.autoscaling_policy or old.reported.policies
    if not scales_horizontally(before) or not new.autoscaling_policy or scales_horizontally(new.autoscaling_policy):
        return
    if new.names_hpa:
        message = "must be removed together with the last Horizontal resource"
        yield Problem("last-horizontal", "Invalid", HPA_NAME, message, new.hpa_name)
    if not new.deletes_all:
        message = f"must be {DELETE_ALL} when the last Horizontal resource is removed, because its HPA is deleted"
        yield Problem("last-horizontal", "Invalid", ("spec", "deletionPolicy"), message, new.deletion_policy)
