"""A server as a process: its access to the cluster, its log, its signals and its exit status."""

import asyncio
import signal
import sys
from collections.abc import Callable
from typing import Protocol

from hypot.cli.files import BadInput
from hypot.cluster.config import Access, AccessError, read_access
from hypot.serving.listener import ListenError
from hypot.serving.logs import configure


class Server(Protocol):
    """Runs until a signal; `broken` is the error that ended it, if any."""

    broken: str

    async def run(self) -> None: ...


def read_cluster(kubeconfig: str | None, context: str | None) -> Access:
    try:
        return read_access(kubeconfig, context)
    except AccessError as error:
        raise BadInput(str(error)) from error


def served(make: Callable[[], Server], log_format: str | None, what: str) -> int:
    """Run the server to its end; returns the exit status."""
    configure(log_format or ("text" if sys.stderr.isatty() else "json"))
    try:
        return asyncio.run(_run(make))
    except ListenError as error:
        raise BadInput(f"{what} {error}") from error
    except AccessError as error:
        raise BadInput(str(error)) from error


async def _run(make: Callable[[], Server]) -> int:
    made = make()
    await made.run()
    for number in (signal.SIGINT, signal.SIGTERM):
        # Ignore further signals while it ends; Python's default handler would end it with another status.
        asyncio.get_running_loop().remove_signal_handler(number)
        signal.signal(number, signal.SIG_IGN)
    return 1 if made.broken else 0
