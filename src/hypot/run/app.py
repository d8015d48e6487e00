"""The controller as a process: the tasks that run concurrently, from the first watch to the release of the Lease."""

import asyncio
import os
import signal
import socket
from collections import Counter
from collections.abc import Iterable
from contextlib import AsyncExitStack, suppress
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import structlog

from hypot.cluster.api import Api
from hypot.cluster.clock import boot, wall
from hypot.cluster.config import Access
from hypot.cluster.connection import Connection, warn
from hypot.cluster.discovery import Discovery
from hypot.cluster.lease import Lease, own_identity
from hypot.cluster.port import Port, RefusedError, UnreachableError
from hypot.cluster.prometheus import PrometheusApi
from hypot.policy.model.decision import condition_of
from hypot.policy.stages.report import kebab
from hypot.run.act.actor import Actor, DryRunPort
from hypot.run.act.execute import Executor
from hypot.run.addresses import AllowedAddresses
from hypot.run.config import RunConfig
from hypot.run.internal_errors import InternalErrors, where
from hypot.run.observe.certificates import Certificates
from hypot.run.observe.leases import ACTS_IN, Leases, acts_in
from hypot.run.observe.observer import Observer, UsageSource
from hypot.run.observe.past_usage import PastUsage
from hypot.run.observe.pod_metrics import MetricsApi
from hypot.run.observe.prometheus import Prometheus
from hypot.run.observe.recommenders import Recommenders, new_session
from hypot.run.observe.watches import Watches
from hypot.run.outcome import CARRIED_OUT, Done, Judged, Outcome, Reconciled
from hypot.run.reconcile import Clocks, Reconciler
from hypot.run.report.gauges import Histogram, MetricsSnapshot, exposition
from hypot.run.report.liveness import stuck, stuck_after
from hypot.run.report.log import DecisionLog
from hypot.run.report.reporter import Reporter
from hypot.run.report.scope import log_scope
from hypot.run.rights import features_of, own_name, state_name
from hypot.run.store.backfill import Backfill
from hypot.run.store.shard_text import NewerStateError
from hypot.run.store.shards import Shards
from hypot.run.store.usage_history import UsageHistory
from hypot.run.store.usage_store import Patience, UsageStore
from hypot.run.webhook.certificate_store import CertificateStore
from hypot.run.webhook.finder import Finder
from hypot.run.webhook.given_certificate import GivenCertificate
from hypot.run.webhook.server import Times, Webhook
from hypot.serving.certificate_holder import CertificateHolder
from hypot.serving.certificates import Issued, names_of
from hypot.serving.config import host_of
from hypot.serving.garbage import collect_seldom
from hypot.serving.given_certificate import GivenCertificateError
from hypot.serving.metrics_page import MetricsEndpoint
from hypot.serving.probes import Probes
from hypot.serving.readers import Readers

log = structlog.get_logger()
# The annotation on the Lease that says whether its holder lets new pods start smaller than their manifest says.
SCALES_DOWN = "hypot.dev/scales-down"
# How often the certificate is checked.
CERTIFICATE_EVERY = 600.0
# How often a certificate that others keep is read, and how soon again after a failure.
GIVEN_EVERY = 60.0
CERTIFICATE_AGAIN = 10.0
# How often the webhook configuration is looked for while it is missing.
REGISTERED_EVERY = 15.0
# The pause before the next attempt after a failed start of leading.
AGAIN_AFTER = 2.0
# How often a replica that refuses to lead looks whether it may lead again.
LOOK_AGAIN_AFTER = 15.0
# How long the API server may fail before this replica is not ready.
UNREADY_AFTER = 30.0
# How long a reconcile that is under way, and saving the state, may take when hypot stops.
GRACE = 15.0


