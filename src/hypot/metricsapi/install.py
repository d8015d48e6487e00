"""All objects that install the metrics server, with the rights that its rules need and no more."""

import re
from collections.abc import Iterator
from dataclasses import fields
from hashlib import sha256
from pathlib import PurePosixPath
from typing import Any

from hypot.cluster.config import SERVICE_ACCOUNT
from hypot.kinds.metric_rules import MetricRules
from hypot.kinds.metric_rules.fields import MetricRule
from hypot.kinds.metric_values import API_SERVICES, CUSTOM, CUSTOM_VERSIONS, EXTERNAL, VERSION
from hypot.kinds.text.write import to_yaml
from hypot.kinds.values.names import wire_name
from hypot.metricsapi.config import MetricsConfig
from hypot.metricsapi.conflicts import conflicts
from hypot.serving.component import Component, Manifest, Rule, from_anywhere, from_namespace
from hypot.serving.config import ConfigError, installed_name

METRICS = Component("hypot-metrics", "metrics-server")
FOLDER, RULES_KEY, CONFIG_KEY = "/etc/hypot", "rules.yaml", "config.yaml"
CERTIFICATE_VOLUME, PROMETHEUS_VOLUME, FORWARD_VOLUME = "certificate", "prometheus", "forward"
# Where nothing can be mounted: no absolute path, in or above a directory that the container has mounted already. The
# chart has the same pattern, so it is one of RE2 too.
UNMOUNTABLE = (
    r"^[^/]|(^|/)\.\.(/|$)|^/(tmp|etc|var|var/run|var/run/secrets|var/run/secrets/kubernetes\.io)?/*$"
    rf"|^{FOLDER}(/|$)|^{re.escape(str(SERVICE_ACCOUNT))}(/|$)"
)
# The Role of Kubernetes for those who check requests that the API server passes on.
TRUST_NAMESPACE, READER = "kube-system", "extension-apiserver-authentication-reader"
# Higher is preferred.
_PRIORITIES = dict(zip(CUSTOM_VERSIONS, (200, 100), strict=True))


def manifests(rules: MetricRules, config: MetricsConfig, image: str, replicas: int) -> list[Manifest]:
    """The objects in the order in which they are applied. To uninstall, delete them from the last to the first.

    The namespace is not among them: the controller may be in it, which an uninstall must not delete.
    """
    if found := [*conflicts(rules, config), *cannot_be_installed(config, replicas)]:
        raise ConfigError(*found)
    where = config.namespace
    return [
        METRICS.service_account(where),
        *_roles(rules, config),
        _config_map(rules, config),
        METRICS.service(config.service, where, 443, "https"),
        METRICS.network_policy(
            where,
            [from_anywhere("probes"), from_anywhere("https"), from_namespace(config.monitoring_namespace, "metrics")],
        ),
        _deployment(rules, config, image, replicas),
        *api_services(rules, config),
    ]


def cannot_be_installed(config: MetricsConfig, replicas: int) -> list[str]:
    """Settings that are valid for `hypot metrics` but do not work for pods behind a Service."""
    ports = {"securePort": config.secure_port, "probePort": config.probe_port, "metricsPort": config.metrics_port}
    found = [f"{name}: 0 means any port, but the pods need a known port" for name, port in ports.items() if not port]
    return [
        *found,
        *_wrong_folders(config),
        *([f"replicas: {replicas} is too few; write 1 or more"] if replicas < 1 else []),
    ]


def _wrong_folders(config: MetricsConfig) -> Iterator[str]:
    seen: list[tuple[PurePosixPath, str]] = []
    for folders in _secret_folders(config).values():
        for folder, file in folders.items():
            if re.search(UNMOUNTABLE, folder):
                yield f"{file}: its directory cannot be mounted; write another one, such as /etc/prometheus/token"
        for folder, file in folders.items():
            for other, others in seen:
                if other.is_relative_to(folder) or PurePosixPath(folder).is_relative_to(other):
                    yield f"{file}: the Secret with {others} is mounted there; write another directory"
        seen += [(PurePosixPath(folder), file) for folder, file in folders.items()]


def api_services(rules: MetricRules, config: MetricsConfig) -> Iterator[Manifest]:
    """Where the API server finds the APIs. External metrics only if a rule has some: often others serve them."""
    for version, priority in _PRIORITIES.items():
        yield _api_service(CUSTOM, version, priority, config)
    if _has_external(rules):
        yield _api_service(EXTERNAL, VERSION, 100, config)


