"""OOM kills and evictions because of memory pressure, as pods report them."""

import pytest

from hypot.policy.model.seen import Container, Ended, Eviction, Pod
from hypot.policy.vertical.oom import last_oom, put_out

AT = 1519393128.0
KILL = Ended("OOMKilled", AT - 60, AT - 30)


@pytest.mark.parametrize(
    ("ended", "eviction", "reported"),
    [
        (None, None, None),
        (KILL, None, (AT - 30, 2048)),
        (KILL._replace(reason="Error"), None, None),
        (KILL._replace(finished=None), None, None),
        (None, Eviction(AT, {"app": 4_096_000}), (AT, 4096)),
        (KILL, Eviction(AT, {"app": 1}), (AT, 1)),
        (KILL, Eviction(AT, {"app": None}), (AT, 2048)),
        (KILL, Eviction(AT, {"proxy": 4_096_000}), None),
    ],
)
def test_how_a_container_of_a_pod_last_ran_out(ended, eviction, reported):
    """OOM-killed with what it had, or evicted with what it used; an eviction is the end of the pod."""
    container = Container("app", {"memory": 2_048_000}, ended=ended)
    found = Pod("web-1", containers=(container,), eviction=eviction)
    assert last_oom(found, container) == reported
    assert put_out([found]) == ([found] if eviction else [])


def test_what_the_kubelet_says_it_has_counts():
    """A resize shows there first; no request counts as zero."""
    resized = Container("app", {"memory": 1000}, actual_requests={"memory": 7000}, ended=KILL)
    assert last_oom(Pod("web-1"), resized) == (AT - 30, 7)
    assert last_oom(Pod("web-1"), Container("app", ended=KILL)) == (AT - 30, 0)
