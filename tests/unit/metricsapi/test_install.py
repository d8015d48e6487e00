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
    rule["namespaces"] = namespaces
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
