"""Writes on a cluster in memory: each with its precondition, and each says how it went."""

import pytest

from hypot.cluster.discovery import Discovery
from hypot.cluster.fake import FakeCluster
from hypot.cluster.port import APPLY_PATCH, Answer, MayNotWriteError, Request, UnreachableError, encoded
from hypot.policy.decision import Name
from hypot.policy.plan import EvictPod, RecordSize, ResizePod, ScaleTo, SetTemplate
from hypot.policy.size import Size
from hypot.run.act import Done, DryRunPort
from hypot.run.writes import evict_request, resize_request, scale_request, template_request
from unit.run_world import WEB, World, body, web
from unit.sizes_world import NAMESPACE, made

pytestmark = pytest.mark.asyncio
TARGET = Name("apps/v1", "Deployment", NAMESPACE, "web")
LARGER = (Size("app", {"cpu": 2000, "memory": 2**31}),)
POD = f"/api/v1/namespaces/{NAMESPACE}/pods/web-0"


async def done(world, action, target=TARGET):
    await world.settle()
    return await world.sweeper.actor.do(target, action)


async def test_a_count_is_set_once():
    """Without a look before it, where the watched target stands at the expected count."""
    async with World(*web(2)) as world:
        assert (await done(world, ScaleTo(5, 2))).ok
        assert world.replicas == 5
        assert not world.asked("/scale")


async def test_a_count_that_is_another_is_left_alone():
    """Nothing is written then."""
    async with World(*web(2)) as world:
        result = await done(world, ScaleTo(5, 3))
        assert (result.ok, result.overtaken) == (False, True)
        assert not world.writes("/scale")


async def test_a_target_without_a_resource_is_told():
    """Nobody serves its kind."""
    async with World(*web(2)) as world:
        result = await done(world, ScaleTo(5, 2), Name("db.example/v1", "Cell", NAMESPACE, "web"))
        assert result == Done("Cell shop/web has no resource in this cluster")


async def test_discovery_that_fails_is_told():
    """Not to know is not to act."""
    async with World(*web(2)) as world:
        world.cluster.faults = lambda call: UnreachableError("down") if call.path == "/apis/db.example/v1" else None
        assert not (await done(world, ScaleTo(5, 2), Name("db.example/v1", "Cell", NAMESPACE, "web"))).ok


async def test_a_scale_that_cannot_be_read_again_is_told():
    """After a conflict the count is looked at; where that fails, nothing more is tried."""
    async with World(*web(2)) as world:
        world.cluster.faults = lambda call: Answer(500, b"broken") if call.path.endswith("/scale") else None
        result = await done(world, ScaleTo(5, 3))
        assert "cannot be read: broken" in result.refusal
        world.cluster.faults = lambda call: UnreachableError("down") if call.path.endswith("/scale") else None
        assert (await done(world, ScaleTo(5, 3))).refusal == "down"


async def test_a_pod_is_resized_in_place():
    """Whole sizes, and only while it is the pod that was looked at."""
    async with World(*web(1)) as world:
        assert (await done(world, ResizePod("web-0", "u0", LARGER))).ok
        requests = world.at(POD)["spec"]["containers"][0]["resources"]["requests"]
        assert requests == {"cpu": "2", "memory": "2Gi"}
        result = await done(world, ResizePod("web-0", "another", LARGER))
        assert (result.ok, result.overtaken) == (False, True)


async def test_a_pod_is_evicted():
    """Only the one that was looked at."""
    async with World(*web(1)) as world:
        assert (await done(world, EvictPod("web-0", "another", "why"))).overtaken
        assert (await done(world, EvictPod("web-0", "u0", "why"))).ok
        assert world.cluster.get(POD) is None


async def test_a_template_gets_the_size():
    """Of containers that it has, by name; the rest of it stays."""
    async with World(*web(1)) as world:
        assert (await done(world, SetTemplate(LARGER))).ok
        (container,) = world.at(WEB)["spec"]["template"]["spec"]["containers"]
        assert (container["image"], container["resources"]["requests"]["cpu"]) == ("app", "2")
        assert not (await done(world, SetTemplate(LARGER), TARGET._replace(name="none"))).ok


