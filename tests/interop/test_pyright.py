"""pyright understands the types that authors meet."""

import json
import subprocess

from conftest import ROOT

RIGHT = """
from hypot import HPA, VPA, cpu, diff, from_yaml, to_yaml

web = HPA("deployment/web", max_replicas=10, metrics=[cpu(utilization=70)])
again: HPA = HPA.from_yaml(web.to_yaml())
effective: HPA = web.effective("1.34")
words: tuple[str, ...] = diff(web, effective).words
text: str = to_yaml(web, VPA("deployment/web"))
names = [one.name for one in from_yaml(text)]
"""
WRONG = """
from hypot import HPA, cpu

HPA("deployment/web")
HPA("deployment/web", max_replicas="10")
HPA("deployment/web", max_replicas=10, metrics=[cpu(utilization=70, average="500m")])
HPA("deployment/web", max_replicas=10).effective(1.34)
HPA.from_yaml(b"")
"""


def reported(pyright, folder, text):
    """The lines with errors."""
    (folder / "it.py").write_text(text, encoding="utf-8")
    settings = {"include": ["it.py"], "extraPaths": [str(ROOT / "src")], "pythonVersion": "3.11"}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings), encoding="utf-8")
    done = subprocess.run([pyright, "--outputjson", "-p", folder], capture_output=True, text=True, check=False)
    found = json.loads(done.stdout)["generalDiagnostics"]
    return sorted({one["range"]["start"]["line"] for one in found if one["severity"] == "error"})


def test_right_use_has_no_error(pyright, tmp_path):
    """Each method gives the kind that it was called on."""
    assert reported(pyright, tmp_path, RIGHT) == []


def test_each_misuse_is_an_error(pyright, tmp_path):
    """In the editor, before anything runs."""
    lines = [i for i, line in enumerate(WRONG.splitlines()) if line.startswith("HPA")]
    assert reported(pyright, tmp_path, WRONG) == lines
