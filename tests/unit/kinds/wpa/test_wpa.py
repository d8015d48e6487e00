"""WatermarkPodAutoscalers: writing, reading, completing and checking them."""

import pickle
from datetime import timedelta

import pytest

from hypot.kinds.base import InvalidAutoscaler
from hypot.kinds.wpa import WPA, with_defaults
from hypot.kinds.wpa.fields import (
    SKIP_OWNER_CHECK,
    BandMetric,
    Recommender,
    TLSConfig,
    WatermarkRules,
    band,
    marks_of,
    resource_band,
)

WEB = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
HEAD = {"apiVersion": "datadoghq.com/v1alpha1", "kind": "WatermarkPodAutoscaler", "metadata": {"name": "web"}}
EXTERNAL = {"metricName": "q", "metricSelector": {}, "highWatermark": "5", "lowWatermark": "3"}
ADVICE = {"url": "https://advice.example/", "highWatermark": "1", "lowWatermark": "500m"}


def manifest(**spec):
    metrics = [{"type": "External", "external": EXTERNAL}]
    return {**HEAD, "spec": {"scaleTargetRef": WEB, "maxReplicas": 10, "metrics": metrics, **spec}}


def to(**changes):
    return manifest(scaleTargetRef={**WEB, **changes})


def external(**changes):
    return manifest(metrics=[{"type": "External", "external": {**EXTERNAL, **changes}}])


def resource(**changes):
    block = {"name": "cpu", "metricSelector": {}, "highWatermark": 1}
    return manifest(metrics=[{"type": "Resource", "resource": {**block, **changes}}])


def advised(**changes):
    return manifest(metrics=[], recommender={**ADVICE, **changes})


