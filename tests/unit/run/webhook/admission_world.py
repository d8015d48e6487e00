"""New pods as they reach the webhook, the autoscalers that size them, and the patched result."""

import copy
from typing import Any

from hypot.kinds.autoscaler import WorkloadAutoscaler
from hypot.kinds.hvpa import Hvpa
from hypot.kinds.vpa import VPA
from hypot.run.webhook.admission import sizing_for
from unit.policy.hvpa.hvpa_cases import seed
from unit.policy.sizes_world import TARGET, advised, box, recommended, vpa


def pod(*containers, **spec):
    """A pod as it reaches a webhook: complete, and not yet created."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"generateName": "web-5d9c-", "labels": {"app": "web"}},
        "spec": {"containers": list(containers) or [box()], **spec},
    }


def applied(document, operations):
    """A document after JSON Patch operations; only those a webhook sends: add to existing mappings."""
    result = copy.deepcopy(document)
    for operation in operations:
        assert operation["op"] == "add"
        *parents, last = [part.replace("~1", "/").replace("~0", "~") for part in operation["path"].split("/")[1:]]
        place: Any = result
        for part in parents:
            place = place[int(part)] if isinstance(place, list) else place[part]
        assert isinstance(place, dict), f"{operation['path']} has no mapping to be in"
        place[last] = operation["value"]
    return result


def sizer(*figures, mode="Recreate", policies=(), annotations=None, **conditions):
    """A VerticalPodAutoscaler of web with these recommendations."""
    metadata = {"annotations": annotations} if annotations else {}
    return VPA.from_dict(vpa(mode, *policies, status=advised(*figures, **conditions), **metadata))


def scaled(*containers, policies=(), annotations=None):
    """An Hvpa of web whose last scaling was this: name, requests, limits."""
    made = seed()
    made["metadata"] = {"name": "web", "namespace": "shop", "annotations": annotations or {}}
    made["spec"]["targetRef"] = TARGET
    made["spec"]["vpa"] = {"deploy": True, "template": {"spec": {"resourcePolicy": {"containerPolicies": [*policies]}}}}
    recorded = [
        {"containerName": name, "resources": {"requests": requests, "limits": limits}}
        for name, requests, limits in containers
    ]
    made["status"] = {"lastScaling": {"vpaStatus": {"containerResources": recorded}}}
    return Hvpa.from_dict(made)


def learned(cpu="1500m", limit=None, mode="Auto", **spec):
    """An Autoscaler of web that recorded this size of the container app."""
    resources = {"requests": {"cpu": cpu, "memory": "4Gi"}, **({"limits": {"cpu": limit}} if limit else {})}
    return WorkloadAutoscaler.from_dict(
        {
            "metadata": {"name": "web", "namespace": "shop", "annotations": spec.pop("annotations", {})},
            "spec": {"targetRef": TARGET, "updateMode": mode, **spec},
            "status": {"containers": [{"containerName": "app", **resources}]},
        }
    )


def sizes_for(*args, **more):
    """The sizes of the containers of a new pod."""
    return sizing_for(*args, **more).given


def both(cpu, memory):
    return {"cpu": cpu, "memory": memory}


def request(document, **changes):
    """An AdmissionReview as an API server sends it."""
    asked = {
        "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
        "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "resource": {"group": "", "version": "v1", "resource": "pods"},
        "namespace": "shop",
        "operation": "CREATE",
        "userInfo": {"username": "system:serviceaccount:kube-system:replicaset-controller"},
        "object": document,
        "oldObject": None,
        "dryRun": False,
        **changes,
    }
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": asked}


TWO = sizer(recommended(target=("2", None)))
