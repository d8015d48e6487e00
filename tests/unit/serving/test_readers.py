"""Who may read: the API server is asked about each client, and its answer counts for a minute."""

import asyncio
from types import SimpleNamespace

import pytest

from fake_objects import refusal
from hypot.cluster.port import Answer, UnreachableError, encoded
from hypot.serving import readers as module
from hypot.serving.readers import (
    ACCESS_REVIEWS,
    KEPT_FOR,
    MOST_ASKED,
    MOST_KNOWN_ASKED,
    MOST_RIGHTS,
    MOST_TOKENS,
    TOKEN_REVIEWS,
    Attributes,
    Readers,
    User,
)

pytestmark = pytest.mark.asyncio
PAGE = Attributes("get", "/metrics")
READER = {"username": "system:serviceaccount:monitoring:prometheus", "groups": ["system:authenticated"], "uid": "u"}


class ApiServer:
    """Knows one token, and whether its owner may read."""

    def __init__(self, *, allowed=True):
        self.asked, self.allowed, self.trouble = [], allowed, None
        # Wrong tokens wait for this.
        self.may_answer = asyncio.Event()
        self.may_answer.set()

    async def call(self, request):
        body = __import__("json").loads(request.body)
        self.asked.append((request.path, body["spec"]))
        if isinstance(self.trouble, Exception):
            raise self.trouble
        if self.trouble is not None:
            return self.trouble
        if request.path == TOKEN_REVIEWS:
            known = body["spec"]["token"].startswith("good")
            if not known:
                await self.may_answer.wait()
            return Answer(201, encoded({"status": {"authenticated": known, "user": READER} if known else {}}))
        assert request.path == ACCESS_REVIEWS
        return Answer(201, encoded({"status": {"allowed": self.allowed}}))


def made(api, now=(0.0,)):
    return Readers(api, lambda: now[0])


async def asked(readers, header=None, client="10.0.0.1", wanted=PAGE):
    """The status and text of the refusal; 200 if there is none."""
    headers = {} if header is None else {"Authorization": header}
    return await readers.refusal(SimpleNamespace(headers=headers, remote=client), wanted) or (200, "")


async def test_a_reader_is_allowed():
    """The API server is asked for exactly this account and page."""
    api = ApiServer()
    assert await asked(made(api), "Bearer good") == (200, "")
    assert api.asked == [
        (TOKEN_REVIEWS, {"token": "good"}),
        (
            ACCESS_REVIEWS,
            {
                "user": READER["username"],
                "uid": "u",
                "groups": READER["groups"],
                "extra": None,
                "nonResourceAttributes": {"path": "/metrics", "verb": "get"},
            },
        ),
    ]


@pytest.mark.parametrize("header", [None, "", "Basic Z29vZA==", "good", "bearer good", "Bearer göod", "Bearer \udcff"])
async def test_without_a_token_nobody_is_asked(header):
    """The answer says what is needed. No token has other characters than ASCII."""
    api = ApiServer()
    status, text = await asked(made(api), header)
    assert (status, "bearer token" in text, api.asked) == (401, True, [])


async def test_a_wrong_token_is_refused_and_not_kept():
    """Else wrong tokens would displace those of readers."""
    api = ApiServer()
    readers = made(api)
    for _ in range(2):
        assert await asked(readers, "Bearer bad") == (401, "the token is not valid")
    assert [path for path, _ in api.asked] == [TOKEN_REVIEWS] * 2
    assert readers._users == {}


async def test_an_account_without_the_right_is_refused():
    """The message names the account and the right; the answer counts for a minute."""
    readers = made(ApiServer(allowed=False))
    for _ in range(2):
        status, text = await asked(readers, "Bearer good")
        assert (status, READER["username"] in text, "/metrics" in text) == (403, True, True)
    assert len(readers._port.asked) == 2


