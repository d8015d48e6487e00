"""Addresses without their secrets."""

import pytest

from hypot.kinds.values.address import LONGEST_URL, UNREADABLE, shown_address, url_fault


@pytest.mark.parametrize(
    ("url", "reported"),
    [
        ("http://u:passw0rd@host/r?key=k3y", "http://host/r"),
        ("https://host:8443/a/b#token", "https://host:8443/a/b"),
        ("https://u:a@b@host/@scope/r", "https://host/@scope/r"),
        ("http://[::1]:80/", "http://[::1]:80/"),
        ("host/r?key=k3y", "host/r"),
        ("u:passw0rd@host/r", "host/r"),
        ("", ""),
        ("http://u:pass/w0rd@host/", UNREADABLE),
        ("http://[::1/r?key=k3y", UNREADABLE),
        ("http://b\u00fccher.example/", UNREADABLE),
        ("http://host/" + "a" * LONGEST_URL, UNREADABLE),
    ],
)
def test_only_the_place_is_shown(url, reported):
    """Scheme, host and path; nothing where the parts cannot be distinguished."""
    assert shown_address(url) == reported


LONG, ODD = "it is longer than 2048 characters", "its host or its credentials are not ASCII"
MARKS = "\u0300\u0323"


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("", ""),
        ("http://a.b.svc", ""),
        ("http://a.b.svc/" + "a" * (LONGEST_URL - 15), ""),
        ("http://a.b.svc/" + "a" * (LONGEST_URL - 14), LONG),
        (f"http://{MARKS * 125_000}.b.svc/", LONG),
        (f"http://{MARKS}.b.svc/", ODD),
        (f"http://{MARKS}", ODD),
        (f"http://{MARKS}?q#f", ODD),
        (f"http://{MARKS}#f", ODD),
        (f"http://{MARKS}@a.b.svc/", ODD),
        (f"http://a.b.svc\\@{MARKS}/", ODD),
        (f"//{MARKS}", ODD),
        (f"ht\ttp:/\t/{MARKS}/", ODD),
        ("http://b\u00fccher.example/", ODD),
        ("http://xn--bcher-kva.example/", ""),
        ("http://a.b.svc/b\u00fccher?\u00fc#\u00fc", ""),
        ("http://a.b.svc?\u00fc", ""),
    ],
)
def test_what_is_not_parsed(url, why):
    """Parsers take very long for hosts with many combining marks."""
    assert url_fault(url) == why
