"""hypot adopt: Python source that makes the same objects as manifests."""

import click

import hypot
from hypot.authoring.adopt import AdoptedObject, adopted_source
from hypot.authoring.read import autoscaler_of
from hypot.cli.files import BadInput, read_objects
from hypot.kinds.authored.written import written_part
from hypot.kinds.base import Kind
from hypot.kinds.catalogue import find_autoscaler
from hypot.kinds.values.names import group_of


@click.command("adopt")
@click.argument("paths", nargs=-1, required=True, metavar="FILE|DIR|-...")
@click.option(
    "--without-status", is_flag=True, help="Leave out what the cluster wrote: status, uid, and other metadata."
)
def command(paths: tuple[str, ...], without_status: bool) -> int:
    """Print Python source that makes the same autoscalers as these manifests.

    What the constructors cannot write, such as a status or an unknown field, is named in a comment, and the object is
    read from a mapping.

    Exit status: 0 success, 2 bad usage or input.
    """
    loaded, ignored = read_objects(paths, _is_autoscaler)
    given = [
        AdoptedObject(_cleaned(found, without_status), f"{one.source.file}:{one.source.line}")
        for one in loaded
        if (found := autoscaler_of(one)) is not None
    ]
    if ignored:
        kinds = ", ".join(f"{kind} ({number})" for kind, number in sorted(ignored.items()))
        click.echo(f"ignored, because they are no autoscalers: {kinds}", err=True)
    if not given:
        raise BadInput(
            "there is no autoscaler in the input; name files with an HPA, WPA, VPA, Hvpa, Tortoise or Autoscaler"
        )
    click.echo(adopted_source(given, hypot.__all__).encode(), nl=False)
    return 0


def _is_autoscaler(api_version: str, kind: str) -> bool:
    return find_autoscaler(group_of(api_version), kind) is not None


def _cleaned(one: Kind, without_status: bool) -> Kind:
    return type(one).from_dict(written_part(one)) if without_status else one
