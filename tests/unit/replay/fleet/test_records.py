"""The state of a replay as records."""

from math import inf
from typing import Any, NamedTuple

import numpy as np
import pytest

from hypot.replay.fleet.records import ENTRIES, PLACES, RULES, SLOTS, record_of
from hypot.replay.numbers.hpa import NumericPace
from hypot.replay.numbers.past import no_past, recommended
from hypot.replay.world.cohorts import born, empty

pytestmark = pytest.mark.xdist_group("fleet")


class Outer(NamedTuple):
    truth: bool
    pace: NumericPace
    count: int
    values: Any


def pace(**changed):
    return NumericPace(
        window=60.0,
        disabled=True,
        least=False,
        policies=2,
        percents=[True, False],
        values=[50, 4],
        periods=[15.0, 30.0],
        longest=30.0,
    )._replace(**changed)


def test_numbers_and_columns_are_in_their_places():
    """Also those of a nested tuple, and those after a boolean, which is shorter than a number."""
    record = record_of(Outer(truth=True, pace=pace(), count=7, values=[1.5, -inf]), RULES)
    assert (record["truth"], record["count"]) == (True, 7)
    assert record["values"].tolist() == [1.5, -inf] + [0.0] * (RULES - 2)
    assert record["pace"]["window"] == 60.0
    assert (record["pace"]["disabled"], record["pace"]["least"]) == (True, False)
    assert record["pace"]["values"][:2].tolist() == [50, 4]
    assert record["pace"]["periods"][:3].tolist() == [15.0, 30.0, 0.0]


def test_a_form_is_not_taken_for_another():
    """Tuples of one type with more or fewer entries in use get the right record, in any order."""
    for count in (1, 3, 1):
        past = no_past(8, 4)
        for n in range(count):
            recommended(past, n + 5, float(n), -1.0)
        record = record_of(past, ENTRIES)
        assert record["used"].tolist() == [count]
        assert record["values"][:4].tolist() == [5, 6, 7, 0][:count] + [0] * (4 - count)


def test_empty_columns_have_the_same_type():
    """Otherwise a rule without policies would be compiled a second time."""
    none = record_of(pace(policies=0, percents=[], values=[], periods=[]), RULES)
    assert none.dtype == record_of(pace(), RULES).dtype


def test_only_existing_groups_are_copied():
    """Everything that is observed of them is copied, to fixed places."""
    c = empty(4, 3)
    for count in (2, 5):
        born(c, 3, count, 0.0, 1000, 2**30, -1, -1, -1)
    c.cpu_seen[1][:] = [0.1, 0.2, 0.3]
    c.count[3] = 9
    record = record_of(c, PLACES)
    assert record["count"][:4].tolist() == [2, 5, 0, 0]
    assert record["cpu_seen"].shape == (PLACES, SLOTS)
    assert np.array_equal(record["cpu_seen"][1][:4], [0.1, 0.2, 0.3, 0.0])
