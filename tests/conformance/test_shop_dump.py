"""A real dump of HorizontalPodAutoscalers at rest: hypot decides what the real controller wrote into their status."""

import os
from pathlib import Path

import pytest

from hypot.core.instant import show_time
from hypot.kinds.text.load import load
from hypot.policy.decide import decide
from hypot.policy.families import seen_by
from hypot.policy.model.settings import Settings
from hypot.policy.model.state import State
from hypot.policy.observe.snapshot import Snapshot

VARIABLE = "HYPOT_EXAMPLES"
NAMES = ["shop-api", "shop-cart", "shop-idle", "shop-max", "shop-mem", "shop-slow", "shop-web"]
VERSIONS = [Settings(kubernetes=(1, 36)), Settings()]


def dump() -> Path:
    folder = os.environ.get(VARIABLE)
    return (Path(folder) if folder else Path(__file__).resolve().parents[3] / "shared" / "examples") / "shop-dump.yaml"


if not dump().is_file():
    pytest.skip(f"no {dump()}; set {VARIABLE} to the folder that holds it", allow_module_level=True)


@pytest.fixture(scope="module")
def snapshot():
    return Snapshot(one.data for one in load([str(dump())]))


def decided(snapshot, settings):
    now = snapshot.newest_time()
    for hpa in snapshot.autoscalers():
        seen = seen_by(snapshot, hpa, now, settings)
        yield hpa, decide(hpa, seen, State.from_status(hpa.status), settings)[0]


def reasons(status):
    return [(c["type"], c["status"], c["reason"]) for c in status["conditions"]]


def test_the_dump_is_whole(snapshot):
    """All seven are there, and the time of the dump is that of its metrics."""
    assert [hpa.name for hpa in snapshot.autoscalers()] == NAMES
    assert show_time(snapshot.newest_time()) == "2026-11-15T01:58:03Z"
    assert not [p for hpa in snapshot.autoscalers() for p in hpa.problems()]


@pytest.mark.parametrize("settings", VERSIONS, ids=["1.36", "newest"])
def test_we_agree_with_the_controller(snapshot, settings):
    """Desired replicas, conditions in their order, and current metrics are the same for each of them."""
    for hpa, decision in decided(snapshot, settings):
        ours, theirs = decision.status, hpa.status
        assert ours["desiredReplicas"] == theirs["desiredReplicas"], hpa
        assert ours["currentReplicas"] == theirs["currentReplicas"], hpa
        assert reasons(ours) == reasons(theirs), hpa
        assert ours.get("currentMetrics") == theirs.get("currentMetrics"), hpa
        assert ours.get("lastScaleTime") == theirs.get("lastScaleTime"), hpa
        assert not decision.rescales, hpa


@pytest.mark.parametrize("settings", VERSIONS, ids=["1.36", "newest"])
def test_what_only_history_could_know_is_told(snapshot, settings):
    """A rate limit after a scaling of unknown size, and a window with unknown recommendations, are reported."""
    unknown = {hpa.name: decision.unknown for hpa, decision in decided(snapshot, settings) if decision.unknown}
    assert set(unknown) == {"shop-api", "shop-idle"}
    assert "the size of the last scaling, 45 s ago, is unknown" in unknown["shop-api"][0]
    assert "earlier recommendations are not known" in unknown["shop-idle"][0]
