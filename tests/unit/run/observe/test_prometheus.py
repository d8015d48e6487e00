"""Usage of pods from a real Prometheus server."""

import time

import aiohttp
import pytest
from aiohttp import web as http

from hypot.cluster.prometheus import PrometheusApi
from hypot.run.observe import asking, prometheus
from hypot.run.observe.prometheus import MEASURED, WINDOW, Prometheus
from unit.replay.traces.prometheus_server import needs_prometheus, serving

pytestmark = pytest.mark.asyncio

# How far back a sample counts, in seconds.
LOOKBACK = 300
POD = 'namespace="shop",pod="web-1"'


def scraped(now: int) -> str:
    """What a kubelet reports every 15 s: half a core and 64 MiB of the app, a little of its proxy, and their sum.

    It continues long after now, so that the time of the query does not matter.
    """
    times = range(now - 300, now + 3600, 15)
    lines = ["# TYPE container_cpu_usage_seconds counter"]
    for container, cores in (("app", 0.5), ("proxy", 0.01), ("", 0.51)):
        series = f'container_cpu_usage_seconds_total{{{POD},container="{container}"}}'
        lines += [f"{series} {cores * (at - now + 400)} {at}" for at in times]
    return "\n".join([*lines, "# TYPE container_memory_working_set_bytes gauge", *memory(times), "# EOF", ""])


def memory(times: range) -> list[str]:
    lines = []
    for container, size in (("app", 64 << 20), ("proxy", 1 << 20), ("", 65 << 20)):
        lines += [f'container_memory_working_set_bytes{{{POD},container="{container}"}} {size} {at}' for at in times]
    return lines


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A server that has scraped one pod, and the time of its start."""
    now = int(time.time())
    with serving(tmp_path_factory.mktemp("prometheus"), scraped(now), LOOKBACK) as address:
        yield address, now


@needs_prometheus
async def test_usage_is_read_with_its_own_time(server):
    """Cpu is a rate, memory a gauge, pause containers do not count, and the time is that of the last scrape."""
    address, now = server
    asked = time.time()
    async with aiohttp.ClientSession() as session:
        usage = await Prometheus(PrometheusApi(session, address)).read()
    assert usage.trouble == ""
    sample = usage.samples["shop", "web-1"]
    assert asked - 15 < sample.at <= time.time()
    assert (sample.at - now) % 15 == 0
    assert sample.window == WINDOW
    (app, proxy) = sample.containers
    assert (app[0], proxy[0]) == ("app", "proxy")
    assert app[1] == {"cpu": pytest.approx(500, abs=2), "memory": (64 << 20) * 1000}
    assert proxy[1] == {"cpu": pytest.approx(10, abs=1), "memory": (1 << 20) * 1000}


async def test_the_server_is_unreachable():
    """An unreachable server is reported, and there are no samples."""
    async with aiohttp.ClientSession() as session:
        usage = await Prometheus(PrometheusApi(session, "http://127.0.0.1:9")).read()
    assert usage.samples == {}
    assert usage.trouble.startswith("Prometheus cannot be queried: ")


@needs_prometheus
async def test_an_answer_of_another_page(server):
    """Another page of the same server is not an answer."""
    address, _ = server
    async with aiohttp.ClientSession() as session:
        usage = await Prometheus(PrometheusApi(session, f"{address}/classic")).read()
    assert usage.samples == {}
    assert "Prometheus cannot be queried: it answers 404" in usage.trouble


async def read_from(answer, token_file=""):
    """The usage that is read from a loopback server with this answer."""
    app = http.Application()
    app.router.add_post("/api/v1/query", answer)
    runner = http.AppRunner(app, access_log=None)
    await runner.setup()
    await http.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        async with aiohttp.ClientSession() as session:
            return await Prometheus(
                PrometheusApi(session, f"http://127.0.0.1:{runner.addresses[0][1]}", token_file)
            ).read()
    finally:
        await runner.cleanup()


async def answer_many(request):
    amount = "1000" if (await request.post())["query"] == MEASURED else "0.25"
    series = [
        {"metric": {"namespace": "shop", "pod": f"web-{number}", "container": "app"}, "value": [1000, amount]}
        for number in range(5000)
    ]
    return http.json_response({"status": "success", "data": {"resultType": "vector", "result": series}})


async def test_large_answers_are_read_whole():
    """They come in many parts, and a single part is not valid JSON."""
    usage = await read_from(answer_many)
    assert usage.trouble == ""
    assert len(usage.samples) == 5000
    assert usage.samples["shop", "web-4999"].containers == (("app", {"cpu": 250, "memory": 1000}),)


async def test_answers_that_are_too_large(monkeypatch):
    """An answer cannot fill hypot's memory."""
    monkeypatch.setattr(prometheus, "LARGEST_USAGE", 1000)
    usage = await read_from(answer_many)
    assert (usage.samples, usage.trouble) == ({}, "Prometheus cannot be queried: its answer is over 0 MiB")


async def answer_small(_request):
    return http.json_response({"status": "success", "data": {"result": [{}] * 50}})


async def test_answers_with_too_many_parts(monkeypatch):
    """Small parts take more memory than their text, so they are counted before they are read."""
    monkeypatch.setattr(asking, "MOST_CONTAINERS", 10)
    usage = await read_from(answer_small)
    assert usage.trouble == "Prometheus cannot be queried: its answer has more than 150000 series"
    monkeypatch.setattr(asking, "MOST_CONTAINERS", 50)
    assert (await read_from(answer_small)).trouble == ""


@pytest.mark.parametrize("token", ["two\nlines", "caf\u00e9", "nul\0", "tab\tbed"])
async def test_a_token_that_no_header_can_have(tmp_path, token):
    """It is a failure with a reason, without an exception and without the token."""
    file = tmp_path / "token"
    file.write_text(token, encoding="utf-8")
    usage = await read_from(answer_many, str(file))
    assert usage.trouble.endswith("its token file has something other than one line of plain characters")
