"""What hypot may do in a cluster, and why: the single table that all roles are made from."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from hypot.kinds.catalogue import CATALOGUE, controlled, measuring, names_of
from hypot.kinds.hpa import HPA
from hypot.kinds.hvpa import Hvpa
from hypot.kinds.tortoise import Tortoise
from hypot.kinds.vpa import VPA
from hypot.kinds.wpa import WPA
from hypot.run.config import RunConfig, cluster_name
from hypot.serving.component import Rule
from hypot.serving.config import DEFAULT_NAMESPACE

# Cluster-wide, only in hypot's own namespace, or in the namespaces it watches, which may be all of them.
Scope = Literal["cluster", "own-namespace", "watched"]

# A dry run has its own Lease and state: it must never lead instead of an installation that acts.
LEASE, DRY_RUN = "hypot", "hypot-dry-run"
STATE_SHARDS = 64
CERTIFICATE = "hypot-webhook"

# The feature of an installation that changes workloads.
ACTS = "act"
FOR_REAL, ON_TRIAL = "for real", "dry run"


def resource_of(kind: str) -> tuple[str, str]:
    """The API group and the resource of a kind."""
    return CATALOGUE[kind].group, CATALOGUE[kind].plural


def own_name(config: RunConfig) -> str:
    """The name of the Lease, and the prefix of the state."""
    return DRY_RUN if config.dry_run else LEASE


def state_name(name: str) -> str:
    """The prefix of the names of the ConfigMaps that hold the state."""
    return f"{name}-state"


@dataclass(frozen=True, slots=True)
class Grants:
    """Extra rights that an installation grants in addition to what the kinds need."""

    # Edit pod templates, for autoscalers with the annotation `hypot.dev/resize: Template`.
    template: bool = False
    # Keep an HPA and a VPA as children of an Hvpa, for those with `hypot.dev/recommendations: objects`.
    children: bool = False
    # Custom kinds with a scale subresource: (group, resource).
    targets: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Feature:
    """Something hypot does, if any of the kinds is in one of the modes and the settings meet all conditions."""

    name: str
    kinds: tuple[str, ...] = ()
    modes: tuple[str, ...] = ("recommend", "observe", "act")
    # Settings that must be set or on, that must be unset or off, and that must have a given value.
    given: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    equal: tuple[tuple[str, str], ...] = ()

    def on(self, config: RunConfig, grants: Grants) -> bool:
        if self.kinds and not any(config.mode(kind) in self.modes for kind in self.kinds):
            return False
        if not all(_setting(name, config, grants) for name in self.given):
            return False
        if any(_setting(name, config, grants) for name in self.without):
            return False
        return all(_setting(name, config, grants) == value for name, value in self.equal)


def _setting(name: str, config: RunConfig, grants: Grants) -> Any:
    return getattr(grants if name in Grants.__slots__ else config, name)


_ACT, _REPORTED, _WRITES = ("act",), ("recommend", "act"), ("dry_run",)


def features() -> tuple[Feature, ...]:
    """Everything hypot can be configured to do."""
    every = names_of(controlled())
    counts = tuple([info.name for info in controlled() if info.counts])
    sizes = tuple([info.name for info in controlled() if info.sizes])
    histograms = tuple([info.name for info in controlled() if info in measuring()])
    return (
        Feature("always"),
        Feature(FOR_REAL, without=_WRITES),
        Feature(ON_TRIAL, given=_WRITES),
        Feature("ask by label", equal=(("opt_in", "label"),)),
        *(Feature(f"watch {kind}", (kind,)) for kind in every),
        *(Feature(f"act for {kind}", (kind,), ("act",)) for kind in leases_of_others()),
        *(Feature(f"report on {kind}", (kind,), _REPORTED, without=_WRITES) for kind in every),
        Feature("report", every, _REPORTED, without=_WRITES),
        Feature(ACTS, every, _ACT, without=_WRITES),
        Feature("usage", without=("prometheus",)),
        Feature("count", counts),
        Feature("scale", counts, _ACT, without=_WRITES),
        Feature("measure", sizes),
        Feature("histograms", histograms),
        Feature("store usage", histograms, _REPORTED, without=_WRITES),
        Feature("resize", sizes, _ACT, without=_WRITES),
        Feature("webhook", sizes, _ACT, given=("webhook_port",), without=_WRITES),
        Feature(
            "webhook with its own certificate",
            sizes,
            _ACT,
            given=("webhook_port",),
            without=(*_WRITES, "webhook_certificate"),
        ),
        Feature("metrics auth", given=("metrics_auth",)),
        Feature("metrics auth with its own certificate", given=("metrics_auth",), without=("webhook_certificate",)),
        Feature("template", sizes, _ACT, given=("template",), without=_WRITES),
        Feature("edit HPAs", (Tortoise.KIND,), _ACT, without=_WRITES),
        Feature("children", (Hvpa.KIND,), _ACT, given=("children",), without=_WRITES),
    )


def leases_of_others() -> dict[str, tuple[str, ...]]:
    """By kind, the leases of its other controllers. Recommenders are found by the objects that name them instead."""
    return {info.name: info.leases for info in controlled() if info.leases}


@dataclass(frozen=True, slots=True)
class Right:
    """Verbs on one resource, or on its named objects only, needed while any of the features is on."""

    group: str
    resource: str
    verbs: tuple[str, ...]
    why: str
    scope: Scope
    features: tuple[str, ...]
    names: tuple[str, ...] = ()


_CACHE = ("list", "watch")


def _kind_rights() -> Iterable[Right]:
    for kind in names_of(controlled()):
        group, resource = resource_of(kind)
        yield Right(group, resource, _CACHE, f"decide for every {kind}", "watched", (f"watch {kind}",))
        reported = f"report decisions in the status of a {kind}"
        yield Right(group, f"{resource}/status", ("patch",), reported, "watched", (f"report on {kind}",))


def _workload_rights() -> Iterable[Right]:
    for group, resource in (
        ("apps", "deployments"),
        ("apps", "statefulsets"),
        ("apps", "replicasets"),
        ("", "replicationcontrollers"),
    ):
        yield Right(group, resource, _CACHE, "see targets and the owners of pods", "watched", ("always",))
        scaled = "set replicas, if the target has not changed since it was observed"
        yield Right(group, f"{resource}/scale", ("get", "update"), scaled, "watched", ("scale",))
    for group, resource in (("apps", "daemonsets"), ("batch", "jobs"), ("batch", "cronjobs")):
        yield Right(group, resource, _CACHE, "see targets without a scale", "watched", (f"watch {VPA.KIND}",))
    for resource in ("deployments", "statefulsets"):
        edited = "edit the pod template if hypot.dev/resize is Template"
        yield Right("apps", resource, ("patch",), edited, "watched", ("template",))


def _pod_rights() -> Iterable[Right]:
    yield Right("", "pods", _CACHE, "see pods, their readiness and their sizes", "watched", ("always",))
    yield Right("", "pods/resize", ("patch",), "change the size of a running pod in place", "watched", ("resize",))
    yield Right(
        "", "pods/eviction", ("create",), "restart a pod with its new size, within budgets", "watched", ("resize",)
    )
    yield Right("", "limitranges", _CACHE, "stay within what a namespace allows", "watched", ("measure",))
    yield Right("", "nodes", _CACHE, "know whether a pod's node has room for a larger size", "cluster", ("measure",))
    yield Right("", "namespaces", _CACHE, "see which namespaces opted in", "cluster", ("ask by label",))


def _metric_rights() -> Iterable[Right]:
    yield Right("metrics.k8s.io", "pods", ("list",), "read what pods use", "watched", ("usage",))
    for group, verb in (("custom.metrics.k8s.io", "get"), ("external.metrics.k8s.io", "list")):
        why = "read the metrics that autoscalers name; each metric is its own resource"
        yield Right(group, "*", (verb,), why, "watched", ("count",))


def _reporting_rights() -> Iterable[Right]:
    why = "report what was done and what was refused"
    yield Right("", "events", ("create", "patch"), why, "watched", ("report",))
    group, resource = "autoscaling.k8s.io", "verticalpodautoscalercheckpoints"
    yield Right(group, resource, ("list",), "know usage from before a restart", "watched", ("histograms",))
    kept = "store usage where other recommenders store it"
    yield Right(group, resource, ("create", "update"), kept, "watched", ("store usage",))


def _neighbour_rights() -> Iterable[Right]:
    """Rights to see other autoscalers. A Role for leases would be refused where its namespace does not exist."""
    for kind, names in leases_of_others().items():
        why = f"find another {kind} controller by its lease in the namespaces of leaseNamespaces"
        yield Right("coordination.k8s.io", "leases", ("get",), why, "cluster", (f"act for {kind}",), names)
    twin = "find another hypot by its lease in the namespaces of leaseNamespaces"
    yield Right("coordination.k8s.io", "leases", ("get",), twin, "cluster", (ACTS,), (LEASE,))
    other = "find another autoscaler of the same target"
    yield Right(*resource_of(HPA.KIND), _CACHE, other, "watched", ("always",))
    both_axes = tuple([f"watch {info.name}" for info in controlled() if info.decides_both])
    yield Right(*resource_of(VPA.KIND), _CACHE, other, "watched", both_axes)
    guarded = "block a WatermarkPodAutoscaler while its monitor alerts"
    yield Right("datadoghq.com", "datadogmonitors", _CACHE, guarded, "watched", (f"watch {WPA.KIND}",))


def _child_rights() -> Iterable[Right]:
    for kind in (HPA.KIND, VPA.KIND):
        why = f"keep the child {kind} of an Hvpa"
        yield Right(*resource_of(kind), ("create", "patch", "delete"), why, "watched", ("children",))
    why = "make, edit and delete the HorizontalPodAutoscaler of a Tortoise"
    yield Right(*resource_of(HPA.KIND), ("create", "patch", "delete"), why, "watched", ("edit HPAs",))
    why = "keep the replicas of an Hvpa equal to its target's, because its child HPA reads them"
    yield Right(*resource_of(Hvpa.KIND), ("patch",), why, "watched", ("children",))


def _own_rights(namespace: str) -> Iterable[Right]:
    """Rights in hypot's own namespace. RBAC cannot limit `create` to names, so creating is allowed for any name."""
    own: Scope = "own-namespace"
    leases, always = "coordination.k8s.io", ("always",)
    yield Right(leases, "leases", ("create",), "create the leader election lease", own, always)
    yield Right("", "configmaps", ("list", "create"), "find and create the state", own, always)
    for name, which in ((LEASE, FOR_REAL), (DRY_RUN, ON_TRIAL)):
        shards = tuple(f"{state_name(name)}-{number}" for number in range(STATE_SHARDS))
        yield Right(leases, "leases", ("get", "update"), "lead, and release the lease", own, (which,), (name,))
        yield Right("", "configmaps", ("update",), "keep the state between reconciles", own, (which,), shards)
    keeps = ("webhook with its own certificate", "metrics auth with its own certificate")
    yield Right("", "secrets", ("create",), "create the certificate of the webhook", own, keeps)
    yield Right("", "secrets", ("get", "update"), "share and renew the certificate", own, keeps, (CERTIFICATE,))
    group, resource = "admissionregistration.k8s.io", "mutatingwebhookconfigurations"
    named = (cluster_name(namespace),)
    known = "know whether the API server calls the webhook"
    yield Right(group, resource, ("get",), known, "cluster", ("webhook",), named)
    registered = "write the CA certificate to where the API server reads it"
    yield Right(group, resource, ("patch",), registered, "cluster", keeps[:1], named)
    for group, resource in (
        ("authentication.k8s.io", "tokenreviews"),
        ("authorization.k8s.io", "subjectaccessreviews"),
    ):
        why = "check who reads the metrics"
        yield Right(group, resource, ("create",), why, "cluster", ("metrics auth",))


