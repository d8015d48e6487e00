"""What holds for every dump with VerticalPodAutoscalers and Hvpas, however damaged."""

import copy
import json

from hypothesis import given, settings
from hypothesis import strategies as st

from hypot.kinds.vpa.fields import UPDATE_MODES
from hypot.policy.decide import decide
from hypot.policy.families import seen_by
from hypot.policy.model.settings import Settings
from hypot.policy.model.state import State
from hypot.policy.observe.snapshot import Snapshot
from unit.policy.sizes_world import (
    HOUR,
    NOW,
    TARGET,
    advised,
    ago,
    box,
    checkpoint,
    decided,
    fleet,
    hvpa,
    limit_range,
    made,
    node,
    pod,
    recommended,
    sample,
    sized,
    vpa,
    workload,
)

often = settings(max_examples=150, deadline=None)
seldom = settings(max_examples=60, deadline=None)
SETUP = Settings()


def whole_dump():
    """One of each kind of object that sizes depend on."""
    ended = {"reason": "OOMKilled", "startedAt": ago(2 * HOUR), "finishedAt": ago(HOUR)}
    statuses = [
        {
            "name": "app",
            "restartCount": 1,
            "lastState": {"terminated": ended},
            "resources": {"requests": sized("1", "1Gi"), "limits": sized("2", "2Gi")},
        }
    ]
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": ago(HOUR)}
    waiting = {"type": "PodResizePending", "status": "True", "reason": "Deferred", "lastTransitionTime": ago(9)}
    container = box(limits=sized("2", "2Gi"), resizePolicy=[{"resourceName": "cpu", "restartPolicy": "NotRequired"}])
    sidecar = {"initContainers": [box("proxy", restartPolicy="Always")]}
    policy = {
        "containerName": "app",
        "minAllowed": sized("100m", "64Mi"),
        "maxAllowed": sized("4", "8Gi"),
        "controlledResources": ["cpu", "memory"],
    }
    metrics = [
        {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 90}}}
    ]
    figures = recommended(target=("2", "2Gi"), lower=("1500m", "1Gi"), upper=("3", "3Gi"))
    asked = [{"resources": ["cpu"], "changeRequirement": "TargetHigherThanRequests"}]
    status = {
        "lastScaling": {"lastUpdated": ago(HOUR)},
        "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": ago(HOUR)}],
    }
    return [
        vpa("InPlaceOrRecreate", policy, status=advised(figures, RecommendationProvided="True"), generation=2,
            updates={"minReplicas": 1, "evictionRequirements": asked}, annotations={"hypot.dev/cpu-half-life": "1h"}),
        vpa("Off", name="child", status=advised(figures)),
        vpa(name="lonely", status=advised(figures)),
        hvpa(hpa={"deploy": True, "template": {"spec": {"minReplicas": 1, "maxReplicas": 4, "metrics": metrics}}},
             vpa={"deploy": True, "template": {"spec": {"resourcePolicy": {"containerPolicies": [policy]}}}},
             scalingIntervalsOverlap={"cpu": {"percentage": 10}}, status=status),
        made("autoscaling/v2", "HorizontalPodAutoscaler", "web",
             {"scaleTargetRef": TARGET, "maxReplicas": 4, "metrics": metrics},
             {"desiredReplicas": 3, "currentReplicas": 2}),
        checkpoint(cpu={20: 9000, 30: 10000}, memory={40: 10000}),
        checkpoint(cpu={25: 10}, memory={40: 10000}, owner="child"),
        checkpoint("log", cpu={5: 10}, memory={40: 10000}, owner="child"),
        limit_range(max=sized("3", "3Gi"), min=sized("10m"), default=sized("1")),
        limit_range("Pod", "pods", max=sized("8", "8Gi")),
        node(short=True),
        workload("Deployment", 2, container),
        workload("ReplicaSet", 2, container, name="web-5d9c"),
        pod(0, container, spec=sidecar, status={"containerStatuses": statuses, "conditions": [ready, waiting]}),
        pod(1, container, annotations={"vpaObservedContainers": "app"}, status={"conditions": [ready]}),
        pod(2, container, status={"phase": "Failed", "reason": "Evicted"}),
        sample(0),
        sample(1),
    ]  # fmt: skip


DUMP = whole_dump()
DAMAGED = {
    "VerticalPodAutoscaler",
    "Hvpa",
    "VerticalPodAutoscalerCheckpoint",
    "Node",
    "LimitRange",
    "Pod",
    "ReplicaSet",
}


