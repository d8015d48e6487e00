"""Objects from files: every rule of reading, with the file and line that are reported."""

import io
import json
import os
import pathlib
import pickle
import sys

import pytest
import yaml

from hypot.kinds.text import yamltext
from hypot.kinds.text.load import InputLimits, LoadedFiles, LoadError, Reader, Source, load

POD = "apiVersion: v1\nkind: Pod\n"


BOTH_PARSERS = pytest.mark.usefixtures("parser")


@pytest.fixture(params=["libyaml", "pure"])
def parser(request, monkeypatch):
    if request.param == "pure":
        monkeypatch.setattr(yamltext, "_Loader", yaml.SafeLoader)


def data(name, **options):
    return [loaded.data for loaded in load([name], **options)]


def refused(name, **options):
    with pytest.raises(LoadError) as caught:
        list(load([name], **options))
    assert "\n" not in str(caught.value)
    return caught.value


SCALARS = [
    ("yes", True),
    ("On", True),
    ("TRUE", True),
    ("y", True),
    ("no", False),
    ("off", False),
    ("False", False),
    ("N", False),
    ("tRue", "tRue"),
    ("'yes'", "yes"),
    ("", None),
    ("~", None),
    ("null", None),
    ("'null'", "null"),
    ("2026-11-15T01:57:00Z", "2026-11-15T01:57:00Z"),
    ("2026-11-15", "2026-11-15"),
    ("12:30:45", "12:30:45"),
    ("1e3", 1000),
    ("10.0", 10),
    ("1.", 1),
    ("0.01", 0.01),
    (".5", 0.5),
    (".5_0", 0.5),
    ("-0.0", 0),
    ("+7", 7),
    ("010", 8),
    ("08", 8),
    ("0x1F", 31),
    ("-0b11", -3),
    ("0o17", 15),
    ("1_000", 1000),
    ("_1", "_1"),
    ("1e999", "1e999"),
    ("1e21", 1e21),
    ("-7.331257862961879e+17", -733125786296187900),
    ("18446744073709551615", 18446744073709551615),
    ("99999999999999999999", 100000000000000000000),
    ("-9223372036854775809", -9223372036854776000),
    ("+9223372036854775808", 9223372036854776000),
    ("0x10000000000000000", "0x10000000000000000"),
    ("500m", "500m"),
    ("1.2.3", "1.2.3"),
    ("-", [None]),
    ("0x", "0x"),
    ('"a\\u00e9b"', "aéb"),
    ("|-\n  a\n  b", "a\nb"),
    (">-\n  a\n  b", "a b"),
    ("!!str 12", "12"),
    ('!!int "12"', 12),
    ("!!float 1", 1),
    ("!!bool 'yes'", True),
    ("!!null ''", None),
    ("! 12", "12"),
    ("!!map {a: 1}", {"a": 1}),
    ("!!seq [1]", [1]),
]


@pytest.mark.parametrize(("text", "value"), SCALARS)
@BOTH_PARSERS
def test_scalars_are_read_as_kubernetes_reads_them(put, text, value):
    """Booleans of YAML 1.1, timestamps as text, numbers as JSON prints them."""
    read = data(put(f"{POD}x:\n  {text}\n" if text == "-" else f"{POD}x: {text}\n"))[0]["x"]
    assert read == value
    assert type(read) is type(value)


KEYS = [
    ("a", "a"),
    ("true", "true"),
    ("No", "false"),
    ("1", "1"),
    ("0x10", "16"),
    ("1.5", "1.5"),
    ("1e6", "1e+06"),
    ("100000.0", "100000"),
    ("0.1", "0.1"),
    ("3e39", ".inf"),
    ("2026-11-15", "2026-11-15"),
    ("'<<'", "<<"),
    ("!!str 1", "1"),
]


@pytest.mark.parametrize(("text", "key"), KEYS)
@BOTH_PARSERS
def test_keys_become_text(put, text, key):
    """Keys that are not text are written as sigs.k8s.io/yaml writes them."""
    assert list(data(put(f"{POD}x:\n  {text}: v\n"))[0]["x"]) == [key]


@BOTH_PARSERS
def test_an_alias_may_be_a_key(put):
    """A key that is an alias is the text of its anchor."""
    assert data(put(f"{POD}a: &k name\nx: {{*k : 1}}\n"))[0]["x"] == {"name": 1}


