"""One decision of a HorizontalPodAutoscaler: from metrics to a count, and its report."""

import json
from dataclasses import replace

import pytest

from builders import (
    KNOWN,
    LONG_AGO,
    MI,
    NOW,
    busy,
    cpu_samples,
    decided,
    fleet,
    hpa,
    pod,
    queue,
    reason_of,
    refused,
    rules_of,
    sample,
    seen,
)
from hypot.core.instant import show_time
from hypot.kinds.hpa import HPA
from hypot.kinds.hpa.fields import ScalingRules, cpu, external, memory, on, pods
from hypot.kinds.metric_values import MetricValue
from hypot.policy.decide import decide
from hypot.policy.horizontal.hpa import recommend, resolve
from hypot.policy.horizontal.tolerances import tolerances
from hypot.policy.model.decision import Condition, Decision, MoveReport, condition_of
from hypot.policy.model.seen import Container, Failure, PodSample, Scale, Seen, metric_key
from hypot.policy.model.settings import Settings
from hypot.policy.model.state import State

INGRESS = on("ingress/front", "rps", value=100)
INGRESS_KEY = metric_key("rps", None, "Ingress/front")
QUEUE_KEY = metric_key("queue", None)
RATE_KEY = metric_key("rate", None)


def rates(*values):
    return {RATE_KEY: {f"web-{i}": MetricValue(v) for i, v in enumerate(values)}}


def two_containers(app, side):
    return PodSample(NOW - 10, 30.0, (("app", {"cpu": app}), ("side", {"cpu": side})))


def first(decision):
    """The numbers of the first metric."""
    return decision.steps[0].numbers


class TestSources:
    """Every source with every kind of target."""

    @pytest.mark.parametrize(
        ("metric", "observed", "desired", "reason", "current"),
        [
            (
                cpu(utilization=50),
                busy(900, 900, 900),
                6,
                "cpu resource utilization (percentage of request)",
                {"averageUtilization": 90, "averageValue": "900m"},
            ),
            (cpu(average="500m"), busy(900, 900, 900), 6, "cpu resource", {"averageValue": "900m"}),
            (
                memory(utilization=50),
                seen(3, pod_metrics={f"web-{i}": sample(memory=80 * MI) for i in range(3)}),
                5,
                "memory resource utilization (percentage of request)",
                {"averageUtilization": 80, "averageValue": "80Mi"},
            ),
            (
                memory(average="50Mi"),
                seen(3, pod_metrics={f"web-{i}": sample(memory=80 * MI) for i in range(3)}),
                5,
                "memory resource",
                {"averageValue": "80Mi"},
            ),
            (
                cpu(utilization=50, container="app"),
                seen(2, pod_metrics={f"web-{i}": two_containers(800, 5000) for i in range(2)}),
                4,
                "cpu container resource utilization (percentage of request)",
                {"averageUtilization": 80, "averageValue": "800m"},
            ),
            (
                cpu(average="400m", container="app"),
                seen(2, pod_metrics={f"web-{i}": two_containers(800, 5000) for i in range(2)}),
                4,
                "cpu resource",
                {"averageValue": "800m"},
            ),
            (pods("rate", average=10), seen(3, pods_metrics=rates(15000, 15000, 15000)), 5, "pods metric rate", None),
            (INGRESS, seen(3, object_metrics={INGRESS_KEY: 150_000}), 5, "Ingress metric rps", {"value": "150"}),
            (
                on("ingress/front", "rps", average=100),
                seen(3, object_metrics={INGRESS_KEY: 450_000}),
                5,
                "external metric rps(nil)",
                {"averageValue": "150"},
            ),
            (
                external("queue", value=100),
                queue((100_000, 50_000), 3),
                5,
                "external metric queue(nil)",
                {"value": "150"},
            ),
            (
                external("queue", average=100),
                queue((400_000, 50_000), 3),
                5,
                "external metric queue(nil)",
                {"averageValue": "150"},
            ),
        ],
    )
    def test_a_metric_above_its_target(self, metric, observed, desired, reason, current):
        """The count, the message of the event, and the metric's entry in the status."""
        decision = decided(hpa(metric), observed)
        assert decision.desired == desired
        assert decision.reason == f"{reason} above target"
        assert decision.events[-1].message == f"New size: {desired}; reason: {reason} above target"
        (entry,) = decision.status["currentMetrics"]
        source = entry[entry["type"][0].lower() + entry["type"][1:]]
        assert source["current"] == (current or {"averageValue": "15"})

    @pytest.mark.parametrize(
        ("metric", "observed", "desired"),
        [
            (cpu(utilization=50), busy(100, 100, 100, 100), 1),
            (cpu(average="500m"), busy(300, 300, 300, 300), 3),
            (pods("rate", average=10), seen(4, pods_metrics=rates(6000, 6000, 6000, 6000)), 3),
            (INGRESS, seen(4, object_metrics={INGRESS_KEY: 50_000}), 2),
            (on("ingress/front", "rps", average=100), seen(4, object_metrics={INGRESS_KEY: 201_000}), 3),
            (external("queue", value=100), queue(25_000, 4), 1),
            (external("queue", average=100), queue(100_001, 4), 2),
        ],
    )
    def test_a_metric_below_its_target(self, metric, observed, desired):
        """All of them round up."""
        decision = decided(hpa(metric), observed)
        assert (decision.desired, decision.reason) == (desired, "All metrics below target")

    @pytest.mark.parametrize(
        ("target", "desired"),
        [
            ({"type": "Value", "averageUtilization": 50}, 6),
            ({"type": "Utilization", "averageValue": "300m"}, 9),
            ({"averageValue": "300m", "averageUtilization": 50}, 9),
        ],
    )
    def test_the_field_counts_not_the_type(self, target, desired):
        """An average value outranks a utilisation."""
        decision = decided(self.read("Resource", {"name": "cpu", "target": target}), busy(900, 900, 900))
        assert decision.readings[0].proposal == desired

    @pytest.mark.parametrize(
        ("kind", "source", "reason"),
        [
            ("Resource", {"name": "cpu", "target": {}}, "FailedGetResourceMetric"),
            ("ContainerResource", {"name": "cpu", "container": "app"}, "FailedGetContainerResourceMetric"),
            ("Pods", {"metric": {"name": "rate"}, "target": {"value": "1"}}, "FailedGetPodsMetric"),
            ("Object", {"metric": {"name": "rps"}, "target": {"type": "Value"}}, "FailedGetObjectMetric"),
            ("External", {"metric": {"name": "queue"}, "target": {}}, "FailedGetExternalMetric"),
            ("Moon", {}, "InvalidMetricSourceType"),
        ],
    )
    def test_a_metric_without_a_target_fails(self, kind, source, reason):
        """The condition has the reason of the metric's own type."""
        decision = decided(self.read(kind, source), busy(900, 900, 900))
        assert not decision.decided
        assert reason_of(decision, "ScalingActive") == f"False/{reason}"
        assert decision.error_kind == ("spec" if kind == "Moon" else "internal")

    @staticmethod
    def read(kind, source):
        key = kind[0].lower() + kind[1:]
        spec = {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            "maxReplicas": 100,
            "metrics": [{"type": kind, key: source}],
        }
        return HPA.from_dict({"metadata": {"name": "web"}, "spec": spec})

    def test_without_metrics_it_is_cpu_at_80_percent(self):
        """The API server's default."""
        assert decided(hpa(), busy(1000, 1000, 1000, 1000)).desired == 5

    @pytest.mark.parametrize(
        ("observed", "message"),
        [
            ({"pod_metrics": {}}, "no metrics returned from resource metrics API"),
            ({"pod_metrics": Failure("the server is down")}, "the server is down"),
            ({"pod_metrics": cpu_samples(1), "pods": ()}, "no pods returned by selector"),
            ({"pod_metrics": cpu_samples(1), "pods": fleet(1, phase="Pending")}, "pods might be unready"),
            ({"pod_metrics": {"other": sample(5)}}, "no metrics returned matched known pods"),
            ({"pod_metrics": {"web-0": sample(memory=5)}}, "did not receive metrics"),
        ],
    )
    def test_what_cannot_be_measured(self, observed, message):
        """Each failure says what was missing."""
        decision = decided(hpa(cpu(utilization=50)), seen(1, **observed))
        assert message in decision.error
        assert reason_of(decision, "ScalingActive") == "False/FailedGetResourceMetric"

    def test_too_many_metrics(self):
        """The first hundred are read. The rest count as one that failed, so nothing is scaled down; it may scale up."""
        many = hpa(*[cpu(utilization=50)] * 130)
        up, down = decided(many, busy(900, 900)), decided(many, busy(10, 10))
        assert (up.desired, down.desired) == (4, 2)
        assert len(up.readings) == 101
        assert up.readings[-1].error == "it has 130 metrics, and only the first 100 are read"
        assert len(decided(hpa(*[cpu(utilization=50)] * 100), busy(10, 10)).readings) == 100


