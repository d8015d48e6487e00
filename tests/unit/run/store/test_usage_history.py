"""Live usage: samples and kills of pods become histograms, expire, and survive a restart."""

import asyncio
import struct
from base64 import b64encode
from dataclasses import replace
from math import inf, nan

import msgspec
import pytest

from hypot.kinds.hvpa import Hvpa
from hypot.kinds.vpa import VPA
from hypot.kinds.vpa.fields import ContainerPolicy
from hypot.kinds.vpa.knobs import MIB, Knobs
from hypot.policy.model.seen import Container, Ended, Eviction, Pod, PodSample, Scale, Seen
from hypot.policy.model.settings import Settings
from hypot.run.store import usage_text
from hypot.run.store.shard_text import pack, unpack
from hypot.run.store.usage_history import Observed, UsageHistory, entry_key, key_of
from unit.policy.hvpa.hvpa_cases import seed

# Else the first asynchronous test opens a loop next to its own, and never closes it.
asyncio.set_event_loop(None)

pytestmark = pytest.mark.asyncio

START, HOUR, DAY = 1_700_000_000.0, 3600.0, 86400.0
SETTINGS = Settings()
WEB = VPA("Deployment/web", namespace="shop")
KEY = ("VerticalPodAutoscaler", "shop", "web")
GB = 10**9


def pod(name="web-1", container="app", memory=GB, **how):
    ended = how.pop("ended", None)
    held = (Container(container, {"memory": memory * 1000}, ended=ended),)
    return Pod(name, containers=held, uid=how.pop("uid", f"uid-{name}"), **how)


def sample(at, cpu=1000, memory=GB, container="app"):
    amounts = {"cpu": cpu, "memory": None if memory is None else memory * 1000}
    return PodSample(at, 15.0, ((container, {name: value for name, value in amounts.items() if value is not None}),))


async def seen_for(history, hours, start=START, key=KEY, pods=None, **used):
    """Feed a sample of each pod every hour."""
    pods = pods or [pod()]
    for hour in range(hours):
        at = start + hour * HOUR
        samples = {("shop", one.name): sample(at, **used) for one in pods}
        await history.observe(samples, {key: pods}, at)


def followed(*autoscalers, containers=("app",)):
    history = UsageHistory(SETTINGS)
    for autoscaler in autoscalers or (WEB,):
        history.declare(autoscaler, containers, START)
    return history


def target(history, key=KEY, container="app"):
    view = history.view(key)
    return {} if view is None else dict(view.estimate(SETTINGS.vpa, [container], {})[0].target)


async def test_sizes_come_of_samples():
    """Milli-units in, millicores and bytes out; nothing is known before the first sample."""
    history = followed()
    assert history.view(KEY) is None
    await seen_for(history, 3, cpu=700)
    sizes = target(history)
    assert 700 * 1.15 < sizes["cpu"] < 700 * 1.15 * 1.06
    assert GB * 1.15 < sizes["memory"] < GB * 1.15 * 1.06
    seen = Seen(START, Scale(1, 1, ""))
    view, notes = history.usage(WEB, seen, SETTINGS)
    assert notes == ()
    assert view.containers() == ("app",)


async def test_a_sample_counts_once():
    """It counts once however often it is shown; another time makes it another sample."""
    history = followed()
    samples = {("shop", "web-1"): sample(START)}
    assert await history.observe(samples, {KEY: [pod()]}, START) == Observed(1)
    assert await history.observe(samples, {KEY: [pod()]}, START + 15) == Observed(0)
    assert await history.observe({("shop", "web-1"): sample(START + 15)}, {KEY: [pod()]}, START + 15) == Observed(1)


async def test_pods_of_many_autoscalers_in_slices():
    """No pod is left out where a slice ends, and two autoscalers may size one pod."""
    twin = VPA("Deployment/web", namespace="shop", name="twin", mode="Off")
    history = followed(WEB, twin)
    pods = [pod(f"web-{number}") for number in range(2000)]
    samples = {("shop", one.name): sample(START) for one in pods}
    both = {KEY: pods, key_of(twin): pods}
    for at in (START, START + 60):
        samples = {("shop", one.name): sample(at) for one in pods}
        assert await history.observe(samples, both, at) == Observed(4000)
    assert target(history) == target(history, key_of(twin))


@pytest.mark.parametrize("restarts", [False, True])
async def test_a_clock_that_was_set_back(restarts):
    """Measurements from the future do not shut out present ones, also after a restart."""
    history = followed()
    await seen_for(history, 1, START + 9 * HOUR)
    if restarts:
        kept = unpack(pack(await history.entries(START + 9 * HOUR)))
        history = followed(containers=())
        await history.resume(KEY, kept[entry_key(KEY)], START)
    before = target(history)
    await seen_for(history, 5, cpu=4000, memory=4 * GB)
    assert all(target(history)[resource] > before[resource] for resource in ("cpu", "memory"))


