"""The Python in the documentation runs, and generated pages are current. test_doc_commands.py runs the commands."""

import importlib.util
import re

import pytest
from click.testing import CliRunner

from doc_blocks import PAGES, ROOT
from hypot import HPA, cpu
from hypot.cli.main import cli
from hypot.cli.overview import COMMANDS
from unit.cluster.server import Stored, running


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


def for_a_cluster():
    """The Python of authoring.md that needs a cluster, or another package: it is indented."""
    text = re.sub(r"```.*?```", "", (ROOT / "docs" / "authoring.md").read_text(encoding="utf-8"), flags=re.DOTALL)
    for block in re.findall(r"(?:^    .*\n|^\n(?=    ))+", text, re.MULTILINE):
        lines = [line.removeprefix("    ") for line in block.strip("\n").splitlines()]
        yield pytest.param("\n".join(lines), id=lines[0])


@pytest.fixture
def shop(tmp_path, monkeypatch):
    """A cluster with an HPA."""
    web = HPA("deployment/web", max_replicas=10, namespace="shop", metrics=[cpu(utilization=70)])
    with running(Stored(web.to_dict(), status={"desiredReplicas": 3}), tmp_path) as kubeconfig:
        monkeypatch.setenv("KUBECONFIG", kubeconfig)
        yield web


@pytest.mark.parametrize("code", list(for_a_cluster()))
def test_python_that_needs_a_cluster_runs(code, shop, monkeypatch):
    """Against a stand-in for an API server; cdk8s gets the manifest."""
    made = []
    monkeypatch.setattr("hypot.kinds.cdk8s_object.api_object", lambda *given: made.append(given))
    exec(compile(code, "documentation", "exec"), {"web": shop, "chart": "chart"})  # noqa: S102  our own page
    assert "to_cdk8s" not in code or made == [(shop.to_dict(), "chart", "web-hpa")]


def test_the_schema_that_the_page_of_authoring_names_exists(tmp_path):
    """`hypot crds -o jsonschema --dir` writes it."""
    (named,) = re.findall(r"\$schema=schemas/(\S+)", (ROOT / "docs" / "authoring.md").read_text(encoding="utf-8"))
    CliRunner().invoke(cli, ["crds", "-o", "jsonschema", "--dir", str(tmp_path)], standalone_mode=False)
    assert (tmp_path / named).is_file()


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
