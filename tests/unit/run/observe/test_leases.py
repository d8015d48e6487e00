"""The Leases of other controllers: which are believed, and for how long."""

import pytest
from structlog.testing import capture_logs

from fake_cluster import FakeCluster
from fake_objects import refusal
from hypot.cluster.lease import Record, microtime
from hypot.cluster.port import UnreachableError
from hypot.kinds.catalogue import controlled, names_of
from hypot.run.config import RunConfig
from hypot.run.observe.leases import ACTS_IN, LONGEST, LOOK_EVERY, SKEW, Leases, acts_in, sighted
from unit.run.run_world import NOW, all_kinds

KINDS = names_of(controlled())
LOCK = "watermarkpodautoscaler-lock"
IN_2099 = 4_070_908_800.0
DAY = 86_400.0


def lease(name, namespace="kube-system", holder="x", renewed=NOW, seconds=15, acts=None):
    metadata = {"name": name, "namespace": namespace, **({} if acts is None else {"annotations": {ACTS_IN: acts}})}
    spec = {"holderIdentity": holder, "leaseDurationSeconds": seconds}
    spec["renewTime"] = None if renewed is None else microtime(renewed)
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec}


def config(**given):
    return RunConfig(**{"kinds": all_kinds(WatermarkPodAutoscaler="act"), **given})


def renewed(at, holder="x", seconds=15):
    return Record("1", lease("any", holder=holder, renewed=at, seconds=seconds))


class TestHeld:
    """Whether a Lease is held now."""

    @pytest.mark.parametrize(
        ("holder", "ago", "seconds", "held"),
        [
            ("x", 0, 15, True),
            ("x", 14, 15, True),
            ("x", 15, 15, False),
            ("x", 59, 10**9, True),
            ("x", LONGEST, 10**9, False),
            ("x", 30, None, True),
            ("x", -SKEW, 15, True),
            ("x", -SKEW - 1, 15, False),
            ("x", NOW - IN_2099, 15, False),
            ("", 0, 15, False),
        ],
    )
    def test_the_first_time(self, holder, ago, seconds, held):
        """The renewTime counts for the duration, for at most a minute, and not if it is in the future."""
        seen = sighted(renewed(NOW - ago, holder, seconds), None, NOW, 500.0)
        assert seen.held(500.0) is held

    def test_never_renewed(self):
        """A Lease without a time, or with one that cannot be read, is not held."""
        for word in (None, "soon"):
            record = Record("1", {"spec": {"holderIdentity": "x", "renewTime": word}})
            assert not sighted(record, None, NOW, 0.0).held(0.0)

    @pytest.mark.parametrize("at", [IN_2099, NOW + DAY, NOW - DAY])
    def test_a_renewal_counts_from_when_it_is_seen(self, at):
        """The clock of the holder does not matter."""
        first = sighted(renewed(at), None, NOW, 0.0)
        assert not first.held(0.0)
        second = sighted(renewed(at + 1), first, NOW + 30, 30.0)
        assert (second.held(30.0), second.held(44.9), second.held(45.0)) == (True, True, False)

    @pytest.mark.parametrize("seconds", [61, 10**9])
    def test_a_long_duration_counts_for_a_minute(self, seconds):
        """It may not hold for ever."""
        first = sighted(renewed(NOW, seconds=seconds), None, NOW, 0.0)
        for boot in (30.0, 59.0, 60.0, 900.0):
            first = sighted(renewed(NOW, seconds=seconds), first, NOW + boot, boot)
            assert first.held(boot) is (boot < LONGEST)

    def test_another_holder_is_a_renewal(self):
        """And a release ends it at once."""
        first = sighted(renewed(NOW - DAY), None, NOW, 0.0)
        assert sighted(renewed(NOW - DAY, "y"), first, NOW, 0.0).held(0.0)
        assert not sighted(renewed(NOW, ""), first, NOW, 0.0).held(0.0)


@pytest.mark.asyncio
async def test_leases_are_read_twice_a_minute():
    """Only those of kinds that are acted on, by name, in the namespaces that are believed."""
    cluster = FakeCluster()
    cluster.put(lease(LOCK, "datadog"))
    cluster.put(lease("vpa-updater"))
    leases = Leases(cluster, config())
    await leases.look(NOW, 0.0)
    assert leases.fresh == {"WatermarkPodAutoscaler": f"datadog/{LOCK}"}
    spaces = ("hypot-system", "kube-system", "datadog")
    paths = {
        f"/apis/coordination.k8s.io/v1/namespaces/{space}/leases/{name}" for space in spaces for name in (LOCK, "hypot")
    }
    assert {call.path for call in cluster.calls} == paths - {
        "/apis/coordination.k8s.io/v1/namespaces/hypot-system/leases/hypot"
    }
    calls = len(cluster.calls)
    await leases.look(NOW, LOOK_EVERY - 1)
    assert len(cluster.calls) == calls


@pytest.mark.asyncio
@pytest.mark.parametrize("name", [LOCK, "vpa-updater", "hypot"])
async def test_the_lease_of_a_tenant_is_not_believed(name):
    """Whatever it says, and however often it is renewed; in a configured namespace the same Lease counts."""
    cluster = FakeCluster()
    kinds = all_kinds(WatermarkPodAutoscaler="act", VerticalPodAutoscaler="act")
    usual = {"kinds": kinds, "namespace": "zone"}
    plain, listed = (Leases(cluster, config(**usual, **given)) for given in ({}, {"lease_namespaces": ("shop",)}))
    for step in range(3):
        cluster.put(lease(name, "shop", renewed=NOW + 30 * step))
        await plain.look(NOW + 30 * step, 30.0 * step)
        await listed.look(NOW + 30 * step, 30.0 * step)
        assert (plain.fresh, plain.twin) == ({}, "")
        assert [*listed.fresh.values(), listed.twin].count(f"shop/{name}") == 1


