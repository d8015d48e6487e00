"""Decisions compared with the HPA controller: from what it observed, hypot decides the same."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from cluster.plane.controlplane import ControlPlane
from cluster.twins.audit import Key
from cluster.twins.dump import Object, dump, to_yaml
from cluster.twins.replay import Outcome, replay
from cluster.twins.script import Step
from cluster.twins.shapes import SHAPES, Shape
from cluster.twins.stage import SETTINGS, Stage
from cluster.twins.statuses import NEAR, differences, plain
from cluster.twins.twin import Twin
from hypot.core.instant import read_time

SEED = int(os.environ.get("HYPOT_TWINS_SEED", "1"))
STEPS = int(os.environ.get("HYPOT_TWINS_STEPS", "32"))
# Conditions that the scripts must reach: a run without one of them proves nothing about it.
REASONS = {
    *("True/SucceededGetScale", "True/SucceededRescale", "True/ReadyForNewScale"),
    *("True/ScaleDownStabilized", "True/ScaleUpStabilized", "False/FailedGetScale", "False/FailedUpdateScale"),
    *("True/ValidMetricFound", "False/ScalingDisabled", "False/AmbiguousSelector"),
    *("False/FailedGetResourceMetric", "False/FailedGetContainerResourceMetric", "False/FailedGetPodsMetric"),
    *("False/FailedGetObjectMetric", "False/FailedGetExternalMetric"),
    *("False/DesiredWithinRange", "True/TooFewReplicas", "True/TooManyReplicas"),
    *("True/ScaleUpLimit", "True/ScaleDownLimit", "True/ScaledToZero", "False/NotScaledToZero"),
}
# Longer than every window and period of the shapes.
AT_REST = 17.0

Played = tuple[list[Twin], dict[Key, Outcome]]


@pytest.fixture(scope="module")
def stage(plane: ControlPlane) -> Iterator[Stage]:
    stage = Stage(plane)
    stage.start()
    yield stage
    stage.stop()


@pytest.fixture(scope="module")
def played(stage: Stage) -> Played:
    twins = stage.twins(SHAPES)
    record = stage.play(twins, SEED, STEPS)
    return twins, replay(record.requests, record.journal, SETTINGS)


def test_every_reconcile_is_decided_alike(played: Played, plane: ControlPlane, report: Callable[[str], None]) -> None:
    """Each status and each scale that the controller wrote, or did not write, follows from what it observed."""
    _, outcomes = played
    for (_, target), outcome in sorted(outcomes.items()):
        report(f"twin {target:22} {outcome}")
    total = Outcome.of_all(outcomes.values())
    report(f"all twins, seed {SEED:<11} {total}")
    folder = plane.folder / "disagreements"
    firsts = {each.key: each for each in reversed(total.disagreements)}
    reported = [f"{each}\n  {' '.join(each.write(folder))}" for each in firsts.values()]
    assert total.other_views < total.reconciles / 50, "too much was explained by what might have been seen"
    assert not reported, f"{len(total.disagreements)} disagreements, the first of each twin:\n" + "\n".join(reported)


def test_the_scripts_reached_all_conditions(played: Played) -> None:
    """Every reason that a condition can have occurred, and every twin was reconciled often enough."""
    _, outcomes = played
    assert REASONS - set(Outcome.of_all(outcomes.values()).reasons) == set()
    assert {key: one.reconciles for key, one in outcomes.items() if key[1] != "other" and one.reconciles < STEPS} == {}


def test_the_files_of_a_case_replay_it(played: Played, tmp_path: Path) -> None:
    """`hypot decide` on the dump, state and settings of a reconcile gives the status that was written in it."""
    _, outcomes = played
    latest = [outcome.latest for outcome in outcomes.values() if outcome.latest]
    assert len(latest) == len(outcomes)
    for case in latest:
        decisions = _decided(case.write(tmp_path)[1:])
        status = next(each["status"] for each in decisions if each["target"]["name"] == case.key[1])
        assert (case.key, differences(plain(status), case.status, NEAR + case.took)) == (case.key, [])


def test_a_dump_of_a_twin_at_rest_shows_its_status(
    played: Played, plane: ControlPlane, tmp_path: Path, report: Callable[[str], None]
) -> None:
    """`hypot decide` on a namespace dumped as a user would do it gives the status of the controller."""
    twins, _ = played
    for number, twin in enumerate(twins):
        twin.step = _rest(number, twin.shape)
    time.sleep(AT_REST + 15)
    settings = tmp_path / "settings.yaml"
    settings.write_text(yaml.safe_dump(SETTINGS.to_dict()))
    dumps = {twin.namespace: dump(plane.admin, twin.namespace) for twin in twins}
    moving = {name for name, lists in dumps.items() if time.time() - _last_scaled(lists) < AT_REST}
    report(f"dumps of {len(dumps) - len(moving)} twins at rest; still moving: {', '.join(sorted(moving)) or 'none'}")
    assert len(moving) < len(dumps) / 3
    compared = [_compare(lists, settings, tmp_path) for name, lists in dumps.items() if name not in moving]
    assert [reported for reported in compared if reported] == []


def _last_scaled(lists: list[Object]) -> float:
    return read_time(lists[0]["items"][0]["status"].get("lastScaleTime")) or 0.0


def _rest(number: int, shape: Shape) -> Step:
    """A step after which a twin soon rests: at its target, at its maximum, or with something missing."""
    slow = shape.behavior is not None and "policies" in str(shape.behavior)
    ratios = tuple(1.0 if slow or number % 2 else 4.0 for _ in shape.metrics)
    unseen = [hazard for hazard in shape.hazards if hazard in {"hide", "silence"}]
    return Step(ratios, unseen[0] if unseen and number % 3 else "", amount=2)


def _compare(lists: list[Object], settings: Path, folder: Path) -> str:
    """How hypot and the controller differ about a namespace; empty if they agree."""
    file = folder / "dump.yaml"
    file.write_text(to_yaml(lists))
    (decision,) = _decided(["decide", "-f", str(file), "--settings", str(settings)])
    hypot, kubernetes = plain(decision["status"]), plain(lists[0]["items"][0]["status"])
    found = [(name, hypot.get(name), kubernetes.get(name)) for name in differences(hypot, kubernetes)]
    return f"{decision['autoscaler']['name']}: {found}" if found else ""


def _decided(arguments: list[str]) -> list[Object]:
    """The output of the command; an autoscaler that cannot be decided is part of it."""
    command = [str(Path(sys.executable).with_name("hypot")), *arguments, "-o", "json"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode < 2, ran.stderr
    decisions: list[Object] = json.loads(ran.stdout)["decisions"]
    return decisions
