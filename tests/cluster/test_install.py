"""A real API server accepts every form of the installation, and its account has exactly the granted rights."""

import shutil
import subprocess
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import trustme
import yaml
from click.testing import CliRunner

from cluster.crds import reported, serving
from cluster.plane.api import APPLY, Api, Object
from cluster.plane.waiting import eventually
from hypot.cli.run.manifests import command
from hypot.kinds.text.write import to_yaml
from hypot.run.install.objects import CONFIG_KEY
from hypot.run.rights import said_by
from tools import tool

DEPLOY = Path(__file__).parents[2] / "deploy"
# That of the chart and of the kustomize base.
IMAGE = f"hypot:{version('hypot')}"
PATHS = {
    "Namespace": "/api/v1/namespaces",
    "ServiceAccount": "/api/v1/namespaces/{}/serviceaccounts",
    "ConfigMap": "/api/v1/namespaces/{}/configmaps",
    "Service": "/api/v1/namespaces/{}/services",
    "Deployment": "/apis/apps/v1/namespaces/{}/deployments",
    "NetworkPolicy": "/apis/networking.k8s.io/v1/namespaces/{}/networkpolicies",
    "FlowSchema": "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas",
    "Secret": "/api/v1/namespaces/{}/secrets",
    "PodDisruptionBudget": "/apis/policy/v1/namespaces/{}/poddisruptionbudgets",
    "ClusterRole": "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "ClusterRoleBinding": "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    "Role": "/apis/rbac.authorization.k8s.io/v1/namespaces/{}/roles",
    "RoleBinding": "/apis/rbac.authorization.k8s.io/v1/namespaces/{}/rolebindings",
    "MutatingWebhookConfiguration": "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
}
RECOMMENDER = {
    "WatermarkPodAutoscaler": "off",
    "Hvpa": "off",
    "Tortoise": "off",
    "Autoscaler": "off",
    "VerticalPodAutoscaler": "recommend",
}
# The API server reads a CA bundle before it accepts it.
AUTHORITY = trustme.CA().cert_pem.bytes().decode()
# The values of the chart -> the configuration and the flags that mean the same.
CONFIGS: dict[str, tuple[Object, Object, tuple[str, ...]]] = {
    "default": ({}, {}, ()),
    "scoped": (
        {"config": {"watchNamespaces": ["shop", "pay"]}},
        {},
        ("--watch-namespace", "shop", "--watch-namespace", "pay"),
    ),
    "everything": (
        {
            "config": {
                "kinds": dict.fromkeys(("VerticalPodAutoscaler", "HorizontalPodAutoscaler"), "act"),
                "optIn": "all",
            },
            "grants": {
                "template": True,
                "children": True,
                "targets": [{"group": "argoproj.io", "resource": "rollouts"}],
            },
        },
        {"kinds": dict.fromkeys(("VerticalPodAutoscaler", "HorizontalPodAutoscaler"), "act"), "optIn": "all"},
        ("--with", "template", "--with", "children", "--target", "rollouts.argoproj.io"),
    ),
    "recommender": (
        {
            "config": {
                "kinds": RECOMMENDER,
                "metricsPort": 9000,
                "prometheus": "http://prometheus:9090",
                "settings": {"tolerance": 0.2},
            },
            "replicas": 1,
        },
        {
            "kinds": RECOMMENDER,
            "metricsPort": 9000,
            "prometheus": "http://prometheus:9090",
            "settings": {"tolerance": 0.2},
        },
        ("--replicas", "1"),
    ),
    "dry run": ({"config": {"dryRun": True}}, {"dryRun": True}, ()),
    "guarded metrics": (
        {"config": {"metricsAuth": True, "monitoringNamespace": "observers"}},
        {"metricsAuth": True, "monitoringNamespace": "observers"},
        (),
    ),
    "cert-manager": (
        {"config": {"webhookCertificate": "/etc/hypot-webhook"}},
        {"webhookCertificate": "/etc/hypot-webhook"},
        (),
    ),
    "given certificate": (
        {"config": {"webhookCertificate": "/certificate", "webhookCa": AUTHORITY, "metricsAuth": True}},
        {"webhookCertificate": "/certificate", "webhookCa": AUTHORITY, "metricsAuth": True},
        (),
    ),
}
# Rights that no autoscaler needs.
NEVER = [
    ("", "secrets", "get", "kube-system", "other"),
    ("", "secrets", "list", "kube-system", ""),
    ("", "secrets", "list", "hypot-system", ""),
    ("", "secrets", "get", "hypot-system", "other"),
    ("", "configmaps", "update", "hypot-system", "other"),
    ("", "configmaps", "list", "shop", ""),
    ("", "pods", "create", "shop", ""),
    ("", "pods", "delete", "shop", "a"),
    ("", "pods/exec", "create", "shop", "a"),
    ("", "nodes", "patch", "", "a"),
    ("", "namespaces", "patch", "", "shop"),
    ("apps", "deployments", "delete", "shop", "a"),
    ("apps", "deployments", "update", "shop", "a"),
    ("apps", "daemonsets", "patch", "shop", "a"),
    ("coordination.k8s.io", "leases", "list", "", ""),
    ("coordination.k8s.io", "leases", "list", "kube-system", "vpa-updater"),
    ("coordination.k8s.io", "leases", "update", "kube-system", "vpa-updater"),
    ("rbac.authorization.k8s.io", "clusterroles", "escalate", "", "hypot"),
    ("admissionregistration.k8s.io", "mutatingwebhookconfigurations", "patch", "", "other"),
    ("admissionregistration.k8s.io", "mutatingwebhookconfigurations", "delete", "", "hypot"),
    ("apiextensions.k8s.io", "customresourcedefinitions", "list", "", ""),
]


