"""All targets, again and again: in virtual time, with pods that only exist here."""

import asyncio
from contextlib import asynccontextmanager
from itertools import pairwise

import pytest
from structlog.testing import capture_logs

from fake_cluster import FakeCluster
from hypot.cluster.port import Answer, encoded
from hypot.metricsapi import task_pool
from hypot.metricsapi.ages import Ages
from hypot.metricsapi.scrape import fetch, scraper
from hypot.metricsapi.scrape.scraper import MOST_SCRAPES, Scraper
from hypot.metricsapi.scrape.secrets import Secrets
from unit.metricsapi.pods_world import AHEAD, add, only, pod, rule, targets_of

pytestmark = [pytest.mark.asyncio, pytest.mark.looptime]
CREDENTIALS = {"token": {"name": "access", "key": "token"}}
HTTPS = {"port": 443, "scheme": "https", "credentials": CREDENTIALS}
ACCESS = "/api/v1/namespaces/shop/secrets/access"


class Content:
    def __init__(self, body):
        self._body = body

    async def iter_any(self):
        yield self._body


class Pods:
    """A session whose pods answer with a count of requests that grows by 450 per second."""

    def __init__(self):
        self.status, self.headers, self.takes = 200, {}, 0.0
        self.sent, self.running, self.most = [], 0, 0
        self.count = lambda now: 450 * now
        self.text, self.refuses = "", False

    @property
    def content(self):
        return Content((self.text or f"requests_total {self.count(now())}\n").encode())

    @asynccontextmanager
    async def get(self, url, headers, **_):
        self.sent.append((now(), url.host, headers))
        if self.refuses:
            raise ConnectionRefusedError
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            await asyncio.sleep(self.takes)
            yield self
        finally:
            self.running -= 1


def now():
    return asyncio.get_running_loop().time()


@pytest.fixture(autouse=True)
def _virtual_clocks(monkeypatch):
    monkeypatch.setattr(fetch, "boot", now)
    monkeypatch.setattr(fetch, "wall", lambda: now() + AHEAD)


class World:
    def __init__(self, *pods, **scrape):
        self.pods, self.cluster = Pods(), FakeCluster()
        self.cluster.fixed[ACCESS] = Answer(200, encoded({"data": {"token": "c2VjcmV0"}}))
        one = rule(scrape=scrape or {"port": 8080})
        self.targets = targets_of(one, pods=pods or [pod()])
        self.scraper = Scraper(self.targets, self.pods, Secrets(self.cluster, None, now), clock=now)

    @asynccontextmanager
    async def running(self):
        self.scraper.schedule.add(self.targets)
        task = asyncio.ensure_future(self.scraper.run())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    def times(self, host="10.0.0.1"):
        return [at for at, asked, _ in self.pods.sent if asked == host]

    async def scrape(self, count=1):
        for _ in range(count):
            await self.scraper.scrape(only(self.targets))


async def test_a_rate_after_two_periods():
    """The second scrape comes after a period, and then the rate is served."""
    world = World()
    async with world.running():
        await asyncio.sleep(59)
        assert only(world.targets).value(0, now(), Ages()) is None
        await asyncio.sleep(2)
        value = only(world.targets).value(0, now(), Ages())
    assert value.milli == 450_000
    assert value.window == pytest.approx(60, abs=0.3)
    assert value.at - AHEAD == pytest.approx(60, abs=0.3)
    assert (world.scraper.counts.scrapes, world.scraper.counts.faults) == (2, {})
    assert world.scraper.counts.bytes > 30


async def test_a_target_that_comes_and_goes():
    """It is scraped at once, and never after it is gone, also if it goes during a scrape."""
    world = World()
    world.pods.takes = 1.0
    async with world.running():
        await asyncio.sleep(10)
        new = add(world.targets, pod("web-1", address="10.0.0.2"))
        world.scraper.schedule.add(new)
        await asyncio.sleep(0.5)
        assert len(world.times("10.0.0.2")) == 1
        world.targets.update(("shop", "web-1"), None, None)
        await asyncio.sleep(70)
    assert len(world.times("10.0.0.2")) == 1
    assert len(world.times()) == 2


async def test_a_pod_that_is_replaced():
    """The new pod has no samples yet, and the scrape of the former one does not count."""
    world = World()
    world.pods.takes = 5.0
    async with world.running():
        await asyncio.sleep(1)
        world.scraper.schedule.add(add(world.targets, pod(uid="other", address="10.0.0.2")))
        await asyncio.sleep(4.5)
        assert only(world.targets).samples == []
        await asyncio.sleep(70)
    assert len(world.times()) == 1
    assert only(world.targets).samples[0].old.value == pytest.approx(450 * 6.2, rel=0.1)


async def test_some_at_once():
    """Pods that hang do not take all memory: at most so many scrapes run."""
    world = World(*[pod(f"web-{i}", address=f"10.0.1.{i}") for i in range(120)])
    world.pods.takes = 10.0
    async with world.running():
        await asyncio.sleep(35)
    assert world.pods.most == MOST_SCRAPES
    assert len({host for _, host, _ in world.pods.sent}) == 120