class TestWriting:
    """WPAs as users write them in Python."""

    def test_a_band_instead_of_a_point(self):
        """The example of the documentation."""
        wpa = WPA(
            "deployment/web",
            min_replicas=4,
            max_replicas=40,
            algorithm="average",
            tolerance="0.01",
            metrics=[band("nginx.net.request_per_s", low=40, high=50, labels={"kube_deployment": "web"})],
            scale_up=WatermarkRules(percent=50, forbidden_window="1m", delay="30s"),
            scale_down=WatermarkRules(percent=20, forbidden_window="5m", delay="2m"),
        )
        selector = {"matchLabels": {"kube_deployment": "web"}}
        block = {
            "metricName": "nginx.net.request_per_s",
            "metricSelector": selector,
            "highWatermark": 50,
            "lowWatermark": 40,
        }
        assert wpa.to_dict() == {
            **HEAD,
            "spec": {
                "scaleTargetRef": WEB,
                "minReplicas": 4,
                "maxReplicas": 40,
                "metrics": [{"type": "External", "external": block}],
                "algorithm": "average",
                "tolerance": "0.01",
                "scaleUpLimitFactor": 50,
                "scaleDownLimitFactor": 20,
                "upscaleForbiddenWindowSeconds": 60,
                "downscaleForbiddenWindowSeconds": 300,
                "upscaleDelayAboveWatermarkSeconds": 30,
                "downscaleDelayBelowWatermarkSeconds": 120,
            },
        }

    def test_the_least_that_works(self):
        """Nothing is written that was not given; a band without labels selects every series."""
        wpa = WPA("deployment/web", max_replicas=10, metrics=[band("q", high="5", low="3")])
        assert wpa.to_dict() == manifest()

    def test_everything_else(self):
        """Each keyword is in the manifest under its own name."""
        tls = TLSConfig(server_name="a", insecure_skip_verify=True, min_version="TLS12")
        advice = Recommender("https://a/", "cpu", {"x": "y"}, high="1", low="500m", tls=tls)
        wpa = WPA(
            "sts/db",
            max_replicas=9,
            recommender=advice,
            modulo=3,
            converge="lowwatermark",
            dry_run=True,
            tolerate_zero=False,
            min_available=90,
            readiness_delay=timedelta(minutes=1),
            name="w",
            namespace="shop",
            annotations={SKIP_OWNER_CHECK: "true"},
        )
        assert wpa.to_dict()["spec"] == {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db"},
            "maxReplicas": 9,
            "recommender": {
                "url": "https://a/",
                "targetType": "cpu",
                "settings": {"x": "y"},
                "highWatermark": "1",
                "lowWatermark": "500m",
                "tlsConfig": {"serverName": "a", "insecureSkipVerify": True, "minVersion": "TLS12"},
            },
            "replicaScalingAbsoluteModulo": 3,
            "convergeTowardsWatermark": "lowwatermark",
            "dryRun": True,
            "tolerateZero": False,
            "minAvailableReplicaPercentage": 90,
            "readinessDelaySeconds": 60,
        }
        assert (str(wpa), wpa.skips_owner_check) == ("WatermarkPodAutoscaler shop/w", True)

    def test_a_resource_band_names_its_resource(self):
        """This is the other kind of metric."""
        metric = resource_band("cpu", high="800m", low="400m", labels={"app": "web"})
        block = {"name": "cpu", "metricSelector": {"matchLabels": {"app": "web"}}, "highWatermark": "800m"}
        assert metric.write() == {"type": "Resource", "resource": {**block, "lowWatermark": "400m"}}
        assert metric.source is metric.resource
        assert BandMetric("Pods").source is None

    @pytest.mark.parametrize(
        ("arguments", "path"),
        [
            ({"max_replicas": 0, "min_replicas": None}, "max_replicas"),
            ({"min_replicas": 11}, "max_replicas"),
            ({"metrics": None}, "metrics"),
            ({"metrics": [band("q")]}, "metrics[0].external.high"),
            ({"metrics": [band("q", high=1, low=2)]}, "metrics[0].external.high"),
            ({"metrics": [band("q", high=0.5)]}, "metrics[0].external.high"),
            ({"tolerance": 2}, "tolerance"),
            ({"scale_up": WatermarkRules(percent=-1)}, "scale_up.percent"),
            ({"scale_down": WatermarkRules(percent=100)}, "scale_down.percent"),
            ({"scale_up": WatermarkRules(forbidden_window=0)}, "scale_up.forbidden_window"),
            ({"scale_down": WatermarkRules(forbidden_window="soon")}, "scale_down.forbidden_window"),
            ({"scale_up": WatermarkRules(delay=-1)}, "scale_up.delay"),
            ({"converge": "middle"}, "converge"),
            ({"readiness_delay": "0s"}, "readiness_delay"),
        ],
    )
    def test_what_would_do_harm_is_refused_at_once(self, arguments, path):
        """The error is raised on the author's line, with the path that the author wrote."""
        given = {"max_replicas": 10, "metrics": [band("q", high=5)], **arguments}
        with pytest.raises(InvalidAutoscaler) as raised:
            WPA("deployment/web", **given)
        assert raised.value.problems[0].path == path

    def test_it_is_a_value(self):
        """It can be compared and pickled."""
        wpa = WPA("deployment/web", max_replicas=10, metrics=[band("q", high=5)])
        assert WPA.from_dict(wpa.to_dict()) == wpa
        assert pickle.loads(pickle.dumps(wpa)) == wpa  # noqa: S301  our own bytes

    def test_it_hashes(self):
        """Equal values have equal hashes."""
        assert hash(band("q", high=5)) == hash(band("q", high=5))


@pytest.mark.parametrize(
    ("high", "low", "marks"),
    [(5, 3, (5, 3)), (5, None, (5, 5)), (None, 3, (3, 3)), (None, None, (None, None)), (0, None, (0, 0))],
)
def test_a_missing_mark_is_the_other_one(high, low, marks):
    """The band is then a single value."""
    assert marks_of(high, low) == marks


