"""What new pods show of the webhook, and what is told where nothing more is evicted."""

import pytest

from hypot.policy.seen import Failure, Pod, Scale, Seen
from hypot.run.proof import COMES_BACK, objection, proof

NOW = 1_800_000_000.0
SIZER = "Hvpa/web"
LATE = NOW + COMES_BACK + 1


def pod(started=NOW - 86_400, mark="", **more):
    return Pod("web", started=started, annotations={"hypot.dev/sized-by": mark} if mark else {}, **more)


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
    assert proof(look, SIZER, evicted) == expected


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
    assert proof(look, SIZER, NOW) == expected


def test_what_is_told():
    """Where nothing is wrong nothing is; else where to look."""
    assert objection("none", seen(), None) is None
    assert objection("sized", seen(), NOW) is None
    assert objection("awaited", seen(), NOW) is None
    missing = objection("missing", seen(), NOW)
    assert missing is not None
    assert (missing.reason, "quota" in missing.message) == ("FailedResize", True)
    unsized = objection("unsized", seen(pod(NOW + 5)), NOW)
    assert unsized is not None
    assert (unsized.reason, "LimitRange" in unsized.message) == ("WebhookUnavailable", True)


def test_whose_mark_was_found():
    """The webhook works where another autoscaler sized the pod: then that is named, and nothing else blamed."""
    told = objection("unsized", seen(pod(NOW + 5, "Hvpa/other"), pod(NOW + 6), pod(mark="Hvpa/old")), NOW)
    assert told is not None
    assert told.reason == "Rival"
    assert "Hvpa/other" in told.message
    assert "Hvpa/old" not in told.message
    assert "LimitRange" not in told.message
