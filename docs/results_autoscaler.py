"""Writes docs/autoscaler-results.md: Autoscalers against 78 HPAs on every shared trace. `make results` runs it."""

import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from statistics import geometric_mean, median
from typing import Any, NamedTuple

from results import GIVEN, ROOT, TRACES, late, replayed

from hypot.replay.fleet import fleet
from hypot.replay.score.ranking import PolicyPoint, cost_at, front

PAGE = ROOT / "docs" / "autoscaler-results.md"
GRID = ("hpa.cpu=35..95:5", "hpa.down-window=0,60,300", "hpa.tolerance=0.02,0.1")
HPA_70 = "hpa cpu=70 down-window=300 tolerance=0.1"
OURS = {
    "both": "count and size",
    "replicas": "only the count",
    "both-usage": "count and size, without metrics of requests",
    "replicas-usage": "only the count, without metrics of requests",
}
# No forecast can help on this one: bursts end before a pod starts.
BURSTS = "azure_llm_code_rps_1s"
Scores = Mapping[str, Mapping[str, Any]]


class Setting(NamedTuple):
    """A world: what changes in its file and in the pods."""

    name: str
    world: str = ""
    limit: str = "1200m"
    # Whether the HPAs see another world than in the first setting.
    changes_hpas: bool = True


SETTINGS = (
    Setting("as in results.md"),
    Setting("limits equal to requests", limit='"1"'),
    Setting("no resize in place", world="resize: {inPlace: false}\n", changes_hpas=False),
    Setting("full nodes, five minutes for a new one", world="nodes: {start: 2, provisioning: 5m}\nresize: {room: 0}\n"),
)
# The pods of HPAs that may choose their size in hindsight, in cores.
CORES = (1, 2, 4)


class Run(NamedTuple):
    """The scores of the Autoscalers on one trace, and of all HPAs."""

    ours: Scores
    hpas: Scores


class Figures(NamedTuple):
    """Against the HPAs of the same trace: cost over that of one which is as late, price over the best one's."""

    cost: float
    price: float
    late: float
    changes: float


def curve(hpas: Scores) -> list[PolicyPoint]:
    return [PolicyPoint(one["cost"], late(dict(one))) for one in hpas.values()]


def figures(run: Run, policy: str) -> Figures:
    one = run.ours[policy]
    best = min(hpa["price"] for hpa in run.hpas.values())
    changes = one["replica_changes"] + one["size_changes"]
    return Figures(
        one["cost"] / cost_as_late(curve(run.hpas), late(dict(one))), one["price"] / best, late(dict(one)), changes
    )


def cost_as_late(points: list[PolicyPoint], lateness: float) -> float:
    """The cost of HPAs that are as late; beyond the curve, that of its nearer end."""
    cost = cost_at(points, lateness)
    if cost is not None:
        return cost
    kept = [points[int(i)] for i in front({str(i): point for i, point in enumerate(points)})]
    nearest = min(kept, key=lambda point: abs(point.late - lateness))
    return nearest.cost


def runs_of(setting: Setting, traces: list[Path], folder: Path, first: Mapping[str, Run]) -> dict[str, Run]:
    world, ours, hpa = (folder / name for name in ("world.yaml", "autoscaler.yaml", "hpa.yaml"))
    world.write_text(with_late_requests((GIVEN / "world.yaml").read_text("utf-8")) + setting.world, "utf-8")
    for file in (ours, hpa):
        given = (GIVEN / file.name).read_text("utf-8")
        file.write_text(given.replace("cpu: 1200m", f"cpu: {setting.limit}"), "utf-8")
    found = {}
    for trace in traces:
        hpas = replayed(trace, hpa, world, *grid())["scores"] if setting.changes_hpas else first[trace.stem].hpas
        found[trace.stem] = Run(replayed(trace, ours, world)["scores"], only_hpas(hpas))
        print(f"{setting.name}: {trace.stem}", file=sys.stderr, flush=True)  # noqa: T201
    return found


def with_late_requests(world: str) -> str:
    """This world, in which late requests are a metric too."""
    names = "metrics: {names: {http_requests_per_second: requests, late_requests_per_second: late}}"
    return world.replace("metrics: {names: {http_requests_per_second: requests}}", names)


