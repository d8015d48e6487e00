"""The metrics server as a process: its tasks, from the first watch to the release of the Lease."""

import asyncio
import signal
import socket
from collections.abc import Iterable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, NamedTuple

import aiohttp
import structlog

from hypot.cluster.api import Api
from hypot.cluster.clock import boot, wall
from hypot.cluster.config import SERVICE_ACCOUNT, Access
from hypot.cluster.connection import Connection, warn
from hypot.cluster.lease import Lease, own_identity
from hypot.cluster.port import RefusedError, UnreachableError
from hypot.cluster.prometheus import PrometheusApi
from hypot.kinds.metric_rules.read import RulesError
from hypot.metricsapi.collector import Collected, Collector
from hypot.metricsapi.config import MetricsConfig
from hypot.metricsapi.costs.reporter import CostReporter
from hypot.metricsapi.own_metrics import ServerState, exposition
from hypot.metricsapi.plan import ScrapePlan
from hypot.metricsapi.prometheus.querier import QueryCounts
from hypot.metricsapi.registration import Registration
from hypot.metricsapi.rules_file import RulesFile
from hypot.metricsapi.scrape.fetch import new_session
from hypot.metricsapi.scrape.scraper import ScrapeCounts
from hypot.metricsapi.scrape.secrets import OwnAccount, Secrets
from hypot.metricsapi.serve.api import LIMITS, MetricsPages, Others
from hypot.metricsapi.serve.forwarder import Forwarder, OtherServer
from hypot.metricsapi.serve.other_metrics import OtherMetrics
from hypot.metricsapi.serve.values import ServedValues
from hypot.serving.certificate_holder import CertificateHolder
from hypot.serving.certificate_secret import CertificateSecret
from hypot.serving.certificates import Issued, names_of
from hypot.serving.client_certificates import AUTHENTICATED, ClientCertificates
from hypot.serving.config import host_of
from hypot.serving.garbage import collect_seldom
from hypot.serving.given_certificate import GivenCertificateError, read_certificate
from hypot.serving.listener import Listener
from hypot.serving.metrics_page import MetricsEndpoint
from hypot.serving.probes import Probes
from hypot.serving.readers import Readers, User

log = structlog.get_logger()
LEASE = SECRET = ACCOUNT = "hypot-metrics"  # noqa: S105  a name
# How often the certificate and the APIServices are checked, and how soon again after a failure.
CERTIFICATE_EVERY, CERTIFICATE_AGAIN = 60.0, 5.0
# How often the file of the rules is checked, and how many problems of it are logged.
RULES_EVERY, MOST_PROBLEMS = 5.0, 20
# After SIGTERM: how long requests are still answered, because the API server learns of it later.
GRACE = 3.0


class _Running(NamedTuple):
    collector: Collector
    task: "asyncio.Future[None]"


async def _end(several: Iterable[_Running]) -> None:
    tasks = [each.task for each in several]
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


