"""The requests and limits of a workload's pods after the API server has applied its defaults."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from typing import Any

from hypot.core.dataclass import dataclass
from hypot.kinds.problem import Problem, Where, did_you_mean, some
from hypot.kinds.values.nested import amount, inner, mappings
from hypot.kinds.values.version import Version, gate_open

Resources = Mapping[str, Any]

# Init containers with restartPolicy Always keep running (native sidecars), and the HPA controller counts them.
SIDECARS_SINCE: Version = (1, 29)
# Containers that a mesh or an operator adds to the pods, so that no template has them: Istio, Linkerd, Kuma, Consul,
# Dapr, Vault, OpenTelemetry, Jaeger, GKE. Labels of the namespace decide it too, so the template cannot say whether.
_INJECTED = frozenset(
    {
        "istio-proxy",
        "linkerd-proxy",
        "kuma-sidecar",
        "consul-dataplane",
        "daprd",
        "vault-agent",
        "otc-container",
        "jaeger-agent",
        "gke-gcsfuse-sidecar",
    }
)


@dataclass(frozen=True, slots=True)
class TemplateContainer:
    name: str
    requests: Resources = field(default_factory=dict)
    limits: Resources = field(default_factory=dict)
    # The resources whose change restarts it.
    restarts: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Defaults:
    """The default requests and limits that the LimitRanges of a namespace give to containers."""

    requests: Resources = field(default_factory=dict)
    limits: Resources = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Template:
    """A pod template: containers that keep running, including native sidecars, and init containers that end before."""

    labels: Mapping[str, str]
    running: tuple[TemplateContainer, ...]
    before: tuple[TemplateContainer, ...] = ()
    pod: TemplateContainer | None = None

    @property
    def names(self) -> list[str]:
        return [one.name for one in self.running]

    def container(self, name: str) -> TemplateContainer | None:
        return next((one for one in self.running if one.name == name), None)

    def may_have(self, name: str) -> bool:
        """Whether the pods have a running container of this name, or get one that is known to be injected."""
        return name in _INJECTED or self.container(name) is not None

    def without_request(self, resource: str, container: str) -> list[str]:
        """The containers whose missing request prevents a utilisation; empty if the pod itself has a request."""
        if container:
            found = self.container(container)
            return [container] if found is not None and resource not in found.requests else []
        if self.pod is not None:
            asked = resource in {**self.pod.requests, **self.pod.limits}
            asked = asked or any(resource in one.requests for one in (*self.running, *self.before))
            return [] if asked else [one.name for one in self.running]
        return [one.name for one in self.running if resource not in one.requests]

    def request(self, resource: str, container: str = "") -> int | None:
        """The request in milli-units that utilisation is measured against, or None if unknown."""
        asked = [one.requests.get(resource) for one in self._counted(container)]
        if container or self.pod is None:
            return _total(asked)
        of_pod = self.pod.requests.get(resource)
        if of_pod is None and not any(asked):
            of_pod = self.pod.limits.get(resource)
        return amount(of_pod) if of_pod is not None else _total(asked)

    def limit(self, resource: str, container: str = "") -> int | None:
        """The limit in milli-units that usage cannot exceed, or None if there is no limit."""
        bound = _total([one.limits.get(resource) for one in self._counted(container)])
        of_pod = amount(self.pod.limits.get(resource)) if self.pod is not None else None
        known = [one for one in (bound, of_pod) if one is not None]
        return min(known) if known else None

    def _counted(self, container: str) -> list[TemplateContainer]:
        return [one for one in self.running if not container or one.name == container]


def _total(amounts: Iterable[Any]) -> int | None:
    known = [amount(one) for one in amounts]
    return None if not known or None in known else sum(one for one in known if one is not None)


def read_template(data: Any, defaults: Defaults, kubernetes: Version) -> Template | None:
    """The pod template, or None if the data has no containers."""
    spec = inner(data, "spec")
    written = list(mappings(spec.get("containers")))
    if not written:
        return None
    initial = list(mappings(spec.get("initContainers")))
    sidecars = [one for one in initial if kubernetes >= SIDECARS_SINCE and one.get("restartPolicy") == "Always"]
    before = [one for one in initial if one not in sidecars]
    labels = {name: value for name, value in inner(data, "metadata", "labels").items() if isinstance(value, str)}
    return Template(
        labels,
        tuple(_container(one, defaults) for one in (*sidecars, *written)),
        tuple(_container(one, defaults) for one in before),
        _pod_level(spec, kubernetes),
    )


def _container(data: Mapping[str, Any], defaults: Defaults) -> TemplateContainer:
    """A limit without a request also sets the request. A LimitRange fills in what is still missing."""
    requests, limits = _resources(data)
    policies = list(mappings(data.get("resizePolicy")))
    return TemplateContainer(
        _text(data.get("name")),
        {**defaults.requests, **limits, **requests},
        {**defaults.limits, **limits},
        frozenset(_text(one.get("resourceName")) for one in policies if one.get("restartPolicy") == "RestartContainer"),
    )


def _pod_level(spec: Mapping[str, Any], kubernetes: Version) -> TemplateContainer | None:
    if not gate_open("PodLevelResources", kubernetes):
        return None
    requests, limits = _resources(spec)
    return TemplateContainer("", requests, limits) if requests or limits else None


def _resources(data: Any) -> tuple[Resources, Resources]:
    return given_in(inner(data, "resources", "requests")), given_in(inner(data, "resources", "limits"))


def given_in(resources: Mapping[str, Any]) -> Resources:
    """The amounts of a resource list that are not null."""
    return {name: value for name, value in resources.items() if value is not None}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def template_in(spec: Mapping[str, Any]) -> Any:
    """The pod template in the spec of a workload, if it is at one of the usual paths."""
    found = spec.get("template")
    if found is None:
        found = inner(spec, "jobTemplate", "spec").get("template")
    return found if isinstance(inner(found, "spec").get("containers"), list) else None


def unknown_container(name: str, template: Template, of: object) -> str:
    """A message about a name that no container of these pods has."""
    return f"{of} has no container {name}; its containers are {some(template.names)}"


def unsized_container(name: str, template: Template, of: object) -> str:
    """Why a policy for this container is never used; empty if it is."""
    if template.may_have(name):
        return ""
    if any(one.name == name for one in template.before):
        return f"{name} of {of} is an init container, and those are not sized"
    return unknown_container(name, template, of)


def policy_problems(
    policies: Iterable[tuple[Where, str | None]], template: Template, of: object, every: str = ""
) -> Iterator[Problem]:
    """Policies that are never used. Each has its path and the container that it names; `every` names all of them."""
    for where, name in policies:
        message = unsized_container(name, template, of) if name and name != every else ""
        if message:
            hint = did_you_mean(name or "", template.names)
            yield Problem("policy-container-missing", "", (*where, "containerName"), message, hint=hint)
