"""The parts of MetricRules: which pods are measured, how, and what is served from what they expose."""

from collections.abc import Mapping
from typing import Any

from hypot.kinds.base import Kind
from hypot.kinds.meta import SELECTOR, TEXTS
from hypot.kinds.node import BOOL, INT32, STRING, Node, Scalar, node, wire

SCHEMES = ("http", "https")


def _is_port(value: Any) -> bool:
    return INT32.fits(value) or isinstance(value, str)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_parameters(value: Any) -> bool:
    return isinstance(value, dict) and all(
        isinstance(each, list) and all(isinstance(text, str) for text in each) for each in value.values()
    )


_PORT = Scalar(
    "intstr.IntOrString",
    {"anyOf": [{"type": "integer", "minimum": 1, "maximum": 65535}, {"type": "string", "minLength": 1}]},
    _is_port,
    "a port number, or the name of a port",
)
LABEL_NAME = "[a-zA-Z_][a-zA-Z0-9_]*"
_LABEL = {"pattern": f"^{LABEL_NAME}$"}
_NUMBER = Scalar("float64", {"type": "number", "minimum": 0}, _is_number, "a number")
SHORTEST_WINDOW, LONGEST_WINDOW = 1, 86_400
_SECONDS = Scalar(
    "float64",
    {"type": "number", "minimum": SHORTEST_WINDOW, "maximum": LONGEST_WINDOW},
    _is_number,
    "a number of seconds",
)
_PARAMETERS = Scalar(
    "map[string][]string",
    {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "string"}}},
    _is_parameters,
    "a mapping of names to lists of texts",
)


@node
class RuleNamespaces(Node):
    """Namespaces by name, by the beginning of the name, or by label. Several of these must all match."""

    names: list[str] | None = wire("names", TEXTS, "namespaces by name")
    prefix: str | None = wire("prefix", STRING, "what their names begin with")
    selector: Mapping[str, Any] | None = wire("selector", SELECTOR, "selects namespaces by label")

    def may_choose(self, name: str) -> bool:
        """Whether a namespace is chosen, as far as its name says."""
        return (not self.names or name in self.names) and name.startswith(self.prefix or "")


@node
class SecretKey(Node):
    """A key of a Secret in the namespace of the pod."""

    name: str | None = wire("name", STRING, "the Secret")
    key: str | None = wire("key", STRING, "the key in its data")


@node
class ScrapeCredentials(Node):
    """What is sent to a pod, and what its certificate is verified with. Sent only over verified TLS."""

    token: SecretKey | None = wire("token", SecretKey, "a bearer token")
    ca: SecretKey | None = wire("ca", SecretKey, "the authorities that issue the certificates of the pods")
    certificate: SecretKey | None = wire("certificate", SecretKey, "a client certificate; the key is below `tls.key`")
    service_account: bool | None = wire("serviceAccount", BOOL, "send the token of the metrics server's own account")


@node
class Scrape(Node):
    """How a pod is scraped."""

    port: int | str | None = wire("port", _PORT, "the port, by number or by name")
    scheme: str | None = wire("scheme", STRING, "http or https; http by default", schema={"enum": list(SCHEMES)})
    path: str | None = wire("path", STRING, "/metrics by default", schema={"pattern": "^/"})
    parameters: Mapping[str, list[str]] | None = wire("parameters", _PARAMETERS, "parameters of the URL")
    server_name: str | None = wire("serverName", STRING, "the name that the certificate of a pod must have")
    credentials: ScrapeCredentials | None = wire("credentials", ScrapeCredentials, "what is sent to the pod")


@node
class FromPrometheus(Node):
    """Which series of the Prometheus of `hypot metrics` are a pod's. The address is in its configuration."""

    namespace_label: str | None = wire(
        "namespaceLabel", STRING, "the label with the namespace; namespace by default", schema=_LABEL
    )
    pod_label: str | None = wire(
        "podLabel", STRING, "the label with the name of the pod; pod by default", schema=_LABEL
    )
    where: Mapping[str, Any] | None = wire(
        "where", SELECTOR, "selects one scrape of a pod by label, such as its job or container"
    )
    window: float | None = wire(
        "window", _SECONDS, "how far apart the two samples of a rate are, in seconds; the scrapePeriod by default"
    )


@node
class LineWeight(Node):
    """How much a request counts. Of several weights, the first that matches counts."""

    where: Mapping[str, Any] | None = wire("where", SELECTOR, "selects lines by label")
    weight: float | None = wire("weight", _NUMBER, "the factor")


@node
class LearnCost(Node):
    """What a request costs is learned: cpu of the pod against requests by class."""

    by: list[str] | None = wire("by", TEXTS, "the labels whose values make the classes of requests")
    cpu: str | None = wire("cpu", STRING, "the counter of cpu seconds; process_cpu_seconds_total by default")
    half_life: float | None = wire(
        "halfLifeSeconds", _NUMBER, "after how long an observation counts half; 3600 by default"
    )
    change_factor: float | None = wire(
        "changeFactor", _NUMBER, "by which factor the cost must change to be reported; 1.5 by default"
    )


@node
class ServedMetric(Node):
    """A counter or a gauge of the pods, and the metric that is served from it."""

    counter: str | None = wire("counter", STRING, "a counter; its increase per second is served")
    gauge: str | None = wire("gauge", STRING, "a gauge; its value is served")
    where: Mapping[str, Any] | None = wire("where", SELECTOR, "selects lines by label; all of them count by default")
    weights: tuple[LineWeight, ...] | None = wire(
        "weights", LineWeight, "how much each line counts; 1 by default", many=True
    )
    learn_cost: LearnCost | None = wire("learnCost", LearnCost, "learn what a request of each class costs")
    names: list[str] | None = wire("names", TEXTS, "the names under which it is served")
    external: bool | None = wire("external", BOOL, "also serve it as an external metric, one series per pod")

    @property
    def source(self) -> str:
        return self.counter or self.gauge or ""


@node
class MetricRule(Node):
    """Which pods are measured, and what is served for them."""

    name: str | None = wire("name", STRING, "what messages and metrics call it")
    namespaces: RuleNamespaces | None = wire("namespaces", RuleNamespaces, "where the pods are; by default everywhere")
    pods: Mapping[str, Any] | None = wire("pods", SELECTOR, "selects the pods by label")
    scrape: Scrape | None = wire("scrape", Scrape, "how a pod is scraped")
    prometheus: FromPrometheus | None = wire(
        "prometheus", FromPrometheus, "take the values from a Prometheus instead of a scrape"
    )
    metrics: tuple[ServedMetric, ...] | None = wire("metrics", ServedMetric, "what is served", many=True)


@node
class MetricRulesSpec(Kind):
    """The spec of MetricRules."""

    rules: tuple[MetricRule, ...] | None = wire("rules", MetricRule, "the rules", many=True)
