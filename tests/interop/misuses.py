"""Deliberate misuses: mypy and pyright must report an error in each line that is marked, and in no other."""

from hypot import (
    FROZEN,
    HPA,
    VPA,
    WPA,
    ContainerPolicy,
    ContainerScaling,
    EvictionRequirement,
    Hvpa,
    ScaleType,
    ScalingRules,
    Tortoise,
    WatermarkRules,
    WorkloadAutoscaler,
    band,
    cpu,
    external,
    interval,
    limit,
    live,
    memory,
    on,
    pods,
)

cpu()  # error
cpu(utilization=70, average="500m")  # error
cpu(utilization="70%")  # error
cpu(value=70)  # error
memory(container="app")  # error
memory(utilization=70.5)  # error
pods("rate")  # error
pods("rate", utilization=50)  # error
pods(average=50)  # error
on("ingress/shop", "hits")  # error
on("ingress/shop", "hits", value=1, average=2)  # error
on("ingress/shop", value=1)  # error
external("depth", value=1, average=2)  # error
external("depth", utilization=50)  # error
limit()  # error
limit(pods=4, percent=100)  # error
limit(max_pods=4)  # error
limit(pods="4")  # error
band(low=40, high=50)  # error
interval("3", cpu="1")  # error
interval(3, extrapolation="exponential")  # error
ScalingRules(select="Most")  # error
ScalingRules([cpu(utilization=70)])  # error
ScalingRules([limit(pods=4)], window=[300])  # error
ScaleType("On")  # error
WatermarkRules(rest="1m")  # error
ContainerPolicy("app", mode="On")  # error
ContainerScaling("app", cpu="Sideways")  # error
HPA("deployment/web")  # error
HPA("deployment/web", max_replicas="3")  # error
HPA("deployment/web", max_replicas=3, metrics=["cpu"])  # error
HPA("deployment/web", max_replicas=3, scale_up=limit(pods=4))  # error
HPA("deployment/web", max_replicas=3, status={})  # error
HPA(7, max_replicas=3)  # error
WPA("deployment/web", max_replicas=3, algorithm="sum")  # error
WPA("deployment/web", max_replicas=3, metrics=[cpu(utilization=70)])  # error
VPA("deployment/web", mode="On")  # error
VPA("deployment/web", containers={"app": {"mode": "On"}})  # error
Hvpa("deployment/web")  # error
Hvpa("deployment/web", intervals=[3])  # error
Tortoise("deployment/web", mode="On")  # error
Tortoise("deployment/web", deletion_policy="Maybe")  # error

cpu(labels={"a": "b"})  # error
band("rate")  # error
band("rate", average=4)  # error
ScalingRules(window=1.5)  # error
ScalingRules(percent=10)  # error
ScaleType("Sometimes")  # error
ScaleType("Auto", min_change="10%")  # error
WatermarkRules(delay=object())  # error
WatermarkRules(window="1m")  # error
ContainerPolicy("a", controlled_values="bogus")  # error
EvictionRequirement(["cpu"], "bogus")  # error
HPA("deployment/web", max_replicas=3, scale_down=WatermarkRules(percent=0))  # error
WPA("deployment/web", max_replicas=3, scale_down=FROZEN)  # error
WPA("deployment/web", max_replicas=3, readiness_delay=1.5)  # error
VPA("deployment/web", evict_after_oom=object())  # error
VPA("deployment/web", containers={"app": "On"})  # error
Hvpa("deployment/web", intervals=[interval(3, cpu="1")], overlap="30%")  # error
Hvpa("deployment/web", intervals=[interval(3, cpu="1")], scale_up=ScalingRules())  # error
Tortoise("deployment/web", containers=["app"])  # error
WorkloadAutoscaler("deployment/web", axes="Width")  # error
WorkloadAutoscaler("deployment/web", late_price="10")  # error
live("hpaa", "web")  # error
assert live("hpa", "web").max_replicas  # error
