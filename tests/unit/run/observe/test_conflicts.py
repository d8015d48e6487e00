"""Other controllers of the same workloads, found in watched objects."""

import pytest

from hypot.core.instant import show_time
from hypot.policy.hold import Hold
from hypot.policy.model.seen import Scale, Seen
from hypot.policy.observe.snapshot import read_autoscaler
from hypot.run.observe.conflicts import Writers, conflict_hold, counters, lease_hold, overruled, sizer, sizers
from hypot.run.observe.rows import keep_autoscaler
from unit.policy.sizes_world import NAMESPACE, TARGET, hvpa, made, vpa
from unit.run.run_world import NOW, hpa, wpa


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
def test_other_writers_of_the_status(managers, writer):
    """It counts if it is fresh, of another manager, and of the status."""
    assert Writers().fresh(KEY, row(wpa(), *managers), NOW) == writer


def test_a_writer_is_remembered_when_our_own_write_replaced_it():
    """A status that is written by force has one manager; the other controller may still be active."""
    writers = Writers()
    assert writers.fresh(KEY, row(wpa(), ("them", "status", NOW)), NOW) == "them"
    ours = row(wpa(), ("hypot", "status", NOW))
    assert [writers.fresh(KEY, ours, NOW + age) for age in (60, 119, 121)] == ["them", "them", ""]
    assert writers.fresh(KEY, row(wpa(), ("them", "status", NOW)), NOW) == "them"
    writers.forget([KEY])
    assert writers.fresh(KEY, ours, NOW) == ""


def seen(*conflicts):
    return Seen(NOW, Scale(1, 1, "app=web"), others=conflicts)


@pytest.mark.parametrize(("mode", "met"), [("Auto", "other"), ("Initial", "other"), ("Off", "")])
def test_other_sizers_of_the_same_pods(mode, met):
    """An Hvpa conflicts with a VPA that changes its pods, and not with a VPA that only recommends."""
    other = row(vpa(mode, name="other"))
    found = sizers([other])
    assert sizer(read_autoscaler(hvpa()), found) == met
    assert sizer(read_autoscaler(wpa()), found) == ""
    hold = conflict_hold("", (), met)
    assert (hold is not None and "VerticalPodAutoscaler other" in hold.message) == bool(met)


def test_other_counters_of_the_same_pods():
    """For an Hvpa any HPA counts, except the HPA that scales the Hvpa itself."""
    own = {"apiVersion": "autoscaling.k8s.io/v1alpha1", "kind": "Hvpa", "name": "web"}
    others = {(NAMESPACE, "advice"): row(hpa("advice", target=own)), (NAMESPACE, "theirs"): row(hpa("theirs"))}
    names = (f"{NAMESPACE}/advice", f"{NAMESPACE}/theirs", f"{NAMESPACE}/gone")
    assert counters(read_autoscaler(hvpa()), seen(*names), others) == names[1:]
    assert counters(read_autoscaler(wpa()), seen(*names), others) == names
    assert counters(read_autoscaler(hpa()), seen(*names), others) == ()


def test_other_sizers_are_not_counters():
    """The conflicts of a VPA are names of VPAs, which its own rules handle."""
    assert counters(read_autoscaler(vpa()), seen("older"), {}) == ()


OFF_BOTH_WAYS = {way: {"updatePolicy": {"updateMode": "Off"}} for way in ("scaleUp", "scaleDown")}
OTHER = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web"}


def aged(thing, days):
    """The same object, created so many days ago; None for an unknown age."""
    if days is not None:
        thing["metadata"]["creationTimestamp"] = show_time(NOW - days * 86_400)
    return thing


def given_way(*things, observed=(), hpas=()):
    """For each overruled autoscaler, the autoscaler that overrules it."""
    rows = {(each["kind"], NAMESPACE, each["metadata"]["name"]): row(each) for each in things}
    acting = {key: "observe" if key[2] in observed else "act" for key in rows}
    found = overruled(rows, acting, [row(each) for each in hpas])
    return {key[2]: message.split(" ")[1] for key, message in found.items()}


