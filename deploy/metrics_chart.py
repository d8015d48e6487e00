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

from hypot.cluster.config import SERVICE_ACCOUNT
from hypot.kinds.metric_rules.fields import ScrapeCredentials, SecretKey
from hypot.kinds.metric_rules.read import rules_of
from hypot.kinds.metric_rules.schema import rules_schema
from hypot.kinds.text.write import documents
from hypot.kinds.values.names import wire_name
from hypot.metricsapi.config import MetricsConfig, config_schema
from hypot.metricsapi.install import (
    CERTIFICATE_VOLUME,
    CONFIG_KEY,
    FORWARD_VOLUME,
    METRICS,
    PROMETHEUS_VOLUME,
    RULES_KEY,
    UNMOUNTABLE,
    manifests,
)
from hypot.run.install.manifests import OWN_ADDRESS
from hypot.run.install.objects import CONTROLLER
from hypot.serving.component import Manifest

_HEAD_OF_RULES = {"apiVersion": "metrics.hypot.dev/v1alpha1", "kind": "MetricRules"}
_MONITORING, _FOLDER = "release-monitoring", "/release-certificate"
_OTHER = "https://other.example"
_NAMESPACE, _SECRET = "rule-namespace", "rule-secret"
_VALUES, _CONFIG = ".Values.metrics", ".Values.metrics.config"
_FACTS = (
    '{{- $facts := include "hypot.metrics.facts" . | fromJson }}\n'
    '{{- $folders := include "hypot.metrics.folders" . | fromJson }}\n'
)
REPLICAS = 2


def _rules(name: str, **changes: Any) -> dict[str, Any]:
    metrics = [{"counter": "requests_total", "names": ["requests_per_second"]}]
    return {"name": name, "pods": {}, "scrape": {"port": "metrics"}, "metrics": metrics, **changes}


def _printed(*rules: dict[str, Any], **config: Any) -> dict[tuple[str, str], Manifest]:
    """What `hypot manifests --metrics` prints for these rules, by kind and name."""
    stand_ins = {"namespace": HERE, "service": METRICS_SERVICE, "monitoringNamespace": _MONITORING}
    made = MetricsConfig.from_dict({**stand_ins, **config})
    written = rules_of({**_HEAD_OF_RULES, "metadata": {"name": "rules"}, "spec": {"rules": list(rules)}})
    image = computed('include "hypot.image" . | quote')
    return {(each["kind"], each["metadata"]["name"]): each for each in manifests(written, made, image, REPLICAS)}


_NAMED = {"names": [_NAMESPACE]}
_CREDENTIALS = {"scheme": "https", "credentials": {"ca": {"name": _SECRET, "key": "ca.crt"}}}
_ANYWHERE = _printed(_rules("web"))
_BY_NAME = _printed(_rules("web", namespaces=_NAMED))
_BY_LABEL = _printed(_rules("web", namespaces={**_NAMED, "selector": {"matchLabels": {"a": "b"}}}))
_WITH_SECRETS = _printed(_rules("web", namespaces=_NAMED, scrape={"port": "metrics", **_CREDENTIALS}))
_DEPTH = {"gauge": "depth", "names": ["depth"], "external": True}
_EXTERNAL = _printed(_rules("web", metrics=[_DEPTH]))
_LEARNING = _printed(
    _rules("web", namespaces=_NAMED, metrics=[{"counter": "a", "names": ["a"], "learnCost": {"by": ["verb"]}}])
)
_GIVEN = _printed(_rules("web"), certificate=_FOLDER)
_GIVEN_EXTERNAL = _printed(_rules("web", metrics=[_DEPTH]), certificate=_FOLDER)
_TOKEN = _printed(_rules("web"), forwardTo=_OTHER, forwardTokenFile=f"{SERVICE_ACCOUNT}/token")
_ASKING = _printed(_rules("web"), prometheus=_OTHER, prometheusTokenFile=f"{_FOLDER}/token")


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


def _both(one: list[Any], other: list[Any]) -> list[Any]:
    return [each for each in one if each in other]


