"""How many pods of one controller may be disrupted in one pass, by an eviction or by a resize in place."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from hypot.core.sizes.disruption import may_disrupt
from hypot.kinds.base import count_of
from hypot.policy.model.seen import Controller, Owner, Pod

# Marks a pod that still has extra cpu because it has just started.
BOOST_ANNOTATION = "vpaCpuStartupBoost/"
# Controllers that say how many pods they keep; a Job keeps its existing pods.
_COUNTED_KINDS = frozenset({"ReplicationController", "ReplicaSet", "StatefulSet", "DaemonSet"})

Controllers = Mapping[tuple[str, str], Controller]
# The rule for a group that can spare no more pods in this pass; in the next pass it may.
EXHAUSTED = "disruption-budget"


class DisruptionRefusal(NamedTuple):
    """Why a pod must not be disrupted now: a rule, and a clause of a sentence."""

    rule: str
    message: str


class Group(NamedTuple):
    """The pods of one controller. `configured` is None if it is unknown how many there should be."""

    owner: Owner
    live: int
    running: int
    configured: int | None
    tolerance: int
    minimum: int
    boosted: bool = False
    evicted: int = 0
    resized: int = 0

    @property
    def too_few(self) -> bool:
        """Whether there are fewer pods than the minimum. Boosted pods must be lowered again, however few there are."""
        return self.live < self.minimum and not self.boosted

    @property
    def disruptable(self) -> bool:
        """Whether one more pod may be disrupted."""
        if self.configured is None:
            return False
        return may_disrupt(self.running, self.configured, self.tolerance, self.evicted + self.resized)


class DisruptionBudget(NamedTuple):
    """The groups of one pass, and what was taken from them so far."""

    groups: Mapping[Owner, Group]
    # Which group a pod is in, by the pod's name.
    owners: Mapping[str, Owner]
    # In-place resizes may ignore the minimum; evictions may not.
    spares_minimum: bool = False

    @classmethod
    def of(
        cls,
        pods: Iterable[Pod],
        controllers: Controllers,
        *,
        minimum: int,
        tolerance: float,
        spares_minimum: bool = False,
    ) -> "DisruptionBudget":
        """The budget of these live pods."""
        members: dict[Owner, list[Pod]] = {}
        owners: dict[str, Owner] = {}
        for pod in pods:
            owner = controller_of(pod, controllers)
            if owner is not None:
                members.setdefault(owner, []).append(pod)
                owners[pod.name] = owner
        groups = {owner: _group(owner, own, controllers, minimum, tolerance) for owner, own in members.items()}
        return cls(groups, owners, spares_minimum)

    def group_of(self, pod: Pod) -> Group | None:
        owner = self.owners.get(pod.name)
        return None if owner is None else self.groups[owner]

    def uncounted(self, pod: Pod) -> DisruptionRefusal | None:
        """Why the pod is in no group that allows disruptions; None if it is in one."""
        group = self.group_of(pod)
        if group is None:
            return DisruptionRefusal("no-controller", "it has no controller that would replace it")
        name = f"{group.owner.kind} {group.owner.name}"
        if group.configured is None:
            return DisruptionRefusal(
                "replicas-unknown", f"it is unknown how many pods {name} keeps: it is not in the input, or does not say"
            )
        if group.too_few and not self.spares_minimum:
            return _too_few(group)
        return None

    def unevictable(self, pod: Pod) -> DisruptionRefusal | None:
        """Why the pod cannot be evicted now; None if it can. A pending pod needs no budget."""
        refusal, group = self.uncounted(pod), self.group_of(pod)
        if refusal is not None or group is None or pod.phase == "Pending":
            return refusal
        return _too_few(group) if group.too_few else self.exhausted(pod)

    def exhausted(self, pod: Pod) -> DisruptionRefusal | None:
        """Why no more pods of the group may be disrupted in this pass; None if one may."""
        group = self.group_of(pod)
        if group is None or group.disruptable:
            return None
        taken = group.evicted + group.resized
        message = (
            f"{group.owner.kind} {group.owner.name} has {group.running} of {group.configured} pods running, "
            f"{taken} of them disrupted in this pass, and at most {group.tolerance} may be missing"
        )
        return DisruptionRefusal(EXHAUSTED, message)

    def after_evicting(self, pod: Pod) -> "DisruptionBudget":
        group = self.group_of(pod)
        if group is None or pod.phase == "Pending":
            return self
        return self._with(group._replace(evicted=group.evicted + 1))

    def after_resizing(self, pod: Pod) -> "DisruptionBudget":
        group = self.group_of(pod)
        return self if group is None else self._with(group._replace(resized=group.resized + 1))

    def _with(self, group: Group) -> "DisruptionBudget":
        return self._replace(groups={**self.groups, group.owner: group})


def controller_of(pod: Pod, controllers: Controllers) -> Owner | None:
    """The controller of the pod: of several owners the one that is a known controller, else the first."""
    known = next((owner for owner in pod.owners if owner in controllers), None)
    return known or next(iter(pod.owners), None)


def _group(owner: Owner, pods: list[Pod], controllers: Controllers, minimum: int, tolerance: float) -> Group:
    configured = _configured(owner, len(pods), controllers)
    return Group(
        owner,
        live=len(pods),
        running=sum(pod.phase != "Pending" for pod in pods),
        configured=configured,
        tolerance=int((configured or 0) * tolerance),
        minimum=minimum,
        boosted=any(key.startswith(BOOST_ANNOTATION) for pod in pods for key in pod.annotations),
    )


def _configured(owner: Owner, live: int, controllers: Controllers) -> int | None:
    """How many pods there should be; 0 for a kind that does not say, so that every running pod may be disrupted."""
    if owner.kind == "Job":
        return live
    if owner.kind not in _COUNTED_KINDS:
        return 0
    known = controllers.get(owner)
    return None if known is None or not known.replicas else known.replicas


def _too_few(group: Group) -> DisruptionRefusal:
    has = f"{group.owner.kind} {group.owner.name} has {count_of(group.live, 'live pod')}"
    message = f"{has}, fewer than the minimum of {group.minimum}"
    return DisruptionRefusal("min-replicas", message)
