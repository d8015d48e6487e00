"""Who may read: the API server says whose token it is, and whether its owner has the right."""

from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable, Iterable, Mapping
from hashlib import sha256
from http import HTTPStatus
from typing import Any, NamedTuple, TypeVar

from aiohttp import web

from hypot.cluster.clock import boot
from hypot.cluster.port import Port, RefusedError, Request, UnreachableError, encoded, expect
from hypot.kinds.values.nested import inner
from hypot.serving.listener import Held, first_to_go

TOKEN_REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"  # noqa: S105  a path
ACCESS_REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
# How long an answer of the API server counts, and how many are kept. Only valid tokens are kept: else wrong ones could
# displace them.
KEPT_FOR = 60.0
MOST_TOKENS, MOST_RIGHTS = 256, 8192
# Clients that are checked at the same time; more are answered with 503. Anybody can send a wrong token, so those that
# were valid before have places of their own.
MOST_ASKED, MOST_KNOWN_ASKED = 4, 16
ANSWER_WITHIN = 5.0
# Members of this group may do everything, as in the API server.
MASTERS = "system:masters"
_BEARER = "Bearer "

_K = TypeVar("_K", bound=Hashable)
_V = TypeVar("_V")


class Attributes(NamedTuple):
    """What a client wants to do: with a path, or with a resource."""

    verb: str
    path: str = ""
    group: str = ""
    version: str = ""
    namespace: str = ""
    resource: str = ""
    subresource: str = ""
    name: str = ""

    def __str__(self) -> str:
        if self.path:
            return f"{self.verb} the nonResourceURL {self.path}"
        resource = f"{self.resource}/{self.subresource}" if self.subresource else self.resource
        where = f" in the namespace {self.namespace}" if self.namespace else ""
        return f"{self.verb} {resource} of {self.group}{where}"

    def everywhere(self) -> "Attributes":
        """The same with all objects of all namespaces: who may do this needs to be checked only once."""
        return self._replace(namespace="", name="")

    def spec(self) -> dict[str, Any]:
        if self.path:
            return {"nonResourceAttributes": {"path": self.path, "verb": self.verb}}
        return {"resourceAttributes": {key: text for key, text in self._asdict().items() if text}}


class User(NamedTuple):
    """Who a client is."""

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def spec(self) -> dict[str, Any]:
        extra = {key: list(texts) for key, texts in self.extra}
        return {"user": self.name, "uid": self.uid or None, "groups": list(self.groups), "extra": extra or None}


class Denial(NamedTuple):
    """Why a client may not read."""

    status: HTTPStatus
    message: str


_TOO_MANY = Denial(HTTPStatus.SERVICE_UNAVAILABLE, "too many clients to check at once")
_NO_ANSWER = Denial(HTTPStatus.SERVICE_UNAVAILABLE, "the API server cannot check the client")


