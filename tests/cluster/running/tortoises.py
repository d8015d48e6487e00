"""Tortoises on a stage, and a controller that runs more than a week ago, so that time passes at once."""

from typing import Any

from cluster.running.houses import Jumpy
from cluster.running.shapes import QUICKLY
from cluster.running.stage import PATHS, Autoscaler, Stage, Workload
from hypot.kinds.tortoise import Tortoise

DAY = 86400.0
SETTINGS: dict[str, Any] = {"settings": QUICKLY, "kinds": {"Tortoise": "act", "HorizontalPodAutoscaler": "off"}}
HPA_FLAGS = (
    "--horizontal-pod-autoscaler-sync-period=1s",
    "--horizontal-pod-autoscaler-cpu-initialization-period=1s",
    "--horizontal-pod-autoscaler-initial-readiness-delay=1s",
    "--horizontal-pod-autoscaler-downscale-stabilization=1s",
)
CPU_ONLY = [{"containerName": "app", "policy": {"cpu": "Horizontal"}}]


class Earlier(Jumpy):
    """It runs eight days ago."""

    at_first = -8 * DAY


def tortoise(web: Workload, mode: str = "Auto", *, named: str = "", **spec: Any) -> Autoscaler:
    refs = {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": web.name}}
    refs |= {"horizontalPodAutoscalerName": named} if named else {}
    body = {
        "apiVersion": Tortoise.API_VERSION,
        "kind": Tortoise.KIND,
        "metadata": {"name": web.name, "namespace": web.namespace},
        "spec": {"updateMode": mode, "targetRefs": refs, "autoscalingPolicy": CPU_ONLY, **spec},
    }
    web.stage.api.create(PATHS["Tortoise"].format(web.namespace), body)
    return Autoscaler(web.stage.api, "Tortoise", web.namespace, web.name)


def hpas(namespace: str) -> str:
    return PATHS["HorizontalPodAutoscaler"].format(namespace)


def bounds(stage: Stage, path: str) -> tuple[int, int]:
    spec = stage.api.get(path)["spec"]
    return spec["minReplicas"], spec["maxReplicas"]


def their_hpa(web: Workload) -> tuple[str, dict[str, Any]]:
    """An HPA of a user, for 2 to 40 replicas at 60 %; its path, and its spec."""
    target = {"type": "Utilization", "averageUtilization": 60}
    metric = {"type": "ContainerResource", "containerResource": {"name": "cpu", "container": "app", "target": target}}
    ref = {"apiVersion": "apps/v1", "kind": "Deployment", "name": web.name}
    behavior = {"scaleDown": {"stabilizationWindowSeconds": 7}}
    spec = {"scaleTargetRef": ref, "minReplicas": 2, "maxReplicas": 40, "metrics": [metric], "behavior": behavior}
    made = web.stage.api.create(hpas(web.namespace), {"metadata": {"name": "theirs"}, "spec": spec})
    return f"{hpas(web.namespace)}/theirs", made["spec"]
