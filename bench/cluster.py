"""Compares hypot and the HPA controller on the same objects of a real API server: requests, processor time, memory.

They run one after the other, with a period of 15 s: first while nothing changes, then while some workloads need more
pods in each reconcile. After that, webhook.py measures how long new pods wait for their size. The binaries of the
control plane come from `tests/cluster/plane/binaries.py`. With `--write` the table goes into docs/results.md.
"""

import argparse
import json
import math
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# `cluster` is the package of the tests, not this file.
sys.path[0] = str(ROOT / "tests")
from cluster.plane.binaries import ensure, version  # noqa: E402
from cluster.plane.controlplane import HPA_CONTROLLER  # noqa: E402
from cluster.plane.waiting import eventually  # noqa: E402
from cluster.running.controller import Controller  # noqa: E402
from cluster.running.many import remembering  # noqa: E402

sys.path.append(str(ROOT / "bench"))
from cluster_measure import Cost, Meter, allow, bursts, count_flow, memory_mb  # noqa: E402
from cluster_world import GROUP, GROWN, PODS_EACH, Fleet, Metrics, QuietPlane, Workload  # noqa: E402

PERIOD = 15.0
RESULTS = ROOT / "docs" / "results.md"
BEGIN, END = "<!-- bench-cluster -->\n", "<!-- end of bench-cluster -->\n"
HPA_FLAGS = ("--kube-api-qps=2000", "--kube-api-burst=2000", "--concurrent-horizontal-pod-autoscaler-syncs=5")
KINDS = {"HorizontalPodAutoscaler": "act", "WatermarkPodAutoscaler": "off", "Hvpa": "off"}
# Runs a command, and then prints the memory that it took.
_MEASURED = """
import resource, subprocess, sys
status = subprocess.run(sys.argv[1:]).returncode
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)
sys.exit(status)
"""


@dataclass(frozen=True)
class Figures:
    """The measurements of one controller."""

    name: str
    steady: Cost
    changing: Cost
    # How long a reconcile took: the median and the slowest.
    seconds: float
    slowest: float
    memory: float
    moved: int


