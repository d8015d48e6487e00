"""The same manifests as YAML, with scalars as people write them there."""

import json
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from cluster.fuzz.manifests import Object, look, places

SCALARS = (
    *("yes", "no", "on", "Off", "y", "n", "True", "false", "~", "null", "Null", "", '""', "''", "0x10", "0o17", "017"),
    *("08", "0b11", "1_000", "1__0", "_1", "1e3", "1E3", "1e-5", "1e-7", "1e-9", "1.5e-8", "1.0", "2.50", ".5", "5."),
    *("+1", "-0", "-1", "1e21", "1e400", "100000000000000000000000", "'12'", '"12"', "'0x10'", '"yes"', "2001-01-01"),
    *("1:30", ".inf", "-.Inf", ".nan", "!!str 5", '!!int "5"', "!!float 3", "! 5", "512Mi"),
    *("500m", "1 # one", "0.1", "00.5", "+.5", "1_0.5", '"1\\u2028"', "'1 '", '"\\u00a01"', '"1\\n"', "[1, ]", "{a: }"),
    *("[]", "{}", "|\n          5", ">-\n          5", '"\\x31"', "0x1.8p1", "1e", "--1", "0xg", "12e03", "&a 5", "*a"),
)


@dataclass(frozen=True)
class Raw:
    """A scalar that is written verbatim."""

    text: str


@st.composite
def texts(draw: st.DrawFn, made: st.SearchStrategy[Object]) -> str:
    """A manifest with up to two values, and sometimes a key, that only YAML has."""
    data = draw(made)
    for _ in range(draw(st.integers(0, 2))):
        spots = [where for where in places(data) if where[0] in {"spec", "metadata"} and _is_leaf(data, where)]
        if spots:
            where = draw(st.sampled_from(spots))
            look(data, where[:-1])[where[-1]] = Raw(draw(st.sampled_from(SCALARS)))
    text = written(data)
    twice = draw(st.sampled_from(["", "", "", "", "  maxReplicas: 5\n", "  yes: 5\n", "  5: 5\n", "  ? a\n", "---\n"]))
    return f"{text}{twice}" if text.rstrip().rpartition("\n")[2].startswith("  ") else text


def _is_leaf(data: Object, where: tuple[Any, ...]) -> bool:
    return not isinstance(look(data, where), dict | list | Raw)


def written(value: Any, depth: int = 0) -> str:
    """Block style; empty values and list entries are written as JSON."""
    if not isinstance(value, dict) or not value:
        return f" {_flow(value)}\n"
    lines = [f"{'  ' * depth}{_key(key)}:{written(inner, depth + 1)}" for key, inner in value.items()]
    return ("\n" if depth else "") + "".join(lines)


def _flow(value: Any) -> str:
    if isinstance(value, Raw):
        return value.text
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)}: {_flow(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_flow(item) for item in value) + "]"
    return json.dumps(value, ensure_ascii=False)


def _key(key: str) -> str:
    return key if key.isascii() and key.isalpha() else json.dumps(key)
