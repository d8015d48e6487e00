"""What a VerticalPodAutoscaler of a dump recommends, within which bounds, and how its status reports it."""

import pytest

from hypot.kinds.vpa import VPA
from hypot.kinds.vpa.knobs import Knobs
from hypot.policy.usage.usage import Usage
from unit.policy.sizes_world import (
    DAY,
    GI,
    HOUR,
    MI,
    MINUTE,
    NOW,
    acts,
    advised,
    ago,
    box,
    checkpoint,
    conditions,
    decided,
    fleet,
    histogram,
    limit_range,
    limits,
    recommended,
    reported,
    sentences,
    sized,
    vpa,
    wanted,
)

# One bucket each: all percentiles are its end, 357 millicores and 1,278,397,629 bytes.
CHECKPOINT = checkpoint(cpu={20: 10000}, memory={40: 10000})
CPU, MEMORY = 357 + 53, 1_278_397_629 + 191_759_644
STATUS = advised(recommended(target=("2", "2Gi"), lower=("1500m", "1Gi"), upper=("3", "3Gi")))


def figures(decision, container="app"):
    """The figures of one container in the status."""
    listed = decision.reported["recommendation"]["containerRecommendations"]
    return next(one for one in listed if one["containerName"] == container)


def policy(name="app", **fields):
    return {"containerName": name, **fields}


# Where a recommendation comes from.


def test_checkpoints_are_the_history_of_usage():
    """They come before the status, and the sentence says so."""
    decision = decided(vpa(status=STATUS), CHECKPOINT, *fleet(2))
    assert sentences(decision, "size")[0].startswith("app, by the histograms of usage: cpu 410m")
    assert wanted(decision) == {"cpu": CPU, "memory": MEMORY}


def test_without_checkpoints_the_status_counts():
    """The sentence names the object."""
    decision = decided(vpa(status=STATUS), *fleet(2))
    assert sentences(decision, "size") == [
        "app, by the status of VerticalPodAutoscaler web: cpu 2 (1500m to 3), memory 2Gi (1Gi to 3Gi)."
    ]
    assert wanted(decision) == {"cpu": 2000, "memory": 2 * GI}


def test_without_either_nothing_moves():
    """The size is held, the reason is reported, and nothing is decided."""
    decision, state = reported(vpa(), *fleet(2))
    assert (decision.decided, decision.current, decision.desired) == (False, 2, 2)
    assert decision.desired_sizes == decision.sizes
    assert (decision.actions, decision.events) == ((), ())
    assert sentences(decision, "no-size")
    assert conditions(decision) == {"RecommendationProvided": "False"}
    assert state.vertical.advice == {}


def test_without_either_the_error_says_what_is_missing():
    """It is shown alone in a headline, so it must name what is missing."""
    assert "recommendation" in decided(vpa(), *fleet(2)).error


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        ({"version": "v2"}, "version 'v2'"),
        ({"version": None}, "version None"),
        ({"cpuHistogram": histogram({176: 1})}, "no bucket 176"),
        ({"cpuHistogram": histogram({-1: 1})}, "no bucket -1"),
        ({"cpuHistogram": histogram({"many": 1})}, "'many'"),
        ({"memoryHistogram": histogram({3: 1.5})}, "1.5 is not a whole number"),
        ({"memoryHistogram": histogram({3: 1}, total=-1)}, "-1"),
        ({"memoryHistogram": histogram({3: 1}, total=float("nan"))}, "nan"),
        ({"memoryHistogram": histogram({3: 1}, reference="yesterday")}, "'yesterday' is not a time"),
        ({"cpuHistogram": []}, "cpuHistogram: not a histogram"),
        ({"totalSamplesCount": "many"}, "totalSamplesCount"),
        ({"firstSampleStart": 7}, "firstSampleStart: 7 is not a time"),
        ({"cpuHistogram": histogram({3: 10**400})}, ""),
        ({"cpuHistogram": histogram({3: 1}, total=10**400)}, ""),
        ({"totalSamplesCount": 10**30}, ""),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_broken_checkpoint_is_reported_and_the_status_counts(broken, message):
    """Half a history is not used."""
    decision = decided(vpa(status=STATUS), checkpoint(**{"cpu": {20: 1}, "memory": {40: 1}, **broken}), *fleet(2))
    assert [note.startswith("checkpoint web-app cannot be used: ") for note in decision.unknown] == [True]
    assert message in decision.unknown[0]
    assert sentences(decision, "size")[0].startswith("app, by the status of VerticalPodAutoscaler web")


