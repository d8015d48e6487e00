"""The HPA's own rules for the behavior that a Tortoise gives to its HPA."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from hypot.kinds.hpa import HPA
from hypot.kinds.hpa.defaults import with_defaults
from hypot.kinds.hpa.fields import Behavior
from hypot.kinds.hpa.rules import spec_problems, strictness
from hypot.kinds.node import replaced
from hypot.kinds.problem import Problem, Where
from hypot.kinds.values.version import NEWEST, Version

_NOTHING = HPA.from_dict({})


def behavior_problems(
    behavior: Behavior, where: Where, kubernetes: Version = NEWEST, gates: Mapping[str, bool] | None = None
) -> Iterator[Problem]:
    """The problems of a behavior, after an API server has filled in its defaults."""
    hpa = replaced(_NOTHING, behavior=behavior)
    complete = with_defaults(hpa, kubernetes, gates)
    for problem in spec_problems(complete, strictness(hpa, None, kubernetes, gates)):
        if problem.where[1] == "behavior":
            yield replace(problem, where=(*where, *problem.where[2:]))
