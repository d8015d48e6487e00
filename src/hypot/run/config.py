"""The configuration of the controller: what it watches, what it may do, and where it listens. Read once, frozen."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Self, get_args

from hypot.kinds.catalogue import Mode, controlled, sizing
from hypot.kinds.values.names import dns_label, dns_subdomain
from hypot.policy.model.settings import Settings, SettingsError, settings_schema
from hypot.run.addresses import read_rule
from hypot.serving.config import (
    DEFAULT_NAMESPACE,
    LABEL_SCHEMA,
    ConfigError,
    configured,
    installed_name,
    is_ip,
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
    shared_ports,
    switch,
    text,
    wrong_listen,
    wrong_prometheus,
)

# Which namespaces are acted on: those with the label, or all of them.
OptIn = Literal["label", "all"]
OPT_IN_LABEL = "hypot.dev/scaling"
OPT_IN_VALUE = "enabled"
# The shortest and longest reconcile period, in seconds.
SHORTEST_PERIOD, LONGEST_PERIOD = 0.1, 3600.0
PORTS = frozenset({"probePort", "metricsPort", "webhookPort"})


def cluster_name(namespace: str) -> str:
    """The name of the objects of the controller outside of any namespace."""
    return installed_name("hypot", namespace)


def default_kinds() -> dict[str, Mode]:
    """The mode of each kind: HPAs stay with kube-controller-manager, and VPAs are taken over on request."""
    return {info.name: info.mode for info in controlled()}


@dataclass(frozen=True, slots=True)
class RunConfig:
    """The configuration; the file of `hypot run --config` has the same names."""

    namespace: str = field(
        default=DEFAULT_NAMESPACE,
        metadata={"why": "The namespace of hypot: its Lease and its state are there.", "schema": LABEL_SCHEMA},
    )
    watch_namespaces: tuple[str, ...] = field(
        default=(),
        metadata={
            "why": "The namespaces to watch; an empty list means all of them.",
            "schema": {"type": "array", "items": LABEL_SCHEMA},
        },
    )
    opt_in: OptIn = field(
        default="label",
        metadata={
            "why": f"Act in namespaces that have the label {OPT_IN_LABEL}={OPT_IN_VALUE}, or in all of them.",
            "schema": {"enum": list(get_args(OptIn))},
        },
    )
    kinds: Mapping[str, Mode] = field(
        default_factory=default_kinds,
        hash=False,
        metadata={
            "why": "What to do for each kind.",
            "schema": {"type": "object", "additionalProperties": False},
        },
    )
    lease_namespaces: tuple[str, ...] = field(
        # Where hypot, the VPA and the WatermarkPodAutoscaler are usually installed; tenants have no rights there.
        default=(DEFAULT_NAMESPACE, "kube-system", "datadog"),
        metadata={
            "why": "The namespaces in which Leases of other controllers are trusted, in addition to hypot's own.",
            "schema": {"type": "array", "items": LABEL_SCHEMA},
        },
    )
    dry_run: bool = switch(default=False, why="Decide and report, but write nothing except the Lease and the state.")
    listen: str = listen("the probes, the metrics and the webhook")
    probe_port: int = port(8081, "The port of /healthz and /readyz.")
    metrics_port: int = port(8080, "The port of /metrics.")
    metrics_auth: bool = metrics_auth()
    monitoring_namespace: str = monitoring_namespace()
    webhook_port: int = port(8443, "The port of the webhook that sizes new pods; 0 switches it off.")
    webhook_service: str = text(
        "hypot-webhook",
        "The Service of the webhook; or its address without a port, if it runs outside the cluster.",
    )
    webhook_certificate: str = text(
        "",
        "The directory of tls.crt and tls.key of the webhook, such as a mounted Secret of cert-manager; empty: hypot "
        "keeps its own certificate in a Secret.",
    )
    webhook_ca: str = text(
        "",
        "The CA certificate (PEM) of webhookCertificate, for the webhook configuration; empty: cert-manager adds it.",
    )
    object_metrics: bool = switch(default=True, why="Expose gauges for each object, at most 25 series each.")
    prometheus: str = prometheus_address(
        "Read usage from the Prometheus at this address instead of metrics.k8s.io, and the past of what learns."
    )
    prometheus_token_file: str = prometheus_token_file()
    prometheus_ca_file: str = prometheus_ca_file()
    recommender_hosts: tuple[str, ...] = field(
        default=(),
        metadata={
            "why": "Hosts outside the cluster that an object may name as its recommender: a host, *.DOMAIN, an address "
            "or a network; with a port (localhost:8088) exactly that. Services (NAME.NAMESPACE.svc) need no entry. The "
            "API server and loopback, link-local and metadata addresses need one with a port.",
            "schema": {"type": "array", "items": {"type": "string", "minLength": 1}},
        },
    )
    recommender_files: str = text(
        "", "The directory with the files that an object may name in the tlsConfig of its recommender; empty: none."
    )
    recommender_insecure: bool = switch(
        default=False, why="Whether insecureSkipVerify in the tlsConfig of a recommender is allowed."
    )
    cluster_domain: str = text("cluster.local", "The DNS domain of the cluster, for the names of Services.")
    settings: Settings = field(
        default=Settings(),
        metadata={"why": "How decisions are made; the same file as `hypot decide --settings`.", "schema": {}},
    )

    def __post_init__(self) -> None:
        if found := [*_wrong_names(self), *_wrong_values(self)]:
            raise ConfigError.of(found)

    def mode(self, kind: str) -> Mode:
        return self.kinds.get(kind, "off")

    def enabled(self, kind: str) -> bool:
        return self.mode(kind) != "off"

    @property
    def sizes_pods(self) -> bool:
        """Whether any enabled kind sizes pods."""
        return any(self.enabled(info.name) for info in sizing())

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The configuration from a mapping of names to values, checked; unknown names are refused."""
        return configured(cls, data, _checked, PORTS)


