"""The controller's own client against a real API server."""

import json

import pytest

from cluster.crds import serving
from cluster.plane.controlplane import ControlPlane
from hypot.cluster.api import Api
from hypot.cluster.config import read_access
from hypot.cluster.discovery import Discovery, ServedKind, path_of
from hypot.cluster.port import MERGE_PATCH, MayNotWriteError, RefusedError, Request, UnreachableError, encoded, expect
from hypot.kinds.hvpa import Hvpa

pytestmark = pytest.mark.asyncio
CONFIG_MAPS = ServedKind("v1", "ConfigMap", "configmaps")


def client(plane: ControlPlane, **how) -> Api:
    return Api(read_access(str(plane.kubeconfig("admin"))), **how)


def making(namespace: str, name: str) -> Request:
    body = encoded({"metadata": {"name": name}, "data": {"a": "1"}})
    return Request("POST", path_of(CONFIG_MAPS, namespace, ""), {"fieldManager": "hypot"}, body)


def replacing(namespace: str, held: dict, value: str) -> Request:
    path = path_of(CONFIG_MAPS, namespace, held["metadata"]["name"])
    return Request("PUT", path, body=encoded({**held, "data": {"a": value}}))


async def test_an_object_is_made_changed_and_removed(plane, namespace):
    """Each kind of write is done as requested, and counted without names."""
    at = path_of(CONFIG_MAPS, namespace, "one")
    async with client(plane) as api:
        made = await expect(api, making(namespace, "one"))
        patch = encoded({"metadata": {"resourceVersion": made["metadata"]["resourceVersion"]}, "data": {"b": "2"}})
        changed = await expect(api, Request("PATCH", at, {"fieldManager": "hypot"}, patch, MERGE_PATCH))
        assert changed["data"] == {"a": "1", "b": "2"}
        assert {each["manager"] for each in changed["metadata"]["managedFields"]} == {"hypot"}
        listed = await expect(api, Request("GET", path_of(CONFIG_MAPS, namespace, ""), {"labelSelector": "!a,b!=c"}))
        assert [each["metadata"]["name"] for each in listed["items"]] == ["one"]
        uid = encoded({"preconditions": {"uid": made["metadata"]["uid"]}})
        await expect(api, Request("DELETE", at, body=uid))
        assert (await api.call(Request("GET", at))).gone
        assert api.calls == {
            ("POST", "configmaps", "2xx"): 1,
            ("PATCH", "configmaps", "2xx"): 1,
            ("GET", "configmaps", "2xx"): 1,
            ("GET", "configmaps", "4xx"): 1,
            ("DELETE", "configmaps", "2xx"): 1,
        }


async def test_an_older_version_is_refused(plane, namespace):
    """For a conflict and for an existing object, the response has the server's own reason."""
    async with client(plane) as api:
        held = await expect(api, making(namespace, "one"))
        assert (await api.call(replacing(namespace, held, "2"))).ok
        late = await api.call(replacing(namespace, held, "3"))
        assert (late.conflict, late.reason) == (True, "Conflict")
        again = await api.call(making(namespace, "one"))
        assert (again.conflict, again.reason) == (True, "AlreadyExists")
        with pytest.raises(RefusedError, match=r'409 configmaps "one" already exists'):
            await expect(api, making(namespace, "one"))


async def test_without_the_right_to_write_nothing_is_written(plane, namespace):
    """Whether the right ends before the call or once the connection is open, the server never receives the write."""
    left = iter([5.0, -1.0, -1.0])
    async with client(plane, guard=lambda: next(left)) as api:
        for _ in range(2):
            with pytest.raises(MayNotWriteError, match="not sent"):
                await api.call(making(namespace, "one"))
        assert (await api.call(Request("GET", path_of(CONFIG_MAPS, namespace, "one")))).gone