async def test_what_is_not_followed_is_left_out():
    """Other containers, other namespaces, finished pods, and autoscalers that were not declared."""
    history = followed()
    pods = [pod(), pod("done", phase="Succeeded"), pod("going", deleted=True), pod("proxy-1", container="proxy")]
    samples = {("shop", one.name): sample(START, container=one.containers[0].name) for one in pods}
    samples["other", "web-1"] = sample(START)
    assert await history.observe(samples, {KEY: pods, ("Hvpa", "shop", "x"): pods}, START) == Observed(1)
    history.declare(WEB, ["proxy"], START)
    samples = {("shop", one.name): sample(START + 1, container=one.containers[0].name) for one in pods}
    assert await history.observe(samples, {KEY: pods}, START + 1) == Observed(2)


@pytest.mark.parametrize("at", [0.0, START - 2 * DAY])
async def test_times_that_cannot_be_right(at):
    """One sample without a time would make all others seem recent."""
    history = followed()
    seen = await history.observe({("shop", "web-1"): sample(at)}, {KEY: [pod()]}, START)
    assert seen == Observed()
    assert history.view(KEY) is None


async def test_a_sample_slightly_ahead_counts_as_of_now():
    """The local clock is behind; otherwise no later sample would be new, and this one would outweigh all."""
    ahead, right = followed(), followed()
    for reconcile in range(10):
        at = START + 15.0 * reconcile
        assert await ahead.observe({("shop", "web-1"): sample(at + 120)}, {KEY: [pod()]}, at) == Observed(1)
        await right.observe({("shop", "web-1"): sample(at)}, {KEY: [pod()]}, at)
    assert target(ahead) == target(right)
    # The measuring clock is right again: the next sample is new.
    at = START + 150.0
    assert await ahead.observe({("shop", "web-1"): sample(at)}, {KEY: [pod()]}, at) == Observed(1)
    assert await ahead.observe({("shop", "web-1"): sample(at - 10)}, {KEY: [pod()]}, at + 5) == Observed()


async def test_what_was_not_measured_is_not_zero():
    """A missing resource leaves its histogram alone."""
    history = followed()
    await seen_for(history, 2, memory=None)
    assert set(target(history)) == {"cpu"}


# OOM kills.


async def test_a_kill_asks_for_more_once():
    """It is shown until the container ends again, but counts only in the first reconcile."""
    history = followed()
    await seen_for(history, 1, memory=300 * MIB)
    before = target(history)["memory"]
    killed = pod(memory=800 * MIB, ended=Ended("OOMKilled", START, START + 60))
    assert await history.observe({}, {KEY: [killed]}, START + 61) == Observed(ooms=1)
    after = target(history)["memory"]
    assert after >= 1.2 * 800 * MIB > before
    larger = pod(memory=1200 * MIB, ended=killed.containers[0].ended)
    assert await history.observe({}, {KEY: [larger]}, START + 75) == Observed()
    assert target(history)["memory"] == after
    again = pod(memory=1200 * MIB, ended=Ended("OOMKilled", START + 61, START + 90))
    assert await history.observe({}, {KEY: [again]}, START + 91) == Observed(ooms=1)
    assert target(history)["memory"] >= 1.2 * 1200 * MIB


async def test_a_kill_after_the_clock_of_its_node_was_set_back():
    """It counts although an earlier kill has a later time; neither counts again."""
    history = followed()
    ahead, now = (pod(ended=Ended("OOMKilled", at - 30, at)) for at in (START + 9 * HOUR, START + 60))
    for shown, news in ((ahead, 1), (ahead, 0), (now, 1), (now, 0)):
        assert await history.observe({}, {KEY: [shown]}, START + 61) == Observed(ooms=news)


@pytest.mark.parametrize("ended", [Ended("Error", START, START + 1), Ended("OOMKilled", START, None)])
async def test_other_ends(ended):
    """They say nothing about memory; nor does a kill without a time."""
    history = followed()
    await seen_for(history, 1)
    before = target(history)
    assert await history.observe({}, {KEY: [pod(ended=ended)]}, START + 61) == Observed()
    assert target(history) == before


def put_out(at=START + 60, used=900 * MIB, container="app", **how):
    reported = {container: None if used is None else used * 1000}
    return pod(phase="Failed", reason="Evicted", eviction=Eviction(at, reported), **how)


