"""The metrics server by Helm and kustomize: the objects of `hypot manifests --metrics`, and how an uninstall goes."""

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from cluster.crds import reported
from cluster.plane.api import APPLY, Api, Object
from cluster.plane.controlplane import ControlPlane
from cluster.plane.waiting import eventually
from cluster.test_install import DEPLOY, IMAGE, helm, judged, kustomized, ready, rendered
from hypot.cli.run.manifests import command
from hypot.kinds.text.write import to_yaml
from hypot.metricsapi.install import CONFIG_KEY, RULES_KEY, TRUST_NAMESPACE
from hypot.run.rights import said_by

__all__ = ["ready"]
HERE, NAME = "hypot-system", "hypot-metrics"
CHART = DEPLOY / "helm" / "hypot"
VALUES = CHART / "values.yaml"
SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"
HEAD = {"apiVersion": "metrics.hypot.dev/v1alpha1", "kind": "MetricRules", "metadata": {"name": "hypot"}}


def rule(name: str = "web", **changes: Any) -> Object:
    metrics = [{"counter": "requests_total", "names": ["requests_per_second"]}]
    return {
        "name": name,
        "pods": {"matchLabels": {"app": name}},
        "scrape": {"port": "http"},
        "metrics": metrics,
        **changes,
    }


def secured(*secrets: str) -> Object:
    keys = {"ca": {"key": "ca.crt"}, "token": {"key": "token"}, "certificate": {}}
    named = {key: {"name": secret, **more} for (key, more), secret in zip(keys.items(), secrets, strict=False)}
    return {"port": 8443, "scheme": "https", "credentials": named}


OWN_ACCOUNT = {**secured(), "credentials": {"serviceAccount": True}}
APIS = [f"{each}.metrics.k8s.io" for each in ("v1beta2.custom", "v1beta1.custom", "v1beta1.external")]
SHOP, BOTH = {"names": ["shop"]}, {"names": ["shop", "pay"]}
EXTERNAL = [{"gauge": "depth", "names": ["depth"], "external": True}]
LEARNING = [{"counter": "requests_total", "names": ["requests_per_second"], "learnCost": {"by": ["verb"]}}]
ASKED = {key: value for key, value in rule("asked", prometheus={"window": 30}).items() if key != "scrape"}
TOKEN = "/var/run/secrets/kubernetes.io/serviceaccount/token"  # noqa: S105  a file
FORWARD = {"forwardTo": "https://adapter.monitoring.svc:8443"}
# One changed alone.
SETTINGS: Object = {
    "minSampleGap": 5.0,
    "maxSampleGap": 300.0,
    "maxSampleAge": 120.0,
    "prometheus": "http://p.example:9090",
    "listen": "::",
    "probePort": 9081,
}
# The rules, and the configuration.
CASES: dict[str, tuple[list[Object], Object]] = {
    "everywhere": ([rule()], {}),
    "by prefix": ([rule(namespaces={"prefix": "shoot-"})], {}),
    "by label": ([rule(namespaces={"selector": {"matchLabels": {"a": "b"}}}, metrics=EXTERNAL)], {}),
    "by name": ([rule(namespaces=BOTH), rule("api", namespaces=SHOP)], {"warm": True, "scrapePeriod": 30}),
    "Secrets by name": (
        [rule(namespaces=BOTH, scrape=secured("b", "a")), rule("api", namespaces=SHOP, scrape=secured("c", "a", "d"))],
        {},
    ),
    "Secrets everywhere": ([rule(scrape=secured("a")), rule("api", namespaces=SHOP, scrape=secured("b"))], {}),
    "own account": ([rule(namespaces=SHOP, scrape=OWN_ACCOUNT)], {}),
    "learning by name": ([rule(namespaces=BOTH, metrics=LEARNING), rule("api", namespaces=SHOP)], {}),
    "learning and Secrets": ([rule(), rule("api", namespaces=SHOP, metrics=LEARNING, scrape=secured("a"))], {}),
    "learning without names": ([rule(metrics=LEARNING), rule("api", namespaces=BOTH)], {}),
    "learning in one of several": ([rule(), rule("api", namespaces=SHOP, metrics=LEARNING)], {}),
    "external by name": ([rule(namespaces=SHOP, metrics=EXTERNAL)], {}),
    "external with a certificate": ([rule(metrics=EXTERNAL)], {"certificate": "/certificate/of/others/"}),
    "Prometheus": (
        [ASKED],
        {"prometheus": "https://p.example", "prometheusTokenFile": "/etc/p/token", "prometheusCaFile": "/etc/q/ca.crt"},
    ),
    "Prometheus, one directory": (
        [ASKED],
        {"prometheus": "https://p.example", "prometheusTokenFile": "/etc/p/token", "prometheusCaFile": "/etc/p/ca.crt"},
    ),
    "Prometheus with the own token": ([ASKED], {"prometheus": "https://p.example", "prometheusTokenFile": TOKEN}),
    "forward with a token": (
        [rule(metrics=EXTERNAL)],
        {**FORWARD, "forwardTokenFile": "/etc/f/token", "forwardCaFile": "/etc/f/ca.crt"},
    ),
    "forward with the own token": ([rule()], {**FORWARD, "forwardTokenFile": TOKEN}),
    "forward with a certificate": ([rule()], {**FORWARD, "forwardCertificate": "/etc/f", "forwardCaFile": "/etc/g/ca"}),
    "everything": (
        [rule(namespaces=BOTH, metrics=[*EXTERNAL, *LEARNING], scrape=secured("a")), {**ASKED, "namespaces": SHOP}],
        {
            **FORWARD,
            "forwardTokenFile": "/etc/f/token",
            "certificate": "/certificate",
            "prometheus": "https://p.example",
            "prometheusCaFile": "/etc/p/ca.crt",
        },
    ),
    "other settings": (
        [rule()],
        {
            "certificate": "/certificate",
            "metricsAuth": True,
            "monitoringNamespace": "observers",
            "service": "other-metrics",
            "securePort": 7443,
            "metricsPort": 9090,
            "podNetworks": ["10.0.0.0/8"],
        },
    ),
    **{f"setting {name}": ([rule()], {name: value}) for name, value in SETTINGS.items()},
}


