"""The parts of a WatermarkPodAutoscaler, and short functions to write them."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self, overload

from hypot.core.dataclass import dataclass
from hypot.kinds import identity
from hypot.kinds.authored.keywords import authored
from hypot.kinds.base import Duration, Kind, Ref
from hypot.kinds.floor import Floor
from hypot.kinds.node import (
    BOOL,
    FRACTION,
    INT32,
    MAPPING,
    STRING,
    STRINGS,
    WHOLE_OR_QUANTITY,
    Node,
    node,
    replaced,
    wire,
)
from hypot.kinds.values.address import LONGEST_URL
from hypot.kinds.values.plain import GivenAmount, plain
from hypot.kinds.wpa.status import WPAStatus

Amount = str | int | float

Algorithm = Literal["absolute", "average"]
ALGORITHMS = ("absolute", "average")
CONVERGENCES = ("highwatermark", "lowwatermark")
SKIP_OWNER_CHECK = "wpa.datadoghq.com/skip-owner-check"
LIFECYCLE_CONTROL = "wpa.datadoghq.com/lifecycle-control.enabled"
TLS_VERSIONS = ("TLS10", "TLS11", "TLS12", "TLS13")


@node
class ExternalBand(Node):
    """A metric from outside the cluster and the watermarks it is kept between."""

    GO: ClassVar[str] = "v2.ExternalMetricSource"

    name: str | None = wire("metricName", STRING, "name of the series")
    selector: Mapping[str, Any] | None = wire(
        "metricSelector", MAPPING, "selects among the series of this name; {} for all"
    )
    high: Amount | None = wire("highWatermark", WHOLE_OR_QUANTITY, "above this value replicas are added")
    low: Amount | None = wire("lowWatermark", WHOLE_OR_QUANTITY, "below this value replicas are removed")


@node
class ResourceBand(Node):
    """A resource of the pods and the watermarks it is kept between."""

    GO: ClassVar[str] = "v2.ResourceMetricSource"

    name: str | None = wire("name", STRING, "cpu or memory")
    selector: Mapping[str, Any] | None = wire("metricSelector", MAPPING, "selects the pods' metrics by label")
    high: Amount | None = wire("highWatermark", WHOLE_OR_QUANTITY, "above this value replicas are added")
    low: Amount | None = wire("lowWatermark", WHOLE_OR_QUANTITY, "below this value replicas are removed")


@node
class BandMetric(Node):
    """One metric: a type, and the block of that type. Write it with `band` or `resource_band`."""

    GO: ClassVar[str] = "v2.MetricSpec"

    type: str | None = wire("type", STRING, "which block is used", schema={"enum": ["External", "Resource"]})
    external: ExternalBand | None = wire(
        "external", ExternalBand, "a metric from outside the cluster; for type External"
    )
    resource: ResourceBand | None = wire("resource", ResourceBand, "a resource of the pods; for type Resource")

    @property
    def source(self) -> ExternalBand | ResourceBand | None:
        """The block that the type names."""
        return {"External": self.external, "Resource": self.resource}.get(self.type or "")


@node
class TLSConfig(Node):
    """How the service of a recommender is reached over TLS.

    >>> Recommender(url="https://forecast", low=1, high=2, tls=TLSConfig(ca_file="/etc/ca.pem")).tls.ca_file
    '/etc/ca.pem'
    """

    GO: ClassVar[str] = "v2.TLSConfig"

    ca_file: str | None = wire("caFile", STRING, "file with the certificate authorities to trust")
    cert_file: str | None = wire("certFile", STRING, "file with the client certificate")
    key_file: str | None = wire("keyFile", STRING, "file with the client key")
    server_name: str | None = wire("serverName", STRING, "name that the certificate of the service must have")
    insecure_skip_verify: bool | None = wire("insecureSkipVerify", BOOL, "do not verify the certificate of the service")
    min_version: str | None = wire(
        "minVersion", STRING, "oldest TLS version to use", schema={"enum": list(TLS_VERSIONS)}
    )
    max_version: str | None = wire(
        "maxVersion", STRING, "newest TLS version to use", schema={"enum": list(TLS_VERSIONS)}
    )


@node
class Recommender(Node):
    """An external service that recommends a count.

    >>> asked = Recommender(url="https://forecast.example.com", low=40, high=50)
    >>> WPA("deployment/web", max_replicas=10, recommender=asked).recommender.high
    50
    """

    GO: ClassVar[str] = "v2.RecommenderSpec"

    url: str | None = wire(
        "url",
        STRING,
        "address of the service, http or https",
        schema={"pattern": "^https?://.", "maxLength": LONGEST_URL},
    )
    target_type: str | None = wire("targetType", STRING, "what the watermarks measure")
    settings: Mapping[str, str] | None = wire("settings", STRINGS, "passed to the service unchanged")
    high: Amount | None = wire("highWatermark", WHOLE_OR_QUANTITY, "upper bound that is sent to the service")
    low: Amount | None = wire("lowWatermark", WHOLE_OR_QUANTITY, "lower bound that is sent to the service")
    tls: TLSConfig | None = wire("tlsConfig", TLSConfig, "TLS settings for the service")


_BAND: dict[str, str] = dict.fromkeys(("average", "value", "utilization"), "write the watermarks: low=40, high=50")
_RULES = {
    "window": "write forbidden_window, the pause after any scaling; ScalingRules() has a window",
    **dict.fromkeys(("limits", "pods"), "write percent, the largest step; ScalingRules() has limits"),
}


@dataclass(frozen=True, slots=True)
class WatermarkRules:
    """One direction: the largest step, the pause after any scaling, and how long a value must be outside the band.

    >>> WatermarkRules(percent=20, forbidden_window="5m", delay="2m").percent
    20
    """

    percent: Amount | None = None
    forbidden_window: Duration | None = None
    delay: Duration | None = None

    @authored("WatermarkRules()", _RULES, "rules")
    def __init__(
        self,
        percent: GivenAmount | None = None,
        forbidden_window: Duration | None = None,
        delay: Duration | None = None,
    ) -> None:
        """`WatermarkRules(percent=50, forbidden_window="1m", delay="30s")`."""
        for name, value in (("percent", percent), ("forbidden_window", forbidden_window), ("delay", delay)):
            object.__setattr__(self, name, plain(value))


@overload
def band(
    name: str, *, high: GivenAmount, low: GivenAmount | None = None, labels: Mapping[str, str] | None = None
) -> BandMetric: ...
@overload
def band(name: str, *, low: GivenAmount, labels: Mapping[str, str] | None = None) -> BandMetric: ...
@authored("band()", _BAND, "metric")
def band(
    name: str,
    *,
    high: GivenAmount | None = None,
    low: GivenAmount | None = None,
    labels: Mapping[str, str] | None = None,
) -> BandMetric:
    """Keep an external metric between two watermarks.

    >>> band("nginx.net.request_per_s", low=40, high=50).type
    'External'
    """
    return BandMetric("External", external=ExternalBand(name, _selector(labels), plain(high), plain(low)))


@overload
def resource_band(
    name: str, *, high: GivenAmount, low: GivenAmount | None = None, labels: Mapping[str, str] | None = None
) -> BandMetric: ...
@overload
def resource_band(name: str, *, low: GivenAmount, labels: Mapping[str, str] | None = None) -> BandMetric: ...
@authored("resource_band()", _BAND, "metric")
def resource_band(
    name: str,
    *,
    high: GivenAmount | None = None,
    low: GivenAmount | None = None,
    labels: Mapping[str, str] | None = None,
) -> BandMetric:
    """Keep a resource of the pods between two watermarks. With `algorithm="average"` the watermarks are per pod.

    >>> resource_band("cpu", low="200m", high="400m", labels={"app": "web"}).type
    'Resource'
    """
    return BandMetric("Resource", resource=ResourceBand(name, _selector(labels), plain(high), plain(low)))


def _selector(labels: Mapping[str, str] | None) -> dict[str, Any]:
    return {"matchLabels": plain(labels)} if labels else {}


@node
class WPASpec(Kind):
    """The fields of a WatermarkPodAutoscaler, as read; `WPA` adds writing and checking."""

    API_VERSION: ClassVar[str] = identity.WPA.api_version
    KIND: ClassVar[str] = identity.WPA.kind
    GO: ClassVar[str] = "v2.WatermarkPodAutoscalerSpec"

    target: Ref | None = wire("scaleTargetRef", Ref, "the workload to scale; anything with a scale subresource")
    min_replicas: int | None = wire("minReplicas", INT32, "1 if absent", schema={"minimum": 1})
    max_replicas: int | None = wire(
        "maxReplicas", INT32, "never more than this; not below minReplicas", schema={"minimum": 1}
    )
    metrics: tuple[BandMetric, ...] | None = wire("metrics", BandMetric, "the largest proposal wins", many=True)
    recommender: Recommender | None = wire("recommender", Recommender, "instead of metrics")
    algorithm: str | None = wire(
        "algorithm",
        STRING,
        "absolute compares the value with the watermarks, average the value per ready pod; absolute if absent",
        schema={"enum": list(ALGORITHMS)},
    )
    tolerance: Amount | None = wire("tolerance", FRACTION, "fraction by which the band is widened; 10 % if 0 or absent")
    up_factor: Amount | None = wire(
        "scaleUpLimitFactor", WHOLE_OR_QUANTITY, "percent per scaling; 0 is off; 50 if absent", path="scale_up.percent"
    )
    down_factor: Amount | None = wire(
        "scaleDownLimitFactor",
        WHOLE_OR_QUANTITY,
        "percent per scaling; 0 is off; 20 if absent",
        path="scale_down.percent",
    )
    up_forbidden_window: int | None = wire(
        "upscaleForbiddenWindowSeconds",
        INT32,
        "no scale-up for this long after any scaling; 60 if absent",
        path="scale_up.forbidden_window",
        schema={"minimum": 1},
    )
    down_forbidden_window: int | None = wire(
        "downscaleForbiddenWindowSeconds",
        INT32,
        "no scale-down for this long after any scaling; 300 if absent",
        path="scale_down.forbidden_window",
        schema={"minimum": 1},
    )
    up_delay: int | None = wire(
        "upscaleDelayAboveWatermarkSeconds",
        INT32,
        "how long the value must have been above; 0 if absent",
        path="scale_up.delay",
        schema={"minimum": 0},
    )
    down_delay: int | None = wire(
        "downscaleDelayBelowWatermarkSeconds",
        INT32,
        "how long the value must have been below; 0 if absent",
        path="scale_down.delay",
        schema={"minimum": 0},
    )
    modulo: int | None = wire(
        "replicaScalingAbsoluteModulo", INT32, "counts are raised to a multiple of this", schema={"minimum": 1}
    )
    converge: str | None = wire(
        "convergeTowardsWatermark",
        STRING,
        "while within the band, step towards this watermark",
        schema={"enum": ["", *CONVERGENCES]},
    )
    dry_run: bool | None = wire("dryRun", BOOL, "decide and report, but write nothing")
    tolerate_zero: bool | None = wire("tolerateZero", BOOL, "accept a metric value of zero")
    min_available: int | None = wire(
        "minAvailableReplicaPercentage",
        INT32,
        "do not scale while a smaller percentage of the pods is ready",
        schema={"minimum": 0, "maximum": 100},
    )
    readiness_delay: int | None = wire(
        "readinessDelaySeconds",
        INT32,
        "how long a pending pod counts as ready after its readiness changed",
        schema={"minimum": 1},
    )

    def floored(self, floor: Floor) -> Self:
        return replaced(self, floor=floor, min_replicas=floor.minimum(self.min_replicas, self.max_replicas))

    @property
    def reported(self) -> WPAStatus:
        """The status of a live object; empty if there is none."""
        return WPAStatus.read(self.status).readable() if isinstance(self.status, dict) else WPAStatus()

    @property
    def skips_owner_check(self) -> bool:
        return self.annotations.get(SKIP_OWNER_CHECK) == "true"


def marks_of(high: Amount | None, low: Amount | None) -> tuple[Amount | None, Amount | None]:
    """Both watermarks. A missing one is copied from the other, so that the band is a point."""
    return (low if high is None else high), (high if low is None else low)
