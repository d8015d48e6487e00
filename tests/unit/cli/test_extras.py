"""What is not installed is named with the command that installs it."""

import json
import re
import subprocess
import sys
import tomllib
from importlib.metadata import distribution
from pathlib import Path

import pytest

import hypot
from hypot.cli.extras import EXTRA_OF, install_command, missing

ROOT = Path(__file__).resolve().parents[3]
EXAMPLES = ROOT / "examples"
# Modules that come with a package of another name, or with one that an extra asks for.
BROUGHT = {"llvmlite": "numba", "dask": "distributed"}


def test_each_extra_has_the_package():
    """As pyproject.toml has it."""
    extra = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    for module, name in EXTRA_OF.items():
        packages = [re.split(r"[>=<\[;. ]", one)[0] for one in extra[name]]
        assert BROUGHT.get(module, module) in packages, module
    assert set(EXTRA_OF.values()) | {"all"} == set(extra)


class Installed:
    def __init__(self, url=None, installer=None):
        self.files = {"direct_url.json": None if url is None else json.dumps(url), "INSTALLER": installer}

    def read_text(self, name):
        return self.files[name]


@pytest.mark.parametrize(
    ("found", "command"),
    [
        (None, "pip install 'hypot[run]'"),
        ({"url": "file:///home/a%20b/hypot", "dir_info": {}}, "pip install '/home/a b/hypot[run]'"),
        ({"url": "file:///src", "dir_info": {"editable": True}}, "pip install -e '/src[run]'"),
        ({"url": "file:///a%20b/hypot.whl", "archive_info": {}}, "pip install 'hypot[run] @ file:///a%20b/hypot.whl'"),
        (
            {"url": "https://git.example/hypot", "vcs_info": {"vcs": "git", "commit_id": "4b3c"}},
            "pip install 'hypot[run] @ git+https://git.example/hypot@4b3c'",
        ),
        ([], "pip install 'hypot[run]'"),
    ],
)
def test_the_command_fits_the_installation(monkeypatch, found, command):
    """From an index, a folder, a checkout, a file, or a repository."""
    monkeypatch.setattr("importlib.metadata.distribution", lambda _: Installed(found))
    assert install_command("run") == command


@pytest.mark.parametrize(
    ("installer", "file", "command"),
    [
        ("pip\n", None, "pip install"),
        ("uv", None, "uv pip install"),
        ("uv", "uv-receipt.toml", "uv tool install"),
        ("pip", "pipx_metadata.json", "pipx install --force"),
    ],
)
def test_the_command_is_that_of_the_installer(monkeypatch, tmp_path, installer, file, command):
    """Pip would install into another environment than that of uv or pipx."""
    monkeypatch.setattr("importlib.metadata.distribution", lambda _: Installed(installer=installer))
    monkeypatch.setattr("sys.prefix", str(tmp_path))
    if file:
        (tmp_path / file).touch()
    assert install_command("run") == f"{command} 'hypot[run]'"


def test_another_module_that_is_missing_is_an_error_of_hypot():
    """A traceback helps there."""
    assert missing(ModuleNotFoundError(name="hypot.nowhere")) is None
    assert missing(ModuleNotFoundError("no name")) is None


@pytest.mark.parametrize(
    ("module", "arguments"),
    [
        ("cryptography", ["run"]),
        ("cryptography", ["metrics", "--preset", "gardener"]),
        ("plotly", ["replay", "usage.csv", "-f", "tortoise.yaml", "--report", "x.html"]),
        ("matplotlib", ["replay", "usage.csv", "-f", "tortoise.yaml", "--report", "x.png"]),
        ("plotly", ["intervals", "-f", "hvpa.yaml", "--plot", "x.html"]),
    ],
)
def test_a_command_names_what_it_needs(module, arguments, tmp_path):
    """Without a traceback, before any work; nothing is written."""
    arguments = [str(EXAMPLES / one) if (EXAMPLES / one).is_file() else one for one in arguments]
    code = f"import sys; sys.modules[{module!r}] = None; from hypot.cli.main import main; main({arguments!r})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 2
    assert f"this needs {module}, which is not installed: {install_command(EXTRA_OF[module])}" in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_the_version():
    """As in the metadata of the installation."""
    assert hypot.__version__ == distribution("hypot").version