async def test_a_size_is_recorded_by_others():
    """It belongs into a status, of which an actor knows nothing."""
    async with World(*web(1)) as world:
        world.cluster.calls.clear()
        assert (await done(world, RecordSize(LARGER))).ok
        assert not world.writes()


async def test_who_does_not_lead_writes_nothing():
    """It is no refusal of the server, and nothing to be unsure of."""
    async with World(*web(2)) as world:
        world.cluster.faults = lambda call: MayNotWriteError("not leading") if call.writes else None
        assert await done(world, ScaleTo(5, 2)) == Done("not leading")


async def test_who_gets_no_answer_is_not_sure():
    """It may have been done."""
    async with World(*web(2)) as world:
        world.cluster.faults = lambda call: UnreachableError("cut") if call.writes else None
        assert await done(world, ScaleTo(5, 2)) == Done("cut", unsure=True)


# A dry run.


@pytest.mark.parametrize(
    "request_",
    [
        scale_request(WEB, NAMESPACE, "web", "", 7),
        resize_request(POD, "u0", "", LARGER),
        evict_request(POD, NAMESPACE, "web-0", "u0", ""),
        template_request(WEB, "", "", LARGER),
        Request("DELETE", POD),
        Request("DELETE", POD, {}, encoded({"preconditions": {"uid": "u0"}})),
        Request("POST", f"/api/v1/namespaces/{NAMESPACE}/pods", {}, encoded(made("v1", "Pod", "new"))),
        Request("PATCH", f"{WEB}/status", {"fieldManager": "hypot"}, encoded({"status": {}}), APPLY_PATCH),
    ],
    ids=lambda each: f"{each.method} {each.path.rsplit('/', 1)[1]} {len(each.body or b'')}",
)
async def test_a_dry_run_is_asked_and_not_kept(request_):
    """Every kind of write is answered as if it were done, and nothing is."""
    cluster = FakeCluster()
    for each in web(1):
        cluster.put(each)
    before = [cluster.get(POD), cluster.get(WEB)]
    answer = await DryRunPort(cluster).call(request_)
    assert answer.ok
    assert [cluster.get(POD), cluster.get(WEB)] == before
    assert cluster.get(f"/api/v1/namespaces/{NAMESPACE}/pods/new") is None


async def test_a_dry_run_reads_as_ever():
    """Only what writes is changed on its way."""
    cluster = FakeCluster()
    request = Request("GET", "/api/v1/pods")
    await DryRunPort(cluster).call(request)
    assert cluster.calls == [request]


# Requests.


async def test_every_write_has_a_precondition():
    """Without a uid or a version that is known, none is made up."""
    scale = body(scale_request(WEB, NAMESPACE, "web", "12", 3))
    assert scale["metadata"]["resourceVersion"] == "12"
    assert body(resize_request(POD, "u0", "7", LARGER))["metadata"] == {"uid": "u0", "resourceVersion": "7"}
    assert body(evict_request(POD, NAMESPACE, "web-0", "u0", ""))["deleteOptions"] == {"preconditions": {"uid": "u0"}}
    assert body(template_request(WEB, "", "9", LARGER))["metadata"] == {"resourceVersion": "9"}


async def test_discovery_is_asked_once_for_each_kind():
    """Whoever scales a custom target asks what its resource is, and then it is known."""
    listed = [{"name": "cells", "kind": "Cell", "namespaced": True}, {"name": "cells/scale", "kind": "Scale"}]
    cluster = FakeCluster()
    cluster.fixed["/apis/db.example/v1"] = Answer(200, encoded({"resources": listed}))
    discovery = Discovery(cluster)
    for _ in range(3):
        found = await discovery.resource_of("db.example/v1", "Cell")
        assert found is not None
        assert found.scalable
    assert len(cluster.calls) == 1