def _wrong_names(config: RunConfig) -> Iterator[ConfigError]:
    """Problems of names; names become parts of paths and objects, so they follow the API server's rules."""
    namespaces = [
        ("namespace", config.namespace),
        ("monitoringNamespace", config.monitoring_namespace),
        *(("watchNamespaces", name) for name in config.watch_namespaces),
        *(("leaseNamespaces", name) for name in config.lease_namespaces),
    ]
    todo = "use lower-case letters, digits and dashes"
    for setting, name in namespaces:
        if any(dns_label(name)):
            message = f"{setting}: {name!r} cannot be the name of a namespace; {todo}"
            yield ConfigError(message, names=(setting,))
    name = config.webhook_service
    if any(dns_label(name)) and not _is_host(name):
        message = f"{name!r} is neither the name of a Service nor an address without a port"
        yield ConfigError(f"webhookService: {message}; {todo}", names=("webhookService",))


def _wrong_values(config: RunConfig) -> Iterator[ConfigError]:
    for message in _wrong_period(config.settings):
        yield ConfigError(message, names=("settings",))
    yield from wrong_listen(config.listen)
    ports = {"probePort": config.probe_port, "metricsPort": config.metrics_port, "webhookPort": config.webhook_port}
    yield from shared_ports(ports)
    for host in config.recommender_hosts:
        try:
            read_rule(host)
        except ValueError as error:
            yield ConfigError(f"recommenderHosts: {error}", names=("recommenderHosts",))
    yield from wrong_prometheus(config.prometheus, config.prometheus_token_file, config.prometheus_ca_file)
    if config.webhook_ca and not config.webhook_certificate:
        message = "it belongs to a webhookCertificate, which is not set; hypot writes the CA of its own certificate"
        yield ConfigError(f"webhookCa: {message}", names=("webhookCa",))
    if config.webhook_ca and "-----BEGIN CERTIFICATE-----" not in config.webhook_ca:
        yield ConfigError("webhookCa: it is not a PEM certificate", names=("webhookCa",))


