"""What a VerticalPodAutoscaler of a dump reports: its containers, current sizes and status."""

import copy

from builders import refused
from hypot.kinds.vpa import VPA
from hypot.policy.decide import decide
from hypot.policy.families import seen_by
from hypot.policy.model.seen import Bounds, Pod, Recommendation, Scale, Seen
from hypot.policy.model.settings import Settings
from hypot.policy.model.state import State
from hypot.policy.observe.snapshot import Snapshot
from unit.policy.sizes_world import (
    DAY,
    GI,
    MI,
    NOW,
    TARGET,
    acts,
    advised,
    ago,
    box,
    checkpoint,
    conditions,
    decided,
    fleet,
    limit_range,
    owned,
    pod,
    pods,
    recommended,
    reported,
    sentences,
    sized,
    vpa,
    wanted,
    workload,
)

# One bucket each: all percentiles are its end, 357 millicores and 1,278,397,629 bytes.
CHECKPOINT = checkpoint(cpu={20: 10000}, memory={40: 10000})
CPU, MEMORY = 357 + 53, 1_278_397_629 + 191_759_644
# The arrays of a histogram.
ARRAYS = ("weights", "total", "reference", "half_life", "first", "last")
STATUS = advised(recommended(target=("2", "2Gi"), lower=("1500m", "1Gi"), upper=("3", "3Gi")))


def figures(decision, container="app"):
    """The figures of one container in the status."""
    listed = decision.reported["recommendation"]["containerRecommendations"]
    return next(one for one in listed if one["containerName"] == container)


def policy(name="app", **fields):
    return {"containerName": name, **fields}


# Containers that are sized.


def test_a_container_that_is_switched_off_is_left_alone():
    """It gets no recommendation, and is no reason to disrupt a pod."""
    both = [checkpoint(name, cpu={20: 1}, memory={40: 1}) for name in ("app", "log")]
    fits = box(cpu=f"{CPU}m", memory=str(MEMORY))
    decision = decided(vpa(None, policy("log", mode="Off")), *both, *fleet(2, fits, box("log")))
    assert wanted(decision, "log") == {"cpu": 1000, "memory": GI}
    assert [one["containerName"] for one in decision.reported["recommendation"]["containerRecommendations"]] == ["app"]
    assert acts(decision) == [("web-0", "none", "within-bounds"), ("web-1", "none", "within-bounds")]


def test_all_containers_switched_off():
    """Samples exist, so the error must not say that there are none."""
    decision = decided(vpa(None, policy("*", mode="Off")), CHECKPOINT, *fleet(2))
    assert not decision.moves
    assert "no samples" not in decision.error


def test_a_container_that_vanished_is_not_recommended_for():
    """Nor does it use a share of the pod's minimum."""
    idle = {"cpu": {0: 1}, "memory": {0: 1}}
    decision = decided(vpa(), checkpoint(**idle), checkpoint("gone", **idle), *fleet(2))
    assert [one["containerName"] for one in decision.reported["recommendation"]["containerRecommendations"]] == ["app"]
    assert wanted(decision) == {"cpu": 25, "memory": 250 * MI}


def test_only_a_container_that_vanished_has_a_history():
    """Then nothing is known of the existing containers."""
    decision = decided(vpa(), checkpoint("gone", cpu={20: 1}, memory={40: 1}), *fleet(2))
    assert not decision.decided
    assert "no samples of the existing containers" in decision.error


def test_a_container_that_appeared_stays_as_it_is():
    """Nothing is known of it yet."""
    decision = decided(vpa(), CHECKPOINT, *fleet(2, box(), box("new", cpu="50m")))
    assert wanted(decision, "new") == {"cpu": 50, "memory": GI}
    assert wanted(decision)["cpu"] == CPU


def test_native_sidecars_are_left_alone():
    """Even if there is a history of the sidecar."""
    sidecar = {"initContainers": [box("proxy", restartPolicy="Always")]}
    learnt = checkpoint("proxy", cpu={20: 1}, memory={40: 1})
    decision = decided(vpa(), CHECKPOINT, learnt, *fleet(2, spec=sidecar))
    assert [size.container for size in decision.desired_sizes] == ["app"]
    assert all(size.container == "app" for action in decision.actions for size in action.sizes)


def test_a_status_with_other_containers():
    """Containers that do not exist are not sized; containers that are not in the status stay."""
    status = advised(recommended("gone", ("2", "2Gi")), recommended(target=("2", "2Gi")))
    decision = decided(vpa(status=status), *fleet(2, box(), box("new")))
    assert [size.container for size in decision.desired_sizes] == ["app", "new"]
    assert wanted(decision, "new") == {"cpu": 1000, "memory": GI}


