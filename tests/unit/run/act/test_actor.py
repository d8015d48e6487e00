"""Writes on a cluster in memory: each has its precondition, and each reports its result."""

import pytest

from fake_cluster import FakeCluster
from hypot.cluster.discovery import Discovery
from hypot.cluster.port import APPLY_PATCH, Answer, MayNotWriteError, Request, UnreachableError, encoded
from hypot.policy.model.decision import Name
from hypot.policy.model.seen import Pod, Scale, Seen
from hypot.policy.model.size import Size
from hypot.policy.observe.read_pods import read_pod
from hypot.policy.plan.pursue import EvictPod, RecordSize, ResizePod, ScaleTo, SetTemplate
from hypot.run.act.actor import DryRunPort
from hypot.run.outcome import Done
from hypot.run.requests import NotSeenError, evict_request, resize_request, scale_request, template_request
from unit.policy.sizes_world import NAMESPACE, hvpa, made, node, vpa
from unit.run.run_world import WEB, World, all_kinds, body, web, wpa

pytestmark = pytest.mark.asyncio
TARGET = Name("apps/v1", "Deployment", NAMESPACE, "web")
LARGER = (Size("app", {"cpu": 2000, "memory": 2**31}),)
POD = f"/api/v1/namespaces/{NAMESPACE}/pods/web-0"


def looked(world):
    """What is observed of the workload now: its pods, and the version of its template."""
    pods = tuple([read_pod(each) for each in world.cluster.objects(f"/api/v1/namespaces/{NAMESPACE}/pods")])
    metadata = world.at(WEB)["metadata"]
    versions = {"target_uid": metadata["uid"], "target_version": metadata["resourceVersion"]}
    return Seen(world.now, Scale(world.replicas, world.replicas, "app=web", metadata["uid"]), pods, **versions)


async def done(world, action, target=TARGET, seen=None):
    await world.settle()
    return await world.reconciler.actor.do(target, action, seen or looked(world))


async def test_a_count_is_set_once():
    """The scale is not read first where the watched target has the expected count."""
    async with World(*web(2)) as world:
        assert (await done(world, ScaleTo(5, 2))).ok
        assert world.replicas == 5
        assert not world.asked("/scale")


async def test_an_unexpected_count_is_left_alone():
    """Nothing is written where the count is not the expected count."""
    async with World(*web(2)) as world:
        result = await done(world, ScaleTo(5, 3))
        assert (result.ok, result.overtaken) == (False, True)
        assert not world.writes("/scale")


def made_anew(world, uid="another"):
    """Delete it, and create it again under the same name and with the same count."""
    there = world.at(WEB)
    world.cluster.remove(WEB)
    world.put({**there, "metadata": {**there["metadata"], "uid": uid}})


@pytest.mark.parametrize("is_reported", [True, False], ids=["the watch has reported", "the watch has not reported"])
async def test_a_recreated_target_is_left_alone(is_reported):
    """Its count is the expected count, but the decision was made for the deleted target."""
    async with World(*web(2)) as world:
        seen = looked(world)
        if not is_reported:
            await world.stop()
        made_anew(world)
        result = await done(world, ScaleTo(5, 2), seen=seen)
        assert (result.ok, result.overtaken, world.replicas) == (False, True, 2)
        assert "deleted and recreated" in result.refusal


async def test_a_recreated_custom_target_is_left_alone():
    """A target that is not watched is read before it is written."""
    cell = Name("db.example/v1", "Cell", NAMESPACE, "web")
    listed = [{"name": "cells", "kind": "Cell", "namespaced": True}, {"name": "cells/scale", "kind": "Scale"}]
    async with World(*web(2), made("db.example/v1", "Cell", "web", {"replicas": 2}, uid="new")) as world:
        world.cluster.serve("db.example/v1", *listed)
        assert (await done(world, ScaleTo(5, 2), cell, Seen(world.now, Scale(2, 2, "", "old")))).overtaken
        assert not world.writes("/scale")
        assert (await done(world, ScaleTo(5, 2), cell, Seen(world.now, Scale(2, 2, "", "new")))).ok


@pytest.mark.parametrize("version", ["apps/v1", "apps/v1beta1", "apps/v9"])
async def test_a_target_is_found_in_any_version_of_its_group(version):
    """Kubernetes looks for group and kind, and ignores the version."""
    async with World(*web(2)) as world:
        assert (await done(world, ScaleTo(5, 2), Name(version, "Deployment", NAMESPACE, "web"))).ok
        assert world.replicas == 5


