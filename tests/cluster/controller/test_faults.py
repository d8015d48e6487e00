"""Faults around a controller: its own process is suspended, its calls fail, and the API server is away."""

import signal
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from functools import partial
from typing import Any

import pytest

from cluster.plane.waiting import eventually
from cluster.running.houses import (
    DOWN_FACTOR,
    DOWN_WINDOW,
    LONG,
    UP_FACTOR,
    UP_WINDOW,
    House,
    reaches,
    side_by_side,
    watermarked,
)
from cluster.running.invariants import METRICS, impatient, moves, overlap, too_far, too_soon, turns, unguarded
from cluster.running.proxy import Call, paths
from cluster.running.stage import Object, Stage, stays

Results = dict[str, Future[Any]]
AT_ONCE = 15
STOPPED, AWAY = 30.0, 60.0
GONE: Object = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Expired", "code": 410}
BUSY: Object = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "TooManyRequests", "code": 429}


@pytest.fixture(scope="module")
def results(stage: Stage) -> Results:
    """Each case in a house of its own, side by side; those that take long come first."""
    cases: dict[str, Callable[[], Any]] = {
        "stopped while it looks": partial(stopped, stage, _looks, "before"),
        "stopped while it writes": partial(stopped, stage, _scales, "during"),
        "throttled": partial(grows, stage, _throttle),
        "expired": partial(grows, stage, _expire),
        "cut": partial(grows, stage, _cut),
    }
    return side_by_side(cases, AT_ONCE)


# A suspended process.


def _looks(call: Call) -> bool:
    return call.method == "GET" and call.path.startswith(METRICS)


def _scales(call: Call) -> bool:
    return call.kind == "scale"


def stopped(stage: Stage, moment: Callable[[Call], bool], when: Any) -> tuple[list[str], list[Call]]:
    """Two replicas; the first is suspended in the middle of a reconcile that is about to scale.

    Returns what it sent from then on, and what the second wrote while the first still wrote.
    """
    with House(stage, "stop") as house:
        web, _ = watermarked(stage, house.namespace)
        first = house.hire()
        first.until_reconciled(3, LONG)
        second = house.hire()
        eventually(lambda: second.lines("listening"), LONG)
        held = house.proxies[0].hold(moment, when)
        web.load = 1560.0
        assert held.come.wait(LONG)
        first.signal(signal.SIGSTOP)
        began = time.monotonic()
        held.release.set()
        eventually(lambda: second.lines("resumed"), LONG)
        time.sleep(max(0.0, began + STOPPED - time.monotonic()))
        first.signal(signal.SIGCONT)
        eventually(lambda: first.lines("lease lost"), LONG)
        reaches(web, 8)
        second.until_reconciled(3, LONG)
        # Calls in flight when it was suspended had a second to arrive.
        late = paths(house.proxies[0].writes(since=began + 1))
        both = overlap(house.proxies[0].journal, house.proxies[1].journal)
        counts = [move.replicas for move in moves(house.journal)]
        assert (turns(counts), too_far(2, counts, UP_FACTOR, DOWN_FACTOR)) == (0, [])
        # It lost nothing by that: it leads again as soon as it may.
        second.stop()
        eventually(lambda: len(first.lines("resumed")) == 2, LONG)
        first.until_reconciled(2, LONG)
        assert stays(web.replicas, 2) == 8
        return late, both


@pytest.mark.parametrize("moment", ["looks", "writes"])
def test_a_suspended_replica_writes_nothing_afterwards(results: Results, moment: str):
    """After 30 s the other replica leads, and two replicas never write at the same time."""
    assert results[f"stopped while it {moment}"].result() == ([], [])


# A server that refuses calls.


def _throttle(house: House) -> None:
    """Several kinds of calls are refused for a while, with a time to wait."""
    proxy = house.proxies[0]
    for kind in ("scale", "status", "state"):
        proxy.refuse(lambda call, kind=kind: call.kind == kind, 429, BUSY, 3, Retry_After="1")
    proxy.refuse(_looks, 429, BUSY, 3, Retry_After="1")


def _expire(house: House) -> None:
    """All watches end, and none can continue from where it was."""
    house.proxies[0].refuse(lambda call: "resourceVersion" in call.query and "watch" in call.query, 410, GONE, 12)
    house.proxies[0].cut()


def _cut(house: House) -> None:
    for _ in range(8):
        house.proxies[0].cut()
        time.sleep(1)


def grows(stage: Stage, trouble: Callable[[House], None]) -> tuple[list[int], list[str]]:
    """Demand rises while calls fail, and falls again afterwards.

    Returns the replica counts at rest, and everything that was wrong on the way there.
    """
    with House(stage, "trouble") as house:
        web, wpa = watermarked(stage, house.namespace)
        controller = house.hire()
        controller.until_reconciled(3, LONG)
        web.load = 1560.0
        trouble(house)
        rests = []
        for load, replicas in ((1560.0, 8), (410.0, 4)):
            web.load = load
            reaches(web, replicas)
            rests.append(stays(web.replicas, 3))
        eventually(lambda: wpa.status().get("currentReplicas") == 4, LONG)
        done = moves(house.journal)
        counts = [move.replicas for move in done]
        wrong = [str(each) for each in too_far(2, counts, UP_FACTOR, DOWN_FACTOR)]
        wrong += [str(each) for each in too_soon(2, done, UP_WINDOW, DOWN_WINDOW)]
        assert turns(counts) == 1
        return rests, wrong + unguarded(house.journal) + impatient(house.journal, 1.0)


@pytest.mark.parametrize("case", ["throttled", "expired", "cut"])
def test_calls_that_sometimes_fail_cause_no_wrong_scaling(results: Results, case: str):
    """Refused calls are repeated no sooner than the server asked for, and watches continue."""
    assert results[case].result() == ([8, 4], [])


def test_the_api_server_is_away_for_a_minute(stage: Stage, results: Results):
    """The controller keeps running and writes nothing; then it leads again and does what has become necessary."""
    wait(results.values())
    with House(stage, "away") as house:
        web, wpa = watermarked(stage, house.namespace, 4, 600.0)
        controller = house.hire()
        controller.until_reconciled(3, LONG)
        stage.plane.stop_server()
        web.load = 1560.0
        time.sleep(AWAY)
        assert controller.is_running()
        assert not [call for call in house.proxies[0].writes() if call.kind == "scale"]
        stage.plane.start_server()
        eventually(lambda: len(controller.lines("lease acquired")) == 2, LONG)
        reaches(web, 8)
        web.load = 410.0
        reaches(web, 4)
        eventually(lambda: wpa.status().get("currentReplicas") == 4, LONG)
        counts = [move.replicas for move in moves(house.journal)]
        assert (counts[0], turns(counts)) == (6, 1), counts
        assert too_far(4, counts, UP_FACTOR, DOWN_FACTOR) == []
        assert controller.stop() == 0
