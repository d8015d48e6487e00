"""Which resources a cluster serves, how long that is cached, and the paths of objects."""

import asyncio

import pytest

from hypot.cluster.discovery import HELD_AT_MOST, Discovery, ServedKind, path_of
from hypot.cluster.port import Answer, RefusedError, Request, UnreachableError, encoded

asynchronous = pytest.mark.asyncio
APPS = {
    "resources": [
        {"name": "deployments/status", "kind": "Deployment", "namespaced": True},
        {"name": "deployments", "kind": "Deployment", "namespaced": True},
        {"name": "deployments/scale", "kind": "Scale", "namespaced": True, "group": "autoscaling"},
        {"name": "daemonsets", "kind": "DaemonSet", "namespaced": True},
        {"name": "others", "kind": "DaemonSet", "namespaced": True},
        {"name": "nodes", "kind": "Node", "namespaced": False},
        {"name": 7},
        "odd",
    ]
}
DEPLOYMENTS = ServedKind(
    "apps/v1", "Deployment", "deployments", namespaced=True, subresources=frozenset({"status", "scale"})
)
NODES = ServedKind("v1", "Node", "nodes", namespaced=False)


class Served:
    """A port with these answers, which records the requests."""

    def __init__(self, answers) -> None:
        self.answers, self.asked = answers, []

    async def call(self, request: Request) -> Answer:
        self.asked.append(request.path)
        await asyncio.sleep(0)
        answer = self.answers.get(request.path, Answer(404))
        if isinstance(answer, Exception):
            raise answer
        return answer

    def watch(self, _):
        raise NotImplementedError


def serving(path: str, body) -> Served:
    return Served({path: Answer(200, encoded(body))})


def group(*versions: str, preferred: str = "") -> Answer:
    """An APIGroup."""
    first = {"preferredVersion": {"groupVersion": preferred}} if preferred else {}
    return Answer(200, encoded({"versions": [{"groupVersion": each} for each in versions], **first}))


def apps() -> Served:
    return Served({"/apis/apps": group("apps/v1"), "/apis/apps/v1": Answer(200, encoded(APPS))})


@asynchronous
async def test_a_kind_is_found():
    """The result has the plural, whether the kind is namespaced, and its subresources."""
    port = apps()
    discovery = Discovery(port)
    assert await discovery.resource_of("apps", "Deployment") == DEPLOYMENTS
    daemons, nodes = [await discovery.resource_of("apps", kind) for kind in ("DaemonSet", "Node")]
    assert DEPLOYMENTS.scalable
    assert daemons is not None
    assert (daemons.plural, daemons.scalable) == ("daemonsets", False)
    assert nodes is not None
    assert not nodes.namespaced
    assert await discovery.resource_of("apps", "Scale") is None
    assert port.asked == ["/apis/apps", "/apis/apps/v1"]


@asynchronous
async def test_the_core_group_has_its_own_place():
    """It is the only group without a name."""
    port = serving("/api/v1", {"resources": [{"name": "nodes", "kind": "Node", "namespaced": False}]})
    assert await Discovery(port).resource_of("", "Node") == NODES


@asynchronous
async def test_results_are_cached_for_ten_minutes():
    """A missing kind is cached for one minute, because it may be installed at any moment."""
    now, port = [0.0], apps()
    discovery = Discovery(port, lambda: now[0])
    for now[0], kind, asked in (
        (0, "Deployment", 2),
        (599, "Deployment", 2),
        (600, "Deployment", 4),
        (659, "Missing", 4),
        (660, "Missing", 6),
        (661, "Deployment", 6),
    ):
        await discovery.resource_of("apps", kind)
        assert len(port.asked) == asked, now


@asynchronous
async def test_a_group_that_is_not_served_is_not_an_error():
    """Nothing is found until the group is installed."""
    now, port = [0.0], Served({})
    discovery = Discovery(port, lambda: now[0])
    assert await discovery.resource_of("x.test", "Thing") is None
    port.answers["/apis/x.test"] = group("x.test/v1")
    port.answers["/apis/x.test/v1"] = Answer(200, encoded({"resources": [{"name": "things", "kind": "Thing"}]}))
    assert await discovery.resource_of("x.test", "Thing") is None
    now[0] = 60
    found = await discovery.resource_of("x.test", "Thing")
    assert found is not None
    assert found.plural == "things"


