"""Decisions of an Autoscaler: what is observed, decided and reported, from one decision to the next."""

from dataclasses import replace

import pytest

from builders import KNOWN, NOW, cpu_samples, fleet, reason_of, rules_of, seen
from hypot.kinds.autoscaler import WorkloadAutoscaler
from hypot.kinds.vpa.fields import ContainerPolicy
from hypot.policy.decide import decide
from hypot.policy.model.seen import ClusterNode, Container, Failure, MetricValue, metric_key
from hypot.policy.model.settings import Settings

STEP = 15.0
METRICS = {"requests_metric": "rate", "late_metric": "late"}


def autoscaler(**fields):
    return WorkloadAutoscaler("deployment/web", **{"mode": "Auto", **fields})


def box(cpu=1000, limit=1200, **more):
    """A container that may use 1.2 times its request."""
    return (Container("app", {"cpu": cpu, "memory": 2**30}, {} if limit is None else {"cpu": limit}, **more),)


def world(replicas, each, now=NOW, cpu=1000, limit=1200, **observed):
    """Pods that use so many millicores each; None without samples. The template asks for one core."""
    samples = {} if each is None else cpu_samples(*[each] * replicas)
    samples = {name: one._replace(at=now - STEP) for name, one in samples.items()}
    pods = fleet(replicas, containers=box(cpu, limit))
    template = box(1000, None if limit is None else 1200)
    return seen(replicas, now=now, **{"pods": pods, "template": template, "pod_metrics": samples, **observed})


