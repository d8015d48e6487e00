"""Runs a tool of the user within limits of time and size; it ends when hypot ends."""

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from typing import Final, NamedTuple

from hypot.cli.ending import heeding
from hypot.replay.jobs.signals import handled_later

_PIECE: Final = 2**16
# Of what a tool says about itself, the end is kept: that is where the error is.
_KEPT: Final = 2**16


class ToolLimits(NamedTuple):
    """What a tool may take."""

    seconds: float = 60.0
    """Charts and kustomizations render in a few seconds; a tool that waits for something takes forever."""

    output_bytes: int = 64 * 2**20
    """About 10,000 objects."""


class ToolResult(NamedTuple):
    """What a tool printed; `over` is the limit that it exceeded."""

    status: int
    out: bytes
    err: bytes
    over: str = ""


def run_tool(command: Sequence[str], environment: Mapping[str, str], limits: ToolLimits) -> ToolResult:
    """Run a command without input. Its whole process group is killed at a limit, at Ctrl-C and at SIGTERM."""
    with heeding(), ExitStack() as stack:
        # A signal while the process starts would leave it running, with nobody who knows its number.
        with handled_later():
            process = stack.enter_context(
                subprocess.Popen(  # noqa: S603  the user's own tool, without a shell
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    env=environment,
                    start_new_session=True,
                )
            )
            stack.callback(_kill, process)
        return _read(process, limits)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End all of its group. Until somebody has waited for the process, its number cannot be that of another group."""
    if process.returncode is None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)


def _read(process: subprocess.Popen[bytes], limits: ToolLimits) -> ToolResult:
    deadline = time.monotonic() + limits.seconds
    assert process.stdout is not None  # noqa: S101  both are pipes
    assert process.stderr is not None  # noqa: S101
    out, err = bytearray(), bytearray()
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ, out)
        selector.register(process.stderr, selectors.EVENT_READ, err)
        while selector.get_map():
            ready = selector.select(max(0.0, deadline - time.monotonic()))
            if not ready:
                return ToolResult(-1, b"", bytes(err), f"it took longer than {limits.seconds:g} s")
            for key, _ in ready:
                piece = os.read(key.fd, _PIECE)
                if not piece:
                    selector.unregister(key.fileobj)
                key.data.extend(piece)
            del err[:-_KEPT]
            if len(out) > limits.output_bytes:
                return ToolResult(-1, b"", bytes(err), f"it printed more than {limits.output_bytes:,} bytes")
    try:
        status = process.wait(max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        return ToolResult(-1, b"", bytes(err), f"it took longer than {limits.seconds:g} s")
    return ToolResult(status, bytes(out), bytes(err))