async def test_a_verdict_counts_for_a_minute():
    """A right that is withdrawn ends then."""
    api, now = ApiServer(), [0.0]
    readers = made(api, now)
    for now[0], count in ((0.0, 2), (KEPT_FOR - 1, 2), (KEPT_FOR, 4)):
        assert await asked(readers, "Bearer good") == (200, "")
        assert len(api.asked) == count
    api.allowed = False
    now[0] = 2 * KEPT_FOR
    assert (await asked(readers, "Bearer good"))[0] == 403


async def test_few_verdicts_are_kept():
    """The oldest go first, and no token is kept as it is."""
    readers = made(ApiServer())
    for number in range(MOST_TOKENS + 5):
        assert await asked(readers, f"Bearer good{number}") == (200, "")
    assert len(readers._users) == MOST_TOKENS
    assert b"good" not in b"".join(readers._users)


@pytest.mark.parametrize("trouble", [UnreachableError("gone"), refusal(403, "hypot may not"), refusal(500, "broken")])
async def test_without_the_api_server_nobody_reads(trouble):
    """Neither its answer nor the token is shown; the next scrape asks again."""
    api = ApiServer()
    api.trouble = trouble
    readers = made(api)
    assert await asked(readers, "Bearer good") == (503, "the API server cannot check the client")
    api.trouble = None
    assert await asked(readers, "Bearer good") == (200, "")


async def wrong(readers, clients):
    """A wrong token of each of these clients, all being checked."""
    readers._port.may_answer.clear()
    checks = []
    for number, client in enumerate(clients):
        checks.append(asyncio.create_task(asked(readers, f"Bearer bad{number}", client)))
        await asyncio.sleep(0)
    return checks


async def answered(readers, checks):
    readers._port.may_answer.set()
    return [status for status, _ in await asyncio.gather(*checks)]


@pytest.mark.parametrize(
    ("holders", "client", "status", "ended"),
    [
        ("aaaa", "a", 503, []),
        ("aaaa", "b", 200, [0]),
        ("baaa", "c", 200, [1]),
        ("baaa", "b", 200, [1]),
        ("aabb", "c", 200, [0]),
        ("aabb", "a", 503, []),
        ("aabc", "b", 503, []),
        ("abcd", "e", 503, []),
    ],
)
async def test_clients_share_the_checks(holders, client, status, ended):
    """A client with two more checks than the next one loses its oldest. Else anybody could flood the API server."""
    readers = made(ApiServer())
    checks = await wrong(readers, holders)
    assert len(checks) == MOST_ASKED
    assert (await asked(readers, "Bearer good", client))[0] == status
    expected = [503 if place in ended else 401 for place in range(MOST_ASKED)]
    assert await answered(readers, checks) == expected


async def test_many_wrong_tokens_of_a_client_are_not_sent():
    """They get 503, and the checks that run go on."""
    readers = made(ApiServer())
    checks = await wrong(readers, "a" * 50)
    assert len(readers._port.asked) == MOST_ASKED
    assert sorted(await answered(readers, checks)) == [401] * MOST_ASKED + [503] * (50 - MOST_ASKED)


async def test_a_token_that_was_valid_does_not_wait_behind_wrong_ones():
    """Also if they come from the same address."""
    now = [0.0]
    readers = made(ApiServer(), now)
    assert await asked(readers, "Bearer good") == (200, "")
    checks = await wrong(readers, ["10.0.0.1"] * MOST_ASKED)
    now[0] = KEPT_FOR
    assert (await asked(readers, "Bearer good2"))[0] == 503
    assert await asked(readers, "Bearer good") == (200, "")
    assert await answered(readers, checks) == [401] * MOST_ASKED


async def test_a_token_stays_known_while_the_api_server_does_not_answer():
    """It is refused for that time, but it keeps its own places."""
    api, now = ApiServer(), [0.0]
    readers = made(api, now)
    assert await asked(readers, "Bearer good") == (200, "")
    api.trouble, now[0] = UnreachableError("gone"), KEPT_FOR
    assert (await asked(readers, "Bearer good"))[0] == 503
    api.trouble = None
    checks = await wrong(readers, ["10.0.0.1"] * MOST_ASKED)
    assert await asked(readers, "Bearer good") == (200, "")
    assert await answered(readers, checks) == [401] * MOST_ASKED


