"""The controller as a process runs it, against a cluster in memory that is served over HTTPS on the loopback."""

import asyncio
import os
import signal
import ssl
from contextlib import asynccontextmanager
from types import SimpleNamespace

import aiohttp
import msgspec
import pytest
import trustme
from structlog.testing import capture_logs

from fake_cluster import FakeCluster
from fake_objects import refusal
from hypot.cluster.clock import boot
from hypot.cluster.config import Access
from hypot.cluster.port import Answer, Request, UnreachableError, encoded
from hypot.cluster.prometheus import PrometheusApi
from hypot.policy.model.settings import Settings
from hypot.run.app import SCALES_DOWN, App
from hypot.run.config import RunConfig
from hypot.run.reconcile import Reconciler
from hypot.run.report.gauges import exposition
from hypot.run.report.log import DecisionLog
from hypot.run.store.shard_text import VERSION, pack
from hypot.run.store.shards import Shards
from hypot.run.webhook.server import Times
from ports import free_port
from unit.cluster.server import access_at, served, serving, until_stopped
from unit.policy.sizes_world import TARGET, hvpa
from unit.run.run_world import KINDS, OWN, QUEUE, WEB, World, web, wpa

pytestmark = pytest.mark.asyncio
LEASE = f"/apis/coordination.k8s.io/v1/namespaces/{OWN}/leases/hypot"
STATE = f"/api/v1/namespaces/{OWN}/configmaps/hypot-state-0"
WITHIN = 30.0
UNREACHABLE, ANSWERS = "API server unreachable, trying again", "API server answers again"


def small_cluster(*objects):
    cluster = FakeCluster()
    cluster.fixed["/version"] = Answer(200, encoded({"major": "1", "minor": "36"}))
    cluster.fixed[QUEUE] = Answer(200, encoded({"items": [{"value": "80"}]}))
    for each in objects:
        cluster.put(each)
    return cluster


@asynccontextmanager
async def running(cluster, **config):
    """An app that runs until the end of the block."""
    usual = {"opt_in": "all", "listen": "127.0.0.1", "probe_port": 0, "metrics_port": 0, "webhook_port": 0}
    setup = RunConfig(**{**usual, "settings": Settings(sync_period=0.2), **config})
    async with serving(served(cluster)) as access, until_stopped(App(setup, access), cluster) as app:
        yield app


async def eventually(what):
    """Wait until this holds; the test fails after a timeout."""
    async with asyncio.timeout(WITHIN):
        while not what():  # noqa: ASYNC110  there is no event to wait for
            await asyncio.sleep(0.02)


def replicas(cluster):
    return cluster.get(WEB)["spec"]["replicas"]


async def page(app, path):
    port = app.metrics.port if path == "/metrics" else app.probes.port
    async with aiohttp.ClientSession() as session, session.get(f"http://127.0.0.1:{port}{path}") as answer:
        return answer.status, await answer.text()


async def test_it_leads_reconciles_reports_and_releases_the_lease():
    """The controller starts, acts, serves its pages, and releases the Lease at the end."""
    cluster = small_cluster(*web(4), wpa())
    async with running(cluster) as app:
        await eventually(lambda: replicas(cluster) == 8 and app.reconciles > 1)
        assert (await page(app, "/healthz"))[0] == 200
        assert (await page(app, "/readyz"))[0] == 200
        status, text = await page(app, "/metrics")
        assert status == 200
        assert "hypot_reconcile" in text
        assert cluster.get(LEASE)["spec"]["holderIdentity"] == app.identity
        assert cluster.get(STATE) is not None
        cluster.calls.clear()
    last = [call.path for call in cluster.calls if call.writes and call.path in {STATE, LEASE}]
    assert last[-2:] == [STATE, LEASE]
    assert not cluster.get(LEASE)["spec"].get("holderIdentity")
    assert app.broken == ""


async def test_cookies_of_prometheus_are_not_kept(monkeypatch):
    """Nothing that an answer sets is sent with the next query."""
    jars = []

    def prometheus(session, *rest):
        jars.append(session.cookie_jar)
        return PrometheusApi(session, *rest)

    monkeypatch.setattr("hypot.run.app.PrometheusApi", prometheus)
    async with running(small_cluster(), prometheus="http://127.0.0.1:1"):
        await eventually(lambda: jars)
    assert [type(jar) for jar in jars] == [aiohttp.DummyCookieJar]


