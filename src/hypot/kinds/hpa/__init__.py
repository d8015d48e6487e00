"""HorizontalPodAutoscaler, autoscaling/v2."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Self

from hypot.kinds.authored.given_target import TargetLike, given_target
from hypot.kinds.authored.keywords import OF_STATUS, authored
from hypot.kinds.hpa.defaults import stored, with_defaults
from hypot.kinds.hpa.fields import Behavior, HPASpec, Metric, ScalingRules
from hypot.kinds.hpa.resource_metric import metric_problems
from hypot.kinds.hpa.rules import NEWER, ONE_METRIC, spec_problems, strictness
from hypot.kinds.identity import AUTOSCALING_V1
from hypot.kinds.node import node, replaced
from hypot.kinds.pod_template import Template
from hypot.kinds.problem import Problem
from hypot.kinds.values.version import NEWEST, Version, as_version


@node
class HPA(HPASpec):
    """A HorizontalPodAutoscaler.

    >>> web = HPA("deployment/web", min_replicas=2, max_replicas=10, metrics=[cpu(utilization=70)])
    >>> web.name, web.metrics[0].resource.target.utilization
    ('web', 70)
    """

    @authored("HPA()", OF_STATUS, "kind")
    def __init__(
        self,
        target: TargetLike,
        *,
        max_replicas: int,
        min_replicas: int | None = None,
        metrics: Iterable[Metric] | Metric | None = None,
        scale_up: ScalingRules | None = None,
        scale_down: ScalingRules | None = None,
        name: str | None = None,
        namespace: str | None = None,
        labels: Mapping[str, str] | None = None,
        annotations: Mapping[str, str] | None = None,
    ) -> None:
        """Create an autoscaler, named like its target by default. Raises one exception with all problems."""
        given = given_target(target)
        paced = scale_up is not None or scale_down is not None
        self.author(
            given.metadata(name, namespace, labels, annotations),
            given.template,
            given.problems(namespace, counts=True, needs_group=True),
            target=given.ref,
            min_replicas=min_replicas,
            max_replicas=max_replicas,
            metrics=metrics,
            behavior=Behavior(scale_up, scale_down) if paced else None,
        )

    def arguments(self) -> dict[str, Any]:
        """The keywords of the constructor."""
        words = ("target", "min_replicas", "max_replicas", "metrics", "scale_up", "scale_down")
        return {**{word: getattr(self, word) for word in words}, **self.named()}

    def rule_problems(self, kubernetes: Version, gates: Mapping[str, bool] | None) -> Iterator[Problem]:
        """What the API server of that version would reject on creation, after it has applied its defaults."""
        complete = with_defaults(self, kubernetes, gates)
        if self.read_from == AUTOSCALING_V1:  # its behavior is in an annotation, which gets no defaults
            complete = replaced(complete, behavior=self.behavior)
        return spec_problems(complete, strictness(self, None, kubernetes, gates))

    def version_problems(self) -> Iterator[Problem]:
        """autoscaling/v1 is served, and stays so."""
        if self.read_from == AUTOSCALING_V1:
            yield Problem(
                "single-metric-version", "Version", ("apiVersion",), ONE_METRIC, AUTOSCALING_V1, NEWER, "advice"
            )
        else:
            yield from HPASpec.version_problems(self)

    def pod_problems(self, template: Template) -> Iterator[Problem]:
        """Metrics that need a request or a container that these pods do not have."""
        return metric_problems(self, template)

    def effective(self, kubernetes: str | Version = NEWEST) -> Self:
        """The object as `kubectl get` shows it after creation, in a cluster of that Kubernetes version."""
        return stored(self, as_version(kubernetes))