def places(value, path=()):
    """Every place within an object except its identity, by which it is found."""
    if path and path not in {
        ("apiVersion",),
        ("kind",),
        ("metadata",),
        ("metadata", "name"),
        ("metadata", "namespace"),
    }:
        yield path
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(inner, (*path, key))


PLACES = [(i, path) for i, one in enumerate(DUMP) if one["kind"] in DAMAGED for path in places(one)]
AMOUNTS = ["0", "-1", "1e30", "1e-30", "1n", "9" * 40, "0x1", "1Zi", "NaN", "-0.5Gi", "1.5m", ".", "1e400", "1e99999"]
TIMES = [
    "0001-01-01T00:00:00Z",
    "9999-12-31T23:59:59Z",
    "2027-01-15T08:00:00",
    "2027-13-01T00:00:00Z",
    "T",
    "1h",
    "-5s",
    "0s",
]
NUMBERS = [0, -1, 1, 10**9, 2**63, 10**30, -(10**400), 0.5, float("nan"), float("inf"), 1e308, 5e-324, True, False]
WORDS = [
    "",
    "*",
    "app",
    "proxy",
    "Off",
    "Auto",
    "True",
    "v3",
    "Max",
    "Always",
    "OOMKilled",
    "Error",
    "\x00",
    "é",
    "a" * 300,
]
EMPTY = [None, [], {}, [None], {"": None}, [{}], [[]], {"cpu": {}}, {"app": {"cpu": "1"}}, {"3": 10**400}, {"3": -1}]
JUNK = st.sampled_from([*AMOUNTS, *TIMES, *NUMBERS, *WORDS, *EMPTY]) | st.text(max_size=6) | st.integers()


def put(whole, path, junk):
    """Put junk at this place, if earlier junk has not removed it."""
    for key in path:
        if not (key in whole if isinstance(whole, dict) else isinstance(whole, list) and key in range(len(whole))):
            return
        outer, whole = whole, whole[key]
    outer[path[-1]] = copy.deepcopy(junk)


# Junk in a few places, and the indexes of removed objects.
damage = st.tuples(
    st.lists(st.tuples(st.sampled_from(PLACES), JUNK), min_size=1, max_size=6),
    st.sets(st.integers(0, len(DUMP) - 1), max_size=3),
)


def damaged(done):
    """The dump with this damage."""
    objects = copy.deepcopy(DUMP)
    for (index, path), junk in done[0]:
        put(objects[index], path, junk)
    return [one for i, one in enumerate(objects) if i not in done[1]]


def all_decided(objects, states=None, now=NOW):
    """The decision on every readable autoscaler, and the state after it, by kind and name."""
    snapshot, known, found = Snapshot(objects), states or {}, {}
    for one in snapshot.autoscalers():
        seen, key = seen_by(snapshot, one, now, SETUP), (one.KIND, one.name)
        if not any(problem.kind == "Decode" for problem in one.problems()):
            found[key] = decide(one, seen, known.get(key, State.from_status(one.status)), SETUP)
    return found


def check_every_dump_has_its_decisions(found):
    """No exception; sentences; strict JSON; without a decision nothing changes, and there is an error."""
    for decision, state in found.values():
        assert decision.steps or decision.decided
        assert all(step.sentence.endswith((".", "!")) for step in decision.steps)
        assert decision.decided or decision.error
        assert decision.decided or (decision.desired, decision.desired_sizes) == (decision.current, decision.sizes)
        json.dumps(
            [decision.to_dict()["desired"], decision.to_dict()["pods"] if decision.actions else []], allow_nan=False
        )
        assert State.from_dict(json.loads(json.dumps(state.to_dict(), allow_nan=False))) == state


def check_no_size_is_less_than_nothing(found):
    """This holds for any input."""
    for decision, _ in found.values():
        if not decision.decided:
            continue
        for size in (*decision.desired_sizes, *(size for action in decision.actions for size in action.sizes)):
            had = next((each for each in decision.sizes if each.container == size.container), size)
            for now, before in ((size.requests, had.requests), (size.limits, had.limits)):
                assert all(amount >= 0 for resource, amount in now.items() if amount != before.get(resource))


def check_the_order_of_the_input_changes_nothing(objects, found, random):
    """Every object is there once."""
    shuffled = list(objects)
    random.shuffle(shuffled)

    def results(found):
        return {
            key: (decision.decided, decision.desired, decision.desired_sizes, decision.actions)
            for key, (decision, _) in found.items()
        }

    assert results(all_decided(shuffled)) == results(found)


