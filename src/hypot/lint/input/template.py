"""The requests and limits of a workload's pods after the API server has applied its defaults."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from hypot.kinds.version import Version, gate_open
from hypot.lint.input.item import Item, amount, dig, mapping, sequence, text

Resources = Mapping[str, Any]

# Init containers with restartPolicy Always keep running (native sidecars), and the HPA controller counts them.
SIDECARS_SINCE: Version = (1, 29)


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

    def container(self, name: str) -> TemplateContainer | None:
        return next((one for one in self.running if one.name == name), None)

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
    spec = dig(data, "spec")
    written = [mapping(one) for one in sequence(dig(spec, "containers"))]
    if not written:
        return None
    initial = [mapping(one) for one in sequence(dig(spec, "initContainers"))]
    sidecars = [one for one in initial if kubernetes >= SIDECARS_SINCE and one.get("restartPolicy") == "Always"]
    before = [one for one in initial if one not in sidecars]
    labels = {name: value for name, value in mapping(dig(data, "metadata", "labels")).items() if isinstance(value, str)}
    return Template(
        labels,
        tuple(_container(one, defaults) for one in (*sidecars, *written)),
        tuple(_container(one, defaults) for one in before),
        _pod_level(spec, kubernetes),
    )


def _container(data: Mapping[str, Any], defaults: Defaults) -> TemplateContainer:
    """A limit without a request also sets the request. A LimitRange fills in what is still missing."""
    requests, limits = _resources(data)
    policies = [mapping(one) for one in sequence(data.get("resizePolicy"))]
    return TemplateContainer(
        text(data.get("name")),
        {**defaults.requests, **limits, **requests},
        {**defaults.limits, **limits},
        frozenset(text(one.get("resourceName")) for one in policies if one.get("restartPolicy") == "RestartContainer"),
    )


def _pod_level(spec: Any, kubernetes: Version) -> TemplateContainer | None:
    if not gate_open("PodLevelResources", kubernetes):
        return None
    requests, limits = _resources(spec)
    return TemplateContainer("", requests, limits) if requests or limits else None


def _resources(data: Any) -> tuple[Resources, Resources]:
    return _given(dig(data, "resources", "requests")), _given(dig(data, "resources", "limits"))


def _given(resources: Any) -> Resources:
    return {name: value for name, value in mapping(resources).items() if value is not None}


def defaults_of(limit_ranges: Iterable[Item]) -> Defaults:
    """As the API server computes them: the default limit falls back to max, the default request to that or to min."""
    requests: dict[str, Any] = {}
    limits: dict[str, Any] = {}
    for item in limit_ranges:
        for entry in sequence(item.spec.get("limits")):
            if dig(entry, "type") != "Container":
                continue
            most = {**_given(dig(entry, "max")), **_given(dig(entry, "default"))}
            asked = {**_given(dig(entry, "min")), **most, **_given(dig(entry, "defaultRequest"))}
            limits = {**most, **limits}
            requests = {**asked, **requests}
    return Defaults(requests, limits)
