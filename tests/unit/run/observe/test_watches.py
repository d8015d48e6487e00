"""What is watched: no more than the configuration needs and the cluster serves."""

import asyncio

import pytest
from structlog.testing import capture_logs

from fake_cluster import FakeCluster
from hypot.cluster.port import UnreachableError
from hypot.run.config import RunConfig
from hypot.run.observe.watches import PODS, ApiResource, Watches
from unit.policy.sizes_world import NAMESPACE, node
from unit.run.run_world import KINDS, WEB, World, all_kinds, web, wpa

pytestmark = pytest.mark.asyncio


def watched(**config):
    watches = Watches(FakeCluster(), RunConfig(**config))
    return {each.resource.plural for each in watches.all}


async def test_only_what_is_needed_is_watched():
    """Nodes are watched only where sizes matter, namespaces only where they opt in."""
    plain = watched(kinds=all_kinds(WatermarkPodAutoscaler="act"), opt_in="all")
    assert plain == {
        "pods",
        "watermarkpodautoscalers",
        "horizontalpodautoscalers",
        "deployments",
        "statefulsets",
        "replicationcontrollers",
        "replicasets",
        "datadogmonitors",
    }
    assert watched(kinds=all_kinds(WatermarkPodAutoscaler="act")) - plain == {"namespaces"}
    sized = watched(kinds=all_kinds(VerticalPodAutoscaler="recommend"))
    assert {"nodes", "limitranges", "daemonsets", "jobs", "cronjobs"} <= sized
    assert "verticalpodautoscalers" in watched(kinds=all_kinds(Hvpa="act"))


async def test_namespaces_are_watched_one_by_one():
    """Cluster-wide objects are watched cluster-wide."""
    watches = Watches(FakeCluster(), RunConfig(watch_namespaces=("a", "b")))
    assert [each.path for each in watches.pods.reflectors] == ["/api/v1/namespaces/a/pods", "/api/v1/namespaces/b/pods"]
    assert watches.nodes is not None
    assert [each.path for each in watches.nodes.reflectors] == ["/api/v1/nodes"]


async def test_the_capacity_is_that_of_all_nodes():
    """It is unknown if nodes are not watched, or if there are none."""
    async with World(node("n1", "16"), node("n2", "500m")) as world:
        assert world.app.watches.capacity == 16_500
    async with World() as world:
        assert world.app.watches.capacity is None
    async with World(node(), kinds=all_kinds(WatermarkPodAutoscaler="act")) as world:
        assert world.app.watches.capacity is None


async def test_what_is_not_listed_is_named():
    """The trouble is named, so that /readyz says why."""
    cluster = FakeCluster()
    watches = Watches(cluster, RunConfig(kinds=all_kinds(WatermarkPodAutoscaler="act"), opt_in="all"))
    assert "pods (not listed yet)" in watches.unready
    cluster.faults = lambda call: UnreachableError("no route") if call.path.endswith("/pods") else None
    task = asyncio.ensure_future(watches.run())
    for _ in range(100):
        await asyncio.sleep(0)
    assert watches.unready == "pods (no route)"
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_a_kind_that_is_not_served_is_no_reason_to_wait():
    """Clusters without Datadog have no monitors, and clusters without hypot's CRDs no such objects."""
    async with World(*web(1)) as world:
        assert world.app.watches.unready == ""
    absent = World(*web(1))
    absent.cluster.absent |= {"/apis/datadoghq.com/v1alpha1/datadogmonitors", "/apis/autoscaling.k8s.io/v1alpha1/hvpas"}
    async with absent as world:
        assert world.app.watches.unready == ""
        assert len(world.app.watches.autoscalers["Hvpa"]) == 0


@pytest.mark.looptime
async def test_a_missing_definition_and_its_arrival_are_reported_once():
    """Other kinds work, so hypot is ready; the log says why this kind does not."""
    absent = World(*web(1))
    absent.cluster.absent |= {"/apis/autoscaling.k8s.io/v1alpha1/hvpas", "/apis/datadoghq.com/v1alpha1/datadogmonitors"}
    with capture_logs() as logs:
        async with absent as world:
            await asyncio.sleep(100)
            assert world.app.watches.unready == ""
            world.cluster.absent.clear()
            await asyncio.sleep(100)
    reported = [each for each in logs if each["event"].startswith("definition")]
    todo = "hypot crds | kubectl apply --server-side -f -"
    assert reported == [
        {"event": "definition missing", "log_level": "warning", "kind": "Hvpa", "todo": todo},
        {"event": "definition arrived", "log_level": "info", "kind": "Hvpa"},
    ]


@pytest.mark.looptime
@pytest.mark.parametrize(("opt_in", "what"), [("label", "namespace"), ("all", "objects")])
async def test_a_missing_namespace_and_its_arrival_are_reported_once(opt_in, what):
    """A typo looks like a cluster without autoscalers; without the right to list namespaces the log names objects."""
    here, nope = ({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in (NAMESPACE, "nope"))
    with capture_logs() as logs:
        async with World(*web(1), here, opt_in=opt_in, watch_namespaces=(NAMESPACE, "nope")) as world:
            await asyncio.sleep(10)
            there = world.at(WEB)
            world.put(nope, {**there, "metadata": {"name": "web", "namespace": "nope"}})
            await asyncio.sleep(10)
    reported = [each for each in logs if each["event"].startswith(what)]
    assert [(each["event"], each["log_level"], each["namespace"]) for each in reported] == [
        (f"{what} missing", "warning", "nope"),
        (f"{what} arrived", "info", "nope"),
    ]
    assert "exist" in reported[0]["todo"] or "watchNamespaces" in reported[0]["todo"]


@pytest.mark.looptime
async def test_a_kind_that_is_switched_off_needs_no_definition():
    """An Hvpa watches VerticalPodAutoscalers as conflicts, and there may be none."""
    absent = World(*web(1))
    absent.cluster.absent |= {"/apis/autoscaling.k8s.io/v1/verticalpodautoscalers"}
    with capture_logs() as logs:
        async with absent:
            await asyncio.sleep(100)
    assert not [each for each in logs if each["event"].startswith("definition")]


async def test_rows_are_found():
    """They are found by kind and name; a kind that is not watched has no rows."""
    async with World(*web(2), wpa()) as world:
        watches = world.app.watches
        row = watches.row(("WatermarkPodAutoscaler", NAMESPACE, "web"))
        assert row is not None
        assert row.version == world.at(f"{KINDS['WatermarkPodAutoscaler']}/web")["metadata"]["resourceVersion"]
        assert watches.row(("WatermarkPodAutoscaler", NAMESPACE, "none")) is None
        assert watches.row(("Deployment", NAMESPACE, "web")) is None
        assert watches.workload("apps", "Deployment", (NAMESPACE, "web")) is not None
        assert watches.workload("extensions", "Deployment", (NAMESPACE, "web")) is None
        assert watches.watches("apps", "ReplicaSet") == ApiResource("apps/v1", "ReplicaSet", "replicasets")
        assert watches.watches("db.example", "Cell") is None
        assert len(watches.pods) == 2
        assert watches.age() < float("inf")


async def test_paths():
    """The core group has another root."""
    assert PODS.path() == "/api/v1/pods"
    assert ApiResource("apps/v1", "Deployment", "deployments").path("a") == "/apis/apps/v1/namespaces/a/deployments"