def metrics_files() -> dict[str, str]:
    """The generated files, by path."""
    return {"templates/_metrics.tpl": helpers(), "templates/metrics.yaml": metrics()}


def kustomize_base() -> str:
    """The metrics server with a rule for all pods that have a port called metrics, and a label to ask for it."""
    # The names that `hypot pair` uses.
    metrics = [{"counter": "http_requests_total", "names": ["http_requests_per_second"]}]
    rule = _rules("opted-in", pods={"matchLabels": {"hypot.dev/metrics": "true"}}, metrics=metrics)
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
{{{{- $learning := dict -}}}}
{{{{- range $rule := {_VALUES}.rules -}}}}
{{{{- $names := dig "namespaces" "names" list $rule -}}}}
{{{{- if not $names }}}}{{{{ $named = false }}}}{{{{ end -}}}}
{{{{- if dig "namespaces" "selector" dict $rule }}}}{{{{ $selects = true }}}}{{{{ end -}}}}
{{{{- $learns := false -}}}}
{{{{- range $rule.metrics -}}}}
{{{{- if .external }}}}{{{{ $external = true }}}}{{{{ end -}}}}
{{{{- if hasKey . "learnCost" }}}}{{{{ $learns = true }}}}{{{{ end -}}}}
{{{{- end -}}}}
{{{{- range $namespace := $names | default (list "") -}}}}
{{{{- $found := get $secrets $namespace | default list -}}}}
{{{{- range $key := list {keys} -}}}}
{{{{- with dig "scrape" "credentials" $key "name" "" $rule }}}}{{{{ $found = append $found . }}}}{{{{ end -}}}}
{{{{- end -}}}}
{{{{- $_ := set $secrets $namespace $found -}}}}
{{{{- if $learns }}}}{{{{ $_ := set $learning $namespace true }}}}{{{{ end -}}}}
{{{{- end -}}}}
{{{{- end -}}}}
{{{{- dict "named" $named "selects" $selects "external" $external "secrets" $secrets "learning" $learning | toJson -}}}}
{{{{- end -}}}}
{{{{- /* The directories where each Secret is mounted; "twice" is one in which two would be. */ -}}}}
{{{{- define "hypot.metrics.folders" -}}}}
{{{{- $found := dict -}}}}
{{{{- $seen := list -}}}}
{{{{- $twice := "" -}}}}
{{{{- range $name, $files := {_files_by_volume()} -}}}}
{{{{- $folders := list -}}}}
{{{{- range compact $files -}}}}
{{{{- if not (hasPrefix "{SERVICE_ACCOUNT}/" .) }}}}{{{{ $folders = append $folders (dir .) }}}}{{{{ end -}}}}
{{{{- end -}}}}
{{{{- $folders = uniq $folders -}}}}
{{{{- range $folder := $folders -}}}}
{{{{- range $other := $seen -}}}}
{{{{- $one := printf "%s/" $folder -}}}}
{{{{- $two := printf "%s/" $other -}}}}
{{{{- if or (hasPrefix $one $two) (hasPrefix $two $one) }}}}{{{{ $twice = $folder }}}}{{{{ end -}}}}
{{{{- end -}}}}
{{{{- end -}}}}
{{{{- $seen = concat $seen $folders -}}}}
{{{{- $_ := set $found $name $folders -}}}}
{{{{- end -}}}}
{{{{- dict "twice" $twice "all" $seen "volumes" $found | toJson -}}}}
{{{{- end -}}}}
"""
    )


def _files_by_volume() -> str:
    """The files of each Secret. Of a certificate the directory is given, so a file in it stands for it."""
    both = "ternary (printf `%s/.` {0}) `` (ne {0} ``)"
    files = {
        CERTIFICATE_VOLUME: ["certificate/"],
        PROMETHEUS_VOLUME: ["prometheusTokenFile", "prometheusCaFile"],
        FORWARD_VOLUME: ["forwardTokenFile", "forwardCaFile", "forwardCertificate/"],
    }
    listed = {
        name: " ".join(
            f"({both.format(f'{_CONFIG}.{each[:-1]}')})" if each.endswith("/") else f"{_CONFIG}.{each}"
            for each in several
        )
        for name, several in files.items()
    }
    return f"dict {' '.join(f'`{name}` (list {each})' for name, each in listed.items())}"


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
    asked = _only(_ANYWHERE, "ClusterRole")["rules"]
    given, external, both, token = (
        _only(which, "ClusterRole")["rules"] for which in (_GIVEN, _EXTERNAL, _GIVEN_EXTERNAL, _TOKEN)
    )
    (events,) = _more(_only(_LEARNING, "Role", _NAMESPACE)["rules"], pods)
    own_ca = f"not {_CONFIG}.certificate"
    everywhere = [
        as_text({**role, "rules": _both(role["rules"], given)}),
        when(own_ca, as_text(_more(role["rules"], given))),
        when("$facts.external", as_text(_more(both, given))),
        when(f"and $facts.external ({own_ca})", as_text(_more(_more(external, asked), both))),
        when(f"{_CONFIG}.forwardTokenFile", as_text(_more(token, asked))),
        when("$facts.selects", as_text(_more(_only(_BY_LABEL, "ClusterRole")["rules"], role["rules"]))),
        when("not $facts.named", as_text(_more(asked, role["rules"]))),
        when('hasKey $facts.learning ""', as_text([events])),
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
        when("hasKey $facts.learning $namespace", as_text([events])),
        _secrets(secrets, "$secrets"),
        "---\n",
        as_text(*by_namespace),
    ]
    condition = "and $namespace (or $facts.named $secrets (hasKey $facts.learning $namespace))"
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
    made, asking = (_only(which, "Deployment") for which in (_ANYWHERE, _ASKING))
    made["spec"]["replicas"] = computed(f"{_VALUES}.replicas")
    template = made["spec"]["template"]
    template["metadata"]["annotations"] |= {
        "hypot.dev/config": computed('include "hypot.metrics.config" . | sha256sum | trunc 16 | quote'),
        "prometheus.io/port": computed(f"{_CONFIG}.metricsPort | quote"),
        "prometheus.io/scheme": computed(f'ternary "https" "http" {_CONFIG}.metricsAuth'),
    }
    pod = template["spec"]
    (container,), (other,) = pod["containers"], asking["spec"]["template"]["spec"]["containers"]
    (mount,) = _more(other["volumeMounts"], container["volumeMounts"])
    (volume,) = _more(asking["spec"]["template"]["spec"]["volumes"], pod["volumes"])
    container["imagePullPolicy"] = computed(".Values.image.pullPolicy")
    container["resources"] = computed(f"toYaml {_VALUES}.resources | nindent 10")
    for port, setting in zip(container["ports"], ("securePort", "probePort", "metricsPort"), strict=True):
        port["containerPort"] = computed(f"{_CONFIG}.{setting}")
    container["volumeMounts"].append("MOUNT")
    pod["volumes"].append("VOLUME")
    # The values have it for both servers, so that people can change parts of it.
    del pod["securityContext"]
    pod["POD"] = None
    text = _for_each(as_text(made), "MOUNT", mount, "range $folder := $folders")
    text = _for_each(text, "VOLUME", volume, "if $folders")
    text = text.replace(_FOLDER, "{{ $folder | quote }}").replace(f"name: {PROMETHEUS_VOLUME}\n", "name: {{ $name }}\n")
    secret = f'{{{{ ternary "{METRICS.name}" (printf "{METRICS.name}-%s" $name) (eq $name "{CERTIFICATE_VOLUME}") }}}}'
    text = text.replace(f"{METRICS.name}-{PROMETHEUS_VOLUME}\n", f"{secret}\n")
    return text.replace("      POD: null\n", "{{- with .Values.pod }}\n{{- toYaml . | nindent 6 }}\n{{- end }}\n")


def _for_each(text: str, marker: str, item: Manifest, loop: str) -> str:
    """The item for each Secret that is mounted."""
    text = item_when(text, marker, item, "CONDITION")
    before, found = text.split("{{- if CONDITION }}\n")
    listed, after = found.split("{{- end }}\n", 1)
    head = f"{{{{- range $name, $folders := $folders.volumes }}}}\n{{{{- {loop} }}}}\n"
    return f"{before}{head}{listed}{{{{- end }}}}\n{{{{- end }}}}\n{after}"


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
    yield from _address_checks(check)
    folders = 'include "hypot.metrics.folders" . | fromJson'
    unmountable = check(
        f"regexMatch `{UNMOUNTABLE}` $folder",
        "metrics.config: %v: this directory cannot be mounted; write another one, such as /etc/prometheus",
        "$folder",
    )
    yield f"{{{{- $folders := {folders} -}}}}\n{{{{- range $folder := $folders.all -}}}}\n"
    yield f"{unmountable}{{{{- end -}}}}\n"
    message = "metrics.config: %v: two Secrets would be mounted there; write another directory"
    yield check("$folders.twice", message, "$folders.twice")


def _address_checks(check: Callable[[str, str, str], str]) -> Iterator[str]:
    """What belongs to an address, and what is not sent without TLS."""
    prometheus, other = f"{_CONFIG}.prometheus", f"{_CONFIG}.forwardTo"
    plain = f"hasPrefix `http://` {prometheus}"
    for setting, why in (("prometheusTokenFile", "a token is not sent"), ("prometheusCaFile", "nothing is verified")):
        name, file = f"metrics.config.{setting}", f"{_CONFIG}.{setting}"
        yield check(f"and {file} (not {prometheus})", f"{name}: %v belongs to prometheus, which is not set", file)
        todo = f"{name}: {why} without TLS; write an https:// address instead of %v"
        yield check(f"and {file} ({plain})", todo, prometheus)
    yield check(
        f"and ({plain}) (contains `@` {prometheus})",
        "metrics.config.prometheus: a password is not sent without TLS; write an https:// address%v",
        '""',
    )
    credentials = (f"{_CONFIG}.forwardCertificate", f"{_CONFIG}.forwardTokenFile")
    for setting in ("forwardCaFile", "forwardCertificate", "forwardTokenFile"):
        file = f"{_CONFIG}.{setting}"
        yield check(
            f"and {file} (not {other})", f"metrics.config.{setting}: %v belongs to forwardTo, which is not set", file
        )
    yield check(
        f"and {other} (not (or {' '.join(credentials)}))",
        "metrics.config.forwardTo: %v must know who asks; write a forwardCertificate or a forwardTokenFile",
        other,
    )
    yield check(
        f"and {other} (not (regexMatch `^https://[^/@?#]+/?$` {other}))",
        "metrics.config.forwardTo: %v is not an address; write https:// and a host, and a port if it is not 443",
        other,
    )
    own = r"^https://%s(\.%s(\.svc(\..*)?)?)?(:[0-9]+)?/?$"
    yield check(
        f"regexMatch (printf `{own}` {_CONFIG}.service .Release.Namespace) {other}",
        "metrics.config.forwardTo: %v is this metrics server itself; name another one",
        other,
    )
    window = "dig `prometheus` `window` 0.0 $rule"
    asks = check(
        f"and (hasKey $rule `prometheus`) (not {prometheus})",
        "metrics.rules: %v asks a Prometheus; write its address as metrics.config.prometheus",
        "$rule.name",
    )
    gap = check(
        f"and ({window}) (or (le (float64 ({window})) (float64 {_CONFIG}.minSampleGap)) "
        f"(gt (float64 ({window})) (float64 {_CONFIG}.maxSampleGap)))",
        "metrics.rules: the window of %v must be above the minSampleGap and at most the maxSampleGap",
        "$rule.name",
    )
    each = f"{asks}{gap}".replace(".Values", "$.Values")
    yield f"{{{{- range $rule := {_VALUES}.rules -}}}}\n{each}{{{{- end -}}}}\n"