def test_a_broken_checkpoint_next_to_a_good_one():
    """The container whose history is lost keeps its size, and the other is sized."""
    both = (box(), box("log"))
    broken = checkpoint("log", cpu={20: 1}, version="v2")
    decision = decided(vpa(), CHECKPOINT, broken, *fleet(2, *both))
    assert wanted(decision, "log") == {"cpu": 1000, "memory": GI}
    assert wanted(decision)["cpu"] == CPU
    broken, peak = decision.unknown
    assert "checkpoints lack the memory peak" in peak
    assert "web-log" in broken


def test_another_recommender_writes_the_status():
    """Its histograms are not used."""
    named = vpa(status=STATUS, spec={"recommenders": [{"name": "oracle"}]})
    assert wanted(decided(named, CHECKPOINT, *fleet(2))) == {"cpu": 2000, "memory": 2 * GI}
    named = vpa(status=STATUS, spec={"recommenders": [{"name": "default"}]})
    assert wanted(decided(named, CHECKPOINT, *fleet(2))) == {"cpu": CPU, "memory": MEMORY}


@pytest.mark.parametrize(
    "said", [{"ConfigUnsupported": "True"}, {"LowConfidence": "True"}, {"RecommendationProvided": "False"}]
)
def test_a_status_that_withdraws_its_recommendation(said):
    """It is not used, and the error names the status."""
    status = advised(recommended(), **said)
    decision = decided(vpa(status=status), *fleet(2))
    assert not decision.decided
    assert "status of VerticalPodAutoscaler web" in decision.error


# The numbers.


def test_the_numbers_of_a_checkpoint_calculated_manually():
    """Weights 5, 10 and 1: the median and the 90th percentile are in the second bucket, the 95th in the third.

    Buckets end at 0.2 (1.05 ** (b + 1) - 1) cores: 357m and 707m; a margin of 15 % is cut to 53m and 106m. A week of
    samples is a confidence of 7: the lower bound is times (1 + 0.001 / 7) ** -2, the upper one times 8 / 7.
    Of memory, buckets end at 2e8 times that; weights 3 and 1 have the median in the first bucket, the others in the
    second: 1,278,397,629 and 1,781,194,218 bytes.
    """
    learnt = checkpoint(cpu={10: 5000, 20: 10000, 30: 1000}, memory={40: 9000, 46: 3000})
    found = figures(decided(vpa(), learnt, *fleet(2)))
    assert found["target"] == {"cpu": "410m", "memory": str(1_781_194_218 + 267_179_132)}
    assert found["lowerBound"] == {"cpu": "409m", "memory": "1469737318"}
    assert found["upperBound"] == {"cpu": "929m", "memory": "2340998114"}
    assert found["uncappedTarget"] == found["target"]


def test_little_history_widens_the_bounds():
    """After an hour the upper bound is 25 times as high, and the lower one is 1.05 times as low."""
    learnt = checkpoint(cpu={20: 1}, memory={40: 1}, firstSampleStart=ago(MINUTE + HOUR), totalSamplesCount=60)
    found = figures(decided(vpa(), learnt, *fleet(2)))
    assert found["target"] == {"cpu": "410m", "memory": str(MEMORY)}
    assert found["upperBound"]["cpu"] == "10250m"
    assert found["lowerBound"]["cpu"] == "391m"


def test_one_sample_bounds_nothing():
    """Without history the bounds are the pod's minimum and the largest amount."""
    learnt = checkpoint(cpu={20: 1}, memory={40: 1}, firstSampleStart=ago(MINUTE), totalSamplesCount=1)
    found = figures(decided(vpa(), learnt, *fleet(2)))
    assert found["lowerBound"] == {"cpu": "25m", "memory": "250Mi"}
    assert found["upperBound"] == {"cpu": "100G", "memory": "97656250000Ki"}


def test_containers_share_the_minimum_of_a_pod():
    """25m and 250Mi are divided by two; a container that is switched off gets no share."""
    idle = {"cpu": {0: 1}, "memory": {0: 1}}
    both = [checkpoint(name, **idle) for name in ("app", "log")]
    shared = decided(vpa(), *both, *fleet(2, box(), box("log")))
    assert wanted(shared) == {"cpu": 12, "memory": 125 * MI}
    alone = decided(vpa(None, policy("log", mode="Off")), *both, *fleet(2, box(), box("log")))
    assert wanted(alone) == {"cpu": 25, "memory": 250 * MI}


