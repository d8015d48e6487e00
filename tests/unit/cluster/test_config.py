"""How a cluster is reached, found as kubectl finds it."""

import base64
import json
from pathlib import Path

import pytest

from hypot.cluster import config as module
from hypot.cluster.config import Access, AccessError, read_access

SECRET = "c2VjcmV0LXdvcmQ"  # noqa: S105  not one


@pytest.fixture(autouse=True)
def nowhere(monkeypatch, tmp_path):
    """An environment without any configuration."""
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setattr(module, "SERVICE_ACCOUNT", tmp_path / "account")


def whole(cluster=None, user=None, context=None, **more):
    """A kubeconfig with one cluster, user and context."""
    return {
        "clusters": [{"name": "c", "cluster": {"server": "https://one.test:6443/", **(cluster or {})}}],
        "users": [{"name": "u", "user": user or {}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u", **(context or {})}}],
        "current-context": "x",
        **more,
    }


def written(path: Path, data) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(data if isinstance(data, str) else json.dumps(data), encoding="utf-8")
    return str(path)


def refused(path: Path, data, context=None) -> str:
    with pytest.raises(AccessError) as reported:
        read_access(written(path, data), context)
    assert SECRET not in str(reported.value)
    return str(reported.value)


def test_everything_that_is_written_is_read(tmp_path):
    """Data is decoded, paths are relative to the kubeconfig, and `source` says where the access came from."""
    cluster = {"certificate-authority": "pki/ca.pem", "tls-server-name": "api.test"}
    data = {"client-certificate-data": base64.b64encode(b"shown").decode(), "client-key": "/pki/key.pem"}
    file = written(tmp_path / "config", whole(cluster, {**data, "token": SECRET}, {"namespace": "n"}))
    access = read_access(file)
    assert access == Access(
        server="https://one.test:6443",
        ca=tmp_path / "pki/ca.pem",
        certificate=b"shown",
        key=Path("/pki/key.pem"),
        token=SECRET,
        tls_server_name="api.test",
        namespace="n",
        source=f"{file}, context x",
    )
    assert SECRET not in repr(access)


def test_data_comes_before_a_file(tmp_path):
    """As in kubectl, where both are given."""
    both = {"certificate-authority": "ca.pem", "certificate-authority-data": base64.b64encode(b"ca").decode()}
    assert read_access(written(tmp_path / "config", whole(both))).ca == b"ca"


def test_a_token_file_comes_before_a_token(tmp_path):
    """The token next to it dates from when the kubeconfig was written."""
    access = read_access(written(tmp_path / "config", whole(user={"token": SECRET, "tokenFile": "token"})))
    assert (access.token, access.token_file) == ("", tmp_path / "token")


def test_a_context_by_name(tmp_path):
    """Any context can be chosen, and a context need not name a user."""
    data = whole()
    data["contexts"].append({"name": "y", "context": {"cluster": "c", "namespace": "other"}})
    assert read_access(written(tmp_path / "config", data), "y").namespace == "other"


def test_several_files_are_one(monkeypatch, tmp_path):
    """The first of two entries with one name counts, paths are relative to their file, and files may be missing."""
    first = {"current-context": "x", "users": [{"name": "u", "user": {"tokenFile": "mine"}}]}
    second = whole({"certificate-authority": "ca"}, {"token": SECRET}, **{"current-context": "none"})
    paths = [written(tmp_path / "a/one", first), str(tmp_path / "missing"), written(tmp_path / "b/two", second)]
    monkeypatch.setenv("KUBECONFIG", ":".join(("", *paths)))
    access = read_access()
    assert (access.token, access.token_file, access.ca) == ("", tmp_path / "a/mine", tmp_path / "b/ca")


def test_which_comes_first(monkeypatch, tmp_path):
    """The file that was named, $KUBECONFIG, the service account, and the file in the home directory."""
    account = tmp_path / "account"
    for name, text in (("token", SECRET), ("ca.crt", "ca"), ("namespace", "inside\n")):
        written(account / name, text)
    named, environment, home = (tmp_path / each for each in ("named", "environment", "home/.kube/config"))
    for path in (named, environment, home):
        written(path, whole(context={"namespace": path.name}))
    monkeypatch.setenv("KUBECONFIG", str(environment))
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "fd00::1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    assert read_access(str(named)).namespace == "named"
    assert read_access().namespace == "environment"
    monkeypatch.delenv("KUBECONFIG")
    inside = read_access()
    assert (inside.server, inside.namespace, inside.ca) == ("https://[fd00::1]:443", "inside", account / "ca.crt")
    assert (inside.token, inside.token_file) == ("", account / "token")
    assert read_access(context="x").namespace == "config"
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST")
    assert read_access().namespace == "config"


def test_nothing_is_found(monkeypatch, tmp_path):
    """The message says which places were searched, and what to do."""
    with pytest.raises(AccessError, match=r"home/\.kube/config: no such file.*set KUBECONFIG, or name a kubeconfig"):
        read_access()
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "missing"))
    with pytest.raises(AccessError, match="missing: no such file"):
        read_access()
    with pytest.raises(AccessError, match="elsewhere: cannot be read: No such file"):
        read_access(str(tmp_path / "elsewhere"))


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (whole(**{"current-context": ""}), "no current-context; choose one of: x"),
        (whole(**{"current-context": "z"}), "no context 'z'; the contexts are: x"),
        (whole(context={"cluster": "z"}), "no cluster 'z'; context x names it"),
        (whole(context={"user": "z"}), "no user 'z'; context x names it"),
        (whole({"server": ""}), "cluster c has no server"),
        (whole({"server": "one.test:6443"}), "context x: server is not an address"),
        (whole({"server": "https://a:b@one.test"}), "context x: server is not an address"),
        (whole({"server": "http://one.test"}, {"token": SECRET}), "context x: a token is not sent without TLS"),
        (
            whole({"proxy-url": "http://proxy"}),
            "cluster c: proxy-url is not supported; reach the server without a proxy",
        ),
        (whole({"insecure-skip-tls-verify": True, "certificate-authority": "a"}), "remove one of them"),
        (whole({"insecure-skip-tls-verify": "yes"}), "cluster c: insecure-skip-tls-verify is neither true nor false"),
        (whole({"certificate-authority-data": "a"}), "cluster c: certificate-authority-data is not base64"),
        (whole(user={"client-key-data": f"{SECRET}=="}), "user u: client-key-data is not base64"),
        (whole(user={"client-certificate": "a"}), "a client certificate and its key are both needed"),
        (whole(user={"token": 7}), "user u: token is not text; write it in quotes"),
        (whole(user={"auth-provider": {"name": "a"}}), "user u: auth-provider is not supported; use exec"),
        (whole(user={"username": "a", "password": SECRET}), "user u: username is not supported"),
        (whole(user={"as": "a"}), "user u: as is not supported"),
        (whole(user={"exec": {"apiVersion": "v1", "command": "a"}}), "user u, exec: apiVersion 'v1' is not one of"),
        (whole(user={"exec": {"apiVersion": module.EXEC_VERSIONS[0]}}), "user u, exec: no command"),
        (whole(user={"exec": [1]}), "user u: exec is not a mapping"),
        (whole(users="u"), "users is not a list"),
        (whole(users=[{"user": {"token": SECRET}}]), "an entry of users has no name"),
        (whole(users=[{"name": "u", "user": SECRET}]), "user u is not a mapping"),
        ([SECRET], "not a kubeconfig"),
        (f"a: [{SECRET}", "line 1: not valid YAML"),
        (f"a: !!python/object/apply:os.system [{SECRET}]", "line 1: not valid YAML"),
        (f"a: {SECRET}\x01", "not valid YAML"),
        ("[" * 100_000, "not valid YAML"),
        ("", "no contexts; name another kubeconfig"),
    ],
)
def test_errors_are_reported(tmp_path, data, said):
    """Every message names the file and what to do, and none shows a secret."""
    file = tmp_path / "config"
    message = refused(file, data)
    assert message.startswith(str(file))
    assert said in message


