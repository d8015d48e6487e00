"""With the shipped role no request is refused, and hypot uses every right that it has: the audit log proves it."""

import base64
import http.client
import json
import socket
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Self

import pytest
import trustme
import yaml

from cluster.plane.api import APPLY, Api
from cluster.plane.controlplane import ControlPlane
from cluster.plane.waiting import eventually
from cluster.running.audited import PATHS as ACCOUNTS
from cluster.running.audited import Asked, account_kubeconfig, as_of_old, asked_by, install, refused, uninstall, unused
from cluster.running.controller import HYPOT, Controller
from cluster.running.shapes import define, definition
from cluster.running.stage import PATHS, Autoscaler, Stage, Workload
from cluster.standins.metricsserver import Query, RefusedError, stamp

Object = dict[str, Any]
SPACE = "rights"
# The namespaces of these tests.
SPACES = ("", "hypot-system", SPACE, "rights-a", "rights-b")
# Path of each kind of target.
TARGETS = {
    "Deployment": "/apis/apps/v1/namespaces/{}/deployments",
    "StatefulSet": "/apis/apps/v1/namespaces/{}/statefulsets",
    "ReplicaSet": "/apis/apps/v1/namespaces/{}/replicasets",
    "ReplicationController": "/api/v1/namespaces/{}/replicationcontrollers",
    "Rollout": "/apis/rollouts.test/v1/namespaces/{}/rollouts",
}
VERSIONS = {"ReplicationController": "v1", "Rollout": "rollouts.test/v1"}
MORE_CONTROLLERS = "--controllers=statefulset-controller,replicationcontroller-controller"
PATIENT = 120.0
UNKNOWN = "unknown"
SIZED = {
    "hpa": {
        "deploy": True,
        "template": {
            "spec": {
                "minReplicas": 1,
                "maxReplicas": 6,
                "metrics": [
                    {
                        "type": "Pods",
                        "pods": {"metric": {"name": "rps"}, "target": {"type": "AverageValue", "averageValue": "100"}},
                    }
                ],
            }
        },
    },
    "vpa": {"deploy": True, "template": {"spec": {}}},
    **{
        way: {
            "updatePolicy": {"updateMode": "Auto"},
            "stabilizationDuration": "2s",
            "minChange": {"cpu": {"value": "20m"}, "memory": {"value": "20M"}},
        }
        for way in ("scaleUp", "scaleDown")
    },
    "scalingIntervals": [
        {"minReplicas": 1, "maxReplicas": 2, "maxResources": {"cpu": "600m", "memory": "600Mi"}},
        {"minReplicas": 2, "maxReplicas": 6, "maxResources": {"cpu": "1", "memory": "1Gi"}},
    ],
}


