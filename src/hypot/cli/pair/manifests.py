"""The manifests of a pair, with reasons as comments: the HPA, the VPA, and the rule of the metrics server."""

import re
from collections.abc import Iterator
from hashlib import sha256
from typing import Any, NamedTuple

from hypot.cli.files import BadInput
from hypot.cli.pair.subject import PairSubject
from hypot.kinds.base import InvalidAutoscaler
from hypot.kinds.catalogue import Autoscaler
from hypot.kinds.hpa import HPA
from hypot.kinds.hpa.fields import Metric, ScalingRules, cpu, pods
from hypot.kinds.hvpa import Hvpa
from hypot.kinds.metric_rules import MetricRules
from hypot.kinds.metric_rules.read import RulesError
from hypot.kinds.metric_rules.read import rules_of as checked
from hypot.kinds.text.write import Comments, Place, to_yaml
from hypot.kinds.values.names import dns_label
from hypot.kinds.vpa import VPA
from hypot.kinds.vpa.fields import UpdatePolicy

# Pods are removed only after this time, so that the two autoscalers do not answer each other.
WINDOW = 900
_LONGEST, _HASH = 63, 8
_TOTAL, _PER_SECOND = "_total", "_per_second"


class Signal(NamedTuple):
    """What replicas follow, and why so much of it per pod."""

    metric: Metric
    why: tuple[str, ...]
    # The counter behind it; empty for usage.
    counter: str = ""

    @property
    def name(self) -> str:
        return served_name(self.counter)


class WrittenPair(NamedTuple):
    """The objects of a pair; there is no rule if replicas follow usage."""

    hpa: HPA
    vpa: VPA
    rule: dict[str, Any] | None


def served_name(counter: str) -> str:
    """The name under which the rate of a counter is served."""
    return f"{counter.removesuffix(_TOTAL)}{_PER_SECOND}"


def by_rate(counter: str, rate: str, why: tuple[str, ...] = ()) -> Signal:
    return Signal(pods(served_name(counter), average=rate), why or ("As given: requests per second and pod.",), counter)


def by_usage(cores: str) -> Signal:
    """An amount, not a percentage: a percentage of the request would change with the size of the pods."""
    return Signal(
        cpu(average=cores),
        ("As given: cores per pod, which do not change with the request. A percentage of the request would.",),
    )


def written(subject: PairSubject, signal: Signal) -> WrittenPair:
    """The pair. Raises with all problems of what was given."""
    low, high = subject.bounds.value
    namespace = subject.namespace or None
    try:
        hpa = HPA(
            subject.target,
            min_replicas=low,
            max_replicas=high,
            metrics=[signal.metric],
            scale_down=ScalingRules(window=WINDOW),
            namespace=namespace,
        )
        updates = subject.updates or UpdatePolicy()
        vpa = VPA(
            subject.target,
            mode="InPlaceOrRecreate",
            min_replicas=updates.min_replicas,
            eviction_requirements=updates.eviction_requirements,
            evict_after_oom=updates.evict_after_oom,
            containers=subject.containers.value,
            namespace=namespace,
        )
    except InvalidAutoscaler as error:
        raise BadInput(str(error)) from error
    return WrittenPair(hpa, vpa, _rule(subject, signal) if signal.counter else None)


def _rule(subject: PairSubject, signal: Signal) -> dict[str, Any]:
    made = {
        "name": rule_name(subject.searched_namespace, subject.target.name or ""),
        "namespaces": {"names": [subject.searched_namespace]},
        "pods": subject.labels.value,
        "scrape": subject.scrape.value,
        "metrics": [{"counter": signal.counter, "names": [signal.name]}],
    }
    try:
        checked(rules_of(made))
    except RulesError as error:
        raise BadInput(f"hypot metrics could not use the rule: {error}") from error
    return made