def test_only_memory_was_ever_measured():
    """No size is lowered because nothing is known of it."""
    decision = decided(vpa(), checkpoint(memory={40: 1}), *fleet(2))
    assert wanted(decision) == {"cpu": 1000, "memory": MEMORY}
    assert set(figures(decision)["target"]) == {"memory"}


# Current sizes.


def test_the_largest_of_several_sizes_is_the_current_one():
    """During a rollout pods differ, and each is judged by its own size."""
    small, large = box(cpu="300m", memory="1Gi"), box(cpu="410m", memory=str(MEMORY))
    objects = [workload(), workload("ReplicaSet", name="web-5d9c"), pod(0, small), pod(1, large)]
    decision = decided(vpa(), CHECKPOINT, *objects)
    assert decision.sizes[0].requests == {"cpu": 410, "memory": MEMORY}
    assert acts(decision) == [("web-0", "evict", "outside-bounds"), ("web-1", "none", "within-bounds")]


def test_what_the_kubelet_says_counts_before_what_was_asked_for():
    """After a resize in place the pod template is stale."""
    given = {"name": "app", "resources": {"requests": sized("410m", str(MEMORY))}}
    decision = decided(vpa(), CHECKPOINT, *fleet(2, status={"containerStatuses": [given]}))
    assert decision.sizes[0].requests == {"cpu": 410, "memory": MEMORY}
    assert {action.rule for action in decision.actions} == {"within-bounds"}


def test_without_pods_the_template_is_sized():
    """New pods would have that size, and the conditions say that there are no pods."""
    decision = decided(vpa(generation=3), CHECKPOINT, workload("Deployment", 0))
    assert (decision.current, decision.desired) == (0, 0)
    assert wanted(decision) == {"cpu": CPU, "memory": MEMORY}
    assert conditions(decision) == {"NoPodsMatched": "True", "RecommendationProvided": "True"}
    assert decision.reported["observedGeneration"] == 3


# What is reported.


def test_conditions_as_upstream_has_them():
    """Without pods and a recommendation, the missing pods are the reason of both conditions."""
    bare = {kind: (c.status, c.reason, c.message) for c in decided(vpa(), workload()).conditions if (kind := c.type)}
    missing = ("NoPodsMatched", "No pods match this VPA object")
    assert bare == {"NoPodsMatched": ("True", *missing), "RecommendationProvided": ("False", *missing)}
    unread = {c.type: c.message for c in decided(vpa()).conditions}
    assert list(unread) == ["ConfigUnsupported"]
    assert 'deployments.apps "web" is not in the input' in unread["ConfigUnsupported"]


def test_conditions_that_are_no_longer_true_are_removed():
    """The time of a condition that is still true stays."""
    before = advised(recommended(), RecommendationProvided="True", NoPodsMatched="True", ConfigDeprecated="True")
    decision = decided(vpa(status=before), CHECKPOINT, *fleet(2))
    assert [(c.type, c.status, c.since) for c in decision.conditions] == [("RecommendationProvided", "True", NOW - DAY)]
    before = advised(recommended(), RecommendationProvided="False", ConfigUnsupported="True")
    decision = decided(vpa(status=before), CHECKPOINT, *fleet(2))
    assert [(c.type, c.status, c.since) for c in decision.conditions] == [("RecommendationProvided", "True", NOW)]


def test_the_status_lists_containers_by_name():
    """Whatever the order of the checkpoints, and of a status that another recommender wrote."""
    learnt = [checkpoint(name, cpu={20: 1}, memory={40: 1}) for name in ("web", "app", "log")]
    there = fleet(2, box("web"), box("log"), box())
    listed = decided(vpa(), *learnt, *there).reported["recommendation"]["containerRecommendations"]
    assert [one["containerName"] for one in listed] == ["app", "log", "web"]
    status = advised(*(recommended(name) for name in ("web", "app", "log")))
    listed = decided(vpa(status=status), *there).reported["recommendation"]["containerRecommendations"]
    assert [one["containerName"] for one in listed] == ["app", "log", "web"]


def test_an_undecided_status_keeps_its_recommendation():
    """A recommendation is not lost because the target cannot be found."""
    decision = decided(vpa(status=STATUS, generation=2))
    assert decision.reported == {"recommendation": STATUS["recommendation"]}
    assert not decision.decided


