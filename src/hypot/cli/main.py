"""The entry point: commands are found by name and imported only when called."""

import contextlib
import importlib
import io
import sys
from typing import Any, NoReturn

import click

from hypot.cli.ending import Terminated

# Command -> the module that holds it, and its line in the help.
COMMANDS = {
    "crds": ("hypot.cli.crds", "Print the CustomResourceDefinitions of the kinds hypot serves."),
    "decide": ("hypot.cli.decide", "What would each autoscaler in a dump do now, and why?"),
    "intervals": ("hypot.cli.intervals", "Which totals are for how many replicas of what size?"),
    "manifests": ("hypot.cli.manifests", "Print what installs hypot on a cluster."),
    "replay": ("hypot.cli.replay", "What would each policy have done with recorded demand, and at what price?"),
    "run": ("hypot.cli.run", "Run the controller: watch autoscalers on a cluster and move workloads."),
    "scenarios": ("hypot.cli.scenarios", "Repeat what goes wrong in the field: a bad policy, and its answer."),
    "lint": ("hypot.cli.lint", "What is wrong with these manifests, alone and together?"),
}


class LazyGroup(click.Group):
    """A group that knows its commands by name and loads one when it is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(COMMANDS[cmd_name][0]).command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, message) for name, (_, message) in sorted(COMMANDS.items())])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="hypot")
def cli() -> None:
    """Explained autoscaling decisions for Kubernetes, on both axes."""


def main(arguments: list[str] | None = None) -> Any:
    """Run the command line; exit status 0 fine, 1 found something, 2 bad usage or input."""
    if sys.stdout is None:
        _say("standard output is closed, so there is nowhere to write the answer")
        sys.exit(2)
    _write_all()
    reported = sys.stdout
    try:
        status = cli.main(arguments, prog_name="hypot", standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.Abort:
        click.echo("interrupted", err=True)
        sys.exit(130)
    except Terminated:
        click.echo("terminated", err=True)
        sys.exit(143)
    except click.ClickException as error:
        error.show()
        sys.exit(2)
    except BrokenPipeError:
        _say_no_more()
    except SystemExit:
        # Click hears of it first, and puts a quiet one in its place.
        if sys.stdout is reported:
            raise
        _say_no_more()
    except OSError as error:
        _say(f"cannot write the answer: {error.strerror or error}")
        _leave(2)
    sys.exit(status if isinstance(status, int) else 0)


def _say_no_more() -> NoReturn:
    """The reader went away, as `| head` does."""
    sys.stderr.close()
    sys.exit(141)


def _write_all() -> None:
    """Without a buffer (PYTHONUNBUFFERED) a disk that is nearly full takes a part of the answer, and nobody is told."""
    standard: Any = sys.__stdout__
    if sys.stdout is standard and isinstance(standard.buffer, io.FileIO):
        writer: Any = io.BufferedWriter(standard.buffer)
        sys.stdout = io.TextIOWrapper(writer, standard.encoding, standard.errors, line_buffering=True)


def _say(message: str) -> None:
    with contextlib.suppress(OSError):
        click.echo(f"Error: {message}", err=True)


def _leave(status: int) -> NoReturn:
    """End without flushing what could not be written."""
    with contextlib.suppress(OSError):
        sys.stdout.close()
    sys.exit(status)
