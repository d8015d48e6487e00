"""The controller as a user runs it: a process of its own, with a configuration file and a kubeconfig."""

import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from cluster.plane.controlplane import GUARD, ControlPlane
from cluster.plane.waiting import PATIENCE, eventually
from ports import free_ports

Object = dict[str, Any]
HYPOT = [sys.executable, "-c", "from hypot.cli.main import main; main()"]
# Fast enough for a test, slow enough for pods to settle between reconciles.
SYNC_PERIOD = 1.0


class Controller:
    """`hypot run` from `start` to `stop`; its log is a file in the control plane's folder."""

    command = HYPOT
    subcommand: tuple[str, ...] = ("run",)

    def __init__(self, plane: ControlPlane, name: str, user: str = "admin", **config: Any) -> None:
        self.plane, self.name = plane, name
        self.probes, self.metrics, self.webhook = free_ports(3)
        settings = {"syncPeriod": SYNC_PERIOD, **config.pop("settings", {})}
        self.config = {
            "namespace": "hypot-system",
            "optIn": "all",
            "listen": "127.0.0.1",
            "probePort": self.probes,
            "metricsPort": self.metrics,
            "webhookPort": 0,
            "settings": settings,
            **config,
        }
        self.kubeconfig = plane.kubeconfig(user)
        self.log = plane.folder / f"{name}.log"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> "Controller":
        path = self.plane.folder / f"{self.name}.config.json"
        path.write_text(json.dumps(self.config), encoding="utf-8")
        given = ["--kubeconfig", str(self.kubeconfig), "--config", str(path), "--log", "json"]
        command = [*self.command, *self.subcommand, *given]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        with self.log.open("ab") as out:
            self._process = subprocess.Popen(
                [sys.executable, str(GUARD), *command],
                stdin=subprocess.PIPE,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env=environment,
            )
        return self

    def until_reconciled(self, times: int = 1, within: float = 30) -> None:
        """Wait until it has reconciled this many times from now on."""
        wanted = len(self.lines("reconciled")) + times
        eventually(lambda: self.is_running() and len(self.lines("reconciled")) >= wanted, within)

    def is_running(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, self.log.read_text(errors="replace")[-3000:]
        return True

    @property
    def has_ended(self) -> bool:
        return self._process is None or self._process.poll() is not None

    def lines(self, event: str = "") -> list[Object]:
        """What it logged, from complete lines only."""
        found = []
        for line in self.log.read_text(errors="replace").splitlines():
            try:
                said = json.loads(line)
            except ValueError:
                continue
            if not event or said.get("event") == event:
                found.append(said)
        return found

    def signal(self, number: int) -> None:
        """Send a signal to hypot itself, not to its guard."""
        os.kill(self.pid, number)

    @property
    def pid(self) -> int:
        assert self._process is not None
        children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children")
        return int(eventually(lambda: children.read_text(encoding="utf-8").split())[0])

    def kill(self) -> None:
        """Kill it at once, without an orderly end."""
        assert self._process is not None
        self.signal(signal.SIGKILL)
        self.ended(15)

    def ended(self, within: float = 60) -> int:
        """Wait until it has ended for any reason; returns its exit status."""
        assert self._process is not None
        status = self._process.wait(within * PATIENCE)
        if self._process.stdin:
            self._process.stdin.close()
        return status

    def stop(self) -> int:
        """Stop it as Kubernetes does; returns its exit status."""
        assert self._process is not None
        if self._process.poll() is None:
            self.signal(signal.SIGTERM)
        return self.ended(20)

    def get(self, path: str) -> tuple[int, str]:
        """Send a request to its own server."""
        try:
            port = self.metrics if path == "/metrics" else self.probes
            with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5 * PATIENCE) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
