"""A control plane on loopback: etcd, kube-apiserver and kube-controller-manager, new for each run."""

import json
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import trustme

from cluster.plane.api import Api
from ports import free_ports

GUARD = Path(__file__).with_name("guard.py")
READY_WITHIN = 120.0
GATES = "--feature-gates=HPAScaleToZero=true"
# Names and groups of the users; RBAC decides what each of them may do.
USERS = dict.fromkeys(("admin", "controllers", "kubelet", "hypot"), "system:masters")
# The account of an installation; the audit log records all its requests.
ACCOUNT = "system:serviceaccount:hypot-system:hypot"
HPA_CONTROLLER = "horizontal-pod-autoscaler-controller"
WORKLOAD_CONTROLLERS = ("deployment-controller", "replicaset-controller", "garbage-collector-controller")
AUDITED = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [
        {"level": "Metadata", "users": [ACCOUNT]},
        {"level": "None", "verbs": ["watch", "list"]},
        {
            "level": "RequestResponse",
            "resources": [
                {"group": "autoscaling", "resources": ["horizontalpodautoscalers", "horizontalpodautoscalers/status"]},
                {"group": "apps", "resources": ["deployments/scale"]},
                {"group": "", "resources": ["pods", "pods/status"]},
            ],
        },
        {"level": "None"},
    ],
}


class ControlPlaneError(Exception):
    """A component did not start or ended; the message names its log."""


