"""A controller for one namespace only, with its own state and budget, so that tests do not affect each other."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from cluster.plane.waiting import eventually
from cluster.running.controller import Controller
from cluster.running.stage import Stage
from hypot.run.webhook.registration import PATH, configuration

WEBHOOKS = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"


def controller_for(stage: Stage, namespace: str, *, webhook: bool = False, **config: Any) -> Controller:
    """A controller that is not started yet; its own namespace exists, and its webhook serves the pods of the other."""
    own = f"{namespace}-own"
    made = stage.api.call("POST", "/api/v1/namespaces", {"metadata": {"name": own}})
    assert made.ok or made.status == 409, made
    controller = Controller(stage.plane, own, **{"namespace": own, "watchNamespaces": [namespace], **config})
    if webhook:
        controller.config |= {"webhookPort": controller.webhook, "webhookService": "127.0.0.1"}
    return controller


@contextmanager
def controlling(stage: Stage, namespace: str, *, webhook: bool = False, **config: Any) -> Iterator[Controller]:
    """Run a controller from its first reconcile to its orderly end."""
    controller = controller_for(stage, namespace, webhook=webhook, **config)
    with registered(stage, controller, namespace) if webhook else running(controller):
        yield controller


@contextmanager
def running(controller: Controller) -> Iterator[None]:
    controller.start()
    try:
        controller.until_reconciled(within=60)
        yield
        assert controller.stop() == 0, controller.log.read_text(errors="replace")[-3000:]
    finally:
        if not controller.has_ended:
            controller.kill()


@contextmanager
def registered(stage: Stage, controller: Controller, namespace: str) -> Iterator[None]:
    """Run it with its webhook, registered as an installation does it, but by address."""
    made = configuration(controller.config["namespace"], "hypot", watch_namespaces=[namespace], opt_in="all")
    made["webhooks"][0]["clientConfig"] = {"url": f"https://127.0.0.1:{controller.webhook}{PATH}"}
    name = made["metadata"]["name"]
    stage.api.call("DELETE", f"{WEBHOOKS}/{name}")
    stage.api.create(WEBHOOKS, made)
    try:
        with running(controller):
            eventually(lambda: controller.lines("webhook listening"), 30)
            yield
    finally:
        stage.api.call("DELETE", f"{WEBHOOKS}/{name}")
