"""HorizontalPodAutoscalers: writing, reading, completing and checking them."""

import copy
import pickle
from dataclasses import FrozenInstanceError, dataclass
from datetime import timedelta

import pytest

from hypot.kinds.base import InvalidAutoscaler, Ref, refer, seconds
from hypot.kinds.hpa import HPA
from hypot.kinds.hpa.defaults import stored
from hypot.kinds.hpa.fields import FROZEN, Limit, Metric, ScalingRules, cpu, external, limit, memory, on, pods

WEB = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
TEN = {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "web"}}


def manifest(**spec):
    return {**TEN, "spec": {"scaleTargetRef": WEB, "maxReplicas": 10, **spec}}


def with_up(**pace):
    return manifest(behavior={"scaleUp": pace})


def texts(data, version=(1, 37)):
    return [str(problem) for problem in HPA.from_dict(data).problems(version)]


class TestWriting:
    """HPAs as users write them in Python."""

    def test_the_least_that_works(self):
        """Kubernetes adds 80 % cpu and one replica."""
        web = HPA("deployment/web", max_replicas=10)
        assert web.to_dict() == manifest()
        assert stored(web).to_dict()["spec"] == {
            "scaleTargetRef": WEB,
            "minReplicas": 1,
            "maxReplicas": 10,
            "metrics": [
                {
                    "type": "Resource",
                    "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}},
                }
            ],
        }

    def test_all_metric_sources(self):
        """The target kind follows from the keyword."""
        web = HPA(
            "deployment/web",
            min_replicas=2,
            max_replicas=20,
            metrics=[
                cpu(utilization=70),
                memory(average="512Mi"),
                cpu(utilization=60, container="app"),
                pods("requests_per_second", average=100),
                on("ingress/shop", "hits_per_second", value=1000),
                external("queue_depth", average=30, labels={"queue": "mail"}),
            ],
        )
        assert web.to_dict()["spec"]["metrics"] == [
            {
                "type": "Resource",
                "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 70}},
            },
            {
                "type": "Resource",
                "resource": {"name": "memory", "target": {"type": "AverageValue", "averageValue": "512Mi"}},
            },
            {
                "type": "ContainerResource",
                "containerResource": {
                    "name": "cpu",
                    "container": "app",
                    "target": {"type": "Utilization", "averageUtilization": 60},
                },
            },
            {
                "type": "Pods",
                "pods": {
                    "metric": {"name": "requests_per_second"},
                    "target": {"type": "AverageValue", "averageValue": 100},
                },
            },
            {
                "type": "Object",
                "object": {
                    "describedObject": {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "name": "shop"},
                    "metric": {"name": "hits_per_second"},
                    "target": {"type": "Value", "value": 1000},
                },
            },
            {
                "type": "External",
                "external": {
                    "metric": {"name": "queue_depth", "selector": {"matchLabels": {"queue": "mail"}}},
                    "target": {"type": "AverageValue", "averageValue": 30},
                },
            },
        ]

    def test_how_fast(self):
        """Limits, window and tolerance per direction; FROZEN is selectPolicy Disabled."""
        web = HPA(
            "deployment/web",
            max_replicas=50,
            scale_up=ScalingRules([limit(pods=4, per="1m"), limit(percent=100, per="1m")], tolerance="0.05"),
            scale_down=ScalingRules([limit(percent=10, per="1m")], window="10m"),
        )
        assert web.to_dict()["spec"]["behavior"] == {
            "scaleUp": {
                "policies": [
                    {"type": "Pods", "value": 4, "periodSeconds": 60},
                    {"type": "Percent", "value": 100, "periodSeconds": 60},
                ],
                "tolerance": "0.05",
            },
            "scaleDown": {
                "policies": [{"type": "Percent", "value": 10, "periodSeconds": 60}],
                "stabilizationWindowSeconds": 600,
            },
        }
        frozen = HPA("statefulset/db", max_replicas=5, scale_down=FROZEN)
        assert frozen.to_dict()["spec"]["behavior"] == {"scaleDown": {"selectPolicy": "Disabled"}}

    def test_anything_scalable_down_to_zero(self):
        """The target may be of any kind; an external metric scales it up from zero."""
        mailer = HPA(
            Ref("argoproj.io/v1alpha1", "Rollout", "mailer"),
            min_replicas=0,
            max_replicas=30,
            metrics=[external("queue_depth", average=30)],
        )
        assert mailer.name == "mailer"
        assert mailer.to_dict()["spec"]["minReplicas"] == 0

    def test_metadata_is_what_the_author_gave(self):
        """The name is that of the target, unless another is given."""
        web = HPA(
            "deployment/web", max_replicas=3, name="w", namespace="shop", labels={"a": "b"}, annotations={"c": "d"}
        )
        metadata = {"name": "w", "namespace": "shop", "labels": {"a": "b"}, "annotations": {"c": "d"}}
        assert web.to_dict()["metadata"] == metadata
        assert (web.name, web.namespace, str(web)) == ("w", "shop", "HorizontalPodAutoscaler shop/w")
        assert HPA("deployment/web", max_replicas=3).namespace == "default"

    def test_misspelt_keywords_stay_type_errors(self):
        """Python's own message is the best here."""
        with pytest.raises(TypeError, match="max_replica"):
            HPA("deployment/web", max_replica=3)

    def test_one_exception_has_all_problems(self):
        """Each problem has its Python path, its rule and, if there is one, a fix."""
        with pytest.raises(InvalidAutoscaler) as raised:
            HPA(
                "deployment/web",
                min_replicas=12,
                max_replicas=10,
                metrics=[cpu(utilization=0), memory(average="512MB")],
                scale_down=ScalingRules([limit(pods=0, per="45m")], window="2h"),
            )
        assert [(p.path, p.rule) for p in raised.value.problems] == [
            ("metrics[1].average", "quantity"),
            ("max_replicas", "min-over-max"),
            ("metrics[0].utilization", "utilization"),
            ("scale_down.window", "window"),
            ("scale_down.limits[0].pods", "policy-value"),
            ("scale_down.limits[0].per", "policy-period"),
        ]
        lines = str(raised.value).splitlines()
        assert lines[0] == "HorizontalPodAutoscaler default/web: 6 problems"
        assert "  5. scale_down.limits[0].pods: 0 must be greater than zero [policy-value]" in lines
        assert "      try: selectPolicy: Disabled stops scaling in this direction; in Python that is FROZEN" in lines

    @pytest.mark.parametrize(
        ("arguments", "path"),
        [
            ({"max_replicas": 2.5}, "max_replicas"),
            ({"max_replicas": "3"}, "max_replicas"),
            ({"min_replicas": -1}, "min_replicas"),
            ({"min_replicas": 0}, "metrics"),
            ({"metrics": [{"type": "Resource"}]}, "metrics[0]"),
            ({"metrics": [cpu(utilization=70.5)]}, "metrics[0].utilization"),
            ({"metrics": [memory(average=-3)]}, "metrics[0].average"),
            ({"metrics": [cpu(utilization=70, container="No")]}, "metrics[0].container"),
            ({"metrics": [pods("", average=1)]}, "metrics[0].name"),
            ({"metrics": [external("a/b", value=1)]}, "metrics[0].name"),
            ({"metrics": [on("ingress", "q", value=1)]}, "metrics[0].of.name"),
            ({"scale_up": ScalingRules([])}, "scale_up.limits"),
            ({"scale_up": ScalingRules([Limit("MaxPods", 5, 30)])}, "scale_up.limits[0].type"),
            ({"scale_up": ScalingRules(3)}, "scale_up.limits"),
            ({"scale_up": ScalingRules(select="Most")}, "scale_up.select"),
            ({"scale_down": ScalingRules(window="soon")}, "scale_down.window"),
            ({"scale_down": ScalingRules(tolerance="-0.1")}, "scale_down.tolerance"),
            ({"name": "Web"}, "name"),
            ({"namespace": "a.b"}, "namespace"),
            ({"labels": {"a": 1}}, "labels.a"),
            ({"labels": {1: "a"}}, "labels"),
            ({"metrics": [external("q", value=1, labels={1: "a"})]}, "metrics[0].selector.matchLabels"),
        ],
    )
    def test_what_the_cluster_would_refuse_is_refused_at_once(self, arguments, path):
        """The error is raised on the author's line, with the path that the author wrote."""
        with pytest.raises(InvalidAutoscaler) as raised:
            HPA("deployment/web", **{"max_replicas": 10, **arguments})
        assert [p.path for p in raised.value.problems] == [path]

    @pytest.mark.parametrize("target", ["web", "deployment/", "Foo/web"])
    def test_a_target_that_names_nothing_is_refused(self, target):
        """An unknown kind needs its API group."""
        with pytest.raises(InvalidAutoscaler, match=r"target\."):
            HPA(target, max_replicas=10)

    @pytest.mark.parametrize("arguments", [{"scale_up": limit(pods=1)}, {"metrics": [limit(pods=1)]}])
    def test_a_part_in_the_wrong_place_is_refused(self, arguments):
        """A limit is neither a pace nor a metric."""
        with pytest.raises(InvalidAutoscaler):
            HPA("deployment/web", max_replicas=10, **arguments)


