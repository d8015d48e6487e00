"""Autoscaler, hypot.dev/v1alpha1: names a workload; replicas and size are learned from what the workload does."""

from collections.abc import Iterator, Mapping
from typing import Any, Self, TypeVar

from hypot.kinds.authored.given_target import TargetLike, given_target
from hypot.kinds.authored.keywords import OF_STATUS, authored
from hypot.kinds.autoscaler.fields import (
    LATE_AFTER,
    LATE_PRICE,
    AutoscalerMode,
    AutoscalerSpec,
    Axes,
    Late,
    Objective,
    RequestMetrics,
)
from hypot.kinds.autoscaler.rules import RESOURCE_POLICY, spec_problems
from hypot.kinds.base import Duration, Kind
from hypot.kinds.hvpa.fields import go_duration
from hypot.kinds.meta import MetricName
from hypot.kinds.node import node, replaced
from hypot.kinds.pod_template import Template
from hypot.kinds.problem import Problem
from hypot.kinds.values.plain import plain
from hypot.kinds.values.version import NEWEST, Version, as_version
from hypot.kinds.vpa import with_policy_defaults
from hypot.kinds.vpa.fields import ContainerPolicies, ContainerPolicy, ResourcePolicy, policies_from
from hypot.kinds.vpa.rules import container_problems

# A metric of each pod: its name, or its name and a selector.
PodMetric = str | MetricName | Mapping[str, Any]


@node
class WorkloadAutoscaler(AutoscalerSpec):
    """An Autoscaler.

    >>> WorkloadAutoscaler("deployment/web", mode="Auto", late_after="1s").late_after
    1.0
    """

    @authored("WorkloadAutoscaler()", OF_STATUS, "kind")
    def __init__(
        self,
        target: TargetLike,
        *,
        mode: AutoscalerMode | None = None,
        axes: Axes | None = None,
        min_replicas: int | None = None,
        max_replicas: int | None = None,
        containers: ContainerPolicies | None = None,
        late_after: Duration | None = None,
        late_price: float | None = None,
        requests_metric: PodMetric | None = None,
        late_metric: PodMetric | None = None,
        name: str | None = None,
        namespace: str | None = None,
        labels: Mapping[str, str] | None = None,
        annotations: Mapping[str, str] | None = None,
    ) -> None:
        """Create an autoscaler, named like its target by default. Raises one exception with all problems."""
        given = given_target(target)
        late = None if late_after is None and late_price is None else Late(go_duration(late_after), late_price)
        asks = requests_metric is not None or late_metric is not None
        self.author(
            given.metadata(name, namespace, labels, annotations),
            given.template,
            given.problems(namespace, counts=True),
            target=given.ref,
            update_mode=mode,
            written_axes=axes,
            written_min=min_replicas,
            written_max=max_replicas,
            resource_policy=None if containers is None else ResourcePolicy(policies_from(containers)),
            objective=None if late is None else Objective(late),
            metrics=RequestMetrics(_named(requests_metric), _named(late_metric)) if asks else None,
        )

    @property
    def containers(self) -> tuple[ContainerPolicy, ...] | None:
        """As in the constructor."""
        return self.container_policies.containers if self.container_policies is not None else None

    def arguments(self) -> dict[str, Any]:
        """The keywords of the constructor."""
        metrics = self.request_metrics
        written = {
            "target": self.target,
            "containers": self.containers,
            "mode": self.update_mode,
            "axes": self.written_axes,
            "min_replicas": self.written_min,
            "max_replicas": self.written_max,
            "late_after": self.late.after,
            "late_price": self.late.price,
            "requests_metric": metrics.requests,
            "late_metric": metrics.late,
        }
        return {**written, **self.named()}

    def rule_problems(self, kubernetes: Version, gates: Mapping[str, bool] | None) -> Iterator[Problem]:
        """The problems of this object."""
        del kubernetes, gates
        return spec_problems(self)

    def unreadable_status(self) -> Iterator[Problem]:
        """A status must be readable, except for fields of other versions."""
        return (problem for problem in Kind.unreadable_status(self) if problem.rule != "unknown-field")

    def pod_problems(self, template: Template) -> Iterator[Problem]:
        """Policies for containers that these pods do not have."""
        return container_problems(self.container_policies, RESOURCE_POLICY, template, self.target)

    def effective(self, kubernetes: str | Version = NEWEST) -> Self:
        """The object with its defaults, except for bounds of sizes: those come from its workload."""
        as_version(kubernetes)
        return with_defaults(self)


W = TypeVar("W", bound=AutoscalerSpec)


def with_defaults(autoscaler: W) -> W:
    """The object with its defaults, for those parts that can be read."""
    autoscaler = autoscaler.readable()
    late = autoscaler.late
    after, price = late.after or LATE_AFTER, LATE_PRICE if late.price is None else late.price
    return replaced(
        autoscaler,
        update_mode=autoscaler.mode,
        written_axes=autoscaler.axes,
        written_min=autoscaler.min_replicas,
        written_max=autoscaler.max_replicas,
        resource_policy=with_policy_defaults(autoscaler.resource_policy),
        objective=replaced(autoscaler.objective or Objective(), late=replaced(late, after=after, price=price)),
    )


def _named(metric: PodMetric | None) -> Any:
    """A metric as a manifest has it. What is neither a name nor a metric stays, for the rules."""
    if isinstance(metric, str):
        return MetricName(plain(metric))
    return MetricName.read(plain(metric)) if isinstance(metric, Mapping) else metric
