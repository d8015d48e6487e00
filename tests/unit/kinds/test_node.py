"""The base of all kinds: reading, writing, and finding values that do not fit."""

from typing import Any, ClassVar

import pytest

from hypot.kinds.decode import decode_problems, json_type, python_path
from hypot.kinds.node import (
    BOOL,
    INT32,
    MAPPING,
    QUANTITY,
    STRING,
    STRINGS,
    WHOLE_OR_QUANTITY,
    Node,
    node,
    replaced,
    wire,
)


@node
class Leaf(Node):
    GO: ClassVar[str] = "v2.Leaf"

    name: str | None = wire("name", STRING)
    size: Any = wire("maxSize", QUANTITY)


@node
class Tree(Node):
    GO: ClassVar[str] = "v2.Tree"

    count: int | None = wire("count", INT32)
    on: bool | None = wire("on", BOOL)
    labels: Any = wire("labels", STRINGS)
    any: Any = wire("anything", MAPPING)
    leaf: Leaf | None = wire("leaf", Leaf, path="")
    leaves: tuple[Leaf, ...] | None = wire("leaves", Leaf, many=True)


def test_a_node_shows_its_fields():
    """As a dataclass does, without what was not understood."""
    assert repr(Tree(3, leaf=Leaf("a"), extra={"x": 1})) == (
        "Tree(count=3, on=None, labels=None, any=None, leaf=Leaf(name='a', size=None), leaves=None)"
    )


FULL = {
    "count": 3,
    "on": False,
    "labels": {"a": "b"},
    "anything": {"x": [1, None]},
    "leaf": {"name": "one", "maxSize": "5m"},
    "leaves": [{"name": "two"}, {}],
}


@pytest.mark.parametrize("data", [{}, FULL, {"leaves": []}, {"leaf": {}}, {"count": 0}, {"new": {"a": None}}])
def test_what_was_read_is_written(data):
    """Empty is not absent, and unknown keys are kept."""
    assert Tree.read(data).write() == data


@pytest.mark.parametrize(
    "data",
    [{"count": "3"}, {"leaf": 5}, {"leaves": {"a": 1}}, {"leaves": [5, "x", [], None]}, {"leaf": {"name": {"a": 1}}}],
)
def test_reading_never_fails(data):
    """A value of the wrong type is kept as it is."""
    assert Tree.read(data).write() == data
    assert not Tree.read(data).sound()


def test_null_is_the_same_as_absent():
    """As in the API server's decoder."""
    assert Tree.read({"count": None, "leaf": None, "leaves": None}) == Tree()


def test_a_sound_value_has_every_type_right_and_every_key_known():
    """The quick check agrees with the thorough one."""
    tree = Tree.read(FULL)
    assert tree.sound()
    assert not list(tree.misfits())
    assert not list(tree.strangers())
    assert tree.readable() is tree


@pytest.mark.parametrize(
    ("data", "where"),
    [
        ({"count": "3"}, ("count",)),
        ({"count": True}, ("count",)),
        ({"count": 3.0}, ("count",)),
        ({"count": 2**31}, ("count",)),
        ({"on": 1}, ("on",)),
        ({"labels": {"a": 1}}, ("labels",)),
        ({"labels": []}, ("labels",)),
        ({"anything": "x"}, ("anything",)),
        ({"leaf": []}, ("leaf",)),
        ({"leaf": {"name": 1}}, ("leaf", "name")),
        ({"leaf": {"maxSize": "1 Mi"}}, ("leaf", "maxSize")),
        ({"leaf": {"maxSize": True}}, ("leaf", "maxSize")),
        ({"leaves": {}}, ("leaves",)),
        ({"leaves": [{}, 3]}, ("leaves", 1)),
        ({"leaves": [{}, None]}, ("leaves", 1)),
        ({"leaves": [{"name": []}]}, ("leaves", 0, "name")),
    ],
)
def test_a_misfit_is_found_at_its_place(data, where):
    """Nothing else is found."""
    tree = Tree.read(data)
    assert [place for place, *_ in tree.misfits()] == [where]
    assert not tree.sound()
    assert not list(tree.readable().misfits())


@pytest.mark.parametrize(
    ("data", "where"),
    [({"new": 1}, ("new",)), ({"leaf": {"x": 1}}, ("leaf", "x")), ({"leaves": [{}, {"y": 1}]}, ("leaves", 1, "y"))],
)
def test_a_stranger_is_found_at_its_place(data, where):
    """An unknown key is not a misfit."""
    tree = Tree.read(data)
    assert [place for place, _ in tree.strangers(("spec",))] == [("spec", *where)]
    assert not list(tree.misfits())
    assert not tree.sound()


def test_what_is_readable_keeps_its_place():
    """An unreadable item becomes an empty one, so that the others keep their index."""
    tree = Tree.read({"count": "3", "leaves": [5, {"name": "two", "maxSize": []}]})
    assert tree.readable() == Tree(leaves=(Leaf(), Leaf("two")))


def test_a_copy_with_other_values_leaves_the_rest():
    """Unknown keys are kept too."""
    assert replaced(Tree.read({"count": 3, "new": 1}), count=4).write() == {"count": 4, "new": 1}


