"""What `/metrics` says about the metrics server itself."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from hypot.metricsapi.ages import Ages
from hypot.metricsapi.collector import Collected, Collector
from hypot.metricsapi.costs import families as cost_families
from hypot.metricsapi.prometheus.querier import QueryCounts
from hypot.metricsapi.scrape.scraper import ScrapeCounts
from hypot.metricsapi.serve.api import Others
from hypot.metricsapi.targets import ScrapeTarget, ScrapeTargets
from hypot.serving.text_format import MetricFamily, Sample, family_table, labelled, rendered, sort_in

LEADER = "hypot_metrics_leader"
TARGETS = "hypot_metrics_targets"
FAULTY = "hypot_metrics_targets_faulty"
UNREACHABLE = "hypot_metrics_pods_unreachable"
WITHOUT_METRIC = "hypot_metrics_targets_without_metric"
WITHOUT_VALUE = "hypot_metrics_targets_without_value"
VALUE_AGE = "hypot_metrics_oldest_value_age_seconds"
SCRAPES = "hypot_metrics_scrapes_total"
SCRAPE_SECONDS = "hypot_metrics_scrape_seconds_total"
SCRAPED_BYTES = "hypot_metrics_scraped_bytes_total"
FAULTS = "hypot_metrics_scrape_faults_total"
QUERIES = "hypot_metrics_queries_total"
QUERY_SECONDS = "hypot_metrics_query_seconds_total"
QUERY_FAULTS = "hypot_metrics_query_faults_total"
REJECTED = "hypot_metrics_rejected_samples_total"
ANSWERS = "hypot_metrics_answers_total"
FORWARD_UP = "hypot_metrics_forward_up"
FORWARDED = "hypot_metrics_forwarded_total"
FORWARD_FAULTS = "hypot_metrics_forward_faults_total"
RULES_INVALID = "hypot_metrics_rules_invalid"
CERTIFICATE = "hypot_metrics_certificate_expiry_seconds"

FAMILIES = (
    MetricFamily(LEADER, "gauge", "1 in the replica that leads and serves, 0 in the others."),
    MetricFamily(TARGETS, "gauge", "Pods that the rule chooses.", ("rule",)),
    MetricFamily(
        UNREACHABLE,
        "gauge",
        "Pods that the rule chooses but cannot scrape: they have no port of that name (port), or no address that may "
        "be scraped (address).",
        ("rule", "reason"),
    ),
    MetricFamily(FAULTY, "gauge", "Pods whose last scrape or query failed.", ("rule",)),
    MetricFamily(
        WITHOUT_METRIC,
        "gauge",
        "Pods that did not have all metrics of the rule at the last scrape or query that did not fail.",
        ("rule",),
    ),
    MetricFamily(WITHOUT_VALUE, "gauge", "Pods without a value that may be served.", ("rule",)),
    MetricFamily(VALUE_AGE, "gauge", "The age of the oldest value that is served; absent without one.", ("rule",)),
    MetricFamily(SCRAPES, "counter", "Scrapes that ended, in any way."),
    MetricFamily(SCRAPE_SECONDS, "counter", "How long successful scrapes took, added up."),
    MetricFamily(SCRAPED_BYTES, "counter", "Bytes of bodies, after they were unpacked."),
    MetricFamily(
        FAULTS,
        "counter",
        "Scrapes that failed: connection, credentials, status, timeout, too-large, body.",
        ("reason",),
    ),
    MetricFamily(QUERIES, "counter", "Queries to Prometheus that ended, in any way."),
    MetricFamily(QUERY_SECONDS, "counter", "How long successful queries took, added up."),
    MetricFamily(
        QUERY_FAULTS,
        "counter",
        "Queries that failed: connection, credentials, status, timeout, too-large, body. And pods without a value in "
        "an answer: no series (missing), series of several scrapes (several), or no number (value).",
        ("reason",),
    ),
    MetricFamily(
        REJECTED,
        "counter",
        "Samples that give no rate: the counter restarted (reset), or it was measured too soon after the last one.",
        ("reason",),
    ),
    MetricFamily(ANSWERS, "counter", "Answers to requests of the metrics APIs.", ("code",)),
    MetricFamily(
        FORWARD_UP,
        "gauge",
        "1 while the server in forwardTo says what it serves, else 0; absent if it is not asked.",
    ),
    MetricFamily(FORWARDED, "counter", "Answers of the server in forwardTo that were passed on.", ("code",)),
    MetricFamily(
        FORWARD_FAULTS,
        "counter",
        "Requests to the server in forwardTo without such an answer: connection, credentials, timeout, too-large, "
        "body, redirect, path, loop, or too many at once (busy).",
        ("reason",),
    ),
    MetricFamily(RULES_INVALID, "gauge", "1 while the file has invalid rules, and the last valid ones are applied."),
    MetricFamily(CERTIFICATE, "gauge", "Seconds until the certificate expires, 0 without one."),
)


@dataclass(frozen=True, slots=True)
class ServerState:
    """Everything that is exposed; `now` is the boot clock."""

    now: float
    ages: Ages
    leads: bool = False
    collector: Collector | None = None
    counts: Collected = field(default_factory=lambda: Collected(ScrapeCounts(), QueryCounts()))
    codes: Mapping[int, int] = field(default_factory=dict)
    rules_invalid: bool = False
    certificate_seconds: float = 0.0
    others: Others | None = None


def exposition(state: ServerState) -> Iterator[bytes]:
    """The text format, in slices: other tasks may run between two slices."""
    lines: dict[str, list[str]] = {}
    sort_in(_of_server(state), lines)
    if state.collector is not None:
        sort_in(_unreachable(state.collector.targets), lines)
        for rule in state.collector.plan.rules:
            targets = [
                target
                for namespace in list(state.collector.targets.namespaces(rule.name))
                for target in state.collector.targets.of_rule(rule.name, namespace).values()
            ]
            sort_in(_of_rule(rule.name, targets, state), lines)
            if (costs := state.collector.costs.of_rule(rule.name)) is not None:
                sort_in(cost_families.samples_of(rule.name, costs.classes.names, costs.fit, costs.changed()), lines)
            yield b""
    yield from rendered((*FAMILIES, *cost_families.FAMILIES), lines)


def _of_server(state: ServerState) -> Iterator[Sample]:
    counts, queries = state.counts
    plain = {
        LEADER: int(state.leads),
        SCRAPES: counts.scrapes,
        SCRAPE_SECONDS: counts.seconds,
        SCRAPED_BYTES: counts.bytes,
        QUERIES: queries.queries,
        QUERY_SECONDS: queries.seconds,
        RULES_INVALID: int(state.rules_invalid),
        CERTIFICATE: state.certificate_seconds,
    }
    yield from [Sample(name, "", value) for name, value in plain.items()]
    rejected = counts.rejected + queries.rejected
    for name, reasons in ((FAULTS, counts.faults), (QUERY_FAULTS, queries.faults), (REJECTED, rejected)):
        for reason, count in sorted(reasons.items()):
            yield Sample(name, labelled(reason=reason), count)
    for code, count in sorted(state.codes.items()):
        yield Sample(ANSWERS, labelled(code=str(code)), count)
    if state.others is not None:
        yield from _of_others(state.others)


def _of_others(others: Others) -> Iterator[Sample]:
    if others.metrics.up is not None:
        yield Sample(FORWARD_UP, "", int(others.metrics.up))
    for code, count in sorted(others.forwarder.counts.codes.items()):
        yield Sample(FORWARDED, labelled(code=str(int(code))), count)
    for reason, faults in sorted(others.forwarder.counts.faults.items()):
        yield Sample(FORWARD_FAULTS, labelled(reason=reason), faults)


def _unreachable(targets: ScrapeTargets) -> Iterator[Sample]:
    found = Counter(each for several in targets.unreachable.values() for each in several.items())
    for (rule, reason), pods in sorted(found.items()):
        yield Sample(UNREACHABLE, labelled(rule=rule, reason=reason), pods)


def _of_rule(rule: str, targets: list[ScrapeTarget], state: ServerState) -> Iterator[Sample]:
    own = labelled(rule=rule)
    complete = [target for target in targets if target.is_complete(state.now, state.ages)]
    yield Sample(TARGETS, own, len(targets))
    yield Sample(FAULTY, own, sum(target.faults > 0 for target in targets))
    yield Sample(WITHOUT_METRIC, own, sum(bool(target.missing) for target in targets))
    yield Sample(WITHOUT_VALUE, own, len(targets) - len(complete))
    ages = [state.now - sample.new.at for target in complete for sample in target.samples if sample.new is not None]
    if ages:
        yield Sample(VALUE_AGE, own, max(ages))


def table() -> str:
    """All families as a table for the documentation."""
    parts = {"The metrics server": FAMILIES, "The costs of requests, of rules with `learnCost`": cost_families.FAMILIES}
    return family_table(parts)
