"""Installs what the image has, from requirements.lock: `python deploy/environment.py FOLDER`.

Every file has a hash in the lock, no package runs code of its own while it is installed, and no tool stays in FOLDER.
"""  # noqa: INP001

import os
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import Distribution, distributions
from pathlib import Path

from lock import ROOT, Pin, build_roots, controller_roots, locked, requirements

# The commands that must work there: the controller with all that it imports, and what installs it.
CHECKS = (
    ("bin/python", "-c", "import hypot.run.app, hypot.metricsapi.app"),
    ("bin/hypot", "run", "--help"),
    ("bin/hypot", "metrics", "--help"),
    ("bin/hypot", "manifests", "--image", "hypot"),
    ("bin/hypot", "crds"),
)
ENVIRONMENT = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "PYTHONHOME"}}


def install(folder: Path) -> None:
    """Make a virtual environment with hypot and what its controller imports."""
    if folder.exists() and any(folder.iterdir()) and not (folder / "pyvenv.cfg").exists():
        sys.exit(f"{folder} is not a virtual environment; name a new folder")
    venv.create(folder, clear=True, symlinks=True)
    with pip_and_wheel() as (pip, wheel):
        install_pins(pip, folder, locked(controller_roots()))
        run(*pip, "--python", str(python_of(folder)), "install", "--no-deps", "--no-index", str(wheel))
    for program, *arguments in CHECKS:
        run(str(folder / program), *arguments, stdout=subprocess.DEVNULL)


@contextmanager
def pip_and_wheel() -> Iterator[tuple[list[str], Path]]:
    """A pip command in an environment of its own, and a wheel of hypot, built without a network but for its tools."""
    with build_tools() as python, tempfile.TemporaryDirectory() as scratch:
        (wheel,) = build(python, ROOT, Path(scratch), "wheel")
        yield pip_of(python), wheel


@contextmanager
def build_tools() -> Iterator[Path]:
    """The interpreter of an environment of its own, with pip and the build backend."""
    with tempfile.TemporaryDirectory() as scratch:
        tools = Path(scratch)
        venv.create(tools, symlinks=True, with_pip=True)
        install_pins(pip_of(python_of(tools)), tools, locked(build_roots()))
        yield python_of(tools)


def build(python: Path, source: Path, into: Path, *what: str) -> list[Path]:
    """Build `wheel` or `sdist` from the sources of a folder, by the same calls as pip."""
    into.mkdir(parents=True, exist_ok=True)
    calls = "; ".join(f"build.build_{each}(sys.argv[1])" for each in what)
    run(str(python), "-c", f"import sys; from hatchling import build; {calls}", str(into), cwd=source)
    return sorted(into.glob("hypot-*"))


def pip_of(python: Path) -> list[str]:
    """The pip of an environment, as a command; `--python` lets it install into another one."""
    return [str(python), "-m", "pip", "--disable-pip-version-check", "--quiet"]


def python_of(folder: Path) -> Path:
    """The interpreter of a virtual environment."""
    return folder / "bin" / "python"


def install_pins(pip: list[str], into: Path, pins: list[Pin]) -> None:
    """Without `--no-deps`: pip then refuses a package that another one needs and the lock does not have."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write(requirements(pins))
        file.flush()
        strict = ("--require-hashes", "--only-binary", ":all:")
        run(*pip, "--python", str(python_of(into)), "install", *strict, "--requirement", file.name)


def run(*command: str, stdout: int | None = None, cwd: Path | None = None) -> None:
    """Run a command, and end with it if it fails."""
    done = subprocess.run(command, env=ENVIRONMENT, stdout=stdout, cwd=cwd, check=False)  # noqa: S603  only our own
    if done.returncode:
        sys.exit(f"exit status {done.returncode}: {' '.join(command)}")


def report(folder: Path) -> str:
    """The installed size of each package, the largest first, and of the folder."""
    (site,) = folder.glob("lib/python*/site-packages")
    sizes = {f"{each.name} {each.version}": _size_of_package(each) for each in distributions(path=[str(site)])}
    lines = [f"{size / 1e6:8.1f} MB  {name}\n" for name, size in sorted(sizes.items(), key=lambda each: -each[1])]
    return "".join([*lines, f"{size_of(folder) / 1e6:8.1f} MB  in all, {len(sizes)} packages\n"])


def size_of(folder: Path) -> int:
    """The bytes of all files; what is linked, such as Python itself, does not count."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())


def _size_of_package(package: Distribution) -> int:
    files = [Path(str(package.locate_file(file))) for file in package.files or ()]
    return sum(file.stat().st_size for file in files if file.is_file())


if __name__ == "__main__":
    target = Path(sys.argv[1]).resolve()
    install(target)
    sys.stdout.write(report(target))