async def test_a_failed_reconcile_is_tried_again(monkeypatch):
    """An unexpected error in a reconcile does not stop the next ones."""
    failed = []
    whole = Reconciler.reconcile

    async def sometimes(self):
        if len(failed) < 2:
            failed.append(self)
            raise RuntimeError("a reconcile that nobody thought of")
        return await whole(self)

    monkeypatch.setattr(Reconciler, "reconcile", sometimes)
    cluster = small_cluster(*web(4), wpa())
    async with running(cluster):
        await eventually(lambda: replicas(cluster) == 8)
    assert len(failed) == 2


@pytest.mark.parametrize(
    ("error", "health"),
    [(RuntimeError("the secret of web"), 503), (UnreachableError(Request("GET", "/api"), "no answer"), 200)],
    ids=["own code", "API server"],
)
async def test_only_its_own_code_makes_it_unhealthy(error, health, monkeypatch):
    """A restart does not help against an API server that does not answer, and would forget what was learnt."""
    failed = []

    async def always(self):
        failed.append(self)
        raise error

    monkeypatch.setattr(Reconciler, "reconcile", always)
    monkeypatch.setattr("hypot.run.app.stuck_after", lambda _: 0.5)
    cluster = small_cluster(*web(4), wpa())
    with capture_logs() as logged:
        async with running(cluster) as app:
            await eventually(lambda: failed)
            assert (await page(app, "/healthz"))[0] == 200
            await asyncio.sleep(1)
            status, text = await page(app, "/healthz")
            assert (status, "secret" in text) == (health, False)
            assert ("RuntimeError at test_app.py" in text) is (health == 503)
    assert sum(line.get("exc_info") is not None for line in logged if line["event"] == "reconcile failed") <= 1


async def test_a_new_leader_is_healthy_again(monkeypatch):
    """Failures of an earlier time as leader do not count."""

    async def always(_):
        raise RuntimeError

    monkeypatch.setattr(Reconciler, "reconcile", always)
    async with running(small_cluster(*web(4), wpa())) as app:
        await eventually(lambda: app.failing_since is not None)
        app.failing_since -= 1000
        assert (await page(app, "/healthz"))[0] == 503
        app.lease.stand_aside()
        await eventually(lambda: app.attempted is None)
        assert (await page(app, "/healthz"))[0] == 200
        app.lease.stand()
        await eventually(lambda: app.lease.leading and app.attempted is not None and app.failing_since is not None)
        assert (await page(app, "/healthz"))[0] == 200


async def test_it_is_not_ready_without_an_api_server(monkeypatch):
    """A short failure changes nothing; both pages say ok again afterwards."""
    monkeypatch.setattr("hypot.run.app.UNREADY_AFTER", 3.0)
    cluster = small_cluster(*web(4), wpa())
    async with running(cluster) as app:
        await eventually(lambda: app.reconciles)
        cluster.faults = lambda _: Answer(503)
        await eventually(lambda: app.lease.trouble)
        assert (await page(app, "/readyz"))[0] == 200
        await eventually(lambda: app.lease.troubled_for() > 3)
        assert (await page(app, "/readyz"))[0] == 503
        assert (await page(app, "/healthz"))[0] == 200
        cluster.faults = None
        await eventually(lambda: not app.lease.trouble)
        assert (await page(app, "/readyz"))[0] == 200


async def test_a_leader_that_cannot_begin_tries_again():
    """Unreadable state does not count as missing state: nothing is done until it can be read."""
    cluster = small_cluster(*web(4), wpa())
    refused = []

    def forbids(call):
        if call.path.endswith("/configmaps") and len(refused) < 1:
            refused.append(call)
            return refusal(403, "not yet")
        return None

    cluster.faults = forbids
    async with running(cluster):
        await eventually(lambda: replicas(cluster) == 8)
    assert refused


