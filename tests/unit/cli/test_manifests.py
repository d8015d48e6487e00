"""`hypot manifests` as people call it, and the objects it prints."""

import base64
import json
import subprocess
import sys
from dataclasses import replace
from importlib.metadata import version

import pytest
import yaml
from click.testing import CliRunner

from hypot.cli.run.config import read_config
from hypot.cli.run.manifests import command
from hypot.kinds.vpa.knobs import Knobs
from hypot.policy.model.settings import Settings
from hypot.run.config import RunConfig, default_kinds
from hypot.run.install.manifests import manifests
from hypot.run.install.objects import CONFIG_KEY, config_data
from hypot.run.rights import said_by
from hypot.serving.config import ConfigError


def run(*arguments):
    """With an image, if the arguments have none."""
    image = () if "--image" in arguments else ("--image", "registry.example/hypot:1")
    return CliRunner().invoke(command, (*image, *arguments))


def printed(*arguments):
    """The objects by kind, namespace and name."""
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    objects = list(yaml.safe_load_all(result.output))
    found = {(each["kind"], each["metadata"].get("namespace", ""), each["metadata"]["name"]): each for each in objects}
    assert len(found) == len(objects)
    return found


def kinds_of(objects):
    return [kind for kind, _, _ in objects]


def pod_of(objects):
    (deployment,) = (each for (kind, _, _), each in objects.items() if kind == "Deployment")
    return deployment["spec"]["template"]["spec"]


PEM = "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n"
REVIEWS = {
    ("authentication.k8s.io", "tokenreviews", "create", ""),
    ("authorization.k8s.io", "subjectaccessreviews", "create", ""),
}


def test_a_whole_installation_in_the_order_it_is_applied():
    """The namespace is first, the webhook last; there is no CustomResourceDefinition."""
    assert kinds_of(printed()) == [
        "Namespace",
        "ServiceAccount",
        "ClusterRole",
        "ClusterRoleBinding",
        "Role",
        "RoleBinding",
        "ConfigMap",
        "Service",
        "Service",
        "NetworkPolicy",
        "Deployment",
        "PodDisruptionBudget",
        "MutatingWebhookConfiguration",
    ]


def test_everything_is_labelled():
    """One selector finds all objects of an installation."""
    for each in printed("--watch-namespace", "shop").values():
        assert each["metadata"]["labels"]["app.kubernetes.io/name"] == "hypot"


def test_another_namespace_is_never_part_of_it():
    """Deleting the printed objects uninstalls hypot; that must not delete a namespace that holds other things."""
    objects = printed("-n", "ops")
    assert "Namespace" not in kinds_of(objects)
    assert {namespace for _, namespace, _ in objects} == {"", "ops"}
    (subject,) = objects["ClusterRoleBinding", "", "hypot-ops"]["subjects"]
    assert subject == {"kind": "ServiceAccount", "name": "hypot", "namespace": "ops"}
    selector = objects["MutatingWebhookConfiguration", "", "hypot-ops"]["webhooks"][0]["namespaceSelector"]
    assert selector["matchExpressions"][0]["values"] == ["kube-system", "ops"]


def test_two_installations_share_no_object():
    """Each has its own names outside of its namespace, and roles of its own in watched namespaces."""
    one, two = (set(printed("-n", name, "--watch-namespace", "shop")) for name in ("hypot-system", "ops"))
    assert not one & two


def test_watched_namespaces_have_roles_of_their_own():
    """Nothing inside other namespaces is allowed, and the controller's configuration says the same."""
    objects = printed("--watch-namespace", "shop", "--watch-namespace", "pay", "--watch-namespace", "shop")
    assert [key for key in objects if key[2] == "hypot-watched"] == [
        ("Role", "pay", "hypot-watched"),
        ("RoleBinding", "pay", "hypot-watched"),
        ("Role", "shop", "hypot-watched"),
        ("RoleBinding", "shop", "hypot-watched"),
    ]
    everywhere = said_by(objects["ClusterRole", "", "hypot"]["rules"])
    assert not {resource for _, resource, _, _ in everywhere} & {"pods", "deployments/scale", "hvpas", "events"}
    config = yaml.safe_load(objects["ConfigMap", "hypot-system", "hypot-config"]["data"][CONFIG_KEY])
    assert config["watchNamespaces"] == ["shop", "pay"]


