"""Prints what the state of 20,000 Hvpas costs: bytes per object, shards, processor time, and how long the loop waits.

Also the bytes of Tortoises that learned for four weeks.

Each Hvpa has one container (every fourth has two), three pods, and a day of samples. The state goes to an API server in
memory, so the figures are hypot's own. Medians of several rounds.
"""

import argparse
import asyncio
import gc
import random
import statistics
import sys
import time
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

import msgspec
import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "tests"))
from fake_cluster import FakeCluster  # noqa: E402
from hypot.cluster.port import Answer  # noqa: E402
from hypot.kinds.tortoise.status import WORKING  # noqa: E402
from hypot.kinds.vpa import VPA  # noqa: E402
from hypot.policy.continuity import Remembered  # noqa: E402
from hypot.policy.model.decision import Condition  # noqa: E402
from hypot.policy.model.learned import MOST_LEFT_OUT, REASONS, Learned, LeftOut, SlotLayout  # noqa: E402
from hypot.policy.model.seen import Container, Pod, PodSample  # noqa: E402
from hypot.policy.model.settings import Settings  # noqa: E402
from hypot.policy.model.state import RecentUse, Recount, State, Vertical  # noqa: E402
from hypot.policy.model.tortoise_state import TortoiseState  # noqa: E402
from hypot.run.store.checkpoints import restore  # noqa: E402
from hypot.run.store.shards import Shards  # noqa: E402
from hypot.run.store.usage_history import UsageHistory  # noqa: E402

NOW, DAY, HOUR, MINUTE = 1_800_000_000.0, 86_400.0, 3600.0, 60.0
PODS = 3
ROUNDS = 5
CONDITIONS = (
    ("Ready", "True", "TargetRead", "the target and its scale were read"),
    ("RecommendationProvided", "True", "Recommended", "every enabled source has a recommendation"),
    ("ScalingLimited", "False", "WithinIntervals", "the needed totals are within the intervals"),
    ("ScalingBlocked", "False", "NotBlocked", "nothing is blocked"),
    ("CarriedOut", "True", "Done", "3 replicas have the decided size."),
)


class World:
    """Hvpas, their pods and what they use. A VPA stands for the part of an Hvpa that has histograms."""

    def __init__(self, count):
        self.random, drawn = np.random.default_rng(4), random.Random(4)  # noqa: S311  figures, no secrets
        self.history = UsageHistory(Settings())
        self.pods, self.instances = {}, []
        for number in range(count):
            names = ("app", "proxy") if number % 4 == 0 else ("app",)
            owner = VPA(f"Deployment/web-{number}", namespace=f"team-{number % 200}")
            key = self.history.declare(owner, names, NOW - DAY)
            self.pods[key] = [
                Pod(
                    f"web-{number}-{index}",
                    containers=tuple(Container(name) for name in names),
                    uid=str(UUID(int=drawn.getrandbits(128))),
                )
                for index in range(PODS)
            ]
        containers = sum(len(pods[0].containers) for pods in self.pods.values()) * PODS
        self.cpu = self.random.lognormal(5.5, 1.5, containers)
        self.memory = self.random.lognormal(20.0, 1.2, containers)

    async def first_look(self):
        none = {"cpu": 1, "memory": 1000}
        samples = {
            (key[1], pod.name): PodSample(NOW - DAY, 15.0, tuple((each.name, none) for each in pod.containers))
            for key, pods in self.pods.items()
            for pod in pods
        }
        await self.history.observe(samples, self.pods, NOW - DAY)
        tracked = [pod for owner in self.owners() for pod in owner.pods.values()]
        self.instances = np.array([number for pod in tracked for number in pod.numbers.values()])

    def owners(self):
        return self.history._owners.values()  # noqa: SLF001  a client would need a minute to feed a day of samples

    def use(self, at):
        """A sample of every container, around a level that follows the time of day."""
        day = 1 + 0.5 * np.sin(2 * np.pi * at / DAY)
        cpu = self.cpu * day * self.random.lognormal(0, 0.2, len(self.cpu))
        memory = np.rint(self.memory * self.random.lognormal(0, 0.05, len(self.memory)))
        self.history._usage.fold(self.instances, at, np.rint(cpu), memory)  # noqa: SLF001
        self.touch()

    def touch(self):
        for owner in self.owners():
            owner.touched = True

    def decisions(self):
        drawn = random.Random(5)  # noqa: S311  figures, no secrets
        return {"/".join(key): self._decided(key, drawn) for key in self.pods}

    @staticmethod
    def _decided(key, drawn):
        def ago(most=DAY):
            return NOW - round(drawn.random() * most, 6)

        conditions = tuple(Condition(*each, float(int(ago()))) for each in CONDITIONS)
        advice = {"app": {"cpu": drawn.randrange(10, 4000), "memory": drawn.randrange(2**27, 2**33)}}
        used = advice["app"]["cpu"] * drawn.uniform(1.0, 3.0)
        vertical = Vertical(
            last_up=ago(),
            last_down=ago(),
            replicas=3,
            advice=advice,
            recount=Recount(ago(), 2, 3, advice),
            recent={"app/cpu": RecentUse(used / 0.7, ago(60), used, ago(600))},
        )
        state = State(
            last_scale=ago(), desired=3, conditions=conditions, scalings=drawn.randrange(50), vertical=vertical
        )
        uid = UUID(int=drawn.getrandbits(128))
        return Remembered(state, 3, NOW, f"{uid} Deployment/{key[2]}").to_dict()


