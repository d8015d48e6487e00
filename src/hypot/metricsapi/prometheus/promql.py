"""The PromQL of a rule: everything that a scrape of each of its pods would give, in one query.

A total is the sum of the last samples of a pod's series, so it is what a scrape at their time has counted. For a
counter there is a second total, of a window earlier: a rate comes from two totals, as with scrapes.
"""

from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import NamedTuple

from hypot.kinds.metric_rules.fields import FromPrometheus
from hypot.kinds.selector import Requirement, Selector, read_line_selector
from hypot.metricsapi.body.totals import Wanted
from hypot.metricsapi.plan import RulePlan

# The label that says what a series of the answer is.
PART_LABEL = "hypot_part"
_NOTHING = ('{key}=""', '{key}!=""')
_OPERATORS = {("in", True): "=", ("in", False): "=~", ("notin", True): "!=", ("notin", False): "!~"}
_IN_PATTERNS = frozenset(r"\.+*?()|[]{}^$")


class Part(StrEnum):
    """What a series says about a pod: a total, when it was measured, and whether that was at several times."""

    TOTAL = "total"
    AT = "at"
    SEVERAL = "several"


class PartOf(NamedTuple):
    """A part of the metric number `i`; of the sample before if it is `earlier`."""

    i: int
    part: Part
    earlier: bool

    def __str__(self) -> str:
        return f"{self.i} {'earlier' if self.earlier else 'now'} {self.part}"


class PodLabels(NamedTuple):
    """The labels that name the namespace and the pod of a series."""

    namespace: str
    pod: str


def labels_of_pods(rule: RulePlan) -> PodLabels:
    source = rule.prometheus or FromPrometheus()
    return PodLabels(source.namespace_label or "namespace", source.pod_label or "pod")


def query_of(rule: RulePlan, window: float) -> str:
    """The query of a rule that takes its values from a Prometheus; `window` is in seconds."""
    return "\nor\n".join(_labelled(part, text) for part, text in _parts(rule, window))


def _parts(rule: RulePlan, window: float) -> Iterator[tuple[PartOf, str]]:
    labels, source = labels_of_pods(rule), rule.prometheus or FromPrometheus()
    by, target = (
        f"by ({labels.namespace}, {labels.pod})",
        (*_of_pods(rule, labels), *_of(read_line_selector(source.where))),
    )
    for i, (wanted, served) in enumerate(zip(rule.wanted, rule.served, strict=True)):
        for earlier in (False, True) if served.is_counter else (False,):
            offset = f" offset {round(window * 1000)}ms" if earlier else ""
            at = f"timestamp({_series(wanted.name, target)}{offset})"
            yield PartOf(i, Part.TOTAL, earlier), f"sum {by} ({_weighted(wanted, target, offset)})"
            yield PartOf(i, Part.AT, earlier), f"min {by} ({at})"
            yield PartOf(i, Part.SEVERAL, earlier), f"max {by} ({at}) > min {by} ({at})"


def _weighted(wanted: Wanted, target: Iterable[str], offset: str) -> str:
    """All series of a metric, each times its weight.

    `or` takes a series from the first operand that has it, so the first weight that matches counts. Those that do not
    count have the weight 0: they still show that the metric is there.
    """
    chosen = (*target, *_of(wanted.where))
    terms = [f"{weight!r} * {_series(wanted.name, (*chosen, *_of(where)))}{offset}" for where, weight in wanted.weights]
    terms.append(f"{_series(wanted.name, chosen)}{offset}")
    if wanted.where.requirements:
        terms.append(f"0 * {_series(wanted.name, target)}{offset}")
    return " or ".join(terms)


def _of_pods(rule: RulePlan, labels: PodLabels) -> Iterator[str]:
    """Leaves out most series of other pods. Which pods a rule chooses is known better than Prometheus knows it."""
    if rule.names:
        yield _matcher(Requirement(labels.namespace, "in", tuple(sorted(rule.names))))
    if rule.by_name.prefix:
        yield f"{labels.namespace}=~{_quoted(f'{_pattern(rule.by_name.prefix)}.*')}"
    yield f'{labels.pod}!=""'


def _of(selector: Selector) -> list[str]:
    return [_matcher(one) for one in selector.requirements]


def _matcher(one: Requirement) -> str:
    """In Prometheus a label without a value is no label, and it matches what an absent one matches."""
    if one.operator in {"exists", "!"}:
        return f'{one.key}{"!=" if one.operator == "exists" else "="}""'
    values = [value for value in one.values if value]
    if not values and one.operator == "in":
        return ",".join(each.format(key=one.key) for each in _NOTHING)
    if not values:
        return f'{one.key}=~".*"'
    operator = _OPERATORS[one.operator, len(values) == 1]
    return f"{one.key}{operator}{_quoted(values[0] if len(values) == 1 else '|'.join(map(_pattern, values)))}"


def _pattern(text: str) -> str:
    """A pattern that matches exactly this text; all patterns of PromQL are for the whole value."""
    return "".join(f"\\{letter}" if letter in _IN_PATTERNS else letter for letter in text)


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _series(name: str, matchers: Iterable[str]) -> str:
    return f"{name}{{{','.join(matchers)}}}"


def _labelled(part: PartOf, text: str) -> str:
    return f'label_replace({text}, "{PART_LABEL}", "{part}", "", "")'
