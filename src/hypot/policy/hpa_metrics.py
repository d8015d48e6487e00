"""From one metric of a HorizontalPodAutoscaler to a reading: a proposal, or the reason why there is none."""

from typing import Any

from hypot.kinds.hpa_parts import Metric
from hypot.kinds.selector import SelectorError
from hypot.policy.decision import ErrorKind, Reading, Step
from hypot.policy.hpa_pods import container_resource, pods_metric, resource
from hypot.policy.hpa_totals import external_metric, object_metric
from hypot.policy.proposal import CannotRead, Look, Proposal

_EVALUATORS = {
    "Resource": resource,
    "ContainerResource": container_resource,
    "Pods": pods_metric,
    "Object": object_metric,
    "External": external_metric,
}
_KEYS = {kind: kind[0].lower() + kind[1:] for kind in _EVALUATORS}


def read_metric(metric: Metric, look: Look) -> Reading:
    """Evaluate one metric; what fails becomes a reading too."""
    kind = metric.type or ""
    try:
        proposal = _evaluate(metric, kind, look)
    except (CannotRead, SelectorError) as error:
        reason = f"FailedGet{kind}Metric" if kind in _EVALUATORS else "InvalidMetricSourceType"
        error_kind: ErrorKind = "spec" if isinstance(error, CannotRead) and error.kind == "spec" else "internal"
        step = Step("recommend", "metric-failed", look.scale.replicas, None, f"{kind} metric: {error}.", {})
        return Reading(
            kind, kind, None, step, status={"type": ""}, error=str(error), error_kind=error_kind, failed_reason=reason
        )
    step = Step("recommend", proposal.rule, look.scale.replicas, proposal.replicas, proposal.sentence, proposal.numbers)
    key = _KEYS[kind]
    status = {"type": kind, key: {**_identity_of(metric, key), "current": proposal.current}}
    return Reading(
        kind,
        proposal.description,
        proposal.replicas,
        step,
        proposal.value,
        status,
        band=proposal.band,
    )


def _evaluate(metric: Metric, kind: str, look: Look) -> Proposal:
    evaluate = _EVALUATORS.get(kind)
    if evaluate is None:
        raise CannotRead(f'unknown metric source type "{kind}"', "spec")
    return evaluate(metric, look)


def _identity_of(metric: Metric, key: str) -> dict[str, Any]:
    """Which metric, as status repeats it: everything of the source but its target."""
    if key == "resource" and metric.resource is not None:
        return {"name": metric.resource.name}
    source = metric.write()[key]
    return {name: value for name, value in source.items() if name != "target"}
