"""The record of each kind: its names are known without its class, and are those of its class."""

import json
import subprocess
import sys

import pytest

from hypot.kinds.catalogue import CATALOGUE

# Prints the folders of kinds that are imported at the end.
SHOW = """
import json, sys
from hypot.__main__ import main
sys.argv = ["hypot", "lint", sys.argv[1]]
try:
    main()
finally:
    print(json.dumps(sorted(name for name in sys.modules if name.count(".") == 2 and name.startswith("hypot.kinds."))))
"""
FOLDERS = {info.module.split(".")[2] for info in CATALOGUE.values()}


@pytest.mark.parametrize("info", CATALOGUE.values(), ids=CATALOGUE)
def test_the_names_are_those_of_the_class(info):
    """They are written once, and the class takes them from there."""
    names = info.kind.KIND, info.kind.API_VERSION, info.kind.FORMER_VERSIONS
    assert (info.name, info.api_version, info.identity.former_versions) == names


def test_only_the_kinds_of_the_input_are_imported(tmp_path):
    """To import the others takes longer than to check ten files."""
    hpa = {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "web"}, "spec": {}}
    (tmp_path / "web.json").write_text(json.dumps(hpa), encoding="utf-8")
    done = subprocess.run([sys.executable, "-c", SHOW, str(tmp_path)], capture_output=True, text=True, check=False)
    imported = {name.split(".")[2] for name in json.loads(done.stdout.splitlines()[-1])}
    assert imported & FOLDERS == {"hpa"}
