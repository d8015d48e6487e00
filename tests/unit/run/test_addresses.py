"""Which addresses an object may name."""

import pytest

from hypot.run.addresses import AllowedAddresses, read_rule

LISTED = ("metrics.example.org", "*.shop.example", "10.20.0.0/16", "2001:db8::7", "localhost:8088", "[::1]:8089")
ALLOWED = AllowedAddresses(LISTED, "cluster.local", ("10.96.0.1", "api.internal", ""))


@pytest.mark.parametrize(
    "url",
    [
        "http://forecast.shop.svc/recommend",
        "https://forecast.shop.svc.cluster.local:8443/",
        "http://FORECAST.shop.svc.:80/",
        "http://metrics.example.org/",
        "https://a.b.shop.example/",
        "http://10.20.3.4:9000/",
        "http://[2001:db8::7]/",
        "http://localhost:8088/",
        "http://[::1]:8089/",
    ],
)
def test_services_and_listed_hosts_are_allowed(url):
    """By name, by domain, by network, or by host and port."""
    assert ALLOWED.fault(url) == ""


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://example.com/", "neither a Service"),
        ("http://svc/", "neither a Service"),
        ("http://forecast.svc/", "neither a Service"),
        ("http://a.forecast.shop.svc/", "neither a Service"),
        ("http://forecast.shop.svc.evil.org/", "neither a Service"),
        ("http://shop.example/", "neither a Service"),
        ("http://10.21.0.1/", "neither a Service"),
        ("http://localhost/", "neither a Service"),
        ("http://127.0.0.1:8088/", "loopback"),
        ("http://[::ffff:127.0.0.1]/", "loopback"),
        ("http://0.0.0.0/", "loopback, unspecified"),
        ("http://169.254.169.254/latest", "metadata"),
        ("http://[fe80::1%25eth0]/", "link-local"),
        ("http://[fd00:ec2::254]/", "metadata"),
        ("http://100.100.100.200/", "metadata"),
        ("https://kubernetes.default.svc/", "API server"),
        ("https://kubernetes.default.svc.cluster.local/api", "API server"),
        ("https://10.96.0.1/", "API server"),
        ("https://API.internal./", "API server"),
        ("ftp://forecast.shop.svc/", "neither http nor https"),
        ("", "neither http nor https"),
    ],
)
def test_everything_else_is_refused(url, why):
    """The reason is for the status of the object."""
    assert why in ALLOWED.fault(url)


@pytest.mark.parametrize(
    ("host", "address", "allowed"),
    [
        ("forecast.shop.svc", "10.96.7.7", True),
        ("forecast.shop.svc", "10.96.0.1", False),
        ("forecast.shop.svc", "169.254.169.254", False),
        ("forecast.shop.svc", "127.0.0.1", False),
        ("forecast.shop.svc", "::ffff:10.96.0.1", False),
        ("metrics.example.org", "::1", False),
        ("forecast.shop.svc", "what", False),
        ("localhost", "127.0.0.1", True),
    ],
)
def test_an_allowed_name_may_not_lead_elsewhere(host, address, allowed):
    """What a name resolves to is checked again: a Service may be an alias of any name."""
    assert (ALLOWED.fault_of(host, 8088, address) == "") == allowed


EVERYWHERE = AllowedAddresses(("0.0.0.0/0", "::/0"), own=("10.96.0.1", "fd00:0:0::1", "::ffff:10.96.0.2"))
LOOPBACK, METADATA, API_SERVER = "loopback", "metadata", "API server"


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("::127.0.0.1", LOOPBACK),
        ("::ffff:127.0.0.1", LOOPBACK),
        ("::ffff:0:127.0.0.1", LOOPBACK),
        ("64:ff9b::127.0.0.1", LOOPBACK),
        ("64:ff9b:1::127.0.0.1", LOOPBACK),
        ("2002:7f00:1::", LOOPBACK),
        ("2001:0:7f00:1::", LOOPBACK),
        ("::", LOOPBACK),
        ("::1", LOOPBACK),
        ("0.1.2.3", LOOPBACK),
        ("::ffff:0.1.2.3", LOOPBACK),
        ("64:ff9b::169.254.169.254", METADATA),
        ("2002:a9fe:a9fe::", METADATA),
        ("::ffff:100.100.100.200", METADATA),
        ("fd00:ec2::254", METADATA),
        ("fd00:ec2::23", METADATA),
        ("fd20:ce::254", METADATA),
        ("fd20:00ce:0::254", METADATA),
        ("fe80::1%eth0", METADATA),
        ("10.96.0.1", API_SERVER),
        ("::10.96.0.1", API_SERVER),
        ("::ffff:10.96.0.1", API_SERVER),
        ("64:ff9b::10.96.0.1", API_SERVER),
        ("2002:a60:1::", API_SERVER),
        ("10.96.0.2", API_SERVER),
        ("fd00::1", API_SERVER),
        ("fd00:0:0:0::1", API_SERVER),
        ("10.96.0.3", ""),
        ("::ffff:10.96.0.3", ""),
        ("64:ff9b::10.96.0.3", ""),
        ("2002:a60:3::", ""),
        ("fd00::2", ""),
        ("2001:db8::7", ""),
    ],
)
def test_every_form_of_an_address_is_refused(address, why):
    """Before and after a lookup; an IPv6 address may contain an IPv4 address."""
    found = {EVERYWHERE.fault_of("forecast.shop.svc", 80, address)}
    if "%" not in address:
        found.add(EVERYWHERE.fault(f"http://[{address}]/" if ":" in address else f"http://{address}/"))
    assert len(found) == 1
    assert why in (text := found.pop())
    assert bool(text) == bool(why)


def test_an_entry_with_a_port_is_for_that_port():
    """Nothing else on the same host is reached."""
    assert ALLOWED.fault_of("localhost", 8443, "127.0.0.1")
    assert ALLOWED.fault("http://localhost:8443/")


@pytest.mark.parametrize(
    "text", ["", "http://x/", "a/b", "*", "a*b.org", "*.*.org", "host:port", "u@host", "a b", "a:99999"]
)
def test_an_entry_that_cannot_be_read(text):
    """It is an error of the configuration."""
    with pytest.raises(ValueError, match=r".+"):
        read_rule(text)