def test_a_kubeconfig_has_a_largest_size(monkeypatch, tmp_path):
    """A wrong path does not fill our memory."""
    monkeypatch.setattr(module, "LARGEST_KUBECONFIG", 2**20)
    assert "over 1 MiB" in refused(tmp_path / "config", "#" * 2**20 + "#")


@pytest.mark.parametrize(
    ("command", "found"), [("aws", "aws"), ("./bin/aws", "FOLDER/bin/aws"), ("/bin/aws", "/bin/aws")]
)
def test_a_plugin_is_read(tmp_path, command, found):
    """A name is looked up in PATH; anything else is a file relative to the kubeconfig."""
    pem = written(tmp_path / "ca.pem", "pem")
    how = {
        "apiVersion": "client.authentication.k8s.io/v1beta1",
        "command": command,
        "args": ["get-token"],
        "env": [{"name": "A", "value": "b"}],
        "provideClusterInfo": True,
        "installHint": "install it",
    }
    extension = {"name": "client.authentication.k8s.io/exec", "extension": {"audience": "a"}}
    cluster = {"certificate-authority": pem, "extensions": [extension]}
    plugin = read_access(written(tmp_path / "config", whole(cluster, {"exec": how}))).plugin
    assert plugin is not None
    assert plugin.command == found.replace("FOLDER", str(tmp_path))
    assert (plugin.arguments, plugin.environment, plugin.hint) == (("get-token",), {"A": "b"}, "install it")
    assert plugin.cluster == {
        "server": "https://one.test:6443/",
        "certificate-authority-data": base64.b64encode(b"pem").decode(),
        "config": {"audience": "a"},
    }


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"interactiveMode": "Always"}, "needs user input"),
        ({"args": "a"}, "args is not a list of strings"),
        ({"env": [SECRET]}, "env is not a list of names and values"),
    ],
)
def test_a_plugin_that_cannot_be_run(tmp_path, more, said):
    """What would fail or hang later is reported when it is read."""
    how = {"apiVersion": "client.authentication.k8s.io/v1", "command": "a", **more}
    assert said in refused(tmp_path / "config", whole(user={"exec": how}))
