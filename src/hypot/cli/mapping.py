"""Small files of names and values, such as a configuration: limited in size, and nothing is ignored silently."""

from pathlib import Path
from typing import Any

from hypot.cli.files import BadInput
from hypot.kinds.text.yamltext import Fault, documents

# The limit of a ConfigMap.
LARGEST = 2**20
DEEPEST = 20
MOST_ALIASED = 10_000


def read_mapping(file: str, what: str, example: str) -> dict[str, Any]:
    """The mapping in the single document of a YAML or JSON file; an empty file gives an empty mapping."""
    text = _text_of(file, what)
    try:
        given = list(documents(text, 0, depth=DEEPEST, aliased=MOST_ALIASED, take=lambda data, _: data))
    except Fault as fault:
        earlier = "" if fault.earlier is None else f" on line {_line(text, fault.earlier)}"
        place = f"{file}:{_line(text, fault.offset)}"
        raise BadInput(f"{place}: not valid YAML: {fault.message}{earlier}") from fault
    if len(given) > 1:
        raise BadInput(f"{file}:{_line(text, given[1].whole.start)}: a second document; write only one {what} per file")
    data = given[0].whole.data if given else None
    if data is not None and not isinstance(data, dict):
        raise BadInput(f"{file}: {what} must be a mapping, such as {example!r}")
    return data or {}


def _text_of(file: str, what: str) -> str:
    try:
        with Path(file).open("rb") as opened:
            raw = opened.read(LARGEST + 1)
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadInput(f"{file}: cannot read the {what}: not UTF-8 text; save it as UTF-8") from error
    except (OSError, ValueError) as error:
        raise BadInput(f"{file}: cannot read the {what}: {getattr(error, 'strerror', None) or error}") from error
    if len(raw) > LARGEST:
        raise BadInput(f"{file}: too large for a {what}: more than {LARGEST:,} bytes")
    return text


def _line(text: str, offset: int) -> int:
    return text.count("\n", 0, min(offset, len(text.rstrip()))) + 1
