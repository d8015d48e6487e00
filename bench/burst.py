"""Creates thousands of autoscalers at once on a real API server and deletes them: how long reconciles take.

Also prints the slowest answer of /healthz, and how long it takes until every object has a status. The objects are of
all four kinds, and their workloads have no pods. `--src` measures another checkout, to compare.
"""

import argparse
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
# `cluster` is the package of the tests, not cluster.py.
sys.path[0] = str(ROOT / "tests")
from cluster.plane.binaries import ensure  # noqa: E402
from cluster.plane.waiting import eventually  # noqa: E402
from cluster.running.controller import Controller  # noqa: E402
from cluster.running.many import remembering  # noqa: E402
from cluster.running.shapes import HVPA, VPA, WPA, both_axes, sizer, watermarks  # noqa: E402
from cluster.running.stage import PATHS, install_definitions  # noqa: E402

sys.path.append(str(ROOT / "bench"))
from cluster_measure import allow, count_flow  # noqa: E402
from cluster_world import GROUP, QuietPlane, Workload  # noqa: E402

Object = dict[str, Any]
PERIOD = 15.0
WRITERS = 24
HPA = ("HorizontalPodAutoscaler", "autoscaling/v2")
SPECS: dict[tuple[str, str], Object] = {
    HPA: Workload(0).hpa()["spec"],
    WPA: watermarks(),
    VPA: sizer("Recreate"),
    HVPA: both_axes(),
}


class Burst:
    """One control plane, one controller, and so many workloads with one autoscaler each."""

    def __init__(self, plane: QuietPlane, count: int) -> None:
        self.api = plane.admin
        self.workloads = [Workload(number) for number in range(count)]
        self.controller = Controller(
            plane, "hypot", "hypot", kinds={kind: "act" for kind, _ in SPECS}, settings={"syncPeriod": PERIOD}
        )
        self.probes: list[tuple[float, int]] = []
        self._ends = threading.Event()

    def prepare(self) -> None:
        allow(self.api, GROUP)
        count_flow(self.api, "hypot")
        install_definitions(self.api)
        for space in dict.fromkeys(["hypot-system", *[each.namespace for each in self.workloads]]):
            self.api.create("/api/v1/namespaces", {"metadata": {"name": space}})
        self._all(lambda each: self.api.create(PATHS["Deployment"].format(each.namespace), _deployment(each)))
        remembering(self.api, "hypot-system")

    def create(self) -> None:
        self._all(lambda each: self.api.create(_path(each), _autoscaler(each)))

    def delete(self) -> None:
        self._all(lambda each: self.api.delete(f"{_path(each)}/{each.name}"))

    def are_reported(self) -> bool:
        return all(each.get("status", {}).get("conditions") for each in self._listed())

    def _listed(self) -> Iterable[Object]:
        for kind, _ in SPECS:
            yield from self.api.get(PATHS[kind].format("x").replace("/namespaces/x", ""), timeout=60)["items"]

    def _all(self, action: Callable[[Workload], Any]) -> None:
        with ThreadPoolExecutor(WRITERS) as pool:
            for _ in pool.map(action, self.workloads):
                pass

    def probe(self) -> None:
        """Ask /healthz as a kubelet does, but more often."""
        while not self._ends.wait(0.2):
            began = time.monotonic()
            try:
                status = self.controller.get("/healthz")[0]
            except OSError:
                status = 0
            self.probes.append((time.monotonic() - began, status))

    def measured(self, what: str, action: Callable[[], None], is_done: Callable[[], bool]) -> str:
        """One row: the reconciles from the start of the action until all is done, and two more."""
        first, began = len(self.controller.lines("reconciled")), time.monotonic()
        self.probes.clear()
        action()
        took = time.monotonic() - began
        eventually(is_done, 600)
        until = time.monotonic() - began
        self.controller.until_reconciled(2, 300)
        seconds = [line["seconds"] for line in self.controller.lines("reconciled")[first:]]
        slowest, failed = max(wait for wait, _ in self.probes), sum(status != 200 for _, status in self.probes)
        return (
            f"| {what} | {took:.0f} s | {until:.0f} s | {len(seconds)} | {max(seconds):.1f} s | {slowest:.2f} s |"
            f" {failed} of {len(self.probes)} |"
        )

    def run(self) -> list[str]:
        self.controller.start()
        probing = threading.Thread(target=self.probe, daemon=True)
        try:
            self.controller.until_reconciled(within=120)
            probing.start()
            rows = [
                self.measured("create", self.create, self.are_reported),
                self.measured("delete", self.delete, lambda: not list(self._listed())),
            ]
        finally:
            self._ends.set()
            self.controller.stop()
        return rows


def _kind(workload: Workload) -> tuple[str, str]:
    return list(SPECS)[workload.number % len(SPECS)]


def _path(workload: Workload) -> str:
    return PATHS[_kind(workload)[0]].format(workload.namespace)


def _deployment(workload: Workload) -> Object:
    made = workload.deployment()
    return {**made, "spec": {**made["spec"], "replicas": 2}}


def _autoscaler(workload: Workload) -> Object:
    kind, version = _kind(workload)
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": workload.name}
    key = "targetRef" if kind in {VPA[0], HVPA[0]} else "scaleTargetRef"
    spec = {**SPECS[kind, version], key: target}
    return {"apiVersion": version, "kind": kind, "metadata": {"name": workload.name}, "spec": spec}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--objects", type=int, default=3000, help="how many autoscalers are created and deleted")
    parser.add_argument("--src", type=Path, default=ROOT / "src", help="the source of the hypot to measure")
    arguments = parser.parse_args()
    # The controller is a process that gets this path.
    sys.path.insert(0, str(arguments.src))
    folder = Path(tempfile.mkdtemp(prefix="hypot-bench-"))
    plane = QuietPlane(ensure(), folder)
    try:
        plane.start()
        burst = Burst(plane, arguments.objects)
        burst.prepare()
        rows = burst.run()
    finally:
        plane.stop()
        shutil.rmtree(folder, ignore_errors=True)
    columns = (
        f"{arguments.objects:,} objects",
        "sent within",
        "all reported or gone after",
        "reconciles",
        "slowest",
        "slowest /healthz",
        "failed probes",
    )
    print(f"| {' | '.join(columns)} |", f"|{' --- |' * len(columns)}", *rows, sep="\n")


if __name__ == "__main__":
    main()
