"""What a workload needs, computed without large products."""

from hypothesis import given
from hypothesis import strategies as st

from hypot.core.learning.needs import needed_at


@given(st.integers(0, 2**62), st.integers(1, 10_000), st.integers(0, 10_000), st.integers(1, 100))
def test_nothing_is_rounded_on_the_way(used, measured, others, target):
    """It is the whole product, divided once."""
    serving = measured + others
    assert needed_at(used, measured, serving, target) == used * serving * 100 // (measured * target)
