"""For any file, reading ends soon, with objects or with a LoadError; lines are right for any document."""

import json

import pytest
import yaml
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from hypot.kinds.text.load import LoadError, Reader, load

FAST = settings(max_examples=150)

SAMPLE = """\
# a list and a document
apiVersion: v1
items:
- apiVersion: autoscaling/v2
  kind: HorizontalPodAutoscaler
  metadata: {name: a, labels: &labels {app: "a", 'b': yes}}
  spec:
    minReplicas: 2
    metrics:
    - type: Resource
      resource: {name: cpu, target: {type: Utilization, averageUtilization: 6e1}}
    behavior: !!map
      scaleDown: &down
        selectPolicy: Max
      scaleUp:
        <<: *down
- kind: Pod
  apiVersion: v1
  metadata:
    labels: *labels
    note: |
      two
      lines
kind: List
---
{"apiVersion": "metrics.k8s.io/v1beta1", "kind": "PodMetricsList", "items": [{"window": "15.03s"}]}
"""
JSON_SAMPLE = json.dumps(
    {
        "apiVersion": "v1",
        "kind": "List",
        "items": [
            {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": 'a"\\', "labels": {}}, "x": [1, -2.5e3, None]},
            {"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [{"name": "é\u2028"}, [], {}]}},
        ],
    },
    indent=1,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("load")


def read(folder, raw, name="x.yaml"):
    path = folder / name
    path.write_bytes(raw if isinstance(raw, bytes) else raw.encode("utf-8", "surrogatepass"))
    return list(load([str(path)]))


def read_or_refuse(folder, raw, name):
    """Read, or refuse with one line; lines are asked for too, because a Source must not fail either."""
    try:
        loaded, reported = read(folder, raw, name), ""
    except LoadError as error:
        loaded, reported = [], str(error)
    assert "\n" not in reported
    for one in loaded:
        assert one.source.line_of(("metadata", "labels", "app")) >= one.source.line >= 1


NAMES = st.sampled_from(["x.yaml", "x.json"])


@FAST
@given(raw=st.binary(max_size=300), name=NAMES)
def test_any_bytes(folder, raw, name):
    """Meaningless bytes are refused with a message of one line."""
    read_or_refuse(folder, raw, name)


MARKS = "{}[]:,-?&*!|>'\"%@`#~\t\n \\.0159eE+xyn\r\x85\u2028\ufeff"
PHRASES = [
    *("\n  ", "\n- ", ": ", "---\n", "...\n", "<<: ", "&a ", "*a", "!!str ", "%TAG ! a\n", "%YAML 1.1\n", "\r\n"),
    *("apiVersion: v1\n", "kind: List\n", "kind: Pod\n", "items:\n", '"items": [', ".nan", "NaN", "\\ud800", "null"),
    '{"kind": "Pod", "apiVersion": "v1"}',
]
PIECES = st.sampled_from([*MARKS, *PHRASES])


@FAST
@given(pieces=st.lists(PIECES, max_size=40), name=NAMES)
def test_any_text_of_the_pieces_yaml_and_json_are_made_of(folder, pieces, name):
    """Text that is nearly YAML or JSON reaches more edge cases than noise."""
    read_or_refuse(folder, "".join(pieces), name)


@FAST
@given(text=st.text(max_size=100), name=NAMES)
def test_any_text(folder, text, name):
    """All characters are included, also single surrogates."""
    read_or_refuse(folder, text, name)


@FAST
@given(form=st.sampled_from([(SAMPLE, "x.yaml"), (JSON_SAMPLE, "x.json"), (JSON_SAMPLE, "x.yaml")]), data=st.data())
def test_broken_documents(folder, form, data):
    """A valid document with some characters removed, doubled or inserted."""
    text, name = form
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(at, min(at + 5, len(text))))
        text = text[:at] + data.draw(PIECES) + text[end:]
    read_or_refuse(folder, text, name)


def test_the_samples_are_whole(folder):
    """Otherwise the mutations above would start from nothing."""
    assert len(read(folder, SAMPLE)) == 3
    assert len(read(folder, JSON_SAMPLE, "x.json")) == 2


WORDS = st.text(st.sampled_from("abcdefghij -:#'\"é"), max_size=8)
# Beyond 64 bits a whole number is a float in YAML, and keeps its digits in JSON.
INTEGERS = st.integers(-(2**63), 2**64 - 1)
SCALARS = st.none() | st.booleans() | INTEGERS | st.floats(-(2**53), 2**53) | WORDS
TREES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=4), max_leaves=12
)
OBJECTS = st.dictionaries(st.sampled_from(["spec", "status", "metadata", "data"]), TREES).map(
    lambda body: {"apiVersion": "v1", "kind": "Pod"} | body
)


