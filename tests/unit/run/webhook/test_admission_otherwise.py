"""Whether a new pod has exactly the decided size: only then does it prove that other evictions would help."""

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
    """It matters only where it keeps a pod larger; without a recommendation a resource stays as it is."""
    assert sizing_for(sizer(recommended(target=(target, None))), pod(), (), **more).otherwise == word
    assert sizing_for(sizer(recommended(target=(target, None))), WRITTEN, (), **more).otherwise == word


def test_growth_that_is_paused():
    """The pod has less than it should."""
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
    """The namespace changes the size that an Hvpa recorded."""
    recorded = scaled(("app", {"cpu": cpu}, {"cpu": cpu}))
    assert sizing_for(recorded, WRITTEN, (LimitRange("Container", **bounds),)).otherwise == word
