"""What an account requested from the API server, from the audit log, and what it is allowed to do."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from cluster.plane.api import APPLY, Api
from cluster.plane.controlplane import ACCOUNT, ControlPlane
from cluster.running.proxy import Proxy
from hypot.run.rights import LEASE, said_by, state_name

Object = dict[str, Any]
METRICS = ("custom.metrics.k8s.io", "external.metrics.k8s.io")
PATHS = {
    "ServiceAccount": "/api/v1/namespaces/{}/serviceaccounts",
    "Service": "/api/v1/namespaces/{}/services",
    "ClusterRole": "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "ClusterRoleBinding": "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    "Role": "/apis/rbac.authorization.k8s.io/v1/namespaces/{}/roles",
    "RoleBinding": "/apis/rbac.authorization.k8s.io/v1/namespaces/{}/rolebindings",
    "MutatingWebhookConfiguration": "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
}
# (group, resource, verb, name or empty).
Single = tuple[str, str, str, str]


class Asked(NamedTuple):
    """One request; the resource includes its subresource."""

    group: str
    resource: str
    verb: str
    name: str
    status: int
    address: str
    namespace: str = ""
    # Refused by the roles; a namespace that is being deleted also refuses requests.
    forbidden: bool = False

    @property
    def made(self) -> bool:
        """Whether the request created the object, which takes the right to create it: applying an object may do so."""
        return self.verb == "patch" and self.status == 201


def asked_by(log: Path, since: int = 0, user: str = ACCOUNT) -> list[Asked]:
    """All requests of a user after this size of the log, from complete lines only."""
    wanted = user.encode()
    with log.open("rb") as lines:
        lines.seek(since)
        return [_asked(line) for text in lines if wanted in text and (line := _read(text)) and _is_by(line, user)]


def _read(text: bytes) -> Object:
    try:
        read: Object = json.loads(text)
    except ValueError:
        return {}
    return read


def _is_by(line: Object, user: str) -> bool:
    return bool(line["user"]["username"] == user and line.get("objectRef"))


def _asked(line: Object) -> Asked:
    about = line["objectRef"]
    resource = "/".join(filter(None, (about.get("resource", ""), about.get("subresource", ""))))
    status = (line.get("responseStatus") or {}).get("code", 0)
    forbidden = (line.get("annotations") or {}).get("authorization.k8s.io/decision") == "forbid"
    name, group = about.get("name", ""), about.get("apiGroup", "")
    space = about.get("namespace", "")
    return Asked(group, resource, line["verb"], name, status, line["requestURI"], space, forbidden)


def refused(asked: Iterable[Asked]) -> list[Asked]:
    return [one for one in asked if one.forbidden]


def unused(manifests: Iterable[Object], asked: Iterable[Asked]) -> set[Single]:
    """Rights that the roles grant and that were not used. One shard of the state or one metric name counts for all."""
    used = {single for one in asked for single in _uses(one)}
    granted = said_by(rule for made in manifests for rule in made.get("rules", ()))
    return {_any(single) for single in granted} - used


def _any(single: Single) -> Single:
    group, resource, verb, name = single
    memory = f"{state_name(LEASE)}-"
    return group, resource, verb, f"{memory}*" if name.startswith(memory) else name


def _uses(asked: Asked) -> Iterable[Single]:
    resource = "*" if asked.group in METRICS else asked.resource
    for verb in (asked.verb, "create") if asked.made else (asked.verb,):
        yield asked.group, resource, verb, ""
        yield _any((asked.group, resource, verb, asked.name))


def install(api: Api, manifests: Iterable[Object], webhook_port: int = 0) -> None:
    """Apply the manifests as a user does, but create no pods and use the webhook's address on this machine."""
    for made in manifests:
        if made["kind"] not in PATHS:
            continue
        if made["kind"] == "Service":
            made["spec"] = {"type": "ExternalName", "externalName": "localhost"}
        if made["kind"] == "MutatingWebhookConfiguration":
            made["webhooks"][0]["clientConfig"]["service"]["port"] = webhook_port
        api.patch(_at(made), made, APPLY, query={"fieldManager": "test", "force": "true"})


def uninstall(api: Api, manifests: Iterable[Object]) -> None:
    for made in manifests:
        if made["kind"] in PATHS:
            api.call("DELETE", _at(made))


def _at(made: Object) -> str:
    metadata = made["metadata"]
    return f"{PATHS[made['kind']].format(metadata.get('namespace'))}/{metadata['name']}"


def as_of_old(plane: ControlPlane, name: str) -> Proxy:
    """An API server as before 1.34: it does not support lists that come as a stream."""
    proxy = Proxy(plane, name).start()
    message = 'ListOptions.meta.k8s.io "" is invalid: sendInitialEvents: Forbidden: disabled by feature-gate'
    refusal = {"kind": "Status", "status": "Failure", "message": message, "reason": "Invalid", "code": 422}
    proxy.refuse(lambda call: "sendInitialEvents" in call.query, 422, refusal, times=10**6)
    return proxy


def account_kubeconfig(plane: ControlPlane, port: int = 0) -> Path:
    """A kubeconfig with a token as the kubelet would mount it; with `port`, requests go through a proxy."""
    path = PATHS["ServiceAccount"].format("hypot-system")
    asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}}
    token = plane.admin.create(f"{path}/hypot/token", asked)["status"]["token"]
    config = json.loads(plane.kubeconfig("admin").read_text(encoding="utf-8"))
    config["users"][0]["user"]["token"] = token
    config["clusters"][0]["cluster"]["server"] = f"https://127.0.0.1:{port or plane.port}"
    written = plane.folder / "account.kubeconfig"
    written.write_text(json.dumps(config), encoding="utf-8")
    return written
