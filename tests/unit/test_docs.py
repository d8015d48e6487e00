"""The code in the documentation runs, and generated pages are current."""

import importlib.util
import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from hypot.cli.main import COMMANDS, cli

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
