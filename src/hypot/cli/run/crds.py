"""hypot crds: the CustomResourceDefinitions to install."""

import click

from hypot.cli.output import to_yaml
from hypot.kinds.catalogue import crd_of, defined


@click.command("crds")
def command() -> None:
    """Print the CustomResourceDefinitions as YAML, for `kubectl apply --server-side -f -`."""
    click.echo("---\n".join(to_yaml(crd_of(info.kind)) for info in defined()), nl=False)
