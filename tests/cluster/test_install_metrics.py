"""The metrics server by Helm and kustomize: the objects of `hypot manifests --metrics`, and how an uninstall goes."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from cluster.crds import reported
from cluster.plane.api import APPLY, Api, Object
from cluster.plane.controlplane import ControlPlane
from cluster.plane.waiting import eventually
from cluster.test_install import DEPLOY, helm, judged, kustomized, ready, rendered
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
SHOP, BOTH = {"names": ["shop"]}, {"names": ["shop", "pay"]}
EXTERNAL = [{"gauge": "depth", "names": ["depth"], "external": True}]
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
}


def printed(rules: list[Object], config: Object, folder: Path, *flags: str) -> list[Object]:
    """What `hypot manifests --metrics` prints."""
    files = {"rules.yaml": {**HEAD, "spec": {"rules": rules}}, "config.yaml": config}
    for name, content in files.items():
        (folder / name).write_text(to_yaml(content), encoding="utf-8")
    asked = ["--metrics", str(folder / "rules.yaml"), "--config", str(folder / "config.yaml"), "-o", "json", *flags]
    done = CliRunner().invoke(command, asked, catch_exceptions=False)
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


def test_an_uninstall_by_helm_removes_the_apiservices_first(ready: Api, plane: ControlPlane, tmp_path: Path) -> None:
    """On the real API server: while an APIService has no server, namespaces cannot be deleted."""
    file, kubeconfig = tmp_path / "values.yaml", plane.kubeconfig("admin")
    values = {"metrics": {"enabled": True, "rules": [rule(namespaces=SHOP, metrics=EXTERNAL)]}}
    file.write_text(to_yaml(values), encoding="utf-8")
    asked = ["-n", "from-helm", "--kubeconfig", str(kubeconfig)]
    chart = [str(CHART), "--create-namespace", "--skip-crds", "-f", str(file)]
    subprocess.run([helm(), "install", "hypot", *chart, *asked], capture_output=True, text=True, check=True)
    names = [f"{each}.metrics.k8s.io" for each in ("v1beta2.custom", "v1beta1.custom", "v1beta1.external")]
    try:
        owned = ready.get(f"{SERVICES}/{names[0]}")
        assert owned["spec"]["service"]["namespace"] == "from-helm"
        # As the server does; an upgrade must not take it away.
        bundle = {"spec": {"caBundle": "Y2E="}}
        ready.patch(f"{SERVICES}/{names[0]}", bundle)
        upgraded = [helm(), "upgrade", "hypot", *chart, "--set", "metrics.replicas=3", *asked]
        subprocess.run(upgraded, capture_output=True, text=True, check=True)
        assert ready.get(f"{SERVICES}/{names[0]}")["spec"]["caBundle"] == "Y2E="
    finally:
        done = subprocess.run(
            [helm(), "uninstall", "hypot", "--debug", *asked], capture_output=True, text=True, check=True
        )
    deleted = re.findall(r'Starting delete for "?([\w.-]+)"? (\w+)', done.stderr + done.stdout)
    assert [kind for _, kind in deleted[:3]] == ["APIService"] * 3
    assert {name for name, _ in deleted[:3]} == set(names)
    assert ("hypot-metrics", "Deployment") in deleted
    for name in names:
        eventually(lambda name=name: ready.call("GET", f"{SERVICES}/{name}").status == 404)
