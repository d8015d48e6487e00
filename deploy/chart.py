"""The Helm chart, made from the same objects and the same table of rights as `hypot manifests`."""  # noqa: INP001

import json
import re
from dataclasses import Field, fields, replace
from importlib.metadata import version
from itertools import combinations
from typing import Any

from metrics_chart import metrics_checks, metrics_files, metrics_schema, metrics_values
from templating import CLUSTER_NAME, HEAD, HERE, NOT_EDITED, SERVICE, as_text, computed, item_when, when

from hypot.kinds.text.write import to_yaml
from hypot.kinds.values.names import wire_name
from hypot.run.config import RunConfig, config_schema
from hypot.run.install.manifests import (
    DIGEST,
    GROUP,
    IMAGE,
    INJECT_CA,
    OWN_ADDRESS,
    REPLICAS,
    SERVICE_NAME,
    webhook_configuration,
)
from hypot.run.install.objects import (
    CONTROLLER,
    NAME,
    certificate_mount,
    certificate_volume,
    cluster_role,
    config_data,
    config_map,
    deployment,
    network_policy,
)
from hypot.run.rights import CERTIFICATE, TARGET_VERBS, Feature, Grants, Right, Scope, all_rights, merged
from hypot.run.rights import features as known_features
from hypot.serving.component import Manifest
from hypot.serving.config import LABEL_SCHEMA

_CONFIG = RunConfig(namespace=HERE, webhook_service=SERVICE)
_WEBHOOK = 'include "hypot.may.webhook" .'
_FOLDER, _CA = ".Values.config.webhookCertificate", ".Values.config.webhookCa"


def chart_files() -> dict[str, str]:
    """The generated files of the chart, by path."""
    return {
        "Chart.yaml": chart(),
        "values.yaml": values(),
        "values.schema.json": json.dumps(values_schema(), indent=2) + "\n",
        "templates/_features.tpl": features(),
        "templates/_rules.tpl": rules(),
        "templates/_checks.tpl": checks(),
        "templates/rbac.yaml": rbac(),
        "templates/config.yaml": configuration(),
        "templates/workload.yaml": workload(),
        "templates/webhook.yaml": webhook(),
        **metrics_files(),
    }


def chart() -> str:
    return NOT_EDITED + to_yaml(
        {
            "apiVersion": "v2",
            "name": NAME,
            "description": "Explained autoscaling for Kubernetes workloads, on both axes",
            "type": "application",
            "version": version("hypot"),
            "appVersion": version("hypot"),
            "kubeVersion": ">=1.33.0-0",
        }
    )


# Features, and the rights that they need.


def features() -> str:
    """Each feature as a template that gives true, or an empty text."""
    return HEAD + "".join(
        f'{{{{- define "{_named(feature.name)}" -}}}}\n{_condition(feature)}\n{{{{- end -}}}}\n'
        for feature in known_features()
    )


def _named(feature: str) -> str:
    return f"hypot.may.{feature.replace(' ', '-')}"


def _condition(feature: Feature) -> str:
    asked = [_value(name) for name in feature.given] + [f"(not {_value(name)})" for name in feature.without]
    asked += [f'(eq {_value(name)} "{value}")' for name, value in feature.equal]
    if feature.kinds:
        modes = " ".join(f'"{mode}"' for mode in feature.modes)
        each = (f'(has (index .Values.config.kinds "{kind}") (list {modes}))' for kind in feature.kinds)
        asked.insert(0, _joined("or", list(each)))
    return f"{{{{- if {_joined('and', asked)} }}}}true{{{{ end }}}}" if asked else "true"


def _joined(word: str, asked: list[str]) -> str:
    return f"({word} {' '.join(asked)})" if len(asked) > 1 else asked[0]


def _value(name: str) -> str:
    return f".Values.grants.{name}" if name in Grants.__slots__ else f".Values.config.{wire_name(name)}"


def rules() -> str:
    """The rules of the roles, one template for each role."""
    scopes: tuple[Scope, ...] = ("cluster", "watched", "own-namespace")
    return HEAD + "".join(_rules_of(scope) for scope in scopes) + _EVERYWHERE


_EVERYWHERE = """\
{{- define "hypot.rules.everywhere" -}}
{{ include "hypot.rules.cluster" . }}
{{- if not .Values.config.watchNamespaces }}
{{ include "hypot.rules.watched" . }}
{{- end }}
{{- end -}}
"""


def _rules_of(scope: Scope) -> str:
    together: dict[tuple[str, ...], list[Right]] = {}
    for right in all_rights(HERE):
        if right.scope == scope:
            together.setdefault(right.features, []).append(right)
    text = "".join(when(_any(needed), as_text(merged(rights))) for needed, rights in together.items())
    if scope == "watched":
        text += _target_rules()
    return f'{{{{- define "hypot.rules.{scope}" -}}}}\n{text}{{{{- end -}}}}\n'


