"""Credentials for a cluster, from files that rotate and from plugins whose tokens expire."""

import asyncio
import json
import ssl
import sys
from pathlib import Path

import pytest
import trustme

from hypot.cluster import credentials as module
from hypot.cluster.config import Access, AccessError, Plugin
from hypot.cluster.credentials import Credentials, Identity, tls_of

V1 = "client.authentication.k8s.io/v1"
SECRET = "secret-word"  # noqa: S105  not one
SERVER = "https://one.test"
asynchronous = pytest.mark.asyncio


def says(status, kind="ExecCredential", version=V1) -> str:
    return json.dumps({"kind": kind, "apiVersion": version, "status": status})


def plugin(script: str, *arguments: str) -> Access:
    """An access whose plugin is a Python script."""
    how = Plugin(V1, sys.executable, ("-c", script, *arguments), {"GIVEN": "b"}, "install it", {"server": SERVER})
    return Access(SERVER, plugin=how, source="a test")


def printing(text: str) -> Access:
    return plugin("import sys; print(sys.argv[1])", text)


def runs(pid: Path) -> bool:
    """Whether the process whose id is in the file is alive."""
    written = pid.read_text(encoding="ascii") if pid.exists() else ""
    return bool(written) and Path(f"/proc/{written}").exists()


@asynchronous
async def test_a_token_file_is_read_once_a_minute(tmp_path):
    """Service account tokens rotate; if the file is empty or missing, the last token stays in use."""
    file, now, seen = tmp_path / "token", [1000.0], []
    credentials = Credentials(Access(SERVER, token_file=file, certificate=b"c", key=b"k"), lambda: now[0])
    for at, content in (
        (1000, "first\n"),
        (1059, "second"),
        (1061, "second"),
        (1122, ""),
        (1183, None),
        (1244, "third"),
    ):
        now[0] = at
        file.unlink(missing_ok=True)
        if content is not None:
            file.write_text(content, encoding="ascii")
        seen.append(await credentials.current())
    assert [each.token for each in seen] == ["first", "first", "second", "second", "second", "third"]
    assert seen[0] == Identity("first", b"c", b"k")
    assert "first" not in repr(seen[0])


@asynchronous
async def test_a_clock_that_goes_back_reads_again(tmp_path):
    """A token read at a time that is now in the future is not kept longer than a minute."""
    file, now = tmp_path / "token", [1000.0]
    file.write_text("first", encoding="ascii")
    credentials = Credentials(Access(SERVER, token_file=file), lambda: now[0])
    await credentials.current()
    file.write_text("second", encoding="ascii")
    now[0] = 500
    assert await credentials.current() == Identity("second")


@asynchronous
@pytest.mark.parametrize("content", [None, b"", b"\xff"])
async def test_a_token_file_without_a_token(tmp_path, content):
    """Without any token there is nothing to send to the server."""
    file = tmp_path / "token"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(AccessError, match=r"a test: .*token has no readable token"):
        await Credentials(Access(SERVER, token_file=file, source="a test"), lambda: 0).current()


@asynchronous
async def test_a_plugin_gets_the_cluster():
    """It gets its own variables and the cluster, and learns that it cannot ask questions."""
    script = (
        "import json, os, sys\n"
        "asked = json.loads(os.environ['KUBERNETES_EXEC_INFO'])\n"
        "assert sys.stdin.read() == ''\n"
        "token = json.dumps([asked, os.environ['GIVEN']])\n"
        "print(json.dumps({'kind': asked['kind'], 'apiVersion': asked['apiVersion'], 'status': {'token': token}}))\n"
    )
    asked, given = json.loads((await Credentials(plugin(script), lambda: 0).current()).token)
    assert given == "b"
    assert asked["spec"] == {"interactive": False, "cluster": {"server": SERVER}}


@asynchronous
async def test_a_plugin_runs_again_when_its_token_is_over(tmp_path):
    """Until then its token is kept, and concurrent callers share one run."""
    runs, now = tmp_path / "runs", [1000.0]
    script = (
        "import sys, json\n"
        "with open(sys.argv[1], 'a') as file: file.write('x')\n"
        "status = {'token': open(sys.argv[1]).read(), 'expirationTimestamp': '1970-01-01T00:33:20Z'}\n"
        "print(json.dumps({'kind': 'ExecCredential', 'apiVersion': sys.argv[2], 'status': status}))\n"
    )
    credentials = Credentials(plugin(script, str(runs), V1), lambda: now[0])
    together = await asyncio.gather(*(credentials.current() for _ in range(3)))
    now[0] = 1999
    together.append(await credentials.current())
    assert {each.token for each in together} == {"x"}
    now[0] = 2001
    assert await credentials.current() == Identity("xx")
    assert await credentials.current() == Identity("xx")
    now[0] = 2012
    assert await credentials.current() == Identity("xxx")


@asynchronous
async def test_a_plugin_continues_when_a_call_cannot_wait(tmp_path):
    """A plugin that takes longer than a call would otherwise never finish."""
    go = tmp_path / "go"
    script = "import os, sys, time\nwhile not os.path.exists(sys.argv[1]): time.sleep(0.01)\nprint(sys.argv[2])\n"
    credentials = Credentials(plugin(script, str(go), says({"token": SECRET})), lambda: 0)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(credentials.current(), 0.05)
    go.touch()
    assert (await credentials.current()).token == SECRET


