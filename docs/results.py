"""Writes docs/results.md: every shared trace under the usual policies. `make results` runs it."""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

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
# What a prototype of the same model gave for HPAs: cost over the oracle's, and percent late, by target.
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
    trace: Path, policies: Path = GIVEN / "policies.yaml", world: Path = GIVEN / "world.yaml", *more: str
) -> dict[str, Any]:
    """The scores of one trace, by the command that a user would run."""
    with trace.open(encoding="utf-8") as lines:
        next(lines)
        start = float(next(lines).partition(",")[0])
    command = [str(Path(sys.executable).with_name("hypot")), "replay", str(trace), "-o", "json"]
    command += ["-f", str(policies), "--world", str(world), *more]
    done = subprocess.run(  # noqa: S603  our own command
        [*command, "--to", str(start + DAYS * 86400)], check=True, capture_output=True, text=True
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
    return f"{scores['to_oracle']:.2f} / {late(scores):.2g}"


def rows(found: dict[str, dict[str, Any]]) -> list[str]:
    lines = [f"| trace | static peak | {' | '.join(SHOWN)} |", f"| --- |{' --- |' * (len(SHOWN) + 1)}"]
    for name, one in found.items():
        scores = one["scores"]
        peak = f"{scores['static peak']['to_oracle']:.2f}"
        lines.append(f"| {name} | {peak} | {' | '.join(cell(scores[policy]) for policy in SHOWN)} |")
    return lines


def against(found: dict[str, dict[str, Any]]) -> list[str]:
    heads = ("trace", "policy", "cost x oracle", "expected", "apart", "late %", "late %, fresh metrics", "expected")
    lines = [f"| {' | '.join(heads)} |", f"|{' --- |' * len(heads)}"]
    for name, by_policy in EXPECTED.items():
        if name not in found:
            continue
        grid = ("--grid", "hpa.cpu=50,70,80,90")
        fresh = replayed(TRACES / f"{name}.csv", GIVEN / "hpa.yaml", GIVEN / "fresh.yaml", *grid)["scores"]
        for policy, (cost, expected) in by_policy.items():
            scores, newer = found[name]["scores"][policy], fresh[policy.replace("hpa-", "hpa cpu=")]
            apart = scores["to_oracle"] / cost - 1
            figures = f"{scores['to_oracle']:.3f} | {cost:.2f} | {apart:+.1%} | {scores['late']:.3f}"
            lines.append(f"| {name} | {policy} | {figures} | {newer['late']:.3f} | {expected:g} |")
    return lines


def medians(found: dict[str, dict[str, Any]]) -> list[str]:
    """Each policy over all traces."""
    heads = ("policy", "cost x oracle, median", "late %, median", "later than hpa-70 on", "sizes changed a day, median")
    lines = [f"| {' | '.join(heads)} |", f"|{' --- |' * len(heads)}"]
    for policy in SHOWN:
        scores = [one["scores"][policy] for one in found.values()]
        later = sum(late(one["scores"][policy]) > late(one["scores"]["hpa-70"]) for one in found.values())
        figures = f"{median(one['to_oracle'] for one in scores):.3f} | {median(map(late, scores)):.2g}"
        lines.append(f"| {policy} | {figures} | {later} | {median(one['size_changes'] for one in scores):.0f} |")
    return lines


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
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        strict = folder / "policies.yaml"
        text = (GIVEN / "policies.yaml").read_text(encoding="utf-8")
        strict.write_text(text.replace("limits: {cpu: 1200m, memory: 2Gi}", 'limits: {cpu: "1", memory: 1Gi}'), "utf-8")
        found, tight = [
            {trace.stem: timed(trace, given) for trace in traces} for given in (GIVEN / "policies.yaml", strict)
        ]
        made = {
            "results": rows(found),
            "medians": medians(found),
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
