"""Strategies that are made once: hypothesis takes longer to make and check one than to draw from it."""

from functools import cache, lru_cache

from hypothesis import strategies as st

either = st.booleans()
mostly = st.sampled_from([True, True, True, False])
set_or_not = st.sampled_from([None, True])


@lru_cache(maxsize=None, typed=True)
def among(*values):
    """One of these."""
    return st.sampled_from(values)


@cache
def within(low, high):
    """A whole number from one of these to the other."""
    return st.integers(low, high)


@cache
def maybe(strategy):
    """Nothing, or one of these."""
    return st.one_of(st.none(), strategy)