async def test_an_older_version_refuses_to_lead(monkeypatch):
    """It leaves the newer state and the Lease alone, says why once, and leads when the state is gone."""
    monkeypatch.setattr("hypot.run.app.LOOK_AGAIN_AFTER", 0.1)
    cluster = small_cluster(*web(4), wpa())
    await Shards(cluster, OWN).save({"governor": {}})
    there = cluster.get(STATE)
    newer = cluster.put({**there, "binaryData": {"state": msgspec.to_builtins(pack({}, version=VERSION + 1))}})
    with capture_logs() as logged:
        async with running(cluster) as app:
            await eventually(lambda: app.refusal and not cluster.get(LEASE)["spec"].get("holderIdentity"))
            status, text = await page(app, "/readyz")
            assert (status, "from a newer hypot" in text) == (503, True)
            assert (await page(app, "/healthz"))[0] == 200
            await asyncio.sleep(0.5)
            assert (cluster.get(STATE), replicas(cluster), app.lease.leading) == (newer, 4, False)
            cluster.remove(STATE)
            await eventually(lambda: replicas(cluster) == 8)
            assert (await page(app, "/readyz"))[0] == 200
    events = [each["event"] for each in logged]
    assert (events.count("refuses to lead"), events.count("may lead again")) == (1, 1)


async def test_a_leader_stops_at_newer_state(monkeypatch):
    """A newer hypot wrote while this one led: it stops to lead, and overwrites nothing."""
    monkeypatch.setattr("hypot.run.app.LOOK_AGAIN_AFTER", 60.0)
    cluster = small_cluster(*web(4), wpa())
    async with running(cluster) as app:
        await eventually(lambda: app.reconciles > 1)
        there = cluster.get(STATE)
        content = {"state": msgspec.to_builtins(pack({}, version=VERSION + 1))}
        newer = cluster.put({**there, "binaryData": content})["binaryData"]
        cluster.fixed[QUEUE] = Answer(200, encoded({"items": [{"value": "200"}]}))
        await eventually(lambda: app.refusal)
        assert (app.reconciler, app.lease.leading) == (None, False)
        assert cluster.get(STATE)["binaryData"] == newer


def lease_of_another(**annotations):
    spec = {
        "holderIdentity": "the other",
        "leaseDurationSeconds": 15,
        "renewTime": "2099-01-01T00:00:00.000000Z",
        "acquireTime": "2099-01-01T00:00:00.000000Z",
        "leaseTransitions": 1,
    }
    metadata = {"name": "hypot", "namespace": OWN, "annotations": annotations}
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec}


async def test_only_one_replica_leads():
    """A replica that does not lead watches and answers, and writes nothing."""
    cluster = small_cluster(*web(4), wpa(), lease_of_another())
    async with running(cluster) as app:
        await eventually(lambda: not app.watches.unready)
        for _ in range(20):
            assert (await page(app, "/readyz"))[0] == 200
            await asyncio.sleep(0.02)
        assert not [call for call in cluster.calls if call.writes]
    assert cluster.get(LEASE)["spec"]["holderIdentity"] == "the other"


@pytest.mark.parametrize(
    ("said", "expected"), [({SCALES_DOWN: "true"}, True), ({SCALES_DOWN: "false"}, False), ({}, False)]
)
async def test_a_follower_shrinks_new_pods_only_where_the_leader_would(said, expected):
    """Only the leader knows of a cold start, and its Lease says so."""
    async with running(small_cluster(*web(4), wpa(), lease_of_another(**said))) as app:
        await eventually(lambda: app.lease.holder and not app.watches.unready)
        assert app.may_shrink() == expected


async def test_the_leader_says_whether_new_pods_may_shrink():
    """It may not before the state is loaded, nor after a start without state; otherwise it may."""
    cluster = small_cluster(*web(4), wpa())
    async with running(cluster) as app:
        await eventually(lambda: app.reconciles)
        assert app.reconciler.cold_since is not None
        assert not app.may_shrink()
        app.reconciler.cold_since = None
        await eventually(lambda: cluster.get(LEASE)["metadata"]["annotations"][SCALES_DOWN] == "true")
        assert app.may_shrink()


