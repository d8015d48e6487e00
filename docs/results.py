"""Writes docs/results.md: every shared trace under the usual policies. `make results` runs it."""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Any

from hypot.replay.fleet import fleet
from hypot.replay.score.ranking import PolicyPoint, cost_at

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "docs" / "results.md"
# What `make bench-cluster` wrote stays.
BENCH = "<!-- bench-cluster -->"
GIVEN = ROOT / "docs" / "results"
TRACES = Path(os.environ.get("HYPOT_TRACES", ROOT.parent / "shared" / "traces"))
DAYS = 14
SHOWN = ("hpa-50", "hpa-70", "hpa-80", "hpa-90", "watermark", "vpa", "hpa-70 + vpa", "rate + vpa", "hvpa")
# Constant loads in requests/s: how often the size changed in a day before totals were exact.
CONSTANT = {350: 262, 375: 262, 400: 2, 425: 263, 450: 262, 475: 263, 500: 258}
# The targets of HPAs that others are compared with at equal lateness.
TARGETS = "20..100:5"
# Policies that count pods of one size.
COUNTING = ("hpa-50", "hpa-70", "hpa-80", "hpa-90", "watermark")
# What a prototype of the same model gave for HPAs: cost over that of an ideal buyer, and percent late, by target.
EXPECTED: dict[str, dict[str, tuple[float, float]]] = {
    "wikipedia_rps_1h": {"hpa-50": (1.58, 0.01), "hpa-70": (1.12, 0.17), "hpa-80": (0.97, 0.65), "hpa-90": (0.86, 2.5)},
    "crane_app1_cpu_1min": {
        "hpa-50": (1.32, 0.41),
        "hpa-70": (1.10, 1.4),
        "hpa-80": (1.03, 2.4),
        "hpa-90": (0.97, 3.6),
    },
    "crane_app2_onoff_1min": {
        "hpa-50": (1.67, 0.03),
        "hpa-70": (1.19, 0.49),
        "hpa-80": (1.04, 1.8),
        "hpa-90": (0.93, 5.6),
    },
    "nab_tweets_aapl_rps_5min": {
        "hpa-50": (1.15, 0.10),
        "hpa-70": (1.04, 0.69),
        "hpa-80": (1.01, 1.7),
        "hpa-90": (0.99, 3.2),
    },
    "cloudcluster6_cpu_5min": {
        "hpa-50": (1.67, 0.01),
        "hpa-70": (1.17, 0.15),
        "hpa-80": (1.03, 0.56),
        "hpa-90": (0.91, 2.2),
    },
}


