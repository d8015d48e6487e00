"""The size of new pods, case by case: what a decision records is what the webhook gives to a pod.

Only the sizes of the containers are compared: hypot annotates a pod in its own words.
"""

import base64
import json

import pytest

from conformance.harness import each_case
from conformance.tortoise.cases import settings_of, tortoise, usual, wire
from hypot.core.quantity import milli
from hypot.kinds.base import Ref
from hypot.kinds.node import replaced
from hypot.policy.model.current_size import CurrentSize
from hypot.policy.observe.targets import key_of_ref, target_key
from hypot.policy.tortoise.report import REQUESTS, listed_requests
from hypot.policy.tortoise.sizes import with_requests
from hypot.run.webhook.admission import review

# In these phases no pod is sized.
EARLY = ("", "Initializing", "GatheringData")


@each_case("tortoise_pod.json")
def test_tortoise_pod(case):
    """A new pod has the requests and limits, and the environment, that the original gives it."""
    given, expect = case["given"], case["expect"]
    if given["function"] not in FUNCTIONS:
        pytest.fail(f"unknown function {given['function']}")
    wanted = expect.get("pod_spec") or expect["pod"]["spec"]
    assert shape(admitted(given)) == shape(wire(wanted))


FUNCTIONS = ("modify_pod_spec_resource", "pod_mutating_webhook_on_create")


def admitted(given):
    """The pod spec after the review of its creation."""
    pod = {"metadata": {"name": "web-1", "namespace": "default"}, "spec": wire(given["pod"]["spec"])}
    owner = sizer(given)
    request = {
        "uid": "1",
        "operation": "CREATE",
        "namespace": "default",
        "resource": {"group": "", "version": "v1", "resource": "pods"},
        "object": pod,
    }
    body = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    answer = review(json.dumps(body).encode(), lambda *_: owner, lambda _: ())
    assert answer.error == ""
    patch = json.loads(answer.body)["response"].get("patch")
    for operation in json.loads(base64.b64decode(patch)) if patch else ():
        apply(pod, operation)
    return pod["spec"]


def sizer(given):
    """The Tortoise with the status that hypot writes: the phase of each resource, and sizes with their limits.

    None if it does not size this pod: it is Off, or the pod is not of its target.
    """
    made, status = tortoise(given["tortoise"]), given["tortoise"].get("status") or {}
    if made.mode == "Off" or not is_of(target_key(made), given):
        return None
    phase = "GatheringData" if (status.get("tortoise_phase") or "") in EARLY else "Working"
    requested = (status.get("conditions") or {}).get("container_resource_requests") or ()
    wanted = {each["container_name"]: usual(each["resource"]) for each in requested}
    settings = settings_of(
        {"resource_limit_multiplier": given.get("resource_limit_multiplier") or {}},
        minimum_cpu_limit=milli(given["minimum_cpu_limit_quantity"]),
    )
    sizes = [with_requests(current(each), wanted[each["name"]], 1, settings) for each in sized(given, wanted)]
    phases = [
        {"containerName": name, "resourcePhases": {r: {"phase": phase} for r in amounts}}
        for name, amounts in wanted.items()
    ]
    return replaced(made, status={"containerResourcePhases": phases, "conditions": {REQUESTS: listed_requests(sizes)}})


def is_of(target, given):
    """Whether the target controls the ReplicaSet of the pod; without one the pod is given to the sizer itself."""
    owners = (given.get("replicaset") or {}).get("metadata", {}).get("owner_references") or ()
    return "replicaset" not in given or any(key_of_ref("default", Ref.read(wire(each))) == target for each in owners)


def sized(given, wanted):
    return [each for each in given["pod"]["spec"]["containers"] if each["name"] in wanted]


def current(container):
    requests, limits = (usual(container["resources"].get(part)) for part in ("requests", "limits"))
    return CurrentSize(container["name"], requests, limits, {})


def apply(pod, operation):
    """Apply one operation of a JSON Patch; all of them add something."""
    assert operation["op"] == "add"
    *above, last = [part.replace("~1", "/").replace("~0", "~") for part in operation["path"].split("/")[1:]]
    place = pod
    for part in above:
        place = place[int(part)] if isinstance(place, list) else place[part]
    place[last] = operation["value"]


def shape(spec):
    """The resources in milli-units, and the environment, of each container."""
    return {
        each["name"]: (
            {part: {r: milli(text) for r, text in amounts.items()} for part, amounts in each["resources"].items()},
            each.get("env"),
        )
        for each in spec["containers"]
    }
