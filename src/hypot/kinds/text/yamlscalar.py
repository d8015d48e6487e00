"""What a plain YAML scalar means to Kubernetes: numbers, booleans, text, and what is rejected."""

import struct
from collections.abc import Callable
from typing import Any, Final

from hypot.core.regex import regex

LONGEST_NUMBER: Final = 100
"""Digits of a number. Kubernetes stops at 19; beyond 308 a float overflows, beyond 4300 Python raises an error."""

_WORDS: Final[dict[str, Any]] = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
}
_NOT_FINITE: Final = regex(r"\.(?:nan|NaN|NAN)|[-+]?\.(?:inf|Inf|INF)")
_INTEGER: Final = regex(r"[-+]?(?:0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO][0-7]+|0+|[1-9][0-9]*)")
_OLD_OCTAL: Final = regex(r"[-+]?0[0-7]+")
_BETWEEN_DIGITS: Final = regex(r"(?<=[0-9])_(?=[0-9])")
_FLOAT: Final = regex(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")


class RefusedScalar(Exception):  # noqa: N818  becomes a Fault where the position is known
    pass


def _plain(text: str) -> Any:
    """The value of an unquoted scalar. Timestamps and base-60 numbers stay text, as in Kubernetes."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in "+-.0123456789":
        return text
    if _NOT_FINITE.fullmatch(text):
        raise RefusedScalar(f"{text} is not a number Kubernetes can store; quote it if it is text")
    figures = _BETWEEN_DIGITS.sub("", text) if text[0] == "." else text.replace("_", "")
    octal = _OLD_OCTAL.fullmatch(figures)
    if not octal and not _INTEGER.fullmatch(figures) and not _FLOAT.fullmatch(figures):
        return text
    if len(figures) > LONGEST_NUMBER:
        raise RefusedScalar(f"a number of {len(figures)} digits; quote it if it is text")
    if octal or _INTEGER.fullmatch(figures):
        whole = int(figures, 8 if octal else 0)
        if _fits_64_bits(whole, signed=figures[0] in "+-"):
            return whole
        if not _FLOAT.fullmatch(figures):
            return text
    number = float(figures)
    return text if number in {float("inf"), float("-inf")} else number


def _fits_64_bits(whole: int, *, signed: bool) -> bool:
    """Kubernetes reads a larger number as a float, or as text if it is not valid as a float."""
    return -(2**63) <= whole < (2**63 if signed else 2**64)


def _as_json_prints(value: Any) -> Any:
    """1e3 and 10.0 become whole numbers when Kubernetes converts YAML to JSON; from 1e21 on JSON prints exponents."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e21:
        from decimal import Decimal  # noqa: PLC0415  few numbers have an exponent

        return int(Decimal(repr(value)))
    return value


def as_key(value: Any) -> str:
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            return _float_key(value)
        case None:
            raise RefusedScalar("a key is missing or null; write one, or quote it")
        case _:
            raise RefusedScalar("a mapping or a list cannot be a key")


def _float_key(value: float) -> str:
    """The key as Kubernetes writes it: Go's FormatFloat(value, 'g', -1, 32), in single precision."""
    packed = _single(value)
    if not packed:
        return ".inf" if value > 0 else "-.inf"
    single = struct.unpack("<f", packed)[0]
    digits = next(n for n in range(9) if _single(float(f"{single:.{n}e}")) == packed)
    scientific = f"{single:.{digits}e}"
    exponent = int(scientific.partition("e")[2])
    return scientific if exponent < -4 or exponent >= 6 else f"{single:.{max(digits - exponent, 0)}f}"


def _single(value: float) -> bytes:
    try:
        return struct.pack("<f", value)
    except OverflowError:
        return b""


class Memo(dict[str, Any]):
    """Caches short scalars, which repeat often: a lookup is cheaper than parsing, and they share one string."""

    def __init__(self, read: Callable[[str], Any]) -> None:
        super().__init__()
        self._read = read

    def __missing__(self, text: str) -> Any:
        value = self._read(text)
        if len(text) < 64 and len(self) < 50_000:
            self[text] = value
        return value


MERGE: Final = "<<\0"  # no text can contain it: NUL is rejected


def plain_value(text: str) -> Any:
    return _as_json_prints(_plain(text))


def plain_key(text: str) -> str:
    return MERGE if text == "<<" else as_key(_plain(text))


CORE: Final = "tag:yaml.org,2002:"
_SCALAR_TYPES: Final[dict[str, tuple[type, ...]]] = {
    CORE + "int": (int,),
    CORE + "float": (int, float),
    CORE + "bool": (bool,),
    CORE + "null": (type(None),),
}


def tagged(tag: str, text: str) -> Any:
    if tag in {"!", CORE + "str"}:
        return text
    if tag not in _SCALAR_TYPES:
        raise RefusedScalar(f"the tag {short(tag)} is not supported; remove it")
    value = _plain(text)
    if not isinstance(value, _SCALAR_TYPES[tag]) or (isinstance(value, bool) and tag != CORE + "bool"):
        raise RefusedScalar(f"{text!r} cannot be read as {short(tag)}")
    return _as_json_prints(value)


def short(tag: str) -> str:
    return "!!" + tag.removeprefix(CORE) if tag.startswith(CORE) else tag
