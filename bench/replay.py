"""Prints the speed of a replay with both engines, from trace to scores, and the memory of a large fleet."""

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import yaml

from hypot.kinds.hpa import HPA
from hypot.kinds.hvpa import Hvpa
from hypot.kinds.tortoise import Tortoise
from hypot.kinds.vpa import VPA
from hypot.kinds.wpa import WPA
from hypot.policy.model.settings import Settings
from hypot.replay.engine.demand import Load
from hypot.replay.engine.engine import replay
from hypot.replay.policies.policy import Policy, Start
from hypot.replay.score.scores import score
from hypot.replay.world.parameters import Demand, Metrics, World

DAYS, TICK, ROUNDS, WORKLOADS = 28, 15.0, 3, 1000
START = Start("web", 2, "shop", 1000, 2**30, 1200, 2 * 2**30)
TARGET = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
BEHAVIOR = {
    "scaleUp": {"policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}]},
    "scaleDown": {
        "stabilizationWindowSeconds": 300,
        "policies": [{"type": "Percent", "value": 50, "periodSeconds": 60}],
    },
}
CPU = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 70}}}
MEMORY = {
    "type": "Resource",
    "resource": {"name": "memory", "target": {"type": "Utilization", "averageUtilization": 80}},
}
RATE = {
    "type": "External",
    "external": {"metric": {"name": "rate"}, "target": {"type": "AverageValue", "averageValue": "60"}},
}
BAND = {
    "type": "Resource",
    "resource": {"name": "cpu", "metricSelector": {}, "highWatermark": "800m", "lowWatermark": "500m"},
}
ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "examples/replay/policies.yaml"
# Every kind, alone and in pairs.
ALL_KINDS = ROOT / "docs/results/policies.yaml"


class Tried(NamedTuple):
    """A policy, its world, and the required speed in million ticks per second."""

    autoscalers: tuple[Any, ...]
    world: World
    bar: float


def hpa(*metrics: dict[str, Any]) -> HPA:
    spec = {"scaleTargetRef": TARGET, "minReplicas": 2, "maxReplicas": 100, "metrics": [*metrics], "behavior": BEHAVIOR}
    return HPA.from_dict({"metadata": {"name": "web"}, "spec": spec})


def wpa() -> WPA:
    spec = {"scaleTargetRef": TARGET, "minReplicas": 2, "maxReplicas": 100, "algorithm": "average", "metrics": [BAND]}
    return WPA.from_dict({"metadata": {"name": "web"}, "spec": spec})


def hvpa() -> Hvpa:
    """The Hvpa of the example."""
    written = yaml.safe_load_all(EXAMPLE.read_text())
    return Hvpa.from_dict(next(one for one in written if one and one["kind"] == Hvpa.KIND))


def tortoise() -> Tortoise:
    """With cpu by replicas and memory by size, and the HPA that it makes."""
    spec = {"updateMode": "Auto", "targetRefs": {"scaleTargetRef": TARGET}}
    return Tortoise.from_dict({"metadata": {"name": "web"}, "spec": spec})


def tried() -> dict[str, Tried]:
    world = replace(World(), tick=60.0, metrics=Metrics(names={"rate": "requests"}))
    noisy = replace(world, demand=Demand(noise=0.1, drops_per_day=1.0))
    return {
        "HPA with behavior": Tried((hpa(CPU),), world, 10.0),
        "watermarks": Tried((wpa(),), world, 10.0),
        "HPA, memory and noise": Tried((hpa(CPU, MEMORY),), noisy, 6.0),
        "HPA by rate and VPA": Tried((hpa(RATE), VPA("deployment/web", mode="InPlaceOrRecreate")), world, 5.0),
        "Hvpa": Tried((hvpa(),), world, 5.0),
        "Tortoise": Tried((tortoise(),), world, 1.25),
    }


def load() -> Load:
    """Four weeks of demand with daily and weekly cycles and noise."""
    count = int(DAYS * 86400 / TICK)
    at = TICK * np.arange(count)
    rng = np.random.default_rng(1)
    work = 6 - 4 * np.cos(2 * np.pi * at / 86400) - np.cos(2 * np.pi * at / 604800)
    return Load(1.7e9, work * rng.lognormal(0, 0.03, count), np.ones(count), np.zeros(count))


def plain_figures() -> None:
    """One workload; processor time of this process only."""
    demand, each = load(), dict[str, float]()
    for name, one in tried().items():
        world, took = replace(one.world, tick=TICK), []
        for _ in range(ROUNDS if one.bar == 10.0 else 1):
            began = time.process_time()
            score(replay(Policy(name, one.autoscalers, START), "web", demand, world, Settings()))
            took.append(time.process_time() - began)
        ticks, middle = len(demand.work), statistics.median(took)
        each[name] = middle
        bar = " (bar: 4 s)" if name == "HPA with behavior" else ""
        print(f"plain engine, {name}, {DAYS} days at {TICK:g} s: {middle:.2f} s, {ticks / middle:,.0f} ticks/s{bar}")
    print_ratio("plain", each)


