"""The in-memory cluster answers like an API server, as far as we rely on it."""

import asyncio
import json

import pytest

from fake_cluster import FakeCluster
from fake_objects import path_of
from hypot.cluster.port import (
    APPLY_PATCH,
    MERGE_PATCH,
    STRATEGIC_PATCH,
    Answer,
    RefusedError,
    Request,
    UnreachableError,
    encoded,
)

pytestmark = [pytest.mark.asyncio, pytest.mark.looptime]

PODS = "/api/v1/namespaces/shop/pods"
WEB = "/apis/apps/v1/namespaces/shop/deployments/web"
HVPAS = "/apis/autoscaling.k8s.io/v1alpha1/hvpas"


def pod(name="web-0", namespace="shop", **metadata):
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, **metadata},
        "spec": {"containers": [{"name": "app", "image": "web:1"}, {"name": "proxy", "image": "proxy:1"}]},
    }


def deployment(replicas=3):
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}},
        "status": {"replicas": 2},
    }


async def ask(cluster, method, path, body=None, *, content="application/json", **query):
    return await cluster.call(Request(method, path, query, None if body is None else encoded(body), content))


async def lines(cluster, path, count, **query):
    """The first lines of a watch, decoded."""
    async with cluster.watch(Request("GET", path, {"watch": "true", **query})) as stream:
        return [json.loads(await anext(stream)) for _ in range(count)]


def reported(events):
    return [(each["type"], each["object"]["metadata"].get("name")) for each in events]


class TestPaths:
    """Paths of objects."""

    @pytest.mark.parametrize(
        ("version", "kind", "namespace", "path"),
        [
            ("v1", "Pod", "a", "/api/v1/namespaces/a/pods/x"),
            ("v1", "Namespace", "", "/api/v1/namespaces/x"),
            ("networking.k8s.io/v1", "NetworkPolicy", "a", "/apis/networking.k8s.io/v1/namespaces/a/networkpolicies/x"),
            ("networking.k8s.io/v1", "Ingress", "a", "/apis/networking.k8s.io/v1/namespaces/a/ingresses/x"),
            ("metrics.k8s.io/v1beta1", "PodMetrics", "a", "/apis/metrics.k8s.io/v1beta1/namespaces/a/pods/x"),
            ("autoscaling.k8s.io/v1alpha1", "Hvpa", "a", "/apis/autoscaling.k8s.io/v1alpha1/namespaces/a/hvpas/x"),
        ],
    )
    async def test_of_kinds(self, version, kind, namespace, path):
        """An object that was put is at the path a client uses."""
        thing = {"apiVersion": version, "kind": kind, "metadata": {"name": "x", "namespace": namespace}}
        assert path_of(thing) == path
        cluster = FakeCluster()
        cluster.put(thing)
        assert (await ask(cluster, "GET", path)).json()["kind"] == kind

    async def test_nowhere(self):
        """Unknown paths, kinds that are not served, and fixed answers."""
        cluster = FakeCluster()
        cluster.absent.add(HVPAS)
        cluster.fixed["/version"] = Answer(200, b'{"minor":"34"}')
        assert (await ask(cluster, "GET", "/version")).json() == {"minor": "34"}
        assert (await ask(cluster, "GET", "/healthz")).gone
        assert (await ask(cluster, "GET", HVPAS)).gone
        assert (await ask(cluster, "GET", "/apis/autoscaling.k8s.io/v1alpha1/namespaces/a/hvpas/x")).gone
        assert (await ask(cluster, "GET", f"{PODS}/none")).reason == "NotFound"
        with pytest.raises(RefusedError, match="404"):
            await lines(cluster, HVPAS, 1)


