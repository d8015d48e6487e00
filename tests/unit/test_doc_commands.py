"""The commands in README and docs run, and print what is shown. tests/cluster runs those for a cluster."""

import re
from pathlib import Path

import pytest

from doc_blocks import PAGES, ROOT, Block, command_blocks, fenced, matches, ran, stray_commands, workspace
from tools import tool

BLOCKS = command_blocks()
RENDERED_BY = {"my-chart": "helm", "overlays": "kustomize"}
HERE = [block for block in BLOCKS if not block.reason and not block.needs_cluster]


@pytest.mark.parametrize("block", HERE, ids=lambda block: block.place)
def test_commands_run(block: Block, tmp_path: Path) -> None:
    """In a folder with the files that the pages name; a console block prints exactly what is shown."""
    for folder, name in RENDERED_BY.items():
        if f"--render {folder}" in block.text:
            tool(name)
    done = ran(block.commands, workspace(tmp_path), {})
    assert done.returncode == 0, f"{block.place}\n{done.stdout}{done.stderr}"
    if block.language == "console":
        assert matches(block.shown, done.stdout), f"{block.place} prints:\n{done.stdout}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_is_in_a_block_that_runs(page: Path) -> None:
    """Or in one with a reason; a reason stands directly before its block."""
    assert list(stray_commands(page)) == [], "write these as ```sh or ```console"
    reasons = [block.reason for block in fenced(page) if block.reason]
    assert all(len(reason.split()) > 3 for reason in reasons)
    assert len(reasons) == len(re.findall("<!-- not run", page.read_text(encoding="utf-8")))


def test_make_targets_exist() -> None:
    """Nothing runs the blocks of `make`, but each names a target of the Makefile."""
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    named = {name for block in BLOCKS for name in re.findall(r"^make ([\w-]+)", block.text, re.MULTILINE)}
    assert named
    assert named <= set(targets)


@pytest.mark.parametrize(
    ("shown", "printed", "expected"),
    [
        ("a\nb\n", "a\nb\n", True),
        ("a\n", "a\nb\n", False),
        ("...\nb\n", "x\ny\nb\n", True),
        ("a\n...\nd\n", "a\nb\nc\nd\n", True),
        ("a\n...\nd\n", "b\nd\n", False),
    ],
)
def test_lines_that_are_left_out(shown: str, printed: str, expected: bool) -> None:
    """Three dots stand for any lines, everything else is exact."""
    assert matches(shown, printed) is expected
