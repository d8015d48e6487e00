"""The metrics server in the Helm chart, from the objects that `hypot manifests --metrics` prints.

Its roles depend on the rules. Which right a rule needs is read off the printed objects: those for rules that differ in
one thing differ in the rights for it.
"""  # noqa: INP001

from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import fields
from importlib.metadata import version
from itertools import combinations
from typing import Any

from templating import (
    HEAD,
    HERE,
    METRICS_SERVICE,
    NOT_EDITED,
    as_text,
    computed,
    item_when,
    when,
)

from hypot.kinds.metric_rules.fields import ScrapeCredentials, SecretKey
from hypot.kinds.metric_rules.read import rules_of
from hypot.kinds.metric_rules.schema import rules_schema
from hypot.kinds.names import wire_name
from hypot.kinds.text.write import documents
from hypot.metricsapi.config import MetricsConfig, config_schema
from hypot.metricsapi.install import CONFIG_KEY, RULES_KEY, manifests
from hypot.run.install.manifests import OWN_ADDRESS
from hypot.run.install.objects import CONTROLLER
from hypot.serving.component import Manifest

_HEAD_OF_RULES = {"apiVersion": "metrics.hypot.dev/v1alpha1", "kind": "MetricRules"}
_MONITORING, _FOLDER = "release-monitoring", "/release-certificate"
_NAMESPACE, _SECRET = "rule-namespace", "rule-secret"
_VALUES, _CONFIG = ".Values.metrics", ".Values.metrics.config"
_FACTS = '{{- $facts := include "hypot.metrics.facts" . | fromJson }}\n'
REPLICAS = 2


def _rules(name: str, **changes: Any) -> dict[str, Any]:
    metrics = [{"counter": "requests_total", "names": ["requests_per_second"]}]
    return {"name": name, "pods": {}, "scrape": {"port": "metrics"}, "metrics": metrics, **changes}


def _printed(*rules: dict[str, Any], **config: Any) -> dict[tuple[str, str], Manifest]:
    """What `hypot manifests --metrics` prints for these rules, by kind and name."""
    made = MetricsConfig(namespace=HERE, service=METRICS_SERVICE, monitoring_namespace=_MONITORING, **config)
    written = rules_of({**_HEAD_OF_RULES, "metadata": {"name": "rules"}, "spec": {"rules": list(rules)}})
    image = computed('include "hypot.image" . | quote')
    return {(each["kind"], each["metadata"]["name"]): each for each in manifests(written, made, image, REPLICAS)}


_NAMED = {"names": [_NAMESPACE]}
_CREDENTIALS = {"scheme": "https", "credentials": {"ca": {"name": _SECRET, "key": "ca.crt"}}}
_ANYWHERE = _printed(_rules("web"))
_BY_NAME = _printed(_rules("web", namespaces=_NAMED))
_BY_LABEL = _printed(_rules("web", namespaces={**_NAMED, "selector": {"matchLabels": {"a": "b"}}}))
_WITH_SECRETS = _printed(_rules("web", namespaces=_NAMED, scrape={"port": "metrics", **_CREDENTIALS}))
_EXTERNAL = _printed(_rules("web", metrics=[{"gauge": "depth", "names": ["depth"], "external": True}]))
_GIVEN = _printed(_rules("web"), certificate=_FOLDER)


def _only(found: dict[tuple[str, str], Manifest], kind: str, namespace: str | None = None) -> Manifest:
    (made,) = (
        each
        for (which, _), each in found.items()
        if which == kind and namespace in {None, each["metadata"].get("namespace")}
    )
    return deepcopy(made)


def _more(one: list[Any], other: list[Any]) -> list[Any]:
    """What the first has and the other has not."""
    return [each for each in one if each not in other]


def metrics_files() -> dict[str, str]:
    """The generated files, by path."""
    return {"templates/_metrics.tpl": helpers(), "templates/metrics.yaml": metrics()}


