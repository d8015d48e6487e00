"""The client of a Prometheus: what is sent, and what is refused."""

import ssl

import aiohttp
import pytest
import trustme
from aiohttp import web

from hypot.cluster.prometheus import PrometheusApi, PrometheusError
from unit.metricsapi.answering import answering

pytestmark = pytest.mark.asyncio
CA, OTHER = trustme.CA(), trustme.CA()
FORM = {"query": "up"}


def tls():
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    CA.issue_cert("127.0.0.1").configure_cert(context)
    return context


@pytest.fixture
def files(tmp_path):
    """A token and an authority."""
    token, ca = tmp_path / "token", tmp_path / "ca.crt"
    token.write_text("very-secret\n")
    ca.write_bytes(CA.cert_pem.bytes())
    return token, ca


async def ask(url, *files, largest=1000):
    async with aiohttp.ClientSession() as session:
        return await PrometheusApi(session, str(url.origin()), *map(str, files)).ask("query", FORM, largest)


async def test_a_token_over_tls(files):
    """The form is posted, and the files are read for each request."""
    token, _ = files
    async with answering(b"{}", tls()) as (url, asked):
        assert await ask(url, *files) == (200, b"{}")
        token.write_text("renewed")
        await ask(url, *files)
    assert [one.headers["Authorization"] for one in asked] == ["Bearer very-secret", "Bearer renewed"]
    assert (asked[0].method, asked[0].path) == ("POST", "/api/v1/query")


async def test_a_server_of_another_authority(files):
    """Neither with the authorities of the system nor with those of another file; nothing is sent."""
    token, ca = files
    async with answering(b"{}", tls()) as (url, asked):
        with pytest.raises(aiohttp.ClientConnectorCertificateError):
            await ask(url, token)
        ca.write_bytes(OTHER.cert_pem.bytes())
        with pytest.raises(aiohttp.ClientConnectorCertificateError):
            await ask(url, *files)
    assert asked == []


@pytest.mark.parametrize(
    ("which", "content", "message"),
    [
        (0, None, "its token file .*token cannot be read: No such file"),
        (0, b"", "its token file has something other than one line of plain characters"),
        (0, b"a\nb", "its token file has something other"),
        (0, b"\xff", "its token file is not text"),
        (1, None, "its CA file .*ca.crt cannot be read"),
        (1, b"", "its CA file .*ca.crt is empty"),
        (1, b"nonsense", "the authorities are not certificates in PEM form"),
    ],
)
async def test_files_that_cannot_be_used(files, which, content, message):
    """Nothing is sent, and nothing of the content is in the message."""
    if content is None:
        files[which].unlink()
    else:
        files[which].write_bytes(content)
    async with answering(b"{}", tls()) as (url, asked):
        with pytest.raises(OSError, match=message):
            await ask(url, *files)
    assert asked == []


async def test_a_redirect_is_not_followed(files):
    """It could lead the token elsewhere."""

    async def elsewhere(_):
        return web.Response(status=307, headers={"Location": f"{url}/other"})

    async with answering(elsewhere, tls()) as (url, asked):
        status, _ = await ask(url, *files)
    assert (status, len(asked)) == (307, 1)


async def test_an_answer_that_is_too_large():
    async with answering(b"x" * 1001) as (url, _):
        with pytest.raises(PrometheusError, match="its answer is over"):
            await ask(url)
