"""hypot run: the controller."""

import asyncio
import signal
import sys
from typing import Any

import click

from hypot.cli.files import BadInput
from hypot.cli.runconfig import read_config


@click.command("run")
@click.option(
    "--kubeconfig", metavar="FILE", help="How to reach the cluster; by default the pod's own account, or as kubectl."
)
@click.option("--context", metavar="NAME", help="Which context of the kubeconfig.")
@click.option("-n", "--namespace", help="Where hypot keeps its Lease and its state.")
@click.option("--config", "config_file", metavar="FILE", help="What to look at, and what may be done; see docs/run.md.")
@click.option("--dry-run", is_flag=True, help="Decide and report, but change nothing except the Lease and the state.")
@click.option("--log", "log_format", type=click.Choice(["text", "json"]), help="By default text on a terminal.")
def command(
    kubeconfig: str | None,
    context: str | None,
    namespace: str | None,
    config_file: str | None,
    dry_run: bool,
    log_format: str | None,
) -> int:
    """Watch autoscalers on a cluster, decide for all of them every 15 s, and move workloads.

    Acts only in namespaces with the label hypot.dev/scaling=enabled, unless its configuration says otherwise. Ends on
    Ctrl-C or SIGTERM, and lets go of its Lease.

    Exit status: 0 when it was asked to end, 1 when a part of it broke, 2 bad usage or input, 130 for a Ctrl-C before it
    began.
    """
    try:
        from hypot.cluster.config import AccessError, read_access  # noqa: PLC0415 - only who runs it needs a network
        from hypot.run.app import App  # noqa: PLC0415
        from hypot.run.logs import configure  # noqa: PLC0415
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
    except OSError as error:
        at = f"{config.listen}:{config.http_port}"
        raise BadInput(f"the controller cannot listen on {at}: {error.strerror or error}") from error


async def _run(app: Any, config: Any, access: Any) -> int:
    made = app(config, access)
    await made.run()
    for number in (signal.SIGINT, signal.SIGTERM):
        # Whoever asks once more while it ends gets the same answer; Python itself would end it as broken off.
        asyncio.get_running_loop().remove_signal_handler(number)
        signal.signal(number, signal.SIG_IGN)
    return 1 if made.broken else 0
