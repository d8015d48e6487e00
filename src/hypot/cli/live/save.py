"""Writes what was read from a cluster, so that the answer can be repeated without it."""

import gzip
import shlex
from collections.abc import Iterable, Sequence
from typing import Any

import click

from hypot.cli.files import write_whole
from hypot.cli.output import to_json
from hypot.kinds.text.write import to_yaml


def save(path: str, objects: Sequence[dict[str, Any]], command: Iterable[str]) -> None:
    """Write the objects, and print the command that gives the same answer from the file."""
    whole = {"apiVersion": "v1", "kind": "List", "items": list(objects)}
    is_json = path.removesuffix(".gz").endswith(".json")
    data = (to_json(whole) if is_json else to_yaml(whole)).encode()
    write_whole(path, gzip.compress(data, mtime=0) if path.endswith(".gz") else data)
    click.echo(f"saved in {path}; the same answer without the cluster: {shlex.join(command)}", err=True)
