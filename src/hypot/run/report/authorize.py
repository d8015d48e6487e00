"""Who may read the metrics: the API server says whose token it is, and whether its owner may get /metrics."""

from collections import Counter
from collections.abc import Callable
from hashlib import sha256
from http import HTTPStatus
from typing import Any, NamedTuple

from aiohttp import web

from hypot.cluster.clock import boot
from hypot.cluster.port import Port, RefusedError, Request, UnreachableError, encoded, expect
from hypot.kinds.nested import inner
from hypot.run.report.serve import PAGE
from hypot.serving.answers import said
from hypot.serving.listener import Held, first_to_go

TOKEN_REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"  # noqa: S105  a path
ACCESS_REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
# How long a verdict counts, and how many are kept. Only valid tokens are kept: else wrong ones could displace them.
KEPT_FOR = 60.0
MOST_KEPT = 256
# Tokens that are checked at the same time; more are answered with 503. Anybody can send a wrong token, so clients share
# these places, and tokens that were valid before have as many of their own.
MOST_ASKED = 4
ANSWER_WITHIN = 5.0
_BEARER = "Bearer "


class _Verdict(NamedTuple):
    """Why a token is refused, or an empty text; and until when that counts."""

    status: HTTPStatus
    message: str
    until: float


_TOO_MANY = _Verdict(HTTPStatus.SERVICE_UNAVAILABLE, "too many tokens to check at once", 0)
_NO_ANSWER = _Verdict(HTTPStatus.SERVICE_UNAVAILABLE, "the API server cannot check the token", 0)


class Readers:
    """Checks the bearer token of each scrape. Only hashes of tokens are kept."""

    def __init__(self, port: Port, clock: Callable[[], float] = boot) -> None:
        self._port, self._clock = port, clock
        self._verdicts: dict[bytes, _Verdict] = {}
        # What is being checked: tokens that were valid before, and others.
        self._known: set[Held] = set()
        self._unknown: set[Held] = set()

    async def refusal(self, request: web.BaseRequest) -> web.Response | None:
        """The answer for a client that may not read the metrics; None if it may."""
        header = request.headers.get("Authorization", "")
        if not header.startswith(_BEARER) or not header.isascii():
            message = f"send a bearer token of an account that may get the nonResourceURL {PAGE}"
            return said(HTTPStatus.UNAUTHORIZED, message, **{"WWW-Authenticate": "Bearer"})
        token = header.removeprefix(_BEARER).strip()
        key = sha256(token.encode()).digest()
        verdict = self._verdicts.get(key)
        if verdict is None or verdict.until <= self._clock():
            checks = self._unknown if verdict is None else self._known
            verdict = await self._checked(token, request.remote or "", checks)
            if verdict.status is not HTTPStatus.SERVICE_UNAVAILABLE:
                self._keep(key, verdict)
        return said(verdict.status, verdict.message) if verdict.message else None

    async def _checked(self, token: str, client: str, checks: set[Held]) -> _Verdict:
        if not _has_place(checks, client):
            return _TOO_MANY
        check = Held.begin(client, ANSWER_WITHIN)
        checks.add(check)
        try:
            async with check.within:
                return await self._asked(token)
        except (UnreachableError, RefusedError, TimeoutError):
            return _TOO_MANY if check.dropped else _NO_ANSWER
        finally:
            checks.discard(check)

    def _keep(self, key: bytes, verdict: _Verdict) -> None:
        self._verdicts.pop(key, None)
        if verdict.status is not HTTPStatus.UNAUTHORIZED:
            self._verdicts[key] = verdict
        while len(self._verdicts) > MOST_KEPT:
            del self._verdicts[next(iter(self._verdicts))]

    async def _asked(self, token: str) -> _Verdict:
        until = self._clock() + KEPT_FOR
        status = await self._review(TOKEN_REVIEWS, "authentication.k8s.io/v1", "TokenReview", {"token": token})
        if status.get("authenticated") is not True:
            return _Verdict(HTTPStatus.UNAUTHORIZED, "the token is not valid", until)
        user = inner(status, "user")
        spec = {
            "user": user.get("username"),
            "uid": user.get("uid"),
            "groups": user.get("groups"),
            "extra": user.get("extra"),
            "nonResourceAttributes": {"path": PAGE, "verb": "get"},
        }
        allowed = await self._review(ACCESS_REVIEWS, "authorization.k8s.io/v1", "SubjectAccessReview", spec)
        if allowed.get("allowed") is not True:
            message = f"{user.get('username')} may not get the nonResourceURL {PAGE}; give it a ClusterRole"
            return _Verdict(HTTPStatus.FORBIDDEN, message, until)
        return _Verdict(HTTPStatus.OK, "", until)

    async def _review(self, path: str, version: str, kind: str, spec: dict[str, Any]) -> dict[str, Any]:
        body = encoded({"apiVersion": version, "kind": kind, "spec": spec})
        return inner(await expect(self._port, Request("POST", path, body=body, timeout=ANSWER_WITHIN)), "status")


def _has_place(checks: set[Held], client: str) -> bool:
    """Whether one more token can be checked. If there is no place, a client that has two more than this one loses one.

    No others lose one: else each wrong token could end the check of another, and all would be sent to the API server.
    """
    if len(checks) < MOST_ASKED:
        return True
    first = first_to_go(checks)
    by_client = Counter(each.client for each in checks)
    if by_client[first.client] < by_client[client] + 2:
        return False
    checks.discard(first)
    first.drop()
    return True