@asynchronous
async def test_a_plugin_that_hangs_is_ended(monkeypatch, tmp_path):
    """The plugin is gone before the error is raised."""
    monkeypatch.setattr(module, "PLUGIN_WITHIN", 1.0)
    pid = tmp_path / "pid"
    script = "import os, sys, time; open(sys.argv[1], 'w').write(str(os.getpid())); time.sleep(60)"
    with pytest.raises(AccessError, match=r"a test: .* did not end within 1 s; run it manually"):
        await Credentials(plugin(script, str(pid)), lambda: 0).current()
    assert not runs(pid)


@asynchronous
async def test_closing_ends_a_plugin(tmp_path):
    """A plugin does not outlive the credentials."""
    pid = tmp_path / "pid"
    script = "import os, sys, time; open(sys.argv[1], 'w').write(str(os.getpid())); time.sleep(60)"
    credentials = Credentials(plugin(script, str(pid)), lambda: 0)
    asking = asyncio.create_task(credentials.current())
    while not runs(pid):  # noqa: ASYNC110  another process makes it true
        await asyncio.sleep(0.01)
    await credentials.close()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert not runs(pid)


@asynchronous
@pytest.mark.parametrize(
    ("access", "said"),
    [
        (Access(SERVER, plugin=Plugin(V1, "no-such-command", hint="install it")), "cannot be started: .*install it"),
        (plugin("raise SystemExit(3)"), "ended with status 3; run it manually to see why. install it"),
        (Access(SERVER, plugin=Plugin(V1, "no-such-command")), "cannot be started: .* install it, or check PATH"),
        (
            Access(SERVER, plugin=Plugin(V1, "false")),
            "status 1; run it manually to see why. .* log in again, or choose",
        ),
        (plugin("print('x' * 2**21)"), "prints more than an ExecCredential contains"),
        (printing(SECRET), "does not print an ExecCredential as JSON"),
        (printing(f'["{SECRET}"]'), "does not print an ExecCredential with a status"),
        (printing(says({"token": SECRET}, kind="Secret")), f"does not print an ExecCredential of {V1}"),
        (printing(says({"token": SECRET}, version="v1")), f"does not print an ExecCredential of {V1}"),
        (printing(says({"clientKeyData": SECRET})), "gives neither a token nor a certificate with its key"),
        (printing(says({"token": ""})), "gives neither a token nor a certificate with its key"),
        (printing(says({"token": SECRET, "expirationTimestamp": "soon"})), "that is not a time"),
        (printing(says({"token": SECRET, "expirationTimestamp": "2020-01-01T00:00:00"})), "without a time zone"),
    ],
)
async def test_a_plugin_that_fails(access, said):
    """The message names the command and never what it printed."""
    with pytest.raises(AccessError, match=said) as reported:
        await Credentials(access, lambda: 0).current()
    assert SECRET not in str(reported.value)


@asynchronous
async def test_a_plugin_gives_a_certificate():
    """Some plugins give a certificate, as data, instead of a token."""
    identity = await Credentials(
        printing(says({"clientCertificateData": "c", "clientKeyData": "k"})), lambda: 0
    ).current()
    assert identity == Identity("", b"c", b"k")


def test_the_server_is_checked():
    """Only the given authority is trusted; newer Pythons must not require more than clusters have."""
    ca = trustme.CA()
    context = tls_of(Access(SERVER, ca=ca.cert_pem.bytes()), Identity())
    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_REQUIRED, True)
    assert len(context.get_ca_certs()) == 1
    assert not context.verify_flags & ssl.VERIFY_X509_STRICT


def test_a_certificate_may_be_a_file(tmp_path):
    """Certificate files can be loaded from their paths."""
    ours = trustme.CA().issue_cert("hypot.test")
    for name, pem in (("c", ours.cert_chain_pems[0]), ("k", ours.private_key_pem)):
        pem.write_to_path(str(tmp_path / name))
    context = tls_of(Access(SERVER), Identity("", tmp_path / "c", tmp_path / "k"))
    assert context.verify_mode == ssl.CERT_REQUIRED


@pytest.mark.parametrize(
    ("access", "identity", "said"),
    [
        (Access(SERVER, ca=b"x", source="a test"), Identity(), "a test: the certificate authority is not a PEM"),
        (Access(SERVER, ca=b"", source="a test"), Identity(), "a test: the certificate authority is not a PEM"),
        (Access(SERVER, ca=b"-----BEGIN CERTIFICATE-----x", source="a test"), Identity(), "authority is not a PEM"),
        (Access(SERVER, ca=b"\xff", source="a test"), Identity(), "a test: the certificate authority is not a PEM"),
        (Access(SERVER, ca=Path("/no/such/ca"), source="a test"), Identity(), "a test: /no/such/ca cannot be read"),
        (Access(SERVER, source="a test"), Identity("", b"c", b"k"), "a test: the client certificate and its key"),
        (
            Access(SERVER, source="a test"),
            Identity("", Path("/no"), b"k"),
            "a test: the client certificate and its key",
        ),
    ],
)
def test_certificates_that_cannot_be_used(access, identity, said):
    """They are reported before any request."""
    with pytest.raises(AccessError, match=said):
        tls_of(access, identity)