@pytest.mark.asyncio
@pytest.mark.parametrize("name", [LOCK, "vpa-updater", "hypot"])
async def test_a_time_in_the_future_is_not_fresh(name):
    """Such a Lease counts only while it is seen to be renewed; the rule is the same for all."""
    cluster = FakeCluster()
    kinds = all_kinds(WatermarkPodAutoscaler="act", VerticalPodAutoscaler="act")
    leases = Leases(cluster, config(namespace="zone", kinds=kinds))
    cluster.put(lease(name, renewed=IN_2099))
    held = []
    for step in range(5):
        if step == 2:
            cluster.put(lease(name, renewed=IN_2099 + 1))
        await leases.look(NOW + 30 * step, 30.0 * step)
        held.append(bool(leases.fresh or leases.twin))
    assert held == [False, False, True, False, False]


@pytest.mark.asyncio
@pytest.mark.parametrize("then", [{"holder": ""}, {"renewed": NOW}, None], ids=["released", "not renewed", "deleted"])
async def test_a_lease_without_a_holder(then):
    """A Lease that was held before is forgotten."""
    cluster = FakeCluster()
    cluster.put(lease(LOCK))
    leases = Leases(cluster, config())
    await leases.look(NOW, 0.0)
    assert leases.fresh
    if then is None:
        cluster.remove(f"/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/{LOCK}")
    else:
        cluster.put(lease(LOCK, **then))
    await leases.look(NOW + 30, 30.0)
    assert leases.fresh == {}


@pytest.mark.asyncio
@pytest.mark.parametrize("fault", [refusal(403, "no"), UnreachableError("no")], ids=["refused", "unreachable"])
async def test_what_cannot_be_read_is_as_it_was(fault):
    """A Lease that cannot be read is not taken for expired."""
    cluster = FakeCluster()
    cluster.put(lease(LOCK))
    leases = Leases(cluster, config())
    await leases.look(NOW, 0.0)
    cluster.faults = lambda _: fault
    await leases.look(NOW + 600, 600.0)
    assert leases.fresh


@pytest.mark.asyncio
async def test_another_hypot_is_found_by_its_lease():
    """It may be in any believed namespace but our own, while an acting hypot renews it."""
    cluster = FakeCluster()
    leases = Leases(cluster, config(namespace="zone", lease_namespaces=("trial", "tools")))
    cluster.put(lease("hypot", "zone"))
    cluster.put(lease("hypot", "trial", acts=""))
    await leases.look(NOW, 0.0)
    assert leases.twin == ""
    cluster.put(lease("hypot", "tools", renewed=NOW + 60))
    await leases.look(NOW + 60, 60.0)
    assert leases.twin == "tools/hypot"
    cluster.faults = lambda _: refusal(403, "no")
    await leases.look(NOW + 600, 660.0)
    assert leases.twin == "tools/hypot"
    cluster.faults = lambda _: None
    await leases.look(NOW + 660, 720.0)
    assert leases.twin == ""


@pytest.mark.asyncio
async def test_an_observing_hypot_looks_for_no_other_hypot():
    """It is not a conflict for others either: its Lease says so."""
    quiet = RunConfig(kinds=dict.fromkeys(KINDS, "observe"))
    assert acts_in(RunConfig()) == "*"
    assert acts_in(RunConfig(dry_run=True)) == acts_in(quiet) == ""
    assert acts_in(RunConfig(watch_namespaces=("shop", "blog"))) == "blog,shop"
    cluster = FakeCluster()
    await Leases(cluster, quiet).look(NOW, 0.0)
    assert cluster.calls == []


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("ours", "theirs", "met"),
    [
        ("", "*", True),
        ("", "shop", True),
        ("shop", "*", True),
        ("shop", "", False),
        ("blog,shop", "shop", True),
        ("blog", "shop", False),
    ],
)
async def test_two_that_act_in_different_namespaces_do_not_conflict(ours, theirs, met):
    """They conflict as soon as they share one namespace."""
    cluster = FakeCluster()
    cluster.put(lease("hypot", "kube-system", acts=theirs))
    leases = Leases(cluster, config(namespace="zone", watch_namespaces=tuple(filter(None, ours.split(",")))))
    await leases.look(NOW, 0.0)
    assert bool(leases.twin) is met


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("ours", "theirs", "holds"),
    [
        ("hypot-system", "alpha", False),
        ("alpha", "hypot-system", True),
        ("alpha", "beta", False),
        ("beta", "alpha", True),
    ],
)
async def test_of_two_that_overlap_one_holds_and_both_say_so(ours, theirs, holds):
    """The installation in the usual namespace goes first, else the names decide; so there is always exactly one."""
    cluster = FakeCluster()
    leases = Leases(cluster, config(namespace=ours, lease_namespaces=(theirs,)))
    with capture_logs() as logged:
        for step in range(3):
            cluster.put(lease("hypot", theirs, acts="*", renewed=NOW + 30 * step))
            await leases.look(NOW + 30 * step, 30.0 * step)
            assert bool(leases.twin) is holds
        cluster.put(lease("hypot", theirs, acts="", renewed=NOW + 90))
        await leases.look(NOW + 90, 90.0)
        assert not leases.twin
    assert [(line["event"], line.get("scales_down")) for line in logged] == [
        ("another hypot acts here too", theirs if holds else ours),
        ("no other hypot acts here any more", None),
    ]
