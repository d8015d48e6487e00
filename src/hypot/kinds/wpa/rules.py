"""The rules for WatermarkPodAutoscalers: its controller's checks, and more that prevent harmful settings.

Every error here is also in the generated CRD, as schema or as CEL.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from hypot.core.quantity import Quantity
from hypot.core.regex import regex
from hypot.kinds.base import Ref, target_problems
from hypot.kinds.decode import decode_problems
from hypot.kinds.node import FRACTION_PATTERN, INT32, STRING, STRINGS, WHOLE_OR_QUANTITY, Node, Scalar, node, wire
from hypot.kinds.problem import Problem, Where, below, in_order, too_many, unsupported
from hypot.kinds.values.address import LONGEST_URL, shown_address
from hypot.kinds.wpa.fields import (
    ALGORITHMS,
    CONVERGENCES,
    TLS_VERSIONS,
    Amount,
    BandMetric,
    Recommender,
    TLSConfig,
    WPASpec,
    marks_of,
)

# An API server estimates the cost of CEL in advance, so lists and texts that CEL reads have a maximum length.
# API servers before 1.34 allow fifteen metrics: they estimate every quantity as a text of three megabytes.
MAX_METRICS = 15
MAX_SELECTOR_ENTRIES = 100
LONGEST_QUANTITY = 64
# Every text of this form is a quantity for both hypot and Kubernetes: it has digits, and a reasonable exponent.
QUANTITY_TEXT = r"^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,2})?$"

VALUES_NEEDED = ("In", "NotIn")
VALUES_FORBIDDEN = ("Exists", "DoesNotExist")
OPERATORS = VALUES_NEEDED + VALUES_FORBIDDEN

_FRACTION = regex(FRACTION_PATTERN)
_QUANTITY = regex(QUANTITY_TEXT)

_TEXTS = Scalar(
    "[]string",
    {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "atomic"},
    lambda v: isinstance(v, list) and all(isinstance(item, str) for item in v),
    "a list of strings",
)


@node
class MetricLabelRequirement(Node):
    GO: ClassVar[str] = "v2.LabelSelectorRequirement"

    key: str | None = wire("key", STRING, "the label")
    operator: str | None = wire("operator", STRING, "how the label relates to the values")
    values: list[str] | None = wire("values", _TEXTS, "for In and NotIn only")


@node
class MetricLabelSelector(Node):
    """The schema of a metricSelector. The value itself is kept as the mapping that was read."""

    GO: ClassVar[str] = "v2.LabelSelector"

    labels: Mapping[str, str] | None = wire("matchLabels", STRINGS, "labels and their values")
    expressions: tuple[MetricLabelRequirement, ...] | None = wire(
        "matchExpressions", MetricLabelRequirement, "all of them must hold", many=True
    )


def spec_problems(wpa: WPASpec) -> Iterator[Problem]:
    """The problems of a spec as it is, without applying defaults."""
    yield from target_problems(wpa.target or Ref(), ("spec", "scaleTargetRef"))
    yield from _replica_problems(wpa)
    yield from _tolerance_problems(wpa.tolerance)
    yield from _factor_problems(wpa)
    yield from _number_problems(wpa)
    if wpa.recommender is not None and wpa.metrics:
        message = "metrics and recommender are mutually exclusive"
        yield Problem("metrics-or-recommender", "Forbidden", ("spec", "recommender"), message, hint="keep one of them")
    if wpa.recommender is None and not wpa.metrics:
        message = "needs metrics or a recommender"
        hint = "write one of them; without either the target would be scaled down to minReplicas step by step"
        yield Problem("metrics-or-recommender", "Required", ("spec", "metrics"), message, hint=hint)
    yield from too_many("metric-count", len(wpa.metrics or ()), MAX_METRICS, ("spec", "metrics"))
    for i, metric in enumerate(wpa.metrics or ()):
        yield from _metric_problems(metric, ("spec", "metrics", i))
        yield from _block_problems(metric, ("spec", "metrics", i))
    if wpa.recommender is not None:
        yield from _recommender_problems(wpa.recommender, ("spec", "recommender"))
    yield from _quantity_problems(wpa, ("spec",))


def _replica_problems(wpa: WPASpec) -> Iterator[Problem]:
    low, high = wpa.min_replicas, wpa.max_replicas
    for rule, key, count in (("min-replicas", "minReplicas", low), ("max-replicas", "maxReplicas", high)):
        if count is None:
            yield Problem(rule, "Required", ("spec", key), "must be set")
        yield from below(rule, count, 1, ("spec", key))
    if low is not None and high is not None and high < low:
        message = "must be greater than or equal to minReplicas"
        yield Problem("min-over-max", "Invalid", ("spec", "maxReplicas"), message, high, in_order(low, high))


def _tolerance_problems(tolerance: Amount | None) -> Iterator[Problem]:
    if tolerance is None:
        return
    if not _is_share(tolerance):
        message = "must be a fraction between 0 and 1"
        yield Problem(
            "tolerance", "Invalid", ("spec", "tolerance"), message, tolerance, "write 0.01 or 10m for one percent"
        )


def _is_share(tolerance: Amount) -> bool:
    if isinstance(tolerance, str):
        return len(tolerance) <= LONGEST_QUANTITY and bool(_FRACTION.match(tolerance))
    return 0 <= tolerance <= 1


def _quantity_problems(part: Node, where: Where) -> Iterator[Problem]:
    """The problems of quantities, with the checks that a schema can do."""
    for name, w in part.TABLE:
        amount = getattr(part, name)
        if w.type is WHOLE_OR_QUANTITY and amount is not None and not _is_plain(amount):
            message = f"must be a whole number of 64 bits, or a plain quantity of at most {LONGEST_QUANTITY} characters"
            yield Problem("quantity", "Invalid", (*where, w.key), message, amount, "write 500m, 2 or 1.5Gi")


def _is_plain(amount: Amount) -> bool:
    if isinstance(amount, str):
        return len(amount) <= LONGEST_QUANTITY and bool(_QUANTITY.match(amount))
    return -(2**63) <= amount < 2**63


def _factor_problems(wpa: WPASpec) -> Iterator[Problem]:
    up, down = wpa.up_factor, wpa.down_factor
    for key, factor in (("scaleUpLimitFactor", up), ("scaleDownLimitFactor", down)):
        if factor is None:
            yield Problem("limit-factor", "Required", ("spec", key), "must be set once defaults are applied")
    if up is not None and Quantity.parse(up).sign < 0:
        yield Problem("limit-factor", "Invalid", ("spec", "scaleUpLimitFactor"), "must not be negative", up)
    if down is not None and not 0 <= Quantity.parse(down).nanos < 100 * 10**9:
        message = "must be at least 0 and less than 100"
        yield Problem("limit-factor", "Invalid", ("spec", "scaleDownLimitFactor"), message, down)


def _number_problems(wpa: WPASpec) -> Iterator[Problem]:
    """The problems of numbers out of range. The fields define the ranges; replica bounds have their own rules."""
    for name, w in wpa.TABLE:
        value, bounds = getattr(wpa, name), w.schema or {}
        if w.type is not INT32 or value is None or name in {"min_replicas", "max_replicas"}:
            continue
        yield from below("range", value, bounds["minimum"], ("spec", w.key))
        if value > bounds.get("maximum", value):
            message = f"must be less than or equal to {bounds['maximum']}"
            yield Problem("range", "Invalid", ("spec", w.key), message, value)
    if wpa.algorithm is not None and wpa.algorithm not in ALGORITHMS:
        message = unsupported(ALGORITHMS)
        yield Problem("algorithm", "NotSupported", ("spec", "algorithm"), message, wpa.algorithm)
    if wpa.converge and wpa.converge not in CONVERGENCES:
        message = unsupported(CONVERGENCES)
        yield Problem("converge", "NotSupported", ("spec", "convergeTowardsWatermark"), message, wpa.converge)


def _metric_problems(metric: BandMetric, where: Where) -> Iterator[Problem]:
    kind = metric.type or ""
    if kind not in {"External", "Resource"}:
        message = unsupported(("External", "Resource"))
        yield Problem("metric-type", "NotSupported", (*where, "type"), message, kind)
        return
    key, source = kind.lower(), metric.source
    if source is None:
        yield Problem("metric-source", "Required", (*where, key), f"type {kind} needs this block")
        return
    name_key = "metricName" if kind == "External" else "name"
    if not source.name:
        yield Problem("metric-name", "Required", (*where, key, name_key), "must specify a metric name")
    if source.selector is None:
        message, hint = "must be set", "write metricSelector: {} to match every series"
        yield Problem("metric-selector", "Required", (*where, key, "metricSelector"), message, hint=hint)
    yield from _mark_problems(source.high, source.low, (*where, key))


def _block_problems(metric: BandMetric, where: Where) -> Iterator[Problem]:
    """The rules that apply to a block even if the type names the other block: the API server reads both."""
    for key, source in (("external", metric.external), ("resource", metric.resource)):
        if source is None:
            continue
        yield from _quantity_problems(source, (*where, key))
        if source.selector is not None:
            yield from selector_problems(source.selector, (*where, key, "metricSelector"))


def selector_problems(written: Mapping[str, Any], where: Where) -> Iterator[Problem]:
    """The problems of a selector of metrics, as `MetricLabelSelector` describes it."""
    selector = MetricLabelSelector.read(written)
    yield from decode_problems(selector, where)
    selector = selector.readable()
    for key, entries in (("matchLabels", selector.labels or {}), ("matchExpressions", selector.expressions or ())):
        yield from too_many("selector", len(entries), MAX_SELECTOR_ENTRIES, (*where, key))
    for i, requirement in enumerate(selector.expressions or ()):
        yield from _requirement_problems(requirement, (*where, "matchExpressions", i))


def _requirement_problems(requirement: MetricLabelRequirement, where: Where) -> Iterator[Problem]:
    operator = requirement.operator or ""
    if not requirement.key:
        yield Problem("selector", "Required", (*where, "key"), "must name a label")
    if operator not in OPERATORS:
        yield Problem("selector", "NotSupported", (*where, "operator"), unsupported(OPERATORS), operator)
    if operator in VALUES_NEEDED and not requirement.values:
        yield Problem("selector", "Required", (*where, "values"), f"must be given for operator {operator}")
    if operator in VALUES_FORBIDDEN and requirement.values:
        yield Problem("selector", "Forbidden", (*where, "values"), f"must not be given for operator {operator}")


def _mark_problems(high: Amount | None, low: Amount | None, where: Where) -> Iterator[Problem]:
    if high is None and low is None:
        message = "at least one watermark must be set"
        yield Problem(
            "watermark",
            "Required",
            (*where, "highWatermark"),
            message,
            hint="write both watermarks; one alone acts as a target",
        )
        return
    top, bottom = (Quantity.parse(mark) for mark in marks_of(high, low) if mark is not None)
    if top.sign <= 0:
        key = "highWatermark" if high is not None else "lowWatermark"
        yield _mark("must be greater than zero", (*where, key), high if high is not None else low)
    if low is not None and high is not None and bottom.sign < 0:
        yield _mark("must not be negative", (*where, "lowWatermark"), low)
    if top < bottom:
        yield _mark("must not be below the low watermark", (*where, "highWatermark"), high)


def _mark(message: str, where: Where, value: Any) -> Problem:
    return Problem("watermark", "Invalid", where, message, value)


def _recommender_problems(recommender: Recommender, where: Where) -> Iterator[Problem]:
    url = recommender.url or ""
    if not url:
        yield Problem("recommender-url", "Required", (*where, "url"), "must be set")
    elif len(url) > LONGEST_URL:
        message = f"may not be more than {LONGEST_URL} characters"
        yield Problem("recommender-url", "TooLong", (*where, "url"), message)
    elif not re.match(r"https?://.", url):
        message = "must be an http or https address"
        yield Problem("recommender-url", "Invalid", (*where, "url"), message, shown_address(url))
    for key, mark in (("highWatermark", recommender.high), ("lowWatermark", recommender.low)):
        if mark is None:
            yield Problem("watermark", "Required", (*where, key), "a recommender needs both watermarks")
    if recommender.high is not None and recommender.low is not None:
        yield from _mark_problems(recommender.high, recommender.low, where)
    yield from _quantity_problems(recommender, where)
    tls = recommender.tls or TLSConfig()
    for key, version in (("minVersion", tls.min_version), ("maxVersion", tls.max_version)):
        if version is not None and version not in TLS_VERSIONS:
            message = unsupported(TLS_VERSIONS)
            yield Problem("tls-version", "NotSupported", (*where, "tlsConfig", key), message, version)
