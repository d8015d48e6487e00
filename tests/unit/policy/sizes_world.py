"""A dump of a cluster, as kubectl prints it, with a workload called web, its autoscalers, and its surroundings."""

import json
from importlib.resources import files
from typing import Any, NamedTuple

import jsonschema
import pytest
import yaml
from click.testing import CliRunner

from hypot.cli.main import main
from hypot.core.instant import show_time
from hypot.policy.decide import decide
from hypot.policy.families import seen_by
from hypot.policy.model.decision import Decision
from hypot.policy.model.settings import Settings
from hypot.policy.model.state import State
from hypot.policy.observe.snapshot import Snapshot

NOW = 1_800_000_000.0
DAY, HOUR, MINUTE = 86_400.0, 3_600.0, 60.0
MI, GI = 2**20, 2**30
NAMESPACE = "shop"
LABELS = {"app": "web"}
TARGET = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
VALIDATOR = jsonschema.Draft202012Validator(
    json.loads(files("hypot.cli").joinpath("decide.schema.json").read_text(encoding="utf-8"))
)


def ago(seconds):
    """A time before now, as Kubernetes writes it."""
    return show_time(NOW - seconds)


def named(name, **more):
    return {"name": name, "namespace": NAMESPACE, **more}


def made(api_version, kind, name, spec=None, status=None, **metadata):
    """An object with the given parts."""
    parts = {"spec": spec, "status": status}
    written = {key: part for key, part in parts.items() if part is not None}
    return {"apiVersion": api_version, "kind": kind, "metadata": named(name, **metadata), **written}


def sized(cpu=None, memory=None):
    """Quantities by resource; resources that are not given are not set."""
    return {resource: amount for resource, amount in (("cpu", cpu), ("memory", memory)) if amount is not None}


def box(name="app", cpu="1", memory="1Gi", *, limits=None, **more):
    """A container of this size."""
    resources = {key: amounts for key, amounts in (("requests", sized(cpu, memory)), ("limits", limits)) if amounts}
    return {"name": name, "image": name, "resources": resources, **more}


def vpa(mode=None, *policies, name="web", target=None, status=None, updates=None, spec=None, **metadata):
    """A VerticalPodAutoscaler of web."""
    body: dict[str, Any] = {"targetRef": target or TARGET, **(spec or {})}
    if mode or updates:
        body["updatePolicy"] = {**({"updateMode": mode} if mode else {}), **(updates or {})}
    if policies:
        body["resourcePolicy"] = {"containerPolicies": list(policies)}
    return made("autoscaling.k8s.io/v1", "VerticalPodAutoscaler", name, body, status, **metadata)


def advised(*recommended, **conditions):
    """The status of a VerticalPodAutoscaler; a condition is a keyword."""
    reported = [{"type": kind, "status": word, "lastTransitionTime": ago(DAY)} for kind, word in conditions.items()]
    status: dict[str, Any] = {"conditions": reported} if reported else {}
    return {**status, "recommendation": {"containerRecommendations": list(recommended)}}


def recommended(name="app", target=("1", "1Gi"), lower=None, upper=None):
    """The figures of one container: cpu and memory of its target and of its bounds."""
    written = {"lowerBound": lower, "target": target, "uncappedTarget": target, "upperBound": upper}
    return {"containerName": name, **{key: sized(*amounts) for key, amounts in written.items() if amounts}}


def histogram(weights, total=100.0, reference=None):
    return {
        "referenceTimestamp": reference or ago(DAY),
        "totalWeight": total,
        "bucketWeights": {str(bucket): weight for bucket, weight in weights.items()},
    }


def checkpoint(container="app", cpu=None, memory=None, *, owner="web", days=7, **changes):
    """What a recommender has learnt of one container, a sample a minute, up to a minute ago."""
    status = {
        "version": "v3",
        "lastUpdateTime": ago(MINUTE),
        "firstSampleStart": ago(MINUTE + days * DAY),
        "lastSampleStart": ago(MINUTE),
        "totalSamplesCount": days * 1440,
        "cpuHistogram": histogram(cpu or {}),
        "memoryHistogram": histogram(memory or {}),
        **changes,
    }
    spec = {"vpaObjectName": owner, "containerName": container}
    kept = {key: value for key, value in status.items() if value is not None}
    return made("autoscaling.k8s.io/v1", "VerticalPodAutoscalerCheckpoint", f"{owner}-{container}", spec, kept)


def workload(kind="Deployment", replicas=2, *containers, name="web", status=None, **spec):
    """A workload with its pod template; at rest unless its status says otherwise."""
    template = {"metadata": {"labels": LABELS}, "spec": {"containers": list(containers) or [box()]}}
    body = {"replicas": replicas, "selector": {"matchLabels": LABELS}, "template": template, **spec}
    reported = {"replicas": replicas} if status is None else status
    return made("apps/v1", kind, name, body, reported)


def owned(kind="ReplicaSet", name="web-5d9c"):
    return [{"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": "o", "controller": True}]


