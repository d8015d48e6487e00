"""What the commands of `hypot new` share: all problems at once, the checks, and the output."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, NamedTuple, TypeVar

import click

from hypot.authoring.words import UnclearError
from hypot.cli.files import BadInput
from hypot.cli.options import Word
from hypot.cli.output import to_json
from hypot.face.style import printable
from hypot.kinds.base import InvalidAutoscaler, Kind, Ref, refer, target_problems
from hypot.kinds.problem import Problem, shown
from hypot.kinds.values.names import dns_subdomain
from hypot.lint import check

T = TypeVar("T")
Option = Callable[[Callable[..., Any]], Callable[..., Any]]

# Every new object is alone, so that this advice would always come.
_ALONE = frozenset({"target-not-given"})
_SHARED: tuple[Option, ...] = (
    click.argument("target", metavar="KIND/NAME"),
    click.option("-n", "--namespace", help="The namespace of the object."),
    click.option("--name", help="The name of the object; by default that of its target."),
    click.option("-o", "--output", type=Word(["text", "json"]), default="text", show_default=True),
)


class SharedOptions(NamedTuple):
    """What all commands take: the target, the namespace, the name, and the form of the output."""

    target: str
    namespace: str | None
    name: str | None
    output: str


def shared_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Pass the shared options as one value."""

    @wraps(command)
    def called(**given: Any) -> Any:
        return command(SharedOptions(**{field: given.pop(field) for field in SharedOptions._fields}), **given)

    made: Callable[..., Any] = called
    for option in reversed(_SHARED):
        made = option(made)
    return made


class Words:
    """Reads options, and keeps what is wrong with each, so that all of it is reported at once."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._problems: list[str] = []

    def read(self, option: str, text: str | None, reader: Callable[[str], T]) -> T | None:
        """None if the option is absent or wrong."""
        if text is None:
            return None
        try:
            return reader(text)
        except UnclearError as error:
            self._problems.append(f"{option}: {error}")
            return None

    def target(self, text: str) -> Ref:
        ref = refer(text)
        if ref.api_version is None or any(target_problems(ref, ())) or any(dns_subdomain(ref.name or "")):
            self._problems.append(f"{text!r} is not a workload: write deployment/web, or statefulset/db")
        return ref

    def wrong(self, problem: str) -> None:
        self._problems.append(problem)

    @contextmanager
    def checked(self) -> Iterator[None]:
        """For the constructor: if the words were wrong, its problems would be about what is missing."""
        if self._problems:
            self._refuse()
        try:
            yield
        except InvalidAutoscaler as error:
            self._problems += [_sentence(problem) for problem in error.problems]
            self._refuse()

    def _refuse(self) -> None:
        number = len(self._problems)
        head = f"{self._what}: {number} problem{'s' if number > 1 else ''}"
        lines = [f"  {i}. {printable(problem)}" for i, problem in enumerate(self._problems, 1)]
        raise BadInput("\n".join([head, *lines]))


def _sentence(problem: Problem) -> str:
    value = "" if problem.value is None else f"{shown(problem.value)} "
    hint = f"; {problem.hint}" if problem.hint else ""
    return f"{problem.field}: {value}{problem.message or 'is required'}{hint}"


def print_made(one: Kind, output: str) -> None:
    """The manifest on standard output, and what lint advises on standard error."""
    for finding in check(one, ignore=_ALONE).findings:
        fix = finding.hint.partition("\n")[0]
        click.echo(f"{finding.severity}: {finding.message} [{finding.rule}]{f'; {fix}' if fix else ''}", err=True)
    click.echo((to_json(one.to_dict()) if output == "json" else one.to_yaml()).encode(), nl=False)
