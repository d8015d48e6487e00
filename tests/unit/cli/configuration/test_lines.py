"""The lines of keys in TOML."""

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hypot.cli.configuration.lines import KeyLines

TEXT = '''# ignore = ["comment"]
ignore = [
  "one", # "two"
  'three',
  "four",
]
note = """
exclude = ["inside a string"]
[traces]
"""
exclude = ["one", "one"]

[tool]
x = 1

[tool.hypot.traces]
time = "t"
"value" = "v"
tool.name = {a = 1, b = {c = 2}}

[[many]]
x = 2
'''


@pytest.mark.parametrize(
    ("path", "element", "line"),
    [
        (("ignore",), "", 2),
        (("ignore",), "one", 3),
        (("ignore",), "three", 4),
        (("ignore",), "absent", 2),
        (("exclude",), "one", 11),
        (("tool",), "", 13),
        (("tool", "hypot"), "", 16),
        (("tool", "hypot", "traces"), "", 16),
        (("tool", "hypot", "traces", "value"), "", 18),
        (("tool", "hypot", "traces", "tool", "name", "b", "c"), "", 19),
        # The key itself is not there, so the table is the place.
        (("tool", "hypot", "traces", "unit"), "", 16),
        (("many", "x"), "", 22),
        (("nowhere",), "", None),
    ],
)
def test_lines_of_keys_and_elements(path, element, line):
    """Comments and texts that look like keys are none."""
    tomllib.loads(TEXT)
    assert KeyLines(TEXT).line_of(path, element) == line


VALUES = st.sampled_from(
    [
        "1",
        '"a"',
        "[1, 2]",
        '[\n  "x",\n  "k = 1",\n]',
        '"""\n[t]\nk9 = 1\n"""',
        "'''\n]\n'''",
        "[[1], [\n2]\n]",
        "{a = 1}",
    ]
)


@given(st.lists(st.tuples(st.sampled_from(["", "# c]\n", "\n", "[t]\n"]), VALUES), max_size=12))
def test_every_key_has_its_line(statements):
    """Whatever stands between the keys, and however many lines their values have."""
    text, places, table = "", {}, ()
    for number, (before, value) in enumerate(statements):
        if before != "[t]\n" or not table:
            text += before
        if before == "[t]\n":
            table = ("t",)
        places[*table, f"k{number}"] = text.count("\n") + 1
        text += f"k{number} = {value}\n"
    tomllib.loads(text)
    lines = KeyLines(text)
    assert {path: lines.line_of(path) for path in places} == places


def test_a_value_that_nobody_writes_ends():
    """Many lines that could be the end of a value take no longer than a thousand tries."""
    text = "a = [\n" + "[1],\n" * 5000 + "]\nb = 1\n"
    assert KeyLines(text).line_of(("b",)) is None