class TestTraps:
    """Where a re-implementation goes wrong."""

    def test_a_percent_is_cut_before_the_ratio(self):
        """77.9 % counts as 77 %, which is just within 10 % of 70 %."""
        assert decided(hpa(cpu(utilization=70)), busy(779, 779, 779)).desired == 3
        assert decided(hpa(cpu(utilization=70)), busy(780, 780, 780)).desired == 4

    def test_the_multiplier_is_ready_pods_not_replicas(self):
        """Five replicas are desired, three pods exist."""
        observed = replace(busy(1000, 1000, 1000), scale=seen(5).scale)
        assert decided(hpa(cpu(utilization=50)), observed).desired == 6

    @pytest.mark.parametrize(("target", "percent", "desired"), [(70, 28, 2), (150, 38, 2), (40, 28, 4)])
    def test_a_missing_sample_costs_the_target_on_the_way_down(self, target, percent, desired):
        """Four pods at 10 %; the unknown pod counts as 100 % of its request, or as the target if that is more."""
        decision = decided(hpa(cpu(utilization=target)), busy(100, 100, 100, 100, None))
        assert first(decision)["ratioFilledIn"] == percent / target
        assert decision.desired == desired

    def test_a_missing_sample_is_the_target_in_averages(self):
        """Three pods at 100m, the missing pod counts as 500m: 200m on average of four."""
        assert decided(hpa(cpu(average="500m")), busy(100, 100, 100, None)).desired == 2

    @pytest.mark.parametrize(
        ("usages", "desired"),
        [
            ((1000, 1000, None), 4),  # 2000 of 3000 is 66 %: still above 50 %
            ((800, 800, None), 3),  # 53 % is within tolerance
            ((600, None, None), 3),  # 20 %: the direction would change
        ],
    )
    def test_a_missing_sample_is_nothing_on_the_way_up(self, usages, desired):
        """A missing sample never supports the move."""
        assert decided(hpa(cpu(utilization=50)), busy(*usages)).desired == desired

    def test_exactly_on_target_nothing_is_filled_in(self):
        """A ratio of one changes nothing, whichever sample is missing."""
        decision = decided(hpa(cpu(utilization=50)), busy(500, 500, None))
        assert (decision.desired, first(decision)["ratioFilledIn"]) == (3, 1.0)

    def test_unready_pods_count_as_idle_on_the_way_up_only(self):
        """Three pods at 90 % and one pending: 67 % of four; at 10 % the pending pod is left out."""
        waiting = (*fleet(3), pod("web-3", phase="Pending"))
        up = decided(hpa(cpu(utilization=50)), seen(4, pods=waiting, pod_metrics=cpu_samples(900, 900, 900)))
        down = decided(hpa(cpu(utilization=50)), seen(4, pods=waiting, pod_metrics=cpu_samples(100, 100, 100)))
        assert (first(up)["ratioFilledIn"], up.desired) == (67 / 50, 6)
        assert "ratioFilledIn" not in first(down)
        assert down.desired == 1

    def test_a_surge_never_turns_the_direction(self):
        """In a rollout there are more pods than replicas: a ratio below one must not raise the count."""
        observed = replace(busy(*[300] * 9, None), scale=seen(4).scale)
        decision = decided(hpa(cpu(utilization=50)), observed)
        assert first(decision)["ratioFilledIn"] < 0.9
        assert decision.desired == 4

    def test_samples_of_unknown_pods(self):
        """They count in averages, but not in utilisation, which has no request for them."""
        strange = {**cpu_samples(500, 500), "gone": sample(3000)}
        assert decided(hpa(cpu(average="500m")), seen(2, pod_metrics=strange)).readings[0].proposal == 6
        assert decided(hpa(cpu(utilization=50)), seen(2, pod_metrics=strange)).desired == 2

    def test_unknown_pods_count_among_the_filled_in_samples(self):
        """Two pods at 90 % and one missing are 60 % of three, times four samples."""
        strange = {**cpu_samples(900, 900), "gone": sample(1)}
        decision = decided(hpa(cpu(utilization=50)), seen(3, pod_metrics=strange))
        assert decision.desired == 5

    @pytest.mark.parametrize("state", [{"phase": "Failed"}, {"deleted": True}, {"phase": "Pending"}])
    def test_requests_are_demanded_of_pods_that_do_not_count(self, state):
        """One such pod without a request fails the metric, and it is named."""
        odd = pod("job-1", containers=(Container("task", {}),), **state)
        decision = decided(hpa(cpu(utilization=50)), replace(busy(900, 900), pods=(*fleet(2), odd)))
        assert not decision.decided
        assert "missing request for cpu in container task of Pod job-1" in decision.error
        assert decided(hpa(cpu(average="500m")), replace(busy(900, 900), pods=(*fleet(2), odd))).desired > 2

    def test_totals_are_weighed_by_ready_pods(self):
        """Pods being deleted still count; unready and pending pods do not."""
        mixed = (pod("a"), pod("b", deleted=True), pod("c", ready="False"), pod("d", phase="Pending"), pod("e"))
        assert decided(hpa(external("queue", value=1)), queue(2000, 5, pods=mixed)).desired == 6

    def test_totals_over_no_ready_pod_propose_nothing(self):
        """If overload makes every pod unready, the proposal is zero: only the minimum holds."""
        decision = decided(
            hpa(external("queue", value=1), min_replicas=2), queue(9000, 5, pods=fleet(5, ready="False"))
        )
        assert (decision.readings[0].proposal, decision.desired) == (0, 2)

    def test_shares_are_divided_among_the_existing_pods(self):
        """10 at 5 per pod is on target for the two pods of the status, whatever spec.replicas says."""
        decision = decided(hpa(external("queue", average=5)), queue(10_000, 4, status=2))
        assert decision.readings[0].proposal == 2
        assert first(decision)["pods"] == 2
        assert " per pod over 2 pods (target 5" in decision.readings[0].step.sentence
        alone = decided(hpa(external("queue", average=5)), queue(10_000, 1))
        assert " per pod over 1 pod (target 5" in alone.readings[0].step.sentence

    def test_a_negative_running_sum_counts_as_overflow(self):
        """Only for a value per pod."""
        shared = decided(hpa(external("queue", average=5)), queue((-1000, 500), 3))
        total = decided(hpa(external("queue", value=5)), queue((-1000, 500), 3))
        assert (shared.desired, total.desired) == (6, 1)

    def test_the_history_keeps_what_is_beyond_bounds(self):
        """The recommendation before bounds is remembered."""
        _, after = decide(hpa(cpu(utilization=10), max_replicas=5), busy(900, 900, 900), KNOWN, Settings())
        assert after.recommendations.values == (27,)


