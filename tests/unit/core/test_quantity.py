"""Quantities against values that k8s.io/apimachinery v0.36.4 gave for the same texts."""

import copy
import pickle

import pytest

from hypot.core.quantity import Quantity, QuantityError, format_milli, is_quantity, milli, stored_text

DECIMAL, BINARY, EXPONENT = "DecimalSI", "BinarySI", "DecimalExponent"
MAX_INT64 = 2**63 - 1

# text, canonical form, whole milli-units, whole units, style
READ = [
    ("0", "0", 0, 0, DECIMAL),
    ("-0", "0", 0, 0, DECIMAL),
    ("0m", "0", 0, 0, DECIMAL),
    ("2", "2", 2000, 2, DECIMAL),
    ("+1", "1", 1000, 1, DECIMAL),
    ("-1", "-1", -1000, -1, DECIMAL),
    ("500m", "500m", 500, 1, DECIMAL),
    ("00500m", "500m", 500, 1, DECIMAL),
    ("0.5", "500m", 500, 1, DECIMAL),
    (".5", "500m", 500, 1, DECIMAL),
    ("5.", "5", 5000, 5, DECIMAL),
    ("1.500", "1500m", 1500, 2, DECIMAL),
    ("1000m", "1", 1000, 1, DECIMAL),
    ("1000n", "1u", 1, 1, DECIMAL),
    ("250u", "250u", 1, 1, DECIMAL),
    ("123456789n", "123456789n", 124, 1, DECIMAL),
    ("0.001m", "1u", 1, 1, DECIMAL),
    ("1.0005m", "1000500n", 2, 1, DECIMAL),
    ("1000", "1k", 1_000_000, 1000, DECIMAL),
    ("1000k", "1M", 10**9, 10**6, DECIMAL),
    ("1024", "1024", 1_024_000, 1024, DECIMAL),
    ("262144k", "262144k", 262_144_000_000, 262_144_000, DECIMAL),
    ("1G", "1G", 10**12, 10**9, DECIMAL),
    ("1T", "1T", 10**15, 10**12, DECIMAL),
    ("1P", "1P", 10**18, 10**15, DECIMAL),
    ("-1.5", "-1500m", -1500, -2, DECIMAL),
    ("-1.0005", "-1000500u", -1001, -2, DECIMAL),
    ("-500u", "-500u", -1, -1, DECIMAL),
    ("1Ki", "1Ki", 1_024_000, 1024, BINARY),
    ("1024Ki", "1Mi", 1_048_576_000, 1_048_576, BINARY),
    ("1000Ki", "1000Ki", 1_024_000_000, 1_024_000, BINARY),
    ("512Mi", "512Mi", 536_870_912_000, 536_870_912, BINARY),
    ("250Mi", "250Mi", 262_144_000_000, 262_144_000, BINARY),
    ("1.5Gi", "1536Mi", 1_610_612_736_000, 1_610_612_736, BINARY),
    ("1Ti", "1Ti", 2**40 * 1000, 2**40, BINARY),
    ("1Pi", "1Pi", 2**50 * 1000, 2**50, BINARY),
    ("0Ki", "0", 0, 0, BINARY),
    ("0.5Ki", "512", 512_000, 512, BINARY),
    ("1.5Ki", "1536", 1_536_000, 1536, BINARY),
    ("1562.5Ki", "1600000", 1_600_000_000, 1_600_000, BINARY),
    ("1.1Ki", "1126400m", 1_126_400, 1127, BINARY),
    ("0.9999999999Gi", "1073741823892625818n", 1_073_741_823_893, 1_073_741_824, BINARY),
    ("0.0001Ki", "102400u", 103, 1, DECIMAL),
    ("1e3", "1e3", 1_000_000, 1000, EXPONENT),
    ("1E3", "1e3", 1_000_000, 1000, EXPONENT),
    ("1e+03", "1e3", 1_000_000, 1000, EXPONENT),
    ("1E-3", "1e-3", 1, 1, EXPONENT),
    ("1e0", "1", 1000, 1, EXPONENT),
    ("1000e0", "1e3", 1_000_000, 1000, EXPONENT),
    ("1.5e3", "1500", 1_500_000, 1500, EXPONENT),
    ("15e2", "1500", 1_500_000, 1500, EXPONENT),
    ("1e-1", "100e-3", 100, 1, EXPONENT),
    ("12e6", "12e6", 12 * 10**9, 12 * 10**6, EXPONENT),
    ("-1e2", "-100", -100_000, -100, EXPONENT),
    ("0e5", "0", 0, 0, EXPONENT),
]

