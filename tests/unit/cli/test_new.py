"""hypot new: manifests from a few words, and wrong words."""

import json
from functools import partial

import pytest
import yaml

from hypot import (
    HPA,
    VPA,
    WPA,
    Change,
    ContainerPolicy,
    Hvpa,
    ResourceChanges,
    band,
    cpu,
    interval,
    memory,
    resource_band,
)
from hypot.kinds.autoscaler import WorkloadAutoscaler
from hypot.kinds.tortoise import Tortoise
from unit.cli.command import hypot as run_hypot

hypot = partial(run_hypot, "new")
SAME = Change(percentage=30)
CASES = [
    (
        "hpa deployment/web --min 2 --max 10 --cpu 70% -n shop",
        HPA("deployment/web", min_replicas=2, max_replicas=10, metrics=cpu(utilization=70), namespace="shop"),
    ),
    (
        "hpa sts/db --min 2 --max 3 --cpu 500m --memory 512Mi --name other",
        HPA(
            "statefulset/db",
            min_replicas=2,
            max_replicas=3,
            metrics=[cpu(average="500m"), memory(average="512Mi")],
            name="other",
        ),
    ),
    (
        "wpa deployment/web --max 10 --metric jobs --low 40/pod --high 1.5k/pod",
        WPA("deployment/web", max_replicas=10, algorithm="average", metrics=[band("jobs", low="40", high="1.5k")]),
    ),
    (
        "wpa deployment/web --max 10 --metric cpu --low 300m/total --high 500m/total",
        WPA(
            "deployment/web",
            max_replicas=10,
            algorithm="absolute",
            metrics=[resource_band("cpu", low="300m", high="500m")],
        ),
    ),
    ("vpa deployment/web --mode Off", VPA("deployment/web", mode="Off")),
    (
        "vpa deployment/web --container app --cpu 100m..2000m --memory ..4Gi",
        VPA(
            "deployment/web",
            containers=[
                ContainerPolicy("app", min_allowed={"cpu": "100m"}, max_allowed={"cpu": "2000m", "memory": "4Gi"})
            ],
        ),
    ),
    (
        "hvpa deployment/web --interval 1x500m,2Gi --interval 3x2000m,8Gi --overlap 30%",
        Hvpa(
            "deployment/web",
            intervals=[interval(1, cpu="500m", memory="2Gi"), interval(3, cpu="2000m", memory="8Gi")],
            overlap=ResourceChanges(cpu=SAME, memory=SAME),
        ),
    ),
    (
        "tortoise deployment/web --mode Auto --max 9 --hpa web",
        Tortoise("deployment/web", mode="Auto", max_replicas=9, hpa="web"),
    ),
    ("autoscaler deployment/web", WorkloadAutoscaler("deployment/web")),
    (
        "autoscaler deployment/web --mode Auto --axes Size --min 3 --max 9 --late-after 1s --late-price 2.5",
        WorkloadAutoscaler(
            "deployment/web", mode="Auto", axes="Size", min_replicas=3, max_replicas=9, late_after="1s", late_price=2.5
        ),
    ),
    ("autoscaler deployment/web --late-price 20", WorkloadAutoscaler("deployment/web", late_price=20)),
]


@pytest.mark.parametrize(("words", "made"), CASES, ids=[words for words, _ in CASES])
def test_words_make_a_manifest(words, made):
    """The same object as that of the constructor, as YAML and as JSON."""
    result = hypot(*words.split())
    assert result.status == 0
    assert result.out == made.to_yaml()
    assert yaml.safe_load(result.out) == json.loads(hypot(*words.split(), "-o", "json").out) == made.to_dict()


WRONG = [
    ("hpa deployment/web --max 9 --cpu 70", "--cpu: '70' has no unit: write 70% (of the request) or 500m (per pod)"),
    ("hpa deployment/web --max 9 --cpu 2", "2 cores are 2000m"),
    ("hpa deployment/web --max 9 --memory 512", "'512' has no unit: write 70% (of the request) or 512Mi (per pod)"),
    ("hpa deployment/web --max 9 --memory 512MB", "is not a quantity of Kubernetes: write 512M"),
    ("hpa deployment/web --max 9 --memory 500m", "is in thousandths of a byte"),
    ("hpa deploymnt/web --max 9", "'deploymnt/web' is not a workload: write deployment/web"),
    ("hpa ingress/web --max 9", "has no replica count (point at the workload behind it)"),
    ("hpa ds/web --max 9", "has no replica count (it runs one pod on each node)"),
    ("vpa service/web", "has no pods to size (point at the workload behind it)"),
    ("hpa deployment/web --max 0 --cpu 0%", "1. spec.maxReplicas: must be set and greater than 0"),
    ("hpa deployment/web --min 12 --max 9", "spec.maxReplicas: 9 must be greater than or equal to `minReplicas`"),
    ("wpa deployment/web --max 9 --metric jobs --low 4 --high 5/pod", "'4' does not say of what: write 40/pod"),
    ("wpa deployment/web --max 9 --metric cpu --low 4/pod --high 5m/pod", "'4' has no unit: write 500m"),
    ("wpa deployment/web --max 9 --metric jobs --low 4/pod --high 5/total", "must both be per pod or both in total"),
    (
        "wpa deployment/web --max 9 --metric jobs --low many/pod --high 5/pod",
        "'many/pod' is not an amount",
    ),
    ("vpa deployment/web --cpu 500m", "'500m' is not a range: write 100m..2000m"),
    ("vpa deployment/web --cpu 1..2", "'1' has no unit: write 500m; 1 cores are 1000m"),
    ("vpa deployment/web --container app", "--container needs bounds"),
    ("hvpa deployment/web --interval 3", "'3' is not an interval: write 3x2000m,8Gi for up to 3 pods"),
    ("hvpa deployment/web --interval 3x1m,1Gi --overlap 30", "'30' is not a percentage: write 30%"),
]


@pytest.mark.parametrize(("words", "message"), WRONG, ids=[words for words, _ in WRONG])
def test_wrong_words_are_refused_with_a_fix(words, message):
    """Nothing is printed, and the status is 2."""
    result = hypot(*words.split())
    assert (result.status, result.out) == (2, "")
    assert message in result.err


@pytest.mark.parametrize("target", ["daemonset/agent", "cronjob/agent", "example.com/v1/Foo/agent"])
def test_what_has_pods_can_be_sized(target):
    """By the words of kubectl, or with a version."""
    result = hypot("vpa", target, "--mode", "Off")
    assert (result.status, result.err) == (0, "")
    assert result.out == VPA(target, mode="Off").to_yaml()


def test_all_problems_come_at_once():
    """A person fixes the line once."""
    result = hypot(*["hpa", "web", "--max", "9", "--cpu", "70", "--memory", "1"])
    assert "new hpa: 3 problems" in result.err
    assert result.err.count("\n") == 4


def test_advice_goes_to_standard_error():
    """The manifest can be piped; advice about it is shown."""
    result = hypot(*["hpa", "deployment/web", "--max", "9"])
    assert "advice: minReplicas is not set" in result.err
    assert "target-not-given" not in result.err
