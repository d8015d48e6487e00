"""Many small workloads in one namespace, whose metrics are reported in one list."""

from cluster.running.houses import WPA, watermarks
from cluster.running.stage import PATHS, Object, Stage, Workload
from cluster.standins.metricsserver import Query, stamp


def create(web: Workload) -> None:
    container = {"name": "app", "image": "app", "resources": {"requests": {"cpu": "200m", "memory": "128Mi"}}}
    labels = {"app": web.name}
    template = {"metadata": {"labels": labels}, "spec": {"nodeName": "node-1", "containers": [container]}}
    spec = {"replicas": 2, "selector": {"matchLabels": labels}, "template": template}
    path = PATHS["Deployment"].format(web.namespace)
    web.stage.api.create(path, {"metadata": {"name": web.name}, "spec": spec})
    marks = watermarks()
    marks["metrics"][0]["resource"]["metricSelector"] = {"matchLabels": labels}
    web.autoscaler(*WPA, marks)


def forge(stage: Stage, namespace: str) -> None:
    """Fifty autoscalers without a target, and a pod of `web-0` that no node has room for."""
    for number in range(50):
        Workload(stage, namespace, f"ghost-{number}").autoscaler(*WPA, watermarks())
    huge = {"name": "app", "image": "app", "resources": {"requests": {"cpu": "1E"}}}
    pod = {"metadata": {"name": "huge", "labels": {"app": "web-0"}}, "spec": {"containers": [huge]}}
    stage.api.create(f"/api/v1/namespaces/{namespace}/pods", pod)


def usage(stage: Stage, namespace: str, loads: dict[str, float], query: Query) -> list[Object]:
    """The same usage as `Workload` reports, in one list for all workloads."""
    found = stage.api.get(f"/api/v1/namespaces/{namespace}/pods")["items"]
    pods = [pod for pod in found if pod["status"]["phase"] == "Running" and "deletionTimestamp" not in pod["metadata"]]
    said = []
    for pod in pods:
        app = pod["metadata"]["labels"]["app"]
        share = loads[app] / sum(each["metadata"]["labels"]["app"] == app for each in pods)
        usage = {"cpu": f"{round(share * 1e6)}n", "memory": "100Mi"}
        metadata = {key: pod["metadata"][key] for key in ("name", "namespace", "labels")}
        said.append(
            {
                "metadata": metadata,
                "timestamp": stamp(query.at),
                "window": "15s",
                "containers": [{"name": "app", "usage": usage}],
            }
        )
    return said


def replicas_of(stage: Stage, namespace: str) -> dict[str, int]:
    found = stage.api.get(PATHS["Deployment"].format(namespace))["items"]
    return {each["metadata"]["name"]: each["spec"]["replicas"] for each in found}


def listed(stage: Stage, namespace: str) -> list[Object]:
    found: list[Object] = stage.api.get(PATHS["WatermarkPodAutoscaler"].format(namespace))["items"]
    return found


def waits(wpa: Object) -> bool:
    conditions = wpa.get("status", {}).get("conditions", ())
    return any(each["reason"] == "Governor" and each["status"] == "True" for each in conditions)