def rule_name(namespace: str, name: str) -> str:
    """The rule of a workload. A name that is no label of DNS gets a hash, so that it stays another one."""
    whole = f"{namespace}-{name}"
    if not any(dns_label(whole)):
        return whole
    seen = sha256(f"{namespace}/{name}".encode()).hexdigest()[:_HASH]
    plain = re.sub(r"[^a-z0-9]+", "-", whole.lower())[: _LONGEST - _HASH - 1].strip("-")
    return f"{plain}-{seen}"


def rules_of(rule: dict[str, Any]) -> dict[str, Any]:
    """A file with this rule alone."""
    return {
        "apiVersion": MetricRules.API_VERSION,
        "kind": MetricRules.KIND,
        "metadata": {"name": rule["name"]},
        "spec": {"rules": [rule]},
    }


def text_of(subject: PairSubject, signal: Signal, pair: WrittenPair, *, with_rule: bool) -> str:
    """The manifests for kubectl, with their reasons. The rule is a comment: it is no object of a cluster."""
    what = f"{signal.name}" if signal.counter else "cpu usage"
    lines = [
        f"# {subject.target}: replicas follow {what}, and the size of the pods follows their usage.",
        "# Neither changes what the other follows.",
    ]
    lines += [f"# {_about(one)}" for one in subject.others]
    parts = [*lines, to_yaml(pair.hpa.to_dict(), _hpa_reasons(subject, signal)), "---"]
    parts.append(to_yaml(pair.vpa.to_dict(), _vpa_reasons(subject)))
    if pair.rule is not None and with_rule:
        parts += ["---", *_rule_lines(subject, signal, pair.rule)]
    return "\n".join(part.rstrip("\n") for part in parts) + "\n"


def _about(other: Autoscaler) -> str:
    if isinstance(other, Hvpa):
        return f"Hvpa {other.name} holds while this HPA exists; docs/pair.md says how to move over, and back."
    return f"Delete {other.KIND} {other.name} before: it scales the same target."


def _hpa_reasons(subject: PairSubject, signal: Signal) -> Comments:
    window = "15 minutes: pods are removed more slowly than sizes change, so the two do not answer each other."
    source = "pods" if signal.counter else "resource"
    return {
        ("spec", "minReplicas"): (f"Both bounds: {subject.bounds.why}.",),
        ("spec", "metrics", 0, source, "target", "averageValue"): signal.why,
        ("spec", "behavior", "scaleDown", "stabilizationWindowSeconds"): (window,),
    }


def _vpa_reasons(subject: PairSubject) -> Comments:
    bounds = subject.containers.why
    policies = ("spec", "resourcePolicy", "containerPolicies")
    fixed = [i for i, one in enumerate(subject.containers.value) if one.controlled_values][:1]
    limits = "Limits stay, so a larger request never lets a pod use more than before."
    return {
        ("spec", "updatePolicy", "updateMode"): ("In place where the cluster can: no pod restarts for another size.",),
        policies: ((f"The bounds of sizes: {bounds}.",) if bounds else ()),
        **{(*policies, i, "controlledValues"): (limits,) for i in fixed},
    }


def _rule_lines(subject: PairSubject, signal: Signal, rule: dict[str, Any]) -> Iterator[str]:
    yield f"# {signal.name} must be served. This is the rule for hypot metrics (--rules FILE adds it to a file):"
    yield from (f"# {line}".rstrip() for line in rules_text(subject, rule).splitlines())


def rules_text(subject: PairSubject, rule: dict[str, Any]) -> str:
    """A file with this rule alone, with its reasons."""
    return to_yaml(rules_of(rule), _rule_reasons(subject, ("spec", "rules", 0)))


def rule_text(subject: PairSubject, rule: dict[str, Any]) -> str:
    """The rule as an item of a list."""
    return to_yaml([rule], _rule_reasons(subject, (0,)))


def _rule_reasons(subject: PairSubject, place: Place) -> Comments:
    return {
        (*place, "pods"): (f"{_begun(subject.labels.why)}.",),
        (*place, "scrape"): (f"{_begun(subject.scrape.why)}.",),
    }


def _begun(clause: str) -> str:
    return clause[:1].upper() + clause[1:]