async def test_a_watch_begins_with_existing_objects(plane, namespace):
    """A streaming list: existing objects, a bookmark that ends them, then each change, until the server's timeout."""
    query = {
        "watch": "1",
        "allowWatchBookmarks": "true",
        "sendInitialEvents": "true",
        "resourceVersionMatch": "NotOlderThan",
        "timeoutSeconds": "2",
    }
    async with client(plane) as api:
        held = await expect(api, making(namespace, "one"))
        async with api.watch(Request("GET", path_of(CONFIG_MAPS, namespace, ""), query)) as lines:
            first, mark = [json.loads(await anext(lines)) for _ in range(2)]
            assert (first["type"], first["object"]["metadata"]["name"]) == ("ADDED", "one")
            assert mark["type"] == "BOOKMARK"
            assert mark["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
            await expect(api, replacing(namespace, held, "x" * 500_000))
            changed = json.loads(await anext(lines))
            assert (changed["type"], len(changed["object"]["data"]["a"])) == ("MODIFIED", 500_000)
            assert [json.loads(line)["type"] async for line in lines if b"BOOKMARK" not in line] == []


async def test_a_watch_from_nowhere_is_refused(plane):
    """An invalid resource version does not begin a watch; the error says why."""
    async with client(plane) as api:
        with pytest.raises(RefusedError, match=r'GET /api/v1/pods: .*resourceVersion: Invalid value: "none"'):
            async with api.watch(Request("GET", "/api/v1/pods", {"watch": "1", "resourceVersion": "none"})):
                pytest.fail("it began")


async def test_kinds_are_found(plane, api):
    """Deployments and our own kinds have their scale, pods their resize; a kind that is not served is not found."""
    serving(api)
    async with client(plane) as ours:
        discovery = Discovery(ours)
        deployments = await discovery.resource_of("apps", "Deployment")
        assert deployments is not None
        assert (deployments.plural, deployments.namespaced, deployments.scalable) == ("deployments", True, True)
        hvpas = await discovery.resource_of("autoscaling.k8s.io", Hvpa.KIND)
        assert hvpas is not None
        assert (hvpas.plural, hvpas.scalable) == ("hvpas", True)
        pods = await discovery.resource_of("", "Pod")
        assert pods is not None
        assert {"resize", "eviction"} <= pods.subresources
        nodes = await discovery.resource_of("", "Node")
        assert nodes is not None
        assert not nodes.namespaced
        assert await discovery.resource_of("apps", "Missing") is None
        assert await discovery.resource_of("missing.test", "Thing") is None
        assert await discovery.server_version() >= (1, 33)


@pytest.mark.parametrize("name", ["..", ".", "../../secrets/a", "a/scale", "a?b", "%2E%2E"])
async def test_a_name_does_not_lead_elsewhere(plane, namespace, name):
    """Whatever a user writes as a name, the server looks for an object of that name and finds none."""
    async with client(plane) as api:
        assert (await api.call(Request("GET", path_of(CONFIG_MAPS, namespace, name)))).status in {400, 404}


async def test_another_authority_is_reported(plane, tmp_path):
    """The client does not talk to a server whose certificate authority is not that of the kubeconfig."""
    config = json.loads(plane.kubeconfig("admin").read_text(encoding="utf-8"))
    del config["clusters"][0]["cluster"]["certificate-authority"]
    (tmp_path / "config").write_text(json.dumps(config), encoding="utf-8")
    async with Api(read_access(str(tmp_path / "config"))) as api:
        with pytest.raises(UnreachableError, match=r"the certificate of 127.0.0.1 is not trusted.*context test"):
            await api.call(Request("GET", "/version"))


async def test_a_replaced_token_is_used_at_once(plane, api, namespace, tmp_path):
    """The server rejects the token; the file has a new one by then, and the call succeeds."""
    account = f"/api/v1/namespaces/{namespace}/serviceaccounts"
    api.create(account, {"metadata": {"name": "robot"}})
    issued = api.create(f"{account}/robot/token", {"spec": {"expirationSeconds": 600}})
    token = tmp_path / "token"
    token.write_text("nobody", encoding="ascii")
    config = json.loads(plane.kubeconfig("admin").read_text(encoding="utf-8"))
    config["users"][0]["user"] = {"tokenFile": str(token)}
    (tmp_path / "config").write_text(json.dumps(config), encoding="utf-8")
    async with Api(read_access(str(tmp_path / "config"))) as ours:
        assert (await ours.call(Request("GET", "/apis"))).status == 401
        token.write_text(issued["status"]["token"], encoding="ascii")
        assert (await ours.call(Request("GET", "/apis"))).ok


async def test_an_unknown_token_is_an_answer(plane, tmp_path):
    """A request with an unknown token gets the server's own response, 401."""
    config = json.loads(plane.kubeconfig("admin").read_text(encoding="utf-8"))
    config["users"][0]["user"]["token"] = "nobody"  # noqa: S105  not one
    (tmp_path / "config").write_text(json.dumps(config), encoding="utf-8")
    async with Api(read_access(str(tmp_path / "config"))) as api:
        assert (await api.call(Request("GET", "/api/v1/pods"))).status == 401
