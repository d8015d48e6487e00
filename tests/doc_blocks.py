"""The command blocks of README and docs, and a folder in which they run as a user runs them.

A block of commands is fenced as `sh` (each command ends with 0) or as `console` (`$ command`, and exactly what it
prints; a line `...` stands for any lines). A block that no test can run has its reason directly before it:
`<!-- not run: reason -->`.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from tools import BUILT

ROOT = Path(__file__).resolve().parents[1]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
LANGUAGES = ("sh", "console")
FIXTURES = ROOT / "tests" / "fixtures"
CORPUS = FIXTURES / "corpus"
# A line of such a block needs a cluster: by what the command is, or by a flag.
CLUSTER = re.compile(r"(^|[|$ ])kubectl (?!hypot|kustomize)|--live|hypot run\b")
COMMAND = re.compile(r"(\$ )?([A-Z_]+=\S+ )*(hypot|kubectl|make|pip|helm|docker|kustomize|\.venv/bin/python|python3?) ")
MARK = re.compile(r"<!-- not run: ([^\n]*) -->\s*\Z")
FENCE = re.compile(r"^(?P<indent> *)```(?P<language>\w*)\n(?P<text>.*?)^(?P=indent)```$", re.DOTALL | re.MULTILINE)
SECONDS = 120


class Block(NamedTuple):
    """A fenced block, and where it is; `reason` says why no test runs it."""

    page: Path
    line: int
    language: str
    text: str
    reason: str

    @property
    def place(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    @property
    def needs_cluster(self) -> bool:
        return any(CLUSTER.search(line.partition(" #")[0]) for line in self.text.splitlines())

    @property
    def commands(self) -> str:
        """What a shell runs."""
        lines = self.text.splitlines(keepends=True)
        if self.language != "console":
            return self.text
        return "".join(line.removeprefix("$ ") for line in lines if line.startswith("$ "))

    @property
    def shown(self) -> str:
        """What a console block prints."""
        return "".join(line for line in self.text.splitlines(keepends=True) if not line.startswith("$ "))


def fenced(page: Path) -> Iterator[Block]:
    """All fenced blocks of a page."""
    text = page.read_text(encoding="utf-8")
    for found in FENCE.finditer(text):
        mark = MARK.search(text[: found.start()])
        lines = [line.removeprefix(found["indent"]) for line in found["text"].splitlines(keepends=True)]
        line = text.count("\n", 0, found.start()) + 1
        yield Block(page, line, found["language"], "".join(lines), mark[1] if mark else "")


def command_blocks() -> list[Block]:
    return [block for page in PAGES for block in fenced(page) if block.language in LANGUAGES]


def stray_commands(page: Path) -> Iterator[str]:
    """Commands in blocks that no test would find: fenced as something else, or indented."""
    text = page.read_text(encoding="utf-8")
    for block in fenced(page):
        if block.language not in LANGUAGES and any(COMMAND.match(line) for line in block.text.splitlines()):
            yield block.place
    # Fences keep their number of lines, so that the places of the others stay.
    rest = FENCE.sub(lambda found: "\n" * found[0].count("\n"), text)
    for number, line in enumerate(rest.splitlines(), 1):
        if line.startswith("    ") and COMMAND.match(line.strip()):
            yield f"{page.relative_to(ROOT)}:{number}"


def workspace(folder: Path) -> Path:
    """A folder with the files that the pages name: manifests, traces, a chart, and the examples of the repository."""
    shutil.copytree(FIXTURES / "workspace", folder, dirs_exist_ok=True)
    shutil.copytree(ROOT / "examples", folder / "examples")
    shutil.copytree(CORPUS / "web-chart", folder / "my-chart")
    for name in ("base", "overlays"):
        shutil.copytree(CORPUS / "kustomize" / name, folder / name)
    for name in ("hvpa.yaml", "tortoise.yaml", "usage.csv"):
        shutil.copy(ROOT / "examples" / name, folder)
    (folder / "ci").mkdir()
    week = (ROOT / "examples" / "replay" / "week.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    for name, first, minutes in (("my.csv", 600, 60), ("trace.csv", 600, 60), ("requests.csv", 1080, 120)):
        (folder / name).write_text("".join([week[0], *week[first : first + minutes]]), encoding="utf-8")
    examples = [block for block in fenced(ROOT / "docs" / "metrics-api.md") if "kind: MetricRules" in block.text]
    (folder / "rules.yaml").write_text(examples[0].text, encoding="utf-8")
    policies = next(block for block in fenced(ROOT / "docs" / "world.md") if "hypot.dev/policy" in block.text)
    (folder / "policies.yaml").write_text(policies.text, encoding="utf-8")
    world = (ROOT / "examples" / "replay" / "world.yaml").read_text(encoding="utf-8")
    names = "  names:\n"
    (folder / "world.yaml").write_text(world.replace(names, f"{names}    http_requests: requests\n"), encoding="utf-8")
    return folder


def ran(
    commands: str, folder: Path, given: Mapping[str, str], before: str = "set -o pipefail"
) -> subprocess.CompletedProcess[str]:
    """A shell that stops at the first command that fails; `hypot` is the one that is tested."""
    programs = folder / ".programs"
    programs.mkdir(exist_ok=True)
    hypot = programs / "hypot"
    hypot.write_text(f'#!/bin/sh\nexec {sys.executable} -m hypot "$@"\n', encoding="utf-8")
    hypot.chmod(0o755)
    path = os.pathsep.join([str(programs), given.get("PATH", os.environ.get("PATH", "")), BUILT])
    return subprocess.run(
        [shutil.which("bash") or "/bin/bash", "-e", "-u", "-c", f"{before}\n{commands}"],
        cwd=folder,
        env={**os.environ, **given, "PATH": path, "COLUMNS": "120"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


def matches(shown: str, printed: str) -> bool:
    """Whether this was printed; `...` on a line of its own stands for any lines."""
    parts = [re.escape(part.strip("\n")) for part in re.split(r"^\.\.\.$", shown, flags=re.MULTILINE)]
    return re.fullmatch(r"\s*(.*\n)*".join(parts), printed.strip("\n"), re.DOTALL) is not None
