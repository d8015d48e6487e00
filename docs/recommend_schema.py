"""The JSON Schema of what `hypot recommend -o json` prints."""

from typing import Any


def recommend_schema(replay: dict[str, Any]) -> dict[str, Any]:
    """What is printed; numbers and scores stand in it as in the output of `hypot replay`."""
    described = "Money is in dollars for a month of 30 days. What is judged is the last part of each history."
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "hypot recommend",
        "description": described,
        **_all(
            {
                "numbers": {"description": "What is assumed for any workload.", **replay["properties"]["numbers"]},
                "workloads": _list(_workload()),
                "leftOut": {"description": "Histories that are not judged.", **_list(_all(_texts("workload", "why")))},
                "totals": _all(
                    {
                        "today": _told("The price of today, with late and lost requests and restarts.", _NUMBER),
                        "recommended": _NUMBER,
                        "saving": _NUMBER,
                    }
                ),
            }
        ),
        "$defs": {"saving": _saving(), "scores": replay["$defs"]["scores"]},
    }


def prices_schema() -> dict[str, Any]:
    """The file of --prices."""
    price = {"type": "number", "minimum": 0}
    each = {"cpu": _told("Dollars for a core, for an hour.", price), "memory": _told("The same for a GiB.", price)}
    classes = {"type": "object", "minProperties": 1, "additionalProperties": _all(each)}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Prices of hypot recommend",
        "type": "object",
        "properties": {
            "classes": _told("The prices of each class of nodes.", classes),
            "default": _told("The class of pods whose nodeSelector names none.", _TEXT),
        },
        "required": ["classes"],
        "additionalProperties": False,
    }


def _workload() -> dict[str, Any]:
    return _all(
        {
            **_texts("name"),
            "namespace": {"type": ["string", "null"]},
            **_texts("target", "source", "from", "to", "judgedFrom"),
            "today": _told("What scales it today, and where that is written.", _TEXT),
            "best": _told("The name of the best of what was tried, or `keep today`.", _TEXT),
            "why": _TEXT,
            "saving": _told("Of the best; nothing for `keep today`.", {"$ref": "#/$defs/saving"}),
            "confidence": {"enum": ["high", "medium", "low"]},
            "doubts": _told("Why the confidence is not higher.", _list(_TEXT)),
            "tried": _told("Today first. Of variants, the one that was best before the judged part.", _list(_tried())),
            "calibration": _list(_calibrated()),
            "replicas": _all({"min": {"type": "integer"}, "max": {"type": "integer"}, "source": _TEXT}),
            "risks": _told("What a replay takes for granted and a cluster may not give.", _list(_TEXT)),
            "notes": _list(_TEXT),
        }
    )


def _tried() -> dict[str, Any]:
    return _all(
        {
            "name": _TEXT,
            "policy": _told("The name of its variant.", _TEXT),
            "what": _told("What scales it, in a few words.", _TEXT),
            "cpu": _told("The cpu request at the start, in cores.", _NUMBER),
            "monthlyCost": _NUMBER,
            "monthlyPrice": _told("The cost, with late and lost requests and restarts.", _NUMBER),
            "lateOrLost": _told("In percent.", _NUMBER),
            "saving": {"$ref": "#/$defs/saving"},
            "scores": {"$ref": "#/$defs/scores"},
        }
    )


def _saving() -> dict[str, Any]:
    between = _told("Has the mean of such windows in 80 of 100 cases.", _all({"low": _NUMBER, "high": _NUMBER}))
    return _all(
        {
            "monthly": _told("Of the price.", _NUMBER),
            "share": _told("Of today's price.", _NUMBER),
            "interval": {"anyOf": [between, {"type": "null"}]},
        }
    )


def _calibrated() -> dict[str, Any]:
    return _all(
        {
            "parameter": _told("Its name in a world file.", _TEXT),
            "value": {"type": ["number", "boolean", "string", "null"]},
            "text": _told("The value with its unit.", _TEXT),
            "from": {"enum": ["measured", "manifest", "world", "prices", "assumed"]},
            "source": _TEXT,
        }
    )


_TEXT = {"type": "string"}
_NUMBER = {"type": "number"}


def _texts(*names: str) -> dict[str, Any]:
    return dict.fromkeys(names, _TEXT)


def _told(what: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": what, **schema}


def _all(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _list(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}
