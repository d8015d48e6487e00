"""Conditions on figures, as scenarios write them: `late <= 0.1`, `bad.cpu_hours >= 1.3 * good.cpu_hours`.

A small grammar: numbers, names of figures, the four operations, brackets, and chained comparisons.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from operator import add, eq, ge, gt, le, lt, mul, sub, truediv
from typing import Any, NamedTuple

Figures = Mapping[str, float | None]
Value = float | None
_Operation = Callable[[float, float], float]

COMPARED: dict[str, Callable[[float, float], bool]] = {"<=": le, ">=": ge, "==": eq, "<": lt, ">": gt}
_SUMS: dict[str, _Operation] = {"+": add, "-": sub}
_PRODUCTS: dict[str, _Operation] = {"*": mul, "/": truediv}
_TOKEN = re.compile(r"\s*(?:(\d+\.?\d*|\.\d+)|([a-z_]\w*(?:\.[a-z_]\w*)?)|(<=|>=|==|[-+*/()<>]))")
_LONGEST = 200


class ConditionError(ValueError):
    """A condition that cannot be parsed, or that asks for an unknown figure."""


class _Token(NamedTuple):
    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Number:
    value: float

    def of(self, figures: Figures) -> Value:
        del figures
        return self.value

    def names(self) -> Iterator[str]:
        yield from ()


@dataclass(frozen=True, slots=True)
class Figure:
    name: str

    def of(self, figures: Figures) -> Value:
        return figures[self.name]

    def names(self) -> Iterator[str]:
        yield self.name


@dataclass(frozen=True, slots=True)
class Operation:
    """Two terms and the operation between them."""

    left: "Term"
    sign: str
    right: "Term"

    def of(self, figures: Figures) -> Value:
        """None if either term is None, or on a division by zero."""
        left, right = self.left.of(figures), self.right.of(figures)
        if left is None or right is None or (self.sign == "/" and right == 0):
            return None
        return (_SUMS | _PRODUCTS)[self.sign](left, right)

    def names(self) -> Iterator[str]:
        yield from self.left.names()
        yield from self.right.names()


Term = Number | Figure | Operation


@dataclass(frozen=True, slots=True)
class ScoreCondition:
    """Terms with comparisons between them; all comparisons must hold."""

    text: str
    terms: tuple[Term, ...]
    signs: tuple[str, ...]

    def __str__(self) -> str:
        return self.text

    def names(self) -> set[str]:
        """The figures it asks for."""
        return {name for term in self.terms for name in term.names()}

    def holds(self, figures: Figures) -> bool:
        """Whether it is true of these figures; a figure that is None makes it false."""
        missing = sorted(self.names() - set(figures))
        if missing:
            known = ", ".join(sorted(figures))
            raise ConditionError(f"{self.text!r} asks for {missing[0]}, which is not measured; the figures are {known}")
        values = [term.of(figures) for term in self.terms]
        return all(
            left is not None and right is not None and COMPARED[sign](left, right)
            for left, sign, right in zip(values, self.signs, values[1:], strict=False)
        )


def parse(text: Any) -> ScoreCondition:
    """Parse one condition. Raises ConditionError with what is wrong and where."""
    if not isinstance(text, str) or len(text) > _LONGEST:
        raise ConditionError(f"{str(text)[:60]!r} is not a condition; write one such as 'late <= 0.1'")
    return _Parser(text).condition()


class _Parser:
    """One pass from left to right."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = list(self._split())
        self._place = 0

    def condition(self) -> ScoreCondition:
        terms, signs = [self._sum()], []
        while self._next() in COMPARED:
            signs.append(self._take())
            terms.append(self._sum())
        if self._next():
            raise self._wrong(f"unexpected {self._next()!r}")
        if not signs:
            raise self._wrong(f"there is no comparison; use one of {', '.join(COMPARED)}")
        return ScoreCondition(self._text.strip(), tuple(terms), tuple(signs))

    def _split(self) -> Iterator[_Token]:
        place, end = 0, len(self._text.rstrip())
        while place < end:
            found = _TOKEN.match(self._text, place)
            if found is None:
                raise self._wrong(f"{self._text[place:].strip()[:20]!r} cannot be parsed")
            place = found.end()
            number, name, sign = found.groups()
            yield _Token("number", number) if number else _Token("name", name) if name else _Token("sign", sign)

    def _sum(self) -> Term:
        return self._chain(self._product, _SUMS)

    def _product(self) -> Term:
        return self._chain(self._factor, _PRODUCTS)

    def _chain(self, part: Callable[[], Term], signs: Mapping[str, _Operation]) -> Term:
        term = part()
        while self._next() in signs:
            sign = self._take()
            term = Operation(term, sign, part())
        return term

    def _factor(self) -> Term:
        token = self._tokens[self._place] if self._place < len(self._tokens) else _Token("end", "")
        self._place += 1
        if token.kind == "number":
            return Number(float(token.text))
        if token.kind == "name":
            return Figure(token.text)
        if token.text == "-":
            return Operation(Number(-1.0), "*", self._factor())
        if token.text != "(":
            raise self._wrong(f"{token.text!r} is not a figure" if token.text else "a figure is missing at the end")
        inner = self._sum()
        if self._next() != ")":
            raise self._wrong("a bracket is not closed")
        self._place += 1
        return inner

    def _next(self) -> str:
        """The next token; empty at the end."""
        return self._tokens[self._place].text if self._place < len(self._tokens) else ""

    def _take(self) -> str:
        self._place += 1
        return self._tokens[self._place - 1].text

    def _wrong(self, message: str) -> ConditionError:
        return ConditionError(f"{self._text!r}: {message}")
