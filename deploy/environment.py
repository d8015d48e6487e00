"""Installs what the image has, from requirements.lock: `python deploy/environment.py FOLDER`.

Every file has a hash in the lock, no package runs code of its own while it is installed, and no tool stays in FOLDER.
"""  # noqa: INP001

import os
import subprocess
import sys
import tempfile
import venv
from importlib.metadata import Distribution, distributions
from pathlib import Path

from lock import ROOT, Pin, build_roots, controller_roots, locked, requirements

# The commands that must work there: the controller with all that it imports, and what installs it.
CHECKS = (
    ("bin/python", "-c", "import hypot.run.app, hypot.metricsapi.app"),
    ("bin/hypot", "run", "--help"),
    ("bin/hypot", "metrics", "--help"),
    ("bin/hypot", "manifests"),
    ("bin/hypot", "crds"),
)
_ENVIRONMENT = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "PYTHONHOME"}}


def install(folder: Path) -> None:
    """Make a virtual environment with hypot and what its controller imports."""
    if folder.exists() and any(folder.iterdir()) and not (folder / "pyvenv.cfg").exists():
        sys.exit(f"{folder} is not a virtual environment; name a new folder")
    venv.create(folder, clear=True, symlinks=True)
    with tempfile.TemporaryDirectory() as scratch:
        tools = Path(scratch, "tools")
        venv.create(tools, symlinks=True, with_pip=True)
        pip = [str(tools / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "--quiet"]
        _install(pip, tools, locked(build_roots()))
        _run(*pip, "wheel", "--no-deps", "--no-build-isolation", "--no-index", "--wheel-dir", scratch, str(ROOT))
        _install(pip, folder, locked(controller_roots()))
        (wheel,) = Path(scratch).glob("hypot-*.whl")
        _run(*pip, "--python", str(folder / "bin" / "python"), "install", "--no-deps", "--no-index", str(wheel))
    for program, *arguments in CHECKS:
        _run(str(folder / program), *arguments, stdout=subprocess.DEVNULL)


def _install(pip: list[str], into: Path, pins: dict[str, Pin]) -> None:
    """Without `--no-deps`: pip then refuses a package that another one needs and the lock does not have."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write(requirements(pins))
        file.flush()
        strict = ("--require-hashes", "--only-binary", ":all:")
        _run(*pip, "--python", str(into / "bin" / "python"), "install", *strict, "--requirement", file.name)


def _run(*command: str, stdout: int | None = None) -> None:
    done = subprocess.run(command, env=_ENVIRONMENT, stdout=stdout, check=False)  # noqa: S603  only what is written here
    if done.returncode:
        sys.exit(f"exit status {done.returncode}: {' '.join(command)}")


def report(folder: Path) -> str:
    """The installed size of each package, the largest first, and of the folder."""
    (site,) = folder.glob("lib/python*/site-packages")
    sizes = {f"{each.name} {each.version}": _size_of(each) for each in distributions(path=[str(site)])}
    lines = [f"{size / 1e6:8.1f} MB  {name}\n" for name, size in sorted(sizes.items(), key=lambda each: -each[1])]
    total = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return "".join([*lines, f"{total / 1e6:8.1f} MB  in all, {len(sizes)} packages\n"])


def _size_of(package: Distribution) -> int:
    files = [Path(str(package.locate_file(file))) for file in package.files or ()]
    return sum(file.stat().st_size for file in files if file.is_file())


if __name__ == "__main__":
    target = Path(sys.argv[1]).resolve()
    install(target)
    sys.stdout.write(report(target))
