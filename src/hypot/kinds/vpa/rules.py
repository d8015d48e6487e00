"""The rules for VerticalPodAutoscalers: the checks of webhook and schema, and more that prevent harmful settings.

Every error here is also in the generated CRD, as schema or as CEL, except for closed gates and for bounds of resources
that are not sized. The gates are those of the vertical autoscaler's own components. hypot supports the fields that they
guard, so such a field is rejected only if its gate is declared closed.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeGuard

from hypot.core.dataclass import dataclass
from hypot.core.quantity import Quantity
from hypot.core.regex import regex
from hypot.kinds.base import target_problems
from hypot.kinds.pod_template import Template, policy_problems
from hypot.kinds.problem import Problem, Where, below, did_you_mean, too_many, unsupported
from hypot.kinds.vpa.fields import (
    AMOUNT_TEXT,
    ANY_CONTAINER,
    AUTO,
    BOOST_TYPES,
    CHANGES,
    CONTAINER_MODES,
    CONTROLLED_VALUES,
    FACTOR,
    IN_PLACE,
    LONGEST_AMOUNT,
    MAX_RESOURCES,
    OFF,
    REQUESTS_AND_LIMITS,
    RESOURCES,
    UPDATE_MODES,
    Amount,
    ContainerPolicy,
    CPUBoost,
    EvictionRequirement,
    RecommenderRef,
    ResourceList,
    ResourcePolicy,
    StartupBoost,
    UpdatePolicy,
    VPASpec,
)

# The most that API servers before 1.34 can compare: they estimate every quantity as a text of three megabytes.
MAX_POLICIES = 15
MAX_REQUIREMENTS = 20
MAX_RECOMMENDERS = 1

PER_VPA_CONFIG, CPU_BOOST, IN_PLACE_GATE = "PerVPAConfig", "CPUStartupBoost", "InPlace"
GATES = (PER_VPA_CONFIG, CPU_BOOST, IN_PLACE_GATE)
# The fields of a container policy that PerVPAConfig guards, and the minimum of the integer fields.
_PER_CONTAINER = ("oom_bump_up_ratio", "oom_min_bump_up", "memory_interval", "memory_interval_count")
_LEAST = {"memory_interval": 1, "memory_interval_count": 1}

_AMOUNT = regex(AMOUNT_TEXT)
_NANOS_PER_MILLI, _NANOS_PER_UNIT = 10**6, 10**9
# Resource -> its smallest unit, in nano-units, and the name of that unit.
_GRAINS = {"cpu": (_NANOS_PER_MILLI, "milli CPUs"), "memory": (_NANOS_PER_UNIT, "bytes")}

_NO_MODE = 'write updateMode: Recreate, which is the default without an updatePolicy; in Python mode="Recreate"'

INSTEAD_OF_AUTO = "write Recreate, or InPlaceOrRecreate to resize without a restart where that is possible"


@dataclass(frozen=True, slots=True)
class VpaStrictness:
    """What depends on the cluster's configuration and on the object's previous state."""

    needs_target: bool = True
    closed_gates: frozenset[str] = frozenset()
    # Unknown controlled resources that the object already had before.
    kept_resources: frozenset[str] = frozenset()

    def closes(self, gate: str) -> bool:
        return gate in self.closed_gates


LENIENT = VpaStrictness()


def strictness(old: VPASpec | None = None, gates: Mapping[str, bool] | None = None) -> VpaStrictness:
    """How strictly a creation, or an update of `old`, is checked. An object may keep what it already used."""
    closed = {gate for gate in GATES if (gates or {}).get(gate) is False}
    if old is None:
        return VpaStrictness(closed_gates=frozenset(closed))
    before = old.readable()
    used = {gate for gate in closed if _uses(before, gate)}
    return VpaStrictness(closed_gates=frozenset(closed - used), kept_resources=frozenset(_strange_resources(before)))


def _uses(vpa: VPASpec, gate: str) -> bool:
    policies = _policies(vpa)
    if gate == IN_PLACE_GATE:
        return vpa.mode == IN_PLACE
    if gate == CPU_BOOST:
        boosts = vpa.startup_boost is not None and vpa.startup_boost.cpu is not None
        return boosts or any(policy.startup_boost is not None for policy in policies)
    evicts = vpa.update_policy is not None and vpa.update_policy.evict_after_oom is not None
    return evicts or any(getattr(policy, name) is not None for policy in policies for name in _PER_CONTAINER)


def _strange_resources(vpa: VPASpec) -> set[str]:
    controlled = {name for policy in _policies(vpa) for name in policy.controlled_resources or ()}
    return controlled - set(RESOURCES)


def _policies(vpa: VPASpec) -> tuple[ContainerPolicy, ...]:
    return (vpa.resource_policy.containers or ()) if vpa.resource_policy is not None else ()


def spec_problems(vpa: VPASpec, strict: VpaStrictness = LENIENT) -> Iterator[Problem]:
    """The problems of a spec as it is, without applying defaults."""
    yield from _target_problems(vpa, strict)
    if vpa.update_policy is not None:
        yield from update_policy_problems(vpa.update_policy, ("spec", "updatePolicy"), strict)
    yield from recommender_problems(vpa.recommenders or (), ("spec", "recommenders"))
    if vpa.startup_boost is not None:
        yield from boost_problems(vpa.startup_boost, ("spec", "startupBoost"), strict)
    if vpa.resource_policy is not None:
        yield from resource_policy_problems(vpa.resource_policy, ("spec", "resourcePolicy"), strict)


def _target_problems(vpa: VPASpec, strict: VpaStrictness) -> Iterator[Problem]:
    where: Where = ("spec", "targetRef")
    ref = vpa.target
    if ref is None:
        if strict.needs_target:
            message, hint = (
                "must name the workload whose pods are sized",
                "write targetRef; a selector as in v1beta1 is not enough",
            )
            yield Problem("target-ref", "Required", where, message, hint=hint)
        return
    yield from target_problems(ref, where)


def update_policy_problems(policy: UpdatePolicy, where: Where, strict: VpaStrictness = LENIENT) -> Iterator[Problem]:
    yield from _mode_problems(policy.mode, (*where, "updateMode"), strict)
    yield from below("range", policy.min_replicas, 1, (*where, "minReplicas"))
    oom = (*where, "evictAfterOOMSeconds")
    if policy.evict_after_oom is not None and strict.closes(PER_VPA_CONFIG):
        yield _forbidden(PER_VPA_CONFIG, oom)
    else:
        yield from below("range", policy.evict_after_oom, 1, oom)
    requirements = policy.eviction_requirements or ()
    yield from too_many("eviction-requirement", len(requirements), MAX_REQUIREMENTS, (*where, "evictionRequirements"))
    for i, requirement in enumerate(requirements):
        yield from _requirement_problems(requirement, (*where, "evictionRequirements", i))


def _mode_problems(mode: str | None, where: Where, strict: VpaStrictness) -> Iterator[Problem]:
    if mode is None:
        message = "must be set if there is an updatePolicy"
        yield Problem("update-mode", "Required", where, message, hint=_NO_MODE)
    elif mode not in UPDATE_MODES:
        message = unsupported(word for word in UPDATE_MODES if word != AUTO)
        yield Problem("update-mode", "NotSupported", where, message, mode, did_you_mean(mode, UPDATE_MODES))
    elif mode == IN_PLACE and strict.closes(IN_PLACE_GATE):
        yield _forbidden(IN_PLACE_GATE, where)
    elif mode == AUTO:
        message = "Auto is deprecated; today it means Recreate"
        yield Problem("auto-mode", "Deprecated", where, message, mode, INSTEAD_OF_AUTO, severity="warning")


def _requirement_problems(requirement: EvictionRequirement, where: Where) -> Iterator[Problem]:
    change, resources = requirement.change, requirement.resources
    if not change:
        yield Problem("eviction-requirement", "Required", (*where, "changeRequirement"), "must be set")
    elif change not in CHANGES:
        hint = did_you_mean(change, CHANGES)
        place = (*where, "changeRequirement")
        yield Problem("eviction-requirement", "NotSupported", place, unsupported(CHANGES), change, hint)
    if resources is None:
        yield Problem("eviction-requirement", "Required", (*where, "resources"), "must be set")
    elif not set(resources) & set(RESOURCES):
        message = "names neither cpu nor memory, so it never holds and no pod is ever disrupted"
        yield Problem("eviction-never", "Invalid", (*where, "resources"), message, list(resources), severity="warning")


def recommender_problems(recommenders: Iterable[RecommenderRef], where: Where) -> Iterator[Problem]:
    named = tuple(recommenders)
    yield from too_many("recommender", len(named), MAX_RECOMMENDERS, where)
    for i, recommender in enumerate(named):
        if not recommender.name:
            yield Problem("recommender", "Required", (*where, i, "name"), "must name a recommender")


def boost_problems(boost: StartupBoost, where: Where, strict: VpaStrictness = LENIENT) -> Iterator[Problem]:
    if strict.closes(CPU_BOOST):
        yield _forbidden(CPU_BOOST, where)
    elif boost.cpu is not None:
        yield from _cpu_boost_problems(boost.cpu, (*where, "cpu"))


def _cpu_boost_problems(boost: CPUBoost, where: Where) -> Iterator[Problem]:
    yield from below("range", boost.duration, 0, (*where, "durationSeconds"))
    yield from below("range", boost.factor, 1, (*where, "factor"))
    if boost.quantity is not None:
        yield from _amount_problems(boost.quantity, "cpu", (*where, "quantity"))
    kind = boost.type
    if not kind:
        yield Problem("startup-boost", "Required", (*where, "type"), f"must be one of {', '.join(BOOST_TYPES)}")
        return
    if kind not in BOOST_TYPES:
        yield Problem("startup-boost", "NotSupported", (*where, "type"), unsupported(BOOST_TYPES), kind)
        return
    by_factor = kind == FACTOR
    wanted, other = ("factor", "quantity") if by_factor else ("quantity", "factor")
    if getattr(boost, wanted) is None:
        yield Problem("startup-boost", "Required", (*where, wanted), f"must be set for type {kind}")
    if getattr(boost, other) is not None:
        yield Problem("startup-boost", "Forbidden", (*where, other), f"must not be set for type {kind}")


def resource_policy_problems(
    policy: ResourcePolicy, where: Where, strict: VpaStrictness = LENIENT
) -> Iterator[Problem]:
    containers = policy.containers or ()
    at = (*where, "containerPolicies")
    yield from too_many("policy-count", len(containers), MAX_POLICIES, at)
    names = [container.container_name for container in containers]
    for i, container in enumerate(containers):
        yield from _container_problems(container, (*at, i), strict)
        name = container.container_name
        if name and name in names[:i]:
            message = "has a policy already; only one of them is ever used"
            place = (*at, i, "containerName")
            yield Problem("duplicate-policy", "Duplicate", place, message, name, severity="warning")


def _container_problems(policy: ContainerPolicy, where: Where, strict: VpaStrictness) -> Iterator[Problem]:
    if not policy.container_name:
        hint = "write a container's name, or * for all containers without their own policy"
        yield Problem("container-name", "Required", (*where, "containerName"), "", hint=hint)
    if policy.mode is not None and policy.mode not in CONTAINER_MODES:
        message, hint = unsupported(CONTAINER_MODES), did_you_mean(policy.mode, CONTAINER_MODES)
        yield Problem("container-mode", "NotSupported", (*where, "mode"), message, policy.mode, hint)
    yield from range_problems(policy.min_allowed or {}, policy.max_allowed or {}, where)
    yield from _controlled_problems(policy, where, strict)
    for name, w in policy.TABLE:
        value = getattr(policy, name)
        if name not in _PER_CONTAINER or value is None:
            continue
        if strict.closes(PER_VPA_CONFIG):
            yield _forbidden(PER_VPA_CONFIG, (*where, w.key))
        elif name in _LEAST:
            yield from below("range", value, _LEAST[name], (*where, w.key))
        else:
            yield from _bump_up_problems(name, value, (*where, w.key))
    if policy.startup_boost is not None:
        yield from boost_problems(policy.startup_boost, (*where, "startupBoost"), strict)


def _bump_up_problems(name: str, value: Amount, where: Where) -> Iterator[Problem]:
    if not is_plain(value):
        yield _no_amount(value, where)
    elif name == "oom_bump_up_ratio" and Quantity.parse(value).nanos < _NANOS_PER_UNIT:
        message = "must be greater than or equal to 1"
        yield Problem("oom-bump-up", "Invalid", where, message, value, "1.2 adds 20 % after an OOM kill")


def _controlled_problems(policy: ContainerPolicy, where: Where, strict: VpaStrictness) -> Iterator[Problem]:
    values = policy.controlled_values
    place = (*where, "controlledValues")
    if values is not None and values not in CONTROLLED_VALUES:
        hint = did_you_mean(values, CONTROLLED_VALUES)
        yield Problem("controlled-values", "NotSupported", place, unsupported(CONTROLLED_VALUES), values, hint)
    if policy.mode == OFF and values == REQUESTS_AND_LIMITS:
        yield Problem("controlled-values", "Forbidden", place, f"must not be {values} if the mode is Off")
    for i, resource in enumerate(policy.controlled_resources or ()):
        if resource in RESOURCES:
            continue
        place = (*where, "controlledResources", i)
        if resource in strict.kept_resources:
            message = "is not supported, and is accepted only because the object already has it"
            yield Problem("controlled-resources", "NotSupported", place, message, resource, severity="warning")
        else:
            hint = did_you_mean(resource, RESOURCES)
            yield Problem("controlled-resources", "NotSupported", place, unsupported(RESOURCES), resource, hint)


def range_problems(
    low: ResourceList, high: ResourceList, where: Where, low_key: str = "minAllowed", high_key: str = "maxAllowed"
) -> Iterator[Problem]:
    """The problems of two resource lists, the least and the most, that are fields of the same block."""
    yield from resource_list_problems(low, (*where, low_key))
    yield from resource_list_problems(high, (*where, high_key))
    for resource, most in high.items():
        least = low.get(resource)
        if not is_plain(least) or not is_plain(most):
            continue
        if Quantity.parse(most) < Quantity.parse(least):
            message, place = f"must not be below {low_key}, which is {least}", (*where, high_key, resource)
            yield Problem("allowed-range", "Invalid", place, message, most, f"swap them, or raise {high_key}")


def resource_list_problems(amounts: ResourceList, where: Where) -> Iterator[Problem]:
    """The problems of a resource list. Only cpu and memory are ever used from it."""
    yield from too_many("resource-count", len(amounts), MAX_RESOURCES, where)
    for resource, amount in amounts.items():
        if amount is not None:
            yield from _amount_problems(amount, resource, (*where, resource))
        if resource not in RESOURCES:
            message, hint = "is ignored: only cpu and memory are sized", did_you_mean(resource, RESOURCES)
            yield Problem("ignored-resource", "NotSupported", (*where, resource), message, amount, hint, "warning")


def _amount_problems(amount: Amount, resource: str, where: Where) -> Iterator[Problem]:
    if not is_plain(amount):
        yield _no_amount(amount, where)
        return
    grain, name = _GRAINS.get(resource, (1, ""))
    if Quantity.parse(amount).nanos % grain:
        yield Problem("whole-amount", "Invalid", where, f"must be a whole number of {name}", amount)


def is_plain(amount: Amount | None) -> TypeGuard[Amount]:
    """Whether a schema accepts it as an amount too."""
    if isinstance(amount, str):
        return len(amount) <= LONGEST_AMOUNT and bool(_AMOUNT.fullmatch(amount))
    return amount is not None and 0 <= amount < 2**63


def _no_amount(amount: Amount, where: Where) -> Problem:
    message = f"must be a plain quantity of at most {LONGEST_AMOUNT} characters, and not negative"
    return Problem("quantity", "Invalid", where, message, amount, "write 500m, 2, 512Mi or 1.5Gi")


def _forbidden(gate: str, where: Where) -> Problem:
    message = f"is not allowed while the feature gate {gate} is closed"
    return Problem("vpa-gate", "Forbidden", where, message, hint=f"open {gate} in the autoscaler's components")


def container_problems(
    policy: ResourcePolicy | None, where: Where, template: Template, of: object
) -> Iterator[Problem]:
    """Policies for containers that these pods do not have."""
    written = (policy.containers or ()) if policy is not None else ()
    places = [((*where, "containerPolicies", i), one.container_name) for i, one in enumerate(written)]
    return policy_problems(places, template, of, ANY_CONTAINER)
