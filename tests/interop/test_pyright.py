"""pyright and mypy refuse deliberate misuses, and nothing else."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT

MISUSES = Path(__file__).with_name("misuses.py")
RIGHT = """
from hypot import HPA, VPA, cpu, diff, from_yaml, to_yaml

web = HPA("deployment/web", max_replicas=10, metrics=[cpu(utilization=70)])
again: HPA = HPA.from_yaml(web.to_yaml())
effective: HPA = web.effective("1.34")
words: tuple[str, ...] = diff(web, effective).words
text: str = to_yaml(web, VPA("deployment/web"))
names = [one.name for one in from_yaml(text)]
"""


def marked():
    """The lines of the misuses."""
    lines = MISUSES.read_text(encoding="utf-8").splitlines()
    return [i for i, line in enumerate(lines, 1) if line.endswith("# error")]


def reported(pyright, folder, text):
    """The lines in which pyright finds errors."""
    (folder / "it.py").write_text(text, encoding="utf-8")
    settings = {"include": ["it.py"], "extraPaths": [str(ROOT / "src")], "pythonVersion": "3.11"}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings), encoding="utf-8")
    done = subprocess.run([pyright, "--outputjson", "-p", folder], capture_output=True, text=True, check=False)
    found = json.loads(done.stdout)["generalDiagnostics"]
    return sorted({one["range"]["start"]["line"] + 1 for one in found if one["severity"] == "error"})


def test_right_use_has_no_error(pyright, tmp_path):
    """Each method gives the kind that it was called on."""
    assert reported(pyright, tmp_path, RIGHT) == []


def test_pyright_refuses_each_misuse(pyright, tmp_path):
    """In the editor, before anything runs."""
    assert reported(pyright, tmp_path, MISUSES.read_text(encoding="utf-8")) == marked()


def test_mypy_refuses_each_misuse(tmp_path):
    """With --strict, and with what hypot says of its types."""
    pytest.importorskip("mypy", reason="mypy is not installed: make test-interop has it")
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path), str(MISUSES)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, env={"MYPYPATH": "src"})
    found = {int(line) for line in re.findall(r"misuses\.py:(\d+): error", done.stdout)}
    assert sorted(found) == marked()


def test_the_package_has_no_error(pyright):
    """What pyright follows from a program of a user into hypot."""
    done = subprocess.run([pyright, "--outputjson"], capture_output=True, text=True, check=False, cwd=ROOT)
    found = json.loads(done.stdout)
    errors = [one for one in found["generalDiagnostics"] if one["severity"] == "error"]
    assert found["summary"]["filesAnalyzed"] > 100
    assert [f"{one['file']}:{one['range']['start']['line'] + 1}: {one['message']}" for one in errors] == []