async def test_a_pod_that_was_evicted_for_memory():
    """The usage that the kubelet reports counts as too small a size, in the first reconcile that shows it."""
    history = followed()
    await seen_for(history, 1, memory=300 * MIB)
    assert await history.observe({}, {KEY: [pod("web-2"), put_out()]}, START + 61) == Observed(ooms=1)
    after = target(history)["memory"]
    assert after >= 1.2 * 900 * MIB
    assert await history.observe({}, {KEY: [pod("web-2"), put_out()]}, START + 75) == Observed()
    assert target(history)["memory"] == after


async def test_a_pod_that_was_evicted_before_the_first_look():
    """It still counts; without a reported usage its request is used, and each pod counts by itself."""
    history = followed()
    pods = [put_out(used=None, memory=800 * MIB, name=name) for name in ("web-1", "web-2")]
    assert await history.observe({}, {KEY: pods}, START + 61) == Observed(ooms=2)
    assert 1.5 * 1200 * MIB > target(history)["memory"] >= 1.2 * 800 * MIB
    await history.retain({one.uid for one in pods})
    assert await history.observe({}, {KEY: pods}, START + 75) == Observed()


async def test_a_container_that_did_not_cause_the_eviction():
    """Another container used too much; the earlier kill of this one was not observed."""
    history = followed(containers=("app", "proxy"))
    killed = Ended("OOMKilled", START, START + 30)
    assert await history.observe({}, {KEY: [put_out(container="proxy", ended=killed)]}, START + 61) == Observed()
    assert history.view(KEY) is None


async def test_a_kill_and_then_the_eviction():
    """They count as two, also with a restart in between; neither counts again."""
    history = followed()
    killed = Ended("OOMKilled", START, START + 30)
    assert await history.observe({}, {KEY: [pod(ended=killed)]}, START + 31) == Observed(ooms=1)
    kept = unpack(pack(await history.entries(START + 31)))
    later = followed(containers=())
    assert await later.resume(KEY, kept[entry_key(KEY)], START + 31) == []
    assert await later.observe({}, {KEY: [put_out(ended=killed)]}, START + 61) == Observed(ooms=1)
    kept = unpack(pack(await later.entries(START + 61)))
    last = followed(containers=())
    assert await last.resume(KEY, kept[entry_key(KEY)], START + 61) == []
    assert await last.observe({}, {KEY: [put_out(ended=killed)]}, START + 75) == Observed()
    assert target(last) == target(later)


# Knobs.


async def test_each_object_has_its_own_knobs():
    """They come from its annotations and container policies, for a VPA as for an Hvpa; changes apply at once."""
    eager = VPA(
        "Deployment/web",
        namespace="shop",
        annotations={"hypot.dev/cpu-half-life": "60s"},
        containers=[ContainerPolicy("app", oom_bump_up_ratio="3")],
    )
    history = followed(eager)
    row = history._usage.aggregate(KEY, "app")
    assert history._usage.knobs(row) == replace(Knobs(), cpu_half_life=60.0, oom_bump_up_ratio=3.0)
    history.declare(WEB, [], START)
    assert history._usage.knobs(row) == Knobs()
    hvpa = Hvpa.from_dict(seed())
    key = history.declare(hvpa, ["app"], START)
    assert key == ("Hvpa", hvpa.namespace, hvpa.name)
    assert history.view(key) is None


# Forgetting.


async def test_pods_that_are_gone():
    """Their usage stays known, and a new pod in their place starts without state."""
    history = followed()
    pods = [pod(f"web-{number}") for number in range(600)]
    await seen_for(history, 2, pods=pods)
    before = target(history)
    await history.retain({"uid-web-1"})
    assert target(history) == before
    assert list(history._usage._pods) == ["uid-web-1"]
    await seen_for(history, 1, START + DAY, pods=[pod("new"), pod("web-1")], memory=4 * GB)
    assert sorted(history._usage._pods) == ["uid-new", "uid-web-1"]


async def test_an_autoscaler_that_is_gone():
    """It is forgotten, and its rows are reused."""
    history = followed()
    await seen_for(history, 2)
    history.forget(KEY)
    history.forget(KEY)
    assert history.view(KEY) is None
    assert history.owners() == ()
    assert await history.entries(START) == {}
    other = VPA("Deployment/api", namespace="shop")
    history.declare(other, ["app"], START)
    assert history.view(key_of(other)) is None


