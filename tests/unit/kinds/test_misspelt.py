"""Kinds that no API server has."""

import pytest

from hypot.kinds.catalogue import CATALOGUE
from hypot.kinds.misspelt import meant_by


@pytest.mark.parametrize(
    ("api_version", "kind", "meant"),
    [
        ("autoscaling/v2", "HorizontalPodAutoscalr", "HorizontalPodAutoscaler"),
        ("autoscaling/v2", "horizontalpodautoscaler", "HorizontalPodAutoscaler"),
        ("autoscaling/v2", "HPA", "HorizontalPodAutoscaler"),
        ("autoscaling.k8s.io/v1", "VerticalPodAutoScaler", "VerticalPodAutoscaler"),
        ("autoscaling.k8s.io/v1alpha1", "HVPA", "Hvpa"),
        ("datadoghq.com/v1alpha1", "WatermarkPodAutoscaller", "WatermarkPodAutoscaler"),
        ("autoscaling.mercari.com/v1beta3", "Tortois", "Tortoise"),
        ("hypot.dev/v1alpha1", "WorkloadAutoscaler", "Autoscaler"),
        ("metrics.hypot.dev/v1alpha1", "MetricRule", "MetricRules"),
        ("keda.sh/v1alpha1", "ScaledObjects", "ScaledObject"),
        ("argoproj.io/v1alpha1", "Rolout", "Rollout"),
        ("apps/v1", "Deploymnt", "Deployment"),
        ("policy/v1", "PodDisruptionBudgets", "PodDisruptionBudget"),
        ("v1", "LimitRnge", "LimitRange"),
        ("autoscaling/v1", "VerticalPodAutoscaler", "apiVersion autoscaling.k8s.io/v1"),
        ("autoscaling.k8s.io/v1", "HorizontalPodAutoscaler", "apiVersion autoscaling/v2"),
        ("v1", "Deployment", "apiVersion apps/v1"),
        ("apps/v1", "CronJob", "apiVersion batch/v1"),
    ],
)
def test_what_is_meant(api_version, kind, meant):
    assert meant_by(api_version, kind) == f"did you mean {meant}?"


@pytest.mark.parametrize(
    ("api_version", "kind"),
    [
        ("autoscaling/v1", "Scale"),
        ("autoscaling/v2", "HorizontalPodAutoscalerList"),
        ("datadoghq.com/v1alpha1", "DatadogPodAutoscaler"),
        ("datadoghq.com/v1alpha2", "DatadogPodAutoscalerClusterProfile"),
        ("datadoghq.com/v2alpha1", "DatadogAgent"),
        ("datadoghq.com/v1alpha1", "DatadogSomethingNew"),
        ("keda.sh/v1alpha1", "ScaledJob"),
        ("argoproj.io/v1alpha1", "Application"),
        ("apps/v1", "ControllerRevision"),
        ("v1", "ConfigMap"),
        ("v1", "Config"),
        ("v1", "Template"),
        ("extensions/v1beta1", "Deployment"),
        ("example.com/v1", "HorizontalPodAutoscalr"),
        # What is right is said by the rules for the version.
        ("v1", "HorizontalPodAutoscaler"),
    ],
)
def test_kinds_that_exist(api_version, kind):
    """Or that may exist: nothing is known that is similar enough."""
    assert meant_by(api_version, kind) == ""


@pytest.mark.parametrize("info", CATALOGUE.values(), ids=CATALOGUE)
def test_every_kind_of_the_catalogue_exists(info):
    for version in (info.kind.API_VERSION, *info.kind.FORMER_VERSIONS):
        assert meant_by(version, info.name) == ""
