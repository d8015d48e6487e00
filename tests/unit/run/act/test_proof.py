"""What new pods prove about the webhook, and what is reported when evictions stop."""

from dataclasses import replace

import pytest

from hypot.core.instant import show_time
from hypot.policy.model.seen import Container, Failure, Pod, Scale, Seen
from hypot.policy.model.size import Size
from hypot.policy.model.state import Vertical
from hypot.run.act.proof import COMES_BACK, objection, proof

NOW = 1_800_000_000.0
SIZER = "Hvpa/web"
LATE = NOW + COMES_BACK + 1


WANTED = {"app": Size("app", {"cpu": 2000})}


def pod(started=NOW - 86_400, mark="", cpu=1000, **more):
    marks = {"hypot.dev/sized-by": mark} if mark else {}
    return Pod("web", started=started, annotations=marks, containers=(Container("app", {"cpu": cpu}),), **more)


def seen(*pods, wanted=2, now=NOW + 60):
    return Seen(now, Scale(wanted, len(pods), "app=web"), pods)


@pytest.mark.parametrize(
    ("evicted", "look", "expected"),
    [
        (None, seen(pod()), "none"),
        (NOW, seen(pod(), pod(NOW + 5, SIZER)), "sized"),
        (NOW, seen(pod(), pod(NOW + 5)), "unsized"),
        (NOW, seen(pod(), pod(NOW + 5, "Hvpa/other")), "unsized"),
        (NOW, seen(pod(), pod(NOW + 5), pod(NOW + 9, SIZER)), "sized"),
        (NOW, seen(pod()), "awaited"),
        # The watch may not show yet that the evicted pod is gone.
        (NOW, seen(pod(), pod()), "awaited"),
    ],
)
def test_soon_after_an_eviction(evicted, look, expected):
    """The marks of newer pods are the proof; until there is one, it is awaited."""
    assert proof(look, SIZER, evicted, WANTED) == expected


@pytest.mark.parametrize(
    ("look", "expected"),
    [
        (seen(pod(), now=LATE), "missing"),
        (seen(pod(), now=LATE + 86_400), "missing"),
        # The pod exists, but no node has room for it.
        (seen(pod(), pod(None, phase="Pending"), now=LATE), "missing"),
        (seen(pod(), pod(deleted=True), now=LATE), "missing"),
        (seen(pod(), wanted=1, now=LATE), "none"),
        (seen(pod(), pod(LATE), now=LATE + 60), "none"),
        (seen(pod(), pod(LATE, SIZER), now=LATE + 60), "sized"),
        (seen(pod(), now=NOW - 3600), "missing"),
        (seen(pod(), pod(), now=NOW - 3600), "none"),
        (Seen(LATE, Failure("no scale")), "none"),
    ],
)
def test_where_no_new_pod_came(look, expected):
    """No more evictions while pods are missing; where fewer pods are asked for, none is awaited."""
    assert proof(look, SIZER, NOW, WANTED) == expected


@pytest.mark.parametrize(("tries", "minutes"), [(0, 10), (1, 20), (2, 40), (3, 60), (4, 60), (5000, 60)], ids=str)
def test_an_unsized_pod_is_evidence_for_a_while(tries, minutes):
    """Then one more pod is tried; the message says when."""
    came, until = seen(pod(), pod(NOW + 5)), NOW + 60 * minutes
    for now, expected in ((until - 1, "unsized"), (until, "retry"), (until + 86_400, "retry")):
        assert proof(replace(came, now=now), SIZER, NOW, WANTED, tries) == expected
    reported = objection("unsized", came, Vertical(evicted=NOW, tries=tries))
    assert reported is not None
    assert f"One more pod is tried at {show_time(until)}" in reported.event.message
    assert objection("retry", came, Vertical(evicted=NOW, tries=tries)) is None


WAITING = {"started": None, "phase": "Pending"}
OLD = pod(NOW + 5, created=NOW - 3600)


