"""`hypot lint` with a configuration and a baseline, as people and pipelines call it."""

import json
from importlib.resources import files
from pathlib import Path

import jsonschema
import pytest

from hypot.kinds.text.write import to_yaml
from unit.cli.command import hypot
from unit.lint.lint_cases import container, hpa, workload

SCHEMA = json.loads(files("hypot.cli").joinpath("baseline.schema.json").read_text(encoding="utf-8"))
ERROR = to_yaml(hpa(minReplicas=1)) + "---\n" + to_yaml(workload("web", container(requests={})))
WARNING = to_yaml(hpa(minReplicas=2, maxReplicas=2)) + "---\n" + to_yaml(workload())


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A repository with an error in k8s/web.yaml and another one in old/web.yaml."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    for name, text in {"k8s/web.yaml": ERROR, "old/web.yaml": ERROR.replace("web", "old")}.items():
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def found(*arguments):
    result = hypot("lint", *arguments, "-o", "json")
    return {(one["file"], one["rule"]) for one in result.json["findings"]}


@pytest.mark.parametrize(
    ("configured", "flags", "text", "status"),
    [
        ("", [], ERROR, 1),
        ("", [], WARNING, 0),
        ("warning", [], WARNING, 1),
        ("warning", [], to_yaml(hpa(minReplicas=1)), 0),
        ("never", [], ERROR, 0),
        ("never", ["--fail-level", "error"], ERROR, 1),
        ("error", ["--fail-level", "never"], ERROR, 0),
        ("", ["--fail-level", "warning"], WARNING, 1),
    ],
)
def test_fail_level(folder, configured, flags, text, status):
    """The option wins over the file."""
    (folder / "k8s/web.yaml").write_text(text, encoding="utf-8")
    if configured:
        (folder / ".hypot.toml").write_text(f'fail-level = "{configured}"', encoding="utf-8")
    assert hypot("lint", "k8s", *flags).status == status


def test_what_holds_for_a_repository(folder, monkeypatch):
    """Rules, excluded files and the version; from any folder, and with what the options add."""
    (folder / ".hypot.toml").write_text(
        'ignore = ["request-missing"]\nexclude = ["/old"]\nkubernetes = "1.25"\n', encoding="utf-8"
    )
    beta = (to_yaml(hpa(api_version="autoscaling/v2beta2")) + "---\n" + to_yaml(workload())).replace("web", "beta")
    (folder / "k8s/beta.yaml").write_text(beta, encoding="utf-8")
    assert found(".") == {("k8s/web.yaml", "single-replica"), ("k8s/beta.yaml", "old-api-version")}
    assert found(".", "--ignore", "single-replica", "--exclude", "beta.yaml") == set()
    assert ("k8s/beta.yaml", "api-version-not-served") in found(".", "--kubernetes", "1.30")
    monkeypatch.chdir(folder / "k8s")
    assert found(".") == {("web.yaml", "single-replica"), ("beta.yaml", "old-api-version")}
    assert found("..") == {("../k8s/web.yaml", "single-replica"), ("../k8s/beta.yaml", "old-api-version")}
    assert hypot("lint", ".", "-v").err.startswith("configuration: ../.hypot.toml\n")


def test_decide_leaves_out_the_same(folder):
    """And decides as that version, unless an option or the settings name another one."""
    (folder / ".hypot.toml").write_text('exclude = ["/old"]\nkubernetes = "1.25"\n', encoding="utf-8")
    (folder / "settings.yaml").write_text('kubernetes: "1.31"\n', encoding="utf-8")

    def answer(*flags):
        decided = hypot("decide", "-f", ".", "-o", "json", *flags).json
        return decided["settings"]["kubernetes"], [one["autoscaler"]["name"] for one in decided["decisions"]]

    assert answer() == ("1.25", ["web"])
    assert answer("--kubernetes", "1.30")[0] == "1.30"
    assert answer("--settings", "settings.yaml")[0] == "1.31"
    (folder / "ci.toml").write_text("", encoding="utf-8")
    assert answer("--config", "ci.toml") == ("1.37", ["web", "old"])


@pytest.mark.parametrize("verb", [["lint", "k8s"], ["decide", "-f", "k8s"]])
def test_a_wrong_configuration(folder, verb):
    """Exit status 2 with all problems, and nothing on standard output."""
    (folder / ".hypot.toml").write_text('ignor = []\nfail-level = "none"\n', encoding="utf-8")
    result = hypot(*verb)
    assert (result.status, result.out) == (2, "")
    assert ".hypot.toml:1: ignor: no such key; did you mean ignore?\n.hypot.toml:2: fail-level: 'none'" in result.err


def with_baseline(folder, name="ci/known.json"):
    result = hypot("lint", ".", "--write-baseline", name)
    (folder / ".hypot.toml").write_text(f'baseline = "{name}"', encoding="utf-8")
    return result


