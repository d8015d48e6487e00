"""`hypot lint` as people and pipelines call it."""

import json
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner

from hypot.cli import lint as lint_command
from hypot.cli.lint import as_text
from hypot.cli.main import cli, main
from hypot.kinds.text.write import to_yaml
from hypot.lint import check
from hypot.lint.rule_list import all_rules
from unit.lint.lint_cases import container, hpa, hvpa, vpa, weighted, workload, wpa

SCHEMA = json.loads(Path(lint_command.__file__).with_name("lint.schema.json").read_text(encoding="utf-8"))
NO_CPU = workload("web", container(requests={}))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working directory with manifests in k8s/."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "k8s").mkdir()
    for name, manifests in {"web": [hpa(minReplicas=1, maxReplicas=1), NO_CPU], "wpa": [wpa(dryRun=True)]}.items():
        text = "---\n".join(to_yaml(manifest) for manifest in manifests)
        (tmp_path / "k8s" / f"{name}.yaml").write_text(text, encoding="utf-8")
    return tmp_path


def run(*arguments, **more):
    return CliRunner().invoke(cli, ["lint", *arguments], **more)


@pytest.mark.usefixtures("folder")
def test_text_for_people():
    """A finding has place, severity, rule, object, message and fix; the last line counts them by severity."""
    result = run("-f", "k8s")
    assert result.exit_code == 1
    lines = result.output.splitlines()
    assert lines[4] == "k8s/web.yaml:12  warning  min-equals-max  HorizontalPodAutoscaler shop/web  spec.maxReplicas"
    assert lines[5] == "    minReplicas and maxReplicas are both 1, so the replicas never change"
    assert lines[6].startswith("    fix: raise maxReplicas")
    assert lines[-1] == "1 error, 1 warning, 2 advice in 2 files, 3 objects"
    assert max(map(len, lines)) <= 110
    assert "\x1b" not in result.output


def test_files_without_any_object(tmp_path):
    """A renderer that failed leaves nothing, and nothing is no success; a folder may have no autoscaler yet."""
    (tmp_path / "empty.yaml").write_text("", encoding="utf-8")
    for arguments, where in ((["-"], "standard input"), ([str(tmp_path / "empty.yaml")], "empty.yaml")):
        result = run(*arguments, input="")
        assert result.exit_code == 2
        assert "nothing was checked: there is no Kubernetes object in" in result.output
        assert where in result.output


@pytest.mark.usefixtures("folder")
def test_a_file_that_is_named_twice_is_read_once():
    """Folders overlap in scripts, and a link is the same file."""
    Path("k8s/link.yaml").symlink_to("web.yaml")
    once, twice = run("k8s/web.yaml"), run("k8s/link.yaml", "k8s/web.yaml", "./k8s/web.yaml")
    assert twice.output.replace("link.yaml", "web.yaml") == once.output


@pytest.mark.usefixtures("folder")
def test_exit_status_of_the_command(capsys):
    """The installed command exits with the same status."""
    with pytest.raises(SystemExit) as ended:
        main(["lint", "-f", "k8s"])
    assert ended.value.code == 1
    assert "1 error" in capsys.readouterr().out


def test_nothing_found(tmp_path):
    """The exit status is 0, and one line says how much was checked."""
    (tmp_path / "a.yaml").write_text(to_yaml(hpa()) + "---\n" + to_yaml(workload()), encoding="utf-8")
    result = run("-f", str(tmp_path))
    assert (result.exit_code, result.output) == (0, "nothing found in 1 file, 2 objects\n")


def test_warnings_alone_do_not_fail(tmp_path):
    """Only errors make the exit status 1."""
    (tmp_path / "a.yaml").write_text(to_yaml(hpa(minReplicas=1)), encoding="utf-8")
    assert run("-f", str(tmp_path)).exit_code == 0


def test_input_without_autoscalers_says_so():
    """It is most likely the wrong folder."""
    result = run("-f", "-", input=to_yaml(workload()))
    assert result.output == "nothing found in 1 file, 1 object; there is no autoscaler in the input\n"


def test_standard_input_has_lines_too():
    """Findings in standard input have line numbers."""
    result = run("-f", "-", input=to_yaml(hpa(minReplicas=1)) + "---\n" + to_yaml(workload()))
    assert result.output.startswith("<stdin>:11  advice  single-replica")


