"""Autoscalers: writing, reading and completing them."""

import pickle

import pytest

from hypot.core.instant import read_duration
from hypot.kinds.autoscaler import WorkloadAutoscaler
from hypot.kinds.autoscaler.fields import LATE_AFTER, AutoscalerSpec
from hypot.kinds.autoscaler.status import LONGEST_WORDS, AutoscalerStatus, in_words
from hypot.kinds.base import InvalidAutoscaler
from hypot.kinds.floor import Floor
from hypot.kinds.meta import MetricName
from hypot.kinds.vpa.allowed import allowed

WEB = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
HEAD = {"apiVersion": "hypot.dev/v1alpha1", "kind": "Autoscaler", "metadata": {"name": "web"}}
APP = {"containerName": "app", "minAllowed": {"cpu": "500m"}, "maxAllowed": {"cpu": 4, "memory": "8Gi"}}
SELECTED = {"name": "late_requests", "selector": {"matchLabels": {"route": "/cart"}}}

STATUS = {
    "observedGeneration": 2,
    "replicas": 4,
    "desiredReplicas": 5,
    "size": "1500m, 2Gi",
    "containers": [{"containerName": "app", "requests": {"cpu": "1500m", "memory": "2Gi"}, "limits": {"cpu": 2}}],
    "rule": "as yesterday, +10 %, hold 30 s",
    "busy": "85 %",
    "saving": "23 %",
    "learned": {
        "since": "2026-11-02T00:00:00Z",
        "replicas": {"rule": "as yesterday, +10 %, hold 30 s", "since": "2026-11-09T10:00:00Z"},
        "size": {"rule": "last value, +20 %, hold 75 s", "since": "2026-11-09T10:00:00Z"},
        "demand": "6.4 cores",
        "expected": "7.7 cores",
        "late": "0.4 % at 85 % busy",
        "startup": "45 s",
        "workPerRequest": "12 ms",
    },
    "conditions": [
        {"type": "Ready", "status": "True", "reason": "Decided", "lastTransitionTime": "2026-11-02T00:00:00Z"}
    ],
}


def manifest(**spec):
    return {**HEAD, "spec": {"targetRef": WEB, **spec}}


def read(**spec):
    return WorkloadAutoscaler.from_dict(manifest(**spec))


class TestWriting:
    """Autoscalers as users write them in Python."""

    def test_the_least_that_works(self):
        """A workload is enough, and nothing is written that was not given."""
        assert WorkloadAutoscaler("deployment/web").to_dict() == manifest()

    def test_everything(self):
        """Each keyword is in the manifest under its own name."""
        made = WorkloadAutoscaler(
            "deployment/web",
            mode="Auto",
            axes="Size",
            min_replicas=3,
            max_replicas=40,
            containers={"app": {"min_allowed": {"cpu": "500m"}, "max_allowed": {"cpu": 4, "memory": "8Gi"}}},
            late_after="1s",
            late_price=0.5,
            requests_metric="requests",
            late_metric={"name": "late_requests", "selector": {"matchLabels": {"route": "/cart"}}},
            namespace="shop",
        )
        assert made.to_dict() == {
            **HEAD,
            "metadata": {"name": "web", "namespace": "shop"},
            "spec": {
                "targetRef": WEB,
                "updateMode": "Auto",
                "axes": "Size",
                "minReplicas": 3,
                "maxReplicas": 40,
                "resourcePolicy": {"containerPolicies": [APP]},
                "objective": {"late": {"after": "1s", "price": 0.5}},
                "metrics": {"requests": {"name": "requests"}, "late": SELECTED},
            },
        }
        assert WorkloadAutoscaler.from_dict(made.to_dict()) == made
        assert pickle.loads(pickle.dumps(made)) == made  # noqa: S301  just written

    def test_a_time_in_seconds(self):
        """A number is a number of seconds, as everywhere."""
        assert WorkloadAutoscaler("deployment/web", late_after=2).late.after == "2s"

    def test_all_problems_at_once(self):
        """In the words of Python."""
        with pytest.raises(InvalidAutoscaler) as error:
            WorkloadAutoscaler(
                "deployment/web",
                mode="auto",
                axes="both",
                min_replicas=5,
                max_replicas=4,
                containers={"app": {"min_allowed": {"cpu": "2"}, "max_allowed": {"cpu": "1"}}},
                late_after="soon",
                late_price=0,
                late_metric={"name": "a/b"},
            )
        assert [problem.path for problem in error.value.problems] == [
            "mode",
            "axes",
            "max_replicas",
            "containers[0].max_allowed.cpu",
            "late_after",
            "late_price",
            "late_metric.name",
            "requests_metric",
        ]

    def test_a_target_without_replicas(self):
        """Replicas are what it sets, so a DaemonSet is no target."""
        with pytest.raises(InvalidAutoscaler, match="has no replica count"):
            WorkloadAutoscaler("daemonset/web")

    def test_a_changed_copy(self):
        """What is not changed stays, also what has another name in Python."""
        made = WorkloadAutoscaler("deployment/web", late_price=3, late_after="1s", requests_metric="requests")
        assert made.replace(late_price=4, mode="Auto").to_dict() == manifest(
            updateMode="Auto",
            objective={"late": {"after": "1s", "price": 4}},
            metrics={"requests": {"name": "requests"}},
        )


