"""What is kept of watched objects: what decisions need, and no more."""

import pytest

from hypot.kinds.catalogue import CATALOGUE, controlled
from hypot.policy.observe import targets
from hypot.policy.observe.read_sizes import read_template
from hypot.policy.observe.snapshot import Snapshot
from hypot.run.observe.rows import (
    keep_autoscaler,
    keep_monitor,
    keep_namespace,
    keep_pod,
    keep_replica_set,
    keep_workload,
)
from unit.policy.sizes_world import NAMESPACE, box, owned, vpa, workload
from unit.run.run_world import web, wpa


def test_an_autoscaler_and_its_managers():
    """The owned fields are long; only manager names, what they wrote and when are kept."""
    fields = [
        {"manager": "them", "subresource": "status", "time": "2027-01-15T08:00:00Z", "fieldsV1": {"f:status": {}}},
        {"manager": "kubectl", "time": "never"},
    ]
    listed = {key: value for key, value in wpa(metadata={"managedFields": fields, "uid": "u"}).items() if key != "kind"}
    row = keep_autoscaler("datadoghq.com/v1alpha1", "WatermarkPodAutoscaler", listed)
    assert [tuple(each) for each in row.managers] == [("them", "status", 1_800_000_000.0), ("kubectl", "", 0.0)]
    assert "managedFields" not in row.data["metadata"]
    assert (row.autoscaler.name, row.uid, row.version) == ("web", "u", "")


def test_an_unchanged_row_is_read_once(monkeypatch):
    """However many rows there are, of whatever kind; a changed one is read again, and the others are not."""
    kinds, read = [info.name for info in controlled()], []

    def target_of(autoscaler):
        read.append((autoscaler.KIND, autoscaler.name))
        return known(autoscaler)

    def kept(kind, name, target="web"):
        ref = {"apiVersion": "apps/v1", "kind": "Deployment", "name": target}
        field = {"scaleTargetRef": ref, "targetRef": ref, "targetRefs": {"scaleTargetRef": ref}}
        data = {"metadata": {"name": name, "namespace": NAMESPACE}, "spec": field}
        return keep_autoscaler(CATALOGUE[kind].kind.API_VERSION, kind, data)

    def keys():
        read.clear()
        return {place: targets.target_key(row.autoscaler) for place, row in rows.items()}

    known = targets.target_of
    # More rows than any cache of the project holds.
    rows = {(kind, f"w{number}"): kept(kind, f"w{number}") for number in range(4000) for kind in kinds}
    monkeypatch.setattr(targets, "target_of", target_of)
    first = keys()
    assert len(rows) >= 20_000
    assert sorted(read) == sorted(rows)
    assert keys() == first
    assert not read
    changed = [(kind, "w17") for kind in kinds]
    rows |= {(kind, name): kept(kind, name, "api") for kind, name in changed}
    now = keys()
    assert read == changed
    assert {place for place in rows if now[place] != first[place]} == set(changed)
    assert {now[place].name for place in changed} == {"api"}


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet"])
def test_a_workload_keeps_scale_and_sizes(kind):
    """A snapshot of the kept object gives the same result as one of the whole object."""
    whole = workload(kind, 3, box(command=["run"], env=[{"name": "A", "value": "b" * 1000}]))
    kept = keep_workload("apps/v1", kind, {key: value for key, value in whole.items() if key != "kind"})
    assert "b" * 1000 not in str(kept)
    target = {"apiVersion": "apps/v1", "kind": kind, "name": "web"}
    for thing in (whole, kept):
        snapshot = Snapshot([thing, vpa(target=target)])
        (one,) = snapshot.autoscalers()
        assert snapshot.scale(one).replicas == 3
    assert read_template(kept) == read_template(whole)


def test_a_cron_job_keeps_the_sizes_of_its_jobs():
    """They are deeper in the object."""
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [box()]}}
    whole = {"metadata": {"name": "x"}, "spec": {"schedule": "@daily", "jobTemplate": {"spec": {"template": template}}}}
    assert read_template(keep_workload("batch/v1", "CronJob", whole)) == read_template({**whole, "kind": "CronJob"})


def test_old_replica_sets_are_not_kept():
    """A Deployment keeps ten old ones; a ReplicaSet without an owner is a target like any other."""
    old = web(1)[1]
    old["metadata"]["ownerReferences"] = owned("Deployment", "web")
    old["spec"]["replicas"], old["status"] = 0, {"replicas": 0}
    assert keep_replica_set(old) is None
    current = {**old, "status": {"replicas": 1}}
    kept = keep_replica_set(current)
    assert kept is not None
    assert kept["spec"] == {"replicas": 0}
    alone = workload("ReplicaSet", 0)
    kept = keep_replica_set(alone)
    assert kept is not None
    assert kept["spec"]["template"]


@pytest.mark.parametrize(
    ("labels", "opted_in"),
    [({"hypot.dev/scaling": "enabled"}, True), ({"hypot.dev/scaling": "true"}, False), ({}, False), (None, False)],
)
def test_a_namespace_opts_in_by_one_value(labels, opted_in):
    """Any other value does not opt in."""
    assert keep_namespace({"metadata": {"name": "x", "labels": labels}}).opted_in is opted_in


def test_a_monitor_and_a_pod():
    """The state of a monitor and the version of a pod are kept."""
    monitor = {"metadata": {"name": "m", "namespace": NAMESPACE, "uid": "u"}, "status": {"monitorState": "OK", "x": 1}}
    assert keep_monitor(monitor) == {
        "metadata": {"name": "m", "namespace": NAMESPACE},
        "status": {"monitorState": "OK"},
    }
    pod = web(1)[2]
    pod["metadata"]["resourceVersion"] = "17"
    kept = keep_pod(pod)
    assert (kept.name, kept.version) == ("web-0", "17")


def test_the_message_of_an_eviction_is_not_kept():
    """Only its time and the usage of each container are kept."""
    pod = web(1)[2]
    message = "The node was low on resource: memory. Container app was using 2Ki, request is 0, "
    ready = {"type": "Ready", "status": "False", "lastTransitionTime": "2027-01-15T08:00:00Z"}
    pod["status"] = {"phase": "Failed", "reason": "Evicted", "message": message + "x" * 1000, "conditions": [ready]}
    kept = keep_pod(pod)
    assert kept.eviction == (1_800_000_000.0, {"app": 2_048_000})
    assert "x" * 1000 not in str(kept)
