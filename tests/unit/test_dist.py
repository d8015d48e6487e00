"""What `make dist` compares and refuses, and the page that a package index shows."""

import re
import tarfile
import zipfile
from pathlib import Path

import dist
import pytest
from index_page import IndexPage, index_page
from lock import locked, project

ROOT = Path(__file__).resolve().parents[2]
FILES = ["README.md", "docs/README.md", "scenarios/S01/bad.yaml", "src/hypot/py.typed", "tests/unit/test_dist.py"]


# The files.


def test_what_a_wheel_has():
    """The package and its data; no tests and no pages."""
    assert dist.expected_in_wheel(FILES, "1") == {
        "hypot-1.dist-info/METADATA",
        "hypot-1.dist-info/RECORD",
        "hypot-1.dist-info/WHEEL",
        "hypot-1.dist-info/entry_points.txt",
        "hypot-1.dist-info/licenses/LICENSE",
        "hypot/py.typed",
        "hypot/scenarios/S01/bad.yaml",
    }


def test_what_an_sdist_has():
    """What the wheel is built from."""
    assert dist.expected_in_sdist(FILES, "1") == {
        "hypot-1/.gitignore",
        "hypot-1/PKG-INFO",
        "hypot-1/README.md",
        "hypot-1/pyproject.toml",
        "hypot-1/scenarios/S01/bad.yaml",
        "hypot-1/src/hypot/py.typed",
    }


def test_the_sdist_is_described_once():
    """What is expected of it is what pyproject.toml includes."""
    included = project()["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    assert [f"/{each.rstrip('/')}" for each in dist.SOURCES] == included


def test_a_file_that_is_missing_or_too_much():
    """Both are named."""
    dist.check_files(Path("a.whl"), ["x", "y"], {"x", "y"})
    with pytest.raises(SystemExit) as ended:
        dist.check_files(Path("a.whl"), ["x", "junk"], {"x", "data.json"})
    assert str(ended.value) == "a.whl:\ndata.json is missing\njunk should not be there"


def test_names_in_archives(tmp_path):
    """Of both kinds."""
    with zipfile.ZipFile(tmp_path / "a.whl", "w") as wheel:
        wheel.writestr("hypot/x.py", "")
    (tmp_path / "x.py").touch()
    with tarfile.open(tmp_path / "a.tar.gz", "w:gz") as sdist:
        sdist.add(tmp_path / "x.py", "hypot-1/x.py")
    assert list(dist.names_in(tmp_path / "a.whl")) == ["hypot/x.py"]
    assert list(dist.names_in(tmp_path / "a.tar.gz")) == ["hypot-1/x.py"]


def test_another_build_must_have_the_same_bytes(tmp_path):
    """Of files with the same names."""
    for folder, content in (("a", "1"), ("b", "1"), ("c", "2")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "hypot.whl").write_text(content)
    one, same, other = ([tmp_path / folder / "hypot.whl"] for folder in "abc")
    dist.check_same(one, same)
    with pytest.raises(SystemExit, match=r"hypot\.whl: the sdist builds something else"):
        dist.check_same(one, other)


def program(folder, text):
    path = folder / "bin" / "hypot"
    path.parent.mkdir()
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


@pytest.mark.parametrize(
    ("does", "reported"),
    [
        ("echo version 1", None),
        ("echo version 1; exit 3", "exit status 3, expected 0"),
        ("echo version 2 >&2", "expected 0 and 'version 1'\nversion 2"),
    ],
)
def test_what_a_command_prints(monkeypatch, tmp_path, does, reported):
    """Its exit status and its text count, and it runs in the environment."""
    monkeypatch.setattr(dist, "COMMANDS", ((("hypot", "--version"), 0, "version {version}"),))
    program(tmp_path, f'[ "$PWD" = {tmp_path} ] || exit 9; {does}')
    if reported is None:
        dist.check_commands(tmp_path, tmp_path / "a.whl", "1")
    else:
        with pytest.raises(SystemExit, match=re.escape(reported)):
            dist.check_commands(tmp_path, tmp_path / "a.whl", "1")


def test_twine_is_locked():
    """With the hashes of all that it needs."""
    pins = locked(["twine"], "release.lock")
    assert {"readme-renderer", "twine"} <= {pin.name for pin in pins}
    assert all(pin.hashes for pin in pins)


def test_ci_builds_it():
    """It also measures what most install."""
    assert "make dist\n" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


# The page of an index.


@pytest.mark.parametrize(
    ("readme", "page"),
    [
        ("see [lint](docs/lint.md), [more](docs/a.md#b-c)", "see lint, more"),
        ("![A week](docs/week.png)", "A week"),
        ("[KEDA](https://keda.sh) and `x[replay]` (y)", "[KEDA](https://keda.sh) and `x[replay]` (y)"),
    ],
)
def test_links_to_files_become_text(readme, page):
    assert index_page(readme) == page


def test_the_page_has_no_link_that_breaks():
    """An index has no file of the repository."""
    about = {}
    IndexPage(str(ROOT), {}).update(about)
    assert about["readme"]["content-type"] == "text/markdown"
    text = about["readme"]["text"]
    assert "# hypot" in text
    assert {target.partition(":")[0] for target in re.findall(r"\]\(([^)]*)\)", text)} == {"https"}
