"""The etcd, kube-apiserver, kube-controller-manager and kubectl binaries: given, cached, or built once with Go.

Run as a script, it makes sure that they exist and prints where they are.
"""

import fcntl
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

CLUSTER = Path(__file__).parents[1]
MODULE = CLUSTER / "controlplane"
# The name of the program, and the Go package it is built from.
PACKAGES = {
    "etcd": "go.etcd.io/etcd/server/v3",
    "kube-apiserver": "k8s.io/kubernetes/cmd/kube-apiserver",
    "kube-controller-manager": "k8s.io/kubernetes/cmd/kube-controller-manager",
}
GO_ENVIRONMENT = {"GOTOOLCHAIN": "local", "CGO_ENABLED": "0", "GOFLAGS": "", "GOWORK": "off"}
KUBECTL = {"kubectl": "hypot.dev/kubectl"}
STAMPED = ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")


class UnavailableError(Exception):
    """There are no binaries, and no Go to build them; the message says how to get them."""


class BuildError(Exception):
    """The build of the binaries failed."""


def find() -> Path | None:
    """The folder with all three binaries, or None."""
    given = os.environ.get("KUBEBUILDER_ASSETS")
    if given and _complete(Path(given)):
        return Path(given)
    if given:
        say(f"KUBEBUILDER_ASSETS={given} is ignored: it does not have all of {', '.join(PACKAGES)}")
    return folder if _complete(folder := _cached()) else None


def ensure() -> Path:
    """The folder with all three binaries, built if necessary; a second process waits for the build of the first."""
    found = find()
    if found:
        return found
    return _built(MODULE, PACKAGES)


def kubectl() -> Path:
    """kubectl: beside the given binaries, on the PATH, else built."""
    given = os.environ.get("KUBEBUILDER_ASSETS")
    if given and _complete(Path(given), KUBECTL):
        return Path(given) / "kubectl"
    found = shutil.which("kubectl")
    return Path(found) if found else _built(CLUSTER / "kubectl", KUBECTL) / "kubectl"


def _built(module: Path, packages: Mapping[str, str]) -> Path:
    folder = _cached(module)
    if _complete(folder, packages):
        return folder
    go = _go()
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BuildError(f"the cache folder {folder.parent} cannot be made: {error}; set XDG_CACHE_HOME") from error
    with _lock(folder.parent / f"{folder.name}.lock"):
        if not _complete(folder, packages):
            _build(go, folder, module, packages)
    return folder


def version() -> str:
    """The version of Kubernetes that is pinned, as Kubernetes writes it."""
    return _pinned(r"k8s\.io/kubernetes (v\S+)")


def _pinned(pattern: str) -> str:
    found = re.search(pattern, (MODULE / "go.mod").read_text(encoding="utf-8"))
    if not found:
        raise UnavailableError(f"{MODULE / 'go.mod'} does not say {pattern}")
    return found[1]


def _complete(folder: Path, packages: Iterable[str] = tuple(PACKAGES)) -> bool:
    return all(os.access(folder / name, os.X_OK) for name in packages)


def _cached(module: Path = MODULE) -> Path:
    """One folder for each version, checksums, flags and machine type."""
    parts = [(module / name).read_bytes() for name in ("go.mod", "go.sum")]
    parts += [" ".join(_flags()).encode(), f"{sys.platform} {platform.machine()}".encode()]
    key = hashlib.sha256(b"\0".join(parts)).hexdigest()[:12]
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")  # noqa: PTH111 - never fails
    return Path(home) / "hypot" / f"{module.name}-{version()}-{key}"


def _flags() -> list[str]:
    _, major, minor, *_ = re.split(r"[v.]", version())
    message = {"gitVersion": version(), "gitMajor": major, "gitMinor": minor, "gitTreeState": "clean"}
    stamps = [f"-X {package}.{name}={word}" for package in STAMPED for name, word in message.items()]
    return ["-trimpath", "-buildvcs=false", "-ldflags", " ".join(["-s -w", *stamps])]


def _go() -> str:
    wanted = _pinned(r"\ngo (\d+\.\d+)")
    how = f"install Go {wanted} or newer, or set KUBEBUILDER_ASSETS to a folder with {', '.join(PACKAGES)}"
    go = shutil.which("go")
    if not go:
        raise UnavailableError(f"no control plane and no Go: {how}")
    reported = subprocess.run(
        [go, "env", "GOVERSION"], env=_environment(), cwd="/", capture_output=True, text=True, check=False
    )
    found = re.match(r"go(\d+)\.(\d+)", reported.stdout)
    if not found or (int(found[1]), int(found[2])) < tuple(int(part) for part in wanted.split(".")):
        raise UnavailableError(f"no control plane, and Go is {reported.stdout.strip() or 'not working'}: {how}")
    return go


def _environment() -> dict[str, str]:
    return {**os.environ, **GO_ENVIRONMENT}


@contextmanager
def _lock(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("another process is building; waiting for it")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _build(go: str, folder: Path, module: Path, packages: Mapping[str, str]) -> None:
    """Build in a temporary folder and rename it, so that a failed build leaves nothing that looks complete."""
    takes = "5 to 15 minutes" if packages is PACKAGES else "a minute or two"
    say(f"building {', '.join(packages)} {version()}: once, {takes} on two cores")
    with tempfile.TemporaryDirectory(dir=folder.parent) as place:
        made = Path(place) / "bin"
        total = len(_run(module, go, "list", "-deps", *packages.values()).splitlines())
        _compile(module, [go, "build", "-v", *_flags(), "-o", f"{made}/", *packages.values()], total)
        if "etcd" in packages:
            (made / "server").rename(made / "etcd")
        shutil.rmtree(folder, ignore_errors=True)
        made.rename(folder)


def _run(module: Path, *command: str) -> str:
    done = subprocess.run(command, env=_environment(), cwd=module, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BuildError(f"{' '.join(command[:2])} failed: {done.stderr.strip()[-2000:]}")
    return done.stdout


def _compile(module: Path, command: list[str], total: int) -> None:
    """Go prints each package that it compiles, but not those that are already in its cache."""
    began = shown = time.monotonic()
    lines: list[str] = []
    with subprocess.Popen(command, env=_environment(), cwd=module, stderr=subprocess.PIPE, text=True) as process:
        for line in process.stderr or ():
            lines.append(line)
            if time.monotonic() - shown >= 10:
                shown = time.monotonic()
                say(f"{len(lines)} of at most {total} packages compiled, {shown - began:.0f} s")
    if process.returncode:
        raise BuildError(f"go build failed: {''.join(lines[-30:])}")
    say(f"built in {time.monotonic() - began:.0f} s")


def say(text: str) -> None:
    """Print a message for the person who waits."""
    sys.stderr.write(f"control plane: {text}\n")
    sys.stderr.flush()


def main() -> int:
    try:
        say(str(ensure()))
        say(str(kubectl()))
    except UnavailableError as error:
        say(str(error))
        return 1 if os.environ.get("CI") else 0
    except BuildError as error:
        say(str(error))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
