"""The options of commands that read a live cluster."""

from collections.abc import Callable, Sequence
from typing import Any, Final

import click

from hypot.core.dataclass import dataclass

Command = Callable[..., Any]

_OPTIONS: Final = (
    click.option("--live", is_flag=True, help="Read the cluster instead of files; nothing is changed in it."),
    click.option("--context", metavar="NAME", help="The context of the kubeconfig."),
    click.option("-A", "--all-namespaces", "everywhere", is_flag=True, help="Read all namespaces."),
    click.option(
        "--save",
        metavar="FILE",
        help="Also write what was read, without secrets, to a .yaml or .json file, or .gz of it.",
    ),
)

# The section of the help, with the names of the parameters.
LIVE_SECTION: Final = {"A live cluster": ("live", "context", "everywhere", "save")}


def live_options(command: Command) -> Command:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@dataclass(frozen=True, slots=True)
class LiveOptions:
    """How to reach a cluster, what of it to read, and where to keep it."""

    context: str | None = None
    namespace: str | None = None
    everywhere: bool = False
    save: str | None = None


def given_live(
    *, live: bool, context: str | None, namespace: str | None, everywhere: bool, save: str | None, files: Sequence[str]
) -> LiveOptions | None:
    """The options, or None if files are to be read."""
    if live:
        if files:
            raise click.UsageError("name files, or read the cluster with --live, but not both")
        if everywhere and namespace is not None:
            raise click.UsageError(f"-A reads all namespaces; leave it out to read {namespace} only")
        return LiveOptions(context, namespace, everywhere, save)
    for option, given in (("--context", context), ("--all-namespaces", everywhere), ("--save", save)):
        if given:
            raise click.UsageError(f"{option} needs --live, which reads a cluster")
    return None
