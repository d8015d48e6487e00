"""Writes docs/results.md: every shared trace under the usual policies. `make results` runs it."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "docs" / "results.md"
# What `make bench-cluster` wrote stays.
BENCH = "<!-- bench-cluster -->"
GIVEN = ROOT / "docs" / "results"
TRACES = Path(os.environ.get("HYPOT_TRACES", ROOT.parent / "shared" / "traces"))
DAYS = 14
SHOWN = ("hpa-50", "hpa-70", "hpa-80", "hpa-90", "watermark", "vpa", "hpa-70 + vpa", "hvpa")
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


def replayed(trace: Path, policies: str = "policies.yaml", world: str = "world.yaml", *more: str) -> dict[str, Any]:
    """The scores of one trace, by the command that a user would run."""
    with trace.open(encoding="utf-8") as lines:
        next(lines)
        start = float(next(lines).partition(",")[0])
    command = [str(Path(sys.executable).with_name("hypot")), "replay", str(trace), "-o", "json"]
    command += ["-f", str(GIVEN / policies), "--world", str(GIVEN / world), *more]
    done = subprocess.run(  # noqa: S603  our own command
        [*command, "--to", str(start + DAYS * 86400)], check=True, capture_output=True, text=True
    )
    if done.stderr:
        raise SystemExit(f"{trace.name} did not replay quietly: {done.stderr}")
    found: dict[str, Any] = json.loads(done.stdout)["workloads"][0]
    return found


def cell(scores: dict[str, Any]) -> str:
    late = (scores["late"] or 0.0) + (scores["lost"] or 0.0)
    return f"{scores['to_oracle']:.2f} / {late:.2g}"


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
        fresh = replayed(TRACES / f"{name}.csv", "hpa.yaml", "fresh.yaml", *grid)["scores"]
        for policy, (cost, late) in by_policy.items():
            scores, newer = found[name]["scores"][policy], fresh[policy.replace("hpa-", "hpa cpu=")]
            apart = scores["to_oracle"] / cost - 1
            figures = f"{scores['to_oracle']:.3f} | {cost:.2f} | {apart:+.1%} | {scores['late']:.3f}"
            lines.append(f"| {name} | {policy} | {figures} | {newer['late']:.3f} | {late:g} |")
    return lines


def main() -> None:
    traces = sorted(TRACES.glob("*.csv"))
    if not traces:
        raise SystemExit(f"no traces in {TRACES}; name the folder in HYPOT_TRACES")
    found = {}
    for trace in traces:
        began = time.monotonic()
        found[trace.stem] = replayed(trace)
        print(f"{trace.stem}: {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)  # noqa: T201
    page = (GIVEN / "page.md.in").read_text(encoding="utf-8")
    page = page.replace("<!-- results -->", "\n".join(rows(found))).replace(
        "<!-- against -->", "\n".join(against(found))
    )
    kept = RESULTS.read_text(encoding="utf-8").partition(BENCH)
    RESULTS.write_text("".join((page, "\n", *kept[1:])) if kept[1] else page, encoding="utf-8")


if __name__ == "__main__":
    main()
