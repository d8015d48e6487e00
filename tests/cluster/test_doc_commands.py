"""The commands in README and docs that need a cluster run on one, as an administrator runs them."""

import json
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from cluster.plane.binaries import UnavailableError, ensure, kubectl
from cluster.plane.controlplane import HPA_CONTROLLER, WORKLOAD_CONTROLLERS, ControlPlane
from cluster.plane.waiting import eventually
from cluster.running.controller import Controller
from cluster.running.stage import Stage, Workload, install_definitions
from cluster.standins.logserver import LogServer
from cluster.standins.metricsserver import Query, RefusedError, stamp
from doc_blocks import Block, command_blocks, ran, workspace
from ports import free_ports

Object = dict[str, Any]
BLOCKS = [block for block in command_blocks() if not block.reason and block.needs_cluster]
OWN, SHOP = "hypot-system", "shop"
# Its commands are for a hypot that runs.
RUNBOOK = "runbook.md"
# Files that a user has kept, and the flags that they were printed with.
PRINTED = {"hypot.yaml": "", "hypot-metrics.yaml": "--metrics rules.yaml"}
# What never ends by itself gets Ctrl-C once it has decided, a loop ends where it would wait, and to find nothing is an
# answer.
BEFORE = f"""
hypot() {{
  if [ "$1" = run ]; then {sys.executable} interrupted.py "$@"; else command hypot "$@"; fi
}}
sleep() {{ exit 0; }}
grep() {{ command grep "$@" || [ $? = 1 ]; }}
"""
INTERRUPTED = """
import signal, subprocess, sys
command = [sys.executable, "-m", "hypot", *sys.argv[1:], "--config", "ports.json"]
with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
    lines = []
    for line in process.stdout:
        lines.append(line)
        if "reconciled" in line:
            process.send_signal(signal.SIGINT)
    status = process.wait()
print("".join(lines))
assert any("reconciled" in line for line in lines)
assert status in (0, 130), status
"""