class TestGrouping:
    """Which pods count: one odd pod next to three ready pods."""

    @pytest.mark.parametrize(
        ("state", "group"),
        [
            ({}, "ready"),
            ({"deleted": True}, "ignored"),
            ({"phase": "Failed"}, "ignored"),
            ({"phase": "Failed", "deleted": True}, "ignored"),
            ({"phase": "Pending"}, "unready"),
            ({"phase": "Succeeded"}, "ready"),
            ({"ready": None}, "unready"),
            ({"started": None}, "unready"),
            ({"ready": "Unknown"}, "ready"),
            ({"ready": "False"}, "unready"),  # unready since its start: it never was ready
            ({"ready": "False", "ready_since": NOW - 60}, "ready"),  # it became unready later
            ({"started": NOW - 200, "ready": "False", "ready_since": NOW - 60}, "unready"),
            ({"started": NOW - 200, "ready_since": NOW - 60}, "ready"),
            ({"started": NOW - 200, "ready_since": NOW - 35}, "unready"),  # its sample began before it was ready
            ({"started": NOW - 300, "ready_since": NOW - 35}, "ready"),
        ],
    )
    def test_cpu(self, state, group):
        """Samples are ten seconds old and measure thirty."""
        assert self.group_of(cpu(utilization=50), state) == group
        assert self.group_of(cpu(average="500m"), state) == group
        assert self.group_of(cpu(average="500m", container="app"), state) == group

    @pytest.mark.parametrize(
        ("state", "group"),
        [
            ({"ready": None}, "ready"),
            ({"started": None}, "ready"),
            ({"ready": "False"}, "ready"),
            ({"phase": "Pending"}, "unready"),
            ({"deleted": True}, "ignored"),
        ],
    )
    def test_readiness_matters_for_cpu_alone(self, state, group):
        """A pending pod is unready for every metric."""
        assert self.group_of(memory(utilization=50), state) == group
        assert self.group_of(pods("rate", average=10), state) == group

    def test_a_sample_without_the_resource_is_missing(self):
        """So is a sample in which a container lacks it."""
        half = PodSample(NOW - 10, 30.0, (("app", {"cpu": 900}), ("side", {})))
        observed = seen(3, pod_metrics={**cpu_samples(900, 900), "web-2": half})
        assert first(decided(hpa(cpu(utilization=50)), observed))["missing"] == ["web-2"]
        assert "missing" not in first(decided(hpa(cpu(utilization=50, container="app")), observed))

    @staticmethod
    def group_of(metric, state):
        everyone = (*fleet(3), pod("odd", **state))
        measured = {p.name: sample(900, 90 * MI) for p in everyone}
        values = {RATE_KEY: {p.name: MetricValue(15_000) for p in everyone}}
        numbers = first(decided(hpa(metric), seen(4, pods=everyone, pod_metrics=measured, pods_metrics=values)))
        groups = [name for name in ("unready", "missing", "ignored") if numbers.get(name) == ["odd"]]
        assert numbers["ready"] == (3 if groups else 4)
        return groups[0] if groups else "ready"


