"""The metrics server: reading bodies next to prometheus_client, scraping thousands of pods, and answering meanwhile."""

import asyncio
import gzip
import json
import multiprocessing
import os
import resource
import socket
import ssl
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import asynccontextmanager, contextmanager
from itertools import cycle
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple
from uuid import UUID

from prometheus_client.parser import text_string_to_metric_families

from hypot.cluster.clock import boot, wall
from hypot.cluster.port import Answer, encoded
from hypot.core.scraping.request_cost import CostSums, fitted
from hypot.kinds.metric_rules.read import rules_of
from hypot.kinds.metric_values import CUSTOM
from hypot.kinds.selector import Selector
from hypot.metricsapi.ages import Ages
from hypot.metricsapi.body.request_classes import MOST_CLASSES, RequestClasses, RequestCounts, ScrapedRequests
from hypot.metricsapi.body.totals import Scraped, Totals, Wanted
from hypot.metricsapi.plan import plan_of
from hypot.metricsapi.scrape.fetch import new_session
from hypot.metricsapi.scrape.scraper import Scraper
from hypot.metricsapi.scrape.secrets import Secrets
from hypot.metricsapi.serve.api import LIMITS, MetricsPages
from hypot.metricsapi.serve.values import ServedValues
from hypot.metricsapi.served_pods import ServedPod
from hypot.metricsapi.targets import ScrapeTargets
from hypot.serving.certificate_holder import CertificateHolder
from hypot.serving.certificates import issue
from hypot.serving.client_certificates import ClientCertificates, read_trust
from hypot.serving.listener import Listener
from hypot.serving.readers import Readers
from unit.serving.front_proxy import PROXIES, certificate, trusted

NAME, WANTED_LINES = "apiserver_request_total", 200
VERBS = ("GET", "LIST", "WATCH", "PUT", "PATCH", "POST", "DELETE", "APPLY")
LARGE, SMALL = 5_000_000, 1_000_000
PODS, PERIOD = 6000, 60.0
# A part of a period is measured, after the first scrapes.
SECONDS, WARM_UP = 20.0, 5.0
PER_SECOND = 50
PIECE = 256 * 1024
LIST = f"/apis/{CUSTOM}/v1beta2/namespaces/shop/pods/%2A/requests?labelSelector=app%3Dweb"


def body_of(size, lines):
    """Like the body of an API server: mostly buckets of other metrics, with long labels."""
    wanted = [
        f'{NAME}{{code="200",component="apiserver",resource="pods-{i}",scope="cluster",verb="{verb}"}} {i * 1000}\n'
        for i, verb in zip(range(lines), cycle(VERBS), strict=False)
    ]
    other = (
        'apiserver_request_duration_seconds_bucket{{component="apiserver",group="apps",resource="deployments",'
        'scope="namespace",subresource="",verb="GET",version="v1",le="{}"}} {}\n'
    )
    made, length, i = wanted, sum(map(len, wanted)), 0
    while length < size:
        line = other.format(i / 100, i)
        made.insert((i * 37) % len(made), line) if i < 1000 else made.append(line)
        length += len(line)
        i += 1
    return "".join([*made, "process_cpu_seconds_total 1234.5\n"]).encode()


def measured(work, times):
    """The shortest of some runs."""
    found = []
    for _ in range(times):
        began = time.perf_counter()
        work()
        found.append(time.perf_counter() - began)
    return min(found)


def bodies():
    body = body_of(LARGE, WANTED_LINES)
    wanted = [Wanted(NAME)]

    def ours():
        totals = Totals(wanted)
        for at in range(0, len(body), PIECE):
            totals.feed(body[at : at + PIECE])
        return totals.close()

    def learning():
        counts = RequestCounts(classes, 0, "process_cpu_seconds_total")
        totals = Totals(wanted, counts)
        for at in range(0, len(body), PIECE):
            totals.feed(body[at : at + PIECE])
        return totals.close(), counts.close()

    classes = RequestClasses(["verb"], Selector())

    def theirs():
        text = body.decode()
        families = text_string_to_metric_families(text)
        return sum(sample.value for family in families for sample in family.samples if sample.name == NAME)

    assert ours() == [theirs()]
    fast, slow = measured(ours, 20), measured(theirs, 1)
    size = len(body) / 1e6
    print(
        f"A body of {size:.1f} MB with {WANTED_LINES} wanted lines: {size / fast:,.0f} MB/s (bar 400); "
        f"prometheus_client reads it with {size / slow:.1f} MB/s, {slow / fast:,.0f} times slower (bar 50)."
    )
    slower = measured(learning, 20)
    print(f"With requests by class and cpu: {size / slower:,.0f} MB/s, {1000 * (slower - fast):.2f} ms more a body.")