def _any(needed: tuple[str, ...]) -> str:
    return _joined("or", [f'(include "{_named(feature)}" $)' for feature in needed])


def _target_rules() -> str:
    """One rule for each verb; the values give the custom kinds."""
    rule = {"apiGroups": [computed(".group | quote")], "resources": [computed('printf "%s/scale" .resource | quote')]}
    verbs = {verb: tuple(feature for each, feature in TARGET_VERBS if each == verb) for verb, _ in TARGET_VERBS}
    each = (when(_any(needed), as_text([{**rule, "verbs": [verb]}])) for verb, needed in verbs.items())
    return f"{{{{- range .Values.grants.targets }}}}\n{''.join(each)}{{{{- end }}}}\n"


def rbac() -> str:
    """The roles: everything outside hypot's namespace in one ClusterRole, or a Role in each watched namespace."""
    own, everywhere = _rules("own-namespace"), cluster_role(_rules("everywhere"), HERE)
    watched = CONTROLLER.role_in(f"{CLUSTER_NAME}-watched", _rules("watched"), computed(". | quote"), HERE)
    each = f"{{{{- range uniq .Values.config.watchNamespaces }}}}\n---\n{as_text(*watched)}{{{{- end }}}}\n"
    return (
        HEAD + as_text(CONTROLLER.service_account(HERE), *everywhere, *CONTROLLER.role_in(NAME, own, HERE, HERE)) + each
    )


def _rules(which: str) -> Any:
    return computed(f'include "hypot.rules.{which}" $ | nindent 2')


# The workload, its configuration and its Services.


def configuration() -> str:
    """The file of `hypot run --config`, from the values."""
    made = config_map(_CONFIG)
    made["data"] = {key: computed('include "hypot.config" . | nindent 4') for key in made["data"]}
    return HEAD + as_text(made).replace(": {{ include", ": |\n    {{- include")


def workload() -> str:
    """The Deployment, its Service, its network policy and its disruption budget."""
    return (
        HEAD
        + as_text(CONTROLLER.service(NAME, HERE, 0, "metrics")).replace(
            "port: 0", "port: {{ .Values.config.metricsPort }}"
        )
        + "---\n"
        + _network_policy()
        + "---\n"
        + _deployment()
        + when("gt (int .Values.replicas) 1", "---\n" + as_text(CONTROLLER.budget(HERE)))
    )


def _network_policy() -> str:
    made = network_policy(_CONFIG)
    probes, metrics, webhook = made["spec"]["ingress"]
    (source,) = metrics["from"]
    source["namespaceSelector"]["matchLabels"] = dict.fromkeys(
        source["namespaceSelector"]["matchLabels"], computed(".Values.config.monitoringNamespace | quote")
    )
    made["spec"]["ingress"] = [probes, metrics, "WEBHOOK"]
    return item_when(as_text(made), "WEBHOOK", webhook, _WEBHOOK)


def _deployment() -> str:
    made = deployment(_CONFIG, computed('include "hypot.image" . | quote'), 0)
    made["spec"]["replicas"] = computed(".Values.replicas")
    template = made["spec"]["template"]
    annotations = template["metadata"]["annotations"]
    annotations["hypot.dev/config"] = computed('include "hypot.config" . | sha256sum | trunc 16 | quote')
    annotations["prometheus.io/port"] = computed(".Values.config.metricsPort | quote")
    annotations["prometheus.io/scheme"] = computed('ternary "https" "http" .Values.config.metricsAuth')
    (container,) = template["spec"]["containers"]
    container["imagePullPolicy"] = computed(".Values.image.pullPolicy")
    container["resources"] = computed("toYaml .Values.resources | nindent 10")
    probes, metrics, webhook = container["ports"]
    probes["containerPort"] = computed(".Values.config.probePort")
    metrics["containerPort"] = computed(".Values.config.metricsPort")
    container["ports"] = [probes, metrics, "WEBHOOK-PORT"]
    container["volumeMounts"].append("CERTIFICATE-MOUNT")
    template["spec"]["volumes"].append("CERTIFICATE-VOLUME")
    webhook["containerPort"] = computed(".Values.config.webhookPort")
    # The values have it, so that people can change parts of it.
    del template["spec"]["securityContext"]
    template["spec"]["POD"] = None
    text = as_text(made)
    more = "{{- with .Values.pod }}\n{{- toYaml . | nindent 6 }}\n{{- end }}\n"
    text = item_when(text, "WEBHOOK-PORT", webhook, _WEBHOOK)
    mount = certificate_mount(computed(f"{_FOLDER} | quote"))
    text = item_when(text, "CERTIFICATE-MOUNT", mount, _FOLDER)
    text = item_when(text, "CERTIFICATE-VOLUME", certificate_volume(), _FOLDER)
    return text.replace("      POD: null\n", more)


