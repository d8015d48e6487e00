"""The side of cdk8s-plus in authoring.py, for the Python of build/interop: prints what was measured as JSON.

`plain` makes the same manifests from the generated classes, which check types only. `checked` uses the construct
HorizontalPodAutoscaler, which checks more, and writes its own defaults.
"""

import importlib
import importlib.metadata
import json
import re
import statistics
import sys
import time

# Node compiles what it runs often, so the first rounds are slower.
ROUNDS = 3


def package():
    """The name of the newest cdk8s-plus that is installed, and its version."""
    found = [
        (int(named[1]), one.version)
        for one in importlib.metadata.distributions()
        if (named := re.fullmatch(r"cdk8s-plus-(\d+)", one.metadata["Name"]))
    ]
    minor, version = max(found)
    return f"cdk8s-plus-{minor}-{version}", f"cdk8s_plus_{minor}"


def metadata(cdk8s, number):
    return cdk8s.ApiObjectMetadata(name=f"web-{number}", namespace="shop", labels={"app": "web"})


def plain(_, plus, chart, number):
    """As `core.manifest` has it."""
    k8s = plus.k8s

    def policy(kind, value):
        return k8s.HpaScalingPolicyV2(type=kind, value=value, period_seconds=60)

    used = k8s.MetricTargetV2(type="Utilization", average_utilization=70)
    rate = k8s.MetricTargetV2(type="AverageValue", average_value=k8s.Quantity.from_string("100"))
    k8s.KubeHorizontalPodAutoscalerV2(
        chart,
        f"web-{number}",
        metadata=k8s.ObjectMeta(name=f"web-{number}", namespace="shop", labels={"app": "web"}),
        spec=k8s.HorizontalPodAutoscalerSpecV2(
            scale_target_ref=k8s.CrossVersionObjectReferenceV2(
                api_version="apps/v1", kind="Deployment", name=f"web-{number}"
            ),
            min_replicas=2,
            max_replicas=200,
            metrics=[
                k8s.MetricSpecV2(type="Resource", resource=k8s.ResourceMetricSourceV2(name="cpu", target=used)),
                k8s.MetricSpecV2(
                    type="Pods",
                    pods=k8s.PodsMetricSourceV2(metric=k8s.MetricIdentifierV2(name="rps"), target=rate),
                ),
            ],
            behavior=k8s.HorizontalPodAutoscalerBehaviorV2(
                scale_up=k8s.HpaScalingRulesV2(
                    stabilization_window_seconds=0,
                    select_policy="Max",
                    policies=[policy("Pods", 4), policy("Percent", 100)],
                ),
                scale_down=k8s.HpaScalingRulesV2(
                    stabilization_window_seconds=300, select_policy="Max", policies=[policy("Percent", 10)]
                ),
            ),
        ),
    )


def checked(cdk8s, plus, chart, number):
    """The same, as users of cdk8s-plus write it: it needs a Deployment to scale, which is written too."""
    deployment = plus.Deployment(
        chart,
        f"deployment-{number}",
        metadata=metadata(cdk8s, number),
        containers=[
            plus.ContainerProps(
                image="web",
                name="app",
                resources=plus.ContainerResources(cpu=plus.CpuResources(request=plus.Cpu.millis(100))),
            )
        ],
    )
    minute = cdk8s.Duration.minutes(1)

    def policy(replicas):
        return plus.ScalingPolicy(replicas=replicas, duration=minute)

    plus.HorizontalPodAutoscaler(
        chart,
        f"web-{number}",
        metadata=metadata(cdk8s, number),
        target=deployment,
        min_replicas=2,
        max_replicas=200,
        metrics=[
            plus.Metric.resource_cpu(plus.MetricTarget.average_utilization(70)),
            plus.Metric.pods(name="rps", target=plus.MetricTarget.average_value(100)),
        ],
        scale_up=plus.ScalingRules(
            policies=[policy(plus.Replicas.absolute(4)), policy(plus.Replicas.percent(100))],
            stabilization_window=cdk8s.Duration.seconds(0),
        ),
        scale_down=plus.ScalingRules(
            policies=[policy(plus.Replicas.percent(10))], stabilization_window=cdk8s.Duration.minutes(5)
        ),
    )


FORMS = {
    "plain": (plain, "generated classes"),
    "checked": (checked, "constructs with their Deployments"),
}


def measured(form, count):
    cdk8s, plus = importlib.import_module("cdk8s"), importlib.import_module(package()[1])
    make, what = FORMS[form]
    built, written = [], []
    for _ in range(ROUNDS):
        begun = time.perf_counter()
        app = cdk8s.App()
        chart = cdk8s.Chart(app, "shop")
        for number in range(count):
            make(cdk8s, plus, chart, number)
        built.append(time.perf_counter() - begun)
        begun = time.perf_counter()
        text = app.synth_yaml()
        written.append(time.perf_counter() - begun)
    assert text.count("kind: HorizontalPodAutoscaler") == count
    return {"what": what, "built": statistics.median(built), "written": statistics.median(written), "text": text}


if __name__ == "__main__":
    form, *count = sys.argv[1:]
    print(json.dumps(package() if form == "version" else measured(form, int(*count))))
