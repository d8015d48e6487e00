"""Record what hypot answers, so that a change of the code can show that no answer changed.

    python tests/answers.py record DIR          # runs every command, with the hypot of this Python
    python tests/answers.py compare OLD NEW     # lists the answers that differ; exit status 1 where any does
    python tests/answers.py compare --no-texts OLD NEW

It uses the command line only. The inputs are the examples, the shared dump, traces and vectors where they exist, and
dumps that are varied by a fixed seed, so that both sides get the same questions.
"""

import argparse
import copy
import difflib
import json
import os
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from click.testing import CliRunner

from hypot.cli.main import cli

ROOT = Path(__file__).resolve().parents[1]
IMAGE = ("--image", "hypot:0.1.0")
SHARED = ROOT.parent / "shared"
HYPOT = [sys.executable, "-c", "from hypot.cli.main import main; main()"]
VARIANTS = 150
# Texts that people read and programs do not: ignored where only texts may differ.
TEXTS = {"sentence", "message", "note", "notes", "words", "text", "hint", "why", "fix", "headline", "error", "unknown"}
ODD = (None, 0, 1, -1, 0.5, "", "0", "1m", "1Gi", "x", 10**12, [], {})


def dumps() -> list[Path]:
    """The dumps that `decide` and `lint` get."""
    found = [*sorted(ROOT.glob("examples/*.yaml")), *sorted(ROOT.glob("examples/cluster/*.yaml"))]
    shared = SHARED / "examples" / "shop-dump.yaml"
    return [*found, *([shared] if shared.exists() else [])]


def moment(path: Path) -> list[str]:
    """The time to decide at, where the objects do not say."""
    return ["--now", "2026-03-02T12:00:00Z"] if path.stem == "hvpa" else []