def test_what_was_saved_is_recommended_again():
    """Histories move between recommenders: our checkpoint gives the figures that our histograms gave."""
    usage, knobs = Usage(), Knobs()
    instance = usage.instance(usage.declare("web", "app", knobs, NOW - 2 * DAY), "u0")
    start = NOW - 2 * DAY
    usage.observe([(instance, 100.0 + i % 700, (100 + i % 40) * MI, start + i * MINUTE) for i in range(2880)])
    expected = usage.view("web").estimate(knobs, ["app"], {})[0]
    saved = usage.save("web", "app", NOW + DAY)
    learnt = checkpoint(**saved)
    found = decided(vpa(), learnt, *fleet(2), now=NOW + DAY)
    assert wanted(found) == dict(expected.target)
    assert found.reported["recommendation"]["containerRecommendations"] == [
        {
            "containerName": "app",
            "target": {"cpu": f"{expected.target['cpu']}m", "memory": figures(found)["target"]["memory"]},
            "lowerBound": {"cpu": f"{expected.lower['cpu']}m", "memory": figures(found)["lowerBound"]["memory"]},
            "upperBound": {"cpu": f"{expected.upper['cpu']}m", "memory": figures(found)["upperBound"]["memory"]},
            "uncappedTarget": figures(found)["target"],
        }
    ]


# Knobs.


def test_annotations_are_knobs_of_one_object():
    """Percentile and margin of this object; another object is not affected."""
    learnt = {"cpu": {10: 5000, 20: 10000, 30: 1000}, "memory": {40: 1}}
    knobs = {"hypot.dev/target-cpu-percentile": "0.3", "hypot.dev/safety-margin": "0"}
    tuned = vpa(annotations=knobs)
    # The 30th percentile is in the bucket that ends at 0.2 (1.05 ** 11 - 1) cores.
    assert wanted(decided(tuned, checkpoint(**learnt), *fleet(2)))["cpu"] == 142
    other = vpa(name="other")
    assert wanted(decided(tuned, other, checkpoint(owner="other", **learnt), *fleet(2), name="other"))["cpu"] == 410


def test_settings_are_knobs_of_all_objects():
    """An annotation comes before them."""
    setup = {"vpa": Knobs(safety_margin=1.0, min_replicas=1)}
    assert wanted(decided(vpa(), CHECKPOINT, *fleet(1), **setup))["cpu"] == 714
    tuned = vpa(annotations={"hypot.dev/safety-margin": "0.5"})
    assert wanted(decided(tuned, CHECKPOINT, *fleet(1), **setup))["cpu"] == 535
    assert acts(decided(vpa(), CHECKPOINT, *fleet(1), **setup)) == [("web-0", "evict", "outside-bounds")]


def test_a_knob_that_cannot_be_read_changes_nothing():
    """It is reported as a problem of the object."""
    broken = vpa(annotations={"hypot.dev/safety-margin": "much"})
    assert wanted(decided(broken, CHECKPOINT, *fleet(2)))["cpu"] == CPU
    assert [p.where[-1] for p in VPA.from_dict(broken).problems()] == ["hypot.dev/safety-margin"]


def test_a_half_life_decays_what_comes_later():
    """A checkpoint is read as of its own reference, so on its own it is the same under any half-life."""
    tuned = vpa(annotations={"hypot.dev/cpu-half-life": "1h", "hypot.dev/memory-half-life": "30m"})
    assert wanted(decided(tuned, CHECKPOINT, *fleet(2))) == {"cpu": CPU, "memory": MEMORY}


def test_the_cluster_s_maximum():
    """It applies where the policy has none."""
    setup = {"vpa": Knobs(max_allowed_cpu=300, max_allowed_memory=GI)}
    assert wanted(decided(vpa(), CHECKPOINT, *fleet(2), **setup)) == {"cpu": 300, "memory": GI}
    own = vpa(None, policy(maxAllowed=sized("350m")))
    assert wanted(decided(own, CHECKPOINT, *fleet(2), **setup)) == {"cpu": 350, "memory": GI}


# Bounds.


