"""What the metrics of a WatermarkPodAutoscaler need of the pods."""

from collections.abc import Iterator

from hypot.kinds.pod_template import Template
from hypot.kinds.problem import Problem
from hypot.kinds.selector import selector_of
from hypot.kinds.wpa.fields import ResourceBand, WPASpec


def missed_pods(source: ResourceBand, template: Template, of: object) -> str:
    """Why a Resource metric does not measure these pods; empty if it does."""
    selector = selector_of(source.selector)
    if selector is None or selector.matches(template.labels):
        return ""
    labels = ", ".join(f"{name}={value}" for name, value in template.labels.items()) or "none"
    return f"the selector does not match the pods of {of} (labels {labels})"


def metric_problems(wpa: WPASpec, template: Template) -> Iterator[Problem]:
    """The metrics that never work with these pods."""
    for i, metric in enumerate(wpa.metrics or ()):
        missed = missed_pods(metric.resource, template, wpa.target) if metric.resource is not None else ""
        if missed and metric.type == "Resource":
            where = ("spec", "metrics", i, "resource", "metricSelector")
            yield Problem("wpa-selector-misses-pods", "", where, missed, hint="write the labels of the target's pods")
