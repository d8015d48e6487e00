"""`hypot --help` as click would print it, without click."""

import os
import subprocess
import sys

import click
import pytest

from hypot.cli.main import cli, main
from hypot.cli.overview import ABOUT, COMMANDS, overview, width_of_help
from hypot.kinds.values.version import NEWEST, show_version

START = "import sys; from hypot.__main__ import main; main()"


def plain(width):
    """What click prints for a command with the same texts."""
    commands = [click.Command(name, short_help=text) for name, (_, text) in COMMANDS.items()]
    group = click.Group("hypot", commands, help=ABOUT, params=cli.params)
    with click.Context(group, info_name="hypot", terminal_width=width, help_option_names=["-h", "--help"]) as context:
        return group.get_help(context)


@pytest.mark.parametrize("width", [50, 51, 60, 77, 78])
def test_the_help_is_as_of_click(width):
    """At any width; so every command and option is in it."""
    assert overview("hypot", width) == plain(width)
    with click.Context(cli, info_name="kubectl hypot", terminal_width=width) as context:
        assert cli.get_help(context) == plain(width).replace("Usage: hypot", "Usage: kubectl hypot")


def started(*arguments, code=START, **environment):
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, "COLUMNS": "60", **environment}
    )


@pytest.mark.parametrize("option", ["--help", "-h"])
def test_help_needs_no_click(option):
    """Importing click would take twice as long as the rest."""
    imported = "print(sorted(sys.modules.keys() & {'click', 'yaml', 'dataclasses', 'pathlib'}), file=sys.stderr)"
    done = started(option, code=f"{START}; {imported}")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{plain(58)}\n", "[]\n")


@pytest.mark.parametrize(("columns", "width"), [("", 78), ("40", 50), ("70", 68), ("200", 78), ("0", 78), ("wide", 78)])
def test_the_width(monkeypatch, columns, width):
    """That of the terminal, which COLUMNS overrides, within what click uses; 80 without one."""
    monkeypatch.setattr("os.get_terminal_size", lambda *_: (_ for _ in ()).throw(OSError))
    monkeypatch.setenv("COLUMNS", columns)
    assert width_of_help() == width


def test_the_width_of_the_terminal(monkeypatch):
    """If nothing overrides it."""
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setattr("os.get_terminal_size", lambda *_: os.terminal_size((66, 20)))
    assert width_of_help() == 64


def test_completion_comes_first():
    """A shell that asks for completions of `--help` gets them."""
    done = started("--help", _HYPOT_COMPLETE="bash_complete", COMP_WORDS="hypot li", COMP_CWORD="1")
    assert done.stdout == "plain,lint\n"


@pytest.mark.parametrize(
    ("shell", "status", "message"),
    [
        ("{} --help > /dev/full", 2, "Error: cannot write the answer: No space left on device\n"),
        ("{} --help >&-", 2, "Error: standard output is closed, so the answer cannot be written\n"),
        ("set -o pipefail; (sleep 1; {} --help) | true", 141, ""),
    ],
)
def test_help_that_cannot_be_written(shell, status, message):
    """It ends like all other commands."""
    command = shell.format(f'{sys.executable} -c "{START}"')
    done = subprocess.run(["/bin/bash", "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (status, message)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["lnt"], "no such command 'lnt'; did you mean lint?"),
        (["xyzzy"], "no such command 'xyzzy'; they are listed by --help"),
        (["lint", ".", "--fail-level", "warn"], "Did you mean warning?"),
        (["lint", ".", "-o", "jsn"], "Did you mean json?"),
        (["decide", ".", "-o", "yml"], "Did you mean yaml?"),
    ],
)
def test_a_misspelt_word(capsys, arguments, message):
    """The most similar one is named."""
    with pytest.raises(SystemExit) as end:
        main(arguments)
    assert end.value.code == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(("version", "reported"), [("1.99", True), (show_version(NEWEST), False), ("1.30", False)])
@pytest.mark.parametrize("verb", ["lint", "decide"])
def test_a_kubernetes_of_the_future(capsys, tmp_path, verb, version, reported):
    """What it changes is not known, so it is said that it is not."""
    (tmp_path / "web.yaml").write_text("{apiVersion: v1, kind: ConfigMap}", encoding="utf-8")
    with pytest.raises(SystemExit):
        main([verb, str(tmp_path), "--kubernetes", version])
    assert (f"Kubernetes {version} is newer than this hypot" in capsys.readouterr().err) == reported