def test_a_spec_that_is_wrong_is_not_decided():
    """All errors are reported at once."""
    broken = vpa("Sometimes", policy(mode="Perhaps"))
    decision = decided(broken, CHECKPOINT, *fleet(2))
    assert (decision.decided, decision.error_kind) == (False, "spec")
    assert "updateMode" in decision.error
    assert "containerPolicies[0].mode" in decision.error


def test_a_field_of_a_newer_version_is_no_error():
    """An unknown field is ignored, as for other kinds."""
    decision = decided(vpa(spec={"laterField": 1}), CHECKPOINT, *fleet(2))
    assert decision.decided


def test_a_target_that_cannot_be_read():
    """Whatever is in its place, the result is a decision."""
    for junk in ("web", 7, [], {}):
        spec = VPA.from_dict({**vpa(), "spec": {"targetRef": junk}})
        decision, _ = decide(spec, Seen(NOW, Scale(1, 1, "app=web")), State(), Settings())
        assert (decision.decided, decision.error_kind) == (False, "spec")


def test_of_two_vpas_the_oldest_acts():
    """The other leaves the pods alone, and names the older VPA."""
    older = vpa(name="older", status=STATUS, creationTimestamp=ago(2 * DAY))
    younger = vpa(name="younger", status=STATUS, creationTimestamp=ago(DAY))
    assert decided(older, younger, *fleet(2), name="older").moves
    held = decided(older, younger, *fleet(2), name="younger")
    assert not held.moves
    assert "older" in " ".join(step.sentence for step in held.steps)


def test_a_target_that_is_not_the_topmost_controller():
    """A ReplicaSet of a Deployment: its pods belong to the Deployment, as the recommender says too."""
    replica_set = workload("ReplicaSet", 2, name="web-5d9c")
    replica_set["metadata"]["ownerReferences"] = owned("Deployment", "web")
    below = vpa(target={**TARGET, "kind": "ReplicaSet", "name": "web-5d9c"}, status=STATUS)
    decision = decided(below, workload(), replica_set, *pods(2))
    assert conditions(decision)["ConfigUnsupported"] == "True"
    assert not decision.moves


def test_a_pod_in_its_startup_boost_is_left_alone():
    """It has extra cpu for a while, and that is no reason to evict it."""
    boosted = fleet(2, box(cpu="9"), annotations={"vpaCpuStartupBoost/app": "{}"})
    assert not decided(vpa(status=STATUS), *boosted).moves


def test_a_write_that_failed():
    """The failure is reported."""
    spec = VPA.from_dict(vpa())
    decision, state = reported(vpa(), CHECKPOINT, *fleet(2))
    failed = refused(spec, decision, state, "conflict")
    assert (failed.decided, failed.error) == (False, "conflict")
    assert conditions(failed)["RecommendationProvided"] == "False"
    assert [event.reason for event in failed.events] == ["FailedUpdate"]


# Purity.


def test_deciding_twice_changes_nothing():
    """Neither the objects, nor the state, nor the histograms."""
    objects = [vpa("InPlaceOrRecreate"), CHECKPOINT, limit_range(max=sized("2")), *fleet(3, box(limits=sized("2")))]
    before = copy.deepcopy(objects)
    snapshot, setup = Snapshot(objects), Settings()
    chosen = snapshot.autoscalers()[0]
    seen = seen_by(snapshot, chosen, NOW, setup)
    banks = (seen.usage.known.cpu, seen.usage.known.memory)
    arrays = [[getattr(bank, name).copy() for name in ARRAYS] for bank in banks]
    first = decide(chosen, seen, State(), setup)
    assert decide(chosen, seen, State(), setup) == first
    assert decide(chosen, seen_by(snapshot, chosen, NOW, setup), State(), setup) == first
    assert objects == before
    for bank, kept in zip(banks, arrays, strict=True):
        assert all((getattr(bank, name) == rows).all() for name, rows in zip(ARRAYS, kept, strict=True))


def test_without_any_snapshot():
    """The policy accepts observations from any source: here they are built manually."""
    advice = Recommendation((Bounds("app", {"cpu": 200}),), "oracle")
    seen = Seen(NOW, Scale(1, 1, "app=web"), pods=(Pod("web-0"),), size_advice=advice)
    decision, state = decide(VPA("deployment/web"), seen, State(), Settings())
    assert sentences(decision, "size") == ["app, by the oracle: cpu 200m."]
    assert acts(decision) == [("web-0", "none", "no-recommendation")]
    assert state.vertical.advice == {"app": {"cpu": 200}}
