"""The rules for MetricRules: what the metrics server could not do, or must not do."""

import re
from collections.abc import Iterator
from typing import Any

from hypot.core.regex import regex
from hypot.kinds.metric_rules.fields import (
    LABEL_NAME,
    LONGEST_WINDOW,
    SCHEMES,
    SHORTEST_WINDOW,
    FromPrometheus,
    LearnCost,
    LineWeight,
    MetricRule,
    MetricRulesSpec,
    RuleNamespaces,
    Scrape,
    ScrapeCredentials,
    SecretKey,
    ServedMetric,
)
from hypot.kinds.metric_values import ALL
from hypot.kinds.problem import Problem, Where, unsupported
from hypot.kinds.selector import SelectorError, read_line_selector, read_selector
from hypot.kinds.values.names import dns_label, dns_subdomain, path_segment

MOST_RULES, MOST_METRICS = 200, 20
LARGEST_WEIGHT = 1_000_000_000
LONGEST_NAME = 253
# Labels that make classes of requests, how fast their costs may be forgotten, and which changes are reported.
MOST_CLASS_LABELS = 4
SHORTEST_HALF_LIFE, LONGEST_HALF_LIFE = 600, 30 * 86_400
LEAST_CHANGE, LARGEST_CHANGE = 1.2, 10
_METRIC_NAME = regex(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
_PORT_NAME = regex(r"(?=.{1,15}$)(?=.*[a-z])[a-z0-9]+(-[a-z0-9]+)*")
_SECRET_KEY = regex(r"[-._a-zA-Z0-9]{1,253}")
_LABEL_NAME = regex(LABEL_NAME)
_NO_LABEL = "is not the name of a label in Prometheus"
_LONGEST_PATH = 2048
HIGHEST_PORT = 65535


def spec_problems(spec: MetricRulesSpec) -> Iterator[Problem]:
    if not spec.rules:
        yield _required(("spec", "rules"), "without a rule nothing is served")
    if spec.rules and len(spec.rules) > MOST_RULES:
        yield Problem("too-many-rules", "TooMany", ("spec", "rules"), f"must have at most {MOST_RULES} items")
    seen: set[str] = set()
    for i, rule in enumerate(spec.rules or ()):
        where = ("spec", "rules", i)
        yield from _rule_problems(rule, where)
        if rule.name in seen:
            yield Problem("duplicate-rule", "Duplicate", (*where, "name"), "another rule has this name", rule.name)
        seen.add(rule.name or "")


def _required(where: Where, message: str) -> Problem:
    return Problem("required", "Required", where, message)


def _invalid(rule: str, where: Where, value: Any, message: str, hint: str = "") -> Problem:
    return Problem(rule, "Invalid", where, message, value, hint)


def _rule_problems(rule: MetricRule, where: Where) -> Iterator[Problem]:
    if not rule.name:
        yield _required((*where, "name"), "messages and metrics name the rule")
    else:
        for message in dns_label(rule.name):
            yield _invalid("rule-name", (*where, "name"), rule.name, message)
    if rule.pods is None:
        yield _required((*where, "pods"), "write {} to scrape all pods of these namespaces")
    yield from _selector_problems(rule.pods, (*where, "pods"))
    if rule.namespaces is not None:
        yield from _namespace_problems(rule.namespaces, (*where, "namespaces"))
    yield from _source_problems(rule, where)
    if not rule.metrics:
        yield _required((*where, "metrics"), "without a metric nothing is served")
    if rule.metrics and len(rule.metrics) > MOST_METRICS:
        yield Problem("too-many-metrics", "TooMany", (*where, "metrics"), f"must have at most {MOST_METRICS} items")
    names: set[str] = set()
    for i, metric in enumerate(rule.metrics or ()):
        yield from _metric_problems(metric, (*where, "metrics", i), names)
    learning = [i for i, metric in enumerate(rule.metrics or ()) if metric.learn_cost is not None]
    for i in learning[1:]:
        message = f"metrics[{learning[0]}] learns already what the cpu of these pods is used for"
        yield Problem("learns-twice", "Forbidden", (*where, "metrics", i, "learnCost"), message)
    if learning and rule.prometheus is not None:
        message = "costs are learned from scrapes, which have the cpu and the requests of one moment; write scrape"
        yield Problem("learns-elsewhere", "Forbidden", (*where, "metrics", learning[0], "learnCost"), message)


def _source_problems(rule: MetricRule, where: Where) -> Iterator[Problem]:
    if rule.scrape is None and rule.prometheus is None:
        yield _required((*where, "scrape"), "the port of the pods is missing; or write prometheus")
    if rule.scrape is not None and rule.prometheus is not None:
        message = "the values come from scrapes already; write either scrape or prometheus"
        yield Problem("two-sources", "Forbidden", (*where, "prometheus"), message)
    if rule.scrape is not None:
        yield from _scrape_problems(rule.scrape, (*where, "scrape"))
    if rule.prometheus is not None:
        yield from _prometheus_problems(rule.prometheus, (*where, "prometheus"))


def _prometheus_problems(given: FromPrometheus, where: Where) -> Iterator[Problem]:
    labels = {"namespaceLabel": given.namespace_label, "podLabel": given.pod_label}
    for key, label in labels.items():
        if label is not None and not _LABEL_NAME.fullmatch(label):
            yield _invalid("label-name", (*where, key), label, _NO_LABEL)
    if (given.namespace_label or "namespace") == (given.pod_label or "pod"):
        message = "is the label of the namespace too"
        yield Problem("one-label", "Duplicate", (*where, "podLabel"), message, given.pod_label)
    yield from _line_problems(given.where, (*where, "where"))
    if given.window is not None and not SHORTEST_WINDOW <= given.window <= LONGEST_WINDOW:
        message = f"must be between {SHORTEST_WINDOW} and {LONGEST_WINDOW:,} seconds"
        yield _invalid("window", (*where, "window"), given.window, message)


def _line_problems(selector: Any, where: Where) -> Iterator[Problem]:
    """A selector of lines: their labels are those of Prometheus, not of Kubernetes."""
    try:
        requirements = read_line_selector(selector).requirements
    except SelectorError as error:
        yield _invalid("selector", where, selector, str(error))
        return
    for key in dict.fromkeys(one.key for one in requirements):
        if not _LABEL_NAME.fullmatch(key):
            yield _invalid("label-name", where, key, f"{_NO_LABEL}, so no line has it")


def _selector_problems(selector: Any, where: Where) -> Iterator[Problem]:
    try:
        read_selector(selector)
    except SelectorError as error:
        yield _invalid("selector", where, selector, str(error))


def _namespace_problems(namespaces: RuleNamespaces, where: Where) -> Iterator[Problem]:
    for i, name in enumerate(namespaces.names or ()):
        for message in dns_label(name):
            yield _invalid("namespace-name", (*where, "names", i), name, message)
    if namespaces.names == []:
        yield _required((*where, "names"), "an empty list selects nothing; leave it out for all namespaces")
    if namespaces.prefix is not None and not re.fullmatch(r"[a-z0-9][-a-z0-9]{0,62}", namespaces.prefix):
        yield _invalid("namespace-name", (*where, "prefix"), namespaces.prefix, "no namespace can begin with this")
    yield from _selector_problems(namespaces.selector, (*where, "selector"))


def _scrape_problems(scrape: Scrape, where: Where) -> Iterator[Problem]:
    port = scrape.port
    if port is None:
        yield _required((*where, "port"), "the port of the pods is missing")
    elif isinstance(port, int):
        if not 1 <= port <= HIGHEST_PORT:
            yield _invalid("port", (*where, "port"), port, "must be between 1 and 65535")
    elif not _PORT_NAME.fullmatch(port):
        yield _invalid("port", (*where, "port"), port, "is not the name of a port")
    if scrape.scheme is not None and scrape.scheme not in SCHEMES:
        yield Problem("scheme", "NotSupported", (*where, "scheme"), unsupported(SCHEMES), scrape.scheme)
    path = scrape.path
    if path is not None and (
        not path.startswith("/") or len(path) > _LONGEST_PATH or re.search(r"[?#\s\x00-\x1f]", path)
    ):
        message = "must begin with / and have no space, ? or #"
        yield _invalid("path", (*where, "path"), path, message, "use `parameters`" if "?" in path else "")
    if scrape.server_name is not None:
        yield from _server_name_problems(scrape.server_name, (*where, "serverName"), tls=scrape.scheme == "https")
    if scrape.credentials is not None:
        yield from _credential_problems(scrape.credentials, (*where, "credentials"), tls=scrape.scheme == "https")


def _server_name_problems(name: str, where: Where, *, tls: bool) -> Iterator[Problem]:
    if not tls:
        message = "no certificate is verified without TLS"
        yield Problem("name-without-tls", "Forbidden", where, message, hint="write scheme: https")
    for message in dns_subdomain(name):
        yield _invalid("server-name", where, name, message)


def _credential_problems(credentials: ScrapeCredentials, where: Where, *, tls: bool) -> Iterator[Problem]:
    secrets = {"token": credentials.token, "ca": credentials.ca, "certificate": credentials.certificate}
    for key, secret in secrets.items():
        if secret is not None:
            yield from _secret_problems(secret, (*where, key), needs_key=key != "certificate")
    if not tls and (any(secrets.values()) or credentials.service_account):
        message = "credentials are sent only over verified TLS"
        yield Problem("credentials-without-tls", "Forbidden", where, message, hint="write scheme: https")
    if credentials.token is not None and credentials.service_account:
        yield Problem("two-tokens", "Forbidden", (*where, "serviceAccount"), "a token of a Secret is sent already")
    if credentials.ca is not None and credentials.service_account:
        # Otherwise a tenant who can write that Secret could make the metrics server send its token to their own pod.
        message = "this token is sent only to pods whose certificate is issued by the authority of the cluster"
        yield Problem("own-token", "Forbidden", (*where, "ca"), message)


def _secret_problems(secret: SecretKey, where: Where, *, needs_key: bool) -> Iterator[Problem]:
    if not secret.name:
        yield _required((*where, "name"), "the Secret is missing")
    else:
        for message in dns_subdomain(secret.name):
            yield _invalid("secret-name", (*where, "name"), secret.name, message)
    if needs_key and not secret.key:
        yield _required((*where, "key"), "the key in the Secret is missing")
    elif secret.key and (not needs_key or not _SECRET_KEY.fullmatch(secret.key)):
        message = "is not a key of a Secret" if needs_key else "a certificate is read from tls.crt and tls.key"
        yield _invalid("secret-key", (*where, "key"), secret.key, message)


def _metric_problems(metric: ServedMetric, where: Where, names: set[str]) -> Iterator[Problem]:
    if (metric.counter is None) == (metric.gauge is None):
        yield _required(where, "write either a counter or a gauge")
    for key, name in (("counter", metric.counter), ("gauge", metric.gauge)):
        if name is not None and not _METRIC_NAME.fullmatch(name):
            yield _invalid("metric-name", (*where, key), name, "is not the name of a Prometheus metric")
    yield from _line_problems(metric.where, (*where, "where"))
    for i, weight in enumerate(metric.weights or ()):
        yield from _weight_problems(weight, (*where, "weights", i))
    if metric.learn_cost is not None:
        if metric.counter is None:
            message = "costs are learned of a counter"
            yield Problem("learn-gauge", "Forbidden", (*where, "learnCost"), message)
        yield from _learning_problems(metric.learn_cost, (*where, "learnCost"))
    if not metric.names:
        yield _required((*where, "names"), "an HPA asks for the metric by its name")
    for i, name in enumerate(metric.names or ()):
        yield from _name_problems(name, (*where, "names", i), names)
        names.add(name)


def _weight_problems(weight: LineWeight, where: Where) -> Iterator[Problem]:
    yield from _line_problems(weight.where, (*where, "where"))
    if weight.weight is None:
        yield _required((*where, "weight"), "the factor is missing")
    elif not 0 <= weight.weight <= LARGEST_WEIGHT:
        yield _invalid("weight", (*where, "weight"), weight.weight, f"must be between 0 and {LARGEST_WEIGHT:,}")


def _learning_problems(learn: LearnCost, where: Where) -> Iterator[Problem]:
    if not learn.by:
        yield _required((*where, "by"), "name the labels whose values make the classes, such as [verb]")
    if learn.by and len(learn.by) > MOST_CLASS_LABELS:
        yield Problem("too-many-labels", "TooMany", (*where, "by"), f"must have at most {MOST_CLASS_LABELS} items")
    for i, label in enumerate(learn.by or ()):
        if not _LABEL_NAME.fullmatch(label):
            yield _invalid("class-label", (*where, "by", i), label, _NO_LABEL)
        if label in (learn.by or ())[:i]:
            yield Problem("duplicate-label", "Duplicate", (*where, "by", i), "it is named already", label)
    if learn.cpu is not None and not _METRIC_NAME.fullmatch(learn.cpu):
        yield _invalid("metric-name", (*where, "cpu"), learn.cpu, "is not the name of a Prometheus metric")
    if learn.half_life is not None and not SHORTEST_HALF_LIFE <= learn.half_life <= LONGEST_HALF_LIFE:
        message = f"must be between {SHORTEST_HALF_LIFE} and {LONGEST_HALF_LIFE}"
        yield _invalid("half-life", (*where, "halfLifeSeconds"), learn.half_life, message)
    if learn.change_factor is not None and not LEAST_CHANGE <= learn.change_factor <= LARGEST_CHANGE:
        message = f"must be between {LEAST_CHANGE} and {LARGEST_CHANGE}"
        yield _invalid("change-factor", (*where, "changeFactor"), learn.change_factor, message)


def _name_problems(name: str, where: Where, names: set[str]) -> Iterator[Problem]:
    for message in path_segment(name):
        yield _invalid("served-name", where, name, message)
    if not 1 <= len(name) <= LONGEST_NAME or name == ALL:
        yield _invalid(
            "served-name", where, name, f"must have between 1 and {LONGEST_NAME} characters and not be {ALL}"
        )
    if name in names:
        yield Problem("duplicate-name", "Duplicate", where, "this rule serves it already", name)
