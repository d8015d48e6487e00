"""The Kubernetes objects of one component of hypot, such as the controller: what all components install alike."""

from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from typing import Any, NamedTuple

Manifest = dict[str, Any]
Rule = dict[str, Any]
# A user id without an account, and outside the range that nodes give to their own users.
USER = 65532
_RBAC = "rbac.authorization.k8s.io"


class Component(NamedTuple):
    """Its pods, its account and its objects have this name."""

    name: str
    # The label app.kubernetes.io/component.
    role: str

    @property
    def selector(self) -> dict[str, str]:
        return {"app.kubernetes.io/name": self.name}

    @property
    def labels(self) -> dict[str, str]:
        return {
            **self.selector,
            "app.kubernetes.io/component": self.role,
            "app.kubernetes.io/version": version("hypot"),
        }

    def described(self, api_version: str, kind: str, name: str, namespace: str | None = None) -> Manifest:
        """The apiVersion, kind and metadata of an object."""
        where = {} if namespace is None else {"namespace": namespace}
        return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, **where, "labels": self.labels}}

    def own_namespace(self, name: str) -> Manifest:
        """The namespace; it enforces the restricted Pod Security Standard, which hypot's pods meet."""
        made = self.described("v1", "Namespace", name)
        made["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] = "restricted"
        return made

    def service_account(self, namespace: str) -> Manifest:
        """The ServiceAccount; only the pod that needs the token mounts it."""
        made = self.described("v1", "ServiceAccount", self.name, namespace)
        return {**made, "automountServiceAccountToken": False}

    def cluster_role(self, name: str, rules: list[Rule], namespace: str) -> tuple[Manifest, Manifest]:
        """A ClusterRole, and its binding to the account in hypot's namespace."""
        role = {**self.described(f"{_RBAC}/v1", "ClusterRole", name), "rules": rules}
        ref = {"apiGroup": _RBAC, "kind": "ClusterRole", "name": name}
        binding = self.described(f"{_RBAC}/v1", "ClusterRoleBinding", name)
        return role, {**binding, "roleRef": ref, "subjects": [self._account(namespace)]}

    def role_in(self, name: str, rules: list[Rule], where: str, namespace: str) -> tuple[Manifest, Manifest]:
        """A Role in some namespace, and its binding to the account in hypot's namespace."""
        made = {**self.described(f"{_RBAC}/v1", "Role", name, where), "rules": rules}
        return made, self.role_binding(name, name, where, namespace)

    def role_binding(self, name: str, role: str, where: str, namespace: str) -> Manifest:
        ref = {"apiGroup": _RBAC, "kind": "Role", "name": role}
        binding = self.described(f"{_RBAC}/v1", "RoleBinding", name, where)
        return {**binding, "roleRef": ref, "subjects": [self._account(namespace)]}

    def _account(self, namespace: str) -> Manifest:
        return {"kind": "ServiceAccount", "name": self.name, "namespace": namespace}

    def service(self, name: str, namespace: str, port: int, to: str) -> Manifest:
        spec = {"selector": self.selector, "ports": [{"name": to, "port": port, "targetPort": to}]}
        return {**self.described("v1", "Service", name, namespace), "spec": spec}

    def network_policy(self, namespace: str, ingress: Sequence[Manifest]) -> Manifest:
        """Who may connect."""
        spec = {
            "podSelector": {"matchLabels": self.selector},
            "policyTypes": ["Ingress"],
            "ingress": list(ingress),
        }
        return {**self.described("networking.k8s.io/v1", "NetworkPolicy", self.name, namespace), "spec": spec}

    def budget(self, namespace: str) -> Manifest:
        """The budget: one replica always stays to answer and to take over the Lease."""
        spec = {"minAvailable": 1, "selector": {"matchLabels": self.selector}}
        return {**self.described("policy/v1", "PodDisruptionBudget", self.name, namespace), "spec": spec}

    def deployment(
        self,
        namespace: str,
        replicas: int,
        containers: Sequence[Manifest],
        volumes: Sequence[Manifest],
        annotations: Mapping[str, str],
        strategy: Manifest,
    ) -> Manifest:
        """The Deployment. Its pods have no priority class: without them workloads stay as they are.

        They need no preStop hook: on SIGTERM hypot ends what it does and releases the Lease.
        """
        pod = {
            "serviceAccountName": self.name,
            "automountServiceAccountToken": True,
            "terminationGracePeriodSeconds": 30,
            "securityContext": {
                "runAsNonRoot": True,
                "runAsUser": USER,
                "runAsGroup": USER,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "topologySpreadConstraints": [
                self._spread("kubernetes.io/hostname"),
                self._spread("topology.kubernetes.io/zone"),
            ],
            "containers": list(containers),
            "volumes": [*volumes],
        }
        spec = {
            "replicas": replicas,
            "selector": {"matchLabels": self.selector},
            "strategy": strategy,
            "template": {"metadata": {"labels": self.labels, "annotations": dict(annotations)}, "spec": pod},
        }
        return {**self.described("apps/v1", "Deployment", self.name, namespace), "spec": spec}

    def _spread(self, key: str) -> Manifest:
        selector = {"matchLabels": self.selector}
        return {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": selector}

    def container(
        self, image: str, args: Sequence[str], ports: Mapping[str, int], mounts: Iterable[Manifest], memory: str
    ) -> Manifest:
        """The container of a pod: no rights, and no place to write to but what is mounted."""
        return {
            "name": self.name,
            "image": image,
            "imagePullPolicy": "IfNotPresent",
            "args": list(args),
            "ports": [{"name": name, "containerPort": port} for name, port in ports.items()],
            "livenessProbe": _probe("/healthz", 3),
            "readinessProbe": _probe("/readyz", 2),
            "resources": {"requests": {"cpu": "100m", "memory": "256Mi"}, "limits": {"memory": memory}},
            "securityContext": {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            },
            "volumeMounts": list(mounts),
        }


def _probe(path: str, failures: int) -> Manifest:
    asked = {"path": path, "port": "probes"}
    return {"httpGet": asked, "periodSeconds": 10, "timeoutSeconds": 5, "failureThreshold": failures}


def from_namespace(name: str, port: str) -> Manifest:
    """Pods of this namespace may connect to this port."""
    chosen = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": name}}}
    return {"from": [chosen], "ports": [{"port": port}]}


def from_anywhere(port: str) -> Manifest:
    """The API server and the kubelet are no pods, so their ports are open to every address."""
    return {"ports": [{"port": port}]}