class World:
    """A namespace that opted in, with a use for every right; the usage of its pods and its queue are set here."""

    def __init__(self, stage: Stage) -> None:
        self.stage, self.api = stage, stage.api
        self.millicores, self.queue, self.rate = 150, 30, 100
        self.api.create("/api/v1/namespaces", {"metadata": {"name": SPACE, "labels": {"hypot.dev/scaling": "enabled"}}})
        stage.metrics.answers[SPACE] = self.say

    def say(self, query: Query) -> list[Object]:
        if query.metric == UNKNOWN:
            raise RefusedError(404, "NotFound")
        if query.api == "external.metrics.k8s.io":
            value = {"metricName": query.metric, "metricLabels": {}, "value": str(self.queue)}
            return [{**value, "timestamp": stamp(query.at)}]
        found = self.api.get(f"/api/v1/namespaces/{SPACE}/pods", query={"labelSelector": query.labels})["items"]
        running = [pod for pod in found if pod["status"]["phase"] == "Running"]
        reported = self._sample if query.api == "metrics.k8s.io" else self._value
        return [reported(pod, query) for pod in running]

    def _sample(self, pod: Object, query: Query) -> Object:
        usage = {"cpu": f"{self.millicores}m", "memory": "100Mi"}
        metadata = {key: pod["metadata"][key] for key in ("name", "namespace", "labels")}
        containers = [{"name": "app", "usage": usage}]
        return {"metadata": metadata, "timestamp": stamp(query.at), "window": "15s", "containers": containers}

    def _value(self, pod: Object, query: Query) -> Object:
        described = {"kind": "Pod", "apiVersion": "v1", "namespace": SPACE, "name": pod["metadata"]["name"]}
        value = {"metric": {"name": query.metric}, "value": str(self.rate), "windowSeconds": 30}
        return {"describedObject": described, **value, "timestamp": stamp(query.at)}

    def target(self, kind: str, name: str, replicas: int = 2, cpu: str = "200m") -> Workload:
        """A target of any kind; no controller makes the pods of a custom kind, so they are made here."""
        labels = {"app": name}
        requests = {"cpu": cpu, "memory": "128Mi"}
        container = {"name": "app", "image": "app", "resources": {"requests": requests}}
        pod = {"metadata": {"labels": labels}, "spec": {"nodeName": "node-1", "containers": [container]}}
        selector: Object = labels if kind == "ReplicationController" else {"matchLabels": labels}
        spec: Object = {"replicas": replicas, "selector": selector, "template": pod}
        made: Object = {"apiVersion": VERSIONS.get(kind, "apps/v1"), "kind": kind, "metadata": {"name": name}}
        if kind == "Rollout":
            spec = {"replicas": replicas}
            for number in range(replicas):
                own = {**pod, "metadata": {"name": f"{name}-{number}", "labels": labels}}
                self.api.create(f"/api/v1/namespaces/{SPACE}/pods", own)
        path = TARGETS[kind].format(SPACE)
        self.api.create(path, {**made, "spec": spec})
        if kind == "Rollout":
            status = {"replicas": replicas, "selector": f"app={name}"}
            self.api.patch(f"{path}/{name}/status", {"status": status})
        workload = Workload(self.stage, SPACE, name)
        eventually(lambda: len([p for p in workload.pods() if p["status"]["phase"] == "Running"]) >= replicas, 60)
        return workload

    def autoscaler(self, kind: str, target: str, name: str, spec: Object, **annotations: str) -> Autoscaler:
        version = {
            "WatermarkPodAutoscaler": "datadoghq.com/v1alpha1",
            "Hvpa": "autoscaling.k8s.io/v1alpha1",
            "Autoscaler": "hypot.dev/v1alpha1",
        }
        ref = {"apiVersion": VERSIONS.get(target, "apps/v1"), "kind": target, "name": name}
        key = "scaleTargetRef" if kind == "WatermarkPodAutoscaler" else "targetRef"
        body = {
            "apiVersion": version.get(kind, "autoscaling.k8s.io/v1"),
            "kind": kind,
            "metadata": {"name": name, "annotations": annotations},
            "spec": {key: ref, **spec},
        }
        self.api.create(PATHS[kind].format(SPACE), body)
        return Autoscaler(self.api, kind, SPACE, name)

    def watermarks(self, target: str, name: str = "", metric_name: str = "queue") -> None:
        """A band around a queue, with all limits wide."""
        name = name or target.lower()
        self.target(target, name)
        source = {"metricName": metric_name, "metricSelector": {"matchLabels": {"of": name}}}
        metric = {"type": "External", "external": {**source, "highWatermark": "40", "lowWatermark": "20"}}
        spec = {
            "minReplicas": 1,
            "maxReplicas": 6,
            "upscaleForbiddenWindowSeconds": 1,
            "downscaleForbiddenWindowSeconds": 1,
            "scaleUpLimitFactor": 100,
            "scaleDownLimitFactor": 90,
            "algorithm": "absolute",
            "metrics": [metric],
        }
        self.autoscaler("WatermarkPodAutoscaler", target, name, spec, **{"wpa.datadoghq.com/skip-owner-check": "true"})


