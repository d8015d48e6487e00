"""Workloads of other packages as targets: name, namespace and containers are read off the objects themselves."""

import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from hypot import HPA, InvalidAutoscaler, Ref, cpu
from hypot.kinds.authored.given_target import given_target

WEB = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "namespace": "shop"},
    "spec": {
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {
                "containers": [
                    {"name": "app", "image": "web", "resources": {"requests": {"cpu": "100m"}}},
                    {"name": "proxy", "image": "proxy"},
                ]
            },
        },
    },
}


class Version(BaseHTTPRequestHandler):
    """kr8s asks for the version of the API server before it makes an object."""

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(b'{"major": "1", "minor": "36", "gitVersion": "v1.36.0"}')

    def log_message(self, *_):
        """Say nothing."""


@pytest.fixture
def kubeconfig(tmp_path, monkeypatch):
    """A cluster that knows its version."""
    server = HTTPServer(("127.0.0.1", 0), Version)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    file = tmp_path / "config"
    file.write_text(
        f"""
apiVersion: v1
kind: Config
clusters: [{{name: c, cluster: {{server: "http://127.0.0.1:{server.server_port}"}}}}]
contexts: [{{name: c, context: {{cluster: c, user: u}}}}]
users: [{{name: u, user: {{token: t}}}}]
current-context: c
""",
        encoding="utf-8",
    )
    monkeypatch.setenv("KUBECONFIG", str(file))
    yield file
    server.shutdown()
    thread.join()
    server.server_close()


def checked(target, namespace="shop"):
    """An HPA of this target is made, and one that cannot work is refused."""
    given = given_target(target)
    assert given.ref == Ref("apps/v1", "Deployment", "web")
    made = HPA(target, max_replicas=5, metrics=[cpu(utilization=70, container="app")])
    assert (made.name, made.namespace) == ("web", namespace)
    with pytest.raises(InvalidAutoscaler, match="container proxy of Deployment/web has no cpu request"):
        HPA(target, max_replicas=5)
    with pytest.raises(InvalidAutoscaler, match="has no container nope"):
        HPA(target, max_replicas=5, metrics=[cpu(average="1", container="nope")])


def test_kr8s(kubeconfig):
    """Its objects keep the manifest in `raw`."""
    assert kubeconfig.exists()
    objects = pytest.importorskip("kr8s.objects", reason="kr8s is not installed: make test-interop has it")
    checked(objects.Deployment(WEB))


def test_lightkube():
    """Its dataclasses write manifests."""
    apps = pytest.importorskip("lightkube.resources.apps_v1", reason="lightkube is not installed")
    checked(apps.Deployment.from_dict(WEB))


def test_a_generic_resource_of_lightkube():
    """Only its class knows its kind."""
    generic = pytest.importorskip("lightkube.generic_resource", reason="lightkube is not installed")
    meta = pytest.importorskip("lightkube.models.meta_v1", reason="lightkube is not installed")
    cls = generic.create_namespaced_resource("argoproj.io", "v1alpha1", "Rollout", "rollouts")
    assert given_target(cls(metadata=meta.ObjectMeta(name="web"))).ref == Ref("argoproj.io/v1alpha1", "Rollout", "web")


@pytest.mark.parametrize("named", [True, False])
def test_the_official_client(named):
    """Its models write JSON; those out of a list have neither kind nor apiVersion."""
    client = pytest.importorskip("kubernetes.client", reason="kubernetes is not installed: make test-interop has it")
    containers = [
        client.V1Container(name="app", resources=client.V1ResourceRequirements(requests={"cpu": "100m"})),
        client.V1Container(name="proxy"),
    ]
    template = client.V1PodTemplateSpec(spec=client.V1PodSpec(containers=containers))
    spec = client.V1DeploymentSpec(selector=client.V1LabelSelector(match_labels={"app": "web"}), template=template)
    metadata = client.V1ObjectMeta(name="web", namespace="shop")
    head = {"api_version": "apps/v1", "kind": "Deployment"} if named else {}
    checked(client.V1Deployment(**head, metadata=metadata, spec=spec))


def test_cdk8s_plus(node):
    """A construct has its API object, with the name that cdk8s makes."""
    assert node
    cdk8s = pytest.importorskip("cdk8s", reason="cdk8s is not installed: make test-interop has it")
    plus = pytest.importorskip("cdk8s_plus_37", reason="cdk8s-plus is not installed: make test-interop has it")
    chart = cdk8s.Chart(cdk8s.App(), "shop")
    metadata = cdk8s.ApiObjectMetadata(name="web", namespace="shop")
    web = plus.Deployment(chart, "web", metadata=metadata, containers=[plus.ContainerProps(image="web", name="app")])
    made = HPA(web, max_replicas=5, metrics=[cpu(utilization=70)])
    assert (made.name, made.namespace) == ("web", "shop")
    with pytest.raises(InvalidAutoscaler, match="has no container nope; its containers are app"):
        HPA(web, max_replicas=5, metrics=[cpu(average="1", container="nope")])
