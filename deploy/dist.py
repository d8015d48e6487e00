"""Writes the wheel and the sdist into dist/, and checks that they can be published: `make dist`.

The sdist gives the same two files again, byte for byte; both have the files that git has and nothing else; an index can
show their page; and the wheel works in an empty environment, where `hypot` is measured as `make sizes` does.
"""  # noqa: INP001

import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from environment import ENVIRONMENT, build, build_tools, install_pins, pip_of, python_of, run
from lock import ROOT, locked, project
from sizes import empty_with, measured, row

# What the sdist has, and where the wheel has it.
SOURCES = ("src/hypot/", "scenarios/", "deploy/index_page.py", "README.md", "LICENSE", "CHANGELOG.md")
BUILD_FILES = {"pyproject.toml", ".gitignore"}
IN_WHEEL = {"src/hypot/": "hypot/", "scenarios/": "hypot/scenarios/"}
ABOUT_WHEEL = {"METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE"}
# What must work in an empty environment: the program, the exit status, and a part of what it prints.
COMMANDS = (
    (("hypot", "--version"), 0, "version {version}"),
    (("kubectl-hypot", "--version"), 0, "version {version}"),
    (("python", "-m", "hypot", "--help"), 0, "Usage: hypot [OPTIONS] COMMAND"),
    (("hypot", "lint", "{root}/examples/shop.yaml"), 0, "0 errors, "),
    (("hypot", "lint", "{root}/examples/replay/policies.yaml"), 1, " errors, "),
    (("hypot", "decide", "-f", "{root}/examples/shop.yaml"), 0, "shop/checkout"),
    (("hypot", "scenarios", "--list"), 0, "S23-T"),
    (("hypot", "intervals", "-f", "{root}/examples/hvpa.yaml", "--plot", "intervals.html"), 2, "{more}"),
)


def tracked() -> list[str]:
    """The files of the repository, without what git does not know."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, stdout=subprocess.PIPE, check=True)  # noqa: S607
    return listed.stdout.decode().rstrip("\0").split("\0")


def expected_in_wheel(files: Iterable[str], version: str) -> set[str]:
    """The package, the scenarios, and what describes the wheel."""
    about = {f"hypot-{version}.dist-info/{name}" for name in ABOUT_WHEEL}
    moved = {to + file.removeprefix(at) for file in files for at, to in IN_WHEEL.items() if file.startswith(at)}
    return about | moved


def expected_in_sdist(files: Iterable[str], version: str) -> set[str]:
    """What a wheel is built from, below one folder."""
    sources = {file for file in files if file.startswith(SOURCES)}
    return {f"hypot-{version}/{file}" for file in sources | BUILD_FILES | {"PKG-INFO"}}


def check_files(archive: Path, found: Iterable[str], expected: set[str]) -> None:
    """Nothing is missing, and nothing is there that should not be."""
    there = set(found)
    lines = [
        *(f"{file} is missing" for file in sorted(expected - there)),
        *(f"{file} should not be there" for file in sorted(there - expected)),
    ]
    if lines:
        sys.exit("\n".join([f"{archive.name}:", *lines]))


def check_same(first: Iterable[Path], second: Iterable[Path]) -> None:
    """Both builds have the same bytes."""
    for one, other in zip(first, second, strict=True):
        if one.name != other.name or one.read_bytes() != other.read_bytes():
            sys.exit(f"{one.name}: the sdist builds something else than the checkout")


def check_page(pip: list[str], archives: Iterable[Path]) -> None:
    """An index takes the metadata, and can show the page."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        venv.create(folder, symlinks=True)
        install_pins(pip, folder, locked(["twine"], "release.lock"))
        run(str(python_of(folder)), "-m", "twine", "--no-color", "check", "--strict", *map(str, archives))


def check_commands(folder: Path, wheel: Path, version: str) -> None:
    """They run outside of the repository, so that nothing of it is imported."""
    known = {"version": version, "root": ROOT, "more": f"pip install 'hypot[replay] @ {wheel.as_uri()}'"}
    for command, status, text in COMMANDS:
        program, *arguments = (each.format_map(known) for each in command)
        done = subprocess.run(  # noqa: S603  only what is written here
            [folder / "bin" / program, *arguments],
            cwd=folder,
            env=ENVIRONMENT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if done.returncode != status or text.format_map(known) not in done.stdout:
            asked, wanted = " ".join([program, *arguments]), text.format_map(known)
            sys.exit(f"{asked}: exit status {done.returncode}, expected {status} and {wanted!r}\n{done.stdout}")


def names_in(archive: Path) -> Iterator[str]:
    """The files of a wheel or an sdist."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as file:
            yield from file.namelist()
    else:
        with tarfile.open(archive) as file:
            yield from file.getnames()


def main(into: Path) -> int:
    """The exit status."""
    version, files = project()["project"]["version"], tracked()
    for old in into.glob("hypot-*"):
        old.unlink()
    with build_tools() as python, tempfile.TemporaryDirectory() as scratch:
        wheel, sdist = built = build(python, ROOT, into, "sdist", "wheel")
        check_files(wheel, names_in(wheel), expected_in_wheel(files, version))
        check_files(sdist, names_in(sdist), expected_in_sdist(files, version))
        shutil.unpack_archive(sdist, scratch)
        check_same(built, build(python, Path(scratch, f"hypot-{version}"), Path(scratch, "again"), "sdist", "wheel"))
        check_page(pip_of(python), built)
        with empty_with(pip_of(python), wheel) as folder:
            one = measured("hypot", folder)
            check_commands(folder, wheel, version)
    sys.stdout.write("".join(f"{path.stat().st_size / 1e6:.1f} MB  dist/{path.name}\n" for path in built))
    sys.stdout.write(f"{'installed':<16} {'MB':>7} {'packages':>9}\n{row(one)}")
    return int(one.too_large)


if __name__ == "__main__":
    sys.exit(main(ROOT / "dist"))