def test_allowed_amounts_cap_all_but_the_uncapped_target():
    """A separate step says what the object allows."""
    decision = decided(
        vpa(None, policy(minAllowed=sized("600m", "1Gi"), maxAllowed=sized("800m", "1280Mi"))), CHECKPOINT, *fleet(2)
    )
    assert figures(decision) == {
        "containerName": "app",
        "target": {"cpu": "600m", "memory": "1280Mi"},
        "lowerBound": {"cpu": "600m", "memory": "1280Mi"},
        "upperBound": {"cpu": "600m", "memory": "1280Mi"},
        "uncappedTarget": {"cpu": "410m", "memory": str(MEMORY)},
    }
    assert sentences(decision, "allowed") == [
        "app: the target within what the object allows is cpu 600m, memory 1280Mi."
    ]


def test_the_policy_of_all_containers_and_of_one():
    """The exact name counts, else the star."""
    every, own = policy("*", maxAllowed=sized("100m")), policy(maxAllowed=sized("200m"))
    both = [checkpoint(name, cpu={20: 1}, memory={40: 1}) for name in ("app", "log")]
    decision = decided(vpa(None, every, own), *both, *fleet(2, box(), box("log")))
    assert (wanted(decision)["cpu"], wanted(decision, "log")["cpu"]) == (200, 100)


@pytest.mark.parametrize(
    ("resources", "cpu", "memory"), [(["cpu"], CPU, GI), (["memory"], 1000, MEMORY), ([], 1000, GI)]
)
def test_only_controlled_resources_are_sized(resources, cpu, memory):
    """The other stays as it is; an empty list controls nothing."""
    decision = decided(vpa(None, policy(controlledResources=resources)), CHECKPOINT, *fleet(2))
    assert wanted(decision) == {"cpu": cpu, "memory": memory}
    assert set(figures(decision).get("target", {})) == set(resources)


def test_limits_follow_requests_in_proportion():
    """Unless only requests are controlled: then the limit stays, and bounds the request."""
    bounded = box(limits=sized("2", "1200Mi"))
    decision = decided(vpa(), CHECKPOINT, *fleet(2, bounded))
    assert limits(decision) == {"cpu": 820, "memory": MEMORY * 1200 // 1024}
    only = decided(vpa(None, policy(controlledValues="RequestsOnly")), CHECKPOINT, *fleet(2, bounded))
    assert wanted(only) == {"cpu": CPU, "memory": 1200 * MI}
    assert limits(only) == {"cpu": 2000, "memory": 1200 * MI}
    assert sentences(only, "fitted") == ["app: memory capped to container limit, in 2 of 2 pods."]


def test_a_limit_range_bounds_limits():
    """The request is chosen so that its limit fits; of several ranges the tightest applies."""
    ranges = [limit_range(max=sized("1")), limit_range(name="tight", max=sized("600m"), min=sized(memory="1Gi"))]
    decision = decided(vpa(), CHECKPOINT, *ranges, *fleet(2, box(limits=sized("2", "1Gi"))))
    assert wanted(decision) == {"cpu": 300, "memory": MEMORY}
    assert limits(decision) == {"cpu": 600, "memory": MEMORY}
    assert "app: cpu capped to fit Max in container LimitRange, in 2 of 2 pods." in sentences(decision, "fitted")
    # The recommendation itself ignores it.
    assert figures(decision)["target"]["cpu"] == "410m"


def test_a_limit_range_of_pods_is_shared():
    """Limits of 820m each are too much for a pod of one core: both requests are cut by the same share."""
    both = [checkpoint(name, cpu={20: 1}, memory={40: 1}) for name in ("app", "log")]
    twins = (box(limits=sized("2", "1Gi")), box("log", limits=sized("2", "1Gi")))
    decision = decided(vpa(), *both, limit_range("Pod", max=sized("1")), *fleet(2, *twins))
    assert [wanted(decision, name)["cpu"] for name in ("app", "log")] == [250, 250]


def test_a_limit_range_of_another_namespace_is_ignored():
    """A LimitRange applies only in its own namespace."""
    stranger = limit_range(max=sized("100m"))
    stranger["metadata"]["namespace"] = "elsewhere"
    assert wanted(decided(vpa(), CHECKPOINT, stranger, *fleet(2, box(limits=sized("2")))))["cpu"] == CPU


def test_whole_cores():
    """For containers that pin their threads, all figures are rounded up."""
    decision = decided(
        vpa(annotations={"vpa-post-processor.kubernetes.io/app_integerCPU": "true"}), CHECKPOINT, *fleet(2)
    )
    found = figures(decision)
    assert {found[key]["cpu"] for key in ("target", "lowerBound", "upperBound", "uncappedTarget")} == {"1"}
    assert found["target"]["memory"] == str(MEMORY)
