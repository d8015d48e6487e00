"""All objects of an installation except the CustomResourceDefinitions: an uninstall must not delete those."""

import re
from collections.abc import Iterator
from dataclasses import replace

from hypot.kinds.values.names import dns_label, dns_subdomain
from hypot.run.config import RunConfig, cluster_name
from hypot.run.install.objects import (
    CONTROLLER,
    NAME,
    cluster_role,
    config_map,
    deployment,
    network_policy,
)
from hypot.run.rights import (
    CERTIFICATE,
    NO_GRANTS,
    Grants,
    cluster_rules,
    features_of,
    namespace_rules,
    rights_for,
    watched_rules,
)
from hypot.run.webhook.registration import configuration
from hypot.serving.component import Manifest
from hypot.serving.config import DEFAULT_NAMESPACE, ConfigError

REPLICAS = 2
# Also checked by the chart: addresses that only the pod itself can reach, and valid names of a Service.
OWN_ADDRESS = r"^(127\.|localhost$|::1$)"
SERVICE_NAME = "^[a-z]([-a-z0-9]*[a-z0-9])?$"
# Where the certificate may be mounted: an absolute path, and not where other volumes are.
MOUNT = "/etc/hypot-webhook"
FOLDER = r"^/(?!etc/hypot(/|$)|tmp/?$)[^:]+$"
# cert-manager writes the CA of this Certificate.
INJECT_CA = "cert-manager.io/inject-ca-from"
# An image has no blanks, its digest is whole; and the pattern for the group of a custom kind.
IMAGE = r"^\S+$"
DIGEST = "^sha256:[0-9a-f]{64}$"
GROUP = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"


def manifests(config: RunConfig, image: str, replicas: int = REPLICAS, *, grants: Grants = NO_GRANTS) -> list[Manifest]:
    """The objects in the order in which they are applied; deleting them is an uninstall.

    Only the default namespace is created here: any other namespace belongs to the user and must not be deleted.
    """
    if found := cannot_be_installed(config, image, replicas, grants):
        raise ConfigError(*found)
    where, webhook = config.namespace, "webhook" in features_of(config, grants)
    installed = config if webhook else replace(config, webhook_port=0)
    made = [CONTROLLER.own_namespace(where)] if where == DEFAULT_NAMESPACE else []
    made += [CONTROLLER.service_account(where), *roles(installed, grants), config_map(installed)]
    made.append(CONTROLLER.service(NAME, where, config.metrics_port, "metrics"))
    if webhook:
        made.append(CONTROLLER.service(config.webhook_service, where, 443, "webhook"))
    made.append(network_policy(installed))
    made.append(deployment(installed, image, replicas))
    if replicas > 1:
        made.append(CONTROLLER.budget(where))
    if webhook:
        made.append(webhook_configuration(installed))
    return made


def roles(config: RunConfig, grants: Grants = NO_GRANTS) -> list[Manifest]:
    """Roles and their bindings. If only some namespaces are watched, nothing is allowed inside other namespaces."""
    rights, where, watched = rights_for(config, grants), config.namespace, config.watch_namespaces
    made = [
        *cluster_role(cluster_rules(rights, scoped=bool(watched)), where),
        *CONTROLLER.role_in(NAME, namespace_rules(rights), where, where),
    ]
    for namespace in sorted(set(watched)):
        made += CONTROLLER.role_in(f"{cluster_name(where)}-watched", watched_rules(rights), namespace, where)
    return made


def webhook_configuration(config: RunConfig) -> Manifest:
    """The webhook configuration. Its CA bundle is given, or hypot or cert-manager writes it."""
    made = configuration(
        config.namespace,
        config.webhook_service,
        config.webhook_ca,
        watch_namespaces=config.watch_namespaces,
        opt_in=config.opt_in,
    )
    metadata = {**made["metadata"], "labels": CONTROLLER.labels}
    if config.webhook_certificate and not config.webhook_ca:
        metadata["annotations"] = {INJECT_CA: f"{config.namespace}/{CERTIFICATE}"}
    return {**made, "metadata": metadata}


def cannot_be_installed(config: RunConfig, image: str, replicas: int, grants: Grants = NO_GRANTS) -> list[str]:
    """Settings that are valid for `hypot run` but do not work for pods behind Services."""
    found = [*_unreachable(config)]
    if not re.search(IMAGE, image):
        blank = f"{image!r} has a blank; " if image.strip() else ""
        found.append(f"image: {blank}write an image that the nodes can pull, such as registry.example/hypot:0.1.0")
    if "@" in image and not re.search(DIGEST, digest := image.partition("@")[2]):
        found.append(f"image: {digest!r} is not a digest; write sha256: and its 64 hexadecimal digits")
    if replicas < 1:
        found.append(f"replicas: {replicas} is too few; write 1 or more")
    for group, resource in grants.targets:
        if any(dns_label(resource)) or any(dns_subdomain(group)):
            message = "is not a resource; write the plural and the group, as in rollouts.argoproj.io"
            found.append(f"target: {'.'.join(filter(None, (resource, group)))!r} {message}")
    return found


def _unreachable(config: RunConfig) -> Iterator[str]:
    if not config.probe_port:
        yield "probePort: 0 means any port, but probes need a known port; write 8081"
    if not config.metrics_port:
        yield "metricsPort: 0 means any port, but Prometheus needs a known port; write 8080"
    folder = config.webhook_certificate
    if folder and not re.search(FOLDER, folder):
        yield f"webhookCertificate: {folder!r} is not a directory for a mount; write an absolute path like {MOUNT}"
    if re.search(OWN_ADDRESS, config.listen):
        yield f"listen: {config.listen!r} cannot be reached from outside the pod, not even by probes; write 0.0.0.0"
    service = config.webhook_service
    if service == NAME:
        yield f"webhookService: {service!r} is already the Service of /metrics; write another name"
    elif any(dns_label(service)) or not re.search(SERVICE_NAME, service):
        message = "a letter, then lower-case letters, digits and dashes; an address is for hypot outside a cluster only"
        yield f"webhookService: {service!r} is not a name of a Service; write {message}"
