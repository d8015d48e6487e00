"""Files are left out of a folder as git leaves them out."""

import os
import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hypot.kinds.text.folder import manifests_below

GIT = shutil.which("git")
FOLDERS = ["a", "b", "build", "x y", "c[1]", "a#b", "!n"]
FILES = ["a.yaml", "b.yml", "values.yaml", "x.json", "c[1].yaml", "!n.yaml", "#h.yaml", "s .yaml"]
# Patterns of all sorts, and texts that are nearly patterns.
PATTERNS = [
    *("build/", "*.json", "!x.json", "/a", "a/**", "**/b", "b/**/x.json", "a/*/b", "*.y?ml", "[ab].y*", "!a.yaml"),
    *("\\!n.yaml", "\\#h.yaml", "#c", "**/values.yaml", "a/b", "/build/*", "!/build/a.yaml", "c\\[1\\]", "c[[]1].yaml"),
    *("s\\ .yaml", "x y/", "**", "*", "!*/", "!*.yml", "[!a].yaml", "[^b-z].json", "build ", "a**b", "/**/a.yaml"),
    *("build/**/", "[]a].yaml", "", "/", "!", "\\", "[", "***", "a//b", "**/", "a/**/b", "*[*"),
]
trees = st.lists(st.lists(st.sampled_from(FOLDERS), min_size=1, max_size=3).map("/".join), max_size=5)
ignore_files = st.lists(st.lists(st.sampled_from(PATTERNS), min_size=1, max_size=5), min_size=1, max_size=3)
endings = (".yaml", ".yml", ".json")


def git(folder, *arguments):
    # Settings of the user could ignore more.
    alone = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    assert GIT is not None
    return subprocess.run([GIT, *arguments], cwd=folder, capture_output=True, text=True, check=False, env=alone)


@pytest.mark.skipif(GIT is None, reason="git is not installed")
@settings(max_examples=60)
@given(trees, ignore_files, st.data())
def test_the_files_are_those_that_git_lists(folders, ignored, data):
    """In any folder of a repository that git does not ignore itself; ignored ones that are named are read."""
    with TemporaryDirectory() as name:
        root = Path(name)
        git(root, "init", "-q")
        places = [root, *(root / folder for folder in folders)]
        for place in places:
            place.mkdir(parents=True, exist_ok=True)
            for file in data.draw(st.lists(st.sampled_from(FILES), max_size=4, unique=True)):
                (place / file).touch()
        for patterns in ignored:
            (data.draw(st.sampled_from(places)) / ".gitignore").write_text("\n".join(patterns), encoding="utf-8")
        start = data.draw(st.sampled_from(places))
        if start != root and git(root, "check-ignore", "-q", str(start)).returncode == 0:
            return
        listed = git(start, "ls-files", "-z", "-co", "--exclude-standard", ".").stdout.split("\0")
        found = [str(Path(path).relative_to(start)) for path in manifests_below(str(start))]
        assert sorted(found) == sorted(path for path in listed if path.endswith(endings))
