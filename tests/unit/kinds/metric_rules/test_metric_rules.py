"""MetricRules: what is accepted, and what is reported by file and line."""

import copy
import re

import pytest

from hypot.kinds.metric_rules import GARDENER, PRESETS, MetricRules
from hypot.kinds.metric_rules.fields import ServedMetric
from hypot.kinds.metric_rules.read import RulesError, read_rules, rules_of, words
from hypot.metricsapi.body.totals import wanted_of

GOOD = """\
apiVersion: metrics.hypot.dev/v1alpha1
kind: MetricRules
metadata:
  name: shop
spec:
  rules:
  - name: web
    namespaces: {names: [shop], prefix: sh, selector: {matchLabels: {team: a}}}
    pods: {matchLabels: {app: web}}
    scrape:
      port: http
      path: /stats/prometheus
      parameters: {filter: [a, b]}
    metrics:
    - counter: http_requests_total
      where: {matchExpressions: [{key: code, operator: NotIn, values: ["503"]}]}
      weights:
      - {where: {matchLabels: {verb: LIST}}, weight: 5}
      - {weight: 0.5}
      names: [requests_per_second]
    - gauge: queue_depth
      names: [queue]
      external: true
"""


def rule(**changes):
    """The problems of the preset with a changed rule; a dot leads to an inner field."""
    data = copy.deepcopy(GARDENER)
    for path, value in changes.items():
        *outer, last = path.split("__")
        at = data["spec"]["rules"][0]
        for key in outer:
            at = at[int(key) if isinstance(at, list) else key]
        if value is None:
            del at[last]
        else:
            at[last] = value
    return [words(problem) for problem in MetricRules.from_dict(data).problems()]


def test_a_good_file(tmp_path):
    file = tmp_path / "rules.yaml"
    file.write_text(GOOD)
    (one,) = read_rules(str(file)).rules
    assert [metric.source for metric in one.metrics] == ["http_requests_total", "queue_depth"]
    assert [weight.weight for weight in one.metrics[0].weights] == [5, 0.5]


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_presets_are_valid(name):
    assert rules_of(PRESETS[name]).rules


def test_all_problems_at_once_with_their_lines(tmp_path):
    """Each problem has the line of its field."""
    file = tmp_path / "rules.yaml"
    text = GOOD.replace("port: http", "prot: http").replace("weight: 5", "weight: -5").replace("[queue]", "[a/b]")
    file.write_text(text.replace("external: true", "external: perhaps"))
    with pytest.raises(RulesError) as error:
        read_rules(str(file))
    assert str(error.value).splitlines() == [
        f"{file}:11: spec.rules[0].scrape.prot: unknown field; did you mean port?",
        f"{file}:18: spec.rules[0].metrics[0].weights[0].weight: -5 must be between 0 and 1,000,000,000",
        f"{file}:22: spec.rules[0].metrics[1].names[0]: \"a/b\" may not contain '/'",
        f'{file}:23: spec.rules[0].metrics[1].external: write true or false instead of "perhaps"',
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [", "rules.yaml"),
        ("", "must have one object of kind MetricRules and nothing else"),
        (GOOD + "---\n" + GOOD, "must have one object of kind MetricRules and nothing else"),
        (GOOD.replace("MetricRules", "Deployment"), "must have one object of kind MetricRules and nothing else"),
    ],
)
def test_a_file_without_rules(tmp_path, text, message):
    file = tmp_path / "rules.yaml"
    file.write_text(text)
    with pytest.raises(RulesError, match=message):
        read_rules(str(file))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": None}, "spec.rules[0].name: messages and metrics name the rule"),
        ({"pods": None}, "spec.rules[0].pods: write {} to scrape all pods of these namespaces"),
        ({"metrics": []}, "spec.rules[0].metrics: without a metric nothing is served"),
        ({"scrape__port": 0}, "spec.rules[0].scrape.port: 0 must be between 1 and 65535"),
        ({"scrape__port": "Http!"}, 'spec.rules[0].scrape.port: "Http!" is not the name of a port'),
        (
            {"scrape__path": "/metrics?a=b"},
            'spec.rules[0].scrape.path: "/metrics?a=b" must begin with / and have no space, ? or #; use `parameters`',
        ),
        (
            {"scrape__scheme": "http"},
            "spec.rules[0].scrape.credentials: credentials are sent only over verified TLS; write scheme: https",
        ),
        (
            {"scrape__credentials__serviceAccount": True},
            "spec.rules[0].scrape.credentials.serviceAccount: a token of a Secret is sent already",
        ),
        (
            {"scrape__credentials__token": {"name": "a"}},
            "spec.rules[0].scrape.credentials.token.key: the key in the Secret is missing",
        ),
        (
            {"scrape__credentials__certificate": {"name": "a", "key": "b"}},
            'spec.rules[0].scrape.credentials.certificate.key: "b" a certificate is read from tls.crt and tls.key',
        ),
        (
            {"namespaces__names": []},
            "spec.rules[0].namespaces.names: an empty list selects nothing; leave it out for all namespaces",
        ),
        ({"scrape": None}, "spec.rules[0].scrape: the port of the pods is missing; or write prometheus"),
        (
            {"prometheus": {}},
            "spec.rules[0].prometheus: the values come from scrapes already; write either scrape or prometheus",
        ),
        (
            {"scrape": None, "prometheus": {"podLabel": "a-b"}},
            'spec.rules[0].prometheus.podLabel: "a-b" is not the name of a label in Prometheus',
        ),
        (
            {"scrape": None, "prometheus": {"podLabel": "namespace"}},
            "spec.rules[0].prometheus.podLabel: is the label of the namespace too",
        ),
        (
            {"scrape": None, "prometheus": {"window": 0.5}},
            "spec.rules[0].prometheus.window: 0.5 must be between 1 and 86,400 seconds",
        ),
        (
            {"scrape": None, "prometheus": {"where": {"matchLabels": {"a.b/c": "web"}}}},
            'spec.rules[0].prometheus.where: "a.b/c" is not the name of a label in Prometheus, so no line has it',
        ),
        (
            {"metrics__0__where": {"matchLabels": {"a-b": "c"}}},
            'spec.rules[0].metrics[0].where: "a-b" is not the name of a label in Prometheus, so no line has it',
        ),
        (
            {"scrape": None, "prometheus": {"windw": 60}},
            "spec.rules[0].prometheus.windw: unknown field; did you mean window?",
        ),
        ({"namespaces__prefix": "-a"}, 'spec.rules[0].namespaces.prefix: "-a" no namespace can begin with this'),
        ({"metrics__0__gauge": "a"}, "spec.rules[0].metrics[0]: write either a counter or a gauge"),
        (
            {"metrics__0__counter": "a b"},
            'spec.rules[0].metrics[0].counter: "a b" is not the name of a Prometheus metric',
        ),
        ({"metrics__0__names": ["a", "a"]}, "spec.rules[0].metrics[0].names[1]: this rule serves it already"),
        (
            {"metrics__0__names": ["*"]},
            'spec.rules[0].metrics[0].names[0]: "*" must have between 1 and 253 characters and not be *',
        ),
    ],
)
def test_problems(change, message):
    assert message in rule(**change)


