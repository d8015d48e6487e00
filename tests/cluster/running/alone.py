"""A controller for one namespace only, with its own state and budget, so that tests do not affect each other."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from cluster.plane.waiting import eventually
from cluster.running.controller import Controller
from cluster.running.proxy import Proxy
from cluster.running.stage import Stage
from hypot.run.webhook.registration import PATH, configuration

WEBHOOKS = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"


def controller_for(
    stage: Stage, namespace: str, *, webhook: bool = False, replica: str = "", **config: Any
) -> Controller:
    """A controller that is not started yet; its own namespace exists, and its webhook serves the pods of the other."""
    own = f"{namespace}-own"
    made = stage.api.call("POST", "/api/v1/namespaces", {"metadata": {"name": own}})
    assert made.ok or made.status == 409, made
    usual = {"namespace": own, "watchNamespaces": [namespace]}
    controller = Controller(stage.plane, f"{own}{replica}", **{**usual, **config})
    if webhook:
        controller.config |= {"webhookPort": controller.webhook, "webhookService": "127.0.0.1"}
    return controller


@contextmanager
def controlling(stage: Stage, namespace: str, *, webhook: bool = False, **config: Any) -> Iterator[Controller]:
    """Run a controller from its first reconcile to its orderly end."""
    controller = controller_for(stage, namespace, webhook=webhook, **config)
    with registered(stage, controller, namespace) if webhook else nullcontext(), running(controller):
        yield controller


@contextmanager
def two_replicas(stage: Stage, namespace: str, **config: Any) -> Iterator[tuple[Controller, Proxy, Controller]]:
    """Run the leader behind a proxy, and a follower whose webhook is the only one that the API server calls."""
    leader = controller_for(stage, namespace, webhook=True, **config)
    follower = controller_for(stage, namespace, webhook=True, replica="-follower", **config)
    proxy = Proxy(stage.plane, leader.name).start()
    leader.kubeconfig = proxy.kubeconfig()
    try:
        with registered(stage, follower, namespace), running(leader), running(follower, leads=False):
            yield leader, proxy, follower
    finally:
        proxy.stop()


@contextmanager
def running(controller: Controller, *, leads: bool = True) -> Iterator[None]:
    controller.start()
    try:
        if leads:
            controller.until_reconciled(within=60)
        if controller.config["webhookPort"]:
            eventually(lambda: controller.is_running() and controller.lines("webhook listening"), 30)
        yield
        assert controller.stop() == 0, controller.log.read_text(errors="replace")[-3000:]
    finally:
        if not controller.has_ended:
            controller.kill()


@contextmanager
def registered(stage: Stage, controller: Controller, namespace: str) -> Iterator[None]:
    """Its webhook is registered as an installation does it, but by address."""
    made = configuration(controller.config["namespace"], "hypot", watch_namespaces=[namespace], opt_in="all")
    made["webhooks"][0]["clientConfig"] = {"url": f"https://127.0.0.1:{controller.webhook}{PATH}"}
    name = made["metadata"]["name"]
    stage.api.call("DELETE", f"{WEBHOOKS}/{name}")
    stage.api.create(WEBHOOKS, made)
    try:
        yield
    finally:
        stage.api.call("DELETE", f"{WEBHOOKS}/{name}")
