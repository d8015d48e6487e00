"""Measures the layout of the code: `make house` prints it, and docs/design/house.md has the figures.

Give it another folder to measure that one.
"""

import ast
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2] / "src" / "hypot"
KINDS = {"HPA", "WPA", "VPA", "Hvpa", "Tortoise"}


def trees(source: Path) -> Iterator[tuple[Path, ast.Module]]:
    for path in sorted(source.rglob("*.py")):
        yield path.relative_to(source), ast.parse(path.read_text(encoding="utf-8"))


def folders(source: Path) -> dict[str, tuple[int, int]]:
    """Files and lines of each folder, without its sub-folders."""
    found: dict[str, tuple[int, int]] = defaultdict(lambda: (0, 0))
    for path in sorted(source.rglob("*.py")):
        name = str(path.parent.relative_to(source))
        files, lines = found[name]
        found[name] = (files + 1, lines + len(path.read_text(encoding="utf-8").splitlines()))
    return dict(found)


def kind_tests(source: Path) -> Counter[str]:
    """How often each file asks which kind of autoscaler something is."""
    found: Counter[str] = Counter()
    for path, tree in trees(source):
        for node in ast.walk(tree):
            found[str(path)] += bool(tested_kinds(node))
    return +found


def tested_kinds(node: ast.AST) -> set[str]:
    """The kinds that an `isinstance` or a `case` names."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance":
        return {part.id for part in ast.walk(node.args[1]) if isinstance(part, ast.Name)} & KINDS
    if isinstance(node, ast.MatchClass) and isinstance(node.cls, ast.Name):
        return {node.cls.id} & KINDS
    return set()


def ladders(source: Path) -> Counter[str]:
    """Functions that tell two or more kinds of autoscalers apart, by file."""
    found: Counter[str] = Counter()
    for path, tree in trees(source):
        for function in ast.walk(tree):
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                found[str(path)] += len(set().union(*map(tested_kinds, ast.walk(function)))) > 1
    return +found


def twice(source: Path) -> Counter[str]:
    """Class names that are defined more than once."""
    found = Counter(node.name for _, tree in trees(source) for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    return Counter({name: count for name, count in found.items() if count > 1})


def packages(source: Path = SOURCE) -> str:
    """Which package imports which, as a diagram; an arrow that follows from others is left out."""
    arrows: dict[str, set[str]] = defaultdict(set)
    for path, tree in trees(source):
        here = path.parts[0] if len(path.parts) > 1 else ""
        for node in ast.walk(tree):
            if here and isinstance(node, ast.ImportFrom) and (node.module or "").startswith("hypot."):
                arrows[here].add((node.module or "").split(".")[1])
        arrows[here].discard(here)
    drawn = [
        f"  {one} --> {other}"
        for one in sorted(arrows)
        for other in sorted(arrows[one])
        if not any(other in reached(arrows, between) for between in arrows[one] - {other})
    ]
    return "\n".join(["```mermaid", "flowchart TD", *drawn, "```"])


def reached(arrows: dict[str, set[str]], start: str) -> set[str]:
    found: set[str] = set()
    waiting = [start]
    while waiting:
        waiting += arrows.get(one := waiting.pop(), set()) - found
        found.add(one)
    return found


def report(source: Path) -> str:
    rooms, tests, rungs, names = folders(source), kind_tests(source), ladders(source), twice(source)
    lines = [f"{files:4} files {size:6} lines  {name}" for name, (files, size) in rooms.items()]
    lines.append(
        f"{sum(files for files, _ in rooms.values()):4} files {sum(size for _, size in rooms.values()):6} lines"
    )
    lines.append(f"largest folder: {max(files for files, _ in rooms.values())} files")
    lines.append(f"tests on the kind of an autoscaler: {tests.total()} in {len(tests)} files")
    lines += [f"    {count:3}  {name}" for name, count in tests.most_common()]
    lines.append(f"functions that tell kinds apart: {rungs.total()} in {len(rungs)} files")
    lines += [f"    {count:3}  {name}" for name, count in rungs.most_common()]
    lines.append(f"class names defined more than once: {len(names)}")
    lines.append("    " + ", ".join(f"{name} {count}" for name, count in names.most_common()))
    return "\n".join(lines)


if __name__ == "__main__":
    print(report(Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else SOURCE))  # noqa: T201
