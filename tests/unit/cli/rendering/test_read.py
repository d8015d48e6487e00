"""What a chart or a kustomization renders to is checked, and each finding names the template."""

import json
import os
import sys
import textwrap
from pathlib import Path

import pytest

from hypot.cli.files import BadInput
from hypot.cli.rendering.process import ToolLimits
from hypot.cli.rendering.read import read_rendered
from hypot.kinds.text.write import to_yaml
from hypot.kinds.values.version import NEWEST
from tools import tool
from unit.cli.command import hypot
from unit.lint.lint_cases import container, hpa, workload

HPA = to_yaml(hpa(minReplicas=1))
WEB = to_yaml(workload("web", container(requests={})))


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A working directory with a chart, a kustomization, and no tools."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    for name, text in {
        "chart/Chart.yaml": "apiVersion: v2\nname: shop\nversion: 1.0.0\n",
        "chart/templates/hpa.yaml": HPA.replace("minReplicas: 1", "minReplicas: {{ .Values.least | default 1 }}"),
        "chart/templates/web.yaml": WEB,
        "chart/more.yaml": "least: 3\n",
        "base/kustomization.yaml": "resources: [hpa.yaml, web.yaml]\n",
        "base/hpa.yaml": HPA,
        "base/web.yaml": WEB,
        "prod/kustomization.yml": "resources: [../base]\npatches:\n- path: more.yaml\n",
        "prod/more.yaml": to_yaml({**hpa(), "spec": {"maxReplicas": 20}}),
        "bin/x": "",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def fake(here, name, text="", *, status=0, err=""):
    """A tool that keeps its arguments and its environment, and prints this."""
    script = f"""\
        #!{sys.executable}
        import json, os, sys
        with open({str(here / "called")!r}, "w") as file:
            json.dump([sys.argv[1:], dict(os.environ)], file)
        sys.stdout.write({text!r})
        sys.stderr.write({err!r})
        sys.exit({status})
        """
    file = here / "bin" / name
    file.write_text(textwrap.dedent(script), encoding="utf-8")
    file.chmod(0o755)


def called(here):
    return json.loads((here / "called").read_text(encoding="utf-8"))


@pytest.fixture
def helm(here, monkeypatch):
    """The real helm."""
    monkeypatch.setenv("PATH", f"{os.path.dirname(tool('helm'))}:/bin:/usr/bin")  # noqa: PTH120
    return here


@pytest.fixture(params=["kustomize", "kubectl"])
def kustomize(here, monkeypatch, request):
    """The real kustomize, alone or in kubectl."""
    (here / "bin" / request.param).symlink_to(tool(request.param))
    monkeypatch.setenv("PATH", str(here / "bin"))
    return here


def found(result):
    return {(one["file"], one["line"], one["rendered"], one["rule"]) for one in result.json["findings"]}


