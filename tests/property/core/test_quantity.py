"""What holds for every quantity, checked against exact fractions."""

from contextlib import suppress
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from hypot.core.quantity import Quantity, QuantityError, format_milli, is_quantity, milli

NANO = Fraction(1, 10**9)
BINARY_CAP = 2**63 - 1
DECIMAL_FACTORS = {suffix: Fraction(1000) ** (step - 3) for step, suffix in enumerate(["n", "u", "m", "", *"kMGTPE"])}
BINARY_FACTORS = {f"{letter}i": Fraction(1024) ** (step + 1) for step, letter in enumerate("KMGTPE")}

digits = st.text("0123456789", min_size=1, max_size=24)
signs = st.sampled_from(["", "+", "-"])
fractions = st.one_of(st.just(""), st.just("."), st.text("0123456789", max_size=14).map(".{}".format))
exponents = st.builds("{}{}{}".format, st.sampled_from("eE"), signs, st.integers(0, 40))
suffixes = st.one_of(st.sampled_from([*DECIMAL_FACTORS, *BINARY_FACTORS]), exponents)
parts = st.tuples(signs, digits, fractions, suffixes)
texts = parts.map("".join)
quantities = texts.map(Quantity.parse)
almost_texts = st.text("0123456789.+-eEinumkKMGTP ", max_size=12)


def exact_amount(sign: str, whole: str, fraction: str, suffix: str) -> Fraction:
    """The amount that the text means, before any rounding."""
    factor = DECIMAL_FACTORS.get(suffix) or BINARY_FACTORS.get(suffix) or Fraction(10) ** int(suffix[1:])
    return Fraction(f"{sign}{whole}{fraction.rstrip('.')}") * factor


def amount_of(quantity: Quantity) -> Fraction:
    return quantity.nanos * NANO


@given(parts)
def test_reading_misses_the_exact_amount_by_less_than_a_nano_and_never_towards_zero(written):
    """Only the cap on binary suffixes reduces it by more."""
    exact, read = exact_amount(*written), amount_of(Quantity.parse("".join(written)))
    if written[-1] in BINARY_FACTORS and abs(exact) > BINARY_CAP:
        assert abs(read) == BINARY_CAP
    else:
        assert 0 <= abs(read) - abs(exact) < NANO
    assert read * exact >= 0


@given(quantities)
def test_the_canonical_text_means_the_same_amount(quantity):
    """Printing loses nothing."""
    assert Quantity.parse(str(quantity)) == quantity


@given(quantities)
def test_the_canonical_text_is_canonical(quantity):
    """Reading and printing again changes nothing, except that plain bytes lose the binary style (1600000 is 1600k)."""
    printed = str(quantity)
    printed_again = str(Quantity.parse(printed))
    if quantity.style == "BinarySI" and printed.lstrip("-").isdigit():
        assert printed_again == str(Quantity(quantity.nanos, "DecimalSI"))
    else:
        assert printed_again == printed


@given(quantities)
def test_the_canonical_text_has_no_fraction_and_no_plus(quantity):
    """Digits, at most a minus in front, and a suffix at the end."""
    printed = str(quantity)
    assert "." not in printed
    assert "+" not in printed
    assert printed.removeprefix("-")[0].isdigit()


@given(quantities, quantities)
def test_ordering_agrees_with_fractions(left, right):
    """Comparison is that of amounts, and equal amounts have equal hashes."""
    assert (left < right) == (amount_of(left) < amount_of(right))
    assert (left <= right) == (amount_of(left) <= amount_of(right))
    assert (left == right) == (amount_of(left) == amount_of(right))
    assert left != right or hash(left) == hash(right)


@given(quantities, quantities)
def test_addition_and_subtraction_are_exact(left, right):
    """Nothing is rounded or capped, and subtraction undoes addition."""
    assert amount_of(left + right) == amount_of(left) + amount_of(right)
    assert amount_of(left - right) == amount_of(left) - amount_of(right)
    assert (left + right) - right == left
    assert left + -right == left - right


@given(texts)
def test_milli_rounds_up_by_less_than_one(text):
    """A positive amount is never understated; a negative amount mirrors it."""
    quantity = Quantity.parse(text)
    exact = abs(amount_of(quantity)) * 1000
    assert exact <= abs(milli(text)) < exact + 1
    assert milli(text) == quantity.milli == -(-quantity).milli


@given(quantities)
def test_value_rounds_like_milli(quantity):
    """Whole units follow the same rule at a coarser scale."""
    exact = abs(amount_of(quantity))
    assert exact <= abs(quantity.value) < exact + 1
    assert quantity.value * quantity.sign >= 0


@given(st.integers(-(2**70), 2**70), st.booleans())
def test_formatted_milli_units_read_back(amount, binary):
    """The text in a manifest has the intended amount, below the cap on binary suffixes."""
    if not binary or abs(amount) <= BINARY_CAP * 1000:
        assert milli(format_milli(amount, binary)) == amount


@given(st.integers(-(10**100), 10**100) | st.floats(-1e100, 1e100))
def test_numbers_read_like_their_text(number):
    """A JSON number and the same digits in quotes are the same quantity."""
    assert Quantity.parse(number) == Quantity.parse(str(number))
    assert milli(number) == milli(str(number))


@given(st.text() | almost_texts)
def test_arbitrary_text_raises_nothing_but_quantity_errors(text):
    """All functions agree on what is a quantity."""
    read = None
    with suppress(QuantityError):
        read = milli(text)
    assert is_quantity(text) == (read is not None)
    if read is not None:
        assert Quantity.parse(text).milli == read
