"""The metrics that an autoscaler asks for, and the answers."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, Protocol

from hypot.core.dataclass import dataclass
from hypot.kinds.autoscaler.fields import AutoscalerSpec
from hypot.kinds.base import Ref
from hypot.kinds.hpa import HPA
from hypot.kinds.hpa.defaults import with_defaults
from hypot.kinds.hpa.fields import MOST_METRICS
from hypot.kinds.hvpa import Hvpa, hpa_of
from hypot.kinds.meta import MetricName
from hypot.kinds.metric_values import MetricValue
from hypot.kinds.selector import Selector, SelectorError, read_selector
from hypot.kinds.tortoise import Tortoise
from hypot.kinds.vpa import VPA
from hypot.kinds.wpa import WPA
from hypot.kinds.wpa.fields import ExternalBand, ResourceBand
from hypot.policy.model.seen import Failure, PodSample, metric_key
from hypot.policy.model.settings import Settings
from hypot.policy.observe.namespace import Namespace


class External(NamedTuple):
    """An external metric, by name and labels."""

    name: str
    selector: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class Questions:
    """Which pods' usage and which custom and external metrics an autoscaler needs."""

    # The usage of the target's own pods.
    usage: bool = False
    # The usage of the pods that these select, for kinds whose metrics have their own selectors; None is unreadable.
    chosen: tuple[Selector | None, ...] = ()
    pods: tuple[MetricName, ...] = ()
    objects: tuple[tuple[MetricName, Ref], ...] = ()
    external: tuple[External, ...] = ()

    @property
    def asks_usage(self) -> bool:
        return self.usage or bool(self.chosen)


def of_hpa(hpa: HPA, settings: Settings, *, usage: bool = False) -> Questions:
    pods: list[MetricName] = []
    objects: list[tuple[MetricName, Ref]] = []
    external: list[External] = []
    metrics = with_defaults(hpa, settings.kubernetes, dict(settings.gates) or None).metrics or ()
    for metric in metrics[:MOST_METRICS]:
        if metric.type in {"Resource", "ContainerResource"}:
            usage = True
        elif metric.type == "Pods" and metric.pods:
            pods.append(metric.pods.metric or MetricName())
        elif metric.type == "Object" and metric.object:
            objects.append((metric.object.metric or MetricName(), metric.object.described or Ref()))
        elif metric.type == "External" and metric.external:
            asked = metric.external.metric or MetricName()
            external.append(External(asked.name or "", asked.selector))
    return Questions(usage, (), tuple(pods), tuple(objects), tuple(external))


def of_hvpa(hvpa: Hvpa, settings: Settings) -> Questions:
    """It always needs usage, to detect saturation."""
    return of_hpa(hpa_of(hvpa), settings, usage=True) if hvpa.uses_hpa else Questions(usage=True)


def of_vpa(_vpa: VPA, _settings: Settings) -> Questions:
    return Questions(usage=True)


def of_tortoise(_tortoise: Tortoise, _settings: Settings) -> Questions:
    return Questions(usage=True)


def of_autoscaler(autoscaler: AutoscalerSpec, _settings: Settings) -> Questions:
    """Usage, and the metrics of requests that it names."""
    named = (autoscaler.requests_metric, autoscaler.late_metric)
    return Questions(usage=True, pods=tuple([metric for metric in named if metric is not None]))


def of_wpa(wpa: WPA, _settings: Settings) -> Questions:
    """Its resource metrics have their own selectors, over all pod metrics of the namespace."""
    chosen: list[Selector | None] = []
    external: list[External] = []
    for metric in wpa.metrics or ():
        source = metric.source
        if isinstance(source, ExternalBand):
            external.append(External(source.name or "", source.selector))
        elif isinstance(source, ResourceBand):
            chosen.append(_readable_selector(source.selector))
    return Questions(chosen=tuple(chosen), external=tuple(external))


def _readable_selector(data: Mapping[str, Any] | None) -> Selector | None:
    try:
        return read_selector(data)
    except SelectorError:
        return None


Chosen = Mapping[str, Any] | None


class Values(Protocol):
    """A source of custom and external metrics."""

    def of_pods(
        self, metric: str, selector: Chosen, namespace: str, pods: Iterable[str], pod_selector: str
    ) -> Mapping[str, MetricValue] | Failure:
        """A metric's value for each pod that has one."""

    def of_object(self, metric: str, selector: Chosen, namespace: str, ref: Ref) -> int | Failure:
        """A metric's one value for an object."""

    def external(self, metric: str, selector: Chosen, namespace: str) -> tuple[int, ...] | Failure:
        """The values of all series that match."""


class Answers:
    """Pods, their usage and all other metrics, by the keys that policies use."""

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