class Crowd:
    """Other writers that change the same targets all the time, so that versions change while hypot decides."""

    def __init__(self, api: Api) -> None:
        self._api, self._over = api, threading.Event()
        self._thread = threading.Thread(target=self._push, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join(30)

    def _push(self) -> None:
        number = 0
        while not self._over.is_set():
            number += 1
            for kind, path in TARGETS.items():
                body = {"metadata": {"annotations": {"pushed": str(number)}}}
                self._api.patch(f"{path.format(SPACE)}/{kind.lower()}", body)


@pytest.fixture(scope="module")
def stage(plane: ControlPlane) -> Iterator[Stage]:
    stage = Stage(plane, MORE_CONTROLLERS, "--horizontal-pod-autoscaler-sync-period=1s").start()
    define(stage.api, definition("datadoghq.com", "DatadogMonitor", "datadogmonitors", "v1alpha1"))
    define(stage.api, definition("rollouts.test", "Rollout", "rollouts", scale=True))
    yield stage
    plane.stop_controllers()
    stage.stop()


def printed(config: Path, *flags: str) -> list[Object]:
    """What `hypot manifests` prints for the configuration that runs."""
    command = [*HYPOT, "manifests", "--image", "hypot", "--config", str(config), *flags, "-o", "json"]
    made: list[Object] = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)["items"]
    return made


class Installed:
    """hypot with the account of an installation, and no other right."""

    def __init__(self, plane: ControlPlane, name: str, *flags: str, **config: Any) -> None:
        self.plane = plane
        self.proxy = as_of_old(plane, f"{name}-old")
        self.hypot = Controller(plane, name, **config)
        if self.hypot.config["webhookPort"]:
            self.hypot.config["webhookPort"] = self.hypot.webhook
        file = plane.folder / f"{name}.manifests.json"
        # In a pod, its listen address here could not be reached.
        inside = {key: value for key, value in self.hypot.config.items() if key not in {"listen", "webhookService"}}
        file.write_text(json.dumps(inside), encoding="utf-8")
        self.manifests = printed(file, *flags)
        self._since = 0

    def __enter__(self) -> Self:
        self._since = self.plane.audit_log.stat().st_size if self.plane.audit_log.exists() else 0
        install(self.plane.admin, self.manifests, self.hypot.webhook)
        self.start()
        return self

    def start(self, *, as_of_old: bool = False) -> None:
        self.hypot.kubeconfig = account_kubeconfig(self.plane, self.proxy.port if as_of_old else 0)
        self.hypot.start().until_reconciled(within=60)

    def __exit__(self, *_: object) -> None:
        self.hypot.stop()
        self.proxy.stop()
        uninstall(self.plane.admin, self.manifests)

    def asked(self) -> list[Asked]:
        return [one for one in asked_by(self.plane.audit_log, self._since) if one.namespace in SPACES]

    def has(self, verb: str, *resources: str) -> bool:
        """Whether all of these were requested with this verb."""
        found = {one.resource for one in self.asked() if one.verb == verb}
        return found.issuperset(resources)


@pytest.fixture(scope="module")
def everything(stage: Stage) -> Installed:
    """All kinds and all grants, driven through everything that they can do."""
    world = World(stage)
    flags = ("--with", "template", "--with", "children", "--target", "rollouts.rollouts.test")
    config = {"optIn": "label", "kinds": {"VerticalPodAutoscaler": "act"}, "webhookPort": 1}
    with Installed(stage.plane, "rights", *flags, **config) as installed:
        _count(world, installed)
        _size(world, installed)
        _edit_templates(world, installed)
        _keep_children(world, installed)
        _learn(world, installed)
        _restart(world, installed)
    # The controllers of the tests below have no rights for the custom kind.
    world.api.delete(f"{PATHS['WatermarkPodAutoscaler'].format(SPACE)}/rollout")
    return installed


def _count(world: World, installed: Installed) -> None:
    """Every kind of target, scaled up and down while others write to it."""
    for target in TARGETS:
        world.watermarks(target)
    # This one reports in every reconcile that its metric is missing.
    world.watermarks("Deployment", "blind", UNKNOWN)
    scales = [f"{kind.lower()}s/scale" for kind in TARGETS]
    with Crowd(world.api):
        ends = eventually(lambda: _toggled(world, installed, scales), PATIENT)
    assert ends
    world.queue = 30


