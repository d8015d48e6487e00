"""What of the input is no Kubernetes object that matters: in one line, and as a list."""

from collections.abc import Container, Iterable, Iterator
from pathlib import PurePath
from typing import Final

from hypot.kinds.base import count_of
from hypot.kinds.catalogue import CATALOGUE
from hypot.kinds.known_kinds import WORKLOAD_GROUPS
from hypot.kinds.text.foreign import chart_of
from hypot.kinds.text.kustomize import can_be_built
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
PATCH: Final = "a patch for kustomize; check the result: `hypot lint --render DIR`"
# So many folders are named.
_MOST_NAMED: Final = 3


def is_broken(error: LoadError, named: Container[str]) -> bool:
    """Whether the user has to hear of it: a file that was named, or one that seems to hold an object that matters."""
    if error.why == "other":
        return bool(error.kinds) and error.file in named
    if error.why not in {"broken", "incomplete"}:
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


def how_to_render(left_out: Iterable[LoadError]) -> str | None:
    """What checks the result of templates and patches, if there are any."""
    sources = dict.fromkeys(map(_rendered_in, _first_of_folders(left_out)))
    if not sources:
        return None
    named = [source for source in sources if source is not None]
    if not named:
        return "to check the result of templates and patches, render them and pass the result: `hypot lint -`"
    commands = [f"`hypot lint --render {source}`" for source in named[:_MOST_NAMED]]
    more = f" and {len(named) - _MOST_NAMED} more" if len(named) > _MOST_NAMED else ""
    return f"to check the result of templates and patches: {', '.join(commands)}{more}"


def _first_of_folders(left_out: Iterable[LoadError]) -> Iterable[LoadError]:
    """One template and one patch of each folder, because all of a folder are rendered alike."""
    found: dict[tuple[str, PurePath], LoadError] = {}
    for error in left_out:
        if error.why in {"template", "patch"}:
            found.setdefault((error.why, PurePath(error.file).parent), error)
    return found.values()


def _rendered_in(error: LoadError) -> str | None:
    """The chart of a template, or the kustomization of a patch in the same folder."""
    if error.why == "template":
        return chart_of(error.file)
    folder = PurePath(error.file).parent
    return str(folder) if can_be_built(folder) else None


def _sort(error: LoadError) -> str:
    return error.why if error.why in _SORTS else "other"


def _count(number: int, sort: str) -> str:
    if sort == "other":
        return f"{count_of(number, 'file')} without Kubernetes objects"
    return f"{number} kustomize patch{'' if number == 1 else 'es'}" if sort == "patch" else count_of(number, "template")
