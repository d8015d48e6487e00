"""Where the binaries of the control plane come from, with a stand-in for Go."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cluster.plane import binaries

SCRIPT = Path(binaries.__file__)
# Answers as `go env`, `go list` and `go build` do; each build writes a line to a log.
GO = """#!/bin/sh
case "$1" in
  env) echo {version} ;;
  list) echo a; echo b ;;
  build)
    echo "$@" >> {log}
    while [ "$1" != -o ]; do shift; done
    folder=$2; shift 2
    mkdir -p "$folder"; sleep 0.3
    for package in "$@"; do
      name=${{package##*/}}; [ "$name" != v3 ] || name=server
      echo "#!/bin/sh" > "$folder/$name"; chmod +x "$folder/$name"
    done
    echo k8s.io/compiled >&2
    exit {status} ;;
esac
"""


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and a PATH that holds one folder and the shell's own tools."""
    for name in ("KUBEBUILDER_ASSETS", "CI"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    monkeypatch.setattr(
        "shutil.which", lambda name: str(found) if (found := tmp_path / "bin" / name).exists() else None
    )
    return tmp_path


def go(world: Path, version: str = "go1.26.3", status: int = 0) -> None:
    file = world / "bin" / "go"
    file.write_text(GO.format(version=version, log=world / "log", status=status))
    file.chmod(0o755)


def builds(world: Path) -> int:
    return len((world / "log").read_text().splitlines()) if (world / "log").exists() else 0


def test_given_binaries_come_first(world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with all three binaries is used as it is; an incomplete folder is not."""
    given = world / "given"
    given.mkdir()
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(given))
    for name in binaries.PACKAGES:
        assert binaries.find() is None
        (given / name).touch(mode=0o755)
    assert binaries.ensure() == given


def test_without_go_one_line_says_how_to_get_them(
    world: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without Go there is no failure, except in CI."""
    assert world.exists()
    assert binaries.main() == 0
    reported = capsys.readouterr().err
    assert reported.count("\n") == 1
    assert "install Go 1.26 or newer, or set KUBEBUILDER_ASSETS" in reported
    monkeypatch.setenv("CI", "true")
    assert binaries.main() == 1


def test_an_old_go_is_refused(world: Path) -> None:
    """The error names the version that was found and the version that is needed."""
    go(world, "go1.22.1")
    with pytest.raises(binaries.UnavailableError, match=r"Go is go1\.22\.1: install Go 1\.26"):
        binaries.ensure()


def test_they_are_built_once(world: Path) -> None:
    """The second time they come from the cache, under their usual names."""
    go(world)
    folder = binaries.ensure()
    assert {file.name for file in folder.iterdir()} == set(binaries.PACKAGES)
    assert binaries.version() in folder.name
    assert binaries.ensure() == folder
    assert builds(world) == 1


def test_a_failed_build_leaves_nothing(world: Path) -> None:
    """No incomplete folder remains: the next run builds again."""
    go(world, status=1)
    with pytest.raises(binaries.BuildError, match=r"go build failed: k8s\.io/compiled"):
        binaries.ensure()
    assert [file.suffix for file in (world / "cache" / "hypot").iterdir()] == [".lock"]
    go(world)
    assert binaries.find() is None
    assert binaries.ensure().is_dir()


def test_two_at_once_build_once(world: Path) -> None:
    """The second process waits for the first and uses its build."""
    go(world)
    (world / "bin" / "kubectl").touch(mode=0o755)
    command = [sys.executable, str(SCRIPT)]
    running = [subprocess.Popen(command, env=dict(os.environ), stderr=subprocess.PIPE, text=True) for _ in range(2)]
    reported = [process.communicate(timeout=300)[1].splitlines()[-1] for process in running]
    assert reported[0] == reported[1]
    assert builds(world) == 1


def test_kubectl_is_given_found_or_built(world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside the given binaries, on the PATH, else with Go, once."""
    go(world)
    made = binaries.kubectl()
    assert made == binaries.kubectl()
    assert binaries.version().removeprefix("v1") in (binaries.CLUSTER / "kubectl" / "go.mod").read_text()
    assert (made.name, builds(world)) == ("kubectl", 1)
    (world / "bin" / "kubectl").touch(mode=0o755)
    assert binaries.kubectl() == world / "bin" / "kubectl"
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(world))
    (world / "kubectl").touch(mode=0o755)
    assert binaries.kubectl() == world / "kubectl"