class TestWrites:
    """Writes and their conflicts."""

    async def test_create(self):
        """A new object gets the server's fields but no status; creating it again is refused."""
        cluster = FakeCluster(wall=lambda: 1_800_000_000)
        answer = await ask(cluster, "POST", PODS, {**pod(), "status": {"phase": "Running"}})
        made = answer.json()
        assert answer.status == 201
        assert made["metadata"]["creationTimestamp"] == "2027-01-15T08:00:00Z"
        assert (made["metadata"]["uid"], made["metadata"]["generation"]) == ("uid-2", 1)
        assert "status" not in made
        again = await ask(cluster, "POST", PODS, pod())
        assert (again.status, again.reason) == (409, "AlreadyExists")
        named = await ask(cluster, "POST", PODS, {**pod(), "metadata": {"generateName": "web-"}})
        assert named.json()["metadata"]["name"].startswith("web-")
        assert len(cluster.objects("/api/v1/pods")) == 2

    async def test_put(self):
        """An outdated version or another uid is a conflict; the status is kept; an equal object is not a change."""
        cluster = FakeCluster()
        stands = cluster.put(deployment())
        new = {**stands, "spec": {**stands["spec"], "replicas": 5}, "status": {"replicas": 99}}
        done = (await ask(cluster, "PUT", WEB, new)).json()
        assert (done["spec"]["replicas"], done["status"], done["metadata"]["generation"]) == (5, {"replicas": 2}, 2)
        refused = await ask(cluster, "PUT", WEB, new)
        assert (refused.status, refused.reason) == (409, "Conflict")
        other = {**done, "metadata": {**done["metadata"], "uid": "another"}}
        assert (await ask(cluster, "PUT", WEB, other)).conflict
        same = (await ask(cluster, "PUT", WEB, done)).json()
        assert same["metadata"]["resourceVersion"] == done["metadata"]["resourceVersion"]
        assert (await ask(cluster, "PUT", f"{WEB}2", done)).gone

    async def test_merge_patch(self):
        """Null removes a key, lists are replaced, and a version in the patch is a precondition."""
        cluster = FakeCluster()
        stands = cluster.put(pod(labels={"a": "1", "b": "2"}))
        patch = {"metadata": {"labels": {"a": None, "c": "3"}}, "spec": {"containers": [{"name": "app"}]}}
        done = (await ask(cluster, "PATCH", f"{PODS}/web-0", patch, content=MERGE_PATCH)).json()
        assert done["metadata"]["labels"] == {"b": "2", "c": "3"}
        assert done["spec"]["containers"] == [{"name": "app"}]
        patch["metadata"]["resourceVersion"] = stands["metadata"]["resourceVersion"]
        assert (await ask(cluster, "PATCH", f"{PODS}/web-0", patch, content=MERGE_PATCH)).conflict
        assert (await ask(cluster, "PATCH", f"{PODS}/web-0", patch)).status == 415

    async def test_strategic_patch(self):
        """Containers are merged by name."""
        cluster = FakeCluster()
        cluster.put(pod())
        patch = {"spec": {"containers": [{"name": "proxy", "image": "proxy:2"}, {"name": "new"}]}}
        done = (await ask(cluster, "PATCH", f"{PODS}/web-0", patch, content=STRATEGIC_PATCH)).json()
        images = {each["name"]: each.get("image") for each in done["spec"]["containers"]}
        assert images == {"app": "web:1", "proxy": "proxy:2", "new": None}

    async def test_apply(self):
        """Apply creates a missing object or merges into an existing one; the field manager is required."""
        cluster = FakeCluster()
        one = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}, "data": {"a": "1"}}
        path = "/api/v1/namespaces/shop/configmaps/m"
        assert (await ask(cluster, "PATCH", path, one, content=APPLY_PATCH)).status == 400
        assert (await ask(cluster, "PATCH", path, one, content=APPLY_PATCH, fieldManager="hypot")).status == 201
        two = {**one, "data": {"b": "2"}}
        assert (await ask(cluster, "PATCH", path, two, content=APPLY_PATCH, fieldManager="hypot")).status == 200
        assert cluster.get(path)["data"] == {"a": "1", "b": "2"}
        late = {**one, "metadata": {"name": "n", "resourceVersion": "7"}}
        assert (await ask(cluster, "PATCH", f"{path}2", late, content=APPLY_PATCH, fieldManager="hypot")).gone

    async def test_delete(self):
        """Preconditions are checked; an object with finalizers stays until they are removed."""
        cluster = FakeCluster()
        stands = cluster.put(pod(finalizers=["x"]))
        wrong = {"preconditions": {"uid": "another"}}
        assert (await ask(cluster, "DELETE", f"{PODS}/web-0", wrong)).conflict
        right = {"preconditions": {"uid": stands["metadata"]["uid"]}}
        assert (await ask(cluster, "DELETE", f"{PODS}/web-0", right)).ok
        assert cluster.get(f"{PODS}/web-0")["metadata"]["deletionTimestamp"]
        free = {"metadata": {"finalizers": None}}
        assert (await ask(cluster, "PATCH", f"{PODS}/web-0", free, content=MERGE_PATCH)).ok
        assert cluster.get(f"{PODS}/web-0") is None
        assert (await ask(cluster, "DELETE", f"{PODS}/web-0")).gone

    async def test_dry_run(self):
        """The answer is the same, but nothing changes."""
        cluster = FakeCluster()
        stands = cluster.put(deployment())
        new = {**stands, "spec": {"replicas": 9}}
        assert (await ask(cluster, "PUT", WEB, new, dryRun="All")).json()["spec"]["replicas"] == 9
        assert (await ask(cluster, "POST", PODS, pod(), dryRun="All")).status == 201
        assert cluster.get(WEB) == stands
        assert cluster.objects("/api/v1/pods") == []

    async def test_what_is_read_is_a_copy(self):
        """Changing a returned object does not change the cluster."""
        cluster = FakeCluster()
        mine = deployment()
        cluster.put(mine)["spec"]["replicas"] = 7
        mine["spec"]["replicas"] = 8
        cluster.get(WEB)["spec"]["replicas"] = 9
        cluster.objects("/apis/apps/v1/deployments")[0]["spec"]["replicas"] = 10
        assert cluster.get(WEB)["spec"]["replicas"] == 3
        cluster.remove(WEB)
        cluster.remove(WEB)
        assert cluster.get(WEB) is None


