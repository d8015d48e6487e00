"""hypot manifests: the objects that install hypot in a cluster."""

from importlib.metadata import version
from typing import Any

import click

from hypot.cli.extras import installed_from
from hypot.cli.files import BadInput
from hypot.cli.options import Word
from hypot.cli.output import to_json
from hypot.cli.run.config import what_is_usable
from hypot.kinds.text.write import documents
from hypot.run.install.manifests import cannot_be_installed, manifests
from hypot.run.rights import Grants

GRANTS = ("template", "children")


@click.command("manifests")
@click.option("-n", "--namespace", metavar="NS", help="The namespace of hypot; hypot-system by default.")
@click.option(
    "--watch-namespace",
    "watched",
    multiple=True,
    metavar="NS",
    help="Watch only this namespace, without rights in other namespaces. May be given more than once.",
)
@click.option("--config", "config_file", metavar="FILE", help="The configuration of hypot run, YAML or JSON.")
@click.option("--image", metavar="IMAGE", help="The image of the pods. A released version has one of its own.")
@click.option("--replicas", type=click.IntRange(min=1), default=2, show_default=True, help="The number of pods.")
@click.option(
    "--with",
    "granted",
    multiple=True,
    type=Word(GRANTS),
    help="Also allow hypot to edit pod templates, or to keep child objects of an Hvpa.",
)
@click.option(
    "--target",
    "targets",
    multiple=True,
    metavar="RESOURCE.GROUP",
    help="Also scale this custom kind, such as rollouts.argoproj.io. May be given more than once.",
)
@click.option(
    "--metrics",
    "rules",
    metavar="FILE",
    help="Print the objects of the metrics server with these rules instead; a file, or the name of a preset.",
)
@click.option(
    "--reader",
    is_flag=True,
    help="Print instead the role that `hypot decide --live` and `hypot lint --live` need, which only reads.",
)
@click.option("-o", "--output", type=Word(["yaml", "json"]), default="yaml", show_default=True)
def command(
    namespace: str | None,
    watched: tuple[str, ...],
    config_file: str | None,
    image: str | None,
    replicas: int,
    granted: tuple[str, ...],
    targets: tuple[str, ...],
    rules: str | None,
    reader: bool,
    output: str,
) -> None:
    """Print the objects for `kubectl apply --server-side -f`. Keep them in a file: `kubectl delete -f` uninstalls.

    The CustomResourceDefinitions are separate, see `hypot crds`: an uninstall keeps them and all autoscalers.
    """
    if reader:
        from hypot.cli.live.resources import reader_role  # noqa: PLC0415 - only needed here

        _show([reader_role(tuple(map(_target, targets)))], output)
        return
    if rules is not None and (watched or granted or targets):
        raise BadInput("--watch-namespace, --with and --target belong to the controller, not to the metrics server")
    image = _image_of_release() if image is None else image
    if rules is not None:
        from hypot.cli.metrics.install import metrics_manifests  # noqa: PLC0415 - only needed here

        _show(metrics_manifests(rules, config_file, namespace, image, replicas), output)
        return
    config, wrong = what_is_usable(config_file, _flags(namespace, watched))
    grants = Grants(**dict.fromkeys(granted, True), targets=tuple(map(_target, targets)))
    wrong += cannot_be_installed(config, image, replicas, grants)
    if wrong:
        raise BadInput("\n".join(wrong))
    _show(manifests(config, image, replicas, grants=grants), output)


def _image_of_release() -> str:
    if installed_from():
        raise BadInput(
            "--image is needed, because this is no released version of hypot: build an image (docs/install.md), push "
            "it to where the nodes can pull it, and name it, as in --image registry.example/hypot:0.1.0"
        )
    return f"hypot:{version('hypot')}"


def _show(made: list[dict[str, Any]], output: str) -> None:
    if output == "json":
        click.echo(to_json({"apiVersion": "v1", "kind": "List", "items": made}), nl=False)
        return
    click.echo(documents(*made), nl=False)


def _flags(namespace: str | None, watched: tuple[str, ...]) -> dict[str, Any]:
    """The configuration from the flags, by the names of the configuration file."""
    given: dict[str, Any] = {} if namespace is None else {"namespace": namespace}
    return {**given, "watchNamespaces": list(dict.fromkeys(watched))} if watched else given


def _target(written: str) -> tuple[str, str]:
    resource, _, group = written.partition(".")
    return group, resource