@pytest.mark.parametrize(
    ("scalar", "good", "bad"),
    [
        (INT32, [0, -(2**31), 2**31 - 1], [True, 1.0, "1", 2**31, None]),
        (STRING, ["", "a"], [1, None, b"a"]),
        (BOOL, [True, False], [0, "true"]),
        (STRINGS, [{}, {"a": "b"}], [{"a": 1}, [], "a"]),
        (MAPPING, [{}, {"a": 1}], [[], "a"]),
        (QUANTITY, ["5m", 5, 5.5, "1e3"], ["5 m", "", True, [], "12x"]),
        (WHOLE_OR_QUANTITY, ["5m", 5, "5.5"], [5.5, True, "x"]),
    ],
)
def test_scalars_know_their_values(scalar, good, bad):
    """They accept what Go's decoder accepts."""
    assert all(scalar.fits(value) for value in good)
    assert not any(scalar.fits(value) for value in bad)


@pytest.mark.parametrize(
    ("data", "rule", "message"),
    [
        ({"count": 70.0}, "type", "number 70.0 into Go struct field Tree.spec.count of type int32"),
        ({"count": 2**31}, "type", "number 2147483648 into Go struct field Tree.spec.count of type int32"),
        ({"count": "3"}, "type", "string into Go struct field Tree.spec.count of type int32"),
        ({"on": 1}, "type", "number into Go struct field Tree.spec.on of type bool"),
        ({"leaf": {"name": 1}}, "type", "number into Go struct field Leaf.spec.leaf.name of type string"),
        ({"leaf": {"name": True}}, "type", "bool into Go struct field Leaf.spec.leaf.name of type string"),
        ({"leaf": []}, "type", "array into Go struct field Tree.spec.leaf of type v2.Leaf"),
        ({"leaves": {}}, "type", "object into Go struct field Tree.spec.leaves of type []v2.Leaf"),
        ({"leaves": ["x"]}, "type", "string into Go struct field Tree.spec.leaves of type v2.Leaf"),
        ({"leaf": {"maxSize": "512MB"}}, "quantity", "quantities must match the regular expression"),
        ({"leaf": {"maxSize": "512 Mi"}}, "quantity", "quantities must match the regular expression"),
        ({"leaf": {"maxSize": True}}, "quantity", "quantities must match the regular expression"),
        ({"leaf": {"maxSize": "512MM"}}, "quantity", "unable to parse quantity's suffix"),
        ({"leaf": {"maxSize": "1e"}}, "quantity", "unable to parse quantity's suffix"),
        ({"cuont": 3}, "unknown-field", 'strict decoding error: unknown field "spec.cuont"'),
        ({"leaves": [{"x": 1}]}, "unknown-field", 'strict decoding error: unknown field "spec.leaves[0].x"'),
    ],
)
def test_decoding_errors_are_those_of_the_api_server(data, rule, message):
    """People search for the text."""
    (problem,) = decode_problems(Tree.read(data), ("spec",))
    assert (problem.rule, message in problem.message) == (rule, True), problem.message


@pytest.mark.parametrize(
    ("data", "hint"),
    [
        ({"cuont": 3}, "did you mean count?"),
        ({"leaf": {"zzz": 3}}, "valid fields: name, maxSize"),
        ({"maxSize": 3}, "did you mean spec.leaf.maxSize?"),
        ({"count": 3, "leaf": {"name": 7}}, 'put it in quotes: "7"'),
        (
            {"count": 3, "leaf": {"name": True}},
            "put what is written there in quotes: YAML reads a bare y, yes, on or true as true",
        ),
        ({"count": "3"}, "write 3 without quotes, as a number"),
        ({"count": "x" * 200}, f'write a whole number instead of "{"x" * 76}...'),
        ({"count": 2**31}, "write a whole number from -2147483648 to 2147483647"),
        ({"leaves": {}}, "write a list of Leaf instead of {}"),
        ({"leaf": 3}, "write a mapping, in Python a Leaf instead of 3"),
    ],
)
def test_a_hint_says_what_belongs_there(data, hint):
    """However large the wrong value is."""
    (problem,) = decode_problems(Tree.read(data), ("spec",))
    assert problem.hint == hint


@pytest.mark.parametrize(
    ("value", "word"),
    [(True, "bool"), (1, "number"), (1.5, "number"), ("a", "string"), ([], "array"), ({}, "object"), (None, "object")],
)
def test_json_types_have_go_names(value, word):
    """As in its decoder's messages."""
    assert json_type(value) == word


@pytest.mark.parametrize(
    ("where", "path"),
    [
        (("count",), "count"),
        (("anything",), "any"),
        (("leaf", "maxSize"), "size"),
        (("leaves", 2, "maxSize"), "leaves[2].size"),
        (("labels", "a"), "labels.a"),
        (("new", "x"), "new.x"),
        ((), ""),
    ],
)
def test_a_python_path_is_what_an_author_would_write(where, path):
    """Attribute names replace wire keys, and levels that authors do not see are left out."""
    assert python_path(Tree(), where) == path