class Readers:
    """Checks each request. Only hashes of tokens are kept.

    `certified` says who a client is by its certificate; such a client needs no token.
    """

    def __init__(
        self,
        port: Port,
        clock: Callable[[], float] = boot,
        certified: Callable[[web.BaseRequest], User | None] = lambda _: None,
    ) -> None:
        self._port, self._clock, self._certified = port, clock, certified
        # By the hash of a token: its user. Then what users may do. Both with the time until which that counts.
        self._users: OrderedDict[bytes, tuple[User, float]] = OrderedDict()
        self._rights: OrderedDict[tuple[User, Attributes], tuple[bool, float]] = OrderedDict()
        # What is being checked: clients that were valid before, and others.
        self._known: set[Held] = set()
        self._unknown: set[Held] = set()

    async def refusal(self, request: web.BaseRequest, wanted: Attributes) -> Denial | None:
        """Why the client may not do this; None if it may."""
        user, token = self._certified(request), ""
        if user is None:
            token = _token_of(request)
            if not token:
                return Denial(HTTPStatus.UNAUTHORIZED, f"send a bearer token of an account that may {wanted}")
            user = self._user_of(token)
        known = None if user is None else self._known_right(user, wanted)
        if user is not None and known is not None:
            return None if known else _forbidden(user, wanted)
        return await self._checked(request.remote or "", user, token, wanted)

    def user(self, request: web.BaseRequest) -> User | None:
        """Who the client of a request is that was not refused; None if that is no longer known."""
        return self._certified(request) or self._user_of(_token_of(request))

    def _user_of(self, token: str) -> User | None:
        user, until = self._users.get(_hash(token), (None, 0.0))
        return user if until > self._clock() else None

    def _known_right(self, user: User, wanted: Attributes) -> bool | None:
        """Whether the user has the right, if that is known."""
        if MASTERS in user.groups:
            return True
        found = [self._kept_right(user, each) for each in (wanted.everywhere(), wanted)]
        return True if True in found else None if None in found else False

    def _kept_right(self, user: User, wanted: Attributes) -> bool | None:
        allowed, until = self._rights.get((user, wanted), (False, 0.0))
        return allowed if until > self._clock() else None

    async def _checked(self, client: str, user: User | None, token: str, wanted: Attributes) -> Denial | None:
        is_known = user is not None or _hash(token) in self._users
        checks, most = (self._known, MOST_KNOWN_ASKED) if is_known else (self._unknown, MOST_ASKED)
        if not _has_place(checks, client, most):
            return _TOO_MANY
        check = Held.begin(client, ANSWER_WITHIN)
        checks.add(check)
        try:
            async with check.within:
                user = user or await self._asked_user(token)
                if user is None:
                    return Denial(HTTPStatus.UNAUTHORIZED, "the token is not valid")
                return None if await self._asked_right(user, wanted) else _forbidden(user, wanted)
        except (UnreachableError, RefusedError, TimeoutError):
            return _TOO_MANY if check.dropped else _NO_ANSWER
        finally:
            checks.discard(check)

    async def _asked_user(self, token: str) -> User | None:
        until = self._clock() + KEPT_FOR
        status = await self._review(TOKEN_REVIEWS, "authentication.k8s.io/v1", "TokenReview", {"token": token})
        if status.get("authenticated") is not True:
            self._users.pop(_hash(token), None)
            return None
        user = _read_user(inner(status, "user"))
        _keep(self._users, _hash(token), (user, until), MOST_TOKENS)
        return user

    async def _asked_right(self, user: User, wanted: Attributes) -> bool:
        if (known := self._known_right(user, wanted)) is not None:
            return known
        for each in dict.fromkeys((wanted.everywhere(), wanted)):
            if self._kept_right(user, each) is False:
                continue
            until, spec = self._clock() + KEPT_FOR, {**user.spec(), **each.spec()}
            status = await self._review(ACCESS_REVIEWS, "authorization.k8s.io/v1", "SubjectAccessReview", spec)
            allowed = status.get("allowed") is True
            _keep(self._rights, (user, each), (allowed, until), MOST_RIGHTS)
            if allowed:
                return True
        return False

    async def _review(self, path: str, version: str, kind: str, spec: dict[str, Any]) -> dict[str, Any]:
        body = encoded({"apiVersion": version, "kind": kind, "spec": spec})
        return inner(await expect(self._port, Request("POST", path, body=body, timeout=ANSWER_WITHIN)), "status")


def _token_of(request: web.BaseRequest) -> str:
    """The bearer token of a request; empty if it has none."""
    header = request.headers.get("Authorization", "")
    return header.removeprefix(_BEARER).strip() if header.startswith(_BEARER) and header.isascii() else ""


def _hash(token: str) -> bytes:
    return sha256(token.encode()).digest()


def _keep(kept: OrderedDict[_K, _V], key: _K, value: _V, most: int) -> None:
    kept[key] = value
    kept.move_to_end(key)
    while len(kept) > most:
        kept.popitem(last=False)


def _read_user(data: Mapping[str, Any]) -> User:
    extra = {key: _texts(written) for key, written in inner(data, "extra").items()}
    return User(
        str(data.get("username") or ""),
        _texts(data.get("groups")),
        str(data.get("uid") or ""),
        tuple(sorted(extra.items())),
    )


def _texts(written: Any) -> tuple[str, ...]:
    return tuple(map(str, written)) if isinstance(written, list) else ()


def _forbidden(user: User, wanted: Attributes) -> Denial:
    return Denial(HTTPStatus.FORBIDDEN, f"{user.name} may not {wanted}; give it a ClusterRole")


def _has_place(checks: set[Held], client: str, most: int) -> bool:
    """Whether one more client can be checked. If there is no place, an address that has two more than this loses one.

    No others lose one: else each wrong token could end the check of another, and all would be sent to the API server.
    """
    if len(checks) < most:
        return True
    first = first_to_go(checks)
    by_client = Counter(_clients(checks))
    if by_client[first.client] < by_client[client] + 2:
        return False
    checks.discard(first)
    first.drop()
    return True


def _clients(checks: Iterable[Held]) -> Iterable[str]:
    return (each.client for each in checks)
