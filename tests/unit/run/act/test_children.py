"""The HPA and VPA that an Hvpa creates where their statuses serve as its recommendations."""

import pytest
import structlog

from hypot.policy.model.seen import Scale
from hypot.run.act.children import count_request, covers, owned_objects, requests_for
from hypot.run.observe.rows import keep_autoscaler
from unit.policy.sizes_world import NAMESPACE, advised, hvpa, node, recommended, vpa
from unit.run.run_world import KINDS, World, body, hpa, web

pytestmark = pytest.mark.asyncio
HPAS, VPAS, HVPAS = KINDS["HorizontalPodAutoscaler"], KINDS["VerticalPodAutoscaler"], KINDS["Hvpa"]
OBJECTS = {"hypot.dev/recommendations": "objects"}
METRIC = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}}
COUNTED = {"deploy": True, "template": {"spec": {"minReplicas": 1, "maxReplicas": 4, "metrics": [METRIC]}}}


def parent(**more):
    return hvpa(annotations=OBJECTS, hpa=COUNTED, **more)


async def test_children_are_made():
    """The HPA scales the Hvpa itself, without a stabilisation window; the VPA changes nothing."""
    async with World(*web(2), parent(), node()) as world:
        await world.reconcile()
        counter, sizer = world.at(f"{HPAS}/web"), world.at(f"{VPAS}/web")
        target = {"apiVersion": "autoscaling.k8s.io/v1alpha1", "kind": "Hvpa", "name": "web"}
        assert counter["spec"]["scaleTargetRef"] == target
        assert counter["spec"]["behavior"]["scaleDown"]["stabilizationWindowSeconds"] == 0
        assert sizer["spec"]["updatePolicy"]["updateMode"] == "Off"
        assert sizer["spec"]["targetRef"]["kind"] == "Deployment"
        uid = world.at(f"{HVPAS}/web")["metadata"]["uid"]
        for child in (counter, sizer):
            (owner,) = child["metadata"]["ownerReferences"]
            assert (owner["uid"], owner["controller"]) == (uid, True)


async def test_children_that_are_right_are_left_alone():
    """Fields that the API server added do not count; a reconcile without changes writes nothing."""
    async with World(*web(2), parent(), node()) as world:
        await world.reconcile()
        counter = world.at(f"{HPAS}/web")
        counter["spec"]["metrics"][0]["resource"]["extra"] = "default"
        counter["status"] = {"currentReplicas": 2}
        world.put(counter)
        await world.reconcile()
        assert not world.writes(HPAS)
        assert not world.writes(VPAS)


async def test_children_are_repaired():
    """Changes of others in them are reverted, on the observed version."""
    async with World(*web(2), parent(), node()) as world:
        await world.reconcile()
        counter = world.at(f"{HPAS}/web")
        counter["spec"]["maxReplicas"] = 100
        version = world.cluster.put(counter)["metadata"]["resourceVersion"]
        await world.reconcile()
        (write,) = world.writes(HPAS)
        assert body(write)["metadata"]["resourceVersion"] == version
        assert world.at(f"{HPAS}/web")["spec"]["maxReplicas"] == 4


async def test_a_child_that_lost_its_owner_is_claimed_again():
    """It has our label and no other owner."""
    async with World(*web(2), parent(), node()) as world:
        await world.reconcile()
        orphan = world.at(f"{HPAS}/web")
        orphan["metadata"]["ownerReferences"] = []
        world.put(orphan)
        await world.reconcile()
        assert len(world.at(f"{HPAS}/web")["metadata"]["ownerReferences"]) == 1


async def test_objects_of_others_are_left_alone():
    """An HPA of the same name that hypot did not create stays as it is."""
    async with World(*web(2), hpa(), parent(), node()) as world:
        theirs = world.at(f"{HPAS}/web")
        await world.reconcile()
        assert world.at(f"{HPAS}/web") == theirs


