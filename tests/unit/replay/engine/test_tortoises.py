"""Replays of a Tortoise: alone, with the HPA that it names, and with the count decided by hypot."""

import numpy as np
import pytest

from hypot.kinds.hpa import HPA
from hypot.kinds.hpa.fields import cpu
from hypot.kinds.tortoise import Tortoise
from hypot.policy.model.settings import Settings
from hypot.replay.engine.demand import Load
from hypot.replay.engine.engine import replay
from hypot.replay.policies.policy import Policy
from hypot.replay.world.parameters import Heap, Metrics, Span, World
from property.replay_worlds import EPOCH, start

TARGET = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
DAILY = {"hypot.dev/tortoise-slot-period": "daily"}
DECIDES = {**DAILY, "hypot.dev/decide": "true"}
BY_CPU = [{"containerName": "app", "policy": {"cpu": "Horizontal", "memory": "Off"}}]
WORLD = World(tick=60.0, memory=Heap(per_request=0))
# Ticks in a day.
DAY = 1440


def tortoise(annotations=None, name=None, mode="Auto"):
    refs = {"scaleTargetRef": TARGET, **({} if name is None else {"horizontalPodAutoscalerName": name})}
    spec = {"targetRefs": refs, "updateMode": mode, "autoscalingPolicy": BY_CPU}
    return Tortoise.from_dict({"metadata": {"name": "web", "annotations": annotations or DAILY}, "spec": spec})


def hpa(low, high):
    return HPA("deployment/web", metrics=[cpu(utilization=70, container="app")], min_replicas=low, max_replicas=high)


def days(count):
    """From one to nine cores and back, every day."""
    work = 5 - 4 * np.cos(2 * np.pi * np.arange(count * DAY) / DAY)
    return Load(EPOCH, work, np.ones(len(work)), np.zeros(len(work)))


def replayed(one, named=None, count=3, world=WORLD):
    policy = Policy("tried", (one,), start(replicas=4), named_hpa=named)
    return replay(policy, "web", days(count), world, Settings())


@pytest.mark.parametrize("annotations", [DAILY, DECIDES])
def test_the_minimum_follows_what_was_learned(annotations):
    """After a day, the minimum of each hour is half of what that hour needed, so replicas rise ahead of demand."""
    run = replayed(tortoise(annotations))
    replicas = run.ticks.replicas
    assert replicas.min() >= 3
    assert replicas[2 * DAY :].max() <= 2 * replicas[:DAY].max()
    counts = {moment.decision.autoscaler.kind for moment in run.moments if moment.decision.recounts}
    assert counts == ({"Tortoise"} if annotations is DECIDES else {"HorizontalPodAutoscaler"})


def test_a_named_hpa_begins_as_it_was_found():
    """Its own bounds hold for the first day; then they are learned ones, within those of the administrator."""
    run = replayed(tortoise(name="web"), named=hpa(2, 5))
    replicas = run.ticks.replicas
    assert replicas[:DAY].max() == 5
    assert replicas[:DAY].min() == 2
    assert replicas[DAY + 60 :].min() == 3
    assert replicas[DAY:].max() > 10


def test_off_leaves_a_named_hpa_alone():
    alone = replay(Policy("alone", (hpa(2, 5),), start(replicas=4)), "web", days(2), WORLD, Settings())
    run = replayed(tortoise(name="web", mode="Off"), named=hpa(2, 5), count=2)
    assert np.array_equal(run.ticks.replicas, alone.ticks.replicas)


def test_off_without_an_hpa_changes_nothing():
    assert set(replayed(tortoise(mode="Off"), count=2).ticks.replicas) == {4}


def test_without_metrics_for_long_the_minimum_is_the_maximum():
    """An emergency, as the status of the HPA shows it; it ends with the gap."""
    gap = Span(2 * 86400.0, 2 * 86400.0 + 1800.0)
    run = replayed(tortoise(), world=World(tick=60.0, memory=Heap(per_request=0), metrics=Metrics(gaps=(gap,))))
    before, during = run.ticks.replicas[2 * DAY - 1], run.ticks.replicas[2 * DAY : 2 * DAY + 40]
    assert during.max() >= 2 * before
    assert run.ticks.replicas[2 * DAY + 240] < during.max()
