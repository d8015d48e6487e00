"""The answers to the questions of one autoscaler's metrics."""

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from hypot.kinds.base import Ref
from hypot.policy.namespace import Namespace
from hypot.policy.questions import Questions
from hypot.policy.seen import Failure, PodSample, Value, metric_key

Chosen = Mapping[str, Any] | None


class Values(Protocol):
    """Whoever knows the values of custom and external metrics."""

    def of_pods(
        self, metric: str, selector: Chosen, namespace: str, pods: Iterable[str], pod_selector: str
    ) -> Mapping[str, Value] | Failure:
        """A metric's value for each pod that has one."""

    def of_object(self, metric: str, selector: Chosen, namespace: str, ref: Ref) -> int | Failure:
        """A metric's one value for an object."""

    def external(self, metric: str, selector: Chosen, namespace: str) -> tuple[int, ...] | Failure:
        """The values of all series that match."""


class Answers:
    """Pods, their usage and all other metrics, by the keys that policies look under."""

    def __init__(self, questions: Questions, values: Values, namespace: Namespace, selector: str) -> None:
        self.pods = namespace.pods(selector)
        self.resources: Mapping[str, PodSample] | Failure = {}
        if questions.chosen:
            self.resources = namespace.samples(questions.chosen)
        elif questions.usage:
            self.resources = namespace.samples_of(selector)
        names = [pod.name for pod in self.pods] if questions.pods else []
        self.of_pods = {
            metric_key(asked.name, asked.selector): values.of_pods(
                asked.name or "", asked.selector, namespace.name, names, selector
            )
            for asked in questions.pods
        }
        self.of_objects = {
            metric_key(asked.name, asked.selector, str(ref)): values.of_object(
                asked.name or "", asked.selector, namespace.name, ref
            )
            for asked, ref in questions.objects
        }
        self.external = {
            metric_key(asked.name, asked.selector): values.external(asked.name, asked.selector, namespace.name)
            for asked in questions.external
        }
