"""hypot replay ends early: on a signal, or because there is no room for its output."""

import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
SHOP = ["examples/replay/week.csv", "-f", "examples/replay/policies.yaml", "--world", "examples/replay/world.yaml"]
# A shell that starts the tests in the background lets them ignore Ctrl-C.
HEEDING = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
MAIN = f"{HEEDING}; from hypot.cli.main import main; main()"
COMMAND = [sys.executable, "-c", MAIN, "replay", *SHOP, "--engine", "plain"]
SLOW = [*COMMAND, "--grid", "hpa.cpu=30..90:1"]


def started(command):
    """The command in its own process group, as a shell starts it, and its children, one of which only cleans up."""
    one = subprocess.Popen(command, cwd=ROOT, stdout=-1, stderr=-1, text=True, start_new_session=True)
    return one, wait_for(lambda: children_of(one.pid), 600)


def children_of(pid):
    """Direct children; empty until there are at least three."""
    tasks = Path(f"/proc/{pid}/task/{pid}/children")
    found = [int(one) for one in tasks.read_text().split()] if tasks.exists() else []
    return found if len(found) >= 3 else []


def is_alive(pid):
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False


def wait_for(look, seconds):
    """What `look` returns, as soon as it is true or the time is over."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        found = look()
        if found:
            return found
        time.sleep(0.02)
    return look()


@pytest.mark.parametrize("after", [0.0, 0.3])
@pytest.mark.parametrize(
    ("ask", "number", "status", "message"),
    [(os.killpg, signal.SIGINT, 130, "interrupted"), (os.kill, signal.SIGTERM, 143, "terminated")],
    ids=["Ctrl-C", "SIGTERM"],
)
def test_all_end_when_one_is_asked_to(ask, number, status, message, after):
    """All processes end with one line of output, also while others start."""
    one, others = started(SLOW)
    try:
        time.sleep(after)
        ask(one.pid, number)
        written, reported = one.communicate(timeout=600.0)
    finally:
        one.kill()
    assert (one.returncode, written, reported.strip()) == (status, "", message)
    assert len(others) >= 3
    assert wait_for(lambda: not any(is_alive(pid) for pid in others), 300)


def test_no_process_outlives_a_replay_that_is_killed():
    """The end of the command ends its workers, whatever the signal."""
    one, others = started(SLOW)
    one.kill()
    one.communicate()
    assert len(others) >= 3
    assert wait_for(lambda: not any(is_alive(pid) for pid in others), 300)


def replayed(folder, *arguments, unbuffered=""):
    """A short replay that can write at most 4096 bytes to any file, with its output in a file."""
    room = (4096, 4096)
    with (folder / "answer").open("wb") as answer:
        return subprocess.run(
            [*COMMAND, "--to", "2026-01-05T01:00:00Z", *map(str, arguments)],
            cwd=ROOT,
            # A module that is compiled with so little room would be cut off, and broken for all that follow.
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered, "PYTHONDONTWRITEBYTECODE": "1"},
            stdout=answer,
            stderr=-1,
            text=True,
            check=False,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, room),
        )


@pytest.mark.parametrize("unbuffered", ["", "1"], ids=["buffered", "unbuffered"])
@pytest.mark.parametrize("form", ["json", "parquet"])
def test_an_answer_that_has_no_room_is_an_error(tmp_path, form, unbuffered):
    """The error is one line, whether Python buffers its output or not."""
    found = replayed(tmp_path, "-o", form, unbuffered=unbuffered)
    assert (found.returncode, found.stderr) == (2, "Error: cannot write the answer: File too large\n")


@pytest.mark.parametrize("form", ["html", "png", "svg"])
def test_a_report_that_has_no_room_is_not_written(tmp_path, form):
    """No part of it is left."""
    path = tmp_path / f"report.{form}"
    found = replayed(tmp_path, "--report", path)
    message = f"Error: {path}: cannot write: File too large; check the folder\n"
    assert (found.returncode, found.stderr) == (2, message)
    assert [one.name for one in tmp_path.iterdir()] == ["answer"]
