"""hypot crds: the CustomResourceDefinitions to install, and JSON schemas for editors."""

from pathlib import Path

import click

from hypot.cli.files import BadInput
from hypot.cli.options import Word
from hypot.cli.output import to_json
from hypot.kinds.catalogue import crd_of, defined
from hypot.kinds.text.write import documents


@click.command("crds")
@click.option(
    "-o",
    "--output",
    type=Word(["yaml", "jsonschema"]),
    default="yaml",
    show_default=True,
    help="jsonschema: for editors and checkers of YAML, the HPA included.",
)
@click.option("--dir", "folder", metavar="DIR", help="With -o jsonschema: write one file per kind into this folder.")
def command(output: str, folder: str | None) -> None:
    """Print the CustomResourceDefinitions as YAML, for `kubectl apply --server-side -f -`.

    With -o jsonschema, print one JSON schema for files with any of these kinds.
    """
    if output == "yaml":
        if folder is not None:
            raise click.UsageError("--dir belongs to -o jsonschema")
        click.echo(documents(*[crd_of(info.kind) for info in defined()]), nl=False)
        return
    from hypot.authoring.editor_schema import editor_schemas, schema_of_all  # noqa: PLC0415  only if it is used

    if folder is None:
        click.echo(to_json(schema_of_all()), nl=False)
        return
    for name, schema in editor_schemas().items():
        click.echo(_write(Path(folder), name, to_json(schema)))


def _write(folder: Path, name: str, text: str) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise BadInput(f"{folder / name}: cannot write: {error.strerror or error}; check the folder") from error
    return folder / name
