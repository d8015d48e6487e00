"""The command line: commands are found by name and imported only when called."""

import contextlib
import importlib
import io
import sys
from typing import Any, NoReturn

import click

from hypot.cli.ending import Terminated
from hypot.cli.extras import reported
from hypot.cli.overview import ABOUT, COMMANDS, overview, own_name


class LazyGroup(click.Group):
    """A group that knows its commands by name and imports a command when it is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(COMMANDS[cmd_name][0]).command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Name the most similar command, if there is none of this name."""
        if args[0] not in COMMANDS and not args[0].startswith("-"):
            from hypot.kinds.problem import did_you_mean  # noqa: PLC0415  only after a typing error

            hint = did_you_mean(args[0], COMMANDS)
            ctx.fail(f"no such command {args[0]!r}; {hint or 'they are listed by --help'}")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; an installation may have only the packages that some commands need."""
        with reported():
            return super().invoke(ctx)

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        formatter.write(overview(ctx.command_path, formatter.width))


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]}, help=ABOUT)
@click.version_option(package_name="hypot")
def cli() -> None:
    pass


def main(arguments: list[str] | None = None) -> Any:
    """Run the command line; exit status 0 success, 1 problems found, 2 bad usage or input."""
    if sys.stdout is None:
        _say("standard output is closed, so the answer cannot be written")
        sys.exit(2)
    _write_all()
    stdout = sys.stdout
    try:
        status = cli.main(arguments, prog_name=own_name(), standalone_mode=False, complete_var="_HYPOT_COMPLETE")
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
        # Click handles a broken pipe first, and replaces sys.stdout with a silent stream.
        if sys.stdout is stdout:
            raise
        _say_no_more()
    except OSError as error:
        _say(f"cannot write the answer: {error.strerror or error}")
        _leave(2)
    sys.exit(status if isinstance(status, int) else 0)


def _say_no_more() -> NoReturn:
    """Exit quietly: the reader closed the pipe, as `| head` does."""
    sys.stderr.close()
    sys.exit(141)


def _write_all() -> None:
    """Buffer standard output: unbuffered (PYTHONUNBUFFERED), a nearly full disk would silently cut the answer."""
    standard: Any = sys.__stdout__
    if sys.stdout is standard and isinstance(standard.buffer, io.FileIO):
        writer: Any = io.BufferedWriter(standard.buffer)
        sys.stdout = io.TextIOWrapper(writer, standard.encoding, standard.errors, line_buffering=True)


def _say(message: str) -> None:
    with contextlib.suppress(OSError):
        click.echo(f"Error: {message}", err=True)


def _leave(status: int) -> NoReturn:
    """Exit without flushing output that cannot be written."""
    with contextlib.suppress(OSError):
        sys.stdout.close()
    sys.exit(status)


if __name__ == "__main__":
    main()
