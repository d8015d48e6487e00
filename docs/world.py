"""The parameters of a world for machines and for people: the schema of its file, and the tables of its page."""

from typing import Any

from hypot.replay.world.units import DROP_PARTS, SIGNALS, SPAN_PARTS, UNITS, Parameter, Section, sections, shown_in

_KINDS = {
    "seconds": "time",
    "cores": "cpu",
    "bytes": "memory",
    "bytes/second": "memory per second",
    "count": "whole number",
    "truth": "yes or no",
    "drops": "list",
    "spans": "list",
    "names": "mapping",
    "dollars": "$",
}
_LISTS = {"spans": SPAN_PARTS, "drops": DROP_PARTS}


def world_schema() -> dict[str, Any]:
    """The JSON Schema of a world file. What must hold between parameters is beyond it."""
    properties: dict[str, Any] = {}
    for section in sections():
        found = {one.name: _schema_of(one) for one in section.parameters}
        if section.name:
            described = {"description": section.why, "type": ["object", "null"]}
            properties[section.name] = {**described, "properties": found, "additionalProperties": False}
        else:
            properties.update(found)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "hypot world",
        "description": "Everything that a replay needs beside a trace and policies.",
        "type": ["object", "null"],
        "properties": properties,
        "additionalProperties": False,
    }


def _schema_of(parameter: Parameter) -> dict[str, Any]:
    return {"description": parameter.why, **_value_schema(parameter)}


def _value_schema(parameter: Parameter) -> dict[str, Any]:
    if parameter.choices:
        return {"enum": list(parameter.choices)}
    if parameter.unit == "names":
        return {"type": ["object", "null"], "additionalProperties": {"enum": list(SIGNALS)}}
    if parameter.unit in _LISTS:
        parts = _LISTS[parameter.unit]
        element = {
            "type": "object",
            "properties": {part.name: _schema_of(part) for part in parts},
            "required": [part.name for part in parts],
            "additionalProperties": False,
        }
        return {"type": ["array", "null"], "items": element}
    found = dict(UNITS[parameter.unit].schema)
    if parameter.optional:
        kinds = found["type"]
        found["type"] = [*([kinds] if isinstance(kinds, str) else kinds), "null"]
    return found if parameter.unit == "truth" else {**found, **_ends(parameter)}


def _ends(parameter: Parameter) -> dict[str, Any]:
    held = parameter.range
    low = "exclusiveMinimum" if held.open_low else "minimum"
    high = "exclusiveMaximum" if held.open_high else "maximum"
    return {low: held.least, high: held.most}


def docs_table() -> str:
    """A table for each part of a world."""
    lines: list[str] = []
    for section in sections():
        lines += ["", f"### `{section.name}`", "", section.why] if section.name else []
        lines += _rows(section)
    return "\n".join(lines).strip("\n") + "\n"


def _rows(section: Section) -> list[str]:
    rows = [f"| `{p.name}` | {_kind(p)} | {_default(p)} | {_range(p)} | {p.why} |" for p in section.parameters]
    return ["", "| parameter | is a | default | range | what it is |", "| --- | --- | --- | --- | --- |", *rows]


def _kind(parameter: Parameter) -> str:
    return _KINDS.get(parameter.unit, parameter.unit)


def _default(parameter: Parameter) -> str:
    if parameter.unit in {*_LISTS, "names"} or parameter.default is None:
        return "none"
    return f"`{shown_in(parameter.unit, parameter.default)}`"


def _range(parameter: Parameter) -> str:
    if parameter.choices:
        return " or ".join(f"`{word}`" for word in parameter.choices)
    if parameter.unit == "names":
        return f"metric: {', '.join(f'`{word}`' for word in SIGNALS)}"
    if parameter.unit in _LISTS:
        return f"a list of `{{{', '.join(part.name for part in _LISTS[parameter.unit])}}}`"
    if parameter.unit == "truth":
        return "`true` or `false`"
    return parameter.range.short_text(parameter.unit)