FINER_THAN_NANO = [
    ("0.1n", "1n"),
    ("1.1n", "2n"),
    ("-1.1n", "-2n"),
    ("0.0000000001", "1n"),
    ("-0.0000000001", "-1n"),
    ("1.0000000001", "1000000001n"),
    ("5e-10", "1e-9"),
    ("1e-500", "1e-9"),
]

WITHOUT_DIGITS = ["+", "-", ".", "m", "-.k", "Ki", "Ti", "e3", ".e-9"]

AMID_SPACES = [" 1", "1 ", "\u00a0\u20031\u3000", "\x851"]

# What a real API server showed for a metric's target.
SHOWN = [
    *[(text, text) for text in ("0", "1", "+1", "-1", "5.", "1E3", "1e3", "1.500", "00500m", "7Ki", "007Ki", "5.Ki")],
    *[(text, text) for text in ("1e-9", "123456789012345678", "999.999", "4.P", "12345678901Ki", "1e0003")],
    *[("+0", "0"), ("0Ki", "0"), ("m", "0"), (".5", "500m"), ("1000", "1k"), ("0.500", "500m"), ("15e2", "1500")],
    *[("8Ki", "8Ki"), ("+8Ki", "8Ki"), ("1024Ki", "1Mi"), ("1.5Gi", "1536Mi"), ("1562.5Ki", "1600k"), ("+1Pi", "1Pi")],
    *[("+0000000000000000001", "+0000000000000000001"), ("+1234567890123456789", "1234567890123456789")],
    *[
        ("1.0000000001", "1000000001n"),
        ("+99Ti", "+99Ti"),
        ("+101Ti", "101Ti"),
        (" +1 ", "+1"),
        ("+123456789012Ki", "123456789012Ki"),
    ],
    *[(5, "5"), (1500, "1500"), (0.5, "500m"), (2.0, "2"), (1e-5, "10u"), (1e-9, "1e-9"), (1e16, "10P"), (True, None)],
]

LARGE = [
    ("1E", "1E", 10**18),
    ("10E", "10E", 10**19),
    ("1000E", "1000E", 10**21),
    ("1e21", "1e21", 10**21),
    ("9223372036854775808", "9223372036854775808", 2**63),
    ("7Ei", "7Ei", 7 * 2**60),
    ("8Ei", str(MAX_INT64), MAX_INT64),
    ("-9999Ei", str(-MAX_INT64), -MAX_INT64),
]

REFUSED = [
    *["", " ", "1\n", "\t500m", "1\u2028", "1\u200b", "1 k", "half", "nan", "inf", "Infinity", "None", "0x10"],
    *["512MB", "1K", "1ki", "1KI", "1i", "1Zi", "1Y", "1mm", "1mi", "70%", "1,5", "1_000", "1-5", "1+"],
    *["--1", "+-1", "1.5.5", "..5", "e", "1e", "1E+", "1e3Ki", "1e1.5", "ee3", "\u0661", "\uff11", "1\u00b5"],
    *["Pi", "Ei", "-.Ei", "e-10", ".e-10"],
]


@pytest.mark.parametrize(("text", "canonical", "milli_units", "units", "style"), READ)
def test_reads_as_kubernetes_does(text, canonical, milli_units, units, style):
    """Amount, rounding, style and canonical form are those of the reference library."""
    quantity = Quantity.parse(text)

    assert (str(quantity), quantity.milli, quantity.value, quantity.style) == (canonical, milli_units, units, style)
    assert milli(text) == milli_units
    assert is_quantity(text)


@pytest.mark.parametrize(("text", "canonical"), FINER_THAN_NANO)
def test_rounds_what_is_finer_than_nano_away_from_zero(text, canonical):
    """A small amount never becomes zero."""
    assert str(Quantity.parse(text)) == canonical


@pytest.mark.parametrize("text", WITHOUT_DIGITS)
def test_takes_a_bare_sign_or_suffix_for_zero(text):
    """An API server accepts these, so refusing them would be a false positive."""
    assert Quantity.parse(text).nanos == 0


@pytest.mark.parametrize("text", AMID_SPACES)
def test_reads_past_the_spaces_that_an_api_server_cuts_off(text):
    """Tabs and line breaks reach the server as escapes, and are not cut off."""
    assert Quantity.parse(text) == Quantity.parse("1")
    assert milli(text) == 1000


