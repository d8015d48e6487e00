"""The objects of an installation, one function each."""

from collections.abc import Mapping
from dataclasses import fields
from hashlib import sha256
from importlib.metadata import version
from typing import Any

import yaml

from hypot.kinds.names import wire_name
from hypot.policy.model.settings import Settings
from hypot.run.config import RunConfig, cluster_name
from hypot.run.rights import CERTIFICATE, Rule

Manifest = dict[str, Any]

NAME = "hypot"
CONFIG_MAP = "hypot-config"
CONFIG_KEY = "config.yaml"
CONFIG_FOLDER = "/etc/hypot"
# A user id without an account, and outside the range that nodes give to their own users.
USER = 65532
SELECTOR = {"app.kubernetes.io/name": NAME}


def labels() -> dict[str, str]:
    return {**SELECTOR, "app.kubernetes.io/component": "controller", "app.kubernetes.io/version": version("hypot")}


def described(api_version: str, kind: str, name: str, namespace: str | None = None) -> Manifest:
    """The apiVersion, kind and metadata of an object."""
    where = {} if namespace is None else {"namespace": namespace}
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, **where, "labels": labels()}}


def own_namespace(name: str) -> Manifest:
    """The namespace; it enforces the restricted Pod Security Standard, which hypot's pods meet."""
    made = described("v1", "Namespace", name)
    made["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] = "restricted"
    return made


def service_account(namespace: str) -> Manifest:
    """The ServiceAccount; only the pod that needs the token mounts it."""
    return {**described("v1", "ServiceAccount", NAME, namespace), "automountServiceAccountToken": False}


def cluster_role(rules: list[Rule], namespace: str) -> tuple[Manifest, Manifest]:
    """A ClusterRole, and its binding to the account in hypot's namespace."""
    group = "rbac.authorization.k8s.io"
    name = cluster_name(namespace)
    role = {**described(f"{group}/v1", "ClusterRole", name), "rules": rules}
    ref = {"apiGroup": group, "kind": "ClusterRole", "name": name}
    binding = described(f"{group}/v1", "ClusterRoleBinding", name)
    return role, {**binding, "roleRef": ref, "subjects": [_account(namespace)]}


def role(name: str, rules: list[Rule], where: str, namespace: str) -> tuple[Manifest, Manifest]:
    """A Role in some namespace, and its binding to the account in hypot's namespace."""
    group = "rbac.authorization.k8s.io"
    made = {**described(f"{group}/v1", "Role", name, where), "rules": rules}
    ref = {"apiGroup": group, "kind": "Role", "name": name}
    binding = described(f"{group}/v1", "RoleBinding", name, where)
    return made, {**binding, "roleRef": ref, "subjects": [_account(namespace)]}


def _account(namespace: str) -> Manifest:
    return {"kind": "ServiceAccount", "name": NAME, "namespace": namespace}


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
    text = yaml.safe_dump(config_data(config), sort_keys=False)
    return {**described("v1", "ConfigMap", CONFIG_MAP, config.namespace), "data": {CONFIG_KEY: text}}


def budget(namespace: str) -> Manifest:
    """The budget: one replica always stays to answer the webhook and take over the lease."""
    spec = {"minAvailable": 1, "selector": {"matchLabels": SELECTOR}}
    return {**described("policy/v1", "PodDisruptionBudget", NAME, namespace), "spec": spec}


def service(name: str, namespace: str, port: int, to: str) -> Manifest:
    spec = {"selector": SELECTOR, "ports": [{"name": to, "port": port, "targetPort": to}]}
    return {**described("v1", "Service", name, namespace), "spec": spec}


def network_policy(config: RunConfig) -> Manifest:
    """Who may connect. The API server and the kubelet are no pods, so their ports are open to every address."""
    monitoring = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": config.monitoring_namespace}}}
    allowed: list[Manifest] = [{"ports": [{"port": "probes"}]}, {"from": [monitoring], "ports": [{"port": "metrics"}]}]
    if config.webhook_port:
        allowed.append({"ports": [{"port": "webhook"}]})
    spec = {"podSelector": {"matchLabels": SELECTOR}, "policyTypes": ["Ingress"], "ingress": allowed}
    return {**described("networking.k8s.io/v1", "NetworkPolicy", NAME, config.namespace), "spec": spec}


def deployment(config: RunConfig, image: str, replicas: int) -> Manifest:
    """The Deployment: a new pod is ready before an old one stops, so that the webhook always answers."""
    spec = {
        "replicas": replicas,
        "selector": {"matchLabels": SELECTOR},
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}},
        "template": {
            "metadata": {"labels": labels(), "annotations": _pod_annotations(config)},
            "spec": _pod(config, image),
        },
    }
    return {**described("apps/v1", "Deployment", NAME, config.namespace), "spec": spec}


