"""WatermarkPodAutoscaler, datadoghq.com/v1alpha1: two marks and a band between them."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, ClassVar

from hypot.core.quantity import Quantity, is_quantity
from hypot.kinds.base import HasKindAndName, Kind, Ref, metadata_of, refer, seconds
from hypot.kinds.node import BOOL, FRACTION, INT32, STRING, WHOLE_OR_QUANTITY, Wire, node, replaced
from hypot.kinds.problem import Problem
from hypot.kinds.version import Version
from hypot.kinds.wpa_parts import ALGORITHMS, CONVERGENCES, Amount, BandMetric, Recommender, Step
from hypot.kinds.wpa_rules import spec_problems

SKIP_OWNER_CHECK = "wpa.datadoghq.com/skip-owner-check"
LIFECYCLE_CONTROL = "wpa.datadoghq.com/lifecycle-control.enabled"


@node
class WPA(Kind):
    """A WatermarkPodAutoscaler."""

    API_VERSION: ClassVar[str] = "datadoghq.com/v1alpha1"
    KIND: ClassVar[str] = "WatermarkPodAutoscaler"
    GO: ClassVar[str] = "WatermarkPodAutoscalerSpec"

    target: Annotated[
        Ref | None, Wire("scaleTargetRef", Ref, doc="the workload to scale; anything with a scale subresource")
    ] = None
    min_replicas: Annotated[int | None, Wire("minReplicas", INT32, schema={"minimum": 1}, doc="1 if absent")] = None
    max_replicas: Annotated[
        int | None, Wire("maxReplicas", INT32, schema={"minimum": 1}, doc="never more than this; not below minReplicas")
    ] = None
    metrics: Annotated[
        tuple[BandMetric, ...] | None, Wire("metrics", BandMetric, many=True, doc="the largest proposal wins")
    ] = None
    recommender: Annotated[Recommender | None, Wire("recommender", Recommender, doc="instead of metrics")] = None
    algorithm: Annotated[
        str | None,
        Wire(
            "algorithm",
            STRING,
            schema={"enum": list(ALGORITHMS)},
            doc="absolute compares the value with the marks, average the value per ready pod; absolute if absent",
        ),
    ] = None
    tolerance: Annotated[
        Amount | None, Wire("tolerance", FRACTION, doc="share by which the band is widened; 10 % if 0 or absent")
    ] = None
    up_factor: Annotated[
        Amount | None,
        Wire(
            "scaleUpLimitFactor",
            WHOLE_OR_QUANTITY,
            path="scale_up.percent",
            doc="percent per move; 0 is off; 50 if absent",
        ),
    ] = None
    down_factor: Annotated[
        Amount | None,
        Wire(
            "scaleDownLimitFactor",
            WHOLE_OR_QUANTITY,
            path="scale_down.percent",
            doc="percent per move; 0 is off; 20 if absent",
        ),
    ] = None
    up_rest: Annotated[
        int | None,
        Wire(
            "upscaleForbiddenWindowSeconds",
            INT32,
            path="scale_up.rest",
            schema={"minimum": 1},
            doc="no upscale so long after any move; 60 if absent",
        ),
    ] = None
    down_rest: Annotated[
        int | None,
        Wire(
            "downscaleForbiddenWindowSeconds",
            INT32,
            path="scale_down.rest",
            schema={"minimum": 1},
            doc="no downscale so long after any move; 300 if absent",
        ),
    ] = None
    up_after: Annotated[
        int | None,
        Wire(
            "upscaleDelayAboveWatermarkSeconds",
            INT32,
            path="scale_up.after",
            schema={"minimum": 0},
            doc="how long the value must have been above; 0 if absent",
        ),
    ] = None
    down_after: Annotated[
        int | None,
        Wire(
            "downscaleDelayBelowWatermarkSeconds",
            INT32,
            path="scale_down.after",
            schema={"minimum": 0},
            doc="how long the value must have been below; 0 if absent",
        ),
    ] = None
    modulo: Annotated[
        int | None,
        Wire("replicaScalingAbsoluteModulo", INT32, schema={"minimum": 1}, doc="counts are raised to its multiples"),
    ] = None
    converge: Annotated[
        str | None,
        Wire(
            "convergeTowardsWatermark",
            STRING,
            schema={"enum": ["", *CONVERGENCES]},
            doc="while within the band, step towards this mark",
        ),
    ] = None
    dry_run: Annotated[bool | None, Wire("dryRun", BOOL, doc="decide and tell, but write nothing")] = None
    tolerate_zero: Annotated[bool | None, Wire("tolerateZero", BOOL, doc="believe a value of zero")] = None
    min_available: Annotated[
        int | None,
        Wire(
            "minAvailableReplicaPercentage",
            INT32,
            schema={"minimum": 0, "maximum": 100},
            doc="hold while fewer of the pods are ready",
        ),
    ] = None
    readiness_delay: Annotated[
        int | None,
        Wire("readinessDelaySeconds", INT32, schema={"minimum": 1}, doc="how fresh a pod may be and still count"),
    ] = None

    def __init__(
        self,
        target: str | Ref | Mapping[str, Any] | HasKindAndName,
        *,
        max_replicas: int,
        min_replicas: int | None = None,
        metrics: Iterable[BandMetric] | None = None,
        recommender: Recommender | None = None,
        algorithm: str | None = None,
        tolerance: Amount | None = None,
        scale_up: Step | None = None,
        scale_down: Step | None = None,
        modulo: int | None = None,
        converge: str | None = None,
        dry_run: bool | None = None,
        tolerate_zero: bool | None = None,
        min_available: int | None = None,
        readiness_delay: Any = None,
        name: str | None = None,
        namespace: str | None = None,
        labels: Mapping[str, str] | None = None,
        annotations: Mapping[str, str] | None = None,
    ) -> None:
        """Write an autoscaler; named like its target unless told otherwise. Raises with all that is wrong."""
        ref, up, down = refer(target), scale_up or Step(), scale_down or Step()
        values: dict[str, Any] = {
            "target": ref,
            "min_replicas": min_replicas,
            "max_replicas": max_replicas,
            "metrics": None if metrics is None else tuple(metrics),
            "recommender": recommender,
            "algorithm": algorithm,
            "tolerance": tolerance,
            "up_factor": up.percent,
            "down_factor": down.percent,
            "up_rest": seconds(up.rest),
            "down_rest": seconds(down.rest),
            "up_after": seconds(up.after),
            "down_after": seconds(down.after),
            "modulo": modulo,
            "converge": converge,
            "dry_run": dry_run,
            "tolerate_zero": tolerate_zero,
            "min_available": min_available,
            "readiness_delay": seconds(readiness_delay),
            "metadata": metadata_of(name or ref.name, namespace, labels, annotations),
            "status": None,
            "around": {},
            "extra": {},
        }
        for key, value in values.items():
            object.__setattr__(self, key, value)
        self.raise_if_refused()

    def rule_problems(self, kubernetes: Version, gates: Mapping[str, bool] | None) -> Iterator[Problem]:
        """What stands against this object; the controller's defaults are applied first, as it does."""
        del kubernetes, gates
        missing = {name: value for name, value in DEFAULTS.items() if getattr(self, name) is None}
        return spec_problems(replaced(self, **missing))

    @property
    def skips_owner_check(self) -> bool:
        return self.annotations.get(SKIP_OWNER_CHECK) == "true"


# What the controller writes into a spec that leaves it out.
DEFAULTS: dict[str, Any] = {
    "min_replicas": 1,
    "algorithm": "absolute",
    "tolerance": "100m",
    "up_factor": 50,
    "down_factor": 20,
    "up_rest": 60,
    "down_rest": 300,
    "modulo": 1,
}
_ZERO_IS_UNSET = ("tolerance", "up_rest", "down_rest")


def with_defaults(wpa: WPA) -> WPA:
    """The object as the controller completes it; the same object where nothing is missing."""
    changes = {name: value for name, value in DEFAULTS.items() if _is_unset(name, getattr(wpa, name))}
    return replaced(wpa, **changes) if changes else wpa


def _is_unset(name: str, value: Any) -> bool:
    if value is None or value == "":
        return True
    return name in _ZERO_IS_UNSET and is_quantity(value) and Quantity.parse(value).sign == 0
