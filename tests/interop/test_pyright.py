"""pyright and mypy refuse deliberate misuses, and nothing else."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT

MISUSES = Path(__file__).with_name("misuses.py")
RIGHT = {
    "methods": """
from hypot import HPA, VPA, cpu, diff, from_yaml, to_yaml

web = HPA("deployment/web", max_replicas=10, metrics=[cpu(utilization=70)])
again: HPA = HPA.from_yaml(web.to_yaml())
effective: HPA = web.effective("1.34")
words: tuple[str, ...] = diff(web, effective).words
text: str = to_yaml(web, VPA("deployment/web"))
names = [one.name for one in from_yaml(text)]
""",
    "example": (ROOT / "examples" / "authoring" / "shop.py").read_text(encoding="utf-8"),
} | {
    f"page_{i}": code
    for i, code in enumerate(
        re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "authoring.md").read_text(encoding="utf-8"), re.DOTALL), 1
    )
}


def marked():
    """The misuses: file and line."""
    lines = MISUSES.read_text(encoding="utf-8").splitlines()
    return [("misuses", i) for i, line in enumerate(lines, 1) if line.endswith("# error")]


def reported(pyright, folder, files):
    """The lines in which pyright finds errors, by file."""
    written(folder, files)
    settings = {"include": [f"{name}.py" for name in files], "extraPaths": [str(ROOT / "src")], "pythonVersion": "3.11"}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings), encoding="utf-8")
    done = subprocess.run([pyright, "--outputjson", "-p", folder], capture_output=True, text=True, check=False)
    found = json.loads(done.stdout)["generalDiagnostics"]
    places = {
        (Path(one["file"]).stem, one["range"]["start"]["line"] + 1) for one in found if one["severity"] == "error"
    }
    return sorted(places)


def mypy_reported(folder, files):
    """The same of mypy --strict, with what hypot says of its types."""
    pytest.importorskip("mypy", reason="mypy is not installed: make test-interop has it")
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(folder / "cache")]
    command += [str(folder / f"{name}.py") for name in written(folder, files)]
    environment = {"MYPYPATH": str(ROOT / "src")}
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, env=environment)
    return sorted({(name, int(line)) for name, line in re.findall(r"(\w+)\.py:(\d+): error", done.stdout)})


def written(folder, files):
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    return files


def test_right_use_has_no_error(pyright, tmp_path):
    """Each method gives the kind that it was called on, and what the documentation shows is what the types allow."""
    assert reported(pyright, tmp_path, RIGHT) == []


def test_right_use_has_no_error_in_mypy(tmp_path):
    """The same."""
    assert mypy_reported(tmp_path, RIGHT) == []


def test_pyright_refuses_each_misuse(pyright, tmp_path):
    """In the editor, before anything runs."""
    assert reported(pyright, tmp_path, {"misuses": MISUSES.read_text(encoding="utf-8")}) == marked()


def test_mypy_refuses_each_misuse(tmp_path):
    """With --strict."""
    assert mypy_reported(tmp_path, {"misuses": MISUSES.read_text(encoding="utf-8")}) == marked()


def test_the_package_has_no_error(pyright):
    """What pyright follows from a program of a user into hypot."""
    done = subprocess.run([pyright, "--outputjson"], capture_output=True, text=True, check=False, cwd=ROOT)
    found = json.loads(done.stdout)
    errors = [one for one in found["generalDiagnostics"] if one["severity"] == "error"]
    assert found["summary"]["filesAnalyzed"] > 100
    assert [f"{one['file']}:{one['range']['start']['line'] + 1}: {one['message']}" for one in errors] == []
