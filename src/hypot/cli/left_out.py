"""What of the input is no Kubernetes object that matters: in one line, and as a list."""

from collections.abc import Container, Iterable, Iterator
from typing import Final

from hypot.kinds.base import count_of
from hypot.kinds.catalogue import CATALOGUE
from hypot.kinds.known_kinds import WORKLOAD_GROUPS
from hypot.kinds.text.load import LoadError

# Objects that decide what an autoscaler does. Of a text that cannot be parsed, only the kind can be found.
_MATTERING: Final = frozenset(
    {
        *CATALOGUE,
        *WORKLOAD_GROUPS,
        "Rollout",
        "ScaledObject",
        "PodDisruptionBudget",
        "LimitRange",
        "ResourceQuota",
        "List",
        "MetricRules",
    }
)
_SORTS: Final = ("other", "template", "patch")
PATCH: Final = "a patch for kustomize; check the result: `kustomize build DIR | hypot lint -`"


def is_broken(error: LoadError, named: Container[str]) -> bool:
    """Whether the user has to hear of it: a file that was named, or one that seems to hold an object that matters."""
    if error.why != "broken":
        return error.why == "unreadable"
    return error.file in named or not error.kinds.isdisjoint(_MATTERING)


def line_of(left_out: Iterable[LoadError]) -> str:
    """One line: how many files of which sort."""
    found = list(left_out)
    files = {sort: {error.file for error in found if _sort(error) == sort} for sort in _SORTS}
    return ", ".join(_count(len(files[sort]), sort) for sort in _SORTS if files[sort])


def listing(left_out: Iterable[LoadError]) -> Iterator[str]:
    """Each file with its place and why it was left out."""
    for error in sorted(left_out, key=lambda error: (error.file, error.line or 0)):
        yield str(error)


def has_templates(left_out: Iterable[LoadError]) -> bool:
    return any(error.why == "template" for error in left_out)


def _sort(error: LoadError) -> str:
    return error.why if error.why in _SORTS else "other"


def _count(number: int, sort: str) -> str:
    if sort == "other":
        return f"{count_of(number, 'file')} without Kubernetes objects"
    return f"{number} kustomize patch{'' if number == 1 else 'es'}" if sort == "patch" else count_of(number, "template")
