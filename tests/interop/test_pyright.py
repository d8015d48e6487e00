"""pyright and mypy refuse deliberate misuses, and nothing that is right or documented."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT

HERE = Path(__file__).parent
MISUSES, RIGHT_USES = HERE / "misuses.py", HERE / "right_uses.py"
PAGE, EXAMPLE = ROOT / "docs" / "authoring.md", ROOT / "examples" / "authoring" / "shop.py"


def blocks():
    """Each Python block of the page as a file of its own, by its name."""
    found = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert found
    return {f"block_{i}.py": code for i, code in enumerate(found, 1)}


def marked():
    """The misuses: file and line."""
    lines = MISUSES.read_text(encoding="utf-8").splitlines()
    return [(MISUSES.name, i) for i, line in enumerate(lines, 1) if line.endswith("# error")]


def reported(pyright, folder, texts):
    """The files and lines in which pyright finds errors."""
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    settings = {"include": list(texts), "extraPaths": [str(ROOT / "src")], "pythonVersion": "3.11"}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings), encoding="utf-8")
    done = subprocess.run([pyright, "--outputjson", "-p", folder], capture_output=True, text=True, check=False)
    found = json.loads(done.stdout)["generalDiagnostics"]
    errors = [one for one in found if one["severity"] == "error"]
    return sorted({(Path(one["file"]).name, one["range"]["start"]["line"] + 1) for one in errors})


def by_mypy(folder, texts):
    """The files and lines in which mypy --strict finds errors."""
    pytest.importorskip("mypy", reason="mypy is not installed: make test-interop has it")
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(folder), *texts]
    environment = {"MYPYPATH": str(ROOT / "src")}
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder, env=environment)
    assert re.search(r"^(Success|Found \d+ error)", done.stdout, re.MULTILINE), done.stdout + done.stderr
    return sorted(
        {(name, int(line)) for name, line in re.findall(r"^(\w+\.py):(\d+): error", done.stdout, re.MULTILINE)}
    )


def all_texts():
    """What is right, what is wrong, the example, and what the page shows."""
    files = {path.name: path.read_text(encoding="utf-8") for path in (MISUSES, RIGHT_USES, EXAMPLE)}
    return {**files, **blocks()}


def test_pyright_refuses_each_misuse_and_nothing_else(pyright, tmp_path):
    """In the editor, before anything runs."""
    assert reported(pyright, tmp_path, all_texts()) == marked()


def test_mypy_refuses_each_misuse_and_nothing_else(tmp_path):
    """With --strict, and with what hypot says of its types."""
    assert by_mypy(tmp_path, all_texts()) == marked()


def test_the_package_has_no_error(pyright, tmp_path):
    """What a program of an author imports: the kinds, and what is done with them."""
    (tmp_path / "src").symlink_to(ROOT / "src")
    settings = {
        "include": [f"src/hypot/{name}" for name in ("__init__.py", "authoring", "kinds")],
        "extraPaths": ["src"],
        "pythonVersion": "3.11",
    }
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings), encoding="utf-8")
    command = [pyright, "--outputjson", "--pythonpath", sys.executable, "-p", tmp_path]
    found = json.loads(subprocess.run(command, capture_output=True, text=True, check=False).stdout)
    errors = [one for one in found["generalDiagnostics"] if one["severity"] == "error"]
    assert found["summary"]["filesAnalyzed"] > 80
    assert [f"{one['file']}:{one['range']['start']['line'] + 1}: {one['message']}" for one in errors] == []
