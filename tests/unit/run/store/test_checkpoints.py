"""Histograms as checkpoint objects: which are written when, what a write contains, and what a start reads from them."""

import asyncio

import msgspec
import pytest

from hypot.core.instant import show_time
from hypot.kinds.catalogue import CATALOGUE
from hypot.kinds.vpa import VPA
from hypot.kinds.vpa.checkpoint import Checkpoint
from hypot.kinds.vpa.checkpoint_crd import FACTS
from hypot.policy.model.seen import Container, Pod, PodSample
from hypot.policy.model.settings import Settings
from hypot.run.store.checkpoints import (
    OF,
    PLURAL,
    StoredCheckpoint,
    belongs_to,
    checkpoint_name,
    checkpoint_request,
    due,
    known,
    restore,
    subject_of,
)
from hypot.run.store.usage_history import UsageHistory, entry_key, key_of

# Else the first asynchronous test opens a loop next to its own, and never closes it.
asyncio.set_event_loop(None)

START, HOUR = 1_700_000_000.0, 3600.0
WEB = VPA("Deployment/web", namespace="shop")
KEY = key_of(WEB)
SUBJECT = (KEY, "app")
IDENTITY = "uid-7 Deployment/web"
STATUS = {"version": "v3", "totalSamplesCount": 1}


def subject(name, kind="VerticalPodAutoscaler", container="app"):
    return (kind, "shop", name), container


def followed(*autoscalers):
    history = UsageHistory(Settings())
    for autoscaler in autoscalers or (WEB,):
        history.declare(autoscaler, (), START)
    return history


async def measured(cpu=700, key=KEY, hours=20, autoscaler=WEB):
    """A history of so many hours."""
    history = followed(autoscaler)
    history.declare(autoscaler, ("app",), START)
    pod = Pod("web-1", containers=(Container("app"),), uid="uid-1")
    for hour in range(hours):
        at = START + hour * HOUR
        samples = {(key[1], "web-1"): PodSample(at, 15.0, (("app", {"cpu": cpu, "memory": 10**12}),))}
        await history.observe(samples, {key: (pod,)}, at)
    return history


def stored(status, owner="web", container="app", namespace="shop", **metadata):
    """A checkpoint as an API server lists it."""
    named = {"name": checkpoint_name(owner, container), "namespace": namespace, "resourceVersion": "7", **metadata}
    return {"metadata": named, "spec": {"vpaObjectName": owner, "containerName": container}, "status": status}


def cpu_of(history, key=KEY):
    view = history.view(key)
    return view.estimate(Settings().vpa, ["app"], {})[0].target["cpu"]


# Which are written.


def test_the_longest_waiting_are_written_first():
    """A reconcile writes a few, each after an interval, and only those with new samples."""
    now = START + 1000
    sampled = {subject(f"web-{number:02}"): now for number in range(15)}
    written = {subject("web-00"): now - 400, subject("web-01"): now - 299, subject("web-02"): now}
    first = due(sampled, written, now)
    assert first == [subject(f"web-{number:02}") for number in range(3, 13)]
    written |= dict.fromkeys(first, now)
    assert due(sampled, written, now) == [subject("web-13"), subject("web-14"), subject("web-00")]
    assert due(sampled, written, now, most=1) == [subject("web-13")]
    later = due(sampled, {**written, subject("web-13"): now + 1}, now + 500)
    assert subject("web-13") not in later


def test_two_that_would_have_one_name():
    """The VPA is written and not the Hvpa; otherwise the first is. Neither overwrites the other."""
    both = {subject("web", "Hvpa"): START, subject("web"): START}
    assert due(both, {}, START) == [subject("web")]
    alike = {subject("a-b", container="c"): START, subject("a", container="b-c"): START}
    assert due(alike, {}, START) == [subject("a", container="b-c")]
    assert due({subject("web", "Hvpa"): START}, {}, START) == [subject("web", "Hvpa")]


def test_a_clock_that_was_set_back_stops_no_writing():
    """A write time in the future counts as never written."""
    assert due({subject("web"): START}, {subject("web"): START + 86_400.0}, START) == [subject("web")]


# What a write contains.


def test_names():
    """They are those of upstream; a name that is too long is cut and still unique."""
    assert checkpoint_name("web", "app") == "web-app"
    long = [checkpoint_name("w" * 250, container) for container in ("app", "apq")]
    assert len(set(long)) == 2
    assert [len(name) for name in long] == [253, 253]
    cut = checkpoint_name("w" * 243 + "." + "x" * 9, "app")
    assert cut.startswith("w" * 243 + "-")


def test_a_new_checkpoint():
    """It is created with its owner and the identity of its target, and is valid by the rules of the kind."""
    request = checkpoint_request(SUBJECT, "uid-7", IDENTITY, STATUS, None)
    path = f"/apis/autoscaling.k8s.io/v1/namespaces/shop/{PLURAL}"
    assert (request.method, request.path, request.query) == ("POST", path, {"fieldManager": "hypot"})
    body = msgspec.json.decode(request.body)
    reference = {"apiVersion": "autoscaling.k8s.io/v1", "kind": "VerticalPodAutoscaler", "name": "web", "uid": "uid-7"}
    assert body["metadata"] == {
        "name": "web-app",
        "namespace": "shop",
        "annotations": {"hypot.dev/of": IDENTITY},
        "ownerReferences": [reference],
    }
    assert Checkpoint.from_dict(body).problems() == ()
    assert body["status"] == STATUS


