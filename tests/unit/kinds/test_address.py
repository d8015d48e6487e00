"""Addresses without their secrets."""

import pytest

from hypot.kinds.address import UNREADABLE, shown_address


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
    ],
)
def test_only_the_place_is_shown(url, reported):
    """Scheme, host and path; nothing where the parts cannot be distinguished."""
    assert shown_address(url) == reported
