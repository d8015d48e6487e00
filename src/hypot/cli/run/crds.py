"""hypot crds: the CustomResourceDefinitions to install."""

import click

from hypot.kinds.catalogue import crd_of, defined
from hypot.kinds.text.write import documents


@click.command("crds")
def command() -> None:
    """Print the CustomResourceDefinitions as YAML, for `kubectl apply --server-side -f -`."""
    click.echo(documents(*[crd_of(info.kind) for info in defined()]), nl=False)
