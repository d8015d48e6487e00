"""The parts of a VerticalPodAutoscaler, which an Hvpa's VPA template shares."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, Self, TypedDict, cast

from hypot.core.amount import of_milli, readable
from hypot.core.quantity import QuantityError, milli
from hypot.kinds import identity
from hypot.kinds.base import Kind, Ref
from hypot.kinds.floor import Floor, higher
from hypot.kinds.meta import INT64
from hypot.kinds.node import INT32, QUANTITY, STRING, Node, Scalar, node, replaced, wire
from hypot.kinds.values.plain import plain

Amount = str | int
ResourceList = Mapping[str, Amount]

OFF, INITIAL, RECREATE, AUTO = "Off", "Initial", "Recreate", "Auto"
IN_PLACE, IN_PLACE_OR_RECREATE = "InPlace", "InPlaceOrRecreate"
UpdateMode = Literal["Off", "Initial", "Recreate", "InPlaceOrRecreate", "InPlace", "Auto"]
UPDATE_MODES = (OFF, INITIAL, RECREATE, IN_PLACE_OR_RECREATE, IN_PLACE, AUTO)
ContainerMode = Literal["Auto", "Off"]
CONTAINER_MODES = (AUTO, OFF)
# The mode of a container that is not sized.
NOT_SIZED: ContainerMode = "Off"
REQUESTS_AND_LIMITS, REQUESTS_ONLY = "RequestsAndLimits", "RequestsOnly"
ControlledValues = Literal["RequestsAndLimits", "RequestsOnly"]
CONTROLLED_VALUES = (REQUESTS_AND_LIMITS, REQUESTS_ONLY)
RESOURCES = ("cpu", "memory")
HIGHER, LOWER = "TargetHigherThanRequests", "TargetLowerThanRequests"
ChangeRequirement = Literal["TargetHigherThanRequests", "TargetLowerThanRequests"]
CHANGES = (HIGHER, LOWER)
FACTOR, FIXED = "Factor", "Quantity"
BOOST_TYPES = (FACTOR, FIXED)
# The container name whose policy applies to every container without its own policy.
ANY_CONTAINER = "*"
DEFAULT_RECOMMENDER = "default"

# No amount may be negative, and text has a maximum length: an API server limits the cost of what CEL reads.
LONGEST_AMOUNT = 64
AMOUNT_TEXT = r"^\+?([0-9]+(\.[0-9]*)?|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,2})?$"
MAX_RESOURCES = 20


def _is_amount(value: Any) -> bool:
    """Text or a whole number: what a schema accepts as a quantity. The rules check the text."""
    return isinstance(value, str) or type(value) is int


def _is_resource_list(value: Any) -> bool:
    return isinstance(value, dict) and all(
        isinstance(key, str) and (amount is None or _is_amount(amount)) for key, amount in value.items()
    )


def _is_texts(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(item, str) for item in value)


AMOUNT = Scalar(
    QUANTITY.go,
    {**QUANTITY.schema, "pattern": AMOUNT_TEXT, "maxLength": LONGEST_AMOUNT, "minimum": 0},
    _is_amount,
    QUANTITY.want,
)
RESOURCE_LIST = Scalar(
    "v1.ResourceList",
    {"type": "object", "additionalProperties": AMOUNT.schema, "maxProperties": MAX_RESOURCES},
    _is_resource_list,
    "a mapping of resource to quantity",
    each=AMOUNT,
)
TEXT_LIST = Scalar(
    "[]string",
    {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "atomic"},
    _is_texts,
    "a list of strings",
)


@node
class CPUBoost(Node):
    """More cpu while a container starts.

    >>> CPUBoost("Factor", factor=2, duration=60).factor
    2
    """

    GO: ClassVar[str] = "v1.GenericStartupBoost"

    type: str | None = wire("type", STRING, "which of the two amounts is used", schema={"enum": list(BOOST_TYPES)})
    factor: int | None = wire("factor", INT32, "the request times this; for type Factor", schema={"minimum": 1})
    quantity: Amount | None = wire("quantity", AMOUNT, "the request plus this; for type Quantity")
    duration: int | None = wire(
        "durationSeconds", INT32, "how long the boost lasts after the pod is ready; 0 if absent", schema={"minimum": 0}
    )


@node
class StartupBoost(Node):
    """More of a resource while a container starts.

    >>> VPA("deployment/web", startup_boost=StartupBoost(CPUBoost("Factor", 2))).startup_boost.cpu.factor
    2
    """

    GO: ClassVar[str] = "v1.StartupBoost"

    cpu: CPUBoost | None = wire("cpu", CPUBoost, "the boost of cpu")


@node
class ContainerPolicy(Node):
    """How one container is sized. The name `*` applies to all containers without their own policy.

    >>> ContainerPolicy("app", max_allowed={"cpu": "2"}, controlled_values="RequestsOnly").max_allowed
    {'cpu': '2'}
    """

    GO: ClassVar[str] = "v1.ContainerResourcePolicy"

    container_name: str | None = wire(
        "containerName", STRING, "the container, or * for all others", schema={"minLength": 1}
    )
    mode: ContainerMode | None = wire(
        "mode", STRING, "Off leaves the container alone", schema={"enum": list(CONTAINER_MODES)}
    )
    min_allowed: ResourceList | None = wire("minAllowed", RESOURCE_LIST, "recommendations are raised to this")
    max_allowed: ResourceList | None = wire("maxAllowed", RESOURCE_LIST, "recommendations are lowered to this")
    controlled_resources: Sequence[str] | None = wire(
        "controlledResources", TEXT_LIST, "cpu, memory or both; both if absent, none if empty"
    )
    controlled_values: ControlledValues | None = wire(
        "controlledValues",
        STRING,
        "whether limits follow the requests in proportion; RequestsAndLimits if absent",
        schema={"enum": list(CONTROLLED_VALUES)},
    )
    oom_bump_up_ratio: Amount | None = wire("oomBumpUpRatio", AMOUNT, "memory is multiplied by this after an OOM kill")
    oom_min_bump_up: Amount | None = wire("oomMinBumpUp", AMOUNT, "memory is raised by at least this after an OOM kill")
    memory_interval: int | None = wire(
        "memoryAggregationIntervalSeconds",
        INT32,
        "memory usage is reduced to one peak per this many seconds",
        schema={"minimum": 1},
    )
    memory_interval_count: int | None = wire(
        "memoryAggregationIntervalCount",
        INT64,
        "for how many of these intervals usage is kept",
        schema={"minimum": 1},
    )
    startup_boost: StartupBoost | None = wire("startupBoost", StartupBoost, "this container's own boost")


class PolicyKeywords(TypedDict, total=False):
    """What may be written of a container whose name is the key."""

    mode: ContainerMode
    min_allowed: ResourceList
    max_allowed: ResourceList
    controlled_resources: Sequence[str]
    controlled_values: ControlledValues
    oom_bump_up_ratio: Amount
    oom_min_bump_up: Amount
    memory_interval: int
    memory_interval_count: int
    startup_boost: StartupBoost


# In Python also by name: `{"app": {"max_allowed": {"cpu": "2"}}, "istio-proxy": {"mode": "Off"}}`.
# A word is the mode: `{"istio-proxy": "Off"}`.
ContainerPolicies = (
    Sequence[ContainerPolicy] | ContainerPolicy | Mapping[str, PolicyKeywords | ContainerPolicy | ContainerMode]
)


def policies_from(containers: ContainerPolicies) -> Any:
    """The policies of containers, also from a mapping by name. What is no policy stays, for the rules."""
    if not isinstance(containers, Mapping):
        return containers
    return tuple([_policy_from(name, written) for name, written in containers.items()])


def _policy_from(name: str, written: Any) -> Any:
    if isinstance(written, ContainerPolicy):
        return replaced(written, container_name=name) if written.container_name is None else written
    if isinstance(written, str):
        return ContainerPolicy(name, cast("ContainerMode", written))
    if not isinstance(written, Mapping):
        return written
    known = PolicyKeywords.__optional_keys__
    unknown = {str(word): plain(value) for word, value in written.items() if word not in known}
    return ContainerPolicy(name, **{word: written[word] for word in written if word in known}, extra=unknown)


@node
class ResourcePolicy(Node):
    GO: ClassVar[str] = "v1.PodResourcePolicy"

    containers: tuple[ContainerPolicy, ...] | None = wire(
        "containerPolicies",
        ContainerPolicy,
        "one per container; of several with the same name the first is used",
        many=True,
    )


@node
class EvictionRequirement(Node):
    """A pod is disrupted only if one of these resources would change this way.

    >>> EvictionRequirement(["cpu", "memory"], "TargetHigherThanRequests").resources
    ['cpu', 'memory']
    """

    GO: ClassVar[str] = "v1.EvictionRequirement"

    resources: Sequence[str] | None = wire("resources", TEXT_LIST, "cpu, memory or both; one of them is enough")
    change: ChangeRequirement | None = wire(
        "changeRequirement", STRING, "how the target must differ from the request", schema={"enum": list(CHANGES)}
    )


@node
class UpdatePolicy(Node):
    """How recommendations reach the pods."""

    GO: ClassVar[str] = "v1.PodUpdatePolicy"

    mode: str | None = wire(
        "updateMode", STRING, "Recreate if the whole block is absent", schema={"enum": list(UPDATE_MODES)}
    )
    min_replicas: int | None = wire(
        "minReplicas", INT32, "no pod is disrupted while fewer are alive", schema={"minimum": 1}
    )
    eviction_requirements: tuple[EvictionRequirement, ...] | None = wire(
        "evictionRequirements", EvictionRequirement, "all of them must hold", many=True
    )
    evict_after_oom: int | None = wire(
        "evictAfterOOMSeconds",
        INT32,
        "an OOM kill within this time of the start is a reason to act at once",
        schema={"minimum": 1},
    )


@node
class RecommenderRef(Node):
    GO: ClassVar[str] = "v1.VerticalPodAutoscalerRecommenderSelector"

    name: str | None = wire("name", STRING, "the recommender whose recommendation is used", schema={"minLength": 1})


@node
class VPASpec(Kind):
    """The fields of a VerticalPodAutoscaler, as read; `VPA` adds writing and checking."""

    API_VERSION: ClassVar[str] = identity.VPA.api_version
    KIND: ClassVar[str] = identity.VPA.kind
    GO: ClassVar[str] = "v1.VerticalPodAutoscalerSpec"

    target: Ref | None = wire("targetRef", Ref, "the workload whose pods are sized; their topmost controller")
    update_policy: UpdatePolicy | None = wire(
        "updatePolicy", UpdatePolicy, "how recommendations reach the pods", path=""
    )
    resource_policy: ResourcePolicy | None = wire(
        "resourcePolicy", ResourcePolicy, "which containers are sized, and within which bounds", path=""
    )
    recommenders: tuple[RecommenderRef, ...] | None = wire(
        "recommenders", RecommenderRef, "the recommender to use; the one named default if absent", many=True
    )
    startup_boost: StartupBoost | None = wire("startupBoost", StartupBoost, "for containers without their own boost")

    def floored(self, floor: Floor) -> Self:
        """With a policy that allows no less."""
        return replaced(self, floor=floor, resource_policy=raised(self.resource_policy, floor))

    @property
    def knob_annotations(self) -> Mapping[str, str]:
        """The annotations that may contain knobs of the size recommender."""
        return self.annotations

    @property
    def container_policies(self) -> ResourcePolicy | None:
        return self.resource_policy if isinstance(self.resource_policy, ResourcePolicy) else None

    @property
    def mode(self) -> str:
        """The effective update mode; Recreate without an update policy."""
        policy = self.update_policy
        written = policy.mode if isinstance(policy, UpdatePolicy) else None
        return written if isinstance(written, str) and written else RECREATE


def policy_of(policy: ResourcePolicy | None, container: str) -> ContainerPolicy | None:
    """The policy of a container: the first with its name, else the last for all containers, else none."""
    written = policy.containers if isinstance(policy, ResourcePolicy) else None
    general = None
    for one in written if isinstance(written, tuple) else ():
        if not isinstance(one, ContainerPolicy):
            continue
        if one.container_name == container:
            return one
        if one.container_name == ANY_CONTAINER:
            general = one
    return general


def amounts_of(mapping: Any) -> dict[str, int]:
    """A resource list as amounts: millicores, and bytes rounded up. Invalid values are left out."""
    if not isinstance(mapping, Mapping):
        return {}
    read = {resource: _amount(resource, mapping.get(resource)) for resource in RESOURCES}
    return {resource: amount for resource, amount in read.items() if amount is not None}


def _amount(resource: str, written: Any) -> int | None:
    try:
        return None if written is None else of_milli(resource, milli(written))
    except QuantityError:
        return None


def raised(policies: ResourcePolicy | None, floor: Floor) -> ResourcePolicy | None:
    """The policies with minimums that are not below this floor, as far as their maximums allow."""
    if not floor.sizes:
        return policies
    written = policies.containers if policies is not None else None
    names = dict.fromkeys([*[one.container_name or "" for one in written or ()], *[name for name, _ in floor.sizes]])
    made = [_raised(policy_of(policies, name) or _NO_POLICY, name, floor.least(name)) for name in names]
    return replaced(policies or _NO_POLICIES, containers=tuple(made))


def _raised(policy: ContainerPolicy, name: str, floor: Mapping[str, int]) -> ContainerPolicy:
    most = amounts_of(policy.max_allowed)
    kept = {resource: min(amount, most.get(resource, amount)) for resource, amount in floor.items()}
    least = higher(amounts_of(policy.min_allowed), kept)
    written = {resource: readable(resource, amount) for resource, amount in least.items()}
    return replaced(policy, container_name=name, min_allowed=written or None)


_NO_POLICY, _NO_POLICIES = ContainerPolicy(), ResourcePolicy()