@pytest.mark.usefixtures("helm")
def test_a_chart():
    """The findings are in the templates, and have no line of them."""
    result = hypot("lint", "--render", "chart", "-o", "json")
    assert found(result) == {
        ("chart/templates/hpa.yaml", None, True, "request-missing"),
        ("chart/templates/hpa.yaml", None, True, "single-replica"),
    }
    assert (result.status, result.err) == (1, "")
    text = hypot("lint", "--render", "chart").out
    assert text.startswith(
        "chart/templates/hpa.yaml (rendered)  error  request-missing  HorizontalPodAutoscaler shop/web"
    )
    sarif = json.loads(hypot("lint", "--render", "chart", "-o", "sarif").out)
    place = sarif["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    assert place == {"artifactLocation": {"uri": "chart/templates/hpa.yaml"}, "region": {"startLine": 1}}


@pytest.mark.usefixtures("helm")
def test_values_of_a_chart():
    """Several files count, the last one most, as with helm."""
    Path("least.yaml").write_text("least: 1\n", encoding="utf-8")
    rules = [
        {one["rule"] for one in hypot("lint", "--render", "chart", *flags, "-o", "json").json["findings"]}
        for flags in (
            ["--values", "chart/more.yaml"],
            ["--values", "chart/more.yaml", "--values", "least.yaml"],
        )
    ]
    assert rules == [{"request-missing"}, {"request-missing", "single-replica"}]


@pytest.mark.usefixtures("kustomize")
def test_a_kustomization():
    """The findings are in the files that the objects come from, also below another folder."""
    result = hypot("lint", "--render", "prod", "-o", "json")
    assert found(result) == {
        ("base/hpa.yaml", None, True, "request-missing"),
        ("base/hpa.yaml", None, True, "single-replica"),
    }
    assert result.status == 1


@pytest.mark.usefixtures("kustomize")
def test_kustomize_asks_no_network():
    """What is remote is an error that says so, and not a wait."""
    for remote in (
        "https://example.invalid/a.yaml",
        "https://example.invalid/a//b?ref=main",
        "git@example.invalid:a/b",
    ):
        Path("base/kustomization.yaml").write_text(f"resources: ['{remote}']\n", encoding="utf-8")
        result = hypot("lint", "--render", "prod")
        assert (result.status, result.out) == (2, "")
        assert "Error: prod: kustomize build failed" in result.err.replace("kubectl kustomize", "kustomize build")
        said = result.err.replace("kubectl kustomize", "kustomize build")
        assert said.endswith("render it yourself: `kustomize build prod | hypot lint -`\n")


@pytest.mark.usefixtures("kustomize")
def test_a_file_outside_the_kustomization():
    """The message has the command that allows it."""
    Path("prod/kustomization.yml").write_text("resources: [../base/hpa.yaml]\n", encoding="utf-8")
    result = hypot("lint", "--render", "prod")
    assert result.status == 2
    said = result.err.replace("kubectl kustomize", "kustomize build")
    command = "kustomize build --load-restrictor LoadRestrictionsNone prod"
    assert said.endswith(f"outside its folder, render it yourself: `{command} | hypot lint -`\n")


@pytest.mark.usefixtures("helm")
def test_a_chart_that_needs_values():
    """The message has a file of values that the chart brings, if there is one."""
    Path("chart/templates/more.yaml").write_text('{{ required "no team" .Values.team }}\n', encoding="utf-8")
    assert hypot("lint", "--render", "chart").err.endswith("pass them with --values FILE\n")
    Path("chart/ci").mkdir()
    Path("chart/ci/test-values.yaml").write_text("team: a\n", encoding="utf-8")
    result = hypot("lint", "--render", "chart")
    assert result.status == 2
    assert result.err.endswith("if the chart needs values, pass them with --values chart/ci/test-values.yaml\n")


@pytest.mark.usefixtures("helm")
def test_a_chart_that_asks_a_network():
    """The message has the command of helm."""
    schema = '{"$ref": "http://example.invalid/x.json"}'
    Path("chart/values.schema.json").write_text(schema, encoding="utf-8")
    result = hypot("lint", "--render", "chart")
    assert result.status == 2
    assert result.err.endswith("render it yourself: `helm template chart | hypot lint -`\n")


@pytest.mark.usefixtures("helm")
def test_missing_dependencies():
    """Nothing is downloaded; the message has the command that does."""
    with Path("chart/Chart.yaml").open("a", encoding="utf-8") as file:
        file.write("dependencies: [{name: cache, version: 1.0.0, repository: 'https://example.invalid'}]\n")
    result = hypot("lint", "--render", "chart")
    assert (result.status, result.out) == (2, "")
    assert result.err.endswith("run this once: `helm dependency build chart`\n")


@pytest.mark.usefixtures("helm")
def test_a_manifest_that_the_cluster_refuses():
    """Helm prints it; the finding has the template."""
    Path("chart/templates/twice.yaml").write_text(f"{HPA}---\n{HPA}spec: {{}}\n", encoding="utf-8")
    findings = hypot("lint", "--render", "chart", "-o", "json").json["findings"]
    (one,) = [one for one in findings if one["rule"] == "unreadable"]
    assert (one["file"], one["line"]) == ("chart/templates/twice.yaml", None)
    assert one["message"].startswith("in what was rendered, line ")


@pytest.mark.usefixtures("helm")
def test_the_configuration_and_the_baseline_apply():
    """Known findings in templates are known; files that were not rendered are not mentioned."""
    Path("other.yaml").write_text(HPA.replace("web", "other"), encoding="utf-8")
    assert hypot("lint", "--render", "chart", "other.yaml", "--write-baseline", "known.json").status == 0
    Path(".hypot.toml").write_text('baseline = "known.json"\nignore = ["single-replica"]\n', encoding="utf-8")
    result = hypot("lint", "--render", "chart", "-o", "json")
    assert (result.status, result.json["findings"], result.err) == (0, [], "")
    assert (result.json["summary"]["known"], result.json["summary"]["silenced"]) == (1, 1)
    Path("chart/templates/hpa.yaml").unlink()
    assert hypot("lint", "--render", "chart").err.startswith("1 finding in known.json no longer occurs")


def test_helm_gets_the_version_and_the_kinds(here):
    """Charts ask for both; values come in their order; nothing is asked of a network or a cluster."""
    fake(here, "helm", "")
    (here / ".hypot.toml").write_text('kubernetes = "1.31"', encoding="utf-8")
    assert hypot("lint", "--render", "chart", "--values", "chart/more.yaml").status == 0
    arguments, environment = called(here)
    assert arguments[:3] == ["template", "--kube-version=1.31", "--values=chart/more.yaml"]
    assert arguments[-2:] == ["--", "chart"]
    assert {"--api-versions=autoscaling.k8s.io/v1/VerticalPodAutoscaler", "--api-versions=keda.sh/v1alpha1"} <= {
        *arguments
    }
    assert not [one for one in arguments if "autoscaling/v" in one]
    assert environment["HTTPS_PROXY"] == environment["http_proxy"] == "http://127.0.0.1:9"
    assert (environment["GIT_ALLOW_PROTOCOL"], environment["KUBECONFIG"], environment["NO_PROXY"]) == (
        "file",
        "/dev/null",
        "",
    )


def test_marks_of_helm(here):
    """The last mark above an object counts, also of a subchart; texts that look like marks are none."""
    text = (
        f"---\n# Source: shop/charts/a/templates/b.yaml\n# Source: shop/other.yaml\n{HPA}"
        f"---\n# Source: shop/templates/web.yaml\n{WEB}"
        "---\n# Source: shop/templates/text.yaml\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n"
        f"data:\n  a: |\n    ---\n    # Source: shop/no.yaml\n---\n{WEB.replace('web', 'more')}"
    )
    fake(here, "helm", text)
    objects = read_rendered("chart", (), NEWEST).objects
    assert [(one.data["kind"], one.source.file) for one in objects] == [
        ("HorizontalPodAutoscaler", "chart/charts/a/templates/b.yaml"),
        ("Deployment", "chart/templates/web.yaml"),
        ("ConfigMap", "chart/templates/text.yaml"),
        ("Deployment", "chart/templates/text.yaml"),
    ]


def test_annotations_of_kustomize(here):
    """They say the file, are taken away, and what has none is in the kustomization."""
    annotated = hpa("a")
    annotated["metadata"]["annotations"] = {"config.kubernetes.io/origin": "path: no/../x.yaml\n", "mine": "1"}
    generated = hpa("b")
    generated["metadata"]["annotations"] = {"config.kubernetes.io/origin": "configuredIn: y.yaml\nconfiguredBy: {}\n"}
    fake(here, "kubectl", "---\n".join(map(to_yaml, [annotated, generated, hpa("c")])))
    objects = read_rendered("prod", (), NEWEST).objects
    assert called(here)[0][0] == "kustomize"
    assert [Path(one.source.file).name for one in objects] == ["x.yaml", "y.yaml", "kustomization.yml"]
    assert [one.data["metadata"].get("annotations") for one in objects] == [{"mine": "1"}, None, None]


def test_what_is_too_old_for_annotations(here):
    """The kustomization is rendered without, and all findings are in it."""
    script = f"#!{sys.executable}\nimport os, sys\nsys.exit(1) if sys.argv[2] != 'prod' else print({HPA!r})\n"
    (here / "bin" / "kustomize").write_text(script, encoding="utf-8")
    (here / "bin" / "kustomize").chmod(0o755)
    (one,) = read_rendered("prod", (), NEWEST).objects
    assert one.source.file == "prod/kustomization.yml"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--render", "nowhere"], "nowhere: there is no such folder; name that of a chart"),
        (["--render", "."], "did you mean ./base or ./chart or ./prod?"),
        (
            ["--render", "bin"],
            "bin: neither a chart nor a kustomization: there is no Chart.yaml and no kustomization.yaml",
        ),
        (["--render", "chart/Chart.yaml"], "chart/Chart.yaml: there is no such folder"),
        (["--render", "chart"], "chart: a chart is rendered by helm, which is not installed: https://helm.sh"),
        (["--render", "base"], "base: a kustomization is rendered by kustomize or kubectl, and neither is installed: "),
        (["--render", "base", "--values", "x"], "base: this is a kustomization; --values is for charts"),
        (["base", "--values", "x"], "--values is for --render CHART"),
        (["--values", "x"], "name files or folders to check"),
    ],
)
@pytest.mark.usefixtures("here")
def test_what_cannot_be_rendered(arguments, said):
    """Exit status 2, and the message says what to do."""
    result = hypot("lint", *arguments)
    assert (result.status, result.out) == (2, "")
    assert said in " ".join(result.err.split())


