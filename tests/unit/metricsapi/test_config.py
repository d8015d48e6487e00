"""The configuration of the metrics server: what is refused, all at once."""

import jsonschema
import pytest

from hypot.metricsapi.config import MetricsConfig, config_schema
from hypot.serving.config import ConfigError


def test_a_file_has_the_same_names():
    config = MetricsConfig.from_dict({"scrapePeriod": 30, "warm": True, "podNetworks": ["10.0.0.0/8"], "probePort": 0})
    assert (config.scrape_period, config.warm, config.pod_networks, config.probe_port) == (30, True, ("10.0.0.0/8",), 0)
    assert config.ages == (10.0, 600.0, 90.0)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"scrapePeriod": 0.5}, "scrapePeriod: 0.5 is not within 1 to 3600 seconds"),
        ({"scrapePeriod": 90}, "maxSampleAge: 90 is not above the scrapePeriod 90"),
        ({"scrapePeriod": 5}, "minSampleGap: 10 is not below the scrapePeriod 5"),
        ({"maxSampleGap": 60}, "maxSampleGap: 60 is not above the scrapePeriod 60"),
        ({"scrapePeriod": "60s"}, "'60s' is not of type number"),
        ({"warm": "yes"}, "'yes' is not of type boolean"),
        ({"securePort": 70000}, "70000 is not a port"),
        ({"securePort": 8080}, "8080 is the securePort too"),
        ({"podNetworks": ["10.0.0.1/8"]}, "podNetworks: 10.0.0.1/8 has host bits set"),
        ({"podNetworks": "10.0.0.0/8"}, "podNetworks: write a list"),
        ({"namespace": "Shop"}, "namespace: 'Shop' is not a name"),
        ({"listen": "here"}, "'here' is not an IP address"),
        ({"prometheus": "prometheus:9090"}, "prometheus: 'prometheus:9090' is not an address"),
        ({"prometheusTokenFile": "/t"}, "prometheusTokenFile: it belongs to prometheus, which is not set"),
        (
            {"prometheus": "http://p", "prometheusTokenFile": "/t"},
            "prometheusTokenFile: a token is not sent without TLS; write an https:// address in prometheus",
        ),
        (
            {"prometheus": "http://p", "prometheusCaFile": "/c"},
            "prometheusCaFile: without TLS nothing is verified; write an https:// address in prometheus, or no CA file",
        ),
        ({"forwardCaFile": "/c"}, "forwardCaFile: it belongs to forwardTo, which is not set"),
        ({"forwardCertificate": "/c"}, "forwardCertificate: it belongs to forwardTo, which is not set"),
        (
            {"forwardTo": "http://a", "forwardCertificate": "/c"},
            "forwardTo: 'http://a' is not an address; write https://",
        ),
        ({"forwardTo": "https://a/x", "forwardCertificate": "/c"}, "is not an address; write https:// and a host"),
        ({"forwardTo": "https://a:b@c", "forwardCertificate": "/c"}, "is not an address; write https:// and a host"),
        ({"forwardTo": "https://a:99999", "forwardCertificate": "/c"}, "is not an address; write https:// and a host"),
        ({"forwardTo": "https://[", "forwardCertificate": "/c"}, "is not an address; write https:// and a host"),
        ({"forwardTo": "https://adapter"}, "forwardTo: the server must know who asks; write a forwardCertificate"),
        (
            {"forwardTo": "https://hypot-metrics.hypot-system.svc.cluster.local", "forwardTokenFile": "/t"},
            "forwardTo: it is this metrics server itself; name another one",
        ),
        ({"forwardTo": "https://hypot-metrics", "forwardTokenFile": "/t"}, "it is this metrics server itself"),
        ({"period": 60}, "period: no such setting"),
    ],
)
def test_what_is_refused(given, message):
    with pytest.raises(ConfigError) as wrong:
        MetricsConfig.from_dict(given)
    assert message in str(wrong.value)


@pytest.mark.parametrize(
    "address", ["https://adapter.monitoring.svc", "https://hypot-metrics.other.svc:6443", "https://[fd00::1]:443"]
)
def test_another_metrics_server(address):
    """A server of the same name in another namespace is another one."""
    assert MetricsConfig.from_dict({"forwardTo": address, "forwardCertificate": "/c"}).forward_to == address


def test_all_problems_at_once():
    with pytest.raises(ConfigError) as wrong:
        MetricsConfig.from_dict({"a": 1, "warm": 1, "scrapePeriod": "x"})
    assert len(wrong.value.problems) == 3


def test_the_schema_accepts_a_good_file():
    jsonschema.validate({"scrapePeriod": 30, "podNetworks": ["10.0.0.0/8"]}, config_schema())
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"scrapePeriod": 0}, config_schema())