class TestSubresources:
    """Subresources, each with its own path."""

    async def test_scale(self):
        """Replicas are read and written on their own, with the version of the object."""
        cluster = FakeCluster()
        cluster.put(deployment())
        scale = (await ask(cluster, "GET", f"{WEB}/scale")).json()
        assert (scale["kind"], scale["spec"], scale["status"]) == (
            "Scale",
            {"replicas": 3},
            {"replicas": 2, "selector": "app=web"},
        )
        scale["spec"]["replicas"] = 4
        assert (await ask(cluster, "PUT", f"{WEB}/scale", scale)).json()["spec"] == {"replicas": 4}
        assert (await ask(cluster, "PUT", f"{WEB}/scale", scale)).conflict
        patch = {"spec": {"replicas": 6}}
        assert (await ask(cluster, "PATCH", f"{WEB}/scale", patch, content=MERGE_PATCH)).ok
        stands = cluster.get(WEB)
        assert (stands["spec"]["replicas"], stands["metadata"]["generation"]) == (6, 3)
        assert stands["spec"]["selector"] == {"matchLabels": {"app": "web"}}

    async def test_scale_of_custom_objects(self):
        """Any object with spec.replicas has a scale; its selector comes from the status."""
        cluster = FakeCluster()
        metadata = {"name": "h", "namespace": "shop"}
        thing = {"apiVersion": "autoscaling.k8s.io/v1alpha1", "kind": "Hvpa", "metadata": metadata}
        cluster.put({**thing, "spec": {"replicas": 2}, "status": {"replicas": 1, "selector": "a=b"}})
        scale = (await ask(cluster, "GET", "/apis/autoscaling.k8s.io/v1alpha1/namespaces/shop/hvpas/h/scale")).json()
        assert scale["status"] == {"replicas": 1, "selector": "a=b"}

    async def test_status(self):
        """Only the status changes, and the generation stays."""
        cluster = FakeCluster()
        stands = cluster.put(deployment())
        new = {**stands, "spec": {"replicas": 9}, "status": {"replicas": 5}}
        done = (await ask(cluster, "PUT", f"{WEB}/status", new)).json()
        assert (done["spec"]["replicas"], done["status"], done["metadata"]["generation"]) == (3, {"replicas": 5}, 1)
        applied = {"status": {"conditions": [{"type": "A"}]}}
        answer = await ask(cluster, "PATCH", f"{WEB}/status", applied, content=APPLY_PATCH, fieldManager="hypot")
        assert answer.json()["status"] == {"replicas": 5, "conditions": [{"type": "A"}]}
        assert (await ask(cluster, "PUT", f"{WEB}/status", new)).conflict
        assert (await ask(cluster, "POST", f"{WEB}/status", new)).status == 405

    async def test_resize(self):
        """Only the resources of containers change."""
        cluster = FakeCluster()
        cluster.put(pod())
        asked = {"requests": {"cpu": "2"}}
        patch = {"spec": {"containers": [{"name": "app", "image": "evil", "resources": asked}]}}
        answer = await ask(cluster, "PATCH", f"{PODS}/web-0/resize", patch, content=STRATEGIC_PATCH)
        app, proxy = answer.json()["spec"]["containers"]
        assert app == {"name": "app", "image": "web:1", "resources": asked}
        assert proxy["image"] == "proxy:1"

    async def test_eviction(self):
        """The given pod is deleted, unless a budget allows no disruption."""
        cluster = FakeCluster()
        uid = cluster.put(pod(labels={"app": "web"}))["metadata"]["uid"]
        budget = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget"}
        budget |= {
            "metadata": {"name": "b", "namespace": "shop"},
            "spec": {"selector": {"matchLabels": {"app": "web"}}},
        }
        cluster.put({**budget, "status": {"disruptionsAllowed": 0}})
        eviction = {"kind": "Eviction", "deleteOptions": {"preconditions": {"uid": uid}}}
        assert (await ask(cluster, "POST", f"{PODS}/web-0/eviction", eviction)).status == 429
        cluster.put({**budget, "status": {"disruptionsAllowed": 1}})
        another = {"deleteOptions": {"preconditions": {"uid": "another"}}}
        assert (await ask(cluster, "POST", f"{PODS}/web-0/eviction", another)).conflict
        assert (await ask(cluster, "POST", f"{PODS}/web-0/eviction", eviction)).status == 201
        assert (await ask(cluster, "POST", f"{PODS}/web-0/eviction", eviction)).gone