async def test_without_a_uid_the_count_decides():
    """Dumps, for example, may leave uids out."""
    async with World(*web(2)) as world:
        made_anew(world)
        assert (await done(world, ScaleTo(5, 2), seen=Seen(world.now, Scale(2, 2, "app=web")))).ok
        assert "uid" not in body(world.writes("/scale")[0])["metadata"]


async def test_a_target_without_a_resource_is_reported():
    """The API server does not serve its kind."""
    async with World(*web(2)) as world:
        result = await done(world, ScaleTo(5, 2), Name("db.example/v1", "Cell", NAMESPACE, "web"))
        assert result == Done("Cell shop/web: no resource of its kind was found in this cluster")


async def test_discovery_that_fails_is_reported():
    """Without an answer from discovery nothing is written."""
    async with World(*web(2)) as world:
        world.cluster.faults = lambda call: UnreachableError("down") if call.path == "/apis/db.example" else None
        assert not (await done(world, ScaleTo(5, 2), Name("db.example/v1", "Cell", NAMESPACE, "web"))).ok


async def test_a_scale_that_cannot_be_read_again_is_reported():
    """After a conflict the count is read again; where that fails, nothing more is tried."""
    async with World(*web(2)) as world:
        world.cluster.faults = lambda call: Answer(500, b"broken") if call.path.endswith("/scale") else None
        result = await done(world, ScaleTo(5, 3))
        assert "cannot be read: broken" in result.refusal
        world.cluster.faults = lambda call: UnreachableError("down") if call.path.endswith("/scale") else None
        assert (await done(world, ScaleTo(5, 3))).refusal == "down"


async def test_a_pod_is_resized_in_place():
    """The sizes are complete, and only the observed pod is changed."""
    async with World(*web(1)) as world:
        assert (await done(world, ResizePod("web-0", "u0", LARGER))).ok
        requests = world.at(POD)["spec"]["containers"][0]["resources"]["requests"]
        assert requests == {"cpu": "2", "memory": "2Gi"}
        result = await done(world, ResizePod("web-0", "another", LARGER))
        assert (result.ok, result.overtaken) == (False, True)


async def test_a_pod_is_evicted():
    """Only the observed pod is evicted."""
    async with World(*web(1)) as world:
        assert (await done(world, EvictPod("web-0", "another", "why"))).overtaken
        assert (await done(world, EvictPod("web-0", "u0", "why"))).ok
        assert world.cluster.get(POD) is None


async def test_a_template_gets_the_size():
    """Containers are matched by name; the rest of the template stays."""
    async with World(*web(1)) as world:
        assert (await done(world, SetTemplate(LARGER))).ok
        (container,) = world.at(WEB)["spec"]["template"]["spec"]["containers"]
        assert (container["image"], container["resources"]["requests"]["cpu"]) == ("app", "2")
        assert not (await done(world, SetTemplate(LARGER), TARGET._replace(name="none"))).ok