def printed(case: str, folder: Path) -> list[Object]:
    """What `hypot manifests` prints."""
    _, config, flags = CONFIGS[case]
    file = folder / "config.yaml"
    file.write_text(to_yaml(config), encoding="utf-8")
    result = CliRunner().invoke(command, ["--image", IMAGE, "--config", str(file), *flags], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return list(yaml.safe_load_all(result.output))


def at(manifest: Object) -> str:
    metadata = manifest["metadata"]
    return f"{PATHS[manifest['kind']].format(metadata.get('namespace'))}/{metadata['name']}"


def spaces(api: Api) -> None:
    """Create the namespaces, without which nothing in them can be checked; the first has its labels as printed."""
    for name, labels in {
        "hypot-system": {"pod-security.kubernetes.io/enforce": "restricted"},
        "shop": {},
        "pay": {},
    }.items():
        made = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}
        api.patch(f"/api/v1/namespaces/{name}", made, APPLY, query={"fieldManager": "test"})


@pytest.fixture(scope="module")
def ready(api: Api) -> Api:
    spaces(api)
    return api


def judged(api: Api, manifest: Object) -> tuple[int, list[str]]:
    """Status and warnings of a dry run that refuses unknown fields."""
    query = "dryRun=All&fieldManager=test&force=true&fieldValidation=Strict"
    return reported(api, "PATCH", f"{at(manifest)}?{query}", manifest, APPLY)


@pytest.mark.parametrize("case", CONFIGS)
def test_printed_manifests_are_taken(ready: Api, case: str, tmp_path: Path) -> None:
    """Every object of every configuration is accepted without a warning."""
    for manifest in printed(case, tmp_path):
        status, warnings = judged(ready, manifest)
        assert (status in {200, 201}, warnings) == (True, []), manifest


def test_pods_come_up_under_the_strictest_standard(ready: Api, tmp_path: Path) -> None:
    """The namespace enforces the restricted standard, so a pod that asks for more is refused."""
    (deployment,) = (each for each in printed("default", tmp_path) if each["kind"] == "Deployment")
    pod = {"apiVersion": "v1", "kind": "Pod", **deployment["spec"]["template"]}
    pod["metadata"] = {**pod["metadata"], "name": "hypot"}
    path = "/api/v1/namespaces/hypot-system/pods?dryRun=All&fieldValidation=Strict"
    assert reported(ready, "POST", path, pod) == (201, [])
    (container,) = pod["spec"]["containers"]
    container["securityContext"]["allowPrivilegeEscalation"] = True
    assert reported(ready, "POST", path, pod)[0] == 403


@pytest.mark.parametrize("name", ["flowschema.yaml", "metrics-reader.yaml"])
def test_examples_are_taken(ready: Api, name: str) -> None:
    """Each object of the examples; that of cert-manager needs its definitions."""
    for manifest in yaml.safe_load_all((DEPLOY / "examples" / name).read_text(encoding="utf-8")):
        status, warnings = judged(ready, manifest)
        assert (status in {200, 201}, warnings) == (True, []), manifest


