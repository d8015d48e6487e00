"""The objects of an installation, one function each."""

from collections.abc import Mapping
from dataclasses import fields
from hashlib import sha256
from typing import Any

from hypot.kinds.text.write import to_yaml
from hypot.kinds.values.names import wire_name
from hypot.policy.model.settings import Settings
from hypot.run.config import RunConfig, cluster_name
from hypot.run.rights import CERTIFICATE
from hypot.serving.component import Component, Manifest, Rule, from_anywhere, from_namespace

NAME = "hypot"
CONFIG_MAP = "hypot-config"
CONFIG_KEY = "config.yaml"
CONFIG_FOLDER = "/etc/hypot"
CONTROLLER = Component(NAME, "controller")


def cluster_role(rules: list[Rule], namespace: str) -> tuple[Manifest, Manifest]:
    """A ClusterRole, and its binding to the account in hypot's namespace."""
    return CONTROLLER.cluster_role(cluster_name(namespace), rules, namespace)


def config_data(config: RunConfig) -> Manifest:
    """The file of `hypot run --config`, with only the changed settings, so that upgrades can improve the defaults."""
    data = {wire_name(f.name): getattr(config, f.name) for f in fields(config)}
    data |= {name: list(value) for name, value in data.items() if isinstance(value, tuple)}
    data["kinds"] = dict(config.kinds)
    data["settings"] = _changed(config.settings.to_dict(), Settings().to_dict())
    return data


def _changed(now: Mapping[str, Any], before: Mapping[str, Any]) -> Manifest:
    changed = {name: value for name, value in now.items() if value != before.get(name)}
    return {
        name: _changed(value, before[name]) if name in before and isinstance(value, Mapping) else value
        for name, value in changed.items()
    }


def config_map(config: RunConfig) -> Manifest:
    text = to_yaml(config_data(config))
    return {**CONTROLLER.described("v1", "ConfigMap", CONFIG_MAP, config.namespace), "data": {CONFIG_KEY: text}}


def network_policy(config: RunConfig) -> Manifest:
    """Who may connect to the controller."""
    allowed = [from_anywhere("probes"), from_namespace(config.monitoring_namespace, "metrics")]
    if config.webhook_port:
        allowed.append(from_anywhere("webhook"))
    return CONTROLLER.network_policy(config.namespace, allowed)


def deployment(config: RunConfig, image: str, replicas: int) -> Manifest:
    """The Deployment: a new pod is ready before an old one stops, so that the webhook always answers."""
    ports = {"probes": config.probe_port, "metrics": config.metrics_port}
    if config.webhook_port:
        ports["webhook"] = config.webhook_port
    mounts = [
        {"name": "config", "mountPath": CONFIG_FOLDER, "readOnly": True},
        {"name": "tmp", "mountPath": "/tmp"},  # noqa: S108  the only place the container can write to
        *([certificate_mount(config.webhook_certificate)] if config.webhook_certificate else ()),
    ]
    args = ["run", "--config", f"{CONFIG_FOLDER}/{CONFIG_KEY}"]
    return CONTROLLER.deployment(
        config.namespace,
        replicas,
        [CONTROLLER.container(image, args, ports, mounts, memory="512Mi")],
        [
            {"name": "config", "configMap": {"name": CONFIG_MAP}},
            {"name": "tmp", "emptyDir": {"medium": "Memory", "sizeLimit": "16Mi"}},
            *([certificate_volume()] if config.webhook_certificate else ()),
        ],
        _pod_annotations(config),
        {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}},
    )


def _pod_annotations(config: RunConfig) -> dict[str, str]:
    """The annotations; a changed configuration changes them and so replaces the pods, as hypot reads it only once."""
    text = to_yaml(config_data(config)).encode()
    return {
        "hypot.dev/config": sha256(text).hexdigest()[:16],
        "prometheus.io/scrape": "true",
        "prometheus.io/port": str(config.metrics_port),
        "prometheus.io/scheme": "https" if config.metrics_auth else "http",
    }


def certificate_volume() -> Manifest:
    """The Secret of a certificate that others keep; it has the name of the one that hypot would keep."""
    return {"name": "certificate", "secret": {"secretName": CERTIFICATE}}


def certificate_mount(folder: str) -> Manifest:
    return {"name": "certificate", "mountPath": folder, "readOnly": True}
