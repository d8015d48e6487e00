"""State and checkpoints on a real API server: what it accepts, what it refuses, and what is read back."""

import random

import pytest

from cluster.crds import serving
from cluster.plane.controlplane import ControlPlane
from hypot.cluster.api import Api
from hypot.cluster.config import read_access
from hypot.cluster.port import Request, expect
from hypot.kinds.vpa import VPA
from hypot.kinds.vpa.checkpoint import Checkpoint
from hypot.policy.continuity import Remembered
from hypot.policy.model.seen import Container, Pod, PodSample
from hypot.policy.model.settings import Settings
from hypot.policy.model.state import State, TimedValues
from hypot.run.store import shard_text
from hypot.run.store.checkpoints import OF, PLURAL, checkpoint_request, known, restore
from hypot.run.store.shard_text import FULL, pack
from hypot.run.store.shards import SELECTOR, Shards
from hypot.run.store.usage_history import UsageHistory, key_of

pytestmark = pytest.mark.asyncio
START = 1_700_000_000.0
STRICT = {"fieldValidation": "Strict"}


def client(plane: ControlPlane) -> Api:
    return Api(read_access(str(plane.kubeconfig("admin"))))


def remembered(count, at=START):
    """State as decisions leave it."""
    drawn = random.Random(1)  # noqa: S311  sizes, no secrets
    entries = {}
    for number in range(count):
        values = tuple(drawn.randrange(50) for _ in range(20))
        past = TimedValues(values, tuple(at - 15 * step + drawn.random() for step in range(20)))
        state = State(past, at - 300, ups=past, downs=past, last_scale=at)
        entries[f"WatermarkPodAutoscaler/shop/web-{number}"] = Remembered(state, values[0], at).to_dict()
    return entries


def noise(count, size):
    drawn = random.Random(2)  # noqa: S311  noise that does not compress
    return {f"Hvpa/shop/{number}": {"noise": drawn.randbytes(size // 2).hex()} for number in range(count)}


async def config_maps(api, namespace):
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    return (await expect(api, Request("GET", path, {"labelSelector": SELECTOR})))["items"]


async def test_the_state_of_two_thousand_objects(plane, namespace):
    """It is written with a few calls and read with one; unchanged state costs no call."""
    entries = remembered(2000)
    async with client(plane) as api:
        shards = Shards(api, namespace)
        assert not (await shards.load()).complete
        assert await shards.save(entries) == []
        assert 1 <= sum(api.calls.values()) - 1 <= 16
        before = sum(api.calls.values())
        assert await shards.save(dict(entries)) == []
        assert sum(api.calls.values()) == before
        found = await Shards(api, namespace).load()
        assert sum(api.calls.values()) == before + 1
    assert found.complete
    assert found.notes == ()
    assert found.entries == entries
    assert Remembered.from_dict(found.entries["WatermarkPodAutoscaler/shop/web-7"]).state.last_scale == START


async def test_growth_over_shards(plane, namespace):
    """More state than one ConfigMap can hold, and less again after a restart."""
    small, large = noise(10, 1000), noise(1000, 4000)
    async with client(plane) as api:
        shards = Shards(api, namespace)
        assert await shards.save(small) == []
        assert await shards.save(large) == []
        listed = await config_maps(api, namespace)
        assert {each["data"]["count"].partition(" of ")[2] for each in listed} == {str(len(listed))}
        assert len(listed) in {4, 8}
        found = await Shards(api, namespace).load()
        assert (found.complete, found.entries == large) == (True, True)
        again = Shards(api, namespace)
        await again.load()
        assert await again.save(small) == []
        counts = sorted(each["data"]["count"] for each in await config_maps(api, namespace))
        assert counts == ["1 of 1", *["unused"] * (len(listed) - 1)]
        assert (await Shards(api, namespace).load()).entries == small


async def test_a_full_shard_is_accepted(plane, namespace, monkeypatch):
    """The server stores the largest shard that is ever written."""
    monkeypatch.setattr(shard_text, "ROOMY", FULL)
    entries = noise(1, 1_660_000)
    assert 0.95 * FULL < len(pack(entries)) <= FULL
    async with client(plane) as api:
        assert await Shards(api, namespace).save(entries) == []
        assert (await Shards(api, namespace).load()).entries == entries


async def test_a_former_leader(plane, namespace):
    """A former leader does not overwrite newer state unseen: the conflict is reported, and its next write succeeds."""
    async with client(plane) as api:
        former, leader = Shards(api, namespace), Shards(api, namespace)
        await former.save(noise(3, 100))
        await leader.load()
        assert await leader.save(noise(4, 100)) == []
        (note,) = await former.save(noise(5, 100))
        assert f"ConfigMap {namespace}/hypot-state-0: another client wrote it" in note
        assert "the object has been modified" in note
        (note,) = await Shards(_Blind(api), namespace).save(noise(1, 100))
        assert "already exists" in note
        assert (await Shards(api, namespace).load()).entries == noise(4, 100)
        assert await former.save(noise(5, 100)) == []
        assert (await Shards(api, namespace).load()).entries == noise(5, 100)


class _Blind:
    """A client that lists nothing, like a cache that lags behind."""

    def __init__(self, api):
        self._api = api

    async def call(self, request):
        if request.method == "GET":
            request = Request("GET", request.path, {"labelSelector": "none=such"})
        return await self._api.call(request)

    def watch(self, request):
        return self._api.watch(request)


async def usage(vpa, cpu, hours=30):
    history = UsageHistory(Settings())
    key = history.declare(vpa, ("app",), START)
    pod = Pod("web-1", containers=(Container("app"),), uid="uid-1")
    for hour in range(hours):
        at = START + hour * 3600
        amounts = {"cpu": cpu + 40 * hour, "memory": (1 + hour) * 10**11}
        await history.observe({(key[1], pod.name): PodSample(at, 15.0, (("app", amounts),))}, {key: (pod,)}, at)
    return history


async def test_checkpoints(plane, api, namespace):
    """They are created and replaced whole, at the known version, and a new start continues with them."""
    serving(api)
    vpa = VPA("Deployment/web", namespace=namespace)
    subject, path = (key_of(vpa), "app"), f"/apis/{Checkpoint.API_VERSION}/namespaces/{namespace}/{PLURAL}"
    made = api.create(f"/apis/{VPA.API_VERSION}/namespaces/{namespace}/verticalpodautoscalers", vpa.to_dict())
    uid = made["metadata"]["uid"]
    identity = f"{uid} Deployment/web"
    async with client(plane) as port:
        statuses = [(await usage(vpa, cpu)).status(subject, START) for cpu in (100, 3000)]
        held = await expect(port, _strict(checkpoint_request(subject, uid, identity, statuses[0], None)))
        assert held["status"] == statuses[0]
        assert held["metadata"]["ownerReferences"][0]["uid"] == uid
        assert Checkpoint.from_dict(held).problems() == ()
        assert (await port.call(checkpoint_request(subject, uid, identity, statuses[1], None))).conflict
        first = known(held)
        held = await expect(port, _strict(checkpoint_request(subject, uid, identity, statuses[1], first)))
        assert held["status"] == statuses[1]
        assert held["metadata"]["annotations"] == {OF: identity}
        assert (await port.call(checkpoint_request(subject, uid, identity, statuses[0], first))).conflict
        listed = (await expect(port, Request("GET", path)))["items"]
    later = UsageHistory(Settings())
    later.declare(vpa, ("app",), START)
    assert await restore(later, {}, listed, START) == []
    assert later.status(subject, START) == statuses[1]


def _strict(request):
    return Request(request.method, request.path, {**request.query, **STRICT}, request.body)