class TestTargets:
    """The forms of a target."""

    @dataclass
    class Workload:
        kind: str = "Deployment"
        name: str = "web"
        api_version: str = "apps/v1"

    @pytest.mark.parametrize(
        "target",
        [
            "deployment/web",
            "Deployment/web",
            "deploy/web",
            Ref("apps/v1", "Deployment", "web"),
            {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": {"replicas": 3}},
            {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            Workload(),
        ],
    )
    def test_a_target_can_be_given_in_many_ways(self, target):
        """As text, a reference, a manifest, or an object of another library."""
        assert HPA(target, max_replicas=10).to_dict() == manifest()

    @pytest.mark.parametrize(
        ("word", "api_version", "kind"),
        [
            ("sts", "apps/v1", "StatefulSet"),
            ("statefulset", "apps/v1", "StatefulSet"),
            ("rs", "apps/v1", "ReplicaSet"),
            ("rc", "v1", "ReplicationController"),
            ("rollout", "argoproj.io/v1alpha1", "Rollout"),
            ("svc", "v1", "Service"),
            ("Widget", None, "Widget"),
        ],
    )
    def test_short_words_stand_for_kinds(self, word, api_version, kind):
        """Those of kubectl, and any other word as it is."""
        assert refer(f"{word}/x") == Ref(api_version, kind, "x")


@pytest.mark.parametrize(
    ("duration", "expected"),
    [
        (90, 90),
        ("90s", 90),
        ("1m30s", 90),
        ("2h", 7200),
        ("1h1m1s", 3661),
        (timedelta(minutes=2), 120),
        (timedelta(seconds=1.5), 1.5),
        (None, None),
        ("", ""),
        ("90", "90"),
        ("s", "s"),
        ("1d", "1d"),
        ("-1s", "-1s"),
        ("1.5s", "1.5s"),
    ],
)
def test_durations_are_read_as_people_write_them(duration, expected):
    """An invalid duration is kept for the rules to report."""
    assert seconds(duration) == expected


def test_a_superscript_digit_is_not_a_duration():
    """It is kept for the rules to report."""
    assert seconds("²s") == "²s"


class TestValues:
    """Autoscalers are values."""

    hpa = HPA("deployment/web", max_replicas=10, metrics=[cpu(utilization=70)], scale_down=FROZEN)

    def test_they_compare(self):
        """They compare by their content."""
        assert HPA.from_dict(self.hpa.to_dict()) == self.hpa
        assert HPA("deployment/web", max_replicas=11) != HPA("deployment/web", max_replicas=10)

    def test_they_are_frozen(self):
        """A change is a new value."""
        with pytest.raises(FrozenInstanceError):
            self.hpa.max_replicas = 11

    def test_they_can_be_copied(self):
        """With pickle and copy."""
        assert pickle.loads(pickle.dumps(self.hpa)) == self.hpa  # noqa: S301  our own bytes
        assert copy.deepcopy(self.hpa) == self.hpa

    def test_they_hash(self):
        """Equal values have equal hashes."""
        assert len({self.hpa, HPA.from_dict(self.hpa.to_dict())}) == 1

    def test_they_hash_with_a_selector(self):
        """Also with labels on a metric."""
        assert hash(external("q", value=1, labels={"a": "b"})) == hash(external("q", value=1, labels={"a": "b"}))


class TestReading:
    """Reading any manifest, however wrong."""

    @pytest.mark.parametrize(
        "data",
        [
            manifest(),
            manifest(metrics=[], behavior={}),
            manifest(newField={"a": [1, None]}, metrics=[{"type": "Resource", "new": 1}]),
            manifest(metrics="cpu", behavior=7, maxReplicas="ten"),
            {**manifest(), "status": {"currentReplicas": 3}, "extraTop": 1},
            {**TEN, "spec": "none"},
        ],
    )
    def test_what_was_read_is_written(self, data):
        """Unknown and wrong values are kept too."""
        assert HPA.from_dict(data).to_dict() == data

    @pytest.mark.parametrize(
        "data", [{}, {"metadata": None}, {"metadata": 5}, {"spec": []}, {"spec": {"metrics": [0]}}]
    )
    def test_everything_wrong_is_a_problem(self, data):
        """A wrong manifest has problems and raises no exception."""
        assert texts(data)

    def test_a_null_spec_is_an_absent_one(self):
        """As in the API server's decoder."""
        assert texts({**TEN, "spec": None}) == texts(TEN)

    def test_a_spec_that_cannot_be_read_is_reported_once(self):
        """Rules that fail only because of it report nothing."""
        assert texts({**TEN, "spec": "none"}) == ["spec: spec is not a mapping"]

    def test_shortcuts_find_nothing_in_invalid_values(self):
        """A behavior that is text has no directions."""
        assert HPA.from_dict(manifest(behavior="fast")).scale_up is None

    def test_sides_are_reached_directly(self):
        """scale_up and scale_down need no access to the behavior."""
        hpa = HPA.from_dict(with_up(selectPolicy="Min"))
        assert hpa.scale_up == ScalingRules(select="Min")
        assert hpa.scale_down is None
        assert HPA.from_dict(manifest()).scale_up is None


def test_a_metric_that_no_constructor_makes():
    """It can be read from a manifest."""
    target = {"type": "Utilization", "averageUtilization": 50}
    metric = Metric.read({"type": "Resource", "resource": {"name": "storage", "target": target}})
    assert HPA("deployment/web", max_replicas=3, metrics=[metric]).metrics == (metric,)
