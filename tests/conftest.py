"""What all tests share."""

import asyncio
import gc
import os
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, is_hypothesis_test, settings

# No event loop is open before the first test that asks for one; an unclosed loop would be reported as a fault.
asyncio.set_event_loop(None)

# `make fuzz N=…` sets this. Then examples are new each time, and there are more of them the larger it is.
FUZZ = int(os.environ.get("HYPOT_FUZZ") or 0)
MORE_EVERY = 10_000
FEWEST = 10
CLUSTER = Path(__file__).parent / "cluster"

# The same examples every time; and no deadlines, because a busy machine is not a fault.
ALWAYS = {"database": None, "deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("fixed", derandomize=True, **ALWAYS)
settings.register_profile("fuzz", print_blob=True, **ALWAYS)
settings.load_profile("fuzz" if FUZZ else "fixed")


def examples(own: int) -> int:
    """How many examples a property draws, given its own number.

    A fixed run draws the same examples each time, and only half of them, to save time. `make fuzz` draws the full
    number, and a multiple of it where there is much time.
    """
    if not FUZZ:
        return max(min(own, FEWEST), own // 2)
    return own * max(1, FUZZ // MORE_EVERY) if own < FUZZ else own


def put_slow_files_first(items: list[pytest.Item]) -> None:
    """So that no process is left with one of them at the end; what compiles for the others comes before all.

    A file of many tests is a table of quick ones, and the slow tests are in files of few.
    """
    size = Counter(item.path for item in items)
    items.sort(key=lambda item: ("compiled" not in getattr(item, "fixturenames", ()), size[item.path]))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Set the number of examples of each property; properties on a real cluster set their own."""
    if hasattr(config, "workerinput"):
        put_slow_files_first(items)
    counting = [item for item in items if not item.path.is_relative_to(CLUSTER)]
    # A test with parameters is several items but one function.
    for test in {getattr(item.obj, "__func__", item.obj) for item in counting if isinstance(item, pytest.Function)}:
        if is_hypothesis_test(test):
            own = test._hypothesis_internal_use_settings
            test._hypothesis_internal_use_settings = settings(own, max_examples=examples(own.max_examples))


def pytest_collection_finish() -> None:
    """Leave the collected tests out of garbage collection: otherwise each full collection visits all of them."""
    gc.collect()
    gc.freeze()
