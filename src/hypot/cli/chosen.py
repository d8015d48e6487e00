"""Autoscalers that were named on the command line, by themselves or by their targets."""

import os.path
from collections.abc import Iterable

import click

from hypot.cli.files import BadInput
from hypot.kinds.base import Ref, refer
from hypot.kinds.catalogue import Autoscaler, info_of
from hypot.kinds.problem import did_you_mean, some
from hypot.policy.observe.targets import target_of


def files_among(words: Iterable[str]) -> tuple[str, ...]:
    """The words that are files or folders, as in `hypot decide k8s/ deployment/web`; also a link that leads nowhere."""
    return tuple(word for word in words if word == "-" or ("\0" not in word and os.path.lexists(word)))


def named_objects(words: Iterable[str]) -> tuple[Ref, ...]:
    """References from words such as deployment/web. Raises UsageError."""
    found = []
    for word in words:
        ref = refer(word)
        if not ref.kind or not ref.name:
            raise click.UsageError(
                f"{word!r} is no file, and names no object; write KIND/NAME, such as deployment/web or hpa/web"
            )
        found.append(ref)
    return tuple(found)


def is_chosen(autoscaler: Autoscaler, refs: tuple[Ref, ...]) -> bool:
    """Whether it is one of these, or scales one of these; without any, all are chosen."""
    if not refs:
        return True
    itself = Ref(autoscaler.API_VERSION, autoscaler.KIND, autoscaler.name)
    return any(_is_same(ref, one) for ref in refs for one in (itself, target_of(autoscaler)))


def _is_same(asked: Ref, one: Ref) -> bool:
    """Whether both name the same object, in any version of its group."""
    same_kind = (asked.kind or "").lower() == (one.kind or "").lower() and asked.name == one.name
    return same_kind and (not asked.api_version or asked.group == one.group)


def none_chosen(refs: tuple[Ref, ...], autoscalers: Iterable[Autoscaler], place: str) -> BadInput:
    """The error if there are autoscalers, but none of those that were named."""
    asked = " or ".join(str(ref) for ref in refs)
    there = sorted({_shown(one) for one in autoscalers})
    targets = [str(target_of(one)) for one in autoscalers]
    hint = did_you_mean(str(refs[0]), targets)
    return BadInput(f"no autoscaler of {asked} in {place}; {hint or f'there are {some(there)}'}")


def _shown(autoscaler: Autoscaler) -> str:
    name = f"{info_of(autoscaler).abbreviation} {autoscaler.namespace}/{autoscaler.name}"
    return f"{name} ({target_of(autoscaler)})"