def print_ratio(engine: str, took: dict[str, float]) -> None:
    """A Tortoise next to an Hvpa with both axes, on the same trace in the same run."""
    print(f"{engine} engine: a Tortoise takes {took['Tortoise'] / took['Hvpa']:.1f} times an Hvpa (bar: 4)")


def start_figures() -> None:
    """The command on one workload: the first time, with an empty cache, and after that; without a Tortoise and with."""
    with tempfile.TemporaryDirectory() as folder:
        trace, world, learning = (Path(folder) / name for name in ("trace.csv", "world.yaml", "tortoise.yaml"))
        work = load().work
        rows = "".join(f"{int(1.7e9 + TICK * i)},{100 * value:.3f}\n" for i, value in enumerate(work))
        trace.write_text("timestamp,value\n" + rows)
        names = "metrics: {names: {http_requests_per_second: requests}}"
        world.write_text(f"tick: {TICK:g}s\ndemand: {{peak: 12}}\n{names}\n")
        learning.write_text(yaml.safe_dump(tortoise().to_dict()))
        command = ["replay", str(trace), "-f", str(ALL_KINDS), "--world", str(world), "--engine", "fleet"]
        first, later = "first, compiles all kinds", ["from its cache"] * ROUNDS
        start("all kinds but a Tortoise", command, Path(folder) / "without", [first])
        start("all kinds", [*command, "-f", str(learning)], Path(folder) / "with", [first, *later])


def start(which: str, command: list[str], cache: Path, times: list[str]) -> None:
    code = "from hypot.cli.main import main; main()"
    for when in times:
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        environment = {**os.environ, "XDG_CACHE_HOME": str(cache)}
        given = [sys.executable, "-c", code, *command]
        subprocess.run(given, env=environment, stdout=subprocess.DEVNULL, check=True)
        wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
        used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        print(f"hypot replay --engine fleet, {which}, {when}: {used:.2f} s of processor time, {wall:.2f} s")


def fleet_figures() -> None:
    """Many workloads on all cores, from trace to scores, as the command runs them."""
    from hypot.replay.fleet import fleet  # noqa: PLC0415  what is measured
    from hypot.replay.jobs.job_queue import JobQueue, TraceJobs  # noqa: PLC0415
    from hypot.replay.jobs.work import work  # noqa: PLC0415
    from hypot.replay.traces.trace import Trace  # noqa: PLC0415

    times = 60.0 * np.arange(DAYS * 1440 + 1)
    ticks, each = WORKLOADS * (len(times) - 1), dict[str, float]()
    # One day longer than the replay: each workload begins at another minute of that day.
    longer = 300 - 200 * np.cos(2 * np.pi * np.arange(len(times) + 1440) / 1440)
    for name, one in tried().items():
        policy = Policy(name, one.autoscalers, START)
        loops = fleet.loops_of([policy], one.world, Settings())
        began, there = time.perf_counter(), fleet.is_compiled(loops)
        fleet.warm(loops)
        ready = time.perf_counter() - began
        traces = (
            Trace(f"w{i}", times, longer[17 * i % 1440 :][: len(times)], None, "requests", "bench")
            for i in range(WORKLOADS)
        )
        wanted = (TraceJobs(trace, [policy], one.world) for trace in traces)
        queue, began, done = JobQueue(Settings(), compiled=True), time.perf_counter(), []
        for place, judged in work(queue.jobs(wanted), ticks):
            queue.enter(place, judged)
            done.append(time.perf_counter())
        part = WORKLOADS // 10
        rates = [part * (len(times) - 1) / (end - start) / 1e6 for start, end in pairwise(done[part - 1 :: part])]
        each[name] = 1.0 / statistics.median(rates)
        how = "from its cache" if there else "compiled (bar: 30 s)"
        print(
            f"fleet engine, {name}, {len(queue.comparisons())} workloads, {DAYS} days at 60 s: "
            f"{ticks / (done[-1] - began) / 1e6:.2f} million ticks/s including process start; per tenth of the work "
            f"the median is {statistics.median(rates):.2f}, the best {max(rates):.2f} (bar: {one.bar:g}); "
            f"ready after {ready:.1f} s, {how}"
        )
    print_ratio("fleet", each)
    own, others = (resource.getrusage(who).ru_maxrss / 1024 for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    print(f"peak memory: {own:.0f} MB in this process, {others:.0f} MB in the largest worker process")


if __name__ == "__main__":
    plain_figures()
    start_figures()
    fleet_figures()
