"""What is kept of the objects of a cluster: everything that decisions and rules read, and nothing secret."""

import json
from pathlib import Path

import pytest

from hypot.cli.live.fields import kept
from hypot.kinds.text.load import load_text
from hypot.lint.report import check
from hypot.policy.observe.read_pods import read_pod
from hypot.policy.observe.read_sizes import read_template

ROOT = Path(__file__).resolve().parents[4]
EXAMPLES = [ROOT / "examples" / name for name in ("shop.yaml", "both-axes.yaml", "tortoise.yaml", "hvpa.yaml")]
WORD = "hunter2"
PROBE = {"httpGet": {"path": "/", "httpHeaders": [{"name": "Authorization", "value": WORD}]}}
NOTES = {"kubectl.kubernetes.io/last-applied-configuration": WORD, "vault.example/token": WORD, "hypot.dev/hold": "yes"}
CONTAINER = {
    "name": "app",
    "image": f"registry.example/{WORD}",
    "command": [WORD],
    "args": [f"--password={WORD}"],
    "env": [{"name": "PASSWORD", "value": WORD}],
    "envFrom": [{"secretRef": {"name": WORD}}],
    "lifecycle": {"preStop": {"exec": {"command": [WORD]}}},
    "livenessProbe": PROBE,
    "readinessProbe": PROBE,
    "volumeMounts": [{"name": WORD, "mountPath": f"/{WORD}"}],
    "resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "2"}},
    "resizePolicy": [{"resourceName": "cpu", "restartPolicy": "RestartContainer"}],
}
ENDED = {
    "reason": "OOMKilled",
    "message": WORD,
    "startedAt": "2026-03-01T00:00:00Z",
    "finishedAt": "2026-03-01T01:00:00Z",
}
STATUS = {
    "name": "app",
    "image": WORD,
    "imageID": WORD,
    "restartCount": 3,
    "resources": {"requests": {"cpu": "1"}},
    "state": {"waiting": {"reason": "CrashLoopBackOff", "message": WORD}},
    "lastState": {"terminated": ENDED},
}
POD_SPEC = {
    "nodeName": "node-1",
    "overhead": {"cpu": "10m"},
    "containers": [CONTAINER],
    "initContainers": [{**CONTAINER, "name": "side", "restartPolicy": "Always"}, {**CONTAINER, "name": "init"}],
    "imagePullSecrets": [{"name": WORD}],
    "serviceAccountName": WORD,
    "volumes": [{"name": "v", "hostPath": {"path": WORD}}],
}
METADATA = {
    "name": "web-0",
    "namespace": "shop",
    "uid": "1",
    "resourceVersion": "7",
    "creationTimestamp": "2026-03-01T00:00:00Z",
    "labels": {"app": "web"},
    "annotations": NOTES,
    "managedFields": [{"manager": WORD}],
    "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "2", "controller": True}],
}
CONDITIONS = [
    {"type": "Ready", "status": "True", "lastTransitionTime": "2026-03-01T00:00:09Z", "message": WORD},
    {"type": "PodResizePending", "status": "True", "reason": "Deferred", "message": "no room on the node"},
]
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": METADATA,
    "spec": POD_SPEC,
    "status": {
        "phase": "Running",
        "podIP": "10.0.0.1",
        "message": WORD,
        "qosClass": "Burstable",
        "startTime": "2026-03-01T00:00:00Z",
        "conditions": CONDITIONS,
        "containerStatuses": [STATUS],
        "initContainerStatuses": [{**STATUS, "name": "side"}],
    },
}
TEMPLATE = {"metadata": {"labels": {"app": "web"}, "annotations": NOTES}, "spec": POD_SPEC}
DEPLOYMENT = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": METADATA,
    "spec": {"replicas": 3, "selector": {"matchLabels": {"app": "web"}}, "template": TEMPLATE},
    "status": {"replicas": 3, "conditions": [{"type": "Progressing", "status": "True", "message": WORD}]},
}
CRON_JOB = {
    "apiVersion": "batch/v1",
    "kind": "CronJob",
    "metadata": METADATA,
    "spec": {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": TEMPLATE}}},
}
ROLLOUT = {**DEPLOYMENT, "apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout"}
SCALED_OBJECT = {
    "apiVersion": "keda.sh/v1alpha1",
    "kind": "ScaledObject",
    "metadata": {**METADATA, "annotations": {"autoscaling.keda.sh/paused": "true"}},
    "spec": {
        "scaleTargetRef": {"name": "web"},
        "minReplicaCount": 1,
        "triggers": [
            {
                "type": "rabbitmq",
                "metadata": {"host": f"amqp://user:{WORD}@queue"},
                "authenticationRef": {"name": WORD},
            },
            {"type": "cpu", "metricType": "Utilization", "metadata": {"value": "70", "note": WORD}},
        ],
    },
}
WPA = {
    "apiVersion": "datadoghq.com/v1alpha1",
    "kind": "WatermarkPodAutoscaler",
    "metadata": {**METADATA, "annotations": {"kubectl.kubernetes.io/last-applied-configuration": WORD}},
    "spec": {"recommender": {"url": f"https://user:{WORD}@recommender.example/path", "settings": {"a": "b"}}},
}
ALL = [POD, DEPLOYMENT, CRON_JOB, ROLLOUT, SCALED_OBJECT, WPA]


def pruned(data):
    return kept(
        data["apiVersion"],
        data["kind"],
        {key: value for key, value in data.items() if key not in {"apiVersion", "kind"}},
    )


@pytest.mark.parametrize("data", ALL, ids=lambda data: data["kind"])
def test_no_secret_is_kept(data):
    """Wherever an object can hold one."""
    assert WORD in json.dumps(data)
    assert WORD not in json.dumps(pruned(data))


def test_a_pod_is_read_as_before():
    """The same in every field, but for annotations of others."""
    whole, short = read_pod(POD), read_pod(pruned(POD))
    assert short.annotations == {"hypot.dev/hold": "yes"}
    assert {**vars_of(short), "annotations": None} == {**vars_of(whole), "annotations": None}


def vars_of(pod):
    return {name: getattr(pod, name) for name in pod.__dataclass_fields__}


@pytest.mark.parametrize("data", [DEPLOYMENT, CRON_JOB, ROLLOUT], ids=lambda data: data["kind"])
def test_a_template_is_read_as_before(data):
    """With its requests, limits, and what restarts."""
    assert read_template(pruned(data)) == read_template(data)


def test_an_evicted_pod_keeps_the_reason():
    """The kubelet's message says which container used how much memory."""
    message = "The node was low on resource: memory. Container app was using 3Gi, request is 1Gi"
    status = {"phase": "Failed", "reason": "Evicted", "message": message, "conditions": CONDITIONS}
    pod = {**POD, "status": status}
    assert read_pod(pruned(pod)).eviction == read_pod(pod).eviction


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.name)
def test_lint_finds_the_same(file):
    """No rule reads a field that is left out."""
    objects = [one.data for one in load_text(file.read_text(encoding="utf-8"))]
    found = check(*objects).findings
    assert check(*[pruned(data) for data in objects]).findings == found
