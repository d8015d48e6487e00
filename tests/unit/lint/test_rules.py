"""Every relational rule: a manifest that breaks it, the line of the finding, and a minimal change that does not."""

import json
from dataclasses import dataclass
from typing import Any

import pytest

from hypot.kinds.text.load import load
from hypot.kinds.text.write import to_yaml
from hypot.lint import check
from hypot.lint.rule_list import all_rules
from unit.lint.lint_cases import (
    autoscaler,
    band,
    checkpoint,
    container,
    cpu,
    external,
    hpa,
    hpa_block,
    hvpa,
    limited,
    memory,
    metric_rules,
    of_container,
    paced,
    pods,
    recommended,
    sized,
    thing,
    tortoise,
    vpa,
    weighted,
    workload,
    wpa,
)


@dataclass(frozen=True)
class Case:
    """Two inputs that differ as little as possible, and the text of the line that is found in the first."""

    breach: list[Any]
    sound: list[Any]
    line: str
    on: str = "HorizontalPodAutoscaler"
    kubernetes: str = "1.37"
    sound_kubernetes: str = "1.37"


LIVE = {"uid": "d3a2b714"}
ON_HVPA = {"apiVersion": "autoscaling.k8s.io/v1alpha1", "kind": "Hvpa"}
ONE_CPU = container(limits={"cpu": "500m"})
OBJECT = {"describedObject": {"apiVersion": "v1", "kind": "Service", "name": "web"}, "metric": {"name": "hits"}}


def on_service(**target):
    return {"type": "Object", "object": OBJECT | {"target": target}}


def scaled_up(**rules):
    return hpa(behavior={"scaleUp": rules})


def limit_range(**item):
    return thing("v1", "LimitRange", "compute", limits=[{"type": "Container"} | item])


def recreating(mode="Recreate", **policy):
    return vpa(updatePolicy={"updateMode": mode} | policy)


def budget(**spec):
    return thing("policy/v1", "PodDisruptionBudget", selector={"matchLabels": {"app": "web"}}, **spec)


def namespace(annotations):
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default", "annotations": annotations}}


def named_tortoise():
    return tortoise(refs={"horizontalPodAutoscalerName": "web"})


def measured(*metrics):
    prefix = {"tortoises.autoscaling.mercari.com/container-based-cpu-metric-prefix": "ext-"}
    return hpa(annotations=prefix, metrics=list(metrics))


SCALED = {"containerName": "app", "policy": {"cpu": "Horizontal"}}


def quota(**hard):
    return thing("v1", "ResourceQuota", "compute", hard=hard)


def job(**labels):
    return workload("migrate", kind="Job", labels=labels)


def annotated(name, value):
    return wpa(annotations={f"wpa.datadoghq.com/{name}": value})


def plan(**least):
    return json.dumps([{"cron": "0 8 * * mon-fri", "duration": "10h", **least}])


def scheduled(text):
    return {"hypot.dev/schedule": text}


def planned(**least):
    return scheduled(plan(**least))


def scaled_object(**spec):
    return thing("keda.sh/v1alpha1", "ScaledObject", scaleTargetRef={"name": "web"}, **spec)


def rate(pods_more, seconds):
    return {"policies": [{"type": "Pods", "value": pods_more, "periodSeconds": seconds}]}


def first_version():
    whole = hpa(api_version="autoscaling/v1")
    del whole["spec"]["metrics"]
    return {**whole, "spec": {**whole["spec"], "targetCPUUtilizationPercentage": 70}}