def test_pods_have_no_more_than_they_need():
    """The pod is not root, cannot become root, and can write only to a small volume in memory."""
    pod = pod_of(printed())
    (container,) = pod["containers"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    writable = [mount["name"] for mount in container["volumeMounts"] if not mount.get("readOnly")]
    assert writable == ["tmp"]
    assert "limits" in container["resources"]


def test_a_failing_webhook_does_not_block_pods():
    """The API server waits two seconds and ignores failures; hypot itself writes the CA bundle."""
    (webhook,) = printed()["MutatingWebhookConfiguration", "", "hypot"]["webhooks"]
    assert (webhook["failurePolicy"], webhook["timeoutSeconds"]) == ("Ignore", 2)
    assert "caBundle" not in webhook["clientConfig"]
    assert webhook["clientConfig"]["service"]["name"] == "hypot-webhook"


def test_without_sizes_there_is_no_webhook(tmp_path):
    """Its configuration, Service and port are absent, and the controller's configuration switches it off."""
    file = tmp_path / "config.yaml"
    file.write_text("kinds: {Hvpa: off, Tortoise: off, Autoscaler: off}\n", encoding="utf-8")
    objects = printed("--config", str(file))
    assert "MutatingWebhookConfiguration" not in kinds_of(objects)
    assert kinds_of(objects).count("Service") == 1
    assert [port["name"] for port in pod_of(objects)["containers"][0]["ports"]] == ["probes", "metrics"]
    config = yaml.safe_load(objects["ConfigMap", "hypot-system", "hypot-config"]["data"][CONFIG_KEY])
    assert config["webhookPort"] == 0


def test_ports_follow_the_configuration(tmp_path):
    """Probes and Services use the configured ports."""
    file = tmp_path / "config.yaml"
    file.write_text("probePort: 9001\nmetricsPort: 9000\nwebhookPort: 9443\nwebhookService: sizes\n", encoding="utf-8")
    objects = printed("--config", str(file))
    (container,) = pod_of(objects)["containers"]
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    assert ports == {"probes": 9001, "metrics": 9000, "webhook": 9443}
    assert objects["Service", "hypot-system", "hypot"]["spec"]["ports"][0]["port"] == 9000
    assert objects["Service", "hypot-system", "sizes"]["spec"]["ports"][0]["targetPort"] == "webhook"
    assert container["livenessProbe"]["httpGet"]["port"] == "probes"


def configured(folder, text):
    file = folder / "config.yaml"
    file.write_text(text, encoding="utf-8")
    return printed("--config", str(file))


def test_metrics_are_reached_from_the_monitoring_namespace_only(tmp_path):
    """The API server and the kubelet have no labels, so the other ports are open; outgoing traffic is not limited."""
    policy = configured(tmp_path, "monitoringNamespace: observers\n")["NetworkPolicy", "hypot-system", "hypot"]["spec"]
    assert policy["policyTypes"] == ["Ingress"]
    allowed = {each["ports"][0]["port"]: each.get("from") for each in policy["ingress"]}
    observers = {"matchLabels": {"kubernetes.io/metadata.name": "observers"}}
    assert allowed == {"probes": None, "webhook": None, "metrics": [{"namespaceSelector": observers}]}


def test_without_a_webhook_its_port_is_closed(tmp_path):
    policy = configured(tmp_path, "webhookPort: 0\n")["NetworkPolicy", "hypot-system", "hypot"]["spec"]
    assert [each["ports"][0]["port"] for each in policy["ingress"]] == ["probes", "metrics"]


@pytest.mark.parametrize(
    ("more", "bundle", "injected"),
    [
        ("", None, "hypot-system/hypot-webhook"),
        (f"webhookCa: {json.dumps(PEM)}\n", base64.b64encode(PEM.encode()).decode(), None),
    ],
    ids=["cert-manager", "given"],
)
def test_a_certificate_that_others_keep(tmp_path, more, bundle, injected):
    """It is mounted, its CA is given or injected, and hypot may neither read Secrets nor patch the configuration."""
    objects = configured(tmp_path, f"webhookCertificate: /certificate\n{more}")
    pod = pod_of(objects)
    assert {"name": "certificate", "secret": {"secretName": "hypot-webhook"}} in pod["volumes"]
    mounts = pod["containers"][0]["volumeMounts"]
    assert {"name": "certificate", "mountPath": "/certificate", "readOnly": True} in mounts
    hook = objects["MutatingWebhookConfiguration", "", "hypot"]
    assert hook["webhooks"][0]["clientConfig"].get("caBundle") == bundle
    assert hook["metadata"].get("annotations", {}).get("cert-manager.io/inject-ca-from") == injected
    rules = said_by([*objects["ClusterRole", "", "hypot"]["rules"], *objects["Role", "hypot-system", "hypot"]["rules"]])
    assert not [each for each in rules if each[1] == "secrets"]
    assert {each[2] for each in rules if each[1] == "mutatingwebhookconfigurations"} == {"get"}


def test_guarded_metrics_are_scraped_over_tls(tmp_path):
    """The usual annotations say so, and hypot may ask who scrapes."""
    for text, scheme, asks in (("{}", "http", set()), ("metricsAuth: true", "https", REVIEWS)):
        objects = configured(tmp_path, text)
        template = objects["Deployment", "hypot-system", "hypot"]["spec"]["template"]
        assert template["metadata"]["annotations"]["prometheus.io/scheme"] == scheme
        rules = said_by(objects["ClusterRole", "", "hypot"]["rules"])
        assert {each for each in rules if each[1].endswith("reviews")} == asks


def test_another_configuration_makes_other_pods():
    """The configuration is read once, at the start, so a change must roll the pods."""
    one, same, other = (
        next(each for each in manifests(config, "hypot:1") if each["kind"] == "Deployment")
        for config in (RunConfig(), RunConfig(), RunConfig(opt_in="all"))
    )
    assert one == same
    assert one["spec"]["template"] != other["spec"]["template"]


def test_one_replica_has_no_budget():
    """A budget would block every drain."""
    objects = printed("--replicas", "1")
    assert "PodDisruptionBudget" not in kinds_of(objects)
    assert next(each for key, each in objects.items() if key[0] == "Deployment")["spec"]["replicas"] == 1


def test_json_is_one_list():
    result = run("-o", "json", "--image", "registry.example/hypot:7")
    listed = json.loads(result.output)
    assert (listed["kind"], len(listed["items"])) == ("List", 13)
    (deployment,) = (each for each in listed["items"] if each["kind"] == "Deployment")
    assert deployment["spec"]["template"]["spec"]["containers"][0]["image"] == "registry.example/hypot:7"


def test_more_is_allowed_where_it_is_asked_for():
    asked = ("--with", "template", "--with", "children", "--target", "rollouts.argoproj.io")
    plain, more = (said_by(printed(*each)["ClusterRole", "", "hypot"]["rules"]) for each in ((), asked))
    assert plain < more
    assert ("apps", "deployments", "patch", "") in more - plain
    assert ("argoproj.io", "rollouts/scale", "update", "") in more - plain


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["-n", "Ops"], "'Ops' cannot be the name of a namespace"),
        (["--watch-namespace", "a/b"], "'a/b' cannot be the name of a namespace"),
        (["--target", "rollouts"], "write the plural and the group"),
        (["--target", "*.argoproj.io"], "write the plural and the group"),
        (["--config", "nowhere.yaml"], "nowhere.yaml: cannot read the configuration"),
        (["--image", ""], "image: write an image that the nodes can pull"),
        (["--image", " "], "image: write an image that the nodes can pull"),
        (["--with", "everything"], "'everything' is not one of"),
    ],
)
def test_bad_usage_is_reported(arguments, said):
    result = run(*arguments)
    assert result.exit_code == 2
    assert said in result.output


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("- a\n", "must be a mapping"),
        ("kinds: {Hvpa: [\n", "not valid YAML"),
        ("namespaces: x\n", "namespaces: no such setting"),
        ("kinds: {Hvpa: perhaps}\n", "kinds.Hvpa: 'perhaps' is not one of"),
        ("probePort: 0\n", "probePort: 0 means any port"),
        ("metricsPort: 0\n", "metricsPort: 0 means any port"),
        ("webhookCertificate: certs\n", "webhookCertificate: 'certs' is not a directory for a mount"),
        ("webhookCertificate: /etc/hypot\n", "webhookCertificate: '/etc/hypot' is not a directory for a mount"),
        ("listen: 127.0.0.1\n", "listen: '127.0.0.1' cannot be reached from outside the pod"),
        ("listen: localhost\n", "listen: 'localhost' cannot be reached from outside the pod"),
        ("webhookService: 127.0.0.1\n", "webhookService: '127.0.0.1' is not a name of a Service"),
        ("webhookService: 9-lives\n", "webhookService: '9-lives' is not a name of a Service"),
        ("webhookService: hypot\n", "webhookService: 'hypot' is already the Service of /metrics"),
        ("dryRun: true\noptIn: all\ndryRun: false\n", "config.yaml:3: not valid YAML: the key 'dryRun' is given twice"),
        ("settings: " + "{a: " * 30 + "}" * 30, "nested deeper than 20 levels"),
        ("# " + "x" * 2**20, "too large for a configuration: more than 1,048,576 bytes"),
        ("dryRun: true\n---\ndryRun: false\n", "config.yaml:3: a second document"),
    ],
)
def test_a_bad_configuration_is_reported_with_its_file(tmp_path, text, said):
    file = tmp_path / "config.yaml"
    file.write_text(text, encoding="utf-8")
    result = run("--config", str(file))
    assert result.exit_code == 2
    assert said in result.output