async def test_a_new_object_of_the_same_name_is_left_alone():
    """A child is created, and never overwrites an unobserved object; the refusal is logged."""
    async with World(*web(2), parent(), node()) as world:
        await world.settle()
        world.cluster.faults = lambda call: world.put(hpa()) if call.writes and call.path == HPAS else None
        with structlog.testing.capture_logs() as logs:
            await world.reconcile()
        theirs = world.at(f"{HPAS}/web")
        assert "ownerReferences" not in theirs["metadata"]
        assert theirs["spec"]["maxReplicas"] == 20
        assert [each["status"] for each in logs if each["event"] == "refused"] == [409]
        world.cluster.faults = None
        await world.reconcile()
        assert not world.writes(HPAS)


async def test_a_child_that_changes_while_it_is_repaired_is_left_alone():
    """The next reconcile looks at it again."""
    async with World(*web(2), parent(), node()) as world:
        await world.reconcile()
        counter = world.at(f"{HPAS}/web")
        counter["spec"]["maxReplicas"] = 100
        world.put(counter)

        def newer(call):
            if call.writes and call.path.startswith(HPAS):
                world.put({**counter, "spec": {**counter["spec"], "maxReplicas": 50}})

        world.cluster.faults = newer
        await world.reconcile()
        assert world.at(f"{HPAS}/web")["spec"]["maxReplicas"] == 50


async def test_while_a_watch_is_broken_children_stay_as_they_are():
    """A missing child may exist, and an existing child may have changed."""
    async with World(*web(2), parent(), node()) as world:
        await world.reconcile()
        there = world.at(f"{HVPAS}/web")
        there["metadata"]["annotations"] = {}
        world.put(there)
        world.app.watches.pods.reflectors[0].trouble = "cut"
        await world.reconcile()
        assert not world.writes(HPAS)
        world.app.watches.pods.reflectors[0].trouble = ""
        await world.reconcile()
        assert [call.method for call in world.writes(HPAS)] == ["DELETE"]


async def test_what_has_no_name_version_or_uid_needs_no_children():
    """A path without a name would be that of all objects of a kind."""
    async with World(*web(2), parent(), node()) as world:
        watches = world.app.watches
        row = watches.row(("Hvpa", NAMESPACE, "web"))
        assert row is not None
        for metadata in ({**row.data["metadata"], "name": ""}, {**row.data["metadata"], "uid": ""}):
            bare = keep_autoscaler("autoscaling.k8s.io/v1alpha1", "Hvpa", {**row.data, "metadata": metadata})
            assert requests_for(bare.autoscaler, bare, watches, owned_objects(watches)) == []
        assert len(requests_for(row.autoscaler, row, watches, owned_objects(watches))) == 2
        assert count_request(row.autoscaler, row, Scale(3, 3, ""), "") is None
        assert count_request(bare.autoscaler, bare, Scale(3, 3, ""), "7") is not None
        nameless = keep_autoscaler("autoscaling.k8s.io/v1alpha1", "Hvpa", {**row.data, "metadata": {}})
        assert count_request(nameless.autoscaler, nameless, Scale(3, 3, ""), "7") is None


async def test_the_own_count_and_the_status_are_written_in_one_reconcile():
    """The second write is for the version that the first made."""
    async with World(*web(2), parent(), node()) as world:
        with structlog.testing.capture_logs() as logs:
            await world.reconcile()
        assert [call.path.rsplit("/", 1)[1] for call in world.writes(HVPAS)] == ["status", "web"]
        assert world.at(f"{HVPAS}/web")["spec"]["replicas"] == 2
        assert world.status("Hvpa")["conditions"]
        assert not [each for each in logs if each["event"] == "refused"]