class TestLists:
    """Lists, whole and in pages."""

    async def test_selectors(self):
        """By namespace, labels and fields; items of built-in kinds come without their kind, as from a real server."""
        cluster = FakeCluster()
        cluster.put(pod("a", labels={"app": "x"}))
        cluster.put(pod("b"))
        cluster.put(pod("c", namespace="other"))
        cluster.put({"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "t"}})

        async def names(path, **query):
            answer = (await ask(cluster, "GET", path, **query)).json()
            return [each["metadata"]["name"] for each in answer["items"]]

        assert await names("/api/v1/pods") == ["c", "a", "b"]
        assert await names(PODS) == ["a", "b"]
        assert await names(PODS, labelSelector="app=x") == ["a"]
        assert await names(PODS, fieldSelector="metadata.name!=a") == ["b"]
        assert await names(PODS, fieldSelector="metadata.name=a,spec.nodeName=") == ["a"]
        plain = (await ask(cluster, "GET", PODS)).json()
        assert (plain["kind"], "kind" in plain["items"][0]) == ("PodList", False)
        custom = (await ask(cluster, "GET", "/apis/example.com/v1/things")).json()
        assert custom["items"][0]["kind"] == "Thing"

    async def test_pages(self):
        """Later pages show the objects as of the first page; after expiry they are gone."""
        cluster = FakeCluster()
        for name in "abcde":
            cluster.put(pod(name))
        first = (await ask(cluster, "GET", PODS, limit="2")).json()
        cluster.remove(f"{PODS}/d")
        token = first["metadata"]["continue"]
        second = (await ask(cluster, "GET", PODS, limit="2", **{"continue": token})).json()
        assert [each["metadata"]["name"] for each in second["items"]] == ["c", "d"]
        assert second["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]
        assert second["metadata"]["remainingItemCount"] == 1
        cluster.expire()
        late = await ask(cluster, "GET", PODS, limit="2", **{"continue": second["metadata"]["continue"]})
        assert (late.status, late.reason) == (410, "Expired")


class TestWatches:
    """Streams of changes."""

    async def test_from_a_version(self):
        """All changes since that version come in order."""
        cluster = FakeCluster()
        since = cluster.put(pod("a"))["metadata"]["resourceVersion"]
        cluster.put(pod("b"))
        cluster.put(pod("b", labels={"x": "y"}))
        cluster.remove(f"{PODS}/a")
        events = await lines(cluster, PODS, 3, resourceVersion=since)
        assert reported(events) == [("ADDED", "b"), ("MODIFIED", "b"), ("DELETED", "a")]
        versions = [int(each["object"]["metadata"]["resourceVersion"]) for each in events]
        assert versions == sorted(set(versions))

    async def test_live_and_by_selector(self):
        """An object that leaves the selector is deleted for that watch."""
        cluster = FakeCluster()
        cluster.put(pod("a", labels={"app": "x"}))
        request = Request("GET", PODS, {"watch": "true", "labelSelector": "app=x"})
        async with cluster.watch(request) as stream:
            assert reported([json.loads(await anext(stream))]) == [("ADDED", "a")]
            cluster.put(pod("other"))
            cluster.put(pod("a", labels={"app": "z"}))
            cluster.put(pod("a", labels={"app": "x"}))
            assert reported([json.loads(await anext(stream)) for _ in range(2)]) == [("DELETED", "a"), ("ADDED", "a")]

    async def test_expired(self):
        """An expired version gets an ERROR event with 410, and the stream ends."""
        cluster = FakeCluster()
        since = cluster.put(pod("a"))["metadata"]["resourceVersion"]
        cluster.put(pod("b"))
        cluster.expire()
        async with cluster.watch(Request("GET", PODS, {"resourceVersion": since})) as stream:
            events = [json.loads(line) async for line in stream]
        assert [(each["type"], each["object"]["code"]) for each in events] == [("ERROR", 410)]

    async def test_streaming_list(self):
        """All objects come first, then the bookmark that ends the list; refused if it is switched off."""
        cluster = FakeCluster()
        cluster.put(pod("a"))
        query = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "allowWatchBookmarks": "true"}
        events = await lines(cluster, PODS, 2, **query)
        assert reported(events) == [("ADDED", "a"), ("BOOKMARK", None)]
        assert events[1]["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
        cluster.streaming = False
        with pytest.raises(RefusedError, match="422 sendInitialEvents"):
            await lines(cluster, PODS, 1, **query)

    async def test_bookmarks_and_end(self):
        """A bookmark comes every minute where requested, until the requested time is over."""
        cluster = FakeCluster()
        query = {"resourceVersion": "1", "allowWatchBookmarks": "true", "timeoutSeconds": "150"}
        async with cluster.watch(Request("GET", PODS, query)) as stream:
            events = [json.loads(line) async for line in stream]
        assert [each["type"] for each in events] == ["BOOKMARK"] * 3
        assert asyncio.get_running_loop().time() == 150

    async def test_a_bookmark_never_runs_ahead(self):
        """A change at the moment of a bookmark comes before it, so a watch from there misses nothing."""
        cluster = FakeCluster()
        loop = asyncio.get_running_loop()
        async with cluster.watch(
            Request("GET", PODS, {"resourceVersion": "1", "allowWatchBookmarks": "true"})
        ) as stream:
            first = asyncio.ensure_future(anext(stream))
            await asyncio.sleep(1)
            loop.call_at(60, cluster.put, pod("a"))
            assert reported([json.loads(await first), json.loads(await anext(stream))]) == [
                ("ADDED", "a"),
                ("BOOKMARK", None),
            ]

    async def test_faults(self):
        """Cut, ended, silent and refused streams, as on a bad network."""
        cluster = FakeCluster()
        request = Request("GET", PODS, {"resourceVersion": "1", "allowWatchBookmarks": "true"})
        async with cluster.watch(request) as stream:
            cluster.cut_watches()
            with pytest.raises(UnreachableError):
                await anext(stream)
        async with cluster.watch(request) as stream:
            cluster.end_watches()
            assert [line async for line in stream] == []
        async with cluster.watch(request) as stream:
            cluster.silence_watches()
            cluster.put(pod("a"))
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(7200):
                    await anext(stream)
        cluster.faults = lambda _: Answer(429, b"", 3.0)
        assert (await cluster.call(request)).retry_after == 3.0
        with pytest.raises(RefusedError):
            await lines(cluster, PODS, 1)
        cluster.faults = lambda _: UnreachableError("no")
        with pytest.raises(UnreachableError):
            await cluster.call(request)
        assert len(cluster.calls) == 6
