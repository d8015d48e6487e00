"""Which files of a folder are read."""

import os

import pytest

from hypot.kinds.text.folder import Exclude, manifests_below


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """Makes files in a working directory; those with text may be ignore files."""
    monkeypatch.chdir(tmp_path)

    def make(*names, **texts):
        for name in (*names, *texts):
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(texts.get(name, "x"), encoding="utf-8")

    return make


def ignoring(folder, *lines):
    (folder / ".gitignore").write_text("\n".join(lines), encoding="utf-8")


def test_hidden_files_other_endings_and_pipes_are_left_out(tree, tmp_path):
    """Only regular files that end like a manifest; also packed ones."""
    tree("b.yml", "a.yaml", "c/x.JSON", "dump.json.gz", ".hidden.yaml", ".git/x.yaml", "notes.txt", "x.yaml.bak")
    os.mkfifo(tmp_path / "pipe.yaml")
    (tmp_path / "gone.yaml").symlink_to("nowhere.yaml")
    assert manifests_below(".") == ["a.yaml", "b.yml", "c/x.JSON", "dump.json.gz"]


def test_excluded_by_the_user(tree):
    """By the same patterns as in a .gitignore, relative to the folder that was named."""
    tree("k8s/a.yaml", "k8s/test/b.yaml", "k8s/c.json", "k8s/deep/test/d.yaml")
    assert manifests_below("k8s", (Exclude(("test/", "*.json")),)) == ["k8s/a.yaml"]
    assert manifests_below("k8s", (Exclude(("/test",)),)) == ["k8s/a.yaml", "k8s/c.json", "k8s/deep/test/d.yaml"]


@pytest.mark.parametrize(
    ("glob", "left"),
    [
        ("k8s/test/", ["k8s/a.yaml"]),
        ("/test", ["k8s/a.yaml", "k8s/test/b.yaml"]),
        ("*.yaml", []),
        ("!k8s", ["k8s/a.yaml", "k8s/test/b.yaml"]),
        # The folder that was named is read.
        ("k8s/", ["k8s/a.yaml", "k8s/test/b.yaml"]),
    ],
)
def test_excluded_for_a_folder_above(tree, tmp_path, glob, left):
    """By patterns relative to that folder, wherever hypot runs."""
    tree("k8s/a.yaml", "k8s/test/b.yaml")
    assert manifests_below("k8s", (Exclude((glob,), str(tmp_path)),)) == left


def test_excluded_for_a_folder_elsewhere(tree, tmp_path):
    """The patterns count in each folder that is read."""
    tree("k8s/a.yaml", "k8s/test/b.yaml", "ci/x")
    assert manifests_below("k8s", (Exclude(("/test",), str(tmp_path / "ci")),)) == ["k8s/a.yaml"]


def test_ignore_files_count_from_the_root_of_the_repository(tree, tmp_path):
    """Those above the folder too; the deepest one that says something decides."""
    tree(".git/info/x", "a/build/x.yaml", "a/keep.tmp.yaml", "a/b/drop.tmp.yaml", "a/b/y.yaml")
    ignoring(tmp_path, "build/", "*.tmp.yaml")
    ignoring(tmp_path / "a", "!keep.tmp.yaml")
    (tmp_path / ".git" / "info" / "exclude").write_text("y.yaml\n", encoding="utf-8")
    assert manifests_below("a") == ["a/keep.tmp.yaml"]
    assert manifests_below(".") == ["a/keep.tmp.yaml"]


def test_an_ignored_folder_that_is_named_is_read(tree, tmp_path):
    """As in `hypot lint build/`, after something was rendered there."""
    tree(".git/info/x", "build/x.yaml", "build/deep/y.yaml")
    ignoring(tmp_path, "build/")
    assert manifests_below(".") == []
    assert manifests_below("build") == ["build/deep/y.yaml", "build/x.yaml"]
    assert manifests_below("build/deep") == ["build/deep/y.yaml"]


def test_without_a_repository_ignore_files_count_from_the_folder(tree, tmp_path):
    """An archive of a repository has them too."""
    tree("a/x.yaml", "a/y.yaml")
    ignoring(tmp_path, "x.yaml")
    ignoring(tmp_path / "a", "y.yaml")
    assert manifests_below("a") == ["a/x.yaml"]


@pytest.mark.parametrize("content", [b"\xff\xfe\0\0", b"[" * 10_000, b"*" * 10_000 + b"\n"])
def test_odd_ignore_files(tree, tmp_path, content):
    """They take no time, and do not stop the run."""
    tree("a.yaml")
    (tmp_path / ".gitignore").write_bytes(content)
    assert manifests_below(".") in ([], ["a.yaml"])
