"""VerticalPodAutoscaler, autoscaling.k8s.io/v1: sets the size of a workload's containers."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar, Self, TypeVar

from hypot.kinds import identity
from hypot.kinds.authored.given_target import TargetLike, given_target
from hypot.kinds.authored.keywords import OF_STATUS, authored
from hypot.kinds.base import Duration, Kind, seconds
from hypot.kinds.decode import python_path
from hypot.kinds.node import Node, node, replaced
from hypot.kinds.pod_template import Template
from hypot.kinds.problem import Problem, Where
from hypot.kinds.values.version import NEWEST, Version, as_version
from hypot.kinds.vpa.fields import (
    AUTO,
    IN_PLACE,
    IN_PLACE_OR_RECREATE,
    OFF,
    RECREATE,
    REQUESTS_AND_LIMITS,
    RESOURCES,
    ContainerPolicies,
    ContainerPolicy,
    EvictionRequirement,
    RecommenderRef,
    ResourcePolicy,
    StartupBoost,
    UpdateMode,
    UpdatePolicy,
    VPASpec,
    policies_from,
)
from hypot.kinds.vpa.knobs import knob_problems
from hypot.kinds.vpa.rules import container_problems, spec_problems, strictness
from hypot.kinds.vpa.status import VPAStatus

# The first Kubernetes version that can resize pods in place by default.
RESIZES_IN_PLACE: Version = (1, 33)


@node
class VPA(VPASpec):
    """A VerticalPodAutoscaler.

    >>> VPA("deployment/web", mode="Off", containers={"istio-proxy": "Off"}).containers[0].container_name
    'istio-proxy'
    """

    FORMER_VERSIONS: ClassVar[tuple[str, ...]] = identity.VPA.former_versions
    STATUS: ClassVar[type[Node] | None] = VPAStatus

    @authored("VPA()", OF_STATUS, "kind")
    def __init__(
        self,
        target: TargetLike,
        *,
        mode: UpdateMode | None = None,
        min_replicas: int | None = None,
        eviction_requirements: Iterable[EvictionRequirement] | EvictionRequirement | None = None,
        evict_after_oom: Duration | None = None,
        containers: ContainerPolicies | None = None,
        recommender: str | None = None,
        startup_boost: StartupBoost | None = None,
        name: str | None = None,
        namespace: str | None = None,
        labels: Mapping[str, str] | None = None,
        annotations: Mapping[str, str] | None = None,
    ) -> None:
        """Create an autoscaler, named like its target by default. Raises one exception with all problems."""
        given = given_target(target)
        requirements: Any = eviction_requirements
        updates = UpdatePolicy(mode, min_replicas, requirements, seconds(evict_after_oom))
        self.author(
            given.metadata(name, namespace, labels, annotations),
            given.template,
            given.problems(namespace, counts=False),
            target=given.ref,
            update_policy=updates if updates.write() else None,
            resource_policy=None if containers is None else ResourcePolicy(policies_from(containers)),
            recommenders=None if recommender is None else (RecommenderRef(recommender),),
            startup_boost=startup_boost,
        )

    @property
    def containers(self) -> tuple[ContainerPolicy, ...] | None:
        """As in the constructor."""
        return self.container_policies.containers if self.container_policies is not None else None

    @property
    def min_replicas(self) -> int | None:
        """As in the constructor: no pod is disrupted while fewer are alive."""
        return self._updates.min_replicas

    @property
    def eviction_requirements(self) -> tuple[EvictionRequirement, ...] | None:
        """As in the constructor."""
        return self._updates.eviction_requirements

    @property
    def evict_after_oom(self) -> int | None:
        """As in the constructor, in seconds."""
        return self._updates.evict_after_oom

    @property
    def recommender(self) -> str | None:
        """The name of the recommender; None for the default one."""
        return self.recommenders[0].name if self.recommenders else None

    @property
    def _updates(self) -> UpdatePolicy:
        return self.update_policy if isinstance(self.update_policy, UpdatePolicy) else _NO_UPDATES

    def arguments(self) -> dict[str, Any]:
        """The keywords of the constructor."""
        words = (
            *("target", "min_replicas", "eviction_requirements", "evict_after_oom", "containers", "recommender"),
            "startup_boost",
        )
        return {"mode": self._updates.mode, **{word: getattr(self, word) for word in words}, **self.named()}

    def rule_problems(self, kubernetes: Version, gates: Mapping[str, bool] | None) -> Iterator[Problem]:
        """The problems of this object. A gate is closed only if `gates` says so."""
        yield from spec_problems(self, strictness(gates=gates))
        if self.mode in {IN_PLACE, IN_PLACE_OR_RECREATE} and kubernetes < RESIZES_IN_PLACE:
            message = "pods can be resized in place from Kubernetes 1.33 on"
            place = ("spec", "updatePolicy", "updateMode")
            yield Problem("in-place-version", "Invalid", place, message, self.mode, severity="warning")
        yield from knob_problems(self.annotations, ("metadata", "annotations"))

    @property
    def reported(self) -> VPAStatus:
        """The status of a live object; empty if there is none."""
        return VPAStatus.read(self.status).readable() if isinstance(self.status, dict) else VPAStatus()

    def pod_problems(self, template: Template) -> Iterator[Problem]:
        """Policies for containers that these pods do not have."""
        return container_problems(self.container_policies, ("spec", "resourcePolicy"), template, self.target)

    def author_path(self, where: Where) -> str:
        """The constructor takes one recommender, by its name."""
        return "recommender" if where[:1] == ("recommenders",) else python_path(self, where)

    def effective(self, kubernetes: str | Version = NEWEST) -> Self:
        """The object with its controllers' defaults; they are the same in every Kubernetes version."""
        as_version(kubernetes)
        return with_defaults(self)

    def unreadable_status(self) -> Iterator[Problem]:
        """A status must be readable, but fields that another recommender version adds are not a problem."""
        return (problem for problem in Kind.unreadable_status(self) if problem.rule != "unknown-field")


_NO_UPDATES = UpdatePolicy()
V = TypeVar("V", bound=VPASpec)


def with_defaults(vpa: V) -> V:
    """The object with its controllers' defaults; the same object if nothing is missing."""
    changes: dict[str, Any] = {}
    updates: Any = vpa.update_policy
    if updates is None:
        changes["update_policy"] = UpdatePolicy(RECREATE)
    elif isinstance(updates, UpdatePolicy) and not updates.mode:
        changes["update_policy"] = replaced(updates, mode=RECREATE)
    sizes = vpa.resource_policy
    complete = with_policy_defaults(sizes)
    if complete is not sizes:
        changes["resource_policy"] = complete
    return replaced(vpa, **changes) if changes else vpa


def with_policy_defaults(policy: ResourcePolicy | None) -> ResourcePolicy | None:
    """A resource policy whose containers have all defaults filled in."""
    if not isinstance(policy, ResourcePolicy) or not isinstance(policy.containers, tuple):
        return policy
    complete = tuple([_complete(one) for one in policy.containers])
    unchanged = all(after is before for after, before in zip(complete, policy.containers, strict=True))
    return policy if unchanged else replaced(policy, containers=complete)


def _complete(policy: Any) -> Any:
    if not isinstance(policy, ContainerPolicy):
        return policy
    defaults: dict[str, Any] = {"mode": AUTO, "controlled_resources": list(RESOURCES)}
    if policy.mode != OFF:
        # With mode Off this value is rejected.
        defaults["controlled_values"] = REQUESTS_AND_LIMITS
    missing = {name: value for name, value in defaults.items() if getattr(policy, name) is None}
    return replaced(policy, **missing) if missing else policy
