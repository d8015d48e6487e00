"""The configuration of the metrics server: how often it scrapes, what still counts, and where it listens."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from ipaddress import ip_network
from typing import Any, Self
from urllib.parse import urlsplit

from hypot.kinds.values.names import dns_label
from hypot.metricsapi.ages import Ages
from hypot.serving.config import (
    DEFAULT_NAMESPACE,
    LABEL_SCHEMA,
    ConfigError,
    configured,
    listen,
    metrics_auth,
    monitoring_namespace,
    plain_value,
    port,
    prometheus_address,
    prometheus_ca_file,
    prometheus_token_file,
    properties_of,
    schema_of,
    seconds,
    shared_ports,
    switch,
    text,
    texts,
    wrong_listen,
    wrong_prometheus,
)

SERVICE = "hypot-metrics"
PORTS = frozenset({"securePort", "probePort", "metricsPort"})


@dataclass(frozen=True, slots=True)
class MetricsConfig:
    """The configuration; the file of `hypot metrics --config` has the same names."""

    namespace: str = text(
        DEFAULT_NAMESPACE, "The namespace of hypot: its Lease and its certificate are there.", LABEL_SCHEMA
    )
    scrape_period: float = seconds(60.0, "How often each pod is scraped, in seconds.", 1, 3600)
    min_sample_gap: float = seconds(10.0, "Two samples of a counter that are closer give no rate, in seconds.", 0, 3600)
    max_sample_gap: float = seconds(600.0, "Two samples that are further apart give no rate, in seconds.", 1, 86400)
    max_sample_age: float = seconds(90.0, "An older value is not served at all, in seconds.", 1, 86400)
    warm: bool = switch(
        default=False, why="Scrape also while another replica leads, so that a new leader has values at once."
    )
    pod_networks: tuple[str, ...] = texts(
        "The networks of the pods, such as 10.0.0.0/8; pods outside of them are not scraped. By default all are, "
        "except at addresses of the machine itself and link-local ones.",
    )
    prometheus: str = prometheus_address("The address of the Prometheus that rules with `prometheus` ask.")
    prometheus_token_file: str = prometheus_token_file()
    prometheus_ca_file: str = prometheus_ca_file()
    forward_to: str = text(
        "",
        "The address of another metrics server, such as https://prometheus-adapter.monitoring.svc: it is asked for "
        "metrics that no rule serves. Empty: they are not served.",
        {"type": "string", "pattern": "^$|^https://"},
    )
    forward_ca_file: str = text(
        "", "The file with the CA certificates (PEM) of that server; empty: the authorities of the system count."
    )
    forward_certificate: str = text(
        "", "The directory of tls.crt and tls.key, by which that server trusts the user that a request names."
    )
    forward_token_file: str = text("", "The file with a token for that server, if it takes no client certificate.")
    listen: str = listen("the APIs, the probes and the metrics")
    secure_port: int = port(6443, "The port of the metrics APIs.")
    probe_port: int = port(8081, "The port of /healthz and /readyz.")
    metrics_port: int = port(8080, "The port of /metrics, about the metrics server itself.")
    metrics_auth: bool = metrics_auth()
    monitoring_namespace: str = monitoring_namespace()
    service: str = text(SERVICE, "The Service that the APIServices name.", LABEL_SCHEMA)
    certificate: str = text(
        "",
        "The directory of tls.crt and tls.key, such as a mounted Secret of cert-manager; empty: hypot keeps its own "
        "certificate in a Secret.",
    )

    def __post_init__(self) -> None:
        if found := list(_wrong(self)):
            raise ConfigError.of(found)

    @property
    def ages(self) -> Ages:
        return Ages(self.min_sample_gap, self.max_sample_gap, self.max_sample_age)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The configuration from a mapping of names to values, checked; unknown names are refused."""
        return configured(cls, data, partial(plain_value, cls), PORTS)


def _wrong(config: MetricsConfig) -> Iterator[ConfigError]:
    names = {"namespace": config.namespace, "service": config.service}
    for setting, name in {**names, "monitoringNamespace": config.monitoring_namespace}.items():
        if any(dns_label(name)):
            message = f"{setting}: {name!r} is not a name; use lower-case letters, digits and dashes"
            yield ConfigError(message, names=(setting,))
    period = config.scrape_period
    if config.min_sample_gap >= period:
        message = f"minSampleGap: {config.min_sample_gap:g} is not below the scrapePeriod {period:g}: no rate is served"
        yield ConfigError(message, names=("minSampleGap",))
    for setting, value in (("maxSampleGap", config.max_sample_gap), ("maxSampleAge", config.max_sample_age)):
        if value <= period:
            message = (
                f"{setting}: {value:g} is not above the scrapePeriod {period:g}: values are missing between scrapes"
            )
            yield ConfigError(message, names=(setting,))
    for network in config.pod_networks:
        try:
            ip_network(network)
        except ValueError as error:
            yield ConfigError(f"podNetworks: {error}", names=("podNetworks",))
    yield from wrong_prometheus(config.prometheus, config.prometheus_token_file, config.prometheus_ca_file)
    yield from _wrong_forward(config)
    yield from wrong_listen(config.listen)
    ports = {"securePort": config.secure_port, "probePort": config.probe_port, "metricsPort": config.metrics_port}
    yield from shared_ports(ports)


def _wrong_forward(config: MetricsConfig) -> Iterator[ConfigError]:
    credentials = {"forwardCertificate": config.forward_certificate, "forwardTokenFile": config.forward_token_file}
    if not config.forward_to:
        for setting, file in {"forwardCaFile": config.forward_ca_file, **credentials}.items():
            if file:
                yield ConfigError(f"{setting}: it belongs to forwardTo, which is not set", names=(setting,))
        return
    try:
        address = urlsplit(config.forward_to)
        host, _ = address.hostname or "", address.port
    except ValueError:
        address, host = urlsplit(""), ""
    extra = address.username or address.path.strip("/") or address.query or address.fragment
    if address.scheme != "https" or not host or extra:
        message = f"{config.forward_to!r} is not an address; write https:// and a host, and a port if it is not 443"
        yield ConfigError(f"forwardTo: {message}", names=("forwardTo",))
    elif host.split(".")[:3] in _own_names(config):
        yield ConfigError("forwardTo: it is this metrics server itself; name another one", names=("forwardTo",))
    if not any(credentials.values()):
        message = "the server must know who asks; write a forwardCertificate or a forwardTokenFile"
        yield ConfigError(f"forwardTo: {message}", names=("forwardTo", *credentials))


def _own_names(config: MetricsConfig) -> list[list[str]]:
    """The labels with which the names of its own Service begin."""
    local = [config.service, config.namespace]
    return [local[:1], local, [*local, "svc"]]


def config_schema() -> dict[str, Any]:
    """The JSON Schema of a configuration file."""
    return schema_of("hypot metrics", properties_of(MetricsConfig))
