"""When the cpu of a request leaps: the seed's halved efficiency, and what must not be reported."""

import random

import pytest

from hypot.core.scraping.cost_change import CostWatch

HOUR = 60


def reported(cost, hours=12, noise=0.1, pods=1, seed=1, load=20.0):
    """(minute, direction) of all changes. `cost` is the factor by minute; each pod has one row a minute."""
    watch, drawn, found = CostWatch(300.0, 3600.0, 1.5), random.Random(seed), []  # noqa: S311
    for minute in range(hours * HOUR):
        for pod in range(pods):
            expected = drawn.uniform(0.5, 1.5) * load
            cpu = expected * cost(minute) * max(1 + drawn.gauss(0, noise), 0)
            change = watch.observed(60.0 * (minute + pod / pods), 60.0, cpu, expected)
            if change is not None:
                found.append((minute, change))
    return found


def halved(minute):
    """From minute 180 cpu does half as much as usual, for two hours, with quick edges, as the seed reports."""
    return 2.0 if 180 <= minute < 300 else 1.0


@pytest.mark.parametrize("pods", [1, 10])
@pytest.mark.parametrize("noise", [0.0, 0.1, 0.3])
def test_halved_efficiency_is_reported_once_and_once_when_it_is_over(noise, pods):
    """Within ten minutes; a pod then uses twice the usual cores."""
    (rose, change), (usual, back) = reported(halved, noise=noise, pods=pods)
    assert (change.direction, back.direction) == ("rose", "usual")
    assert 180 <= rose <= 190
    assert 300 <= usual <= 315
    assert 1.5 <= change.ratio < 2
    assert change.cores / change.usual_cores == pytest.approx(change.ratio)


def test_a_gain_is_reported_too():
    """Half the cpu for the same requests."""
    found = [change.direction for _, change in reported(lambda minute: 0.5 if minute >= 180 else 1.0, hours=8)]
    assert found == ["fell"]


def test_a_change_that_lasts_is_usual_after_six_half_lives():
    """A new version that costs twice as much is reported once, and then it is normal."""
    (rose, _), (settled, change) = reported(lambda minute: 2.0 if minute >= 180 else 1.0, hours=14)
    assert change.direction == "settled"
    assert settled - rose == 6 * HOUR


@pytest.mark.parametrize(
    "cost",
    [
        lambda _: 1.0,
        lambda minute: 1.4 if minute >= 180 else 1.0,  # less than the factor
        lambda minute: 1 + minute / (12 * HOUR),  # slowly to twice as much
        lambda minute: 2.0 if minute == 180 else 1.0,  # one scrape
        lambda minute: 2.0 if minute < 20 else 1.0,  # while it starts
    ],
)
def test_what_is_not_a_leap(cost):
    assert reported(cost) == []


@pytest.mark.parametrize("seed", range(8))
def test_noise_is_not_a_leap(seed):
    """Not even if single scrapes differ by half."""
    assert reported(lambda _: 1.0, noise=0.5, seed=seed) == []


def test_a_pod_that_hardly_uses_cpu_is_not_reported():
    """Nobody wants to be woken for two millicores."""
    assert reported(halved, load=0.1) == []


def test_after_a_gap_it_needs_new_observations():
    """A workload that had no pods for a day starts with few observations: one strange scrape is not a change."""
    watch = CostWatch(300.0, 3600.0, 1.5)
    for minute in range(180):
        watch.observed(60.0 * minute, 60.0, 20.0, 20.0)
    assert watch.observed(86_400.0, 60.0, 60.0, 20.0) is None


def test_costs_are_not_learned_from_a_workload_that_leaps():
    """Also shortly before the report, so that what was learned stays true."""
    watch = CostWatch(300.0, 3600.0, 1.5)
    calm = []
    for minute in range(200):
        watch.observed(60.0 * minute, 60.0, 20.0 * halved(minute), 20.0)
        calm.append(watch.is_calm)
    assert all(calm[:180])
    assert calm[182:] == [False] * 18