@pytest.mark.parametrize(("written", "shown"), SHOWN)
def test_knows_which_texts_an_api_server_shows_as_they_came(written, shown):
    """They are those that its fast parser takes as canonical."""
    if shown is None:
        with pytest.raises(QuantityError):
            stored_text(written)
    else:
        assert stored_text(written) == shown
        assert stored_text(shown) == shown


@pytest.mark.parametrize(("text", "canonical", "units"), LARGE)
def test_is_exact_beyond_int64_and_caps_only_binary_suffixes(text, canonical, units):
    """Milli-units of large amounts neither overflow nor vanish, and printing keeps the suffix."""
    quantity = Quantity.parse(text)

    assert (str(quantity), quantity.value, quantity.milli) == (canonical, units, units * 1000)


@pytest.mark.parametrize("text", REFUSED)
def test_refuses_what_kubernetes_refuses(text):
    """Every function refuses with the one error of this module."""
    assert not is_quantity(text)
    for read in (Quantity.parse, milli):
        with pytest.raises(QuantityError):
            read(text)


def test_the_error_shows_the_text_and_what_would_be_right():
    """A user who wrote 512MB learns what to write instead."""
    with pytest.raises(QuantityError) as caught:
        Quantity.parse("512MB")

    assert str(caught.value) == (
        "'512MB' is not a Kubernetes quantity: use a decimal number with at most one suffix (n u m k M G T P E, "
        "Ki Mi Gi Ti Pi Ei, or an exponent), for example 500m, 2, 1.5Gi, 1e3"
    )


@pytest.mark.parametrize(
    "hostile", ["x" * 10**6, "\U000e0001" * 100, "1" * 300, "\ud800"], ids=["long", "wide", "digits", "surrogate"]
)
def test_the_error_stays_short_and_printable(hostile):
    """Untrusted text is shown in at most sixty plain characters."""
    with pytest.raises(QuantityError) as caught:
        Quantity.parse(hostile)

    shown, _, _ = str(caught.value).partition(" is not a Kubernetes quantity")
    assert len(shown) <= 60
    assert shown.isprintable()


@pytest.mark.parametrize(
    ("hostile", "complaint"),
    [
        ("1e999999999", "has an exponent beyond 999"),
        ("1e-999999999", "has an exponent beyond 999"),
        ("1e4294967296", "has an exponent beyond 999"),
        ("1e" + "9" * 250, "has an exponent beyond 999"),
        ("1e200", "is beyond 1e200"),
        ("9" * 201, "is beyond 1e200"),
        (10**200, "is beyond 1e200"),
        (1 << 10**6, "an integer of 1000001 bits is beyond 1e200"),
        (1e300, "is beyond 1e200"),
    ],
    ids=["up", "down", "wraps-int32", "many-digits", "exponent", "digits", "int", "giant-int", "float"],
)
def test_refuses_absurd_sizes_at_once(hostile, complaint):
    """No input makes us build giant integers; with one, this test would not end."""
    with pytest.raises(QuantityError, match=complaint):
        Quantity.parse(hostile)


@pytest.mark.parametrize(
    ("number", "canonical", "style"),
    [
        (0, "0", DECIMAL),
        (2, "2", DECIMAL),
        (-1500, "-1500", DECIMAL),
        (0.1, "100m", DECIMAL),
        (1.0, "1", DECIMAL),
        (-0.0, "0", DECIMAL),
        (1e16, "10P", DECIMAL),
        (1e-5, "10u", DECIMAL),
        (1e-7, "100e-9", EXPONENT),
        (1e21, "1e21", EXPONENT),
        (5e-324, "1e-9", EXPONENT),
    ],
)
def test_reads_json_numbers_by_their_text(number, canonical, style):
    """0.1 is a tenth, not the nearest double."""
    quantity = Quantity.parse(number)

    assert (str(quantity), quantity.style) == (canonical, style)
    assert milli(number) == quantity.milli
    assert is_quantity(number)


@pytest.mark.parametrize("other", [True, False, None, float("nan"), float("inf"), b"1", [], {}, 1j, object()])
def test_refuses_everything_but_text_and_numbers(other):
    """Booleans are ints in Python, but not quantities in JSON."""
    assert not is_quantity(other)
    for read in (Quantity.parse, milli):
        with pytest.raises(QuantityError):
            read(other)