def _toggled(world: World, installed: Installed, scales: list[str]) -> bool:
    """Switch between a long and a short queue until every scale was written, and read again after a conflict.

    The counts are reset manually in between: hypot scales down only what the governor admits.
    """
    world.queue = 120 if world.queue < 30 else 5
    for kind, path in TARGETS.items():
        world.api.patch(f"{path.format(SPACE)}/{kind.lower()}", {"spec": {"replicas": 2}})
    installed.hypot.until_reconciled(2)
    return installed.has("update", *scales) and installed.has("get", *scales)


def _size(world: World, installed: Installed) -> None:
    """One VPA resizes, one evicts; new pods start at their size."""
    world.millicores = 400
    for name, mode in (("resized", "InPlaceOrRecreate"), ("evicted", "Recreate")):
        world.target("Deployment", name, replicas=3)
        world.autoscaler("VerticalPodAutoscaler", "Deployment", name, {"updatePolicy": {"updateMode": mode}})
    eventually(lambda: installed.has("patch", "pods/resize") and installed.has("create", "pods/eviction"), PATIENT)


def _edit_templates(world: World, installed: Installed) -> None:
    for kind, name in (("Deployment", "edited"), ("StatefulSet", "edited-set")):
        world.target(kind, name)
        world.autoscaler("Hvpa", kind, name, SIZED, **{"hypot.dev/resize": "Template"})
    eventually(lambda: installed.has("patch", "deployments", "statefulsets"), PATIENT)


def _keep_children(world: World, installed: Installed) -> None:
    """Children are created, updated when the Hvpa changes, and deleted when it needs none."""
    world.target("Deployment", "parent")
    parent = world.autoscaler("Hvpa", "Deployment", "parent", SIZED, **{"hypot.dev/recommendations": "objects"})
    children = ("horizontalpodautoscalers", "verticalpodautoscalers")
    eventually(lambda: installed.has("create", *children), PATIENT)
    least = {"containerName": "*", "minAllowed": {"cpu": "15m", "memory": "20Mi"}}
    sizes = {"template": {"spec": {"resourcePolicy": {"containerPolicies": [least]}}}}
    change = {"hpa": {"template": {"spec": {"maxReplicas": 5}}}, "vpa": sizes}
    world.api.patch(parent.path, {"spec": change})
    eventually(lambda: installed.has("patch", "hvpas", *children), PATIENT)
    child = f"{PATHS['HorizontalPodAutoscaler'].format(SPACE)}/parent"
    eventually(lambda: world.api.get(child)["spec"]["maxReplicas"] == 5, PATIENT)
    parent.annotate(**{"hypot.dev/recommendations": None})
    eventually(lambda: installed.has("delete", *children), PATIENT)


def _learn(world: World, installed: Installed) -> None:
    """An Autoscaler reports, and a Tortoise makes its HPA and reports."""
    world.target("Deployment", "priced")
    world.autoscaler("Autoscaler", "Deployment", "priced", {})
    eventually(lambda: installed.has("patch", "autoscalers/status"), PATIENT)
    world.target("Deployment", "learning")
    ref = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "learning"}
    body = {
        "apiVersion": "autoscaling.mercari.com/v1beta3",
        "kind": "Tortoise",
        "metadata": {"name": "learning"},
        "spec": {"updateMode": "Auto", "targetRefs": {"scaleTargetRef": ref}},
    }
    world.api.create(PATHS["Tortoise"].format(SPACE), body)
    made = f"{PATHS['HorizontalPodAutoscaler'].format(SPACE)}/tortoise-hpa-learning"
    eventually(lambda: world.api.call("GET", made).ok and installed.has("patch", "tortoises/status"), PATIENT)


