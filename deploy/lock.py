"""Parts of requirements.lock: a group of pyproject.toml with all that it needs, with hashes."""  # noqa: INP001

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
_PIN = re.compile(r"^(?P<name>[\w.-]+)==(?P<version>[^\s;]+)(?: ; (?P<marker>.*?))? *\\?$")
_NAME, _INCLUDED = re.compile(r"[\w.-]+"), re.compile(r"hypot\[(.+)\]$")
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


def read_lock(text: str) -> list[Pin]:
    """All packages of a lock that uv or pip-tools wrote. One may have several versions, with different markers."""
    return [_pin(block) for block in re.split(r"^(?=\w)", text, flags=re.MULTILINE) if block.strip()]


def _pin(block: str) -> Pin:
    first = block.partition("\n")[0]
    found = _PIN.match(first)
    if found is None:
        raise ValueError(f"requirements.lock: {first!r} does not pin one version")
    hashes, needed_by = tuple(_HASH.findall(block)), frozenset(map(normal, _NEEDED_BY.findall(block)))
    return Pin(normal(found["name"]), found["version"], found["marker"] or "", hashes, needed_by)


def closure(pins: list[Pin], roots: Iterable[str]) -> list[Pin]:
    """These packages and all that they need, by name."""
    wanted: set[str] = set()
    more = set(map(normal, roots))
    while more:
        wanted |= more
        more = {pin.name for pin in pins if pin.needed_by & wanted} - wanted
    if missing := wanted - {pin.name for pin in pins}:
        raise ValueError(f"requirements.lock: {', '.join(sorted(missing))} is missing; run make lock")
    return sorted((pin for pin in pins if pin.name in wanted), key=lambda pin: (pin.name, pin.version))


def project() -> dict[str, Any]:
    """The project's pyproject.toml."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def controller_roots() -> list[str]:
    """The packages that the controller imports."""
    return list(project()["dependency-groups"]["controller"])


def build_roots() -> list[str]:
    """The build backend."""
    return [_name(each) for each in project()["build-system"]["requires"]]


def extra_roots(extra: str = "") -> list[str]:
    """What `hypot[extra]` asks for, also through other extras; without an extra, what hypot asks for."""
    about = project()["project"]
    roots = set(map(_name, about["dependencies"]))
    for each in about["optional-dependencies"][extra] if extra else ():
        included = _INCLUDED.match(each)
        roots |= {root for one in included[1].split(",") for root in extra_roots(one)} if included else {_name(each)}
    return sorted(roots)


def extras() -> list[str]:
    """The names of the extras."""
    return list(project()["project"]["optional-dependencies"])


def _name(requirement: str) -> str:
    return _NAME.match(requirement)[0]  # type: ignore[index]


def locked(roots: Iterable[str], *more: str) -> list[Pin]:
    """These packages of requirements.lock and all that they need. What it lacks is looked for in more locks."""
    read = [read_lock((ROOT / file).read_text(encoding="utf-8")) for file in ("requirements.lock", *more)]
    return closure(joined(read), roots)


def joined(locks: Iterable[list[Pin]]) -> list[Pin]:
    """All packages of several locks, each in the versions of the first lock that has it."""
    found: list[Pin] = []
    for lock in locks:
        needed: dict[str, frozenset[str]] = {}
        for pin in lock:
            needed[pin.name] = needed.get(pin.name, frozenset()) | pin.needed_by
        known = {pin.name for pin in found}
        found = [replace(pin, needed_by=pin.needed_by | needed.get(pin.name, frozenset())) for pin in found]
        found += [pin for pin in lock if pin.name not in known]
    return found


def requirements(pins: Iterable[Pin]) -> str:
    """A file for `pip install --require-hashes`."""
    return "".join(f"{pin}\n" for pin in pins)
