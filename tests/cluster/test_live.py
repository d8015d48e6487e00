"""decide --live and lint --live against a real API server: with the shipped role, with a part of it, and without."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from cluster.plane.api import APPLY
from cluster.plane.controlplane import ControlPlane
from cluster.running.shapes import QUEUE_BAND
from cluster.running.stage import PATHS, Stage, Workload
from cluster.standins.metricsserver import Query, RefusedError, stamp

Object = dict[str, Any]
RBAC = "/apis/rbac.authorization.k8s.io/v1"
SPACE, SECRET = "live", "hunter2"
ALL, NO_PODS, NOTHING = "reader", "no-pods", "nothing"


class Ran(NamedTuple):
    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture(scope="module")
def stage(plane: ControlPlane) -> Iterator[Stage]:
    """A namespace with three autoscalers that ask for a resource, an external metric and a size."""
    made = Stage(plane).start()
    for name in (SPACE, "other"):
        made.api.create("/api/v1/namespaces", {"metadata": {"name": name}})
    _workloads(made)
    for account in (ALL, NO_PODS, NOTHING):
        body = {"metadata": {"name": account, "namespace": SPACE}}
        made.api.create(f"/api/v1/namespaces/{SPACE}/serviceaccounts", body)
    for account in (ALL, NO_PODS):
        _allow(made, account)
    yield made
    made.stop()


def _workloads(stage: Stage) -> None:
    # By memory: the cpu of pods that have just started does not count yet.
    web = Workload(stage, SPACE, "web").create(3)
    percent = {"type": "Utilization", "averageUtilization": 50}
    metrics = [{"type": "Resource", "resource": {"name": "memory", "target": percent}}]
    written = {"kubectl.kubernetes.io/last-applied-configuration": json.dumps({"password": SECRET})}
    spec = {"minReplicas": 1, "maxReplicas": 9, "metrics": metrics}
    web.autoscaler("HorizontalPodAutoscaler", "autoscaling/v2", spec, **written)
    orders = Workload(stage, SPACE, "orders").create(2)
    spec = {"minReplicas": 1, "maxReplicas": 9, "metrics": [QUEUE_BAND], "algorithm": "average"}
    orders.autoscaler("WatermarkPodAutoscaler", "datadoghq.com/v1alpha1", spec)
    data = Workload(stage, SPACE, "data", load=300.0).create(1)
    vpa = data.autoscaler("VerticalPodAutoscaler", "autoscaling.k8s.io/v1", {"updatePolicy": {"updateMode": "Off"}})
    size = {"cpu": "300m", "memory": "256Mi"}
    advice = {"containerName": "app", "target": size, "lowerBound": size, "upperBound": size, "uncappedTarget": size}
    stage.api.patch(f"{vpa.path}/status", {"status": {"recommendation": {"containerRecommendations": [advice]}}})
    usage = stage.metrics.answers[SPACE]

    def answer(query: Query) -> list[Object]:
        if query.api == "metrics.k8s.io":
            return usage(query)
        if query.metric != "queue":
            raise RefusedError(404, "NotFound")
        # Without labels, as some adapters answer.
        return [{"metricName": "queue", "metricLabels": {}, "timestamp": stamp(query.at), "value": "100"}]

    stage.metrics.answers[SPACE] = answer
    environment = [{"name": "PASSWORD", "value": SECRET}]
    container = {"name": "app", "env": environment, "args": [f"--password={SECRET}"]}
    patch = {"spec": {"template": {"spec": {"containers": [container]}}}}
    strategic = "application/strategic-merge-patch+json"
    stage.api.patch(f"{PATHS['Deployment'].format(SPACE)}/data", patch, strategic)
    stage.api.create(
        f"/api/v1/namespaces/{SPACE}/secrets", {"metadata": {"name": "password"}, "stringData": {"password": SECRET}}
    )
    data.until_ready(1)


def _allow(stage: Stage, account: str) -> None:
    """Give the shipped role to an account; without pods, to one of them."""
    printed = subprocess.run(
        [sys.executable, "-m", "hypot", "manifests", "--reader"], capture_output=True, text=True, check=True
    )
    role = yaml.safe_load(printed.stdout)
    name = role["metadata"]["name"] = f"live-{account}"
    if account == NO_PODS:
        for rule in role["rules"]:
            if rule["apiGroups"] == [""]:
                rule["resources"] = [each for each in rule["resources"] if each != "pods"]
    query = {"fieldManager": "test", "force": "true"}
    stage.api.patch(f"{RBAC}/clusterroles/{name}", role, APPLY, query=query)
    subject = {"kind": "ServiceAccount", "name": account, "namespace": SPACE}
    ref = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name}
    stage.api.create(f"{RBAC}/clusterrolebindings", {"metadata": {"name": name}, "roleRef": ref, "subjects": [subject]})


def hypot(stage: Stage, account: str, *arguments: str) -> Ran:
    """The command as a user runs it who has only the rights of this account."""
    asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}}
    path = f"/api/v1/namespaces/{SPACE}/serviceaccounts/{account}/token"
    config = json.loads(stage.plane.kubeconfig("admin").read_text(encoding="utf-8"))
    config["users"][0]["user"] = {"token": stage.api.create(path, asked)["status"]["token"]}
    config["contexts"][0]["context"]["namespace"] = SPACE
    file = stage.plane.folder / f"{account}.kubeconfig"
    file.write_text(json.dumps(config), encoding="utf-8")
    command = [sys.executable, "-m", "hypot", *arguments]
    environment = {**os.environ, "KUBECONFIG": str(file)}
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, env=environment)
    assert "Traceback" not in ended.stderr, ended.stderr
    return Ran(ended.returncode, ended.stdout, ended.stderr)


def offline(*arguments: str) -> Ran:
    ended = subprocess.run(
        [sys.executable, "-m", "hypot", *arguments], capture_output=True, text=True, timeout=120, check=False
    )
    return Ran(ended.returncode, ended.stdout, ended.stderr)


def repeated(err: str) -> list[str]:
    """The arguments of the command that gives the same answer."""
    return err.split("the same answer without the cluster: hypot ")[1].splitlines()[0].split()


def decisions(ran: Ran) -> list[Object]:
    """The decisions without the places of problems, which only files have."""
    return [{**one, "problems": len(one["problems"])} for one in ran.json["decisions"]]


@pytest.mark.parametrize("suffix", ["yaml", "json", "json.gz"])
def test_everything_is_read_with_the_shipped_role(stage: Stage, tmp_path: Path, suffix: str) -> None:
    """Each kind is decided, and the saved file gives the same decisions without the cluster."""
    file = str(tmp_path / f"dump.{suffix}")
    ran = hypot(stage, ALL, "decide", "--live", "--save", file, "-o", "json")
    assert ran.status == 0, ran.err
    assert "not read" not in ran.err
    verdicts = {one["autoscaler"]["name"]: one["verdict"] for one in decisions(ran)}
    assert verdicts.pop("data") in {"hold", "resize"}
    assert verdicts == {"web": "up", "orders": "up"}
    again = offline(*repeated(ran.err), "-o", "json")
    assert decisions(again) == decisions(ran)


def test_nothing_secret_is_saved(stage: Stage, tmp_path: Path) -> None:
    """Neither from environment and arguments, nor from what kubectl last applied."""
    file = tmp_path / "dump.json"
    for verb in ("decide", "lint"):
        assert "saved in" in hypot(stage, ALL, verb, "--live", "--save", str(file)).err
        text = file.read_text(encoding="utf-8")
        assert SECRET not in text
        assert '"Secret"' not in text


def test_one_workload_is_decided(stage: Stage) -> None:
    """By its target, or by the autoscaler."""
    for word in ("deployment/web", "hpa/web"):
        ran = hypot(stage, ALL, "decide", "--live", word, "-o", "json")
        assert [one["autoscaler"]["name"] for one in decisions(ran)] == ["web"], ran.err
    wrong = hypot(stage, ALL, "decide", "--live", "deployment/wbe")
    assert wrong.status == 2
    assert "did you mean Deployment/web?" in wrong.err


def test_all_namespaces_are_read(stage: Stage) -> None:
    """With -A also those of other tests."""
    ran = hypot(stage, ALL, "decide", "--live", "-A", "-o", "json")
    assert {"web", "orders", "data"} <= {
        one["autoscaler"]["name"] for one in decisions(ran) if one["autoscaler"]["namespace"] == SPACE
    }


def test_a_missing_right_is_named_and_nothing_shrinks(stage: Stage, tmp_path: Path) -> None:
    """Without pods no count is decided, in the saved file neither; the rest goes on."""
    file = str(tmp_path / "dump.json")
    ran = hypot(stage, NO_PODS, "decide", "--live", "--save", file, "-o", "json")
    assert ran.status == 1
    assert "not read: pods in live: pods is forbidden" in ran.err
    assert "hypot manifests --reader" in ran.err
    assert {one["verdict"] for one in decisions(ran)} == {"undecided"}
    again = offline(*repeated(ran.err), "-o", "json")
    assert (again.status, decisions(again)) == (1, decisions(ran))
    assert "not read: pods in live" in again.err


def test_without_any_right_everything_is_named(stage: Stage) -> None:
    """One line for each resource, and what to do; no traceback."""
    for verb in ("decide", "lint"):
        ran = hypot(stage, NOTHING, verb, "--live")
        assert ran.status == 1, ran.err
        assert "not read: horizontalpodautoscalers.autoscaling in live: " in ran.err
        assert "hypot manifests --reader" in ran.err


def test_credentials_that_are_not_accepted_are_an_error(stage: Stage, tmp_path: Path) -> None:
    """It says so, and where the credentials come from."""
    config = json.loads(stage.plane.kubeconfig("admin").read_text(encoding="utf-8"))
    config["users"][0]["user"] = {"token": "of-nobody"}
    file = tmp_path / "config"
    file.write_text(json.dumps(config), encoding="utf-8")
    ended = subprocess.run(
        [sys.executable, "-m", "hypot", "decide", "--live"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, "KUBECONFIG": str(file)},
    )
    assert ended.returncode == 2
    assert "does not accept these credentials" in ended.stderr


def test_the_cluster_is_linted(stage: Stage, tmp_path: Path) -> None:
    """Findings name objects instead of lines; a target that is not there is missing, not merely not given."""
    gone = {"kind": "Deployment", "name": "gone", "apiVersion": "apps/v1"}
    hpa = {"metadata": {"name": "lost"}, "spec": {"scaleTargetRef": gone, "maxReplicas": 3}}
    path = PATHS["HorizontalPodAutoscaler"].format("other")
    stage.api.create(path, hpa)
    ran = hypot(stage, ALL, "lint", "--live", "-n", "other", "-o", "json", "--save", str(tmp_path / "dump.yaml"))
    found = {one["rule"]: one for one in ran.json["findings"]}
    assert "there is no Deployment other/gone" in found["target-missing"]["message"]
    assert (found["target-missing"]["file"], found["target-missing"]["line"]) == ("", None)
    assert offline(*repeated(ran.err)).status == ran.status == 0
    text = hypot(stage, ALL, "lint", "--live", "-n", "other").out
    assert text.startswith("warning  target-missing  HorizontalPodAutoscaler other/lost")
    sarif = hypot(stage, ALL, "lint", "--live", "-n", "other", "-o", "sarif").json
    places = [result["locations"][0] for result in sarif["runs"][0]["results"]]
    assert all("logicalLocations" in place for place in places)
