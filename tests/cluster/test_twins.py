"""The HPA controller judges decisions: whatever it did to the twins, hypot decides the same from what it saw."""

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from cluster.plane import ControlPlane
from cluster.replay import Outcome, replay
from cluster.shapes import SHAPES
from cluster.twins import SETTINGS, Stage

SEED = int(os.environ.get("HYPOT_TWINS_SEED", "1"))
STEPS = int(os.environ.get("HYPOT_TWINS_STEPS", "32"))


@pytest.fixture(scope="module")
def stage(plane: ControlPlane) -> Iterator[Stage]:
    stage = Stage(plane)
    stage.start()
    yield stage
    stage.stop()


def test_every_reconcile_is_decided_alike(stage: Stage, plane: ControlPlane) -> None:
    """Each status that the controller wrote, each scale, and each silence follows from what it was told."""
    record = stage.play(stage.twins(), SEED, STEPS)
    outcomes = replay(record.requests, record.journal, SETTINGS)
    total = Outcome()
    for key, outcome in sorted(outcomes.items()):
        print(
            f"{'/'.join(key)}: {outcome.reconciles} reconciles, {outcome.writes} writes, {outcome.rescales} rescales, {outcome.other_views} other views, {len(outcome.disagreements)} disagreements"
        )
        total.add(outcome)
    print(total.reconciles, total.writes, total.rescales, total.other_views, dict(total.reasons))
    folder = plane.folder / "disagreements"
    firsts = {each.key: each for each in reversed(total.disagreements)}
    told = [f"{each}\n  {each.write(folder)}" for each in firsts.values()]
    assert not told, f"{len(total.disagreements)} disagreements:\n" + "\n".join(told)
