"""What docs/ci.md shows runs, and .pre-commit-hooks.yaml says when. tests/interop runs it with pre-commit itself."""

import re
import shlex

import pytest
import yaml
from lock import project

from doc_blocks import ROOT, fenced, ran, workspace

PAGE = ROOT / "docs" / "ci.md"
BLOCKS = {language: [each.text for each in fenced(PAGE) if each.language == language] for language in ("toml", "yaml")}
WORKFLOW, CHART, GITLAB, HOOKS = (yaml.safe_load(text) for text in BLOCKS["yaml"])
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
(HOOK,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
VERSION = project()["project"]["version"]
BROKEN = "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: broken}\nspec: {maxReplicas: 0}\n"


@pytest.mark.parametrize("step", [WORKFLOW["jobs"]["hypot"]["steps"][-1], *CHART], ids=["whole", "chart"])
def test_a_step_of_a_workflow(step):
    """It names this version, and inputs that the action has."""
    assert step["uses"] == f"OWNER/hypot@v{VERSION}"
    assert set(step.get("with", ())) <= set(ACTION["inputs"])


def test_inputs_that_the_text_names():
    """They exist as well."""
    named = re.findall(r"`([a-z-]+): ", re.sub(r"```.*?```", "", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL))
    assert set(named) - set(HOOK) - {"if"} == {"upload"}
    assert "upload" in ACTION["inputs"]


def test_the_workflow_may_upload():
    """The one right that it needs beyond reading."""
    assert WORKFLOW["permissions"] == {"contents": "read", "security-events": "write"}


@pytest.mark.parametrize("status", [0, 1])
def test_the_job_for_gitlab(tmp_path, status):
    """Its script runs in a checkout, after an installation of this version."""
    install, *commands = GITLAB["hypot"]["script"]
    assert install.endswith(f"hypot=={VERSION}")
    folder = workspace(tmp_path)
    if status:
        (folder / "broken.yaml").write_text(BROKEN, encoding="utf-8")
    done = ran("\n".join(commands), folder, {})
    assert done.returncode == status, done.stderr


def test_the_baseline(tmp_path):
    """What was there before is not reported; what is new is."""
    (toml,) = BLOCKS["toml"]
    folder = workspace(tmp_path)
    (folder / ".hypot.toml").unlink()
    (folder / "k8s" / "broken.yaml").write_text(BROKEN, encoding="utf-8")
    done = ran("hypot lint . --write-baseline ci/hypot-baseline.json", folder, {})
    assert done.returncode == 0, done.stderr
    (folder / ".hypot.toml").write_text(toml, encoding="utf-8")
    done = ran("hypot lint .", folder, {})
    assert (done.returncode, "in the baseline" in done.stdout) == (0, True), done.stdout
    (folder / "k8s" / "new.yaml").write_text(BROKEN.replace("broken", "new"), encoding="utf-8")
    done = ran("hypot lint .", folder, {})
    assert done.returncode == 1
    assert "k8s/new.yaml:4" in done.stdout
    assert "k8s/broken.yaml" not in done.stdout


# The hook.


def test_the_hook_that_the_page_names():
    """In this version."""
    (repository,) = HOOKS["repos"]
    assert repository["rev"] == f"v{VERSION}"
    assert [hook["id"] for hook in repository["hooks"]] == [HOOK["id"]]


@pytest.mark.parametrize(
    ("file", "starts"),
    [
        ("web.yaml", True),
        ("k8s/web.yml", True),
        ("dumps/all.json", True),
        ("dumps/all.yaml.gz", True),
        (".hypot.toml", True),
        ("team/pyproject.toml", True),
        ("yaml.py", False),
        ("Cargo.toml", False),
        ("yaml", False),
    ],
)
def test_what_starts_the_hook(file, starts):
    """Manifests, baselines, configurations."""
    assert bool(re.search(HOOK["files"], file)) is starts


def test_the_hook_checks_the_whole_repository(tmp_path):
    """Without the names of the files that have changed."""
    assert HOOK["pass_filenames"] is False
    folder = workspace(tmp_path)
    command = shlex.join([*HOOK["entry"].split(), *HOOK["args"]])
    assert ran(command, folder, {}).returncode == 0
    (folder / "k8s" / "broken.yaml").write_text(BROKEN, encoding="utf-8")
    done = ran(command, folder, {})
    assert done.returncode == 1
    assert "k8s/broken.yaml:4" in done.stdout


def test_other_arguments_of_the_hook(tmp_path):
    """Those that the page names: in this folder a warning fails."""
    (args,) = re.findall(r"`args: (\[.+?\])`", PAGE.read_text(encoding="utf-8"))
    done = ran(shlex.join(["hypot", "lint", *yaml.safe_load(args)]), workspace(tmp_path), {})
    assert (done.returncode, "0 errors, 1 warning" in done.stdout) == (1, True), done.stderr
