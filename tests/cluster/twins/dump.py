"""A namespace as YAML: what a user would collect with kubectl to ask hypot about it."""

from typing import Any
from urllib.parse import quote

import yaml

from cluster.plane.api import Api

Object = dict[str, Any]
KINDS = (
    "/apis/autoscaling/v2/namespaces/{}/horizontalpodautoscalers",
    "/apis/apps/v1/namespaces/{}/deployments",
    "/api/v1/namespaces/{}/pods",
)
CUSTOM = "/apis/custom.metrics.k8s.io/v1beta2/namespaces"
EXTERNAL = "/apis/external.metrics.k8s.io/v1beta1/namespaces"
USAGE = "/apis/metrics.k8s.io/v1beta1/namespaces"


def dump(api: Api, namespace: str) -> list[Object]:
    """The lists that the API server returns; a missing metric is left out, because kubectl would fail too."""
    lists = [_shortened(api.get(path.format(namespace))) for path in KINDS]
    questions = {USAGE + f"/{namespace}/pods"}
    for hpa in lists[0]["items"]:
        questions.update(address for metric in hpa["spec"]["metrics"] if (address := _address(namespace, metric)))
    answers = [api.call("GET", address) for address in sorted(questions)]
    return [*lists, *(answer.body for answer in answers if answer.ok)]


def to_yaml(lists: list[Object]) -> str:
    return yaml.safe_dump_all(lists, sort_keys=False)


def _address(namespace: str, metric: Object) -> str:
    """The address of one metric's values; resource metrics of pods come all at once."""
    match metric["type"]:
        case "Pods":
            asked, where = metric["pods"]["metric"], f"{CUSTOM}/{namespace}/pods/*/{metric['pods']['metric']['name']}"
            return _asking(where, "metricLabelSelector", asked.get("selector"))
        case "Object":
            described, name = metric["object"]["describedObject"], metric["object"]["metric"]["name"]
            if described["kind"] == "Namespace":
                return f"{CUSTOM}/{namespace}/metrics/{name}"
            return f"{CUSTOM}/{namespace}/{described['kind'].lower()}s/{described['name']}/{name}"
        case "External":
            asked = metric["external"]["metric"]
            return _asking(f"{EXTERNAL}/{namespace}/{asked['name']}", "labelSelector", asked.get("selector"))
    return ""


def _asking(address: str, parameter: str, selector: Object | None) -> str:
    if not selector:
        return address
    return f"{address}?{parameter}={quote(','.join(f'{k}={v}' for k, v in selector['matchLabels'].items()))}"


def _shortened(listed: Object) -> Object:
    """Without what only the API server needs."""
    for item in listed["items"]:
        item["metadata"].pop("managedFields", None)
    return listed
