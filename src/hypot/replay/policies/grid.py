"""A grid: each policy is replayed with every combination of some parameter values."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import product
from math import prod
from typing import Any, NamedTuple

from hypot.kinds.base import count_of
from hypot.kinds.catalogue import Autoscaler
from hypot.kinds.values.version import NEWEST, Version
from hypot.replay.policies.families import change
from hypot.replay.policies.grid_knobs import NotHere
from hypot.replay.policies.make import hindrances, made
from hypot.replay.policies.obstacles import Cluster, own_obstacles
from hypot.replay.policies.policy import LONGEST_NAME, Mishap, Policy, PolicyError, short_name, short_names
from hypot.replay.policies.start import Found
from hypot.replay.world.parameters import World

MOST_COMBINATIONS = 200
_NUMBER = r"(-?[0-9]{1,15}(?:\.[0-9]{1,9})?)([A-Za-z]{0,2})"
_RANGE = re.compile(rf"{_NUMBER}\.\.{_NUMBER}(?::{_NUMBER})?")
_LONGEST_TEXT = 1000
_MOST_REPORTED = 20


class GridError(ValueError):
    """A grid that cannot be made, with all its problems."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = tuple(problems)


@dataclass(frozen=True, slots=True)
class GridAxis:
    """One axis of the grid: a knob and its values as the user writes them: `hpa.cpu` and `50`, `55`, `60`."""

    subject: str
    values: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.subject}={','.join(self.values)}"


class _Wrong(Exception):  # noqa: N818  a verdict on one text; all of them become one GridError
    pass


def parse_grid(texts: Sequence[str]) -> tuple[GridAxis, ...]:
    """The axes as users write them: `hpa.cpu=50..90:5` or `hpa.cpu=50,70,80`. Raises GridError with all problems."""
    found: list[GridAxis] = []
    problems: list[str] = []
    for text in texts:
        try:
            axis = _parsed(text)
        except _Wrong as wrong:
            problems.append(f"--grid {text[:80]}: {wrong}")
            continue
        if any(axis.subject == other.subject for other in found):
            problems.append(f"--grid {text[:80]}: {axis.subject} is given twice; write all its values in one --grid")
        found.append(axis)
    count = prod(len(axis.values) for axis in found)
    if count > MOST_COMBINATIONS:
        problems.append(f"--grid: {count} combinations, more than the limit of {MOST_COMBINATIONS}; use longer steps")
    if problems:
        raise GridError(problems)
    return tuple(found)


def _parsed(text: str) -> GridAxis:
    subject, equals, written = text.rpartition("=")
    subject, written = subject.strip(), written.strip()
    owner, _, knob = subject.partition(".")
    if not equals or not owner or not knob or not written or len(text) > _LONGEST_TEXT:
        raise _Wrong("write it as hpa.cpu=50..90:5 or hpa.cpu=50,70,80")
    values = _range(written) if ".." in written else tuple(one.strip() for one in written.split(","))
    if not all(values):
        raise _Wrong("a value is missing between the commas")
    twice = next((one for i, one in enumerate(values) if one in values[:i]), "")
    if twice:
        raise _Wrong(f"{twice} is given twice")
    return GridAxis(subject, values)


