"""Amounts as messages show them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hypot.core.amount import MOST, brief, brief_pair

amounts = st.integers(0, MOST)


@pytest.mark.parametrize(
    ("resource", "amount", "text"),
    [
        ("cpu", 250, "250m"),
        ("cpu", 2000, "2"),
        ("memory", 0, "0"),
        ("memory", 999, "999 bytes"),
        ("memory", 1000, "1k"),
        ("memory", 125_360, "~122.4Ki"),
        ("memory", 250 * 2**20, "250Mi"),
        ("memory", 263_925_000, "~251.7Mi"),
    ],
)
def test_an_amount_of_memory_has_a_unit(resource, amount, text):
    """Short quantities are exact; others are approximations. A number of cores has no unit, as in manifests."""
    assert brief(resource, amount) == text


def test_a_small_change_is_visible():
    """Approximations of different amounts may look equal: then both are exact."""
    assert brief_pair("memory", 263_925_000, 263_926_000) == ("263925k", "263926k")
    assert brief_pair("memory", 263_925_000, 2**30) == ("~251.7Mi", "1Gi")


@given(st.sampled_from(["cpu", "memory"]), amounts, amounts)
def test_different_amounts_look_different(resource, one, other):
    """This holds for all pairs; equal amounts look equal."""
    texts = brief_pair(resource, one, other)
    assert (texts[0] == texts[1]) is (one == other)
