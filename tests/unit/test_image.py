"""What the image is made of: the part of the lock that the controller imports, with hashes, and nothing else."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from lock import build_roots, closure, controller_roots, joined, locked, normal, project, read_lock, requirements

ROOT = Path(__file__).resolve().parents[2]
LOCK = """\
aiohttp==3.14.5 \\
    --hash=sha256:{0} \\
    --hash=sha256:{1}
    # via hypot (pyproject.toml:dev)
cffi==2.1.1 ; platform_python_implementation != 'PyPy' \\
    --hash=sha256:{0}
    # via cryptography
idna==3.20 \\
    --hash=sha256:{1}
    # via
    #   trustme
    #   yarl
rich==15.0.0 \\
    --hash=sha256:{1}
    # via hypot (pyproject.toml)
yarl==1.25.1 \\
    --hash=sha256:{1}
    # via aiohttp
""".format("a" * 64, "b" * 64)


# Parts of the lock.


def test_a_part_of_the_lock():
    """A package, what it needs, and what that needs."""
    assert [pin.name for pin in closure(read_lock(LOCK), ["AioHTTP"])] == ["aiohttp", "idna", "yarl"]


def test_several_versions_of_a_package():
    """Their markers say which one is installed."""
    lock = read_lock("a==2 ; python_version >= '3.12' \\\na==1 ; python_version < '3.12' \\\n")
    assert requirements(closure(lock, ["a"])) == "a==1 ; python_version < '3.12'\na==2 ; python_version >= '3.12'\n"


def test_a_package_of_several_locks():
    """It has the version of the first; what the others say of who needs it is added."""
    first = read_lock("b==1 \\\n    # via a\na==1 \\\n")
    second = read_lock("b==2 \\\n    # via c\nc==2 \\\n    # via d\nd==2 \\\n")
    assert [(pin.name, pin.version) for pin in closure(joined([first, second]), ["d"])] == [
        ("b", "1"),
        ("c", "2"),
        ("d", "2"),
    ]


def test_requirements_are_as_in_the_lock():
    """Versions, markers and hashes stay, so that pip checks them."""
    whole = requirements(read_lock(LOCK))
    assert whole == re.sub(r"^ +#.*\n", "", LOCK, flags=re.MULTILINE)
    assert [pin.name for pin in read_lock(whole)] == [pin.name for pin in read_lock(LOCK)]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: closure(read_lock(LOCK), ["numpy"]), "numpy is missing; run make lock"),
        (lambda: read_lock("numpy>=2 \\\n"), "'numpy>=2 .*' does not pin one version"),
        (lambda: read_lock("-e .\n" + LOCK), "'-e .' does not pin one version"),
    ],
)
def test_what_the_lock_does_not_say(call, message):
    """It is an error, and not a smaller environment."""
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("roots", [controller_roots, build_roots])
def test_every_package_has_hashes(roots):
    """Of every package of the image, and of the build backend."""
    pins = locked(roots())
    assert all(pin.hashes for pin in pins)
    assert {"aiohttp", "hatchling"} & {pin.name for pin in pins}


def test_the_build_backend_has_the_version_of_the_lock():
    """After `make lock`, build-system.requires of pyproject.toml needs the same version."""
    (version,) = (pin.version for pin in locked(["hatchling"]) if pin.name == "hatchling")
    assert project()["build-system"]["requires"] == [f"hatchling=={version}"]


def test_what_the_image_has_is_a_dependency():
    """The group names packages only; their versions are those of the dependencies and of the extra `run`."""
    about = project()["project"]
    known = [*about["dependencies"], *about["optional-dependencies"]["run"]]
    names = {normal(re.match(r"[\w.-]+", each)[0]) for each in known}
    assert set(map(normal, controller_roots())) <= names
    assert set(map(normal, controller_roots())) >= {
        normal(re.match(r"[\w.-]+", each)[0]) for each in about["optional-dependencies"]["run"]
    }


IMPORTS = """\
import importlib, json, pkgutil, re, sys
from importlib.metadata import packages_distributions
allowed, known = set(json.loads(sys.argv[1])), packages_distributions()

class Nothing:
    def find_spec(self, name, path=None, target=None):
        its = {re.sub("[-_.]+", "-", each).lower() for each in known.get(name.partition(".")[0], ())}
        if its and not its & allowed:
            raise ModuleNotFoundError(f"{name} is not in the image", name=name)

sys.meta_path.insert(0, Nothing())
for name in ("core", "kinds", "policy", "lint", "cluster", "serving", "run", "metricsapi"):
    package = importlib.import_module(f"hypot.{name}")
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        importlib.import_module(module.name)
for name in ("main", "run.command", "metrics.command", "run.manifests", "run.crds", "decide", "lint"):
    importlib.import_module(f"hypot.cli.{name}")
tops = {name.partition(".")[0] for name in sys.modules}
print(json.dumps(sorted({each for top in tops for each in known.get(top, ())})))
"""


def test_the_controller_imports_what_the_image_has():
    """It imports nothing else, and each package of the group is needed."""
    allowed = ["hypot", *(pin.name for pin in locked(controller_roots()))]
    asked = [sys.executable, "-c", IMPORTS, json.dumps(allowed)]
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    # Time zones are data, which nothing imports as a module.
    imported = {"tzdata", *map(normal, json.loads(done.stdout))}
    assert set(map(normal, controller_roots())) <= imported
    assert not {"polars", "plotly", "rich", "numba", "matplotlib", "distributed"} & imported


@pytest.mark.parametrize("missing", ["plotly", "rich"])
def test_what_the_image_lacks_is_reported(missing, tmp_path):
    """A command that needs more says so; one that can do without it does."""
    plot = ["--plot", str(tmp_path / "plot.html")] if missing == "plotly" else []
    command = ["intervals", "-f", "examples/hvpa.yaml", *plot]
    code = (
        f"import sys; sys.modules[{missing!r}] = None; sys.stderr.isatty = lambda: True\n"
        f"from hypot.cli.main import main; main({command!r})"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr
    if missing == "rich":
        assert (done.returncode, done.stderr) == (0, "")
    else:
        assert (done.returncode, "this needs plotly, which is not installed" in done.stderr) == (2, True)


# The Dockerfile.


def dockerfile():
    return (ROOT / "deploy" / "Dockerfile").read_text(encoding="utf-8")


def test_the_base_image_has_a_digest():
    """It comes with the build; without one the build stops with a message. No other image is named."""
    text = dockerfile()
    assert re.findall(r"^FROM (\S+)", text, re.MULTILINE) == ["${BASE}", "${BASE}"]
    (base,) = re.findall(r'^ARG BASE="(.*)"$', text, re.MULTILINE)
    assert re.fullmatch(r"\$\{BASE_IMAGE\}@\$\{BASE_DIGEST:\?[^}]*--build-arg BASE_DIGEST=[^}]*\}", base)
    assert "\nARG BASE_DIGEST\n" in text
    assert "syntax=" not in text


def test_the_image_is_installed_by_the_script_that_ci_runs():
    """Only the script calls pip."""
    text = dockerfile()
    assert re.findall(r"^RUN (.*)$", text, re.MULTILINE) == ["python deploy/environment.py /opt/hypot"]
    assert "deploy/environment.py" in (ROOT / "Makefile").read_text(encoding="utf-8")
    assert "make image-environment" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")
