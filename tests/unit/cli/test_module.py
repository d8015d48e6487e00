"""`python -m hypot` instead of the command."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize("module", ["hypot", "hypot.cli.main"])
@pytest.mark.parametrize(("arguments", "status"), [(("--help",), 0), (("lint", "-f", "absent.yaml"), 2)])
def test_a_module_does_what_the_command_does(module, arguments, status, tmp_path):
    """The same answer, name and exit status. Before, nothing was printed and the status was 0."""
    run, command = (
        subprocess.run(
            [sys.executable, *program, *arguments], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        for program in (["-m", module], ["-c", "from hypot.cli.main import main; main()"])
    )
    assert (run.returncode, run.stdout, run.stderr) == (command.returncode, command.stdout, command.stderr)
    assert run.returncode == status
    assert (run.stdout + run.stderr).startswith(("Usage: hypot", "Error: "))


def test_importing_the_modules_runs_nothing():
    """Only as a program."""
    code = "import hypot.__main__, hypot.cli.main"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout == b""
