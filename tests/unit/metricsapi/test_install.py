"""What installs the metrics server: rights by the rules, and nothing that an update or a drain would wait for."""

import copy

import pytest
import yaml

from hypot.kinds.metric_rules import GARDENER
from hypot.kinds.metric_rules.read import rules_of
from hypot.metricsapi.config import MetricsConfig
from hypot.metricsapi.install import CONFIG_KEY, RULES_KEY, manifests
from hypot.serving.config import ConfigError

IMAGE = "hypot:0"


def rules(namespaces=None, *, external=False):
    """The preset with other namespaces."""
    data = copy.deepcopy(GARDENER)
    (rule,) = data["spec"]["rules"]
    rule.pop("namespaces")
    rule |= {} if namespaces is None else {"namespaces": namespaces}
    rule["metrics"][0]["external"] = external
    return rules_of(data)


def made(given=None, replicas=2, **config):
    return manifests(given or rules_of(GARDENER), MetricsConfig(**config), IMAGE, replicas)


def of(kind, objects):
    return [each for each in objects if each["kind"] == kind]


def rights(objects, kind):
    """(resource, verb, names) of all roles of this kind, by namespace."""
    return {
        (role["metadata"].get("namespace"), resource, verb, tuple(rule.get("resourceNames", ())))
        for role in of(kind, objects)
        for rule in role["rules"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


SECRETS = ("ca", "shoot-access-gardener-custom-metrics")


def test_pods_and_secrets_everywhere():
    """Without named namespaces, Secrets may be read in all of them, by name."""
    everywhere = rights(made(), "ClusterRole")
    assert {(None, "pods", "list", ()), (None, "secrets", "get", SECRETS)} <= everywhere
    assert not [resource for _, resource, _, _ in everywhere if resource == "namespaces"]


def test_pods_and_secrets_in_named_namespaces():
    """Then nothing is allowed elsewhere."""
    objects = made(rules({"names": ["shop", "bank"]}))
    assert not [resource for _, resource, _, _ in rights(objects, "ClusterRole") if resource in {"pods", "secrets"}]
    inside = rights(objects, "Role")
    for namespace in ("shop", "bank"):
        assert {(namespace, "pods", "watch", ()), (namespace, "secrets", "get", SECRETS)} <= inside


def test_labels_of_namespaces_are_watched_if_a_rule_selects_by_them():
    assert (None, "namespaces", "watch", ()) in rights(
        made(rules({"selector": {"matchLabels": {"a": "b"}}})), "ClusterRole"
    )


def test_external_metrics_are_registered_only_if_a_rule_has_some():
    """Others often serve them."""
    names = [each["metadata"]["name"] for each in of("APIService", made())]
    assert names == ["v1beta2.custom.metrics.k8s.io", "v1beta1.custom.metrics.k8s.io"]
    more = [each["metadata"]["name"] for each in of("APIService", made(rules(external=True)))]
    assert more == [*names, "v1beta1.external.metrics.k8s.io"]


@pytest.mark.parametrize(
    ("external", "certificate", "verbs"),
    [
        (False, "", {"get": 2, "patch": 2}),
        (True, "", {"get": 3, "patch": 3}),
        (False, "/tls", {"get": 2}),
        (True, "/tls", {"get": 3}),
    ],
)
def test_only_own_apiservices_are_written(external, certificate, verbs):
    """Those that are registered, and only by a server that keeps its own certificate."""
    found = [
        (verb, name)
        for _, resource, verb, names in rights(made(rules(external=external), certificate=certificate), "ClusterRole")
        if resource == "apiservices"
        for name in names
    ]
    assert {verb: sum(one == verb for one, _ in found) for verb, _ in found} == verbs
    assert any("external" in name for _, name in found) == external


def test_neither_an_update_nor_a_drain_waits_for_a_replica_that_never_gets_ready():
    """Only the leader is ready."""
    objects = made()
    (deployment,) = of("Deployment", objects)
    assert deployment["spec"]["strategy"]["rollingUpdate"]["maxUnavailable"] == "100%"
    assert of("PodDisruptionBudget", objects) == []


def test_the_namespace_is_the_users():
    """The controller may be in it, and an uninstall must not delete it."""
    assert of("Namespace", made()) == []


def test_the_files_are_what_the_server_reads():
    """Only changed settings, so that upgrades improve the defaults; and a changed setting replaces the pods."""
    objects = made(warm=True, pod_networks=("10.0.0.0/8",))
    (files,) = of("ConfigMap", objects)
    assert yaml.safe_load(files["data"][CONFIG_KEY]) == {"warm": True, "podNetworks": ["10.0.0.0/8"]}
    assert rules_of(yaml.safe_load(files["data"][RULES_KEY])) == rules_of(GARDENER)
    template = of("Deployment", objects)[0]["spec"]["template"]["metadata"]["annotations"]
    assert (
        template["hypot.dev/config"]
        != of("Deployment", made())[0]["spec"]["template"]["metadata"]["annotations"]["hypot.dev/config"]
    )


def test_a_certificate_of_others_is_mounted():
    """Then hypot needs no right to Secrets of its own namespace."""
    objects = made(certificate="/etc/tls")
    (container,) = of("Deployment", objects)[0]["spec"]["template"]["spec"]["containers"]
    assert {"name": "certificate", "mountPath": "/etc/tls", "readOnly": True} in container["volumeMounts"]
    assert ("hypot-system", "secrets", "create", ()) not in rights(objects, "Role")


OWN_TOKEN = "/var/run/secrets/kubernetes.io/serviceaccount/token"  # noqa: S105  a file
PROMETHEUS = {"prometheus": "https://prometheus.monitoring:9090"}


@pytest.mark.parametrize(
    ("files", "folders"),
    [
        ({}, []),
        ({"prometheus_token_file": OWN_TOKEN}, []),
        ({"prometheus_token_file": OWN_TOKEN, "prometheus_ca_file": "/etc/prometheus/ca.crt"}, ["/etc/prometheus"]),
        ({"prometheus_token_file": "/etc/p/token", "prometheus_ca_file": "/etc/p/ca.crt"}, ["/etc/p"]),
        ({"prometheus_token_file": "/etc/a/token", "prometheus_ca_file": "/etc/b/ca.crt"}, ["/etc/a", "/etc/b"]),
    ],
)
def test_the_files_for_prometheus_are_mounted(files, folders):
    """From one Secret; the account's own token is there anyway."""
    spec = of("Deployment", made(rules_of(queried()), **PROMETHEUS, **files))[0]["spec"]["template"]["spec"]
    mounted = [one["mountPath"] for one in spec["containers"][0]["volumeMounts"] if one["name"] == "prometheus"]
    assert mounted == folders
    secrets = [one["secret"] for one in spec["volumes"] if one["name"] == "prometheus"]
    assert secrets == ([{"secretName": "hypot-metrics-prometheus"}] if folders else [])


def queried():
    """The preset, with values from a Prometheus."""
    data = copy.deepcopy(GARDENER)
    del data["spec"]["rules"][0]["scrape"]
    data["spec"]["rules"][0]["prometheus"] = {}
    return data


def test_rules_without_scrapes_need_no_secrets():
    """Pods are still watched: their labels and identities come from the cluster."""
    everywhere = rights(made(rules_of(queried()), **PROMETHEUS), "ClusterRole")
    assert (None, "pods", "watch", ()) in everywhere
    assert not [resource for _, resource, _, _ in everywhere if resource == "secrets"]


FORWARD = {"forward_to": "https://adapter.monitoring.svc"}
METRICS = {"custom.metrics.k8s.io", "external.metrics.k8s.io"}


@pytest.mark.parametrize(
    ("files", "folders", "may_read"),
    [
        ({"forward_certificate": "/etc/forward"}, ["/etc/forward"], False),
        ({"forward_certificate": "/etc/f/", "forward_ca_file": "/etc/f/ca.crt"}, ["/etc/f"], False),
        ({"forward_token_file": OWN_TOKEN}, [], True),
        ({"forward_token_file": OWN_TOKEN, "forward_ca_file": "/etc/f/ca.crt"}, ["/etc/f"], True),
    ],
)
def test_another_metrics_server(files, folders, may_read):
    """Its files come from a Secret. With a token it sees this account, which then must have the right to read."""
    objects = made(**FORWARD, **files)
    spec = of("Deployment", objects)[0]["spec"]["template"]["spec"]
    assert [one["mountPath"] for one in spec["containers"][0]["volumeMounts"] if one["name"] == "forward"] == folders
    secrets = [one["secret"]["secretName"] for one in spec["volumes"] if one["name"] == "forward"]
    assert secrets == (["hypot-metrics-forward"] if folders else [])
    granted = [
        rule for role in of("ClusterRole", objects) for rule in role["rules"] if METRICS & set(rule["apiGroups"])
    ]
    assert [rule["verbs"] for rule in granted] == ([["get", "list"]] if may_read else [])


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({}, "spec.rules[0].prometheus: no Prometheus is configured; write its address as `prometheus`"),
        ({**PROMETHEUS, "prometheus_ca_file": "/ca.crt"}, "/ca.crt: its directory cannot be mounted"),
        ({**PROMETHEUS, "prometheus_ca_file": "ca.crt"}, "ca.crt: its directory cannot be mounted"),
        ({**PROMETHEUS, "prometheus_ca_file": "/etc/hypot/ca.crt"}, "its directory cannot be mounted"),
        ({**PROMETHEUS, "certificate": "/etc/hypot"}, "/etc/hypot: its directory cannot be mounted"),
        ({**PROMETHEUS, "certificate": "/etc/hypot/tls"}, "/etc/hypot/tls: its directory cannot be mounted"),
        ({**PROMETHEUS, "certificate": "/tmp/"}, "/tmp/: its directory cannot be mounted"),  # noqa: S108
        ({**PROMETHEUS, "certificate": "certificate"}, "certificate: its directory cannot be mounted"),
        ({**PROMETHEUS, "certificate": "/etc"}, "/etc: its directory cannot be mounted"),
        (
            {**PROMETHEUS, "prometheus_ca_file": "/etc/p/ca.crt", "certificate": "/etc/p"},
            "/etc/p/ca.crt: the Secret with /etc/p is mounted there",
        ),
        (
            {**PROMETHEUS, "prometheus_ca_file": "/etc/p/a/ca.crt", "certificate": "/etc/p"},
            "/etc/p/a/ca.crt: the Secret with /etc/p is mounted there",
        ),
    ],
)
def test_a_prometheus_that_cannot_be_installed(config, message):
    with pytest.raises(ConfigError) as error:
        made(rules_of(queried()), **config)
    assert message in str(error.value)


@pytest.mark.parametrize(("config", "replicas"), [({"secure_port": 0}, 2), ({"probe_port": 0}, 2), ({}, 0)])
def test_what_cannot_be_installed(config, replicas):
    with pytest.raises(ConfigError):
        made(replicas=replicas, **config)


def learning(namespaces):
    """The preset, whose rule learns costs."""
    data = copy.deepcopy(GARDENER)
    (rule,) = data["spec"]["rules"]
    rule["namespaces"] = namespaces
    rule["metrics"][0]["learnCost"] = {"by": ["verb"]}
    return rules_of(data)


def test_events_may_be_created_only_where_costs_are_learned():
    """Where the pods of that rule are."""
    assert not [each for kind in ("Role", "ClusterRole") for each in rights(made(), kind) if each[1] == "events"]
    assert (None, "events", "create", ()) in rights(made(learning({"prefix": "shoot-"})), "ClusterRole")
    named = made(learning({"names": ["shop"]}))
    assert ("shop", "events", "create", ()) in rights(named, "Role")
    assert not [each for each in rights(named, "ClusterRole") if each[1] == "events"]
