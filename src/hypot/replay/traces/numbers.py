"""Numbers in text: decimal points and commas, groups of thousands, units such as those that Grafana shows."""

import re
from collections.abc import Mapping
from itertools import product
from typing import Final, NamedTuple

import polars as pl

from hypot.replay.traces.reading import OPTION, Assumed, TraceUnit

# What stands for no number.
EMPTY: Final = ("", "nan", "null", "none", "na", "n/a", "#n/a", "-", "undefined", "no data")
# Groups of thousands may be separated by these in any language.
APART: Final = " \u00a0\u202f\u2009'\u2019"
_SCALES: Final = {
    "p": 1e-12,
    "n": 1e-9,
    "u": 1e-6,
    "\u00b5": 1e-6,
    "\u03bc": 1e-6,
    "m": 1e-3,
    "": 1.0,
    "k": 1e3,
    "K": 1e3,
    "M": 1e6,
    "Mil": 1e6,
    "G": 1e9,
    "B": 1e9,
    "Bil": 1e9,
    "T": 1e12,
    "Tri": 1e12,
}
_BINARY: Final = {"Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40}
_SECOND: Final = ("req/s", "reqs/s", "requests/s", "r/s", "rps", "qps", "tps", "ops/s", "ops", "c/s", "/s")
_MINUTE: Final = ("req/m", "req/min", "reqs/min", "requests/min", "rpm", "ops/m", "ops/min", "c/m", "/min")
# More than there are.
_SUFFIXES: Final = 200
_CORES: Final = ("core", "cores", "cpu", "cpus", "vcpu", "vcpus")


class Suffix(NamedTuple):
    """What stands after a number: a factor, and the unit if it says one."""

    factor: float
    unit: TraceUnit | None = None


def _demand() -> dict[str, Suffix]:
    found = {scale: Suffix(factor) for scale, factor in _SCALES.items()}
    for words, unit, per in ((_SECOND, "rps", 1.0), (_MINUTE, "rps", 60.0), (_CORES, "cores", 1.0)):
        for (scale, factor), word in product(_SCALES.items(), words):
            found[scale + word] = Suffix(factor / per, "rps" if unit == "rps" else "cores")
    return found


def _bytes() -> dict[str, Suffix]:
    scales = {scale: factor for scale, factor in {**_SCALES, **_BINARY}.items() if factor >= 1}
    found = {scale + unit: Suffix(factor) for scale, factor in scales.items() for unit in ("", "B")}
    return {**found, "B": Suffix(1.0)}


DEMAND: Final = _demand()
BYTES: Final = _bytes()


class NumberFormat(NamedTuple):
    """How to read a column; `decimal` is empty where all its numbers are plain."""

    decimal: str = ""
    suffixes: Mapping[str, Suffix] = DEMAND

    def read(self, cell: pl.Expr, kind: pl.DataType) -> pl.Expr:
        """A cell as a number: NaN where there is none, null where it is something else."""
        if not isinstance(kind, pl.String):
            return number(cell, kind).fill_null(float("nan"))
        plain = number(cell, kind)
        if not self.decimal:
            return plain.fill_null(float("nan"))
        text = cell.str.strip_chars()
        group = "," if self.decimal == "." else "."
        parts = text.str.extract_groups(_form(self.decimal))
        digits = parts.struct[0].str.replace_all(f"[{re.escape(group)}{APART}]", "")
        digits = digits.str.replace(self.decimal, ".", literal=True)
        suffix = parts.struct[1].fill_null("").str.replace_all(r"\s", "")
        factors = {name: one.factor for name, one in self.suffixes.items()}
        factor = suffix.replace_strict(factors, default=None, return_dtype=pl.Float64)
        empty = text.is_null() | text.str.to_lowercase().is_in(EMPTY)
        infinite = pl.when(text.str.contains(_INFINITE)).then(float("inf"))
        return (
            pl.when(empty)
            .then(float("nan"))
            .otherwise(pl.coalesce(digits.cast(pl.Float64, strict=False) * factor, infinite))
        )


PLAIN: Final = NumberFormat()
CELL: Final = "cell"
_CELL: Final = pl.col(CELL)
_INFINITE: Final = r"(?i)^[+-]?(?:inf|infinity|\x{221e})$"


def number(cell: pl.Expr, kind: pl.DataType) -> pl.Expr:
    """A cell as a plain number; null where it is not one."""
    return (cell.str.strip_chars() if isinstance(kind, pl.String) else cell).cast(pl.Float64, strict=False)


def _form(decimal: str) -> str:
    group = "," if decimal == "." else r"\."
    whole = rf"[0-9]{{1,3}}(?:[{group}{APART}][0-9]{{3}})+|[0-9]*"
    return rf"^([+-]?(?:{whole})(?:{re.escape(decimal)}[0-9]*)?(?:[eE][+-]?[0-9]+)?)(?:\s*([^0-9\s][^0-9]*))?$"


class NumberForms(NamedTuple):
    """How values and other numbers of a file are written, and what its cells say."""

    values: NumberFormat = PLAIN
    others: NumberFormat = PLAIN
    # The units that the values have.
    units: frozenset[TraceUnit] = frozenset()
    notes: tuple[str, ...] = ()
    assumed: tuple[Assumed, ...] = ()


class NumberTexts(NamedTuple):
    """The numbers of a file as texts, each in one column called CELL, and what else says how they are written."""

    values: pl.LazyFrame
    # Memory and replicas.
    others: pl.LazyFrame
    # Columns that are not wanted.
    unwanted: pl.LazyFrame
    # The decimal mark, if the user said it.
    said: str
    separator: str
    # Whether dates are written as 31.12.2026.
    dotted_dates: bool


def number_forms(texts: NumberTexts) -> NumberForms:
    """Looks at all cells."""
    strange, others_strange = (bool(_sum(each, _IS_ODD)) for each in (texts.values, texts.others))
    if not (strange or others_strange) and texts.said != "," and (texts.said or texts.separator != ";"):
        return NumberForms()
    decimal, assumed = _decimal(texts)
    comma = decimal == ","
    others = NumberFormat(decimal, BYTES) if others_strange or comma else PLAIN
    notes: tuple[str, ...] = ("numbers have decimal commas",) if comma and not assumed and not texts.said else ()
    if not strange:
        return NumberForms(NumberFormat(decimal) if comma else PLAIN, others, notes=notes, assumed=assumed)
    suffixes = [one for one in _suffixes(texts.values, decimal) if one in DEMAND]
    units = {unit for one in suffixes if (unit := DEMAND[one].unit) is not None}
    shown = next((one for one in suffixes if DEMAND[one].factor != 1.0), "")
    if shown:
        notes += (f"values are rounded, as in 1.23 {shown}: an export without units is exact",)
    return NumberForms(NumberFormat(decimal), others, frozenset(units), notes, assumed)


_IS_ODD: Final = number(_CELL, pl.String()).is_null() & _CELL.is_not_null()


class _Marks(NamedTuple):
    """How many numbers can only be read with one of the decimal marks, and how many with either."""

    points: int = 0
    commas: int = 0
    # 1.234 and 1,234.
    open_points: int = 0
    open_commas: int = 0


_DIGITS: Final = r"^[+-]?([0-9.,]*[0-9][0-9.,]*)"


def _marks(cells: pl.LazyFrame, separator: str) -> _Marks:
    """Counts no points where all numbers have at most one point and no comma, unless semicolons separate fields."""
    has_marks = _CELL.str.contains(",", literal=True) | (_CELL.str.count_matches(".", literal=True) > 1)
    if separator != ";" and not _sum(cells, has_marks):
        return _Marks()
    text = _CELL.str.strip_chars().str.replace_all(f"[{APART}]", "").str.extract(_DIGITS)
    counted = (
        _decisive(text, r"\.", ","),
        _decisive(text, ",", r"\."),
        _open(text, r"\."),
        _open(text, ","),
    )
    return _Marks(*(_sum(cells, each) for each in counted))


def _sum(cells: pl.LazyFrame, number: pl.Expr) -> int:
    return int(cells.select(number.sum()).collect(engine="streaming").item() or 0)


def _open(text: pl.Expr, mark: str) -> pl.Expr:
    """Whether a number has one such mark, which may be before decimals or after thousands."""
    return text.str.contains(rf"^[1-9][0-9]{{0,2}}{mark}[0-9]{{3}}$")


def _decisive(text: pl.Expr, mark: str, other: str) -> pl.Expr:
    """Whether a number can only be read with this decimal mark."""
    single = text.str.contains(rf"^[0-9]*{mark}[0-9]*$") & ~_open(text, mark)
    return single | text.str.contains(f"{other}.*{mark}|{other}[0-9]*{other}")


def _decimal(texts: NumberTexts) -> tuple[str, tuple[Assumed, ...]]:
    """The decimal mark of a file, and what was assumed if its numbers leave it open."""
    if texts.said:
        return texts.said, ()
    own = _marks(texts.values, texts.separator)
    for marks in (own, *(_marks(each, texts.separator) for each in (texts.others, texts.unwanted))):
        if marks.points != marks.commas:
            return "." if marks.points > marks.commas else ",", ()
    if own.open_commas:
        # Where commas separate fields, nobody writes decimals with them.
        decimal, written = "." if texts.separator == "," else ",", "1,234"
    elif own.open_points and texts.separator == ";":
        decimal, written = "," if texts.dotted_dates else ".", "1.234"
    else:
        return ".", ()
    read = "1.234" if decimal in written else "1234"
    other = "," if decimal == "." else "."
    why = f"a number such as {written} is read as {read}; {OPTION} decimal={other} reads it in the other way"
    return decimal, (Assumed("decimal", decimal, why),)


def _suffixes(cells: pl.LazyFrame, decimal: str) -> list[str]:
    """What stands after the numbers, at most so many different ones as it takes to see a unit."""
    suffix = _CELL.str.strip_chars().str.extract(_form(decimal), 2).str.replace_all(r"\s", "")
    found = cells.filter(_IS_ODD).select(suffix.drop_nulls().unique().head(_SUFFIXES)).collect(engine="streaming")
    return sorted(found.to_series())
