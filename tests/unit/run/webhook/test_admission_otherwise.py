"""Whether a new pod comes up with exactly what is wanted: only then may it stand for others that would be evicted."""

import pytest

from hypot.policy.model.seen import LimitRange
from hypot.run.webhook.admission import sizing_for
from unit.policy.sizes_world import box, recommended
from unit.run.webhook.admission_world import pod, scaled, sizer

WRITTEN = pod(box("app", "1", None, limits={"cpu": "2"}))


@pytest.mark.parametrize(
    ("target", "more", "word"),
    [
        ("500m", {}, ""),
        ("500m", {"may_shrink": False}, "larger"),
        ("3", {"may_shrink": False}, ""),
        ("1", {"may_shrink": False}, ""),
    ],
)
def test_leave_to_shrink(target, more, word):
    """It matters only to whom it keeps larger; what nobody recommends is left as it is."""
    assert sizing_for(sizer(recommended(target=(target, None))), pod(), (), **more).otherwise == word
    assert sizing_for(sizer(recommended(target=(target, None))), WRITTEN, (), **more).otherwise == word


def test_growth_that_is_paused():
    """It has less than it should."""
    paused = sizer(recommended(target=("3", None)), annotations={"hypot.dev/paused": "up"})
    assert sizing_for(paused, WRITTEN, ()).otherwise == "smaller"


@pytest.mark.parametrize(
    ("cpu", "bounds", "word"),
    [
        ("4", {"high": {"cpu": 2000}}, "smaller"),
        ("1", {"high": {"cpu": 2000}}, ""),
        ("100m", {"low": {"cpu": 500}}, "larger"),
    ],
)
def test_a_limit_range(cpu, bounds, word):
    """What an Hvpa recorded, and what the namespace makes of it."""
    recorded = scaled(("app", {"cpu": cpu}, {"cpu": cpu}))
    assert sizing_for(recorded, WRITTEN, (LimitRange("Container", **bounds),)).otherwise == word
