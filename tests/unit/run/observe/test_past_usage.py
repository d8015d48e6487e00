"""The usage of a workload over weeks, from a real Prometheus server, and from one that fails."""

import asyncio
import re
from itertools import pairwise

import aiohttp
import pytest
from aiohttp import web as http

from hypot.cluster.prometheus import PrometheusApi, PrometheusError
from hypot.kinds.base import Ref
from hypot.run.observe import past_usage
from hypot.run.observe.past_usage import STEP, PastUsage, names_of_pods, query_of
from unit.replay.traces.prometheus_server import needs_prometheus, serving

pytestmark = pytest.mark.asyncio
# A multiple of the step.
NOW = 1_800_000_000
DAYS = 9
CPU = ("app", "cpu")


def scraped():
    """A pod that was replaced by another after a while, the pod of another workload, and one of another namespace."""
    half = NOW - DAYS * 43_200
    pods = {
        ("shop", "web-7d9f8c6b5-x2x4z"): (0.5, NOW - DAYS * 86_400, half),
        ("shop", "web-5f6d8-b4n7k"): (1.5, half, NOW),
        ("shop", "web-api-7d9f8c6b5-x2x4z"): (8.0, NOW - DAYS * 86_400, NOW),
        ("other", "web-5f6d8-b4n7k"): (16.0, NOW - DAYS * 86_400, NOW),
    }
    cpu, memory = ["# TYPE container_cpu_usage_seconds counter"], ["# TYPE container_memory_working_set_bytes gauge"]
    for (namespace, pod), (cores, first, last) in pods.items():
        labels = f'namespace="{namespace}",pod="{pod}",container="app"'
        for at in range(first, last, 120):
            cpu.append(f"container_cpu_usage_seconds_total{{{labels}}} {cores * (at - first)} {at}")
            memory.append(f"container_memory_working_set_bytes{{{labels}}} {int(cores * 1000)} {at}")
    return "\n".join([*cpu, *memory, "# EOF", ""])


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("prometheus"), scraped(), 150) as address:
        yield address


async def read(address, place=CPU, pods=None, start=NOW - 28 * 86_400, end=NOW):
    pods = pods or names_of_pods(Ref("apps/v1", "Deployment", "web"), ())
    async with aiohttp.ClientSession() as session:
        return await PastUsage(PrometheusApi(session, address)).read(query_of(place, "shop", pods), start, end)


@needs_prometheus
async def test_the_usage_of_all_pods_that_there_ever_were(server):
    """In cores and bytes, in steps of five minutes, over more than a week, without other workloads."""
    found = await read(server)
    half = NOW - DAYS * 43_200
    assert min(found) <= NOW - DAYS * 86_400 + STEP
    assert max(found) >= NOW - 2 * STEP
    assert all(at % STEP == 0 for at in found)
    assert len(found) >= DAYS * 86_400 // STEP - 2
    assert {round(amount, 3) for at, amount in found.items() if at <= half} == {0.5}
    assert {round(amount, 3) for at, amount in found.items() if half + STEP < at < NOW} == {1.5}
    memory = await read(server, ("app", "memory"), start=NOW - 3600, end=NOW - 600)
    assert set(memory.values()) == {1500.0}
    assert (min(memory), max(memory)) == (NOW - 3600, NOW - 600)


@needs_prometheus
async def test_a_workload_without_a_past(server):
    """It has no usage, and that is no failure."""
    assert await read(server, ("other", "cpu")) == {}


@needs_prometheus
async def test_a_query_that_is_refused(server):
    """The reason is that of Prometheus."""
    with pytest.raises(PrometheusError, match=r"it answers 400: .*parse"):
        await read(server, pods="(")


async def answered(answer, **more):
    """What is read from a loopback server with this answer."""
    app = http.Application()
    app.router.add_post("/api/v1/query_range", answer)
    runner = http.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await http.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        return await read(f"http://127.0.0.1:{runner.addresses[0][1]}", **more)
    finally:
        await runner.cleanup()


def values(*points):
    return {"status": "success", "data": {"resultType": "matrix", "result": [{"values": list(points)}]}}