def test_all_errors_are_reported_at_once(tmp_path):
    """Errors of the file, of the flags and of the installation; the file is named where it is the cause."""
    file = tmp_path / "config.yaml"
    file.write_text("{listen: 127.0.0.1, webhookService: hypot, metricsPort: 9, webhookPort: 9}", encoding="utf-8")
    result = run("--config", str(file), "--watch-namespace", "BAD", "--image", "")
    assert result.exit_code == 2
    lines = result.stderr.removeprefix("Error: ").splitlines()
    assert [line.split(": ")[:2] for line in lines] == [
        [str(file), "webhookPort"],
        ["watchNamespaces", "'BAD' cannot be the name of a namespace; use lower-case letters, digits and dashes"],
        ["listen", "'127.0.0.1' cannot be reached from outside the pod, not even by probes; write 0.0.0.0"],
        ["webhookService", "'hypot' is already the Service of /metrics; write another name"],
        ["image", "write an image that the nodes can pull, such as registry.example/hypot:0.1.0"],
    ]


@pytest.mark.parametrize("target", ["a.b.c/d", "Rollouts.argoproj.io", "rollouts", ".io", "*.argoproj.io", "a b.c"])
def test_invalid_names(target):
    """They are reported together: the API server would refuse them, or they would grant nothing."""
    result = run("--target", target, "--image", "a b", "--target", "rollouts.argoproj.io")
    assert result.exit_code == 2
    assert result.stderr.removeprefix("Error: ").splitlines() == [
        "image: 'a b' has a blank; write an image that the nodes can pull, such as registry.example/hypot:0.1.0",
        f"target: {target.lstrip('.')!r} is not a resource; write the plural and the group, as in rollouts.argoproj.io",
    ]