def check_a_second_look_with_memory(objects, found, later):
    """Remembered state never blocks a decision, whatever changes."""
    kept = {key: State.from_dict(json.loads(json.dumps(m.to_dict()))) for key, (_, m) in found.items()}
    for decision, _ in all_decided(DUMP, kept, NOW + later).values():
        assert decision.decided
    for decision, _ in all_decided(objects, kept, NOW + later).values():
        assert decision.decided or decision.error


@often
@given(damage, st.randoms(use_true_random=False), st.floats(0, 10 * HOUR))
def test_whatever_is_damaged(done, random, later):
    """Deciding is pure: the same inputs give the same decision and state, and the inputs do not change."""
    objects = damaged(done)
    assert isinstance(Snapshot(objects).newest_time(), float | None)
    found = all_decided(objects)
    assert repr(objects) == repr(damaged(done))
    assert repr(all_decided(objects)) == repr(found)
    check_every_dump_has_its_decisions(found)
    check_no_size_is_less_than_nothing(found)
    check_the_order_of_the_input_changes_nothing(objects, found, random)
    check_a_second_look_with_memory(objects, found, later)


# Valid worlds.

millicores = st.integers(1, 5000)
mebibytes = st.integers(1, 8192)
sizes = st.tuples(millicores.map("{}m".format), mebibytes.map("{}Mi".format))
buckets = st.dictionaries(st.integers(0, 100), st.integers(1, 10000), min_size=1, max_size=5)


boxes = st.tuples(sizes, st.none() | st.just(sized("6", "9Gi")))


def made_of(boxes):
    """A few pods, each with its own size."""
    pods = [pod(i, box("app", *size, limits=most)) for i, (size, most) in enumerate(boxes)]
    return [workload("Deployment", len(pods)), workload("ReplicaSet", len(pods), name="web-5d9c"), *pods]


fleets = st.lists(boxes, min_size=1, max_size=6).map(made_of)


def check_what_the_object_allows_always_holds(there, cpu, memory, mode, days):
    """Every size is within the allowed amounts, and no more pods are changed than may be missing."""
    policy = {"containerName": "app", "minAllowed": sized("200m", "256Mi"), "maxAllowed": sized("2", "2Gi")}
    learnt = checkpoint(cpu=cpu, memory=memory, days=days)
    decision = decided(vpa(mode, policy), learnt, *there)
    count = len(there) - 2
    assert decision.decided
    for size in (*decision.desired_sizes, *(size for action in decision.actions for size in action.sizes)):
        assert 200 <= size.requests["cpu"] <= 2000
        assert 256 * 2**20 <= size.requests["memory"] <= 2 * 2**30
        assert all(size.limits[resource] >= size.requests[resource] for resource in size.limits)
    taken = sum(action.action != "none" for action in decision.actions)
    assert len(decision.actions) == count
    assert taken <= (count // 2 if count > 1 else 0)
    assert taken == 0 or mode not in {"Off", "Initial"}


def check_the_status_says_what_the_histograms_said(there, cpu, memory, mode):
    """Deciding by the written status gives the same as deciding by the checkpoints."""
    first = decided(vpa(mode), checkpoint(cpu=cpu, memory=memory), *there)
    status = json.loads(json.dumps(first.status))
    second = decided(vpa(mode, status=status), *there)
    assert (second.desired_sizes, second.actions) == (first.desired_sizes, first.actions)
    assert second.status == first.status


@seldom
@given(fleets, buckets, buckets, st.sampled_from(sorted(UPDATE_MODES)), st.integers(0, 9))
def test_any_pods(there, cpu, memory, mode, days):
    """Each check uses the same pods."""
    check_what_the_object_allows_always_holds(there, cpu, memory, mode, days)
    check_the_status_says_what_the_histograms_said(there, cpu, memory, mode)


@seldom
@given(buckets, buckets, st.sampled_from([0.3, 0.5, 0.9]), st.sampled_from([0.9, 0.95, 1.0]))
def test_a_higher_percentile_never_asks_for_less(cpu, memory, low, high):
    """A wider margin does not either."""
    there, learnt = fleet(2), checkpoint(cpu=cpu, memory=memory)

    def asked(percentile, margin):
        knobs = {"hypot.dev/target-cpu-percentile": str(percentile), "hypot.dev/safety-margin": str(margin)}
        return decided(vpa(annotations=knobs), learnt, *there).desired_sizes[0].requests["cpu"]

    assert asked(low, 0.15) <= asked(high, 0.15) <= asked(high, 0.5)
