"""What new pods show of the webhook, and what is told where nothing more is evicted."""

import pytest

from hypot.policy.model.seen import Container, Failure, Pod, Scale, Seen
from hypot.policy.model.size import Size
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
        # The watch may not show yet that the one that went is gone.
        (NOW, seen(pod(), pod()), "awaited"),
    ],
)
def test_soon_after_an_eviction(evicted, look, expected):
    """The marks of pods that came up since then say it; until one does, it is waited for."""
    assert proof(look, SIZER, evicted, WANTED) == expected


@pytest.mark.parametrize(
    ("look", "expected"),
    [
        (seen(pod(), now=LATE), "missing"),
        (seen(pod(), now=LATE + 86_400), "missing"),
        # It is there, and no node has room for it.
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
    """Nothing more goes while fewer are there than are wanted; where fewer are wanted, nothing is awaited."""
    assert proof(look, SIZER, NOW, WANTED) == expected


WAITING = {"started": None, "phase": "Pending"}
OLD = pod(NOW + 5, created=NOW - 3600)


@pytest.mark.parametrize(
    ("look", "expected"),
    [
        # It has waited for a place since before the size was recorded, and now has that of the one that went.
        (seen(pod(), OLD), "awaited"),
        (seen(OLD, pod(mark=SIZER, created=NOW + 1, **WAITING)), "awaited"),
        (seen(pod(), pod(NOW + 9, SIZER, created=NOW + 1)), "sized"),
        # What comes as it is written need not run to show it.
        (seen(pod(), pod(created=NOW + 1, **WAITING)), "unsized"),
        (seen(pod(), pod(mark=f"{SIZER}/smaller", created=NOW + 1, **WAITING)), "otherwise"),
        # More of those would find no place either.
        (seen(pod(), pod(mark=SIZER, created=NOW + 1, **WAITING), now=LATE), "missing"),
    ],
)
def test_pods_that_have_not_started(look, expected):
    """A pod is new by the time at which it was made, for that is when it got its size."""
    assert proof(look, SIZER, NOW, WANTED) == expected


@pytest.mark.parametrize(
    ("word", "cpu", "expected"),
    [
        ("smaller", 1500, "otherwise"),
        ("larger", 3000, "larger"),
        # It would get what it lacks now, for it was held the other way.
        ("larger", 1500, "none"),
        ("smaller", 3000, "none"),
        # It has what is wanted now.
        ("smaller", 2000, "none"),
        ("larger", 2000, "none"),
    ],
)
def test_another_size_than_is_wanted(word, cpu, expected):
    """Who came up otherwise would do so again, unless it is to go another way by now; after an hour nobody knows."""
    came, other = pod(NOW + 5, f"{SIZER}/{word}", cpu), pod(cpu=3000)
    assert proof(seen(other, came), SIZER, NOW, WANTED) == expected
    assert proof(seen(other, came, now=NOW + 3600), SIZER, NOW, WANTED) == expected
    assert proof(seen(other, came, now=NOW + 3605), SIZER, NOW, WANTED) == "none"


def test_a_newer_one_ends_it():
    """Not one of the same time: then some would come back in vain."""
    held = pod(NOW + 5, f"{SIZER}/smaller")
    assert proof(seen(held, pod(NOW + 5, SIZER)), SIZER, NOW, WANTED) == "otherwise"
    assert proof(seen(held, pod(NOW + 6, SIZER)), SIZER, NOW, WANTED) == "sized"
    # What came much later was not evicted, and nobody knows what held it.
    assert proof(seen(pod(), pod(LATE, f"{SIZER}/smaller"), now=LATE + 60), SIZER, NOW, WANTED) == "none"
    assert proof(seen(pod(), pod(NOW + 5, f"{SIZER}/smaller", deleted=True)), SIZER, NOW, WANTED) != "otherwise"


def test_what_is_told():
    """Where nothing is wrong nothing is; else where to look."""
    assert objection("none", seen(), None) is None
    assert objection("sized", seen(), NOW) is None
    assert objection("awaited", seen(), NOW) is None
    missing = objection("missing", seen(), NOW)
    assert missing is not None
    assert (missing.event.reason, "quota" in missing.event.message) == ("FailedResize", True)
    otherwise = objection("otherwise", seen(), NOW)
    assert otherwise is not None
    assert (otherwise.event.reason, "other than the decided" in otherwise.event.message) == ("FailedResize", True)
    unsized = objection("unsized", seen(pod(NOW + 5)), NOW)
    assert unsized is not None
    assert (unsized.event.reason, "LimitRange" in unsized.event.message) == ("WebhookUnavailable", True)


def test_whose_mark_was_found():
    """The webhook works where another autoscaler sized the pod: then that is named, and nothing else blamed."""
    reported = objection("unsized", seen(pod(NOW + 5, "Hvpa/other"), pod(NOW + 6), pod(mark="Hvpa/old")), NOW)
    assert reported is not None
    assert reported.event.reason == "Conflict"
    assert "Hvpa/other" in reported.event.message
    assert "Hvpa/old" not in reported.event.message
    assert "LimitRange" not in reported.event.message