def _wrong_period(settings: Settings) -> Iterator[str]:
    period = settings.sync_period
    if not SHORTEST_PERIOD <= period <= LONGEST_PERIOD:
        most = f"{SHORTEST_PERIOD:g} to {LONGEST_PERIOD:g} seconds"
        yield f"settings.syncPeriod: {period:g} is not within {most}"


def _is_host(name: str) -> bool:
    """Whether it is an IP address or a name with dots, which a Service cannot have."""
    return is_ip(name) or ("." in name and not any(dns_subdomain(name)))


def _checked(name: str, value: Any) -> Any:
    if name == "settings":
        return _checked_settings(value)
    if name == "kinds":
        return _checked_kinds(value)
    if name == "optIn":
        if value not in get_args(OptIn):
            raise ConfigError(f"optIn: {value!r} is not one of {', '.join(get_args(OptIn))}")
        return value
    return plain_value(RunConfig, name, value)


def _checked_settings(value: Any) -> Settings:
    """Checks each setting alone, so that every problem is reported."""
    if not isinstance(value, Mapping):
        raise ConfigError(f"settings: {value!r} is not a mapping; write names and values, such as {{syncPeriod: 15}}")
    found = [
        message
        for name, given in value.items()
        for part in _parts(name, given)
        for message in _wrong_setting({name: part})
    ]
    if found:
        raise ConfigError(*found)
    return Settings.from_dict(value)


def _wrong_setting(given: Mapping[str, Any]) -> Iterator[str]:
    try:
        made = Settings.from_dict(given)
    except SettingsError as error:
        yield f"settings.{error}"
    else:
        yield from _wrong_period(made)


def _parts(name: str, given: Any) -> list[Any]:
    """Each flag of a setting that has several flags."""
    if name in {"gates", "vpa"} and isinstance(given, Mapping):
        return [{flag: word} for flag, word in given.items()]
    return [given]


def _checked_kinds(value: Any) -> dict[str, Mode]:
    if not isinstance(value, Mapping):
        raise ConfigError(f"kinds: write a mapping of kind to {', '.join(get_args(Mode))}")
    value = _with_off(value)
    found = [message for kind, mode in value.items() for message in _wrong_mode(kind, mode)]
    if found:
        raise ConfigError(*found)
    return {**default_kinds(), **value}


def _wrong_mode(kind: str, mode: Any) -> Iterator[str]:
    known = {info.name: info for info in controlled()}
    if kind not in known:
        yield f"kinds: {kind} is not one of {', '.join(known)}"
    elif mode not in get_args(Mode):
        yield f"kinds.{kind}: {mode!r} is not one of {', '.join(get_args(Mode))}"
    elif mode not in known[kind].modes:
        yield f"kinds.{kind}: only a VerticalPodAutoscaler has the mode recommend"


def _with_off(kinds: Mapping[str, Any]) -> dict[str, Any]:
    """YAML reads the unquoted word off as false; here it is the mode off."""
    return {kind: "off" if mode is False else mode for kind, mode in kinds.items()}


def config_schema() -> dict[str, Any]:
    """The JSON Schema of a configuration file."""
    properties = properties_of(RunConfig)
    settings = {key: value for key, value in settings_schema().items() if key != "$schema"}
    period = {**settings["properties"]["syncPeriod"], "minimum": SHORTEST_PERIOD, "maximum": LONGEST_PERIOD}
    period.pop("exclusiveMinimum", None)
    settings["properties"] = {**settings["properties"], "syncPeriod": period}
    properties["settings"] = {**settings, "description": properties["settings"]["description"]}
    modes = {info.name: {"enum": [*info.modes, False]} for info in controlled()}
    properties["kinds"] = {
        "description": properties["kinds"]["description"],
        "type": "object",
        "properties": modes,
        "additionalProperties": False,
    }
    return schema_of("hypot run", properties)