def test_every_setting_is_compared() -> None:
    """A new one needs a case."""
    settings = yaml.safe_load(VALUES.read_text(encoding="utf-8"))["metrics"]["config"]
    assert set(settings) == {name for _, config in CASES.values() for name in config}


def printed(rules: list[Object], config: Object, folder: Path, *flags: str) -> list[Object]:
    """What `hypot manifests --metrics` prints."""
    files = {"rules.yaml": {**HEAD, "spec": {"rules": rules}}, "config.yaml": config}
    for name, content in files.items():
        (folder / name).write_text(to_yaml(content), encoding="utf-8")
    asked = ["--metrics", str(folder / "rules.yaml"), "--config", str(folder / "config.yaml"), "--image", IMAGE]
    done = CliRunner().invoke(command, [*asked, "-o", "json", *flags], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return list(json.loads(done.output)["items"])


def of_chart(rules: list[Object], config: Object, folder: Path, **more: Any) -> list[Object]:
    """The objects of the metrics server in the chart."""
    values = {**more, "metrics": {"enabled": True, "rules": rules, "config": config}}
    made = rendered(values, folder)
    return [each for each in made if each["metadata"]["labels"]["app.kubernetes.io/name"] == NAME]


def keyed(manifests: list[Object]) -> dict[tuple[str, str, str], Any]:
    """By kind and name, normalised where only the notation differs."""
    found = {}
    for each in manifests:
        metadata = each["metadata"]
        if "Role" in each["kind"] and "rules" in each:
            each["rules"] = said_by(each["rules"])
        if each["kind"] == "ConfigMap":
            usual = {
                "namespace": HERE,
                **yaml.safe_load((DEPLOY / "helm/hypot/values.yaml").read_text())["metrics"]["config"],
            }
            each["data"] = {key: yaml.safe_load(text) for key, text in each["data"].items()}
            each["data"][RULES_KEY].pop("metadata")
            each["data"][CONFIG_KEY] = usual | (each["data"][CONFIG_KEY] or {})
        if each["kind"] == "Deployment":
            del each["spec"]["template"]["metadata"]["annotations"]["hypot.dev/config"]
        found[each["kind"], metadata.get("namespace", ""), metadata["name"]] = each
    return found


@pytest.mark.parametrize("case", CASES)
def test_the_chart_is_the_same(case: str, tmp_path: Path) -> None:
    """The roles follow the rules in the values, as those that are printed follow the file."""
    rules, config = CASES[case]
    assert keyed(of_chart(rules, config, tmp_path)) == keyed(printed(rules, config, tmp_path))


REFUSED: dict[str, tuple[list[Object], Object]] = {
    "a rule asks no Prometheus": ([ASKED], {}),
    "a window that gives no rate": ([{**ASKED, "prometheus": {"window": 5}}], {"prometheus": "https://p.example"}),
    "a long window": ([{**ASKED, "prometheus": {"window": 900}}], {"prometheus": "https://p.example"}),
    "a token of no Prometheus": ([rule()], {"prometheusTokenFile": "/etc/p/token"}),
    "a CA file of no Prometheus": ([rule()], {"prometheusCaFile": "/etc/p/ca"}),
    "a token without TLS": ([rule()], {"prometheus": "http://p.example", "prometheusTokenFile": "/etc/p/token"}),
    "a CA file without TLS": ([rule()], {"prometheus": "http://p.example", "prometheusCaFile": "/etc/p/ca"}),
    "a password without TLS": ([rule()], {"prometheus": "http://a:b@p.example"}),
    "forward for nobody": ([rule()], FORWARD),
    "forward without TLS": ([rule()], {"forwardTo": "http://adapter.svc", "forwardTokenFile": TOKEN}),
    "forward with a path": ([rule()], {"forwardTo": "https://adapter.svc/a", "forwardTokenFile": TOKEN}),
    "forward to itself": ([rule()], {"forwardTo": "https://hypot-metrics", "forwardTokenFile": TOKEN}),
    "forward to itself, in full": (
        [rule()],
        {"forwardTo": "https://hypot-metrics.hypot-system.svc.cluster.local:443", "forwardTokenFile": TOKEN},
    ),
    **{
        f"{name} without forwardTo": ([rule()], {name: "/etc/f/a"})
        for name in ("forwardCaFile", "forwardCertificate", "forwardTokenFile")
    },
    **{
        f"a file in {folder}": ([ASKED], {"prometheus": "https://p.example", "prometheusTokenFile": f"{folder}t"})
        for folder in ("/etc/hypot/", "/", "/tmp/", "", "a/", "/etc/", "/etc/hypot/a/", "/etc/p/../hypot/")  # noqa: S108
    },
    **{
        f"a certificate in {folder}": ([rule()], {"certificate": folder})
        for folder in ("/etc/hypot", "/etc/hypot/", "/tmp", "certificate", "/", "/etc/hypot/tls", "/var/run")  # noqa: S108
    },
    "two Secrets in one directory": (
        [rule()],
        {
            **FORWARD,
            "forwardTokenFile": "/etc/p/token",
            "prometheus": "https://p.example",
            "prometheusCaFile": "/etc/p/ca.crt",
        },
    ),
    "a Secret in another": ([rule()], {**FORWARD, "forwardCertificate": "/etc/p/f", "certificate": "/etc/p"}),
}


@pytest.mark.parametrize("case", REFUSED)
def test_the_chart_refuses_the_same(case: str, tmp_path: Path) -> None:
    """What cannot work fails before anything is installed, with both."""
    rules, config = REFUSED[case]
    files = {"rules.yaml": {**HEAD, "spec": {"rules": rules}}, "config.yaml": config}
    for name, content in files.items():
        (tmp_path / name).write_text(to_yaml(content), encoding="utf-8")
    asked = ["--metrics", str(tmp_path / "rules.yaml"), "--config", str(tmp_path / "config.yaml")]
    assert CliRunner().invoke(command, [*asked, "--image", IMAGE]).exit_code == 2
    values = tmp_path / "values.yaml"
    values.write_text(to_yaml({"metrics": {"enabled": True, "rules": rules, "config": config}}), encoding="utf-8")
    done = subprocess.run(
        [helm(), "template", "hypot", str(CHART), "-n", HERE, "--kube-version", "1.34", "-f", str(values)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert "metrics" in done.stderr
    assert "incompatible" not in done.stderr


def test_other_namespaces_have_names_of_their_own(tmp_path: Path) -> None:
    """So that two installations do not share a ClusterRole."""
    file = tmp_path / "values.yaml"
    file.write_text(to_yaml({"metrics": {"enabled": True, "rules": [rule(namespaces=SHOP)]}}), encoding="utf-8")
    asked = [
        helm(),
        "template",
        "hypot",
        str(CHART),
        "-n",
        "ops",
        "--kube-version",
        "1.34",
        "-f",
        str(file),
    ]
    made = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    found = [each for each in yaml.safe_load_all(made) if each and each["metadata"]["name"].startswith(NAME)]
    expected = printed([rule(namespaces=SHOP)], {}, tmp_path, "-n", "ops")
    named = [(each["kind"], each["metadata"].get("namespace"), each["metadata"]["name"]) for each in expected]
    assert sorted(map(str, named)) == sorted(
        [str((each["kind"], each["metadata"].get("namespace"), each["metadata"]["name"])) for each in found]
        + [str((each["kind"], None, each["metadata"]["name"])) for each in expected if each["kind"] == "APIService"]
    )


def test_nothing_of_it_is_installed_by_default(tmp_path: Path) -> None:
    """Another server may serve custom metrics."""
    names = {each["metadata"]["labels"]["app.kubernetes.io/name"] for each in rendered({}, tmp_path)}
    assert names == {"hypot"}


@pytest.mark.parametrize("case", CASES)
def test_the_api_server_takes_the_chart(ready: Api, case: str, tmp_path: Path) -> None:
    """Each object, without a warning about a field."""
    rules, config = CASES[case]
    more = {"pod": {"nodeSelector": {"pool": "ops"}}, "image": {"tag": "7"}}
    for each in of_chart(rules, config, tmp_path, **more):
        if each["kind"] == "APIService":
            path = (
                f"{SERVICES}/{each['metadata']['name']}?dryRun=All&fieldManager=test&force=true&fieldValidation=Strict"
            )
            assert reported(ready, "PATCH", path, each, APPLY)[0] in {200, 201}
        elif each["metadata"].get("namespace") != TRUST_NAMESPACE:
            status, warnings = judged(ready, each)
            assert (status in {200, 201}, warnings) == (True, []), each


@pytest.mark.parametrize(
    ("metrics", "said"),
    [
        ({"enabled": True}, "metrics.rules: there is no rule"),
        ({"rules": [{"name": "web", "pods": {}, "metrics": []}]}, "scrape"),
        ({"rules": [rule(scrap={})]}, "scrap"),
        ({"config": {"securePort": 8081}}, "metrics.config.probePort: 8081 is the securePort too"),
        ({"config": {"minSampleGap": 60}}, "metrics.config.minSampleGap: 60 is not below the scrapePeriod"),
        ({"config": {"maxSampleAge": 60}}, "metrics.config.maxSampleAge: 60 is not above the scrapePeriod"),
        ({"config": {"listen": "127.0.0.1"}}, "metrics.config.listen: 127.0.0.1 cannot be reached"),
        ({"config": {"service": "hypot"}}, "metrics.config.service: hypot is already a Service"),
        ({"config": {"metricsPort": 0}}, "metricsPort"),
        ({"replicas": 0}, "replicas"),
    ],
)
def test_what_helm_refuses(metrics: Object, said: str, tmp_path: Path) -> None:
    """What the server would refuse when it starts, as far as a chart can say it."""
    file = tmp_path / "values.yaml"
    file.write_text(to_yaml({"metrics": metrics}), encoding="utf-8")
    asked = [helm(), "template", str(CHART), "--kube-version", "1.34", "-f", str(file)]
    made = subprocess.run(asked, capture_output=True, text=True, check=False)
    assert made.returncode != 0
    assert said in made.stderr


def test_it_is_monitored_too(tmp_path: Path) -> None:
    """The alerts are those of the file beside the chart."""
    made = of_chart([rule()], {"metricsAuth": True}, tmp_path, prometheus={"rules": True, "podMonitor": True})
    found = {each["kind"]: each for each in made if "monitoring" in each["apiVersion"]}
    assert set(found) == {"PrometheusRule", "PodMonitor"}
    written = yaml.safe_load((DEPLOY / "metrics-prometheusrule.yaml").read_text(encoding="utf-8"))
    assert found["PrometheusRule"]["spec"] == written["spec"]
    (endpoint,) = found["PodMonitor"]["spec"]["podMetricsEndpoints"]
    assert endpoint["tlsConfig"]["serverName"] == "hypot-metrics.hypot-system.svc"


def test_the_kustomize_base_is_the_same(tmp_path: Path) -> None:
    """Its rule is for pods with a label; an overlay replaces it."""
    made = kustomized(DEPLOY / "kustomize" / "metrics")
    (found,) = (each for each in made if each["kind"] == "ConfigMap")
    rules = yaml.safe_load(found["data"][RULES_KEY])["spec"]["rules"]
    assert keyed(made) == keyed(printed(rules, {}, tmp_path))


def helm_does(*arguments: str) -> str:
    """What helm says; a failure shows it."""
    done = subprocess.run([helm(), *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stderr + done.stdout


@pytest.fixture
def unserved(ready: Api) -> Iterator[Api]:
    """Without the APIServices of the stand-in for metrics, which helm would not take over."""
    paths = [f"{SERVICES}/{name}" for name in APIS]
    there = [answer.body for path in paths if (answer := ready.call("GET", path)).ok]
    for each in there:
        ready.delete(f"{SERVICES}/{each['metadata']['name']}")
    yield ready
    for each in there:
        kept = {key: each[key] for key in ("apiVersion", "kind", "spec")}
        ready.create(SERVICES, {**kept, "metadata": {"name": each["metadata"]["name"]}})


def test_an_uninstall_by_helm_removes_the_apiservices_first(unserved: Api, plane: ControlPlane, tmp_path: Path) -> None:
    """On the real API server: while an APIService has no server, namespaces cannot be deleted."""
    file, kubeconfig = tmp_path / "values.yaml", plane.kubeconfig("admin")
    values = {"metrics": {"enabled": True, "rules": [rule(namespaces=SHOP, metrics=EXTERNAL)]}}
    file.write_text(to_yaml(values), encoding="utf-8")
    asked = ["-n", "from-helm", "--kubeconfig", str(kubeconfig)]
    chart = [str(CHART), "--create-namespace", "--skip-crds", "-f", str(file)]
    helm_does("install", "hypot", *chart, *asked)
    try:
        owned = unserved.get(f"{SERVICES}/{APIS[0]}")
        assert owned["spec"]["service"]["namespace"] == "from-helm"
        # As the server does; an upgrade must not take it away.
        bundle = {"spec": {"caBundle": "Y2E="}}
        unserved.patch(f"{SERVICES}/{APIS[0]}", bundle)
        helm_does("upgrade", "hypot", *chart, "--set", "metrics.replicas=3", *asked)
        assert unserved.get(f"{SERVICES}/{APIS[0]}")["spec"]["caBundle"] == "Y2E="
    finally:
        said = helm_does("uninstall", "hypot", "--debug", *asked)
    deleted = re.findall(r'Starting delete for "?([\w.-]+)"? (\w+)', said)
    assert [kind for _, kind in deleted[:3]] == ["APIService"] * 3
    assert {name for name, _ in deleted[:3]} == set(APIS)
    assert ("hypot-metrics", "Deployment") in deleted
    for name in APIS:
        eventually(lambda name=name: unserved.call("GET", f"{SERVICES}/{name}").status == 404)