def kustomize_base() -> str:
    """The metrics server with a rule for all pods that have a port called metrics, and a label to ask for it."""
    rule = _rules("opted-in", pods={"matchLabels": {"hypot.dev/metrics": "true"}})
    written = rules_of({**_HEAD_OF_RULES, "metadata": {"name": "rules"}, "spec": {"rules": [rule]}})
    made = manifests(written, MetricsConfig(), f"hypot:{version('hypot')}", REPLICAS)
    return NOT_EDITED + documents(*made)


# What the roles follow.


def helpers() -> str:
    """The files of the server, and what its rules need: rights in which namespaces, Secrets, external metrics."""
    keys = " ".join(f'"{each.key}"' for _, each in ScrapeCredentials.TABLE if each.type is SecretKey)
    head = " ".join(f'"{key}" "{text}"' for key, text in _HEAD_OF_RULES.items())
    return (
        HEAD
        + f"""\
{{{{- define "hypot.metrics.config" -}}}}
{{{{- include "hypot.check" . -}}}}
{{{{ set (deepCopy {_CONFIG}) "namespace" .Release.Namespace | toYaml }}}}
{{{{- end -}}}}
{{{{- define "hypot.metrics.rules" -}}}}
{{{{ dict {head} "metadata" (dict "name" .Release.Name) "spec" (dict "rules" {_VALUES}.rules) | toYaml }}}}
{{{{- end -}}}}
{{{{- /* The Secrets by namespace; an empty name stands for all namespaces. */ -}}}}
{{{{- define "hypot.metrics.facts" -}}}}
{{{{- $named := true -}}}}
{{{{- $selects := false -}}}}
{{{{- $external := false -}}}}
{{{{- $secrets := dict -}}}}
{{{{- range $rule := {_VALUES}.rules -}}}}
{{{{- $names := dig "namespaces" "names" list $rule -}}}}
{{{{- if not $names }}}}{{{{ $named = false }}}}{{{{ end -}}}}
{{{{- if dig "namespaces" "selector" dict $rule }}}}{{{{ $selects = true }}}}{{{{ end -}}}}
{{{{- range $rule.metrics }}}}{{{{ if .external }}}}{{{{ $external = true }}}}{{{{ end }}}}{{{{ end -}}}}
{{{{- range $namespace := $names | default (list "") -}}}}
{{{{- $found := get $secrets $namespace | default list -}}}}
{{{{- range $key := list {keys} -}}}}
{{{{- with dig "scrape" "credentials" $key "name" "" $rule }}}}{{{{ $found = append $found . }}}}{{{{ end -}}}}
{{{{- end -}}}}
{{{{- $_ := set $secrets $namespace $found -}}}}
{{{{- end -}}}}
{{{{- end -}}}}
{{{{- dict "named" $named "selects" $selects "external" $external "secrets" $secrets | toJson -}}}}
{{{{- end -}}}}
"""
    )


def metrics() -> str:
    """All objects, in the order in which they are printed."""
    text = "---\n".join(
        (
            as_text(_only(_ANYWHERE, "ServiceAccount")),
            _roles(),
            _config_map(),
            as_text(_only(_ANYWHERE, "Service")),
            _network_policy(),
            _deployment(),
            _api_services(),
        )
    )
    return HEAD + when(f"{_VALUES}.enabled", _FACTS + text)