def webhook() -> str:
    """The webhook configuration; its namespaces depend on the watched namespaces and on the opt-in."""
    made = webhook_configuration(replace(_CONFIG, watch_namespaces=("watched",)))
    (hook,) = made["webhooks"]
    always, watched, labelled = hook["namespaceSelector"]["matchExpressions"]
    watched["values"] = computed(".Values.config.watchNamespaces | uniq | sortAlpha | toJson")
    hook["namespaceSelector"]["matchExpressions"] = [always, "WATCHED", "LABELLED"]
    hook["clientConfig"]["caBundle"] = "CA-BUNDLE"
    injected = {INJECT_CA: f"{HERE}/{CERTIFICATE}"}
    made["metadata"]["annotations"] = injected
    text = item_when(as_text(made), "WATCHED", watched, ".Values.config.watchNamespaces")
    text = _optional(text, "    caBundle: CA-BUNDLE\n", f"    caBundle: {{{{ {_CA} | b64enc }}}}\n", _CA)
    shown = f"  annotations:\n    {INJECT_CA}: {{{{ $.Release.Namespace }}}}/{CERTIFICATE}\n"
    (written,) = re.findall(r"  annotations:\n    .*\n", text)
    text = _optional(text, written, shown, f"and {_FOLDER} (not {_CA})")
    text = item_when(text, "LABELLED", labelled, 'eq .Values.config.optIn "label"')
    return HEAD + when(_WEBHOOK, f"{as_text(CONTROLLER.service(SERVICE, HERE, 443, 'webhook'))}---\n{text}")


def _optional(text: str, lines: str, shown: str, condition: str) -> str:
    """Replace lines with others that are present only on this condition."""
    before, found, after = text.partition(lines)
    if not found:
        raise ValueError(f"{lines!r} is not in the template")
    return f"{before}{when(condition, shown)}{after}"


# The values, and the checks on them.


def checks() -> str:
    """Checks that a schema cannot express, or not with a readable message; all errors are reported at once."""
    fields_of_ours = [name for name in _pod() if name != "securityContext"]
    ours, listed = " ".join(f'"{name}"' for name in fields_of_ours), ", ".join(fields_of_ours)
    listen, service = (f".Values.config.{name}" for name in ("listen", "webhookService"))
    repository, digest = (f".Values.image.{name}" for name in ("repository", "digest"))
    asked = (
        _check(
            f'contains "@" {repository}',
            "image.repository: %v has a digest; write that to image.digest",
            repository,
        ),
        _check(
            f"and {digest} (not (regexMatch `{DIGEST}` {digest}))",
            "image.digest: %v is not a digest; write sha256: and its 64 hexadecimal digits",
            digest,
        ),
        _check(
            f"regexMatch `{OWN_ADDRESS}` {listen}",
            "config.listen: %v cannot be reached from outside the pod, not even by probes; write 0.0.0.0",
            listen,
        ),
        _check(
            f'eq {service} "{NAME}"',
            "config.webhookService: %v is already the Service of /metrics; write another name",
            service,
        ),
        *(_shared_port(first, second) for first, second in combinations(_PORTS, 2)),
        _check(
            f"and {_FOLDER} (not (regexMatch `^/` {_FOLDER}))",
            "config.webhookCertificate: %v is not a directory for a mount; write an absolute path",
            _FOLDER,
        ),
        _check(
            f"and {_CA} (not {_FOLDER})",
            "config.webhookCa: it belongs to a webhookCertificate, which is not set%v",
            '""',
        ),
        _check(
            "and .Values.config.prometheusTokenFile (hasPrefix `http://` .Values.config.prometheus)",
            "config.prometheusTokenFile: a token is not sent without TLS; write an https:// address instead of %v",
            ".Values.config.prometheus",
        ),
        *metrics_checks(_check),
        _check(
            f"without (keys .Values.pod) {ours} | len | ne (len .Values.pod)",
            "pod: the chart sets %v itself; remove these fields",
            f'"{listed}"',
        ),
    )
    body = "{{- $wrong := list -}}\n" + "".join(asked) + '{{- with $wrong }}{{ fail (join "\\n" .) }}{{ end -}}\n'
    return f'{HEAD}{{{{- define "hypot.check" -}}}}\n{body}{{{{- end -}}}}\n'


