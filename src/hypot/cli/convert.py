"""hypot convert: the nearest equivalent of an autoscaler as another kind."""

import textwrap
from collections.abc import Iterator
from typing import Any, NamedTuple

import click

from hypot.authoring.convert.convert import KINDS, To, convert
from hypot.authoring.convert.result import CannotConvertError, Converted, workload_of
from hypot.authoring.read import autoscaler_of
from hypot.cli.files import BadInput, read_objects
from hypot.cli.options import Word
from hypot.cli.output import to_json
from hypot.face.style import printable
from hypot.kinds.catalogue import Autoscaler
from hypot.kinds.text.load import LoadedFiles
from hypot.kinds.text.write import to_yaml

_WIDTH = 100


class _Done(NamedTuple):
    source: LoadedFiles
    autoscaler: Autoscaler
    made: Converted


@click.command("convert")
@click.argument("paths", nargs=-1, required=True, metavar="FILE|DIR|-...")
@click.option("--to", type=Word(list(KINDS)), required=True, help="The kind to convert to.")
@click.option("-o", "--output", type=Word(["text", "json"]), default="text", show_default=True)
def command(paths: tuple[str, ...], to: To, output: str) -> int:
    """Print the nearest equivalent of each autoscaler as another kind, with notes on what differs.

    Give the manifests of the workloads too: requests, replicas, the selector and the names of containers are taken from
    there. The notes are comments: `lost` has no equivalent, `assumed` was chosen, `check` is for you to look at. If an
    autoscaler has no equivalent, nothing is printed, and all reasons are reported.

    Exit status: 0 success, 2 bad usage or input.
    """
    loaded, _ = read_objects(paths)
    found = [(one, autoscaler) for one in loaded if (autoscaler := autoscaler_of(one)) is not None]
    if not found:
        raise BadInput(
            "there is no autoscaler in the input; name files with an HPA, WPA, VPA, Hvpa, Tortoise or Autoscaler"
        )
    done, refused = list[_Done](), list[str]()
    for source, autoscaler in found:
        workload = workload_of(autoscaler.target, autoscaler.namespace, (one.data for one in loaded))
        try:
            done.append(_Done(source, autoscaler, convert(autoscaler, to, workload)))
        except CannotConvertError as error:
            refused.append(f"{_place(source)}: {autoscaler} cannot be converted to {to}: {error}")
    if refused:
        raise BadInput("\n".join(map(printable, refused)))
    text = to_json({"converted": [_document(one) for one in done]}) if output == "json" else _text(done)
    click.echo(text.encode(), nl=False)
    return 0


def _place(source: LoadedFiles) -> str:
    return f"{source.source.file}:{source.source.line}"


def _text(done: list[_Done]) -> str:
    return "---\n".join(part for one in done for part in _manifests(one))


def _manifests(one: _Done) -> Iterator[str]:
    """The notes stand above the first object."""
    notes = [f"From {one.autoscaler}, {_place(one.source)}", *map(str, one.made.notes)]
    lines = "".join(f"{line}\n" for note in notes for line in _comment(printable(note)))
    for i, made in enumerate(one.made.objects):
        yield (lines if i == 0 else "") + to_yaml(made.to_dict())


def _comment(note: str) -> list[str]:
    return textwrap.wrap(note, _WIDTH, initial_indent="# ", subsequent_indent="#   ", break_on_hyphens=False)


def _document(one: _Done) -> dict[str, Any]:
    made = one.autoscaler
    return {
        "source": {
            "file": one.source.source.file,
            "line": one.source.source.line,
            "kind": made.KIND,
            "namespace": made.namespace,
            "name": made.name,
        },
        "notes": [{"what": note.word, "text": note.text} for note in one.made.notes],
        "objects": [each.to_dict() for each in one.made.objects],
    }
