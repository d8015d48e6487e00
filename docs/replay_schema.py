"""The JSON Schema of what `hypot replay -o json` prints."""

from dataclasses import fields
from typing import Any

from hypot.replay.score.scorecard import Scores

_TEXT = {"type": "string"}
_OF_TRACES = "Of how a trace is read, traces and a key of --trace."
_TEXTS = {"type": "array", "items": _TEXT}


def replay_schema(world: dict[str, Any]) -> dict[str, Any]:
    """What is printed; the world stands in it as in its own file."""
    scores = {f.name: _score(f.metadata) for f in fields(Scores)}
    world = {key: value for key, value in world.items() if key not in {"$schema", "title"}}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "hypot replay",
        **_all(
            {
                "world": world,
                "numbers": _list(_number()),
                "shapes": _TEXT,
                "policies": _list(_policy()),
                "workloads": _list(_workload()),
            }
        ),
        "$defs": {"scores": _all(scores)},
    }


def _score(metadata: Any) -> dict[str, Any]:
    unit = f" ({metadata['unit']})" if metadata["unit"] else ""
    return {"description": f"{metadata['why']}{unit}", "type": ["number", "boolean", "null"]}


def _number() -> dict[str, Any]:
    described = "A number of the world that matters for these policies and traces, and that no world file gives."
    properties = {
        "parameter": {"description": f"Its name in a world file, such as service.work. {_OF_TRACES}", **_TEXT},
        "value": {"type": ["number", "boolean", "string", "null"]},
        "text": {"description": "The value with its unit.", **_TEXT},
        "from": {"description": "A default is an assumption.", "enum": ["default", "manifest", "trace"]},
        "source": {"description": "The object or the trace that gives it; empty for a default.", **_TEXT},
        "policies": {"description": "The policies that depend on it.", **_TEXTS},
    }
    return {"description": described, **_all(properties)}


def _policy() -> dict[str, Any]:
    return _all({"name": _TEXT, "autoscalers": _list(_all({"kind": _TEXT, "name": _TEXT})), "notes": _TEXTS})


def _workload() -> dict[str, Any]:
    scores = {"$ref": "#/$defs/scores"}
    number = {"type": "number"}
    return _all(
        {
            "name": _TEXT,
            "source": _TEXT,
            "from": _TEXT,
            "to": _TEXT,
            "notes": _TEXTS,
            "verdict": _TEXT,
            "front": _TEXTS,
            "tuned": {"type": "object", "additionalProperties": _TEXT},
            "equalLateness": _list(_all({"policy": _TEXT, "late": number, "cost": number})),
            "scores": {"type": "object", "additionalProperties": scores},
            "windows": {"type": "object", "additionalProperties": _list(scores)},
        }
    )


def _all(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _list(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}
