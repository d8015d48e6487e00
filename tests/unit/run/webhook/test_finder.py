"""Which autoscaler sizes a pod that is about to be created."""

import pytest

from fake_cluster import FakeCluster
from hypot.policy.model.seen import Failure
from hypot.run.config import RunConfig
from hypot.run.observe.watches import Watches
from hypot.run.webhook.finder import Finder
from unit.policy.sizes_world import NAMESPACE, TARGET, hvpa, limit_range, made, owned, pod, vpa, workload
from unit.run.run_world import World, all_kinds, learner

pytestmark = pytest.mark.asyncio
BOTH = {"VerticalPodAutoscaler": "act"}
HASH = {"app": "web", "pod-template-hash": "7f"}


def finder(world):
    return Finder(world.app.watches, lambda: world.up)


def found(world, thing, namespace=NAMESPACE):
    autoscaler = finder(world).find(thing, namespace)
    return None if autoscaler is None else (autoscaler.KIND, autoscaler.name)


def replica_set(name="web-5d9c"):
    made_by = workload("ReplicaSet", 1, name=name)
    made_by["metadata"]["ownerReferences"] = owned("Deployment", "web")
    return made_by


async def test_through_the_replica_set_to_the_deployment():
    """Pods of Deployments have a ReplicaSet as owner."""
    async with World(replica_set(), vpa("Recreate"), kinds=BOTH) as world:
        assert found(world, pod()) == ("VerticalPodAutoscaler", "web")
        assert found(world, pod(), "elsewhere") is None


async def test_a_replica_set_that_the_watch_has_not_reported_yet():
    """The first pod may come before the watch event: the name of the ReplicaSet shows its Deployment."""
    async with World(vpa("Recreate"), kinds=BOTH) as world:
        assert found(world, pod(owner=owned("ReplicaSet", "web-7f"), labels=HASH)) == ("VerticalPodAutoscaler", "web")
        assert found(world, pod(owner=owned("ReplicaSet", "web-8"), labels=HASH)) is None
        assert found(world, pod(owner=owned("ReplicaSet", "web-7f"))) is None


async def test_straight_from_its_controller():
    """Pods of StatefulSets and DaemonSets are like this; a pod without an owner has no autoscaler."""
    target = {**TARGET, "kind": "StatefulSet"}
    async with World(vpa("Recreate", target=target), kinds=BOTH) as world:
        assert found(world, pod(owner=owned("StatefulSet", "web"))) == ("VerticalPodAutoscaler", "web")
        assert found(world, pod(owner=[])) is None
        assert found(world, {}) is None


async def test_the_group_of_the_owner_counts():
    """Its version does not; a kind of the same name in another group is another target."""
    target = {"apiVersion": "db.example/v9", "kind": "Cell", "name": "web"}
    async with World(vpa("Recreate", target=target), kinds=BOTH) as world:
        for version, expected in (("db.example/v1", ("VerticalPodAutoscaler", "web")), ("other.example/v1", None)):
            owner = [{**owned("Cell", "web")[0], "apiVersion": version}]
            assert found(world, pod(owner=owner)) == expected


async def test_through_the_job_to_the_cron_job():
    """Jobs are in another group than ReplicaSets."""
    job = made(
        "batch/v1", "Job", "web-1", {}, ownerReferences=[{**owned("CronJob", "web")[0], "apiVersion": "batch/v1"}]
    )
    target = {"apiVersion": "batch/v1", "kind": "CronJob", "name": "web"}
    async with World(job, vpa("Recreate", target=target), kinds=BOTH) as world:
        owner = [{**owned("Job", "web-1")[0], "apiVersion": "batch/v1"}]
        assert found(world, pod(owner=owner)) == ("VerticalPodAutoscaler", "web")


async def test_an_hvpa_comes_before_a_vpa():
    """The VPA of the same target only recommends to it."""
    async with World(replica_set(), vpa("Recreate"), hvpa(name="both"), kinds=BOTH) as world:
        assert found(world, pod()) == ("Hvpa", "both")


async def test_the_oldest_vpa_that_acts():
    """The rule is the same everywhere; a VPA that is Off sizes no pods."""
    things = [
        vpa("Off", name="off", creationTimestamp="2019-01-01T00:00:00Z"),
        vpa("Recreate", name="old", creationTimestamp="2020-01-01T00:00:00Z"),
        vpa("Recreate", name="young", creationTimestamp="2021-01-01T00:00:00Z"),
    ]
    async with World(replica_set(), *things, kinds=BOTH) as world:
        assert found(world, pod()) == ("VerticalPodAutoscaler", "old")


def updates(up, down):
    """The part of an Hvpa that says when it acts."""
    return {"scaleUp": {"updatePolicy": {"updateMode": up}}, "scaleDown": {"updatePolicy": {"updateMode": down}}}


OFF = updates("Off", "Off")
NIGHT = {"begin": "220000+0000", "end": "230000+0000"}


def aged(thing, year):
    thing["metadata"]["creationTimestamp"] = f"{year}-01-01T00:00:00Z"
    return thing


