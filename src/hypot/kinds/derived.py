"""Values that are derived from an object and kept with it.

Every decision needs them. They live as long as the object, so they are computed once, however many objects there are. A
changed object is another object, and has its own.
"""

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any, TypeVar, TypeVarTuple

D = TypeVar("D", bound="Deriving")
R = TypeVar("R")
Given = TypeVarTuple("Given")

# An object keeps at most so many values, then it starts again: its pods may have ever new container names and limits.
MOST_KEPT = 256


class Deriving:
    """A frozen object that keeps what is derived from it. Its copies, equality and hash leave this out."""

    __slots__ = ("derived_values",)
    derived_values: dict[Any, Any]


def derived(make: Callable[[D, *Given], R]) -> Callable[[D, *Given], R]:
    """Call a function once for each object and arguments, and keep what it returns with the object.

    It must not return the object itself, which would then be left to the garbage collector.
    """

    @wraps(make)
    def find(of: D, *given: *Given) -> R:
        try:
            values = of.derived_values
        except AttributeError:
            values = {}
            object.__setattr__(of, "derived_values", values)
        key = (make, *given) if given else make
        if key in values:
            found: R = values[key]
            return found
        made = make(of, *given)
        if len(values) >= MOST_KEPT:
            values.clear()
        values[_shared(key)] = made
        return made

    return find


@lru_cache(4096)
def _shared(key: Any) -> Any:
    """Equal keys of all objects are one: most objects are asked the same questions."""
    return key


def with_derived_of(before: D, after: D) -> D:
    """Let a changed copy share the values of its original, none of which may depend on what changed."""
    values = getattr(before, "derived_values", None)
    if values is not None:
        object.__setattr__(after, "derived_values", values)
    return after