# What a Tortoise may need in each hour: a daily cycle with noise; a demand that falls, of which nothing is left out.
NEEDS = {
    "usual": lambda drawn, hour: (20_000 + 15_000 * np.sin(2 * np.pi * hour / 24)) * drawn.lognormal(0, 0.1),
    "falling for four weeks": lambda drawn, hour: 40_000 * (1 - hour / 700) + drawn.integers(0, 60),
}
TORTOISES, SLOTS, WEEKS = 20, 168, 4


def tortoise_states(learned):
    """What is stored of Tortoises that learned this, without their usage."""
    uid = UUID(int=random.Random(6).getrandbits(128))  # noqa: S311  figures, no secrets
    for each in learned:
        state = State(
            desired=12,
            last_scale=NOW - HOUR,
            conditions=tuple(Condition(*one, NOW - DAY) for one in CONDITIONS),
            tortoise=TortoiseState(
                (each,),
                WORKING,
                {each.place: NOW - 30 * DAY},
                {each.place: 70},
                NOW - HOUR,
                {each.place: 68.25},
                low=6,
            ),
        )
        yield Remembered(state, 12, NOW, f"{uid} Deployment/web").to_dict()


def learning(need):
    """Tortoises that have observed four weeks."""
    for seed in range(TORTOISES):
        drawn, made = np.random.default_rng(seed), Learned.begun(SlotLayout(), "app/cpu", NOW)
        for hour in range(SLOTS * WEEKS + 1):
            made = made.observed(NOW + hour * HOUR, int(need(drawn, hour)))
        yield made


def incompressible():
    """The most that can be stored: codes that do not compress, and every slot was left out once."""
    for seed in range(TORTOISES):
        drawn, begun = np.random.default_rng(seed), Learned.begun(SlotLayout(), "app/cpu", NOW)
        codes = drawn.integers(1, 1 << 15, SLOTS * WEEKS).astype(np.uint16).tobytes()
        left_out = tuple(
            LeftOut(int(drawn.integers(100, 3000)), int(slot), REASONS[slot % len(REASONS)])
            for slot in drawn.permutation(SLOTS)
        )
        yield replace(begun, codes=codes, left_out=left_out[:MOST_LEFT_OUT])


class Server(FakeCluster):
    """Counts writes, and answers them without a copy of what was written."""

    def __init__(self):
        super().__init__()
        self.written = {}

    async def call(self, request):
        if not request.writes:
            return await super().call(request)
        body = msgspec.json.decode(request.body, type=Written)
        self.written[body.metadata["name"]] = len(body.binary_data["state"])
        self.calls.append(request)
        return Answer(200, b'{"metadata": {"resourceVersion": "1"}}')


