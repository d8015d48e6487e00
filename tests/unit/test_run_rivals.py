"""Who else moves the same workloads, told from what is watched and from Leases."""

import pytest

from hypot.cluster.fake import FakeCluster
from hypot.cluster.fake_objects import refusal
from hypot.cluster.port import UnreachableError
from hypot.policy.decision import show_time
from hypot.policy.seen import Scale, Seen
from hypot.policy.snapshot import read_autoscaler
from hypot.run.rivals import LOOK_EVERY, Leases, Writers, counters, rival_hold, sizer, sizers
from hypot.run.rows import keep_autoscaler
from unit.run_world import NOW, hpa, wpa
from unit.sizes_world import NAMESPACE, hvpa, vpa


def row(thing, *managers):
    fields = [{"manager": name, "subresource": part, "time": show_time(at)} for name, part, at in managers]
    thing["metadata"]["managedFields"] = fields
    return keep_autoscaler(thing["apiVersion"], thing["kind"], thing)


KEY = ("WatermarkPodAutoscaler", "shop", "web")


@pytest.mark.parametrize(
    ("managers", "writer"),
    [
        ([("them", "status", NOW - 119)], "them"),
        ([("them", "status", NOW - 121)], ""),
        ([("them", "status", NOW + 10)], "them"),
        ([("them", "", NOW)], ""),
        ([("hypot", "status", NOW)], ""),
        ([("hypot", "status", NOW), ("them", "status", NOW)], "them"),
        ([], ""),
    ],
)
def test_who_writes_the_status(managers, writer):
    """Fresh, somebody else, and the status itself."""
    assert Writers().fresh(KEY, row(wpa(), *managers), NOW) == writer


def test_a_writer_is_remembered_when_our_own_words_took_its_name_away():
    """A status that is written by force has one author; the other may still be at work."""
    writers = Writers()
    assert writers.fresh(KEY, row(wpa(), ("them", "status", NOW)), NOW) == "them"
    ours = row(wpa(), ("hypot", "status", NOW))
    assert [writers.fresh(KEY, ours, NOW + age) for age in (60, 119, 121)] == ["them", "them", ""]
    assert writers.fresh(KEY, row(wpa(), ("them", "status", NOW)), NOW) == "them"
    writers.forget([KEY])
    assert writers.fresh(KEY, ours, NOW) == ""


def seen(*rivals):
    return Seen(NOW, Scale(1, 1, "app=web"), rivals=rivals)


@pytest.mark.parametrize(("mode", "met"), [("Auto", "other"), ("Initial", "other"), ("Off", "")])
def test_who_sizes_the_same_pods(mode, met):
    """An Hvpa meets a VPA that changes its pods, and not one that only advises."""
    other = row(vpa(mode, name="other"))
    found = sizers([other])
    assert sizer(read_autoscaler(hvpa()), found) == met
    assert sizer(read_autoscaler(wpa()), found) == ""
    hold = rival_hold("", "", (), met)
    assert (hold is not None and "VerticalPodAutoscaler other" in hold.words) == bool(met)


def test_who_counts_the_same_pods():
    """For an Hvpa not the HPA that scales the Hvpa itself, but any other."""
    own = {"apiVersion": "autoscaling.k8s.io/v1alpha1", "kind": "Hvpa", "name": "web"}
    others = {(NAMESPACE, "advice"): row(hpa("advice", target=own)), (NAMESPACE, "theirs"): row(hpa("theirs"))}
    names = (f"{NAMESPACE}/advice", f"{NAMESPACE}/theirs", f"{NAMESPACE}/gone")
    assert counters(read_autoscaler(hvpa()), seen(*names), others) == names[1:]
    assert counters(read_autoscaler(wpa()), seen(*names), others) == names
    assert counters(read_autoscaler(hpa()), seen(*names), others) == ()


def test_other_sizers_are_no_counters():
    """A VPA's rivals are VPAs by name, of which its own rules speak."""
    assert counters(read_autoscaler(vpa()), seen("older"), {}) == ()


def test_the_hold_names_whom_was_met():
    """And says what to do."""
    assert rival_hold("", "", ()) is None
    words = [
        rival_hold("them", "a/b", (f"{NAMESPACE}/theirs",)).words,
        rival_hold("them", "a/b", ()).words,
        rival_hold("", "a/b", ()).words,
    ]
    assert "HorizontalPodAutoscaler shop/theirs" in words[0]
    assert "them writes" in words[1]
    assert "Lease a/b" in words[2]
    assert all("remove one" in each or "stop" in each for each in words)


def lease(name, namespace="kube-system", holder="x", renewed=NOW):
    spec = {"holderIdentity": holder, "renewTime": show_time(renewed) if renewed else None}
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec}


@pytest.mark.asyncio
async def test_leases_are_looked_for_once_a_minute():
    """Of the kinds that are acted on, whatever namespace they are in."""
    cluster = FakeCluster()
    cluster.put(lease("watermarkpodautoscaler-lock", "datadog"))
    cluster.put(lease("vpa-updater"))
    leases = Leases(cluster, ["WatermarkPodAutoscaler", "Hvpa"])
    await leases.look(NOW, 0.0)
    assert leases.fresh == {"WatermarkPodAutoscaler": "datadog/watermarkpodautoscaler-lock"}
    calls = len(cluster.calls)
    await leases.look(NOW, LOOK_EVERY - 1)
    assert len(cluster.calls) == calls


@pytest.mark.asyncio
@pytest.mark.parametrize(("holder", "renewed"), [("", NOW), ("x", NOW - 121), ("x", None)])
async def test_a_lease_without_anybody_behind_it(holder, renewed):
    """Given back, expired, or never held; one that was fresh before is forgotten."""
    cluster = FakeCluster()
    cluster.put(lease("watermarkpodautoscaler-lock"))
    leases = Leases(cluster, ["WatermarkPodAutoscaler"])
    await leases.look(NOW, 0.0)
    assert leases.fresh
    cluster.put(lease("watermarkpodautoscaler-lock", holder=holder, renewed=renewed))
    await leases.look(NOW, 60.0)
    assert leases.fresh == {}


@pytest.mark.asyncio
@pytest.mark.parametrize("fault", [refusal(403, "no"), UnreachableError("no")], ids=["refused", "unreachable"])
async def test_what_cannot_be_read_is_as_it_was(fault):
    """Not to know is no reason to begin."""
    cluster = FakeCluster()
    cluster.put(lease("watermarkpodautoscaler-lock"))
    leases = Leases(cluster, ["WatermarkPodAutoscaler"])
    await leases.look(NOW, 0.0)
    cluster.faults = lambda _: fault
    await leases.look(NOW + 600, 600.0)
    assert leases.fresh
