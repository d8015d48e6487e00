"""State over a restart: packed, spread over ConfigMaps, written over what exists, and read again."""

import asyncio
import json
import random
import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest

from fake_cluster import FakeCluster
from hypot.cluster.port import Answer, MayNotWriteError, RefusedError, UnreachableError
from hypot.kinds.vpa import VPA
from hypot.policy.continuity import Remembered
from hypot.policy.model.settings import Settings
from hypot.run.store import shard_text, shards
from hypot.run.store.checkpoints import restore
from hypot.run.store.shard_text import RESIDUES, NewerStateError, pack, shard_of
from hypot.run.store.shards import Shards
from hypot.run.store.usage_history import UsageHistory

# Else the first asynchronous test opens a loop next to its own, and never closes it.
asyncio.set_event_loop(None)

NAMESPACE = "hypot-system"
PATH = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
START = 1_700_000_000.0


def many(count, size=0, seed=1):
    """Entries that hardly compress."""
    drawn = random.Random(seed)  # noqa: S311  random bytes that do not compress
    return {
        f"Hvpa/shop/web-{number}": {"seen": {"at": START + number}, "noise": drawn.randbytes(size).hex()}
        for number in range(count)
    }


def state(cluster):
    return Shards(cluster, NAMESPACE, clock=lambda: START)


def writes(cluster):
    return [(call.method, call.path.removeprefix(PATH)) for call in cluster.calls if call.writes]


@pytest.mark.asyncio
async def test_state_goes_round():
    """A process that knows only the namespace reads it."""
    cluster, entries = FakeCluster(), many(50)
    assert await state(cluster).save(entries) == []
    found = await state(cluster).load()
    assert (found.entries, found.notes, found.complete) == (entries, (), True)


@pytest.mark.asyncio
async def test_missing_state_is_reported():
    """The controller then starts cold, and the notes say so."""
    found = await state(FakeCluster()).load()
    assert found.entries == {}
    assert not found.complete
    assert "no state in namespace hypot-system" in found.notes[0]


@pytest.mark.asyncio
async def test_what_a_config_map_says_of_itself():
    """Users see which shard it is, when it was written, and that it belongs to hypot."""
    cluster = FakeCluster()
    await state(cluster).save(many(1))
    held = cluster.get(f"{PATH}/hypot-state-0")
    assert held["metadata"]["labels"] == {"app.kubernetes.io/name": "hypot", "hypot.dev/state": "true"}
    reported = {"version": "2", "written": "2023-11-14T22:13:20Z", "count": "1 of 1", "generation": "1"}
    assert held["data"] == reported
    assert set(held["binaryData"]) == {"state"}


@pytest.mark.asyncio
async def test_only_what_changed_is_written(monkeypatch):
    """Unchanged entries cost no call, and one changed entry costs one."""
    monkeypatch.setattr(shard_text, "ROOMY", 2000)
    cluster = FakeCluster()
    shards, entries = state(cluster), many(100, 100)
    await shards.save(entries)
    first = len(cluster.calls)
    assert len(writes(cluster)) == 8
    await shards.save(dict(entries))
    assert len(cluster.calls) == first
    await shards.save({**entries, "Hvpa/shop/web-7": {"seen": {"at": START}}})
    assert writes(cluster)[8:] == [("PUT", f"/hypot-state-{shard_of('Hvpa/shop/web-7', 8)}")]


@pytest.mark.asyncio
async def test_an_entry_is_encoded_once(monkeypatch):
    """This holds as long as it is the same object."""
    cluster, reported = FakeCluster(), []
    kept = state(cluster)
    monkeypatch.setattr(shards, "encoded", lambda body: reported.append(body) or msgspec.json.encode(body))
    entries = many(3)
    await kept.save(entries)
    reported.clear()
    changed = {**entries, "Hvpa/shop/web-1": {"seen": {"at": START}}}
    await kept.save(changed)
    assert [body for body in reported if "kind" not in body] == [changed["Hvpa/shop/web-1"]]