_PORTS = ("probePort", "metricsPort", "webhookPort")


def _shared_port(first: str, second: str) -> str:
    one, other = (f".Values.config.{name}" for name in (first, second))
    message = f"config.{second}: %v is the {first} too; two servers cannot listen on one port, write another port"
    return _check(f"eq (int {one}) (int {other})", message, other)


def _check(condition: str, words: str, value: str) -> str:
    said = f'{{{{- $wrong = append $wrong (printf "{words}" {value}) -}}}}\n'
    return f"{{{{- if {condition} -}}}}\n{said}{{{{- end -}}}}\n"


def values() -> str:
    """Every value with a comment; `config` has the same names as the configuration file."""
    pod = _pod()
    (container,) = pod["containers"]
    given = config_data(RunConfig())
    lines = [NOT_EDITED]
    image = {"repository": NAME, "tag": version("hypot"), "digest": "", "pullPolicy": "IfNotPresent"}
    lines += _valued("image", image, _WHY["image"])
    lines += _valued("replicas", REPLICAS, _WHY["replicas"])
    lines += _valued("resources", container["resources"], _WHY["resources"])
    lines += _valued("pod", {"securityContext": pod["securityContext"]}, _WHY["pod"])
    lines += _valued("grants", {"template": False, "children": False, "targets": []}, _WHY["grants"])
    lines += _valued("prometheus", {"podMonitor": False, "rules": False}, _WHY["prometheus"])
    lines += [f"# {_WHY['config']}\n", "config:\n"]
    for f in _settable():
        name = wire_name(f.name)
        text = "".join(_valued(name, given[name], f.metadata["why"]))
        lines += [f"  {line}\n" for line in text.splitlines()]
    lines += metrics_values(_valued)
    return "".join(lines)


def _pod() -> Manifest:
    made: Manifest = deployment(_CONFIG, "", 1)["spec"]["template"]["spec"]
    return made


def _settable() -> list[Field[Any]]:
    """All fields of the configuration except the namespace: that is the namespace of the release."""
    return [f for f in fields(RunConfig) if f.name != "namespace"]


_WHY = {
    "image": "The image of the pods. A digest (sha256:...) replaces the tag: it always names the same image.",
    "replicas": "Two by default, so that one always answers the webhook and can take over.",
    "resources": "Enough for 2,000 autoscalers and 10,000 pods.",
    "pod": "More fields of the pod: nodeSelector, tolerations, priorityClassName, imagePullSecrets; null removes one.",
    "grants": "Rights beyond what the kinds need: edit pod templates, keep children of an Hvpa, scale custom kinds.",
    "prometheus": "Objects for the Prometheus operator, if it is installed.",
    "config": "The configuration of hypot run. Roles follow it: they grant nothing for features that are off.",
}


def _valued(name: str, value: Any, why: str) -> list[str]:
    return [f"# {why}\n", to_yaml({name: value})]


def values_schema() -> dict[str, Any]:
    """The schema of the values; Helm refuses values that do not match it."""
    config = config_schema()
    known = {wire_name(f.name): config["properties"][wire_name(f.name)] for f in _settable()}
    known |= {name: {**known[name], "minimum": 1} for name in ("probePort", "metricsPort")}
    known["webhookService"] = {**known["webhookService"], "pattern": SERVICE_NAME, "maxLength": 63}
    text, switch = {"type": "string"}, {"type": "boolean"}
    group = {**text, "pattern": GROUP, "maxLength": 253}
    target = _closed({"group": group, "resource": LABEL_SCHEMA}, "one custom kind", required=["group", "resource"])
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "hypot",
        "type": "object",
        "properties": {
            "image": _closed(
                {
                    "repository": {**text, "pattern": IMAGE},
                    "tag": {**text, "pattern": r"^\S*$"},
                    "digest": text,
                    "pullPolicy": text,
                },
                _WHY["image"],
            ),
            "replicas": {"type": "integer", "minimum": 1, "description": _WHY["replicas"]},
            "resources": {"type": "object", "description": _WHY["resources"]},
            "pod": {"type": "object", "description": _WHY["pod"]},
            "grants": _closed(
                {"template": switch, "children": switch, "targets": {"type": "array", "items": target}}, _WHY["grants"]
            ),
            "prometheus": _closed({"podMonitor": switch, "rules": switch}, _WHY["prometheus"]),
            "config": _closed(known, _WHY["config"]),
            "metrics": metrics_schema(_closed),
            "global": {"type": "object"},
        },
        "additionalProperties": False,
    }


def _closed(properties: dict[str, Any], why: str, **more: Any) -> dict[str, Any]:
    return {"type": "object", "description": why, "properties": properties, **more, "additionalProperties": False}