def test_two_rules_of_one_name():
    data = copy.deepcopy(GARDENER)
    data["spec"]["rules"] *= 2
    assert "spec.rules[1].name: another rule has this name" in [
        words(problem) for problem in MetricRules.from_dict(data).problems()
    ]


LEARN = "metrics__0__learnCost"


@pytest.mark.parametrize(
    ("learn", "message"),
    [
        ({}, "by: name the labels whose values make the classes, such as [verb]"),
        ({"by": ["a", "b", "c", "d", "e"]}, "by: must have at most 4 items"),
        ({"by": ["a-verb"]}, 'by[0]: "a-verb" is not the name of a label in Prometheus'),
        ({"by": ["verb", "verb"]}, "by[1]: it is named already"),
        ({"by": ["verb"], "cpu": "a b"}, 'cpu: "a b" is not the name of a Prometheus metric'),
        ({"by": ["verb"], "halfLifeSeconds": 5}, "halfLifeSeconds: 5 must be between 600 and 2592000"),
        ({"by": ["verb"], "changeFactor": 1}, "changeFactor: 1 must be between 1.2 and 10"),
        ({"by": ["verb"], "halfLive": 5}, "halfLive: unknown field"),
    ],
)
def test_problems_of_learning(learn, message):
    assert [one for one in rule(**{LEARN: learn}) if one.startswith(f"spec.rules[0].metrics[0].learnCost.{message}")]


@pytest.mark.parametrize("value", ["/api/v1", "GET /x", "", "ü", "a" * 100, '"\\\n', "-"])
def test_a_label_of_a_line_may_have_any_text(value):
    """It is no label of Kubernetes; nor is its name."""
    chosen = {
        "matchLabels": {"handler": value},
        "matchExpressions": [{"key": "_a", "operator": "In", "values": [value]}],
    }
    assert rule(metrics__0__where=chosen, metrics__0__weights=[{"where": chosen, "weight": 2}]) == []
    wanted = wanted_of(ServedMetric(counter="a", where={"matchLabels": {"handler": value}}))
    assert wanted.weight_of({"handler": value}) == 1.0
    assert wanted.weight_of({"handler": f"{value}x"}) == 0.0


def test_a_server_name_without_tls():
    made = rule(scrape={"port": 80, "serverName": "web"})
    assert made == ["spec.rules[0].scrape.serverName: no certificate is verified without TLS; write scheme: https"]


def test_namespaces_that_were_left_empty(tmp_path):
    """YAML reads it as nothing, which would mean all of them."""
    file = tmp_path / "rules.yaml"
    file.write_text(re.sub(r"namespaces:.*", "namespaces:", GOOD))
    with pytest.raises(RulesError, match="namespaces: is empty, which would mean all namespaces"):
        read_rules(str(file))


def test_learning():
    """Of one counter of a rule, because the cpu of a pod is explained once."""
    learn = {"by": ["verb"], "cpu": "cpu_seconds_total", "halfLifeSeconds": 7200, "changeFactor": 2}
    assert rule(**{LEARN: learn}) == []
    metrics = [{"counter": name, "names": [name], "learnCost": {"by": ["verb"]}} for name in ("a", "b")]
    assert rule(metrics=metrics) == [
        "spec.rules[0].metrics[1].learnCost: metrics[0] learns already what the cpu of these pods is used for"
    ]
    gauge = {"gauge": "a", "names": ["a"], "learnCost": {"by": ["verb"]}}
    assert rule(metrics=[gauge]) == ["spec.rules[0].metrics[0].learnCost: costs are learned of a counter"]