CASES = {
    "metric-rules": Case(
        [metric_rules(pth="/x"), hpa(), workload()],
        [metric_rules(path="/x"), hpa(), workload()],
        "pth: /x",
        on="MetricRules",
    ),
    "metric-not-served": Case(
        [metric_rules(), hpa(metrics=[pods(name="hit")]), workload()],
        [metric_rules(), hpa(metrics=[pods(name="hits")]), workload()],
        "name: hit",
        on="HorizontalPodAutoscaler",
    ),
    "schedule-unreadable": Case(
        [hpa(annotations=scheduled("[{}]")), workload()],
        [hpa(annotations=planned(minReplicas=9)), workload()],
        "hypot.dev/schedule: '[{}]'",
        on="HorizontalPodAutoscaler",
    ),
    "schedule-above-max": Case(
        [hpa(annotations=planned(minReplicas=20)), workload()],
        [hpa(annotations=planned(minReplicas=10)), workload()],
        f"hypot.dev/schedule: '{plan(minReplicas=20)}'",
        on="HorizontalPodAutoscaler",
    ),
    "schedule-unused": Case(
        [hpa(annotations=planned(minAllowed={"app": {"cpu": 1}})), workload()],
        [hpa(annotations=planned(minReplicas=9)), workload()],
        f"hypot.dev/schedule: '{plan(minAllowed={'app': {'cpu': 1}})}'",
        on="HorizontalPodAutoscaler",
    ),
    "hpa-target": Case(
        [named_tortoise(), hpa(target={"name": "other"}), workload(), workload("other")],
        [named_tortoise(), hpa(), workload()],
        "targetRefs:",
        on="Tortoise",
    ),
    "two-targets": Case(
        [named_tortoise(), measured(of_container("app"), external("ext-app", type="Value", value="60")), workload()],
        [named_tortoise(), measured(external("ext-app", type="Value", value="60")), workload()],
        "- type: ContainerResource",
    ),
    "measured-by-pod": Case(
        [named_tortoise(), hpa(), workload()],
        [named_tortoise(), hpa(metrics=[of_container("app")]), workload()],
        "horizontalPodAutoscalerName: web",
        on="Tortoise",
    ),
    "policy-without-request": Case(
        [tortoise(autoscalingPolicy=[SCALED]), workload("web", container("app", {"memory": "1Gi"}))],
        [tortoise(autoscalingPolicy=[SCALED]), workload()],
        "cpu: Horizontal",
        on="Tortoise",
    ),
    "namespace-setting": Case(
        [tortoise(), workload(), namespace({"hypot.dev/tortoise-slot-hours": "5"})],
        [tortoise(), workload(), namespace({"hypot.dev/tortoise-slot-hours": "6"})],
        "hypot.dev/tortoise-slot-hours: '5'",
        on="Namespace",
    ),
    "target-rings": Case(
        [tortoise(annotations={"hypot.dev/tortoise-target-rule": "plain"}), workload()],
        [tortoise(annotations={"hypot.dev/tortoise-target-rule": "fixed-point"}), workload()],
        "hypot.dev/tortoise-target-rule: plain",
        on="Tortoise",
    ),
    "target-kind": Case([hpa(target={"apiVersion": "extensions/v1beta1"})], [hpa()], "apiVersion: extensions/v1beta1"),
    "target-not-scalable": Case(
        [hpa(target={"kind": "DaemonSet"})], [hpa(target={"kind": "StatefulSet"})], "kind: DaemonSet"
    ),
    "target-missing": Case([hpa(target={"name": "wbe"}), workload()], [hpa(), workload()], "name: wbe"),
    "target-not-given": Case([hpa()], [hpa(), workload()], "name: web"),
    "replicas-on-target": Case(
        [hpa(), workload(replicas=3)], [hpa(), workload(metadata=LIVE, replicas=3)], "replicas: 3", "Deployment"
    ),
    "target-at-zero": Case(
        [hpa(), workload(metadata=LIVE, replicas=0)],
        [hpa(minReplicas=0, metrics=[external()]), workload(metadata=LIVE, replicas=0)],
        "replicas: 0",
        "Deployment",
    ),
    "foreign-pods": Case(
        [hpa(), workload(), job(app="web")], [hpa(), workload(), job(app="migrate")], "scaleTargetRef:"
    ),
    "request-missing": Case(
        [hpa(), workload("web", container(requests={"memory": "512Mi"}))], [hpa(), workload()], "resource:"
    ),
    "container-missing": Case(
        [hpa(metrics=[of_container("api")]), workload("web", container(), container("proxy"))],
        [hpa(metrics=[of_container("proxy")]), workload("web", container(), container("proxy"))],
        "container: api",
    ),
    "resource-not-served": Case(
        [hpa(metrics=[{"type": "Resource", "resource": cpu()["resource"] | {"name": "nvidia.com/gpu"}}])],
        [hpa(metrics=[memory(), cpu()])],
        "name: nvidia.com/gpu",
    ),
    "target-unreachable": Case(
        [hpa(metrics=[cpu(95)]), workload("web", ONE_CPU)],
        [hpa(metrics=[cpu(90)]), workload("web", ONE_CPU)],
        "target:",
    ),
    "object-target-type": Case(
        [hpa(metrics=[on_service(type="Utilization", value="10")])],
        [hpa(metrics=[on_service(type="Value", value="10", averageValue="1")])],
        "type: Utilization",
    ),
    "target-type-mismatch": Case(
        [hpa(metrics=[cpu(type="Utilization", averageValue="500m")])],
        [hpa(metrics=[cpu(type="AverageValue", averageValue="500m")])],
        "type: Utilization",
    ),
    "duplicate-metric": Case(
        [hpa(metrics=[cpu(70), cpu(60)])],
        [hpa(metrics=[cpu(70), cpu(type="AverageValue", averageValue="500m")])],
        "- type: Resource",
    ),
    "memory-alone": Case([hpa(metrics=[memory()])], [hpa(metrics=[memory(), cpu()])], "- type: Resource"),
    "unit-slip": Case(
        [hpa(metrics=[cpu(type="AverageValue", averageValue="100")])],
        [hpa(metrics=[cpu(type="AverageValue", averageValue="100m")])],
        "averageValue: '100'",
    ),
    "unknown-kind": Case(
        [hpa() | {"kind": "HorizontalPodAutoscalr"}, workload()],
        [hpa(), workload()],
        "kind: HorizontalPodAutoscalr",
        on="HorizontalPodAutoscalr",
    ),
    "two-autoscalers": Case([hpa(), hpa("web-memory")], [hpa(), wpa(dryRun=True)], "scaleTargetRef:"),
    "ambiguous-selector": Case(
        [hpa(), hpa("api", target={"name": "api"}), *(workload(n, labels={"app": "shop"}) for n in ("web", "api"))],
        [hpa(), hpa("api", target={"name": "api"}), *(workload(n, labels={"app": n}) for n in ("web", "api"))],
        "scaleTargetRef:",
    ),
    "two-sizers": Case(
        [vpa(), vpa("web-memory")],
        [vpa(), vpa("web-memory", updatePolicy={"updateMode": "Off"})],
        "targetRef:",
        "VerticalPodAutoscaler",
    ),
    "vpa-conflict": Case(
        [hpa(), workload(), vpa()], [hpa(), workload(), vpa(updatePolicy={"updateMode": "Off"})], "resource:"
    ),
    "single-replica": Case([hpa(minReplicas=None)], [hpa()], "spec:"),
    "min-equals-max": Case([hpa(minReplicas=3, maxReplicas=3)], [hpa(minReplicas=3, maxReplicas=4)], "maxReplicas: 3"),
    "pdb-blocks-evictions": Case(
        [hpa(), workload(), budget(minAvailable=2)],
        [hpa(), workload(), budget(minAvailable=1)],
        "minAvailable: 2",
        "PodDisruptionBudget",
    ),
    "quota-too-small": Case(
        [hpa(maxReplicas=20), workload(), quota(**{"requests.cpu": "4"})],
        [hpa(maxReplicas=20), workload(), quota(**{"requests.cpu": "10"})],
        "maxReplicas: 20",
    ),
    "short-period": Case([limited(periodSeconds=10)], [limited(periodSeconds=15)], "periodSeconds: 10"),
    "no-down-window": Case(
        [paced(stabilizationWindowSeconds=0)],
        [paced(stabilizationWindowSeconds=60)],
        "stabilizationWindowSeconds: 0",
    ),
    "window-below-sizing": Case(
        [
            hpa(metrics=[pods()], behavior={"scaleDown": {"stabilizationWindowSeconds": 30}}),
            vpa(updatePolicy={"updateMode": "Recreate"}),
        ],
        [
            hpa(metrics=[pods()], behavior={"scaleDown": {"stabilizationWindowSeconds": 60}}),
            vpa(updatePolicy={"updateMode": "Recreate"}),
        ],
        "stabilizationWindowSeconds: 30",
    ),
    "no-scale-down": Case([paced(selectPolicy="Disabled")], [paced(selectPolicy="Min")], "selectPolicy: Disabled"),
    "no-scale-up": Case(
        [scaled_up(selectPolicy="Disabled")], [scaled_up(selectPolicy="Min")], "selectPolicy: Disabled"
    ),
    "wide-tolerance": Case([paced(tolerance="10")], [paced(tolerance="0.1")], "tolerance: '10'"),
    "wpa-selector-misses-pods": Case(
        [wpa(metrics=[band("Resource", metricSelector={"matchLabels": {"app": "api"}})]), workload()],
        [wpa(metrics=[band("Resource")]), workload()],
        "metricSelector:",
        "WatermarkPodAutoscaler",
    ),
    "wpa-selector-too-wide": Case(
        [wpa(metrics=[band("Resource", metricSelector={})]), workload()],
        [wpa(metrics=[band("Resource")]), workload()],
        "metricSelector: {}",
        "WatermarkPodAutoscaler",
    ),
    "wpa-absolute-resource": Case(
        [wpa(algorithm=None, metrics=[band("Resource")])],
        [wpa(metrics=[band("Resource")])],
        "resource:",
        "WatermarkPodAutoscaler",
    ),
    "wpa-zero-tolerance": Case([wpa(tolerance="0m")], [wpa(tolerance="1m")], "tolerance: 0m", "WatermarkPodAutoscaler"),
    "wpa-ignored-block": Case(
        [wpa(metrics=[{**band("External"), **band("Resource")}])],
        [wpa(metrics=[band("External"), band("Resource")])],
        "external:",
        "WatermarkPodAutoscaler",
    ),
    "wpa-skip-verify": Case(
        [recommended(tlsConfig={"insecureSkipVerify": True})],
        [recommended(tlsConfig={"insecureSkipVerify": False})],
        "insecureSkipVerify: true",
        "WatermarkPodAutoscaler",
    ),
    "wpa-one-mark": Case([wpa(metrics=[band(lowWatermark=None)])], [wpa()], "external:", "WatermarkPodAutoscaler"),
    "wpa-dry-run": Case([wpa(dryRun=True)], [wpa(dryRun=False)], "dryRun: true", "WatermarkPodAutoscaler"),
    "wpa-slow-scale-up": Case(
        [wpa(upscaleForbiddenWindowSeconds=600)],
        [wpa(upscaleForbiddenWindowSeconds=300)],
        "upscaleForbiddenWindowSeconds: 600",
        "WatermarkPodAutoscaler",
    ),
    "wpa-annotation": Case(
        [annotated("lifecycle-control.enabled", "yes")],
        [annotated("lifecycle-control.enabled", "T")],
        "wpa.datadoghq.com/lifecycle-control.enabled: 'yes'",
        "WatermarkPodAutoscaler",
    ),
    "needs-cpu-request": Case(
        [autoscaler(), workload("web", {"name": "app"})],
        [autoscaler(), workload()],
        "targetRef:",
        "Autoscaler",
    ),
    "policy-container-missing": Case(
        [sized({"containerName": "api"}), workload("web", container(), container("proxy"))],
        [sized({"containerName": "proxy"}), workload("web", container(), container("proxy"))],
        "- containerName: api",
        "VerticalPodAutoscaler",
    ),
    "limit-range-bounds": Case(
        [sized({"maxAllowed": {"cpu": "4"}}), limit_range(max={"cpu": "2"})],
        [sized({"maxAllowed": {"cpu": "2"}}), limit_range(max={"cpu": "2"})],
        "cpu: '4'",
        "VerticalPodAutoscaler",
    ),
    "too-few-replicas": Case(
        [recreating(), workload(replicas=1)],
        [recreating(minReplicas=1), workload(replicas=1)],
        "updatePolicy:",
        "VerticalPodAutoscaler",
    ),
    "recreates-pods": Case(
        [recreating()], [recreating()], "updateMode: Recreate", "VerticalPodAutoscaler", sound_kubernetes="1.32"
    ),
    "hpa-dominates": Case(
        [hvpa(hpa=hpa_block(cpu(70)))], [hvpa(hpa=hpa_block(cpu(100)))], "averageUtilization: 70", "Hvpa"
    ),
    "restarts-pods": Case([hvpa()], [hvpa()], "scalingIntervals:", "Hvpa", kubernetes="1.32"),
    "weight-based": Case([weighted()], [hvpa()], "weightBasedScalingIntervals:", "Hvpa"),
    "api-version-not-served": Case(
        [hpa(api_version="autoscaling/v2beta2")],
        [hpa(api_version="autoscaling/v2beta2")],
        "apiVersion: autoscaling/v2beta2",
        sound_kubernetes="1.25",
    ),
    "old-api-version": Case(
        [hpa(api_version="autoscaling/v2beta2")],
        [hpa()],
        "apiVersion: autoscaling/v2beta2",
        kubernetes="1.25",
        sound_kubernetes="1.25",
    ),
    "gate-closed": Case(
        [paced(tolerance="0.05")],
        [paced(tolerance="0.05")],
        "tolerance: '0.05'",
        kubernetes="1.34",
        sound_kubernetes="1.35",
    ),
    "duplicate-object": Case([hpa(), hpa()], [hpa(), hpa("other", target={"name": "other"})], "name: web"),
    "scaled-object-bounds": Case(
        [scaled_object(minReplicaCount=5, maxReplicaCount=3)],
        [scaled_object(minReplicaCount=3, maxReplicaCount=3)],
        "minReplicaCount: 5",
        on="ScaledObject",
    ),
    "slow-scale-up": Case(
        [hpa(minReplicas=2, maxReplicas=50, behavior={"scaleUp": rate(1, 300)}), workload()],
        [hpa(minReplicas=2, maxReplicas=50, behavior={"scaleUp": rate(10, 300)}), workload()],
        "policies:",
    ),
    "tiny-utilization": Case(
        [hpa(metrics=[cpu(averageUtilization=1)]), workload()],
        [hpa(metrics=[cpu(averageUtilization=10)]), workload()],
        "averageUtilization: 1",
    ),
    "single-metric-version": Case([first_version(), workload()], [hpa(), workload()], "apiVersion: autoscaling/v1"),
    "neighbour-not-served": Case(
        [thing("policy/v1beta1", "PodDisruptionBudget", minAvailable=1)],
        [thing("policy/v1beta1", "PodDisruptionBudget", minAvailable=1)],
        "apiVersion: policy/v1beta1",
        on="PodDisruptionBudget",
        sound_kubernetes="1.24",
    ),
    "placeholder": Case([hpa("${APP}")], [hpa()], "apiVersion: autoscaling/v2"),
    "unknown-ignore": Case(
        [hpa(annotations={"hypot.dev/lint-ignore": "request-mising"})],
        [hpa(annotations={"hypot.dev/lint-ignore": "request-missing, single-replica"})],
        "hypot.dev/lint-ignore: request-mising",
    ),
}


