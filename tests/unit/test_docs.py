"""The code in the documentation runs, and generated pages are current."""

import importlib.util
import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from hypot import HPA, cpu
from hypot.cli.main import cli
from hypot.cli.overview import COMMANDS
from unit.cluster.server import Stored, running

ROOT = Path(__file__).resolve().parents[2]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(language):
    found = []
    for page in PAGES:
        for i, code in enumerate(re.findall(rf"```{language}\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)):
            found.append(pytest.param(code, id=f"{page.relative_to(ROOT)} #{i + 1}"))
    return found


@pytest.mark.parametrize("code", blocks("python"))
def test_python_in_the_documentation_runs(code):
    """Every Python block runs as it is; its own asserts check what it promises."""
    exec(compile(code, "documentation", "exec"), {})  # noqa: S102  our own pages


@pytest.mark.parametrize("session", blocks("console"))
def test_commands_in_the_documentation_print_what_is_shown(session, monkeypatch):
    """Every `$ hypot …` prints exactly what is shown below it."""
    monkeypatch.chdir(ROOT)
    command, _, shown = session.partition("\n")
    message = shlex.split(command.removeprefix("$ "))
    assert message[0] == "hypot"
    result = CliRunner().invoke(cli, message[1:], standalone_mode=False)
    assert result.exception is None
    assert result.stdout.rstrip() == shown.rstrip()


def indented():
    """The commands and the Python of authoring.md that need a cluster, files or another package."""
    text = re.sub(r"```.*?```", "", (ROOT / "docs" / "authoring.md").read_text(encoding="utf-8"), flags=re.DOTALL)
    for block in re.findall(r"(?:^    .*\n|^\n(?=    ))+", text, re.MULTILINE):
        lines = [line.removeprefix("    ") for line in block.strip("\n").splitlines()]
        if lines[0].startswith("from hypot import") or "(" in lines[0].partition(" ")[0]:
            yield pytest.param("\n".join(lines), id=lines[0])
        else:
            yield from (pytest.param(line, id=line) for line in lines)


@pytest.fixture
def shop(tmp_path, monkeypatch):
    """A cluster with an HPA, and a folder with its manifest."""
    web = HPA("deployment/web", max_replicas=10, namespace="shop", metrics=[cpu(utilization=70)])
    (tmp_path / "k8s").mkdir()
    (tmp_path / "k8s" / "web.yaml").write_text(web.to_yaml(), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    with running(Stored(web.to_dict(), status={"desiredReplicas": 3}), tmp_path) as kubeconfig:
        monkeypatch.setenv("KUBECONFIG", kubeconfig)
        yield web


@pytest.mark.parametrize("code", list(indented()))
def test_what_else_the_page_of_authoring_shows(code, shop, monkeypatch):
    """Commands end with 0 and print something; Python runs against a cluster."""
    if code.startswith("# yaml-language-server:"):
        assert Path("schemas").joinpath(code.rpartition("/")[2]).name in schema_names()
        return
    words = shlex.split(code.rpartition("| ")[2], comments=True)
    if words[0] == "hypot":
        command = words[1 : words.index(">")] if ">" in words else words[1:]
        result = CliRunner().invoke(cli, command, input=shop.to_yaml(), standalone_mode=False)
        assert result.exception is None, result.output
        assert result.stdout or list(Path("schemas").iterdir())
        return
    made = []
    monkeypatch.setattr("hypot.kinds.cdk8s_object.api_object", lambda *given: made.append(given))
    exec(compile(code, "documentation", "exec"), {"web": shop, "chart": "chart"})  # noqa: S102  our own page
    assert "to_cdk8s" not in code or made == [(shop.to_dict(), "chart", "web-hpa")]


def schema_names():
    """The files that `hypot crds -o jsonschema --dir` writes."""
    CliRunner().invoke(cli, ["crds", "-o", "jsonschema", "--dir", "schemas"], standalone_mode=False)
    return [path.name for path in Path("schemas").iterdir()]


def test_generated_pages_are_current():
    """`make docs` would change nothing."""
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    generate = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generate)
    assert generate.stale() == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_between_pages_lead_somewhere(page):
    """No link points to a missing page."""
    prose = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for link in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", prose):
        if "://" not in link:
            assert (page.parent / link).exists(), link


def test_the_readme_names_every_command():
    """The README mentions every command, so that users find it."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for name in COMMANDS:
        assert f"hypot {name}" in readme


def test_the_threat_model_names_code_and_tests_that_exist():
    """Its table says where each attempt is refused, and which test shows it."""
    text = (ROOT / "docs" / "threat-model.md").read_text(encoding="utf-8")
    rows = [line.split("|") for line in text.splitlines() if line.count("|") == 5 and "`" in line]
    assert rows
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    for *_, where, shown, _ in rows:
        for module in re.findall(r"`([^`]+)`", where):
            path = ROOT / "src" / "hypot" / module.replace(".", "/")
            assert path.is_dir() or path.with_suffix(".py").is_file(), module
        for test in re.findall(r"`([^`]+)`", shown):
            assert (ROOT / test).exists() or test.removeprefix("make ") in targets, test
