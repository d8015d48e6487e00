"""Rows follow the cluster, whatever happens to a watch."""

import asyncio
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import pairwise

import looptime
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from structlog.testing import capture_logs

from fake_cluster import FakeCluster
from hypot.cluster.port import Answer, OutageError, Request, UnreachableError, encoded
from hypot.cluster.reflector import Reflector

PODS = "/api/v1/pods"
END = encoded(
    {
        "type": "BOOKMARK",
        "object": {"metadata": {"resourceVersion": "7", "annotations": {"k8s.io/initial-events-end": "true"}}},
    }
)


def now():
    return asyncio.get_running_loop().time()


def pod(name, size=1, namespace="shop", **labels):
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
        "spec": {"size": size},
    }


def keep(thing):
    """The size; None for hidden pods, and an error for bad ones."""
    size = thing["spec"]["size"]
    if size == "bad":
        raise ValueError("no size at all")
    return None if size == "hidden" else size


def reflector(port, **changes):
    return Reflector(port, PODS, **{"keep": keep, "clock": now, "random": lambda: 0.5, **changes})


@asynccontextmanager
async def running(*reflectors):
    tasks = [asyncio.create_task(each.run()) for each in reflectors]
    try:
        yield tasks
        assert not any(task.done() for task in tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def watches(cluster):
    return [call for call in cluster.calls if call.query.get("watch")]


def in_shop(**rows):
    return {("shop", name): size for name, size in rows.items()}


@pytest.mark.asyncio
@pytest.mark.looptime
class TestFollowing:
    """Lists and changes without faults."""

    @pytest.mark.parametrize("streaming", [True, False])
    async def test_rows_follow(self, streaming):
        """Rows follow objects that exist, come, change and go; with a server that streams lists and an older server."""
        cluster = FakeCluster(streaming=streaming)
        cluster.put(pod("a"))
        cluster.put(pod("b", "hidden"))
        pods = reflector(cluster)
        assert not pods.synced
        assert pods.age() == float("inf")
        async with running(pods):
            await pods.wait_synced()
            assert pods.rows == in_shop(a=1)
            cluster.put(pod("a", 2))
            cluster.put(pod("b", 3))
            cluster.put(pod("c", 4, namespace="other"))
            await asyncio.sleep(1)
            assert pods.rows == {**in_shop(a=2, b=3), ("other", "c"): 4}
            cluster.put(pod("b", "hidden"))
            cluster.remove("/api/v1/namespaces/shop/pods/a")
            await asyncio.sleep(1)
            assert pods.rows == {("other", "c"): 4}
        assert (pods.lists, pods.synced, pods.missing, pods.trouble) == (1, True, False, "")

    async def test_what_is_asked(self):
        """A streaming list continues as the watch: one request for everything, with bookmarks and a time limit."""
        cluster = FakeCluster()
        async with running(reflector(cluster, query={"labelSelector": "app=x"})):
            await asyncio.sleep(250)
        [request] = cluster.calls
        assert request.query == {
            "labelSelector": "app=x",
            "watch": "true",
            "allowWatchBookmarks": "true",
            "timeoutSeconds": "300",
            "sendInitialEvents": "true",
            "resourceVersionMatch": "NotOlderThan",
        }

    async def test_jitter(self):
        """Streams do not all end at once."""
        cluster = FakeCluster()
        async with running(reflector(cluster, random=lambda: 0.0), reflector(cluster, random=lambda: 1.0)):
            await asyncio.sleep(1)
        assert [call.query["timeoutSeconds"] for call in cluster.calls] == ["240", "360"]

    async def test_kinds_are_the_same_either_way(self):
        """A list omits kind and apiVersion, a watch does not: `keep` always gets them, and each object once."""
        seen = []
        cluster = FakeCluster(streaming=False)
        cluster.put(pod("a"))
        async with running(reflector(cluster, keep=lambda thing: seen.append((thing["kind"], thing["apiVersion"])))):
            await asyncio.sleep(1)
            cluster.put(pod("b"))
            await asyncio.sleep(1)
        assert seen == [("Pod", "v1")] * 2

    async def test_hints(self):
        """Changes are reported with their row, also those of a new list; a listener that fails does no harm."""
        heard = []

        def listen(key, row):
            heard.append((key[1], row))
            raise RuntimeError("no")

        cluster = FakeCluster()
        cluster.put(pod("a"))
        cluster.put(pod("b"))
        pods = reflector(cluster, on_change=listen)
        async with running(pods):
            await asyncio.sleep(1)
            assert sorted(heard) == [("a", 1), ("b", 1)]
            cluster.put(pod("c"))
            await asyncio.sleep(1)
            del heard[:]
            cluster.silence_watches()
            cluster.put(pod("a", 2))
            cluster.remove("/api/v1/namespaces/shop/pods/b")
            cluster.expire()
            await asyncio.sleep(100)
        assert sorted(heard) == [("a", 2), ("b", None)]
        assert pods.rows == in_shop(a=2, c=1)

    async def test_age(self):
        """Only bookmarks prove that unchanged rows are current."""
        cluster = FakeCluster()
        pods = reflector(cluster)
        async with running(pods):
            await asyncio.sleep(50)
            assert pods.age() == pytest.approx(50)
            await asyncio.sleep(20)
            assert pods.age() == pytest.approx(10)
            cluster.put(pod("a"))
            await asyncio.sleep(1)
            assert pods.age() == pytest.approx(1)

    async def test_a_stream_that_ends_in_good_order(self):
        """The next stream starts at once, from the version of the last bookmark, without a list."""
        cluster = FakeCluster()
        cluster.put(pod("a"))
        pods = reflector(cluster)
        async with running(pods):
            await asyncio.sleep(301)
        first, second = watches(cluster)
        assert "resourceVersion" not in first.query
        assert second.query["resourceVersion"] == "2"
        assert (pods.lists, pods.restarts, pods.trouble) == (1, 1, "")

    @pytest.mark.parametrize("streaming", [True, False])
    async def test_others_get_their_turn(self, streaming):
        """A long list is read in slices of at most 200 objects, and its rows appear only when it is complete."""
        cluster = FakeCluster(streaming=streaming)
        for number in range(1000):
            cluster.put(pod(f"p{number}"))
        taken, slices, sizes = [0], [], set()
        pods = reflector(cluster, keep=lambda _: taken.__setitem__(0, taken[0] + 1) or 1)

        async def beside():
            while not pods.synced:
                slices.append(taken[0])
                sizes.add(len(pods.rows))
                await asyncio.sleep(0)

        async with running(pods):
            await beside()
        assert max(after - before for before, after in pairwise(slices)) <= 200
        assert sizes == {0}
        assert len(pods.rows) == 1000


@pytest.mark.asyncio
@pytest.mark.looptime
class TestFaults:
    """Faults of the server and the network."""

    async def test_cut(self):
        """After a short pause the watch resumes where it was: nothing is lost, and nothing is listed again."""
        cluster = FakeCluster()
        pods = reflector(cluster)
        async with running(pods):
            await asyncio.sleep(10)
            cluster.cut_watches()
            cluster.put(pod("a"))
            await asyncio.sleep(0.1)
            assert pods.rows == {}
            assert "cut" in pods.trouble
            await asyncio.sleep(0.5)
            assert pods.rows == in_shop(a=1)
        assert (pods.lists, pods.restarts, pods.trouble) == (1, 1, "")

    async def test_expired_in_the_stream(self):
        """410 as an event: objects are listed again at once, and rows of deleted objects go."""
        cluster = FakeCluster()
        cluster.put(pod("a"))
        pods = reflector(cluster)
        async with running(pods):
            await asyncio.sleep(10)
            cluster.silence_watches()
            cluster.remove("/api/v1/namespaces/shop/pods/a")
            cluster.put(pod("b"))
            cluster.expire()
            cluster.cut_watches()
            await asyncio.sleep(0.5)
            assert pods.rows == in_shop(b=1)
        assert pods.lists == 2

    async def test_expired_before_the_stream(self):
        """410 as a status means the same."""
        cluster = FakeCluster()
        pods = reflector(cluster)
        async with running(pods):
            await asyncio.sleep(10)
            cluster.faults = lambda request: Answer(410) if request.query.get("resourceVersion") else None
            cluster.cut_watches()
            await asyncio.sleep(0.5)
        assert pods.lists == 2

    async def test_expired_again_and_again(self):
        """A server on which each list expires at once is not asked without pause."""
        cluster = FakeCluster(streaming=False)
        cluster.faults = lambda request: Answer(410) if request.query.get("resourceVersion") else None
        pods = reflector(cluster)
        async with running(pods):
            await asyncio.sleep(100)
        assert 5 <= pods.lists <= 15

    async def test_silence(self):
        """A connection that died silently is dropped after 70 s; until then `age` shows it."""
        cluster = FakeCluster()
        pods = reflector(cluster)
        async with running(pods):
            await asyncio.sleep(1)
            cluster.silence_watches()
            cluster.put(pod("a"))
            await asyncio.sleep(68)
            assert pods.rows == {}
            assert pods.age() == pytest.approx(69)
            await asyncio.sleep(2)
            assert pods.rows == in_shop(a=1)

    async def test_quiet_rows_are_not_an_error(self):
        """A server need not send bookmarks where nothing changes: the watch restarts without a warning."""
        cluster = FakeCluster()
        pods = reflector(cluster)
        with capture_logs() as said:
            async with running(pods):
                await asyncio.sleep(1)
                cluster.silence_watches()
                await asyncio.sleep(75)
        assert [line["event"] for line in said] == ["watch silent"]
        assert (pods.trouble, pods.lists) == ("", 1)

    async def test_back_off(self):
        """The pause rises up to half a minute, and is short again after a good stream."""
        cluster = FakeCluster()
        pods = reflector(cluster)
        async with running(pods):
            await asyncio.sleep(10)
            del cluster.calls[:]
            cluster.faults = lambda _: UnreachableError("no route")
            cluster.cut_watches()
            await asyncio.sleep(300)
            assert "no route" in pods.trouble
            assert 15 <= len(cluster.calls) <= 20
            cluster.faults = None
            await asyncio.sleep(40)
            assert pods.trouble == ""
            cluster.put(pod("a"))
            cluster.cut_watches()
            await asyncio.sleep(0.5)
            assert pods.rows == in_shop(a=1)
        assert pods.lists == 1

    @pytest.mark.parametrize(("fault", "lines"), [(OutageError("no route"), 0), (UnreachableError("too slow"), 1)])
    async def test_a_failure_is_logged_once(self, fault, lines):
        """It is tried again in silence, and logged again only after the watch has worked; an outage is never logged."""
        cluster = FakeCluster()
        pods = reflector(cluster)
        with capture_logs() as logged:
            async with running(pods):
                for _ in range(2):
                    cluster.faults = lambda _: fault
                    cluster.end_watches()
                    await asyncio.sleep(100)
                    assert pods.trouble == str(fault)
                    cluster.faults = None
                    await asyncio.sleep(40)
                    assert pods.trouble == ""
        failed = [line["error"] for line in logged if line["event"] == "watch failed"]
        assert failed == [str(fault)] * 2 * lines

    async def test_streams_that_end_at_once(self):
        """They do not count as good streams, however they end."""

        class Ending(FakeCluster):
            """Ends each stream as soon as it starts."""

            def watch(self, request):
                asyncio.get_running_loop().call_soon(self.end_watches)
                return super().watch(request)

        cluster = Ending()
        pods = reflector(cluster)
        async with running(pods):
            await asyncio.sleep(100)
        assert len(cluster.calls) < 15

    @pytest.mark.parametrize("streaming", [True, False])
    async def test_throttled(self, streaming):
        """Nothing is requested before the time that the server named."""
        cluster = FakeCluster(streaming=streaming)
        cluster.faults = lambda _: Answer(429, b"", 20.0)
        pods = reflector(cluster)
        async with running(pods):
            await asyncio.sleep(19)
            assert len(cluster.calls) == 1
            assert "429" in pods.trouble
            cluster.faults = None
            await asyncio.sleep(2)
            assert pods.synced

    async def test_throttled_within_the_stream(self):
        """A refusal may come as an event that contains the time to wait."""
        reported = {"kind": "Status", "code": 429, "message": "busy", "details": {"retryAfterSeconds": 9}}
        cluster = Spoken([encoded({"type": "ERROR", "object": reported})])
        pods = reflector(cluster)
        async with running(pods):
            await asyncio.sleep(8)
            assert cluster.begun == 1
            assert "429 busy" in pods.trouble
            await asyncio.sleep(2)
            assert cluster.begun > 1

    async def test_not_allowed(self):
        """It is reported and tried again: rights may be granted later."""
        cluster = FakeCluster()
        no = Answer(403, encoded({"reason": "Forbidden", "message": "pods is forbidden: cannot watch"}))
        cluster.faults = lambda _: no
        pods = reflector(cluster)
        async with running(pods):
            await asyncio.sleep(60)
            assert "403 pods is forbidden" in pods.trouble
            assert not pods.synced
            assert all(call.query.get("sendInitialEvents") for call in cluster.calls)
            cluster.faults = None
            await asyncio.sleep(31)
            assert (pods.synced, pods.trouble) == (True, "")

    async def test_not_allowed_any_more(self):
        """The rows stay as they are, and their age rises."""
        cluster = FakeCluster()
        cluster.put(pod("a"))
        pods = reflector(cluster)
        async with running(pods):
            await asyncio.sleep(1)
            cluster.faults = lambda _: Answer(401)
            cluster.cut_watches()
            await asyncio.sleep(99)
            assert pods.rows == in_shop(a=1)
            assert pods.age() == pytest.approx(100)
            assert "401" in pods.trouble

    @pytest.mark.parametrize("streaming", [True, False])
    async def test_missing_kind(self, streaming):
        """Without the CRD there are no rows, and `missing` says so; it is checked every 15 s."""
        cluster = FakeCluster(streaming=streaming)
        cluster.put(pod("a"))
        cluster.absent.add(PODS)
        pods = reflector(cluster)
        async with running(pods):
            await pods.wait_synced()
            assert (pods.missing, pods.synced, pods.rows) == (True, False, {})
            await asyncio.sleep(14)
            cluster.absent.clear()
            await asyncio.sleep(2)
            assert (pods.missing, pods.synced, pods.rows) == (False, True, in_shop(a=1))
            cluster.absent.add(PODS)
            cluster.end_watches()
            await asyncio.sleep(2)
            assert (pods.missing, pods.rows) == (True, {})
            assert pods.age() < 15

    async def test_a_server_that_forgot_our_version(self):
        """Whatever error it sends, a new list repairs it."""
        cluster = FakeCluster()
        pods = reflector(cluster)
        async with running(pods):
            await asyncio.sleep(10)
            old = Answer(504, encoded({"message": "Too large resource version"}))
            cluster.faults = lambda request: old if request.query.get("resourceVersion") else None
            cluster.put(pod("a"))
            cluster.cut_watches()
            await asyncio.sleep(2)
            assert pods.rows == in_shop(a=1)
        assert pods.lists == 2

    async def test_a_streaming_list_that_breaks_off(self):
        """An incomplete list is discarded; the next list comes in pages."""
        cluster = FakeCluster()
        cluster.put(pod("a"))
        started = Spoken([encoded({"type": "ADDED", "object": pod("x")})], then=cluster)
        pods = reflector(started)
        async with running(pods):
            await asyncio.sleep(2)
            assert pods.rows == in_shop(a=1)
        assert pods.lists == 1
        assert any(call.query.get("limit") for call in cluster.calls)

    async def test_pages_while_objects_change(self):
        """Changes between two pages come with the watch that follows."""
        cluster = FakeCluster(streaming=False)
        for number in range(1200):
            cluster.put(pod(f"p{number:04d}"))

        def meddle(request):
            if request.query.get("continue"):
                cluster.put(pod("p0000", 2))
                cluster.put(pod("new", 3))
                cluster.remove("/api/v1/namespaces/shop/pods/p1199")

        cluster.faults = meddle
        pods = reflector(cluster)
        async with running(pods):
            await asyncio.sleep(1)
        assert [call.query.get("limit") for call in cluster.calls[1:4]] == ["500"] * 3
        assert len(pods.rows) == 1200
        assert (pods.rows["shop", "p0000"], pods.rows["shop", "new"]) == (2, 3)
        assert ("shop", "p1199") not in pods.rows

    async def test_pages_that_expire(self):
        """The list starts again."""
        cluster = FakeCluster(streaming=False)
        for number in range(600):
            cluster.put(pod(f"p{number}"))

        def forget(request):
            if request.query.get("continue"):
                cluster.faults = None
                cluster.expire()

        cluster.faults = forget
        pods = reflector(cluster)
        async with running(pods):
            await asyncio.sleep(1)
        assert len(pods.rows) == 600
        assert sum(bool(call.query.get("limit")) for call in cluster.calls) == 4


@pytest.mark.asyncio
@pytest.mark.looptime
class TestBadObjects:
    """Objects that cannot be read are reported and skipped."""

    @pytest.mark.parametrize("streaming", [True, False])
    async def test_objects_that_keep_cannot_read(self, streaming):
        """They have no row, by list or by watch, and the log names them; once fixed, they have a row again."""
        cluster = FakeCluster(streaming=streaming)
        cluster.put(pod("worse", "bad"))
        cluster.put(pod("z"))
        pods = reflector(cluster)
        with capture_logs() as logs:
            async with running(pods):
                await asyncio.sleep(1)
                cluster.put(pod("a"))
                await asyncio.sleep(1)
                cluster.put(pod("a", "bad"))
                cluster.put(pod("b"))
                await asyncio.sleep(1)
                assert pods.rows == in_shop(b=1, z=1)
                assert pods.unread == dict.fromkeys([("shop", "worse"), ("shop", "a")], "ValueError: no size at all")
                cluster.put(pod("a", 5))
                cluster.remove("/api/v1/namespaces/shop/pods/worse")
                await asyncio.sleep(1)
                assert pods.rows == in_shop(a=5, b=1, z=1)
                assert pods.unread == {}
        assert [each["name"] for each in logs if each["event"] == "object skipped"] == ["worse", "a"]
        assert pods.lists == 1

    async def test_invalid_lines(self):
        """Broken, empty and odd lines are skipped; the lines after them are read."""
        good = [encoded({"type": "ADDED", "object": pod("a")})]
        bad = [
            b'{"type":"ADDED","object":{"metadata":{"name":"torn","names',
            b"\xff",
            b"[]",
            b'{"type":"ADDED"}',
            b'{"type":"ADDED","object":[]}',
            b'{"type":"ADDED","object":{"metadata":null}}',
            b'{"type":"ADDED","object":{"metadata":{"name":7}}}',
            b'{"type":"ADDED","object":{"metadata":{"name":"\xff"}}}',
            b'{"type":"BOOKMARK","object":{"metadata":{"annotations":3}}}',
        ]
        cluster = Spoken([*bad, *good, *bad, END, *bad, *good])
        pods = reflector(cluster)
        with capture_logs() as logs:
            async with running(pods):
                await asyncio.sleep(0.1)
        assert pods.rows == in_shop(a=1)
        assert pods.lists == 1
        assert sum(each["event"] == "line skipped" for each in logs) == 3 * 5
        assert sum(each["event"] == "object skipped" for each in logs) == 3 * 3

    async def test_a_torn_line_removes_no_row(self):
        """Nobody knows what the rest of it said."""
        good = encoded({"type": "ADDED", "object": pod("a")})
        deep = _deep(encoded({"type": "DELETED", "object": pod("a", "deep")}))
        cluster = Spoken([good, END, *(deep[:-cut] for cut in (1, 2, 20))])
        pods = reflector(cluster)
        async with running(pods):
            await asyncio.sleep(0.1)
        assert (pods.rows, pods.unread) == (in_shop(a=1), {})

    @pytest.mark.parametrize("streaming", [True, False])
    async def test_a_deep_object(self, streaming):
        """Anyone may create an object that is nested too deeply. It has no row; the others are followed as usual."""
        cluster = Deep(streaming=streaming)
        cluster.put(pod("a"))
        cluster.put(pod("b", "deep"))
        pods = reflector(cluster)
        async with running(pods):
            await asyncio.sleep(1)
            assert (pods.rows, [*pods.unread], pods.trouble) == (in_shop(a=1), [("shop", "b")], "")
            cluster.put(pod("b"))
            await asyncio.sleep(1)
            assert (pods.rows, pods.unread, pods.trouble) == (in_shop(a=1, b=1), {}, "")

    @pytest.mark.parametrize("deep_metadata", [False, True])
    async def test_an_object_that_becomes_deep(self, deep_metadata):
        """Its row is removed, whatever its labels are called, and it is forgotten once it is deleted."""
        cluster, changes = Deep(), []
        cluster.put(pod("a"))
        cluster.put(pod("b"))
        pods = reflector(cluster, on_change=lambda key, row: changes.append((key, row)))
        deep = pod("b", "deep")
        deep["metadata"] = {"labels": {"name": "a"}, **deep["metadata"]}
        if deep_metadata:
            deep["metadata"] = {"managedFields": "deep", **deep["metadata"]}
        with capture_logs() as logs:
            async with running(pods):
                await asyncio.sleep(1)
                changes.clear()
                cluster.put(deep)
                await asyncio.sleep(1)
                assert (pods.rows, changes) == (in_shop(a=1), [(("shop", "b"), None)])
                assert pods.unread[("shop", "b")].startswith("UnreadableError: ")
                cluster.remove("/api/v1/namespaces/shop/pods/b")
                await asyncio.sleep(1)
                assert (pods.rows, pods.unread, pods.lists) == (in_shop(a=1), {}, 1)
        skipped = [(each["namespace"], each["name"]) for each in logs if each["event"] == "object skipped"]
        assert skipped == [("shop", "b")]

    async def test_an_answer_that_is_not_a_list(self):
        """It is a failure like any other."""
        cluster = FakeCluster(streaming=False)
        cluster.faults = lambda request: None if request.query.get("watch") else Answer(200, b"<html>")
        pods = reflector(cluster)
        async with running(pods):
            await asyncio.sleep(1)
            assert "UnreadableError" in pods.trouble
            cluster.faults = None
            await asyncio.sleep(5)
            assert pods.synced

    async def test_a_list_without_items(self):
        """Null means no items, and items that are not objects are skipped."""
        cluster = FakeCluster(streaming=False)
        answers = iter([b'{"metadata":{"continue":"x"},"items":null}', b'{"metadata":{},"items":[7]}'])
        cluster.faults = lambda request: None if request.query.get("watch") else Answer(200, next(answers))
        pods = reflector(cluster)
        async with running(pods):
            await asyncio.sleep(1)
        assert (pods.synced, pods.rows) == (True, {})


class Deep(FakeCluster):
    """Sends the text "deep" as a value that is nested too deeply."""

    async def call(self, request: Request) -> Answer:
        answer = await super().call(request)
        return replace(answer, body=_deep(answer.body))

    @asynccontextmanager
    async def watch(self, request):
        async with super().watch(request) as lines:
            yield (_deep(line) async for line in lines)


def _deep(text):
    return text.replace(b'"deep"', b"[" * 5000 + b"]" * 5000)


class Spoken:
    """A port whose streams send the given lines and then end; after the first stream another port may answer."""

    def __init__(self, lines, then=None):
        self.lines, self.then, self.begun = lines, then, 0

    async def call(self, request: Request) -> Answer:
        self.begun += 1
        return await self.then.call(request) if self.then else Answer(503)

    @asynccontextmanager
    async def watch(self, request):
        self.begun += 1
        if self.then is not None and self.begun > 1:
            async with self.then.watch(request) as lines:
                yield lines
            return

        async def said():
            for line in self.lines:
                yield line

        yield said()


NAMES = st.sampled_from("abcd")
STEPS = st.one_of(
    st.tuples(st.just("put"), NAMES, st.sampled_from([1, 2, 3, "hidden", "bad"])),
    st.tuples(st.just("remove"), NAMES),
    st.tuples(st.just("wait"), st.sampled_from([0, 0.01, 0.3, 1, 5, 65, 400])),
    st.tuples(st.sampled_from(["cut", "end", "silence", "expire", "streams", "pages", "vanish", "return"])),
    st.tuples(st.just("fault"), st.sampled_from([None, 401, 403, 404, 410, 422, 429, 500, 503, "unreachable"])),
)


def step(cluster, what, *how):
    """Apply one event to the cluster."""
    match what:
        case "put":
            cluster.put(pod(*how))
        case "remove":
            cluster.remove(f"/api/v1/namespaces/shop/pods/{how[0]}")
        case "cut" | "end" | "silence":
            getattr(cluster, f"{what}_watches")()
        case "expire":
            cluster.expire()
        case "streams" | "pages":
            cluster.streaming = what == "streams"
        case "vanish":
            cluster.absent.add(PODS)
        case "return":
            cluster.absent.clear()
        case "fault":
            cluster.faults = fault(how[0])


def fault(code):
    if code == "unreachable":
        return lambda _: UnreachableError("no route")
    return None if code is None else lambda _: Answer(code, b"{}", 2.0 if code in {429, 503} else None)


async def lived_through(steps):
    """The rows, the objects and what the listener got, after a quiet time."""
    cluster, heard = FakeCluster(), {}
    pods = reflector(cluster, on_change=heard.__setitem__)
    async with running(pods):
        for what, *how in steps:
            if what == "wait":
                await asyncio.sleep(how[0])
            else:
                step(cluster, what, *how)
        cluster.faults = None
        cluster.absent.clear()
        await asyncio.sleep(240)
        assert pods.synced
        assert (pods.missing, pods.trouble) == (False, "")
        assert pods.age() <= 70
    return pods, cluster.objects(PODS), heard


@settings(max_examples=200, deadline=None)
@given(st.lists(STEPS, max_size=25))
def test_rows_are_the_objects_once_it_is_quiet(steps):
    """Whatever happened before, rows, unreadable objects and reported changes match the cluster."""
    with asyncio.Runner(loop_factory=lambda: looptime.new_event_loop(start=0)) as runner:
        pods, objects, heard = runner.run(lived_through(steps))
    sizes = {("shop", each["metadata"]["name"]): each["spec"]["size"] for each in objects}
    assert pods.rows == {key: size for key, size in sizes.items() if size not in {"hidden", "bad"}}
    assert set(pods.unread) == {key for key, size in sizes.items() if size == "bad"}
    assert {key: row for key, row in heard.items() if row is not None} == pods.rows
