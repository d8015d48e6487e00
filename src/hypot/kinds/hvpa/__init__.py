"""Hvpa, autoscaling.k8s.io/v1alpha1: turns total resources into one pair of replica count and pod size."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Self, cast

from hypot.kinds.authored.given_target import TargetLike, given_target
from hypot.kinds.authored.keywords import OF_STATUS, authored
from hypot.kinds.decode import python_path
from hypot.kinds.derived import derived
from hypot.kinds.floor import Floor
from hypot.kinds.hpa import HPA
from hypot.kinds.hpa.defaults import with_defaults
from hypot.kinds.hpa.fields import Behavior, Metric, ScalingRules
from hypot.kinds.hpa.resource_metric import container_problems as metric_container_problems
from hypot.kinds.hpa.rules import spec_problems as hpa_problems
from hypot.kinds.hpa.rules import strictness
from hypot.kinds.hvpa.fields import (
    HPABlock,
    HPATemplate,
    HPATemplateSpec,
    HvpaSpec,
    MaintenanceWindow,
    ResourceChanges,
    ResourceChangesLike,
    ScaleType,
    ScalingInterval,
    VPABlock,
    VPATemplate,
    VPATemplateSpec,
)
from hypot.kinds.hvpa.intervals import last_count
from hypot.kinds.hvpa.rules import IN_HPA, IN_VPA, spec_problems
from hypot.kinds.hvpa.status import HvpaStatus
from hypot.kinds.node import node, replaced
from hypot.kinds.pod_template import Template
from hypot.kinds.problem import Problem, Where
from hypot.kinds.values.plain import plain
from hypot.kinds.values.version import NEWEST, Version, as_version
from hypot.kinds.vpa.fields import ContainerPolicies, ContainerPolicy, ResourcePolicy, VPASpec, policies_from
from hypot.kinds.vpa.rules import container_problems


@node
class Hvpa(HvpaSpec):
    """An Hvpa.

    >>> sizes = [interval(1, cpu="500m", memory="2Gi"), interval(3, cpu="2", memory="8Gi")]
    >>> Hvpa("deployment/web", intervals=sizes, overlap={"cpu": "30%"}).intervals[1].max_replicas
    3
    """

    @authored("Hvpa()", OF_STATUS, "kind")
    def __init__(
        self,
        target: TargetLike,
        *,
        intervals: Iterable[ScalingInterval] | ScalingInterval,
        overlap: ResourceChangesLike | None = None,
        base: ResourceChangesLike | None = None,
        limits_gap: ResourceChangesLike | None = None,
        scale_up: ScaleType | None = None,
        scale_down: ScaleType | None = None,
        window: MaintenanceWindow | tuple[str, str] | None = None,
        min_replicas: int | None = None,
        max_replicas: int | None = None,
        metrics: Iterable[Metric] | Metric | None = None,
        hpa_scale_up: ScalingRules | None = None,
        hpa_scale_down: ScalingRules | None = None,
        containers: ContainerPolicies | None = None,
        knobs: Mapping[str, str] | None = None,
        use_hpa: bool = True,
        use_vpa: bool = True,
        name: str | None = None,
        namespace: str | None = None,
        labels: Mapping[str, str] | None = None,
        annotations: Mapping[str, str] | None = None,
    ) -> None:
        """Create an autoscaler, named like its target by default. Raises one exception with all problems.

        `knobs` are annotations for the size recommender. The hpa and vpa blocks are written only if they have content.
        """
        given = given_target(target)
        paced = hpa_scale_up is not None or hpa_scale_down is not None
        hpa = HPATemplateSpec(
            min_replicas,
            max_replicas,
            cast("tuple[Metric, ...] | None", metrics),
            Behavior(hpa_scale_up, hpa_scale_down) if paced else None,
        )
        policy = None if containers is None else ResourcePolicy(policies_from(containers))
        self.author(
            given.metadata(name, namespace, labels, annotations),
            given.template,
            given.problems(namespace, counts=True),
            replicas=None,
            target=given.ref,
            hpa=_hpa_block(hpa, use=use_hpa),
            vpa=_vpa_block(policy, knobs, use=use_vpa),
            scale_up=scale_up,
            scale_down=scale_down,
            base=ResourceChanges.of(base),
            limits_gap=ResourceChanges.of(limits_gap),
            intervals=intervals,
            overlap=ResourceChanges.of(overlap),
            window=MaintenanceWindow(*window) if isinstance(window, tuple | list) and len(window) == 2 else window,
            weights=None,
        )

    @property
    def metrics(self) -> tuple[Metric, ...] | None:
        """As in the constructor: the metrics of its HPA."""
        return self.hpa_spec.metrics

    @property
    def hpa_scale_up(self) -> ScalingRules | None:
        """As in the constructor: the behavior of its HPA."""
        return self._behavior.scale_up

    @property
    def hpa_scale_down(self) -> ScalingRules | None:
        """As in the constructor: the behavior of its HPA."""
        return self._behavior.scale_down

    @property
    def containers(self) -> tuple[ContainerPolicy, ...] | None:
        """As in the constructor."""
        return self.container_policies.containers if self.container_policies is not None else None

    @property
    def _behavior(self) -> Behavior:
        return self.hpa_spec.behavior if isinstance(self.hpa_spec.behavior, Behavior) else _NO_BEHAVIOR

    def arguments(self) -> dict[str, Any]:
        """The keywords of the constructor."""
        words = (
            *("target", "intervals", "overlap", "base", "limits_gap", "scale_up", "scale_down", "window", "metrics"),
            *("hpa_scale_up", "hpa_scale_down", "containers"),
        )
        counts = {"min_replicas": self.hpa_spec.min_replicas, "max_replicas": self.hpa_spec.max_replicas}
        uses = {"knobs": self.knob_annotations, "use_hpa": self.uses_hpa, "use_vpa": self.uses_vpa}
        return {**{word: getattr(self, word) for word in words}, **counts, **uses, **self.named()}

    def floored(self, floor: Floor) -> Self:
        """With a floor that is not above the last interval, and without the intervals below it."""
        pairs = [(one, last_count(self, one)) for one in self.intervals or ()]
        most = max([end for _, end in pairs if end is not None], default=self.max_replicas)
        replicas = floor.replicas if most is None else min(floor.replicas, most)
        intervals = tuple([one for one, end in pairs if end is None or end >= replicas])
        return replaced(self, floor=floor._replace(replicas=replicas), intervals=intervals or self.intervals)

    def rule_problems(self, kubernetes: Version, gates: Mapping[str, bool] | None) -> Iterator[Problem]:
        """The problems of this object."""
        yield from spec_problems(self)
        if self.hpa_template is not None:
            yield from _template_problems(self, kubernetes, gates)

    @property
    def reported(self) -> HvpaStatus:
        """The status of a live object; empty if there is none."""
        return HvpaStatus.read(self.status).readable() if isinstance(self.status, dict) else HvpaStatus()

    def pod_problems(self, template: Template) -> Iterator[Problem]:
        """Metrics and policies of containers that these pods do not have."""
        yield from metric_container_problems(hpa_of(self), template, IN_HPA)
        yield from container_problems(self.container_policies, (*IN_VPA, "resourcePolicy"), template, self.target)

    def author_path(self, where: Where) -> str:
        """The behavior of the template and its annotations have keywords of their own."""
        path = python_path(self, where)
        if where[: len(_BEHAVIOR)] == _BEHAVIOR:
            return f"hpa_{path}"
        inner = ".".join(str(part) for part in where[len(_KNOBS) :])
        return ".".join(filter(None, ("knobs", inner))) if where[: len(_KNOBS)] == _KNOBS else path

    def effective(self, kubernetes: str | Version = NEWEST) -> Self:
        """The object with its controller's defaults, and those of the API server for its HPA template."""
        from hypot.kinds.hvpa.defaults import with_defaults as complete  # noqa: PLC0415  it needs this class

        return complete(self, as_version(kubernetes))


