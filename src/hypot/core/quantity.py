"""Kubernetes resource quantities (`500m`, `1.5Gi`, `1e3`), exact.

A quantity is a whole number of nano-units, the finest unit that Kubernetes stores. The integer arithmetic
here agrees with k8s.io/apimachinery in what is accepted, how it is rounded, what the canonical form is and which texts
an API server prints unchanged (`+1`, `1.500`). Three behaviours of that library are not copied: it wraps around at
int64, it drops the suffix of amounts beyond E and Ei, and it rounds some negative amounts wrongly.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal, TypeAlias

from hypot.core.regex import regex

Style: TypeAlias = Literal["DecimalSI", "BinarySI", "DecimalExponent"]

_NANOS_PER_UNIT = 10**9
_NANOS_PER_MILLI = 10**6

_DECIMAL_SUFFIXES = ("n", "u", "m", "", "k", "M", "G", "T", "P", "E")
_BINARY_SUFFIXES = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_BINARY_CAP = (2**63 - 1) * _NANOS_PER_UNIT

_SUFFIX_MEANING: dict[str, tuple[int, Style]] = {
    **{suffix: (1000**step, "DecimalSI") for step, suffix in enumerate(_DECIMAL_SUFFIXES)},
    **{suffix: (1024**step * _NANOS_PER_UNIT, "BinarySI") for step, suffix in enumerate(_BINARY_SUFFIXES) if step},
}

# Bounds on hostile input. Every accepted quantity has a canonical text that is accepted again: below 1e200 it has at
# most 209 digits. The exponent bound leaves room for the smallest JSON numbers (5e-324 is rounded up to 1n).
_LONGEST_TEXT = 256
_LARGEST_EXPONENT = 999
_TOO_LARGE = 10**200 * _NANOS_PER_UNIT

# An API server strips these. Other spaces are escaped in the JSON that it reads, and it reads the escapes literally.
_SPACES = " \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"

_FORM = regex(r"([+-]?)([0-9]*)(?:\.([0-9]*))?([eE][+-]?[0-9]+|[numkMGTPE]|[KMGTPE]i)?")

_ACCEPTED = (
    "use a decimal number with at most one suffix (n u m k M G T P E, Ki Mi Gi Ti Pi Ei, or an exponent), "
    "for example 500m, 2, 1.5Gi, 1e3"
)


class QuantityError(ValueError):
    """The input is not a Kubernetes quantity. The message shows the input and valid examples."""


@dataclass(frozen=True, slots=True, order=True, repr=False)
class Quantity:
    """An exact amount. The style only decides how it prints and is ignored when comparing.

    >>> Quantity.parse("1.5Gi") - Quantity.parse("512Mi")
    Quantity.parse('1Gi')
    """

    nanos: int
    style: Style = field(default="DecimalSI", compare=False)

    @classmethod
    def parse(cls, text: str | float) -> Quantity:
        """Read a value from a manifest: a text, or a JSON number by its text. Booleans are not numbers here."""
        return cls(*_read(text if type(text) is str else _json_text(text)))

    @classmethod
    def from_milli(cls, milli: int, style: Style = "DecimalSI") -> Quantity:
        return cls(milli * _NANOS_PER_MILLI, style)

    @property
    def milli(self) -> int:
        return _divide_away_from_zero(self.nanos, _NANOS_PER_MILLI)

    @property
    def value(self) -> int:
        return _divide_away_from_zero(self.nanos, _NANOS_PER_UNIT)

    @property
    def sign(self) -> int:
        return (self.nanos > 0) - (self.nanos < 0)

    def __str__(self) -> str:
        if self.nanos == 0:
            return "0"
        if self.style == "DecimalExponent":
            return _exponent_text(self.nanos)
        if self.style == "BinarySI" and _reads_well_in_binary(self.nanos):
            return _suffixed_text(self.nanos // _NANOS_PER_UNIT, 1024, _BINARY_SUFFIXES)
        return _suffixed_text(self.nanos, 1000, _DECIMAL_SUFFIXES)

    def __repr__(self) -> str:
        return f"Quantity.parse({str(self)!r})"

    def __add__(self, other: Quantity) -> Quantity:
        if not isinstance(other, Quantity):
            return NotImplemented
        return Quantity(self.nanos + other.nanos, self._style_beside(other))

    def __sub__(self, other: Quantity) -> Quantity:
        if not isinstance(other, Quantity):
            return NotImplemented
        return Quantity(self.nanos - other.nanos, self._style_beside(other))

    def __neg__(self) -> Quantity:
        return Quantity(-self.nanos, self.style)

    def _style_beside(self, other: Quantity) -> Style:
        """The style of a sum. Zero has no relevant style, so a running total takes that of its first summand."""
        return self.style if self.nanos else other.style


def milli(text: str | float) -> int:
    """Whole milli-units, rounded away from zero. Only texts are cached: 1, 1.0 and True would be one cache key."""
    if type(text) is str:
        return _milli_of_text(text)
    return Quantity.parse(text).milli


def format_milli(milli: int, binary: bool = False) -> str:  # noqa: FBT002 - CPU or memory, the caller's own test
    return str(Quantity.from_milli(milli, "BinarySI" if binary else "DecimalSI"))


def stored_text(value: str | float) -> str:
    """The text that an API server shows for a quantity."""
    text = _json_text(value).strip(_SPACES)
    if _looks_canonical(text):
        return text
    # It stores the canonical form and reads that back: plain bytes come back as a decimal amount.
    return str(Quantity.parse(str(Quantity.parse(text))))


def is_quantity(text: object) -> bool:
    try:
        _read(_json_text(text))
    except QuantityError:
        return False
    return True


@lru_cache(maxsize=16_384)
def _milli_of_text(text: str) -> int:
    nanos, _ = _read(text)
    return _divide_away_from_zero(nanos, _NANOS_PER_MILLI)


def _json_text(value: object) -> str:
    """The text that the JSON encoder of Kubernetes writes for the value."""
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise _refusal(value)
    if isinstance(value, float):
        return _float_text(value)
    if value.bit_length() > 4 * _LONGEST_TEXT:
        raise _refusal(value, "is beyond 1e200")
    return int.__repr__(value)


def _float_text(value: float) -> str:
    """Digits without an exponent between 1e-6 and 1e21. Python switches to an exponent much earlier."""
    text = float.__repr__(value)
    if "e" in text and 1e-6 <= abs(value) < 1e21:
        from decimal import Decimal  # noqa: PLC0415  few amounts are fractions with an exponent

        return f"{Decimal(text):f}"
    return text.removesuffix(".0").replace("e-0", "e-")


def _read(text: str) -> tuple[int, Style]:
    match = _FORM.fullmatch(text) if 0 < len(text) <= _LONGEST_TEXT else None
    if match is None:
        bare = text.strip(_SPACES)
        if bare == text:
            raise _refusal(text)
        return _read(bare)
    sign, whole, fraction, suffix = match.groups("")
    if suffix in _SUFFIX_MEANING:
        factor, style = _SUFFIX_MEANING[suffix]
        divisor = 1
    else:
        factor, divisor = _power_of_ten(int(suffix[1:]), text)
        style = "DecimalExponent"
    if fraction:
        divisor *= 10 ** len(fraction)
    elif not whole:
        return _without_digits(suffix, divisor, style, text)

    nanos = int(whole + fraction) * factor
    if divisor != 1:
        nanos = _divide_away_from_zero(nanos, divisor)
    if style == "BinarySI":
        nanos = min(nanos, _BINARY_CAP)
        if 0 < nanos < _NANOS_PER_UNIT:
            style = "DecimalSI"
    elif nanos >= _TOO_LARGE:
        raise _refusal(text, "is beyond 1e200")
    return (-nanos if sign == "-" else nanos), style


def _power_of_ten(exponent: int, text: str) -> tuple[int, int]:
    """Nano-units in 10**exponent, as factor and divisor."""
    if abs(exponent) > _LARGEST_EXPONENT:
        raise _refusal(text, f"has an exponent beyond {_LARGEST_EXPONENT}")
    if exponent < -9:
        return 1, 10 ** (-9 - exponent)
    return 10 ** (exponent + 9), 1


def _without_digits(suffix: str, divisor: int, style: Style, text: str) -> tuple[int, Style]:
    """An API server reads `m`, `-` or `.` as zero, unless its parser for large or very small amounts handles them."""
    if divisor != 1 or suffix in {"Pi", "Ei"}:
        raise _refusal(text)
    return 0, style


def _looks_canonical(text: str) -> bool:
    """Whether the fast parser of an API server accepts and keeps this text. Its test for canonical is approximate."""
    match = _FORM.fullmatch(text)
    if match is None:
        return False
    _, whole, fraction, suffix = match.groups("")
    number = whole.lstrip("0") or "0"
    if suffix in _BINARY_SUFFIXES[1:]:
        most_digits = 14 - 3 * _BINARY_SUFFIXES.index(suffix)
        return not fraction and len(number) <= most_digits and int(number) % 8 != 0
    exponent = 3 * _DECIMAL_SUFFIXES.index(suffix) - 9 if suffix in _DECIMAL_SUFFIXES else int(suffix[1:])
    digits, scale = number + fraction, exponent - len(fraction)
    numeric = len(digits) <= 18 and scale >= -9
    return numeric and scale % 3 == 0 and digits[0] != "0" and not digits.endswith("000")


def _divide_away_from_zero(amount: int, divisor: int) -> int:
    return -(-amount // divisor) if amount > 0 else amount // divisor


def _reads_well_in_binary(nanos: int) -> bool:
    """Whether a binary suffix fits: not below 1Ki, and not for a fraction of a unit, which would be lost."""
    return abs(nanos) >= 1024 * _NANOS_PER_UNIT and nanos % _NANOS_PER_UNIT == 0


def _suffixed_text(amount: int, base: int, suffixes: tuple[str, ...]) -> str:
    step = 0
    while amount % base == 0 and step < len(suffixes) - 1:
        amount //= base
        step += 1
    return f"{amount}{suffixes[step]}"


def _exponent_text(nanos: int) -> str:
    exponent = -9
    while nanos % 1000 == 0:
        nanos //= 1000
        exponent += 3
    return f"{nanos}e{exponent}" if exponent else str(nanos)


def _refusal(value: object, why: str = "is not a Kubernetes quantity") -> QuantityError:
    return QuantityError(f"{_shown(value)} {why}: {_ACCEPTED}")


def _shown(value: object) -> str:
    """The value as text of bounded length. Python itself refuses to print a giant integer."""
    if isinstance(value, str):
        shown = repr(value[:60])
        return shown if len(value) <= 60 and len(shown) <= 60 else f"{shown[:57]}..."
    if value is None or isinstance(value, bool):
        return repr(value)
    if isinstance(value, int):
        return f"an integer of {value.bit_length()} bits"
    return f"a value of type {type(value).__name__[:30]}"