class TestRequests:
    """What utilisation is measured against."""

    def test_native_sidecars_and_all_containers(self):
        """All containers that run all the time count."""
        both = (Container("app", {"cpu": 500}), Container("side", {"cpu": 500}))
        observed = seen(2, pods=fleet(2, containers=both), pod_metrics=cpu_samples(800, 800))
        assert first(decided(hpa(cpu(utilization=50)), observed))["utilization"] == 80

    @pytest.mark.parametrize(
        ("version", "gates", "percent"),
        [((1, 37), {}, 40), ((1, 33), {}, 80), ((1, 36), {"PodLevelResources": False}, 80)],
    )
    def test_pod_level_requests(self, version, gates, percent):
        """They replace the containers' requests if the gate is open, and the runtime's overhead is added."""
        observed = seen(
            1, pods=fleet(1, pod_requests={"cpu": 1900}, overhead={"cpu": 100}), pod_metrics=cpu_samples(800)
        )
        numbers = first(decided(hpa(cpu(utilization=50)), observed, kubernetes=version, gates=gates))
        assert numbers["utilization"] == percent

    @pytest.mark.parametrize(("version", "is_decided"), [((1, 35), False), ((1, 34), True)])
    def test_a_pod_without_the_container(self, version, is_decided):
        """Since 1.35 it fails the metric; before, it counted as a request of zero."""
        other = pod("web-1", containers=(Container("other", {"cpu": 100}),))
        observed = seen(2, pods=(pod("web-0"), other), pod_metrics=cpu_samples(900))
        decision = decided(hpa(cpu(utilization=50, container="app")), observed, kubernetes=version)
        assert decision.decided is is_decided


class TestTolerance:
    """How far off the target nothing moves."""

    @pytest.mark.parametrize(("usage", "desired"), [(44, 9), (45, 10), (50, 10), (55, 10), (56, 12)])
    def test_both_ends_are_inside(self, usage, desired):
        """Ten pods, a target of 50 %, a tolerance of 10 %."""
        assert decided(hpa(cpu(utilization=50)), busy(*[usage * 10] * 10)).desired == desired

    @pytest.mark.parametrize(
        ("usage", "desired"), [(60, 10), (61, 13), (49, 10), (48, 10), (47, 10), (30, 10), (29, 6)]
    )
    def test_each_direction_has_its_own(self, usage, desired):
        """20 % upwards, 40 % downwards."""
        spec = hpa(
            cpu(utilization=50),
            scale_up=ScalingRules(tolerance="0.2"),
            scale_down=ScalingRules(tolerance="400m", window=0),
        )
        assert decided(spec, busy(*[usage * 10] * 10)).desired == desired

    @pytest.mark.parametrize(
        ("version", "gates", "expected"),
        [
            ((1, 37), {}, (0.1, 0.0)),
            ((1, 35), {}, (0.1, 0.0)),
            ((1, 34), {}, (0.1, 0.1)),
            ((1, 34), {"HPAConfigurableTolerance": True}, (0.1, 0.0)),
            ((1, 36), {"HPAConfigurableTolerance": False}, (0.1, 0.1)),
            ((1, 37), {"HPAConfigurableTolerance": False}, (0.1, 0.0)),  # locked by then
        ],
    )
    def test_the_gate(self, version, gates, expected):
        """If it is closed, the cluster's tolerance applies."""
        spec = hpa(cpu(utilization=50), scale_up=ScalingRules(tolerance="0"))
        assert tolerances(spec, Settings(kubernetes=version, gates=gates)) == expected
        moved = decided(spec, busy(510, 510), kubernetes=version, gates=gates).desired
        assert moved == (3 if expected[1] == 0.0 else 2)

    def test_the_cluster_s_own(self):
        """It is a setting for every metric."""
        assert decided(hpa(cpu(utilization=50)), busy(510, 510), tolerance=0.01).desired == 3

    def test_it_holds_for_every_source(self):
        """Within the tolerance the count stays, and the step says so."""
        for spec, observed in [
            (hpa(pods("rate", average=10)), seen(2, pods_metrics=rates(10_900, 10_900))),
            (hpa(INGRESS), seen(2, object_metrics={INGRESS_KEY: 109_000})),
            (hpa(external("queue", value=100)), queue(91_000, 2)),
            (hpa(external("queue", average=100)), queue(219_000, 2)),
        ]:
            decision = decided(spec, observed)
            assert decision.desired == 2
            assert "within tolerance, stay at 2" in decision.steps[0].sentence


