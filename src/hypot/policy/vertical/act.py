"""When and how running pods get their new size: which of them, in which order, in place or by eviction."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from hypot.core.dataclass import dataclass
from hypot.kinds.values.version import Version
from hypot.kinds.vpa.fields import (
    AUTO,
    IN_PLACE,
    IN_PLACE_OR_RECREATE,
    INITIAL,
    OFF,
    RECREATE,
    EvictionRequirement,
    ResourcePolicy,
    UpdatePolicy,
)
from hypot.kinds.vpa.knobs import Knobs
from hypot.policy.model.decision import PodAction
from hypot.policy.model.seen import ClusterNode, Pod
from hypot.policy.vertical.budget import EXHAUSTED, Controllers, DisruptionBudget
from hypot.policy.vertical.fit import Fitted, amounts
from hypot.policy.vertical.need import (
    PodNeed,
    Priority,
    admits,
    dies_again,
    in_order,
    needs_update,
    observed_containers,
    priority,
    quick_oom,
)
from hypot.policy.vertical.pod_size import WHOLE, fits_nowhere
from hypot.policy.vertical.resize import (
    InPlace,
    Requests,
    in_place,
    key_of,
    resize_obstacle,
    still_refused,
    still_waiting,
    unevictable,
)

_EVICTING = (RECREATE, AUTO)
_RESIZING = (IN_PLACE, IN_PLACE_OR_RECREATE)
_IDLE = {
    OFF: ("mode-off", "The update mode is Off: running pods are left alone."),
    INITIAL: ("mode-initial", "The update mode is Initial: only new pods get the recommended size."),
}

# Marks pods that have extra cpu for their start.
BOOSTED = "vpaCpuStartupBoost/"
# Stands for unreadable requirements and never holds.
_UNREADABLE = (EvictionRequirement(),)


class UpdatePlan(NamedTuple):
    """The action for each pod, in the order of processing, and the state for the next pass."""

    actions: tuple[PodAction, ...]
    # Both by the uid of the pod, or by its name if it has none.
    stuck: Mapping[str, float]
    infeasible: Mapping[str, Requests]


class _Candidate(NamedTuple):
    """A pod that needs another size."""

    pod: Pod
    fitted: Fitted
    rank: Priority
    need: PodNeed
    # Whether it would be killed before a resize takes effect.
    dying: bool


@dataclass(frozen=True, slots=True)
class _Rules:
    """What applies to every pod of one pass."""

    mode: str
    minimum: int
    oom_threshold: float
    requirements: tuple[EvictionRequirement, ...] | None
    policy: ResourcePolicy | None
    knobs: Knobs
    kubernetes: Version
    now: float
    waiting: Mapping[str, float]
    refused: Mapping[str, Requests]
    nodes: Mapping[str, ClusterNode]

    def since(self, pod: Pod) -> float:
        return self.waiting.get(key_of(pod), self.now)


def plan(
    pods: Iterable[Pod],
    fitted: Mapping[str, Fitted],
    update_policy: UpdatePolicy | None,
    resource_policy: ResourcePolicy | None,
    controllers: Controllers,
    nodes: Mapping[str, ClusterNode],
    knobs: Knobs,
    kubernetes: Version,
    now: float,
    stuck: Mapping[str, float],
    infeasible: Mapping[str, Requests],
) -> UpdatePlan:
    """One action for each pod: first the pods that need a change, by priority, then the others, by name."""
    known = sorted(pods, key=lambda pod: (pod.name, pod.uid))
    waiting, refused = still_waiting(known, stuck, now), still_refused(known, infeasible)
    rules = _rules(update_policy, resource_policy, knobs, kubernetes, now, waiting, refused, nodes)
    if rules.mode not in _EVICTING + _RESIZING:
        word = ("mode-unknown", f"The update mode {rules.mode} is unknown: running pods are left alone.")
        rule, sentence = _IDLE.get(rules.mode, word)
        return UpdatePlan(tuple(PodAction(pod.name, "none", rule, sentence) for pod in known), waiting, refused)
    looked = [_look(pod, fitted.get(pod.name), rules) for pod in known]
    wanting = sorted(
        (one for one in looked if isinstance(one, _Candidate)), key=lambda one: in_order(one.rank, one.pod.name)
    )
    live = [pod for pod in known if not _absence(pod)]
    taken = _take(wanting, _budget(live, controllers, rules), rules)
    resting = [one for one in looked if isinstance(one, PodAction)]
    return UpdatePlan((*taken, *resting), waiting, refused)


def mode_of(policy: UpdatePolicy | None) -> str:
    """The update mode; without a policy it is Recreate."""
    written = policy.mode if isinstance(policy, UpdatePolicy) else None
    return str(written) if written else RECREATE


def _rules(
    written: UpdatePolicy | None,
    resource_policy: ResourcePolicy | None,
    knobs: Knobs,
    kubernetes: Version,
    now: float,
    waiting: Mapping[str, float],
    refused: Mapping[str, Requests],
    nodes: Mapping[str, ClusterNode],
) -> _Rules:
    policy = written if isinstance(written, UpdatePolicy) else UpdatePolicy()
    requirements: Any = policy.eviction_requirements
    readable = requirements is None or isinstance(requirements, tuple)
    return _Rules(
        mode_of(policy),
        int(positive(policy.min_replicas, knobs.min_replicas)),
        positive(policy.evict_after_oom, knobs.evict_after_oom),
        requirements if readable else _UNREADABLE,
        resource_policy,
        knobs,
        kubernetes,
        now,
        waiting,
        refused,
        nodes,
    )


def positive(written: object, otherwise: float) -> float:
    """The value from the object if it is a positive integer, else the default."""
    return written if type(written) is int and written > 0 else otherwise


def _budget(live: list[Pod], controllers: Controllers, rules: _Rules) -> DisruptionBudget:
    return DisruptionBudget.of(
        live,
        controllers,
        minimum=rules.minimum,
        tolerance=rules.knobs.eviction_tolerance,
        spares_minimum=rules.knobs.in_place_skips_budget and rules.mode in _RESIZING,
    )


def _absence(pod: Pod) -> str:
    """Why the pod does not count; empty if it does."""
    if pod.deleted:
        return "it is being deleted"
    if pod.phase in {"Succeeded", "Failed"}:
        return "it has ended"
    return "it is not scheduled yet" if pod.phase == "Pending" and not pod.node else ""


def _look(pod: Pod, fitted: Fitted | None, rules: _Rules) -> _Candidate | PodAction:
    """A candidate if the pod needs another size and the eviction requirements allow it; else why it is left alone."""
    absence = _absence(pod)
    if absence:
        return _left(pod, "not-running", absence)
    if any(key.startswith(BOOSTED) for key in pod.annotations):
        return _left(pod, "startup-boost", "it has extra cpu while it starts")
    if fitted is not None and fitted.error:
        return _left(pod, "limits-unknown", fitted.error)
    if fitted is None or not fitted.containers:
        return _left(pod, "no-recommendation", "nothing is recommended for its containers")
    bounds, observed = fitted.bounds, observed_containers(pod)
    rank = priority(pod, bounds, observed)
    killed = quick_oom(pod, observed, rules.policy, rules.oom_threshold)
    age = None if pod.started is None else rules.now - pod.started
    need = needs_update(rank, killed, age, rules.knobs)
    if not need.wanted:
        return _left(pod, need.rule, need.message)
    if rules.requirements and not admits(pod, bounds, rules.requirements):
        message = f"{need.message}, but no container changes as the eviction requirements demand"
        return _left(pod, "eviction-requirements", message)
    dying = killed is not None and dies_again(killed, rules.oom_threshold, rules.now)
    return _Candidate(pod, fitted, rank, need, dying)


def _take(wanting: Iterable[_Candidate], budget: DisruptionBudget, rules: _Rules) -> list[PodAction]:
    """One pod after the other, because each disrupted pod leaves less budget for the next."""
    taken = []
    for one in wanting:
        action = _evict(one, budget, rules) if rules.mode in _EVICTING else _resize(one, budget, rules)
        if action.action == "evict":
            budget = budget.after_evicting(one.pod)
        if action.action == "resize":
            budget = budget.after_resizing(one.pod)
        taken.append(action)
    return taken


def _evict(one: _Candidate, budget: DisruptionBudget, rules: _Rules, rule: str = "", because: str = "") -> PodAction:
    """Evict the pod, if its group can spare it and it would fit a node; `because` says why it is not resized."""
    message = f"{one.need.message}, and {because}" if because else one.need.message
    refusal = unevictable(one.pod, budget, since=rules.since(one.pod), now=rules.now)
    if refusal is not None:
        return _left(one.pod, refusal.rule, f"{message}, but {refusal.message}")
    if one.pod.pod_requests is not None:
        return _left(one.pod, "pod-level-resources", f"{message}, but {WHOLE}")
    if fits_nowhere(one.pod, {size.container: size for size in one.fitted.sizes}, rules.nodes):
        return _left(one.pod, "fits-nowhere", f"{message}, but no node is large enough for its new size")
    sentence = f"{_sentence(message)}: evict it, so that it comes back with the new size."
    return PodAction(one.pod.name, "evict", rule or one.need.rule, sentence, one.fitted.sizes)


def _resize(one: _Candidate, budget: DisruptionBudget, rules: _Rules) -> PodAction:
    """Resize the pod in place; if that is impossible or would not help, evict it if the mode allows it."""
    if not one.dying or rules.mode == IN_PLACE:
        return _resize_in_place(one, budget, rules)
    evicted = _evict(one, budget, rules, "", "it would be killed again before a resize takes effect")
    if evicted.rule == EXHAUSTED:
        return evicted
    resized = _resize_in_place(one, budget, rules)
    return evicted._replace(or_resize=resized.action == "resize") if evicted.action == "evict" else resized


def _resize_in_place(one: _Candidate, budget: DisruptionBudget, rules: _Rules) -> PodAction:
    """Resize in place; if that is impossible, evict if the mode allows it."""
    pod, sizes = one.pod, one.fitted.sizes
    verdict = in_place(
        pod,
        one.fitted.bounds,
        budget,
        rules.mode,
        since=rules.since(pod),
        now=rules.now,
        refused=rules.refused.get(key_of(pod)),
        spares_budget=rules.knobs.in_place_skips_budget,
    )
    if verdict.decision == InPlace.EVICT:
        return _evict(one, budget, rules, verdict.rule, verdict.message)
    if verdict.decision not in {InPlace.APPROVED, InPlace.INFEASIBLE}:
        return _left(pod, verdict.rule, f"{one.need.message}, but {verdict.message}")
    full = budget.exhausted(pod) if verdict.decision == InPlace.INFEASIBLE else None
    if full is not None and not rules.knobs.in_place_skips_budget:
        # A smaller size than the refused one is requested: this pod counts against the budget of this pass too.
        return _left(pod, full.rule, f"{one.need.message}, but {full.message}")
    if _is_asked(one):
        return _left(pod, "resize-asked", f"{one.need.message}, and its node has not applied the new size yet")
    obstacle = resize_obstacle(pod, sizes, rules.kubernetes)
    if obstacle and rules.mode == IN_PLACE:
        return _left(pod, "resize-not-allowed", f"{one.need.message}, but {obstacle}")
    if obstacle:
        return _evict(one, budget, rules, "resize-not-allowed", obstacle)
    again = ", and this is less than what its node refused" if verdict.decision == InPlace.INFEASIBLE else ""
    sentence = f"{_sentence(one.need.message)}{again}: resize it in place."
    return PodAction(pod.name, "resize", one.need.rule, sentence, sizes)


def _is_asked(one: _Candidate) -> bool:
    """Whether the pod's spec already has the new size, so that there is nothing to write."""
    asked = {container.name: container for container in one.pod.containers}
    return all(
        amounts(asked[size.container].requests) == size.requests
        and amounts(asked[size.container].limits) == size.limits
        for size in one.fitted.sizes
    )


def _left(pod: Pod, rule: str, message: str) -> PodAction:
    return PodAction(pod.name, "none", rule, f"{_sentence(message)}: leave it.")


def _sentence(message: str) -> str:
    return message[:1].upper() + message[1:]
