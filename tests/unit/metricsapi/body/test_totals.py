"""The total of a metric, from a body in pieces."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from hypot.kinds.metric_rules.fields import LineWeight, ServedMetric
from hypot.kinds.selector import parse_selector
from hypot.metricsapi.body.exposition import ExpositionError
from hypot.metricsapi.body.totals import Totals, Wanted, wanted_of

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


@pytest.mark.parametrize("body", [b"", b"other 1\n", b"# HELP requests_total text\n"])
def test_a_missing_metric(body):
    """Another version of the program may have another name for it: that is a fault, and not 0 requests."""
    with pytest.raises(ExpositionError, match="there is no requests_total"):
        totals(body, Wanted("requests_total"))


@pytest.mark.parametrize("body", [b"requests_total 1e300\n" * 2, b"requests_total 9e15\n"])
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
    assert found == ([pytest.approx(sum(expected))] if expected else None)
