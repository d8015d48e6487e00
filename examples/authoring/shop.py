"""The autoscalers of ten services, by the rules of the house: `python shop.py | kubectl apply --server-side -f -`."""

import sys
from pathlib import Path

import yaml

from hypot import HPA, VPA, Hvpa, Metric, ScalingRules, check, cpu, external, interval, limit, on, pods, to_yaml

FILE = Path(__file__).with_name("workloads.yaml")
WORKLOADS = {one["metadata"]["name"]: one for one in yaml.safe_load_all(FILE.read_text(encoding="utf-8"))}
LABELS = {"managed-by": "platform-team"}
FAST = ScalingRules([limit(percent=100, per="30s"), limit(pods=4, per="30s")])
SLOW = ScalingRules([limit(percent=10, per="1m")], window="10m")


def by_load(name: str, *metrics: Metric, least: int = 3, most: int = 30) -> HPA:
    """Services that share their load: pods are added quickly, and removed slowly."""
    return HPA(
        WORKLOADS[name],
        min_replicas=least,
        max_replicas=most,
        metrics=metrics or cpu(utilization=70, container="app"),
        scale_up=FAST,
        scale_down=SLOW,
        labels=LABELS,
    )


def by_need(name: str, most_cpu: str, most_memory: str) -> VPA:
    """Services that run once: their pod gets larger, in place where that works. Sidecars are left alone."""
    return VPA(
        WORKLOADS[name],
        mode="InPlaceOrRecreate",
        min_replicas=1,
        containers={"app": {"max_allowed": {"cpu": most_cpu, "memory": most_memory}}, "*": {"mode": "Off"}},
        labels=LABELS,
    )


AUTOSCALERS = [
    *[by_load(name) for name in ("accounts", "catalog", "images")],
    by_load("web", cpu(utilization=60, container="app"), pods("requests_per_second", average=200), most=80),
    by_load("checkout", cpu(utilization=50, container="app"), on("ingress/shop", "open_carts", average=40), least=6),
    by_load("mailer", external("queue_depth", average=30, labels={"queue": "mail"}), least=2),
    by_need("orders-db", "4", "32Gi"),
    by_need("cache", "2", "16Gi"),
    by_need("reports", "4", "8Gi"),
    Hvpa(
        WORKLOADS["search"],
        intervals=[interval(2, cpu="1", memory="4Gi"), interval(6, cpu="4", memory="16Gi")],
        overlap={"cpu": "30%", "memory": "30%"},
        metrics=cpu(utilization=90),
        labels=LABELS,
    ),
]

if __name__ == "__main__":
    check(*AUTOSCALERS, *WORKLOADS.values()).raise_for_errors()
    sys.stdout.write(to_yaml(*AUTOSCALERS))
