"""The parts of a VerticalPodAutoscaler, which an Hvpa's template of one has too."""

from collections.abc import Mapping, Sequence
from dataclasses import field as dataclass_field
from typing import Annotated, Any, ClassVar

from hypot.core.amount import of_milli
from hypot.core.quantity import QuantityError, milli
from hypot.kinds.base import Kind, Ref
from hypot.kinds.meta import INT64
from hypot.kinds.node import INT32, QUANTITY, STRING, Node, Scalar, Wire, node

Amount = str | int
ResourceList = Mapping[str, Amount]

OFF, INITIAL, RECREATE, AUTO = "Off", "Initial", "Recreate", "Auto"
IN_PLACE, IN_PLACE_OR_RECREATE = "InPlace", "InPlaceOrRecreate"
UPDATE_MODES = (OFF, INITIAL, RECREATE, IN_PLACE_OR_RECREATE, IN_PLACE, AUTO)
CONTAINER_MODES = (AUTO, OFF)
REQUESTS_AND_LIMITS, REQUESTS_ONLY = "RequestsAndLimits", "RequestsOnly"
CONTROLLED_VALUES = (REQUESTS_AND_LIMITS, REQUESTS_ONLY)
RESOURCES = ("cpu", "memory")
HIGHER, LOWER = "TargetHigherThanRequests", "TargetLowerThanRequests"
CHANGES = (HIGHER, LOWER)
FACTOR, FIXED = "Factor", "Quantity"
BOOST_TYPES = (FACTOR, FIXED)
# The container name whose policy holds for every container without one of its own.
ANY_CONTAINER = "*"
DEFAULT_RECOMMENDER = "default"

# No amount here may be negative, and a text has an end: an API server counts what it reads in CEL.
LONGEST_AMOUNT = 64
AMOUNT_TEXT = r"^\+?([0-9]+(\.[0-9]*)?|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,2})?$"
MAX_RESOURCES = 20


def _is_amount(value: Any) -> bool:
    """Text or a whole number: what a schema takes for a quantity. Whether the text is one, the rules say."""
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
    "a list of texts",
)


def _as_read(part: Node, name: str) -> None:
    """Authors may write any sequence; it is held as the list that reading would give."""
    if isinstance(value := getattr(part, name), tuple):
        object.__setattr__(part, name, list(value))


@node
class CPUBoost(Node):
    """More cpu while a container starts."""

    GO: ClassVar[str] = "GenericStartupBoost"
    GO_PACKAGE: ClassVar[str] = "v1"

    type: Annotated[
        str | None, Wire("type", STRING, schema={"enum": list(BOOST_TYPES)}, doc="which of the two amounts counts")
    ] = None
    factor: Annotated[
        int | None, Wire("factor", INT32, schema={"minimum": 1}, doc="the request times this; for type Factor")
    ] = None
    quantity: Annotated[Amount | None, Wire("quantity", AMOUNT, doc="the request plus this; for type Quantity")] = None
    duration: Annotated[
        int | None,
        Wire("durationSeconds", INT32, schema={"minimum": 0}, doc="how long after the pod is ready; 0 if absent"),
    ] = None


@node
class StartupBoost(Node):
    GO: ClassVar[str] = "StartupBoost"
    GO_PACKAGE: ClassVar[str] = "v1"

    cpu: Annotated[CPUBoost | None, Wire("cpu", CPUBoost, doc="the boost of cpu")] = None


@node
class ContainerPolicy(Node):
    """What may be done with one container; the name `*` stands for all that have no policy of their own."""

    GO: ClassVar[str] = "ContainerResourcePolicy"
    GO_PACKAGE: ClassVar[str] = "v1"

    container_name: Annotated[
        str | None, Wire("containerName", STRING, schema={"minLength": 1}, doc="the container, or * for all others")
    ] = None
    mode: Annotated[
        str | None,
        Wire("mode", STRING, schema={"enum": list(CONTAINER_MODES)}, doc="Off leaves the container alone"),
    ] = None
    min_allowed: Annotated[
        ResourceList | None, Wire("minAllowed", RESOURCE_LIST, doc="recommendations are raised to this")
    ] = dataclass_field(default=None, hash=False)
    max_allowed: Annotated[
        ResourceList | None, Wire("maxAllowed", RESOURCE_LIST, doc="recommendations are cut to this")
    ] = dataclass_field(default=None, hash=False)
    controlled_resources: Annotated[
        Sequence[str] | None,
        Wire("controlledResources", TEXT_LIST, doc="cpu, memory or both; both if absent, none if empty"),
    ] = dataclass_field(default=None, hash=False)
    controlled_values: Annotated[
        str | None,
        Wire(
            "controlledValues",
            STRING,
            schema={"enum": list(CONTROLLED_VALUES)},
            doc="whether limits follow the requests in proportion; RequestsAndLimits if absent",
        ),
    ] = None
    oom_bump_up_ratio: Annotated[
        Amount | None, Wire("oomBumpUpRatio", AMOUNT, doc="memory is multiplied by this after an OOM kill")
    ] = None
    oom_min_bump_up: Annotated[
        Amount | None, Wire("oomMinBumpUp", AMOUNT, doc="memory grows at least by this after an OOM kill")
    ] = None
    memory_interval: Annotated[
        int | None,
        Wire(
            "memoryAggregationIntervalSeconds",
            INT32,
            schema={"minimum": 1},
            doc="memory counts as one peak per this many seconds",
        ),
    ] = None
    memory_interval_count: Annotated[
        int | None,
        Wire(
            "memoryAggregationIntervalCount",
            INT64,
            schema={"minimum": 1},
            doc="how many of these intervals usage is remembered",
        ),
    ] = None
    startup_boost: Annotated[
        StartupBoost | None, Wire("startupBoost", StartupBoost, doc="this container's own boost")
    ] = None

    def __post_init__(self) -> None:
        _as_read(self, "controlled_resources")


