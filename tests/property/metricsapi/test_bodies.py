"""What holds for every body of a pod: it is read the same however it arrives, or its target is faulty."""

import gzip
import sys
from itertools import pairwise

from hypothesis import example, given
from hypothesis import strategies as st

from hypot.kinds.selector import parse_selector
from hypot.metricsapi.body.exposition import ExpositionError
from hypot.metricsapi.body.totals import Totals, Wanted
from hypot.metricsapi.body.unpack import PIECE, UnpackError, unpacker

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

WANTED = (
    Wanted("requests_total"),
    Wanted("requests_total", parse_selector("code!=500"), ((parse_selector("verb=LIST"), 5.0),)),
    Wanted("depth"),
)
PACK = {"gzip": gzip.compress, "zstd": zstd.compress, "": bytes}

good = st.sampled_from(
    [
        b'requests_total{code="200",verb="LIST"} 3',
        b'requests_total{code="500",a="\\"}\\n,"} 1e3 1800000000000',
        b'requests_total 7 # {trace="1"} 0.5',
        b"depth -4.5\r",
        b" \tdepth\t0.1",
        b"requests_total_created 1800000000",
        b'other{a="requests_total 3"} 1',
        b"# HELP depth of the queue",
        b"",
    ]
)
odd = st.sampled_from([b"depth NaN", b"depth", b"depth{", b'depth{a="1",a="2"} 1', b"\xff\x00requests_total 1"])
lines = st.lists(st.one_of(good, good, good, odd, st.binary(max_size=20)), max_size=12)
bodies = st.builds(lambda lines, end: b"\n".join(lines) + end, lines, st.sampled_from([b"\n", b"\n", b""]))


def totals_of(pieces):
    """The totals, or None if the body cannot be used."""
    totals = Totals(WANTED)
    try:
        for piece in pieces:
            totals.feed(piece)
        return totals.close()
    except ExpositionError:
        return None


def cut(body, places):
    bounds = [0, *sorted(min(place, len(body)) for place in places), len(body)]
    return [body[start:end] for start, end in pairwise(bounds)]


@given(bodies, st.lists(st.integers(0, 400), max_size=8))
@example(b"requests_total 12\ndepth 1\n", [15, 16, 17, 18, 24])
def test_how_a_body_is_cut_does_not_matter(body, places):
    """Neither does an empty piece."""
    assert totals_of(cut(body, places)) == totals_of([body])


@given(lines, st.permutations([b"depth 1", b"requests_total 2", b'requests_total{verb="LIST"} 3']))
def test_the_order_of_lines_does_not_matter(noise, wanted):
    """Lines of other metrics may come anywhere between."""
    others = [line for line in noise if b"requests" not in line and b"depth" not in line and b"\n" not in line]
    body = b"\n".join([*wanted, *others, b""])
    assert totals_of([body]) == totals_of([b"\n".join([*others, *reversed(wanted), b""])]) == [5.0, 17.0, 1.0]


numbers = st.integers(0, 10**6).map(str).map(str.encode)


@given(st.lists(numbers, min_size=1, max_size=5), st.booleans(), st.data())
def test_a_body_that_is_cut_off_is_refused(values, open_metrics, data):
    """Within a line; OpenMetrics anywhere. Else the total would be smaller, and the next rate too high."""
    body = b"".join([b'requests_total{n="%d"} %s\n' % each for each in enumerate(values)])
    whole = body + b"# EOF\n" if open_metrics else body
    end = data.draw(st.integers(0, len(body)))
    assert total_of(whole, open_metrics=open_metrics) == [sum(map(int, values))]
    if open_metrics or (end and body[end - 1 : end] != b"\n"):
        assert total_of(body[:end], open_metrics=open_metrics) is None


def total_of(body, *, open_metrics):
    totals = Totals([Wanted("requests_total")], open_metrics=open_metrics)
    try:
        totals.feed(body)
        return totals.close()
    except ExpositionError:
        return None


@given(
    st.lists(
        st.sampled_from([b'a="1"', b'b="2"', b'a="3"', b'c="\xff"', b"d", b"e=5", b'f="\\"', b'g="}"']), max_size=4
    )
)
def test_labels_that_nobody_asks_for_are_checked_too(labels):
    """A pod that writes them wrong may have written the value wrong."""
    names = [label[:1] for label in labels]
    wrong = len(set(names)) < len(names) or {b"c", b"d", b"e", b"f"} & set(names)
    assert (total_of(b"requests_total{" + b",".join(labels) + b"} 7\n", open_metrics=False) is None) == bool(wrong)


@given(
    st.sampled_from(sorted(PACK)),
    bodies,
    st.lists(st.tuples(st.integers(0, 400), st.integers(0, 255)), max_size=3),
    st.integers(0, 400),
    st.lists(st.integers(0, 400), max_size=4),
)
def test_a_damaged_body_is_refused_or_read(encoding, body, flips, end, places):
    """It raises nothing but the two documented errors, and never gives more at once than it should."""
    packed = bytearray(PACK[encoding](body))
    for place, value in flips:
        if place < len(packed):
            packed[place] = value
    try:
        found = read(encoding, cut(bytes(packed[: end + 20]), places))
    except (ExpositionError, UnpackError) as error:
        found = str(error)
    assert len(found) == len(WANTED) if isinstance(found, list) else len(found) < 200


def read(encoding, packed):
    unpacked, totals = unpacker(encoding), Totals(WANTED)
    for each in packed:
        for piece in unpacked.pieces(each):
            assert len(piece) <= PIECE
            totals.feed(piece)
    unpacked.close()
    return totals.close()