async def test_unneeded_children_are_deleted():
    """They are deleted with uid and version as preconditions; objects of others stay."""
    async with World(*web(2), parent(), vpa("Off", name="theirs"), node()) as world:
        await world.reconcile()
        there = world.at(f"{HVPAS}/web")
        there["metadata"]["annotations"] = {}
        world.put(there)
        await world.reconcile()
        deletes = [call for call in world.writes() if call.method == "DELETE"]
        assert [set(body(call)["preconditions"]) for call in deletes] == [{"uid", "resourceVersion"}] * 2
        assert [each["metadata"]["name"] for each in world.cluster.objects(VPAS)] == ["theirs"]
        assert world.cluster.objects(HPAS) == []


async def test_one_child_where_one_is_asked_for():
    """An Hvpa without an HPA has no child HPA."""
    async with World(*web(2), hvpa(annotations=OBJECTS), node()) as world:
        await world.reconcile()
        assert world.cluster.objects(HPAS) == []
        assert len(world.cluster.objects(VPAS)) == 1


async def test_the_own_count_is_kept_in_step():
    """The child HPA reads its count there; an unchanged count is not written."""
    async with World(*web(2), parent(), node()) as world:
        await world.reconcile()
        assert world.at(f"{HVPAS}/web")["spec"]["replicas"] == 2
        await world.reconcile()
        assert not [call for call in world.writes(HVPAS) if not call.path.endswith("/status")]
        world.scaled(3)
        await world.reconcile()
        assert world.at(f"{HVPAS}/web")["spec"]["replicas"] == 3


async def test_without_objects_nothing_of_it_is_written():
    """Hypot makes the recommendations itself then."""
    async with World(*web(2), hvpa(hpa=COUNTED), node()) as world:
        world.uses("500m")
        await world.reconcile()
        assert not world.writes(HPAS)
        assert not [call for call in world.writes(HVPAS) if not call.path.endswith("/status")]


@pytest.mark.parametrize(
    "more", [{"kinds": {"Hvpa": "observe"}}, {"opt_in": "label"}], ids=["observed", "not opted in"]
)
async def test_observing_creates_no_children(more):
    """Nothing is written but hypot's own state."""
    async with World(*web(2), parent(), node(), **more) as world:
        await world.reconcile()
        assert not world.writes(f"/{NAMESPACE}/")


async def test_an_hvpa_that_cannot_be_read_has_its_children_left():
    """It is unknown what they should be."""
    async with World(*web(2), parent(), node()) as world:
        await world.reconcile()
        there = world.at(f"{HVPAS}/web")
        there["spec"]["vpa"] = "all"
        there["spec"]["scalingIntervals"] = 7
        world.put(there)
        outcome = await world.outcome("Hvpa")
        assert outcome.decision.error_kind == "spec"
        assert not [call for call in world.writes() if call.method == "DELETE"]


async def test_what_the_children_say_is_decided_on():
    """The total of the HPA counts while its current replicas are those of the target."""
    async with World(*web(2), parent(), node()) as world:
        await world.reconcile()
        counter, sizer = world.at(f"{HPAS}/web"), world.at(f"{VPAS}/web")
        counter["status"] = {"currentReplicas": 2, "desiredReplicas": 4}
        sizer["status"] = advised(recommended(target=("1", "1Gi")), RecommendationProvided="True")
        world.put(counter)
        world.put(sizer)
        outcome = await world.outcome("Hvpa")
        assert outcome.decision.decided
        assert outcome.seen.count_advice.desired == 4
        (size,) = outcome.decision.desired_sizes
        assert outcome.decision.desired * size.requests["cpu"] >= 4000


@pytest.mark.parametrize(
    ("there", "asked", "same"),
    [
        ({"a": 1, "b": 2}, {"a": 1}, True),
        ({"a": 1}, {"a": 1, "b": 2}, False),
        ({"a": {"x": 1, "y": 2}}, {"a": {"y": 2}}, True),
        ([{"a": 1, "b": 2}], [{"a": 1}], True),
        ([1, 2], [1], False),
        (None, {"a": 1}, False),
        ({"a": None}, {"a": {}}, False),
        ("1", 1, False),
    ],
)
async def test_covers(there, asked, same):
    """Everything asked for is at its place; lists have as many entries."""
    assert covers(there, asked) is same