def pod(index=0, *containers, owner=None, spec=None, status=None, **metadata):
    """A pod of web that has run for two days on node n1."""
    identity = {"labels": LABELS, "uid": f"u{index}", "ownerReferences": owned() if owner is None else owner}
    body = {"nodeName": "n1", "containers": list(containers) or [box()], **(spec or {})}
    reported = {"phase": "Running", "startTime": ago(2 * DAY), "qosClass": "Burstable", **(status or {})}
    return made("v1", "Pod", f"web-{index}", body, reported, **{**identity, **metadata})


def pods(count, *containers, **more):
    return [pod(index, *containers, **more) for index in range(count)]


def fleet(count, *containers, **more):
    """A Deployment with this many pods, and its ReplicaSet."""
    return [
        workload("Deployment", count, *containers),
        workload("ReplicaSet", count, *containers, name="web-5d9c"),
        *pods(count, *containers, **more),
    ]


def node(name="n1", cpu="16", memory="64Gi", *, short=False):
    conditions = [{"type": "MemoryPressure", "status": "True", "reason": "KubeletHasInsufficientMemory"}]
    status = {"allocatable": sized(cpu, memory), "conditions": conditions if short else []}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": status}


def limit_range(kind="Container", name="sizes", **bounds):
    return made("v1", "LimitRange", name, {"limits": [{"type": kind, **bounds}]})


def sample(index=0, cpu="500m", memory="512Mi", *, seconds=30.0, container="app"):
    """The usage of a pod of web."""
    measured = [{"name": container, "usage": sized(cpu, memory)}]
    made_at = {"timestamp": ago(seconds), "window": "15s", "containers": measured}
    return {**made("metrics.k8s.io/v1beta1", "PodMetrics", f"web-{index}", labels=LABELS), **made_at}


INTERVALS = [
    {"maxReplicas": 1, "maxResources": sized("1", "2Gi")},
    {"maxReplicas": 2, "maxResources": sized("2", "4Gi")},
    {"maxReplicas": 4, "maxResources": sized("4", "8Gi")},
]
# Every change counts.
FREE = {"minChange": {"cpu": {"value": "0"}, "memory": {"value": "0"}}}
ALONE = {"deploy": False, "template": {"spec": {"minReplicas": 1}}}


def hvpa(*, group="autoscaling.k8s.io", annotations=None, status=None, name="web", **spec):
    """An Hvpa of web that is sized by usage alone; fields to add, or None to leave a field out."""
    usual = {"targetRef": TARGET, "hpa": ALONE, "scaleUp": FREE, "scaleDown": FREE, "scalingIntervals": INTERVALS}
    body = {key: value for key, value in {**usual, **spec}.items() if value is not None}
    return made(f"{group}/v1alpha1", "Hvpa", name, body, status, annotations=annotations or {})


class Result(NamedTuple):
    status: Any
    out: str
    err: str

    @property
    def json(self):
        return json.loads(self.out, parse_constant=lambda word: pytest.fail(f"{word} in the JSON"))

    def of(self, name="web", kind="VerticalPodAutoscaler"):
        """The decision on one autoscaler."""
        named = [(d["autoscaler"]["kind"], d["autoscaler"]["name"]) for d in self.json["decisions"]]
        return self.json["decisions"][named.index((kind, name))]


def hypot(*arguments):
    """Run the real entry point and take its output; a traceback is an error of the test."""
    with CliRunner().isolation() as (out, err, _):
        try:
            main(["decide", *map(str, arguments)])
        except SystemExit as end:
            status = end.code
        return Result(status, out.getvalue().decode(), err.getvalue().decode())


def written(folder, *objects, name="dump.yaml"):
    path = folder / name
    path.write_text("---\n".join(yaml.safe_dump(one) for one in objects), encoding="utf-8")
    return path


def ran(folder, *objects, args=(), now=0.0):
    """The output of the command for these objects, this many seconds later."""
    return hypot("-f", written(folder, *objects), "--now", ago(-now), *args)


def document(folder, *objects, args=(), **more):
    return ran(folder, *objects, args=("-o", "json", *args), **more)


def reported(
    *objects, memory=None, now=NOW, name="web", kind="VerticalPodAutoscaler", **settings
) -> tuple[Decision, State]:
    """The decision on one autoscaler of these objects, and the new state."""
    snapshot, setup = Snapshot(objects), Settings(**settings)
    chosen = next(one for one in snapshot.autoscalers() if (one.KIND, one.name) == (kind, name))
    before = State.from_status(chosen.status) if memory is None else memory
    return decide(chosen, seen_by(snapshot, chosen, now, setup), before, setup)


def decided(*objects, **more) -> Decision:
    return reported(*objects, **more)[0]


def acts(decision):
    """The action on each pod, in the order in which they are handled."""
    return [(action.pod, action.action, action.rule) for action in decision.actions]


def wanted(decision, container="app"):
    """The requests that one container is to have, in amounts."""
    return next(dict(size.requests) for size in decision.desired_sizes if size.container == container)


def limits(decision, container="app"):
    return next(dict(size.limits) for size in decision.desired_sizes if size.container == container)


def sentences(decision, rule):
    return [step.sentence for step in decision.steps if step.rule == rule]


def conditions(decision):
    return {condition.type: condition.status for condition in decision.conditions}