def learning_costs():
    """The arithmetic of one scrape, and of one fit, with few and with as many classes as there may be."""
    for classes in (5, MOST_CLASSES + 1):
        sums = CostSums(3600.0)
        rows = [[PERIOD, *[float((i * 37 * (k + 1)) % (101 + k)) for k in range(classes)]] for i in range(500)]
        began = time.perf_counter()
        for i, row in enumerate(rows):
            sums.add(i * PERIOD, row, sum(row))
        adding = (time.perf_counter() - began) / len(rows)
        fit = fitted(sums, 500 * PERIOD)
        again = measured(lambda sums=sums: fitted(sums, 500 * PERIOD), 5)
        leverage = measured(lambda fit=fit, row=rows[0]: fit.leverage(row), 100)
        print(
            f"Costs of {classes} classes: {1e6 * (adding + leverage):.0f} µs for each scrape, "
            f"{1000 * again:.1f} ms for each fit, of which there is one in half a period."
        )


class Encoding(NamedTuple):
    """How pods answer, and what they are asked with."""

    name: str
    header: str = ""
    scrape: Mapping[str, str] = MappingProxyType({})
    # The files of their certificate and its key, if they speak TLS.
    certificate: str = ""
    key: str = ""


PLAIN = Encoding("plain")


def answering(listening, body, encoding):
    """Pods: they answer every request with the same body."""
    head = (
        f"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n{encoding.header}Content-Length: {len(body)}\r\n\r\n".encode()
    )
    tls = None
    if encoding.certificate:
        tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        tls.load_cert_chain(encoding.certificate, encoding.key)

    class Pod(asyncio.Protocol):
        def connection_made(self, transport):
            self.transport = transport

        def data_received(self, data):
            for _ in range(data.count(b"\r\n\r\n")):
                self.transport.writelines((head, body))

    async def serve():
        loop = asyncio.get_running_loop()
        server = await loop.create_server(Pod, sock=listening, ssl=tls)
        await server.serve_forever()

    asyncio.run(serve())


def targets_of(port, encoding=PLAIN, *, learn):
    more = {"learnCost": {"by": ["verb"]}} if learn else {}
    rule = {
        "name": "web",
        "pods": {},
        "scrape": {"port": port, **encoding.scrape},
        "metrics": [{"counter": NAME, "names": ["requests"], **more}],
    }
    head = {"apiVersion": "metrics.hypot.dev/v1alpha1", "kind": "MetricRules", "metadata": {"name": "bench"}}
    targets = ScrapeTargets(plan_of([rules_of({**head, "spec": {"rules": [rule]}})]))
    new = []
    for i in range(PODS):
        # Many addresses, as pods have: connections are kept per address.
        address = f"127.0.{i // 250}.{i % 250 + 1}"
        pod = ServedPod("shop", f"web-{i}", str(UUID(int=i)), {"app": "web"}, address, {})
        new += targets.update(("shop", pod.name), pod, None)
    return targets, new


def sampled(targets, *, learn):
    """As in the middle of a period: each pod was scraped at its own time before."""
    now, shown = boot(), wall()
    for i, target in enumerate(targets):
        target.began = now - PERIOD + PERIOD * i / PODS
        for at in (target.began - PERIOD, target.began):
            target.sampled(Scraped(at, at - now + shown, [0.0], 0), Ages())
        if learn:
            # So that each scrape gives an observation.
            target.counted = (target.began, ScrapedRequests((float(i % 7),) * len(VERBS), 0.0))


class Reviews:
    """The API server, which lets everybody read."""

    async def call(self, request):
        del request
        return Answer(201, encoded({"status": {"allowed": True}}))


@contextmanager
def client_files(issued):
    """What a client trusts, and its certificate."""
    with tempfile.TemporaryDirectory() as folder:
        authority, leaf = Path(folder, "ca.crt"), Path(folder, "tls.pem")
        authority.write_text(issued.ca_pem, encoding="utf-8")
        leaf.write_bytes(certificate(PROXIES).private_key_and_cert_chain_pem.bytes())
        yield str(authority), str(leaf)


@asynccontextmanager
async def served(targets):
    """The metrics API as `hypot metrics` serves it. Yields its port, and the files of a client."""
    clients, values = ClientCertificates(Reviews()), ServedValues(targets, Ages())
    clients.trust = read_trust(trusted())
    pages = MetricsPages(lambda: values, Readers(Reviews(), certified=clients.user), str)
    issued = issue(["localhost"], wall())
    holder = CertificateHolder(issued)
    holder.ask_clients(clients.trust.proxy_pem)
    listener = Listener(pages.answer, LIMITS)
    with client_files(issued) as files:
        await listener.start("127.0.0.1", 0, holder.context)
        try:
            yield listener.port, *files
        finally:
            await listener.stop()


