"""Right uses: mypy and pyright must report no error in any line."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import assert_type

from hypot import (
    FROZEN,
    HPA,
    VPA,
    WPA,
    Change,
    ContainerPolicy,
    ContainerScaling,
    EvictionRequirement,
    Hvpa,
    Quantity,
    Ref,
    ResourceChanges,
    ScaleType,
    ScalingRules,
    Tortoise,
    WatermarkRules,
    WorkloadAutoscaler,
    apply,
    band,
    cpu,
    diff,
    from_yaml,
    interval,
    limit,
    live,
    on,
    pods,
    resource_band,
    to_yaml,
)

WEB = "deployment/web"
ScalingRules([limit(pods=4, per="1m")])
ScalingRules((limit(percent=10),), "10m")
ScalingRules(limit(percent=10), window=timedelta(minutes=5), select="Min", tolerance=Decimal("0.05"))
ScalingRules(window=300)
ScaleType("Auto", {"cpu": "10%", "memory": "200M"}, "5m")
ScaleType(min_change=ResourceChanges(cpu=Change("200m", 30)), stabilization=300)
ScaleType(stabilization=timedelta(minutes=5), min_change={"cpu": Change(percentage=10), "memory": 200_000_000})
WatermarkRules(percent=50, forbidden_window=timedelta(minutes=1), delay=30)
EvictionRequirement(["cpu", "memory"], "TargetHigherThanRequests")
ContainerPolicy("app", controlled_values="RequestsOnly", controlled_resources=("cpu",))
band("rate", low=40, high=50)
band("rate", high="50", labels={"queue": "mail"})
resource_band("cpu", low=Quantity.parse("250m"))
cpu(average=Quantity.parse("250m"))
pods("rate", average=Decimal("0.5"), labels={"queue": "mail"})

web = HPA(WEB, max_replicas=3, metrics=[cpu(utilization=70), pods("rate", average=100)], scale_down=FROZEN)
HPA({"kind": "Deployment", "metadata": {"name": "web"}}, max_replicas=3, metrics=cpu(average=1))
HPA(Ref("apps/v1", "Deployment", "web"), max_replicas=3, metrics=(one for one in [cpu(average=1)]))
WPA(WEB, max_replicas=3, algorithm="average", metrics=[band("rate", low=40, high=50)])
WPA(WEB, max_replicas=3, metrics=band("rate", low=40), readiness_delay="30s", scale_down=WatermarkRules(percent=0))
VPA(WEB, mode="Off", evict_after_oom="10m", containers={"app": {"max_allowed": {"cpu": "2"}}, "mesh": {"mode": "Off"}})
VPA(WEB, containers={"app": "Off", "mesh": ContainerPolicy(mode="Off")})
VPA(WEB, containers=[ContainerPolicy(name) for name in ("app", "mesh")])
Hvpa(WEB, intervals=[interval(3, cpu="1", memory="1Gi")], overlap={"cpu": "30%"}, scale_down=ScaleType("Off"))
Tortoise(WEB, mode="Auto", containers={"app": {"cpu": "Horizontal"}})
Tortoise(WEB, containers=[ContainerScaling("app", cpu="Horizontal")], scale_down=ScalingRules(window="10m"))
WorkloadAutoscaler(WEB, mode="Auto", axes="Size", late_after="250ms", late_price=10, requests_metric="rps")
reason: str | None = web.reported.conditions["ScalingActive"].reason

assert_type(HPA.from_yaml(web.to_yaml()), HPA)
assert_type(web.effective("1.34"), HPA)
assert_type(apply(web, dry_run=True), HPA)
assert_type(live("hpa", "web"), HPA | None)
assert_type(live("Tortoise", "web"), Tortoise | None)
assert_type(live("asc", "web"), WorkloadAutoscaler | None)
assert_type(live("verticalpodautoscalers", "web"), VPA | None)
assert_type(live(Hvpa, "web", "shop"), Hvpa | None)
words: tuple[str, ...] = diff(web, web.effective("1.34")).words
text: str = to_yaml(web, VPA(WEB))
names = [one.name for one in from_yaml(text)]


class Kr8s:
    """An object of kr8s, and a construct of cdk8s-plus: read-only properties."""

    @property
    def kind(self) -> str:
        return "Deployment"

    @property
    def name(self) -> str:
        return "web"


@dataclass
class Metadata:
    """What lightkube and the official client have in `metadata`."""

    name: str | None = None


@dataclass
class Lightkube:
    """An object of lightkube and of the official client: the name is in the metadata."""

    kind: str | None = None
    metadata: Metadata | None = None


def targets() -> Iterator[HPA]:
    """All of these are targets."""
    for one in (Kr8s(), Lightkube()):
        yield HPA(one, max_replicas=3)
    on(Kr8s(), "hits", value=1)
