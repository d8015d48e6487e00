"""How the decisions of an Hvpa are worded."""

import pytest

from hypot.policy.hvpa.gates import change_gate
from hypot.policy.hvpa.proposal import SizeProposal
from hypot.policy.model.decision import condition_of
from hypot.policy.model.seen import metric_key
from hypot.policy.model.size import changes_of
from hypot.policy.stages.report import clause, sentence
from unit.policy.hvpa.hvpa_cases import hpa, policy, vpa
from unit.policy.hvpa.hvpa_world import GI, QUEUE, asking, box, decided, hvpa, pods, sentences, sizes, world

NO_VPA = {"deploy": False}
# The first interval is for two replicas.
FROM_TWO = {
    "scalingIntervals": [
        {"maxReplicas": 2, "maxResources": {"cpu": "1", "memory": "4Gi"}},
        {"maxReplicas": 5, "maxResources": {"cpu": "4", "memory": "8Gi"}},
    ]
}


def test_two_resources_take_the_plural():
    """One resource is capped, two are."""
    seen = world(5, box(cpu=6000, memory=20 * GI))
    one = decided(hvpa(), seen, sources=[asking(app=sizes(45_000, 150 * GI))])
    two = decided(hvpa(), seen, sources=[asking(app=sizes(45_000, 170 * GI))])
    assert sentences(one, "size")[-1].endswith("; cpu is capped at its maximum.")
    assert sentences(two, "size")[-1].endswith("; cpu and memory are capped at their maximum.")


def test_a_small_change_of_memory_is_visible():
    """Only what changes is shown, with enough digits."""
    now = sizes(500, 263_925_000)
    decision = decided(hvpa(), world(1, box(**now)), sources=[asking(app=sizes(500, 263_926_000))])
    assert sentences(decision, "size") == ["app at 1 replica: memory from 263925k to 263926k."]


@pytest.mark.parametrize(
    ("had", "gets", "expected"),
    [
        (sizes(500), sizes(500), {}),
        (sizes(500), sizes(600), {"cpu": ("500m", "600m")}),
        ({}, sizes(memory=GI), {"memory": ("unset", "1Gi")}),
        (sizes(500, 263_925_000), sizes(500, 263_926_000), {"memory": ("263925k", "263926k")}),
    ],
)
def test_changes_of_a_size(had, gets, expected):
    """Only resources that change."""
    assert changes_of(had, gets) == expected


def test_pods_that_catch_up_are_the_reason():
    """Nothing else changes; the sentence does not begin with the name of a container."""
    behind = (*pods(1, box(cpu=500, memory=GI)), *pods(2, box(cpu=100, memory=GI))[1:])
    decision = decided(
        hvpa(), world(2, box(cpu=500, memory=GI), pods=behind), sources=[asking(app=sizes(1000, 2 * GI))]
    )
    assert decision.catches_up
    assert decision.reason == "the largest pod has the desired size of app, and the others get it too"
    assert sentences(decision, "catch-up") == [sentence(decision.reason)]


@pytest.mark.parametrize(("queue", "asked", "count"), [(1000, 1, 2), (9000, 9, 4)])
def test_a_bound_of_the_hpa_that_limits_the_count_is_a_step(queue, asked, count):
    """The metric asks for fewer or more replicas than the bounds allow."""
    spec = hvpa(hpa=hpa(metrics=[QUEUE], minReplicas=2, maxReplicas=4), vpa=NO_VPA, **FROM_TWO)
    decision = decided(spec, world(3, box(cpu=500), external_metrics={metric_key("queue", None): (queue // 3,)}))
    (step,) = [step for step in decision.steps if step.rule in {"min-replicas", "max-replicas"}]
    assert (decision.desired, step.before, step.after) == (count, asked, count)


def test_an_interval_for_the_fewest_replicas():
    """No interval is for fewer, whatever the total is."""
    spec = hvpa(hpa={**hpa(minReplicas=2), "deploy": False}, **FROM_TWO)
    decision = decided(spec, world(3, box(cpu=500)), sources=[asking(app=sizes(100))])
    assert decision.desired == 2
    assert sentences(decision, "interval") == [
        "Cpu of app needs 100m in total (test): its interval is for 2 replicas, the minimum."
    ]


def test_the_intervals_that_limit_a_vote_are_a_step():
    """A source asks for more replicas than any interval is for."""
    decision = decided(hvpa(), world(3, box(cpu=500)), sources=[asking(replicas=7)])
    assert decision.desired == 5
    assert sentences(decision, "intervals") == ["The intervals are for at most 5 replicas."]


def test_one_total_is_shown():
    """Of two sources that lead to the same count, the one with the larger total; it is the total that pods get."""
    asked = [asking("a", app=sizes(1100)), asking("b", app=sizes(1200))]
    decision = decided(hvpa(), world(1, box(cpu=500)), sources=asked)
    assert decision.reason == "cpu of app needs 1200m in total (b)"
    assert sentences(decision, "total") == ["app needs in total: cpu 1200m (b; has 500m)."]


def test_a_total_that_may_not_change_the_count():
    """The largest total was learnt at another count, and the other source determines the count: both are named."""
    learnt = SizeProposal("a", (), {("app", "cpu"): 1900}, bounded={("app", "cpu"): "at most"})
    decision = decided(hvpa(), world(1, box(cpu=500)), sources=[lambda _: learnt, asking("b", app=sizes(1500))])
    assert decision.desired == 2
    assert decision.reason == "cpu of app needs 1900m in total (a), and its count follows from the 1500m (b)"


def test_nothing_is_missing_where_no_total_changes():
    """Pods of different sizes may become equal with the same total."""
    assert change_gate(hvpa(), "up", {}, {}).message == "the total does not change"


def test_pods_at_their_limit_are_limited_not_right():
    """Limits are not controlled and equal the requests: no request can rise, and the condition says so."""
    spec = hvpa(vpa=vpa(policy(controlledValues="RequestsOnly")))
    full = box(cpu=500, memory=GI, limits=sizes(500, GI))
    decision = decided(spec, world(5, full), sources=[asking(app=sizes(20_000, 5 * GI))])
    limited = condition_of(decision.conditions, "ScalingLimited")
    assert not decision.moves
    assert (limited.status, limited.message) == ("True", "cpu of app is capped at its limit")


@pytest.mark.parametrize(
    ("written", "inside"),
    [
        ("Scaling down waits.", "scaling down waits"),
        ("web waits: the total changes by too little.", "web waits: the total changes by too little"),
        ("LimitRange small forbids it.", "LimitRange small forbids it"),
        ("OOM kills go on.", "OOM kills go on"),
        ("", ""),
    ],
)
def test_a_sentence_inside_another(written, inside):
    """Names keep their letters."""
    assert clause(written) == inside


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("forbidden.", "Forbidden."),
        ("waits: spec.replicas is 0", "Waits: spec.replicas is 0."),
        ("held: see the docs", "Held: see the docs."),
        ("spec.replicas: must not be negative", "spec.replicas: must not be negative."),
        ("spec.scalingIntervals[0].maxReplicas must be set", "spec.scalingIntervals[0].maxReplicas must be set."),
        ("", "."),
    ],
)
def test_a_message_as_a_sentence(message, expected):
    """Messages of others may end with a point, and a path keeps its first letter."""
    assert sentence(message) == expected
