"""A made-up week of a shop under five policies, plausible enough to look at. No engine is used.

As a script it writes the report and the figures: `python tests/replay_week.py FOLDER`.
"""

import sys
from functools import lru_cache
from math import ceil, exp, floor, log
from pathlib import Path
from typing import NamedTuple

import numpy as np

from hypot.core.axes.interval import LINEAR, Given, effective
from hypot.face.replay.scores import shapes_as_text
from hypot.face.replay.value import ReplayReport
from hypot.policy.model.decision import Decision, Name, Step
from hypot.policy.model.size import Size
from hypot.replay.score.needed import cost_of_sums, needed, static_peak
from hypot.replay.score.scorecard import Scores
from hypot.replay.world.parameters import Shapes, World
from hypot.replay.world.record import Moment, Run, Ticks, Watch

MONDAY = 1772409600.0  # 2026-03-02, midnight in UTC
GIB = 2.0**30
WORLD = World(tick=60.0, shapes=Shapes(min_cpu=0.5, max_cpu=4.0, max_memory=4 * 2**30))
INTERVALS = effective([Given(2, 1000, LINEAR), Given(4, 2000, LINEAR), Given(8, 4000, LINEAR)], 2, 250, 0, 25)
POLICIES = ("HPA 70 %", "HPA + VPA", "watermark 50 to 80 %", "Hvpa, intervals", "static")
EVIL = "</script><script>alert(1)</script><a href='http://example.com'>$x$"


class Shape(NamedTuple):
    replicas: int
    cpu: float
    memory: float = GIB