class Written(msgspec.Struct, rename="camel"):
    """The parts of a written ConfigMap that are measured."""

    metadata: dict[str, Any]
    binary_data: dict[str, bytes]


class Loop:
    """How long another task of the loop waits at most."""

    def __init__(self):
        self.longest, self._task = 0.0, None

    async def __aenter__(self):
        self._task = asyncio.ensure_future(self._watch())
        await asyncio.sleep(0)
        return self

    async def __aexit__(self, *_):
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def _watch(self):
        while True:
            before = time.monotonic()
            await asyncio.sleep(0.001)
            self.longest = max(self.longest, time.monotonic() - before - 0.001)


async def saving(world, decided):
    """Save everything, as a new leader does: the processor time."""
    world.touch()
    shards, began = Shards(Server(), "hypot-system"), time.process_time()
    assert await shards.save({**decided, **await world.history.entries(NOW)}) == []
    return time.process_time() - began


async def waiting(world, decided):
    """The same: how long another task waits."""
    async with Loop() as loop:
        await saving(world, decided)
    return loop.longest


async def hour_of_writes(world, shards, server, decided):
    """Reconciles of one hour in which usage is measured and nothing is decided: how many shards were written."""
    server.calls.clear()
    for step in range(1, 241):
        at = NOW + 15.0 * step
        if step % 4 == 1:
            world.use(at)
        entries = await world.history.entries(at, shards.due(at))
        assert await shards.save({**decided, **entries}) == []
    return len([call for call in server.calls if call.writes])


def per_object(entries, count):
    """Bytes per object, unpacked and packed."""
    texts = [entry if isinstance(entry, bytes) else msgspec.json.encode(entry) for entry in entries]
    return f"{sum(map(len, texts)) / count:.0f} / {len(zlib.compress(b''.join(texts), 1)) / count:.0f} B"


def row(name, figure, goal=""):
    print(f"{name:<62} {figure:>14}   {goal}")


async def run(count):
    world, server = World(count), Server()
    await world.first_look()
    for minute in range(24 * 60, 0, -1):
        world.use(NOW - minute * MINUTE)
    decided, shards = world.decisions(), Shards(server, "hypot-system")
    row("what", "measured", "goal")
    # As `hypot run` does: a collection would look at every object of this bench.
    gc.freeze()
    gc.disable()
    seconds = statistics.median([await saving(world, decided) for _ in range(ROUNDS)])
    row(f"saving {count:,} Hvpas, processor time", f"{seconds:.2f} s", f"{count / 10_000:.1f} s")
    longest = statistics.median([await waiting(world, decided) for _ in range(ROUNDS)])
    row("meanwhile another task waits at most", f"{longest * 1000:.0f} ms", "20 ms")
    usage = await world.history.entries(NOW)
    assert await shards.save({**decided, **usage}) == []
    row("bytes per Hvpa, decision state, unpacked / packed", per_object(decided.values(), count))
    for name, need in NEEDS.items():
        row(f"bytes per Tortoise, decision state, {name}", per_object(list(tortoise_states(learning(need))), TORTOISES))
    row("bytes per Tortoise, decision state, the most", per_object(list(tortoise_states(incompressible())), TORTOISES))
    row("bytes per Hvpa, usage, unpacked / packed", per_object(usage.values(), count))
    row("bytes per Hvpa in ConfigMaps", f"{sum(server.written.values()) / count:.0f} B")
    row("ConfigMaps, the largest", f"{len(server.written)}, {max(server.written.values()) / 1024:.0f} KiB")
    row("used of the possible state", f"{shards.used:.1%}")
    row(
        "writes of shards in an hour without decisions", str(await hour_of_writes(world, shards, server, decided)), "60"
    )
    began, again = time.process_time(), UsageHistory(Settings())
    for owner in world.owners():
        again.declare(owner.autoscaler, (), NOW)
    assert await restore(again, await world.history.entries(NOW, lambda _: False), (), NOW) == []
    row("reading the usage of all at the start, processor time", f"{time.process_time() - began:.2f} s")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--objects", type=int, default=20_000)
    asyncio.run(run(parser.parse_args().objects))
