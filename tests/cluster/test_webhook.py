"""A real API server calls the webhook for new pods, and accepts its answers."""

import asyncio
import itertools
import time
import uuid
from collections.abc import AsyncIterator, Coroutine, Iterator, Mapping
from contextlib import AbstractAsyncContextManager
from threading import Thread
from typing import Any

import pytest

from cluster.plane.api import Api, Object
from cluster.plane.waiting import eventually
from hypot.cluster.port import Answer, Request, encoded
from hypot.kinds.catalogue import Autoscaler
from hypot.kinds.values.nested import inner
from hypot.policy.model.seen import LimitRange
from hypot.policy.observe.read_pods import read_pod
from hypot.policy.observe.read_sizes import read_limit_range
from hypot.policy.vertical.limits import admits
from hypot.run.webhook.certificate_store import CertificateStore
from hypot.run.webhook.registration import configuration
from hypot.run.webhook.server import Webhook
from hypot.serving.certificate_holder import CertificateHolder
from hypot.serving.certificates import Issued, issue
from unit.policy.sizes_world import recommended
from unit.run.webhook.admission_world import scaled, sizer

NAMES = ["127.0.0.1"]
CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
ENABLED = {"hypot.dev/scaling": "enabled"}
HALF = {"requests": {"cpu": "500m"}, "limits": {"cpu": "1"}}
_number = itertools.count()


class Through:
    """The client of the tests as a Port."""

    def __init__(self, api: Api) -> None:
        self._api = api

    async def call(self, request: Request) -> Answer:
        how = {"query": request.query, "content": request.content}
        answer = await asyncio.to_thread(self._api.call, request.method, request.path, request.body, **how)
        return Answer(answer.status, encoded(answer.body))

    def watch(self, request: Request) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        raise NotImplementedError(request.path)


class Registered:
    """A webhook in an event loop of its own, registered with the API server by its address."""

    def __init__(self, api: Api) -> None:
        self.api = api
        self.sizers: dict[str, Autoscaler] = {}
        # The pods that the webhook was called for, by namespace and label.
        self.asked: dict[tuple[str, str], Mapping[str, Any]] = {}
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._webhook = Webhook(self._find, self._ranges)
        self.own = self.namespace(labels=ENABLED)
        self.keeper = CertificateStore(Through(api), self.own, NAMES)
        self._holder = CertificateHolder(self.run(self.keeper.ensure(time.time())))
        self.run(self._webhook.start("127.0.0.1", 0, self._holder))
        self._port = self._webhook.port

    @property
    def issued(self) -> Issued:
        return self._holder.issued

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(180)

    def register(self) -> None:
        """Register as an installation does, then publish as hypot does; returns once the API server calls it."""
        made = configuration(self.own, "hypot-webhook")
        made["webhooks"][0]["clientConfig"] = {"url": f"https://127.0.0.1:{self._port}/mutate"}
        self.api.create(CONFIGURATIONS, made)
        assert self.run(self.keeper.publish(self.issued.ca_pem)) == "published"
        self.until_asked()

    def until_asked(self) -> None:
        """Wait until the webhook is called for pods of a namespace that opted in."""
        self.sizers["probe"] = sizer(recommended(target=("2", None)))
        where = self.namespace(labels=ENABLED)
        eventually(lambda: sized_by(self.create(where, "probe", dry=True)), within=20)

    def stop(self) -> None:
        self.run(self._webhook.stop())

    def start(self, issued: Issued | None = None) -> None:
        """Listen again at the same address."""
        self._holder.take(issued or self.issued)
        self.run(self._webhook.start("127.0.0.1", self._port, self._holder))

    def close(self) -> None:
        """A connection ends when the API server has closed it too; then only the loop's own socket is left."""
        self.api.call("DELETE", f"{CONFIGURATIONS}/hypot")
        self.stop()
        eventually(lambda: len(self._loop._selector.get_map()) == 1, within=30)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    def namespace(self, labels: Mapping[str, str] | None = None, limits: list[Object] | None = None) -> str:
        """A new namespace; its LimitRange exists before any pod."""
        name = f"hook-{uuid.uuid4().hex[:8]}"
        self.api.create("/api/v1/namespaces", {"metadata": {"name": name, "labels": dict(labels or {})}})
        if limits is not None:
            body = {"metadata": {"name": "limits"}, "spec": {"limits": limits}}
            self.api.create(f"/api/v1/namespaces/{name}/limitranges", body)
        return name

    def create(self, where: str, app: str, resources: Object | None = None, *, dry: bool = False) -> Object:
        """Create a pod; returns it as stored by the API server."""
        answer = self.try_to_create(where, app, resources, dry=dry)
        assert answer.ok, answer.body
        return answer.body

    def try_to_create(self, where: str, app: str, resources: Object | None = None, *, dry: bool = False) -> Any:
        body = {
            "metadata": {"name": f"{app}-{next(_number)}", "labels": {"app": app}},
            "spec": {
                "containers": [{"name": "app", "image": "app", "resources": HALF if resources is None else resources}]
            },
        }
        query = {"dryRun": "All"} if dry else None
        return self.api.call("POST", f"/api/v1/namespaces/{where}/pods", body, query=query)

    def _find(self, pod: Mapping[str, Any], namespace: str) -> Autoscaler | None:
        app = str(inner(pod, "metadata", "labels").get("app"))
        self.asked[namespace, app] = pod
        return self.sizers.get(app)

    def _ranges(self, namespace: str) -> tuple[LimitRange, ...]:
        items = self.api.get(f"/api/v1/namespaces/{namespace}/limitranges")["items"]
        return tuple(one for item in items for one in read_limit_range(item))