BROKEN = [
    (f"{POD}x:\n\ty: 1\n", 4, "a tab cannot be used to indent; use spaces (column 1)"),
    (f"{POD}x: 'never\ny: 1\n", 3, "the quoted string that starts here is never closed (column 4)"),
    (f'{POD}x: "never\n---\n', 3, "the quoted string that starts here is never closed (column 4)"),
    (f"{POD}x: y: z\n", 3, "': ' is not allowed here; check the indentation, or quote the value (column 5)"),
    (f"{POD}name\n", 3, "a ':' and a space must follow this key (column 1)"),
    (f"{POD}x: [1, 2\ny: 3\n", 4, "a ',' or ']' is missing for the list opened on line 3 (column 2)"),
    (f"{POD}x: {{a: 1\n\n\n", 3, "a ',' or '}' is missing for the mapping opened on line 3 (column 9)"),
    (f"{POD}x: |\n   a\n  b\n", 5, "expected a key indented like the others of the mapping that starts on line 1"),
    (f"{POD}x:\n - a\n b: 1\n", 5, "expected a '- ' indented like the others of the list that starts on line 4"),
    (f"{POD}x: - a\n", 3, "a list item cannot begin here; put its '- ' on a line of its own (column 4)"),
    ("  apiVersion: v1\n kind: Pod\n", 2, "the document ends before this; check the indentation"),
    (f"{POD}x: @a\n", 3, "'@' is not allowed here; quote the value if it is text (column 4)"),
    (f"{POD}x: [\n", 3, "the text ends where a value is expected (column 5)"),
    (f"{POD}x: ]\n", 3, "']' is not allowed here; quote the value if it is text (column 4)"),
    (f'{POD}x: "a\\qb"\n', 3, "not a valid escape in a double-quoted string; double the backslash"),
    (f'{POD}x: "a\\xZZ"\n', 3, "a \\x, \\u or \\U escape in a double-quoted string is not a character"),
    (f"{POD}x: *\n", 3, "a name must follow * or &; quote the value if it is text (column 4)"),
    (f"{POD}x: !<a\n", 3, "not a tag; quote the value if it is text (column 4)"),
    (f"{POD}x: !e!a 1\n", 3, "this tag is not supported; remove it (column 4)"),
    (f"{POD}x: !foo 1\n", 3, "the tag !foo is not supported; remove it (column 4)"),
    (f"{POD}x: !!binary aGk=\n", 3, "the tag !!binary is not supported; remove it (column 4)"),
    (f"{POD}x: !!set {{a}}\n", 3, "the tag !!set is not supported; remove it (column 4)"),
    (f"{POD}x: !!int abc\n", 3, "'abc' cannot be read as !!int (column 4)"),
    (f"{POD}x: !!int 1.0\n", 3, "'1.0' cannot be read as !!int (column 4)"),
    (f"{POD}x: !!float yes\n", 3, "'yes' cannot be read as !!float (column 4)"),
    (f"%TAG ! tag:x,1:\n---\n{POD}", 1, "%TAG directives are not supported; remove them (column 1)"),
    (f"%YAML 3.0\n---\n{POD}", 1, "found incompatible YAML document"),
    (f"{POD}x:\n  y: .nan\n", 4, ".nan is not a number Kubernetes can store; quote it if it is text (column 6)"),
    (f"{POD}x: [1, -.INF]\n", 3, "-.INF is not a number Kubernetes can store; quote it if it is text (column 8)"),
    (f"{POD}x:\n  .inf: 1\n", 4, ".inf is not a number Kubernetes can store; quote it if it is text (column 3)"),
    (f"{POD}x: {'9' * 5000}\n", 3, "a number of 5000 digits; quote it if it is text (column 4)"),
    (f"{POD}x: 0x{'f' * 5000}\n", 3, "a number of 5002 digits; quote it if it is text (column 4)"),
    (f"{POD}x:\n  ~: 1\n", 4, "a key is missing or null; write one, or quote it (column 3)"),
    (f"{POD}x:\n  [a]: 1\n", 4, "a mapping or a list cannot be a key (column 3)"),
    (f"{POD}a: &k [1]\nx: {{*k : 1}}\n", 4, "a mapping or a list cannot be a key (column 5)"),
    (f"{POD}x:\n  a: 1\n  b: 2\n  a: 3\n", 6, "the key 'a' is given twice, first on line 4 (column 3)"),
    (f"{POD}x:\n  1: a\n  '1': b\n", 5, "the key '1' is given twice, first on line 4 (column 3)"),
    (f"{POD}kind: Node\n", 3, "the key 'kind' is given twice, first on line 2 (column 1)"),
    (f"{POD}x: &a\n  y: *a\n", 4, "the alias *a is inside the value it refers to (column 6)"),
    (f"{POD}x: &a [*a]\n", 3, "the alias *a is inside the value it refers to (column 8)"),
    (f"{POD}x: *a\n", 3, "the alias *a has no anchor &a before it (column 4)"),
    (f"{POD}a: &a 1\n---\n{POD}x: *a\n", 7, "the alias *a has no anchor &a before it (column 4)"),
    (f"{POD}x:\n  <<: 1\n", 4, "the value of << must be a mapping or a list of mappings (column 7)"),
    (f"{POD}x:\n  <<: [1]\n", 4, "the value of << must be a mapping or a list of mappings (column 7)"),
    (f"{POD}a: &a [{{b: 1}}]\nx:\n  <<: *a\n", 5, "the value of << must be a mapping or a list of mappings"),
    ("a: \x07\n", 1, "the control character U+0007 is not allowed in YAML (column 4)"),
    ("- a\n- b\n", 1, "expected an object with apiVersion and kind, got a list"),
    ("\n\njust text\n", 3, "expected an object with apiVersion and kind, got text"),
    ("--- 5\n", 1, "expected an object with apiVersion and kind, got a number"),
    ("# why\nkind: Pod\n", 2, "an object without apiVersion; every Kubernetes object has one"),
    (f"{POD}---\napiVersion: v1\n", 4, "an object without kind; every Kubernetes object has one"),
    ("apiVersion: v1\nkind: ''\n", 1, "an object without kind; every Kubernetes object has one"),
    ("apiVersion: v1\nkind: yes\n", 2, "kind must be text, got a boolean; quote it"),
    ("apiVersion: 1\nkind: Pod\n", 1, "apiVersion must be text, got a number; quote it"),
    ("apiVersion: v1\nkind: List\nitems:\n- kind: Pod\n", 4, "an object without apiVersion"),
    ("apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n", 4, "an object without kind"),
    ("apiVersion: v1\nkind: List\nitems:\n- null\n", 4, "expected an object with apiVersion and kind, got null"),
    ("apiVersion: v1\nkind: List\nitems:\n\n- [a]\n", 5, "expected an object with apiVersion and kind, got a list"),
    ("apiVersion: v1\nkind: List\nitems: {a: 1}\n", 3, "the items of a List must be a list, got a mapping"),
    ("kind: PodList\nitems:\n- metadata: {}\n", 3, "an object without apiVersion"),
]