def course(spec, demand, count, replicas=3, cpu=1000, state=KNOWN, begin=NOW):
    """Decisions every 15 s on a constant demand in millicores, each put into effect at once."""
    decisions, counts = [], [replicas] * 3
    for step in range(count):
        # Samples are means of the 30 seconds that ended a step ago.
        each = sum(demand / served for served in counts[-3:-1]) / 2
        seen_now = world(replicas, round(each), begin + step * STEP, cpu, cpu * 12 // 10)
        found, state = decide(spec, seen_now, state, Settings())
        if found.moves and not found.dry_run:
            replicas, cpu = found.desired, found.desired_sizes[0].requests["cpu"]
        decisions.append(found)
        counts.append(replicas)
    return decisions, state


def sentence_of(decision, rule):
    return next(step.sentence for step in decision.steps if step.rule == rule)


class TestFirst:
    def test_the_first_decision(self):
        """Nothing is priced yet; it grows at once, and releases nothing for 20 minutes."""
        found, state = decide(autoscaler(), world(3, 600), KNOWN, Settings())
        assert (found.desired, found.moves) == (3, True)
        assert [one.requests["cpu"] for one in found.desired_sizes] == [1300]
        assert [one.limits["cpu"] for one in found.desired_sizes] == [1600]
        assert sentence_of(found, "demand") == "app uses 1.8 cores: 0.6 of 1.2 cores in each of 3 pods."
        assert sentence_of(found, "cheapest-count") == "Pods pay at 81 % of their cap: 1."
        assert sentence_of(found, "minimum") == "The minimum is 2."
        assert "nothing is scaled down for another 20 min" in sentence_of(found, "kept-count")
        assert sentence_of(found, "size") == "app gets cpu 1300m, instead of 1."
        assert reason_of(found, "Learned") == "False/Beginning"
        assert state.autoscaler is not None

    def test_without_a_limit_the_request_is_the_cap(self):
        """More would be throttled by neighbours."""
        found, _ = decide(autoscaler(axes="Replicas"), world(3, 600, limit=None), KNOWN, Settings())
        assert sentence_of(found, "demand") == "app uses 1.8 cores: 0.6 of 1 cores in each of 3 pods."
        assert found.desired_sizes == found.sizes

    @pytest.mark.parametrize(("axes", "count", "size"), [("Replicas", True, False), ("Size", False, True)])
    def test_one_axis(self, axes, count, size):
        """The other stays, and is not explained."""
        found, _ = decide(autoscaler(axes=axes), world(3, 1100), KNOWN, Settings())
        assert ("cheapest-count" in rules_of(found), "cheapest-size" in rules_of(found)) == (count, size)
        assert (found.desired > 3, found.desired_sizes != found.sizes) == (count, size)


class TestLargestSize:
    """Without a written maximum, two pods fit into the largest node."""

    @pytest.mark.parametrize(
        ("nodes", "fields", "most"),
        [
            ({}, {}, 4000),
            ({"small": 2000, "large": 6000}, {}, 3000),
            ({"large": 64_000}, {}, 4000),
            ({"large": 6000, "unknown": None}, {}, 4000),
            ({"large": 1500}, {}, 1000),
            ({"large": 6000}, {"containers": [ContainerPolicy("app", max_allowed={"cpu": "5"})]}, 5000),
        ],
        ids=["no nodes", "half of the largest", "a large one", "one is not known", "the request stays", "as written"],
    )
    def test_the_bound(self, nodes, fields, most):
        """For a demand that no count of small pods serves."""
        found = {name: ClusterNode(name, {} if cpu is None else {"cpu": cpu}) for name, cpu in nodes.items()}
        spec = autoscaler(axes="Size", **fields)
        state, cpu = KNOWN, 1000
        for step in range(3):
            shown = world(2, cpu * 12 // 10, NOW + step * STEP, cpu, cpu * 12 // 10, nodes=found)
            decision, state = decide(spec, shown, state, Settings())
            cpu = decision.desired_sizes[0].requests["cpu"]
        assert cpu == most


class TestLater:
    def test_it_learns_and_comes_to_rest(self):
        """Few large pods for a constant demand; the status says what was learned."""
        decisions, _ = course(autoscaler(), 1800, 100)
        last = decisions[-1]
        assert (last.moves, last.desired, last.desired_sizes[0].requests["cpu"]) == (False, 2, 1400)
        assert sentence_of(last, "cheapest-rule").startswith(
            "Of 336 rules for the replicas, 'as now, +10 %, hold 75 s'"
        )
        assert reason_of(last, "Learned") == "True/Priced"
        assert reason_of(last, "ScalingBlocked") == "False/NotBlocked"
        assert (last.status["busy"], last.status["desiredReplicas"]) == ("64 %", 2)
        assert last.status["learned"]["demand"] == "1.8 cores"

    def test_pods_at_their_cap(self):
        """Twice what they use is planned for, and nothing is scaled down."""
        _, state = course(autoscaler(), 1800, 100)
        found, _ = decide(autoscaler(), world(2, 1190, NOW + 1500), state, Settings())
        assert "usage hides the demand: 4.76 cores, twice what they use" in sentence_of(found, "saturated")
        assert reason_of(found, "ScalingBlocked") == "True/Saturated"
        assert found.desired * found.desired_sizes[0].requests["cpu"] > 5000

    def test_without_samples_nothing_shrinks(self):
        """That is unknown, and blocked."""
        _, state = course(autoscaler(), 1800, 100)
        found, _ = decide(autoscaler(), world(9, None, NOW + 1500), state, Settings())
        assert (found.desired, found.moves) == (9, False)
        assert reason_of(found, "ScalingBlocked") == "True/NoMetrics"
        assert found.unknown == ("no pod that serves has a sample of its usage; nothing is scaled down until one has",)

    def test_pods_that_crash_together_keep_their_size(self):
        """What all of them used is not planned for one."""
        _, state = course(autoscaler(), 1800, 6, cpu=2000)
        crashed = world(3, None, NOW + 90, cpu=2000, limit=2400)
        crashed = replace(crashed, pods=tuple([replace(pod, ready="False") for pod in crashed.pods]))
        found, _ = decide(autoscaler(), crashed, state, Settings())
        assert (found.moves, found.desired_sizes) == (False, found.sizes)

    def test_growth_without_samples_is_explained(self):
        """With the demand that was seen last."""
        _, state = course(autoscaler(), 3300, 3)
        found, _ = decide(autoscaler(), world(2, None, NOW + 45), state, Settings())
        expected = "3.3 cores are expected, by the last samples and by other days"
        assert (found.moves, found.reason) == (True, expected)
        assert sentence_of(found, "blind") == f"No pod that serves has a sample of its usage: {expected}."
        assert sentence_of(found, "size").startswith("app gets cpu ")

    @pytest.mark.parametrize(("replicas", "count", "rule"), [(1, 2, "minimum"), (9, 5, "maximum")])
    def test_bounds_hold_without_samples(self, replicas, count, rule):
        """Nothing else is known."""
        found, _ = decide(autoscaler(max_replicas=5), world(replicas, None), KNOWN, Settings())
        assert (found.desired, found.reason) == (count, "the bounds of the autoscaler")
        assert sentence_of(found, rule) == f"The {rule} is {count}."

    def test_a_demand_beyond_the_maximum_is_reported(self):
        """Although the count stays."""
        found, _ = decide(autoscaler(max_replicas=3, axes="Replicas"), world(3, 1100), KNOWN, Settings())
        assert sentence_of(found, "maximum") == "The maximum is 3."
        assert reason_of(found, "ScalingLimited") == "True/TooManyReplicas"

    def test_a_count_above_the_maximum_is_explained(self):
        """It falls to the maximum, and what keeps it there is another step."""
        found, _ = decide(autoscaler(max_replicas=6, axes="Replicas"), world(9, 200), KNOWN, Settings())
        assert (found.desired, sentence_of(found, "maximum")) == (6, "The maximum is 6.")
        assert sentence_of(found, "kept-count").startswith("6 replicas stay: the last 80 decisions are not known")

    def test_before_there_is_a_choice_the_first_rule_decides(self):
        """Although some decisions are priced."""
        decisions, _ = course(autoscaler(), 1800, 20)
        assert sentence_of(decisions[-1], "first-rule").startswith("Too little is priced yet, so 'as now, +10 %")

    def test_only_a_reach_below_the_cap_is_reported(self):
        """What a pod can use is tried again, so it rises with time."""
        _, state = course(autoscaler(), 1800, 3)
        for reach, shown in ((0.7, "pods use at most 0.7 cores"), (5.0, None)):
            state.autoscaler.past.learned.reach[0] = reach
            found, _ = decide(autoscaler(), world(3, 600, NOW + 45), state, Settings())
            assert found.status["learned"].get("reach") == shown

    def test_fewer_pods_that_keep_the_cpu_of_all_are_explained(self):
        """Their size grows although less is asked for."""
        spec, state = autoscaler(), KNOWN
        for step in range(90):
            found, state = decide(spec, world(10, 300, NOW + step * STEP, limit=None), state, Settings())
        assert (found.desired < 10, found.desired_sizes[0].requests["cpu"] > 1000) == (True, True)
        assert sentence_of(found, "size").endswith("a shrink must be clear, so fewer pods keep the cpu of all.")

    def test_the_given_state_is_not_changed(self):
        """Each decision works on a copy."""
        _, state = course(autoscaler(), 1800, 50)
        before = state.autoscaler.to_dict()
        first, after = decide(autoscaler(), world(3, 700, NOW + 750), state, Settings())
        assert state.autoscaler.to_dict() == before
        assert after.autoscaler.to_dict() != before
        assert decide(autoscaler(), world(3, 700, NOW + 750), state, Settings())[0] == first

    def test_off_reports_only(self):
        """It learns like one that acts."""
        decisions, state = course(autoscaler(mode="Off"), 3300, 60)
        assert all(one.dry_run for one in decisions)
        assert reason_of(decisions[-1], "Ready") == "True/ReportsOnly"
        assert decisions[-1].desired != 3 or decisions[-1].desired_sizes != decisions[-1].sizes
        assert state.autoscaler.past.counts.priced[0] > 0


class TestWhatCannotBeDecided:
    def test_no_scale(self):
        """The reason is reported, and nothing changes."""
        observed = replace(world(3, 600), scale=Failure("the server is down"))
        found, _ = decide(autoscaler(), observed, KNOWN, Settings())
        assert reason_of(found, "Ready") == "False/FailedGetScale"
        assert found.desired is None

    def test_scaling_is_off_at_zero_replicas(self):
        """A person turned it off."""
        found, _ = decide(autoscaler(), world(0, None), KNOWN, Settings())
        assert (found.desired, reason_of(found, "Ready")) == (0, "False/ScalingDisabled")
        assert (found.decided, found.moves, found.error) == (True, False, "")

    @pytest.mark.parametrize(
        "containers", [[ContainerPolicy("*", mode="Off")], [ContainerPolicy("app", controlled_resources=["memory"])]]
    )
    def test_no_container_to_size(self, containers):
        """None that may be sized has a request."""
        found, _ = decide(autoscaler(containers=containers), world(3, 600), KNOWN, Settings())
        assert reason_of(found, "Ready") == "False/NoRequest"
        assert found.desired == 3


class TestContainers:
    @pytest.mark.parametrize("cpu", [100, 500, 2000])
    def test_the_largest_of_the_template_is_sized(self, cpu):
        """Also once it is smaller than another."""
        template = (Container("app", {"cpu": 500}, {}), Container("proxy", {"cpu": 400}, {}))
        pods = fleet(3, containers=(Container("app", {"cpu": cpu}, {}), template[1]))
        spec = autoscaler(containers=[ContainerPolicy("app", min_allowed={"cpu": "100m"})])
        found, _ = decide(spec, world(3, 50, pods=pods, template=template), KNOWN, Settings())
        assert sentence_of(found, "demand").startswith("app uses 0.15 cores")

    def test_without_a_request_in_the_template_those_of_pods_count(self):
        """A LimitRange may have added them."""
        found, _ = decide(autoscaler(), world(3, 600, template=(Container("app", {}, {}),)), KNOWN, Settings())
        assert sentence_of(found, "demand").startswith("app uses 1.8 cores")


class TestRequests:
    def values(self, name, each, replicas=3):
        return {metric_key(name, None): {f"web-{i}": MetricValue(each, NOW) for i in range(replicas)}}

    def test_at_the_cap_their_requests_count(self):
        """Once the work of one is known."""
        spec, state = autoscaler(**METRICS), KNOWN
        for step in range(8):
            observed = world(3, 800, NOW + step * STEP, pods_metrics=self.values("rate", 40_000))
            _, state = decide(spec, observed, state, Settings())
        assert state.autoscaler.past.learned.work[0] == pytest.approx(0.02)
        observed = world(3, 1190, NOW + 8 * STEP, pods_metrics=self.values("rate", 200_000))
        found, _ = decide(spec, observed, state, Settings())
        assert "usage hides the demand: 12 cores, by their requests" in sentence_of(found, "saturated")

    def test_late_requests_are_learned(self):
        """Where many are late though much is idle, pods need more room."""
        spec, state = autoscaler(**METRICS), KNOWN
        for step in range(60):
            metrics = {**self.values("rate", 40_000), **self.values("late", 8_000)}
            _, state = decide(spec, world(3, 600, NOW + step * STEP, pods_metrics=metrics), state, Settings())
        assert state.autoscaler.past.learned.kappa[0] < 10.0
