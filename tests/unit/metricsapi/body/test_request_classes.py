"""Requests of a body by class, and its cpu; what is wrong with its cpu fails no scrape."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hypot.kinds.selector import parse_selector
from hypot.metricsapi.body.exposition import BodyLine
from hypot.metricsapi.body.request_classes import MOST_CLASSES, OTHER, RequestClasses, RequestCounts, name_of, values_in
from hypot.metricsapi.body.totals import Totals, Wanted

BODY = b"""\
process_cpu_seconds_total 12.5
requests_total{verb="GET",code="200"} 100
requests_total{verb="GET",code="503"} 7
requests_total{verb="LIST",code="200"} 3
requests_total{code="200"} 2
"""
WANTED = Wanted("requests_total", parse_selector("code!=503"))


def counted(body, classes=None, size=None, cpu="process_cpu_seconds_total"):
    """The totals, and what is counted, as a mapping and the cpu."""
    classes = classes or RequestClasses(["verb"], WANTED.where)
    counts = RequestCounts(classes, 0, cpu)
    totals = Totals([WANTED], counts)
    for at in range(0, len(body), size or len(body)):
        totals.feed(body[at : at + (size or len(body))])
    sums, found = totals.close(), counts.close()
    return sums, None if found is None else (dict(zip(classes.names, found.requests, strict=False)), found.cpu)


@pytest.mark.parametrize("size", [None, 1, 7, 64])
def test_requests_by_class(size):
    """Of the lines that the rule selects; the pieces of the body do not matter."""
    assert counted(BODY, size=size) == ([105.0], ({"verb=GET": 100.0, "verb=LIST": 3.0, "!verb": 2.0}, 12.5))


def test_a_name_selects_its_class():
    """So it can become the selector of a weight."""
    classes = RequestClasses(["verb", "code"], WANTED.where)
    counted(BODY, classes)
    assert classes.names == ["verb=GET,code=200", "verb=LIST,code=200", "!verb,code=200"]
    assert parse_selector(classes.names[2]).matches({"code": "200"})


def test_classes_are_bounded():
    """The first ones have a class of their own in all bodies, whatever their order; the rest is one class."""
    classes = RequestClasses(["path"], WANTED.where)
    lines = [f'requests_total{{path="p{i}"}} 1' for i in range(MOST_CLASSES + 50)]
    for several in (lines, lines[::-1]):
        _, (requests, _) = counted("\n".join([*several, "process_cpu_seconds_total 1", ""]).encode(), classes)
        assert len(requests) == len(classes.names) == MOST_CLASSES + 1
        assert requests[OTHER] == 50
        assert requests["path=p0"] == 1


def test_a_long_value_is_other():
    body = f'requests_total{{verb="{"x" * 64}"}} 4\nprocess_cpu_seconds_total 1\n'.encode()
    assert counted(body)[1] == ({OTHER: 4.0}, 1.0)


values = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


@given(st.dictionaries(st.sampled_from(["verb", "_path", "a9"]), values, min_size=1))
@example({"verb": "GET /x", "_path": '/api,"v1"\\'})
@example({"verb": "", "a9": "\n"})
def test_any_text_has_a_class_of_its_own(labels):
    """Its name says which labels make it, so a weight can select it."""
    assert dict(values_in(name_of(labels.items()))) == labels


@pytest.mark.parametrize(
    "body",
    [
        b'requests_total{verb="GET"} 1\n',
        b'requests_total{verb="GET"} 1\nprocess_cpu_seconds_total NaN\n',
        b'requests_total{verb="GET"} 1\nprocess_cpu_seconds_total -1\n',
    ],
)
def test_without_usable_cpu_nothing_is_learned(body):
    """The rate is served all the same."""
    assert counted(body) == ([1.0], None)


texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters='"\\\n'), max_size=70)


@given(st.lists(st.tuples(texts.map(lambda text: f'verb="{text}"'.encode()), st.floats(0, 1e9)), max_size=60))
def test_any_labels(several):
    """Nothing but labels decides on the class, and what is remembered of lines is bounded."""
    classes = RequestClasses(["verb"], parse_selector(""))
    counts = RequestCounts(classes, 0, "cpu")
    for labels, value in several:
        counts.add(BodyLine(labels, value))
    assert len(classes.names) <= MOST_CLASSES + 1
    assert all(len(name) <= 6 * 63 + len('verb=""') for name in classes.names)
