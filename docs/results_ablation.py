"""Writes docs/autoscaler-ablation.md: what each part of an Autoscaler is worth. `make ablation` runs it (an hour).

Each variant is a copy of the source in which a few lines differ, so that the product needs no switches for it.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from statistics import geometric_mean, median
from typing import NamedTuple

from results import GIVEN, ROOT, TRACES, replayed
from results_autoscaler import BURSTS, Run, figures, grid, only_hpas, with_late_requests

from hypot.replay.fleet import fleet

PAGE = ROOT / "docs" / "autoscaler-ablation.md"
DAYS = 7
# Compiles the variant, so that its first replay has nothing to report.
WARM = "from hypot.replay.fleet import fleet; fleet.warm()"
POLICIES = {"both": "count and size", "replicas": "only the count"}
BANK, FORECASTS, LATENESS = (f"core/bank/{name}.py" for name in ("bank", "forecasts", "lateness"))
DECIDE, REACH = (f"core/bank/{name}.py" for name in ("decide", "reach"))
MARGINS = "MARGINS = (0.0, 0.05, 0.1, 0.2, 0.4, 0.8)"
HOLDS = "HOLDS = (0, 2, 5, 10, 20, 40, 80)"
SLOPES = ("made[SLOPE] = along_slope(past, first, count, SLOPED, lead)", "made[SLOPE] = now")
LONG_SLOPES = ("made[LONG_SLOPE] = along_slope(past, first, count, LONG_SLOPED, lead)", "made[LONG_SLOPE] = now")
MEANS = ("made[MEAN], made[LONG_MEAN] = means(past, first, count)", "made[MEAN], made[LONG_MEAN] = now, now")
YESTERDAY, LAST_WEEK = (
    ("made[YESTERDAY] = now * day", "made[YESTERDAY] = now"),
    (
        "made[LAST_WEEK] = now * week",
        "made[LAST_WEEK] = now",
    ),
)
JUMP = ("made[JUMP] = jump", "made[JUMP] = now")


class Edit(NamedTuple):
    """A line of the source, and what stands there instead."""

    file: str
    old: str
    new: str


class Variant(NamedTuple):
    name: str
    edits: tuple[Edit, ...] = ()


def forecasts(*pairs: tuple[str, str]) -> tuple[Edit, ...]:
    return tuple([Edit(FORECASTS, old, new) for old, new in pairs])


def holds(steps: int) -> tuple[Edit, ...]:
    """One hold in all rules; the first rule and the shadow keep their places."""
    return (
        Edit(BANK, HOLDS, f"HOLDS = ({steps},) * 7"),
        Edit(BANK, "SHADOW_HOLD, SHADOW_TARGET = HOLDS.index(20), 0.7", "SHADOW_HOLD, SHADOW_TARGET = 4, 0.7"),
        Edit(BANK, "HOLDS.index(5)", "2"),
    )


def kappa(value: float) -> tuple[Edit, ...]:
    """No law is learned."""
    return (
        Edit(LATENESS, "MOVED = 0.01", "MOVED = 0.0"),
        Edit(LATENESS, "return min(MOST_KAPPA, max(LEAST_KAPPA, deadline / work - 1.0))", f"return {value}"),
    )


VARIANTS = (
    Variant("as it is"),
    Variant("only the last value", forecasts(SLOPES, LONG_SLOPES, MEANS, YESTERDAY, LAST_WEEK, JUMP)),
    Variant("no slopes", forecasts(SLOPES, LONG_SLOPES)),
    Variant("no means", forecasts(MEANS)),
    Variant("no yesterday and no last week", forecasts(YESTERDAY, LAST_WEEK)),
    Variant("no largest jump", forecasts(JUMP)),
    Variant("no margins", (Edit(BANK, MARGINS, "MARGINS = (0.0,) * 6"), Edit(BANK, "MARGINS.index(0.1)", "2"))),
    Variant("no hold", holds(0)),
    Variant("every hold 75 s", holds(5)),
    Variant("every hold 5 minutes", holds(20)),
    Variant("half of the margins", (Edit(BANK, MARGINS, "MARGINS = (0.0, 0.1, 0.4)"),)),
    Variant("half of the holds", (Edit(BANK, HOLDS, "HOLDS = (0, 5, 20, 80)"),)),
    Variant(
        "twice as many margins",
        (Edit(BANK, MARGINS, "MARGINS = (0.0, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6, 0.8, 1.0)"),),
    ),
    Variant("twice as many holds", (Edit(BANK, HOLDS, "HOLDS = (0, 1, 2, 3, 5, 7, 10, 15, 20, 30, 40, 56, 72, 80)"),)),
    Variant("kappa fixed at 6", kappa(6.0)),
    Variant("kappa fixed at 25", kappa(25.0)),
    Variant(
        "every scale-down counts",
        (
            Edit(DECIDE, "RELEASED = 0.2", "RELEASED = 0.0"),
            Edit(DECIDE, "RELEASED_PODS = 0.04", "RELEASED_PODS = 0.0"),
            Edit(DECIDE, "AHEAD = 0.1", "AHEAD = 0.0"),
        ),
    ),
    Variant("large pods at once", (Edit(REACH, "EXPLORED = 1.25", "EXPLORED = 1000.0"),)),
)


def copied(variant: Variant, folder: Path) -> Path:
    """The source of a variant."""
    target = folder / "src"
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(ROOT / "src" / "hypot", target / "hypot", ignore=shutil.ignore_patterns("__pycache__"))
    for edit in variant.edits:
        file = target / "hypot" / edit.file
        text = file.read_text("utf-8")
        if text.count(edit.old) != 1:
            raise SystemExit(f"{variant.name}: {edit.file} has {edit.old!r} {text.count(edit.old)} times, not once")
        file.write_text(text.replace(edit.old, edit.new), "utf-8")
    return target


def runs_of(variant: Variant, traces: list[Path], hpas: Mapping[str, Run], folder: Path) -> dict[str, Run]:
    source = copied(variant, folder)
    # A cache of its own: what is compiled for a variant is of no use later.
    environment = {**os.environ, "PYTHONPATH": str(source), "XDG_CACHE_HOME": str(folder / "cache")}
    subprocess.run([sys.executable, "-c", WARM], check=True, env=environment, stderr=subprocess.DEVNULL)  # noqa: S603
    found = {}
    for trace in traces:
        world = folder / "world.yaml"
        ours = replayed(trace, folder / "autoscaler.yaml", world, days=DAYS, environment=environment)["scores"]
        found[trace.stem] = Run(ours, hpas[trace.stem].hpas)
    shutil.rmtree(folder / "cache", ignore_errors=True)
    return found


def row(variant: Variant, runs: Mapping[str, Run]) -> str:
    cells = [variant.name]
    for policy in POLICIES:
        all_ = {trace: figures(run, policy) for trace, run in runs.items()}
        cells += [
            f"{geometric_mean([one.cost for one in all_.values()]):.3f}",
            f"{geometric_mean([one.price for one in all_.values()]):.3f}",
            f"{max(one.cost for trace, one in all_.items() if trace != BURSTS):.2f}",
            f"{median(one.changes for one in all_.values()):.0f}",
        ]
    return f"| {' | '.join(cells)} |"


def only(policies: tuple[str, ...], text: str) -> str:
    """The documents of a manifest whose autoscalers have one of these names, and those of other kinds."""
    documents = text.split("\n---\n")
    return "\n---\n".join(
        one for one in documents if "kind: Autoscaler" not in one or any(f"name: {name}}}" in one for name in policies)
    )


def main() -> None:
    traces = sorted(TRACES.glob("*.csv"))
    if not traces:
        raise SystemExit(f"no traces in {TRACES}; name the folder in HYPOT_TRACES")
    fleet.warm()
    heads = [f"{what}: {head}" for what in POLICIES.values() for head in ("cost", "price", "worst cost", "changes")]
    lines = [f"| variant | {' | '.join(heads)} |", f"|{' --- |' * (len(heads) + 1)}"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "world.yaml").write_text(with_late_requests((GIVEN / "world.yaml").read_text("utf-8")), "utf-8")
        ours = only(tuple(POLICIES), (GIVEN / "autoscaler.yaml").read_text("utf-8"))
        (folder / "autoscaler.yaml").write_text(ours, "utf-8")
        hpas = {
            trace.stem: Run(
                {}, only_hpas(replayed(trace, GIVEN / "hpa.yaml", folder / "world.yaml", *grid(), days=DAYS)["scores"])
            )
            for trace in traces
        }
        for variant in VARIANTS:
            lines.append(row(variant, runs_of(variant, traces, hpas, folder)))
            print(lines[-1], file=sys.stderr, flush=True)  # noqa: T201
    page = (GIVEN / "ablation.md.in").read_text(encoding="utf-8")
    PAGE.write_text(page.replace("<!-- variants -->", "\n".join(lines)), encoding="utf-8")


if __name__ == "__main__":
    main()