class TestManyMetrics:
    """The largest proposal wins, and a failure never scales down."""

    BOTH = (cpu(utilization=50), external("queue", average=1))

    @staticmethod
    def world(usage, amount):
        values = amount if isinstance(amount, Failure) else (amount,)
        return replace(busy(*[usage] * 4), external_metrics={QUEUE_KEY: values})

    @pytest.mark.parametrize(
        ("usage", "amount", "desired", "reason"),
        [
            (1000, 2000, 8, "cpu resource utilization (percentage of request) above target"),
            (1000, 8000, 8, "cpu resource utilization (percentage of request) above target"),  # the first of equals
            (500, 7000, 7, "external metric queue(nil) above target"),
            (100, 3000, 3, "All metrics below target"),
            (500, 1000, 4, ""),
        ],
    )
    def test_the_largest(self, usage, amount, desired, reason):
        """From four replicas."""
        decision = decided(hpa(*self.BOTH), self.world(usage, amount))
        assert (decision.desired, decision.reason) == (desired, reason)
        assert reason_of(decision, "ScalingActive") == "True/ValidMetricFound"

    def test_scaling_up_continues_while_one_fails(self):
        """The error is reported together with the move."""
        decision = decided(hpa(*self.BOTH), self.world(1000, Failure("no such metric")))
        assert (decision.desired, decision.rescales) == (8, True)
        assert decision.error.startswith("invalid metrics (1 invalid out of 2), first error is: ")
        assert [e.reason for e in decision.events] == ["FailedGetExternalMetric", "SuccessfulRescale"]
        assert decision.status["currentMetrics"][1] == {"type": ""}
        assert reason_of(decision, "ScalingActive") == "True/ValidMetricFound"

    def test_staying_is_decided_while_one_fails(self):
        """A proposal equal to the current size is not a scale-down."""
        decision = decided(hpa(*self.BOTH), self.world(500, Failure("no such metric")))
        assert (decision.desired, decision.decided) == (4, True)
        assert reason_of(decision, "ScalingActive") == "True/ValidMetricFound"

    def test_down_is_blocked_while_one_fails(self):
        """The condition names the metric that failed first."""
        old = KNOWN._replace(desired=7, last_scale=NOW - 500)
        decision, after = decide(hpa(*self.BOTH), self.world(100, Failure("no such metric")), old, Settings())
        assert (decision.desired, decision.decided, decision.action) == (4, False, "none")
        assert reason_of(decision, "ScalingActive") == "False/FailedGetExternalMetric"
        assert decision.events[-1].reason == "FailedComputeMetricsReplicas"
        assert decision.status["desiredReplicas"] == 7
        assert decision.status["currentReplicas"] == 4
        assert decision.status["lastScaleTime"] == show_time(NOW - 500)
        assert "the others propose 1" in decision.steps[-1].sentence
        assert after.recommendations == old.recommendations

    def test_all_fail(self):
        """The first failure gives its reason, each has its own event."""
        decision = decided(hpa(*self.BOTH), seen(4, pod_metrics=Failure("down"), external_metrics={}))
        assert decision.error.startswith("invalid metrics (2 invalid out of 2), first error is: failed to get cpu")
        assert reason_of(decision, "ScalingActive") == "False/FailedGetResourceMetric"
        assert [e.reason for e in decision.events] == [
            "FailedGetResourceMetric",
            "FailedGetExternalMetric",
            "FailedComputeMetricsReplicas",
        ]

    def test_the_stages_can_be_called_alone(self):
        """A decision is composed of such stages."""
        readings = recommend(hpa(*self.BOTH), self.world(1000, 2000), Settings())
        assert [r.proposal for r in readings] == [8, 2]
        assert [r.action(4) for r in readings] == ["scale_up", "scale_down"]
        resolved = resolve(readings, 4)
        assert (resolved.best, resolved.error) == (readings[0], "")
        with pytest.raises(TypeError):
            recommend(hpa(), Seen(NOW, Failure("gone")), Settings())

    def test_no_metric_at_all_is_a_failure(self):
        """It is not a proposal of zero."""
        assert resolve((), 4).best is None