def all_rights(namespace: str = DEFAULT_NAMESPACE) -> tuple[Right, ...]:
    """Everything that any feature needs, if hypot is in this namespace."""
    return (
        *_kind_rights(),
        *_workload_rights(),
        *_pod_rights(),
        *_metric_rights(),
        *_reporting_rights(),
        *_neighbour_rights(),
        *_child_rights(),
        *_own_rights(namespace),
    )


NO_GRANTS = Grants()
# The verbs for each custom target, with their features; its group and resource come from the grants.
TARGET_VERBS: tuple[tuple[str, str], ...] = (("get", "count"), ("get", "measure"), ("update", "scale"))


def features_of(config: RunConfig, grants: Grants = NO_GRANTS) -> frozenset[str]:
    """The features that are on with this configuration and these grants."""
    return frozenset(feature.name for feature in features() if feature.on(config, grants))


def rights_for(config: RunConfig, grants: Grants = NO_GRANTS) -> tuple[Right, ...]:
    """The rights that the enabled features need, and no more."""
    on = features_of(config, grants)
    custom = tuple(
        Right(group, f"{resource}/scale", (verb,), "scale a custom target", "watched", (feature,))
        for group, resource in grants.targets
        for verb, feature in TARGET_VERBS
    )
    return tuple(right for right in (*all_rights(config.namespace), *custom) if on.intersection(right.features))