class Child:
    """One process, guarded so that it dies with its parent."""

    def __init__(self, name: str, command: Iterable[str], log: Path) -> None:
        self.name, self.log = name, log
        with log.open("ab") as out:
            self._process = subprocess.Popen(
                [sys.executable, str(GUARD), *command],
                stdin=subprocess.PIPE,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        """The process ID of the command itself, not of its guard."""
        children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children")
        return int(children.read_text(encoding="utf-8").split()[0])

    def check(self) -> None:
        if self._process.poll() is not None:
            tail = "\n".join(self.log.read_text(errors="replace").splitlines()[-5:])
            raise ControlPlaneError(f"{self.name} ended with {self._process.returncode}, see {self.log}:\n{tail}")

    def stop(self) -> None:
        """End the process, and wait until it is gone."""
        if self._process.stdin:
            self._process.stdin.close()
        self._process.wait(90)


class ControlPlane:
    """Runs from `start` to `stop`; everything it writes is in one folder."""

    audited = AUDITED
    users = USERS

    def __init__(self, binaries: Path, folder: Path) -> None:
        self.binaries, self.folder = binaries, folder
        self.ca = trustme.CA()
        self.port, self._etcd, self._peer = free_ports(3)
        self.audit_log = folder / "audit.log"
        self._children: list[Child] = []
        self._clients: list[Api] = []
        self.admin = self.client("admin")

    def client(self, user: str) -> Api:
        tls = ssl.create_default_context()
        self.ca.configure_trust(tls)
        self._clients.append(Api(self.port, tls, token_of(user)))
        return self._clients[-1]

    def start(self) -> None:
        """Start etcd and the API server; the controllers are started once the objects that they need exist."""
        self._write_files()
        try:
            self._start("etcd", self._etcd_flags())
            self._start("kube-apiserver", self._server_flags())
            self._until("kube-apiserver", self._answers)
        except BaseException:
            self.stop()
            raise

    def start_controllers(self, *flags: str, names: Iterable[str] = (HPA_CONTROLLER, *WORKLOAD_CONTROLLERS)) -> None:
        """Start the controllers that act on Deployments, and the HPA controller with its own flags.

        Those that already run are stopped: two of them at once would undo each other's work.
        """
        self.stop_controllers()
        self._start(
            "kube-controller-manager",
            [
                f"--kubeconfig={self.kubeconfig('controllers')}",
                "--leader-elect=false",
                "--secure-port=0",
                "--kube-api-qps=500",
                "--kube-api-burst=1000",
                "--concurrent-horizontal-pod-autoscaler-syncs=20",
                f"--controllers={','.join(names)}",
                GATES,
                *flags,
            ],
        )

    def part(self, name: str) -> Child:
        """A running component, by the name of its program."""
        return next(each for each in self._children if each.name == name)

    def stop_controllers(self) -> None:
        self._stop("kube-controller-manager")

    def stop_server(self) -> None:
        """Stop only the API server; its data stays in etcd."""
        self._stop("kube-apiserver")

    def start_server(self) -> None:
        """Start the API server again at the same address."""
        self._start("kube-apiserver", self._server_flags())
        self._until("kube-apiserver", self._answers)

    def stop(self) -> None:
        for client in self._clients:
            client.close()
        for child in reversed(self._children):
            child.stop()
        self._children.clear()

    def check(self) -> None:
        """Check that every component is still running."""
        for child in self._children:
            child.check()

    def kubeconfig(self, user: str) -> Path:
        """A file that kubectl or a controller can use to reach this control plane."""
        path = self.folder / f"{user}.kubeconfig"
        server = {"server": f"https://127.0.0.1:{self.port}", "certificate-authority": str(self.folder / "ca.pem")}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "test", "cluster": server}],
            "users": [{"name": user, "user": {"token": token_of(user)}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": user}}],
            "current-context": "test",
        }
        path.write_text(json.dumps(config), encoding="utf-8")
        return path

    def _start(self, name: str, flags: Iterable[str]) -> None:
        self._children.append(Child(name, [str(self.binaries / name), *flags], self.folder / f"{name}.log"))

    def _stop(self, name: str) -> None:
        for child in [child for child in self._children if child.name == name]:
            self._children.remove(child)
            child.stop()

    def _write_files(self) -> None:
        self.ca.cert_pem.write_to_path(str(self.folder / "ca.pem"))
        serving = self.ca.issue_cert("127.0.0.1", "localhost")
        serving.private_key_pem.write_to_path(str(self.folder / "server.key"))
        for pem in serving.cert_chain_pems:
            pem.write_to_path(str(self.folder / "server.pem"), append=True)
        signing = self.ca.issue_cert("service-accounts.test")
        signing.private_key_pem.write_to_path(str(self.folder / "service-accounts.key"))
        users = [f'{token_of(user)},{user},{user},"{group}"' for user, group in self.users.items()]
        (self.folder / "tokens.csv").write_text("\n".join(users), encoding="utf-8")
        (self.folder / "audit-policy.yaml").write_text(json.dumps(self.audited), encoding="utf-8")

    def _etcd_flags(self) -> list[str]:
        client, peer = f"http://127.0.0.1:{self._etcd}", f"http://127.0.0.1:{self._peer}"
        return [
            f"--data-dir={self.folder / 'etcd'}",
            f"--listen-client-urls={client}",
            f"--advertise-client-urls={client}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=default={peer}",
            "--unsafe-no-fsync",
        ]

    def _server_flags(self) -> list[str]:
        accounts = self.folder / "service-accounts.key"
        return [
            f"--etcd-servers=http://127.0.0.1:{self._etcd}",
            f"--secure-port={self.port}",
            "--bind-address=127.0.0.1",
            "--advertise-address=127.0.0.1",
            "--endpoint-reconciler-type=none",
            "--service-cluster-ip-range=10.0.0.0/24",
            f"--tls-cert-file={self.folder / 'server.pem'}",
            f"--tls-private-key-file={self.folder / 'server.key'}",
            f"--cert-dir={self.folder}",
            "--authorization-mode=RBAC",
            "--disable-admission-plugins=ServiceAccount",
            f"--token-auth-file={self.folder / 'tokens.csv'}",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={accounts}",
            f"--service-account-signing-key-file={accounts}",
            f"--audit-policy-file={self.folder / 'audit-policy.yaml'}",
            f"--audit-log-path={self.audit_log}",
            # By default the log is moved away at 100 MB, and what a test did before would be gone.
            "--audit-log-maxsize=0",
            GATES,
        ]

    def _answers(self) -> bool:
        try:
            return self.admin.call("GET", "/readyz", timeout=5).ok
        except OSError:
            return False

    def _until(self, name: str, done: Callable[[], Any]) -> None:
        ends = time.monotonic() + READY_WITHIN
        while not done():
            self.check()
            if time.monotonic() > ends:
                log = self.folder / f"{name}.log"
                raise ControlPlaneError(f"{name} was not ready within {READY_WITHIN:.0f} s, see {log}")
            time.sleep(0.1)


def token_of(user: str) -> str:
    return f"{user}-of-a-test"