@asynchronous
@pytest.mark.parametrize("path", ["/apis/apps", "/apis/apps/v1"])
@pytest.mark.parametrize("failure", [Answer(503), Answer(403), UnreachableError("cut")])
async def test_a_failure_is_not_cached(failure, path):
    """The failure is raised, and the next call asks again."""
    port = apps()
    good, port.answers[path] = port.answers[path], failure
    discovery = Discovery(port)
    with pytest.raises((RefusedError, UnreachableError)):
        await discovery.resource_of("apps", "Deployment")
    port.answers[path] = good
    assert await discovery.resource_of("apps", "Deployment") == DEPLOYMENTS


@asynchronous
async def test_concurrent_callers_share_one_request():
    """Two thousand autoscalers with one kind of target make one call."""
    port = apps()
    discovery = Discovery(port)
    found = await asyncio.gather(*(discovery.resource_of("apps", "Deployment") for _ in range(50)))
    assert set(found) == {DEPLOYMENTS}
    assert port.asked == ["/apis/apps", "/apis/apps/v1"]


@asynchronous
async def test_a_group_with_several_versions():
    """The server's preferred version comes first, unless only another one can be scaled."""
    things, scale = {"name": "things", "kind": "Thing"}, {"name": "things/scale", "kind": "Scale"}
    old = {"name": "olds", "kind": "Old"}
    port = Served(
        {
            "/apis/x.test": group("x.test/v1", "x.test/v2", "x.test/v3", preferred="x.test/v2"),
            "/apis/x.test/v1": Answer(200, encoded({"resources": [things, scale, old]})),
            "/apis/x.test/v2": Answer(200, encoded({"resources": [things, scale]})),
        }
    )
    discovery = Discovery(port)
    found = [await discovery.resource_of("x.test", kind) for kind in ("Thing", "Old")]
    assert [one.api_version for one in found if one] == ["x.test/v2", "x.test/v1"]
    port.answers["/apis/x.test/v2"] = Answer(200, encoded({"resources": [things]}))
    scaled = await Discovery(port).resource_of("x.test", "Thing")
    assert scaled is not None
    assert scaled.api_version == "x.test/v1"


@asynchronous
@pytest.mark.parametrize("body", ["odd", {}, {"versions": 7}, {"versions": [7, {}, {"groupVersion": "a/b/c"}]}])
async def test_an_odd_group(body):
    """An answer that is not a group has no kinds."""
    port = serving("/apis/x.test", body)
    assert await Discovery(port).resource_of("x.test", "Thing") is None


@asynchronous
async def test_an_invalid_group_is_not_requested():
    """Users write it, so it may be any text."""
    port = Served({})
    assert await Discovery(port).resource_of("a/b", "Deployment") is None
    assert port.asked == []


@asynchronous
async def test_the_cache_is_bounded():
    """Old groups are dropped, however many are requested."""
    discovery = Discovery(Served({}))
    for number in range(HELD_AT_MOST * 2 + 5):
        await discovery.resource_of(f"x{number}", "Thing")
    assert len(discovery._served) <= HELD_AT_MOST
    assert len(discovery._asking) <= HELD_AT_MOST


@asynchronous
@pytest.mark.parametrize(("minor", "number"), [("36", 36), ("36+", 36), ("33-gke.1", 33)])
async def test_the_version_of_the_server(minor, number):
    """Vendors append their own text to the minor version."""
    assert await Discovery(serving("/version", {"major": "1", "minor": minor})).server_version() == (1, number)


@asynchronous
@pytest.mark.parametrize("answer", [Answer(200, b"{}"), Answer(200, b"[]"), Answer(500, b"{}"), Answer(200, b"no")])
async def test_a_server_without_a_version(answer):
    """An answer that is not a version raises RefusedError."""
    with pytest.raises(RefusedError, match="GET /version"):
        await Discovery(Served({"/version": answer})).server_version()


@pytest.mark.parametrize(
    ("resource", "parts", "path"),
    [
        (DEPLOYMENTS, ("a", "b"), "/apis/apps/v1/namespaces/a/deployments/b"),
        (DEPLOYMENTS, ("a", "b", "scale"), "/apis/apps/v1/namespaces/a/deployments/b/scale"),
        (DEPLOYMENTS, ("a", ""), "/apis/apps/v1/namespaces/a/deployments"),
        (DEPLOYMENTS, ("", ""), "/apis/apps/v1/deployments"),
        (NODES, ("a", "b"), "/api/v1/nodes/b"),
        (DEPLOYMENTS, ("a", "../x?y#z%"), "/apis/apps/v1/namespaces/a/deployments/..%2Fx%3Fy%23z%25"),
        (DEPLOYMENTS, ("..", "."), "/apis/apps/v1/namespaces/%2E%2E/deployments/%2E"),
    ],
)
def test_paths_of_objects(resource, parts, path):
    """Any name stays a single segment of the path."""
    assert path_of(resource, *parts) == path