@pytest.mark.parametrize(
    ("things", "found"),
    [
        ([aged(wpa("a"), 1), aged(wpa("b"), 2)], {"a": "shop/b"}),
        ([aged(wpa("a"), 1), aged(hvpa(name="b"), 2)], {"a": "shop/b"}),
        ([aged(wpa("a"), 2), aged(hvpa(name="b"), 1)], {"b": "shop/a"}),
        ([aged(hvpa(name="c"), 1), aged(hvpa(name="b"), 2), aged(wpa("a"), 3)], {"b": "shop/a", "c": "shop/a"}),
        ([aged(wpa("a"), 1), aged(wpa("b"), 1)], {"b": "shop/a"}),
        ([aged(wpa("a"), 1), aged(hvpa(name="b"), 1)], {"a": "shop/b"}),
        ([wpa("a"), aged(wpa("b"), 1)], {"a": "shop/b"}),
        ([aged(wpa("a"), 1), aged(wpa("b", dryRun=True), 2)], {}),
        ([aged(wpa("a", dryRun=True), 1), aged(wpa("b", dryRun=True), 2)], {}),
        ([aged(wpa("a"), 1), aged(hvpa(name="b", **OFF_BOTH_WAYS), 2)], {}),
        ([aged(wpa("a"), 1), aged(wpa("b", target=OTHER), 2)], {}),
        ([aged(wpa("a"), 1), aged(wpa("b", target={**TARGET, "apiVersion": "apps/v1beta1"}), 2)], {"a": "shop/b"}),
        ([aged(wpa("a"), 1), aged(wpa("b", target={**TARGET, "apiVersion": "db.example/v1"}), 2)], {}),
        ([aged(wpa("a", target={}), 1), aged(wpa("b", target={}), 2)], {}),
        ([aged(wpa("a", target={}), 1), aged(wpa("b", target="web"), 2)], {}),
        ([vpa(name="a"), aged(wpa("b"), 1)], {}),
        ([], {}),
    ],
)
def test_of_several_that_scale_one_target_the_oldest_acts(things, found):
    """Ties go by kind and name; an autoscaler that writes nothing, or has no target, does not conflict."""
    assert given_way(*things) == found
    assert given_way(*reversed(things)) == found


def test_an_observed_object_is_not_a_conflict():
    """It writes nothing, whatever its age."""
    both = [aged(wpa("a"), 1), aged(wpa("b"), 2)]
    assert given_way(*both, observed="b") == given_way(*both, observed="a") == {}


def test_an_hpa_of_the_same_target_goes_first():
    """Another controller acts on it and ignores ages; this also holds where the target has no pods."""
    both = [aged(wpa("a"), 1), aged(wpa("b"), 2)]
    assert given_way(*both, hpas=[hpa("theirs")]) == {"a": "shop/theirs", "b": "shop/theirs"}
    assert given_way(*both, hpas=[hpa("theirs", target=OTHER)]) == {"a": "shop/b"}


@pytest.mark.parametrize(("annotations", "found"), [({}, {}), ({"hypot.dev/decide": "true"}, {"web": "shop/own"})])
def test_the_hpa_that_a_tortoise_edits_is_no_conflict(annotations, found):
    """Unless hypot decides the count: then nothing edits that HPA, and it is a second autoscaler."""
    spec = {"targetRefs": {"scaleTargetRef": TARGET, "horizontalPodAutoscalerName": "own"}}
    one = made("autoscaling.mercari.com/v1beta3", "Tortoise", "web", spec, annotations=annotations)
    assert given_way(one, hpas=[hpa("own")]) == found


def test_the_hold_names_the_conflict():
    """The message also says what to do."""
    assert conflict_hold("", ()) is None
    message = [conflict_hold("them", (f"{NAMESPACE}/theirs",)).message, conflict_hold("them", ()).message]
    assert "HorizontalPodAutoscaler shop/theirs" in message[0]
    assert "them writes" in message[1]
    assert all("remove one" in each or "stop" in each for each in message)
    assert conflict_hold("", (), "", "Hvpa shop/b is older") == Hold("Conflict", "Hvpa shop/b is older")


def test_a_lease_holds_scale_downs_only():
    """Another hypot is named first; the message says what to do."""
    assert lease_hold("") is None
    other, twin = lease_hold("a/b"), lease_hold("a/b", "b/hypot")
    assert [(hold.reason, hold.blocks) for hold in (other, twin)] == [("OtherLeader", "down")] * 2
    assert "the Lease a/b is running: no scale-down until it is stopped" in other.message
    assert "another hypot leads with the Lease b/hypot" in twin.message


def test_an_invalid_object_overrules_nothing():
    """An older object that can never act does not block others."""
    broken, good = wpa(name="broken", maxReplicas="many"), wpa(name="good")
    broken["metadata"]["creationTimestamp"] = "2020-01-01T00:00:00Z"
    rows = {("WatermarkPodAutoscaler", NAMESPACE, each["metadata"]["name"]): row(each) for each in (broken, good)}
    assert overruled(rows, dict.fromkeys(rows, "act"), ()) == {}
