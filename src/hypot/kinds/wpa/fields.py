"""The parts of a WatermarkPodAutoscaler, and short ways to write them."""

from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from typing import Annotated, Any, ClassVar

from hypot.kinds.base import Kind, Ref
from hypot.kinds.node import BOOL, FRACTION, INT32, MAPPING, STRING, STRINGS, WHOLE_OR_QUANTITY, Node, Wire, node

Amount = str | int | float

ALGORITHMS = ("absolute", "average")
CONVERGENCES = ("highwatermark", "lowwatermark")
SKIP_OWNER_CHECK = "wpa.datadoghq.com/skip-owner-check"
LIFECYCLE_CONTROL = "wpa.datadoghq.com/lifecycle-control.enabled"
TLS_VERSIONS = ("TLS10", "TLS11", "TLS12", "TLS13")


@node
class ExternalBand(Node):
    """A metric from outside the cluster and the marks it is kept between."""

    GO: ClassVar[str] = "ExternalMetricSource"

    name: Annotated[str | None, Wire("metricName", STRING, doc="name of the series")] = None
    selector: Annotated[
        Mapping[str, Any] | None, Wire("metricSelector", MAPPING, doc="which of the series; {} for all")
    ] = dataclass_field(default=None, hash=False)
    high: Annotated[
        Amount | None, Wire("highWatermark", WHOLE_OR_QUANTITY, doc="above this mark replicas are added")
    ] = None
    low: Annotated[
        Amount | None, Wire("lowWatermark", WHOLE_OR_QUANTITY, doc="below this mark replicas are removed")
    ] = None


@node
class ResourceBand(Node):
    """A resource of the pods and the marks it is kept between."""

    GO: ClassVar[str] = "ResourceMetricSource"

    name: Annotated[str | None, Wire("name", STRING, doc="cpu or memory")] = None
    selector: Annotated[
        Mapping[str, Any] | None, Wire("metricSelector", MAPPING, doc="selects the pods' metrics by label")
    ] = dataclass_field(default=None, hash=False)
    high: Annotated[
        Amount | None, Wire("highWatermark", WHOLE_OR_QUANTITY, doc="above this mark replicas are added")
    ] = None
    low: Annotated[
        Amount | None, Wire("lowWatermark", WHOLE_OR_QUANTITY, doc="below this mark replicas are removed")
    ] = None


@node
class BandMetric(Node):
    """One metric: a type, and the block of that type. Write it with `band` or `resource_band`."""

    GO: ClassVar[str] = "MetricSpec"

    type: Annotated[
        str | None, Wire("type", STRING, schema={"enum": ["External", "Resource"]}, doc="which block counts")
    ] = None
    external: Annotated[
        ExternalBand | None, Wire("external", ExternalBand, doc="a metric from outside the cluster; for type External")
    ] = None
    resource: Annotated[
        ResourceBand | None, Wire("resource", ResourceBand, doc="a resource of the pods; for type Resource")
    ] = None

    @property
    def source(self) -> ExternalBand | ResourceBand | None:
        """The block that the type names."""
        return {"External": self.external, "Resource": self.resource}.get(self.type or "")


@node
class TLSConfig(Node):
    GO: ClassVar[str] = "TLSConfig"

    ca_file: Annotated[str | None, Wire("caFile", STRING, doc="file with the authorities to trust")] = None
    cert_file: Annotated[str | None, Wire("certFile", STRING, doc="file with the client certificate")] = None
    key_file: Annotated[str | None, Wire("keyFile", STRING, doc="file with the client key")] = None
    server_name: Annotated[str | None, Wire("serverName", STRING, doc="name the service must prove")] = None
    insecure_skip_verify: Annotated[bool | None, Wire("insecureSkipVerify", BOOL, doc="do not verify the service")] = (
        None
    )
    min_version: Annotated[
        str | None, Wire("minVersion", STRING, schema={"enum": list(TLS_VERSIONS)}, doc="oldest TLS to speak")
    ] = None
    max_version: Annotated[
        str | None, Wire("maxVersion", STRING, schema={"enum": list(TLS_VERSIONS)}, doc="newest TLS to speak")
    ] = None


@node
class Recommender(Node):
    """Somebody else's service that is asked for a count."""

    GO: ClassVar[str] = "RecommenderSpec"

    url: Annotated[
        str | None, Wire("url", STRING, schema={"pattern": "^https?://."}, doc="where to ask, http or https")
    ] = None
    target_type: Annotated[str | None, Wire("targetType", STRING, doc="what the marks measure")] = None
    settings: Annotated[Mapping[str, str] | None, Wire("settings", STRINGS, doc="handed on as they are")] = (
        dataclass_field(default=None, hash=False)
    )
    high: Annotated[Amount | None, Wire("highWatermark", WHOLE_OR_QUANTITY, doc="upper bound that is sent along")] = (
        None
    )
    low: Annotated[Amount | None, Wire("lowWatermark", WHOLE_OR_QUANTITY, doc="lower bound that is sent along")] = None
    tls: Annotated[TLSConfig | None, Wire("tlsConfig", TLSConfig, doc="how to speak TLS with the service")] = None


@dataclass(frozen=True, slots=True)
class Step:
    """How one direction moves: by at most a percentage, resting after any move, after an excursion has lasted."""

    percent: Amount | None = None
    rest: Any = None
    after: Any = None


def band(
    name: str, *, high: Amount | None = None, low: Amount | None = None, labels: Mapping[str, str] | None = None
) -> BandMetric:
    """Keep an external metric between two marks."""
    return BandMetric("External", external=ExternalBand(name, _selector(labels), high, low))


def resource_band(
    name: str, *, high: Amount | None = None, low: Amount | None = None, labels: Mapping[str, str] | None = None
) -> BandMetric:
    """Keep a resource of the pods between two marks; with `algorithm="average"` the marks are per pod."""
    return BandMetric("Resource", resource=ResourceBand(name, _selector(labels), high, low))


def _selector(labels: Mapping[str, str] | None) -> dict[str, Any]:
    return {"matchLabels": dict(labels)} if labels else {}


@node
class WPASpec(Kind):
    """The fields of a WatermarkPodAutoscaler, as read; `WPA` adds writing and checking."""

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

    @property
    def skips_owner_check(self) -> bool:
        return self.annotations.get(SKIP_OWNER_CHECK) == "true"


def marks_of(high: Amount | None, low: Amount | None) -> tuple[Amount | None, Amount | None]:
    """Both marks; a missing one is taken from the other, so that the band is a point."""
    return (low if high is None else high), (high if low is None else low)