@pytest.fixture
def linted(tmp_path, monkeypatch):
    """Lint manifests as one file, and return the report and the lines of that file."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "base").mkdir()

    def lint(manifests, kubernetes="1.37"):
        written = "---\n".join(to_yaml(manifest) for manifest in manifests)
        (tmp_path / "base" / "web.yaml").write_text(written, encoding="utf-8")
        return check(*load(["base/web.yaml"]), kubernetes=kubernetes), written.splitlines()

    return lint


@pytest.mark.parametrize("rule", CASES)
def test_violation_is_found_in_its_line(linted, rule):
    """The finding has the object, the line, the rule's severity and exactly the message of the docs."""
    case = CASES[rule]
    report, lines = linted(case.breach, case.kubernetes)
    found = next(finding for finding in report.findings if finding.rule == rule)
    assert (found.kind, found.file, found.severity) == (case.on, "base/web.yaml", all_rules()[rule].severity)
    assert lines[found.line - 1].strip() == case.line
    assert found.message == all_rules()[rule].example


@pytest.mark.parametrize("rule", CASES)
def test_nearest_valid_manifest_is_left_alone(linted, rule):
    """A manifest that differs only in that point does not break the rule."""
    case = CASES[rule]
    report, _ = linted(case.sound, case.sound_kubernetes)
    assert rule not in {finding.rule for finding in report.findings}


def test_every_rule_with_code_has_a_case():
    """Every rule has a violation and a valid neighbour."""
    assert set(CASES) == {rule.id for rule in all_rules().values() if rule.check is not None}


@pytest.mark.parametrize(
    "manifests",
    [
        [hpa(), workload()],
        [wpa(), workload()],
        [wpa(metrics=[band("Resource")]), workload()],
        [vpa(), checkpoint(), workload(replicas=2)],
        [hvpa(), workload()],
        [hpa(target=ON_HVPA), hvpa(replicas=2), vpa(updatePolicy={"updateMode": "Off"}), workload()],
    ],
)
def test_valid_manifests_have_no_findings(manifests):
    """Reasonable manifests have no finding at all, not even advice."""
    assert check(*manifests).findings == ()
