"""The queries of the custom and external metrics APIs that autoscalers need."""

from typing import NamedTuple
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from hypot.kinds.base import Ref
from hypot.kinds.metric_values import CUSTOM, CUSTOM_VERSIONS, EXTERNAL, api_path
from hypot.policy.observe.questions import Chosen, Questions
from hypot.policy.observe.read_values import resource_of, selector_text

CUSTOM_API, EXTERNAL_API = api_path(CUSTOM, CUSTOM_VERSIONS[0]), api_path(EXTERNAL)


class MetricQuery(NamedTuple):
    """A path below one of the two APIs, and its parameters, sorted."""

    path: str
    parameters: tuple[tuple[str, str], ...] = ()

    @property
    def link(self) -> str:
        """The path with its parameters, as the `selfLink` of an answer names it."""
        return f"{self.path}?{urlencode(self.parameters)}" if self.parameters else self.path

    @property
    def metric(self) -> str:
        return unquote(self.path.rpartition("/")[2])

    @property
    def is_of_pods(self) -> bool:
        """Whether it is about each of several pods."""
        return self.path.startswith(CUSTOM_API) and "/pods/*/" in self.path


def read_link(link: str) -> MetricQuery:
    """The query of an answer's `selfLink`."""
    parts = urlsplit(link)
    return MetricQuery(parts.path, tuple(sorted(parse_qsl(parts.query))))


def queries_of(questions: Questions, namespace: str, pod_selector: str) -> list[MetricQuery]:
    """All queries for one autoscaler."""
    found = [pods_query(asked.name or "", asked.selector, namespace, pod_selector) for asked in questions.pods]
    found += [object_query(asked.name or "", asked.selector, namespace, ref) for asked, ref in questions.objects]
    return found + [external_query(asked.name, asked.selector, namespace) for asked in questions.external]


def pods_query(metric: str, selector: Chosen, namespace: str, pod_selector: str) -> MetricQuery:
    path = f"{CUSTOM_API}/namespaces/{quote(namespace)}/pods/*/{quote(metric, safe='')}"
    return _query(path, labelSelector=pod_selector, metricLabelSelector=selector_text(selector))


def object_query(metric: str, selector: Chosen, namespace: str, ref: Ref) -> MetricQuery:
    """The query for an object; a Namespace is always the autoscaler's own, whatever name the reference has."""
    if ref.kind == "Namespace" and not ref.group:
        path = f"metrics/{quote(metric, safe='')}"
    else:
        path = f"{quote(resource_of(ref))}/{quote(ref.name or '', safe='')}/{quote(metric, safe='')}"
    return _query(f"{CUSTOM_API}/namespaces/{quote(namespace)}/{path}", metricLabelSelector=selector_text(selector))


def external_query(metric: str, selector: Chosen, namespace: str) -> MetricQuery:
    path = f"{EXTERNAL_API}/namespaces/{quote(namespace)}/{quote(metric, safe='')}"
    return _query(path, labelSelector=selector_text(selector))


def _query(path: str, **parameters: str) -> MetricQuery:
    return MetricQuery(path, tuple([(key, text) for key, text in parameters.items() if text]))