@pytest.mark.parametrize(
    ("spec", "sizer"),
    [
        (OFF, ("VerticalPodAutoscaler", "web")),
        (updates("Auto", "Off"), ("Hvpa", "both")),
        (updates("Off", "Auto"), ("Hvpa", "both")),
        ({**updates("Off", "MaintenanceWindow"), "maintenanceTimeWindow": NIGHT}, ("Hvpa", "both")),
        ({"scaleUp": "never", "scaleDown": OFF["scaleDown"]}, ("Hvpa", "both")),
    ],
    ids=["off", "up", "down", "at night", "unreadable"],
)
async def test_an_hvpa_that_is_off_sizes_no_pods(spec, sizer):
    """It must be off in both directions; then the VPA sizes new pods, as it sizes the others."""
    async with World(replica_set(), vpa("Recreate"), hvpa(name="both", **spec), kinds=BOTH) as world:
        assert found(world, pod()) == sizer


@pytest.mark.parametrize(
    ("mode", "axes", "sizer"),
    [
        ("Auto", "Both", "Autoscaler"),
        ("Auto", "Size", "Autoscaler"),
        ("Auto", "Replicas", "VerticalPodAutoscaler"),
        ("Off", "Both", "VerticalPodAutoscaler"),
    ],
)
async def test_an_autoscaler_that_sizes_no_pods(mode, axes, sizer):
    """One that only reports, or sets replicas alone, leaves them to others."""
    async with World(replica_set(), vpa("Recreate"), learner(mode, axes=axes), kinds=BOTH) as world:
        assert found(world, pod()) == (sizer, "web")


async def test_of_several_hvpas_the_oldest_that_acts():
    """The oldest that is neither off nor invalid counts, as in the rule for conflicts."""
    off, bad = aged(hvpa(name="off", **OFF), 2018), aged(hvpa(name="bad", scalingIntervals="many"), 2019)
    old, young = aged(hvpa(name="old"), 2020), aged(hvpa(name="young"), 2021)
    async with World(replica_set(), young, old, bad, off) as world:
        assert found(world, pod()) == ("Hvpa", "old")
    async with World(replica_set(), off) as world:
        assert found(world, pod()) is None
    async with World(replica_set(), bad, off) as world:
        assert found(world, pod()) == ("Hvpa", "bad")


@pytest.mark.parametrize("mode", ["observe", "recommend"])
async def test_observing_and_recommending_size_no_pods(mode):
    """New pods come up as written."""
    async with World(replica_set(), vpa("Recreate"), kinds=all_kinds(VerticalPodAutoscaler=mode)) as world:
        assert found(world, pod()) is None


async def test_namespaces_opt_in():
    """Without the label nothing is done to their pods."""
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    async with World(replica_set(), hvpa(), space, opt_in="label") as world:
        assert found(world, pod()) is None
        space["metadata"]["labels"] = {"hypot.dev/scaling": "enabled"}
        world.put(space)
        await world.settle()
        assert found(world, pod()) == ("Hvpa", "web")


async def test_unreadable_objects_do_not_stop_others():
    """Objects that passed an older schema may exist next to the others."""
    odd = [
        vpa(name="bad-0", spec={"targetRef": "web", "updatePolicy": "Auto"}),
        vpa(name="bad-1", updates={"updateMode": 3}, spec={"targetRef": {"kind": 1, "name": 2}}),
        hvpa(name="bad-2", targetRef=[]),
    ]
    async with World(replica_set(), *odd, vpa("Recreate"), kinds=BOTH) as world:
        assert found(world, pod()) == ("VerticalPodAutoscaler", "web")


async def test_an_index_is_good_for_a_second():
    """Pods come in bursts, and targets change seldom; the content of an object is always current."""
    async with World(replica_set()) as world:
        one = finder(world)
        assert one.find(pod(), NAMESPACE) is None
        world.put(hvpa())
        await world.settle()
        assert one.find(pod(), NAMESPACE) is None
        world.passes(1)
        assert one.find(pod(), NAMESPACE).status is None
        world.put(hvpa(status={"replicas": 3}))
        await world.settle()
        assert one.find(pod(), NAMESPACE).status == {"replicas": 3}
        world.cluster.remove(f"/apis/autoscaling.k8s.io/v1alpha1/namespaces/{NAMESPACE}/hvpas/web")
        await world.settle()
        assert one.find(pod(), NAMESPACE) is None


async def test_limit_ranges_of_a_namespace():
    """Those of other namespaces do not count; before the first list they are unknown."""
    async with World(limit_range(max={"cpu": "2"}), hvpa()) as world:
        ranges = finder(world).limit_ranges_of(NAMESPACE)
        assert not isinstance(ranges, Failure)
        assert len(ranges) == 1
        assert finder(world).limit_ranges_of("elsewhere") == ()
    unlisted = Finder(Watches(FakeCluster(), RunConfig()), lambda: 0.0)
    assert isinstance(unlisted.limit_ranges_of(NAMESPACE), Failure)