class TestScale:
    """Checks before any metric."""

    def test_no_scale(self):
        """Nothing else in the status changes."""
        spec = replace_status(hpa(cpu(utilization=50)), {"desiredReplicas": 7, "currentReplicas": 7})
        decision = decided(spec, Seen(NOW, Failure("deployments.apps web not found")))
        assert (decision.current, decision.desired, decision.decided) == (None, None, False)
        assert reason_of(decision, "AbleToScale") == "False/FailedGetScale"
        assert (decision.status["desiredReplicas"], decision.status["currentReplicas"]) == (7, 7)
        assert [e.reason for e in decision.events] == ["FailedGetScale"]
        assert decision.error_kind == "internal"

    def test_a_bad_api_version_is_a_spec_error(self):
        """The other failures are internal errors."""
        spec = {"scaleTargetRef": {"apiVersion": "a/b/c", "kind": "X", "name": "web"}, "maxReplicas": 5}
        decision = decided(HPA.from_dict({"metadata": {"name": "web"}, "spec": spec}), busy(900, 900))
        assert reason_of(decision, "AbleToScale") == "False/FailedGetScale"
        assert decision.error_kind == "spec"

    @pytest.mark.parametrize(
        ("changes", "reason", "event"),
        [
            ({"selector": ""}, "InvalidSelector", "SelectorRequired"),
            ({"selector": "app=a=b"}, "InvalidSelector", "InvalidSelector"),
            ({"others": ("default/other",)}, "AmbiguousSelector", "AmbiguousSelector"),
        ],
    )
    def test_the_selector_must_be_clear(self, changes, reason, event):
        """Else no metric is read and nothing moves."""
        decision = decided(hpa(cpu(utilization=50)), busy(900, 900, **changes))
        assert (decision.desired, decision.decided, decision.readings) == (2, False, ())
        assert reason_of(decision, "ScalingActive") == f"False/{reason}"
        assert [e.reason for e in decision.events] == [event, "FailedComputeMetricsReplicas"]

    @pytest.mark.parametrize(
        ("current", "desired", "message"), [(12, 10, "above Spec.MaxReplicas"), (1, 3, "below Spec.MinReplicas")]
    )
    def test_outside_the_bounds_it_jumps(self, current, desired, message):
        """Metrics, windows, policies and selector are ignored; the event is still recorded."""
        frozen = ScalingRules(select="Disabled", window=3600)
        spec = hpa(cpu(utilization=50), min_replicas=3, max_replicas=10, scale_up=frozen, scale_down=frozen)
        observed = seen(current, selector="", pod_metrics=Failure("down"))
        decision, after = decide(spec, observed, KNOWN, Settings())
        assert (decision.desired, decision.error, decision.readings) == (desired, "", ())
        assert decision.reason.endswith(message)
        assert reason_of(decision, "AbleToScale") == "True/SucceededRescale"
        assert "currentMetrics" not in decision.status
        done = after.acted(decision, NOW)
        assert done.ups.values + done.downs.values == (abs(desired - current),)
        assert after.recommendations == KNOWN.recommendations


def replace_status(spec, status):
    return HPA.from_dict({**spec.to_dict(), "status": status})


def marked(status):
    """The state of an autoscaler that has been at zero before."""
    if status is None:
        return KNOWN
    return KNOWN._replace(conditions=(Condition("ScaledToZero", status, "X", "", LONG_AGO),))


OPEN, SHUT = {"HPAScaleToZero": True}, {"HPAScaleToZero": False}


class TestZero:
    """A workload at zero: switched off manually, or scaled to zero."""

    SPEC = hpa(external("queue", average=5), min_replicas=0)

    @pytest.mark.parametrize(
        ("version", "gates", "mark", "desired"),
        [
            ((1, 35), {}, None, 4),  # metrics are always computed at a minimum of zero, so a pause is undone
            ((1, 35), OPEN, None, 4),
            ((1, 35), OPEN, "False", 4),
            ((1, 36), {}, None, 0),
            ((1, 36), {}, "True", 0),
            ((1, 36), OPEN, None, 0),
            ((1, 36), OPEN, "False", 0),
            ((1, 36), OPEN, "True", 4),
            ((1, 37), {}, None, 0),
            ((1, 37), {}, "False", 0),
            ((1, 37), {}, "True", 4),
            ((1, 37), SHUT, "True", 0),
        ],
    )
    def test_at_a_minimum_of_zero(self, version, gates, mark, desired):
        """Since 1.36 only an autoscaler that scaled to zero itself scales up; 50 at 5 per pod, at most four at once."""
        decision = decided(self.SPEC, queue(50_000, 0), marked(mark), kubernetes=version, gates=gates)
        assert decision.desired == desired
        assert (reason_of(decision, "ScalingActive") == "False/ScalingDisabled") is (desired == 0)

    @pytest.mark.parametrize(
        ("version", "gates", "mark", "desired"),
        [
            ((1, 35), {}, None, 0),
            ((1, 35), OPEN, "True", 0),
            ((1, 36), {}, "True", 0),
            ((1, 36), OPEN, None, 0),
            ((1, 36), OPEN, "True", 2),
            ((1, 37), {}, "True", 2),
            ((1, 37), {}, "False", 0),
        ],
    )
    @pytest.mark.parametrize("pace", [None, ScalingRules(window=0)])
    def test_a_minimum_raised_while_at_zero(self, version, gates, mark, desired, pace):
        """Even with an empty queue it scales to the minimum of two, with or without behavior."""
        spec = hpa(external("queue", average=5), min_replicas=2, scale_down=pace)
        assert decided(spec, queue(0, 0), marked(mark), kubernetes=version, gates=gates).desired == desired

    def test_at_zero_without_an_external_metric(self):
        """No metric could scale it up, so it stays off."""
        spec = HPA.from_dict(
            {**self.SPEC.to_dict(), "spec": {**self.SPEC.write(), "metrics": [cpu(average=1).write()]}}
        )
        assert reason_of(decided(spec, seen(0), marked("True")), "ScalingActive") == "False/ScalingDisabled"

    @pytest.mark.parametrize(
        ("version", "gates", "kept"),
        [((1, 37), {}, "True/X"), ((1, 36), OPEN, "True/X"), ((1, 36), {}, ""), ((1, 37), SHUT, "")],
    )
    def test_a_closed_gate_drops_the_mark_while_off(self, version, gates, kept):
        """With the gate open the mark stays."""
        spec = replace_metrics(self.SPEC)
        assert (
            reason_of(decided(spec, seen(0), marked("True"), kubernetes=version, gates=gates), "ScaledToZero") == kept
        )

    @pytest.mark.parametrize(
        ("version", "gates", "amount", "mark"),
        [
            ((1, 37), {}, 0, "True/ScaledToZero"),
            ((1, 37), {}, 30_000, "False/NotScaledToZero"),
            ((1, 37), {}, 5_000, "False/NotScaledToZero"),
            ((1, 36), OPEN, 0, "True/ScaledToZero"),
            ((1, 36), {}, 0, ""),
            ((1, 35), OPEN, 0, ""),
            ((1, 37), SHUT, 0, ""),
        ],
    )
    def test_each_rescale_sets_the_mark(self, version, gates, amount, mark):
        """From three replicas; without the feature the mark is removed."""
        decision = decided(self.SPEC, queue(amount, 3), marked("False"), kubernetes=version, gates=gates)
        assert decision.rescales
        assert reason_of(decision, "ScaledToZero") == mark
        assert reason_of(Decision.of(decision, MoveReport(decision.unwritten)), "ScaledToZero") == "False/X"

    def test_a_jump_sets_the_mark_too(self):
        """It appears on every autoscaler that ever rescaled."""
        decision = decided(hpa(cpu(utilization=50), max_replicas=2), busy(1, 1, 1))
        assert reason_of(decision, "ScaledToZero") == "False/NotScaledToZero"

    def test_to_zero_and_back(self):
        """The mark that it set lets it scale up again."""
        asleep, state = decide(self.SPEC, queue(0, 3), KNOWN, Settings())
        state = state.acted(asleep, NOW)
        later = NOW + 600
        awake = decided(self.SPEC, queue(7000, 0, now=later), state)
        assert (asleep.desired, awake.desired) == (0, 2)

    def test_a_total_from_zero_is_not_weighed(self):
        """The ratio itself is the count, and pods do not matter."""
        spec = hpa(external("queue", value=5), min_replicas=0)
        assert decided(spec, queue(12_000, 0), marked("True")).desired == 3
        assert decided(spec, queue(5_100, 0), marked("True")).desired == 2  # no tolerance either