def replayed(
    trace: Path,
    policies: Path = GIVEN / "policies.yaml",
    world: Path = GIVEN / "world.yaml",
    *more: str,
    days: int = DAYS,
    environment: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """The scores of one trace, by the command that a user would run."""
    with trace.open(encoding="utf-8") as lines:
        next(lines)
        start = float(next(lines).partition(",")[0])
    command = [str(Path(sys.executable).with_name("hypot")), "replay", str(trace), "-o", "json", "--engine", "fleet"]
    command += ["-f", str(policies), "--world", str(world), *more]
    done = subprocess.run(  # noqa: S603  our own command
        [*command, "--to", str(start + days * 86400)], check=True, capture_output=True, text=True, env=environment
    )
    if done.stderr:
        raise SystemExit(f"{trace.name} did not replay quietly: {done.stderr}")
    found: dict[str, Any] = json.loads(done.stdout)["workloads"][0]
    return found


def timed(trace: Path, policies: Path) -> dict[str, Any]:
    began = time.monotonic()
    found = replayed(trace, policies)
    print(f"{trace.stem}: {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)  # noqa: T201
    return found


def late(scores: dict[str, Any]) -> float:
    """Late and lost requests in percent."""
    found: float = (scores["late"] or 0.0) + (scores["lost"] or 0.0)
    return found


def cell(scores: dict[str, Any]) -> str:
    return f"{scores['to_lower_bound']:.2f} / {late(scores):.2g}"


def rows(found: dict[str, dict[str, Any]]) -> list[str]:
    lines = [f"| trace | static peak | {' | '.join(SHOWN)} |", f"| --- |{' --- |' * (len(SHOWN) + 1)}"]
    for name, one in found.items():
        scores = one["scores"]
        peak = f"{scores['static peak']['cost'] / scores['hpa-70']['cost']:.2f}"
        lines.append(f"| {name} | {peak} | {' | '.join(cell(scores[policy]) for policy in SHOWN)} |")
    return lines


def against(found: dict[str, dict[str, Any]]) -> list[str]:
    heads = ("trace", "policy", "cost x hpa-70", "expected", "apart", "late %", "late %, fresh metrics", "expected")
    lines = [f"| {' | '.join(heads)} |", f"|{' --- |' * len(heads)}"]
    for name, by_policy in EXPECTED.items():
        if name not in found:
            continue
        grid = ("--grid", "hpa.cpu=50,70,80,90")
        fresh = replayed(TRACES / f"{name}.csv", GIVEN / "hpa.yaml", GIVEN / "fresh.yaml", *grid)["scores"]
        for policy, (cost, expected) in by_policy.items():
            scores, newer = found[name]["scores"][policy], fresh[policy.replace("hpa-", "hpa cpu=")]
            here, there = scores["cost"] / found[name]["scores"]["hpa-70"]["cost"], cost / by_policy["hpa-70"][0]
            figures = f"{here:.3f} | {there:.3f} | {here / there - 1:+.1%} | {scores['late']:.3f}"
            lines.append(f"| {name} | {policy} | {figures} | {newer['late']:.3f} | {expected:g} |")
    return lines


def medians(found: dict[str, dict[str, Any]], *more: tuple[str, dict[str, str]]) -> list[str]:
    """Each policy over all traces."""
    heads = ["policy", "cost x bound", *(head for head, _ in more), "x hpa-70", "late %", "later than hpa-70 on"]
    heads += ["at most, times as late", "sizes changed a day"]
    lines = [f"| {' | '.join(heads)} |", f"|{' --- |' * len(heads)}"]
    for policy in SHOWN:
        scores = [(one["scores"][policy], one["scores"]["hpa-70"]) for one in found.values()]
        cells = [f"{median(one['to_lower_bound'] for one, _ in scores):.3f}", *(column[policy] for _, column in more)]
        cells.append(f"{median(one['cost'] / hpa['cost'] for one, hpa in scores):.3f}")
        cells.append(f"{median(late(one) for one, _ in scores):.2g}")
        cells.append(f"{sum(late(one) > late(hpa) for one, hpa in scores)}")
        cells.append(f"{max(late(one) / late(hpa) for one, hpa in scores):.2g}")
        cells.append(f"{median(one['size_changes'] for one, _ in scores):.0f}")
        lines.append(f"| {policy} | {' | '.join(cells)} |")
    return lines


def of_one_core(traces: list[Path], folder: Path) -> dict[str, str]:
    """The cost of policies that count pods over a lower bound that may only do the same."""
    world = folder / "one.yaml"
    world.write_text((GIVEN / "world.yaml").read_text("utf-8").replace("maxCpu: 4", "maxCpu: 1"), "utf-8")
    found = [replayed(trace, world=world)["scores"] for trace in traces]
    return {
        policy: f"{median(one[policy]['to_lower_bound'] for one in found):.3f}" if policy in COUNTING else ""
        for policy in SHOWN
    }


def of_an_hpa_as_late(found: dict[str, dict[str, Any]]) -> dict[str, str]:
    """The cost over that of an HPA which is as late on the same trace, and on how many traces there is one."""
    ratios: dict[str, list[float]] = {policy: [] for policy in SHOWN}
    for name, one in found.items():
        tried = replayed(
            TRACES / f"{name}.csv", GIVEN / "hpa.yaml", GIVEN / "world.yaml", "--grid", f"hpa.cpu={TARGETS}"
        )
        curve = [PolicyPoint(made["cost"], late(made)) for name, made in tried["scores"].items() if "cpu=" in name]
        for policy in SHOWN:
            cost = cost_at(curve, late(one["scores"][policy]))
            if cost is not None:
                ratios[policy].append(one["scores"][policy]["cost"] / cost)
    return {policy: f"{median(all_):.3f} ({len(all_)})" if all_ else "(0)" for policy, all_ in ratios.items()}


def below(*several: dict[str, dict[str, Any]]) -> list[str]:
    """How many runs cost less than their lower bound."""
    ratios = [
        one["scores"][policy]["to_lower_bound"] for found in several for one in found.values() for policy in SHOWN
    ]
    count = sum(ratio < 1 for ratio in ratios)
    return [
        f"Of the {len(ratios)} runs of this page, {count} are below it; the closest costs {min(ratios):.2f} times it."
    ]


def goals(found: dict[str, dict[str, Any]]) -> list[str]:
    """The goals of the evaluation, and what the Hvpa reaches on these traces."""
    pairs = [(one["scores"]["hvpa"], one["scores"]["hpa-70"], one["scores"]["vpa"]) for one in found.values()]
    costs = [hvpa["cost"] / hpa["cost"] for hvpa, hpa, _ in pairs]
    later = sum(late(hvpa) > min(late(hpa), late(vpa)) for hvpa, hpa, vpa in pairs)
    turns = [median(one["reversals"] for one in column) for column in zip(*pairs, strict=True)]
    reached = (
        ("median cost at most 0.99 times hpa-70's", f"{median(costs):.2f}"),
        ("worst cost at most 1.21 times", f"{max(costs):.2f}"),
        ("no later than the better of hpa-70 and vpa", f"later on {later} of {len(pairs)}"),
        ("reversals a day at most a third of those of hpa-70", f"{turns[0]:.0f} against {turns[1]:.0f}, median"),
        ("no paradoxical change", f"{sum(hvpa['paradox'] for hvpa, _, _ in pairs)}"),
        ("never stuck with idle pods", f"{max(hvpa['stuck'] for hvpa, _, _ in pairs):.0f} h"),
        ("under 120 s at the cap without any action", f"{max(hvpa['starving'] for hvpa, _, _ in pairs):.0f} s"),
    )
    return ["| goal | the Hvpa |", "| --- | --- |", *(f"| {goal} | {figure} |" for goal, figure in reached)]


def constant(folder: Path) -> list[str]:
    """How often an Hvpa changes sizes under loads that do not change, for two days."""
    lines = ["| requests/s | sizes changed a day, before | now | after the first hour |", f"|{' --- |' * 4}"]
    world = folder / "constant.yaml"
    text = (GIVEN / "world.yaml").read_text(encoding="utf-8")
    for rate, before in CONSTANT.items():
        trace = folder / f"{rate}.csv"
        hours = "\n".join(f"{hour * 3600},{rate}" for hour in range(49))
        trace.write_text(f"timestamp_seconds,value\n{hours}\n", encoding="utf-8")
        found = []
        for scoring in ("", "scoring: {skip: 1h}\n"):
            world.write_text(text.replace("demand: {peak: 12}", "demand: {leadIn: 0s}") + scoring, encoding="utf-8")
            found.append(replayed(trace, world=world)["scores"]["hvpa"]["size_changes"])
        lines.append(f"| {rate} | {before} | {found[0]:.1f} | {found[1]:.1f} |")
    return lines


def main() -> None:
    traces = sorted(TRACES.glob("*.csv"))
    if not traces:
        raise SystemExit(f"no traces in {TRACES}; name the folder in HYPOT_TRACES")
    fleet.warm()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        strict = folder / "policies.yaml"
        text = (GIVEN / "policies.yaml").read_text(encoding="utf-8")
        strict.write_text(text.replace("limits: {cpu: 1200m, memory: 2Gi}", 'limits: {cpu: "1", memory: 1Gi}'), "utf-8")
        found, tight = [
            {trace.stem: timed(trace, given) for trace in traces} for given in (GIVEN / "policies.yaml", strict)
        ]
        made = {
            "below": below(found, tight),
            "results": rows(found),
            "medians": medians(
                found,
                ("of its own sizes", of_one_core(traces, folder)),
                ("x an HPA as late", of_an_hpa_as_late(found)),
            ),
            "goals": goals(found),
            "constant": constant(folder),
            "tight": medians(tight),
            "against": against(found),
        }
    page = (GIVEN / "page.md.in").read_text(encoding="utf-8")
    for name, lines in made.items():
        page = page.replace(f"<!-- {name} -->", "\n".join(lines))
    kept = RESULTS.read_text(encoding="utf-8").partition(BENCH)
    RESULTS.write_text("".join((page, "\n", *kept[1:])) if kept[1] else page, encoding="utf-8")


if __name__ == "__main__":
    main()