def cluster_rules(rights: Iterable[Right], *, scoped: bool = False) -> list[Rule]:
    """The rules of the ClusterRole: everything outside hypot's namespace; if scoped, only cluster-wide rights."""
    outside = ("cluster",) if scoped else ("cluster", "watched")
    return merged(right for right in rights if right.scope in outside)


def watched_rules(rights: Iterable[Right]) -> list[Rule]:
    """The rules of the Role in each watched namespace."""
    return merged(right for right in rights if right.scope == "watched")


def namespace_rules(rights: Iterable[Right]) -> list[Rule]:
    """The rules of the Role in hypot's own namespace."""
    return merged(right for right in rights if right.scope == "own-namespace")


def merged(rights: Iterable[Right]) -> list[Rule]:
    """The fewest equivalent rules, in a stable order."""
    verbs: dict[tuple[str, str, tuple[str, ...]], set[str]] = {}
    for right in rights:
        verbs.setdefault((right.group, right.resource, right.names), set()).update(right.verbs)
    resources: dict[tuple[str, tuple[str, ...], tuple[str, ...]], list[str]] = {}
    for (group, resource, names), said in verbs.items():
        resources.setdefault((group, tuple(sorted(said)), names), []).append(resource)
    return [_rule(*key, sorted(together)) for key, together in sorted(resources.items())]


def _rule(group: str, verbs: tuple[str, ...], names: tuple[str, ...], resources: list[str]) -> Rule:
    rule: Rule = {"apiGroups": [group], "resources": resources}
    if names:
        rule["resourceNames"] = list(names)
    return {**rule, "verbs": list(verbs)}


def said_by(rules: Iterable[Mapping[str, Any]]) -> set[tuple[str, str, str, str]]:
    """(group, resource, verb, name or "") for each single permission in the rules."""
    return {
        (group, resource, verb, name)
        for rule in rules
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
        for name in rule.get("resourceNames") or ("",)
    }