async def scraped(port, encoding, *, learn):
    targets, new = targets_of(port, encoding, learn=learn)
    async with new_session(2 * PERIOD) as session, served(targets) as api:
        scraper = Scraper(targets, session, Secrets(None), PERIOD)
        sampled(new, learn=learn)
        alone = await cores_of(scraper, listed(*api))
        sampled(new, learn=learn)
        scraper.schedule.add(new)
        running = asyncio.ensure_future(scraper.run())
        await asyncio.sleep(WARM_UP)
        scrapes = await cores_of(scraper, asyncio.sleep(SECONDS))
        beside = await cores_of(scraper, listed(*api))
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        assert not scraper.counts.faults, scraper.counts.faults
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    assert not learn or all(costs.fit.observations > 0 for costs in scraper.costs)
    print("With learnCost:" if learn else f"Without learnCost, {encoding.name}:")
    print(
        f"{PODS:,} pods with bodies of {SMALL / 1e6:.0f} MB, one scrape each in {PERIOD:.0f} s: "
        f"{scrapes.per_second:.0f} scrapes/s, {scrapes.cores:.2f} cores (bar 0.5) and {peak:.0f} MB (bar 500)."
    )
    print(f"{PER_SECOND} lists of all these pods per second, over TLS, by a client in another process:")
    for name, measured in (("without scrapes", alone), ("beside the scrapes", beside)):
        waits, size = measured.found
        median, p99 = statistics.median(waits), statistics.quantiles(waits, n=100)[-1]
        print(
            f"  {name}: {measured.cores:.2f} cores, {size / 1e6:.1f} MB each, "
            f"median {1000 * median:.0f} ms, p99 {1000 * p99:.0f} ms (bar 50)."
        )


class Cores(NamedTuple):
    """Scrapes per second and processor time per second, and what the work returned."""

    per_second: float
    cores: float
    found: object


async def cores_of(scraper, work):
    before, began, used = scraper.counts.scrapes, time.perf_counter(), time.process_time()
    found = await work
    passed = time.perf_counter() - began
    return Cores((scraper.counts.scrapes - before) / passed, (time.process_time() - used) / passed, found)


async def listed(port, *files):
    """Lists of all pods at a steady rate: how long each took, and the size of the last one."""
    client = Path(__file__).with_name("metrics_client.py")
    asked = (sys.executable, client, str(port), LIST, *files, str(int(SECONDS * PER_SECOND)), str(PER_SECOND))
    process = await asyncio.create_subprocess_exec(*asked, stdout=asyncio.subprocess.PIPE)
    written, _ = await process.communicate()
    found = json.loads(written)
    assert found["size"] > PODS * 100, "the list is not complete"
    return found["waits"], found["size"]


def scraping():
    body = body_of(SMALL, WANTED_LINES)
    with pods_of(body, PLAIN) as port:
        for learn in (False, True):
            asyncio.run(scraped(port, PLAIN, learn=learn))
    issued = issue(["localhost"], wall())
    with tempfile.TemporaryDirectory() as folder:
        files = [str(Path(folder, name)) for name in ("ca.crt", "tls.crt", "tls.key")]
        for file, text in zip(files, (issued.ca_pem, issued.cert_pem, issued.key_pem), strict=True):
            Path(file).write_text(text, encoding="ascii")
        # The authority of all pods is one of the system then, so that no Secret is read.
        os.environ["SSL_CERT_FILE"] = files[0]
        scrape = {"scheme": "https", "serverName": "localhost"}
        packed = Encoding("gzip over TLS", "Content-Encoding: gzip\r\n", scrape, *files[1:])
        with pods_of(gzip.compress(body), packed) as port:
            asyncio.run(scraped(port, packed, learn=False))


@contextmanager
def pods_of(body, encoding):
    """A process that answers for all pods. Yields its port."""
    listening = socket.create_server(("0.0.0.0", 0), backlog=1024)  # noqa: S104  only loopback addresses are asked
    pods = multiprocessing.Process(target=answering, args=(listening, body, encoding), daemon=True)
    pods.start()
    try:
        yield listening.getsockname()[1]
    finally:
        pods.terminate()
        pods.join()
        listening.close()


if __name__ == "__main__":
    # Of other work: waits say something only if it is low.
    print(f"{os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f}")
    bodies()
    learning_costs()
    scraping()
