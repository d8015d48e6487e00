"""What a constructor says about keywords of another one, and about required ones that are missing."""

import importlib
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, NamedTuple, ParamSpec, TypeVar

from hypot.kinds.base import InvalidAutoscaler
from hypot.kinds.problem import Problem
from hypot.kinds.values.plain import plain

P = ParamSpec("P")
T = TypeVar("T")

_STATUS = "the cluster writes the status; read it from a live object, with from_dict(live).reported"
# What the status of an autoscaler has.
OF_STATUS: Mapping[str, str] = dict.fromkeys(
    (
        "status",
        "conditions",
        "current_metrics",
        "current_replicas",
        "desired_replicas",
        "last_scale_time",
        "observed_generation",
    ),
    _STATUS,
)


# The keywords of each constructor: its family, its name, and what it takes.
_FAMILIES: dict[str, dict[str, frozenset[str]]] = {}
# What all kinds have is no sign that another one was meant.
_OF_ALL = frozenset({"self", "target", "name", "namespace", "labels", "annotations", "extra"})


def authored(what: str, instead: Mapping[str, str], family: str = "") -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Report keywords that belong elsewhere, each with what to write instead, and required arguments that are missing.

    A keyword that no constructor knows stays a TypeError.
    """

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        signature = _signature_of(function)
        _FAMILIES.setdefault(family or what, {})[what] = signature.known

        @wraps(function)
        def made(*args: P.args, **given: P.kwargs) -> T:
            problems = _problems(signature, _Elsewhere(what, family or what, instead), len(args), given)
            if problems:
                raise InvalidAutoscaler(what, problems)
            return function(*args, **given)

        return made

    return decorate


class _Elsewhere(NamedTuple):
    """Where the keywords belong that a constructor does not have."""

    what: str
    family: str
    instead: Mapping[str, str]

    def hint(self, keyword: str) -> str:
        """What to write instead; empty if nobody knows the keyword."""
        if keyword in self.instead:
            return self.instead[keyword]
        importlib.import_module("hypot.kinds.catalogue").load_all()  # so that all keywords are known
        near = _with(keyword, _FAMILIES[self.family])
        if not near and keyword in _OF_ALL:
            return ""
        far = [name for members in _FAMILIES.values() for name in _with(keyword, members)]
        owners = near or far
        return f"it is a keyword of {_either(owners)}" if owners else ""


def _with(keyword: str, members: Mapping[str, frozenset[str]]) -> list[str]:
    return [name for name, known in members.items() if keyword in known]


def _either(names: list[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


class _Signature:
    """The names of all parameters, and of those without a default."""

    __slots__ = ("known", "positional", "required")

    def __init__(self, code: Any, optional: int, defaults: Mapping[str, Any]) -> None:
        every = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        self.positional = every[: code.co_argcount]
        self.known = frozenset(every)
        needed = self.positional[: len(self.positional) - optional]
        self.required = (*needed, *[name for name in every[code.co_argcount :] if name not in defaults])


def _signature_of(function: Any) -> _Signature:
    return _Signature(function.__code__, len(function.__defaults__ or ()), function.__kwdefaults__ or {})


def _problems(signature: _Signature, elsewhere: _Elsewhere, positional: int, given: Mapping[str, Any]) -> list[Problem]:
    """Empty if Python's own TypeError says it: a keyword that nobody knows."""
    unknown = given.keys() - signature.known
    hints = {name: elsewhere.hint(name) for name in given if name in unknown} if unknown else {}
    if not all(hints.values()):
        return []
    there = {*signature.positional[:positional], *given}
    problems = [
        Problem("keyword", "Forbidden", (name,), "does not belong here", plain(given[name]), hint, path=name)
        for name, hint in hints.items()
    ]
    problems += [
        Problem("keyword", "Required", (name,), "is required", path=name)
        for name in signature.required
        if name not in there
    ]
    return problems


def exactly_one(what: str, **given: Any) -> None:
    """Raise unless exactly one of these is given."""
    there = [name for name, value in given.items() if value is not None]
    if len(there) == 1:
        return
    names = " or ".join(given)
    if there:
        message = f"only one may be given, and there are {' and '.join(there)}"
        problem = Problem("keyword", "Forbidden", (there[-1],), message, hint=f"keep {names}", path=there[-1])
    else:
        problem = Problem("keyword", "Required", (next(iter(given)),), "is required", hint=f"write {names}", path=names)
    raise InvalidAutoscaler(what, [problem])
