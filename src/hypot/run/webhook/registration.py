"""The registration of the webhook. It is separate from the server, so that printing manifests needs few imports."""

import base64
from collections.abc import Sequence
from typing import Any

from hypot.run.config import OPT_IN_LABEL, OPT_IN_VALUE, OptIn, cluster_name

WEBHOOK = "pods.hypot.dev"
PATH = "/mutate"
SYSTEM_NAMESPACE = "kube-system"
TIMEOUT = 2

_NAMESPACE_NAME = "kubernetes.io/metadata.name"


def configuration(
    namespace: str,
    service: str,
    ca_bundle: str = "",
    watch_namespaces: Sequence[str] = (),
    *,
    opt_in: OptIn = "label",
) -> dict[str, Any]:
    """The MutatingWebhookConfiguration: a failing webhook never blocks a pod, and the timeout is short.

    The API server calls it again (IfNeeded) if another webhook changes the pod afterwards: an added container shares
    the bounds of a LimitRange for pods, and overwritten sizes are corrected. A second call does no harm: a pod that
    has its size gets no patch, or a patch of a few millicores if a LimitRange rounds it. Without a CA bundle the API
    server does not trust the webhook until hypot writes one.
    """
    client: dict[str, Any] = {"service": {"namespace": namespace, "name": service, "path": PATH, "port": 443}}
    if ca_bundle:
        client["caBundle"] = base64.b64encode(ca_bundle.encode()).decode()
    webhook = {
        "name": WEBHOOK,
        "clientConfig": client,
        "rules": [
            {
                "apiGroups": [""],
                "apiVersions": ["v1"],
                "operations": ["CREATE"],
                "resources": ["pods"],
                "scope": "Namespaced",
            }
        ],
        "namespaceSelector": {"matchExpressions": _namespaces(namespace, watch_namespaces, opt_in)},
        "failurePolicy": "Ignore",
        "matchPolicy": "Equivalent",
        "reinvocationPolicy": "IfNeeded",
        "sideEffects": "None",
        "timeoutSeconds": TIMEOUT,
        "admissionReviewVersions": ["v1"],
    }
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": cluster_name(namespace)},
        "webhooks": [webhook],
    }


def configuration_path(namespace: str) -> str:
    """The path of the MutatingWebhookConfiguration of the hypot in this namespace."""
    return f"/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/{cluster_name(namespace)}"


def _namespaces(own: str, watched: Sequence[str], opt_in: OptIn) -> list[dict[str, Any]]:
    """The namespace selector. Pods of the cluster and of hypot must start even if hypot fails, so they are excluded."""
    chosen: list[dict[str, Any]] = [
        {"key": _NAMESPACE_NAME, "operator": "NotIn", "values": sorted({SYSTEM_NAMESPACE, own})}
    ]
    if watched:
        chosen.append({"key": _NAMESPACE_NAME, "operator": "In", "values": sorted(set(watched))})
    if opt_in == "label":
        chosen.append({"key": OPT_IN_LABEL, "operator": "In", "values": [OPT_IN_VALUE]})
    return chosen