def _restart(world: World, installed: Installed) -> None:
    """Restart with an older API server, an unreadable certificate, and existing checkpoints."""
    eventually(lambda: installed.has("create", "verticalpodautoscalercheckpoints"), PATIENT)
    assert installed.hypot.stop() == 0
    path = "/api/v1/namespaces/hypot-system/secrets/hypot-webhook"
    world.api.patch(path, {"data": {"tls.crt": "", "tls.key": ""}})
    installed.start(as_of_old=True)
    eventually(lambda: installed.has("update", "secrets", "verticalpodautoscalercheckpoints"), PATIENT)
    eventually(lambda: installed.has("patch", "events"), PATIENT)


def test_nothing_is_refused(everything: Installed) -> None:
    """Every request of the whole run was allowed, and the run made more than 100."""
    asked = everything.asked()
    assert refused(asked) == []
    assert len(asked) > 100


def test_everything_that_is_granted_was_used(everything: Installed, report: Callable[[str], None]) -> None:
    """Every granted right is used: an unused right would only help an intruder."""
    asked = everything.asked()
    report(f"rights: {len(asked)} requests, {len({one[:3] for one in asked})} of different kinds")
    assert unused(everything.manifests, asked) == set()


# Short runs of other configurations.

CONFIGS: dict[str, Object] = {
    "scoped to two namespaces": {"watchNamespaces": ["rights-a", "rights-b"], "optIn": "all"},
    "observing": {"kinds": {"VerticalPodAutoscaler": "observe", "Hvpa": "observe"}, "optIn": "label"},
    "only recommending": {
        "kinds": {"VerticalPodAutoscaler": "recommend", "Hvpa": "off", "WatermarkPodAutoscaler": "off"},
        "optIn": "label",
    },
    "in place of the HPA controller": {
        "kinds": {"HorizontalPodAutoscaler": "act", "Hvpa": "off", "WatermarkPodAutoscaler": "off"}
    },
    "dry run": {"dryRun": True, "kinds": {"VerticalPodAutoscaler": "act"}},
}
# Read only where an object asks for it.
ON_REQUEST = ("custom.metrics.k8s.io", "external.metrics.k8s.io", "verticalpodautoscalercheckpoints")


@pytest.mark.parametrize("case", CONFIGS)
def test_what_is_read_is_granted_and_vice_versa(stage: Stage, case: str) -> None:
    """In every configuration, each request is allowed, and whatever may be listed and watched is read."""
    for namespace in ("rights-a", "rights-b"):
        stage.api.call("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})
    with Installed(stage.plane, f"rights-{list(CONFIGS).index(case)}", **CONFIGS[case]) as installed:
        assert installed.hypot.stop() == 0
        installed.start(as_of_old=True)
        installed.hypot.until_reconciled(2, within=60)
        assert eventually(lambda: [_unread(installed)] == [set()] or _fail(_unread(installed)), 30)
        assert refused(installed.asked()) == []


def _fail(left: object) -> bool:
    raise AssertionError(left)


def _unread(installed: Installed) -> set[tuple[str, str, str, str]]:
    left = unused(installed.manifests, installed.asked())
    return {one for one in left if one[2] in {"list", "watch"} and not {*one} & {*ON_REQUEST}}


def test_a_right_that_is_missing_would_be_found(stage: Stage) -> None:
    """Without one rule of the role, the log has refusals for that rule and nothing else."""
    installed = Installed(stage.plane, "rights-less")
    for made in installed.manifests:
        if "rules" in made:
            made["rules"] = [rule for rule in made["rules"] if "watermarkpodautoscaler-lock" not in str(rule)]
    with installed:
        assert eventually(lambda: {one.resource for one in refused(installed.asked())}, 60) == {"leases"}


# Guarded metrics, and a certificate that others keep.

EXAMPLES = Path(__file__).parents[3] / "deploy" / "examples"
SERVED_AS = "hypot-webhook.hypot-system.svc"


def token_for(api: Api, namespace: str, account: str) -> str:
    asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}}
    made = api.create(f"/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token", asked)
    return str(made["status"]["token"])