# Kustomize and Helm.


def kustomized(folder: Path) -> list[Object]:
    built = subprocess.run(
        [tool("kubectl"), "kustomize", str(folder)], capture_output=True, text=True, check=True
    ).stdout
    return list(yaml.safe_load_all(built))


def test_the_kustomize_base_is_the_same(tmp_path: Path) -> None:
    """Kustomize and `hypot manifests` install the same objects."""
    assert keyed(kustomized(DEPLOY / "kustomize")) == keyed(printed("default", tmp_path))


def test_the_definitions_of_kustomize_are_taken(ready: Api) -> None:
    serving(ready)
    for definition in kustomized(DEPLOY / "kustomize" / "crds"):
        path = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{definition['metadata']['name']}"
        assert reported(ready, "PATCH", f"{path}?dryRun=All&fieldManager=test&force=true", definition, APPLY) == (
            200,
            [],
        )


def helm() -> str:
    return tool("helm")


def rendered(values: Object, folder: Path) -> list[Object]:
    file = folder / "values.yaml"
    file.write_text(to_yaml(values), encoding="utf-8")
    asked = ["template", "hypot", str(DEPLOY / "helm" / "hypot"), "-n", "hypot-system", "--kube-version", "1.34"]
    made = subprocess.run([helm(), *asked, "-f", str(file)], capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    return [each for each in yaml.safe_load_all(made.stdout) if each]


def keyed(manifests: list[Object]) -> dict[tuple[str, str, str], Any]:
    """By kind and name, normalised where only the notation differs."""
    found = {}
    for each in manifests:
        metadata = each["metadata"]
        if "rules" in each and "Role" in each["kind"]:
            each["rules"] = said_by(each["rules"])
        if each["kind"] == "ConfigMap":
            each["data"] = yaml.safe_load(each["data"][CONFIG_KEY])
        for hook in each.get("webhooks") or ():
            for expression in hook["namespaceSelector"]["matchExpressions"]:
                expression["values"] = sorted(expression["values"])
        if each["kind"] == "Deployment":
            del each["spec"]["template"]["metadata"]["annotations"]["hypot.dev/config"]
        found[each["kind"], metadata.get("namespace", ""), metadata["name"]] = each
    return found


@pytest.mark.parametrize("case", CONFIGS)
def test_the_chart_is_the_same(case: str, tmp_path: Path) -> None:
    """The chart installs the same objects, except for the namespace, which Helm creates itself."""
    expected = keyed(printed(case, tmp_path))
    del expected["Namespace", "", "hypot-system"]
    assert keyed(rendered(CONFIGS[case][0], tmp_path)) == expected


def test_the_chart_is_taken_with_all_that_may_be_set(ready: Api, tmp_path: Path) -> None:
    """Beyond `hypot manifests`: more fields of the pod, and a tag that YAML would read as a number."""
    values = {
        "pod": {"priorityClassName": "system-cluster-critical", "nodeSelector": {"pool": "ops"}},
        "image": {"tag": "7"},
    }
    manifests = rendered(values, tmp_path)
    for manifest in manifests:
        status, warnings = judged(ready, manifest)
        assert (status in {200, 201}, warnings) == (True, []), manifest
    (deployment,) = (each for each in manifests if each["kind"] == "Deployment")
    pod = deployment["spec"]["template"]["spec"]
    assert (pod["nodeSelector"], pod["containers"][0]["image"]) == ({"pool": "ops"}, "hypot:7")


def test_a_digest_replaces_the_tag(ready: Api, tmp_path: Path) -> None:
    """A tag may be moved to another image, a digest may not."""
    digest = f"sha256:{'0a' * 32}"
    manifests = rendered({"image": {"repository": "registry.example/hypot", "digest": digest}}, tmp_path)
    (deployment,) = (each for each in manifests if each["kind"] == "Deployment")
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert container["image"] == f"registry.example/hypot@{digest}"
    assert judged(ready, deployment) == (201, [])


def test_the_chart_has_the_alerts(tmp_path: Path) -> None:
    """The braces in the alerts are unchanged by Helm."""
    manifests = rendered({"prometheus": {"rules": True, "podMonitor": True}}, tmp_path)
    found = {each["kind"]: each for each in manifests if "monitoring" in each["apiVersion"]}
    assert set(found) == {"PrometheusRule", "PodMonitor"}
    written = yaml.safe_load((DEPLOY / "prometheusrule.yaml").read_text(encoding="utf-8"))
    assert found["PrometheusRule"]["spec"] == written["spec"]


REFUSED: dict[str, tuple[Object, list[str]]] = {
    "an invalid mode": ({"config": {"kinds": {"Hvpa": "perhaps"}}}, ["Hvpa"]),
    "names": (
        {"config": {"watchNamespaces": ["BAD"], "webhookService": "127.0.0.1"}, "image": {"repository": ""}},
        ["watchNamespaces/0", "webhookService", "image/repository"],
    ),
    "what does not fit together": (
        {
            "config": {"listen": "127.0.0.1", "webhookService": "hypot", "metricsPort": 8443},
            "pod": {"containers": [], "nodeSelector": {"pool": "ops"}},
            "image": {"repository": "registry.example/hypot@sha256:0a", "digest": "sha256:0a"},
        },
        [
            "image.repository",
            "image.digest: sha256:0a is not a digest",
            "config.listen",
            "config.webhookService",
            "config.webhookPort",
            "pod: the chart sets",
        ],
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_helm_refuses_what_no_configuration_may_say(case: str, tmp_path: Path) -> None:
    """Helm reports the same errors as `hypot manifests`, and all of them at once."""
    values, said = REFUSED[case]
    file = tmp_path / "values.yaml"
    file.write_text(to_yaml(values), encoding="utf-8")
    asked = [helm(), "template", str(DEPLOY / "helm" / "hypot"), "--kube-version", "1.34", "-f", str(file)]
    made = subprocess.run(asked, capture_output=True, text=True, check=False)
    assert made.returncode != 0
    assert [message for message in said if message not in made.stderr] == []


def test_a_bare_off_is_taken_by_the_chart(tmp_path: Path) -> None:
    """YAML reads a bare `off` as false; the configuration file says `off`."""
    manifests = rendered({"config": {"kinds": {"Hvpa": False, "Tortoise": False, "Autoscaler": False}}}, tmp_path)
    (found,) = (yaml.safe_load(each["data"][CONFIG_KEY]) for each in manifests if each["kind"] == "ConfigMap")
    assert (found["kinds"]["Hvpa"], found["webhookPort"]) == ("off", 0)


def test_a_part_of_the_security_context_leaves_the_rest(tmp_path: Path) -> None:
    """Setting `fsGroup` must not make the pod run as root; null removes a field."""
    manifests = rendered({"pod": {"securityContext": {"fsGroup": 7, "runAsUser": None}}}, tmp_path)
    (deployment,) = (each for each in manifests if each["kind"] == "Deployment")
    assert deployment["spec"]["template"]["spec"]["securityContext"] == {
        "fsGroup": 7,
        "runAsGroup": 65532,
        "runAsNonRoot": True,
        "seccompProfile": {"type": "RuntimeDefault"},
    }


def test_the_notes_say_how_it_begins_to_act(tmp_path: Path) -> None:
    """After an installation, the notes say where hypot acts and how to stop it."""
    chart = tmp_path / "chart"
    shutil.copytree(DEPLOY / "helm" / "hypot", chart)
    notes = (chart / "templates" / "NOTES.txt").read_text(encoding="utf-8")
    (chart / "templates" / "notes.yaml").write_text(notes, encoding="utf-8")
    asked = [helm(), "template", "hypot", str(chart), "--kube-version", "1.34", "-n", "ops", "--debug"]
    for flags, said in (
        ((), "acts only in namespaces with the label hypot.dev/scaling=enabled"),
        ((), "kubectl get ns -l hypot.dev/scaling=enabled"),
        (("--set", "config.optIn=all"), "acts in every namespace."),
        (("--set", "config.optIn=all,config.watchNamespaces={shop,pay}"), "acts in shop, pay."),
        (("--set", "config.dryRun=true"), "dryRun is on"),
    ):
        made = subprocess.run(
            [*asked, "-s", "templates/notes.yaml", *flags], capture_output=True, text=True, check=False
        )
        assert said in made.stdout
        assert "kubectl -n ops scale deploy/hypot --replicas=0" in made.stdout


# The rights of the account.


def installed(api: Api, case: str, folder: Path) -> list[Object]:
    """Create accounts and roles, without dry run, in place of the previous ones."""
    for namespace in ("shop", "pay"):
        for kind in ("roles", "rolebindings"):
            api.delete(f"/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/{kind}")
    manifests = [each for each in printed(case, folder) if each["kind"] == "ServiceAccount" or "Role" in each["kind"]]
    for each in manifests:
        api.patch(at(each), each, APPLY, query={"fieldManager": "test", "force": "true"})
    return manifests


def may(api: Api, group: str, resource: str, verb: str, namespace: str = "", name: str = "") -> bool:
    plain, _, part = resource.partition("/")
    asked = {"group": group, "resource": plain, "subresource": part, "verb": verb, "namespace": namespace, "name": name}
    spec = {"user": "system:serviceaccount:hypot-system:hypot", "resourceAttributes": asked}
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}
    status: Object = api.create("/apis/authorization.k8s.io/v1/subjectaccessreviews", review)["status"]
    return bool(status["allowed"])


def granted(manifests: list[Object]) -> Iterator[tuple[str, str, str, str, str]]:
    """Each single right of the roles: group, resource, verb, namespace and name."""
    for each in manifests:
        for group, resource, verb, name in said_by(each.get("rules") or ()):
            yield group, resource.replace("*", "queue_length"), verb, each["metadata"].get("namespace", ""), name


@pytest.mark.parametrize("case", CONFIGS)
def test_the_account_may_do_what_it_is_granted_and_no_more(ready: Api, case: str, tmp_path: Path) -> None:
    """Every right works as it is written, and what no autoscaler needs is refused."""
    wanted = list(granted(installed(ready, case, tmp_path)))
    assert wanted
    eventually(lambda: all(may(ready, *each) for each in wanted), 20)
    assert [each for each in NEVER if may(ready, *each)] == []


def test_a_scoped_account_may_do_nothing_elsewhere(ready: Api, tmp_path: Path) -> None:
    """What is allowed in a watched namespace is refused in one that is not watched, and in the whole cluster."""
    installed(ready, "default", tmp_path)
    eventually(lambda: may(ready, "", "pods", "list"), 20)
    rights = list(granted(installed(ready, "scoped", tmp_path)))
    eventually(lambda: not may(ready, "", "pods", "list"), 20)
    for group, resource, verb, namespace, name in rights:
        if namespace == "shop":
            assert may(ready, group, resource, verb, "pay", name)
            assert not may(ready, group, resource, verb, "kube-system", name)
            assert not may(ready, group, resource, verb, "", name)


def test_switching_a_kind_off_takes_its_rights_away(ready: Api, tmp_path: Path) -> None:
    """Applying the manifests of another configuration is enough."""
    installed(ready, "default", tmp_path)
    eventually(lambda: may(ready, "", "pods/eviction", "create", "shop"), 20)
    installed(ready, "recommender", tmp_path)
    eventually(lambda: not may(ready, "", "pods/eviction", "create", "shop"), 20)
    assert not may(ready, "apps", "deployments/scale", "update", "shop")


def as_hypot(api: Api, path: str) -> int:
    """The status of a request that an admin makes as hypot's account."""
    connection = api._connect(30)
    try:
        who = {"Impersonate-User": "system:serviceaccount:hypot-system:hypot"}
        connection.request("GET", path, headers={"Authorization": f"Bearer {api.token}", **who})
        return connection.getresponse().status
    finally:
        connection.close()


def test_leases_of_others_are_found_by_name_only(ready: Api, tmp_path: Path) -> None:
    """The account may get leases of the granted names, but no other leases, and list none."""
    installed(ready, "default", tmp_path)
    leases, lock = "/apis/coordination.k8s.io/v1/namespaces/{}/leases", "watermarkpodautoscaler-lock"
    eventually(lambda: as_hypot(ready, f"{leases.format('kube-system')}/{lock}") == 404, 20)
    # The roles are the same everywhere, so a namespace that does not exist is not an error.
    for path in (leases.format("kube-system"), leases.format("datadog")):
        assert [as_hypot(ready, f"{path}/{name}") for name in (lock, "hypot", "kube-scheduler")] == [404, 404, 403]
        assert as_hypot(ready, path) == 403
    assert as_hypot(ready, "/apis/coordination.k8s.io/v1/leases") == 403
    assert as_hypot(ready, "/api/v1/namespaces/kube-system/secrets") == 403
    assert as_hypot(ready, "/api/v1/pods") == 200
