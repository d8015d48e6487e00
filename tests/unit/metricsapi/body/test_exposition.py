"""The lines of one metric in a body: what is read, what is refused, and the same as the reference parser."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from hypot.metricsapi.body.exposition import LONGEST_LINE, BodyLine, ExpositionError, labels_of, samples_of

NAME = "http_requests_total"


def read(text, name=NAME):
    return [(dict(labels_of(one)), one.value) for one in samples_of(text.encode(), name)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (f"{NAME} 7", [({}, 7.0)]),
        (f"{NAME} 7\n", [({}, 7.0)]),
        (f"{NAME} 7\r\n", [({}, 7.0)]),
        (f" \t{NAME}\t7\n", [({}, 7.0)]),
        (f"{NAME}{{}} 7\n", [({}, 7.0)]),
        (f'{NAME}{{code="200"}}7\n', [({"code": "200"}, 7.0)]),
        (f'{NAME} \t{{ code = "200" , }} 7 1800000000000\n', [({"code": "200"}, 7.0)]),
        (f'{NAME}{{a="}}",b="\\"\\\\\\n"}} 1e3\n', [({"a": "}", "b": '"\\\n'}, 1000.0)]),
        (f'{NAME}{{a="x"}} 3 # {{trace="1"}} 0.5 1800000000\n', [({"a": "x"}, 3.0)]),
        (f'{NAME}{{a="x"}} 3 1800000000.5 # {{trace="1"}} 0.5\n', [({"a": "x"}, 3.0)]),
        (f"{NAME} -3.5\n{NAME} +.5E-1\n", [({}, -3.5), ({}, 0.05)]),
        # Others that contain the name.
        (f"# HELP {NAME} text\n# TYPE {NAME} counter\nmy_{NAME} 1\n{NAME}_created 2\n{NAME}s 3\n", []),
        (f'other{{a="{NAME}"}} 3\nother{{a="\\n{NAME} 3"}} 3\n', []),
        (f'other{{a="\n{NAME} 3"}} 3\n', [({}, None)]),
        ("\x00\x01\n", []),
    ],
)
def test_lines_of_a_metric(text, expected):
    if expected == [({}, None)]:
        with pytest.raises(ExpositionError):
            read(text)
    else:
        assert read(text) == expected


@pytest.mark.parametrize(
    "line",
    [
        f"{NAME} ",
        f"{NAME} NaN",
        f"{NAME} +Inf",
        f"{NAME} 1e999",
        f"{NAME} 1_0",
        f"{NAME} 0x10",
        f"{NAME} seven",
        f"{NAME} 7 seven",
        f'{NAME}{{code="200" 7',
        f'{NAME}{{code="200}} 7',
        f"{NAME}{{code=200}} 7",
        f'{NAME}{{code="1",code="2"}} 7',
        f'{NAME}{{="1"}} 7',
        f'{NAME}{{a="1" b="2"}} 7',
        f'{NAME}{{a="{"x" * LONGEST_LINE}"}} 7',
        f"{NAME}{{}} 7 7 7",
    ],
)
def test_lines_that_are_refused(line):
    with pytest.raises(ExpositionError) as error:
        read(f"other 1\n{line}\nother 2\n")
    assert len(str(error.value)) < 200


def test_bytes_that_are_not_text():
    with pytest.raises(ExpositionError):
        labels_of(BodyLine(b'a="\xff"', 1.0))
    assert samples_of(b"\xff\xfe\n" + NAME.encode() + b" 3\n", NAME) == [BodyLine(b"", 3.0)]


NAMES = st.sampled_from([NAME, f"{NAME}_x", "other", f"my_{NAME}"])
TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\x00\r"), max_size=8)
VALUES = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(10**15), 10**15)


@st.composite
def lines(draw):
    labels = draw(st.dictionaries(st.sampled_from(["a", "b", "code"]), TEXTS, max_size=3))
    escaped = [
        '{}="{}"'.format(key, text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"'))
        for key, text in labels.items()
    ]
    braces = f"{{{','.join(escaped)}}}" if escaped or draw(st.booleans()) else ""
    return f"{draw(NAMES)}{braces} {draw(VALUES)!r}"


@given(st.lists(lines(), max_size=6))
def test_the_same_as_the_reference_parser(written):
    """In the same order, for every metric of the body. A label without a value is none, as in Prometheus itself."""
    text = "\n".join(written) + "\n"
    families = list(text_string_to_metric_families(text))
    for name in (NAME, "other"):
        samples = [one for each in families for one in each.samples if one.name == name]
        expected = [({key: text for key, text in one.labels.items() if text}, one.value) for one in samples]
        assert read(text, name) == expected


@given(st.binary(max_size=300), st.lists(st.integers(0, 300), max_size=4))
def test_any_bytes_are_read_or_refused(noise, cuts):
    """A faulty target is its own trouble."""
    body = noise
    for cut in cuts:
        body = body[:cut] + NAME.encode() + body[cut:]
    try:
        found = samples_of(body, NAME)
        [labels_of(one) for one in found]
    except ExpositionError:
        return
    assert all(isinstance(one.value, float) for one in found)
