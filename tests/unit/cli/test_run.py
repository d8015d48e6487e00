"""The command that starts the controller: what it refuses, how it reports it, and that it runs without a server."""

import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import time

import pytest
import yaml
from click.testing import CliRunner

from hypot.cli.extras import install_command
from hypot.cli.main import main
from hypot.cluster.config import EXEC_VERSIONS
from ports import free_port

COMMAND = [sys.executable, "-c", "from hypot.cli.main import main; main()", "run"]
WITHIN = 300.0


@pytest.fixture(autouse=True)
def nowhere(monkeypatch, tmp_path):
    """Run outside a pod and without the user's kubeconfig."""
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


def hypot(*arguments):
    """Run the real entry point; its status and its standard error."""
    with CliRunner().isolation() as (_, err, _):
        try:
            main(["run", *map(str, arguments)])
        except SystemExit as end:
            return end.code, err.getvalue().decode()
    return None, ""


def written(folder, text, name="config.yaml"):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def kubeconfig(folder, server):
    """A kubeconfig for a server on loopback."""
    data = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "here",
        "contexts": [{"name": "here", "context": {"cluster": "here", "user": "me"}}],
        "clusters": [{"name": "here", "cluster": {"server": server, "insecure-skip-tls-verify": True}}],
        "users": [{"name": "me", "user": {"token": "secret-word"}}],
    }
    return written(folder, yaml.safe_dump(data), "kubeconfig")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nothing: here", "nothing: no such setting; known settings: namespace"),
        ("kinds: {Hvpa: sometimes}", "kinds.Hvpa: 'sometimes' is not one of off, recommend, observe, act"),
        ("probePort: 99999", "probePort: 99999 is not a port"),
        ("settings: {syncPeriod: soon}", "settings.syncPeriod"),
        ("settings: {syncPeriod: 7200}", "settings.syncPeriod: 7200 is not within 0.1 to 3600 seconds"),
        ("{metricsPort: 9000, webhookPort: 9000}", "webhookPort: 9000 is the metricsPort too"),
        ("prometheus: 'prometheus:9090'", "prometheus: 'prometheus:9090' is not an address"),
        ("watchNamespaces: ['a/b?x=1']", "watchNamespaces: 'a/b?x=1' cannot be the name of a namespace"),
        (
            "dryRun: true\ndryRun: false",
            "config.yaml:2: not valid YAML: the key 'dryRun' is given twice, first on line 1",
        ),
        ("settings: none", "settings: 'none' is not a mapping"),
        ("- a\n- b", "config.yaml"),
        ("{", "config.yaml"),
    ],
)
def test_a_configuration_that_cannot_be_used(tmp_path, text, message):
    """The message has the file, what is wrong with it, and what is allowed."""
    status, said = hypot("--config", written(tmp_path, text))
    assert status == 2
    assert message in said
    assert "config.yaml" in said
    assert "Traceback" not in said


def test_a_flag_that_cannot_be_used(tmp_path):
    """The namespace would become part of a path; errors of the file are reported as well."""
    status, said = hypot("-n", "A/../b", "--config", written(tmp_path, "{namespace: fine, optIn: some}"))
    assert status == 2
    assert "config.yaml: optIn: 'some' is not one of" in said
    assert "\nnamespace: 'A/../b' cannot be the name of a namespace" in said


def test_a_configuration_that_is_not_there(tmp_path):
    """The message names the file."""
    status, said = hypot("--config", tmp_path / "none.yaml")
    assert (status, "none.yaml" in said) == (2, True)


def test_a_bare_off_is_accepted(tmp_path):
    """The run then stops only because there is no cluster."""
    status, said = hypot("--config", written(tmp_path, "kinds: {Hvpa: off}"))
    assert status == 2
    assert "kinds" not in said
    assert "kubeconfig" in said.lower()


def test_no_cluster_is_reported():
    """The message says how to name a cluster."""
    status, said = hypot()
    assert status == 2
    assert "kubeconfig" in said.lower()


def test_a_kubeconfig_that_is_not_there(tmp_path):
    """The message names the file."""
    status, said = hypot("--kubeconfig", tmp_path / "none")
    assert status == 2
    assert str(tmp_path / "none") in said