@pytest.mark.parametrize("places", ["_known", "_unknown"])
async def test_no_place_is_left_taken(places, monkeypatch):
    """Whatever the answer was, and where there is no place nobody is asked."""
    readers = made(ApiServer())
    for token in ("good", "bad"):
        await asked(readers, f"Bearer {token}")
    assert getattr(readers, places) == set()
    monkeypatch.setattr(module, "ANSWER_WITHIN", 0.0)
    (check,) = await wrong(readers, "a")
    assert await check == (503, "the API server cannot check the client")
    assert getattr(readers, places) == set()


METRIC = Attributes("get", "", "custom.metrics.k8s.io", "v1beta2", "shop", "pods", "rps", "*")


class Rights(ApiServer):
    """Allows what a function says."""

    def __init__(self, allows):
        super().__init__()
        self.allows = allows

    async def call(self, request):
        answer = await super().call(request)
        if request.path == ACCESS_REVIEWS:
            allowed = self.allows(self.asked[-1][1].get("resourceAttributes", {}))
            return Answer(201, encoded({"status": {"allowed": allowed}}))
        return answer

    @property
    def checked(self):
        return [spec["resourceAttributes"].get("namespace") for path, spec in self.asked if path == ACCESS_REVIEWS]


async def test_a_right_everywhere_is_checked_once():
    """Not again for each namespace: an HPA controller reads in all of them."""
    api = Rights(lambda _: True)
    readers = made(api)
    for namespace in ("shop", "bank", "blog"):
        assert await asked(readers, "Bearer good", wanted=METRIC._replace(namespace=namespace)) == (200, "")
    assert api.checked == [None]


async def test_a_right_in_one_namespace_is_no_right_elsewhere():
    """Both answers count for a minute."""
    api = Rights(lambda asked: asked.get("namespace") == "shop")
    readers = made(api)
    for _ in range(2):
        assert await asked(readers, "Bearer good", wanted=METRIC) == (200, "")
        status, text = await asked(readers, "Bearer good", wanted=METRIC._replace(namespace="bank"))
        assert (status, "get pods/rps of custom.metrics.k8s.io in the namespace bank" in text) == (403, True)
    assert api.checked == [None, "shop", "bank"]


@pytest.mark.parametrize(("groups", "count"), [(("system:masters",), 0), (("shop",), 1)])
async def test_a_client_with_a_certificate_needs_no_token(groups, count):
    """Its rights are checked, unless it is an administrator of the cluster."""
    api = Rights(lambda _: True)
    readers = Readers(api, lambda: 0.0, lambda _: User("alice", groups))
    assert await asked(readers, None, wanted=METRIC) == (200, "")
    assert (len(api.checked), [path for path, _ in api.asked if path == TOKEN_REVIEWS]) == (count, [])


async def test_clients_with_a_certificate_do_not_wait_behind_wrong_tokens():
    """The API server passes on all requests of autoscalers, from a single address."""
    api = Rights(lambda _: True)
    users = []
    readers = Readers(api, lambda: 0.0, lambda _: users[-1] if users else None)
    checks = await wrong(readers, ["10.0.0.1"] * MOST_ASKED)
    users.append(User("alice"))
    several = [asked(readers, wanted=METRIC._replace(subresource=f"m{i}")) for i in range(MOST_KNOWN_ASKED)]
    assert await asyncio.gather(*several) == [(200, "")] * MOST_KNOWN_ASKED
    assert await answered(readers, checks) == [401] * MOST_ASKED


async def test_few_rights_are_kept():
    """The oldest go first."""
    readers = made(Rights(lambda _: False))
    readers._rights.update({(User(str(i)), METRIC): (True, 1e9) for i in range(MOST_RIGHTS)})
    await asked(readers, "Bearer good", wanted=METRIC)
    assert len(readers._rights) == MOST_RIGHTS
    assert (User("0"), METRIC) not in readers._rights