async def test_containers_that_were_not_seen_for_long():
    """They are forgotten after eight days, and start again if they come back."""
    history = followed(containers=("app", "old"))
    both = pod(), pod("old-1", container="old")
    samples = {("shop", one.name): sample(START, container=one.containers[0].name) for one in both}
    await history.observe(samples, {KEY: both}, START)
    late = START + 9 * DAY
    await history.observe({("shop", "web-1"): sample(late)}, {KEY: both}, late)
    assert history.expire(late) == ((KEY, "old"),)
    assert history.expire(late + 60) == ()
    assert history.sampled() == {(KEY, "app"): late}
    assert set(usage_text.read((await history.entries(late))[entry_key(KEY)]).rows) == {"app"}
    history.declare(WEB, ("app", "old"), late)
    fresh = {("shop", "old-1"): sample(late + 60, cpu=50, container="old")}
    assert await history.observe(fresh, {KEY: both}, late + 60) == Observed(1)
    assert target(history, container="old")["cpu"] < 100


# Over a restart.


async def test_what_did_not_change_is_the_same_object():
    """So the writer does not need to encode it again."""
    other = VPA("Deployment/api", namespace="shop")
    history = followed(WEB, other)
    assert await history.entries(START) == {}
    await seen_for(history, 1)
    await seen_for(history, 1, key=key_of(other))
    first = await history.entries(START)
    assert set(first) == {"usage/VerticalPodAutoscaler/shop/web", "usage/VerticalPodAutoscaler/shop/api"}
    await seen_for(history, 1, START + HOUR)
    second = await history.entries(START + HOUR)
    assert second[entry_key(key_of(other))] is first[entry_key(key_of(other))]
    assert second[entry_key(KEY)] is not first[entry_key(KEY)]
    assert usage_text.read(second[entry_key(KEY)]).at == START + HOUR


async def test_only_what_is_new_or_due_is_encoded(monkeypatch):
    """The others keep their last entry; many are encoded in several parts."""
    monkeypatch.setattr("hypot.run.store.usage_history.ENCODED_AT_ONCE", 2)
    vpas = [VPA(f"Deployment/web-{number}", namespace="shop") for number in range(5)]
    history = followed(*vpas)
    due = {entry_key(key_of(vpa)) for vpa in vpas[:3]}
    for at in (START, START + 15):
        await history.observe({("shop", "web-1"): sample(at)}, {key_of(vpa): [pod()] for vpa in vpas}, at)
        entries = await history.entries(at, due.__contains__)
    times = {name: usage_text.read(entry).at for name, entry in entries.items()}
    assert times == {entry_key(key_of(vpa)): START + (15 if vpa in vpas[:3] else 0) for vpa in vpas}


async def test_a_restart_continues_exactly():
    """Peaks of open windows, counted kills and counted samples are included."""
    history = followed()
    await seen_for(history, 30, memory=3 * GB)
    killed = pod(ended=Ended("OOMKilled", START, START + 30 * HOUR))
    await history.observe({}, {KEY: [killed]}, START + 30 * HOUR)
    now = START + 31 * HOUR
    kept = unpack(pack(await history.entries(now)))
    later = followed(containers=())
    assert await later.resume(KEY, kept[entry_key(KEY)], now) == []
    last = {("shop", "web-1"): sample(START + 29 * HOUR)}
    assert (await later.observe(last, {KEY: [killed]}, now)).ooms == 0
    for each in (history, later):
        await seen_for(each, 40, now, memory=GB)
    assert target(later) == target(history)
    assert later.status((KEY, "app"), now) == history.status((KEY, "app"), now)
    assert later.sampled() == history.sampled()


async def test_the_peak_of_a_pod_that_went_during_downtime():
    """It stays known, although its window was open."""
    history = followed()
    await seen_for(history, 1, memory=8 * GB)
    kept = await history.entries(START)
    later = followed()
    await later.resume(KEY, kept[entry_key(KEY)], START)
    await later.retain(set())
    assert target(later)["memory"] == target(history)["memory"] > 8 * GB


async def test_another_half_life_after_a_restart():
    """It applies from the time of writing, as if it had been changed then."""
    history = followed()
    await seen_for(history, 30)
    now = START + 30 * HOUR
    kept = await history.entries(now)
    numeric = VPA("Deployment/web", namespace="shop", annotations={"hypot.dev/cpu-half-life": "1h"})
    later = followed(numeric)
    assert await later.resume(KEY, kept[entry_key(KEY)], now + 60) == []
    history.declare(numeric, [], now)
    for each in (history, later):
        await seen_for(each, 5, now, cpu=200)
    assert target(later) == target(history)