def _range(text: str) -> tuple[str, ...]:
    """All values from the first to the last, in exact decimals; the last is included if a step reaches it."""
    found = _RANGE.fullmatch(text)
    if found is None:
        raise _Wrong("write a range as 50..90:5, or with a unit as 1h..12h:1h")
    first, unit, last, last_unit, step, step_unit = found.groups()
    if step is None:
        raise _Wrong(f"a range needs a step: {text}:{'5' + unit}")
    if len({unit or last_unit, last_unit, step_unit or last_unit}) > 1:
        raise _Wrong(f"use the same unit everywhere in {text}")
    low, high, by = Decimal(first), Decimal(last), Decimal(step)
    if by <= 0 or high < low:
        raise _Wrong("a range must go up, in steps above 0")
    if (high - low) / by >= MOST_COMBINATIONS:
        raise _Wrong(f"more than {MOST_COMBINATIONS} values; use longer steps")
    return tuple(f"{_shown(low + by * i)}{last_unit}" for i in range(int((high - low) // by) + 1))


def _shown(number: Decimal) -> str:
    """The number without an exponent, and without trailing zeros in the fraction."""
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


class _Pick(NamedTuple):
    """An axis of the grid as it applies to one policy: what changes in which of its autoscalers."""

    label: str
    place: int
    values: tuple[str, ...]
    apply: Callable[[dict[str, Any], str], None]


def expand(
    policies: Sequence[Policy],
    axes: Sequence[GridAxis],
    world: World,
    kubernetes: Version = NEWEST,
    gates: Mapping[str, bool] | None = None,
) -> list[Policy]:
    """Each policy in all combinations of the axes that apply to it; other policies are unchanged.

    The variants must keep the same rules as a manifest; raises PolicyError if one does not.
    """
    if not axes:
        return list(policies)
    picks = _Choice(policies).picks(axes)
    making = _Making(world, Cluster(kubernetes, gates))
    found = [made for policy, of_it in zip(policies, picks, strict=True) for made in making.variants(policy, of_it)]
    if making.mishaps:
        raise PolicyError(_some(making.mishaps))
    names = [policy.name for policy in found]
    twice = next((name for i, name in enumerate(names) if name in names[:i]), "")
    if twice:
        raise GridError([f"--grid: two policies would be called {twice!r}; give the policies shorter names"])
    return found


def _some(mishaps: Sequence[Mishap]) -> list[Mishap]:
    """The first problems: the values of one axis are mostly wrong in the same way."""
    rest = len(mishaps) - _MOST_REPORTED
    return [
        *mishaps[:_MOST_REPORTED],
        *([Mishap(None, (), f"and {count_of(rest, 'more problem')}")] if rest > 0 else []),
    ]


class _Choice:
    """Finds which axes of the grid apply to which policies."""

    def __init__(self, policies: Sequence[Policy]) -> None:
        self._policies = policies

    def picks(self, axes: Sequence[GridAxis]) -> list[list[_Pick]]:
        chosen: list[list[_Pick]] = [[] for _ in self._policies]
        problems = []
        for axis in axes:
            try:
                for i, pick in self._of(axis):
                    self._refuse_twice(i, pick, chosen[i])
                    chosen[i].append(pick)
            except _Wrong as wrong:
                problems.append(f"--grid {axis}: {wrong}")
        if problems:
            raise GridError(problems)
        return chosen

    def _of(self, axis: GridAxis) -> list[tuple[int, _Pick]]:
        policies, kind, knob = self._subject(axis.subject)
        found: list[tuple[int, _Pick]] = []
        refusals: list[str] = []
        changes = False
        for i in policies:
            for place, autoscaler in enumerate(self._policies[i].autoscalers):
                word = short_name(autoscaler)
                if kind not in {"", word}:
                    continue
                try:
                    apply = change(autoscaler, knob)
                    changes = changes or any(_differs(autoscaler, apply, value) for value in axis.values)
                except NotHere as reason:
                    refusals.append(f"{autoscaler}: {reason}")
                    continue
                found.append((i, _Pick(_label(knob), place, axis.values, apply)))
        if not found:
            raise _Wrong(
                "; ".join(dict.fromkeys(refusals))
                or f"there is no autoscaler {f'of kind {kind} ' if kind else ''}in it"
            )
        if not changes:
            raise _Wrong("changes nothing: every manifest already has this value")
        self._refuse_two_in_one(found)
        return found

    def _refuse_twice(self, i: int, pick: _Pick, chosen: Sequence[_Pick]) -> None:
        if any((pick.place, pick.label) == (other.place, other.label) for other in chosen):
            raise _Wrong(f"another --grid already sets {pick.label} of policy {self._policies[i].name!r}")

    def _refuse_two_in_one(self, found: Sequence[tuple[int, _Pick]]) -> None:
        for i, _ in found:
            if sum(1 for other, _ in found if other == i) > 1:
                kinds = [short_name(one) for one in self._policies[i].autoscalers]
                todo = f"write the kind before the knob: {' or '.join(kinds)}"
                raise _Wrong(f"policy {self._policies[i].name!r} has several autoscalers; {todo}")

    def _subject(self, subject: str) -> tuple[list[int], str, str]:
        """The policies, the kind and the knob to which the text left of the equals sign refers."""
        names = [policy.name for policy in self._policies]
        named = max((name for name in names if subject.startswith(f"{name}.")), key=len, default="")
        rest = subject[len(named) + 1 :] if named else subject
        kind, _, knob = rest.partition(".")
        kind, knob = (kind, knob) if kind in short_names() and knob else ("", rest)
        if not named and not kind:
            message = f"{subject.partition('.')[0]} is neither a policy nor one of {', '.join(short_names())}"
            raise _Wrong(f"{message}; policies are {', '.join(names[:10])}")
        return [i for i, name in enumerate(names) if name == named or not named], kind, knob


def _differs(autoscaler: Autoscaler, apply: Callable[[dict[str, Any], str], None], value: str) -> bool:
    data = autoscaler.to_dict()
    apply(data, value)
    return data != autoscaler.to_dict()


def _label(knob: str) -> str:
    """The name of a knob in policy names; for a path, its last part."""
    parts = knob.split(".")
    return knob if parts[0] != "spec" else parts[-1]


class _Making:
    """Makes the variants of a grid, and collects their problems."""

    def __init__(self, world: World, cluster: Cluster) -> None:
        self._world, self._cluster = world, cluster
        self.mishaps: list[Mishap] = []

    def variants(self, policy: Policy, picks: Sequence[_Pick]) -> Iterator[Policy]:
        if not picks:
            yield policy
            return
        for values in product(*(pick.values for pick in picks)):
            tail = " ".join(f"{pick.label}={value}" for pick, value in zip(picks, values, strict=True))
            found = self._variant(policy, picks, values, _named(policy.name, tail))
            if found is not None:
                yield found

    def _variant(self, policy: Policy, picks: Sequence[_Pick], values: Sequence[str], name: str) -> Policy | None:
        data = [one.to_dict() for one in policy.autoscalers]
        for pick, value in zip(picks, values, strict=True):
            pick.apply(data[pick.place], value)
        autoscalers = [type(one).from_dict(changed) for one, changed in zip(policy.autoscalers, data, strict=True)]
        placed = list(zip(autoscalers, policy.sources or (None,) * len(autoscalers), strict=True))
        mishaps = [
            Mishap(source, where, f"{name}: {message}")
            for autoscaler, source in placed
            for where, message in own_obstacles(autoscaler, self._cluster)
        ]
        mishaps += hindrances(name, placed, Found(policy.workload), self._world, policy.named_hpa)
        self.mishaps += mishaps
        if mishaps:
            return None
        return replace(made(name, placed, policy.workload, policy.notes, policy.named_hpa), family=policy.name)


def _named(name: str, tail: str) -> str:
    """The policy's name and what differs; the name is shortened if the whole is too long."""
    room = LONGEST_NAME - len(tail) - 1
    if len(name) <= room:
        return f"{name} {tail}"
    return f"{name[: room - 1]}… {tail}" if room > 1 else tail[-LONGEST_NAME:]