class Docs(Stage):
    """A shop with autoscalers; pages that install the metrics server need its API, so only usage is served here."""

    def start(self) -> "Docs":
        install_definitions(self.api)
        self.metrics.start()
        self.metrics.register(self.api, groups=["metrics.k8s.io"])
        self.kubelet.start()
        self.kubelet.add_node("node-1")
        self.plane.start_controllers(names=(HPA_CONTROLLER, *WORKLOAD_CONTROLLERS, "namespace-controller"))
        self.hypot: Controller | None = None
        self.logs = LogServer(self.plane.ca, lambda: self.hypot.log.read_text(errors="replace") if self.hypot else "")
        self.logs.start()
        self.logs.register(self.api, "node-1")
        return self

    def stop(self) -> None:
        if self.hypot:
            self.hypot.stop()
        self.logs.stop()
        super().stop()

    def until_namespaces(self, *names: str) -> None:
        """A page may have deleted one of them."""
        for name in names:
            eventually(lambda name=name: self._is_active(name), 60)

    def _is_active(self, name: str) -> bool:
        self.api.call("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
        return self.api.get(f"/api/v1/namespaces/{name}")["status"]["phase"] == "Active"

    def run_hypot(self, config: Path) -> None:
        """Installed as the pages say; its pods run nothing: a process here acts for them, and writes their log."""
        if self.hypot:
            return
        self.metrics.register(self.api)
        install = "hypot manifests --image registry.example/hypot:0.1.0 | kubectl apply --server-side -f -"
        done = ran(install, config.parent, {"KUBECONFIG": str(config)}, "set +u")
        assert done.returncode == 0, done.stderr
        pods = f"/api/v1/namespaces/{OWN}/pods"
        for pod in eventually(lambda: len(found := self.api.get(pods)["items"]) == 2 and found, 30):
            name = pod["metadata"]["name"]
            binding = {"metadata": {"name": name}, "target": {"kind": "Node", "name": "node-1"}}
            self.api.create(f"{pods}/{name}/binding", binding)
        self.metrics.answers[OWN] = self._usage_of_own
        self.hypot = Controller(self.plane, "hypot", optIn="label")
        self.hypot.config |= {"webhookPort": self.hypot.webhook, "webhookService": "127.0.0.1"}
        self.hypot.start().until_reconciled(2)

    def _usage_of_own(self, query: Query) -> list[Object]:
        if query.api != "metrics.k8s.io":
            raise RefusedError(404, "NotFound")
        usage = [{"name": "hypot", "usage": {"cpu": "20m", "memory": "90Mi"}}]
        pods = self.api.get(f"/api/v1/namespaces/{OWN}/pods")["items"]
        when = {"timestamp": stamp(query.at), "window": "15s"}
        return [{"metadata": each["metadata"], **when, "containers": usage} for each in pods]


@pytest.fixture(scope="module")
def plane(request: pytest.FixtureRequest) -> Iterator[ControlPlane]:
    """Of its own: the pages install and uninstall hypot. Its logs are kept if any test failed."""
    folder = Path(tempfile.mkdtemp(prefix="hypot-docs-"))
    made = ControlPlane(ensure(), folder)
    made.start()
    try:
        yield made
        made.check()
    finally:
        made.stop()
    if not request.session.testsfailed:
        shutil.rmtree(folder)


@pytest.fixture(scope="module")
def stage(plane: ControlPlane) -> Iterator[Docs]:
    """A Deployment with an HPA, and a VPA and an Autoscaler that only report."""
    made = Docs(plane).start()
    made.until_namespaces(SHOP, "blog")
    web = Workload(made, SHOP, "web").create(3)
    # By memory: the cpu of pods that have just started does not count yet.
    percent = {"type": "Utilization", "averageUtilization": 50}
    metrics = [{"type": "Resource", "resource": {"name": "memory", "target": percent}}]
    web.autoscaler(
        "HorizontalPodAutoscaler", "autoscaling/v2", {"minReplicas": 1, "maxReplicas": 9, "metrics": metrics}
    )
    vpa = web.autoscaler("VerticalPodAutoscaler", "autoscaling.k8s.io/v1", {"updatePolicy": {"updateMode": "Off"}})
    web.autoscaler("Autoscaler", "hypot.dev/v1alpha1", {"updateMode": "Off"})
    size = {"cpu": "300m", "memory": "256Mi"}
    advice = {"containerName": "app", "target": size, "lowerBound": size, "upperBound": size, "uncappedTarget": size}
    made.api.patch(f"{vpa.path}/status", {"status": {"recommendation": {"containerRecommendations": [advice]}}})
    yield made
    made.stop()


@pytest.fixture(scope="module")
def program() -> str:
    try:
        return str(kubectl().parent)
    except UnavailableError as error:
        pytest.skip(f"no kubectl: {error}")


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.place)
def test_commands_run_on_a_cluster(block: Block, stage: Docs, program: str, tmp_path: Path) -> None:
    """The context's namespace is the shop's."""
    folder = workspace(tmp_path)
    config = json.loads(stage.plane.kubeconfig("admin").read_text(encoding="utf-8"))
    config["contexts"][0]["context"]["namespace"] = SHOP
    file = folder / "kubeconfig"
    file.write_text(yaml.safe_dump(config), encoding="utf-8")
    (folder / "interrupted.py").write_text(INTERRUPTED, encoding="utf-8")
    for name, flags in PRINTED.items():
        if f"-f {name}" in block.commands and f"> {name}" not in block.commands:
            assert ran(f"hypot manifests {flags} --image hypot > {name}", folder, {}).returncode == 0
    ports = dict(zip(("probePort", "metricsPort", "webhookPort"), free_ports(3), strict=True))
    (folder / "ports.json").write_text(json.dumps(ports), encoding="utf-8")
    stage.until_namespaces(SHOP, "blog", OWN, "default")
    if block.page.name == RUNBOOK:
        stage.run_hypot(file)
    done = ran(block.commands, folder, {"KUBECONFIG": str(file), "PATH": f"{program}:/usr/bin:/bin"}, BEFORE)
    assert done.returncode == 0, f"{block.place}\n{done.stdout}{done.stderr}"
    assert "Traceback" not in done.stderr