def test_an_existing_checkpoint():
    """It is replaced at the known version; metadata of others stays."""
    labels, annotations = {"team": "shop"}, {"team": "shop", OF: "uid-7 Deployment/old"}
    there = known(stored(STATUS, labels=labels, annotations=annotations, uid="x", managedFields=[{}]))
    assert there == StoredCheckpoint("7", {"name": "web-app", "labels": labels, "annotations": annotations})
    request = checkpoint_request(SUBJECT, "uid-7", IDENTITY, STATUS, there)
    assert (request.method, request.path.rpartition("/")[2]) == ("PUT", "web-app")
    metadata = msgspec.json.decode(request.body)["metadata"]
    assert metadata["resourceVersion"] == "7"
    assert metadata["labels"] == labels
    assert metadata["annotations"] == {"team": "shop", OF: IDENTITY}
    assert metadata["ownerReferences"][0]["uid"] == "uid-7"
    others = [{"kind": "Other", "name": "x", "uid": "y", "apiVersion": "v1"}]
    owned = known(stored(STATUS, name="older-name", ownerReferences=others))
    request = checkpoint_request(SUBJECT, "uid-7", IDENTITY, STATUS, owned)
    assert request.path.endswith("/older-name")
    assert msgspec.json.decode(request.body)["metadata"]["ownerReferences"] == others


def test_the_status_is_written_with_the_object():
    """This holds as long as the status is not a subresource."""
    assert FACTS.status_apart is False
    assert CATALOGUE[Checkpoint.KIND].plural == PLURAL


def test_without_a_uid_it_has_no_owner():
    """An owner reference without a uid would delete it at once; without an identity there is no annotation."""
    request = checkpoint_request(subject("web", "Hvpa"), "", "", STATUS, None)
    assert msgspec.json.decode(request.body)["metadata"].keys() == {"name", "namespace"}


# What a start reads.


def test_what_a_checkpoint_is_about():
    """Its owner decides, otherwise a VPA of that name comes before an Hvpa; foreign checkpoints are ignored."""
    vpa, hvpa = ("VerticalPodAutoscaler", "shop", "web"), ("Hvpa", "shop", "web")
    data = stored(STATUS)
    assert subject_of(data, [hvpa, vpa]) == (vpa, "app")
    assert subject_of(data, [hvpa]) == (hvpa, "app")
    assert subject_of(stored(STATUS, ownerReferences=[{"kind": "Hvpa"}]), [hvpa, vpa]) == (hvpa, "app")
    assert subject_of(stored(STATUS, namespace="other"), [hvpa, vpa]) is None
    assert subject_of(stored(STATUS, container=""), [vpa]) is None
    assert subject_of({}, [vpa]) is None


def test_what_target_a_checkpoint_is_of():
    """A checkpoint of another target is ignored; without an annotation, or with an unreadable target, it is used."""
    assert belongs_to(stored(STATUS, annotations={OF: IDENTITY}), IDENTITY)
    assert not belongs_to(stored(STATUS, annotations={OF: IDENTITY}), "uid-7 Deployment/api")
    assert belongs_to(stored(STATUS, annotations={OF: IDENTITY}), "")
    assert belongs_to(stored(STATUS), IDENTITY)


@pytest.mark.asyncio
async def test_a_start_from_checkpoints():
    """It continues with their histograms, also of containers without a pod; unreadable checkpoints are reported."""
    history = await measured()
    status = history.status(SUBJECT, START + 20 * HOUR)
    later = followed()
    objects = [stored(status), stored({"version": "v2"}, container="proxy"), stored(status, owner="gone")]
    (note,) = await restore(later, {}, objects, START)
    assert note.startswith("checkpoint shop/web-proxy cannot be used: the checkpoint has version 'v2'")
    assert cpu_of(later) == pytest.approx(cpu_of(history), rel=0.05)
    assert later.sampled() == history.sampled()


@pytest.mark.asyncio
async def test_state_is_more_exact_than_a_checkpoint():
    """The state is used, unless the checkpoint is much newer: another recommender continued."""
    now = START + 20 * HOUR
    ours, theirs = await measured(), await measured(cpu=2000)
    entries = await ours.entries(now)
    for age, wanted in ((0, ours), (7000, ours), (7300, theirs)):
        status = {**theirs.status(SUBJECT, now), "lastUpdateTime": show_time(now + age)}
        later = followed()
        assert await restore(later, entries, [stored(status)], now + 8000) == []
        assert cpu_of(later) == pytest.approx(cpu_of(wanted), rel=0.05)


@pytest.mark.asyncio
async def test_a_checkpoint_fills_gaps_of_the_state():
    """It fills in for a broken entry, and for a container that the state does not have."""
    now = START + 20 * HOUR
    history = await measured()
    status = history.status(SUBJECT, now)
    broken = {entry_key(KEY): {"seen": {"at": now}, "containers": {"app": {}}}}
    later = followed()
    (note,) = await restore(later, broken, [stored(status), stored(status, container="proxy")], now)
    assert note.startswith("the saved usage of container app of VerticalPodAutoscaler/shop/web is ignored")
    assert cpu_of(later) == pytest.approx(cpu_of(history), rel=0.05)
    assert later.knows((KEY, "proxy"))