class TestDefaults:
    """Defaults that the controller writes into a spec."""

    def test_what_is_missing_is_filled_in(self):
        """Nothing else changes."""
        spec = with_defaults(WPA.from_dict(manifest())).to_dict()["spec"]
        assert spec == manifest()["spec"] | {
            "minReplicas": 1,
            "algorithm": "absolute",
            "tolerance": "100m",
            "scaleUpLimitFactor": 50,
            "scaleDownLimitFactor": 20,
            "upscaleForbiddenWindowSeconds": 60,
            "downscaleForbiddenWindowSeconds": 300,
            "replicaScalingAbsoluteModulo": 1,
        }

    def test_a_complete_object_is_returned_as_it_is(self):
        """There is no copy without a change."""
        wpa = with_defaults(WPA.from_dict(manifest()))
        assert with_defaults(wpa) is wpa

    @pytest.mark.parametrize(
        ("spec", "name", "value"),
        [
            ({"tolerance": 0}, "tolerance", "100m"),
            ({"tolerance": "0"}, "tolerance", "100m"),
            ({"tolerance": "1m"}, "tolerance", "1m"),
            ({"upscaleForbiddenWindowSeconds": 0}, "up_forbidden_window", 60),
            ({"downscaleForbiddenWindowSeconds": 0}, "down_forbidden_window", 300),
            ({"scaleUpLimitFactor": 0}, "up_factor", 0),
            ({"scaleDownLimitFactor": "0"}, "down_factor", "0"),
            ({"algorithm": ""}, "algorithm", "absolute"),
        ],
    )
    def test_zero_is_unset_for_some_fields(self, spec, name, value):
        """For a factor, zero switches the direction off."""
        assert getattr(with_defaults(WPA.from_dict(manifest(**spec))), name) == value

    @pytest.mark.parametrize("zero", ["0.00", "0n", "+0"])
    def test_zero_is_zero_however_it_is_spelt(self, zero):
        """A tolerance is an amount, not a text."""
        assert with_defaults(WPA.from_dict(manifest(tolerance=zero))).tolerance == "100m"


RULES = [
    (to(kind=""), "spec.scaleTargetRef.kind: Required value"),
    (to(name=None), "spec.scaleTargetRef.name: Required value"),
    (to(apiVersion="a/b/c"), 'spec.scaleTargetRef.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string'),
    (manifest(minReplicas=0), "spec.minReplicas: Invalid value: 0: must be greater than or equal to 1"),
    (manifest(maxReplicas=None), "spec.maxReplicas: Required value"),
    (manifest(minReplicas=11), "spec.maxReplicas: Invalid value: 10: must be greater than or equal to minReplicas"),
    (manifest(tolerance="1.1"), 'spec.tolerance: Invalid value: "1.1": must be a fraction between 0 and 1'),
    (manifest(tolerance="1001m"), 'spec.tolerance: Invalid value: "1001m": must be a fraction'),
    (manifest(tolerance="-1m"), 'spec.tolerance: Invalid value: "-1m": must be a fraction'),
    (manifest(tolerance=1.5), "spec.tolerance: Invalid value: 1.5: must be a fraction"),
    (manifest(scaleUpLimitFactor=-1), "spec.scaleUpLimitFactor: Invalid value: -1: must not be negative"),
    (manifest(scaleDownLimitFactor="-1m"), 'spec.scaleDownLimitFactor: Invalid value: "-1m": must be at least 0'),
    (manifest(scaleDownLimitFactor=100), "spec.scaleDownLimitFactor: Invalid value: 100: must be at least 0 and less"),
    (manifest(upscaleForbiddenWindowSeconds=0), "spec.upscaleForbiddenWindowSeconds: Invalid value: 0"),
    (manifest(downscaleForbiddenWindowSeconds=-5), "spec.downscaleForbiddenWindowSeconds: Invalid value: -5"),
    (manifest(upscaleDelayAboveWatermarkSeconds=-1), "spec.upscaleDelayAboveWatermarkSeconds: Invalid value: -1"),
    (manifest(downscaleDelayBelowWatermarkSeconds=-1), "spec.downscaleDelayBelowWatermarkSeconds: Invalid value: -1"),
    (manifest(replicaScalingAbsoluteModulo=0), "spec.replicaScalingAbsoluteModulo: Invalid value: 0"),
    (manifest(minAvailableReplicaPercentage=-1), "spec.minAvailableReplicaPercentage: Invalid value: -1"),
    (
        manifest(minAvailableReplicaPercentage=101),
        "spec.minAvailableReplicaPercentage: Invalid value: 101: must be less than or equal to 100",
    ),
    (manifest(readinessDelaySeconds=0), "spec.readinessDelaySeconds: Invalid value: 0: must be greater than or equal"),
    (manifest(algorithm="mean"), 'spec.algorithm: Unsupported value: "mean": supported values: "absolute", "average"'),
    (
        manifest(convergeTowardsWatermark="up"),
        'spec.convergeTowardsWatermark: Unsupported value: "up": supported values',
    ),
    (manifest(metrics=None), "spec.metrics: Required value: needs metrics or a recommender"),
    (manifest(metrics=[]), "spec.metrics: Required value: needs metrics or a recommender"),
    (manifest(recommender=ADVICE), "spec.recommender: Forbidden: metrics and recommender are mutually exclusive"),
    (manifest(metrics=[{"type": "Pods"}]), 'spec.metrics[0].type: Unsupported value: "Pods"'),
    (manifest(metrics=[{}]), 'spec.metrics[0].type: Unsupported value: ""'),
    (manifest(metrics=[{"type": "External"}]), "spec.metrics[0].external: Required value"),
    (external(metricName=""), "spec.metrics[0].external.metricName: Required value"),
    (resource(name=None), "spec.metrics[0].resource.name: Required value"),
    (external(metricSelector=None), "spec.metrics[0].external.metricSelector: Required value"),
    (external(highWatermark=None, lowWatermark=None), "spec.metrics[0].external.highWatermark: Required value"),
    (external(highWatermark="2"), 'spec.metrics[0].external.highWatermark: Invalid value: "2": must not be below'),
    (
        external(highWatermark=None, lowWatermark=0),
        "spec.metrics[0].external.lowWatermark: Invalid value: 0: must be gr",
    ),
    (external(lowWatermark="-1"), 'spec.metrics[0].external.lowWatermark: Invalid value: "-1": must not be negative'),
    (resource(highWatermark=0), "spec.metrics[0].resource.highWatermark: Invalid value: 0: must be greater than zero"),
    (advised(url=None), "spec.recommender.url: Required value"),
    (advised(url="ftp://a"), 'spec.recommender.url: Invalid value: "ftp://a": must be an http or https address'),
    (advised(url="http://" + "a" * 2042), "spec.recommender.url: Too long: may not be more than 2048 characters"),
    (advised(highWatermark=None), "spec.recommender.highWatermark: Required value"),
    (advised(lowWatermark="2"), 'spec.recommender.highWatermark: Invalid value: "1": must not be below'),
    (advised(tlsConfig={"minVersion": "TLS9"}), 'spec.recommender.tlsConfig.minVersion: Unsupported value: "TLS9"'),
    (manifest(readinessDelay=5), 'spec.readinessDelay: strict decoding error: unknown field "spec.readinessDelay"'),
    (external(highWatermark=0.5), "spec.metrics[0].external.highWatermark: json: cannot unmarshal number"),
    ({**manifest(), "metadata": {"name": "W"}}, 'metadata.name: Invalid value: "W"'),
]