async def test_a_former_leader_reports_nothing_of_reconciles():
    """Else its last values would be reported forever, next to those of the current leader."""
    leaders_own = ("hypot_stale_share ", "hypot_reconcile_age_seconds ", "hypot_state_unwritten ")
    async with running(small_cluster(*web(4), wpa())) as app:
        await eventually(lambda: app.reconciles)
        reported = (await page(app, "/metrics"))[1]
        assert [name for name in leaders_own if f"\n{name}" in reported] == list(leaders_own)
        await app.lease.release()
        reported = (await page(app, "/metrics"))[1]
        assert [name for name in leaders_own if f"\n{name}" in reported] == []


async def test_a_dry_run_writes_only_its_lease_and_its_state():
    """Everything else is only reported; it has its own Lease next to a controller that acts."""
    cluster = small_cluster(*web(4), wpa(), lease_of_another())
    async with running(cluster, dry_run=True) as app:
        await eventually(lambda: app.reconciles > 2)
        written = {call.path.rpartition("/")[2] for call in cluster.calls if call.writes}
        assert written <= {"leases", "configmaps", "hypot-dry-run", "hypot-dry-run-state-0"}
        assert app.reconciled.outcomes[0].decision.rescales
    assert replicas(cluster) == 4
    assert cluster.get(LEASE)["spec"]["holderIdentity"] == "the other"


async def test_an_api_server_that_is_away_for_a_while():
    """No task ends; everything continues once the server is back."""
    cluster = small_cluster(*web(4), wpa())
    async with running(cluster) as app:
        await eventually(lambda: replicas(cluster) == 8)
        cluster.faults = lambda _: refusal(503, "away")
        cluster.cut_watches()
        await asyncio.sleep(0.5)
        cluster.faults = None
        before = app.reconciles
        cluster.fixed[QUEUE] = Answer(200, encoded({"items": [{"value": "200"}]}))
        await eventually(lambda: app.reconciles > before + 2)
        assert app.lease.leading
    assert app.broken == ""


async def test_a_signal_ends_it():
    """It releases the Lease and ends on SIGTERM, as Kubernetes asks."""
    cluster = small_cluster(*web(4), wpa())
    async with running(cluster) as app:
        await eventually(lambda: app.reconciles > 0)
        os.kill(os.getpid(), signal.SIGTERM)
        await eventually(app.stopping.is_set)
    assert not cluster.get(LEASE)["spec"].get("holderIdentity")


async def test_an_outage_is_one_line(monkeypatch):
    """At the start and later: one line when the API server cannot be reached, one when it answers, then it scales."""
    monkeypatch.setattr("hypot.cluster.connection.SELDOM", 0.0)
    cluster, port = small_cluster(*web(4), wpa()), free_port()
    config = RunConfig(probe_port=0, metrics_port=0, webhook_port=0, opt_in="all", settings=Settings(sync_period=0.2))
    app = App(config, access_at(port))

    def connection():
        return [line["event"] for line in logged if line["event"].startswith("API server")]

    with capture_logs() as logged:
        async with until_stopped(app, cluster):
            await eventually(connection)
            await asyncio.sleep(1)
            async with serving(served(cluster), port=port):
                await eventually(lambda: replicas(cluster) == 8)
                assert connection() == [UNREACHABLE, ANSWERS]
                cluster.cut_watches()
            await eventually(lambda: connection()[2:3] == [UNREACHABLE])
            await asyncio.sleep(1)
            async with serving(served(cluster), port=port):
                await eventually(lambda: connection()[3:] == [ANSWERS])
    warned = {line["event"] for line in logged if line["log_level"] not in {"info", "debug"}}
    # What the outage costs the leader is said: the state of its last reconciles.
    assert warned - {"state", "state not written", "lease not released"} == {UNREACHABLE}


@pytest.mark.parametrize(("kubelet", "everywhere"), [("10.0.0.1", True), ("", False)])
async def test_where_it_listens(monkeypatch, kubelet, everywhere):
    """In a pod its ports are open to other addresses than its own, elsewhere not."""
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", kubelet)
    async with running(small_cluster(), listen="") as app:
        await eventually(lambda: app.reconciles)
        # Linux has all of 127.0.0.0/8 on loopback, but nobody listens on the rest unless on all addresses.
        for port in (app.probes.port, app.metrics.port):
            assert await accepts("127.0.0.1", port)
            assert await accepts("127.0.0.2", port) is everywhere


