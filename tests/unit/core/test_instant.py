"""Times and durations as Kubernetes writes them."""

import pytest

from hypot.core.instant import read_duration, read_time, show_time, span

NOW = 1_800_000_000.0


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("2027-01-15T08:00:00Z", NOW),
        ("2027-01-15T09:00:00+01:00", NOW),
        ("2027-01-15T08:00:00", NOW),
        ("2027-01-15T08:00:00.250Z", NOW + 0.25),
        ("2027-01-15T08:00:00.123456789Z", NOW + 0.123456),
        ("1970-01-01T00:00:00Z", 0.0),
        ("", None),
        ("now", None),
        (None, None),
        (NOW, None),
    ],
)
def test_times_are_read(text, at):
    """RFC 3339 times are read; anything else gives None."""
    assert read_time(text) == at


@pytest.mark.parametrize("text", ["2027-01-15T08:00:00Z", "1970-01-01T00:00:00Z", "0001-01-01T00:00:00Z"])
def test_times_are_shown(text):
    """Times are shown in whole seconds with a four-digit year."""
    assert show_time(read_time(text)) == text


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        *[("3m", 180), ("1h30m", 5400), ("1.5h", 5400), ("90s", 90), ("300ms", 0.3), ("0", 0), ("+5s", 5), (".5m", 30)],
        *[("2us", 2e-6), ("2µs", 2e-6), ("7ns", 7e-9), ("1m1m", 120)],
    ],
)
def test_spans_are_read_as_go_reads_them(text, seconds):
    """Any unit, fractions and several parts are accepted."""
    assert span(text) == pytest.approx(seconds)


@pytest.mark.parametrize(
    "text", ["", "3", "m", "-3m", "3 m", "3d", "1h-3m", "1..5h", ".h", "3m\n", "1" * 10 + "s", "1s" * 40]
)
def test_an_invalid_span_is_refused(text):
    """Negative and overlong durations are refused too."""
    with pytest.raises(ValueError, match="duration"):
        span(text)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("15.03s", 15.03), ("1m0s", 60), ("30s", 30), ("1h2m3.5s", 3723.5), ("500ms", 0.5), ("0s", 0)]
    + [(text, None) for text in ("", "15", "s", "1m 0s", "-1s", "1d", 30, None)],
)
def test_durations_as_go_writes_them(text, seconds):
    """A window is a Go duration."""
    assert read_duration(text) == seconds
