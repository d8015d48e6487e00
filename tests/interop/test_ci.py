"""The files that other programs run hypot by: pre-commit runs its hook, and they keep to their published schemas."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig

import pytest

from conftest import ROOT

PAGE = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
WORKFLOW, _, GITLAB, HOOKS = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
# What the wheel is built from, and the hook.
SOURCES = (
    "pyproject.toml",
    "README.md",
    "LICENSE",
    ".gitignore",
    ".pre-commit-hooks.yaml",
    "deploy",
    "scenarios",
    "src",
)
WEB = "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: web}\nspec:\n  maxReplicas: 5\n"
TARGET = "  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}\n"


def run(*command, folder, environment=None):
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ("github-actions", (ROOT / "action.yml").read_text(encoding="utf-8")),
        ("github-workflows", WORKFLOW),
        ("gitlab-ci", GITLAB),
    ],
)
def test_a_published_schema(tmp_path, schema, text):
    """Those that check-jsonschema brings."""
    (tmp_path / "file.yaml").write_text(text, encoding="utf-8")
    status, printed = run("check_jsonschema", "--builtin-schema", f"vendor.{schema}", "file.yaml", folder=tmp_path)
    assert status == 0, printed


def commit(folder):
    for arguments in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "x")):
        subprocess.run(["git", *arguments], cwd=folder, env=GIT, check=True)  # noqa: S607
    done = subprocess.run(["git", "rev-parse", "HEAD"], cwd=folder, capture_output=True, check=True)  # noqa: S607
    return done.stdout.decode().strip()


NAMES = {f"GIT_{role}_{what}": "x" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
GIT = {**os.environ, **NAMES, "GIT_CONFIG_GLOBAL": os.devnull}


@pytest.fixture(scope="module")
def hypot(tmp_path_factory):
    """A repository of hypot, and its commit."""
    folder = tmp_path_factory.mktemp("hypot")
    for name in SOURCES:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, folder / name)
    return folder, commit(folder)


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """pre-commit installs hypot into an environment of its own, from this one, so that nothing is downloaded."""
    return {
        **GIT,
        "PRE_COMMIT_HOME": str(tmp_path_factory.mktemp("pre-commit")),
        "PYTHONPATH": sysconfig.get_path("purelib"),
        "PIP_NO_INDEX": "1",
        "PIP_NO_DEPS": "1",
        "PIP_NO_BUILD_ISOLATION": "false",
    }


def test_the_manifest_of_the_hook(environment):
    """As pre-commit wants it."""
    status, printed = run(
        "pre_commit", "validate-manifest", ".pre-commit-hooks.yaml", folder=ROOT, environment=environment
    )
    assert status == 0, printed


def test_pre_commit_runs_the_hook(tmp_path, hypot, environment):
    """From a commit of hypot, as the page shows it: a file that has not changed counts; other files do not start it."""
    source, revision = hypot
    (tmp_path / ".pre-commit-config.yaml").write_text(
        re.sub("rev: .*", f"rev: {revision}", re.sub("repo: .*", f"repo: {source}", HOOKS))
    )
    (tmp_path / "web.yaml").write_text(WEB + TARGET)
    (tmp_path / "two.yaml").write_text(WEB.replace("web", "two", 1) + TARGET)
    (tmp_path / "notes.md").write_text("x")
    commit(tmp_path)
    asked = {"folder": tmp_path, "environment": environment}
    status, printed = run("pre_commit", "run", "--files", "notes.md", **asked)
    assert (status, "Skipped" in printed) == (0, True), printed
    status, printed = run("pre_commit", "run", "--files", "web.yaml", **asked)
    assert (status, "two-autoscalers" in printed) == (1, True), printed
    (tmp_path / "two.yaml").unlink()
    status, printed = run("pre_commit", "run", "--files", "web.yaml", **asked)
    assert (status, "Passed" in printed) == (0, True), printed