def _pod_annotations(config: RunConfig) -> dict[str, str]:
    """The annotations; a changed configuration changes them and so replaces the pods, as hypot reads it only once."""
    text = yaml.safe_dump(config_data(config)).encode()
    return {
        "hypot.dev/config": sha256(text).hexdigest()[:16],
        "prometheus.io/scrape": "true",
        "prometheus.io/port": str(config.metrics_port),
        "prometheus.io/scheme": "https" if config.metrics_auth else "http",
    }


def _pod(config: RunConfig, image: str) -> Manifest:
    """The pod. It has no priority class: without hypot workloads stay as they are, so nothing should be preempted.

    It needs no preStop hook: on SIGTERM hypot ends the current write and releases the lease.
    """
    return {
        "serviceAccountName": NAME,
        "automountServiceAccountToken": True,
        "terminationGracePeriodSeconds": 30,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": USER,
            "runAsGroup": USER,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "topologySpreadConstraints": [_spread("kubernetes.io/hostname"), _spread("topology.kubernetes.io/zone")],
        "containers": [_container(config, image)],
        "volumes": [
            {"name": "config", "configMap": {"name": CONFIG_MAP}},
            {"name": "tmp", "emptyDir": {"medium": "Memory", "sizeLimit": "16Mi"}},
            *([certificate_volume()] if config.webhook_certificate else ()),
        ],
    }


def certificate_volume() -> Manifest:
    """The Secret of a certificate that others keep; it has the name of the one that hypot would keep."""
    return {"name": "certificate", "secret": {"secretName": CERTIFICATE}}


def certificate_mount(folder: str) -> Manifest:
    return {"name": "certificate", "mountPath": folder, "readOnly": True}


def _spread(key: str) -> Manifest:
    selector = {"matchLabels": SELECTOR}
    return {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": selector}


def _container(config: RunConfig, image: str) -> Manifest:
    ports = [
        {"name": "probes", "containerPort": config.probe_port},
        {"name": "metrics", "containerPort": config.metrics_port},
    ]
    if config.webhook_port:
        ports.append({"name": "webhook", "containerPort": config.webhook_port})
    return {
        "name": NAME,
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "args": ["run", "--config", f"{CONFIG_FOLDER}/{CONFIG_KEY}"],
        "ports": ports,
        "livenessProbe": _probe("/healthz", 3),
        "readinessProbe": _probe("/readyz", 2),
        "resources": {"requests": {"cpu": "100m", "memory": "256Mi"}, "limits": {"memory": "512Mi"}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": [
            {"name": "config", "mountPath": CONFIG_FOLDER, "readOnly": True},
            {"name": "tmp", "mountPath": "/tmp"},  # noqa: S108  the only place the container can write to
            *([certificate_mount(config.webhook_certificate)] if config.webhook_certificate else ()),
        ],
    }


def _probe(path: str, failures: int) -> Manifest:
    asked = {"path": path, "port": "probes"}
    return {"httpGet": asked, "periodSeconds": 10, "timeoutSeconds": 5, "failureThreshold": failures}