_NO_BEHAVIOR = Behavior()
_BEHAVIOR = (*IN_HPA[1:], "behavior")
_KNOBS = (*IN_VPA[1:-1], "metadata", "annotations")


@derived
def refusals(hvpa: Hvpa) -> tuple[Problem, ...]:
    """The errors in this object."""
    return tuple([problem for problem in hvpa.problems() if problem.severity == "error"])


def _hpa_block(spec: HPATemplateSpec, *, use: Any) -> HPABlock | None:
    use = True if use is None else use
    template = HPATemplate(spec=spec) if spec.write() else None
    return HPABlock(use, template=template) if template is not None or use is not True else None


def _vpa_block(policy: ResourcePolicy | None, knobs: Mapping[str, str] | None, *, use: Any) -> VPABlock | None:
    use = True if use is None else use
    spec = None if policy is None else VPATemplateSpec(resource_policy=policy)
    metadata = None if knobs is None or knobs == {} else {"annotations": plain(knobs)}
    template = VPATemplate(metadata, spec) if metadata or spec else None
    return VPABlock(use, template=template) if template is not None or use is not True else None


def _template_problems(hvpa: HvpaSpec, kubernetes: Version, gates: Mapping[str, bool] | None) -> Iterator[Problem]:
    """The HPA's rules for the metrics and behavior of the template. Counts have their own rules."""
    hpa = replaced(hpa_of(hvpa), min_replicas=None)
    complete = with_defaults(hpa, kubernetes, gates)
    for problem in hpa_problems(complete, strictness(hpa, None, kubernetes, gates)):
        if problem.where[1] in {"metrics", "behavior"}:
            yield replace(problem, where=(*IN_HPA, *problem.where[1:]))


def hpa_of(hvpa: HvpaSpec) -> HPA:
    """The HorizontalPodAutoscaler that the template describes, for the same target and named like the Hvpa."""
    written = hvpa.hpa_spec
    return replaced(
        HPA.from_dict({"metadata": _metadata(hvpa, hvpa.hpa_template)}),
        target=hvpa.target,
        min_replicas=written.min_replicas,
        max_replicas=_most(hvpa),
        metrics=written.metrics,
        behavior=written.behavior,
    )


def _most(hvpa: HvpaSpec) -> int | None:
    """The HPA's maximum. Without its own maximum, the last interval bounds it."""
    if hvpa.max_replicas is not None or not hvpa.intervals:
        return hvpa.max_replicas
    return hvpa.intervals[-1].max_replicas


def vpa_of(hvpa: HvpaSpec) -> VPASpec:
    """The VerticalPodAutoscaler that the template describes, for the same target and named like the Hvpa."""
    written = hvpa.vpa_spec
    return replaced(
        VPASpec.from_dict({"metadata": _metadata(hvpa, hvpa.vpa_template)}),
        target=hvpa.target,
        update_policy=written.update_policy,
        resource_policy=written.resource_policy,
    )


def _metadata(hvpa: HvpaSpec, template: HPATemplate | VPATemplate | None) -> dict[str, Any]:
    own = hvpa.metadata if isinstance(hvpa.metadata, dict) else {}
    written = template.metadata if template is not None else None
    metadata = {key: own[key] for key in ("name", "namespace") if key in own}
    if isinstance(written, dict):
        metadata.update({key: written[key] for key in ("labels", "annotations") if written.get(key)})
    return metadata