@pytest.mark.parametrize("more", [(), ("--metrics", "gardener")])
def test_without_an_image(monkeypatch, more):
    """A released version, which comes from an index, has one; for any other it must be built."""
    monkeypatch.setattr("hypot.cli.run.manifests.installed_from", lambda: {"url": "file:///src", "dir_info": {}})
    result = CliRunner().invoke(command, more)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "--image is needed, because this is no released version of hypot" in result.stderr
    monkeypatch.setattr("hypot.cli.run.manifests.installed_from", dict)
    result = CliRunner().invoke(command, more)
    assert f"image: hypot:{version('hypot')}\n" in result.stdout


def test_a_role_needs_no_image(monkeypatch):
    """Nothing runs with it."""
    monkeypatch.setattr("hypot.cli.run.manifests.installed_from", lambda: {"url": "file:///src", "dir_info": {}})
    assert CliRunner().invoke(command, ["--reader"]).exit_code == 0


def test_an_image_by_its_digest():
    """It is used as it is; a part of a digest is refused."""
    image = f"registry.example/hypot:0.1.0@sha256:{'0a' * 32}"
    assert pod_of(printed("--image", image))["containers"][0]["image"] == image
    for digest in ("sha256:0a", "", f"sha256:{'0A' * 32}", f"md5:{'0a' * 32}"):
        result = run("--image", f"registry.example/hypot@{digest}")
        assert result.exit_code == 2
        assert f"image: {digest!r} is not a digest; write sha256: and its 64 hexadecimal digits" in result.stderr


def test_zero_replicas_are_refused():
    with pytest.raises(ConfigError, match="replicas: 0 is too few"):
        manifests(RunConfig(), "hypot:1", 0)


SETTINGS = Settings(tolerance=0.2, kubernetes=(1, 34), vpa=replace(Knobs(), safety_margin=0.3))


@pytest.mark.parametrize(
    "config",
    [
        RunConfig(),
        RunConfig(
            "ops", ("shop",), "all", dict.fromkeys(default_kinds(), "observe"), dry_run=True, prometheus="http://p:9090"
        ),
        RunConfig(settings=SETTINGS),
    ],
)
def test_the_written_file_reads_as_what_was_given(config, tmp_path):
    """The controller in the cluster runs with the configuration given here."""
    (text,) = (each["data"][CONFIG_KEY] for each in manifests(config, "hypot:1") if each["kind"] == "ConfigMap")
    file = tmp_path / "config.yaml"
    file.write_text(text, encoding="utf-8")
    expected = config if config.sizes_pods and not config.dry_run else replace(config, webhook_port=0)
    assert read_config(str(file)) == expected


def test_only_changed_settings_are_written():
    """Defaults are not pinned, because an upgrade may bring better ones."""
    assert config_data(RunConfig())["settings"] == {}
    written = config_data(RunConfig(settings=SETTINGS))["settings"]
    assert written == {"tolerance": 0.2, "kubernetes": "1.34", "vpa": {"safetyMargin": 0.3}}


def test_printing_loads_nothing_of_the_controller():
    """Roles can be read where the extra for `hypot run` is not installed."""
    heavy = "{'aiohttp', 'msgspec', 'cryptography', 'structlog', 'numpy', 'polars'}"
    asked = f"import sys, hypot.cli.run.manifests; sys.exit(', '.join({heavy} & set(sys.modules)) or 0)"
    subprocess.run([sys.executable, "-c", asked], check=True)