def lines_by_nodes(node, path=()):
    """The slow way: the tree of PyYAML with its marks. Only keys and elements have their own line."""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield (*path, key.value), key.start_mark.line + 1
            yield from lines_by_nodes(value, (*path, key.value))
    elif isinstance(node, yaml.SequenceNode):
        for index, element in enumerate(node.value):
            yield (*path, index), element.start_mark.line + 1
            yield from lines_by_nodes(element, (*path, index))


def expected_lines(text):
    """One dictionary for each object of a file with a list or several documents."""
    for root in yaml.compose_all(text, Loader=yaml.SafeLoader):
        entries = {key.value: value for key, value in root.value}
        objects = entries["items"].value if "items" in entries else [root]
        yield from ((one.start_mark.line + 1, dict(lines_by_nodes(one))) for one in objects)


def check_lines(folder, text, name, objects):
    loaded = read(folder, text, name)
    assert [one.data for one in loaded] == objects
    for one, (first, lines) in zip(loaded, expected_lines(text), strict=True):
        assert one.source.line == first
        assert {path: one.source.line_of(path) for path in lines} == lines
        assert all(one.source.line_of((*path, "none", 0)) == line for path, line in lines.items())


STYLES = st.sampled_from([None, True, False])


@FAST
@given(
    objects=st.lists(OBJECTS, min_size=1, max_size=3), flow=STYLES, indent=st.integers(2, 6), width=st.integers(20, 80)
)
def test_lines_of_dumped_documents(folder, objects, flow, indent, width):
    """Block, flow and mixed style, folded at any width, one document after the other."""
    # Keys and strings are quoted, because PyYAML leaves text plain that Kubernetes reads as number or boolean.
    options = {"default_flow_style": flow, "indent": indent, "width": width, "default_style": '"', "sort_keys": False}
    text = "# dumped\n" + yaml.safe_dump_all([quotable(one) for one in objects], **options)
    # Folded at some widths, PyYAML cannot read its own dump.
    assume(list(yaml.safe_load_all(text)) == [quotable(one) for one in objects])
    check_lines(folder, text, "x.yaml", [quotable(one) for one in objects])


@FAST
@given(objects=st.lists(OBJECTS, min_size=1, max_size=3), kind_last=st.booleans(), flow=STYLES)
def test_lines_of_dumped_lists(folder, objects, kind_last, flow):
    """The same for the items of a list, each of which is read again by itself on request."""
    items = {"items": [quotable(one) for one in objects]}
    head = {"apiVersion": "v1", "kind": "List"}
    whole = items | head if kind_last else head | items
    text = "# dumped\n" + yaml.safe_dump(whole, default_flow_style=flow, default_style='"', sort_keys=False)
    check_lines(folder, text, "x.yaml", items["items"])


def quotable(value):
    """The same tree with text instead of all other scalars."""
    if isinstance(value, dict):
        return {key: quotable(one) for key, one in value.items()}
    if isinstance(value, list):
        return [quotable(one) for one in value]
    return value if isinstance(value, str) else f"it is {value}"


@FAST
@given(objects=st.lists(OBJECTS, min_size=1, max_size=3), indent=st.sampled_from([None, 0, 4]), as_list=st.booleans())
def test_json_and_yaml_agree(folder, objects, indent, as_list):
    """JSON is YAML: both readers give the same objects and lines."""
    whole = [{"kind": "List", "items": objects, "apiVersion": "v1"}] if as_list else objects
    text = "\n---\n".join(json.dumps(one, indent=indent, ensure_ascii=False) for one in whole)
    check_lines(folder, "# read as YAML\n" + text, "x.yaml", objects)
    check_lines(folder, text, "x.yaml", objects)
    if len(whole) == 1:
        check_lines(folder, text, "x.json", objects)


@FAST
@given(kinds=st.lists(st.sampled_from(["Pod", "Secret", "Node"]), max_size=8), kept=st.sampled_from(["Pod", "Node"]))
def test_nothing_is_lost(folder, kinds, kept):
    """Objects that are not kept are counted as ignored, and both add up."""
    items = [{"apiVersion": "v1", "kind": kind, "index": n} for n, kind in enumerate(kinds)]
    path = folder / "x.yaml"
    path.write_text(yaml.safe_dump({"apiVersion": "v1", "items": items, "kind": "List"}))
    reader = Reader(keep=lambda _, kind: kind == kept)
    assert [one.data for one in reader.read([str(path)])] == [one for one in items if one["kind"] == kept]
    assert reader.ignored.total() == sum(kind != kept for kind in kinds)