@pytest.mark.asyncio
async def test_shards_grow_and_a_new_start_has_as_few_as_it_needs(monkeypatch):
    """Unused shards are emptied and not deleted: hypot needs no right to delete."""
    monkeypatch.setattr(shard_text, "ROOMY", 2000)
    cluster = FakeCluster()
    shards = state(cluster)
    await shards.save(many(10, 100))
    assert len(cluster.objects(PATH)) == 1
    await shards.save(many(100, 100))
    assert len(cluster.objects(PATH)) == 8
    assert await shards.save(many(10, 100)) == []
    assert {each["data"]["count"][-4:] for each in cluster.objects(PATH)} == {"of 8"}
    after = state(cluster)
    assert (await after.load()).entries == many(10, 100)
    assert await after.save(many(10, 100)) == []
    assert sorted(each["data"]["count"] for each in cluster.objects(PATH)) == ["1 of 1", *["unused"] * 7]
    found = await state(cluster).load()
    assert (found.entries, found.notes, found.complete) == (many(10, 100), (), True)
    assert await after.save(many(100, 100)) == []
    assert (await state(cluster).load()).entries == many(100, 100)


@pytest.mark.asyncio
@pytest.mark.parametrize("stop", range(9))
async def test_a_stop_after_any_write_of_a_split_loses_nothing(monkeypatch, stop):
    """New shards are written before those that lose keys to them."""
    monkeypatch.setattr(shard_text, "ROOMY", 2000)
    cluster = FakeCluster()
    shards = state(cluster)
    await shards.save(many(20, 100))
    assert len(cluster.objects(PATH)) == 2
    left = iter([None] * stop)
    cluster.faults = lambda call: next(left, UnreachableError("killed")) if call.writes else None
    await shards.save(many(100, 100))
    cluster.faults = None
    found = await state(cluster).load()
    assert found.complete
    assert all(found.entries[key] == entry for key, entry in many(20, 100).items())


@pytest.mark.asyncio
async def test_another_client_wrote():
    """It is reported; the next reconcile lists the versions once and writes over it."""
    cluster = FakeCluster()
    mine, theirs = state(cluster), state(cluster)
    await mine.load()
    await theirs.load()
    assert await mine.save(many(3)) == []
    (note,) = await theirs.save(many(4))
    assert "hypot-system/hypot-state-0: another client wrote it" in note
    cluster.calls.clear()
    assert await theirs.save(many(4)) == []
    assert [call.method for call in cluster.calls] == ["GET", "PUT"]
    assert (await state(cluster).load()).entries == many(4)
    assert len(await mine.save(many(5))) == 1
    assert await mine.save(many(5)) == []
    assert (await state(cluster).load()).entries == many(5)


@pytest.mark.asyncio
async def test_labels_that_are_gone_come_back():
    """A shard is also found by name, and a restart reads it again; old shards never win."""
    cluster = FakeCluster()
    shards = state(cluster)
    await shards.save(many(2))
    held = cluster.get(f"{PATH}/hypot-state-0")
    bare = {**held, "metadata": {**held["metadata"], "labels": {"app.kubernetes.io/name": "hypot"}}}
    cluster.put({**bare, "data": {**held["data"], "generation": "7"}})
    assert "another client wrote it" in (await shards.save(many(3)))[0]
    assert await shards.save(many(3)) == []
    assert (await state(cluster).load()).entries == many(3)
    assert cluster.get(f"{PATH}/hypot-state-0")["data"]["generation"] == "8"
    cluster.put(bare)
    after = state(cluster)
    assert not (await after.load()).complete
    assert len(await after.save(many(4))) == 1
    assert await after.save(many(4)) == []
    assert (await state(cluster).load()).entries == many(4)


@pytest.mark.asyncio
@pytest.mark.parametrize("change", [{"data": {"count": "1 of 1"}}, {"binaryData": {"state": "aGVsbG8="}}, {"data": {}}])
async def test_what_only_has_the_name_of_a_shard_is_left_alone(change):
    """Without labels its content shows the owner; it is reported as long as it exists."""
    cluster = FakeCluster()
    await state(cluster).save(many(2))
    held = cluster.get(f"{PATH}/hypot-state-0")
    cluster.put({**held, "metadata": {**held["metadata"], "labels": {}}, **change})
    found, shards = cluster.get(f"{PATH}/hypot-state-0"), state(cluster)
    await shards.save(many(3))
    for _ in range(2):
        (note,) = await shards.save(many(3))
        assert "hypot-state-0: the object of that name is not hypot's state, and is left alone" in note
    assert cluster.get(f"{PATH}/hypot-state-0") == found
    cluster.remove(f"{PATH}/hypot-state-0")
    assert await shards.save(many(3)) == []