def test_the_cache_keeps_one_and_true_apart():
    """True is not a quantity, even after 1 and 1.0 were cached."""
    assert [milli("1"), milli(1), milli(1.0)] == [1000, 1000, 1000]
    with pytest.raises(QuantityError, match="True is not"):
        milli(True)  # noqa: FBT003 - must not be accepted


def test_equality_and_hash_look_at_the_amount_only():
    """1Ki equals 1024, however it was written; a text does not equal a quantity."""
    assert Quantity.parse("1Ki") == Quantity.parse("1024") == Quantity.parse("1.024e3")
    assert len({Quantity.parse(text) for text in ("1Ki", "1024", "1.024e3", "1025")}) == 2
    assert Quantity.parse("1") != "1"
    assert Quantity.parse("1") != 1


def test_orders_by_amount():
    """Suffixes and styles do not affect the order."""
    ascending = ["-1Ki", "-1k", "-1n", "0", "1n", "999u", "1m", "1", "1e3", "1Ki", "1M", "1Mi", "8Ei", "10E"]
    assert [str(quantity) for quantity in sorted(map(Quantity.parse, reversed(ascending)))] == [
        *ascending[:12],
        str(MAX_INT64),
        "10E",
    ]
    assert Quantity.parse("1k") <= Quantity.parse("1e3") < Quantity.parse("1Ki")


@pytest.mark.parametrize(
    ("left", "right", "total", "difference"),
    [
        ("1Gi", "512Mi", "1536Mi", "512Mi"),
        ("1", "1Ki", "1025", "-1023"),
        ("1Ki", "1k", "2024", "24"),
        ("0", "1Ki", "1Ki", "-1Ki"),
        ("0Ki", "1k", "1k", "-1k"),
        ("1e3", "500m", "1000500e-3", "999500e-3"),
        ("500m", "500m", "1", "0"),
        ("7Ei", "9E", "16670361847898368Ki", "-907763152101632Ki"),
    ],
)
def test_adds_and_subtracts_in_the_style_of_the_left(left, right, total, difference):
    """If the left is zero, the style of the right is used, so that totals read like their summands."""
    assert str(Quantity.parse(left) + Quantity.parse(right)) == total
    assert str(Quantity.parse(left) - Quantity.parse(right)) == difference


def test_negation_keeps_the_style():
    """A negative memory amount still reads in binary suffixes."""
    assert str(-Quantity.parse("1.5Gi")) == "-1536Mi"


@pytest.mark.parametrize(("text", "sign"), [("-1n", -1), ("0", 0), ("1n", 1)])
def test_sign(text, sign):
    """One of -1, 0 and 1."""
    assert Quantity.parse(text).sign == sign


def test_does_not_mix_with_plain_numbers():
    """A number has no unit, so adding or comparing one is an error."""
    one = Quantity.parse("1")
    with pytest.raises(TypeError):
        one + 1
    with pytest.raises(TypeError):
        one - 1.0
    with pytest.raises(TypeError):
        one < 2  # noqa: B015 - it raises


@pytest.mark.parametrize(
    ("amount", "decimal", "binary"),
    [
        (0, "0", "0"),
        (25, "25m", "25m"),
        (1000, "1", "1"),
        (1500, "1500m", "1500m"),
        (1_000_000, "1k", "1k"),
        (1_024_000, "1024", "1Ki"),
        (262_144_000_000, "262144k", "250Mi"),
        (1_024_001, "1024001m", "1024001m"),
        (-1_536_000, "-1536", "-1536"),
        (-2_048_000, "-2048", "-2Ki"),
    ],
)
def test_formats_milli_units(amount, decimal, binary):
    """Binary suffixes are used only where nothing is lost, from 1Ki on."""
    assert format_milli(amount) == decimal
    assert format_milli(amount, binary=True) == binary


def test_from_milli_keeps_the_style_it_is_given():
    """The default is decimal, as for CPU."""
    assert Quantity.from_milli(1500) == Quantity(1_500_000_000, DECIMAL)
    assert str(Quantity.from_milli(10**6, EXPONENT)) == "1e3"


def test_a_quantity_is_a_plain_frozen_value():
    """Its repr is the call that makes it; it can be copied and pickled, but not changed."""
    quantity = Quantity.parse("1.5Gi")

    assert repr(quantity) == "Quantity.parse('1536Mi')"
    for twin in (copy.copy(quantity), pickle.loads(pickle.dumps(quantity))):  # noqa: S301 - our own bytes
        assert (twin, twin.style) == (quantity, BINARY)
    with pytest.raises(AttributeError):
        quantity.nanos = 1
