"""Python source that makes the same objects as manifests."""

import builtins
import keyword
import re
from collections.abc import Collection, Iterable, Iterator
from typing import Any, NamedTuple

from hypot.authoring.constructors import InexpressibleError, constructor_of
from hypot.authoring.difference import diff
from hypot.authoring.source import WIDTH, Call, Constant, evaluated, names_in, statement
from hypot.authoring.write import to_yaml
from hypot.kinds.authored.written import SERVER_METADATA
from hypot.kinds.base import InvalidAutoscaler, Kind
from hypot.kinds.catalogue import info_of
from hypot.kinds.problem import Problem

_MOST_REASONS = 5
_LONGEST = 100


class AdoptedObject(NamedTuple):
    """An object, and where it was read."""

    autoscaler: Kind
    place: str


class Adopted(NamedTuple):
    """An object as Python: its name, its expression, and why it is read from a mapping, if it is."""

    name: str
    expression: Call
    reasons: tuple[str, ...]
    place: str


def adopted_source(given: Iterable[AdoptedObject], public: Collection[str]) -> str:
    """A module that makes these objects, in their order, and prints them as YAML when it is run.

    `public` are the names that the package itself has; others are imported from their modules.
    """
    made = list(_adopted(given, public))
    needed = [pair for one in made for pair in names_in(one.expression)]
    lines = ['"""Autoscalers, written by hypot adopt."""', "", *_imports([*needed, ("to_yaml", to_yaml)], public), ""]
    for one in made:
        lines += [*_comments(one), statement(f"{one.name} = ", one.expression), ""]
    shown = Call("to_yaml", to_yaml, [Constant(one.name, None) for one in made])
    printed = statement("    ", Call("print", print, [shown], {"end": ""}), 4)
    return "\n".join([*lines, "", 'if __name__ == "__main__":', printed]) + "\n"


def _adopted(given: Iterable[AdoptedObject], public: Collection[str]) -> Iterator[Adopted]:
    taken = {*public, *dir(builtins)}
    for one in given:
        name = _name(one.autoscaler, taken)
        taken.add(name)
        yield Adopted(name, *_expression(one.autoscaler), one.place)


def _expression(one: Kind) -> tuple[Call, tuple[str, ...]]:
    """The constructor's call if it makes an equal object, else a mapping, with the reasons."""
    try:
        expression = constructor_of(one)
        made = evaluated(expression)
    except InexpressibleError as error:
        return _mapping(one), (*error.args, *_of_the_cluster(one))
    except InvalidAutoscaler as error:
        return _mapping(one), (*[_refusal(problem) for problem in error.problems], *_of_the_cluster(one))
    if made == one and made.to_dict() == one.to_dict():
        return expression, ()
    different = [text.partition(": ")[0] for text in diff(made, one).words]
    return _mapping(one), (*_of_the_cluster(one), *different) or ("the form in which an amount is written",)


def _mapping(one: Kind) -> Call:
    kind = type(one)
    return Call(f"{kind.__name__}.from_dict", kind.from_dict, (one.to_dict(),))


def _refusal(problem: Problem) -> str:
    """The place, and why the constructor refuses it."""
    return f"{problem.field or problem.path}: {problem.message or 'is required'}"


def _of_the_cluster(one: Kind) -> Iterator[str]:
    """What only a cluster writes, and no constructor."""
    metadata = one.metadata if isinstance(one.metadata, dict) else {}
    if one.status is not None:
        yield "status"
    yield from (f"metadata.{key}" for key in metadata if key in SERVER_METADATA)


def _comments(one: Adopted) -> Iterator[str]:
    yield f"# {_on_one_line(one.place)}"
    if not one.reasons:
        return
    reasons = list(dict.fromkeys(one.reasons))
    more = [f"and {len(reasons) - _MOST_REASONS} more"] if len(reasons) > _MOST_REASONS else []
    yield "# Read from a mapping, because its constructor cannot write:"
    yield from (f"#   {_brief(_on_one_line(reason))}" for reason in [*reasons[:_MOST_REASONS], *more])


def _on_one_line(text: str) -> str:
    """Without anything that would end the comment."""
    return text if text.isprintable() else repr(text)[1:-1]


def _brief(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def _imports(needed: Iterable[tuple[str, Any]], public: Collection[str]) -> Iterator[str]:
    by_module: dict[str, set[str]] = {}
    for name, value in needed:
        by_module.setdefault("hypot" if name in public else value.__module__, set()).add(name)
    for module, names in sorted(by_module.items()):
        ordered = sorted(names, key=_import_order)
        line = f"from {module} import {', '.join(ordered)}"
        if len(line) <= WIDTH:
            yield line
        else:
            yield from (f"from {module} import (", *[f"    {name}," for name in ordered], ")")


def _import_order(name: str) -> tuple[int, str]:
    """Constants first, then classes, then functions, as isort has it."""
    return (0 if name.isupper() else 1 if name[:1].isupper() else 2), name


def _name(one: Kind, taken: set[str]) -> str:
    """A variable called like the object; with its kind or a number if that name is taken."""
    short = info_of(one).abbreviation.lower()
    plain = re.sub(r"[^0-9a-z_]", "_", one.name.lower()) or short
    if not plain[0].isalpha() or keyword.iskeyword(plain):
        plain = f"{short}_{plain}"
    candidates = (plain, f"{plain}_{short}", *(f"{plain}_{short}_{i}" for i in range(2, len(taken) + 3)))
    return next(name for name in candidates if name not in taken)