@pytest.mark.asyncio
async def test_state_does_not_wait_for_other_threads():
    """The shared thread pool may be full of slow name lookups."""
    asked, over = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()
    loop.set_default_executor(ThreadPoolExecutor(1))

    def look_up():
        loop.call_soon_threadsafe(asked.set)
        over.wait(30)

    hanging = loop.run_in_executor(None, look_up)
    try:
        await asked.wait()
        cluster = FakeCluster()
        async with asyncio.timeout(120):
            assert await state(cluster).save(many(2)) == []
            assert (await state(cluster).load()).entries == many(2)
    finally:
        over.set()
        await hanging


@pytest.mark.asyncio
async def test_the_last_writer_wins(monkeypatch):
    """This holds even where the other writer had more shards."""
    monkeypatch.setattr(shard_text, "ROOMY", 2000)
    cluster = FakeCluster()
    small, large = state(cluster), state(cluster)
    await small.save(many(3))
    await large.save(many(100, 100))
    assert await small.save(many(4)) != []
    assert await small.save(many(4)) == []
    assert (await state(cluster).load()).entries == many(4)


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (UnreachableError("no answer within 10 s"), "no answer within 10 s"),
        (MayNotWriteError("the lease is not held"), "the lease is not held"),
        (Answer(403, b'{"message": "configmaps is forbidden"}'), "403 configmaps is forbidden"),
    ],
)
async def test_a_write_that_fails(fault, message):
    """The note names the shard and the object, and the next reconcile tries again."""
    cluster = FakeCluster()
    shards = state(cluster)
    await shards.save(many(2))
    cluster.faults = lambda call: fault if call.writes else None
    (note,) = await shards.save(many(3))
    assert note == f"shard 1 of 1 of the state was not written to ConfigMap hypot-system/hypot-state-0: {message}"
    cluster.faults = None
    assert await shards.save(many(3)) == []
    assert (await state(cluster).load()).entries == many(3)


@pytest.mark.asyncio
async def test_a_write_whose_answer_is_lost():
    """It may have been done: the versions are listed before the next write."""
    cluster = FakeCluster()
    shards = state(cluster)
    await shards.save(many(2))
    cluster.faults = lambda call: UnreachableError("cut off") if call.method == "PUT" else None
    await shards.save(many(3))
    cluster.faults = None
    held = cluster.get(f"{PATH}/hypot-state-0")
    cluster.put({**held, "data": {**held["data"], "written": "just now"}})
    assert await shards.save(many(3)) == []


@pytest.mark.asyncio
async def test_a_config_map_that_was_deleted():
    """It is reported once, and created again."""
    cluster = FakeCluster()
    shards = state(cluster)
    await shards.save(many(2))
    cluster.remove(f"{PATH}/hypot-state-0")
    (note,) = await shards.save(many(3))
    assert "it was deleted" in note
    assert await shards.save(many(3)) == []
    assert (await state(cluster).load()).entries == many(3)


@pytest.mark.asyncio
async def test_nothing_is_overwritten_after_a_failed_load():
    """A load without an answer is not an empty state."""
    cluster = FakeCluster()
    await state(cluster).save(many(2))
    cluster.faults = lambda call: Answer(503, b"") if call.method == "GET" else None
    with pytest.raises(RefusedError, match="503"):
        await state(cluster).load()
    (note,) = await state(cluster).save(many(1))
    assert "cannot be listed" in note
    cluster.faults = lambda call: Answer(200, b"<html>") if call.method == "GET" else None
    with pytest.raises(UnreachableError, match="not a list of ConfigMaps"):
        await state(cluster).load()
    cluster.faults = None
    assert (await state(cluster).load()).entries == many(2)


