"""Two metrics servers: what one does not serve, it asks of the other, for the same user."""

import json

import aiohttp
import pytest
import trustme

from hypot.metricsapi.serve import other_metrics
from ports import free_port
from unit.metricsapi import test_app as world
from unit.metricsapi.test_app import HPA, RATE, asked, eventually, is_ready, items, page, pod, running, small_cluster
from unit.serving.front_proxy import PROXIES, certificate, presenting

pytestmark = pytest.mark.asyncio
ERRORS = RATE.replace("requests_per_second", "errors_per_second")
LISTED = "/apis/custom.metrics.k8s.io/v1beta2"
SERVERS = trustme.CA()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Rules of both, a certificate for the second one, and one to ask it with."""
    monkeypatch.setattr(world.module, "RULES_EVERY", 0.1)
    monkeypatch.setattr(world.module, "GRACE", 0.1)
    monkeypatch.setattr(other_metrics, "EVERY", 0.5)
    (tmp_path / "first.yaml").write_text(world.rules(world.REQUESTS))
    # It also serves the first metric, by another counter.
    (tmp_path / "second.yaml").write_text(
        world.rules(("errors_total", "errors_per_second"), ("errors_total", "requests_per_second"))
    )
    (tmp_path / "ca.crt").write_bytes(SERVERS.cert_pem.bytes())
    write(tmp_path / "server", SERVERS.issue_cert("127.0.0.1"))
    write(tmp_path / "client", certificate(PROXIES))
    return tmp_path


def write(folder, leaf):
    folder.mkdir()
    (folder / "tls.crt").write_bytes(b"".join(each.bytes() for each in leaf.cert_chain_pems))
    (folder / "tls.key").write_bytes(leaf.private_key_pem.bytes())


def to(port, folder):
    return {
        "forward_to": f"https://127.0.0.1:{port}",
        "forward_ca_file": str(folder / "ca.crt"),
        "forward_certificate": str(folder / "client"),
    }


def second(folder, *things, **changes):
    """The server that is asked, in a cluster of its own."""
    port = free_port()
    given = {"secure_port": port, "certificate": str(folder / "server"), "service": "others", **changes}
    return port, running(small_cluster(*things), folder / "second.yaml", **given)


async def metrics_of(app):
    """What discovery says, and the gauge."""
    status, body = await asked_as_hpa(app, LISTED)
    text = (await page(app.metrics.port, "/metrics"))[1]
    up = [line for line in text.splitlines() if line.startswith("hypot_metrics_forward_up ")]
    return status, sorted(one["name"] for one in body.get("resources", ())), up


async def asked_as_hpa(app, path):
    """Also of a server that was given its certificate."""
    trusted = app.certificate.ca_pem or SERVERS.cert_pem.bytes().decode()
    connector = aiohttp.TCPConnector(ssl=presenting(trusted, certificate(PROXIES)))
    async with (
        aiohttp.ClientSession(connector=connector, requote_redirect_url=False) as session,
        session.get(f"https://127.0.0.1:{app.listener.port}{path}", headers=HPA) as got,
    ):
        return got.status, await got.json()


async def test_values_and_lists_of_both(folder):
    """Own names come first, and the other server goes and comes back without a failure of the first one."""
    pods = world.Pods()
    async with pods.running() as target:
        port, other = second(folder, pod("web-1", target))
        async with running(small_cluster(pod("web-1", target)), folder / "first.yaml", **to(port, folder)) as first:
            await eventually(lambda: is_ready(first))
            # The other server does not run yet.
            assert await eventually(lambda: _lists(first, ["pods/requests_per_second"], 0))
            status, body = await asked_as_hpa(first, ERRORS)
            assert (status, body["kind"], body["reason"]) == (503, "Status", "ServiceUnavailable")
            async with other as behind:
                await eventually(lambda: is_ready(behind))
                both = ["pods/errors_per_second", "pods/requests_per_second"]
                await eventually(lambda: _lists(first, both, 1))
                (item,) = await eventually(lambda: items(first, ERRORS))
                assert item["metric"]["name"] == "errors_per_second"
                # One counter grows by 100 with each scrape, that of the other server by 1.
                (own,) = await eventually(lambda: items(first))
                assert world.milli(own["value"]) > 20 * world.milli(item["value"])
                # A status is passed on, and authorization happens here first.
                assert (await asked_as_hpa(first, ERRORS.replace("errors", "none")))[0] == 404
                forwarded = first.others.forwarder.counts.codes.total()
                denied = ERRORS.replace("shop", "bank")
                assert (await asked(first, denied, Authorization="Bearer tenant"))[0] == 403
                assert (await asked(first, ERRORS, **HPA))[0] == 401
                assert first.others.forwarder.counts.codes.total() == forwarded
                assert (await asked(first, ERRORS, Authorization="Bearer tenant"))[0] == 200
            await eventually(lambda: _lists(first, ["pods/requests_per_second"], 0))
            assert await items(first)


async def _lists(app, names, up):
    return await metrics_of(app) == (200, names, [f"hypot_metrics_forward_up {up}"])


async def test_the_user_is_checked_by_the_other_server_too(folder):
    """It gets the user of the request, not this server's own account."""
    port, other = second(folder)
    async with other as behind, running(small_cluster(), folder / "first.yaml", **to(port, folder)) as first:
        await eventually(lambda: is_ready(first))
        await eventually(lambda: is_ready(behind))
        checked = []
        reviewing = behind.plain
        original = reviewing.call

        async def call(request):
            if request.path == world.ACCESS_REVIEWS:
                checked.append(json.loads(request.body)["spec"]["user"])
            return await original(request)

        reviewing.call = call
        assert (await asked(first, ERRORS, Authorization="Bearer tenant"))[0] == 200
        assert set(checked) >= {"tenant"}


async def test_a_server_that_asks_itself(folder):
    """The first request comes back once, and no further."""
    port = free_port()
    async with running(
        small_cluster(),
        folder / "first.yaml",
        secure_port=port,
        certificate=str(folder / "server"),
        **to(port, folder),
    ) as app:
        await eventually(lambda: is_ready(app))
        before = app.api.codes.total()
        status, body = await asked_as_hpa(app, ERRORS)
        assert (status, body["reason"]) == (508, "LoopDetected")
        assert "it is this server itself" in body["message"]
        await eventually(lambda: _lists(app, ["pods/requests_per_second"], 0))
        assert app.others.forwarder.counts.faults["loop"] >= 2
        assert app.api.codes.total() - before < 50