def documents_of(path: Path) -> list[Any]:
    found = list(yaml.load_all(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader))
    plain: list[Any] = json.loads(json.dumps(found, default=lambda time: time.isoformat().replace("+00:00", "Z")))
    return plain


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of the single values of an object, without its identity."""
    if path and (path[-1] in {"apiVersion", "kind"} or path[-2:] in {("metadata", "name"), ("metadata", "namespace")}):
        return
    if isinstance(value, dict) and value:
        for key in value:
            yield from places(value[key], (*path, key))
    elif isinstance(value, list) and value:
        for index, one in enumerate(value):
            yield from places(one, (*path, index))
    else:
        yield path


def varied(value: Any, chance: random.Random) -> Any:
    """Usually a little more or less of the same value, sometimes an odd value."""
    if chance.random() < 0.1:
        return chance.choice(ODD)
    factor = chance.choice((0.3, 0.7, 0.9, 1.1, 1.5, 3))
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return type(value)(value * factor)
    amount = re.fullmatch(r"(\d+)([a-zA-Z]*)", value) if isinstance(value, str) else None
    return f"{int(int(amount[1]) * factor)}{amount[2]}" if amount else value


def change(target: Any, path: tuple[Any, ...], chance: random.Random) -> None:
    for key in path[:-1]:
        target = target[key]
    if chance.random() < 0.08 and isinstance(path[-1], str):
        del target[path[-1]]
    else:
        target[path[-1]] = varied(target[path[-1]], chance)


def variants(path: Path, count: int) -> Iterator[str]:
    """The same dump many times, each time with a few other values."""
    original, chance = documents_of(path), random.Random(path.name)  # noqa: S311 - it must be reproducible
    there = list(places(original))
    for _ in range(count):
        world = copy.deepcopy(original)
        for place in sorted(
            chance.sample(there, min(len(there), chance.choice((1, 2, 4, 8, 16)))), key=str, reverse=True
        ):
            change(world, place, chance)
        yield "\n---\n".join(json.dumps(one) for one in world)


def asked_of_variants(folder: Path, path: Path) -> Iterator[tuple[str, str]]:
    """What `decide` and `lint` print for each variant of a dump, in this process."""
    given = folder / "varied.yaml"
    said: dict[str, list[str]] = {"decide": [], "lint": []}
    for text in variants(path, VARIANTS):
        given.write_text(text, encoding="utf-8")
        for command, answers in said.items():
            now = moment(path) if command == "decide" else []
            done = CliRunner().invoke(cli, [command, "-f", str(given), *now, "-o", "json"])
            fault = repr(done.exception) if done.exception and not isinstance(done.exception, SystemExit) else ""
            answers.append(
                json.dumps({"exit": done.exit_code, "fault": fault, "said": parsed(done.stdout) or done.stderr})
            )
    for command, answers in said.items():
        yield f"{command}-{path.stem}-varied.json", "[" + ",\n".join(answers).replace(str(folder), "SCRATCH") + "]"


def parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def asked(folder: Path) -> Iterator[tuple[str, list[str]]]:
    """Every command, with the name of its answer."""
    for path in dumps():
        of = path.stem
        decide = ["decide", "-f", str(path), *moment(path)]
        for form in ("text", "json"):
            yield f"decide-{of}.{form}", [*decide, "-o", form]
            yield f"lint-{of}.{form}", ["lint", "-f", str(path), "-o", form]
        for version in ("1.27", "1.33"):
            yield f"decide-{of}-{version}.json", [*decide, "--kubernetes", version, "-o", "json"]
        state = folder / f"{of}.memory"
        for turn in ("first", "second"):
            yield f"decide-{of}-{turn}.json", [*decide, "--state", str(state), "-o", "json"]
    for path in (ROOT / "examples/hvpa.yaml", ROOT / "examples/both-axes.yaml"):
        yield f"intervals-{path.stem}.json", ["intervals", "-f", str(path), "-o", "json"]
        yield f"intervals-{path.stem}.text", ["intervals", "-f", str(path)]
    for path in sorted(ROOT.glob("scenarios/*/[bg]*d.yaml")):
        yield f"lint-{path.parent.name}-{path.stem}.json", ["lint", "-f", str(path), "-o", "json"]
    yield from replays()
    yield "scenarios.json", ["scenarios", "-o", "json"]
    yield "crds.yaml", ["crds"]
    yield "manifests.yaml", ["manifests", *IMAGE]
    yield (
        "manifests-all.json",
        [
            "manifests",
            *IMAGE,
            "--with",
            "template",
            "--with",
            "children",
            "--target",
            "rollouts.argoproj.io",
            "-o",
            "json",
        ],
    )
    yield "manifests-some.json", ["manifests", *IMAGE, "--watch-namespace", "shop", "--replicas", "1", "-o", "json"]


def replays() -> Iterator[tuple[str, list[str]]]:
    here = ROOT / "examples/replay"
    week = ["replay", str(here / "week.csv"), "-f", str(here / "policies.yaml"), "--world", str(here / "world.yaml")]
    for engine in ("plain", "fleet"):
        yield f"replay-week-{engine}.json", [*week, "--engine", engine, "-o", "json"]
    yield "replay-week.text", [*week, "--engine", "plain", "-o", "wide"]
    yield "replay-week-explained.text", [*week, "--engine", "plain", "--explain", "+30h"]
    results = ROOT / "docs/results"
    for trace in ("crane_app15_15s", "nasa_http_aug95_rps_1min", "crane_app2_onoff_1min"):
        path = SHARED / "traces" / f"{trace}.csv"
        given = ["-f", str(results / "policies.yaml"), "--world", str(results / "world.yaml"), "-o", "json"]
        if path.exists():
            yield f"replay-{trace}.json", ["replay", str(path), *given]


def record(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    environment = {**os.environ, "COLUMNS": "120", "PYTHONHASHSEED": "0"}
    with tempfile.TemporaryDirectory() as scratch:
        for name, arguments in asked(Path(scratch)):
            done = subprocess.run(
                [*HYPOT, *arguments], capture_output=True, text=True, check=False, env=environment, cwd=ROOT
            )
            said = done.stdout + (f"\n# exit {done.returncode}\n{done.stderr}" if done.returncode != 0 else "")
            (folder / name).write_text(said.replace(scratch, "SCRATCH").replace(str(ROOT), "ROOT"), encoding="utf-8")
            print(f"{name}: exit {done.returncode}, {len(said)} characters", flush=True)  # noqa: T201
        for path in dumps():
            for name, said in asked_of_variants(Path(scratch), path):
                (folder / name).write_text(said, encoding="utf-8")
                print(f"{name}: {len(said)} characters", flush=True)  # noqa: T201
    cases = [sys.executable, "-m", "pytest", str(ROOT / "tests/conformance"), "-q", "-rA", "--tb=no", "-p", "no:xdist"]
    done = subprocess.run(cases, capture_output=True, text=True, check=False, cwd=ROOT)
    verdicts = sorted(
        line for line in done.stdout.splitlines() if line.startswith(("PASSED", "FAILED", "XFAIL", "SKIP"))
    )
    (folder / "vectors.text").write_text("\n".join(verdicts), encoding="utf-8")
    print(f"vectors.text: {len(verdicts)} cases")  # noqa: T201


def without_texts(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_texts(one) for key, one in value.items() if key not in TEXTS}
    return [without_texts(one) for one in value] if isinstance(value, list) else value


def shown(path: Path, *, texts: bool) -> str:
    said = path.read_text(encoding="utf-8") if path.exists() else "(no such answer)"
    if path.name == "vectors.text":  # a case is known by its name, whatever its file
        return "\n".join(sorted(re.sub(r"tests/\S+?::", "", said).splitlines()))
    if texts:
        return said
    if path.suffix != ".json":
        return ""
    body, _, ending = said.partition("\n# exit ")
    return json.dumps(without_texts(json.loads(body or "null")), indent=1) + ending[:1]


def compare(old: Path, new: Path, *, texts: bool) -> int:
    names = sorted({path.name for folder in (old, new) for path in folder.iterdir()})
    differing = [name for name in names if shown(old / name, texts=texts) != shown(new / name, texts=texts)]
    for name in differing:
        pair = [shown(folder / name, texts=texts).splitlines() for folder in (old, new)]
        lines = list(difflib.unified_diff(*pair, f"old/{name}", f"new/{name}", lineterm="", n=2))
        print("\n".join(lines[:30]))  # noqa: T201
    print(f"{len(names)} answers, {len(differing)} differ")  # noqa: T201
    return 1 if differing else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("record").add_argument("folder", type=Path)
    comparing = commands.add_parser("compare")
    comparing.add_argument("old", type=Path)
    comparing.add_argument("new", type=Path)
    comparing.add_argument("--no-texts", action="store_true")
    given = parser.parse_args()
    if given.command == "record":
        record(given.folder)
        return 0
    return compare(given.old, given.new, texts=not given.no_texts)


if __name__ == "__main__":
    sys.exit(main())