@pytest.mark.asyncio
async def test_one_broken_shard_does_not_remove_the_others(monkeypatch):
    """The rest is loaded, and marked as not complete."""
    monkeypatch.setattr(shard_text, "ROOMY", 2000)
    cluster = FakeCluster()
    await state(cluster).save(many(20, 100))
    held = cluster.get(f"{PATH}/hypot-state-0")
    older = msgspec.to_builtins(pack({}, version=0))
    for change, message in (
        ({"binaryData": {"state": "aGVsbG8="}}, "no header"),
        ({"binaryData": {"state": older}}, "version 0"),
        ({"binaryData": {}}, "no header"),
        ({"data": {}}, "does not say which shard"),
        ({"data": {"count": "9 of 3", "generation": "1"}}, "no shard 9 of 3"),
        ({"data": {"count": "1 of 2", "generation": "9" * 5000}}, "does not say which shard"),
    ):
        cluster.put({**held, **change})
        found = await state(cluster).load()
        assert not found.complete
        assert "hypot-state-0 cannot be used" in found.notes[0]
        assert message in found.notes[0]
        assert found.notes[1].startswith("32 of 64 parts of the state are missing")
        assert set(found.entries) == {key for key in many(20) if shard_of(key, 2) == 1}


@pytest.mark.asyncio
@pytest.mark.parametrize(
    "change",
    [
        {"binaryData": {"state": msgspec.to_builtins(pack({}, version=3))}},
        {"data": {"version": "3"}, "binaryData": {"state": "aGVsbG8="}},
    ],
    ids=["header", "another header"],
)
async def test_the_state_of_a_newer_hypot_is_left_alone(change):
    """It is neither read nor overwritten, also if it appears while this one leads; older state is replaced."""
    cluster = FakeCluster()
    mine, other = state(cluster), state(cluster)
    await mine.save(many(2))
    held = cluster.get(f"{PATH}/hypot-state-0")
    newer = cluster.put({**held, **change})
    for asked in (other.load(), other.save(many(3)), other.check()):
        with pytest.raises(NewerStateError, match=r"hypot-state-0 has state of version 3 from a newer hypot"):
            await asked
    assert "another client wrote it" in (await mine.save(many(3)))[0]
    with pytest.raises(NewerStateError):
        await mine.save(many(3))
    assert cluster.get(f"{PATH}/hypot-state-0") == newer
    cluster.put(held)
    await other.check()
    assert (await other.load()).entries == many(2)


