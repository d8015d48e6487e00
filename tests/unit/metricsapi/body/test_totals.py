"""The total of a metric, from a body in pieces."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from hypot.kinds.metric_rules.fields import LineWeight, ServedMetric
from hypot.kinds.selector import parse_selector
from hypot.metricsapi.body.exposition import ExpositionError
from hypot.metricsapi.body.totals import MOST_LINES, Totals, Wanted, wanted_of

BODY = b"""\
# TYPE requests_total counter
requests_total{verb="GET",code="200"} 100
requests_total{verb="GET",code="503"} 7
requests_total{verb="LIST",code="200"} 3
# TYPE depth gauge
depth 4.5
"""


def totals(body, *wanted, size=None):
    found = Totals(wanted)
    for at in range(0, len(body), size or len(body) or 1):
        found.feed(body[at : at + (size or len(body))])
    return found.close()


@pytest.mark.parametrize("size", [None, 1, 7, 64])
def test_a_body_in_pieces(size):
    """The pieces do not matter."""
    assert totals(BODY, Wanted("requests_total"), Wanted("depth"), size=size) == [110.0, 4.5]


def test_only_some_lines_count():
    assert totals(BODY, Wanted("requests_total", parse_selector("code!=503"))) == [103.0]


def test_the_first_weight_counts():
    """A LIST costs as much as five others, and a failure nothing."""
    metric = ServedMetric(
        counter="requests_total",
        weights=(LineWeight({"matchLabels": {"code": "503"}}, 0), LineWeight({"matchLabels": {"verb": "LIST"}}, 5)),
    )
    assert totals(BODY, wanted_of(metric)) == [100 + 0 * 7 + 5 * 3]


def test_no_line_counts_yet():
    """A pod that has not served such a request yet has a total of 0."""
    assert totals(BODY, Wanted("requests_total", parse_selector("verb=WATCH"))) == [0.0]


@pytest.mark.parametrize(
    ("body", "name", "declared"),
    [
        (b"", "requests_total", False),
        (b"other 1\n", "requests_total", False),
        (b"# HELP requests_total text\n", "requests_total", True),
        (b"# TYPE requests_total counter\n", "requests_total", True),
        (b"other 1\n# TYPE requests_total counter\nother 2\n", "requests_total", True),
        (b"# TYPE requests counter\n", "requests_total", True),
        (b"# TYPE requests gauge\n", "requests_total", False),
        (b"# TYPE seconds histogram\n", "seconds_count", True),
        (b"# TYPE seconds summary\n", "seconds_sum", True),
        (b"# TYPE seconds counter\n", "seconds_count", False),
        (b"# TYPE requests_total_x counter\n", "requests_total", False),
        (b"# the # TYPE requests_total counter\n", "requests_total", False),
        (b'other{a="# TYPE requests_total counter"} 1\n', "requests_total", False),
    ],
)
@pytest.mark.parametrize("size", [None, 1, 7])
def test_a_metric_without_lines(body, name, declared, size):
    """It has no total; a program that names it all the same has not counted anything yet."""
    found = Totals([Wanted("depth"), Wanted(name)])
    for at in range(0, len(body), size or len(body) or 1):
        found.feed(body[at : at + (size or len(body))])
    assert found.close() == [None, None]
    assert found.declared == (frozenset([1]) if declared else frozenset())


def test_a_metric_with_lines_is_not_empty():
    found = Totals([Wanted("requests_total")])
    found.feed(BODY)
    assert (found.close(), found.declared) == ([110.0], frozenset())


@pytest.mark.parametrize(
    ("body", "refused", "refused_if_delimited"),
    [
        (b"requests_total 5\n", False, False),
        (b"requests_total 5", True, True),
        (b"requests_total 5\nrequests_to", True, True),
        (b"requests_total 5\n \trequests_total{a=", True, True),
        (b"requests_total 5\nother 1", True, False),
        (b"requests_total 5\n# comment", True, False),
    ],
)
def test_a_last_line_without_end(body, refused, refused_if_delimited):
    """If it may be wanted, its value may be cut off; unless the connection says where the body ends, more may be."""
    for delimited, fails in ((False, refused), (True, refused_if_delimited)):
        found = Totals([Wanted("requests_total")], delimited=delimited)
        found.feed(body)
        if fails:
            with pytest.raises(ExpositionError, match="not complete"):
                found.close()
        else:
            assert found.close() == [5.0]


@pytest.mark.parametrize(
    ("end", "refused"),
    [
        (b"# EOF\n", False),
        (b"# EOF", False),
        (b"", True),
        (b"# EO", True),
        (b"# EOF\n\n", True),
        (b"x# EOF\n", True),
        (b"# EOF\nrequests_total 1\n", True),
    ],
)
@pytest.mark.parametrize("size", [1, 5, 1000])
def test_openmetrics_says_where_it_ends(end, refused, size):
    body, found = b"requests_total 5\n" + end, Totals([Wanted("requests_total")], open_metrics=True, delimited=True)
    for at in range(0, len(body), size):
        found.feed(body[at : at + size])
    if refused:
        with pytest.raises(ExpositionError, match="# EOF"):
            found.close()
    else:
        assert found.close() == [5.0]


def test_too_many_lines():
    """All metrics of a name are one reading, so twenty of them may have as many lines as one."""
    several = [Wanted("requests_total")] * 20
    assert totals(b"requests_total 1\n" * MOST_LINES, *several) == [MOST_LINES] * 20
    with pytest.raises(ExpositionError, match="more than 100,000 lines are wanted"):
        totals(b"requests_total 1\n" * (MOST_LINES + 1), Wanted("requests_total"))


@pytest.mark.parametrize(
    "line",
    [
        b'requests_total{code="200",verb="GET"} 1\n',
        b"requests_total 1\n",
        b"x requests_total requests_total requests_total\n",
        b"# TYPE requests_total counter\n",
    ],
)
def test_a_piece_is_read_in_small_steps(line):
    """However many metrics a rule has, other tasks may run after some lines."""
    found = Totals([Wanted("requests_total", parse_selector("code!=500"))] * 20)
    steps = sum(1 for _ in found.steps(line * (2**18 // len(line))))
    assert steps > 2**18 // len(line) // 64


@pytest.mark.parametrize("body", [b"requests_total 1e300\n" * 2, b"requests_total 1.1e18\n"])
def test_a_total_that_is_too_large(body):
    with pytest.raises(ExpositionError, match="too large"):
        totals(body, Wanted("requests_total"))


def test_a_line_without_end():
    """It is refused before it fills the memory."""
    with pytest.raises(ExpositionError, match="a line has more than"):
        totals(b"x" * 2**21, Wanted("requests_total"), size=65536)


names = st.sampled_from(["requests_total", "requests_total_x", "requests", "depth"])
texts = st.text(st.characters(codec="utf-8", exclude_characters="\r\n"), max_size=6)
lines = st.builds(
    lambda name, labels, value: (
        name + "{" + ",".join(f'{k}="{v}"' for k, v in labels.items()) + "} " + str(value) + "\n"
    ),
    names,
    st.dictionaries(
        st.sampled_from(["a", "b"]), texts.map(lambda t: t.replace("\\", "\\\\").replace('"', '\\"')), max_size=2
    ),
    st.integers(0, 10**9) | st.floats(0, 1e9),
)


@given(st.lists(lines, max_size=12), st.integers(1, 80))
def test_the_same_as_the_reference_parser(several, size):
    text = "".join(several)
    families = text_string_to_metric_families(text)
    expected = [s.value for f in families for s in f.samples if s.name == "requests_total"]
    try:
        found = totals(text.encode(), Wanted("requests_total"), size=size)
    except ExpositionError:
        found = None
    assert found == [pytest.approx(sum(expected)) if expected else None]
