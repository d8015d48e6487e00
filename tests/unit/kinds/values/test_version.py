"""Kubernetes versions and their feature gates."""

import pytest

from hypot.kinds.values.version import NEWEST, OLDEST, gate_open, opened_in, parse_version, show_version

TOLERANCE, TO_ZERO, CONTAINER = "HPAConfigurableTolerance", "HPAScaleToZero", "HPAContainerMetrics"


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("1.36", (1, 36)),
        ("v1.36", (1, 36)),
        ("v1.36.4", (1, 36)),
        (" 1.36 ", (1, 36)),
        ("1.36+", (1, 36)),
        ("v1.36.4-gke.100", (1, 36)),
        ("v1.33.1+k3s1", (1, 33)),
        ("1.23", OLDEST),
        ("1.100", (1, 100)),
    ],
)
def test_versions_are_read_as_clusters_print_them(text, version):
    """With or without a v, a patch and a vendor suffix."""
    assert parse_version(text) == version


@pytest.mark.parametrize("text", ["", "1", "2.0", "1.x", "36", "1.36 beta", "1.36.4\n1.37", "1.1234"])
def test_other_texts_are_refused_with_an_example(text):
    """The message says how to write a version."""
    with pytest.raises(ValueError, match=r"is not a Kubernetes version; write it as 1\.36"):
        parse_version(text)


def test_a_version_without_the_api_is_refused():
    """Before 1.23 there was no autoscaling/v2."""
    with pytest.raises(ValueError, match=r"the oldest version that hypot supports is 1\.23"):
        parse_version("1.22")


@pytest.mark.parametrize("version", [OLDEST, (1, 36), NEWEST])
def test_a_version_that_is_shown_can_be_read(version):
    """Formatting and parsing agree."""
    assert parse_version(show_version(version)) == version


@pytest.mark.parametrize(
    ("gate", "version", "is_open"),
    [
        (TOLERANCE, (1, 34), False),
        (TOLERANCE, (1, 35), True),
        (TO_ZERO, (1, 36), False),
        (TO_ZERO, (1, 37), True),
        (CONTAINER, (1, 26), False),
        (CONTAINER, (1, 27), True),
    ],
)
def test_a_gate_opens_by_default_with_its_version(gate, version, is_open):
    """According to the table of feature history."""
    assert gate_open(gate, version) is is_open
    assert gate_open(gate, version, {}) is is_open
    assert gate_open(gate, version, {"Other": not is_open}) is is_open


@pytest.mark.parametrize(
    ("gate", "version", "proposal", "is_open"),
    [
        (TO_ZERO, (1, 30), True, True),
        (TO_ZERO, (1, 37), False, False),
        (TOLERANCE, (1, 33), True, True),
        (TOLERANCE, (1, 32), True, False),
        (TOLERANCE, (1, 36), False, False),
        (TOLERANCE, (1, 37), False, True),
        (CONTAINER, (1, 29), False, False),
        (CONTAINER, (1, 30), False, True),
    ],
)
def test_an_administrator_decides_where_there_is_a_gate(gate, version, proposal, is_open):
    """Not before the gate exists, and not after it is locked."""
    assert gate_open(gate, version, {gate: proposal}) is is_open


def test_a_message_can_name_the_version_that_opened_a_gate():
    """Hints use it."""
    assert opened_in(TO_ZERO) == "1.37"