@pytest.mark.asyncio
async def test_config_maps_that_are_not_ours():
    """They may have the labels, but have another name."""
    cluster = FakeCluster()
    labels = {"app.kubernetes.io/name": "hypot", "hypot.dev/state": "true"}
    for name in ("other", "hypot-state-x", "hypot-state-64", "hypot-state-01"):
        metadata = {"name": name, "namespace": NAMESPACE, "labels": labels}
        cluster.put({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
    assert "no state" in (await state(cluster).load()).notes[0]
    assert await state(cluster).save(many(1)) == []
    assert writes(cluster) == [("POST", "")]


def measured(count, size=300, seed=2):
    """Decisions, and usage that does not compress."""
    drawn = random.Random(seed)  # noqa: S311  random bytes that do not compress
    usage = {f"usage/Hvpa/shop/web-{number}": b"\x93" + drawn.randbytes(size) for number in range(count)}
    return {**many(count), **usage, "governor": {"admitted": []}}


@pytest.mark.asyncio
async def test_beyond_as_many_full_shards_as_there_may_be(monkeypatch):
    """What does not fit is reported, as long as it is so, and marked: a restart knows which objects lost something."""
    monkeypatch.setattr(shard_text, "ROOMY", 2000)
    monkeypatch.setattr(shard_text, "FULL", 3000)
    monkeypatch.setattr(shards, "FULL", 3000)
    cluster, entries = FakeCluster(), measured(1000)
    saved = state(cluster)
    assert await saved.save(entries) == []
    notes = saved.full
    assert len(cluster.objects(PATH)) == RESIDUES
    assert 1.2 < saved.used < 3
    assert 0 < len(notes) <= RESIDUES
    assert notes[0].startswith("the state is full: shard 1 of 64 keeps ")
    assert " entries; usage/Hvpa/shop/web-" in notes[0]
    assert "and others will start without state after a restart" in notes[0]
    assert await saved.save(entries) == []
    assert saved.full == notes
    found = await state(cluster).load()
    lost = [key for key in entries if key not in found.entries]
    assert found.complete
    assert found.notes == (f"{len(lost)} entries did not fit into the state: their objects start without it",)
    assert 100 < len(lost) < 1000
    assert all(key.startswith("usage/") for key in lost)
    assert all(found.lost(key) for key in lost)
    assert not any(found.lost(key) for key in found.entries)
    marked = [each for each in cluster.objects(PATH) if "dropped" in each["data"]]
    assert sum(int(each["data"]["dropped"]) for each in marked) == len(lost)
    few = dict(list(entries.items())[:50])
    assert await saved.save(few) == []
    assert saved.full == ()
    assert not (await state(cluster).load()).overfull


@pytest.mark.asyncio
async def test_a_conflict_makes_no_more_shards(monkeypatch):
    """All are written again, as many as before."""
    monkeypatch.setattr(shard_text, "ROOMY", 20_000)
    cluster, entries = FakeCluster(), measured(400)
    shards = state(cluster)
    await shards.save(entries)
    before = len(cluster.objects(PATH))
    held = cluster.get(f"{PATH}/hypot-state-0")
    cluster.put({**held, "data": {**held["data"], "written": "just now"}})
    changed = {key: {"noise": key} for key in many(400)}
    assert len(await shards.save({**entries, **changed})) == 1
    assert await shards.save({**entries, **changed}) == []
    assert len(cluster.objects(PATH)) == before == 8


@pytest.mark.asyncio
async def test_a_missing_entry_of_a_complete_state_is_a_new_object():
    """Nothing was lost, so the object begins like any other."""
    cluster = FakeCluster()
    await state(cluster).save(many(3))
    found = await state(cluster).load()
    assert not found.lost("Hvpa/shop/new")


@pytest.mark.asyncio
@pytest.mark.parametrize(("count", "every"), [(1, 600.0), (4, 150.0), (16, 60.0), (64, 60.0)])
async def test_one_shard_of_usage_after_the_other(count, every):
    """Each has its turn every ten minutes or later, and at most one in a minute."""
    kept, keys = state(FakeCluster()), [f"usage/Hvpa/shop/web-{number}" for number in range(500)]
    kept._count = count
    turns = [(at, key) for at in range(0, 7200, 15) for due in [kept.due(5000.0 + at)] for key in keys if due(key)]
    for key in keys:
        own = [at for at, each in turns if each == key]
        assert {later - at for at, later in pairwise(own)} <= {every * count}
    times = sorted({at for at, _ in turns})
    assert {later - at for at, later in pairwise(times)} == {every}


VERSION_1 = json.loads((Path(__file__).parent / "data" / "version-1.json").read_text(encoding="utf-8"))


@pytest.mark.asyncio
async def test_state_of_version_1_is_read():
    """The ConfigMaps are from hypot before version 2: decisions and histograms are the same, and are written anew."""
    cluster, expected = FakeCluster(), VERSION_1["expected"]
    for each in VERSION_1["configMaps"]:
        cluster.put(each)
    shards = state(cluster)
    found = await shards.load()
    assert (found.notes, found.complete, found.overfull) == ((), True, frozenset())
    assert {key: entry for key, entry in found.entries.items() if not key.startswith("usage/")} == expected["entries"]
    for entry in expected["entries"].values():
        if "seen" in entry:
            assert Remembered.from_dict(entry).state.recommendations.values == (4, 6, 3)
    now, vpa = expected["now"], VPA("Deployment/web", namespace="shop")
    history = UsageHistory(Settings())
    key = history.declare(vpa, (), now)
    assert await restore(history, found.entries, (), now) == []
    assert {name: history.status((key, name), now) for name in ("app", "proxy")} == expected["statuses"]
    usage = await history.entries(now)
    assert await shards.save({**expected["entries"], **usage}) == []
    assert {each["data"]["version"] for each in cluster.objects(PATH)} == {"2"}
    again = UsageHistory(Settings())
    again.declare(vpa, (), now)
    assert await restore(again, (await state(cluster).load()).entries, (), now) == []
    for name in ("app", "proxy"):
        (bounds,) = again.view(key).estimate(Settings().vpa, [name], {})
        assert bounds.target == expected["targets"][name]