def sized_by(pod: Object) -> str:
    return str(pod["metadata"].get("annotations", {}).get("hypot.dev/sized-by", ""))


def resources(pod: Object) -> Object:
    found: Object = pod["spec"]["containers"][0]["resources"]
    return found


@pytest.fixture(scope="module")
def registered(api: Api) -> Iterator[Registered]:
    made = Registered(api)
    made.register()
    yield made
    made.close()


def test_pods_start_at_their_size(registered: Registered) -> None:
    """A VPA's recommendation or an Hvpa's recorded size is used; a pod without autoscaler starts as written."""
    registered.sizers["vpa"] = sizer(recommended(target=("2", "1Gi")))
    registered.sizers["hvpa"] = scaled(("app", {"cpu": "700m", "memory": "256Mi"}, {"cpu": "1400m", "memory": "384Mi"}))
    where = registered.namespace(labels=ENABLED)
    vpa, hvpa, nobody = (registered.create(where, app) for app in ("vpa", "hvpa", "nobody"))
    assert (sized_by(vpa), resources(vpa)) == (
        "VerticalPodAutoscaler/web",
        {"requests": {"cpu": "2", "memory": "1Gi"}, "limits": {"cpu": "4"}},
    )
    assert (sized_by(hvpa), resources(hvpa)) == (
        "Hvpa/web",
        {"requests": {"cpu": "700m", "memory": "256Mi"}, "limits": {"cpu": "1400m", "memory": "384Mi"}},
    )
    assert (sized_by(nobody), resources(nobody)) == ("", HALF)


def test_the_webhook_is_called_only_for_namespaces_that_opted_in(registered: Registered) -> None:
    """It is never called for kube-system and hypot's own namespace, whatever labels they have."""
    registered.sizers["any"] = sizer(recommended(target=("2", None)))
    registered.api.patch("/api/v1/namespaces/kube-system", {"metadata": {"labels": ENABLED}})
    for where in ("kube-system", registered.own, registered.namespace()):
        assert resources(registered.create(where, "any")) == HALF
        assert (where, "any") not in registered.asked
    opted_in = registered.namespace(labels=ENABLED)
    assert resources(registered.create(opted_in, "any"))["requests"]["cpu"] == "2"