def grid() -> list[str]:
    return [word for axis in GRID for word in ("--grid", axis)]


def only_hpas(scores: Scores) -> Scores:
    return {name: one for name, one in scores.items() if "cpu=" in name}


def of_any_size(runs: Mapping[str, Run], traces: list[Path], folder: Path) -> dict[str, Run]:
    """The same runs against HPAs whose pods have one, two or four cores."""
    found = dict(runs)
    for cores in CORES[1:]:
        hpa = folder / f"hpa-{cores}.yaml"
        text = (GIVEN / "hpa.yaml").read_text("utf-8").replace('cpu: "1"', f'cpu: "{cores}"')
        hpa.write_text(text.replace("cpu: 1200m", f"cpu: {1200 * cores}m"), "utf-8")
        for trace in traces:
            more = only_hpas(replayed(trace, hpa, folder / "world-1.yaml", *grid())["scores"])
            before = found[trace.stem]
            found[trace.stem] = Run(
                before.ours, {**before.hpas, **{f"{cores} {name}": one for name, one in more.items()}}
            )
    return found


def table(runs: Mapping[str, Run]) -> list[str]:
    """Every trace in the first world."""
    heads = ("trace", "hpa-70: late %", *(f"{OURS[name]}: {head}" for name in ("both", "replicas") for head in HEADS))
    lines = [f"| {' | '.join(heads)} |", f"|{' --- |' * len(heads)}"]
    for trace, run in runs.items():
        cells = [f"{late(dict(run.hpas[HPA_70])):.2g}"]
        for policy in ("both", "replicas"):
            one = figures(run, policy)
            cells += [f"{one.cost:.2f}", f"{one.price:.2f}", f"{one.late:.2g}", f"{one.changes:.0f}"]
        lines.append(f"| {trace} | {' | '.join(cells)} |")
    return lines


def changes_of_hpas(runs: Mapping[str, Run]) -> float:
    """How often an HPA at 70 % changes its count in a day, on the median trace."""
    return median(run.hpas[HPA_70]["replica_changes"] for run in runs.values())


HEADS = ("cost", "price", "late %", "changes a day")


def summary(name: str, runs: Mapping[str, Run], policies: tuple[str, ...]) -> list[str]:
    """The means over all traces."""
    lines = []
    for policy in policies:
        all_ = {trace: figures(run, policy) for trace, run in runs.items()}
        usual = [one for trace, one in all_.items() if trace != BURSTS]
        later = sum(
            one.late > max(1.5, 2.0 * late(dict(runs[trace].hpas[HPA_70])))
            for trace, one in all_.items()
            if HPA_70 in runs[trace].hpas
        )
        cells = (
            name,
            OURS[policy],
            f"{geometric_mean([one.cost for one in all_.values()]):.3f}",
            f"{geometric_mean([one.price for one in all_.values()]):.3f}",
            f"{max((one.cost for one in usual), default=0.0):.2f}",
            f"{later}",
            f"{median(one.changes for one in all_.values()):.0f}",
        )
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def main() -> None:
    traces = sorted(TRACES.glob("*.csv"))
    if not traces:
        raise SystemExit(f"no traces in {TRACES}; name the folder in HYPOT_TRACES")
    fleet.warm()
    heads = ("world", "what it sets", "cost", "price", f"worst cost (without {BURSTS})", "too late on", "changes a day")
    means = [f"| {' | '.join(heads)} |", f"|{' --- |' * len(heads)}"]
    first: dict[str, Run] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for setting in SETTINGS:
            runs = runs_of(setting, traces, folder, first)
            means += summary(setting.name, runs, tuple(OURS) if not first else ("both", "replicas"))
            if not first:
                first = runs
                (folder / "world-1.yaml").write_text((folder / "world.yaml").read_text("utf-8"), "utf-8")
        means += summary("as in results.md, HPAs on 1, 2 or 4 cores", of_any_size(first, traces, folder), ("both",))
    page = (GIVEN / "autoscaler.md.in").read_text(encoding="utf-8")
    page = page.replace("<!-- means -->", "\n".join(means)).replace("<!-- traces -->", "\n".join(table(first)))
    page = page.replace("<!-- hpa-70 -->", f"{changes_of_hpas(first):.0f}")
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