def load(days: int, tick: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The times, the work, and how much of it a core does."""
    at = MONDAY + np.arange(int(days * 86400 / tick)) * tick
    hour = (at - MONDAY) / 3600.0
    daily = (
        0.55
        + 0.45 * np.sin((hour % 24.0 - 9.0) / 24.0 * 2.0 * np.pi)
        + 0.2 * np.exp(-(((hour % 24.0) - 20.0) ** 2) / 4.0)
    )
    weekly = 1.0 + 0.15 * ((hour // 24.0) % 7.0 >= 5.0)
    sale = 2.6 * np.exp(-np.abs(hour - 85.0) / 1.2) * (hour >= 85.0)
    noise = np.exp(0.06 * np.random.default_rng(5).standard_normal(len(at)))
    efficiency = np.where((hour > 58.0) & (hour < 60.0), 0.6, 1.0)
    return at, (0.6 + 6.0 * daily * weekly + 5.0 * sale) * noise, efficiency


class ScalingRules:
    """The state of one made-up policy, and the decisions that it makes."""

    def __init__(self, policy: str) -> None:
        self.policy, self.shape = policy, Shape(12, 1.0) if policy == "static" else Shape(4, 1.0)
        self.moments: list[Moment] = []
        self.asked: list[int] = []
        self.up_until = self.down_until = 0.0
        self.seen: list[float] = []

    def next(self, at: float, used: float, use: float) -> Shape:
        """The shape after this tick; `use` is the used share of the requests."""
        self.seen.append(used)
        count, cpu, memory, message = self.shape.replicas, self.shape.cpu, self.shape.memory, ""
        if self.policy == "HPA 70 %":
            count, message = self.ratio(use, 0.7)
        elif self.policy == "HPA + VPA":
            count, message = self.ratio(use, 0.75)
            if at % 21600 == 0 and len(self.seen) > 300:
                size = round(1.15 * float(np.quantile(self.seen[-1440:], 0.95)) / max(self.shape.replicas, 1), 2)
                cpu, memory, message = min(max(size, 0.4), 4.0), (0.8 + 0.2 * (at % 7)) * GIB, "VPA moves its target"
        elif self.policy.startswith("watermark"):
            count, message = self.marks(at, use)
        elif self.policy.startswith("Hvpa") and at % 300 == 0:
            count, cpu, message = self.by_total(used / 0.75)
        made = Shape(min(max(count, 2), 40), cpu, memory)
        if made != self.shape:
            self.moments.append(Moment(at, reported(self.policy, at, self.shape, made, message, use)))
        self.shape = made
        return made

    def ratio(self, use: float, target: float) -> tuple[int, str]:
        count = self.shape.replicas
        wished = count if abs(use / target - 1.0) <= 0.1 else ceil(count * use / target)
        self.asked = [*self.asked[-4:], wished]
        return max(self.asked), "cpu resource utilization (percentage of request) above target"

    def marks(self, at: float, use: float) -> tuple[int, str]:
        count = self.shape.replicas
        if use > 0.8 and at >= self.up_until:
            self.up_until, self.down_until = at + 180, at + 900
            return ceil(count * use / 0.8), "the value is above the high mark"
        if use < 0.5 and at >= self.down_until and count > 2:
            self.up_until, self.down_until = at + 60, at + 900
            return max(floor(count * use / 0.5), ceil(count * 0.8), 2), "the value is below the low mark"
        return count, ""

    def by_total(self, total: float) -> tuple[int, float, str]:
        milli = int(total * 1000)
        holds = [one for one in INTERVALS if one.replicas == self.shape.replicas and one.holds(milli)]
        fits = [one for one in INTERVALS if milli <= one.high] or [INTERVALS[-1]]
        count = (holds or fits)[0].replicas
        size = round(max(total / count, 0.5), 2)
        same = count == self.shape.replicas and abs(log(size / self.shape.cpu)) < 0.15
        return (count, self.shape.cpu if same else size, "" if same else "the total left its interval")


def reported(policy: str, at: float, old: Shape, new: Shape, message: str, use: float) -> Decision:
    sizes = [Size("app", {"cpu": int(one.cpu * 1000), "memory": int(one.memory)}) for one in (old, new)]
    steps = (
        Step(
            "recommend",
            "ratio",
            old.replicas,
            new.replicas,
            f"cpu is at {use:.0%} of its requests: proposes {new.replicas}.",
        ),
        Step("restrain", "bounds", new.replicas, new.replicas, f"{new.replicas} is within 2 to 40."),
    )
    kind = "HorizontalPodAutoscaler" if policy.startswith("HPA") else "Hvpa"
    name, target = Name("", kind, "shop", "web"), Name("apps/v1", "Deployment", "shop", "web")
    return Decision(
        name, target, at, old.replicas, new.replicas, message, steps, (), (), sizes=sizes[:1], desired_sizes=sizes[1:]
    )


def run_of(policy: str, days: int = 7, world: World = WORLD) -> Run:
    at, work, efficiency = load(days, world.tick)
    pace, rows, backlog, ready, watched = ScalingRules(policy), [], 0.0, 4.0, []
    shape = pace.shape
    for i, now in enumerate(at):
        ready = min(shape.replicas, ready + 1.0) if ready < shape.replicas else float(shape.replicas)
        offered = work[i] / efficiency[i] + 0.05 * ready
        cap = 1.2 * shape.cpu * ready
        rho = offered / cap + backlog / (50.0 * cap * world.tick)
        used = min(offered + backlog / (50.0 * world.tick), cap)
        backlog = max(backlog + (offered - cap) * 50.0 * world.tick, 0.0)
        lost, backlog = max(backlog - 500.0, 0.0), min(backlog, 500.0)
        late = 1.0 if rho >= 1.0 else exp(-8.0 * (1.0 - rho) * shape.cpu * ready)
        latency = 0.02 + 0.012 * max(rho, 0.0) / max(1.0 - rho, 0.01) / max(shape.cpu * ready, 1.0)
        resized = bool(pace.moments) and pace.moments[-1].at == now - world.tick and policy == "HPA + VPA"
        evicted = shape.replicas if resized and now % 21600 == world.tick else 0.0
        killed = 1.0 if policy == "HPA + VPA" and i % 1777 == 1200 else 0.0
        use = used / (shape.cpu * ready)
        before, marks = shape, (pace.up_until, pace.down_until)
        shape = pace.next(float(now), used, use)
        proposal = ceil(before.replicas * use / 0.8) if use > 0.8 else before.replicas
        proposal = max(floor(before.replicas * use / 0.5), 1) if use < 0.5 else proposal
        watched.append((use * 100.0, proposal, shape.replicas, max(marks[0] - now, 0.0), max(marks[1] - now, 0.0)))
        requests = work[i] * 50.0
        asked = [shape.replicas, shape.cpu, shape.memory]
        there = [shape.replicas, ready, *(count * size for count in (shape.replicas, ready) for size in shape[1:])]
        busy = [used, 0.4 * GIB * ready, ready if rho >= 0.99 else 0.0, cap]
        felt = [requests * world.tick - lost, lost, lost, backlog, late, latency, latency * 4.6 + backlog / 50.0 / cap]
        rows.append([now, work[i], efficiency[i], requests, *asked, *there, *busy, *felt, evicted, killed, 3.0])
    ticks = Ticks(*np.array(rows).T)
    watch = watch_of(at, np.array(watched).T) if policy.startswith("watermark") else None
    notes = ("3 gaps of the trace were filled with the value before.",) if policy == "HPA 70 %" else ()
    return Run(policy, "shop/web", world, ticks, tuple(pace.moments), watch, notes)


def watch_of(at: np.ndarray, columns: np.ndarray) -> Watch:
    value, proposal, effect, up, down = columns
    return Watch("cpu, % of requests", at, value, at * 0 + 80.0, at * 0 + 50.0, proposal, effect, up, down)


def scores_of(run: Run, peak_cost: float) -> Scores:
    """Scores that are close enough for a table."""
    ticks, days = run.ticks, len(run.ticks.at) * run.world.tick / 86400.0
    cost = cost_of_sums(ticks.cpu.sum(), ticks.memory.sum(), run.world)
    lost = 100.0 * float(ticks.lost.sum() / (ticks.lost + ticks.served).sum())
    late = 100.0 * float((ticks.late * ticks.requests).sum() / ticks.requests.sum())
    restarts = float(ticks.evicted.sum()) / days
    return Scores(
        cost=cost,
        cpu_hours=float(ticks.cpu.sum()) * run.world.tick / 3600.0,
        to_lower_bound=1.3 * cost / peak_cost + 1.0,
        to_static=cost / peak_cost,
        late=late,
        lost=lost,
        budget=late + lost,
        p99=float(np.quantile(ticks.p99, 0.99)) * 1000.0,
        slack=100.0 * float(1.0 - ticks.used_cpu.sum() / ticks.cpu.sum()),
        replica_changes=float(np.count_nonzero(np.diff(ticks.replicas))) / days,
        size_changes=float(np.count_nonzero(np.diff(ticks.size_cpu))) / days,
        restarts=restarts,
        peak_pods=int(ticks.pods.max()),
        oom_bad=False,
        paradox=0,
        price=cost * (1.0 + (late + lost) / 10.0) + restarts * days * 0.0034,
    )


@lru_cache
def week(days: int = 7) -> ReplayReport:
    runs = tuple([run_of(policy, days) for policy in POLICIES])
    ticks = runs[0].ticks
    need = needed(ticks.work, ticks.efficiency, WORLD)
    peak = static_peak(need, WORLD)
    scores = {run.policy: scores_of(run, peak.cost) for run in runs}
    hours = len(ticks.at) * WORLD.tick / 3600.0
    scores["static peak"] = Scores(
        cost=peak.cost, to_static=1.0, late=0.0, lost=0.0, peak_pods=peak.replicas,
        cpu_hours=peak.replicas * peak.cpu * hours,
    )  # fmt: skip
    settings = {
        "tick": 60.0,
        "seed": 0,
        "service": {"deadline": 0.25, "slo": 0.99, "work": 0.02},
        "shapes": {"minReplicas": 2, "maxReplicas": 1000, "maxCpu": 4.0, "maxMemory": 4 * 2**30},
        "metrics": {"names": {EVIL: "requests"}},
    }
    return ReplayReport(
        "shop/web, 2 to 9 March 2026",
        "Hvpa with intervals is 21 % cheaper than HPA 70 %, and as many requests are in time.",
        scores,
        runs,
        need.demand,
        {"Hvpa, intervals": INTERVALS},
        settings,
        shapes_as_text(WORLD.shapes),
        ("3 gaps of the trace were filled with the value before.",),
    )


def fleet(workloads: int = 40) -> dict[str, dict[str, Scores]]:
    """Scores of many workloads, drawn at random."""
    draw = np.random.default_rng(3)
    base = {"HPA 50 %": 1.58, "HPA 70 %": 1.15, "HPA + VPA": 1.2, "Hvpa": 1.06}
    return {
        f"shop/web-{i}": {
            name: Scores(
                to_lower_bound=cost * float(np.exp(0.15 * draw.standard_normal())),
                to_static=0.4 * cost,
                late=float(0.2 / cost**6 * np.exp(draw.standard_normal())),
                lost=0.0,
                p99=float(120 * np.exp(0.3 * draw.standard_normal())),
                replica_changes=float(draw.integers(10, 90)),
                size_changes=1.0,
                price=cost * float(np.exp(0.2 * draw.standard_normal())),
            )
            for name, cost in base.items()
        }
        | {"static peak": Scores(to_static=1.0, late=0.0, lost=0.0)}
        for i in range(workloads)
    }


if __name__ == "__main__":
    from hypot.face.replay.picture import figures_of, picture
    from hypot.face.replay.report import page

    folder = Path(sys.argv[1])
    (folder / "report.html").write_text(page(week()), encoding="utf-8")
    for figure in figures_of(week()):
        (folder / f"{figure}.png").write_bytes(picture(week(), figure, "png"))
