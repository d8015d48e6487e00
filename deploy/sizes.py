"""Prints how much each way to install hypot brings, without Python and pip: `make sizes`.

Each is installed into an empty environment, from the wheel, with the versions and hashes of the locks. `sizes.py hypot`
does only this one. The exit status is 1 if one is above its bar.
"""  # noqa: INP001

import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.metadata import distributions
from pathlib import Path
from typing import NamedTuple

from environment import install_pins, pip_and_wheel, python_of, run, size_of
from lock import extra_roots, extras, locked

# In MB, of which numpy takes 70: the vertical axis needs it.
BARS = {"hypot": 110}


class Installed(NamedTuple):
    """What an installation brings: bytes of files, with compiled modules, and packages, hypot among them."""

    name: str
    size: int
    packages: int

    @property
    def bar(self) -> int | None:
        """The largest size, in MB."""
        return BARS.get(self.name)

    @property
    def too_large(self) -> bool:
        """Whether it is above its bar."""
        return self.bar is not None and self.size > self.bar * 1e6


def names() -> list[str]:
    """All that can be installed: `hypot`, and `hypot[extra]` for each extra."""
    return ["hypot", *(f"hypot[{extra}]" for extra in extras())]


def installed(asked: Iterable[str]) -> Iterator[Installed]:
    """Install one after the other, and remove each again."""
    with pip_and_wheel() as (pip, wheel):
        for name in asked:
            with empty_with(pip, wheel, name) as folder:
                run(str(folder / "bin" / "hypot"), "--version", stdout=subprocess.DEVNULL)
                yield measured(name, folder)


@contextmanager
def empty_with(pip: list[str], wheel: Path, name: str = "hypot") -> Iterator[Path]:
    """An environment with hypot, or hypot[extra], and what it asks for; nothing else."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        venv.create(folder, symlinks=True)
        extra = name.removeprefix("hypot").strip("[]")
        install_pins(pip, folder, locked(extra_roots(extra), "interop.lock"))
        # Without an index, pip fails if something is missing that the wheel asks for.
        wanted = f"{wheel}[{extra}]" if extra else str(wheel)
        run(*pip, "--python", str(python_of(folder)), "install", "--no-index", wanted)
        yield folder


def measured(name: str, folder: Path) -> Installed:
    """What is in an environment."""
    (site,) = folder.glob("lib/python*/site-packages")
    return Installed(name, size_of(folder), len(list(distributions(path=[str(site)]))))


def row(one: Installed) -> str:
    """A line of the table."""
    bar = "" if one.bar is None else f"  (bar {one.bar}{', TOO LARGE' if one.too_large else ''})"
    return f"{one.name:<16} {one.size / 1e6:7.1f} {one.packages:9}{bar}\n"


def main(asked: list[str]) -> int:
    """The exit status."""
    if wrong := sorted({*asked} - {*names()}):
        sys.exit(f"{', '.join(wrong)}: choose from {', '.join(names())}")
    sys.stdout.write(f"{'':<16} {'MB':>7} {'packages':>9}\n")
    failed = False
    for one in installed(asked or names()):
        sys.stdout.write(row(one))
        sys.stdout.flush()
        failed |= one.too_large
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