def _roles() -> str:
    cluster = [each for (kind, _), each in _BY_NAME.items() if kind.startswith("ClusterRole")]
    own = _only(_BY_NAME, "Role", HERE)
    scraped = _only(_WITH_SECRETS, "Role", _NAMESPACE)
    pods = _only(_BY_NAME, "Role", _NAMESPACE)["rules"]
    (secrets,) = _more(scraped["rules"], pods)
    (role, binding) = cluster
    everywhere = [
        as_text(role),
        when("$facts.selects", as_text(_more(_only(_BY_LABEL, "ClusterRole")["rules"], role["rules"]))),
        when("not $facts.named", as_text(_more(_only(_ANYWHERE, "ClusterRole")["rules"], role["rules"]))),
        _secrets(secrets, 'index $facts.secrets ""'),
    ]
    given = _only(_GIVEN, "Role", HERE)["rules"]
    in_own = [
        as_text({**own, "rules": given}),
        when(f"not {_CONFIG}.certificate", as_text(_more(own["rules"], given))),
    ]
    bindings = [each for (kind, _), each in _WITH_SECRETS.items() if kind == "RoleBinding"]
    by_namespace = [each for each in bindings if each["metadata"]["namespace"] == _NAMESPACE]
    others = [each for each in bindings if each not in by_namespace]
    in_each = [
        as_text({**scraped, "rules": "RULES"}).replace("rules: RULES\n", "rules:\n"),
        when("$facts.named", as_text(pods)),
        _secrets(secrets, "$secrets"),
        "---\n",
        as_text(*by_namespace),
    ]
    condition = "and $namespace (or $facts.named $secrets)"
    each = when(condition, "---\n" + "".join(in_each).replace(_NAMESPACE, "{{ $namespace | quote }}"))
    parts = ["".join(everywhere), as_text(binding), "".join(in_own), as_text(*others)]
    return "---\n".join(parts) + f"{{{{- range $namespace, $secrets := $facts.secrets }}}}\n{each}{{{{- end }}}}\n"


def _secrets(rule: Manifest, names: str) -> str:
    made = {**rule, "resourceNames": computed(". | uniq | sortAlpha | toJson")}
    return f"{{{{- with {names} }}}}\n{as_text([made])}{{{{- end }}}}\n"


def _config_map() -> str:
    made = _only(_ANYWHERE, "ConfigMap")
    made["data"] = {
        key: computed(f'include "hypot.metrics.{which}" . | nindent 4')
        for key, which in ((RULES_KEY, "rules"), (CONFIG_KEY, "config"))
    }
    return as_text(made).replace(": {{ include", ": |\n    {{- include")


def _network_policy() -> str:
    text = as_text(_only(_ANYWHERE, "NetworkPolicy"))
    return text.replace(_MONITORING, f"{{{{ {_CONFIG}.monitoringNamespace | quote }}}}")


def _deployment() -> str:
    made, given = (_only(which, "Deployment") for which in (_ANYWHERE, _GIVEN))
    made["spec"]["replicas"] = computed(f"{_VALUES}.replicas")
    template = made["spec"]["template"]
    template["metadata"]["annotations"] |= {
        "hypot.dev/config": computed('include "hypot.metrics.config" . | sha256sum | trunc 16 | quote'),
        "prometheus.io/port": computed(f"{_CONFIG}.metricsPort | quote"),
        "prometheus.io/scheme": computed(f'ternary "https" "http" {_CONFIG}.metricsAuth'),
    }
    pod = template["spec"]
    (container,), (other,) = pod["containers"], given["spec"]["template"]["spec"]["containers"]
    (mount,) = _more(other["volumeMounts"], container["volumeMounts"])
    (volume,) = _more(given["spec"]["template"]["spec"]["volumes"], pod["volumes"])
    container["imagePullPolicy"] = computed(".Values.image.pullPolicy")
    container["resources"] = computed(f"toYaml {_VALUES}.resources | nindent 10")
    for port, setting in zip(container["ports"], ("securePort", "probePort", "metricsPort"), strict=True):
        port["containerPort"] = computed(f"{_CONFIG}.{setting}")
    container["volumeMounts"].append("MOUNT")
    pod["volumes"].append("VOLUME")
    # The values have it for both servers, so that people can change parts of it.
    del pod["securityContext"]
    pod["POD"] = None
    text = item_when(as_text(made), "MOUNT", mount, f"{_CONFIG}.certificate")
    text = item_when(text, "VOLUME", volume, f"{_CONFIG}.certificate")
    text = text.replace(_FOLDER, f"{{{{ {_CONFIG}.certificate | quote }}}}")
    return text.replace("      POD: null\n", "{{- with .Values.pod }}\n{{- toYaml . | nindent 6 }}\n{{- end }}\n")


def _api_services() -> str:
    """Helm installs them last and deletes them first, as it should be."""
    custom, more = (
        [each for (kind, _), each in which.items() if kind == "APIService"] for which in (_ANYWHERE, _EXTERNAL)
    )
    return as_text(*custom) + when("$facts.external", "---\n" + as_text(*_more(more, custom)))


