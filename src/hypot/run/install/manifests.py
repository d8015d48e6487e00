"""Everything an installation is made of, but for the CustomResourceDefinitions: an uninstall must not take those."""

import re
from collections.abc import Iterator
from dataclasses import replace

from hypot.kinds.names import dns_label, dns_subdomain
from hypot.run.config import ConfigError, RunConfig
from hypot.run.install.objects import (
    NAME,
    Manifest,
    budget,
    cluster_role,
    config_map,
    deployment,
    labels,
    own_namespace,
    role,
    service,
    service_account,
)
from hypot.run.rights import NO_GRANTS, Grants, cluster_rules, features_of, namespace_rules, rights_for, watched_rules
from hypot.run.webhook.registration import configuration

DEFAULT_NAMESPACE = RunConfig().namespace
REPLICAS = 2
# For the chart, which checks the same: addresses that only the pod itself reaches, and names that a Service may have.
OWN_ADDRESS = r"^(127\.|localhost$|::1$)"
SERVICE_NAME = "^[a-z]([-a-z0-9]*[a-z0-9])?$"
# No blanks, and the group of a custom kind.
IMAGE = r"^\S+$"
GROUP = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"


def manifests(config: RunConfig, image: str, replicas: int = REPLICAS, *, grants: Grants = NO_GRANTS) -> list[Manifest]:
    """The objects in the order in which they are applied; deleting them is an uninstall.

    A namespace with another name than the usual one is somebody's own: it is not made here, and so never deleted.
    """
    if found := cannot_be_installed(config, image, replicas, grants):
        raise ConfigError(*found)
    where, webhook = config.namespace, "webhook" in features_of(config, grants)
    installed = config if webhook else replace(config, webhook_port=0)
    made = [own_namespace(where)] if where == DEFAULT_NAMESPACE else []
    made += [service_account(where), *roles(installed, grants), config_map(installed)]
    made.append(service(NAME, where, config.http_port, "http"))
    if webhook:
        made.append(service(config.webhook_service, where, 443, "webhook"))
    made.append(deployment(installed, image, replicas))
    if replicas > 1:
        made.append(budget(where))
    if webhook:
        made.append(webhook_configuration(installed))
    return made


def roles(config: RunConfig, grants: Grants = NO_GRANTS) -> list[Manifest]:
    """Roles and their bindings. Where namespaces are named, nothing inside other namespaces is allowed."""
    rights, where, watched = rights_for(config, grants), config.namespace, config.watch_namespaces
    made = [
        *cluster_role(cluster_rules(rights, scoped=bool(watched)), where),
        *role(NAME, namespace_rules(rights), where, where),
    ]
    for namespace in sorted(set(watched)):
        made += role(f"{NAME}-watched", watched_rules(rights), namespace, where)
    return made


def webhook_configuration(config: RunConfig) -> Manifest:
    """Without the bundle of an authority: that one hypot makes and writes itself."""
    made = configuration(
        config.namespace, config.webhook_service, watch_namespaces=config.watch_namespaces, opt_in=config.opt_in
    )
    return {**made, "metadata": {**made["metadata"], "labels": labels()}}


def cannot_be_installed(config: RunConfig, image: str, replicas: int, grants: Grants = NO_GRANTS) -> list[str]:
    """What may be run somewhere, and would not work as pods behind Services."""
    found = [*_unreachable(config)]
    if not re.search(IMAGE, image):
        blank = f"{image!r} has a blank; " if image.strip() else ""
        found.append(f"image: {blank}write what the nodes are to run, such as registry.example/hypot:0.1.0")
    if replicas < 1:
        found.append(f"replicas: {replicas} is none; write 1 or more")
    for group, resource in grants.targets:
        if any(dns_label(resource)) or any(dns_subdomain(group)):
            message = "is no resource; write the plural and the group, as rollouts.argoproj.io"
            found.append(f"target: {'.'.join(filter(None, (resource, group)))!r} {message}")
    return found


def _unreachable(config: RunConfig) -> Iterator[str]:
    if not config.http_port:
        yield "httpPort: 0 is any port, and probes need a known one; write 8080"
    if re.search(OWN_ADDRESS, config.listen):
        yield f"listen: {config.listen!r} is reached by nobody outside of the pod, probes neither; write 0.0.0.0"
    service = config.webhook_service
    if service == NAME:
        yield f"webhookService: {service!r} is the Service of /metrics already; write another name"
    elif any(dns_label(service)) or not re.search(SERVICE_NAME, service):
        message = "a letter, then lower-case letters, digits and dashes; an address is only for running hypot outside"
        yield f"webhookService: {service!r} is no name of a Service; write {message}"
