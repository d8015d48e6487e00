"""The file that --plot names: a page, or a picture of one object."""

from collections.abc import Callable, Sequence
from pathlib import Path

import click

from hypot.cli.files import BadInput
from hypot.cli.options import Option

_PAGES, _PICTURES = (".html", ".htm"), (".png", ".svg")


def _checked(_: click.Context, __: click.Parameter, path: str | None) -> str | None:
    if path is not None and not path.lower().endswith((*_PAGES, *_PICTURES)):
        raise click.BadParameter(f"{path!r} is not a plot file; name a file that ends in .html, .png or .svg")
    return path


def plot_named(what: str) -> Option:
    text = f"Also draw {what}: .html for a page, .png or .svg if matplotlib is installed."
    return click.option("--plot", metavar="FILE", callback=_checked, help=text)


def write_plot(path: str, page: Callable[[], str], picture: Callable[[str], bytes]) -> None:
    """Write what the name of the file asks for; `picture` gets png or svg."""
    made = page().encode("utf-8", "replace") if path.lower().endswith(_PAGES) else picture(path[-3:].lower())
    try:
        Path(path).write_bytes(made)
    except OSError as error:
        raise BadInput(f"{path}: cannot write the plot: {error.strerror or error}; check the folder") from error


def check_single(kind: str, names: Sequence[str]) -> None:
    """A picture has room for one object."""
    if len(names) > 1:
        message = f"a picture shows one {kind}, and there are {len(names)}: {', '.join(names)}"
        raise BadInput(f"{message}; choose with --name NAME or -n NAMESPACE, or draw an .html")
