"""Short answers of all servers."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import msgspec
from aiohttp import web

JSON = "application/json"


def said(status: HTTPStatus, message: str, **headers: str) -> web.Response:
    return web.Response(status=status, text=f"{message}\n", headers=headers)


def only_get() -> web.Response:
    return said(HTTPStatus.METHOD_NOT_ALLOWED, "only GET is allowed", Allow="GET")


def failure(code: HTTPStatus, reason: str, message: str, details: Mapping[str, Any] | None = None) -> web.Response:
    """An error in the form of the API server, for its clients."""
    body = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": message}
    more = {"reason": reason, "code": int(code), **({"details": dict(details)} if details else {})}
    return web.Response(status=code, body=msgspec.json.encode({**body, **more}), content_type=JSON)