async def accepts(host, port):
    try:
        _, writer = await asyncio.open_connection(host, port)
    except ConnectionRefusedError:
        return False
    writer.close()
    return True


async def test_a_part_that_ends_ends_the_whole(monkeypatch):
    """Without one of its parts the controller is useless: it says what broke and ends."""
    cluster = small_cluster(*web(4), wpa())
    async with serving(served(cluster)) as access:
        config = RunConfig(opt_in="all", listen="127.0.0.1", probe_port=0, metrics_port=0, webhook_port=0)
        app = App(config, access)

        async def broken():
            raise RuntimeError("no watch can be kept")

        monkeypatch.setattr(app.watches, "run", broken)
        await asyncio.wait_for(app.run(), WITHIN)
        cluster.end_watches()
    assert "no watch can be kept" in app.broken


async def test_checkpoints_that_may_never_be_read_do_not_keep_it_from_leading(monkeypatch):
    """It tries a few times, then continues without them and says so."""
    monkeypatch.setattr("hypot.run.app.AGAIN_AFTER", 0.05)
    cluster = small_cluster(*web(4), wpa(), hvpa(targetRef={**TARGET, "name": "none"}, name="other"))
    asked = []

    def forbids(call):
        if call.path.endswith("/verticalpodautoscalercheckpoints"):
            asked.append(call)
            return refusal(403, "hypot may not")
        return None

    cluster.faults = forbids
    with capture_logs() as logs:
        async with running(cluster):
            await eventually(lambda: replicas(cluster) == 8)
    said = [each["event"] for each in logs if "hypot may not" in str(each)]
    assert said == ["cannot start leading", "cannot start leading", "continuing without checkpoints"]
    assert len(asked) == 3


async def test_a_leader_that_just_begins_is_not_stuck():
    """Its last reconcile as an earlier leader does not count; the limit depends on the sync period."""
    app = App(RunConfig(settings=Settings(sync_period=100.0)), Access("https://127.0.0.1:1"))
    app.lease = SimpleNamespace(leading=True)
    assert app._health() == ""
    app.attempted = boot() - 300.0
    assert app._health() == ""
    app.attempted = boot() - 500.0
    assert "more than 400 s" in app._health()


async def test_answer_times_of_the_webhook_are_reported():
    """The series exists only where there is a webhook."""
    app = App(RunConfig(), Access("https://127.0.0.1:1"))
    assert app._snapshot().webhook_seconds is None
    app.times = Times()
    app.times.observe(0.003)
    reported = b"".join(exposition(app._snapshot())).decode()
    assert 'hypot_webhook_duration_seconds_bucket{le="0.0025"} 0\n' in reported
    assert 'hypot_webhook_duration_seconds_bucket{le="+Inf"} 1\n' in reported
    assert "hypot_webhook_duration_seconds_sum 0.003\n" in reported


@pytest.mark.parametrize(("config", "reported"), [({}, 0.0), ({"webhook_port": 0}, None), ({"dry_run": True}, None)])
async def test_a_webhook_without_a_certificate_has_none_left(config, reported):
    """Zero seconds left triggers an alert; without a webhook the series does not exist."""
    app = App(RunConfig(**config), Access("https://127.0.0.1:1"))
    assert app._snapshot().certificate_seconds == reported


# The webhook and its certificate.


def registered(*hooks):
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": "hypot"},
        "webhooks": [{"name": "pods.hypot.dev", "clientConfig": hook} for hook in hooks],
    }


async def test_it_is_ready_when_the_webhook_listens(monkeypatch):
    """Until then the page says what it waits for; so do replicas that do not lead."""
    monkeypatch.setattr("hypot.run.app.CERTIFICATE_AGAIN", 0.05)
    cluster = small_cluster(*web(4), wpa(), registered({}))
    cluster.faults = lambda call: refusal(403, "hypot may not") if "/secrets" in call.path else None
    async with running(cluster, webhook_port=free_port()) as app:
        await eventually(lambda: app.reconciles and "hypot may not" in app.webhook_awaits)
        status, text = await page(app, "/readyz")
        assert (status, "the webhook does not listen yet" in text, "hypot may not" in text) == (503, True, True)
        assert (await page(app, "/healthz"))[0] == 200
        cluster.faults = None
        await eventually(lambda: app.times is not None)
        assert (await page(app, "/readyz"))[0] == 200
        assert app.sizes_new_pods


