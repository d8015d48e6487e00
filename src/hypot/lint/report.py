"""Run the rules on objects and report the findings."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field as dataclass_field
from dataclasses import replace
from typing import Any, NamedTuple

from hypot.core.dataclass import dataclass
from hypot.kinds.base import InvalidAutoscaler, Kind, count_of
from hypot.kinds.problem import Problem, Severity, Where, dotted, without_consequences
from hypot.kinds.text.load import LoadedFiles, LoadError, Source
from hypot.kinds.values.version import NEWEST, Version, as_version
from hypot.lint.input.item import Item
from hypot.lint.input.placeholders import placeholder_at
from hypot.lint.input.world import InputWorld, kinds_of
from hypot.lint.rule import Rule
from hypot.lint.rule_list import known_ids, rule_of, rules_for
from hypot.lint.rules.given import PLACEHOLDER, UNREADABLE, ignored_by, objects_that_matter

# Errors that a wrong unit leads to.
_FROM_UNITS = frozenset({"allowed-range", "whole-amount"})
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "advice")


class Place(NamedTuple):
    """Where the other object of a conflict is. `file` is empty and `line` None as in a Finding."""

    file: str
    line: int | None
    object: str

    def to_dict(self) -> dict[str, Any]:
        return self._asdict()


@dataclass(frozen=True, slots=True)
class Finding:
    """One violation of one rule. `file` is empty and `line` is None for objects that were not read from a file.

    What a tool rendered from a file has that file, and no line.
    """

    rule: str
    severity: Severity
    file: str
    line: int | None
    api_version: str
    kind: str
    namespace: str
    name: str
    field: str
    message: str
    hint: str
    where: Where = dataclass_field(default=(), repr=False)
    rendered: bool = False
    related: tuple[Place, ...] = ()

    @property
    def object(self) -> str:
        """Its kind, namespace and name; empty if the object could not be read."""
        return f"{self.kind} {self.namespace}/{self.name}" if self.kind else ""

    def to_dict(self) -> dict[str, Any]:
        return {
            "rule": self.rule,
            "severity": self.severity,
            "file": self.file,
            "line": self.line,
            "rendered": self.rendered,
            "object": {
                "apiVersion": self.api_version,
                "kind": self.kind,
                "namespace": self.namespace,
                "name": self.name,
            },
            "field": self.field,
            "message": self.message,
            "hint": self.hint,
            "related": [place.to_dict() for place in self.related],
        }

    def to_problem(self) -> Problem:
        """The finding as a Problem, which is what kinds report."""
        path = f"{self.object} {self.field}"
        return Problem(self.rule, "", self.where, self.message, None, self.hint, self.severity, path)


@dataclass(frozen=True, slots=True)
class LintReport:
    """All findings, sorted by file and line; `known` are left out of them."""

    findings: tuple[Finding, ...]
    objects: int
    files: int
    autoscalers: int
    silenced: int
    known: int = 0
    variants: tuple[str, ...] = ()
    """The autoscalers and targets that several folders define."""

    @property
    def errors(self) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.findings if finding.severity == "error")

    def count(self) -> dict[Severity, int]:
        counts = Counter(finding.severity for finding in self.findings)
        return {severity: counts[severity] for severity in SEVERITIES}

    def raise_for_errors(self) -> None:
        """Raise one exception that lists every error, if there are any."""
        found = self.errors
        if found:
            raise InvalidAutoscaler(count_of(self.objects, "object"), [finding.to_problem() for finding in found])

    def to_dict(self) -> dict[str, Any]:
        counts = self.count()
        summary = {
            "errors": counts["error"],
            "warnings": counts["warning"],
            "advice": counts["advice"],
            "silenced": self.silenced,
            "known": self.known,
            "files": self.files,
            "objects": self.objects,
            "autoscalers": self.autoscalers,
        }
        return {"findings": [finding.to_dict() for finding in self.findings], "summary": summary}


def check(
    *objects: Kind | Mapping[str, Any] | LoadedFiles,
    kubernetes: str | Version = NEWEST,
    ignore: Iterable[str] = (),
    unread: Iterable[LoadError] = (),
    complete: bool = False,
) -> LintReport:
    """Run every rule on these objects together, as a cluster of that Kubernetes version would see them.

    `unread` is what could not be read of the input; each is a finding. If the input is `complete`, as all of a cluster
    is, a target that is not in it does not exist.

    >>> check(HPA("deployment/web", max_replicas=10)).errors
    ()
    """
    version = as_version(kubernetes)
    world = InputWorld([_item(one) for one in objects], version, complete=complete)
    ignored = known_ids(ignore)
    heard: list[tuple[Item, Finding]] = []
    silenced = 0
    for item, finding in _found(world):
        if finding.severity == "advice" and item.controlled:
            continue  # the controlling object decides this, so advice on this object has no effect
        if finding.rule != PLACEHOLDER and placeholder_at(item.data, finding.where) is not None:
            continue  # something else is in its place when the object is applied
        if finding.rule in ignored or finding.rule in ignored_by(item):
            silenced += 1
        else:
            heard.append((item, finding))
    heard = _with_causes(heard)
    broken = [] if UNREADABLE in ignored else [_unreadable(error) for error in unread]
    files = {item.source.file for item in world.items if item.source is not None} | {one.file for one in broken}
    autoscalers = sum(1 for _ in world.autoscalers) + len(world.scaled_objects)
    findings = sorted([*broken, *_placed(world, heard)], key=lambda finding: (finding.file, finding.line or 0))
    mattering = {key._replace(variant="") for key in objects_that_matter(world) if key is not None}
    variants = tuple(str(key) for key in world.variants if key in mattering)
    return LintReport(tuple(findings), len(world.items), len(files), autoscalers, silenced, variants=variants)


def _unreadable(error: LoadError) -> Finding:
    rule = rule_of(UNREADABLE)
    return Finding(
        rule.id, rule.severity, error.file, error.line, "", "", "", "", "", error.message, error.hint or rule.fix
    )


def _item(one: Kind | Mapping[str, Any] | LoadedFiles) -> Item:
    if isinstance(one, LoadedFiles):
        return Item(one.data, one.source)
    if not isinstance(one, Kind | Mapping):
        raise TypeError(f"check takes autoscalers and manifests, not {type(one).__name__}; from_yaml reads text")
    return Item(one.to_dict() if isinstance(one, Kind) else dict(one))


def _found(world: InputWorld) -> Iterator[tuple[Item, Finding]]:
    for item, kind in kinds_of(world):
        for problem in dict.fromkeys(
            (p.rule, p.where, _message(p), p.hint, p.severity)
            for p in without_consequences(kind.problems(world.kubernetes))
            if p.kind != "Version"
        ):
            rule_id, where, message, hint, severity = problem
            yield item, replace(_finding(rule_of(rule_id), item, where, message, hint), severity=severity)
    for rule in rules_for(world):
        for hit in rule.check(world) if rule.check is not None else ():
            yield hit.item, _finding(rule, *hit)


def _with_causes(heard: list[tuple[Item, Finding]]) -> list[tuple[Item, Finding]]:
    """An error that comes from a wrong unit, such as bounds that exclude each other, is one mistake: the unit."""
    slips = {(id(item), _bound(one)): one for item, one in heard if one.rule == "unit-slip"}
    errors = {(id(item), _bound(one)) for item, one in heard if one.rule in _FROM_UNITS}
    found = []
    for item, one in heard:
        place = id(item), _bound(one)
        if one.rule in _FROM_UNITS and place in slips:
            found.append((item, replace(one, message=f"{one.message}; {slips[place].message}", hint=slips[place].hint)))
        elif one.rule != "unit-slip" or place not in errors:
            found.append((item, one))
    return found


def _bound(finding: Finding) -> Where:
    """Which resource of which policy, whether minAllowed or maxAllowed."""
    return (*finding.where[:-2], *finding.where[-1:])


def _message(problem: Problem) -> str:
    """The problem as the API server renders it, without the path: a finding shows the path separately."""
    return str(problem).removeprefix(f"{problem.field}: ")


def _finding(rule: Rule, item: Item, where: Where, message: str, hint: str, others: tuple[Item, ...] = ()) -> Finding:
    where = _as_written(item, where)
    return Finding(
        rule.id,
        rule.severity,
        item.source.file if item.source is not None else "",
        None,
        item.api_version,
        item.kind,
        item.namespace,
        item.name,
        dotted(where),
        message,
        hint or rule.fix,
        where,
        related=tuple(_place(one) for one in others),
    )


def _place(item: Item) -> Place:
    source = item.source
    if source is None:
        return Place("", None, str(item))
    return Place(source.file, None if source.rendered else source.line, str(item))


def _as_written(item: Item, where: Where) -> Where:
    """The path as written: in autoscaling/v1 the only metric is a percentage in the spec."""
    percentage = "targetCPUUtilizationPercentage"
    if where[:2] == ("spec", "metrics") and percentage in item.spec and item.api_version == "autoscaling/v1":
        return ("spec", percentage)
    return where


def _placed(world: InputWorld, heard: list[tuple[Item, Finding]]) -> list[Finding]:
    """The findings with line numbers, sorted. Works by object: finding lines reads an object's text again."""
    order = {id(item): i for i, item in enumerate(world.items)}
    heard.sort(key=lambda one: order[id(one[0])])
    placed = [(order[id(item)], _with_line(finding, item.source)) for item, finding in heard]
    placed.sort(key=lambda one: _rank(*one))
    return _once([finding for _, finding in placed])


def _once(findings: list[Finding]) -> list[Finding]:
    """What several alternatives cause is one finding, and names all of them."""
    found: dict[Finding, list[Place]] = {}
    for finding in findings:
        found.setdefault(replace(finding, related=()), []).extend(finding.related)
    return [replace(one, related=tuple(dict.fromkeys(places))) for one, places in found.items()]


def _with_line(finding: Finding, source: Source | None) -> Finding:
    if source is None:
        return finding
    return replace(finding, rendered=True) if source.rendered else replace(finding, line=source.line_of(finding.where))


def _rank(order: int, finding: Finding) -> tuple[str, int, int, int, str]:
    return (finding.file, finding.line or 0, order, SEVERITIES.index(finding.severity), finding.rule)
