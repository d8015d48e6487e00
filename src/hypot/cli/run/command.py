"""hypot run: the controller."""

import asyncio
import signal
import sys
from typing import Any

import click

from hypot.cli.files import BadInput
from hypot.cli.run.config import read_config


@click.command("run")
@click.option(
    "--kubeconfig", metavar="FILE", help="The kubeconfig; by default the pod's service account, or as kubectl does."
)
@click.option("--context", metavar="NAME", help="The context in the kubeconfig.")
@click.option("-n", "--namespace", help="The namespace of hypot's Lease and state.")
@click.option("--config", "config_file", metavar="FILE", help="What to watch, and what hypot may do; see docs/run.md.")
@click.option("--dry-run", is_flag=True, help="Decide and report, but change nothing except the Lease and the state.")
@click.option(
    "--log",
    "log_format",
    type=click.Choice(["text", "json"]),
    help="The log format; by default text on a terminal, else json.",
)
def command(
    kubeconfig: str | None,
    context: str | None,
    namespace: str | None,
    config_file: str | None,
    dry_run: bool,
    log_format: str | None,
) -> int:
    """Watch the autoscalers of a cluster, decide for all of them every 15 s, and scale workloads.

    Acts only in namespaces with the label hypot.dev/scaling=enabled, unless the configuration says otherwise. Ends on
    Ctrl-C or SIGTERM, and releases its Lease.

    Exit status: 0 after Ctrl-C or SIGTERM, 1 after an internal error, 2 bad usage or input, 130 for Ctrl-C during the
    start.
    """
    try:
        from hypot.cluster.config import AccessError, read_access  # noqa: PLC0415 - only this command needs a network
        from hypot.run.app import App  # noqa: PLC0415
        from hypot.serving.listener import ListenError  # noqa: PLC0415
        from hypot.serving.logs import configure  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise BadInput(f"the controller needs {error.name}: pip install 'hypot[run]'") from error
    flags = {"namespace": namespace, "dryRun": dry_run or None}
    config = read_config(config_file, {name: value for name, value in flags.items() if value is not None})
    try:
        access = read_access(kubeconfig, context)
    except AccessError as error:
        raise BadInput(str(error)) from error
    configure(log_format or ("text" if sys.stderr.isatty() else "json"))
    try:
        return asyncio.run(_run(App, config, access))
    except ListenError as error:
        raise BadInput(f"the controller {error}") from error


async def _run(app: Any, config: Any, access: Any) -> int:
    made = app(config, access)
    await made.run()
    for number in (signal.SIGINT, signal.SIGTERM):
        # Ignore further signals while it ends; Python's default handler would end it with another status.
        asyncio.get_running_loop().remove_signal_handler(number)
        signal.signal(number, signal.SIG_IGN)
    return 1 if made.broken else 0
