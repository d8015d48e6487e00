"""The webhook over real TLS: which certificates are trusted, what is answered, and changes while it listens."""

import asyncio
import base64
import io
import json
import ssl
import time
from contextlib import asynccontextmanager

import aiohttp
import pytest
from structlog.testing import capture_logs

from hypot.run.webhook.admission import LARGEST_BODY
from hypot.run.webhook.registration import configuration
from hypot.run.webhook.server import LONGEST_NAME, Times, Webhook
from hypot.serving.certificate_holder import CertificateHolder
from hypot.serving.certificates import issue
from unit.policy.sizes_world import recommended
from unit.run.webhook.admission_world import TWO, pod, request, sizer

NAMES = ["127.0.0.1"]


def now():
    return time.time()


@asynccontextmanager
async def listening(issued, autoscaler=TWO, find=None, **more):
    """A webhook that sizes every pod by this autoscaler, and its certificate holder."""
    webhook = Webhook(find or (lambda _pod, _namespace: autoscaler), lambda _namespace: (), **more)
    holder = CertificateHolder(issued)
    await webhook.start("127.0.0.1", 0, holder)
    try:
        yield webhook, holder
    finally:
        await webhook.stop()


@asynccontextmanager
async def client(issued):
    """A client that trusts only the authority of this certificate."""
    trust = ssl.create_default_context(cadata=issued.ca_pem)
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=trust)) as session:
        yield session


def address(webhook):
    return f"https://127.0.0.1:{webhook.port}/mutate"


async def shown(issued, webhook):
    """The certificate that a new connection sees."""
    trust = ssl.create_default_context(cadata=issued.ca_pem)
    _, writer = await asyncio.open_connection("127.0.0.1", webhook.port, ssl=trust)
    seen = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
    writer.close()
    await writer.wait_closed()
    return ssl.DER_cert_to_PEM_cert(seen).split()


@pytest.mark.asyncio
class TestAnswers:
    """Requests over the wire."""

    async def test_a_review_is_answered_and_counted(self):
        """The answer has a patch where there is one."""
        issued = issue(NAMES, now())
        async with listening(issued) as (webhook, _), client(issued) as session:
            for document in (pod(), None):
                async with session.post(address(webhook), json=request(document)) as answer:
                    assert (answer.status, answer.content_type) == (200, "application/json")
                    assert (await answer.json())["response"]["allowed"] is True
            assert (webhook.answered, webhook.patched, webhook.times.count) == (2, 1, 2)

    @pytest.mark.parametrize("body", [b"", b"nonsense", b"[" * 100_000, b'{"kind":"AdmissionReview"}'])
    async def test_what_is_not_a_review_is_a_bad_request(self, body):
        """The answer says what is wrong, and the next request is answered."""
        issued = issue(NAMES, now())
        async with listening(issued) as (webhook, _), client(issued) as session:
            async with session.post(address(webhook), data=body) as answer:
                assert answer.status == 400
                assert await answer.text()
            async with session.post(address(webhook), json=request(pod())) as answer:
                assert answer.status == 200
            assert (webhook.refused, webhook.answered) == (1, 1)

    async def test_nothing_is_smaller_than_written_where_it_may_not_be(self):
        """The function is called for every pod."""
        issued, answers = issue(NAMES, now()), [True, False]
        small = sizer(recommended(target=("500m", None)))
        async with listening(issued, small, may_shrink=lambda: answers.pop(0)) as (webhook, _):
            async with client(issued) as session:
                for count in (2, 1):
                    async with session.post(address(webhook), json=request(pod())) as answer:
                        patch = json.loads(base64.b64decode((await answer.json())["response"]["patch"]))
                        assert len(patch) == count
            assert answers == []

    async def test_a_body_without_end_is_refused(self):
        """A body that is larger than any object is not read to its end."""
        issued = issue(NAMES, now())
        large = io.BytesIO(b" " * (LARGEST_BODY + 1))
        async with (
            listening(issued) as (webhook, _),
            client(issued) as session,
            session.post(address(webhook), data=large) as answer,
        ):
            assert answer.status == 413

    async def test_an_error_in_hypot_allows_the_pod(self):
        """It comes up as written."""

        def broken(_pod, _namespace):
            raise RuntimeError

        issued = issue(NAMES, now())
        async with (
            listening(issued, find=broken) as (webhook, _),
            client(issued) as session,
            session.post(address(webhook), json=request(pod())) as answer,
        ):
            assert (await answer.json())["response"].keys() == {"uid", "allowed"}

    async def test_reviews_cannot_fill_the_log(self):
        """Any client can send them: one line is logged for many, without the whole text of a client."""
        issued = issue(NAMES, now())
        with capture_logs() as logs:
            async with listening(issued) as (webhook, _), client(issued) as session:
                for number in range(5):
                    body = request([number], namespace="n" * 10_000)
                    async with session.post(address(webhook), json=body) as answer:
                        assert (await answer.json())["response"]["allowed"] is True
        (line,) = [each for each in logs if each["event"] == "pod left as it is"]
        assert line["namespace"] == "n" * LONGEST_NAME

    async def test_many_at_once(self):
        """A Deployment that scales up asks for all of its pods together."""
        issued = issue(NAMES, now())

        async def once(session, webhook):
            async with session.post(address(webhook), json=request(pod())) as answer:
                return (await answer.json())["response"]["patchType"]

        async with listening(issued) as (webhook, _), client(issued) as session:
            answers = await asyncio.gather(*(once(session, webhook) for _ in range(50)))
        assert answers == ["JSONPatch"] * 50


