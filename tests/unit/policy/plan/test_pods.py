"""What happens to a pod that was created after its plan began, or that is OOM-killed again and again."""

from dataclasses import replace

import pytest

from builders import LONG_AGO, NOW
from hypot.policy.model.seen import Ended
from hypot.policy.plan.pods import DisruptionRoom, PlanContext, came_after, fate_of
from unit.policy.plan.test_pursue import LARGE, NEWEST, container, pod

LOOK = PlanContext(
    {"app": LARGE}, NOW - 60, evicts=True, lowers=True, nodes={}, controllers={}, kubernetes=NEWEST, now=NOW
)
ROOM = DisruptionRoom(2, 2)
OLD = (1, 20)
DYING = container(ended=Ended("OOMKilled", NOW - 50, NOW - 30), restarts=5)


def fate(look=LOOK, **more):
    return fate_of(pod(**more), look, ROOM)


@pytest.mark.parametrize(
    ("created", "started", "new"),
    [(NOW, None, True), (NOW - 3600, NOW, False), (None, NOW, True), (None, None, False), (NOW - 60, NOW, True)],
)
def test_which_pod_is_new(created, started, new):
    """A pod that only waited long for a node is not new."""
    assert came_after(pod(created=created, started=started), NOW - 60) is new


def test_a_pod_that_was_pending_when_the_plan_began():
    """It has the old size and is evicted like the others; a pod created since then would come back the same."""
    look = replace(LOOK, kubernetes=OLD)
    assert fate(look, created=LONG_AGO, started=NOW - 5).action == "evict"
    assert fate(look, created=NOW - 30, started=NOW - 5).action == "infeasible"


def test_a_pod_killed_again_and_again_is_evicted():
    """It also has a size to get in place if the eviction must wait, unless Kubernetes cannot resize in place."""
    found = fate(containers=(DYING,))
    assert (found.action, [size.requests for size in found.sizes]) == ("evict", [LARGE.requests])
    assert fate(replace(LOOK, kubernetes=OLD), containers=(DYING,))[::2] == ("evict", ())


@pytest.mark.parametrize("more", [{"started": NOW - 40, "created": NOW - 40}, {"owners": ()}])
def test_a_killed_pod_that_cannot_be_evicted_is_resized(more):
    """It started with too little already, or has no controller: a resize in place is better than nothing."""
    assert fate(containers=(DYING,), **more).action == "resize"
