"""Strategies that are created once: hypothesis takes longer to create and check a strategy than to draw from it."""

from functools import cache, lru_cache

from hypothesis import strategies as st

either = st.booleans()
mostly = st.sampled_from([True, True, True, False])
set_or_not = st.sampled_from([None, True])


@lru_cache(maxsize=None, typed=True)
def among(*values):
    """One of these values."""
    return st.sampled_from(values)


@cache
def within(low, high):
    """A whole number within these bounds."""
    return st.integers(low, high)


@cache
def maybe(strategy):
    """None, or a value of this strategy."""
    return st.one_of(st.none(), strategy)
