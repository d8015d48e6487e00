"""Values that are filled in later, such as ${REPLICAS} or <NAME>: what is found about them says nothing."""

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from hypot.core.regex import regex
from hypot.kinds.problem import Where

_PLACEHOLDER: Final = regex(
    r"""\$\{[^{}\s]+\}                # ${REPLICAS}, ${REPLICAS:=2} of envsubst and Flux
      | \$\([A-Za-z_]\w*\)            # $(REPLICAS) of make and kustomize
      | <[A-Za-z][\w. -]*>            # <NAME>
      | \{\{.*?\}\}                   # {{ name }} of templates
      | @@?[A-Z_]+@@?                 # @NAME@
      | \[\[.*?\]\]                   # [[ name ]]
    """,
    re.VERBOSE,
)
# A value such as a reference has its placeholders one or two levels below.
_DEPTH: Final = 3
# The path of a field of the metadata or of the spec.
_SHORTEST: Final = 2


def placeholder_in(value: Any, depth: int = _DEPTH) -> str | None:
    """The first placeholder in a value, if there is any."""
    if isinstance(value, str):
        found = _PLACEHOLDER.search(value)
        return found.group() if found else None
    below = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    return next((one for each in below if depth and (one := placeholder_in(each, depth - 1)) is not None), None)


def placeholder_at(data: Any, where: Where) -> str | None:
    """The placeholder in the value at this path, or in the deepest part of the path that exists if it is a text.

    A finding about the whole object, or about all of its spec, is true whatever is filled in.
    """
    if len(where) < _SHORTEST:
        return None
    for key in where:
        inner = _inner(data, key)
        if inner is None:
            return placeholder_in(data) if isinstance(data, str) else None
        data = inner
    return placeholder_in(data)


def _inner(data: Any, key: str | int) -> Any:
    if isinstance(data, Mapping):
        return data.get(key)
    if isinstance(data, list) and isinstance(key, int) and key < len(data):
        return data[key]
    return None


def placeholders_in(data: Any) -> Iterator[str]:
    """All placeholders, in order and with repetitions."""
    if isinstance(data, str):
        yield from (found.group() for found in _PLACEHOLDER.finditer(data))
    for each in data.values() if isinstance(data, Mapping) else data if isinstance(data, list) else ():
        yield from placeholders_in(each)


def how_to_fill_in(found: Collection[str], command: str) -> str:
    """What to run, so that the command gets the result."""
    if all(one.startswith("${") for one in found):
        return f"`envsubst < FILE | {command}`, or `flux envsubst` if there are defaults such as ${{MIN:=2}}"
    if all(one.startswith("$(") for one in found):
        return f"`kustomize build DIR | {command}`, or what else replaces $(NAME) in your deployment"
    return f"fill in the placeholders as your deployment does, and pass the result: `{command}`"
