"""Names as the API server checks them."""

import pytest

from hypot.kinds.values.names import container_resource, dns_label, dns_subdomain, path_segment, qualified_name


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("web", []),
        ("", []),
        ("a.b", []),
        ("...", []),
        (".", ["may not be '.'"]),
        ("..", ["may not be '..'"]),
        ("a/b", ["may not contain '/'"]),
        ("a%b", ["may not contain '%'"]),
        ("%/", ["may not contain '/'", "may not contain '%'"]),
    ],
)
def test_a_path_segment_has_no_slash_and_no_percent(name, message):
    """There is one error per character found."""
    assert list(path_segment(name)) == message


@pytest.mark.parametrize(
    ("check", "good", "bad"),
    [
        (dns_label, ["a", "a-b", "1a", "a" * 63], ["", "-a", "a-", "A", "a.b", "a_b", "a\n"]),
        (dns_subdomain, ["a", "a.b", "1.a-b", "a" * 253], ["", ".", "a..b", "a.-b", "A.b", "a.b."]),
        (qualified_name, ["a", "A.b_c-1", "x.io/a", "a" * 63, "x/y"], ["", "/a", "x/", "-a", "X/a", "a/b/c", "a b"]),
    ],
)
def test_names_of_each_kind(check, good, bad):
    """Good names have no error, and bad names have one."""
    assert [name for name in good if list(check(name))] == []
    assert [name for name in bad if not list(check(name))] == []


@pytest.mark.parametrize(
    ("check", "name", "message"),
    [
        (dns_label, "a" * 64, "must be no more than 63 bytes"),
        (dns_label, "A", "a lowercase RFC 1123 label must consist of"),
        (dns_subdomain, "a" * 254, "must be no more than 253 bytes"),
        (dns_subdomain, "A", "a lowercase RFC 1123 subdomain must consist of"),
        (qualified_name, "a" * 64, "name part must be no more than 63 bytes"),
        (qualified_name, "/a", "prefix part must be non-empty"),
        (qualified_name, "A/a", "prefix part a lowercase RFC 1123 subdomain"),
        (qualified_name, "x/", "name part must be non-empty"),
        (qualified_name, "a b", "name part must consist of alphanumeric characters"),
        (qualified_name, "a/b/c", "a qualified name must consist of alphanumeric characters"),
    ],
)
def test_the_texts_are_the_api_servers(check, name, message):
    """People search for them."""
    assert next(iter(check(name))).startswith(message)


STANDARD = "must be a standard resource type or fully qualified"
FOR_CONTAINERS = "must be a standard resource for containers"
EXTENDED = "doesn't follow extended resource name standard"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("cpu", []),
        ("memory", []),
        ("ephemeral-storage", []),
        ("hugepages-2Mi", []),
        ("nvidia.com/gpu", []),
        ("kubernetes.io/anything", []),
        ("requests.kubernetes.io/x", []),
        ("storage", [FOR_CONTAINERS]),
        ("pods", [FOR_CONTAINERS]),
        ("requests.cpu", [FOR_CONTAINERS]),
        ("requests.hugepages-2Mi", [FOR_CONTAINERS]),
        ("gpu", [STANDARD, FOR_CONTAINERS]),
        ("requests.x.com/y", [EXTENDED]),
        (f"{'a' * 250}/y", [EXTENDED]),
    ],
)
def test_a_container_resource_is_standard_or_properly_qualified(name, message):
    """A name without a domain gets both checks."""
    assert list(container_resource(name)) == message


@pytest.mark.parametrize(("name", "last"), [("a b", FOR_CONTAINERS), ("-x.io/a", EXTENDED)])
def test_a_misspelt_container_resource_has_two_errors(name, last):
    """The API server reports both."""
    first, second = container_resource(name)
    assert "must consist of" in first
    assert second == last
