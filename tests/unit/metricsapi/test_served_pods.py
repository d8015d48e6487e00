"""Pods as scraping sees them, and the addresses that may be scraped."""

import pytest

from hypot.metricsapi.served_pods import PodAddresses, ServedPod, read_served_pod

POD = {
    "metadata": {"name": "web-0", "namespace": "shop", "uid": "u0", "labels": {"app": "web"}},
    "spec": {
        "containers": [
            {"ports": [{"name": "http", "containerPort": 8080}, {"containerPort": 9090}]},
            {"ports": [{"name": "stats", "containerPort": 9102}]},
        ]
    },
    "status": {"phase": "Running", "podIP": "10.0.0.1"},
}
SERVED = ServedPod("shop", "web-0", "u0", {"app": "web"}, "10.0.0.1", {"http": 8080, "stats": 9102})


def read(**changes):
    return read_served_pod({**POD, **changes}, PodAddresses())


def test_a_pod_that_runs():
    """Only ports with a name are kept: a rule may write the number itself."""
    assert read() == SERVED


@pytest.mark.parametrize(
    "changes",
    [
        {"status": {"phase": "Pending"}},
        {"status": {"phase": "Pending", "podIP": "10.0.0.1"}},
        {"status": {"phase": "Succeeded", "podIP": "10.0.0.1"}},
        {"metadata": {**POD["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}},
        {"status": None},
    ],
)
def test_a_pod_that_is_not_measured(changes):
    """It does not run, or is being deleted."""
    assert read(**changes) is None


@pytest.mark.parametrize("status", [{}, {"podIP": ""}, {"podIP": "127.0.0.1"}])
def test_a_pod_that_is_not_scraped(status):
    """It has no address that may be asked, but a Prometheus may know its values."""
    assert read(status={"phase": "Running", **status}) == SERVED._replace(address="")


@pytest.mark.parametrize(
    ("written", "created"), [("2027-01-15T08:00:00Z", 1_800_000_000.0), (None, 0.0), ("soon", 0.0), (3, 0.0)]
)
def test_when_it_was_created(written, created):
    metadata = {**POD["metadata"], "creationTimestamp": written}
    assert read(metadata=metadata) == SERVED._replace(created=created)


@pytest.mark.parametrize("spec", [None, [], {"containers": 3}, {"containers": [3, {"ports": [{"name": "a"}, 3]}]}])
def test_odd_manifests(spec):
    """A port without a number is none."""
    assert read(spec=spec) == SERVED._replace(ports={})


@pytest.mark.parametrize(
    ("address", "allowed"),
    [
        ("10.0.0.1", True),
        ("192.168.1.1", True),
        ("8.8.8.8", True),
        ("100.100.100.200", False),
        ("fd00:ec2::254", False),
        ("64:ff9b::a9fe:a9fe", False),
        ("0.1.2.3", False),
        ("fd00::1", True),
        ("::ffff:10.0.0.1", True),
        ("127.0.0.1", False),
        ("127.8.0.1", False),
        ("::1", False),
        ("169.254.169.254", False),
        ("::ffff:169.254.169.254", False),
        ("::ffff:127.0.0.1", False),
        ("fe80::1", False),
        ("0.0.0.0", False),  # noqa: S104 - nobody listens on it
        ("::", False),
        ("224.0.0.1", False),
        ("web", False),
        ("", False),
    ],
)
def test_addresses(address, allowed):
    """Neither this machine nor the metadata service of a cloud."""
    assert PodAddresses().allow(address) is allowed


@pytest.mark.parametrize(
    ("address", "allowed"),
    [
        ("10.1.2.3", True),
        ("::ffff:10.1.2.3", True),
        ("10.2.0.1", False),
        ("127.0.0.1", True),
        ("fd00::1", False),
    ],
)
def test_addresses_of_given_networks(address, allowed):
    """The administrator's networks are taken as they are."""
    assert PodAddresses(["10.1.0.0/16", "127.0.0.0/8"]).allow(address) is allowed


def test_sidecars_have_ports_too():
    """An init container that is restarted always is one; others have ended."""
    ports = [{"name": "proxy", "containerPort": 15090}]
    beside = {"ports": ports, "restartPolicy": "Always"}
    assert read(spec={"initContainers": [beside]}).ports == {"proxy": 15090}
    assert read(spec={"initContainers": [{"ports": ports}]}).ports == {}


def owned(kind, name, labels=None, **changes):
    reference = {"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": "u", "controller": True, **changes}
    return read(metadata={**POD["metadata"], "labels": labels or {}, "ownerReferences": [reference]}).owner


def test_owners():
    """A ReplicaSet of a Deployment stands for the Deployment; others are what they are."""
    hashed = {"pod-template-hash": "5d4f"}
    assert owned("ReplicaSet", "web-5d4f", hashed)[:4] == ("apps/v1", "Deployment", "shop", "web")
    assert owned("ReplicaSet", "web")[:4] == ("apps/v1", "ReplicaSet", "shop", "web")
    assert owned("StatefulSet", "db") == ("apps/v1", "StatefulSet", "shop", "db", "u")
    assert owned("StatefulSet", "db", controller=False) is None