def test_a_context_that_is_not_there(tmp_path):
    """The message names the context and shows no secret."""
    status, said = hypot("--kubeconfig", kubeconfig(tmp_path, "https://127.0.0.1:1"), "--context", "there")
    assert status == 2
    assert "there" in said
    assert "secret-word" not in said


def test_a_plugin_that_is_not_there(tmp_path):
    """Nothing can be asked without credentials: it ends at once, and says which command is missing."""
    file = kubeconfig(tmp_path, "https://127.0.0.1:1")
    plugin = {"apiVersion": EXEC_VERSIONS[0], "command": "no-such-plugin", "installHint": "Install it."}
    data = yaml.safe_load(file.read_text(encoding="utf-8"))
    data["users"][0]["user"] = {"exec": plugin}
    file.write_text(yaml.safe_dump(data), encoding="utf-8")
    status, said = hypot("--kubeconfig", file)
    assert status == 2
    assert said.endswith("no-such-plugin cannot be started: No such file or directory. Install it.\n")


def test_a_missing_part_is_named():
    """The message says what to install."""
    code = "import sys; sys.modules['cryptography'] = None; from hypot.cli.main import main; main(['run'])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert f"this needs cryptography, which is not installed: {install_command('run')}" in done.stderr
    assert "Traceback" not in done.stderr


def test_help_needs_no_network():
    """`--help` works without the network library."""
    code = (
        "import sys; sys.modules['aiohttp'] = None\n"
        "from hypot.cli.main import main\n"
        "try: main(['run', '--help'])\n"
        "except SystemExit as end: sys.exit(end.code)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, "--dry-run" in done.stdout) == (0, True)


def test_an_address_that_is_taken(tmp_path):
    """The message says so, instead of that output cannot be written."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        config = written(tmp_path, f"{{listen: 127.0.0.1, probePort: {port}, metricsPort: 0, webhookPort: 0}}")
        there = kubeconfig(tmp_path, "https://127.0.0.1:1")
        done = subprocess.run(
            [*COMMAND, "--kubeconfig", str(there), "--config", str(config)],
            capture_output=True,
            text=True,
            check=False,
            timeout=WITHIN,
        )
    assert done.returncode == 2
    assert f"cannot listen on 127.0.0.1:{port}" in done.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_without_a_server_it_keeps_trying_and_ends_when_asked(tmp_path, number):
    """One line says that there is none, without a token, and nothing more follows; a signal ends it with status 0."""
    config = written(tmp_path, "{listen: 127.0.0.1, probePort: 0, metricsPort: 0, webhookPort: 0}")
    nobody = f"127.0.0.1:{free_port()}"
    there = kubeconfig(tmp_path, f"https://{nobody}")
    arguments = [*COMMAND, "--kubeconfig", str(there), "--config", str(config), "--log", "json"]
    # Without a buffer: what a buffer holds would be lost to select and communicate.
    with subprocess.Popen(
        arguments, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, env=dict(os.environ), bufsize=0
    ) as process:
        try:
            before = logged(process, lambda lines: any(is_failure(line) for line in lines))
            time.sleep(1)
            assert process.poll() is None
            while process.poll() is None:
                # Users press Ctrl-C more than once, also while the process ends.
                process.send_signal(number)
                time.sleep(0.002)
            rest, _ = process.communicate(timeout=WITHIN)[::-1]
        finally:
            process.kill()
    lines = [*before, *[json.loads(line) for line in rest.splitlines()]]
    assert process.returncode == 0
    assert lines[-1]["event"] == "stopped"
    warned = [line["error"] for line in lines if line["level"] == "warning"]
    assert warned == [f"no connection to {nobody}: Connection refused"]
    assert "secret-word" not in str(lines)
    assert not [line for line in lines if "exception" in line]


def is_failure(line):
    return line["event"] == "API server unreachable, trying again"


def logged(process, enough):
    """The log lines, read until `enough` accepts them."""
    lines, end = [], time.monotonic() + WITHIN
    with selectors.DefaultSelector() as waiting:
        waiting.register(process.stderr, selectors.EVENT_READ)
        while not enough(lines):
            assert time.monotonic() < end, lines
            assert waiting.select(1.0) or process.poll() is None, lines
            lines.append(json.loads(process.stderr.readline()))
    return lines