class MetricsServer:
    """One replica. The one that leads scrapes and is ready; the others wait, or scrape too if they are warm."""

    def __init__(self, config: MetricsConfig, access: Access, rules: RulesFile, plan: ScrapePlan) -> None:
        self.config, self.rules, self.plan = config, rules, plan
        connection = Connection(access.server, access.source)
        self.plain = Api(access, connection=connection, user_agent="hypot-metrics")
        self._host = host_of(config.listen)
        self.identity = own_identity(socket.gethostname())
        self.lease = Lease(self.plain, config.namespace, LEASE, self.identity)
        self.clients = ClientCertificates(self.plain)
        readers = Readers(self.plain, certified=self.clients.user)
        self.others = self._other_server()
        self.api = MetricsPages(self._values, readers, self._ready, self.others)
        self.listener = Listener(self.api.answer, LIMITS)
        self.probes = Probes(str, self._ready)
        self.metrics = MetricsEndpoint(self._exposition, readers if config.metrics_auth else None)
        names = names_of(config.service, config.namespace)
        self.secret = CertificateSecret(self.plain, config.namespace, names, server="metrics", secret_name=SECRET)
        self.registration = Registration(self.plain, config.namespace, config.service)
        self.stopping = asyncio.Event()
        self.counts = Collected(ScrapeCounts(), QueryCounts())
        self.collector: Collector | None = None
        self.reporter = CostReporter(self.plain, self.identity, self.lease.left)
        self.certificate: Issued | None = None
        # Why there is no certificate yet, and what is wrong with the rules in the file.
        self.certificate_trouble = self.rules_trouble = ""
        # The error that ended the process; empty after a normal stop.
        self.broken = ""

    def _other_server(self) -> Others | None:
        """Where metrics come from that no rule serves."""
        config = self.config
        if not config.forward_to:
            return None
        files = config.forward_ca_file, config.forward_certificate, config.forward_token_file
        forwarder = Forwarder(OtherServer(config.forward_to, *files), f"{config.service}.{config.namespace}")
        groups = "system:serviceaccounts", f"system:serviceaccounts:{config.namespace}", AUTHENTICATED
        own = User(f"system:serviceaccount:{config.namespace}:{ACCOUNT}", groups)
        return Others(forwarder, OtherMetrics(forwarder, own, lambda: self.lease.leading))

    async def run(self) -> None:
        """Run until SIGTERM or SIGINT, then release the Lease."""
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, self.stopping.set)
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self.plain)
            session = await stack.enter_async_context(new_session(2 * self.config.scrape_period))
            asking = await stack.enter_async_context(aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()))
            if self.others is not None:
                await stack.enter_async_context(self.others.forwarder)
            for server in (self.probes, self.metrics, self.listener):
                stack.push_async_callback(server.stop)
            await self.probes.start(self._host, self.config.probe_port)
            if not self.config.metrics_auth:
                await self.metrics.start(self._host, self.config.metrics_port)
            await self._until_stopped(session, asking)

    async def _until_stopped(self, session: aiohttp.ClientSession, asking: aiohttp.ClientSession) -> None:
        work = [
            self.lease.run(),
            self.clients.run(),
            self._serve(),
            self._collect(session, asking),
            self.reporter.run(lambda: self.collector.costs.take_changes() if self.collector is not None else ()),
            collect_seldom(),
        ]
        if self.others is not None:
            work.append(self.others.metrics.run())
        tasks: list[asyncio.Future[Any]] = [asyncio.ensure_future(each) for each in work]
        stopping = asyncio.ensure_future(self.stopping.wait())
        try:
            done, _ = await asyncio.wait([*tasks, stopping], return_when=asyncio.FIRST_COMPLETED)
            if stopping in done:
                # Others take over now; the values are still good for requests that are under way.
                led = self.lease.leading
                await self.lease.release()
                await asyncio.sleep(GRACE if led else 0)
            else:
                errors = [error for task in done if (error := task.exception())]
                self.broken = repr(errors)
                log.error("a task ended unexpectedly", error=self.broken, exc_info=errors[0] if errors else None)
        finally:
            self.stopping.set()
            for task in (*tasks, stopping):
                task.cancel()
            await asyncio.gather(*tasks, stopping, return_exceptions=True)
            if self.broken:
                await self.lease.release()
            log.info("stopped")

    async def _collect(self, session: aiohttp.ClientSession, asking: aiohttp.ClientSession) -> None:
        """Apply the rules. If the file changes, the former ones stay until the pods of the new ones are known."""
        config, prometheus = self.config, None
        if config.prometheus:
            files = config.prometheus_token_file, config.prometheus_ca_file
            prometheus = PrometheusApi(asking, config.prometheus, *files)
        secrets = Secrets(self.plain, OwnAccount(SERVICE_ACCOUNT / "token", SERVICE_ACCOUNT / "ca.crt"))

        def begun(plan: ScrapePlan) -> _Running:
            def active() -> bool:
                return self._active() and self.collector is made

            made = Collector(self.plain, plan, session, secrets, prometheus, config, active, self.counts)
            return _Running(made, asyncio.ensure_future(made.run()))

        # The rules that are applied, and new ones that wait for their pods.
        running = [begun(self.plan)]
        self._apply(running[0].collector)
        try:
            while True:
                done, _ = await asyncio.wait([each.task for each in running], timeout=RULES_EVERY)
                for task in done:
                    task.result()
                if (plan := await asyncio.to_thread(self._new_plan)) is not None:
                    await _end(running[1:])
                    running[1:] = [begun(plan)]
                elif len(running) > 1:
                    await self._follow(running)
        finally:
            await _end(running)

    async def _follow(self, running: "list[_Running]") -> None:
        """Apply the new rules if their pods are known."""
        former, new = running
        if new.collector.awaited:
            log.warning("new rules wait", awaited=new.collector.awaited)
            return
        new.collector.adopt(former.collector)
        self._apply(new.collector)
        del running[0]
        await _end([former])

    def _apply(self, collector: Collector) -> None:
        self.collector = collector
        log.info("rules applied", rules=[rule.name for rule in collector.plan.rules], targets=len(collector.targets))

    def _new_plan(self) -> ScrapePlan | None:
        """The rules of the file if it has changed; invalid ones are reported, and the last valid ones stay."""
        if not self.rules.changed():
            return None
        try:
            plan = self.rules.read()
        except RulesError as error:
            if (problems := str(error)) != self.rules_trouble:
                log.warning("invalid rules, the last valid ones stay", problems=problems.splitlines()[:MOST_PROBLEMS])
            self.rules_trouble = problems
            return None
        self.rules_trouble = ""
        if plan == self.plan:
            return None
        self.plan = plan
        return plan

    async def _serve(self) -> None:
        """Serve the APIs as soon as there is a certificate, and renew it in time."""
        holder: CertificateHolder | None = None
        while True:
            try:
                issued = await self._issued()
                registered = await self.registration.publish(issued.ca_pem)
            except (UnreachableError, RefusedError, GivenCertificateError) as error:
                if str(error) != self.certificate_trouble:
                    warn("certificate not ready", error)
                self.certificate_trouble = str(error)
                await asyncio.sleep(CERTIFICATE_AGAIN)
                continue
            if holder is None:
                holder = CertificateHolder(issued)
                await self._listen(holder)
                log.info("serving metrics APIs", port=self.listener.port, registered=registered)
                if not registered:
                    log.warning(
                        "no APIService names this server", todo="apply the output of `hypot manifests --metrics`"
                    )
            else:
                holder.take(issued)
            self.certificate, self.certificate_trouble = issued, ""
            await self._trusting(holder)

    async def _trusting(self, holder: CertificateHolder) -> None:
        """Follow the authorities of client certificates until the certificate is due for a check."""
        until, known = boot() + CERTIFICATE_EVERY, ""
        while boot() < until:
            trust = self.clients.trust
            if (both := f"{trust.client_pem}\n{trust.proxy_pem}") != known:
                holder.ask_clients(both)
                known = both
            await asyncio.sleep(0.5)

    async def _issued(self) -> Issued:
        if self.config.certificate:
            return await asyncio.to_thread(read_certificate, Path(self.config.certificate))
        return await self.secret.ensure(wall())

    async def _listen(self, holder: CertificateHolder) -> None:
        if self.config.metrics_auth:
            await self.metrics.start(self._host, self.config.metrics_port, holder.context)
        holder.ask_clients("")
        await self.listener.start(self._host, self.config.secure_port, holder.context)

    def _active(self) -> bool:
        """Whether this replica scrapes."""
        return self.config.warm or self.lease.leading

    def _values(self) -> ServedValues | None:
        """The values to serve. After SIGTERM they are still good for a moment."""
        serves = self._active() or self.stopping.is_set()
        return self.collector.values if self.collector is not None and serves else None

    def _ready(self) -> str:
        if self.stopping.is_set():
            return "stopping"
        if self.certificate is None:
            return f"waiting for the certificate: {self.certificate_trouble or 'not read yet'}"
        if self.clients.awaited:
            return f"waiting for {self.clients.awaited}"
        if self.collector is None or self.collector.awaited:
            return f"waiting for {self.collector.awaited if self.collector else 'the rules'}"
        if self.lease.leading:
            return ""
        return f"this replica does not lead: {self.lease.trouble or f'{self.lease.holder} does'}"

    def _exposition(self) -> Iterator[bytes]:
        expires = 0.0 if self.certificate is None else self.certificate.not_after - wall()
        return exposition(
            ServerState(
                boot(),
                self.config.ages,
                self.lease.leading,
                self.collector,
                self.counts,
                self.api.codes,
                bool(self.rules_trouble),
                expires,
                self.others,
            )
        )