async def saved_by_version_1():
    """The data of both containers, as version 1 wrote it."""
    weights = b64encode(struct.pack("<2d", 1.5, 3.0)).decode()
    histogram = {"first": 20, "weights": weights, "total": 4.5, "reference": START, "halfLife": DAY}
    row = {"cpu": histogram, "memory": histogram, "created": START, "first": START, "last": START, "samples": 3}
    windows = {"uid-web-1": {"app": [START, START, START + DAY, 1e9, 0.0, None]}}
    return {"seen": {"at": START}, "containers": {"app": row, "proxy": row}, "pods": windows}


async def test_an_entry_of_version_1_that_cannot_be_read():
    """The wrong part is left out and reported, and nothing is half read."""
    good = await saved_by_version_1()
    history = followed(containers=("app", "proxy"))
    assert await history.resume(KEY, good, START) == []
    app = good["containers"]["app"]
    for change in (
        {"cpu": None},
        {"cpu": {**app["cpu"], "weights": "AAAA"}},
        {"cpu": {**app["cpu"], "weights": "!"}},
        {"cpu": {**app["cpu"], "weights": "AAAAAAAA+P8="}},
        {"memory": {**app["memory"], "first": 176}},
        {"memory": {**app["memory"], "first": True}},
        {"memory": {**app["memory"], "total": -1}},
        {"memory": {**app["memory"], "reference": "soon"}},
        {"memory": {**app["memory"], "halfLife": 0}},
        {"samples": -1},
        {"first": "early"},
    ):
        later = followed()
        entry = {**good, "containers": {**good["containers"], "app": {**app, **change}}}
        (note,) = await later.resume(KEY, entry, START)
        assert note.startswith("the saved usage of container app of VerticalPodAutoscaler/shop/web is ignored: ")
        assert not later.knows((KEY, "app"))
        assert target(later, container="proxy") == target(history, container="proxy")
    later = followed()
    odd = {"uid-web-1": {"app": [1, 2], "other": []}, "uid-x": None, "uid-y": {"app": ["a"] * 6}}
    notes = await later.resume(KEY, {**good, "pods": odd}, START)
    assert [note.split(" of Ver")[0] for note in notes] == [
        "the saved usage of pod uid-web-1",
        "the saved usage of pod uid-y",
    ]
    assert await followed().resume(KEY, {"containers": [], "pods": 7}, START) == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda row, _: row[1].__setitem__(0, 176), "do not fit"),
        (lambda row, _: row[1].__setitem__(0, -1), "do not fit"),
        (lambda row, _: row[1].__setitem__(1, 4000), "exponent"),
        (lambda row, _: row[1].__setitem__(2, b"odd"), "do not fit"),
        (lambda row, _: row[2].__setitem__(3, inf), "reference"),
        (lambda row, _: row[2].__setitem__(4, -1.0), "half-life"),
        (lambda row, _: row.__setitem__(4, nan), "not a time"),
        (lambda row, _: row.__setitem__(6, -1), "number of samples"),
        (lambda _, window: window.__setitem__(1, inf), "not a time"),
        (lambda _, window: window.__setitem__(4, -1), "peaks"),
        (lambda row, _: row.__setitem__(6, "many"), "cannot be read"),
    ],
)
async def test_an_entry_that_cannot_be_used(change, message):
    """The wrong part is left out and reported, and nothing is half read."""
    history = followed()
    await seen_for(history, 2)
    content = msgspec.msgpack.decode((await history.entries(START))[entry_key(KEY)])
    change(content[1][0], content[2][0][1][0])
    later = followed()
    (note,) = await later.resume(KEY, msgspec.msgpack.encode(content), START)
    assert note.startswith("the saved usage of ")
    assert message in note
    assert later.knows((KEY, "app")) == ("of pod" in note)


async def test_sizes_stay_while_usage_is_saved():
    """Weights are rounded when they are saved: that moves no percentile here, and a second time no weight."""
    history = followed()
    await seen_for(history, 100, cpu=700)
    await seen_for(history, 50, START + 100 * HOUR, cpu=1500, memory=2 * GB)
    before = target(history)
    await history.entries(START)
    assert target(history) == before
    weights = history._usage.cpu.weights.copy()
    history._owners[KEY].touched = True
    await history.entries(START)
    assert (history._usage.cpu.weights == weights).all()


async def test_what_was_measured_is_not_overwritten():
    """State is loaded first, or not at all."""
    history = followed()
    await seen_for(history, 2)
    kept = await history.entries(START)
    (note,) = await history.resume(KEY, kept[entry_key(KEY)], START)
    assert "its usage was measured or loaded before" in note
    with pytest.raises(ValueError, match="measured or loaded before"):
        history.load((KEY, "app"), history.status((KEY, "app"), START), START)
