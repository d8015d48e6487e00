"""Short answers of all servers."""

from http import HTTPStatus

from aiohttp import web


def said(status: HTTPStatus, message: str, **headers: str) -> web.Response:
    return web.Response(status=status, text=f"{message}\n", headers=headers)


def only_get() -> web.Response:
    return said(HTTPStatus.METHOD_NOT_ALLOWED, "only GET is allowed", Allow="GET")
