"""The configuration of the controller: what is allowed, what it means, and what is refused."""

import jsonschema
import pytest
import yaml

from hypot.kinds.catalogue import controlled, names_of
from hypot.run.config import PORTS, RunConfig, config_schema, default_kinds
from hypot.serving.config import ConfigError, host_of

KINDS = names_of(controlled())


def test_the_default_is_careful():
    """Namespaces opt in, HPAs stay with kube-controller-manager, and VPAs are taken over on request."""
    config = RunConfig()
    assert (config.opt_in, config.dry_run, config.namespace) == ("label", False, "hypot-system")
    assert config.kinds == default_kinds()
    assert [kind for kind in KINDS if config.enabled(kind)] == [
        "WatermarkPodAutoscaler",
        "Hvpa",
        "Tortoise",
        "Autoscaler",
    ]


@pytest.mark.parametrize(
    ("listen", "kubelet", "host"),
    [("", "10.0.0.1", "0.0.0.0"), ("", "", "127.0.0.1"), ("::", "", "::"), ("127.0.0.1", "10.0.0.1", "127.0.0.1")],  # noqa: S104
)
def test_where_it_listens(monkeypatch, listen, kubelet, host):
    """Probes and the API server must reach a pod; nobody else should reach a laptop."""
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", kubelet)
    assert host_of(RunConfig(listen=listen).listen) == host
    jsonschema.validate({"listen": listen}, config_schema())


def test_a_file_has_the_same_names():
    """The names are those of Kubernetes style; kinds that are not named keep their defaults."""
    config = RunConfig.from_dict(
        {
            "namespace": "ours",
            "watchNamespaces": ["shop"],
            "optIn": "all",
            "kinds": {"VerticalPodAutoscaler": "recommend"},
            "dryRun": True,
            "probePort": 0,
            "settings": {"syncPeriod": 5},
        }
    )
    assert (config.namespace, config.watch_namespaces, config.opt_in) == ("ours", ("shop",), "all")
    assert config.mode("VerticalPodAutoscaler") == "recommend"
    assert config.mode("Hvpa") == "act"
    assert (config.dry_run, config.probe_port, config.settings.sync_period) == (True, 0, 5)


def test_a_bare_off_is_the_mode_off():
    """YAML reads a bare off as false; here it means the mode off."""
    config = RunConfig.from_dict(
        yaml.safe_load("kinds: {Hvpa: off, Tortoise: off, Autoscaler: off, WatermarkPodAutoscaler: act}")
    )
    assert config.mode("Hvpa") == "off"
    assert not config.sizes_pods


@pytest.mark.parametrize("kind", ["Hvpa", "Tortoise", "Autoscaler", "VerticalPodAutoscaler"])
def test_kinds_that_size_pods(kind):
    """These kinds need nodes and LimitRanges."""
    kinds = {**dict.fromkeys(KINDS, "off"), kind: "observe"}
    assert RunConfig.from_dict({"kinds": kinds}).sizes_pods


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"nameSpace": "x"}, "nameSpace: no such setting; known settings: namespace, watchNamespaces"),
        ({"namespace": 3}, "namespace: 3 is not of type string"),
        ({"dryRun": "yes"}, "dryRun: 'yes' is not of type boolean"),
        ({"dryRun": 1}, "dryRun: 1 is not of type boolean"),
        ({"probePort": True}, "probePort: True is not of type integer"),
        ({"metricsPort": 65536}, "metricsPort: 65536 is not a port"),
        ({"webhookPort": -1}, "webhookPort: -1 is not a port"),
        ({"optIn": "some"}, "optIn: 'some' is not one of label, all"),
        ({"watchNamespaces": "shop"}, "watchNamespaces: write a list of names"),
        ({"watchNamespaces": ["shop", ""]}, "watchNamespaces: write a list of names"),
        ({"leaseNamespaces": "kube-system"}, "leaseNamespaces: write a list of names"),
        ({"leaseNamespaces": ["a/b"]}, "leaseNamespaces: 'a/b' cannot be the name of a namespace"),
        ({"namespace": "A/../b"}, "namespace: 'A/../b' cannot be the name of a namespace; use lower-case letters"),
        ({"watchNamespaces": ["a/b?x=1"]}, "watchNamespaces: 'a/b?x=1' cannot be the name of a namespace"),
        ({"webhookService": "127.0.0.1:8443"}, "webhookService: '127.0.0.1:8443' is neither the name of a Service"),
        ({"webhookService": "Sizes"}, "webhookService: 'Sizes' is neither the name of a Service nor an address"),
        ({"kinds": ["Hvpa"]}, "kinds: write a mapping"),
        ({"kinds": {"Deployment": "act"}}, "kinds: Deployment is not one of"),
        ({"kinds": {"Hvpa": "on"}}, "kinds.Hvpa: 'on' is not one of off, recommend"),
        ({"kinds": {"Hvpa": True}}, "kinds.Hvpa: True is not one of"),
        ({"kinds": {"Hvpa": "recommend"}}, "kinds.Hvpa: only a VerticalPodAutoscaler"),
        ({"settings": {"syncPeriodd": 1}}, "settings.syncPeriodd"),
        ({"settings": {"syncPeriod": -1}}, "settings.syncPeriod"),
        ({"settings": [1]}, "settings"),
        ({"settings": {"syncPeriod": 0.05}}, "settings.syncPeriod: 0.05 is not within 0.1 to 3600 seconds"),
        ({"settings": {"syncPeriod": 3601}}, "settings.syncPeriod: 3601 is not within 0.1 to 3600 seconds"),
        ({"probePort": 8443}, "webhookPort: 8443 is the probePort too"),
        ({"metricsPort": 9000, "webhookPort": 9000}, "webhookPort: 9000 is the metricsPort too"),
        ({"metricsPort": 8081}, "metricsPort: 8081 is the probePort too"),
        ({"monitoringNamespace": "A"}, "monitoringNamespace: 'A' cannot be the name of a namespace"),
        (
            {"prometheus": "http://p", "prometheusTokenFile": "/t"},
            "prometheusTokenFile: a token is not sent without TLS",
        ),
        ({"prometheus": "http://a:b@p"}, "prometheus: a password is not sent without TLS; write an https:// address"),
        ({"webhookCa": "-----BEGIN CERTIFICATE-----"}, "webhookCa: it belongs to a webhookCertificate"),
        ({"webhookCertificate": "/etc/c", "webhookCa": "x"}, "webhookCa: it is not a PEM certificate"),
        ({"prometheus": "prometheus:9090"}, "prometheus: 'prometheus:9090' is not an address; it must begin"),
        ({"prometheus": "file:///etc/passwd"}, "prometheus: 'file:///etc/passwd' is not an address"),
        ({"listen": "999.1.1.1"}, "listen: '999.1.1.1' is not an IP address; write 0.0.0.0"),
        ({"listen": "here.example"}, "listen: 'here.example' is not an IP address"),
    ],
)
def test_what_is_wrong_is_said(data, message):
    """The message has the name, what is wrong with it, and what is allowed."""
    with pytest.raises(ConfigError) as error:
        RunConfig.from_dict(data)
    assert message in str(error.value)


