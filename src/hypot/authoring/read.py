"""Reads autoscalers from YAML or JSON text."""

from collections.abc import Iterable
from typing import NamedTuple, cast

from hypot.kinds.catalogue import Autoscaler, find_autoscaler
from hypot.kinds.problem import Problem
from hypot.kinds.text.load import LoadedFiles, load_text
from hypot.kinds.values.names import group_of


class LocatedProblem(NamedTuple):
    """A problem of one object, and its line."""

    line: int
    problem: Problem

    def __str__(self) -> str:
        return f"line {self.line}: {self.problem}"


class Loaded(list[Autoscaler]):
    """The autoscalers of a text, in its order.

    `others` names the documents that are no autoscalers, and `problems` has the problems of all, each with its line.
    """

    def __init__(
        self, autoscalers: Iterable[Autoscaler], others: Iterable[str] = (), problems: Iterable[LocatedProblem] = ()
    ) -> None:
        super().__init__(autoscalers)
        self.others = tuple(others)
        self.problems = tuple(problems)


def from_yaml(text: str) -> Loaded:
    """All autoscalers in this text, valid or not. Raises LoadError with the line if it is not YAML or JSON.

    >>> from_yaml(to_yaml(HPA("deployment/web", max_replicas=10)))[0].max_replicas
    10
    """
    made, others, problems = list[Autoscaler](), list[str](), list[LocatedProblem]()
    for one in load_text(text):
        autoscaler = autoscaler_of(one)
        if autoscaler is None:
            others.append(f"line {one.source.line}: {one.data['kind']} is not a kind of autoscaler that hypot knows")
            continue
        made.append(autoscaler)
        problems += [LocatedProblem(one.source.line_of(each.where), each) for each in autoscaler.problems()]
    return Loaded(made, others, problems)


def autoscaler_of(one: LoadedFiles) -> Autoscaler | None:
    """The object as its kind, or None if it is no autoscaler."""
    info = find_autoscaler(group_of(one.data["apiVersion"]), one.data["kind"])
    return cast("Autoscaler", info.kind.from_dict(one.data)) if info is not None else None