async def test_a_certificate_that_others_keep_is_served(monkeypatch, tmp_path):
    """It is read again, the Secret and the webhook configuration stay as they are."""
    monkeypatch.setattr("hypot.run.app.GIVEN_EVERY", 0.05)
    monkeypatch.setattr("hypot.run.app.CERTIFICATE_AGAIN", 0.05)
    cluster, port = small_cluster(*web(4), wpa(), registered({"caBundle": "eA=="})), free_port()
    async with running(cluster, webhook_port=port, webhook_certificate=str(tmp_path)) as app:
        await eventually(lambda: "tls.crt and tls.key" in app.webhook_awaits)
        for _ in range(2):
            authority = trustme.CA()
            issued = authority.issue_cert("127.0.0.1")
            issued.private_key_pem.write_to_path(tmp_path / "tls.key")
            issued.cert_chain_pems[0].write_to_path(tmp_path / "tls.crt")
            pem = issued.cert_chain_pems[0].bytes().decode()
            await eventually(lambda pem=pem: app.certificate and app.certificate.cert_pem == pem)
            await eventually(lambda: app.times is not None)
            trust = ssl.create_default_context()
            authority.configure_trust(trust)
            _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=trust)
            writer.close()
        assert app.sizes_new_pods
        assert (await page(app, "/readyz"))[0] == 200
        parts = ("/secrets", "mutatingwebhookconfigurations")
        assert {(c.method, c.path) for c in cluster.calls if any(part in c.path for part in parts)} == {
            ("GET", "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/hypot")
        }


async def test_guarded_metrics_need_tls_and_a_token():
    """They have the certificate of the webhook, also where there is no webhook; probes stay as they are."""
    cluster = small_cluster(*web(4), wpa())
    reviews = "/apis/authentication.k8s.io/v1/tokenreviews", "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    cluster.fixed[reviews[0]] = Answer(201, encoded({"status": {"authenticated": True, "user": {"username": "p"}}}))
    cluster.fixed[reviews[1]] = Answer(201, encoded({"status": {"allowed": True}}))
    async with running(cluster, metrics_auth=True, webhook_service="127.0.0.1") as app:
        await eventually(lambda: app.metrics.port)
        trust = ssl.create_default_context(cadata=app.certificate.ca_pem)
        url = f"https://127.0.0.1:{app.metrics.port}/metrics"
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=trust)) as session:
            for headers, expected in (({}, 401), ({"Authorization": "Bearer t"}, 200)):
                async with session.get(url, headers=headers) as answer:
                    assert answer.status == expected
        assert (await page(app, "/healthz"))[0] == 200


# The log.


async def said(world, decision_log):
    """What a reconcile logs about objects."""
    with capture_logs() as logs:
        await decision_log.report(await world.reconcile())
    return [(each["event"], each["before"], each["after"]) for each in logs if "object" in each]


async def test_what_would_be_done_is_logged_once_for_each_change():
    """An object that is only observed does not move, so each reconcile decides the same."""
    async with World(*web(4), wpa(), kinds={"WatermarkPodAutoscaler": "observe"}) as world:
        decision_log = DecisionLog()
        world.queue("80")
        assert await said(world, decision_log) == [("would decide", 4, 8)]
        world.queue("80")
        assert await said(world, decision_log) == []
        del world.cluster.fixed[QUEUE]
        assert await said(world, decision_log) == []
        world.queue("80")
        assert await said(world, decision_log) == []
        world.queue("160")
        assert await said(world, decision_log) == [("would decide", 4, 16)]
        world.queue("30")
        assert await said(world, decision_log) == []
        world.queue("160")
        assert await said(world, decision_log) == [("would decide", 4, 16)]
        world.cluster.remove(f"{KINDS['WatermarkPodAutoscaler']}/web")
        assert await said(world, decision_log) == []
        assert decision_log._said == {}


async def test_what_is_done_is_logged_as_that():
    """The log says decided, with the counts before and after."""
    async with World(*web(4), wpa()) as world:
        world.queue("80")
        assert await said(world, DecisionLog()) == [("decided", 4, 8)]