@pytest.mark.parametrize("given", [HALF, {}, {"requests": {"cpu": "200m"}}], ids=["limited", "none", "request"])
def test_a_limit_range_is_respected(registered: Registered, given: Object) -> None:
    """Whatever the pod requests itself, it is created, and sized up to what its limit may be."""
    registered.sizers["vpa"] = sizer(recommended(target=("8", None)))
    registered.sizers["hvpa"] = scaled(("app", {"cpu": "8"}, {}))
    for kind in ("Container", "Pod"):
        most = [{"type": kind, "max": {"cpu": "1500m"}, "min": {"cpu": "100m"}}]
        default = [{"type": "Container", "default": {"cpu": "1"}, "defaultRequest": {"cpu": "400m"}}]
        where = registered.namespace(labels=ENABLED, limits=[*most, *(default if kind == "Pod" else [])])
        for app in ("vpa", "hvpa"):
            assert resources(registered.create(where, app, given))["limits"] == {"cpu": "1500m"}


LIMITS: dict[str, Object] = {
    "minimum": {"type": "Container", "min": {"cpu": "600m"}},
    "minimum-of-limit": {"type": "Container", "min": {"cpu": "1"}},
    "maximum": {"type": "Container", "max": {"cpu": "1"}},
    "maximum-below": {"type": "Container", "max": {"cpu": "900m"}},
    "maximum-of-memory": {"type": "Container", "max": {"memory": "1Gi"}},
    "pod-minimum": {"type": "Pod", "min": {"cpu": "500m"}},
    "pod-minimum-above": {"type": "Pod", "min": {"cpu": "501m"}},
    "pod-maximum": {"type": "Pod", "max": {"cpu": "1"}},
    "pod-maximum-below": {"type": "Pod", "max": {"cpu": "999m"}},
    "pod-maximum-of-memory": {"type": "Pod", "max": {"memory": "1Gi"}},
}


@pytest.mark.parametrize("limit", LIMITS.values(), ids=LIMITS)
def test_what_is_admitted_is_what_the_server_admits(registered: Registered, limit: Object) -> None:
    """The check agrees with the server's own, on the pod with its defaults applied."""
    where = registered.namespace(labels=ENABLED, limits=[limit])
    answer = registered.try_to_create(where, "judged")
    items = registered.api.get(f"/api/v1/namespaces/{where}/limitranges")["items"]
    ranges = [one for item in items for one in read_limit_range(item)]
    assert admits(read_pod(registered.asked[where, "judged"]), ranges) is answer.ok


def test_pods_are_created_while_the_webhook_is_down(registered: Registered) -> None:
    """Meanwhile pods start as written, and at their size again once the webhook is back."""
    registered.sizers["down"] = sizer(recommended(target=("2", None)))
    where = registered.namespace(labels=ENABLED)
    registered.stop()
    assert resources(registered.create(where, "down")) == HALF
    registered.start()
    eventually(lambda: resources(registered.create(where, "down"))["requests"]["cpu"] == "2")


def test_another_authority_is_trusted_before_it_is_used(registered: Registered) -> None:
    """First the bundle of both, then the new certificate: the webhook is called all the time."""
    first = registered.issued
    second = issue(NAMES, time.time(), lifetime_days=3700, authority=first.authority)
    assert second.ca_pem.endswith(first.ca_pem)
    assert second.ca_pem != first.ca_pem
    assert registered.run(registered.keeper.publish(second.ca_pem)) == "published"
    assert registered.run(registered.keeper.publish(second.ca_pem)) == "unchanged"
    registered.until_asked()
    registered.stop()
    registered.start(second)
    registered.until_asked()


def test_the_certificate_is_shared_through_a_secret(registered: Registered) -> None:
    """A second replica reads it; a certificate that is due is renewed by the same authority."""
    other = CertificateStore(Through(registered.api), registered.own, NAMES)
    found: Issued = registered.run(other.ensure(time.time()))
    secret = registered.api.get(f"/api/v1/namespaces/{registered.own}/secrets/hypot-webhook")
    assert secret["type"] == "kubernetes.io/tls"
    assert found.to_secret() == secret["data"]
    renewed: Issued = registered.run(other.ensure(time.time() + 70 * 86_400))
    assert renewed.ca_pem == found.ca_pem
    assert renewed.not_after > found.not_after