def replace_metrics(spec):
    """With only a metric of its own pods, which cannot scale it up from zero."""
    return HPA.from_dict({**spec.to_dict(), "spec": {**spec.write(), "metrics": [cpu(average=1).write()]}})


class TestConditions:
    """What is reported to the cluster."""

    OLD = (
        Condition("ScalingLimited", "True", "TooFewReplicas", "old", LONG_AGO),
        Condition("ScalingActive", "False", "FailedGetResourceMetric", "old", LONG_AGO),
        Condition("AbleToScale", "True", "SucceededGetScale", "old", LONG_AGO),
    )

    def test_they_keep_their_place_and_their_time(self):
        """A time moves only with the status."""
        decision = decided(hpa(cpu(utilization=50)), busy(500, 500), KNOWN._replace(conditions=self.OLD))
        assert [(c.type, c.status, c.since) for c in decision.conditions] == [
            ("ScalingLimited", "False", NOW),
            ("ScalingActive", "True", NOW),
            ("AbleToScale", "True", LONG_AGO),
        ]

    def test_what_is_not_touched_stays(self):
        """After a metric failure ScalingLimited may be stale."""
        decision = decided(hpa(cpu(utilization=50)), seen(2), KNOWN._replace(conditions=self.OLD))
        assert decision.conditions[0] == self.OLD[0]
        assert [c.since for c in decision.conditions] == [LONG_AGO, LONG_AGO, LONG_AGO]

    def test_a_rescale(self):
        """Written and unwritten conditions differ in the result of the write."""
        decision, after = decide(hpa(cpu(utilization=50)), busy(1000, 1000), KNOWN, Settings())
        assert reason_of(decision, "AbleToScale") == "True/SucceededRescale"
        assert condition_of(decision.unwritten, "AbleToScale").reason == "ReadyForNewScale"
        assert after.conditions == decision.unwritten
        assert after.acted(decision, NOW).conditions == decision.conditions
        assert decision.status["lastScaleTime"] == show_time(NOW)
        assert (decision.status["currentReplicas"], decision.status["desiredReplicas"]) == (2, 4)

    def test_a_refused_write(self):
        """Nothing moved, the old size stays in the status, and the refusal is reported."""
        spec, old = hpa(cpu(utilization=50)), KNOWN._replace(desired=2, last_scale=NOW - 100)
        decision, after = decide(spec, busy(1000, 1000), old, Settings())
        failed = refused(spec, decision, after, "etcd is away")
        assert reason_of(failed, "AbleToScale") == "False/FailedUpdateScale"
        assert reason_of(failed, "ScaledToZero") == ""
        assert [e.reason for e in failed.events] == ["FailedRescale"]
        assert (failed.moves, failed.rescales, failed.action, failed.error_kind) == (False, False, "none", "internal")
        assert (failed.status["desiredReplicas"], failed.status["lastScaleTime"]) == (2, show_time(NOW - 100))
        assert after.acted(failed, NOW) == after
        assert after.reported(failed).conditions == failed.conditions
        assert after.reported(failed)._replace(conditions=()) == after._replace(conditions=())

    @pytest.mark.parametrize(("version", "seen_generation"), [((1, 37), 4), ((1, 36), None)])
    def test_the_generation(self, version, seen_generation):
        """It is reported since 1.37, but not if the scale could not be read."""
        spec = HPA.from_dict({**hpa(cpu(utilization=50)).to_dict(), "metadata": {"name": "web", "generation": 4}})
        found = decided(spec, busy(500, 500), kubernetes=version).status.get("observedGeneration")
        assert found == seen_generation
        assert "observedGeneration" not in decided(spec, Seen(NOW, Failure("gone")), kubernetes=version).status