# The values.

Valued = Callable[[str, Any, str], list[str]]
_WHY = {
    "enabled": "Install the metrics server. Only one server of a cluster can serve custom metrics.",
    "replicas": "One leads and answers; the others are not ready until they take over.",
    "resources": "Enough for 6,000 pods with bodies of 1 MB.",
    "rules": "Which pods are scraped and what is served: spec.rules of MetricRules. The roles follow them.",
    "config": "The configuration of hypot metrics.",
}
_METRICS = "The metrics server (docs/metrics-api.md); image and pod are those of the controller."


def _settable() -> dict[str, Any]:
    """All settings except the namespace: that is the namespace of the release."""
    usual = MetricsConfig()
    found = {wire_name(f.name): getattr(usual, f.name) for f in fields(usual) if f.name != "namespace"}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in found.items()}


def metrics_values(valued: Valued) -> list[str]:
    (container,) = _only(_BY_NAME, "Deployment")["spec"]["template"]["spec"]["containers"]
    given = {"enabled": False, "replicas": REPLICAS, "resources": container["resources"], "rules": []}
    lines = [line for name, value in given.items() for line in valued(name, value, _WHY[name])]
    lines += [f"# {_WHY['config']}\n", "config:\n"]
    why = {wire_name(f.name): f.metadata["why"] for f in fields(MetricsConfig)}
    for name, value in _settable().items():
        lines += [f"  {line}\n" for line in "".join(valued(name, value, why[name])).splitlines()]
    return [f"# {_METRICS}\n", "metrics:\n", *(f"  {line}\n" for line in "".join(lines).splitlines())]


def metrics_schema(closed: Callable[..., dict[str, Any]]) -> dict[str, Any]:
    known = config_schema()["properties"]
    settings = {name: known[name] for name in _settable()}
    settings |= {name: {**settings[name], "minimum": 1} for name in settings if name.endswith("Port")}
    rules = rules_schema()["properties"]["spec"]["properties"]["rules"]
    properties = {
        "enabled": {"type": "boolean"},
        "replicas": {"type": "integer", "minimum": 1},
        "resources": {"type": "object"},
        "rules": rules,
        "config": closed(settings, _WHY["config"]),
    }
    described = {name: {**schema, "description": _WHY[name]} for name, schema in properties.items()}
    return closed(described, _METRICS)


def metrics_checks(check: Callable[[str, str, str], str]) -> Iterator[str]:
    """What the schema cannot express; the server itself checks the rest of the rules when it starts."""
    yield check(
        f"and {_VALUES}.enabled (not {_VALUES}.rules)",
        "metrics.rules: there is no rule%v; write at least one, or set metrics.enabled to false",
        '""',
    )
    yield check(
        f"regexMatch `{OWN_ADDRESS}` {_CONFIG}.listen",
        "metrics.config.listen: %v cannot be reached from outside the pod, not even by probes; write 0.0.0.0",
        f"{_CONFIG}.listen",
    )
    yield check(
        f'has {_CONFIG}.service (list "{CONTROLLER.name}" .Values.config.webhookService)',
        "metrics.config.service: %v is already a Service of the controller; write another name",
        f"{_CONFIG}.service",
    )
    for first, second in combinations(("securePort", "probePort", "metricsPort"), 2):
        one, other = (f"{_CONFIG}.{name}" for name in (first, second))
        message = f"metrics.config.{second}: %v is the {first} too; write another port"
        yield check(f"eq (int {one}) (int {other})", message, other)
    period = f"{_CONFIG}.scrapePeriod"
    yield check(
        f"ge (float64 {_CONFIG}.minSampleGap) (float64 {period})",
        "metrics.config.minSampleGap: %v is not below the scrapePeriod: no rate is served",
        f"{_CONFIG}.minSampleGap",
    )
    for name in ("maxSampleGap", "maxSampleAge"):
        yield check(
            f"le (float64 {_CONFIG}.{name}) (float64 {period})",
            f"metrics.config.{name}: %v is not above the scrapePeriod: values are missing between scrapes",
            f"{_CONFIG}.{name}",
        )
