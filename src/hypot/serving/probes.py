"""Liveness and readiness for the kubelet, on a port of their own."""

from collections.abc import Callable
from http import HTTPStatus

import structlog
from aiohttp import web

from hypot.serving.answers import only_get, said
from hypot.serving.listener import Limits, Listener

log = structlog.get_logger()


class Probes:
    """Answers the kubelet. `health` and `ready` return what is wrong, or an empty text."""

    def __init__(self, health: Callable[[], str], ready: Callable[[], str]) -> None:
        self._message = {"/healthz": health, "/readyz": ready}
        self._listener = Listener(self._answer, Limits())

    @property
    def port(self) -> int:
        """The port it listens on; 0 if it does not listen."""
        return self._listener.port

    async def start(self, host: str, port: int) -> None:
        await self._listener.start(host, port)
        log.info("serving probes", host=host, port=self.port)

    async def stop(self) -> None:
        await self._listener.stop()

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.path not in self._message:
            return said(HTTPStatus.NOT_FOUND, "not found; the pages are /healthz and /readyz")
        if request.method != "GET":
            return only_get()
        wrong = self._message[request.path]()
        return said(HTTPStatus.SERVICE_UNAVAILABLE, wrong) if wrong else said(HTTPStatus.OK, "ok")