@pytest.mark.parametrize(("text", "line", "message"), BROKEN)
@BOTH_PARSERS
def test_errors_have_their_line(put, text, line, message):
    """One line with file, line, column and message, whichever parser is used."""
    error = refused(put(text))
    assert (error.file, error.line) == ("x.yaml", line)
    assert message in error.message
    assert str(error) == f"x.yaml:{line}: {error.message}"


NOT_JSON = [
    ('{"apiVersion": "v1",\n "kind": "Pod" "x": 1}', 2, "a ',' or a closing bracket is missing here (column 16)"),
    ('{"apiVersion": "v1",\n', 1, "a key in double quotes is expected here (column 21)"),
    ('{"a" 1}', 1, "a ':' is missing here (column 6)"),
    ('{"a":\n1,\n"b": }', 3, "a value is missing here (column 6)"),
    ('{"x": {"a": "never}}', 1, "the string that starts here is never closed (column 13)"),
    ('{"never', 1, "the string that starts here is never closed (column 2)"),
    ('{"a": "x\ny"}', 1, "a line break or control character inside a string; write it as an escape"),
    ('{"a": "\\q"}', 1, "not a valid JSON escape; double the backslash"),
    ("[1, 2", 1, "a ',' or a closing bracket is missing here"),
    ("apiVersion: v1\n", 1, "a value is missing here (column 1)"),
    ('{"apiVersion": "v1", "kind": "Pod"}\n}', 2, "a value is missing here (column 1)"),
]


@pytest.mark.parametrize(("text", "line", "message"), NOT_JSON)
def test_json_syntax_errors_are_explained(put, text, line, message):
    """A .json file is read as JSON only."""
    error = refused(put(text, "x.json"))
    assert error.line == line
    assert error.message.startswith(f"not valid JSON: {message}")


BAD_JSON = [
    ('{"a": 1,\n"b": 2,\n"a": 3}', 3, "the key 'a' is given twice, first on line 1 (column 1)"),
    ('{"x": [{\n"a":\n1,\n"b": 2, "a": 3}]}', 4, "the key 'a' is given twice, first on line 2 (column 9)"),
    ('{"x":\n NaN}', 2, "NaN is not a number Kubernetes can store (column 2)"),
    ('{"x": [1,\n-Infinity]}', 2, "-Infinity is not a number Kubernetes can store (column 1)"),
    ('{"x": 1e999}', 1, "1e999 is not a number Kubernetes can store (column 7)"),
    (f'{{"x":\n{"9" * 5000}}}', 2, "99999999999999999999 is not a number Kubernetes can store (column 1)"),
    ('{"x": "\\ud83d\\ude00",\n"y": "\\ud800"}', 2, "half of a surrogate pair"),
    ('{"apiVersion": "v1"}', 1, "an object without kind"),
    ('{"kind": "Pod"}', 1, "an object without apiVersion"),
    ("5", 1, "expected an object with apiVersion and kind, got a number"),
    ('[{"apiVersion": "v1", "kind": "Pod"},\n 7]', 2, "expected an object with apiVersion and kind, got a number"),
]


