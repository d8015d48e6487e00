"""A constructor refuses what reading its manifest would refuse, at the same fields, and adds only what is listed."""

import pytest
from hypothesis import given, settings

from cluster.fuzz import hpa_calls, size_calls
from cluster.fuzz.calls import refused, written
from hypot import HPA

ADDED = {**hpa_calls.ADDED, **size_calls.ADDED}


def found(problems):
    """The errors. What the cluster does with them, tests/cluster/test_constructors.py compares."""
    return {(one.rule, one.field) for one in problems if one.severity == "error"}


@pytest.mark.parametrize("kind", [HPA, *size_calls.KINDS])
def test_constructors_and_reading_agree(kind):
    """Of what JSON cannot hold, the constructor says something, too."""

    @settings(max_examples=300)
    @given(hpa_calls.hpas if kind is HPA else size_calls.KINDS[kind])
    def check(call):
        problems, manifest = refused(call), written(call)
        if manifest is None or "keyword" in {one.rule for one in problems}:
            assert problems
            return
        own = found(one for one in problems if one.rule not in ADDED)
        assert own == found(kind.from_dict(manifest).problems())
        assert problems or kind.from_dict(manifest) == call()

    check()


@pytest.mark.parametrize("rule", ADDED)
def test_what_a_constructor_adds_is_no_problem_of_the_manifest(rule):
    """It needs the pods of the target, or two arguments of one call."""
    why, call = ADDED[rule]
    assert why
    assert {one.rule for one in refused(call)} == {rule}
    assert not found(call.make.from_dict(written(call)).problems())
