"""Tools of the user run within limits, and leave nothing behind."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hypot.cli.ending import Terminated
from hypot.cli.rendering.process import ToolLimits, ToolResult, run_tool

# A shell that starts the tests in the background lets them ignore Ctrl-C.
HEEDING = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from hypot.cli.main import main; main()"
)


def run(script, *, seconds=30.0, most=2**20):
    return run_tool(["sh", "-c", script], os.environ, ToolLimits(seconds, most))


def gone(pid):
    """Whether the process ends soon; a zombie has ended."""
    for _ in range(200):
        try:
            state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(") ")[2][0]
        except FileNotFoundError:
            return True
        if state == "Z":
            return True
        time.sleep(0.02)
    return False


@pytest.mark.parametrize(
    ("script", "result"),
    [
        ("echo a; echo b >&2", ToolResult(0, b"a\n", b"b\n")),
        ("echo a; exit 3", ToolResult(3, b"a\n", b"")),
        ("cat", ToolResult(0, b"", b"")),  # it has no input to wait for
        ("exec >&- 2>&-; sleep 0.2; exit 4", ToolResult(4, b"", b"")),
    ],
)
def test_what_a_tool_prints(script, result):
    """Its status, its output and its messages."""
    assert run(script) == result


def test_output_on_both_streams():
    """Neither stream blocks the other; of the messages the end is kept."""
    result = run("head -c 300000 /dev/zero >&2; echo last >&2; head -c 300000 /dev/zero")
    assert (result.status, len(result.out), len(result.err)) == (0, 300_000, 2**16)
    assert result.err.endswith(b"last\n")


@pytest.mark.parametrize(
    ("script", "over"),
    [
        ("sleep 100 & echo $! >&2; sleep 100", "it took longer than 0.5 s"),
        # The tool has ended, its child holds the output open.
        ("sleep 100 & echo $! >&2", "it took longer than 0.5 s"),
        ("exec >&-; sleep 100 & echo $! >&2; exec 2>&-; wait", "it took longer than 0.5 s"),
        ("sleep 100 & echo $! >&2; yes", "it printed more than 1,048,576 bytes"),
        ("trap '' TERM INT HUP; sleep 100 & echo $! >&2; while :; do :; done", "it took longer than 0.5 s"),
    ],
)
def test_limits(script, over):
    """At a limit the tool ends with all that it started."""
    began = time.monotonic()
    result = run(script, seconds=0.5 if "took" in over else 30)
    assert result.over == over
    assert time.monotonic() - began < 20
    assert gone(int(result.err.split()[0]))


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupt_ends_the_tool(tmp_path, number, status):
    """Ctrl-C reaches hypot only, which then kills what the tool started."""
    helm = tmp_path / "bin" / "helm"
    helm.parent.mkdir()
    helm.write_text(f"#!/bin/sh\nsleep 100 &\necho $! > {tmp_path}/pid\nwait\n", encoding="utf-8")
    helm.chmod(0o755)
    (tmp_path / "Chart.yaml").write_text("name: web\n", encoding="utf-8")
    environment = {**os.environ, "PATH": f"{helm.parent}:{os.environ['PATH']}"}
    command = [sys.executable, "-c", HEEDING, "lint", "--render", str(tmp_path)]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text(encoding="utf-8").strip():
            assert process.poll() is None, process.stderr.read()
            time.sleep(0.02)
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (status, b"")
    assert b"Traceback" not in err
    assert gone(int((tmp_path / "pid").read_text(encoding="utf-8")))


@pytest.mark.parametrize(("number", "raised"), [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, Terminated)])
def test_a_signal_while_the_tool_starts(monkeypatch, number, raised):
    """The tool ends too, although it had only just been started."""
    started = []

    class Interrupted(subprocess.Popen):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            started.append(self.pid)
            signal.raise_signal(number)

    monkeypatch.setattr(subprocess, "Popen", Interrupted)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(raised):
            run("sleep 100")
    finally:
        signal.signal(signal.SIGINT, before)
    assert gone(started[0])
