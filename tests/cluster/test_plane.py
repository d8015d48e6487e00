"""The control plane itself: it is the pinned version, it starts, and it leaves nothing behind."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cluster.plane import binaries
from cluster.plane.api import Api
from cluster.plane.controlplane import ControlPlane
from cluster.plane.waiting import eventually

TESTS = Path(__file__).parents[1]
# Starts a control plane, prints a line when it runs, and waits to be killed.
OWNER = """
import sys, time
from pathlib import Path
from cluster.plane.binaries import ensure
from cluster.plane.controlplane import ControlPlane
plane = ControlPlane(ensure(), Path(sys.argv[1]))
plane.start()
print(flush=True)
time.sleep(60)
"""


def test_the_version_is_the_pinned_one(plane: ControlPlane, api: Api) -> None:
    """Kubernetes reports the version in go.mod, unless the user provides other binaries."""
    reported = api.get("/version")["gitVersion"]
    if str(plane.binaries) == os.environ.get("KUBEBUILDER_ASSETS"):
        pytest.skip(f"the binaries of KUBEBUILDER_ASSETS are {reported}")
    assert reported == binaries.version()


def test_a_killed_owner_ends_its_children(plane: ControlPlane, tmp_path: Path) -> None:
    """Even SIGKILL leaves neither etcd nor an API server behind."""
    assert plane.folder.is_dir()
    environment = {**os.environ, "PYTHONPATH": str(TESTS)}
    with subprocess.Popen(
        [sys.executable, "-c", OWNER, str(tmp_path)], env=environment, stdout=subprocess.PIPE
    ) as owner:
        assert owner.stdout
        owner.stdout.readline()
        assert _running(tmp_path) == {"etcd", "kube-apiserver"}
        owner.send_signal(signal.SIGKILL)
    eventually(lambda: _running(tmp_path) == set(), within=20)


def test_a_component_that_dies_is_named_with_its_log(tmp_path: Path) -> None:
    """A control plane that cannot start reports the failed component and its log."""
    broken = tmp_path / "bin"
    broken.mkdir()
    for name in binaries.PACKAGES:
        does = "echo no space left; exit 3" if name == "etcd" else "exec sleep 30"
        (broken / name).write_text(f"#!/bin/sh\n{does}\n")
        (broken / name).chmod(0o755)
    with pytest.raises(Exception, match=r"etcd ended with 3, see .*etcd\.log:\nno space left"):
        ControlPlane(broken, tmp_path).start()


def test_a_kubeconfig_names_its_server(plane: ControlPlane) -> None:
    """The kubeconfig for controllers has the address of this server."""
    config = json.loads(plane.kubeconfig("admin").read_text())
    assert config["clusters"][0]["cluster"]["server"] == f"https://127.0.0.1:{plane.port}"


def _running(folder: Path) -> set[str]:
    """The binaries whose command line names a folder, without their guards."""
    command = [shutil.which("ps") or "ps", "-ww", "-eo", "args"]
    reported = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    commands = [line.split() for line in reported.splitlines() if str(folder) in line]
    return {Path(command[0]).name for command in commands} - {Path(sys.executable).name}
