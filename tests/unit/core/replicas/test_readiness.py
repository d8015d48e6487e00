"""When a pod's cpu sample is reliable."""

import pytest

from hypot.core.replicas.readiness import cpu_unready

NOW, PERIOD, DELAY, WINDOW = 10_000.0, 300.0, 30.0, 60.0


def unready(*, ready_false, changed, age, sampled=0.0):
    """All times are in seconds before now, except the change, which is after the start."""
    start = NOW - age
    return cpu_unready(ready_false, start + changed, start, NOW - sampled, WINDOW, NOW, PERIOD, DELAY)


@pytest.mark.parametrize(
    ("ready_false", "age", "is_unready"),
    [
        (True, 299.0, True),
        (False, 299.0, False),
        (True, 300.0, False),  # the period is over exactly at its end
    ],
)
def test_while_it_starts_up_it_must_be_ready(ready_false, age, is_unready):
    """The pod's readiness changed 100 s after its start, so it was ready before."""
    assert unready(ready_false=ready_false, changed=100.0, age=age) is is_unready


@pytest.mark.parametrize(
    ("age", "sampled", "is_unready"),
    [
        (200.0, 30.0, False),  # sampled 170 s after the start, ready since 100 s: 70 s apart
        (200.0, 40.0, False),  # exactly a window apart is enough
        (200.0, 41.0, True),
        (300.0, 290.0, False),  # not checked after the start-up
    ],
)
def test_while_it_starts_up_a_whole_window_must_be_measured_ready(age, sampled, is_unready):
    """A sample that reaches back to before the pod was ready measures its start."""
    assert unready(ready_false=False, changed=100.0, age=age, sampled=sampled) is is_unready


@pytest.mark.parametrize(
    ("ready_false", "changed", "is_unready"),
    [
        (True, 29.0, True),  # unready since its first half minute: it was never ready
        (True, 30.0, False),  # exactly at the delay it was ready
        (True, 500.0, False),  # it became unready later
        (False, 0.0, False),
    ],
)
def test_after_the_start_only_a_pod_that_never_was_ready_is_left_out(ready_false, changed, is_unready):
    """Overload that makes pods unready must not hide their load."""
    assert unready(ready_false=ready_false, changed=changed, age=1000.0) is is_unready
