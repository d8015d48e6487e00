"""Objects that no schema accepts today: valid objects in which parts are replaced by anything."""

import copy
import random
from collections.abc import Iterator
from typing import Any

from cluster.plane.api import Api
from cluster.running.houses import watermarks
from cluster.running.stage import CRDS, PATHS, Autoscaler

Object = dict[str, Any]
Path = tuple[str | int, ...]
ANYTHING: tuple[Any, ...] = (
    *(None, True, "", "NaN", "-1", "1e999", "💥", "x" * 5000, "null", "2026-99-99T00:00:00Z"),
    *(0, -1, 2**31, 2**63 - 1, 1.5, -1e300),
    *([], {}, [None], [[[]]], {"": ""}, [{}] * 50, {"name": {"name": []}}),
)


def spoilt(chance: random.Random, whole: Object, times: int) -> Object:
    """A copy with some places changed; `metadata.name` and the type stay, because nothing is stored without them."""
    made = copy.deepcopy(whole)
    for _ in range(times):
        places = list(_places(made))
        if places:
            _put(made, chance.choice(places), _anything(chance))
    return made


def _anything(chance: random.Random, depth: int = 0) -> Any:
    if depth > 3 or chance.random() < 0.7:
        return copy.deepcopy(chance.choice(ANYTHING))
    parts = [_anything(chance, depth + 1) for _ in range(chance.randrange(4))]
    if chance.random() < 0.5:
        return parts
    return dict(zip("abcd", parts, strict=False))


def _places(node: Any, path: Path = ()) -> Iterator[Path]:
    """Everything below spec and status."""
    children = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, child in children:
        here = (*path, key)
        if here[0] in {"spec", "status"}:
            yield here
        if here[0] in {"spec", "status"} or not path:
            yield from _places(child, here)


def _put(node: Any, path: Path, value: Any) -> None:
    for key in path[:-1]:
        node = node[key]
    node[path[-1]] = value


VALID: dict[str, Object] = {
    "WatermarkPodAutoscaler": {
        "apiVersion": "datadoghq.com/v1alpha1",
        "spec": watermarks(),
        "status": {"lastScaleTime": "2026-01-01T00:00:00Z", "conditions": [{"type": "AbleToScale", "status": "True"}]},
    },
    "Hvpa": {
        "apiVersion": "autoscaling.k8s.io/v1alpha1",
        "spec": {
            "hpa": {"deploy": True, "template": {"spec": {"minReplicas": 1, "maxReplicas": 3, "metrics": []}}},
            "vpa": {"deploy": True, "template": {"spec": {"resourcePolicy": {"containerPolicies": []}}}},
            "scaleUp": {"updatePolicy": {"updateMode": "Auto"}, "stabilizationDuration": "3s"},
            "scaleDown": {"updatePolicy": {"updateMode": "Auto"}, "minChange": {"cpu": {"value": "50m"}}},
            "scalingIntervals": [{"minReplicas": 1, "maxReplicas": 2, "maxResources": {"cpu": "1", "memory": "1Gi"}}],
        },
        "status": {"lastScaling": {"vpaStatus": {"containerResources": []}, "lastUpdated": "2026-01-01T00:00:00Z"}},
    },
    "VerticalPodAutoscaler": {
        "apiVersion": "autoscaling.k8s.io/v1",
        "spec": {
            "updatePolicy": {"updateMode": "Recreate", "minReplicas": 1},
            "resourcePolicy": {"containerPolicies": [{"containerName": "*", "minAllowed": {"cpu": "1"}}]},
            "recommenders": [{"name": "hypot"}],
        },
        "status": {"recommendation": {"containerRecommendations": [{"containerName": "app", "target": {"cpu": "1"}}]}},
    },
}


def definitions(api: Api) -> list[Object]:
    return [each for each in api.get(CRDS)["items"] if each["spec"]["names"]["kind"] in VALID]


def redefine(api: Api, definition: Object, *, loose: bool) -> None:
    """Give the definition a schema that accepts everything, or its own schema again."""
    anything = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    versions = [{**each, "schema": anything} if loose else each for each in definition["spec"]["versions"]]
    api.patch(f"{CRDS}/{definition['metadata']['name']}", {"spec": {"versions": versions}})


def is_loose(api: Api, namespace: str) -> bool:
    """Whether the server already accepts anything."""
    probes = {kind: {**VALID[kind], "kind": kind, "metadata": {"name": "probe"}, "spec": {"x": []}} for kind in VALID}
    return all(
        api.call("POST", PATHS[kind].format(namespace), body, query={"dryRun": "All"}).ok
        for kind, body in probes.items()
    )


def stored(api: Api, namespace: str) -> list[Autoscaler]:
    """A hundred of them; the few that no server accepts are skipped."""
    chance = random.Random(7)  # noqa: S311  the same junk each time
    made: list[Autoscaler] = []
    while len(made) < 100:
        kind = list(VALID)[len(made) % 3]
        one = Autoscaler(api, kind, namespace, f"junk-{len(made)}")
        ref = {"apiVersion": "apps/v1", "kind": "Deployment", "name": f"nobody-{len(made)}"}
        key = "scaleTargetRef" if kind == "WatermarkPodAutoscaler" else "targetRef"
        body = spoilt(chance, {**VALID[kind], "spec": {key: ref, **VALID[kind]["spec"]}}, 1 + len(made) % 6)
        body |= {"kind": kind, "metadata": {"name": one.name}}
        if api.call("POST", PATHS[kind].format(namespace), body).ok:
            api.call("PUT", f"{one.path}/status", {**one.get(), "status": body["status"]})
            made.append(one)
    return made


def is_reported(one: Autoscaler) -> bool:
    """Whether hypot reported it: by a condition, or by an event where the server accepts no status of the object."""
    status = one.get().get("status")
    conditions = status.get("conditions") if isinstance(status, dict) else None
    reported = [each for each in conditions if isinstance(each, dict)] if isinstance(conditions, list) else []
    return any(each.get("reason") for each in reported) or any(
        reason in {"InvalidSpec", "FailedSpecCheck"} for reason, _ in one.events()
    )