@pytest.mark.parametrize("action", [ResizePod("web-0", "u0", LARGER), EvictPod("web-0", "u0", "why")])
async def test_a_pod_that_changed_since_it_was_decided_on_is_left_alone(action):
    """Another client's newer size stays, even where the watch has reported it by now."""
    async with World(*web(1)) as world:
        seen, theirs = looked(world), world.at(POD)
        theirs["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "3"}}
        world.put(theirs)
        result = await done(world, action, seen=seen)
        assert (result.ok, result.overtaken) == (False, True)
        assert world.at(POD)["spec"]["containers"][0]["resources"] == {"requests": {"cpu": "3"}}


async def test_a_template_that_changed_since_it_was_decided_on_is_left_alone():
    """Another client's newer edit stays, even where the watch has reported it by now."""
    async with World(*web(1)) as world:
        seen, theirs = looked(world), world.at(WEB)
        theirs["spec"]["template"]["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "3"}}
        world.put(theirs)
        result = await done(world, SetTemplate(LARGER), seen=seen)
        assert (result.ok, result.overtaken) == (False, True)
        (container,) = world.at(WEB)["spec"]["template"]["spec"]["containers"]
        assert container["resources"] == {"requests": {"cpu": "3"}}


@pytest.mark.parametrize(
    "action", [ResizePod("web-0", "u0", LARGER), EvictPod("web-0", "u0", "why"), SetTemplate(LARGER)]
)
async def test_what_was_not_seen_is_not_written(action):
    """Missing or partial preconditions stop the write: the next reconcile sees the object."""
    async with World(*web(1)) as world:
        world.cluster.calls.clear()
        for seen in (Seen(world.now, Scale(1, 1, "")), Seen(world.now, Scale(1, 1, ""), (Pod("web-0", uid="u0"),))):
            result = await done(world, action, seen=seen)
            assert (result.ok, result.overtaken) == (False, True)
        assert not world.writes()


@pytest.mark.parametrize("action", [ScaleTo(5, 2), SetTemplate(LARGER), ResizePod("", "", LARGER)])
async def test_what_has_no_name_is_not_written(action):
    """Its path would be that of all objects of its kind."""
    async with World(*web(2)) as world:
        world.cluster.calls.clear()
        assert not (await done(world, action, TARGET._replace(name=""))).ok
        assert world.cluster.calls == []


async def test_a_scale_without_a_version_is_not_written():
    """It would be unknown whether it is still the observed version."""
    async with World(*web(2)) as world:
        bare = Answer(200, encoded({"spec": {"replicas": 3}}))
        world.cluster.faults = lambda call: bare if call.path.endswith("/scale") and not call.writes else None
        result = await done(world, ScaleTo(5, 3))
        assert (result.ok, result.overtaken) == (False, True)
        assert not world.writes("/scale")


async def test_a_size_is_recorded_by_others():
    """The size belongs into a status, which the actor does not write."""
    async with World(*web(1)) as world:
        world.cluster.calls.clear()
        assert (await done(world, RecordSize(LARGER))).ok
        assert not world.writes()


async def test_a_follower_writes_nothing():
    """It is not a refusal of the server, and the result is not unsure."""
    async with World(*web(2)) as world:
        world.cluster.faults = lambda call: MayNotWriteError("not leading") if call.writes else None
        assert await done(world, ScaleTo(5, 2)) == Done("not leading")


async def test_without_an_answer_the_result_is_unsure():
    """The write may have been done."""
    async with World(*web(2)) as world:
        world.cluster.faults = lambda call: UnreachableError("cut") if call.writes else None
        assert await done(world, ScaleTo(5, 2)) == Done("cut", unsure=True)


# A dry run.


@pytest.mark.parametrize(
    "request_",
    [
        scale_request(WEB, NAMESPACE, "web", "1", 7),
        resize_request(POD, "u0", "1", LARGER),
        evict_request(POD, NAMESPACE, "web-0", "u0", "1"),
        template_request(WEB, "u", "1", LARGER),
        Request("DELETE", POD),
        Request("DELETE", POD, {}, encoded({"preconditions": {"uid": "u0"}})),
        Request("POST", f"/api/v1/namespaces/{NAMESPACE}/pods", {}, encoded(made("v1", "Pod", "new"))),
        Request("PATCH", f"{WEB}/status", {"fieldManager": "hypot"}, encoded({"status": {}}), APPLY_PATCH),
    ],
    ids=lambda each: f"{each.method} {each.path.rsplit('/', 1)[1]} {len(each.body or b'')}",
)
async def test_a_dry_run_is_asked_and_not_kept(request_):
    """Every kind of write is answered as if it were done, and nothing changes."""
    cluster = FakeCluster()
    for each in web(1):
        cluster.put(each)
    before = [cluster.get(POD), cluster.get(WEB)]
    answer = await DryRunPort(cluster).call(request_)
    assert answer.ok
    assert [cluster.get(POD), cluster.get(WEB)] == before
    assert cluster.get(f"/api/v1/namespaces/{NAMESPACE}/pods/new") is None


async def test_a_dry_run_reads_as_usual():
    """Only writes are changed on their way."""
    cluster = FakeCluster()
    request = Request("GET", "/api/v1/pods")
    await DryRunPort(cluster).call(request)
    assert cluster.calls == [request]


# Requests.


async def test_every_write_has_a_precondition():
    """It has the observed version and, except for a count, the uid too."""
    scale = body(scale_request(WEB, NAMESPACE, "web", "12", 3))
    assert scale["metadata"]["resourceVersion"] == "12"
    assert body(resize_request(POD, "u0", "7", LARGER))["metadata"] == {"uid": "u0", "resourceVersion": "7"}
    evict = body(evict_request(POD, NAMESPACE, "web-0", "u0", "8"))
    assert evict["deleteOptions"] == {"preconditions": {"uid": "u0", "resourceVersion": "8"}}
    assert body(template_request(WEB, "u", "9", LARGER))["metadata"] == {"uid": "u", "resourceVersion": "9"}


@pytest.mark.parametrize(
    ("make", "given"),
    [
        (scale_request, (WEB, NAMESPACE, "web", "", 3)),
        (scale_request, (WEB, NAMESPACE, "", "12", 3)),
        (resize_request, (POD, "", "7", LARGER)),
        (resize_request, (POD, "u0", "", LARGER)),
        (resize_request, (f"/api/v1/namespaces/{NAMESPACE}/pods/", "u0", "7", LARGER)),
        (evict_request, (POD, NAMESPACE, "web-0", "u0", "")),
        (evict_request, (POD, NAMESPACE, "", "u0", "7")),
        (template_request, (WEB, "", "9", LARGER)),
        (template_request, (WEB, "u", "", LARGER)),
    ],
)
async def test_without_all_of_its_preconditions_there_is_no_request(make, given):
    """With only a part of them a newer write could be overwritten."""
    with pytest.raises(NotSeenError, match="is not written to"):
        make(*given)


async def test_discovery_is_asked_once_for_each_kind():
    """The resource of a custom target is asked for once, and then cached."""
    listed = [{"name": "cells", "kind": "Cell", "namespaced": True}, {"name": "cells/scale", "kind": "Scale"}]
    cluster = FakeCluster()
    cluster.serve("db.example/v1", *listed)
    discovery = Discovery(cluster)
    for _ in range(3):
        found = await discovery.resource_of("db.example", "Cell")
        assert found is not None
        assert found.scalable
    assert [call.path for call in cluster.calls] == ["/apis/db.example", "/apis/db.example/v1"]


# Between the observation and the action.


class Hasty:
    """A judge with a change after its decisions, which the watch reports before anything is written."""

    def __init__(self, world, change):
        self._world, self._change, self._judge = world, change, world.reconciler.judge

    def __getattr__(self, name):
        return getattr(self._judge, name)

    async def decide_all(self, *given):
        outcomes = await self._judge.decide_all(*given)
        self._change(self._world)
        await self._world.settle()
        return outcomes


def resize_theirs(world):
    theirs = world.at(POD)
    theirs["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "7"}}
    world.put(theirs)


def edit_theirs(world):
    theirs = world.at(WEB)
    theirs["spec"]["template"]["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "7"}}
    world.put(theirs)


async def test_another_clients_resize_during_a_reconcile_stays():
    """The resized pod was not decided on, so it is neither overwritten nor evicted."""
    async with World(*web(2), vpa("InPlaceOrRecreate"), node(), kinds=all_kinds(VerticalPodAutoscaler="act")) as world:
        world.uses("3", "3Gi")
        world.reconciler.judge = Hasty(world, resize_theirs)
        await world.reconcile()
        assert world.writes("/resize")
        assert world.at(POD)["spec"]["containers"][0]["resources"] == {"requests": {"cpu": "7"}}


async def test_an_edit_of_a_template_during_a_reconcile_stays():
    """The edit was not decided on, so it is not overwritten."""
    async with World(*web(1), hvpa(annotations={"hypot.dev/resize": "Template"}), node()) as world:
        world.uses("1", "3Gi")
        world.reconciler.judge = Hasty(world, edit_theirs)
        await world.reconcile()
        assert [call for call in world.writes(WEB) if call.path == WEB]
        (container,) = world.at(WEB)["spec"]["template"]["spec"]["containers"]
        assert container["resources"] == {"requests": {"cpu": "7"}}


async def test_a_target_recreated_during_a_reconcile_keeps_its_count():
    """The decision was made for the deleted target; the next reconcile decides for the new one."""
    async with World(*web(4), wpa()) as world:
        world.queue("80")
        world.reconciler.judge = Hasty(world, made_anew)
        outcome = await world.outcome()
        assert (outcome.decision.desired, world.replicas, outcome.state.last_scale) == (8, 4, None)