def _has_external(rules: MetricRules) -> bool:
    return any(metric.external for rule in rules.rules or () for metric in rule.metrics or ())


def _api_service(group: str, version: str, priority: int, config: MetricsConfig) -> Manifest:
    spec = {
        "group": group,
        "version": version,
        "service": {"name": config.service, "namespace": config.namespace, "port": 443},
        "groupPriorityMinimum": 100,
        "versionPriority": priority,
    }
    made = METRICS.described("apiregistration.k8s.io/v1", "APIService", f"{version}.{group}")
    return {**made, "spec": spec}


def _roles(rules: MetricRules, config: MetricsConfig) -> Iterator[Manifest]:
    """Who may do what. Secrets may be read by name only, and where rules name namespaces only there."""
    where, name = config.namespace, installed_name(METRICS.name, config.namespace)
    everywhere, by_namespace = _rights(rules)
    yield from METRICS.cluster_role(name, [*_cluster_rules(rules, config), *everywhere], where)
    yield from METRICS.role_in(METRICS.name, _own_rules(config), where, where)
    for namespace, rights in by_namespace.items():
        yield from METRICS.role_in(f"{name}-scraped", rights, namespace, where)
    yield METRICS.role_binding(f"{name}-authentication", READER, TRUST_NAMESPACE, where)


def _rights(rules: MetricRules) -> tuple[list[Rule], dict[str, list[Rule]]]:
    """The rights to see pods and Secrets, and to report changed costs: everywhere, and by namespace."""
    everywhere: list[Rule] = []
    by_namespace: dict[str, list[Rule]] = {}
    all_named = all(rule.namespaces is not None and rule.namespaces.names for rule in rules.rules or ())
    watched = {"apiGroups": [""], "resources": ["pods"], "verbs": ["list", "watch"]}
    if not all_named:
        everywhere.append(watched)
    names: dict[str, set[str]] = {}
    learning: set[str] = set()
    for rule in rules.rules or ():
        for namespace in _namespaces(rule) or ("",):
            names.setdefault(namespace, set()).update(_secrets(rule))
            if any(metric.learn_cost is not None for metric in rule.metrics or ()):
                learning.add(namespace)
    for namespace, secrets in sorted(names.items()):
        rights = [watched] if namespace and all_named else []
        if namespace in learning:
            rights.append({"apiGroups": [""], "resources": ["events"], "verbs": ["create"]})
        if secrets:
            read = {"apiGroups": [""], "resources": ["secrets"], "resourceNames": sorted(secrets), "verbs": ["get"]}
            rights.append(read)
        if namespace and rights:
            by_namespace[namespace] = rights
        elif not namespace:
            everywhere += rights
    return everywhere, by_namespace


def _namespaces(rule: MetricRule) -> tuple[str, ...]:
    return tuple(rule.namespaces.names or ()) if rule.namespaces is not None else ()


def _secrets(rule: MetricRule) -> Iterator[str]:
    credentials = None if rule.scrape is None else rule.scrape.credentials
    if credentials is not None:
        for each in (credentials.token, credentials.ca, credentials.certificate):
            if each is not None and each.name:
                yield each.name


def _cluster_rules(rules: MetricRules, config: MetricsConfig) -> Iterator[Rule]:
    if any(rule.namespaces is not None and rule.namespaces.selector for rule in rules.rules or ()):
        yield {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["list", "watch"]}
    yield {"apiGroups": ["authentication.k8s.io"], "resources": ["tokenreviews"], "verbs": ["create"]}
    yield {"apiGroups": ["authorization.k8s.io"], "resources": ["subjectaccessreviews"], "verbs": ["create"]}
    if config.forward_token_file:
        # The other server sees this account, which asks only for what a client may read.
        yield {"apiGroups": [CUSTOM, EXTERNAL], "resources": ["*"], "verbs": ["get", "list"]}
    for group in (CUSTOM, EXTERNAL) if _has_external(rules) else (CUSTOM,):
        # To see which are its own, and to write its CA certificate to where the API server reads it.
        for verb in ("get",) if config.certificate else ("get", "patch"):
            yield {
                "apiGroups": ["apiregistration.k8s.io"],
                "resources": ["apiservices"],
                "resourceNames": [name for name in API_SERVICES if name.endswith(f".{group}")],
                "verbs": [verb],
            }


