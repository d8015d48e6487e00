"""What all tests share."""

import asyncio
import os

import pytest
from hypothesis import is_hypothesis_test, settings

# No loop is open before the first test that asks for one; one that nobody closes would be reported as a fault.
asyncio.set_event_loop(None)

# `make fuzz N=…` sets this. Then examples are new each time, and there are more of them the larger it is.
FUZZ = int(os.environ.get("HYPOT_FUZZ") or 0)
MORE_EVERY = 10_000

# The same examples every time; and a busy machine is no fault.
settings.register_profile("fixed", derandomize=True, database=None, deadline=None)
settings.register_profile("fuzz", database=None, deadline=None, print_blob=True)
settings.load_profile("fuzz" if FUZZ else "fixed")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Where there is much time, each property draws a multiple of its own number of examples."""
    times = FUZZ // MORE_EVERY
    for item in items if times > 1 else ():
        test = getattr(item, "obj", None)
        if test is None or not is_hypothesis_test(test):
            continue
        test = getattr(test, "__func__", test)
        own = test._hypothesis_internal_use_settings
        if own.max_examples < FUZZ:
            test._hypothesis_internal_use_settings = settings(own, max_examples=own.max_examples * times)