def scraped(port: int, authority: str, token: str) -> int:
    """The status of a scrape, as Prometheus does it with the name of the certificate."""
    trust = ssl.create_default_context(cadata=authority)
    with socket.create_connection(("127.0.0.1", port), 30) as plain:
        connection = http.client.HTTPConnection(SERVED_AS)
        connection.sock = trust.wrap_socket(plain, server_hostname=SERVED_AS)
        connection.request("GET", "/metrics", headers={"Authorization": f"Bearer {token}"} if token else {})
        answer = connection.getresponse()
        answer.read()
        connection.close()
        return answer.status


def test_metrics_are_read_by_accounts_that_may(stage: Stage) -> None:
    """The API server is asked with the shipped role; the example gives an account what it needs."""
    for made in yaml.safe_load_all((EXAMPLES / "metrics-reader.yaml").read_text(encoding="utf-8")):
        if made["kind"] in ACCOUNTS:
            path = f"{ACCOUNTS[made['kind']].format('hypot-system')}/{made['metadata']['name']}"
            stage.api.patch(path, made, APPLY, query={"fieldManager": "test", "force": "true"})
    stage.api.call("POST", "/api/v1/namespaces/hypot-system/serviceaccounts", {"metadata": {"name": "anybody"}})
    with Installed(stage.plane, "rights-metrics", metricsAuth=True) as installed:
        secret = eventually(lambda: stage.api.call("GET", "/api/v1/namespaces/hypot-system/secrets/hypot-webhook"))
        authority = base64.b64decode(secret.body["data"]["ca.crt"]).decode()
        port = installed.hypot.metrics
        eventually(lambda: installed.hypot.lines("serving metrics"), 30)
        reader, anybody = (token_for(stage.api, "hypot-system", name) for name in ("hypot-metrics-reader", "anybody"))
        assert eventually(lambda: scraped(port, authority, reader) == 200, 30)
        assert [scraped(port, authority, token) for token in (anybody, "invalid", "")] == [403, 401, 401]
        assert refused(installed.asked()) == []
        assert installed.has("create", "tokenreviews", "subjectaccessreviews")
    for name in ("secrets/hypot-webhook", "serviceaccounts/anybody", "serviceaccounts/hypot-metrics-reader"):
        stage.api.call("DELETE", f"/api/v1/namespaces/hypot-system/{name}")


def test_a_certificate_that_others_keep(stage: Stage) -> None:
    """The API server trusts the given CA and calls the webhook; hypot touches no Secret and patches nothing."""
    folder, authority = stage.plane.folder / "given", trustme.CA()
    folder.mkdir()
    config = {"webhookPort": 1, "webhookCertificate": str(folder), "webhookCa": authority.cert_pem.bytes().decode()}
    space = "rights-given"
    stage.api.call(
        "POST", "/api/v1/namespaces", {"metadata": {"name": space, "labels": {"hypot.dev/scaling": "enabled"}}}
    )
    with Installed(stage.plane, space, optIn="label", **config) as installed:
        hypot = installed.hypot
        status, text = hypot.get("/readyz")
        assert (status, "tls.crt and tls.key" in text) == (503, True)
        issued = authority.issue_cert(SERVED_AS)
        issued.private_key_pem.write_to_path(folder / "tls.key")
        issued.cert_chain_pems[0].write_to_path(folder / "tls.crt")
        eventually(lambda: hypot.get("/readyz")[0] == 200, 60)
        pod = {"metadata": {"generateName": "new-"}, "spec": {"containers": [{"name": "app", "image": "app"}]}}
        query = {"dryRun": "All"}
        eventually(
            lambda: (
                stage.api.call("POST", f"/api/v1/namespaces/{space}/pods", pod, query=query).ok
                and "hypot_webhook_duration_seconds_count 0" not in hypot.get("/metrics")[1]
            ),
            60,
        )
        assert refused(installed.asked()) == []
        assert {one.verb for one in installed.asked() if one.resource == "mutatingwebhookconfigurations"} == {"get"}
        assert not [one for one in installed.asked() if one.resource == "secrets"]