@pytest.mark.asyncio
class TestCertificates:
    """Which certificate is served, and which is trusted."""

    async def test_a_new_certificate_is_served_without_a_new_listener(self):
        """Open connections continue; new connections see the new certificate."""
        first = issue(NAMES, now())
        second = issue(NAMES, now(), authority=first.authority)
        async with listening(first) as (webhook, holder), client(first) as session:
            port = webhook.port
            async with session.post(address(webhook), json=request(pod())) as answer:
                assert answer.status == 200
            assert await shown(first, webhook) == first.cert_pem.split()
            assert holder.take(second)
            assert not holder.take(second)
            async with session.post(address(webhook), json=request(pod())) as answer:
                assert answer.status == 200
            assert await shown(first, webhook) == second.cert_pem.split()
            assert webhook.port == port

    async def test_after_another_authority_both_are_trusted(self):
        """With the new bundle, a replica that still serves the old certificate is trusted."""
        first = issue(NAMES, now() - 3600 * 86_400)
        second = issue(NAMES, now(), lifetime_days=90, authority=first.authority)
        old = issue(NAMES, now(), lifetime_days=10, authority=first.authority)
        assert second.ca_pem != first.ca_pem == old.ca_pem
        for served in (old, second):
            async with listening(served) as (webhook, _):
                assert await shown(second, webhook) == served.cert_pem.split()

    async def test_another_authority_is_not_trusted(self):
        """A client with another authority refuses the certificate."""
        issued = issue(NAMES, now())
        async with listening(issued) as (webhook, _), client(issue(NAMES, now())) as session:
            with pytest.raises(aiohttp.ClientConnectorCertificateError):
                await session.post(address(webhook), json=request(pod()))


@pytest.mark.asyncio
async def test_stopping_twice_or_before_starting_is_fine():
    """A shutdown need not know the progress of the start."""
    webhook = Webhook(lambda _pod, _namespace: None, lambda _namespace: ())
    await webhook.stop()
    await webhook.start("127.0.0.1", 0, CertificateHolder(issue(NAMES, now())))
    assert webhook.port
    await webhook.stop()
    await webhook.stop()
    assert webhook.port == 0


@pytest.mark.asyncio
async def test_a_port_that_is_taken_is_reported():
    """The error is raised, and nothing is left open."""
    issued = issue(NAMES, now())
    async with listening(issued) as (webhook, holder):
        other = Webhook(lambda _pod, _namespace: None, lambda _namespace: ())
        with pytest.raises(OSError, match="Address already in use"):
            await other.start("127.0.0.1", webhook.port, holder)


def test_times_are_counted_by_bound():
    """A bound includes its own value, and what is beyond the last bound is in no bucket."""
    times = Times()
    for seconds in (0.0005, 0.001, 0.002, 0.1, 5.0):
        times.observe(seconds)
    counted = dict(times.cumulative())
    assert (counted[0.001], counted[0.0025], counted[0.05], counted[0.1], counted[2.0]) == (2, 3, 3, 4, 4)
    assert (times.count, round(times.total, 4)) == (5, 5.1035)


class TestConfiguration:
    """The configuration that the API server gets."""

    def test_a_failure_does_not_stop_pods(self):
        """A failure is ignored, and the timeout is short."""
        hook = configuration("hypot-system", "hypot-webhook", "pem")["webhooks"][0]
        assert (hook["failurePolicy"], hook["timeoutSeconds"], hook["sideEffects"]) == ("Ignore", 2, "None")
        assert hook["clientConfig"]["caBundle"] == "cGVt"
        assert [(rule["operations"], rule["resources"]) for rule in hook["rules"]] == [(["CREATE"], ["pods"])]

    @pytest.mark.parametrize(
        ("watched", "opt_in", "expected"),
        [
            ((), "all", []),
            ((), "label", [("hypot.dev/scaling", ["enabled"])]),
            (("b", "a"), "all", [("kubernetes.io/metadata.name", ["a", "b"])]),
        ],
    )
    def test_which_pods_are_included(self, watched, opt_in, expected):
        """Pods of kube-system and of hypot's own namespace are never included."""
        hook = configuration("own", "hypot-webhook", "", watched, opt_in=opt_in)["webhooks"][0]
        first, *others = hook["namespaceSelector"]["matchExpressions"]
        assert (first["operator"], first["values"]) == ("NotIn", ["kube-system", "own"])
        assert [(each["key"], each["values"]) for each in others] == expected
        assert all(each["operator"] == "In" for each in others)

    def test_without_a_bundle_none_is_written(self):
        """An empty bundle would overwrite that of hypot whenever the configuration is applied again."""
        hook = configuration("hypot-system", "hypot-webhook")["webhooks"][0]
        assert json.dumps(hook).count("caBundle") == 0
