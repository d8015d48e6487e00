"""YAML that every reader understands in the same way."""

import pytest
import yaml

from hypot.kinds.text.load import load_text
from hypot.kinds.text.write import documents, to_yaml

# What some reader of YAML 1.1 or 1.2 takes for a boolean, a number, a time or null.
AMBIGUOUS = (
    *("Off", "on", "ON", "yes", "No", "y", "N", "true", "False", "null", "Null", "~", ""),
    *("1e3", "1E3", "0x1", "0o17", "017", "12:30", "1_000", "1.", ".5", "1.5", "-1", "+1", ".inf", "-.Inf", ".NaN"),
    *("2026-01-31", "2026-01-31T10:00:00Z", "=", "<<", "0b1", "inf", "190:20:30"),
)
PLAIN = (
    *("web", "500m", "1.5Gi", "1h30m", "autoscaling/v2", "https://shop.example:8443/a#b", "--verbose", "a, [b] {c}"),
    *("1.2.3", ".spec.minReplicas", "^[^/]*$", "/metrics"),
)
ODD = (
    *("a: b", "a #b", "a:", "a ", " a", "- a", "-", "?", "!a", "&a", "*a", "@a", "`a", "%a", "{a}", "[a]", "'", '"'),
    *("it's", 'say "no"', "|", ">", "a\tb", "a\nb", "a\n", "a\n\n", "\n", " \n a", "a \nb", "a\n  b\n", "a\rb"),
    *("\x00", "\x07", "\x7f", "\x85", "\u2028", "\ufeff", "é", "日本", "\U0001f600", "---", "...", "# a", "a" * 2000),
)


@pytest.mark.parametrize("text", AMBIGUOUS)
def test_ambiguous_text_is_quoted(text):
    """A word such as Off, which some readers take for false, is in quotes, as a value and as a key."""
    assert to_yaml({"mode": text}) == f"mode: '{text}'\n"
    assert to_yaml({text: 1}) == f"'{text}': 1\n"


@pytest.mark.parametrize("text", PLAIN)
def test_other_text_is_plain(text):
    """Quotes only where they are needed."""
    assert to_yaml({"a": text}) == f"a: {text}\n"


@pytest.mark.parametrize("text", [*AMBIGUOUS, *PLAIN, *ODD])
def test_any_text_is_read_back(text):
    """By PyYAML, as a value, as a key, in a list, and as the whole document."""
    for value in (text, {text: text}, [text], {"a": [{"b": text, "c": [text]}], "d": 1}, [[text, text]]):
        assert yaml.safe_load(to_yaml(value)) == value


@pytest.mark.parametrize("text", [one for one in (*AMBIGUOUS, *PLAIN, *ODD) if one != "\x00"])
def test_the_api_server_reads_the_same(text):
    """Also where its words differ from those of PyYAML."""
    value = {"a": text, "b": [text, {"c": text}], text: 1}
    (found,) = load_text(to_yaml({"apiVersion": "v1", "kind": "Any", "value": value}))
    assert found.data["value"] == value


@pytest.mark.parametrize("number", [0, -1, 2**63, 0.05, 1e-7, 1e16, 1.5, -2.5e300])
def test_numbers_stay_numbers(number):
    """Also small floats, which YAML 1.1 reads as text if they have no point."""
    assert yaml.safe_load(to_yaml({"a": number})) == {"a": number}


def test_lines_of_text_become_a_block():
    """Queries and scripts stay readable."""
    assert to_yaml({"a": "x\n  y\n", "b": 1}) == "a: |\n  x\n    y\nb: 1\n"


def test_comments_stand_above_their_place():
    """Also above the item of a list and above a key inside one."""
    value = {"a": [{"b": 1, "c": 2}, 3]}
    text = to_yaml(
        value, {("a", 0): ["the item"], ("a", 0, "b"): ["first"], ("a", 0, "c"): ["second"], ("a", 1): ["x"]}
    )
    assert text == "a:\n# the item\n# first\n- b: 1\n  # second\n  c: 2\n# x\n- 3\n"


def test_several_documents_keep_their_order():
    """There is one separator between two documents."""
    assert documents({"b": 1}, {"a": []}, {}) == "b: 1\n---\na: []\n---\n{}\n"


def test_what_yaml_cannot_hold_is_refused():
    """The error names the type."""
    with pytest.raises(TypeError, match="set is not a value of YAML"):
        to_yaml({"a": {1}})