@node
class ResourcePolicy(Node):
    GO: ClassVar[str] = "PodResourcePolicy"
    GO_PACKAGE: ClassVar[str] = "v1"

    containers: Annotated[
        tuple[ContainerPolicy, ...] | None,
        Wire("containerPolicies", ContainerPolicy, many=True, doc="one per container; the first of a name counts"),
    ] = None


@node
class EvictionRequirement(Node):
    """A pod is disrupted only where one of these resources would change this way."""

    GO: ClassVar[str] = "EvictionRequirement"
    GO_PACKAGE: ClassVar[str] = "v1"

    resources: Annotated[
        Sequence[str] | None, Wire("resources", TEXT_LIST, doc="cpu, memory or both; one of them is enough")
    ] = dataclass_field(default=None, hash=False)
    change: Annotated[
        str | None,
        Wire("changeRequirement", STRING, schema={"enum": list(CHANGES)}, doc="which way the target must differ"),
    ] = None

    def __post_init__(self) -> None:
        _as_read(self, "resources")


@node
class UpdatePolicy(Node):
    """How recommendations reach the pods."""

    GO: ClassVar[str] = "PodUpdatePolicy"
    GO_PACKAGE: ClassVar[str] = "v1"

    mode: Annotated[
        str | None,
        Wire("updateMode", STRING, schema={"enum": list(UPDATE_MODES)}, doc="Recreate if the whole block is absent"),
    ] = None
    min_replicas: Annotated[
        int | None,
        Wire("minReplicas", INT32, schema={"minimum": 1}, doc="no pod is disrupted while fewer are alive"),
    ] = None
    eviction_requirements: Annotated[
        tuple[EvictionRequirement, ...] | None,
        Wire("evictionRequirements", EvictionRequirement, many=True, doc="all of them must hold"),
    ] = None
    evict_after_oom: Annotated[
        int | None,
        Wire(
            "evictAfterOOMSeconds",
            INT32,
            schema={"minimum": 1},
            doc="an OOM kill within this time of the start is a reason to act at once",
        ),
    ] = None


@node
class RecommenderRef(Node):
    GO: ClassVar[str] = "VerticalPodAutoscalerRecommenderSelector"
    GO_PACKAGE: ClassVar[str] = "v1"

    name: Annotated[str | None, Wire("name", STRING, schema={"minLength": 1}, doc="whose recommendation is used")] = (
        None
    )


@node
class VPASpec(Kind):
    """The fields of a VerticalPodAutoscaler, as read; `VPA` adds writing and checking."""

    API_VERSION: ClassVar[str] = "autoscaling.k8s.io/v1"
    KIND: ClassVar[str] = "VerticalPodAutoscaler"
    GO: ClassVar[str] = "VerticalPodAutoscalerSpec"
    GO_PACKAGE: ClassVar[str] = "v1"

    target: Annotated[
        Ref | None, Wire("targetRef", Ref, doc="the workload whose pods are sized; the topmost controller of them")
    ] = None
    update_policy: Annotated[
        UpdatePolicy | None, Wire("updatePolicy", UpdatePolicy, path="", doc="how recommendations reach the pods")
    ] = None
    resource_policy: Annotated[
        ResourcePolicy | None, Wire("resourcePolicy", ResourcePolicy, path="", doc="what may be done with containers")
    ] = None
    recommenders: Annotated[
        tuple[RecommenderRef, ...] | None,
        Wire("recommenders", RecommenderRef, many=True, doc="who recommends; the one named default if absent"),
    ] = None
    startup_boost: Annotated[
        StartupBoost | None, Wire("startupBoost", StartupBoost, doc="for containers without a boost of their own")
    ] = None

    @property
    def knob_annotations(self) -> Mapping[str, str]:
        """The knobs of the size recommender stand here."""
        return self.annotations

    @property
    def container_policies(self) -> ResourcePolicy | None:
        return self.resource_policy if isinstance(self.resource_policy, ResourcePolicy) else None

    @property
    def mode(self) -> str:
        """The update mode that holds; without an update policy that is Recreate."""
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
    """A list of resources as amounts: millicores, and bytes rounded up. What cannot be read is left out."""
    if not isinstance(mapping, Mapping):
        return {}
    read = {resource: _amount(resource, mapping.get(resource)) for resource in RESOURCES}
    return {resource: amount for resource, amount in read.items() if amount is not None}


def _amount(resource: str, written: Any) -> int | None:
    try:
        return None if written is None else of_milli(resource, milli(written))
    except QuantityError:
        return None
