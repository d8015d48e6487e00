"""The real entry point of hypot, run in this process."""

import json
from importlib.resources import files
from typing import Any, NamedTuple

import jsonschema
import pytest
from click.testing import CliRunner

from hypot.cli.main import main


def schema(verb: str) -> Any:
    return json.loads(files("hypot.cli").joinpath(f"{verb}.schema.json").read_text(encoding="utf-8"))


class Result(NamedTuple):
    verb: str
    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The printed document, after a check with its schema."""
        document = json.loads(self.out, parse_constant=lambda word: pytest.fail(f"{word} in the JSON"))
        jsonschema.Draft202012Validator(schema(self.verb)).validate(document)
        return document


def hypot(verb: str, *arguments: object, text: str | None = None) -> Result:
    """Run a verb and capture its output; a traceback fails the test."""
    with CliRunner().isolation(input=text) as (out, err, _):
        try:
            main([verb, *map(str, arguments)])
        except SystemExit as end:
            status = end.code
        return Result(verb, status, out.getvalue().decode(), err.getvalue().decode())
