"""Parts of requirements.lock: a group of pyproject.toml with all that it needs, with hashes."""  # noqa: INP001

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_PIN = re.compile(r"^(?P<name>[\w.-]+)==(?P<version>[^\s;]+)(?: ; (?P<marker>.*?))? *\\?$")
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")
_NEEDED_BY = re.compile(r"^    #(?: via)? +([\w.-]+)(?: \(.*\))?$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Pin:
    """One version of one package. `hashes` are those of all its files; `needed_by` names packages of the lock."""

    name: str
    version: str
    marker: str
    hashes: tuple[str, ...]
    needed_by: frozenset[str]

    def __str__(self) -> str:
        marker = f" ; {self.marker}" if self.marker else ""
        return " \\\n    ".join([f"{self.name}=={self.version}{marker}", *(f"--hash=sha256:{h}" for h in self.hashes)])


def normal(name: str) -> str:
    """The name of a package as the lock writes it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def read_lock(text: str) -> dict[str, Pin]:
    """All packages of a lock that uv or pip-tools wrote, by name."""
    pins = [_pin(block) for block in re.split(r"^(?=\w)", text, flags=re.MULTILINE) if block.strip()]
    return {pin.name: pin for pin in pins}


def _pin(block: str) -> Pin:
    first = block.partition("\n")[0]
    found = _PIN.match(first)
    if found is None:
        raise ValueError(f"requirements.lock: {first!r} does not pin one version")
    hashes, needed_by = tuple(_HASH.findall(block)), frozenset(map(normal, _NEEDED_BY.findall(block)))
    return Pin(normal(found["name"]), found["version"], found["marker"] or "", hashes, needed_by)


def closure(pins: dict[str, Pin], roots: Iterable[str]) -> dict[str, Pin]:
    """These packages and all that they need."""
    wanted: set[str] = set()
    more = set(map(normal, roots))
    while more:
        wanted |= more
        more = {pin.name for pin in pins.values() if pin.needed_by & wanted} - wanted
    if missing := wanted - set(pins):
        raise ValueError(f"requirements.lock: {', '.join(sorted(missing))} is missing; run make lock")
    return {name: pins[name] for name in sorted(wanted)}


def project() -> dict[str, object]:
    """The project's pyproject.toml."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def controller_roots() -> list[str]:
    """The packages that the controller imports."""
    return [str(name) for name in project()["dependency-groups"]["controller"]]  # type: ignore[index]


def build_roots() -> list[str]:
    """The build backend."""
    return [str(each).partition("==")[0] for each in project()["build-system"]["requires"]]  # type: ignore[index]


def locked(roots: Iterable[str]) -> dict[str, Pin]:
    """These packages of requirements.lock and all that they need."""
    return closure(read_lock((ROOT / "requirements.lock").read_text(encoding="utf-8")), roots)


def requirements(pins: dict[str, Pin]) -> str:
    """A file for `pip install --require-hashes`."""
    return "".join(f"{pin}\n" for pin in pins.values())
