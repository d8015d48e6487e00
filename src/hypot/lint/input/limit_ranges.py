"""The defaults that the LimitRanges of a namespace give to containers."""

from collections.abc import Iterable
from typing import Any

from hypot.kinds.pod_template import Defaults, given_in
from hypot.kinds.values.nested import inner
from hypot.lint.input.item import Item, dig, sequence


def defaults_of(limit_ranges: Iterable[Item]) -> Defaults:
    """As the API server computes them: the default limit falls back to max, the default request to that or to min."""
    requests: dict[str, Any] = {}
    limits: dict[str, Any] = {}
    for item in limit_ranges:
        for entry in sequence(item.spec.get("limits")):
            if dig(entry, "type") != "Container":
                continue
            most = {**given_in(inner(entry, "max")), **given_in(inner(entry, "default"))}
            asked = {**given_in(inner(entry, "min")), **most, **given_in(inner(entry, "defaultRequest"))}
            limits = {**most, **limits}
            requests = {**asked, **requests}
    return Defaults(requests, limits)
