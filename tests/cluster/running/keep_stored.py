"""Keep what this version of hypot stores in a cluster: `python tests/cluster/running/keep_stored.py FOLDER`.

Later versions must read it: see docs/design/versions.md. Run it before a change of what is stored, into a new folder.
"""

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from cluster.plane.api import Api
from cluster.plane.binaries import ensure, say
from cluster.plane.controlplane import WORKLOAD_CONTROLLERS, ControlPlane
from cluster.plane.waiting import eventually
from cluster.running.controller import Controller
from cluster.running.houses import LONG, VPA, WPA, reaches, watermarks
from cluster.running.stage import PATHS, Stage, Workload

Object = dict[str, Any]
NAMESPACE, OWN = "shop", "hypot-system"
KINDS = dict.fromkeys(("HorizontalPodAutoscaler", "VerticalPodAutoscaler"), "act")
CHECKPOINTS = "/apis/autoscaling.k8s.io/v1/namespaces/{}/verticalpodautoscalercheckpoints"
AUTOSCALERS = [path for kind, path in PATHS.items() if kind != "Deployment"]
_UTILIZATION = {"type": "Utilization", "averageUtilization": 80}
METRICS = [{"type": "Resource", "resource": {"name": "cpu", "target": _UTILIZATION}}]
BOUNDS = {"minReplicas": 1, "maxReplicas": 6, "metrics": METRICS}


def main() -> None:
    folder = Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as scratch:
        plane = ControlPlane(ensure(), Path(scratch))
        plane.start()
        stage = Stage(plane)
        try:
            stage.start()
            plane.start_controllers(names=WORKLOAD_CONTROLLERS)
            live(stage)
            objects, state = stored(stage.api)
        finally:
            stage.stop()
            plane.stop()
    folder.mkdir(parents=True)
    for name, items in (("objects", objects), ("state", state)):
        (folder / f"{name}.json").write_text(json.dumps(items, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        say(f"{folder / name}.json: {len(items)} objects")


def live(stage: Stage) -> None:
    """Each kind scales one workload up; then hypot ends."""
    stage.api.create("/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
    counted, sized, watermarked, both = (
        Workload(stage, NAMESPACE, name, load=300).create(2) for name in ("counted", "sized", "watermarked", "both")
    )
    counted.autoscaler("HorizontalPodAutoscaler", "autoscaling/v2", BOUNDS)
    sized.autoscaler(*VPA, {"updatePolicy": {"updateMode": "InPlaceOrRecreate"}})
    spec = watermarks(scaleUpLimitFactor=200)
    spec["metrics"][0]["resource"]["metricSelector"] = {"matchLabels": {"app": "watermarked"}}
    watermarked.autoscaler(*WPA, spec)
    both.autoscaler("Hvpa", "autoscaling.k8s.io/v1alpha1", both_axes())
    controller = Controller(stage.plane, "stored", namespace=OWN, watchNamespaces=[NAMESPACE], kinds=KINDS).start()
    controller.until_reconciled(within=LONG)
    for each in (counted, sized, watermarked, both):
        each.load = 900
    reaches(counted, 6)
    eventually(lambda: watermarked.replicas() >= 4, LONG)
    for each in (sized, both):
        eventually(lambda each=each: all(one["cpu"] != "200m" for one in each.requests()), LONG)
    controller.until_reconciled(5, within=LONG)
    assert controller.stop() == 0


def both_axes() -> Object:
    auto = {"updatePolicy": {"updateMode": "Auto"}, "minChange": {"cpu": {"value": "50m"}, "memory": {"value": "20M"}}}
    return {
        "hpa": {"deploy": True, "template": {"spec": BOUNDS}},
        "vpa": {"deploy": True, "template": {"spec": {}}},
        "scaleUp": {**auto, "stabilizationDuration": "2s"},
        "scaleDown": {**auto, "stabilizationDuration": "3600s"},
        "scalingIntervals": [{"minReplicas": 1, "maxReplicas": 6, "maxResources": {"cpu": "2", "memory": "2Gi"}}],
    }


def stored(api: Api) -> tuple[list[Object], list[Object]]:
    """The objects that hypot reads and writes a status to, and the ConfigMaps of its state."""
    objects = [each for path in (*AUTOSCALERS, CHECKPOINTS) for each in items(api, path.format(NAMESPACE))]
    state = [each for each in items(api, f"/api/v1/namespaces/{OWN}/configmaps") if "state" in each["metadata"]["name"]]
    return objects, state


def items(api: Api, path: str) -> list[Object]:
    """All objects at a path; a list leaves out the kind of items that are built in."""
    names = [each["metadata"]["name"] for each in api.get(path)["items"]]
    return [api.get(f"{path}/{name}") for name in names]


if __name__ == "__main__":
    main()
