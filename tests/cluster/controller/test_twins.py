"""The HPA controller and `hypot run`, each in its own cluster with the same demand, reach the same counts."""

import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from random import Random

import pytest

from cluster.plane.controlplane import WORKLOAD_CONTROLLERS, ControlPlane
from cluster.running.many import (
    FOR_EVER,
    SHAPES,
    SYNC_PERIOD,
    Settling,
    Ungoverned,
    World,
    demands,
    remembering,
    visited,
)
from cluster.twins.shapes import Shape

SEED = os.environ.get("HYPOT_TWINS_SEED", "1")
STEPS = int(os.environ.get("HYPOT_RUN_TWINS_STEPS", "40"))
# The first sync may have begun before the last change; two more have seen it.
LOOKS = 3
STEP_WITHIN = 180.0
FLAGS = (
    f"--horizontal-pod-autoscaler-sync-period={SYNC_PERIOD}s",
    f"--horizontal-pod-autoscaler-downscale-stabilization={FOR_EVER}s",
    "--horizontal-pod-autoscaler-cpu-initialization-period=0s",
    "--horizontal-pod-autoscaler-initial-readiness-delay=0s",
)
SETTINGS = {
    "syncPeriod": SYNC_PERIOD,
    "downscaleWindow": FOR_EVER,
    "cpuInitializationPeriod": 0,
    "initialReadinessDelay": 0,
    "gates": {"HPAScaleToZero": True},
}


@dataclass
class Pair:
    """One shape in both worlds: the replica counts of both after each step."""

    shape: Shape
    worlds: tuple[World, World]
    counts: list[tuple[int, int]] = field(default_factory=list)
    restless: list[str] = field(default_factory=list)

    def play(self, steps: int) -> "Pair":
        random = Random(f"{self.shape.name} {SEED}")  # noqa: S311  a script, not a secret
        for number, demand in enumerate(demands(self.shape, random, steps)):
            self._step(number, demand)
        return self

    def _step(self, number: int, demand: tuple[float, ...]) -> None:
        feds = [world.fed[self.shape.name] for world in self.worlds]
        for fed in feds:
            fed.demand = demand
        settling = [Settling(fed, LOOKS) for fed in feds]
        ends = time.monotonic() + STEP_WITHIN
        while {each.over() for each in settling} != {True}:
            if time.monotonic() > ends:
                self.restless.append(f"step {number} for {demand}: {[fed.state() for fed in feds]}")
                break
            time.sleep(0.1)
        theirs, ours = (fed.replicas for fed in feds)
        self.counts.append((theirs, ours))


@pytest.fixture(scope="module")
def other(plane: ControlPlane) -> Iterator[ControlPlane]:
    """A second control plane, for hypot: the HPA controller manages every namespace of its own cluster."""
    folder = plane.folder / "other"
    folder.mkdir()
    made = ControlPlane(plane.binaries, folder)
    made.start()
    yield made
    made.stop()


@pytest.fixture(scope="module")
def played(plane: ControlPlane, other: ControlPlane) -> Iterator[list[Pair]]:
    theirs, ours = World(plane).start(), World(other).start()
    plane.start_controllers(*FLAGS)
    other.start_controllers(names=WORKLOAD_CONTROLLERS)
    other.admin.create("/api/v1/namespaces", {"metadata": {"name": "hypot-system"}})
    hypot = Ungoverned(other, "hypot", kinds={"HorizontalPodAutoscaler": "act"}, settings=SETTINGS)
    remembering(other.admin, "hypot-system")
    hypot.start().until_reconciled(within=60)
    try:
        for world in (theirs, ours):
            world.create(SHAPES)
        with ThreadPoolExecutor(len(SHAPES)) as pool:
            yield list(pool.map(lambda shape: Pair(shape, (theirs, ours)).play(STEPS), SHAPES))
        assert hypot.is_running()
    finally:
        hypot.stop()
        plane.stop_controllers()
        theirs.stop()
        ours.stop()


def test_both_reach_the_same_count_after_every_step(played: list[Pair], report: Callable[[str], None]) -> None:
    """For each metric and behavior, once both have stayed unchanged for two syncs."""
    for pair in played:
        followed = f"{visited(ours for _, ours in pair.counts)} counts in {len(pair.counts)} steps"
        report(f"run twin {pair.shape.name:22} {followed}")
    apart = {
        pair.shape.name: [(step, *both) for step, both in enumerate(pair.counts) if both[0] != both[1]]
        for pair in played
    }
    assert {name: found for name, found in apart.items() if found} == {}
    assert [reported for pair in played for reported in pair.restless] == []


def test_the_steps_change_the_counts(played: list[Pair]) -> None:
    """Counts that never change would agree without proving anything."""
    seen = {pair.shape.name: visited(theirs for theirs, _ in pair.counts) for pair in played}
    assert {name: count for name, count in seen.items() if count < min(5, STEPS // 4)} == {}