def test_a_repository_begins_with_nothing_new(folder, monkeypatch):
    """What is known is counted, from whatever folder; also if its lines have moved."""
    written = with_baseline(folder)
    assert (written.status, written.out) == (0, "")
    assert written.err == (
        'wrote 4 findings to ci/known.json\nto use it, write into .hypot.toml: baseline = "ci/known.json"\n'
    )
    document = json.loads((folder / "ci/known.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.validate(document, SCHEMA)
    assert {one["file"] for one in document["findings"]} == {"../k8s/web.yaml", "../old/web.yaml"}
    file = folder / "k8s/web.yaml"
    file.write_text("# moved\n\n" + file.read_text(encoding="utf-8"), encoding="utf-8")
    assert hypot("lint", ".").out == "nothing found in 2 files, 4 objects; 4 in the baseline\n"
    monkeypatch.chdir(folder / "k8s")
    result = hypot("lint", str(folder / "k8s"), "-o", "json")
    assert (result.status, result.json["summary"]["known"], result.json["findings"]) == (0, 2, [])
    assert result.err == ""


def test_what_is_new_is_reported(folder):
    """Another object, another rule, and a second finding of what is known once."""
    with_baseline(folder)
    text = ERROR.replace("web", "api")
    (folder / "k8s/api.yaml").write_text(text, encoding="utf-8")
    result = hypot("lint", ".")
    assert result.status == 1
    assert "k8s/api.yaml" in result.out
    assert "k8s/web.yaml" not in result.out
    assert result.out.endswith("1 error, 0 warnings, 1 advice in 3 files, 6 objects; 4 in the baseline\n")


def test_what_no_longer_occurs(folder):
    """It is mentioned, with -v one by one; not for files that were not read or rules that are silenced."""
    with_baseline(folder)
    (folder / "k8s/web.yaml").write_text(to_yaml(hpa(minReplicas=1)) + "---\n" + to_yaml(workload()), encoding="utf-8")
    line = "1 finding in ci/known.json no longer occurs"
    assert hypot("lint", ".").err == f"{line}; -v lists them; write it again with --write-baseline\n"
    verbose = hypot("lint", ".", "-v").err.splitlines()
    assert verbose[1].startswith(
        "no longer there: ../k8s/web.yaml  HorizontalPodAutoscaler shop/web  request-missing  "
    )
    assert hypot("lint", "old").err == ""
    assert hypot("lint", ".", "--ignore", "request-missing").err == ""
    (folder / "old/web.yaml").unlink()
    assert hypot("lint", "k8s").err.startswith("3 findings in ci/known.json no longer occur;")


def test_duplicates_do_not_depend_on_places(folder):
    """The message of a finding may name the place of another object; it is not part of what is known."""
    (folder / "k8s/again.yaml").write_text(to_yaml(workload("web", container(requests={}))), encoding="utf-8")
    with_baseline(folder)
    file = folder / "k8s/again.yaml"
    file.write_text("# moved\n" + file.read_text(encoding="utf-8"), encoding="utf-8")
    assert found(str(folder)) == found(".") == set()


def test_writing_over_a_baseline_keeps_all(folder):
    """What is known already is written again."""
    with_baseline(folder)
    before = (folder / "ci/known.json").read_bytes()
    assert hypot("lint", ".", "--write-baseline", "ci/known.json").err == "wrote 4 findings to ci/known.json\n"
    assert (folder / "ci/known.json").read_bytes() == before


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (None, "there is no such baseline; write it with `hypot lint . --write-baseline known.json`"),
        ("", "not a baseline: Expecting value"),
        ("[" * 100_000, "not a baseline: "),
        ("[]", "not a baseline of this version of hypot"),
        ('{"version": 2, "findings": []}', "not a baseline of this version of hypot"),
        ('{"version": 1, "findings": {}}', "not a baseline of this version of hypot"),
        (
            '{"version": 1, "findings": [{"file": "a"}, 1]}',
            "entries without file, object, rule, message as text: 1, 2;",
        ),
    ],
)
def test_a_baseline_that_cannot_be_used(folder, text, problem):
    """Exit status 2; nothing is checked against half of it."""
    (folder / ".hypot.toml").write_text('baseline = "known.json"', encoding="utf-8")
    if text is not None:
        (folder / "known.json").write_text(text, encoding="utf-8")
    result = hypot("lint", "k8s")
    assert (result.status, result.out) == (2, "")
    assert problem in result.err


@pytest.mark.usefixtures("folder")
def test_a_baseline_that_cannot_be_written():
    """It is said before anything is read."""
    Path("file").write_text("", encoding="utf-8")
    result = hypot("lint", ".", "--write-baseline", "file/known.json")
    assert result.status == 2
    assert "file/known.json: cannot make the folder file" in result.err


@pytest.mark.usefixtures("folder")
def test_the_folder_of_a_baseline_is_made():
    assert hypot("lint", ".", "--write-baseline", "ci/hypot/known.json").status == 0
    assert json.loads(Path("ci/hypot/known.json").read_text(encoding="utf-8"))["findings"]


@pytest.mark.usefixtures("folder")
def test_a_baseline_on_standard_output():
    """It is the same as in a file here, and no file has that name."""
    printed = hypot("lint", ".", "--write-baseline", "-").out
    hypot("lint", ".", "--write-baseline", "known.json")
    assert printed == Path("known.json").read_text(encoding="utf-8")
    assert not Path("-").exists()
