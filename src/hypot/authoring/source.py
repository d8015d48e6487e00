"""Python expressions as values: they are printed as ruff formats them, and evaluated to check what they make."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any

from hypot.core.dataclass import dataclass

WIDTH = 88
_INDENT = 4


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a function or a class by its name."""

    name: str
    function: Callable[..., Any]
    arguments: Sequence[Any] = ()
    keywords: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Constant:
    """A value that has a name."""

    name: str
    value: Any


def call(function: Callable[..., Any], *arguments: Any, **keywords: Any) -> Call:
    """A call without the keywords that are None."""
    given = {key: value for key, value in keywords.items() if value is not None}
    return Call(function.__name__, function, arguments, given)


def evaluated(expression: Any) -> Any:
    """What the expression makes. Raises what its constructors raise."""
    match expression:
        case Constant():
            return expression.value
        case Call():
            keywords = {key: evaluated(value) for key, value in expression.keywords.items()}
            return expression.function(*map(evaluated, expression.arguments), **keywords)
        case dict():
            return {key: evaluated(value) for key, value in expression.items()}
        case list() | tuple():
            return [evaluated(value) for value in expression]
        case _:
            return expression


def names_in(expression: Any) -> Iterator[tuple[str, Any]]:
    """Every name that the expression needs, and what it stands for."""
    match expression:
        case Constant():
            yield expression.name, expression.value
        case Call():
            root, _, method = expression.name.partition(".")
            yield root, expression.function.__self__ if method else expression.function  # type: ignore[attr-defined]
            for value in (*expression.arguments, *expression.keywords.values()):
                yield from names_in(value)
        case dict():
            for value in expression.values():
                yield from names_in(value)
        case list() | tuple():
            for value in expression:
                yield from names_in(value)


def statement(prefix: str, expression: Any, indent: int = 0) -> str:
    """The lines of a statement, the first without its indentation."""
    return _rendered(prefix, expression, "", indent)


def _rendered(prefix: str, value: Any, suffix: str, indent: int) -> str:
    """On one line if it fits, else one part per line, each with a comma at its end."""
    line = f"{prefix}{_inline(value)}{suffix}"
    opened, parts, closed = _parts(value)
    if indent + len(line) <= WIDTH or not parts:
        return line
    inner = indent + _INDENT
    lines = [f"{prefix}{opened}"]
    lines += [" " * inner + _rendered(before, part, ",", inner) for before, part in parts]
    return "\n".join([*lines, " " * indent + closed + suffix])


def _inline(value: Any) -> str:
    opened, parts, closed = _parts(value)
    return opened + ", ".join(before + _inline(part) for before, part in parts) + closed


def _parts(value: Any) -> tuple[str, list[tuple[str, Any]], str]:
    """How the value begins, what is inside, each with its prefix, and how it ends."""
    match value:
        case Constant():
            return value.name, [], ""
        case Call():
            keywords = [(f"{key}=", each) for key, each in value.keywords.items()]
            return f"{value.name}(", [*[("", each) for each in value.arguments], *keywords], ")"
        case dict():
            return "{", [(f"{_literal(key)}: ", each) for key, each in value.items()], "}"
        case list() | tuple():
            return "[", [("", each) for each in value], "]"
        case _:
            return _literal(value), [], ""


def _literal(value: Any) -> str:
    if isinstance(value, str):
        return text(value)
    if isinstance(value, float):
        return repr(value).replace("e+", "e") if value - value == 0 else f'float("{value}")'
    return repr(value)


def text(value: str) -> str:
    """A string in double quotes, unless single quotes need fewer escapes."""
    quote = "'" if value.count('"') > value.count("'") else '"'
    body = "".join(f"\\{one}" if one in {quote, "\\"} else _escaped(one) for one in value)
    return f"{quote}{body}{quote}"


def _escaped(one: str) -> str:
    return one if one in {"'", '"'} else repr(one)[1:-1]
