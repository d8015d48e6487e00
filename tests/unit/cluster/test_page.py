"""Pages of lists: one object that cannot be read does not hide the others."""

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hypot.cluster.page import Page, UnreadableError, _read_apart, plain_fields, read_items, read_object, read_page

DEEP = b'{"a":' * 20_000 + b"1" + b"}" * 20_000
META = b'"metadata":{"resourceVersion":"7","continue":"more"}'

leaves = st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5) | st.sampled_from(['"', "]}", "\\", "{["])
values = st.recursive(leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner))
objects = st.dictionaries(st.text(max_size=8) | st.just("items"), values, max_size=4)


def read(page):
    return page.metadata, page.kind, [msgspec.json.decode(item) for item in page.items or ()]


@pytest.mark.parametrize("around", [(b"", b"," + META), (META + b",", b"")], ids=["metadata last", "metadata first"])
def test_a_deep_object_hides_no_other(around):
    """The others are read, and so is what the next page needs."""
    body = b"{" + around[0] + b'"items":[{"n":1},' + DEEP + b',{"n":2}]' + around[1] + b"}"
    page = read_page(body)
    assert (page.metadata.resource_version, page.metadata.continue_) == ("7", "more")
    first, deep, last = page.items
    assert [bytes(each) for each in read_items(body)] == [bytes(each) for each in page.items]
    assert [read_object(first), read_object(last)] == [{"n": 1}, {"n": 2}]
    with pytest.raises(UnreadableError):
        read_object(deep)


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{", b'{"items":[' + b"[" * 20_000, b'{"metadata":' + DEEP + b"}", b"\xff"]
)
def test_what_is_no_page_is_an_error(body):
    """It is never a page without items."""
    with pytest.raises(UnreadableError):
        read_page(body)


@given(st.lists(objects, min_size=1, max_size=4), objects)
def test_both_ways_to_read_a_page_agree(items, more):
    """Whatever is in the objects and around them."""
    around = {key: value for key, value in more.items() if key not in {"items", "kind", "apiVersion", "metadata"}}
    body = msgspec.json.encode({**around, "kind": "PodList", "metadata": {"continue": '["items"]'}, "items": items})
    assert read(_read_apart(body, Page)) == read(msgspec.json.decode(body, type=Page))


keys = st.sampled_from(["metadata", "name", "object", "x", '"', '{"metadata":{', "\\"])
trees = st.recursive(
    leaves | keys, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=4)
)
events = st.fixed_dictionaries({}, optional={"x": trees, "object": trees, "metadata": trees, "type": trees})


@given(events | trees, st.sampled_from([(), ("metadata",), ("object", "metadata"), ("object", "object", "metadata")]))
def test_plain_fields_are_those_of_a_parser(thing, path):
    """Of exactly the object at this path, without what is nested in it."""
    found = thing
    for name in path:
        found = found.get(name) if isinstance(found, dict) else None
    plain = {
        key: None if isinstance(value, dict | list) else value
        for key, value in (found.items() if isinstance(found, dict) else ())
    }
    assert plain_fields(msgspec.json.encode(thing), *path) == plain
    assert plain_fields(json.dumps(thing, indent=1).encode(), *path) == plain


@pytest.mark.parametrize("inside", [b'"spec":%(deep)s,"metadata":%(meta)s', b'"metadata":%(meta)s,"spec":%(deep)s'])
def test_plain_fields_of_a_deep_object(inside):
    """Wherever it is deep, also in the metadata."""
    meta = b'{"labels":' + DEEP + b',"name":"web","y":' + DEEP + b"}"
    body = b'{"type":"ADDED","object":{' + inside % {b"deep": DEEP, b"meta": meta} + b"}}"
    assert plain_fields(body) == {"type": "ADDED", "object": None}
    assert plain_fields(body, "object", "metadata") == {"labels": None, "name": "web", "y": None}
    assert plain_fields(body, "metadata") == {}


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b"}", b"]]{", b'{"metadata":{"name":"web"', b'{"a":1}}', b"\xff"])
def test_a_torn_text_has_no_metadata(body):
    """It is not an error."""
    assert plain_fields(body, "metadata") == {}
