"""Completion in a shell, and the name of the command."""

import os
import subprocess
import sys

import pytest

from unit.cli.command import hypot


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_a_script(shell):
    """It asks hypot itself."""
    result = hypot("completion", shell)
    assert result.status == 0
    assert "_HYPOT_COMPLETE" in result.out


def test_an_unknown_shell_is_refused():
    """The message names the others."""
    assert "'bash', 'zsh', 'fish'" in hypot("completion", "tcsh").err


@pytest.mark.parametrize(
    ("words", "found"),
    [("hypot li", "plain,lint"), ("hypot lint --exc", "plain,--exclude"), ("hypot new h", "plain,hpa")],
)
def test_commands_and_options_are_completed(words, found):
    """As the script asks for them."""
    given = {"_HYPOT_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    code = "from hypot.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, env={**os.environ, **given}
    )
    assert found in done.stdout.splitlines()


@pytest.mark.parametrize(("file", "name"), [("/bin/kubectl-hypot", "kubectl hypot"), ("/bin/hypot", "hypot")])
def test_usage_has_the_name_that_was_typed(file, name):
    """As a plug-in, kubectl runs kubectl-hypot."""
    code = f"import sys; sys.argv = [{file!r}, 'lint', '--help']; from hypot.cli.main import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.startswith(f"Usage: {name} lint ")
