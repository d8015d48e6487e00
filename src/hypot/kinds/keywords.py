"""What a constructor says about keywords of another one, and about required ones that are missing."""

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from hypot.kinds.base import InvalidAutoscaler
from hypot.kinds.problem import Problem

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


def authored(what: str, instead: Mapping[str, str]) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Report keywords that belong elsewhere, each with what to write instead, and required arguments that are missing.

    A misspelt keyword stays a TypeError.
    """

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        signature = _signature_of(function)

        @wraps(function)
        def made(*args: P.args, **given: P.kwargs) -> T:
            problems = _problems(signature, instead, len(args), given)
            if problems:
                raise InvalidAutoscaler(what, problems)
            return function(*args, **given)

        return made

    return decorate


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


def _problems(
    signature: _Signature, instead: Mapping[str, str], positional: int, given: Mapping[str, Any]
) -> list[Problem]:
    """Empty if Python's own TypeError says it: a keyword that nobody knows."""
    unknown = given.keys() - signature.known
    if unknown - instead.keys():
        return []
    there = {*signature.positional[:positional], *given}
    problems = [
        Problem("keyword", "Forbidden", (name,), "does not belong here", given[name], instead[name], path=name)
        for name in given
        if name in unknown
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