def _own_rules(config: MetricsConfig) -> list[Rule]:
    """RBAC cannot limit `create` to names."""
    named = {"resourceNames": [METRICS.name], "verbs": ["get", "update"]}
    found: list[Rule] = []
    groups = [("coordination.k8s.io", "leases"), *([] if config.certificate else [("", "secrets")])]
    for group, resource in groups:
        found.append({"apiGroups": [group], "resources": [resource], "verbs": ["create"]})
        found.append({"apiGroups": [group], "resources": [resource], **named})
    return found


def _config_data(config: MetricsConfig) -> dict[str, Any]:
    """The file of `hypot metrics --config`, with only the changed settings, so that upgrades improve the defaults."""
    usual = MetricsConfig()
    values = {f.name: getattr(config, f.name) for f in fields(config)}
    changed = {name: value for name, value in values.items() if value != getattr(usual, name)}
    return {wire_name(name): list(value) if isinstance(value, tuple) else value for name, value in changed.items()}


def _files(rules: MetricRules, config: MetricsConfig) -> dict[str, str]:
    return {
        RULES_KEY: to_yaml(rules.to_dict()),
        CONFIG_KEY: to_yaml(_config_data(config)),
    }


def _config_map(rules: MetricRules, config: MetricsConfig) -> Manifest:
    made = METRICS.described("v1", "ConfigMap", METRICS.name, config.namespace)
    return {**made, "data": _files(rules, config)}


def _secret_folders(config: MetricsConfig) -> dict[str, dict[str, str]]:
    """For each volume of a Secret: the directories where it is mounted, each with a file that is there."""
    needed = {
        PROMETHEUS_VOLUME: [config.prometheus_token_file, config.prometheus_ca_file],
        FORWARD_VOLUME: [config.forward_token_file, config.forward_ca_file],
    }
    found = {
        name: {str(PurePosixPath(file).parent): file for file in files if file and not _is_of_account(file)}
        for name, files in needed.items()
    }
    if config.certificate:
        found[CERTIFICATE_VOLUME] = {str(PurePosixPath(config.certificate)): config.certificate}
    if config.forward_certificate:
        found[FORWARD_VOLUME][str(PurePosixPath(config.forward_certificate))] = config.forward_certificate
    # In the order of Helm.
    return dict(sorted(found.items()))


def _is_of_account(file: str) -> bool:
    """Whether every pod has this file of its service account."""
    return PurePosixPath(file).is_relative_to(SERVICE_ACCOUNT)


def _deployment(rules: MetricRules, config: MetricsConfig, image: str, replicas: int) -> Manifest:
    """The Deployment. Only the replica that leads is ready, so an update may not wait for the others to be ready.

    For the same reason there is no PodDisruptionBudget: it could never let go of the one that is ready.
    """
    args = ["metrics", "-f", f"{FOLDER}/{RULES_KEY}", "--config", f"{FOLDER}/{CONFIG_KEY}"]
    ports = {"https": config.secure_port, "probes": config.probe_port, "metrics": config.metrics_port}
    mounts: list[Manifest] = [
        {"name": "config", "mountPath": FOLDER, "readOnly": True},
        {"name": "tmp", "mountPath": "/tmp"},  # noqa: S108  the only place the container can write to
    ]
    volumes: list[Manifest] = [
        {"name": "config", "configMap": {"name": METRICS.name}},
        {"name": "tmp", "emptyDir": {"medium": "Memory", "sizeLimit": "16Mi"}},
    ]
    for name, folders in _secret_folders(config).items():
        mounts += [{"name": name, "mountPath": folder, "readOnly": True} for folder in folders]
        secret = METRICS.name if name == CERTIFICATE_VOLUME else f"{METRICS.name}-{name}"
        volumes += [{"name": name, "secret": {"secretName": secret}}] if folders else []
    # The rules are read again when they change; the configuration is not.
    seen = sha256(_files(rules, config)[CONFIG_KEY].encode()).hexdigest()[:16]
    annotations = {
        "hypot.dev/config": seen,
        "prometheus.io/scrape": "true",
        "prometheus.io/port": str(config.metrics_port),
        "prometheus.io/scheme": "https" if config.metrics_auth else "http",
    }
    container = METRICS.container(image, args, ports, mounts, memory="1Gi")
    # The Service leads to a new leader no sooner than its probe.
    container["readinessProbe"] |= {"periodSeconds": 2}
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "100%", "maxSurge": 1}}
    return METRICS.deployment(config.namespace, replicas, [container], volumes, annotations, strategy)