class TestReporting:
    """Thresholds, steps and the stable form."""

    def test_the_thresholds_of_70_percent(self):
        """Above 77 %, first at 78 %; below 63 %, first at 62 %: with ten pods the edge of the tolerance decides."""
        found = decided(hpa(cpu(utilization=70)), busy(*[700] * 10)).thresholds
        assert [t.to_dict() for t in found] == [
            {"metric": "cpu", "direction": "up", "beyond": "77 %", "first": "78 %", "replicas": 10},
            {"metric": "cpu", "direction": "down", "beyond": "63 %", "first": "62 %", "replicas": 10},
        ]

    def test_thresholds_change_the_proposal(self):
        """With two pods 62 % still proposes two; with three ready of four 92 % still proposes four."""
        two = decided(hpa(cpu(utilization=70)), busy(700, 700)).thresholds
        assert [(t.beyond, t.first) for t in two] == [("77 %", "78 %"), ("36 %", "35 %")]
        partly = replace(busy(900, 900, 900), scale=Scale(4, 4, "app=web"))
        three = decided(hpa(cpu(utilization=70)), partly).thresholds
        assert [(t.beyond, t.first) for t in three] == [("93 %", "94 %"), ("63 %", "62 %")]

    @pytest.mark.parametrize(("percent", "desired"), [(77, 10), (78, 12), (63, 10), (62, 9)])
    def test_the_thresholds_are_true(self, percent, desired):
        """At the thresholds nothing moves, beyond them it does."""
        assert decided(hpa(cpu(utilization=70)), busy(*[percent * 10] * 10)).desired == desired

    def test_thresholds_of_amounts(self):
        """In the metric's own units; there is no threshold below zero."""
        spec = hpa(
            memory(average="100Mi"), external("queue", value=2, labels={"q": "a"}), scale_down=ScalingRules(tolerance=2)
        )
        observed = queue(2000, 1, selector={"matchLabels": {"q": "a"}}, pod_metrics={"web-0": sample(memory=100 * MI)})
        assert [(t.metric, t.direction, t.beyond) for t in decided(spec, observed).thresholds] == [
            ("memory per pod", "up", "110Mi"),
            ("queue", "up", "2200m"),
        ]

    WORLDS = (
        (hpa(cpu(utilization=50)), busy(1000, 1000)),
        (hpa(cpu(utilization=50)), busy(100, 100, None)),
        (hpa(cpu(average="50m"), external("queue", value=1)), seen(3, pod_metrics=Failure("down"))),
        (hpa(cpu(utilization=50), max_replicas=2), busy(1, 1, 1)),
        (hpa(cpu(utilization=50)), seen(0)),
        (hpa(cpu(utilization=50)), Seen(NOW, Failure("gone"))),
        (hpa(cpu(utilization=50)), busy(1, selector="")),
        (hpa(external("queue", average=5, labels={"a": "b"})), seen(2, status=0)),
        (hpa(pods("rate", average=1), scale_down=ScalingRules(window=60)), seen(3, pods_metrics=rates(1, 2, 3))),
        (hpa(INGRESS), seen(2, object_metrics={INGRESS_KEY: 10**9})),
    )

    @pytest.mark.parametrize(("spec", "observed"), WORLDS)
    @pytest.mark.parametrize("state", [State(), KNOWN])
    def test_every_step_is_a_sentence(self, spec, observed, state):
        """The whole decision is valid JSON."""
        decision = decided(spec, observed, state)
        assert decision.steps
        for step in decision.steps:
            assert step.sentence.endswith(".")
            assert step.sentence[0] == step.sentence[0].upper() or step.stage == "recommend"
        written = json.loads(json.dumps(decision.to_dict(), allow_nan=False))
        assert written["desired"] == {"replicas": decision.desired}
        assert written["steps"][0].keys() == {"stage", "rule", "before", "after", "numbers", "sentence"}

    @pytest.mark.parametrize("amount", [5000, 0])
    def test_a_share_among_no_pods_is_json_too(self, amount):
        """Infinity and NaN are not valid JSON."""
        decision = decided(hpa(external("queue", average=5)), queue(amount, 2, status=0))
        assert decision.readings[0].proposal == amount // 5000
        json.dumps(decision.to_dict(), allow_nan=False)

    def test_steps_are_in_the_order_of_the_path(self):
        """Recommend, resolve, restrain; each stage starts from the result before it."""
        decision = decided(hpa(cpu(utilization=50), cpu(average=1), max_replicas=3), busy(1000, 1000))
        assert rules_of(decision) == ["utilization", "average-value", "largest", "max-replicas"]
        assert [s.stage for s in decision.steps] == ["recommend", "recommend", "resolve", "restrain"]
        assert [(s.before, s.after) for s in decision.steps] == [(2, 4), (2, 2), (2, 4), (4, 3)]

    def test_the_names(self):
        """The decision names autoscaler and target."""
        decision = decided(hpa(cpu(utilization=50), name="web-cpu", namespace="shop"), busy(1))
        assert str(decision.autoscaler) == "HorizontalPodAutoscaler shop/web-cpu"
        assert str(decision.target) == "Deployment shop/web"
        assert decision.to_dict()["at"] == "2027-01-15T08:00:00Z"
