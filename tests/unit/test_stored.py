"""What earlier versions stored in a cluster is still read: tests/fixtures/stored has a folder for each format.

Each was kept once by tests/cluster/running/keep_stored.py, from a real API server, and never changes.
"""

import asyncio
import json
from pathlib import Path

import pytest

from fake_cluster import FakeCluster
from hypot.kinds.catalogue import CATALOGUE, defined
from hypot.policy.continuity import Remembered, resumed
from hypot.policy.model.settings import Settings
from hypot.policy.observe.snapshot import read_autoscaler
from hypot.run.store.checkpoints import restore
from hypot.run.store.shards import Shards
from hypot.run.store.usage_history import UsageHistory, key_of

# Else the first asynchronous test opens a loop next to its own, and never closes it.
asyncio.set_event_loop(None)

STORED = Path(__file__).resolve().parents[1] / "fixtures" / "stored"
FOLDERS = sorted(path.name for path in STORED.iterdir())
AUTOSCALERS = [name for name, info in CATALOGUE.items() if info.is_autoscaler]
NAMESPACE = "hypot-system"
# For each format: when it was written, the replicas of each target, and the sizes that pods should have.
# Checkpoints are older than the state: at the first look there was no peak of memory, and a third of the load.
WRITTEN = {"1": 1794963523.0}
REPLICAS = {"1": {"watermarked": 5, "both": 2, "sized": 2, "counted": 6}}
SIZES = {"1": {"state": {"cpu": 548, "memory": 250 * 2**20}, "checkpoints": {"cpu": 182}}}


def kept(folder, name):
    return json.loads((STORED / folder / f"{name}.json").read_text(encoding="utf-8"))


def autoscalers(folder):
    return [read_autoscaler(each) for each in kept(folder, "objects") if each["kind"] in AUTOSCALERS]


async def loaded(folder):
    cluster = FakeCluster()
    for each in kept(folder, "state"):
        cluster.put(each)
    return await Shards(cluster, NAMESPACE).load()


# The kinds that came after what a folder has was stored.
NEWER = {"1": {"Tortoise", "Autoscaler"}}


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_kind_is_there(folder):
    """A kind that is missing would not be tested."""
    kinds = {each["kind"] for each in kept(folder, "objects")}
    assert kinds == {*AUTOSCALERS, *(info.name for info in defined())} - NEWER[folder]
    assert all(each.get("status") for each in kept(folder, "objects"))


@pytest.mark.parametrize("folder", FOLDERS)
def test_objects_are_read_without_problems(folder):
    """Spec and status have only known fields with values of the right type."""
    for each in kept(folder, "objects"):
        read = CATALOGUE[each["kind"]].kind.from_dict(each)
        assert (read.problems(), [*read.unreadable_status()], read.sound()) == ((), [], True), each["kind"]
        assert read.to_dict()["spec"] == each["spec"]


@pytest.mark.asyncio
@pytest.mark.parametrize("folder", FOLDERS)
async def test_decisions_resume(folder):
    """The state of each object is found by its name, and says the same as its status."""
    found = await loaded(folder)
    assert (found.notes, found.complete) == ((), True)
    for each in autoscalers(folder):
        earlier = Remembered.from_dict(found.entries["/".join(key_of(each))])
        state = resumed(each, earlier, earlier.replicas, WRITTEN[folder], Settings())
        assert (earlier.replicas, state.desired) == (REPLICAS[folder][each.name],) * 2
        assert state.last_scale is not None
        assert state.conditions
        assert each.metadata["uid"] in earlier.of
    counted = Remembered.from_dict(found.entries["HorizontalPodAutoscaler/shop/counted"]).state
    assert counted.recommendations.values[-1] == REPLICAS[folder]["counted"]


@pytest.mark.asyncio
@pytest.mark.parametrize("folder", FOLDERS)
@pytest.mark.parametrize("source", ["state", "checkpoints"])
async def test_usage_resumes(folder, source):
    """Histograms come from the state; without it from the checkpoints."""
    entries = (await loaded(folder)).entries if source == "state" else {}
    checkpoints = [each for each in kept(folder, "objects") if each["kind"] not in AUTOSCALERS]
    history = UsageHistory(Settings())
    sizers = [each for each in autoscalers(folder) if CATALOGUE[each.KIND].sizes]
    for each in sizers:
        history.declare(each, (), WRITTEN[folder])
    assert await restore(history, entries, checkpoints, WRITTEN[folder]) == []
    for each in sizers:
        view = history.view(key_of(each))
        (app,) = view.estimate(Settings().vpa, ["app"], {})
        assert dict(app.target) == SIZES[folder][source]