async def test_one_week_is_asked_for_at_a_time():
    """The parts do not overlap, and begin and end at multiples of the step."""
    forms = []

    async def answer(request):
        forms.append(dict(await request.post()))
        first = int(forms[-1]["start"])
        return http.json_response(values([first, "2"], [first + 1, "3"], [first + STEP, "NaN"], [first - STEP, "4"]))

    found = await answered(answer, start=NOW - 20 * 86_400 - 7, end=NOW + 7)
    asked = [(int(form["start"]), int(form["end"])) for form in forms]
    assert [last - first for first, last in asked[:2]] == [7 * 86_400 - STEP] * 2
    assert {later[0] - earlier[1] for earlier, later in pairwise(asked)} == {STEP}
    assert (asked[0][0], asked[-1][1]) == (NOW - 20 * 86_400, NOW)
    assert found == {first: 2.0 for first, _ in asked}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"status": "error", "error": "x" * 9999}, "it answers 200: x{500}$"),
        ({"status": "success", "data": {"result": [{}, {}]}}, "2 series instead of one"),
        ([], "without JSON"),
        (values([NOW, "1" * (1 << 19)]), "its answer is over 0 MiB"),
    ],
)
async def test_bad_answers(body, message):
    """They are failures, and their reasons are short."""

    async def answer(_request):
        return http.json_response(body)

    with pytest.raises(PrometheusError, match=message):
        await answered(answer)


async def test_a_server_that_hangs(monkeypatch):
    """It is given up."""
    monkeypatch.setattr(past_usage, "ANSWER_WITHIN", 0.05)

    async def answer(_request):
        await asyncio.sleep(5)

    with pytest.raises(PrometheusError, match="it did not answer within 0 s"):
        await answered(answer)


async def test_an_error_does_not_contain_the_address():
    """Tenants see it, and the address may have secrets."""
    with pytest.raises(PrometheusError) as caught:
        await read("http://user:secret@127.0.0.1:9")
    assert str(caught.value) == "no connection: Connection refused"


@pytest.mark.parametrize(
    ("kind", "name", "pods", "own", "others"),
    [
        (
            "Deployment",
            "web",
            (),
            "web-7d9f8c6b5-x2x4z",
            ["web-0", "web-api-7d9f8c6b5-x2x4z", "my-web-7d9f8c6b5-x2x4z"],
        ),
        ("Deployment", "w.b", (), "w.b-7d9f8c6b5-x2x4z", ["wxb-7d9f8c6b5-x2x4z"]),
        ("Deployment", "d" * 50, (), "d" * 50 + "-7d9f8c6x2x4z", ["d" * 51 + "-7d9f8c6x2x4z"]),
        ("Deployment", "d" * 57, (), "d" * 57 + "-x2x4z", []),
        ("Deployment", "d" * 80, (), "d" * 58 + "x2x4z", ["d" * 80 + "-x2x4z"]),
        ("Rollout", "web", (), "web-7d9f8c6b5-x2x4z", []),
        ("ReplicaSet", "web", (), "web-x2x4z", ["web-7d9f8c6b5-x2x4z", "web-0"]),
        ("StatefulSet", "db", (), "db-12", ["db-a-1", "db-x2x4z"]),
        ("Shard", "s", ("s-7d9f8-x2x4z", "s-primary-0"), "s-primary-7", ["s-other-7"]),
        ("Shard", "s", ("s-7d9f8-x2x4z", "s-primary-0"), "s-9b9f8-x2x4z", ["t-9b9f8-x2x4z"]),
        ("Shard", "s", ("s-x2x4z",), "s-b4n7k", ["s-0"]),
    ],
)
async def test_names_of_pods(kind, name, pods, own, others):
    """As Kubernetes makes them: neither more nor less."""
    pattern = names_of_pods(Ref("x/v1", kind, name), pods)
    assert re.fullmatch(pattern, own)
    assert not [other for other in others if re.fullmatch(pattern, other)]


async def test_names_that_nobody_knows():
    """Of an unknown kind without pods, and names that no object can have."""
    assert names_of_pods(Ref("x/v1", "Shard", "s"), ("loner",)) == ""
    with pytest.raises(PrometheusError, match="cannot be the name of an object"):
        names_of_pods(Ref("apps/v1", "Deployment", 'web"}'), ())
    with pytest.raises(PrometheusError, match="cannot be the name of an object"):
        query_of(('app"', "cpu"), "shop", "web-0")
