"""Numbers in text: decimal points and commas, groups of thousands, units such as those that Grafana shows."""

import re
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Final, NamedTuple

import polars as pl

from hypot.replay.traces.reading import OPTION, Assumed, TraceUnit

# What stands for no number.
EMPTY: Final = ("", "nan", "null", "none", "na", "n/a", "#n/a", "-", "undefined", "no data")
# Groups of thousands may be separated by these in any language.
_APART: Final = " \u00a0\u202f\u2009'\u2019"
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
        digits = parts.struct[0].str.replace_all(f"[{re.escape(group)}{_APART}]", "")
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
_INFINITE: Final = r"(?i)^[+-]?(?:inf|infinity|\x{221e})$"


def number(cell: pl.Expr, kind: pl.DataType) -> pl.Expr:
    """A cell as a plain number; null where it is not one."""
    return (cell.str.strip_chars() if isinstance(kind, pl.String) else cell).cast(pl.Float64, strict=False)


def _form(decimal: str) -> str:
    group = "," if decimal == "." else r"\."
    whole = rf"[0-9]{{1,3}}(?:[{group}{_APART}][0-9]{{3}})+|[0-9]*"
    return rf"^([+-]?(?:{whole})(?:{re.escape(decimal)}[0-9]*)?(?:[eE][+-]?[0-9]+)?)(?:\s*([^0-9\s][^0-9]*))?$"


class NumberForms(NamedTuple):
    """The formats of the columns of a file, and what its cells say."""

    formats: dict[int, NumberFormat]
    # By column, where its cells say it.
    units: dict[int, set[TraceUnit]]
    notes: tuple[str, ...] = ()
    assumed: tuple[Assumed, ...] = ()


class Surroundings(NamedTuple):
    """What else says how the numbers of a file are written."""

    # The column of memory.
    memory: int | None = None
    # The decimal mark, if the user said it.
    said: str = ""
    separator: str = ""
    # Other columns of numbers.
    others: Sequence[pl.Expr] = ()
    # Whether dates are written as 31.12.2026.
    dotted_dates: bool = False


def number_forms(frame: pl.LazyFrame, cells: Mapping[int, pl.Expr], around: Surroundings) -> NumberForms:
    """Looks at all cells of these columns of texts."""
    odd = {place: _odd(cell) for place, cell in cells.items()}
    counted = frame.select(cell.len().alias(str(place)) for place, cell in odd.items()).collect(engine="streaming")
    strange = {place for place in cells if counted[str(place)][0]}
    if not strange and around.said != "," and (around.said or around.separator != ";"):
        return NumberForms(dict.fromkeys(cells, PLAIN), {})
    decimal, assumed = _decimal(frame, list(cells.values()), around)
    formats = dict.fromkeys(cells, PLAIN)
    for place in cells if decimal == "," else strange:
        formats[place] = NumberFormat(decimal, BYTES if place == around.memory else DEMAND)
    suffixes = {place: _suffixes(frame, odd[place], decimal) for place in strange if place != around.memory}
    known = {place: [DEMAND[one] for one in some if one in DEMAND] for place, some in suffixes.items()}
    units = {place: {one.unit for one in some if one.unit is not None} for place, some in known.items()}
    notes = ["numbers have decimal commas"] if decimal == "," and not assumed and not around.said else []
    shown = next((one for some in suffixes.values() for one in some if one in DEMAND and DEMAND[one].factor != 1.0), "")
    if shown:
        notes.append(f"values are rounded, as in 1.23 {shown}: an export without units is exact")
    return NumberForms(formats, units, tuple(notes), assumed)


def _odd(cell: pl.Expr) -> pl.Expr:
    """The cells that are no plain numbers."""
    return cell.filter(number(cell, pl.String()).is_null() & cell.is_not_null())


class _Marks(NamedTuple):
    """How many numbers can only be read with one of the decimal marks, and how many with either."""

    points: int = 0
    commas: int = 0
    # 1.234 and 1,234.
    open_points: int = 0
    open_commas: int = 0


_DIGITS: Final = r"^[+-]?([0-9.,]*[0-9][0-9.,]*)"


def _marks(frame: pl.LazyFrame, cells: Sequence[pl.Expr]) -> _Marks:
    found = _Marks()
    for cell in cells:
        text = cell.str.strip_chars().str.replace_all(f"[{_APART}]", "").str.extract(_DIGITS)
        counted = frame.select(
            _decisive(text, r"\.", ",").sum().alias("points"),
            _decisive(text, ",", r"\.").sum().alias("commas"),
            _open(text, r"\.").sum().alias("open_points"),
            _open(text, ",").sum().alias("open_commas"),
        )
        row = counted.collect(engine="streaming").row(0)
        found = _Marks(*(known + (more or 0) for known, more in zip(found, row, strict=True)))
    return found


def _open(text: pl.Expr, mark: str) -> pl.Expr:
    """Whether a number has one such mark, which may be before decimals or after thousands."""
    return text.str.contains(rf"^[1-9][0-9]{{0,2}}{mark}[0-9]{{3}}$")


def _decisive(text: pl.Expr, mark: str, other: str) -> pl.Expr:
    """Whether a number can only be read with this decimal mark."""
    single = text.str.contains(rf"^[0-9]*{mark}[0-9]*$") & ~_open(text, mark)
    return single | text.str.contains(f"{other}.*{mark}|{other}[0-9]*{other}")


def _decimal(frame: pl.LazyFrame, cells: Sequence[pl.Expr], around: Surroundings) -> tuple[str, tuple[Assumed, ...]]:
    """The decimal mark of a file, and what was assumed if its numbers leave it open."""
    if around.said:
        return around.said, ()
    own = _marks(frame, cells)
    for marks in (own, _marks(frame, around.others)):
        if marks.points != marks.commas:
            return "." if marks.points > marks.commas else ",", ()
    if own.open_commas:
        # Where commas separate fields, nobody writes decimals with them.
        decimal, written = "." if around.separator == "," else ",", "1,234"
    elif own.open_points and around.separator == ";":
        decimal, written = "," if around.dotted_dates else ".", "1.234"
    else:
        return ".", ()
    read = "1.234" if decimal in written else "1234"
    other = "," if decimal == "." else "."
    why = f"a number such as {written} is read as {read}; {OPTION} decimal={other} reads it in the other way"
    return decimal, (Assumed("decimal", decimal, why),)


def _suffixes(frame: pl.LazyFrame, odd: pl.Expr, decimal: str) -> list[str]:
    """What stands after the numbers of a column, at most so many different ones as it takes to see a unit."""
    found = odd.str.strip_chars().str.extract(_form(decimal), 2).str.replace_all(r"\s", "").drop_nulls().unique()
    return sorted(frame.select(found.head(_SUFFIXES).alias("suffix")).collect(engine="streaming")["suffix"])