class TestReading:
    """What policies read of it."""

    def test_defaults(self):
        """It learns and reports; it acts on both axes once it may act."""
        web = read()
        assert (web.mode, web.acts, web.axes, web.counts, web.sizes) == ("Off", False, "Both", True, True)
        assert (web.min_replicas, web.max_replicas) == (2, 100)
        assert (web.late_after, web.late_price) == (0.25, 10)
        assert read_duration(LATE_AFTER) == 0.25
        assert (web.requests_metric, web.late_metric, web.container_policies) == (None, None, None)
        assert (web.reported, web.knob_annotations) == (AutoscalerStatus(), {})

    @pytest.mark.parametrize(
        ("axes", "counts", "sizes"), [("Both", True, True), ("Replicas", True, False), ("Size", False, True)]
    )
    def test_axes(self, axes, counts, sizes):
        """What it may set."""
        assert (read(axes=axes).counts, read(axes=axes).sizes) == (counts, sizes)

    def test_what_is_written(self):
        """It replaces the defaults."""
        web = read(
            updateMode="Auto",
            minReplicas=1,
            maxReplicas=7,
            resourcePolicy={"containerPolicies": [APP]},
            objective={"late": {"after": "1m30s", "price": 2.5}},
            metrics={"requests": {"name": "requests"}, "late": SELECTED},
        )
        assert (web.acts, web.min_replicas, web.max_replicas) == (True, 1, 7)
        assert (web.late_after, web.late_price) == (90.0, 2.5)
        assert web.requests_metric == MetricName("requests")
        assert web.late_metric == MetricName("late_requests", {"matchLabels": {"route": "/cart"}})
        assert allowed(web, "app").most == {"cpu": 4000, "memory": 8 * 2**30}

    def test_a_maximum_below_the_default_minimum(self):
        """One number says it; the default gives way."""
        assert (read(maxReplicas=1).min_replicas, read(maxReplicas=1).problems()) == (1, ())

    def test_a_planned_minimum(self):
        """A schedule raises the minimum, up to the maximum, and the least size."""
        floor = Floor(8, (("app", (("cpu", 2000),)),))
        planned = read(maxReplicas=6, resourcePolicy={"containerPolicies": [APP]}).floored(floor)
        assert planned.min_replicas == 6
        assert allowed(planned, "app").least == {"cpu": 2000}
        assert read().floored(floor).min_replicas == 8

    @pytest.mark.parametrize(
        "spec",
        [
            {"updateMode": 3, "axes": [], "minReplicas": "2", "maxReplicas": None, "resourcePolicy": "none"},
            {"objective": "cheap", "metrics": []},
            {"objective": {"late": 10}, "metrics": {"requests": "http", "late": {"name": 3}}},
            {"objective": {"late": {"after": 250, "price": "10"}}, "metrics": {"requests": {}}},
        ],
    )
    def test_anything_can_be_read(self, spec):
        """What cannot be read has its default, and is a problem."""
        web = read(**spec).readable()
        assert (web.mode, web.axes, web.min_replicas, web.max_replicas) == ("Off", "Both", 2, 100)
        assert (web.late_after, web.late_price) == (0.25, 10)
        assert (web.requests_metric, web.late_metric) == (None, None)
        assert read(**spec).problems()
        written = {"targetRef": WEB, **{key: value for key, value in spec.items() if value is not None}}
        assert read(**spec).to_dict()["spec"] == written

    def test_complete(self):
        """With its defaults, it says everything that it does except bounds of sizes, which come from the workload."""
        assert read(resourcePolicy={"containerPolicies": [APP]}).effective().to_dict()["spec"] == {
            "targetRef": WEB,
            "updateMode": "Off",
            "axes": "Both",
            "minReplicas": 2,
            "maxReplicas": 100,
            "resourcePolicy": {
                "containerPolicies": [
                    {
                        **APP,
                        "mode": "Auto",
                        "controlledResources": ["cpu", "memory"],
                        "controlledValues": "RequestsAndLimits",
                    }
                ]
            },
            "objective": {"late": {"after": "250ms", "price": 10}},
        }
        complete = read().effective()
        assert complete.effective() == complete
        assert complete.problems() == ()

    def test_the_spec_alone(self):
        """What a policy needs is in the fields, without the constructor."""
        assert AutoscalerSpec.from_dict(manifest(maxReplicas=5)).max_replicas == 5


class TestStatus:
    """What a controller reports."""

    def test_it_is_read(self):
        """Conditions by type, and what was learned in words."""
        reported = WorkloadAutoscaler.from_dict({**manifest(), "status": STATUS}).reported
        assert reported.sound()
        assert reported.write() == STATUS
        assert reported.conditions["Ready"].reason == "Decided"
        assert reported.learned.size.rule == "last value, +20 %, hold 75 s"

    def test_a_wrong_status(self):
        """It is a problem, and what can be read of it is read."""
        web = WorkloadAutoscaler.from_dict({**manifest(), "status": {"replicas": "4", "rule": "as yesterday"}})
        assert [problem.field for problem in web.problems()] == ["status.replicas"]
        assert web.reported == AutoscalerStatus(rule="as yesterday")

    def test_another_version_may_report_more(self):
        """An older hypot reads the status of a newer one."""
        web = WorkloadAutoscaler.from_dict({**manifest(), "status": {**STATUS, "another": 3}})
        assert web.problems() == ()

    def test_words_are_cut(self):
        """A status that is too long would be refused whole."""
        assert in_words("as yesterday") == "as yesterday"
        assert len(in_words("x" * 300)) == LONGEST_WORDS
        assert in_words("x" * 300).endswith("x…")