class TestRules:
    """The controller's checks, and those that prevent harm."""

    @pytest.mark.parametrize(("data", "text"), RULES)
    def test_each_rule_says_where_and_why(self, data, text):
        """One fault gives one error."""
        (problem,) = WPA.from_dict(data).problems()
        assert str(problem).startswith(text)
        assert problem.severity == "error"

    @pytest.mark.parametrize(
        "data",
        [
            manifest(minReplicas=10),
            manifest(tolerance="1"),
            manifest(tolerance="1000m"),
            manifest(tolerance=".5"),
            manifest(tolerance=0),
            manifest(scaleUpLimitFactor=150, scaleDownLimitFactor="99.9"),
            manifest(scaleUpLimitFactor=0, scaleDownLimitFactor=0),
            manifest(convergeTowardsWatermark=""),
            external(highWatermark=None),
            external(lowWatermark=None),
            external(lowWatermark="5"),
            external(lowWatermark=0),
            external(metricSelector={"matchExpressions": []}),
            resource(),
            advised(),
            to(apiVersion=None),
            to(apiVersion="v1", kind="ReplicationController"),
        ],
    )
    def test_what_works_is_accepted(self, data):
        """Equal marks, one mark, an unversioned target."""
        assert WPA.from_dict(data).problems() == ()

    def test_the_error_that_scales_a_target_down_is_explained(self):
        """Without metrics or a recommender it would scale down step by step."""
        (problem,) = WPA.from_dict(manifest(metrics=None)).problems()
        assert "step by step" in problem.hint

    @pytest.mark.parametrize("value", ["yes", True, None, "True"])
    def test_the_owner_check_is_skipped_on_the_exact_word_only(self, value):
        """As its controller reads the annotation."""
        assert not WPA.from_dict({"metadata": {"annotations": {SKIP_OWNER_CHECK: value}}}).skips_owner_check