@pytest.mark.parametrize(("text", "line", "message"), BAD_JSON)
def test_json_that_kubernetes_would_refuse(put, text, line, message):
    """What the json module accepts or reports only in part is found, with its line."""
    error = refused(put(text, "x.json"))
    assert error.line == line
    assert message in error.message


def test_json_strings_may_hold_what_looks_like_half_a_pair(put):
    """Pairs of escapes and escaped backslashes are plain text."""
    read = data(put('{"apiVersion": "v1", "kind": "Pod", "x": "\\ud83d\\ude00 \\\\ud800"}', "x.json"))
    assert read[0]["x"] == "😀 \\ud800"


def test_json_numbers_keep_their_type(put):
    """Whole numbers beyond 64 bits stay whole; 3.0 stays a float, as an API server refuses it as an integer."""
    read = data(put('{"apiVersion": "v1", "kind": "Pod", "x": [99999999999999999999, 3.0, -0]}', "x.json"))[0]["x"]
    assert [(one, type(one)) for one in read] == [(99999999999999999999, int), (3.0, float), (0, int)]


MERGES = [
    ("a: &a {x: 1, z: 2}\nb:\n  <<: *a\n  z: 3\n", {"x": 1, "z": 3}),
    ("a: &a {x: 1, z: 2}\nb:\n  z: 3\n  <<: *a\n", {"x": 1, "z": 2}),
    ("b:\n  <<: {x: 1}\n  <<: {z: 2}\n", {"x": 1, "z": 2}),
    ("a: &a {x: 1}\nc: &c {x: 2, z: 2}\nb:\n  <<: [*a, *c]\n", {"x": 1, "z": 2}),
]


@pytest.mark.parametrize(("text", "value"), MERGES)
@BOTH_PARSERS
def test_merge_keys(put, text, value):
    """They apply at their position, as in go-yaml v2: they overwrite earlier keys, and later keys overwrite them."""
    assert data(put(POD + text))[0]["b"] == value


@BOTH_PARSERS
def test_aliases_are_copies(put):
    """Changing one place does not change the other."""
    [read] = data(put(f"{POD}a: &a {{x: [1]}}\nb: *a\n"))
    read["a"]["x"].append(2)
    assert read["b"] == {"x": [1]}