@pytest.mark.parametrize(
    ("look", "expected"),
    [
        # The pod was pending since before the size was recorded, and now has the place of the evicted pod.
        (seen(pod(), OLD), "awaited"),
        (seen(OLD, pod(mark=SIZER, created=NOW + 1, **WAITING)), "awaited"),
        (seen(pod(), pod(NOW + 9, SIZER, created=NOW + 1)), "sized"),
        # A pod that comes up as written proves it without running.
        (seen(pod(), pod(created=NOW + 1, **WAITING)), "unsized"),
        (seen(pod(), pod(mark=f"{SIZER}/smaller", created=NOW + 1, **WAITING)), "otherwise"),
        # More such pods would stay pending too.
        (seen(pod(), pod(mark=SIZER, created=NOW + 1, **WAITING), now=LATE), "missing"),
    ],
)
def test_pods_that_have_not_started(look, expected):
    """A pod is new by its creation time, because that is when it was sized."""
    assert proof(look, SIZER, NOW, WANTED) == expected


@pytest.mark.parametrize(
    ("word", "cpu", "expected"),
    [
        ("smaller", 1500, "otherwise"),
        ("larger", 3000, "larger"),
        # A new pod would get what this pod lacks, because it was held in the other direction.
        ("larger", 1500, "none"),
        ("smaller", 3000, "none"),
        # The pod has the decided size.
        ("smaller", 2000, "none"),
        ("larger", 2000, "none"),
    ],
)
def test_another_size_than_decided(word, cpu, expected):
    """Such a pod would come up the same way again, unless the direction changed; after an hour it is unknown."""
    came, other = pod(NOW + 5, f"{SIZER}/{word}", cpu), pod(cpu=3000)
    assert proof(seen(other, came), SIZER, NOW, WANTED) == expected
    assert proof(seen(other, came, now=NOW + 3600), SIZER, NOW, WANTED) == expected
    assert proof(seen(other, came, now=NOW + 3605), SIZER, NOW, WANTED) == "none"


def test_a_newer_sized_pod_ends_it():
    """A pod of the same time does not end it: some evictions would still have no effect."""
    held = pod(NOW + 5, f"{SIZER}/smaller")
    assert proof(seen(held, pod(NOW + 5, SIZER)), SIZER, NOW, WANTED) == "otherwise"
    assert proof(seen(held, pod(NOW + 6, SIZER)), SIZER, NOW, WANTED) == "sized"
    # A pod that came much later was not evicted, and what held it is unknown.
    assert proof(seen(pod(), pod(LATE, f"{SIZER}/smaller"), now=LATE + 60), SIZER, NOW, WANTED) == "none"
    assert proof(seen(pod(), pod(NOW + 5, f"{SIZER}/smaller", deleted=True)), SIZER, NOW, WANTED) != "otherwise"


def test_what_is_reported():
    """No report where nothing is wrong; otherwise the event says where to look."""
    assert objection("none", seen(), Vertical()) is None
    assert objection("sized", seen(), Vertical(evicted=NOW)) is None
    assert objection("awaited", seen(), Vertical(evicted=NOW)) is None
    missing = objection("missing", seen(), Vertical(evicted=NOW))
    assert missing is not None
    assert (missing.event.reason, "quota" in missing.event.message) == ("FailedResize", True)
    otherwise = objection("otherwise", seen(), Vertical(evicted=NOW))
    assert otherwise is not None
    assert (otherwise.event.reason, "other than the decided" in otherwise.event.message) == ("FailedResize", True)
    unsized = objection("unsized", seen(pod(NOW + 5)), Vertical(evicted=NOW))
    assert unsized is not None
    assert (unsized.event.reason, "LimitRange" in unsized.event.message) == ("WebhookUnavailable", True)


def test_the_autoscaler_of_another_mark_is_named():
    """Another autoscaler sized the pod, so the webhook works: only that autoscaler is named."""
    look = seen(pod(NOW + 5, "Hvpa/other"), pod(NOW + 6), pod(mark="Hvpa/old"))
    reported = objection("unsized", look, Vertical(evicted=NOW))
    assert reported is not None
    assert reported.event.reason == "Conflict"
    assert "Hvpa/other" in reported.event.message
    assert "Hvpa/old" not in reported.event.message
    assert "LimitRange" not in reported.event.message