@pytest.mark.parametrize(
    "data",
    [
        {"probePort": 0, "metricsPort": 0, "webhookPort": 0},
        {"prometheus": "https://a:b@p", "prometheusTokenFile": "/t"},
        {"webhookCertificate": "/etc/c"},
        {"settings": {"syncPeriod": 0.1}},
        {"settings": {"syncPeriod": 3600}},
        {"prometheus": "https://prometheus.example:9090/path"},
        {"prometheus": "http://prometheus:9090"},
        {"prometheus": ""},
        {"webhookService": "127.0.0.1"},
        {"webhookService": "::1"},
        {"webhookService": "sizes.example"},
        {"kinds": {"Hvpa": False}},
        {"listen": "::"},
        {"listen": "10.0.0.255"},
        {"listen": "localhost"},
    ],
)
def test_the_edges_are_taken(data):
    """Port 0 means any free port, and both may be 0; the schema accepts these values too."""
    RunConfig.from_dict(data)
    assert jsonschema.Draft202012Validator(config_schema()).is_valid(data)


def test_all_that_is_wrong_is_said_at_once():
    """One error lists all problems; an invalid port is not compared with the other port."""
    given = {
        "nope": 1,
        "kinds": {"Hvpa": "on", "Pod": "act"},
        "namespace": "A",
        "probePort": 70000,
        "webhookPort": 8080,
    }
    with pytest.raises(ConfigError) as error:
        RunConfig.from_dict({**given, "optIn": "all", "watchNamespaces": ["b", "C", "D"]})
    assert [message.partition(":")[0] for message in error.value.problems] == [
        *("nope", "kinds.Hvpa", "kinds", "probePort", "namespace", "watchNamespaces", "watchNamespaces")
    ]
    assert str(error.value).count("\n") == 6
    assert error.value.names == {"nope", "kinds", "namespace", "watchNamespaces", *PORTS}


def test_all_that_is_wrong_with_the_settings_is_said_at_once():
    """Nested settings are included; a value out of bounds is reported together with an unknown name."""
    settings = {"foo": 1, "syncPeriod": 0, "vpa": {"bar": 1, "safetyMargin": "x"}, "gates": {"Nope": True}}
    with pytest.raises(ConfigError) as error:
        RunConfig.from_dict({"settings": settings, "listen": "x"})
    assert [message.split(": ")[:2][0] for message in error.value.problems] == [
        *("settings.foo", "settings.syncPeriod", "settings.vpa", "settings.vpa", "settings.gates", "listen")
    ]
    with pytest.raises(ConfigError) as error:
        RunConfig.from_dict({"settings": {"foo": 1, "syncPeriod": 0.05}})
    assert [message.split(": ")[0] for message in error.value.problems] == ["settings.foo", "settings.syncPeriod"]


def test_the_schema_says_the_same():
    """It accepts what the code accepts, and refuses unknown names and invalid values."""
    validator = jsonschema.Draft202012Validator(config_schema())
    assert validator.is_valid({"optIn": "all", "kinds": {"Hvpa": "observe"}, "probePort": 1, "settings": {}})
    for bad in ({"optin": "all"}, {"kinds": {"Pod": "act"}}, {"metricsPort": 70000}, {"settings": {"nothing": 1}}):
        assert not validator.is_valid(bad)
    for bad in ({"listen": "999.1.1.1"}, {"listen": "here.example"}):
        assert not validator.is_valid(bad)
    for bad in ({"namespace": "A/b"}, {"watchNamespaces": ["C"]}, {"kinds": {"Hvpa": "recommend"}}):
        assert not validator.is_valid(bad)
    for bad in ({"settings": {"syncPeriod": 0.05}}, {"settings": {"syncPeriod": 3601}}, {"prometheus": "ftp://x"}):
        assert not validator.is_valid(bad)