@BOTH_PARSERS
def test_a_billion_laughs_are_refused(put):
    """Expanded aliases are counted before they fill the memory."""
    lines = ["a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 10)]
    error = refused(put(POD + "\n".join(lines)))
    assert error.line == 8
    assert "aliases expand to too many values; write them out" in error.message


def test_aliases_of_all_documents_count_together(put):
    """The limit is per file; otherwise many small documents would get around it."""
    text = "---\n".join([f"{POD}a: &a [1, 2, 3]\nb: *a\n"] * 3)
    assert len(data(put(text), limits=InputLimits(aliased_nodes=12))) == 3
    assert refused("x.yaml", limits=InputLimits(aliased_nodes=11)).line == 14


DEEP = [
    ("x.yaml", POD + "x:\n  - - - a\n", 4, 4),
    ("x.yaml", POD + "x: {a: {b: {c: 1}}}\n", 4, 3),
    ("x.yaml", POD + "a: &a {b: {c: 1}}\nx:\n - *a\n", 4, 5),
    ("x.yaml", POD + "items:\n- - - a\n", 4, 4),
    ("x.json", '{"apiVersion": "v1", "kind": "Pod", "x":\n{"a": {"b":\n{"c": 1}}}}', 4, 3),
    ("x.json", '{"apiVersion": "v1", "kind": "Pod", "items":\n[[\n[1]]]}', 4, 3),
    ("x.json", '[{"apiVersion": "v1", "kind": "Pod", "x": {"a":\n{}}}]', 4, 2),
]


@pytest.mark.parametrize(("name", "text", "levels", "line"), DEEP)
def test_nesting_is_bounded_alike_in_both_forms(put, name, text, levels, line):
    """The actual depth is accepted; one level less is refused with its line."""
    assert len(data(put(text, name), limits=InputLimits(depth=levels))) == 1
    error = refused(name, limits=InputLimits(depth=levels - 1))
    assert error.line == line
    assert f"values are nested deeper than {levels - 1} levels" in error.message


@pytest.mark.parametrize("opening", ["[", '{"a":', "{a: ", "- ", "? "])
@pytest.mark.parametrize("depth", [100, 10**6])
def test_endless_nesting_is_an_error_like_any_other(put, opening, depth):
    """There is no RecursionError, whatever the limit."""
    for name in ("x.yaml", "x.json"):
        assert refused(put(opening * 20_000, name), limits=InputLimits(depth=depth)).line == 1


def test_files_beyond_the_limit_are_refused(put):
    """The limit is in bytes, and a file of exactly that size is read."""
    put(POD)
    assert data("x.yaml", limits=InputLimits(file_bytes=len(POD))) == [{"apiVersion": "v1", "kind": "Pod"}]
    error = refused("x.yaml", limits=InputLimits(file_bytes=len(POD) - 1))
    assert str(error) == "x.yaml: larger than 24 bytes; split it, or select less when dumping"


ENCODINGS = [
    (b"\xef\xbb\xbf" + POD.encode(), None),
    (POD.encode("utf-16"), None),
    (b"\xfe\xff" + POD.encode("utf-16-be"), None),
    (b"\xef\xbb\xbf" + b'{"apiVersion": "v1", "kind": "Pod"}', None),
    (POD.replace("\n", "\r\n").encode(), None),
    (f"{POD}x: é".encode() + b"\xff\n", "x.yaml:3: not UTF-8 text; save it as UTF-8 (column 5)"),
    (b"\xef\xbb\xbfa: \xe9\n", "x.yaml:1: not UTF-8 text; save it as UTF-8 (column 4)"),
    (b"\xff\xfea\x00\n\x00b", "x.yaml:2: not UTF-16 text; save it as UTF-8 (column 1)"),
    (
        b"a: 1\nb: \x00\n",
        "x.yaml:2: a NUL character; this is a binary file, or UTF-16 without a byte order mark (column 4)",
    ),
    (POD.encode("utf-16-le"), "x.yaml:1: a NUL character; this is a binary file, or UTF-16 without a byte order mark"),
]


@pytest.mark.parametrize(("raw", "message"), ENCODINGS)
def test_encodings(put, raw, message):
    """UTF-8 with or without a byte order mark, UTF-16 with it; other text is refused with its line."""
    name = put(raw)
    if message is None:
        assert data(name) == [{"apiVersion": "v1", "kind": "Pod"}]
    else:
        assert str(refused(name)).startswith(message)


STREAMS = [
    ("", 0),
    ("# nothing\n", 0),
    ("---\n---\n# nothing\n---\nnull\n", 0),
    (f"---\n{POD}---\n\n---\n{POD}...\n", 2),
    ("[]", 0),
    ('{"apiVersion": "v1", "kind": "Pod"}{"apiVersion": "v1", "kind": "Pod"}\n null\n', 2),
    ('{"apiVersion": "v1", "kind": "Pod"}\n---\n' + POD, 2),
    ("{apiVersion: v1, kind: Pod}\n---\n" + POD, 2),
    ('{"apiVersion": "v1", "kind": "Pod",}', 1),
    ("apiVersion: v1\nkind: List\n", 0),
    ("apiVersion: v1\nkind: List\nitems: null\n", 0),
    ("apiVersion: v1\nkind: PodList\nitems: []\n", 0),
    ("apiVersion: x/v1\nkind: AllowList\nspec: {}\n", 1),
    ("apiVersion: x/v1\nkind: AllowList\nitems: {a: 1}\n", 1),
    ('{"apiVersion": "v1", "items": [{"apiVersion": "v1", "kind": "Pod"}], "kind": "List"}', 1),
]


@pytest.mark.parametrize(("text", "objects"), STREAMS)
@BOTH_PARSERS
def test_streams(put, text, objects):
    """Empty documents are skipped, lists are unfolded; JSON and YAML may follow each other as with kubectl."""
    assert len(data(put(text))) == objects


NEITHER = [
    ("{a: 1, b: {c: 2\n", "is missing for the mapping opened on line 1"),
    ('{"a": 1 "b": 2}', "not valid JSON: a ',' or a closing bracket is missing here (column 9)"),
    ('{"apiVersion": "v1", "kind": "Pod"}\n---\na: [1', "is missing for the list opened on line 3"),
    ('{"apiVersion": "v1", "kind": "Pod"}\n}', "not valid JSON: a value is missing here (column 1)"),
]


@pytest.mark.parametrize(("text", "message"), NEITHER)
def test_what_begins_like_json_is_reported_as_json(put, text, message):
    """Text that is neither JSON nor YAML gets one error: the one that helps its author."""
    assert message in refused(put(text)).message


TYPED = [
    ("metrics.k8s.io/v1beta1", "PodMetricsList", "PodMetrics"),
    ("autoscaling/v2", "HorizontalPodAutoscalerList", "HorizontalPodAutoscaler"),
    ("custom.metrics.k8s.io/v1beta2", "MetricValueList", "MetricValue"),
]


@pytest.mark.parametrize(("api_version", "kind", "item"), TYPED)
@pytest.mark.parametrize("kind_first", [True, False])
@pytest.mark.parametrize("form", ["x.yaml", "x.json"])
def test_items_take_kind_and_version_from_their_list(put, api_version, kind, item, kind_first, form):
    """The item's own values are kept; the order of the list's keys does not matter."""
    head = {"apiVersion": api_version, "kind": kind}
    items = {"items": [{"a": 1}, {"kind": "Other", "a": 2}, {"apiVersion": "v9", "a": 3}]}
    whole = head | items if kind_first else items | head
    text = json.dumps(whole) if form == "x.json" else yaml.safe_dump(whole, sort_keys=False)
    assert data(put(text, form)) == [
        {"apiVersion": api_version, "kind": item, "a": 1},
        {"apiVersion": api_version, "kind": "Other", "a": 2},
        {"apiVersion": "v9", "kind": item, "a": 3},
    ]


SERIES = {"apiVersion": "external.metrics.k8s.io/v1beta1", "kind": "ExternalMetricValueList"}


@pytest.mark.parametrize("within", [False, True])
@pytest.mark.parametrize("form", ["x.yaml", "x.json"])
def test_external_series_stay_in_their_list(put, within, form):
    """Only the list says that two equal series are two; items that nobody wants alone are kept."""
    whole = SERIES | {"items": [{"apiVersion": "v1", "kind": "Odd", "value": "1"}, {"value": "1"}]}
    text = {"apiVersion": "v1", "kind": "List", "items": [whole]} if within else whole
    name = put(json.dumps(text) if form == "x.json" else yaml.safe_dump(text), form)
    assert data(name, keep=lambda _, kind: kind == SERIES["kind"]) == [whole]
    assert data(name, keep=lambda _, __: False) == []


@pytest.mark.parametrize(
    ("items", "line", "message"),
    [
        ("[]", None, ""),
        ("null", None, ""),
        ("\n- {}\n-", 5, "expected a value with metricName, got null"),
        ("1", 3, "the items of a List must be a list, got a number"),
    ],
)
def test_external_series_that_are_none(put, items, line, message):
    """An item that is not a value is an error: a sum without it would be too small."""
    name = put(f"apiVersion: {SERIES['apiVersion']}\nkind: {SERIES['kind']}\nitems: {items}\n")
    if line is None:
        assert len(data(name)) == 1
    else:
        assert (refused(name).line, refused(name).message) == (line, message)


LISTS = """\
# dumped
apiVersion: v1
items:
- apiVersion: v1
  kind: Pod
  metadata:
    name: a
- apiVersion: v1
  kind: List
  items:
  - {apiVersion: v1, kind: Pod,
     metadata: {name: b}}
  - kind: PodList
    apiVersion: v1
    items:
    - metadata:
        # here
        name: c
    -
      metadata:
        name: d
kind: List
---
apiVersion: v1
kind: Pod
metadata:
  name: e
"""


@BOTH_PARSERS
def test_lists_within_lists_are_unfolded_with_their_lines(put):
    """Each object has its first line and the lines inside it, however deep it was."""
    found = list(load([put(LISTS)]))
    assert [one.data["metadata"]["name"] for one in found] == ["a", "b", "c", "d", "e"]
    assert [one.source.line for one in found] == [4, 11, 16, 20, 24]
    assert [one.source.line_of(("metadata", "name")) for one in found] == [7, 12, 18, 21, 27]
    assert {one.data["kind"] for one in found} == {"Pod"}


PLACES = """\
# first

apiVersion: v1
kind: Pod
metadata: {name: a,
  labels:
    {x: y}}
spec:
  containers:
  # of two
  - name: app

    env: [{name: A},
          {name: B}]
  -
    name: other
    args:
    - one
    - >-
      two
      lines
    - three
    -
  base: &base
    k: v
  again: *base
  merged:
    <<: *base
    own: 1
  yes: 1
  "quoted: key": 2
  ? long
  : value
"""
PATHS = [
    ((), 3),
    (("apiVersion",), 3),
    (("kind",), 4),
    (("metadata", "name"), 5),
    (("metadata", "labels"), 6),
    (("metadata", "labels", "x"), 7),
    (("spec",), 8),
    (("spec", "containers", 0), 11),
    (("spec", "containers", 0, "env", 1, "name"), 14),
    (("spec", "containers", 1), 16),
    (("spec", "containers", 1, "args", 1), 19),
    (("spec", "containers", 1, "args", 2), 22),
    (("spec", "containers", 1, "args", 3), 23),
    (("spec", "containers", 2), 9),
    (("spec", "containers", 0, "image"), 11),
    (("spec", "again"), 26),
    (("spec", "again", "k"), 26),
    (("spec", "merged", "k"), 27),
    (("spec", "merged", "own"), 29),
    (("spec", "true"), 30),
    (("spec", "quoted: key"), 31),
    (("spec", "long"), 32),
    (("status", "phase"), 3),
]


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@BOTH_PARSERS
def test_line_of_in_yaml(put, newline):
    """Keys and elements in block and flow style; if the path does not exist, its deepest existing part."""
    [pod] = load([put(PLACES.replace("\n", newline))])
    assert [(path, pod.source.line_of(path)) for path, _ in PATHS] == PATHS


def test_lines_are_those_an_editor_shows(put):
    """Separators that YAML treats as line breaks do not count as lines of the file."""
    found = list(load([put(f"{POD}x: 'a\u2028b\x85c'\nw: 1\n---\n{POD}z: 1\n")]))
    assert [one.source.line for one in found] == [1, 6]
    assert found[0].source.line_of(("w",)) == 4
    assert found[1].source.line_of(("z",)) == 8


JSON_LIST = """\

{
    "apiVersion": "v1",
    "items": [
        {
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"labels": {},
                "na\\u006de": "a, \\"b\\": [{"
            },
            "spec": {"args": [[], [1,
                2], {"x": {
                    "y": null}}]}
        }, {"apiVersion": "v1",
            "kind": "Pod", "spec": 1}
    ],
    "kind": "List"
}
{"apiVersion": "v1",
 "kind": "Pod"}
"""


def test_line_of_in_json(put):
    """The same for JSON, with escapes in keys and brackets in strings."""
    first, second, third = load([put(JSON_LIST, "x.json")])
    assert [one.source.line for one in (first, second, third)] == [5, 13, 18]
    paths = {
        ("metadata",): 7,
        ("metadata", "name"): 8,
        ("spec",): 10,
        ("spec", "args", 0): 10,
        ("spec", "args", 1, 1): 11,
        ("spec", "args", 2): 11,
        ("spec", "args", 2, "x", "y"): 12,
        ("spec", "args", 3): 10,
        ("status",): 5,
    }
    assert {path: first.source.line_of(path) for path in paths} == paths
    assert second.source.line_of(("spec",)) == 14
    assert third.source.line_of(("kind",)) == 19


def test_a_source_made_manually_has_its_line(put):
    """Other values can have a Source too; equality is that of file and line."""
    assert Source("x.yaml", 7).line_of(("spec", 0)) == 7
    assert next(load([put(POD)])).source == Source("x.yaml", 1)
    assert repr(Source("x.yaml", 7)) == "Source(file='x.yaml', line=7)"


def test_loaded_objects_and_errors_can_be_pickled(put):
    """They may come from another process."""
    [pod] = load([put(f"{POD}x: 1\n")])
    again = pickle.loads(pickle.dumps(pod))  # noqa: S301  our own bytes
    assert (again, again.source.line_of(("x",))) == (pod, 3)
    assert str(pickle.loads(pickle.dumps(LoadError("x", 1, "no")))) == "x:1: no"  # noqa: S301  the same


MIXED = {
    "apiVersion": "v1",
    "items": [
        {"apiVersion": "v1", "kind": "Secret", "data": {"a": "b"}},
        {"apiVersion": "v1", "kind": "Pod", "spec": {}},
        {"apiVersion": "v1", "kind": "PodList", "items": [{"spec": {}}]},
        {"apiVersion": "v1", "kind": "SecretList", "items": [{"data": {}}]},
    ],
    "kind": "List",
}


@pytest.mark.parametrize("form", ["x.yaml", "x.json"])
def test_what_is_not_kept_is_counted(put, form):
    """Objects of other kinds are dropped while reading; the reader counts them by kind."""
    text = json.dumps(MIXED) if form == "x.json" else yaml.safe_dump(MIXED, sort_keys=False)
    reader = Reader(keep=lambda api_version, kind: (api_version, kind) == ("v1", "Pod"))
    assert [one.data["kind"] for one in reader.read([put(text, form)])] == ["Pod", "Pod"]
    assert reader.ignored == {"Secret": 2}


@pytest.mark.parametrize("form", ["x.yaml", "x.json"])
def test_items_of_other_objects_stay_whole(put, form):
    """An object that merely has "items" keeps those that `keep` would refuse."""
    whole = {"apiVersion": "x/v1", "items": MIXED["items"], "kind": "Bundle"}
    text = json.dumps(whole) if form == "x.json" else "---\n" + yaml.safe_dump(whole, sort_keys=False)
    reader = Reader(keep=lambda _, kind: kind == "Bundle")
    [bundle] = reader.read([put(text, form)])
    assert bundle.data == whole
    assert not reader.ignored


def test_directories_are_read_in_order_and_hidden_files_skipped(put):
    """All manifests below, sorted by path; names are shown as they were given."""
    for name in ("d/b.yml", "d/a.yaml", "d/c/x.JSON", "d/.hidden.yaml", "d/.git/x.yaml", "d/notes.txt"):
        put('{"apiVersion": "v1", "kind": "Pod"}', name)
    assert [one.source.file for one in load(["d"])] == ["d/a.yaml", "d/b.yml", "d/c/x.JSON"]


def test_a_directory_without_manifests_is_an_error(put):
    """It is most likely the wrong directory."""
    put("x", "d/notes.txt")
    assert str(refused("d")) == "d: no .yaml, .yml or .json file in this directory or below it"


def test_missing_files_are_reported_before_anything_is_read(put):
    """Even when they come last."""
    with pytest.raises(LoadError) as caught:
        next(load([put(POD), "none.yaml"]))
    assert str(caught.value) == "none.yaml: cannot read it: No such file or directory; check the path"
    assert isinstance(caught.value.__cause__, OSError)
    assert "null" in refused("a\0b").message


def test_files_without_permission_are_reported(put, monkeypatch):
    """The message says what to check."""

    def deny(*_, **__):
        raise PermissionError(13, "Permission denied")

    name = put(POD)
    monkeypatch.setattr(pathlib.Path, "open", deny)
    assert str(refused(name)) == "x.yaml: cannot read it: Permission denied; check its permissions"


def test_folders_that_cannot_be_listed_are_reported(put, monkeypatch):
    """They are not skipped silently."""

    def deny(path):
        raise PermissionError(13, "Permission denied", path)

    put(POD, "d/x.yaml")
    monkeypatch.setattr(os, "scandir", deny)
    assert str(refused("d")) == "d: cannot read it: Permission denied; check its permissions"


def test_stdin(put, monkeypatch):
    """It is read once, shown as <stdin>, and makes the total size unknown."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(f"{POD}---\n{POD}x: '\n".encode())))
    seen = []
    with pytest.raises(LoadError, match="<stdin>:6: the quoted string"):
        list(load([put(POD), "-"], progress=lambda done, total: seen.append((done, total))))
    assert seen == [(len(POD), 0)]
    monkeypatch.setattr(sys, "stdin", None)
    assert data("-") == []


def test_pipes_are_files_too(put):
    """As in `hypot decide -f <(kubectl get hpa -o yaml)`."""
    put("")
    read, write = os.pipe()
    os.write(write, POD.encode())
    os.close(write)
    assert data(f"/dev/fd/{read}") == [{"apiVersion": "v1", "kind": "Pod"}]
    os.close(read)


@pytest.mark.parametrize("form", ["x.yaml", "x.json"])
def test_progress_rises_to_the_size_of_all_files(put, form):
    """About once a mebibyte and at the end of each file, in bytes and not in characters."""
    filler = "é" * 2**18
    item = {"apiVersion": "v1", "kind": "Pod", "x": filler}
    whole = {"apiVersion": "v1", "kind": "List", "items": [item] * 8}
    text = json.dumps(whole, ensure_ascii=False)
    names = [put(text if form == "x.json" else "# yaml\n" + text, form), put(POD, "b.yaml")]
    total = sum(pathlib.Path(name).stat().st_size for name in names)
    seen = []
    assert len(list(load(names, progress=lambda *reported: seen.append(reported)))) == 9
    assert {one for _, one in seen} == {total}
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert 3 <= len(seen) <= 6
    assert seen[-2:] == [(total - len(POD), total), (total, total)]


def test_objects_come_with_data_and_source(put):
    """This is the type that other modules build on."""
    [pod] = load([put(f"# c\n{POD}")])
    assert pod == LoadedFiles({"apiVersion": "v1", "kind": "Pod"}, Source("x.yaml", 2))
