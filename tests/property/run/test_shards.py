"""State and usage over a restart, for random contents: nothing is lost, and decisions are those of a twin."""

import asyncio
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fake_cluster import FakeCluster
from hypot.cluster.port import UnreachableError
from hypot.kinds.vpa import VPA
from hypot.policy.model.seen import Container, Ended, Pod, PodSample
from hypot.policy.model.settings import Settings
from hypot.run.store import shard_text, shards
from hypot.run.store.checkpoints import checkpoint_name, restore
from hypot.run.store.shard_text import (
    COUNTS,
    RESIDUES,
    BrokenError,
    UnknownVersionError,
    pack,
    shard_of,
    spread,
    unpack,
)
from hypot.run.store.shards import Shards
from hypot.run.store.usage_history import UsageHistory, key_of

START, HOUR = 1_700_000_000.0, 3600.0
SETTINGS = Settings()
VPAS = tuple(VPA(f"Deployment/{name}", namespace="shop") for name in ("web", "api"))
CONTAINERS = ("app", "proxy")

keys = st.text(max_size=12).map(lambda text: f"Hvpa/shop/{text}")
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
entries = st.dictionaries(keys, st.dictionaries(st.text(max_size=5), values, max_size=3), max_size=8)


@given(entries)
def test_packing_goes_round(given_):
    """All JSON values are included."""
    assert unpack(pack(given_)) == given_


@given(entries, st.integers(0, 200), st.binary(max_size=3))
def test_changed_bytes_are_refused(given_, at, junk):
    """The position of the change does not matter."""
    whole = pack(given_)
    changed = whole[:at] + junk + whole[at + len(junk) :]
    if changed == whole:
        assert unpack(changed) == given_
        return
    with pytest.raises((BrokenError, UnknownVersionError)):
        unpack(changed)


@given(st.binary(max_size=60))
def test_any_bytes_are_refused(given_):
    """A ConfigMap is foreign input."""
    with pytest.raises(BrokenError):
        unpack(given_)


@given(st.sets(keys, max_size=30), st.sampled_from(COUNTS), st.sampled_from(COUNTS))
def test_a_shard_of_more_has_the_keys_of_one_of_fewer(given_, one, other):
    """So a split moves keys from a shard only to its own parts."""
    fewer, more = sorted((one, other))
    assert all(shard_of(key, more) % fewer == shard_of(key, fewer) for key in given_)
    assert {key for part in spread(dict.fromkeys(given_), more) for key in part} == given_


steps = st.lists(st.tuples(st.integers(0, 120), st.integers(0, 20), st.booleans()), min_size=1, max_size=6)


@settings(deadline=None, max_examples=60)
@given(steps, st.integers(0, 2**32))
def test_whatever_is_cut_off_nothing_is_lost(given_, seed):
    """Saves of any size stop after some writes, some in a new process: no entry is lost or gets older."""
    drawn = random.Random(seed)  # noqa: S311  random bytes that do not compress
    roomy = shard_text.ROOMY

    def made(kind, count, at):
        return {f"{kind}/shop/{n}": {"round": at, "noise": drawn.randbytes(60).hex()} for n in range(count)}

    async def run():
        cluster = FakeCluster()
        shards = Shards(cluster, "hypot-system")
        assert await shards.save(made("Hvpa", 20, 0)) == []
        reached = dict.fromkeys(made("Hvpa", 20, 0), 0)
        for at, (size, writes, again) in enumerate(given_, 1):
            if again:
                shards = Shards(cluster, "hypot-system")
                await shards.load()
            left = iter([None] * writes)
            cluster.faults = lambda call, left=left: next(left, UnreachableError("cut")) if call.writes else None
            entries = {**made("Hvpa", 20, at), **made("WPA", size, at)}
            notes = await shards.save(entries)
            cluster.faults = None
            found = await Shards(cluster, "hypot-system").load()
            assert found.complete, found.notes
            assert notes or found.entries == entries
            assert all(reached[key] <= found.entries[key]["round"] for key in reached)
            reached = {key: found.entries[key]["round"] for key in reached}

    shard_text.ROOMY = 1500
    try:
        asyncio.run(run())
    finally:
        shard_text.ROOMY = roomy


# Usage.

usages = st.tuples(st.integers(1, 4000), st.integers(1, 16 * 1024).map(lambda mib: mib * 2**20 * 1000))
# Seconds since the last step, a pod, its autoscaler, the usage of its containers, and whether one was killed.
looks = st.lists(
    st.tuples(
        st.integers(15, 12 * 3600),
        st.integers(0, 3),
        st.integers(0, 1),
        st.tuples(usages, usages),
        st.integers(0, 7).map(lambda dice: dice == 0),
    ),
    min_size=1,
    max_size=40,
)


def declared():
    history = UsageHistory(SETTINGS)
    for vpa in VPAS:
        history.declare(vpa, CONTAINERS, START)
    return history


async def look(history, now, number, which, used, killed):
    ended = Ended("OOMKilled", now - 10, float(int(now) - 1)) if killed else None
    containers = tuple(
        Container(name, {"memory": memory}, ended=ended) for name, (_, memory) in zip(CONTAINERS, used, strict=True)
    )
    pod = Pod(f"pod-{number}", containers=containers, uid=f"uid-{number}")
    amounts = [(name, {"cpu": cpu, "memory": memory}) for name, (cpu, memory) in zip(CONTAINERS, used, strict=True)]
    samples = {("shop", pod.name): PodSample(float(int(now)), 15.0, tuple(amounts))}
    await history.observe(samples, {key_of(VPAS[which]): (pod,)}, now)