def test_values_that_are_not_there(here):
    """Helm would load them from a network."""
    fake(here, "helm")
    result = hypot("lint", "--render", "chart", "--values", "https://example.invalid/values.yaml")
    assert (result.status, (here / "called").exists()) == (2, False)
    assert "https://example.invalid/values.yaml: there is no such file of values" in result.err


def test_a_failure_is_quoted(here):
    """Its end, safe to show."""
    fake(here, "helm", "never shown", status=3, err="begin\n" + "x" * 5000 + "\n\n\x1b[31mError: no\n")
    result = hypot("lint", "--render", "chart")
    lines = result.err.splitlines()
    assert lines[0] == "Error: chart: helm template failed with exit status 3"
    assert lines[1].startswith("    … xxx")
    assert lines[2] == r"    \x1b[31mError: no"
    assert (result.status, result.out, len(result.err) < 2500) == (2, "", True)


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("import time; print('a', file=sys.stderr, flush=True); time.sleep(60)", "it took longer than 0.5 s\n    a"),
        ("sys.stdout.write('x' * 10**6)", "it printed more than 1,000 bytes"),
    ],
)
def test_limits_of_a_tool(here, script, said):
    """The error names the limit and quotes the tool."""
    (here / "bin" / "helm").write_text(f"#!{sys.executable}\nimport sys\n{script}\n", encoding="utf-8")
    (here / "bin" / "helm").chmod(0o755)
    limits = ToolLimits(0.5, 1000) if "took" in said else ToolLimits(30, 1000)
    with pytest.raises(BadInput) as raised:
        read_rendered("chart", (), NEWEST, limits=limits)
    assert raised.value.message == f"chart: helm template was stopped: {said}"


def test_the_schema_of_findings(here):
    """A rendered finding has no line, any other has one."""
    fake(here, "helm", f"---\n# Source: shop/templates/a.yaml\n{HPA}")
    result = hypot("lint", "--render", "chart", "base", "-o", "json")
    assert {(one["line"] is None, one["rendered"]) for one in result.json["findings"]} == {(True, True), (False, False)}