async def test_when_it_is_stopped():
    """Nothing runs any more, and nothing begins."""
    world = World(*[pod(f"web-{i}", address=f"10.0.1.{i}") for i in range(120)])
    world.pods.takes = 10.0
    async with world.running():
        await asyncio.sleep(1)
    assert world.pods.running == 0
    await asyncio.sleep(20)
    assert len(world.pods.sent) == MOST_SCRAPES
    assert world.pods.running == 0


async def test_a_pod_that_hangs():
    """A scrape ends after half a period."""
    world = World()
    world.pods.takes = 1000.0
    await world.scrape()
    assert now() == 30
    assert (only(world.targets).faults, world.scraper.counts.faults) == (1, {"timeout": 1})
    assert only(world.targets).trouble == "no complete answer within 30 s"


async def test_faults_in_a_row():
    """Not each of them is logged, and the first success ends them."""
    world = World()
    world.pods.status = 500
    with capture_logs() as logs:
        await world.scrape(20)
    assert [each["faults"] for each in logs] == [1, 2, 4, 8, 16]
    assert logs[0] == {
        "event": "scrape failed",
        "log_level": "warning",
        "rule": "web",
        "namespace": "shop",
        "pod": "web-0",
        "faults": 1,
        "error": "it answers 500",
    }
    assert world.scraper.counts.faults == {"status": 20}
    world.pods.status = 200
    await world.scrape()
    assert only(world.targets).faults == 0
    assert world.scraper.counts.scrapes == 21


async def test_a_target_that_fails_is_scraped_less_often(monkeypatch):
    monkeypatch.setattr(task_pool, "TICK", 5.0)
    world = World()
    world.pods.status = 500
    async with world.running():
        await asyncio.sleep(1000)
    waits = [after - before for before, after in pairwise(world.times())]
    assert waits == [pytest.approx(each, abs=5) for each in (60, 60, 120, 240, 480)]


@pytest.mark.parametrize(
    ("ready", "pauses"),
    [
        (None, [60, 60, *[120] * 7]),
        (60, [60, 60, *[120] * 7]),
        (3600, [60, 60, 120, 240, 480]),
    ],
)
async def test_a_pod_that_does_not_listen_yet(monkeypatch, ready, pauses):
    """A program may need minutes to start; its first requests must not wait for the longest pause."""
    monkeypatch.setattr(task_pool, "TICK", 5.0)
    monkeypatch.setattr(scraper, "wall", lambda: AHEAD)
    world = World(pod(ready=0.0 if ready is None else AHEAD - ready))
    world.pods.refuses = True
    async with world.running():
        await asyncio.sleep(1000)
    assert world.scraper.counts.faults.keys() == {"connection"}
    waits = [after - before for before, after in pairwise(world.times())]
    assert waits == [pytest.approx(each, abs=5) for each in pauses]


async def test_a_missing_metric_is_logged_a_few_times():
    """It is no fault: the pod is scraped as often as before, and all its other metrics are served."""
    pods = [pod(f"web-{i}", address=f"10.0.1.{i}") for i in range(9)]
    world = World(*pods)
    world.pods.text = "other 1\n"
    with capture_logs() as logs:
        async with world.running():
            await asyncio.sleep(200)
    assert [(each["event"], each["times"], each["metrics"]) for each in logs] == [
        ("metrics missing", times, ["requests_total"]) for times in (1, 2, 4, 8)
    ]
    assert (world.scraper.counts.scrapes >= 4 * 9, world.scraper.counts.faults) == (True, {})


async def test_samples_that_do_not_count():
    world = World()
    for count, pause in ((100, 60), (200, 5), (250, 60), (10, 0)):
        world.pods.count = lambda _, count=count: count
        await world.scrape()
        await asyncio.sleep(pause)
    assert world.scraper.counts.rejected == {"too-soon": 1, "reset": 1}
    assert only(world.targets).value(0, now(), Ages()) is None


@pytest.mark.parametrize(
    ("scrape", "sent"), [(HTTPS, {"Authorization": "Bearer secret"}), ({**HTTPS, "credentials": None}, {})]
)
async def test_credentials(scrape, sent):
    world = World(**{key: value for key, value in scrape.items() if value is not None})
    await world.scrape()
    assert [headers for _, _, headers in world.pods.sent] == [sent]


async def test_credentials_that_are_missing():
    """Then nothing is sent."""
    world = World(**HTTPS)
    world.cluster.fixed[ACCESS] = Answer(404)
    await world.scrape()
    assert world.pods.sent == []
    assert world.scraper.counts.faults == {"credentials": 1}
    assert only(world.targets).trouble == "the Secret access does not exist"


@pytest.mark.parametrize(("status", "reads"), [(401, 2), (403, 2), (500, 1)])
async def test_a_pod_that_refuses_the_token(status, reads):
    """The Secret is read again: it may have changed in the last minute."""
    world = World(**HTTPS)
    await world.scrape()
    await asyncio.sleep(40)
    world.pods.status = status
    await world.scrape(2)
    assert len(world.cluster.calls) == reads


async def test_an_error_of_our_own():
    """It is logged, and the target is scraped again."""
    world = World()
    world.pods.count = lambda _: 1 / 0
    with capture_logs() as logs:
        async with world.running():
            await asyncio.sleep(1)
            world.pods.count = lambda _: 7
            await asyncio.sleep(61)
    assert [(each["log_level"], "ZeroDivisionError" in each["error"]) for each in logs] == [("error", True)]
    assert only(world.targets).samples[0].new.value == 7