@pytest.mark.usefixtures("folder")
def test_ignored_rules():
    """--ignore may be repeated, or list rules separated by commas."""
    result = run("-f", "k8s", "--ignore", "request-missing", "--ignore", "min-equals-max,single-replica,wpa-dry-run")
    assert result.exit_code == 0
    assert result.output == "nothing found in 2 files, 3 objects; 4 silenced\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "name files or folders to check"),
        (["-f", "k8s", "--ignore", "request-mising"], "did you mean request-missing"),
        (["-f", "k8s", "--kubernetes", "latest"], "is not a Kubernetes version"),
        (["-f", "k8s", "--kubernetes", "1.20"], "the oldest version that hypot supports"),
        (["-f", "k8s", "-o", "xml"], "'xml' is not one of"),
        (["-f", "nowhere"], "nowhere: cannot read it"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_bad_usage_and_input(arguments, message):
    """The exit status is 2, and the message says what is wrong."""
    result = run(*arguments)
    assert result.exit_code == 2
    assert message in " ".join(result.output.split())


# A repository as people have it: file -> text.
REPOSITORY = {
    "package.json": '{"name": "web", "dependencies": {}}',
    ".github/workflows/ci.yaml": "on: [push]\n",
    "cloudbuild.yaml": "steps:\n- name: a\n",
    "template.yaml": "Resources:\n  A: !Ref B\n",
    "twice.yaml": "a: 1\na: 2\n",
    "chart/Chart.yaml": "apiVersion: v2\nname: web\n",
    "chart/values.yaml": "kind: Deployment\nreplicas: 2\n",
    "chart/templates/hpa.yaml": "kind: HorizontalPodAutoscaler\nspec: {{ toYaml .Values.hpa }}\n",
    "overlay/kustomization.yaml": "patches:\n- path: more.yaml\n- path: part.yaml\n- patch: |-\n    kind: Deployment\n",
    "overlay/more.yaml": to_yaml({**hpa(maxReplicas=9), "spec": {"maxReplicas": 9}}),
    "patches/api.yaml": to_yaml(
        {**workload("api"), "spec": {"template": {"spec": {"terminationGracePeriodSeconds": 9}}}}
    ),
    "overlay/part.yaml": "kind: Deployment\nmetadata: {name: any}\nspec: {paused: true}\n",
    "overlay/fragment.yaml": to_yaml({**hpa("api"), "spec": {"minReplicas": 3}}),
    "ignored/hpa.yaml": to_yaml(hpa(maxReplicas=0)),
    ".gitignore": "ignored/\n",
    "broken.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata: [\n",
}


@pytest.fixture
def repository(folder):
    for name, text in REPOSITORY.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


@pytest.mark.usefixtures("repository")
def test_a_repository():
    """Files for other programs stop nothing; a broken manifest is a finding, and the rest is checked."""
    result = run(".", "-o", "json")
    assert result.exit_code == 1
    found = {(one["file"], one["rule"]) for one in json.loads(result.stdout)["findings"]}
    assert ("broken.yaml", "unreadable") in found
    assert ("k8s/web.yaml", "request-missing") in found
    assert {file for file, _ in found} == {"broken.yaml", "k8s/web.yaml", "k8s/wpa.yaml"}
    jsonschema.validate(json.loads(result.stdout), SCHEMA)
    assert result.stderr.splitlines() == [
        "not read: 7 files without Kubernetes objects, 1 template, 4 kustomize patches; -v lists them",
        "to check the result of templates and patches: `hypot lint --render chart`, `hypot lint --render overlay`",
    ]


@pytest.mark.usefixtures("repository")
def test_what_was_not_read_is_listed():
    """With its reason; --exclude and --ignore leave out what is known."""
    result = run(".", "-v", "--exclude", "*.json", "--exclude", "/overlay", "--ignore", "unreadable")
    assert "broken.yaml" not in result.stdout
    lines = result.stderr.splitlines()
    assert "chart/templates/hpa.yaml: this is a template; render it first: `hypot lint --render CHART`" in lines
    assert "template.yaml:2: the tag !Ref is not supported; remove it (column 6)" in lines
    assert lines[-2] == "not read: 5 files without Kubernetes objects, 1 template, 1 kustomize patch"


@pytest.mark.usefixtures("repository")
def test_a_broken_file_that_is_named():
    """It was meant, whatever is in it."""
    assert "chart/values.yaml:1  error  unreadable\n    an object without apiVersion" in run("chart/values.yaml").stdout
    result = run("twice.yaml", "k8s")
    assert result.exit_code == 1
    assert (
        "twice.yaml:2  error  unreadable\n    the key 'a' is given twice, first on line 1 (column 1)\n" in result.stdout
    )
    assert "2 errors" in result.stdout
    assert '"text": "the key' in run("twice.yaml", "-o", "sarif").stdout


def test_an_object_without_its_version(folder):
    """With metadata it is meant as an object; without, it is something else that has a kind."""
    (folder / "object.yaml").write_text("kind: Deployment\nmetadata: {name: web}\n", encoding="utf-8")
    (folder / "settings.yaml").write_text("kind: Deployment\nimage: {tag: v1}\n", encoding="utf-8")
    found = [one for one in json.loads(run(".", "-o", "json").stdout)["findings"] if one["rule"] == "unreadable"]
    assert [(one["file"], one["message"].partition(";")[0]) for one in found] == [
        ("object.yaml", "an object without apiVersion")
    ]


def test_a_key_that_is_given_twice(folder):
    """A kubectl takes the last one, so the fix does not say that it reports the same."""
    (folder / "twice.yaml").write_text("apiVersion: apps/v1\nkind: Deployment\nkind: Deployment\n", encoding="utf-8")
    assert "    fix: remove one of the two: kubectl takes the last one and says nothing" in run("twice.yaml").stdout


def test_templates_that_nothing_renders(folder):
    """Without a chart there is no folder to name."""
    (folder / "job.yaml").write_text("apiVersion: batch/v1\nkind: Job\nspec: {{ spec }}\n", encoding="utf-8")
    assert (
        "to check the result of templates and patches, render them and pass the result: `hypot lint -`"
        in run(".").stderr
    )


def test_a_dump_that_is_cut_off():
    """As when kubectl was interrupted; what came before is not checked as if it were everything."""
    result = run("-", input="apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Pod\n  spec: {\n")
    assert result.exit_code == 1
    assert "<stdin>:6  error  unreadable" in result.stdout


def test_targets_that_are_not_in_the_input_are_named_together():
    """One line says it; programs get each of them."""
    text = "---\n".join(to_yaml(hpa(name, target={"name": name})) for name in ("a", "b", "c", "d", "e"))
    shown = " ".join(run("-", input=text).stdout.split())
    assert shown.startswith("Deployment shop/a, Deployment shop/b, Deployment shop/c and 2 more are not in the input")
    assert shown.endswith("0 errors, 0 warnings, 5 advice in 1 file, 5 objects")
    assert len(json.loads(run("-", "-o", "json", input=text).stdout)["findings"]) == 5


def places(count):
    return "---\n".join(to_yaml(hpa(f"web-{i}", minReplicas=1, target={"name": f"web-{i}"})) for i in range(count))


def test_a_problem_in_several_places_is_explained_once():
    """The other places are listed below it; ten of them, and all with -v."""
    text = "---\n".join(to_yaml(workload(f"web-{i}")) for i in range(14)) + "---\n" + places(14)
    shown = run("-", input=text).stdout
    assert shown.count("minReplicas is 1") == shown.count("fix: set minReplicas") == 1
    assert "    the same in 13 other places:\n" in shown
    assert shown.count("  HorizontalPodAutoscaler shop/web-") == 11
    assert "      and 3 more; -v lists them\n" in shown
    shown = run("-", "-v", input=text).stdout
    assert shown.count("  HorizontalPodAutoscaler shop/web-") == 14
    assert "more; -v" not in shown


def test_the_messages_of_one_fix_are_shown_together_if_they_are_many():
    """Each place has its own message; two of them stay on their own."""
    for count, times in ((2, 2), (3, 1)):
        text = "---\n".join(to_yaml(workload(f"web-{i}", replicas=3)) for i in range(count)) + "---\n" + places(count)
        shown = run("-", input=text).stdout
        assert shown.count("every apply sets 3 replicas and overrides") == count
        assert shown.count("fix: leave spec.replicas out") == times


@pytest.mark.usefixtures("folder")
def test_each_unreadable_file_has_its_own_fix(folder):
    """They have little in common, so they are not shown as one problem."""
    texts = {
        "a": "kind: HorizontalPodAutoscaler\nmetadata: {name: x}",
        "b": "kind: HorizontalPodAutoscaler\napiVersion: autoscaling/v2\nx: [",
        "c": "kind: HorizontalPodAutoscaler\napiVersion: autoscaling/v2\nx: }",
        "d": "kind: HorizontalPodAutoscaler\napiVersion: autoscaling/v2\nx: y: z",
    }
    for name, text in texts.items():
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8")
    (folder / "binary.yaml").write_bytes(b"\x00\xff\xfe")
    result = run("a.yaml", "b.yaml", "c.yaml", "d.yaml", "binary.yaml")
    assert "the same in" not in result.stdout
    assert "fix: write apiVersion, such as autoscaling/v2" in result.stdout
    about = result.stdout[result.stdout.index("binary.yaml") :].partition("\n\n")[0]
    assert "fix: save it as UTF-8; if it is no text, leave it out with --exclude" in about
    assert "kubectl" not in about


def test_the_other_side_of_a_conflict_is_named(folder):
    """In text with its line, in JSON and SARIF as a place."""
    (folder / "k8s" / "other.yaml").write_text(to_yaml(hpa("other")), encoding="utf-8")
    shown = run("k8s").stdout
    assert "two-autoscalers" in shown
    assert "    see k8s/web.yaml:1\n" in shown
    document = json.loads(run("k8s", "-o", "json").stdout)
    jsonschema.validate(document, SCHEMA)
    places = [one["related"] for one in document["findings"] if one["rule"] == "two-autoscalers"]
    assert {"file": "k8s/web.yaml", "line": 1, "object": "HorizontalPodAutoscaler shop/web"} in places[0] + places[1]
    results = json.loads(run("k8s", "-o", "sarif").stdout)["runs"][0]["results"]
    uris = [
        place["physicalLocation"]["artifactLocation"]["uri"]
        for one in results
        for place in one.get("relatedLocations", ())
    ]
    assert {"k8s/web.yaml", "k8s/other.yaml"} <= set(uris)


def test_variants_are_mentioned(folder):
    """On standard error, with one of them."""
    (folder / "copy").mkdir()
    (folder / "copy" / "web.yaml").write_text((folder / "k8s" / "web.yaml").read_text(encoding="utf-8"))
    result = run(".")
    assert "duplicate-object" not in result.stdout
    about = "2 objects have definitions in several files or folders, such as HorizontalPodAutoscaler shop/web"
    assert result.stderr == f"{about}: these are alternatives, and each is checked without the others\n"


@pytest.mark.parametrize(
    ("changes", "hint"),
    [
        ({"api_version": "autoscaling/v1"}, "change apiVersion to autoscaling/v2, which has metrics"),
        ({"scaleDown": {"stabilizationWindowSeconds": 300}}, "did you mean spec.behavior.scaleDown?"),
        (
            {"stabilizationWindowSeconds": 300},
            (
                "did you mean spec.behavior.scaleUp.stabilizationWindowSeconds or "
                "spec.behavior.scaleDown.stabilizationWindowSeconds?"
            ),
        ),
        ({"maxReplcas": 3}, "did you mean maxReplicas?"),
    ],
)
def test_a_field_in_the_wrong_place(changes, hint):
    """The fix says where it belongs."""
    report = json.loads(run("-", "-o", "json", input=to_yaml(hpa(**changes))).stdout)
    assert hint in [one["hint"] for one in report["findings"] if one["rule"] == "unknown-field"]


def test_one_mistake_is_one_finding():
    """The API server says two things about a missing maxReplicas."""
    report = json.loads(run("-", "-o", "json", input=to_yaml(hpa(maxReplicas=None))).stdout)
    assert [one["rule"] for one in report["findings"] if one["severity"] == "error"] == ["max-replicas"]


def test_placeholders_are_not_judged():
    """What is filled in later has no type and no name yet; what else is wrong is reported."""
    text = to_yaml(hpa("${APP}", minReplicas="${MIN:=2}", maxReplicas=0)) + "---\n" + to_yaml(wpa(maxReplicas="<MAX>"))
    found = {(one["rule"], one["field"]) for one in json.loads(run("-", "-o", "json", input=text).stdout)["findings"]}
    assert {("placeholder", ""), ("max-replicas", "spec.maxReplicas")} <= found
    assert not {field for _, field in found} & {"metadata.name", "spec.minReplicas"}


def test_a_placeholder_hides_nothing_about_the_whole_object():
    """What is missing is missing, whatever is filled in elsewhere."""
    manifest = {**hpa("${APP}"), "spec": "${SPEC}", "extra": 1}
    found = {one["rule"] for one in json.loads(run("-", "-o", "json", input=to_yaml(manifest)).stdout)["findings"]}
    assert {"placeholder", "type", "unknown-field"} <= found


@pytest.mark.parametrize(
    ("placeholder", "fix"),
    [
        ("${APP}", "`envsubst < FILE | hypot lint -`, or `flux envsubst`"),
        ("$(APP)", "`kustomize build DIR | hypot lint -`"),
        ("<APP>", "fill in the placeholders as your deployment does, and pass the result: `hypot lint -`"),
    ],
)
def test_each_form_of_placeholder_has_its_own_fix(placeholder, fix):
    """Nothing is named that leaves it as it is."""
    report = json.loads(run("-", "-o", "json", input=to_yaml(hpa(placeholder))).stdout)
    (hint,) = [one["hint"] for one in report["findings"] if one["rule"] == "placeholder"]
    assert hint.startswith(f"check the result too: {fix}")


@pytest.mark.parametrize(
    ("kind", "remedy"), [("Component", "hypot lint -"), ("Kustomization", "hypot lint --render part")]
)
def test_a_component_of_kustomize_is_not_rendered_alone(folder, kind, remedy):
    """It is a part of other kustomizations, and `kustomize build` of it fails."""
    (folder / "part").mkdir()
    (folder / "part" / "kustomization.yaml").write_text(
        f"apiVersion: kustomize.config.k8s.io/v1\nkind: {kind}\npatches:\n- path: web.yaml\n", encoding="utf-8"
    )
    (folder / "part" / "web.yaml").write_text(to_yaml({**hpa(), "spec": {"maxReplicas": 9}}), encoding="utf-8")
    assert f"`{remedy}`" in run(".").stderr


def test_patches_of_an_overlay_without_other_files(folder):
    """A kustomization without apiVersion is no object, and still says what its patches are."""
    for name, text in {
        "overlays/prod/kustomization.yaml": "patches:\n- path: ../../patches/more.yaml\n",
        "patches/more.yaml": to_yaml({**hpa(), "spec": {"maxReplicas": 0}}),
    }.items():
        (folder / name).parent.mkdir(parents=True)
        (folder / name).write_text(text, encoding="utf-8")
    result = run(".", "-o", "json")
    assert "patches/more.yaml" not in {one["file"] for one in json.loads(result.stdout)["findings"]}
    assert "1 kustomize patch;" in result.stderr


def test_version_changes_the_verdict():
    """The same manifest is an error for one cluster version and not for another."""
    manifest = to_yaml(hpa(api_version="autoscaling/v2beta2"))
    assert run("-f", "-", input=manifest).exit_code == 1
    assert run("-f", "-", "--kubernetes", "v1.25.3", input=manifest).exit_code == 0


@pytest.mark.usefixtures("folder")
def test_json_keeps_to_its_schema():
    """Findings and summary match the published schema."""
    result = run("-f", "k8s", "-o", "json")
    output = json.loads(result.output)
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.validate(output, SCHEMA)
    assert output["summary"] == {
        "errors": 1,
        "warnings": 1,
        "advice": 2,
        "silenced": 0,
        "known": 0,
        "files": 2,
        "objects": 3,
        "autoscalers": 2,
    }
    found = next(one for one in output["findings"] if one["rule"] == "request-missing")
    assert found["object"] == {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "namespace": "shop",
        "name": "web",
    }
    assert (found["file"], found["line"], found["field"]) == ("k8s/web.yaml", 15, "spec.metrics[0].resource")


def test_a_manifest_to_paste_is_one_text():
    """The JSON has the form with intervals, line by line, and it lints without findings."""
    result = run("-f", "-", "-o", "json", input=to_yaml(weighted()) + "---\n" + to_yaml(workload()))
    output = json.loads(result.output)
    jsonschema.validate(output, SCHEMA)
    (found,) = output["findings"]
    assert (found["rule"], found["line"]) == ("weight-based", 34)
    form = found["hint"].partition("\n")[2]
    assert run("-f", "-", input=form + "\n---\n" + to_yaml(workload())).output.startswith("nothing found")


def test_a_manifest_to_paste_keeps_its_lines():
    """It can be copied from the terminal: indented as a block, it is still the same YAML."""
    objects = to_yaml(weighted()) + "---\n" + to_yaml(workload())
    lines = run("-f", "-", input=objects).output.splitlines()
    start, end = lines.index("    apiVersion: autoscaling.k8s.io/v1alpha1"), lines.index("", 2)
    form = "\n".join(lines[start:end]) + "\n"
    assert run("-f", "-", input=form + "---\n" + to_yaml(workload())).output.startswith("nothing found")


def test_both_axes_in_every_form(tmp_path):
    """VerticalPodAutoscalers and Hvpas have a file and a line, and count as autoscalers."""
    file = tmp_path / "both.yaml"
    file.write_text("---\n".join(map(to_yaml, [hvpa(), vpa(), workload()])), encoding="utf-8")
    text, log = run("-f", str(file)), json.loads(run("-f", str(file), "-o", "sarif").output)
    lines = file.read_text(encoding="utf-8").splitlines()
    places = [i for i, line in enumerate(lines, 1) if line == "  targetRef:"]
    assert text.exit_code == 1
    assert [f"{file}:{line}  error  two-sizers" in text.output for line in places] == [True, True]
    regions = [one["locations"][0]["physicalLocation"]["region"] for one in log["runs"][0]["results"]]
    assert [region["startLine"] for region in regions] == places
    assert text.output.endswith("2 errors, 0 warnings, 0 advice in 1 file, 3 objects\n")


def test_sarif_for_code_scanning(folder):
    """It has what code scanning requires: rules with text and level, results with place and fingerprint."""
    output = json.loads(run("-f", str(folder / "k8s"), "-o", "sarif").output)
    assert (output["version"], len(output["runs"])) == ("2.1.0", 1)
    driver, results = output["runs"][0]["tool"]["driver"], output["runs"][0]["results"]
    assert driver["name"] == "hypot"
    for rule in driver["rules"]:
        assert rule["shortDescription"]["text"] == all_rules()[rule["id"]].title
        assert rule["fullDescription"]["text"]
        assert rule["help"]["text"]
        assert rule["defaultConfiguration"]["level"] in {"error", "warning", "note"}
    assert [driver["rules"][one["ruleIndex"]]["id"] for one in results] == [one["ruleId"] for one in results]
    assert {one["level"] for one in results} == {"error", "warning", "note"}
    place = results[0]["locations"][0]["physicalLocation"]
    assert place == {"artifactLocation": {"uri": "k8s/web.yaml"}, "region": {"startLine": 11}}
    marks = [one["partialFingerprints"]["primaryLocationLineHash"] for one in results]
    assert len(set(marks)) == len(marks)


def test_fingerprints_survive_moved_lines(folder):
    """A finding keeps its fingerprint when it moves down."""
    before = json.loads(run("-f", "k8s/web.yaml", "-o", "sarif").output)
    file = folder / "k8s" / "web.yaml"
    file.write_text("# a comment\n\n" + file.read_text(encoding="utf-8"), encoding="utf-8")
    after = json.loads(run("-f", "k8s/web.yaml", "-o", "sarif").output)
    first, second = ([one["partialFingerprints"] for one in log["runs"][0]["results"]] for log in (before, after))
    assert first == second


def test_colour_and_width():
    """Colour is used when it is asked for, and text is wrapped to the width."""
    report = check(hpa(minReplicas=1), NO_CPU)
    assert "\x1b[31m\x1b[1merror" in as_text(report, colour=True)
    assert max(map(len, as_text(report, width=60).splitlines()[1:3])) <= 60


def test_names_cannot_steer_the_terminal():
    """An escape sequence in a name is shown escaped."""
    output = run(
        "-f",
        "-",
        input='{"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": '
        '{"name": "a\\u001b[2J"}, "spec": {"maxReplicas": 1}}',
    ).output
    assert "\x1b" not in output
    assert "a\\x1b[2J" in output
