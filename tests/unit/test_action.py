"""The steps of action.yml run, with the shell and the variables that a runner of GitHub gives them."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
STEPS = ACTION["runs"]["steps"]
EXPRESSION = re.compile(r"\$\{\{(.*?)\}\}")
NAME = re.compile(r"(?:inputs|steps\.\w+\.outputs)\.[\w-]+")
# Stands for the Python that is set up: it writes what it was asked for, and installs the hypot that is tested.
PYTHON = """\
#!/bin/sh
printf '%s\\n' "$@" > "$RUNNER_TEMP/installed"
mkdir -p "$2/bin"
printf '#!/bin/sh\\nexec {python} -m hypot "$@"\\n' > "$2/bin/hypot"
chmod +x "$2/bin/hypot"
"""


class Runner:
    """One job that uses the action, in a checkout of a user."""

    def __init__(self, folder, **inputs):
        self.checkout, self.temp = folder / "checkout", folder / "temp"
        self.temp.mkdir()
        if not self.checkout.exists():
            self.checkout.mkdir()
            shutil.copy(ROOT / "examples" / "shop.yaml", self.checkout)
        python = folder / "python"
        python.write_text(PYTHON.format(python=sys.executable))
        python.chmod(0o755)
        self.known = {f"inputs.{name}": about["default"] for name, about in ACTION["inputs"].items()}
        assert {f"inputs.{name}" for name in inputs} <= set(self.known)
        self.known |= {f"inputs.{name}": value for name, value in inputs.items()}
        self.known["steps.python.outputs.python-path"] = str(python)
        self.uploaded, self.log, self.status = None, "", 0
        for step in STEPS:
            self.take(step)

    def value(self, text):
        return EXPRESSION.sub(lambda found: self.known.get(found[1].strip(), ""), text)

    def wanted(self, step):
        """What `if` says; without it a step runs only if all before it succeeded."""
        if "if" not in step:
            return self.status == 0
        condition = EXPRESSION.fullmatch(step["if"])[1].strip()
        if not condition.startswith("!cancelled() && "):
            condition = f"{self.status == 0} && {condition}"
        condition = NAME.sub(lambda found: repr(self.known.get(found[0], "")), condition)
        return eval(condition.replace("!cancelled()", "True").replace("&&", "and"))  # noqa: S307  our own file

    def take(self, step):
        if not self.wanted(step):
            return
        if "run" not in step:
            given = {name: self.value(value) for name, value in step["with"].items() if isinstance(value, str)}
            if "upload-sarif" in step["uses"]:
                self.uploaded = given
            return
        output = self.temp / "output"
        output.write_text("")
        script = self.temp / "step.sh"
        script.write_text(step["run"])
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)],  # noqa: S607
            cwd=self.checkout,
            env={
                **os.environ,
                "GITHUB_ACTION_PATH": str(ROOT),
                "GITHUB_OUTPUT": str(output),
                "RUNNER_TEMP": str(self.temp),
                **{name: self.value(value) for name, value in step["env"].items()},
            },
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        self.log += done.stdout + done.stderr
        self.status = self.status or done.returncode
        for line in output.read_text().splitlines():
            name, _, value = line.partition("=")
            self.known[f"steps.{step['id']}.outputs.{name}"] = value

    @property
    def sarif(self):
        (driven,) = json.loads(Path(self.uploaded["sarif_file"]).read_text(encoding="utf-8"))["runs"]
        return driven

    def output(self, name):
        return self.value(ACTION["outputs"][name]["value"])


@pytest.fixture
def broken(tmp_path):
    """A checkout with an error."""
    folder = tmp_path / "checkout" / "k8s"
    folder.mkdir(parents=True)
    (folder / "web.yaml").write_text(
        "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: web}\nspec: {maxReplicas: 0}\n"
    )
    return tmp_path


def test_findings_that_do_not_count(tmp_path):
    """The job succeeds; code scanning gets them all, the log too."""
    job = Runner(tmp_path)
    assert job.status == 0
    assert {result["level"] for result in job.sarif["results"]} == {"note"}
    assert job.uploaded["category"] == "hypot"
    assert "0 errors, 0 warnings, 1 advice in 1 file" in job.log
    assert (job.output("status"), job.output("sarif")) == ("0", job.uploaded["sarif_file"])


def test_hypot_is_installed_from_the_checkout_of_the_action(broken):
    """By the script that also installs the image."""
    job = Runner(broken, paths="nowhere")
    assert (job.temp / "installed").read_text().splitlines() == [
        str(ROOT / "deploy" / "environment.py"),
        str(job.temp / "hypot"),
    ]


def test_errors_are_uploaded_before_the_job_fails(broken):
    """With the status of hypot lint, and with places that code scanning finds in the checkout."""
    job = Runner(broken)
    assert job.status == 1
    assert "error" in {result["level"] for result in job.sarif["results"]}
    places = [result["locations"][0]["physicalLocation"] for result in job.sarif["results"]]
    assert {place["artifactLocation"]["uri"] for place in places} == {"k8s/web.yaml"}
    assert job.output("status") == "1"


def test_nothing_to_check(broken):
    """There is nothing to upload, and the log says why."""
    job = Runner(broken, paths="nowhere")
    assert (job.status, job.uploaded) == (2, None)
    assert "nowhere: cannot read it" in job.log
    assert (job.output("status"), job.output("sarif")) == ("2", "")


def test_without_an_upload(broken):
    """The job fails all the same."""
    job = Runner(broken, upload="false")
    assert (job.status, job.uploaded) == (1, None)
    assert job.output("sarif")


@pytest.mark.parametrize(("level", "status"), [("never", 0), ("error", 1), ("none", 2)])
def test_the_level_that_fails(broken, level, status):
    assert Runner(broken, **{"fail-level": level}).status == status


def test_arguments_and_paths_one_per_line(broken):
    """Also with spaces and empty lines."""
    (broken / "checkout" / "k8s").rename(broken / "checkout" / "k8s of web")
    shutil.copy(ROOT / "examples" / "shop.yaml", broken / "checkout")
    job = Runner(broken, paths="k8s of web\n\nshop.yaml\n", args="--kubernetes\n1.34\n--ignore=single-replica\n")
    assert "in 2 files" in job.log
    assert "single-replica" not in job.log


def test_a_chart_without_paths(broken):
    """If args name all, paths may be empty."""
    assert Runner(broken, paths="", args="--filename=k8s").status == 1


@pytest.mark.parametrize("text", ["$(touch x)`touch x`'; touch x; \"; touch x; \n$(touch x)", "--save=x"])
def test_no_input_is_run(broken, text):
    """It is a path, an argument or a name, whatever it contains."""
    job = Runner(broken, **dict.fromkeys(ACTION["inputs"], text))
    assert job.status == 2
    assert sorted(path.name for path in (broken / "checkout").rglob("*")) == ["k8s", "web.yaml"]


def test_no_expression_is_part_of_a_script():
    """A runner replaces expressions before the shell sees the script."""
    for step in STEPS:
        assert "${{" not in step.get("run", "")


def test_other_actions_are_pinned():
    """By commit: a tag can be moved."""
    used = [step["uses"] for step in STEPS if "uses" in step]
    assert [re.sub("@[0-9a-f]{40}$", "", each) for each in used] == [
        "actions/setup-python",
        "github/codeql-action/upload-sarif",
    ]
