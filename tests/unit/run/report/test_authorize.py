"""Who may read the metrics: the API server is asked about each token, and its answer counts for a minute."""

from types import SimpleNamespace

import pytest

from fake_objects import refusal
from hypot.cluster.port import Answer, UnreachableError, encoded
from hypot.run.report import authorize
from hypot.run.report.authorize import ACCESS_REVIEWS, KEPT_FOR, MOST_KEPT, TOKEN_REVIEWS, Readers

pytestmark = pytest.mark.asyncio
READER = {"username": "system:serviceaccount:monitoring:prometheus", "groups": ["system:authenticated"], "uid": "u"}


class ApiServer:
    """Knows one token, and whether its owner may read."""

    def __init__(self, *, allowed=True):
        self.asked, self.allowed, self.trouble = [], allowed, None

    async def call(self, request):
        body = __import__("json").loads(request.body)
        self.asked.append((request.path, body["spec"]))
        if isinstance(self.trouble, Exception):
            raise self.trouble
        if self.trouble is not None:
            return self.trouble
        if request.path == TOKEN_REVIEWS:
            known = body["spec"]["token"].startswith("good")
            return Answer(201, encoded({"status": {"authenticated": known, "user": READER} if known else {}}))
        assert request.path == ACCESS_REVIEWS
        return Answer(201, encoded({"status": {"allowed": self.allowed}}))


def made(api, now=(0.0,)):
    return Readers(api, lambda: now[0])


async def asked(readers, header=None):
    """The status and text of the refusal; 200 if there is none."""
    found = await readers.refusal(SimpleNamespace(headers={} if header is None else {"Authorization": header}))
    return (200, "") if found is None else (found.status, found.text)


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
        assert await asked(readers, "Bearer bad") == (401, "the token is not valid\n")
    assert [path for path, _ in api.asked] == [TOKEN_REVIEWS] * 2
    assert readers._verdicts == {}


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
    for number in range(MOST_KEPT + 5):
        assert await asked(readers, f"Bearer good{number}") == (200, "")
    assert len(readers._verdicts) == MOST_KEPT
    assert b"good" not in b"".join(readers._verdicts)


@pytest.mark.parametrize("trouble", [UnreachableError("gone"), refusal(403, "hypot may not"), refusal(500, "broken")])
async def test_without_the_api_server_nobody_reads(trouble):
    """Neither its answer nor the token is shown; the next scrape asks again."""
    api = ApiServer()
    api.trouble = trouble
    readers = made(api)
    assert await asked(readers, "Bearer good") == (503, "the API server cannot check the token\n")
    api.trouble = None
    assert await asked(readers, "Bearer good") == (200, "")


async def test_few_tokens_are_checked_at_once(monkeypatch):
    """Else anybody could make hypot flood the API server."""
    monkeypatch.setattr(authorize, "MOST_ASKED", 0)
    readers = made(ApiServer())
    assert (await asked(readers, "Bearer good"))[0] == 503
    assert readers._port.asked == []
