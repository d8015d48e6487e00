"""What is known is not reported, and everything else is."""

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hypot.lint import check
from hypot.lint.baseline import baseline_of, known, without_known
from unit.lint.lint_cases import hpa

BASE = check(hpa(maxReplicas=0))
FINDING = BASE.findings[0]
FINDINGS = st.builds(
    lambda file, rule, message, line: replace(FINDING, file=file, rule=rule, message=message, line=line),
    st.sampled_from(["a.yaml", "b.yaml"]),
    st.sampled_from(["x", "y"]),
    st.sampled_from(["no", "is also defined in c.yaml, line 3"]),
    st.integers(1, 3),
)
REPORTS = st.lists(FINDINGS, max_size=8).map(lambda findings: replace(BASE, findings=tuple(findings)))


@given(REPORTS, REPORTS)
def test_each_finding_is_new_or_known(before, now):
    """As often as it was known it is left out; what is left of the baseline no longer occurs."""
    baseline = baseline_of(before, str)
    new, gone = without_known(now, baseline, str)
    found, reported = baseline_of(now, str), baseline_of(new, str)
    assert reported == found - baseline
    assert gone == baseline - found
    assert new.known == len(now.findings) - len(new.findings)
    assert set(new.findings) <= set(now.findings)
    assert baseline == baseline_of(before, str)


@given(REPORTS)
def test_the_own_baseline_leaves_nothing(report):
    """Nothing is new, and nothing is gone."""
    new, gone = without_known(report, baseline_of(report, str), str)
    assert (new.findings, gone) == ((), Counter())


@pytest.mark.parametrize(
    ("message", "kept"),
    [
        ("HPA shop/web is also defined in k8s/a, b.yaml, line 12", "HPA shop/web is also defined"),
        ("HPA shop/web is also defined in chart/templates/x.yaml", "HPA shop/web is also defined"),
        (
            "the key 'a' is given twice, first on line 4 (column 3)",
            "the key 'a' is given twice, first on line (column)",
        ),
        ("requires 2 healthy pods of 2", "requires 2 healthy pods of 2"),
        ("deadline 4 is in the past", "deadline 4 is in the past"),
    ],
)
def test_places_are_no_part_of_a_finding(message, kept):
    """A finding that has moved is the same one."""
    assert known(replace(FINDING, message=message, line=7), str).message == kept