def sizes(history, percentiles=None):
    """The lower bound, target and upper bound of each resource of every container."""
    found = {}
    for vpa in VPAS:
        view = history.view(key_of(vpa))
        for bounds in () if view is None else view.estimate(percentiles or SETTINGS.vpa, CONTAINERS, {}):
            found[vpa.name, bounds.container] = bounds
    return found


@settings(deadline=None, max_examples=60)
@given(looks, st.integers(0, 40))
def test_a_restart_decides_like_an_undisturbed_twin(given_, stop):
    """From state: the same sizes, to the bit, at every later step as one that only saved its usage."""

    async def run():
        twin, ours = declared(), declared()
        now = START
        for number, (later, *seen) in enumerate(given_):
            now += later
            if number == stop:
                await twin.entries(now)
                kept = unpack(pack(await ours.entries(now)))
                ours = declared()
                assert await restore(ours, kept, (), now) == []
            for history in (twin, ours):
                await look(history, now, *seen)
            assert sizes(ours) == sizes(twin)

    asyncio.run(run())


@settings(deadline=None, max_examples=60)
@given(looks)
def test_saving_moves_no_size_by_more_than_a_bucket(given_):
    """Usage that is saved after every step, so rounded, and usage that never is."""

    async def run():
        never, often, now = declared(), declared(), START
        for later, *seen in given_:
            now += later
            for history in (never, often):
                await look(history, now, *seen)
            await often.entries(now)
        return never, often

    never, often = asyncio.run(run())
    low, high = (sizes(never, _shifted(by)) for by in (-0.001, 0.001))
    for place, bounds in sizes(often).items():
        for resource, amount in bounds.target.items():
            assert low[place].target[resource] / 1.06 <= amount <= high[place].target[resource] * 1.06


@given(looks, st.integers(0, 400), st.binary(max_size=3))
@settings(deadline=None, max_examples=60)
def test_any_usage_bytes_are_read_or_refused(given_, at, junk):
    """Bytes that were changed raise nothing: parts that cannot be used are reported, and the rest is finite."""

    async def run():
        ours, now = declared(), START
        for later, *seen in given_[:5]:
            now += later
            await look(ours, now, *seen)
        later = declared()
        changed = {key: each[:at] + junk + each[at + len(junk) :] for key, each in (await ours.entries(now)).items()}
        await restore(later, changed, (), now)
        return later

    for bounds in sizes(asyncio.run(run())).values():
        assert all(amount >= 0 for amount in bounds.target.values())


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 400), st.integers(20, 400), st.integers(0, 2**32))
def test_whatever_is_dropped_is_marked(count, size, seed):
    """Each entry is there after a restart, or known to be lost; and nothing else is lost."""
    drawn = random.Random(seed)  # noqa: S311  random bytes that do not compress
    entries = {f"Hvpa/shop/{n}": {"noise": drawn.randbytes(size // 4).hex()} for n in range(count)}
    entries |= {f"usage/{key}": b"\x93" + drawn.randbytes(size) for key in entries}
    entries["governor"] = {}

    async def run():
        cluster = FakeCluster()
        saved = Shards(cluster, "hypot-system")
        assert await saved.save(entries) == []
        return saved.full, await Shards(cluster, "hypot-system").load()

    with pytest.MonkeyPatch.context() as patch:
        for module in (shard_text, shards):
            patch.setattr(module, "FULL", 1500)
        patch.setattr(shard_text, "ROOMY", 1200)
        notes, found = asyncio.run(run())
    assert found.complete
    assert all((key in found.entries) != found.lost(key) for key in entries)
    assert bool(notes) == bool(found.overfull) == (len(found.entries) < len(entries))
    assert "governor" in found.entries


@settings(deadline=None, max_examples=60)
@given(looks)
def test_a_start_from_checkpoints_is_near(given_):
    """From checkpoints alone, with no open window: within one bucket, except where an exact share decides."""

    async def run():
        twin, now = declared(), START
        for later, *seen in given_:
            now += later
            await look(twin, now, *seen)
        now += 25 * HOUR
        objects = [
            {
                "metadata": {"name": checkpoint_name(key[2], container), "namespace": key[1]},
                "spec": {"vpaObjectName": key[2], "containerName": container},
                "status": twin.status((key, container), now),
            }
            for key, container in twin.sampled()
        ]
        ours = declared()
        assert await restore(ours, {}, objects, now) == []
        return twin, ours

    twin, ours = asyncio.run(run())
    low, high = (sizes(twin, _shifted(by)) for by in (-0.01, 0.01))
    found = sizes(ours)
    assert set(found) == set(sizes(twin))
    for place, bounds in found.items():
        for resource, amount in bounds.target.items():
            assert low[place].target[resource] / 1.06 <= amount <= high[place].target[resource] * 1.06


def _shifted(by):
    """Slightly shifted percentiles, so that a share that is exactly reached is decided both ways."""
    return type(SETTINGS.vpa)(
        target_cpu_percentile=min(SETTINGS.vpa.target_cpu_percentile + by, 1.0),
        target_memory_percentile=min(SETTINGS.vpa.target_memory_percentile + by, 1.0),
    )


@pytest.mark.parametrize("count", COUNTS)
def test_every_residue_has_a_shard(count):
    """It has only one, for any number of shards."""
    for residue in range(RESIDUES):
        assert sum(shard_text.ShardPlace(index, count, 1).covers(residue) for index in range(count)) == 1