class Bench:
    """One control plane, one fleet, one controller at a time."""

    def __init__(self, plane: QuietPlane, arguments: argparse.Namespace) -> None:
        self.plane, self.reconciles, self.warm_up = plane, arguments.reconciles, arguments.warm_up
        self.fleet = Fleet(plane.admin, arguments.autoscalers)
        self.metrics = Metrics(plane, self.fleet.workloads)
        # How many workloads change in each reconcile.
        self.share = max(1, round(arguments.autoscalers * arguments.changing / 100))
        self.grown: list[Workload] = []

    def prepare(self) -> None:
        allow(self.plane.admin, GROUP)
        for user in ("hypot", "controllers"):
            count_flow(self.plane.admin, user)
        self.metrics.start()
        self.metrics.register(self.plane.admin)
        self.plane.admin.create("/api/v1/namespaces", {"metadata": {"name": "hypot-system"}})
        began = time.monotonic()
        self.fleet.create()
        reported(f"made {len(self.fleet.workloads)} workloads with {PODS_EACH} pods each", began)

    def hypot(self, name: str) -> Figures:
        """Measure hypot. Its log has the duration of each reconcile; the first one writes every status."""
        remembering(self.plane.admin, "hypot-system")
        self.fleet.add_hpas()
        controller = Controller(self.plane, "hypot", "hypot", kinds=KINDS, settings={"syncPeriod": PERIOD}).start()
        try:
            controller.until_reconciled(within=120)
            first = len(controller.lines("reconciled"))
            steady, changing = self._measure(self._meter("hypot", controller.pid))
            took = [line["seconds"] for line in controller.lines("reconciled")][first:]
            memory = memory_mb(controller.pid)
        finally:
            controller.stop()
        trouble = [line["error"] for line in controller.lines("reconciled") if line["error"]]
        assert not trouble, trouble
        return Figures(name, steady, changing, statistics.median(took), max(took), memory, self._moved())

    def hpa_controller(self, name: str) -> Figures:
        """Measure the HPA controller. It reports no durations, so its metric queries show how long it works."""
        self.fleet.remove_hpas()
        self.fleet.put_back(self.grown)
        for each in self.grown:
            self.metrics.use(each, round(GROWN / 1.3))
        self.grown.clear()
        self.fleet.add_hpas()
        self.plane.start_controllers(*HPA_FLAGS, names=(HPA_CONTROLLER,))
        try:
            pid = eventually(self._manager, 30)
            self.metrics.asked.clear()
            eventually(lambda: len(self.metrics.asked) >= len(self.fleet.workloads), 240)
            steady, changing = self._measure(self._meter("controllers", pid))
            took = list(bursts(self.metrics.asked))
            memory = memory_mb(pid)
        finally:
            self.plane.stop_controllers()
        return Figures(name, steady, changing, statistics.median(took), max(took), memory, self._moved())

    def _manager(self) -> int | None:
        with suppress(OSError, IndexError):
            return self.plane.part("kube-controller-manager").pid
        return None

    def _meter(self, user: str, pid: int) -> Meter:
        return Meter(self.plane.admin, user, pid, self.plane.part("kube-apiserver").pid)

    def _measure(self, meter: Meter) -> tuple[Cost, Cost]:
        """The cost while steady, then while changing; over whole periods, so that each reconcile counts once."""
        time.sleep(self.warm_up * PERIOD)
        self.metrics.asked.clear()
        began = meter.read()
        time.sleep(self.reconciles * PERIOD)
        between = meter.read()
        for _ in range(self.reconciles):
            self._grow()
            time.sleep(PERIOD)
        return Cost.between(began, between, PERIOD), Cost.between(between, meter.read(), PERIOD)

    def _grow(self) -> None:
        """Let the next few workloads need two more pods each; the step spreads them over all namespaces."""
        there = self.fleet.workloads
        step = next(number for number in range(len(there) * 7 // 10, 10**9) if math.gcd(number, len(there)) == 1)
        chosen = [there[(len(self.grown) + number) * step % len(there)] for number in range(self.share)]
        for each in chosen:
            self.metrics.use(each, GROWN)
        self.grown += chosen

    def _moved(self) -> int:
        return sum(count != PODS_EACH for count in self.fleet.replicas().values())


def reported(what: str, since: float) -> None:
    print(f"{what}: {time.monotonic() - since:.1f} s", flush=True)


def table(ours: Figures, theirs: Figures) -> str:
    """Both side by side, with their ratio."""
    rows = [
        ("requests per reconcile, steady", ours.steady.requests, theirs.steady.requests, "1/50"),
        ("requests per reconcile, changing", ours.changing.requests, theirs.changing.requests, ""),
        ("controller, CPU s per reconcile, steady", ours.steady.controller, theirs.steady.controller, "1/4"),
        ("controller, CPU s per reconcile, changing", ours.changing.controller, theirs.changing.controller, "1/4"),
        ("API server, CPU s per reconcile, steady", ours.steady.server, theirs.steady.server, ""),
        ("API server, CPU s per reconcile, changing", ours.changing.server, theirs.changing.server, ""),
        ("reconcile s, median", ours.seconds, theirs.seconds, "3 s"),
        ("reconcile s, slowest", ours.slowest, theirs.slowest, "3 s"),
        ("resident MB, at most", ours.memory, theirs.memory, "300 MB"),
        ("workloads that were scaled", ours.moved, theirs.moved, ""),
    ]
    lines = ["| | hypot | HPA controller | share | bar |", "| --- | --- | --- | --- | --- |"]
    return "\n".join([*lines, *[_row(*row) for row in rows]])


def _row(what: str, one: float, other: float, bar: str) -> str:
    share = f"1/{other / one:.1f}" if 0 < one < other else f"{one / other:.1f}" if other else ""
    return f"| {what} | {_shown(one)} | {_shown(other)} | {share} | {bar} |"


def _shown(number: float) -> str:
    return f"{number:.2f}" if number < 10 else f"{number:,.0f}"


def page(arguments: argparse.Namespace, written: str) -> str:
    """The part of docs/results.md that this benchmark writes."""
    pods = arguments.autoscalers * PODS_EACH
    return f"""## On a real API server

`make bench-cluster`: {arguments.autoscalers:,} HorizontalPodAutoscalers and {pods:,} pods on Kubernetes {version()},
{os.cpu_count()} cores ({platform.machine()}) for everything together. hypot, with HPAs switched on, and the HPA
controller, with `--kube-api-qps` and `--kube-api-burst` at 2000, ran one after the other: {arguments.reconciles}
reconciles of 15 s each while nothing changed, and {arguments.reconciles} while {arguments.changing:g} % of the
workloads needed more pods in each. A reconcile of the HPA controller lasts from its first usage query to its last.

{written}
"""


def reading(kubeconfig: Path) -> str:
    """How long `hypot decide --live -A` takes for all of it, and its memory."""
    run = [sys.executable, "-m", "hypot", "decide", "--live", "-A", "-o", "json"]
    environment = {**os.environ, "KUBECONFIG": str(kubeconfig)}
    began = time.monotonic()
    done = subprocess.run([sys.executable, "-c", _MEASURED, *run], capture_output=True, env=environment, check=True)
    seconds = time.monotonic() - began
    decided, (*notes, resident) = len(json.loads(done.stdout)["decisions"]), done.stderr.decode().splitlines()
    return (
        f"`hypot decide --live -A` reads and decides {decided:,} autoscalers in {seconds:.1f} s (bar 10 s), with at\n"
        f"most {int(resident) / 1024:.0f} MB resident (bar 300 MB): {'; '.join(notes)}.\n"
    )


def waiting() -> str:
    """How long new pods wait for their size; run separately, because it has its own client process."""
    command = [sys.executable, str(ROOT / "bench" / "webhook.py")]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


def write(text: str) -> None:
    before, _, rest = RESULTS.read_text(encoding="utf-8").partition(BEGIN)
    RESULTS.write_text(f"{before.rstrip()}\n\n{BEGIN}{text}{END}{rest.partition(END)[2]}", encoding="utf-8")


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--autoscalers", type=int, default=2000, help="number of autoscalers, with five pods each")
    parser.add_argument("--reconciles", type=int, default=4, help="measured reconciles, steady and changing each")
    parser.add_argument("--warm-up", type=int, default=2, help="reconciles that are not measured")
    parser.add_argument(
        "--changing", type=float, default=5.0, help="percent of the workloads that change in each reconcile"
    )
    parser.add_argument("--write", action="store_true", help="write the table to docs/results.md")
    return parser.parse_args()


def main() -> None:
    arguments, began = parsed(), time.monotonic()
    folder = Path(tempfile.mkdtemp(prefix="hypot-bench-"))
    plane = QuietPlane(ensure(), folder)
    try:
        plane.start()
        bench = Bench(plane, arguments)
        bench.prepare()
        ours = bench.hypot("hypot")
        reported("hypot", began)
        live = reading(plane.kubeconfig("hypot"))
        theirs = bench.hpa_controller("HPA controller")
        reported("the HPA controller", began)
        bench.metrics.stop()
    finally:
        plane.stop()
        shutil.rmtree(folder, ignore_errors=True)
    text = f"{page(arguments, table(ours, theirs))}\n{live}\n{waiting()}"
    print(text)
    if arguments.write:
        write(text)


if __name__ == "__main__":
    main()