class App:
    """One replica: it always watches and serves the webhook, and it reconciles while it leads."""

    def __init__(self, config: RunConfig, access: Access) -> None:
        self.config = config
        self._host = host_of(config.listen)
        self.identity = own_identity(socket.gethostname())
        connection = Connection(access.server, access.source)
        self.plain = Api(access, connection=connection)
        # The addresses of the API server, which no object may name.
        self.api_hosts = [urlsplit(access.server).hostname or "", os.environ.get("KUBERNETES_SERVICE_HOST", "")]
        self.lease = Lease(self.plain, config.namespace, own_name(config), self.identity, annotations=self._message)
        self.guarded = Api(access, guard=self.lease.left, connection=connection)
        self.watches = Watches(self.plain, config)
        self.stopping = asyncio.Event()
        # The error that ended the process; empty after a normal stop.
        self.broken = ""
        self.reconciled = Reconciled()
        self.reconciles = 0
        # Set while this replica leads.
        self.reconciler: Reconciler | None = None
        # When this leader last began a reconcile or tried to start leading; None while it does not lead.
        self.attempted: float | None = None
        # Why this replica refuses to lead; empty if it does not.
        self.refusal = ""
        self.patience = Patience()
        self.errors = InternalErrors()
        # Since when, on the boot clock, each reconcile of this leader fails as a whole; None if the last did not.
        self.failing_since: float | None = None
        self.failing = ""
        self.decision_log = DecisionLog(dry_run=config.dry_run, object_metrics=config.object_metrics)
        self.certificate: Issued | None = None
        # How long the webhook takes to answer; None without a webhook.
        self.times: Times | None = None
        # Whether the API server calls the webhook, of this or another replica, for every new pod.
        self.sizes_new_pods = False
        # Why the webhook does not listen yet; empty if it does, or if there is none.
        self.webhook_awaits = "its certificate" if self._has("webhook") else ""
        self.probes = Probes(self._health, self._ready)
        readers = Readers(self.plain) if config.metrics_auth else None
        self.metrics = MetricsEndpoint(lambda: exposition(self._snapshot()), readers)

    async def run(self) -> None:
        """Run until SIGTERM or SIGINT, then release the Lease."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.stopping.set)
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self.plain)
            await stack.enter_async_context(self.guarded)
            log_scope(self.config, self.plain.access)
            await self.probes.start(self._host, self.config.probe_port)
            stack.push_async_callback(self.probes.stop)
            stack.push_async_callback(self.metrics.stop)
            if not self.config.metrics_auth:
                await self.metrics.start(self._host, self.config.metrics_port)
            log.info("listening", port=self.probes.port, identity=self.identity)
            await self._until_stopped(stack)

    async def _until_stopped(self, stack: AsyncExitStack) -> None:
        session = await stack.enter_async_context(aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()))
        allowed = AllowedAddresses(self.config.recommender_hosts, self.config.cluster_domain, self.api_hosts)
        certificates = Certificates(self.config.recommender_files, insecure=self.config.recommender_insecure)
        asking = await stack.enter_async_context(new_session(allowed))
        recommenders = Recommenders(asking, allowed, certificates)
        watching: list[asyncio.Future[Any]] = [
            asyncio.ensure_future(self.watches.run()),
            asyncio.ensure_future(self.lease.run()),
            asyncio.ensure_future(collect_seldom()),
        ]
        if self._has("webhook") or self.config.metrics_auth:
            watching.append(asyncio.ensure_future(self._serve_tls()))
        leading = asyncio.ensure_future(self._lead(session, recommenders))
        stopping = asyncio.ensure_future(self.stopping.wait())
        try:
            done, _ = await asyncio.wait([*watching, leading, stopping], return_when=asyncio.FIRST_COMPLETED)
            self.stopping.set()
            if stopping not in done:
                errors = [error for task in done if not task.cancelled() and (error := task.exception())]
                self.broken = repr(errors)
                log.error("a task ended unexpectedly", error=self.broken, exc_info=errors[0] if errors else None)
            with suppress(asyncio.TimeoutError):
                await asyncio.wait_for(asyncio.shield(leading), GRACE)
        finally:
            await _end([leading, stopping, *watching])
            await self.lease.release()
            log.info("stopped")

    async def _lead(self, session: aiohttp.ClientSession, recommenders: Recommenders) -> None:
        """Reconcile while the Lease is held; each time it is acquired, load the saved state first."""
        while not self.stopping.is_set():
            if self.refusal:
                await self._pause(LOOK_AGAIN_AFTER)
                await self._look_again()
                continue
            if not self.lease.leading or self.watches.unready:
                self.attempted = None
                self._recover()
                await self._pause(0.5)
                continue
            self.attempted = boot()
            try:
                reconciler = await self._reconciler(session, recommenders)
                await reconciler.resume()
            except (UnreachableError, RefusedError) as error:
                warn("cannot start leading", error)
                await self._pause(AGAIN_AFTER)
                continue
            except NewerStateError as error:
                self._refuse_to_lead(str(error))
                continue
            except Exception as error:  # noqa: BLE001  it is tried again
                self._failed(error)
                await self._pause(AGAIN_AFTER)
                continue
            self.reconciler = reconciler
            try:
                await self._reconcile_while_leading(reconciler)
            except NewerStateError as error:
                self._refuse_to_lead(str(error))
            finally:
                reconciler.backfill.stop()
            self.reconciler = None

    def _refuse_to_lead(self, reason: str) -> None:
        """Leave the Lease to others: leading would replace the state of a newer hypot."""
        if reason != self.refusal:
            log.error("refuses to lead", reason=reason)
        self.refusal, self.attempted = reason, None
        self.lease.stand_aside()

    async def _look_again(self) -> None:
        try:
            await self._shards(self.plain).check()
        except NewerStateError as error:
            self._refuse_to_lead(str(error))
        except (UnreachableError, RefusedError) as error:
            warn("cannot read the state", error)
        else:
            log.info("may lead again")
            self.refusal = ""
            self.lease.stand()

    def _shards(self, port: Port) -> Shards:
        return Shards(port, self.config.namespace, state_name(own_name(self.config)), clock=wall)

    def _message(self) -> dict[str, str]:
        """The annotations of the Lease: what this leader does, for the other replica and other installations."""
        return {ACTS_IN: acts_in(self.config), SCALES_DOWN: str(self._remembers()).lower()}

    def _remembers(self) -> bool:
        """Whether the state is complete enough to scale down: no recent cold start and no recent clock jump."""
        return self.reconciler is not None and self.reconciler.may_shrink()

    def may_shrink(self) -> bool:
        """Whether new pods may be smaller than their manifest says; a replica that does not lead asks the Lease."""
        known = self._remembers() if self.lease.leading else self.lease.said.get(SCALES_DOWN) == "true"
        return known and not self.watches.blind

    async def _reconcile_while_leading(self, reconciler: Reconciler) -> None:
        period = self.config.settings.sync_period
        while self.lease.leading and not self.stopping.is_set():
            began = self.attempted = boot()
            try:
                self.reconciled = await reconciler.reconcile()
                self.reconciles += 1
                await self.decision_log.report(self.reconciled)
                self._recover()
            except NewerStateError:
                raise
            except (UnreachableError, RefusedError) as error:
                self._recover()
                warn("reconcile failed", error)
            except Exception as error:  # noqa: BLE001  the next one is tried
                self._failed(error)
            await self._pause(began + period - boot())
        if self.lease.leading:
            await self._save_all(reconciler)

    async def _save_all(self, reconciler: Reconciler) -> None:
        """Save everything before the Lease is released. What fails is lost, as after a crash."""
        try:
            await reconciler.stop()
        except NewerStateError:
            raise
        except Exception:
            log.exception("state not saved")

    def _recover(self) -> None:
        """Reconciles do not fail in a row because of hypot's own code."""
        self.failing_since, self.failing = None, ""

    def _failed(self, error: Exception) -> None:
        """Record a reconcile that failed as a whole, and log it, with a traceback if it is a new error."""
        before, self.failing = self.failing, f"{type(error).__name__} at {where(error)}"
        self.failing_since = boot() if self.failing_since is None else self.failing_since
        log.error("reconcile failed", error=self.failing, exc_info=None if self.failing == before else error)

    async def _pause(self, seconds: float) -> None:
        with suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self.stopping.wait(), max(seconds, 0.0))

    async def _reconciler(self, session: aiohttp.ClientSession, recommenders: Recommenders) -> Reconciler:
        discovery = Discovery(self.guarded)
        version = await discovery.server_version()
        config = replace(self.config, settings=replace(self.config.settings, kubernetes=version))
        acting: Port = DryRunPort(self.guarded) if config.dry_run else self.guarded
        reporter = Reporter(acting, self.watches, self.identity, self.errors)
        history = UsageHistory(config.settings)
        actor = Actor(acting, self.watches, discovery, dry_run=config.dry_run)

        async def record(outcome: Outcome) -> Done:
            return await reporter.status(outcome, boot())

        source: UsageSource = MetricsApi(self.guarded, config.watch_namespaces)
        backfill = Backfill()
        if config.prometheus:
            api = PrometheusApi(session, config.prometheus, config.prometheus_token_file, config.prometheus_ca_file)
            source, backfill = Prometheus(api), Backfill(PastUsage(api), boot)
        return Reconciler(
            config,
            self.watches,
            Observer(
                self.guarded, self.watches, source, history, discovery, recommenders, config.settings, self.errors
            ),
            history,
            actor,
            UsageStore(acting, history, config.watch_namespaces, self.patience),
            Executor(actor, record, config.settings, self._sizes, dry_run=config.dry_run, stands=self._stands),
            reporter,
            self._shards(self.guarded),
            Leases(self.guarded, config),
            Clocks(wall, boot),
            self.errors,
            backfill,
        )

    def _sizes(self) -> bool:
        """Whether evicted pods come back with their new size; a dry run has no webhook and assumes one."""
        return self.config.dry_run or self.sizes_new_pods

    def _stands(self, judged: Judged) -> bool:
        return self.watches.stands(judged.key, judged.autoscaler)

    def _has(self, feature: str) -> bool:
        return feature in features_of(self.config)

    async def _serve_tls(self) -> None:
        """Serve what needs a certificate as soon as there is one, and renew it in time."""
        finder = Finder(self.watches, boot)
        webhook = Webhook(
            finder.find,
            finder.limit_ranges_of,
            knobs=self.config.settings.vpa,
            may_shrink=self.may_shrink,
        )
        source, holder = self._certificate_source(), None
        try:
            while True:
                try:
                    issued = await source.ensure(wall())
                    if self._has("webhook"):
                        await self._look_for_registration(source, issued)
                except (UnreachableError, RefusedError, GivenCertificateError) as error:
                    warn("webhook certificate not ready", error)
                    if self.webhook_awaits:
                        self.webhook_awaits = f"its certificate: {error}"
                    await asyncio.sleep(CERTIFICATE_AGAIN)
                    continue
                self.certificate = issued
                if holder is None:
                    holder = CertificateHolder(issued)
                    await self._listen(webhook, holder)
                else:
                    holder.take(issued)
                await asyncio.sleep(self._until_next_look())
        finally:
            await webhook.stop()

    def _certificate_source(self) -> CertificateStore | GivenCertificate:
        config = self.config
        if config.webhook_certificate:
            return GivenCertificate(self.plain, config.namespace, config.webhook_certificate)
        return CertificateStore(self.plain, config.namespace, names_of(config.webhook_service, config.namespace))

    async def _look_for_registration(self, source: CertificateStore | GivenCertificate, issued: Issued) -> None:
        self.sizes_new_pods = await source.registered(issued)
        if not self.sizes_new_pods:
            log.warning("no webhook configuration with a CA bundle", todo="apply the output of `hypot manifests`")

    async def _listen(self, webhook: Webhook, holder: CertificateHolder) -> None:
        if self.config.metrics_auth:
            await self.metrics.start(self._host, self.config.metrics_port, holder.context)
        if self._has("webhook"):
            await webhook.start(self._host, self.config.webhook_port, holder)
            self.times, self.webhook_awaits = webhook.times, ""
            log.info("webhook listening", port=webhook.port)

    def _until_next_look(self) -> float:
        if self._has("webhook") and not self.sizes_new_pods:
            return REGISTERED_EVERY
        return GIVEN_EVERY if self.config.webhook_certificate else CERTIFICATE_EVERY

    def _health(self) -> str:
        limit, now = stuck_after(self.config.settings.sync_period), boot()
        since = None if self.attempted is None else now - self.attempted
        if self.lease.leading and self.failing_since is not None and now - self.failing_since > limit:
            return f"each reconcile has failed for {now - self.failing_since:.0f} s: {self.failing}"
        return stuck(leads=self.lease.leading, since_attempt=since, limit=limit)

    def _ready(self) -> str:
        if self.refusal:
            return f"refuses to lead: {self.refusal}"
        if self.watches.unready:
            return f"waiting for {self.watches.unready}"
        if self.webhook_awaits:
            return f"the webhook does not listen yet, it waits for {self.webhook_awaits}"
        # A short failure of the API server is no reason to take the webhook out of service.
        waits = self.lease.refused or self.lease.troubled_for() > UNREADY_AFTER
        return f"waiting for the Lease: {self.lease.trouble}" if waits else ""

    def _snapshot(self) -> MetricsSnapshot:
        reconciled = self.reconciled
        outcomes = reconciled.outcomes if self.lease.leading else ()
        return MetricsSnapshot(
            wall(),
            self.lease.leading,
            outcomes,
            of_objects=self.config.object_metrics,
            reconciles=self.reconciles,
            reconcile_seconds=reconciled.seconds if self.reconciles else None,
            decision_seconds=reconciled.deciding if self.reconciles else None,
            reconcile_age=boot() - reconciled.began if self.reconciles and self.lease.leading else None,
            calls=self.plain.calls + self.guarded.calls,
            stale_share=reconciled.stale_share if self.lease.leading else None,
            governor_holding=sum(any(hold.reason == "Governor" for hold in one.holds) for one in outcomes),
            state_unwritten=reconciled.unwritten if self.lease.leading else None,
            state_used=reconciled.state_used if self.lease.leading else None,
            certificate_seconds=self._certificate_seconds(),
            plans=_plans(outcomes),
            webhook_seconds=None if self.times is None else _histogram(self.times),
            errors=self.errors,
        )

    def _certificate_seconds(self) -> float | None:
        """Seconds until the certificate expires, 0 without one; None if the webhook is off."""
        if self.certificate is not None:
            return self.certificate.not_after - wall()
        return 0.0 if self._has("webhook") else None


def _plans(outcomes: Iterable[Outcome]) -> Counter[str]:
    """How many plans (decisions on both axes) are in each state."""
    found = [condition_of(one.state.conditions, CARRIED_OUT) for one in outcomes]
    return Counter(kebab(condition.reason) for condition in found if condition is not None)


def _histogram(times: Times) -> Histogram:
    return Histogram(times.cumulative(), times.count, times.total)


async def _end(tasks: list[asyncio.Future[Any]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
